"""Order, limits, series limits, row rules and what else decides which rows come back."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.cases import for_each
from tests.support.planning import COLUMNS, NOW, plan, query_of, scope_of, view_of

from analytics_core._engine.compile.fingerprint import fingerprint
from analytics_core._engine.compile.plan import (
    AggregateExpr,
    AnyOf,
    BucketExpr,
    ColumnExpr,
    Condition,
    FragmentExpr,
    InOthersExpr,
    OriginKind,
    OthersExpr,
    QueryPlan,
    SqlSource,
)
from analytics_core._engine.compile.planner import PlanRequest, plan_query
from analytics_core._engine.compile.planning_context import PlanLimits
from analytics_core._engine.compile.time_range import TimeRange
from analytics_core._engine.engines.types import ValueKind
from analytics_core._records.datasource import DatasetColumn
from analytics_core._records.people import RowFilter
from analytics_core.errors import (
    EmptyQueryError,
    FragmentError,
    LimitError,
    QueryError,
    SubqueryNotAllowedError,
    UnknownColumnError,
    UnknownMetricError,
)

SUM = {"expressionType": "SIMPLE", "aggregate": "SUM", "column": {"column_name": "quantity"}}
GROUPED = {"columns": ["city", "country"], "metrics": ["orders", SUM]}


def order(made: QueryPlan) -> list[tuple[str, bool, OriginKind]]:
    """Return the sort keys: what, whether descending, and who asked."""
    labels = {output.expr: output.label for output in made.outputs}
    return [(labels.get(term.expr, "?"), term.descending, term.origin.kind) for term in made.order]


# ------------------------------------------------------------------------------------------------------------- order
def test_grouped_rows_are_ordered_by_all_their_columns() -> None:
    assert order(plan(GROUPED)) == [("city", False, OriginKind.ENGINE), ("country", False, OriginKind.ENGINE)]


def test_what_the_payload_orders_by_comes_first_and_ties_are_broken_by_the_other_columns() -> None:
    made = plan({**GROUPED, "orderby": [["orders", False], ["country", True]]})
    assert order(made) == [
        ("orders", True, OriginKind.PAYLOAD),
        ("country", False, OriginKind.PAYLOAD),
        ("city", False, OriginKind.ENGINE),
    ]


def raw_order(query: dict[str, Any], **fields: Any) -> list[tuple[str, bool]]:
    """Return the sort keys of raw rows: the column, and whether descending."""
    made = plan({"columns": ["city", "price"], **query}, view=view_of(**fields))
    return [(term.expr.name, term.descending) for term in made.order if isinstance(term.expr, ColumnExpr)]


def test_raw_rows_without_an_order_or_an_offset_get_no_order() -> None:
    assert raw_order({}) == raw_order({}, primary_key=("id",)) == []


def test_raw_rows_that_are_ordered_or_paged_are_ordered_by_all_that_is_selected() -> None:
    assert raw_order({"row_offset": 0}) == raw_order({"row_offset": None}) == [("city", False), ("price", False)]
    ordered = [("quantity", True), ("city", True), ("price", True)]
    assert raw_order({"orderby": [["quantity", False]]}) == ordered
    assert raw_order({"orderby": [["price", True]]}) == [("price", False), ("city", False)]


def test_ties_of_raw_rows_are_broken_by_the_primary_key_where_it_is_known() -> None:
    key = {"primary_key": ("id", "ordered_at")}
    assert raw_order({"row_offset": 0}, **key) == [("id", False), ("ordered_at", False)]
    query = {"orderby": [["id", True], ["city", False]]}
    assert raw_order(query, **key) == [("id", False), ("city", True), ("ordered_at", True)]


@pytest.mark.parametrize("key", [("gone",), ("id", "gone"), ("city",), ("revenue",)])
def test_a_key_that_the_dataset_lacks_or_that_may_be_null_breaks_no_ties(key: tuple[str, ...]) -> None:
    assert raw_order({"row_offset": 0}, primary_key=key) == [("city", False), ("price", False)]


def test_a_virtual_dataset_has_no_key() -> None:
    source = SqlSource(sql="SELECT * FROM orders")
    assert raw_order({"row_offset": 0}, primary_key=("id",), source=source) == [("city", False), ("price", False)]


def test_an_order_that_cannot_be_total_is_told() -> None:
    columns = (*COLUMNS, DatasetColumn(column_name="doc", type="JSON"))
    query = {"columns": ["city", "doc"], "row_offset": 0}
    result = plan(query, view=view_of("bigquery", columns=columns))
    assert "'doc'" in result.notes[0]
    assert len(result.order) == 1
    for view in (view_of("postgresql", columns=columns), view_of("mssql", columns=columns, primary_key=("id",))):
        assert plan(query, view=view).notes == ()
    assert plan({"columns": ["city", "doc"]}, view=view_of("bigquery", columns=columns)).notes == ()


def test_a_key_is_found_by_label_name_verbose_name_or_as_an_object() -> None:
    for key in ("SUM(quantity)", SUM, {"label": "orders"}, "turnover", "Land", {"sqlExpression": "city"}):
        assert plan({**GROUPED, "orderby": [[key, True]]}).order[0].origin.kind is OriginKind.PAYLOAD


def test_an_unselected_ad_hoc_metric_orders_too() -> None:
    made = plan({**GROUPED, "orderby": [[{**SUM, "aggregate": "MAX"}, False]]})
    assert isinstance(made.order[0].expr, AggregateExpr)


def test_a_key_given_twice_counts_once() -> None:
    made = plan({**GROUPED, "orderby": [["city", False], ["city", True], ["orders", True]]})
    assert order(made)[:2] == [("city", True, OriginKind.PAYLOAD), ("orders", False, OriginKind.PAYLOAD)]
    assert len(made.order) == 3


def test_an_unknown_key_is_refused_with_the_nearest_names() -> None:
    for name in ("ctiy", "city DESC", "1", "orders; DROP TABLE orders"):
        with pytest.raises(UnknownColumnError):
            plan({**GROUPED, "orderby": [[name, True]]})


def test_grouped_rows_are_not_ordered_by_what_they_do_not_hold() -> None:
    with pytest.raises(QueryError, match="quantity"):
        plan({**GROUPED, "orderby": [["quantity", True]]})


def test_raw_rows_are_not_ordered_by_metrics() -> None:
    for key in ("orders", SUM):
        with pytest.raises(QueryError, match="metric"):
            plan({"columns": ["city"], "orderby": [[key, True]]})


def test_the_x_axis_orders_by_its_bucket() -> None:
    axis = {"columnType": "BASE_AXIS", "sqlExpression": "ordered_at", "label": "ordered_at", "timeGrain": "P1M"}
    for key in (axis, "ordered_at"):
        made = plan({"columns": [axis], "metrics": ["orders"], "orderby": [[key, False]]})
        assert isinstance(made.order[0].expr, BucketExpr)
        assert len(made.order) == 1


def test_keys_that_cannot_be_null_say_so() -> None:
    made = plan({"columns": ["id", "city"], "metrics": [{**SUM, "aggregate": "COUNT"}], "orderby": [["id", True]]})
    assert [term.nullable for term in made.order] == [False, True]


# ------------------------------------------------------------------------------------------------------------ limits
LIMITS = PlanLimits(default_row_limit=50, max_row_limit=100, samples_row_limit=10)


@for_each(
    ("row_limit", "rows", "origin"),
    [
        (None, 50, "setting: default_row_limit"),
        (0, 100, "setting: max_row_limit"),
        (7, 7, "payload: row_limit"),
        (100, 100, "payload: row_limit"),
        (101, 100, "setting: max_row_limit"),
        (10**30, 100, "setting: max_row_limit"),
    ],
)
def test_row_limits(row_limit: int | None, rows: int, origin: str) -> None:
    limit = plan({**GROUPED, "row_limit": row_limit}, limits=LIMITS).limit
    assert (limit.rows, str(limit.origin)) == (rows, origin)


def test_samples_have_a_limit_of_their_own() -> None:
    assert plan({"columns": ["city"]}, limits=LIMITS, samples=True).limit.rows == 10
    assert plan({"columns": ["city"], "row_limit": 20}, limits=LIMITS, samples=True).limit.rows == 20


def test_a_default_above_the_cap_is_cut_to_the_cap() -> None:
    limit = plan(GROUPED, limits=PlanLimits(default_row_limit=500, max_row_limit=100)).limit
    assert (limit.rows, str(limit.origin)) == (100, "setting: max_row_limit")


def test_rows_may_be_skipped() -> None:
    assert plan({**GROUPED, "row_offset": 5}).limit.offset == 5
    assert plan({**GROUPED, "row_offset": None}).limit.offset == 0


@pytest.mark.parametrize("field", ["row_offset", "series_limit"])
def test_counts_beyond_every_engine_s_reach_are_refused(field: str) -> None:
    with pytest.raises(LimitError, match=field):
        plan({**GROUPED, "series_columns": ["city"], field: 2**63})


def test_a_count_of_rows_has_no_order() -> None:
    made = plan({**GROUPED, "is_rowcount": True})
    assert made.count_rows
    assert made.order == ()


def test_a_count_of_rows_counts_those_that_a_series_limit_leaves() -> None:
    made = plan({**GROUPED, "is_rowcount": True, "series_limit": 3, "series_columns": ["city"]})
    assert made.series_limit is not None
    assert made.series_limit.limit == 3


# ------------------------------------------------------------------------------------------------------ series limit
def series(**fields: Any) -> QueryPlan:
    return plan({**GROUPED, "series_limit": 3, "series_columns": ["city"], **fields})


def test_a_series_limit_chooses_by_the_first_metric_downwards() -> None:
    limit = series().series_limit
    assert limit is not None
    assert (limit.columns, limit.limit, limit.descending, limit.group_others) == ((0,), 3, True, False)
    assert isinstance(limit.metric, FragmentExpr)
    assert "COUNT" in limit.metric.sql


def test_a_series_limit_may_choose_by_another_metric_and_upwards() -> None:
    limit = series(series_limit_metric=SUM, order_desc=False).series_limit
    assert limit is not None
    assert isinstance(limit.metric, AggregateExpr)
    assert limit.descending is False
    with pytest.raises(UnknownMetricError):
        series(series_limit_metric="turnovr")


def test_without_metrics_a_series_limit_chooses_by_name() -> None:
    limit = series(metrics=[]).series_limit
    assert limit is not None
    assert limit.metric is None


def test_a_time_series_limits_all_its_columns_but_time() -> None:
    made = plan(
        {
            **GROUPED,
            "is_timeseries": True,
            "granularity": "ordered_at",
            "series_limit": 3,
            "filters": [],
            "metrics": [SUM],
        }
    )
    assert made.series_limit is not None
    assert [made.outputs[i].label for i in made.series_limit.columns] == ["city", "country"]


def test_nothing_is_limited_without_series_columns_or_groups() -> None:
    assert plan({**GROUPED, "series_limit": 3}).series_limit is None
    assert plan({"columns": ["city"], "series_limit": 3, "series_columns": ["city"]}).series_limit is None
    assert series(series_limit=0).series_limit is None
    with pytest.raises(LimitError):
        series(series_limit=-1)


def test_series_columns_must_be_among_the_columns() -> None:
    with pytest.raises(QueryError, match="'size'"):
        series(series_columns=["city", "size"])
    assert series(series_columns=["city", "city"]).series_limit.columns == (0,)


def test_the_rest_is_null_and_told_by_a_column_of_its_own() -> None:
    made = plan(
        {
            "columns": ["quantity", "country"],
            "metrics": ["orders"],
            "series_columns": ["quantity"],
            "series_limit": 3,
            "group_others_when_limit_reached": True,
            "orderby": [["quantity", True]],
        }
    )
    output = made.outputs[0]
    assert isinstance(output.expr, OthersExpr)
    assert output.kind is ValueKind.INTEGER
    assert made.order[0].expr == output.expr
    assert made.order[0].nullable
    assert isinstance(made.outputs[-1].expr, InOthersExpr)
    assert [term.expr for term in made.order[1:]] == [made.outputs[1].expr, InOthersExpr()]


def test_the_column_that_tells_the_rest_takes_no_label_of_the_query() -> None:
    metric = {"expressionType": "SQL", "sqlExpression": "COUNT(*)", "label": "In_Others"}
    made = series(metrics=[metric], group_others_when_limit_reached=True)
    assert [output.label for output in made.outputs] == ["city", "country", "In_Others", "in_others_"]


@pytest.mark.parametrize("fields", [{"metrics": ["orders"]}, {"metrics": None}, {"is_timeseries": False}])
def test_a_series_limit_without_series_says_that_it_limits_nothing(fields: dict[str, Any]) -> None:
    made = plan({**GROUPED, "series_limit": 7, **fields})
    assert made.series_limit is None
    (note,) = made.unused
    assert note.startswith("series_limit: 7 limits nothing")
    assert plan(GROUPED).unused == series().unused == ()


def test_a_compared_range_is_not_cut_by_conditions_on_metrics() -> None:
    query = {**GROUPED, "filters": [{"col": "orders", "op": ">", "val": 1}], "extras": {"having": "COUNT(*) > 1"}}
    moved = TimeRange(since=None, until=NOW, text="a year before")
    scope = scope_of(view_of())
    assert len(plan_query(query_of(query), scope, PlanRequest()).having) == 2
    assert plan_query(query_of(query), scope, PlanRequest(range_override=moved)).having == ()


def test_the_choice_of_series_sees_the_same_rows_as_the_query() -> None:
    made = plan(
        {**GROUPED, "series_limit": 1, "series_columns": ["city"], "filters": [{"col": "id", "op": ">", "val": 1}]},
        row_filters=[RowFilter(name="eu", clause="country <> 'US'")],
    )
    assert made.series_limit is not None
    assert made.series_limit.where == made.where
    assert len(made.where) == 2


# --------------------------------------------------------------------------------------------------------- row rules
def test_row_rules_without_a_group_are_conditions_of_their_own() -> None:
    made = plan(
        GROUPED, row_filters=[RowFilter(name="a", clause="id > 1"), RowFilter(name="b", clause="id < 9 OR 1=1")]
    )
    assert [type(clause.predicate) for clause in made.where] == [Condition, Condition]
    assert [str(clause.origin) for clause in made.where] == ["row rule: a", "row rule: b"]


def test_row_rules_of_one_group_are_alternatives() -> None:
    rules = [
        RowFilter(name="a", clause="id = 1", group_key="team"),
        RowFilter(name="b", clause="city = 'x'"),
        RowFilter(name="c", clause="id = 2", group_key="team"),
        RowFilter(name="d", clause="id = 3", group_key="other"),
    ]
    made = plan(GROUPED, row_filters=rules)
    assert [type(clause.predicate) for clause in made.where] == [Condition, AnyOf, AnyOf]
    assert [len(c.predicate.members) for c in made.where[1:]] == [2, 1]
    assert str(made.where[1].origin) == "row rule: a, c (group team)"


def test_row_rules_bind_raw_rows_and_counts_too() -> None:
    rule = RowFilter(name="a", clause="id > 1")
    for query in ({"columns": ["city"]}, {**GROUPED, "is_rowcount": True}):
        assert [clause.origin.kind for clause in plan(query, row_filters=[rule]).where] == [OriginKind.ROW_RULE]


@for_each("clause", ["id > 1) OR (1=1", "id > 1 --", "id > 1; DROP TABLE orders", "", "id >"])
def test_a_row_rule_that_is_not_one_condition_stops_the_query(clause: str) -> None:
    rule = RowFilter(name="broken", clause=clause)
    if clause == "id > 1 --":
        assert (
            plan(GROUPED, row_filters=[rule]).where
            == plan(GROUPED, row_filters=[RowFilter(name="broken", clause="id > 1")]).where
        )
        return
    with pytest.raises(FragmentError, match="broken"):
        plan(GROUPED, row_filters=[rule])


# ------------------------------------------------------------------------------------------------------------ extras
def test_conditions_in_sql_keep_their_place() -> None:
    made = plan({**GROUPED, "extras": {"where": "quantity > 1 OR id = 2", "having": "COUNT(*) > 1"}})
    assert [str(clause.origin) for clause in (*made.where, *made.having)] == [
        "payload: extras.where",
        "payload: extras.having",
    ]


def test_a_condition_on_groups_needs_groups() -> None:
    with pytest.raises(EmptyQueryError, match=r"extras\.having"):
        plan({"columns": ["city"], "extras": {"having": "COUNT(*) > 1"}})


def test_aggregates_stay_out_of_conditions_on_rows() -> None:
    with pytest.raises(FragmentError, match="having"):
        plan({**GROUPED, "extras": {"where": "COUNT(*) > 1"}})


@for_each("field", ["where", "having"])
@for_each("text", ["1 = 1; DELETE FROM orders", "1 = 1) OR (1 = 1", "1 = 1, 2", "/*", "'"])
def test_a_condition_is_one_expression(field: str, text: str) -> None:
    with pytest.raises(FragmentError):
        plan({**GROUPED, "extras": {field: text}})


@pytest.mark.parametrize("field", ["where", "having"])
def test_a_condition_reads_no_other_relation(field: str) -> None:
    with pytest.raises(SubqueryNotAllowedError):
        plan({**GROUPED, "extras": {field: "id IN (SELECT id FROM users)"}})


def test_the_predicate_of_the_dataset_applies_when_the_query_wants_it() -> None:
    view = view_of(fetch_values_predicate="quantity > 0")
    assert plan(GROUPED, view=view).where == ()
    (clause,) = plan({**GROUPED, "apply_fetch_values_predicate": True}, view=view).where
    assert clause.origin.kind is OriginKind.DATASET
    assert plan({**GROUPED, "apply_fetch_values_predicate": True}).where == ()


# ------------------------------------------------------------------------------------------------------- aggregation
def sql(text: str) -> dict[str, Any]:
    return {"expressionType": "SQL", "sqlExpression": text, "label": "x"}


@for_each("text", ["quantity", "SUM(price) / quantity", "UPPER(thing)", "quantity + 1", "MAX(id, quantity)"])
def test_a_metric_does_not_pick_the_value_of_any_row(text: str) -> None:
    """SQLite would answer; the others refuse."""
    for query in (
        {**GROUPED, "metrics": [sql(text)]},
        {**GROUPED, "orderby": [[sql(text), True]]},
        {**GROUPED, "series_columns": ["city"], "series_limit": 1, "series_limit_metric": sql(text)},
        {**GROUPED, "extras": {"having": f"{text} IS NOT NULL"}},
    ):
        with pytest.raises(FragmentError, match="neither grouped nor inside an aggregate"):
            plan(query)


@for_each(
    "text",
    ["SUM(price) / COUNT(*)", "COUNT(*) * 2", "UPPER(city)", "MAX(city) || country", "my_aggregate(quantity)", "7"],
)
def test_a_metric_may_use_what_is_grouped_aggregated_or_the_engine_s_own(text: str) -> None:
    assert "x" in [output.label for output in plan({**GROUPED, "metrics": [sql(text)]}).outputs]


@pytest.mark.parametrize(
    "text",
    [
        "COUNT(*) FILTER (WHERE quantity > 1)",
        "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY quantity)",
        "SUM(quantity) FILTER (WHERE city = 'x') / COUNT(*)",
        "SUM(SUM(quantity)) OVER (ORDER BY city)",
    ],
)
def test_filters_and_orders_of_aggregates_belong_to_them(text: str) -> None:
    assert plan({**GROUPED, "metrics": [sql(text)]}, view=view_of("postgresql")).outputs


def test_a_metric_may_repeat_a_grouped_expression() -> None:
    column = {"label": "shout", "sqlExpression": "UPPER(thing)"}
    assert plan({"columns": [column], "metrics": [sql("UPPER(thing) || COUNT(*)")]}).outputs


# ------------------------------------------------------------------------------------------------------- fingerprint
def test_equal_queries_have_equal_plans_and_fingerprints() -> None:
    query = {**GROUPED, "filters": [{"col": "city", "op": "IN", "val": ["a", "b"]}], "extras": {"where": "id > 1"}}
    first, second = plan(query), plan(query)
    assert first == second
    assert fingerprint(first) == fingerprint(second)


def test_another_value_rule_or_part_gives_another_fingerprint() -> None:
    base = plan({**GROUPED, "filters": [{"col": "city", "op": "==", "val": "a"}]})
    others = [
        plan({**GROUPED, "filters": [{"col": "city", "op": "==", "val": "a "}]}),
        plan({**GROUPED, "filters": [{"col": "city", "op": "==", "val": "a"}], "row_limit": 5}),
        plan(
            {**GROUPED, "filters": [{"col": "city", "op": "==", "val": "a"}]},
            row_filters=[RowFilter(name="r", clause="id = 1")],
        ),
        plan({**GROUPED, "filters": [{"col": "city", "op": "==", "val": "', 'b"}]}),
    ]
    prints = {fingerprint(made) for made in (base, *others)}
    assert len(prints) == 5
    assert fingerprint(base, "a", "b") != fingerprint(base, "a, b")
    assert fingerprint(base, None) != fingerprint(base, "None")
