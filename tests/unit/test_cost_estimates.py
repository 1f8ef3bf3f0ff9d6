"""What engines say a statement costs, read from answers as their documentation shows them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest
from tests.support.cases import for_each
from tests.support.execution import REGISTRY
from tests.support.recorded_bigquery.client import Client

from analytics_core.errors import UnsupportedByEngineError

POSTGRESQL = [
    ([{"Plan": {"Node Type": "Limit", "Startup Cost": 10.5, "Total Cost": 35.25, "Plan Rows": 11, "Plan Width": 8}}],)
]
MARIADB = [
    (1, "PRIMARY", "o", "ALL", None, None, None, None, 200, "Using where"),
    (1, "PRIMARY", "c", "ref", "i", "i", "4", "shop.o.c", 3, None),
    (2, "UNION", "p", "ALL", None, None, None, None, "50", None),
    (None, "UNION RESULT", "<union1,2>", "ALL", None, None, None, None, None, ""),
]
MYSQL = [(1, "SIMPLE", "o", None, "ALL", None, None, None, None, 200, 33.33, "Using where")]
DUCKDB = [
    (
        "physical_plan",
        json.dumps(
            [
                {
                    "name": "STREAMING_LIMIT",
                    "extra_info": {},
                    "children": [
                        {
                            "name": "HASH_JOIN",
                            "extra_info": {"Conditions": "a = 'hidden'", "Estimated Cardinality": "40"},
                            "children": [
                                {"name": "SEQ_SCAN", "extra_info": {"Estimated Cardinality": "200"}, "children": []},
                                {"name": "SEQ_SCAN", "extra_info": {"Estimated Cardinality": "5"}, "children": []},
                            ],
                        }
                    ],
                }
            ]
        ),
    )
]
SNOWFLAKE = [
    (
        json.dumps(
            {
                "GlobalStats": {"partitionsTotal": 8, "partitionsAssigned": 2, "bytesAssigned": 2048},
                "Operations": [[{"id": 0, "operation": "Result", "expressions": ["O.AMOUNT"]}]],
            }
        ),
    )
]
TRINO = [
    [
        json.dumps(
            {
                "inputTableColumnInfos": [{"table": {"catalog": "hive"}, "estimate": {"outputRowCount": 15000.0}}],
                "estimate": {
                    "outputRowCount": 15000.0,
                    "outputSizeInBytes": "NaN",
                    "cpuCost": 135000.0,
                    "maxMemory": 0.0,
                    "networkCost": 135000.0,
                },
            }
        )
    ]
]


@dataclass
class RecordedCursor:
    """A driver's cursor that gives what it was made with, and remembers what it was asked."""

    rows: list[Any]
    queried: list[Any] = field(default_factory=list)

    def execute(self, sql: str, parameters: Any) -> None:
        self.queried.append((sql, parameters))

    def fetchall(self) -> list[Any]:
        return self.rows


@for_each(
    ("engine", "words", "answer", "costs"),
    [
        (
            "postgresql",
            "EXPLAIN (FORMAT JSON)",
            POSTGRESQL,
            {"startup_cost": 10.5, "total_cost": 35.25, "rows": 11.0},
        ),
        ("mysql", "EXPLAIN", MARIADB, {"rows": 650.0}),
        ("mysql", "EXPLAIN", MYSQL, {"rows": 200.0}),
        ("duckdb", "EXPLAIN (FORMAT JSON)", DUCKDB, {"rows": 40.0, "rows_of_steps": 245.0}),
        ("snowflake", "EXPLAIN USING JSON", SNOWFLAKE, {"bytes": 2048.0, "partitions": 2.0}),
        (
            "trino",
            "EXPLAIN (TYPE IO, FORMAT JSON)",
            TRINO,
            {"rows": 15000.0, "cpu_cost": 135000.0},
        ),
    ],
)
def test_a_plan_gives_numbers_alone(engine: str, words: str, answer: list[Any], costs: dict[str, float]) -> None:
    estimates, cursor = REGISTRY.get(engine).costs, RecordedCursor(answer)
    assert estimates is not None
    assert estimates.ask(cursor, "SELECT 1", {"p1": 2}) == costs
    assert cursor.queried == [(f"{words} SELECT 1", {"p1": 2})]
    assert estimates.counted in costs


class DryRunCursor:
    """A cursor of BigQuery's driver; the answer of `jobs.query` with `dryRun` has no rows."""

    connection: ClassVar[Any] = type("Connection", (), {"_client": Client()})
    _query_rows = None

    def execute(self, sql: str, parameters: Any, *, job_config: Any) -> None:
        assert (sql, parameters) == ("SELECT @p", {"p": 1})
        assert job_config.dry_run is True
        self._query_rows = type("RowIterator", (), {"total_bytes_processed": 65_920})


def test_a_dry_run_gives_the_bytes_that_are_read() -> None:
    estimates = REGISTRY.get("bigquery").costs
    assert estimates is not None
    assert estimates.ask(DryRunCursor(), "SELECT @p", {"p": 1}) == {estimates.counted: 65_920.0}


def test_what_an_engine_plans_only_when_it_runs_is_refused() -> None:
    estimates = REGISTRY.get("mysql").costs
    assert estimates is not None
    with pytest.raises(UnsupportedByEngineError, match="estimate its query alone"):
        estimates.ask(RecordedCursor([]), "CREATE TABLE `made` AS SELECT 1", {})
