"""What a chart query may look like, and what it becomes at the door."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from tests.support.cases import for_each
from tests.support.steps import calls_of

from analytics_core.errors import PayloadFormatError, PayloadSchemaError
from analytics_core.models import AdhocColumn, AdhocMetric, ChartDataQueryObject, parse_query_context
from analytics_core.models.enums import Aggregate, ExpressionType, FilterOperator, ResultFormat, ResultType, TimeGrain

MONTHS = {
    "label": "month",
    "sqlExpression": "order_date",
    "expressionType": "SQL",
    "columnType": "BASE_AXIS",
    "timeGrain": "P1M",
    "isColumnReference": True,
}
REVENUE = {"expressionType": "SIMPLE", "aggregate": "SUM", "column": {"column_name": "amount"}, "label": "revenue"}


def query_of(**fields: Any) -> ChartDataQueryObject:
    return parse_query_context({"datasource": {"id": 1, "type": "table"}, "queries": [fields]}).queries[0]


def problem_of(**fields: Any) -> str:
    with pytest.raises(PayloadSchemaError) as caught:
        query_of(**fields)
    return str(caught.value)


# ------------------------------------------------------------------------------------------------------------ shapes
def test_an_empty_context_asks_for_everything_as_json() -> None:
    context = parse_query_context({"queries": [{}]})
    assert (context.result_type, context.result_format) == (ResultType.FULL, ResultFormat.JSON)
    assert (context.force, context.datasource, context.custom_cache_timeout) == (False, None, None)


def test_a_context_is_read_from_text_bytes_or_a_mapping_alike() -> None:
    text = '{"datasource": {"id": 1}, "queries": [{"columns": ["a"]}]}'
    assert parse_query_context(text) == parse_query_context(text.encode())
    assert parse_query_context(text) == parse_query_context({"datasource": {"id": 1}, "queries": [{"columns": ["a"]}]})


def test_a_context_that_was_read_is_taken_as_it_is() -> None:
    context = parse_query_context({"queries": [{"groupby": ["a"]}]})
    assert parse_query_context(context) is context


def test_columns_may_be_names_and_adhoc_columns() -> None:
    name, axis = query_of(columns=["country", MONTHS]).columns
    assert name == "country"
    assert isinstance(axis, AdhocColumn)
    assert (axis.column_type, axis.time_grain, axis.is_column_reference) == ("BASE_AXIS", "P1M", True)


def test_no_metrics_and_an_empty_list_of_metrics_differ() -> None:
    assert query_of(metrics=None).metrics is None
    assert query_of().metrics is None
    assert query_of(metrics=[]).metrics == ()


def test_a_simple_metric_is_read() -> None:
    (metric,) = query_of(metrics=[REVENUE]).metrics or ()
    assert isinstance(metric, AdhocMetric)
    assert metric.expression_type is ExpressionType.SIMPLE
    assert metric.aggregate is Aggregate.SUM
    assert metric.column is not None
    assert metric.column.column_name == "amount"


def test_a_metric_of_a_real_client_keeps_what_nobody_reads() -> None:
    sent = {**REVENUE, "sqlExpression": None, "hasCustomLabel": None, "isNew": False, "datasourceWarning": False}
    (metric,) = query_of(metrics=[sent]).metrics or ()
    assert isinstance(metric, AdhocMetric)
    assert metric.model_extra == {"isNew": False, "datasourceWarning": False}


def test_the_older_form_of_a_saved_metric_becomes_its_name() -> None:
    assert query_of(metrics=[{"label": "count"}]).metrics == ("count",)


def test_a_metric_with_a_label_and_no_kind_is_not_taken_for_a_saved_one() -> None:
    sent = {"label": "revenue", "aggregate": "SUM", "column": {"column_name": "amount"}}
    assert "queries.0.metrics.0.expressionType: is required" in problem_of(metrics=[sent])


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ({"expressionType": "SIMPLE", "column": {"column_name": "a"}}, "needs aggregate"),
        ({"expressionType": "SQL", "aggregate": "SUM"}, "needs sqlExpression"),
        ({"expressionType": "SQL", "sqlExpression": "SUM(a)", "hasCustomLabel": True}, "label must be given"),
    ],
)
def test_a_metric_that_lacks_what_its_kind_needs_is_refused(metric: dict[str, Any], message: str) -> None:
    assert message in problem_of(metrics=[metric])


@pytest.mark.parametrize("item", [1, None, True, ["a"]])
def test_a_column_or_metric_of_another_type_is_refused(item: Any) -> None:
    assert "queries.0.columns.0: must be the name of a column" in problem_of(columns=[item])
    assert "queries.0.metrics.0: must be the name of a metric" in problem_of(metrics=[item])


def test_rows_may_be_ordered_by_names_metrics_and_adhoc_columns() -> None:
    items = query_of(orderby=[["country", True], [REVENUE, False], [MONTHS, True], [{"label": "count"}, False]]).orderby
    assert [type(key) for key, _ in items] == [str, AdhocMetric, AdhocColumn, str]
    assert [ascending for _, ascending in items] == [True, False, True, False]


@for_each("item", [["a"], ["a", "asc"], ["a", True, 1], "a", [None, True]])
def test_an_order_that_is_no_pair_of_a_key_and_a_direction_is_refused(item: Any) -> None:
    assert "queries.0.orderby.0" in problem_of(orderby=[item])


def test_null_steps_of_post_processing_are_dropped() -> None:
    steps = query_of(post_processing=[None, {"operation": "pivot", "options": None}, None]).post_processing
    assert [(step.operation, step.options) for step in steps] == [("pivot", {})]


def test_lists_that_are_null_are_empty() -> None:
    query = query_of(columns=None, filters=None, orderby=None, post_processing=None, time_offsets=None)
    assert (query.columns, query.filters, query.orderby, query.post_processing, query.time_offsets) == ((),) * 5


def test_is_timeseries_keeps_its_three_states() -> None:
    assert [query_of(is_timeseries=state).is_timeseries for state in (None, True, False)] == [None, True, False]


def test_order_desc_that_nobody_gave_is_left_open() -> None:
    assert query_of().order_desc is None
    assert query_of(order_desc=None).order_desc is None
    assert query_of(order_desc=False).order_desc is False


def test_what_the_contract_does_not_name_is_kept() -> None:
    query = query_of(custom_params={"a": 1}, inner_from_dttm=None, applied_time_extras={"__time_range": "x"})
    assert query.model_extra == {"custom_params": {"a": 1}, "inner_from_dttm": None}
    assert query.applied_time_extras == {"__time_range": "x"}


def test_a_query_cannot_be_changed_once_it_was_read() -> None:
    with pytest.raises(ValidationError):
        query_of().row_limit = 5  # type: ignore[misc]


# ----------------------------------------------------------------------------------------------------------- filters
@for_each("operator", FilterOperator)
def test_operators_are_read_in_any_case(operator: FilterOperator) -> None:
    for text in (operator.value, operator.value.lower(), f" {operator.value.title()} "):
        assert query_of(filters=[{"col": "a", "op": text}]).filters[0].op is operator


def test_the_regex_operator_is_refused_with_what_would_work() -> None:
    assert "REGEX is no longer offered; use LIKE or ILIKE" in problem_of(filters=[{"col": "a", "op": "regex"}])


def test_an_unknown_operator_is_refused_with_the_nearest_one() -> None:
    assert "did you mean 'IS NULL'?" in problem_of(filters=[{"col": "a", "op": "is nul"}])


@for_each("value", ["x", 1, 1.5, True, None, ["x", 1, None], []])
def test_a_filter_takes_texts_numbers_truths_null_and_lists_of_them(value: Any) -> None:
    read = query_of(filters=[{"col": "a", "op": "IN", "val": value}]).filters[0].val
    assert read == (tuple(value) if isinstance(value, list) else value)


@pytest.mark.parametrize("value", [{"a": 1}, [["x"]], [{"a": 1}]])
def test_a_filter_refuses_objects_and_lists_in_lists(value: Any) -> None:
    assert "queries.0.filters.0.val" in problem_of(filters=[{"col": "a", "op": "IN", "val": value}])


def test_a_filter_may_stand_on_an_adhoc_column() -> None:
    column = query_of(filters=[{"col": MONTHS, "op": "TEMPORAL_RANGE", "val": "Last week"}]).filters[0].col
    assert isinstance(column, AdhocColumn)


# ------------------------------------------------------------------------------------------------------- older names
def test_older_names_of_time_fields_are_taken() -> None:
    query = query_of(granularity_sqla="day", extras={"time_grain_sqla": "P1W"})
    assert query.granularity == "day"
    assert query.extras is not None
    assert query.extras.time_grain is TimeGrain.WEEK
    assert query.model_extra == {}


@pytest.mark.parametrize("name", ["granularity_orm", "granularity_sqla"])
def test_deprecated_fields_move_to_their_successors(name: str) -> None:
    query = query_of(**{name: "day"}, groupby=["a"], timeseries_limit=5, timeseries_limit_metric="count")
    assert (query.columns, query.granularity, query.series_limit, query.series_limit_metric) == (
        ("a",),
        "day",
        5,
        "count",
    )
    assert (query.groupby, query.granularity_orm, query.timeseries_limit, query.timeseries_limit_metric) == (
        (),
        None,
        0,
        None,
    )


@for_each(
    ("old", "new", "values"),
    [
        ("groupby", "columns", (["a"], ["b"])),
        ("granularity_sqla", "granularity", ("a", "b")),
        ("granularity_orm", "granularity", ("a", "b")),
        ("timeseries_limit", "series_limit", (1, 2)),
        ("timeseries_limit_metric", "series_limit_metric", ("a", "b")),
    ],
)
def test_a_deprecated_field_that_contradicts_its_successor_is_refused(
    old: str, new: str, values: tuple[Any, Any]
) -> None:
    with pytest.raises(PayloadSchemaError, match=f"queries.0.{old[:11]}.*is the older name of '{new}'"):
        query_of(**dict(zip((old, new), values, strict=True)))
    same = query_of(**{old: values[0], new: values[0]})
    assert same == query_of(**{new: values[0]})


@pytest.mark.parametrize("empty", [None, []])
def test_an_empty_deprecated_value_does_not_win(empty: Any) -> None:
    assert query_of(groupby=empty, columns=["new"]).columns == ("new",)
    assert query_of(timeseries_limit=0, series_limit=7).series_limit == 7


def test_deprecated_conditions_are_anded_to_those_of_extras() -> None:
    extras = query_of(where="a = 1 -- one", having="COUNT(*) > 1", extras={"where": "b = 2 OR c = 3"}).extras
    assert extras is not None
    assert extras.where == "(b = 2 OR c = 3\n) AND (a = 1 -- one\n)"
    assert extras.having == "COUNT(*) > 1"


def test_moving_deprecated_fields_twice_changes_nothing() -> None:
    once = parse_query_context({"queries": [{"groupby": ["a"], "where": "a = 1"}]})
    assert parse_query_context(once) == once


# ------------------------------------------------------------------------------------------------------ wrong payloads
@for_each(("op", "meant"), [("<>", "!="), ("=", "=="), ("=>", ">="), ("=<", "<="), ("!==", "!=")])
def test_an_operator_of_another_language_is_told_by_its_meaning(op: str, meant: str) -> None:
    assert problem_of(filters=[{"col": "a", "op": op, "val": 1}]).endswith(f"; did you mean {meant!r}?")


@for_each("op", ["!", "<<", "~", "%", "><"])
def test_signs_that_only_look_alike_are_no_suggestion(op: str) -> None:
    assert "did you mean" not in problem_of(filters=[{"col": "a", "op": op, "val": 1}])


def test_all_problems_of_a_payload_are_named_at_once() -> None:
    with pytest.raises(PayloadSchemaError) as caught:
        parse_query_context(
            {"result_type": "ful", "queries": [{"row_limit": -1, "order_desc": "yes"}, {"columns": "a"}]}
        )
    paths = [problem.path for problem in caught.value.problems]
    assert sorted(paths) == ["queries.0.order_desc", "queries.0.row_limit", "queries.1.columns", "result_type"]
    assert "did you mean 'full'?" in str(caught.value)


@pytest.mark.parametrize(
    ("spelling", "grain"),
    [("P0.25Y", TimeGrain.QUARTER), ("PT0.5H", TimeGrain.THIRTY_MINUTES), ("", None), (None, None)],
)
def test_a_time_grain_has_the_spellings_of_older_clients(spelling: str | None, grain: TimeGrain | None) -> None:
    for name in ("time_grain_orm", "time_grain_sqla"):
        extras = query_of(extras={name: spelling}).extras
        assert extras is not None
        assert extras.time_grain is grain


def test_an_empty_aggregate_of_an_sql_metric_is_none() -> None:
    sent = {"expressionType": "SQL", "sqlExpression": "SUM(a)", "aggregate": "", "column": None, "label": "a"}
    (metric,) = query_of(metrics=[sent]).metrics or ()
    assert isinstance(metric, AdhocMetric)
    assert metric.aggregate is None
    assert "needs aggregate" in problem_of(metrics=[{"expressionType": "SIMPLE", "aggregate": "", "column": None}])
    assert "aggregate" in problem_of(metrics=[{**sent, "aggregate": False}])


def test_an_unknown_time_grain_is_refused_with_the_nearest_one() -> None:
    message = problem_of(extras={"time_grain_sqla": "P1DD"})
    assert "extras.time_grain_sqla" in message
    assert "did you mean 'P1D'?" in message


@for_each("payload", ["[]", "1", "{", b"\xff", '{"a": NaN}', "[" * 100_000, 5, None])
def test_what_is_no_json_object_is_refused(payload: Any) -> None:
    with pytest.raises(PayloadFormatError) as caught:
        parse_query_context(payload)
    assert caught.value.status == 422


@pytest.mark.parametrize("text", ["a\x00b", "\ud800", "x\udfff"])
def test_text_that_no_engine_takes_is_refused_wherever_it_stands(text: str) -> None:
    for query in (
        {"columns": [text]},
        {"filters": [{"col": "a", "op": "IN", "val": ["x", text]}]},
        {"url_params": {text: "x"}},
        {"unknown": {"deep": [[text]]}},
    ):
        with pytest.raises(PayloadFormatError):
            query_of(**query)


@for_each("text", ["a\tb\n", "naïve", "数据", "😀", "\\u0000", "'; DROP TABLE x --"])
def test_unusual_but_harmless_text_is_taken(text: str) -> None:
    assert query_of(columns=[text]).columns == (text,)


def test_a_payload_nested_too_deeply_is_refused() -> None:
    nested: Any = "x"
    for _ in range(200):
        nested = [nested]
    with pytest.raises(PayloadFormatError, match="nested"):
        parse_query_context({"queries": [], "form_data": nested})


def test_numbers_that_json_does_not_have_are_refused() -> None:
    with pytest.raises(PayloadFormatError, match="null"):
        query_of(filters=[{"col": "a", "op": "==", "val": float("nan")}])


@pytest.mark.parametrize("field", ["granularity", "time_range", "where"])
def test_an_endless_text_is_refused(field: str) -> None:
    assert "characters at the most" in problem_of(**{field: "x" * 1_000_001})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.sampled_from([*ChartDataQueryObject.model_fields, "time_grain_sqla", "x"])


@pytest.mark.slow
@given(st.dictionaries(FIELDS, JSON, max_size=6))
def test_any_query_is_either_read_or_refused_with_a_typed_error(fields: dict[str, Any]) -> None:
    with suppress(PayloadSchemaError, PayloadFormatError):
        assert query_of(**fields) == query_of(**fields)


def test_reading_a_payload_takes_few_steps_for_each_query() -> None:
    query = {"columns": [MONTHS, "country"], "metrics": [REVENUE], "orderby": [[REVENUE, False]], "row_limit": 100}
    payload = {"datasource": {"id": 1, "type": "table"}, "queries": [query], "form_data": {"a": [1, 2, 3]}}
    parse_query_context(payload)  # what is made once is made here
    one, many = ({**payload, "queries": [query] * count} for count in (1, 100))
    assert calls_of(lambda: parse_query_context(one)) < 600
    assert calls_of(lambda: parse_query_context(many)) < 100 * 400
