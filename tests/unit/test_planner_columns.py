"""Columns, metrics and labels of a query become outputs."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.cases import for_each
from tests.support.planning import COLUMNS, outputs, plan, query_of, statement, view_of

from analytics_core._engine.compile.columns import time_grain, with_grain
from analytics_core._engine.compile.lowering.expressions import aliases
from analytics_core._engine.compile.plan import AggregateExpr, BucketExpr, ColumnExpr, FragmentExpr, OutputRole
from analytics_core._engine.engines.types import TimeEncoding, ValueKind
from analytics_core._records.datasource import DatasetColumn
from analytics_core.errors import (
    DuplicateLabelError,
    EmptyQueryError,
    FilterValueError,
    FragmentError,
    QueryError,
    SubqueryNotAllowedError,
    UnknownColumnError,
    UnknownMetricError,
    UnknownTimeGrainError,
)
from analytics_core.models.enums import Aggregate, TimeGrain


def simple(aggregate: str, column: str, **fields: Any) -> dict[str, Any]:
    return {"expressionType": "SIMPLE", "aggregate": aggregate, "column": {"column_name": column}, **fields}


def sql(expression: str, **fields: Any) -> dict[str, Any]:
    return {"expressionType": "SQL", "sqlExpression": expression, **fields}


def axis(name: str, grain: str | None = None, **fields: Any) -> dict[str, Any]:
    return {"columnType": "BASE_AXIS", "sqlExpression": name, "label": name, "timeGrain": grain, **fields}


# ----------------------------------------------------------------------------------------------------------- columns
def test_a_physical_column_keeps_its_name_kind_and_nullability() -> None:
    found = outputs({"columns": ["country", "id"]})
    assert found["country"].expr == ColumnExpr("country", ValueKind.TEXT, None, None)
    assert found["id"].nullable is False
    assert found["country"].role is OutputRole.COLUMN


def test_a_column_may_be_asked_for_by_its_verbose_name_and_keeps_it_as_label() -> None:
    found = outputs({"columns": ["Land"]})
    assert found["Land"].expr == ColumnExpr("country", ValueKind.TEXT, None, None)


def test_a_column_s_own_name_wins_over_the_verbose_name_of_another() -> None:
    columns = (*COLUMNS, DatasetColumn(column_name="other", verbose_name="country", type="INTEGER"))
    found = outputs({"columns": ["country"]}, view=view_of(columns=columns))
    assert found["country"].kind is ValueKind.TEXT


def test_a_calculated_column_is_its_expression_with_the_declared_kind() -> None:
    output = outputs({"columns": ["revenue"]})["revenue"]
    assert isinstance(output.expr, FragmentExpr)
    assert output.kind is ValueKind.FLOAT
    assert "*" in output.expr.sql


def test_an_unknown_column_is_refused_with_the_nearest_names() -> None:
    with pytest.raises(UnknownColumnError, match="country"):
        plan({"columns": ["contry"], "metrics": ["orders"]})


def test_names_of_columns_are_exact_and_never_sql() -> None:
    for name in ("COUNTRY", "country ", '"country"', "country; DROP TABLE orders", "1", "*"):
        with pytest.raises(UnknownColumnError):
            plan({"columns": [name]})


def test_an_ad_hoc_column_may_name_a_column_or_hold_an_expression() -> None:
    found = outputs(
        {"columns": [{"label": "where", "sqlExpression": "city"}, {"label": "shout", "sqlExpression": "UPPER(city)"}]}
    )
    assert found["where"].expr == ColumnExpr("city", ValueKind.TEXT, None, None)
    assert found["shout"].kind is ValueKind.TEXT
    assert isinstance(found["shout"].expr, FragmentExpr)


def test_an_ad_hoc_column_without_a_label_is_called_like_its_expression() -> None:
    assert list(outputs({"columns": [{"sqlExpression": "UPPER(city)"}]})) == ["UPPER(city)"]


def test_an_ad_hoc_column_that_refers_to_a_column_must_find_it() -> None:
    with pytest.raises(UnknownColumnError):
        plan({"columns": [{"label": "x", "sqlExpression": "UPPER(city)", "isColumnReference": True}]})


@pytest.mark.parametrize("column", [{"label": "x"}, {"label": "x", "sqlExpression": ""}, {"columnType": "BASE_AXIS"}])
def test_an_ad_hoc_column_without_an_expression_is_refused(column: dict[str, Any]) -> None:
    with pytest.raises(FragmentError, match="sqlExpression"):
        plan({"columns": [column]})


@pytest.mark.parametrize("text", ["(SELECT 1)", "EXISTS (SELECT 1 FROM orders)", "quantity IN (SELECT id FROM orders)"])
def test_an_ad_hoc_column_holds_no_sub_query(text: str) -> None:
    with pytest.raises(SubqueryNotAllowedError):
        plan({"columns": [{"label": "x", "sqlExpression": text}]})


def test_a_query_for_nothing_is_refused() -> None:
    for query in ({}, {"columns": [], "metrics": []}, {"columns": [], "metrics": None}):
        with pytest.raises(EmptyQueryError):
            plan(query)


def test_no_metrics_means_raw_rows_and_an_empty_list_means_distinct_rows() -> None:
    assert plan({"columns": ["city"], "metrics": None}).grouped is False
    assert plan({"columns": ["city"], "metrics": []}).grouped is True


def test_deprecated_fields_give_the_plan_of_their_successors() -> None:
    old = plan(
        {
            "groupby": ["city"],
            "granularity_sqla": "ordered_at",
            "timeseries_limit": 3,
            "timeseries_limit_metric": "turnover",
            "metrics": ["orders"],
            "is_timeseries": True,
            "where": "quantity > 1",
            "having": "COUNT(*) > 1",
            "extras": {"time_grain_sqla": "P1M"},
        }
    )
    new = plan(
        {
            "columns": ["city"],
            "granularity": "ordered_at",
            "series_limit": 3,
            "series_limit_metric": "turnover",
            "metrics": ["orders"],
            "is_timeseries": True,
            "extras": {"time_grain_orm": "P1M", "where": "quantity > 1", "having": "COUNT(*) > 1"},
        }
    )
    assert old == new


# -------------------------------------------------------------------------------------------------------------- time
def test_the_x_axis_takes_its_grain() -> None:
    output = outputs({"columns": [axis("ordered_at", "P1M")], "metrics": ["orders"]})["ordered_at"]
    assert isinstance(output.expr, BucketExpr)
    assert output.expr.grain is TimeGrain.MONTH
    assert output.is_temporal


def test_an_x_axis_that_is_not_temporal_ignores_the_grain() -> None:
    output = outputs({"columns": [axis("country", "P1M")], "metrics": ["orders"]})["country"]
    assert output.expr == ColumnExpr("country", ValueKind.TEXT, None, None)


def test_a_computed_x_axis_takes_the_grain_as_a_timestamp() -> None:
    output = outputs({"columns": [axis("COALESCE(ordered_at, shipped_on)", "P1Y")], "metrics": ["orders"]})
    (only, _) = output.values()
    assert isinstance(only.expr, BucketExpr)
    assert only.expr.source.time is not None
    assert only.expr.source.time.encoding is TimeEncoding.TIMESTAMP


def test_an_unknown_grain_is_refused_with_the_known_ones() -> None:
    for query in (
        {"columns": [axis("ordered_at", "P2M")], "metrics": ["orders"]},
        {"columns": [axis("ordered_at", "month); DROP TABLE orders")], "metrics": ["orders"]},
    ):
        with pytest.raises(UnknownTimeGrainError, match="P1M"):
            plan(query)


def test_the_granularity_takes_the_query_s_grain_when_it_is_among_the_columns() -> None:
    query = {"columns": ["ordered_at"], "granularity": "ordered_at", "extras": {"time_grain_sqla": "P1D"}}
    grouped = outputs({**query, "metrics": ["orders"]})["ordered_at"]
    assert isinstance(grouped.expr, BucketExpr)
    raw = outputs({**query, "metrics": None})["ordered_at"]
    assert isinstance(raw.expr, ColumnExpr)


def test_a_time_series_starts_with_its_timestamp() -> None:
    query = {"columns": ["city"], "metrics": ["orders"], "granularity": "ordered_at", "is_timeseries": True}
    assert list(outputs(query)) == ["__timestamp", "city", "orders"]
    named = {"columns": ["city", "__timestamp"], "metrics": ["orders"], "granularity": "ordered_at"}
    assert list(outputs(named)) == ["__timestamp", "city", "orders"]
    assert list(outputs({**query, "is_timeseries": False})) == ["city", "orders"]


def test_a_time_series_needs_a_temporal_column() -> None:
    query = {"columns": ["city"], "metrics": ["orders"], "is_timeseries": True}
    with pytest.raises(QueryError, match="granularity"):
        plan(query)
    with pytest.raises(QueryError, match="not temporal"):
        plan({**query, "granularity": "city"})
    with pytest.raises(UnknownColumnError):
        plan({**query, "granularity": "nowhere"})


def test_numbers_flagged_temporal_need_a_format() -> None:
    columns = (DatasetColumn(column_name="n", type="INTEGER", is_dttm=True),)
    assert outputs({"columns": ["n"]}, view=view_of(columns=columns))["n"].is_temporal is False
    assert outputs({"columns": ["epoch"]})["epoch"].is_temporal is True


def test_the_offset_of_the_dataset_moves_time_buckets() -> None:
    view = view_of(offset=-3)
    output = outputs({"columns": [axis("ordered_at", "P1D")], "metrics": ["orders"]}, view=view)["ordered_at"]
    assert isinstance(output.expr, BucketExpr)
    assert output.expr.hours == -3


# ----------------------------------------------------------------------------------------------------------- metrics
def test_a_saved_metric_is_its_expression() -> None:
    output = outputs({"metrics": ["turnover"]})["turnover"]
    assert isinstance(output.expr, FragmentExpr)
    assert output.role is OutputRole.METRIC


def test_a_saved_metric_may_be_named_in_the_older_form() -> None:
    assert list(outputs({"metrics": [{"label": "turnover"}]})) == ["turnover"]


def test_an_unknown_metric_is_refused_with_the_nearest_names() -> None:
    with pytest.raises(UnknownMetricError, match="turnover"):
        plan({"metrics": ["turnovr"]})


def test_a_column_s_name_is_not_a_metric() -> None:
    with pytest.raises(UnknownMetricError):
        plan({"metrics": ["quantity"]})


@for_each(
    ("aggregate", "column", "kind"),
    [
        ("COUNT", "city", ValueKind.INTEGER),
        ("COUNT_DISTINCT", "city", ValueKind.INTEGER),
        ("SUM", "quantity", ValueKind.INTEGER),
        ("SUM", "price", ValueKind.DECIMAL),
        ("AVG", "quantity", ValueKind.FLOAT),
        ("MIN", "city", ValueKind.TEXT),
        ("MAX", "ordered_at", ValueKind.TIMESTAMP),
        ("MAX", "is_paid", ValueKind.INTEGER),
        ("SUM", "is_paid", ValueKind.INTEGER),
        ("SUM", "revenue", ValueKind.FLOAT),
    ],
)
def test_an_aggregate_of_a_column_has_its_kind(aggregate: str, column: str, kind: ValueKind) -> None:
    (output,) = outputs({"metrics": [simple(aggregate, column)]}).values()
    assert isinstance(output.expr, AggregateExpr)
    assert (output.expr.aggregate, output.kind) == (Aggregate(aggregate), kind)


@for_each("aggregate", ["SUM", "AVG"])
@for_each("column", ["city", "ordered_at", "shipped_on"])
def test_only_numbers_are_summed_and_averaged(aggregate: str, column: str) -> None:
    with pytest.raises(FilterValueError, match=column):
        plan({"metrics": [simple(aggregate, column)]})


def test_counts_are_never_null() -> None:
    found = outputs({"metrics": [simple("COUNT", "city"), simple("SUM", "quantity")]})
    assert [output.nullable for output in found.values()] == [False, None]


@for_each(
    ("metric", "label"),
    [
        (simple("SUM", "quantity"), "SUM(quantity)"),
        (simple("COUNT_DISTINCT", "city"), "COUNT_DISTINCT(city)"),
        (simple("SUM", "quantity", label="Sold"), "Sold"),
        (sql("SUM(quantity) / 2"), "SUM(quantity) / 2"),
        (sql("SUM(quantity) / 2", label="Half"), "Half"),
        (sql("COUNT(*)", column=None), "COUNT(*)"),
    ],
)
def test_labels_of_ad_hoc_metrics(metric: dict[str, Any], label: str) -> None:
    assert list(outputs({"metrics": [metric]})) == [label]


@pytest.mark.parametrize("metric", [simple("SUM", ""), {"expressionType": "SIMPLE", "aggregate": "SUM"}, sql("")])
def test_an_incomplete_ad_hoc_metric_is_refused(metric: dict[str, Any]) -> None:
    with pytest.raises(FragmentError):
        plan({"metrics": [metric]})


@for_each("text", ["SUM(quantity); DROP TABLE orders", "SUM(quantity), 1", "*", "1 AS x", "SUM("])
def test_an_sql_metric_is_one_expression(text: str) -> None:
    with pytest.raises(FragmentError):
        plan({"metrics": [sql(text, label="x")]})


# ------------------------------------------------------------------------------------------------------------ labels
def test_a_label_is_given_once() -> None:
    with pytest.raises(DuplicateLabelError, match="city"):
        plan({"columns": ["city", "city"], "metrics": ["orders"]})
    with pytest.raises(DuplicateLabelError):
        plan({"columns": ["city"], "metrics": [simple("COUNT", "id", label="city")]})


@pytest.mark.parametrize("label", ["\x01p0\x01", "a\x02b", "x" * 1001, "\x1b[31m"])
def test_a_label_is_printable_and_not_too_long(label: str) -> None:
    with pytest.raises(QueryError):
        plan({"metrics": [simple("COUNT", "id", label=label)]})


@for_each("label", ["two\nlines", "tab\there", 'a "quoted" one', "50%", "Ünïcode 🙂", ";--", "?", ":p0"])
def test_a_harmless_label_is_kept_as_it_is(label: str) -> None:
    assert list(outputs({"metrics": [simple("COUNT", "id", label=label)]})) == [label]


def test_aliases_differ_when_case_is_ignored() -> None:
    made = aliases(["a", "A", "a "], max_bytes=None)
    assert made[0] == "a"
    assert len({alias.casefold() for alias in made}) == 3


def test_aliases_are_cut_at_whole_characters_and_stay_apart() -> None:
    made = aliases(["ü" * 40 + "1", "ü" * 40 + "2", "short"], max_bytes=63)
    assert all(len(alias.encode()) <= 63 for alias in made)
    assert len(set(made)) == 3
    assert made[2] == "short"


def test_a_label_made_to_look_like_a_cut_one_gets_an_alias_of_its_own() -> None:
    second = aliases(["a", "A"], max_bytes=None)[1]
    hashed_third = aliases(["x", "a", "A"], max_bytes=None)[2]
    assert len({alias.casefold() for alias in aliases([second, "a", "A"], max_bytes=None)}) == 3
    assert len({alias.casefold() for alias in aliases([hashed_third, "a", "A"], max_bytes=None)}) == 3


def test_a_label_of_blanks_gets_an_alias_that_engines_take() -> None:
    (alias,) = aliases(["   "], max_bytes=63)
    assert alias.strip()


# ------------------------------------------------------------------------------------------------ grain beside the axis
def grains(query: dict[str, Any], **options: Any) -> dict[str, TimeGrain | None]:
    found = outputs(query, **options)
    return {label: o.expr.grain for label, o in found.items() if isinstance(o.expr, BucketExpr)}


@pytest.mark.parametrize("name", ["time_grain_orm", "time_grain_sqla"])
def test_an_x_axis_without_a_grain_takes_that_of_the_extras(name: str) -> None:
    query = {"metrics": ["orders"], "extras": {name: "P1M"}}
    for column in (axis("ordered_at"), axis("ordered_at", ""), axis("CAST(city AS TIMESTAMP)", label="ordered_at")):
        assert grains({**query, "columns": [column]}, view=view_of("duckdb")) == {"ordered_at": TimeGrain.MONTH}
    assert plan({**query, "columns": [axis("ordered_at")]}).unused == ()


def test_the_grain_of_the_x_axis_wins_and_the_other_is_told() -> None:
    query = {"columns": [axis("ordered_at", "P1D")], "metrics": ["orders"]}
    assert grains({**query, "extras": {"time_grain_orm": "P1M"}}) == {"ordered_at": TimeGrain.DAY}
    assert plan({**query, "extras": {"time_grain_orm": "P1M"}}).unused == (
        "extras.time_grain_orm P1M is not used: the x-axis has P1D",
    )
    assert plan({**query, "extras": {"time_grain_orm": "P1D"}}).unused == ()


@pytest.mark.parametrize("columns", [[axis("city")], [axis("LOWER(city)")], ["ordered_at"], []])
def test_a_grain_that_no_time_takes_is_told(columns: list[Any]) -> None:
    query = {"columns": columns, "metrics": ["orders"], "extras": {"time_grain_orm": "P1M"}}
    assert grains(query) == {}
    assert plan(query).unused == ("extras.time_grain_orm P1M is not used: no time column of the query takes it",)


def test_an_x_axis_is_ordered_by_and_chosen_as_series_under_its_label() -> None:
    month = axis("ordered_at", label="month")
    query = {"columns": [month], "metrics": ["orders"], "extras": {"time_grain_orm": "P1M"}, "orderby": [[month, True]]}
    made = plan({**query, "series_columns": [month], "series_limit": 3})
    assert made.order[0].expr == made.outputs[0].expr
    assert made.series_limit is not None


# ----------------------------------------------------------------------------------------- a series and its x-axis
def test_a_series_on_a_temporal_x_axis_needs_no_granularity() -> None:
    made = plan({"columns": [axis("ordered_at", "P1M"), "city"], "metrics": ["orders"], "is_timeseries": True})
    assert [output.label for output in made.outputs] == ["ordered_at", "city", "orders"]


@pytest.mark.parametrize("columns", [[], ["city"], [axis("city", "P1M")], ["__timestamp", axis("ordered_at", "P1M")]])
def test_a_series_without_time_is_refused_with_what_would_work(columns: list[Any]) -> None:
    with pytest.raises(QueryError, match="needs a temporal column: give granularity, or an x-axis of a temporal"):
        plan({"columns": columns, "metrics": ["orders"], "is_timeseries": True})


@pytest.mark.parametrize(
    ("sql", "nullable"),
    [("COUNT(*)", False), ("COUNT(DISTINCT city)", False), ("SUM(quantity)", None), ("NULLIF(COUNT(*), 0)", None)],
)
def test_a_count_in_sql_is_never_null_so_that_its_order_says_nothing_of_nulls(sql: str, nullable: bool | None) -> None:
    metric = {"expressionType": "SQL", "sqlExpression": sql, "label": "m"}
    query = {"columns": ["country"], "metrics": [metric], "orderby": [["m", False]]}
    assert outputs(query)["m"].nullable is nullable
    assert ("DESC NULLS LAST" in statement(query, "postgresql").sql) == (nullable is None)


@pytest.mark.parametrize("name", ["city", "quantity"])
@pytest.mark.parametrize("metrics", [["orders"], None])
def test_a_grain_on_a_column_without_moments_is_told(name: str, metrics: list[str] | None) -> None:
    made = plan({"columns": ["country", axis(name, "P1M")], "metrics": metrics})
    assert made.unused == (f"columns[1].timeGrain P1M is not used: {name!r} holds no moments",)
    assert plan({"columns": [axis("ordered_at", "P1M")], "metrics": metrics}).unused == ()


def test_another_grain_of_a_query_reaches_each_place_that_names_one() -> None:
    days = axis("ordered_at", "P1D")
    steps = [
        {"operation": "forecast", "options": {"time_grain": "P1D", "periods": 2}},
        {"operation": "forecast", "options": {"periods": 2}},
        {"operation": "cum", "options": {"time_grain": "P1D"}},
    ]
    query = query_of(
        {
            "columns": ["city", axis("id"), days],
            "series_columns": [days],
            "orderby": [[days, True], ["city", False]],
            "metrics": ["orders"],
            "extras": {"where": "id > 1"},
            "post_processing": steps,
        }
    )
    changed = with_grain(query, TimeGrain.MONTH)
    assert (time_grain(query), time_grain(changed)) == (TimeGrain.DAY, TimeGrain.MONTH)
    assert [getattr(column, "time_grain", "none") for column in changed.columns] == ["none", None, "P1M"]
    assert [column.time_grain for column in changed.series_columns] == ["P1M"]  # type: ignore[union-attr]
    assert [(getattr(key, "time_grain", key), up) for key, up in changed.orderby] == [("P1M", True), ("city", False)]
    assert (changed.extras.time_grain, changed.extras.where) == (TimeGrain.MONTH, "id > 1")  # type: ignore[union-attr]
    assert [step.options.get("time_grain") for step in changed.post_processing] == ["P1M", None, "P1D"]
    assert time_grain(query_of({"columns": ["city"], "extras": {"time_grain_sqla": "P1D"}})) is TimeGrain.DAY
    assert time_grain(query_of({"columns": ["city"]})) is None
    assert with_grain(query_of({"columns": ["city"]}), TimeGrain.MONTH).extras.time_grain is TimeGrain.MONTH  # type: ignore[union-attr]
