"""Payloads that are long, nested or huge: each is answered or refused by a typed error, in little processor time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.cases import for_each
from tests.support.small_core import SmallCore, small_core

from analytics_core import errors

HUGE = 10**4_000
AXIS = {"columnType": "BASE_AXIS", "sqlExpression": "day", "label": "day", "timeGrain": "P1D"}
LONG_SUM = "id + {} " + "+ id * 2" * 250


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallCore]:
    folder: Path = tmp_path_factory.mktemp("costly")
    with small_core(folder, max_sql_length_per_request=20_000) as small:
        small.orders()
        small.core.charts.data(requested())  # imports are no part of the cost
        yield small


def requested(**query: Any) -> dict[str, Any]:
    return {
        "datasource": {"id": 1, "type": "table"},
        "queries": [{"metrics": ["count"], "columns": ["country"], **query}],
    }


def expressions(count: int, text: str) -> list[dict[str, Any]]:
    return [{"label": f"x{i}", "sqlExpression": text.format(i), "expressionType": "SQL"} for i in range(count)]


def nested_text(depth: int) -> str:
    return "DATEADD(" * depth + "DATETIME('2024-01-01')" + ", 1, day)" * depth


def outcome(small: SmallCore, payload: Any) -> errors.AnalyticsError | None:
    """Return the error of a payload, if any, after making sure that it took little and that it can be written."""
    began = time.process_time()
    try:
        data = small.core.charts.data(payload)
        data.to_json()
        failure = data.results[0].failure
    except errors.AnalyticsError as error:
        failure = error
    assert time.process_time() - began < 5
    return failure


@pytest.mark.slow
@for_each(
    ("payload", "kind"),
    [
        (requested(columns=expressions(1_000, LONG_SUM)), errors.RequestLimitError),
        (requested(filters=[{"col": "country", "op": "IN", "val": ["a"] * 50_000}] * 5), errors.LimitError),
        (
            requested(
                post_processing=[
                    {
                        "operation": "aggregate",
                        "options": {
                            "groupby": ["country"],
                            "aggregates": {f"x{i}": {"column": "count", "operator": "sum"} for i in range(6_000)},
                        },
                    }
                ]
            ),
            errors.LimitError,
        ),
        (requested(granularity="day", time_range=nested_text(45)), errors.TimeRangeError),
        (requested(granularity="day", time_range=nested_text(30_000)), errors.PayloadSchemaError),
        (requested(granularity="day", time_range="Last " + "9" * 900 + " days"), errors.TimeRangeError),
        (requested(granularity="day", time_range="(" * 1_000), errors.TimeRangeError),
        (requested(columns=[AXIS], time_offsets=["1 year " * 140_000]), errors.AnalyticsError),
        ('{"a":' * 100_000 + "1" + "}" * 100_000, errors.PayloadError),
        ('{"queries":' + "[" * 100_000 + "]" * 100_000 + "}", errors.PayloadError),
        (requested(row_offset=HUGE), errors.LimitError),
        (requested(columns=["c" * 10_000_000]), errors.PayloadSchemaError),
        (requested(filters=[{"col": "amount", "op": "==", "val": "1e999999999"}]), errors.FilterValueError),
        ({**requested(), "custom_cache_timeout": HUGE}, None),
    ],
    ids=[
        *("much SQL", "many values", "many aggregates", "nested range", "deeply nested range", "long number"),
        *("long brackets", "long offset", "deep maps", "deep lists", "huge offset", "long name", "huge power"),
        "huge timeout",
    ],
)
def test_costly_payloads_are_answered_or_refused_quickly(small: SmallCore, payload: Any, kind: Any) -> None:
    failure = outcome(small, payload)
    assert failure is None if kind is None else isinstance(failure, kind), failure
    assert failure is None or len(failure.message) < 1_000


@pytest.mark.slow
def test_sql_that_was_parsed_lately_is_free(tmp_path: Path) -> None:
    columns = expressions(3, LONG_SUM)
    with small_core(tmp_path, max_sql_length_per_request=5_000) as small:
        small.orders()
        assert isinstance(outcome(small, requested(columns=columns)), errors.RequestLimitError)
        assert outcome(small, requested(columns=columns)) is None  # the first two are known by now
        assert outcome(small, requested(columns=columns[:2], time_offsets=[])) is None
