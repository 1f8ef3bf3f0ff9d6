"""Every result type and format through the facade, and what a result says of itself."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from python_calamine import CalamineWorkbook
from tests.support.cases import for_each
from tests.support.shop import AMOUNT, ORDERS, ask, axis, column_put, context, count, orders_core, shop_url, total

from analytics_core import errors
from analytics_core.models.enums import QueryStatus

BY_CHANNEL: dict[str, Any] = {"columns": ["channel"], "metrics": ["count", AMOUNT], "orderby": [["count", False]]}
CONTRACT_KEYS = (
    *("cache_key", "cache_timeout", "cached_dttm", "is_cached", "query", "annotation_data"),
    *("applied_filters", "rejected_filters", "colnames", "coltypes", "data", "rowcount"),
    *("from_dttm", "to_dttm", "status", "error", "stacktrace"),
)


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    return shop_url(tmp_path_factory.mktemp("results"))


@pytest.fixture(scope="module")
def core(url: str) -> Iterator[Any]:
    core = orders_core(url)
    yield core
    core.close()


# -------------------------------------------------------------------------------------------------------- result types
def test_a_full_result_holds_the_rows_and_every_field_of_the_contract(core: Any) -> None:
    result = ask(core, BY_CHANNEL)
    payload = result.to_payload()
    assert tuple(payload)[: len(CONTRACT_KEYS)] == CONTRACT_KEYS
    assert payload["colnames"] == ["channel", "count", "amount"]
    assert payload["coltypes"] == [1, 0, 0]
    assert payload["status"] == "success"
    assert payload["error"] is None
    assert payload["stacktrace"] is None
    assert {row["channel"]: row["count"] for row in payload["data"]} == {
        channel: count(lambda row, c=channel: row["channel"] == c) for channel in ("web", "app", "store", None)
    }


def test_json_text_says_the_same_as_the_payload(core: Any) -> None:
    data = core.charts.data(context(BY_CHANNEL, {"columns": ["country"], "metrics": []}))
    assert json.loads(data.to_json()) == json.loads(json.dumps(data.to_payload()))


def test_results_are_the_rows_without_the_statement(core: Any) -> None:
    payload = ask(core, BY_CHANNEL, result_type="results").to_payload()
    assert "query" not in payload
    assert payload["rowcount"] == payload["sql_rowcount"] == 4
    assert payload["colnames"] == ["channel", "count", "amount"]


def test_a_query_result_is_the_statement_and_nothing_runs(core: Any) -> None:
    payload = ask(core, BY_CHANNEL, result_type="query").to_payload()
    assert payload["language"] == "sql"
    assert payload["query"] == ask(core, BY_CHANNEL).query
    assert "data" not in payload


def test_columns_tell_names_verbose_names_and_generic_types(core: Any) -> None:
    items = ask(core, {}, result_type="columns").data
    assert {"column_name": "amount", "verbose_name": None, "dtype": 0} in items
    assert {"column_name": "order_date", "verbose_name": None, "dtype": 2} in items
    assert {"column_name": "returned", "verbose_name": None, "dtype": 3} in items


def test_timegrains_tell_names_and_iso_durations(core: Any) -> None:
    items = ask(core, {}, result_type="timegrains").data
    assert {item["duration"] for item in items} >= {"PT1S", "P1D", "P1W", "P1M", "P3M", "P1Y"}
    assert all(item["name"] and item["function"] for item in items)


def test_samples_are_all_columns_of_some_rows_whatever_else_was_asked(core: Any) -> None:
    query = {**BY_CHANNEL, "time_range": "1999-01-01 : 1999-02-01", "granularity": "order_date", "series_limit": 1}
    result = ask(core, query, result_type="samples")
    assert result.colnames == tuple(ORDERS[0])
    assert result.rowcount == 1_000
    assert result.from_dttm is None
    assert result.limits[0].to_payload() == {
        "limit": "row_limit",
        "rows": 1_000,
        "set_by": "setting: samples_row_limit",
        "cut": True,
    }
    assert result.notes == (
        "time_range '1999-01-01 : 1999-02-01' does not bound samples; a TEMPORAL_RANGE filter does",
    )
    assert ask(core, {**query, "time_range": "No filter"}, result_type="samples").notes == ()


def test_samples_are_bounded_by_a_filter(core: Any) -> None:
    ranged = {"col": "order_date", "op": "TEMPORAL_RANGE", "val": "1999-01-01 : 1999-02-01"}
    assert ask(core, {"filters": [ranged]}, result_type="samples").rowcount == 0


def test_samples_keep_their_filters_and_a_limit_of_their_own(core: Any) -> None:
    query = {"filters": [{"col": "country", "op": "==", "val": "Brazil"}], "row_limit": 5, "row_offset": 2}
    result = ask(core, query, result_type="samples")
    assert result.rowcount == 5
    assert {row["country"] for row in result.data} == {"Brazil"}


def test_drill_detail_keeps_filters_and_time_and_orders_by_the_first_column(core: Any) -> None:
    query = {
        "columns": ["country"],
        "metrics": ["count"],
        "granularity": "order_date",
        "time_range": "2024-02-01 : 2024-03-01",
        "filters": [{"col": "country", "op": "==", "val": "Germany"}],
    }
    result = ask(core, query, result_type="drill_detail")
    wanted = [
        row["id"]
        for row in ORDERS
        if row["country"] == "Germany" and datetime(2024, 2, 1) <= row["order_date"] < datetime(2024, 3, 1)
    ]
    assert result.colnames == tuple(ORDERS[0])
    assert [row["id"] for row in result.data] == wanted
    assert result.data[0]["order_date"] % 1000 == 0  # the moments themselves, in milliseconds, not their buckets
    assert {row["order_date"] % 86_400_000 for row in result.data} != {0}


def test_post_processed_pivots_as_the_chart_does(core: Any) -> None:
    query = {"columns": ["country", "channel"], "metrics": ["count"]}
    form = {
        "viz_type": "pivot_table_v2",
        "groupbyRows": ["country"],
        "groupbyColumns": ["channel"],
        "metrics": ["count"],
    }
    result = ask(core, query, result_type="post_processed", form_data={**form, "aggregateFunction": "Sum"})
    assert result.indexnames
    assert "Germany" in str(result.indexnames)
    assert result.sql_rowcount == len({(row["country"], row["channel"]) for row in ORDERS})


# ------------------------------------------------------------------------------------------------- several queries
def test_every_query_of_a_context_is_answered_in_its_place(core: Any) -> None:
    data = core.charts.data(
        context(
            {"metrics": ["count"]}, {"columns": ["category"], "metrics": []}, {**BY_CHANNEL, "result_type": "query"}
        )
    )
    assert [result.rowcount for result in data.results[:2]] == [1, 4]
    assert data.results[0].data == [{"count": len(ORDERS)}]
    assert data.results[2].to_payload()["query"].startswith("SELECT")


def test_a_query_may_name_a_result_type_and_a_datasource_of_its_own(core: Any) -> None:
    customers = core.datasets.create({"database": 1, "table_name": "customers"})
    other = {"metrics": ["count"], "datasource": {"id": customers.id, "type": "table"}}
    data = core.charts.data(context({"metrics": ["count"], "result_type": "results"}, other)).raise_for_error()
    assert "query" not in data.results[0].to_payload()
    assert data.results[1].data == [{"count": 120}]


def test_an_error_stays_in_its_query_and_the_others_are_answered(core: Any) -> None:
    data = core.charts.data(context({"columns": ["contry"], "metrics": []}, {"metrics": ["count"]}))
    bad, good = data.results
    assert bad.status is QueryStatus.FAILED
    assert "country" in bad.error
    assert bad.to_payload()["stacktrace"] is None
    assert good.data == [{"count": len(ORDERS)}]
    with pytest.raises(errors.UnknownColumnError, match="country"):
        data.raise_for_error()


@for_each(
    ("query", "error"),
    [
        ({"metrics": ["counts"]}, errors.UnknownMetricError),
        ({"columns": ["country"], "metrics": ["count"], "orderby": [["contry", True]]}, errors.UnknownNameError),
        ({}, errors.EmptyQueryError),
        ({"columns": ["country", "country"], "metrics": [{**AMOUNT, "label": "country"}]}, errors.DuplicateLabelError),
        ({"metrics": ["count"], "filters": [{"col": "country", "op": "IN", "val": []}]}, errors.FilterValueError),
        ({"metrics": ["count"], "time_range": "since forever", "granularity": "order_date"}, errors.TimeRangeError),
        ({"metrics": ["count"], "extras": {"where": "1 = 1; DROP TABLE orders"}}, errors.FragmentError),
        ({"metrics": ["count"], "extras": {"where": "id IN (SELECT 1)"}}, errors.SubqueryNotAllowedError),
        ({"metrics": ["count"], "series_columns": ["country"], "series_limit": 2}, errors.QueryError),
        ({"metrics": ["count"], "time_offsets": ["1 year ago"]}, errors.TimeOffsetError),
        ({"metrics": ["count"], "post_processing": [{"operation": "no_such"}]}, errors.UnknownOperationError),
    ],
)
def test_each_refusal_keeps_its_type(core: Any, query: dict[str, Any], error: type[Exception]) -> None:
    data = core.charts.data(context(query))
    assert data.results[0].status is QueryStatus.FAILED
    with pytest.raises(error):
        data.raise_for_error()
    with pytest.raises(error):
        data.to_csv()


@for_each(
    ("payload", "error"),
    [
        ({"datasource": {"id": 99, "type": "table"}, "queries": [{"metrics": ["count"]}]}, errors.NotFoundError),
        ({"datasource": {"id": 1, "type": "magic"}, "queries": []}, errors.PayloadError),
        ({"queries": [{"metrics": ["count"]}]}, errors.PayloadError),
        ({"datasource": {"id": 1, "type": "table"}, "queries": [{"row_limit": -1}]}, errors.PayloadError),
        ("[1, 2]", errors.PayloadError),
        (b"\xff", errors.PayloadError),
    ],
)
def test_a_context_that_cannot_be_read_raises(core: Any, payload: Any, error: type[Exception]) -> None:
    with pytest.raises((error, errors.UnknownDatasourceTypeError)):
        core.charts.data(payload)


# ------------------------------------------------------------------------------------------------------------ ledger
def row_limit_of(result: Any) -> tuple[int, str, bool | None]:
    entry = result.limits[0]
    assert entry.limit == "row_limit"
    return entry.rows, entry.set_by, entry.cut


def test_the_ledger_tells_a_cut_result_from_one_that_just_fits(core: Any) -> None:
    assert row_limit_of(ask(core, {**BY_CHANNEL, "row_limit": 3})) == (3, "payload: row_limit", True)
    assert row_limit_of(ask(core, {**BY_CHANNEL, "row_limit": 4})) == (4, "payload: row_limit", False)
    assert ask(core, {**BY_CHANNEL, "row_limit": 3}).rowcount == 3


def test_the_ledger_says_who_set_the_limit(url: str) -> None:
    with orders_core(url, default_row_limit=2, max_row_limit=3) as small:
        assert row_limit_of(ask(small, BY_CHANNEL)) == (2, "setting: default_row_limit", True)
        assert row_limit_of(ask(small, {**BY_CHANNEL, "row_limit": 0})) == (3, "setting: max_row_limit", True)
        assert row_limit_of(ask(small, {**BY_CHANNEL, "row_limit": 50})) == (3, "setting: max_row_limit", True)
        assert ask(small, {**BY_CHANNEL, "row_limit": 50}).rowcount == 3


def test_a_series_limit_stands_in_the_ledger(core: Any) -> None:
    query = {"columns": ["country"], "metrics": ["count"], "series_columns": ["country"], "series_limit": 2}
    entry = ask(core, query).limits[1].to_payload()
    assert entry == {"limit": "series_limit", "rows": 2, "set_by": "payload: series_limit", "cut": None}


def test_a_row_count_that_reaches_its_limit_does_not_claim_to_be_whole(core: Any) -> None:
    query = {"columns": ["id"], "metrics": None, "is_rowcount": True}
    below, at = ask(core, {**query, "row_limit": 10_000}), ask(core, {**query, "row_limit": 10})
    assert (below.data, row_limit_of(below)[2]) == ([{"rowcount": len(ORDERS)}], False)
    assert at.data == [{"rowcount": 10}]
    assert row_limit_of(at)[2] is not False


@pytest.mark.parametrize("kind", ["samples", "drill_detail"])
def test_rows_of_samples_and_details_are_counted(core: Any, kind: str) -> None:
    requested = {"is_rowcount": True, "row_limit": 10_000, "filters": [{"col": "channel", "op": "==", "val": "web"}]}
    result = ask(core, requested, result_type=kind)
    assert result.data == [{"rowcount": count(lambda row: row["channel"] == "web")}]
    assert row_limit_of(result)[2] is False


def test_a_count_of_rows_counts_what_a_series_limit_leaves(core: Any) -> None:
    series = {"columns": ["country"], "metrics": ["count"], "series_columns": ["country"], "series_limit": 2}
    assert ask(core, {**series, "is_rowcount": True}).data == [{"rowcount": ask(core, series).rowcount}]
    others = {**series, "group_others_when_limit_reached": True}
    assert ask(core, {**others, "is_rowcount": True}).data == [{"rowcount": ask(core, others).rowcount}]


def test_row_offset_starts_further_down(core: Any) -> None:
    first = ask(core, {**BY_CHANNEL, "row_limit": 4}).data
    assert ask(core, {**BY_CHANNEL, "row_limit": 2, "row_offset": 1}).data == first[1:3]


# ------------------------------------------------------------------------------------------- what a result reports
def test_keys_that_nobody_reads_are_noted(core: Any) -> None:
    result = ask(core, {**BY_CHANNEL, "colour_scheme": "warm", "zoom": 3})
    assert result.notes == ("kept but not read: colour_scheme, zoom",)
    assert ask(core, BY_CHANNEL).notes == ()  # the same plan, perhaps from the cache: not the other payload's notes


def test_applied_and_rejected_filters_are_told_with_reasons(core: Any) -> None:
    query = {
        **BY_CHANNEL,
        "filters": [
            {"col": "country", "op": "==", "val": "Germany"},
            {"col": "planet", "op": "==", "val": "Mars"},
            {"col": "count", "op": ">", "val": 1},
        ],
        "applied_time_extras": {"__time_range": "Last week"},
    }
    result = ask(core, query)
    assert [f["column"] for f in result.applied_filters] == ["country", "count", "__time_range"]
    assert result.rejected_filters == ({"column": "planet", "reason": "not_in_datasource"},)


def test_time_extras_of_a_dataset_without_time_are_rejected(core: Any) -> None:
    products = core.datasets.create({"database": 1, "table_name": "products"})
    result = ask(core, {"metrics": ["count"], "applied_time_extras": {"__time_grain": "P1D"}}, dataset=products.id)
    assert result.rejected_filters == ({"column": "__time_grain", "reason": "no_temporal_column"},)


def test_the_resolved_range_is_reported_in_milliseconds(core: Any) -> None:
    result = ask(core, {**BY_CHANNEL, "granularity": "order_date", "time_range": "2024-01-01 : 2024-02-01"})
    assert result.from_dttm == round(datetime(2024, 1, 1, tzinfo=UTC).timestamp() * 1000)
    assert result.to_dttm == round(datetime(2024, 2, 1, tzinfo=UTC).timestamp() * 1000)


def sql_metric(text: str, label: str) -> dict[str, Any]:
    return {"expressionType": "SQL", "sqlExpression": text, "label": label}


def test_the_label_map_has_stored_names_and_the_text_of_ad_hoc_sql(named_core: Any) -> None:
    column_put(named_core, {"far": {"expression": "country <> 'DE'", "type": "BOOLEAN", "verbose_name": "Far, far"}})
    fragment = {"expressionType": "SQL", "sqlExpression": "upper( country )", "label": "land, upper"}
    changed_to_simple = {**AMOUNT, "sqlExpression": "SUM(1)"}
    metrics = ["count", changed_to_simple, sql_metric("sum( amount )/count(*)", "mean")]
    result = ask(named_core, {"columns": [fragment, axis("P1Y"), "far", "=Way of sale", "channel"], "metrics": metrics})
    assert result.label_map == {
        "land, upper": ("upper( country )",),
        "when": ("order_date",),
        "far": ("far",),
        "=Way of sale": ("channel",),
        "channel": ("channel",),
        "count": ("count",),
        "amount": ("amount",),
        "mean": ("sum( amount )/count(*)",),
    }


def test_the_label_map_of_a_kept_answer_has_the_text_of_this_payload(core: Any) -> None:
    first, second = ({"metrics": [sql_metric(text, "n")]} for text in ("sum(amount)", "SUM( amount )"))
    ask(core, first)
    assert [ask(core, query).label_map["n"] for query in (first, second)] == [("sum(amount)",), ("SUM( amount )",)]


def test_the_label_map_has_the_parts_of_labels_that_steps_joined(core: Any) -> None:
    pair = {"columns": [axis("P1Y"), "channel"], "metrics": ["count", {**AMOUNT, "label": "all, in"}]}
    pivot = {"index": ["when"], "columns": ["channel"]}
    aggregates = {"count": {"operator": "sum"}, "all, in": {"operator": "sum"}}
    steps = [{"operation": "pivot", "options": {**pivot, "aggregates": aggregates}}, {"operation": "flatten"}]
    labels = ask(core, {**pair, "post_processing": steps}).label_map
    assert labels["when"] == ("order_date",)
    assert labels["count, web"] == ("count", "web")
    assert labels["all, in, web"] == ("all, in", "web")


def test_a_comma_in_a_metrics_own_label_joins_nothing(core: Any) -> None:
    metric = {**AMOUNT, "label": "all, in"}
    ranges = {"granularity": "order_date", "time_range": "2024-01-01 : 2025-01-01", "time_offsets": ["1 year ago"]}
    sort = {"operation": "sort", "options": {"by": "channel"}}
    labels = ask(core, {"columns": ["channel"], "metrics": [metric], **ranges, "post_processing": [sort]}).label_map
    assert labels == {name: (name,) for name in ("channel", "all, in", "all, in__1 year ago")}


def test_the_label_map_of_a_processed_table_is_of_the_names_shown(named_core: Any) -> None:
    table = {"result_type": "post_processed", "form_data": {"viz_type": "table"}}
    assert ask(named_core, {"columns": ["country"], "metrics": ["count"]}, **table).label_map == {
        "Land": ("country",),
        "COUNT(*)": ("count",),
    }
    form = {"viz_type": "pivot_table_v2", "groupbyColumns": ["country"], "metrics": ["count"]}
    pivot = {"result_type": "post_processed", "form_data": form}
    labels = ask(named_core, {"columns": ["country"], "metrics": ["count"]}, **pivot).label_map
    assert labels[f"COUNT(*) {ORDERS[0]['country']}"] == ("COUNT(*)", ORDERS[0]["country"])


# ----------------------------------------------------------------------------------------------------- CSV and XLSX
@pytest.fixture
def named_core(tmp_path: Path) -> Iterator[Any]:
    core = orders_core(shop_url(tmp_path))
    column_put(core, {"channel": {"verbose_name": "=Way of sale"}, "country": {"verbose_name": "Land"}})
    yield core
    core.close()


def sheet(book: bytes, number: int = 0) -> list[list[Any]]:
    return CalamineWorkbook.from_filelike(io.BytesIO(book)).get_sheet_by_index(number).to_python()


def test_csv_and_xlsx_have_verbose_headers_and_the_rows(named_core: Any) -> None:
    query = {"columns": ["country"], "metrics": ["count", AMOUNT], "row_limit": 2}
    data = named_core.charts.data(context(query, {"metrics": ["count"]}, result_format="csv"))
    table = list(csv.reader(io.StringIO(data.to_csv().decode("utf-8-sig"))))
    assert table[0] == ["Land", "COUNT(*)", "amount"]  # the saved metric has a verbose name too
    assert table[1][:2] == ["Brazil", str(count(lambda row: row["country"] == "Brazil"))]
    assert float(table[1][2]) == pytest.approx(total(lambda row: row["country"] == "Brazil"))
    assert sheet(data.to_xlsx())[0] == ["Land", "COUNT(*)", "amount"]
    assert sheet(data.to_xlsx(), 1) == [["COUNT(*)"], [float(len(ORDERS))]]
    assert data.to_csv(query=1).decode("utf-8-sig").split() == ["COUNT(*)", str(len(ORDERS))]


def test_formulas_in_cells_headers_and_labels_are_neutralised_from_end_to_end(named_core: Any) -> None:
    hostile = {"expressionType": "SQL", "sqlExpression": "'=cmd|''/c calc''!A1'", "label": "+harm"}
    harmless = {"expressionType": "SQL", "sqlExpression": "'a = b'", "label": "1 - 2"}
    query = {"columns": ["channel", hostile, harmless], "metrics": [{**AMOUNT, "aggregate": "MIN", "label": "@low"}]}
    data = named_core.charts.data(context({**query, "row_limit": 1})).raise_for_error()
    head, line = list(csv.reader(io.StringIO(data.to_csv().decode("utf-8-sig"))))
    assert head[:2] == ["'=Way of sale", "'+harm"]
    assert head[2:] == ["1 - 2", "'@low"]
    assert line[1].startswith("'=cmd")
    assert line[2] == "a = b"
    first, second = sheet(data.to_xlsx())
    assert first == ["'=Way of sale", "'+harm", "1 - 2", "'@low"]
    assert second[1].startswith("'=cmd")
    assert isinstance(second[3], float)


def test_a_statement_only_answer_has_no_table(core: Any) -> None:
    data = core.charts.data(context(BY_CHANNEL, result_type="query"))
    with pytest.raises(errors.QueryError, match="statement only"):
        data.to_csv()


@for_each("result_type", ["columns", "timegrains", "samples", "drill_detail", "results"])
def test_every_result_type_with_rows_can_be_written_as_csv_and_xlsx(core: Any, result_type: str) -> None:
    data = core.charts.data(context({"row_limit": 3, "columns": ["id"]}, result_type=result_type)).raise_for_error()
    assert len(data.to_csv().splitlines()) > 3
    assert len(sheet(data.to_xlsx())) > 3
