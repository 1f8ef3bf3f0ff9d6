"""`explain`: the road stopped before execution, with the origin of every clause; its statement is the one that runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.support.shop import AMOUNT, add_reader, ask, axis, column_put, context, hosted_core, orders_core, shop_url

from analytics_core import AnalyticsCore, errors
from analytics_core._records.datasource import Dataset
from analytics_core._records.people import RowFilter, User
from analytics_core.testing.clock import FixedClock


class NotBooks:
    """Nobody sees books."""

    def row_filters(self, user: User, dataset: Dataset) -> Sequence[RowFilter]:
        return (RowFilter(name="no books", clause="category <> 'books'"),)


FULL: dict[str, Any] = {
    "columns": [axis("P1M"), "country", {"expressionType": "SQL", "sqlExpression": "upper(channel)", "label": "way"}],
    "metrics": ["count", AMOUNT, {"expressionType": "SQL", "sqlExpression": "max(quantity)", "label": "most"}],
    "granularity": "order_date",
    "time_range": "Last quarter",
    "filters": [
        {"col": "country", "op": "IN", "val": ["Germany", "France"]},
        {"col": "quantity", "op": ">=", "val": 2},
        {"col": "planet", "op": "==", "val": "Mars"},
        {"col": "count", "op": ">", "val": 1},
    ],
    "extras": {"where": "returned = false OR amount > 10", "having": "max(quantity) < 9"},
    "orderby": [["count", False]],
    "apply_fetch_values_predicate": True,
    "series_columns": ["country"],
    "series_limit": 2,
    "row_limit": 500,
    "row_offset": 1,
    "colour": "red",
}


@pytest.fixture(scope="module", params=["sqlite", "duckdb"])
def core(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AnalyticsCore]:
    url = shop_url(tmp_path_factory.mktemp("explain"), request.param)
    clock = FixedClock(datetime(2025, 1, 1, 12, tzinfo=UTC))
    with hosted_core(url, row_filters=[NotBooks()], clock=clock) as host:
        admin = host.as_user("admin")
        admin.datasets.update(1, {"fetch_values_predicate": "id > 3"})
        yield add_reader(host, "anna")


def origins(core: Any, query: dict[str, Any]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for clause in core.charts.explain(context(query)).queries[0].clauses:
        found.setdefault(clause.part, []).append(clause.origin)
    return found


@pytest.mark.slow
def test_every_clause_has_its_origin(core: Any) -> None:
    found = origins(core, FULL)
    assert found["select"] == [
        "payload: columns[0]",
        "payload: columns[1]",
        "payload: columns[2]",
        "dataset: metric 'count'",
        "payload: metrics[1]",
        "payload: metrics[2]",
    ]
    assert found["from"] == ["dataset: 1"]
    assert found["where"] == [
        "row rule: no books",
        "payload: time_range Last quarter",
        "payload: filters[0] country",
        "payload: filters[1] quantity",
        "payload: extras.where",
        "dataset: fetch_values_predicate",
    ]
    assert found["having"] == ["payload: filters[3] count", "payload: extras.having"]
    assert found["series limit"] == ["payload: series_limit"]
    assert found["group by"] == ["payload: columns[0]", "payload: columns[1]", "payload: columns[2]"]
    assert found["order by"][0] == "payload: orderby[0]"
    assert all(origin.startswith("engine: tie-breaker") for origin in found["order by"][1:])
    assert found["limit"] == ["payload: row_limit", SURPLUS]
    assert found["offset"] == ["payload: row_offset"]


SURPLUS = "engine: a row beyond the limit tells whether it cuts"


def test_deprecated_fields_have_the_names_that_the_payload_gave_them(core: Any) -> None:
    old = {"groupby": ["country"], "metrics": ["count"], "timeseries_limit": 2, "series_columns": ["country"]}
    sources = origins(core, old)
    assert sources["group by"] == ["payload: groupby[0]"]
    assert sources["series limit"] == ["payload: timeseries_limit"]
    plain = {"columns": ["country"], "metrics": ["count"], "series_limit": 2, "series_columns": ["country"]}
    assert ask(core, old).cache_key == ask(core, plain).cache_key
    both = origins(core, {**old, "columns": ["country"]})
    assert both["group by"] == ["payload: columns[0]"]


@pytest.mark.slow
def test_limits_of_settings_are_told_as_such(core: Any) -> None:
    assert origins(core, {"metrics": ["count"]})["limit"] == ["setting: default_row_limit", SURPLUS]
    assert origins(core, {"metrics": ["count"], "row_limit": 0})["limit"] == ["setting: max_row_limit", SURPLUS]


def test_every_word_that_we_add_to_a_statement_has_a_line(core: Any) -> None:
    query = {"columns": ["country"], "metrics": [AMOUNT], "orderby": [["amount", True]], "row_limit": 5}
    explained = core.charts.explain(context(query)).queries[0]
    lines = [(clause.part, clause.sql) for clause in explained.clauses]
    for part, word in (("nulls last", "NULLS LAST"), ("collate", "COLLATE")):
        assert (part in [name for name, _ in lines]) == (word in explained.sql), part
    for part, text in lines:
        if part in ("group by", "order by", "collate", "nulls last"):
            assert text in explained.sql, (part, text)
    assert [text for part, text in lines if part == "limit"] == ["5", "+ 1"]
    assert "LIMIT 6" in explained.sql


def test_a_count_of_rows_is_explained_as_it_runs(core: Any) -> None:
    query = {"columns": ["country"], "metrics": ["count"], "is_rowcount": True, "orderby": [["count", False]]}
    found = origins(core, query)
    assert found["rowcount"] == ["payload: is_rowcount"]
    assert found["limit"] == ["setting: default_row_limit"]
    assert "order by" not in found


def test_steps_of_post_processing_have_lines(core: Any) -> None:
    steps = [{"operation": "sort", "options": {"by": "count"}}, {"operation": "flatten"}]
    query = {"columns": ["country"], "metrics": ["count"], "post_processing": steps}
    explained = core.charts.explain(context(query)).queries[0]
    lines = [(clause.sql, clause.origin) for clause in explained.clauses if clause.part == "post-processing"]
    assert lines == [
        ('sort {"by":["count"]}', "payload: post_processing[0]"),
        ("flatten {}", "payload: post_processing[1]"),
    ]


def test_its_statement_is_the_one_that_runs(core: Any) -> None:
    explained = core.charts.explain(context(FULL)).queries[0]
    assert explained.sql == ask(core, FULL).query
    assert explained.sql == ask(core, FULL, result_type="query").query


def test_it_tells_the_bound_statement_and_the_values_beside_it(core: Any) -> None:
    explained = core.charts.explain(context(FULL)).queries[0]
    values = list(explained.parameters.values()) if isinstance(explained.parameters, dict) else explained.parameters
    assert {"Germany", "France", 2} <= set(values)
    assert "'Germany'" not in explained.bound_sql
    assert "'Germany'" in explained.sql


def test_it_tells_the_range_the_filters_the_notes_and_the_cache(core: Any) -> None:
    explained = core.charts.explain(context(FULL)).queries[0]
    result = ask(core, FULL)
    assert explained.time_range.startswith("Last quarter: from 2024-10-01 00:00:00 (included) to 2025-01-01 00:00:00")
    assert list(explained.applied_filters) == [item["column"] for item in result.applied_filters]
    assert [item.column for item in explained.rejected_filters] == ["planet"]
    assert explained.notes == ("kept but not read: colour",)
    assert explained.cache_key == result.cache_key
    assert explained.cache_key_parts["rules"] == ["row rule: no books"]
    assert explained.cache_timeout == "kept for 86400 s (Settings.cache_timeout_s)"


def test_it_reads_as_a_page(core: Any) -> None:
    page = str(core.charts.explain(context(FULL)))
    for said in ("row rule: no books", "rejected filter: planet (not_in_datasource)", "note: kept", "SELECT"):
        assert said in page


def test_a_query_that_cannot_run_says_why_and_the_others_are_explained(core: Any) -> None:
    first, second = core.charts.explain(context({"columns": ["contry"], "metrics": []}, {"metrics": ["count"]})).queries
    assert isinstance(first.failure, errors.UnknownColumnError)
    assert str(first).startswith("This query cannot run: ")
    assert second.failure is None


@pytest.mark.parametrize("result_type", ["columns", "timegrains"])
def test_facts_of_the_dataset_need_no_statement(core: Any, result_type: str) -> None:
    explained = core.charts.explain(context({}, result_type=result_type)).queries[0]
    assert (explained.failure, explained.sql) == (None, "")
    assert "no statement runs" in str(explained)


def test_samples_are_explained_as_they_run(core: Any) -> None:
    query = {"columns": ["country"], "metrics": ["count"]}
    explained = core.charts.explain(context(query, result_type="samples")).queries[0]
    assert explained.sql == ask(core, query, result_type="samples").query


def test_without_a_cache_there_is_no_key(core: Any) -> None:
    explained = core.charts.explain(context({"metrics": ["count"]}, custom_cache_timeout=-1)).queries[0]
    assert explained.cache_key is None
    assert explained.cache_timeout == "nothing is kept (custom_cache_timeout)"


def test_nothing_runs(tmp_path: Path) -> None:
    """The database is gone, and explaining still works; asking does not."""
    with orders_core(shop_url(tmp_path)) as core:
        column_put(core, {"boom": {"expression": "no_such_function(id)", "type": "INTEGER"}})
        (tmp_path / "shop.db").rename(tmp_path / "elsewhere.db")
        core.databases.update(1, {"cache_timeout": 5})  # another version: its pool is new
        query = {"columns": ["boom"], "metrics": ["count"]}
        assert "no_such_function" in core.charts.explain(context(query)).queries[0].sql.lower()
        with pytest.raises(errors.DatabaseError):
            ask(core, query)
        assert not (tmp_path / "shop.db").exists()
