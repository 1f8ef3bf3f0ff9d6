"""Time bounds: which column is bounded by which range, and what the plan reports of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.support.cases import for_each
from tests.support.planning import COLUMNS, NOW, plan, query_of, scope_of, view_of

from analytics_core._engine.compile.plan import BucketExpr, ColumnExpr, FragmentExpr, OriginKind, QueryPlan, Within
from analytics_core._engine.compile.planner import PlanRequest, plan_query, steps_on_granularity
from analytics_core._engine.compile.planning_context import PlanLimits
from analytics_core._engine.compile.time_bounds import plan_time_bounds
from analytics_core._engine.compile.time_range import TimeRange
from analytics_core._records.datasource import DatasetColumn
from analytics_core.errors import FilterValueError, PayloadSchemaError, QueryError, TimeRangeError, UnknownColumnError
from analytics_core.models.enums import RelativeTime
from analytics_core.models.query import AdhocColumn

JUNE = (datetime(2024, 6, 1), datetime(2024, 7, 1))
MAY = (datetime(2024, 5, 1), datetime(2024, 6, 1))
JUNE_TEXT, MAY_TEXT = "2024-06-01 : 2024-07-01", "2024-05-01 : 2024-06-01"
YEAR, YEAR_TEXT = (datetime(2020, 1, 1), datetime(2021, 1, 1)), "2020-01-01 : 2021-01-01"


def ranged(col: Any, text: Any = JUNE_TEXT) -> dict[str, Any]:
    return {"col": col, "op": "TEMPORAL_RANGE", "val": text}


def axis(name: str, grain: str | None = "P1M", label: str | None = None) -> dict[str, Any]:
    return {"columnType": "BASE_AXIS", "sqlExpression": name, "label": label or name, "timeGrain": grain}


def bounds(made: QueryPlan) -> dict[str, tuple[datetime | None, datetime | None]]:
    """Return the bounds in WHERE by column."""
    found = {}
    for clause in made.where:
        within = clause.predicate
        assert isinstance(within, Within)
        assert isinstance(within.left, ColumnExpr)
        assert within.left.name not in found
        found[within.left.name] = (within.since, within.until)
    return found


# ------------------------------------------------------------------------------------------- one range, one column
def test_the_granularity_is_bounded_by_the_time_range() -> None:
    made = plan({"metrics": ["orders"], "granularity": "ordered_at", "time_range": JUNE_TEXT})
    assert bounds(made) == {"ordered_at": JUNE}
    assert (made.since, made.until, made.range_text) == (*JUNE, JUNE_TEXT)


def test_a_time_range_alone_bounds_the_temporal_x_axis() -> None:
    made = plan({"metrics": ["orders"], "columns": [axis("shipped_on")], "time_range": JUNE_TEXT})
    assert bounds(made) == {"shipped_on": JUNE}
    assert (made.since, made.until, made.range_text, made.unused) == (*JUNE, JUNE_TEXT, ())
    assert str(made.where[0].origin) == f"payload: time_range {JUNE_TEXT}, on the x-axis"


@for_each("columns", [[], ["city"], [axis("city")], [axis("quantity", None)], ["shipped_on"]])
def test_a_time_range_without_a_temporal_x_axis_bounds_the_main_time_column(columns: list[Any]) -> None:
    made = plan({"metrics": ["orders"], "columns": columns, "time_range": JUNE_TEXT})
    assert bounds(made) == {"ordered_at": JUNE}
    assert (made.since, made.until) == JUNE
    assert str(made.where[0].origin) == f"payload: time_range {JUNE_TEXT}, on main_dttm_col"


@pytest.mark.parametrize("main", [None, "gone", "city"])
def test_a_time_range_without_any_time_column_bounds_nothing_and_says_so(main: str | None) -> None:
    made = plan({"metrics": ["orders"], "time_range": JUNE_TEXT}, view=view_of(main_dttm_col=main))
    assert (made.where, made.since, made.until, made.range_text) == ((), None, None, "No filter")
    (note,) = made.unused
    assert note.startswith(f"time_range '{JUNE_TEXT}' filters nothing")


@pytest.mark.parametrize("expression", ["shipped_on", "DATE(city)"])
def test_a_time_range_bounds_what_an_x_axis_computes(expression: str) -> None:
    view = view_of(columns=(*COLUMNS, DatasetColumn(column_name="sent", type="TIMESTAMP", expression=expression)))
    calculated = plan({"metrics": ["orders"], "columns": [axis("sent")], "time_range": JUNE_TEXT}, view=view)
    for made in (calculated, plan({"metrics": ["orders"], "columns": [axis("LOWER(city)")], "time_range": JUNE_TEXT})):
        (clause,) = made.where
        assert isinstance(clause.predicate.left, FragmentExpr)
        assert (clause.predicate.since, clause.predicate.until) == JUNE


@pytest.mark.parametrize("columns", [[axis("ordered_at")], []])
def test_a_time_range_and_a_filter_on_another_column_both_bind(columns: list[Any]) -> None:
    query = {"metrics": ["orders"], "columns": columns, "time_range": JUNE_TEXT}
    made = plan({**query, "filters": [ranged("shipped_on", MAY_TEXT)]})
    assert bounds(made) == {"ordered_at": JUNE, "shipped_on": MAY}
    assert (made.since, made.until, made.applied_filters, made.unused) == (*JUNE, ("shipped_on",), ())


def test_a_filter_without_a_range_takes_the_time_range_off_the_x_axis() -> None:
    query = {"metrics": ["orders"], "columns": [axis("ordered_at")], "time_range": JUNE_TEXT}
    made = plan({**query, "filters": [ranged("shipped_on", "No filter")]})
    assert (bounds(made), made.applied_filters) == ({"shipped_on": JUNE}, ("shipped_on",))
    assert str(made.where[0].origin) == f"payload: time_range {JUNE_TEXT}, on filters[0] shipped_on"


def test_the_time_range_binds_a_filter_on_the_x_axis_and_one_without_a_range() -> None:
    filters = [ranged("ordered_at", MAY_TEXT), ranged("shipped_on", "No filter")]
    made = plan({"metrics": ["orders"], "columns": [axis("ordered_at")], "time_range": JUNE_TEXT, "filters": filters})
    assert (bounds(made), made.applied_filters) == ({"ordered_at": JUNE, "shipped_on": JUNE}, ("shipped_on",))


def test_a_filter_on_an_unknown_column_leaves_the_time_range_alone() -> None:
    query = {"metrics": ["orders"], "columns": [axis("ordered_at")], "time_range": JUNE_TEXT}
    unknown = plan({**query, "filters": [ranged("nowhen")]})
    assert bounds(unknown) == {"ordered_at": JUNE}
    assert [item.column for item in unknown.rejected_filters] == ["nowhen"]


def test_a_filter_on_an_unknown_column_is_no_range_of_the_query() -> None:
    query = {"metrics": ["orders"], "filters": [ranged("nowhen"), ranged("shipped_on", MAY_TEXT)]}
    assert (plan(query).since, plan(query).until) == MAY
    alone = plan({"metrics": ["orders"], "filters": [ranged("nowhen")]})
    assert (alone.since, alone.until) == (None, None)


def test_details_are_bounded_on_the_x_axis_of_their_chart() -> None:
    chart = query_of({"columns": [axis("shipped_on")]})
    raw = query_of({"columns": ["id"], "time_range": JUNE_TEXT})
    made = plan_query(raw, scope_of(view_of()), PlanRequest(axis=chart.columns[0]))
    assert bounds(made) == {"shipped_on": JUNE}


def test_a_range_that_templates_read_is_reported_though_it_bounds_no_column() -> None:
    scope = replace(
        scope_of(view_of(main_dttm_col=None)),
        template_range=lambda: TimeRange(since=MAY[0].replace(tzinfo=UTC), until=MAY[1].replace(tzinfo=UTC)),
    )
    made = plan_query(query_of({"metrics": ["orders"], "time_range": MAY_TEXT}), scope, PlanRequest())
    assert (made.where, made.since, made.until, made.unused) == ((), *MAY, ())


def test_a_filter_bounds_its_column_and_is_reported() -> None:
    made = plan({"metrics": ["orders"], "filters": [ranged("shipped_on")]})
    assert bounds(made) == {"shipped_on": JUNE}
    assert (made.since, made.until) == JUNE
    assert made.applied_filters == ("shipped_on",)


def test_no_filter_bounds_nothing() -> None:
    for text in (None, "", "No filter"):
        made = plan({"metrics": ["orders"], "filters": [ranged("ordered_at", text)]})
        assert (made.where, made.since, made.until) == ((), None, None)
        assert made.applied_filters == ("ordered_at",)


def test_an_open_end_stays_open() -> None:
    made = plan({"metrics": ["orders"], "filters": [ranged("ordered_at", "2024-06-01 : ")]})
    assert bounds(made) == {"ordered_at": (JUNE[0], None)}


def test_a_range_may_bound_a_calculated_column_and_an_expression() -> None:
    made = plan({"metrics": ["orders"], "filters": [ranged({"label": "t", "sqlExpression": "ordered_at"})]})
    assert bounds(made) == {"ordered_at": JUNE}


def test_a_range_bounds_encoded_moments_too() -> None:
    for name in ("epoch", "epoch_ms", "day_text"):
        assert bounds(plan({"metrics": ["orders"], "filters": [ranged(name)]})) == {name: JUNE}


# ------------------------------------------------------------------------------------------------ several of them
def test_each_filter_keeps_its_own_range() -> None:
    made = plan({"metrics": ["orders"], "filters": [ranged("ordered_at"), ranged("shipped_on", MAY_TEXT)]})
    assert bounds(made) == {"ordered_at": JUNE, "shipped_on": MAY}
    assert (made.since, made.until) == JUNE


def test_the_reported_range_is_that_of_the_x_axis() -> None:
    query = {"metrics": ["orders"], "filters": [ranged("ordered_at"), ranged("shipped_on", MAY_TEXT)]}
    made = plan({**query, "columns": [axis("shipped_on")]})
    assert (made.since, made.until) == MAY


@pytest.mark.parametrize("columns", [[], [axis("ordered_at")]])
def test_of_two_ranges_on_one_column_the_first_is_reported(columns: list[Any]) -> None:
    made = plan(
        {"metrics": ["orders"], "columns": columns, "filters": [ranged("ordered_at", MAY_TEXT), ranged("ordered_at")]}
    )
    assert (made.since, made.until) == MAY
    assert len(made.where) == 2


@pytest.mark.parametrize("columns", [[], [axis("ordered_at")]])
def test_a_filter_on_the_column_of_the_time_range_gives_way_and_says_so(columns: list[Any]) -> None:
    filters = [ranged("ordered_at"), ranged("shipped_on", MAY_TEXT)]
    made = plan({"metrics": ["orders"], "columns": columns, "filters": filters, "time_range": YEAR_TEXT})
    assert bounds(made) == {"ordered_at": YEAR, "shipped_on": MAY}
    assert made.applied_filters == ("shipped_on",)
    assert made.unused == (
        f"filters[0] on 'ordered_at': its range '{JUNE_TEXT}' gives way to time_range '{YEAR_TEXT}'",
    )


def test_filters_give_way_where_nothing_else_could_be_bounded() -> None:
    query = {"metrics": ["orders"], "filters": [ranged("shipped_on")], "time_range": YEAR_TEXT}
    made = plan(query, view=view_of(main_dttm_col=None))
    assert (bounds(made), made.applied_filters, len(made.unused)) == ({"shipped_on": YEAR}, (), 1)


def test_what_a_dashboard_added_gives_way_with_a_note_alone() -> None:
    made = plan({"metrics": ["orders"], "filters": [ranged("ordered_at") | {"isExtra": True}], "time_range": YEAR_TEXT})
    assert (made.unused, len(made.notes)) == ((), 1)


@for_each("name", ["ordered_at", "Ordered at"])
@for_each("text", [JUNE_TEXT, "No filter", None, f" {JUNE_TEXT}"])
def test_a_filter_that_agrees_with_the_time_range_is_applied(name: str, text: str | None) -> None:
    named = tuple(replace(c, verbose_name="Ordered at") if c.column_name == "ordered_at" else c for c in COLUMNS)
    for granularity in ({}, {"granularity": "ordered_at"}):
        query = {"metrics": ["orders"], "filters": [ranged(name, text)], "time_range": JUNE_TEXT, **granularity}
        made = plan(query, view=view_of(columns=named))
        assert (bounds(made), made.applied_filters, made.unused) == ({"ordered_at": JUNE}, (name,), ())


@for_each("text", ["No filter", "no filter", " : ", ""])
@for_each("granularity", [None, "ordered_at"])
def test_a_time_range_that_asks_for_nothing_takes_nothing_from_a_filter(text: str, granularity: str | None) -> None:
    query = {"metrics": ["orders"], "filters": [ranged("shipped_on")], "time_range": text, "granularity": granularity}
    made = plan(query)
    assert (bounds(made), made.applied_filters, made.range_text) == ({"shipped_on": JUNE}, ("shipped_on",), JUNE_TEXT)


def test_a_filter_beside_a_granularity_bounds_its_own_column() -> None:
    made = plan({"metrics": ["orders"], "granularity": "ordered_at", "filters": [ranged("shipped_on")]})
    assert (bounds(made), made.applied_filters) == ({"shipped_on": JUNE}, ("shipped_on",))
    assert str(made.where[0].origin) == f"payload: filters[0] shipped_on: {JUNE_TEXT}"


def test_the_range_of_the_granularity_replaces_the_filter_on_itself() -> None:
    query = {
        "metrics": ["orders"],
        "granularity": "ordered_at",
        "filters": [ranged("shipped_on"), ranged("ordered_at")],
    }
    made = plan({**query, "time_range": MAY_TEXT})
    assert bounds(made) == {"ordered_at": MAY, "shipped_on": JUNE}
    assert (made.applied_filters, len(made.unused)) == (("shipped_on",), 1)


def test_the_range_of_the_granularity_leaves_filters_on_other_columns_alone() -> None:
    query = {"metrics": ["orders"], "granularity": "ordered_at", "filters": [ranged("shipped_on"), ranged("epoch")]}
    made = plan({**query, "time_range": MAY_TEXT})
    assert bounds(made) == {"ordered_at": MAY, "shipped_on": JUNE, "epoch": JUNE}


def test_the_granularity_replaces_the_filter_on_the_x_axis_and_takes_its_range() -> None:
    query = {"metrics": ["orders"], "granularity": "ordered_at", "columns": [axis("shipped_on")]}
    made = plan({**query, "filters": [ranged("ordered_at", MAY_TEXT), ranged("shipped_on", JUNE_TEXT)]})
    assert [clause.predicate.since for clause in made.where] == [JUNE[0], MAY[0]]
    assert {clause.predicate.left.name for clause in made.where} == {"ordered_at"}
    assert str(made.where[0].origin) == f"payload: filters[1] shipped_on: {JUNE_TEXT}, on granularity ordered_at"
    assert made.notes == (
        "granularity 'ordered_at' takes the place of x-axis 'shipped_on'",
        f"filters[1] on 'shipped_on': its range '{JUNE_TEXT}' bounds granularity 'ordered_at', "
        "which takes the place of that x-axis",
    )


def test_the_granularity_replaces_a_temporal_x_axis() -> None:
    made = plan({"metrics": ["orders"], "granularity": "ordered_at", "columns": [axis("shipped_on"), "city"]})
    assert [output.label for output in made.outputs] == ["ordered_at", "city", "orders"]
    first = made.outputs[0].expr
    assert isinstance(first, BucketExpr)
    assert isinstance(first.source, ColumnExpr)
    assert first.source.name == "ordered_at"


@pytest.mark.parametrize(
    ("granularity", "error"),
    [("city", "granularity: column 'city' is not temporal and cannot take"), ("cty", "did you mean 'city'")],
)
def test_only_a_temporal_granularity_replaces_an_x_axis(granularity: str, error: str) -> None:
    with pytest.raises(QueryError, match=error):
        plan({"metrics": ["orders"], "granularity": granularity, "columns": [axis("shipped_on")]})


def test_the_granularity_leaves_an_x_axis_of_names_alone() -> None:
    made = plan({"metrics": ["orders"], "granularity": "ordered_at", "columns": [axis("country", None)]})
    assert [output.label for output in made.outputs] == ["country", "orders"]


def test_a_granularity_on_the_x_axis_itself_keeps_its_label() -> None:
    made = plan({"metrics": ["orders"], "granularity": "ordered_at", "columns": [axis("ordered_at", label="month")]})
    assert [output.label for output in made.outputs] == ["month", "orders"]


def test_the_main_time_column_is_bounded_too_when_the_dataset_says_so() -> None:
    view = view_of(always_filter_main_dttm=True)
    query = {"metrics": ["orders"], "granularity": "shipped_on", "time_range": JUNE_TEXT}
    made = plan(query, view=view)
    assert bounds(made) == {"shipped_on": JUNE, "ordered_at": JUNE}
    assert [clause.origin.kind for clause in made.where] == [OriginKind.PAYLOAD, OriginKind.DATASET]
    assert bounds(plan({**query, "granularity": "ordered_at"}, view=view)) == {"ordered_at": JUNE}
    assert bounds(plan(query)) == {"shipped_on": JUNE}


@pytest.mark.parametrize(
    "query",
    [
        {"filters": [ranged("shipped_on")]},
        {"filters": [ranged("shipped_on"), ranged("epoch", MAY_TEXT)], "columns": [axis("shipped_on")]},
        {"columns": [axis("shipped_on")], "time_range": JUNE_TEXT},
    ],
)
def test_the_main_time_column_is_bounded_however_the_range_is_given(query: dict[str, Any]) -> None:
    found = bounds(plan({"metrics": ["orders"], **query}, view=view_of(always_filter_main_dttm=True)))
    assert (found["shipped_on"], found["ordered_at"]) == (JUNE, JUNE)
    own = {"metrics": ["orders"], "filters": [ranged("ordered_at", MAY_TEXT), ranged("shipped_on")]}
    assert bounds(plan(own, view=view_of(always_filter_main_dttm=True)))["ordered_at"] == MAY


@pytest.mark.parametrize("text", ["Last 0 days", "this month : this month", "2024-01-01 : 2024-01-01"])
def test_a_range_without_a_moment_is_told(text: str) -> None:
    (note,) = plan({"metrics": ["orders"], "granularity": "ordered_at", "time_range": text}).notes
    assert "holds no moment: it ends where it starts, at 2024-0" in note


# ------------------------------------------------------------------------------------------------ shifts and now
def test_a_time_shift_without_a_range_is_told() -> None:
    query = {"metrics": ["orders"], "time_shift": "1 month"}
    assert plan(query).unused == ("time_shift '1 month' moves nothing: the query has no time range",)
    assert plan({"columns": ["city"], "time_shift": "1 month"}, samples=True).unused == ()  # their range is told of
    ranged = {"col": "ordered_at", "op": "TEMPORAL_RANGE", "val": JUNE_TEXT}
    assert plan({**query, "filters": [ranged]}).unused == ()


def test_a_time_shift_moves_both_bounds_back() -> None:
    made = plan({"metrics": ["orders"], "granularity": "ordered_at", "time_range": JUNE_TEXT, "time_shift": "1 month"})
    assert bounds(made) == {"ordered_at": MAY}


def test_the_offset_of_the_dataset_travels_with_the_bounds() -> None:
    made = plan({"metrics": ["orders"], "filters": [ranged("ordered_at")]}, view=view_of(offset=5))
    (clause,) = made.where
    assert (clause.predicate.since, clause.predicate.hours) == (JUNE[0], 5)


def test_relative_ends_come_from_the_payload_before_the_settings() -> None:
    query = {"metrics": ["orders"], "granularity": "ordered_at", "time_range": "Last week"}
    limits = PlanLimits(relative_end=RelativeTime.NOW)
    assert plan(query).until == datetime(2024, 7, 15)
    assert plan(query, limits=limits).until == datetime(2024, 7, 15, 10, 30)
    assert plan({**query, "extras": {"relative_end": "today"}}, limits=limits).until == datetime(2024, 7, 15)


def test_now_is_cut_to_the_minute_unless_the_text_counts_seconds() -> None:
    query = {"metrics": ["orders"], "granularity": "ordered_at"}
    cut = plan({**query, "time_range": "2024-01-01 : now"})
    assert (cut.until, cut.counts_seconds) == (datetime(2024, 7, 15, 10, 30), False)
    fine = plan({**query, "time_range": "Last 30 seconds"})
    assert (fine.until, fine.counts_seconds) == (datetime(2024, 7, 15, 10, 30, 45), True)
    beside = plan({"metrics": ["orders"], "filters": [ranged("ordered_at"), ranged("shipped_on", "Last 30 seconds")]})
    assert ((beside.since, beside.until), beside.counts_seconds) == (JUNE, True)


def test_plans_within_a_minute_are_equal_for_ranges_that_do_not_count_seconds() -> None:
    query = {"metrics": ["orders"], "granularity": "ordered_at", "time_range": "Last 2 hours"}
    assert plan(query, now=NOW) == plan(query, now=NOW.replace(second=59))
    assert plan(query, now=NOW) != plan(query, now=NOW.replace(minute=31))


def test_a_comparison_bounds_every_time_column_by_its_own_range() -> None:
    made = plan_query(
        query_of({"metrics": ["orders"], "filters": [ranged("ordered_at"), ranged("shipped_on")]}),
        scope_of(view_of()),
        PlanRequest(range_override=TimeRange(since=MAY[0].replace(tzinfo=UTC), until=MAY[1].replace(tzinfo=UTC))),
    )
    assert bounds(made) == {"ordered_at": MAY, "shipped_on": MAY}


def test_a_comparison_moves_the_range_of_the_query_alone() -> None:
    query = query_of(
        {
            "metrics": ["orders"],
            "filters": [ranged("ordered_at"), ranged("shipped_on", "2024-01-01 : ")],
            "time_offsets": ["1 month ago"],
        }
    )
    (note,) = plan_query(query, scope_of(view_of()), PlanRequest()).notes
    assert note == "time_offsets: filters[1] on 'shipped_on' keeps its range '2024-01-01 : '"
    moved = TimeRange(since=MAY[0].replace(tzinfo=UTC), until=MAY[1].replace(tzinfo=UTC))
    made = plan_query(query, scope_of(view_of()), PlanRequest(range_override=moved))
    assert bounds(made) == {"ordered_at": MAY, "shipped_on": (datetime(2024, 1, 1), None)}


def test_a_comparison_chooses_its_series_in_the_main_range() -> None:
    query = query_of(
        {
            "columns": ["city"],
            "metrics": ["orders"],
            "series_columns": ["city"],
            "series_limit": 2,
            "filters": [ranged("ordered_at"), {"col": "city", "op": "!=", "val": "x"}],
        }
    )
    main = plan_query(query, scope_of(view_of()), PlanRequest())
    assert main.series_limit is not None
    shifted = TimeRange(since=MAY[0].replace(tzinfo=UTC), until=MAY[1].replace(tzinfo=UTC))
    request = PlanRequest(range_override=shifted, series_limit=main.series_limit)
    made = plan_query(query, scope_of(view_of()), request)
    assert made.where[0].predicate.since == MAY[0]
    assert main.series_limit.where[0].predicate.since == JUNE[0]
    assert made.series_limit == main.series_limit


# -------------------------------------------------------------------------------------------------------- refusals
def test_an_unknown_time_column_in_a_filter_is_listed() -> None:
    made = plan({"metrics": ["orders"], "filters": [ranged("nowhen")]})
    assert [(item.column, item.reason) for item in made.rejected_filters] == [("nowhen", "not_in_datasource")]
    assert made.applied_filters == ()
    assert made.where == ()


def test_an_unknown_granularity_is_refused() -> None:
    with pytest.raises(UnknownColumnError, match="ordered_at"):
        plan({"metrics": ["orders"], "granularity": "orderd_at", "time_range": JUNE_TEXT})


@pytest.mark.parametrize("column", ["city", "quantity", "thing"])
def test_only_time_is_bounded_in_time(column: str) -> None:
    with pytest.raises(FilterValueError, match=column):
        plan({"metrics": ["orders"], "filters": [ranged(column)]})
    with pytest.raises(FilterValueError, match=column):
        plan({"metrics": ["orders"], "granularity": column, "time_range": JUNE_TEXT})


@for_each("text", ["whenever", "2024-13-01", "1=1", "Last week'; DROP TABLE orders --", "x" * 900])
def test_a_range_that_is_not_understood_is_refused(text: str) -> None:
    with pytest.raises(TimeRangeError):
        plan({"metrics": ["orders"], "filters": [ranged("ordered_at", text)]})
    with pytest.raises(TimeRangeError):
        plan({"metrics": ["orders"], "time_range": text})
    with pytest.raises((TimeRangeError, PayloadSchemaError)):
        plan({"metrics": ["orders"], "time_range": JUNE_TEXT, "time_shift": text})


@pytest.mark.parametrize("value", [5, True, ["Last week"], 1.5])
def test_a_range_is_a_text(value: Any) -> None:
    with pytest.raises(FilterValueError, match="ordered_at"):
        plan({"metrics": ["orders"], "filters": [ranged("ordered_at", value)]})


def test_an_expression_without_a_known_time_is_not_bounded() -> None:
    with pytest.raises(FilterValueError, match="temporal"):
        plan({"metrics": ["orders"], "filters": [ranged({"label": "t", "sqlExpression": "UPPER(city)"})]})


def test_a_calculated_time_column_is_bounded() -> None:
    moved = COLUMNS[7].__class__(
        column_name="later", type="TIMESTAMP", is_dttm=True, expression="COALESCE(ordered_at, NULL)"
    )
    made = plan({"metrics": ["orders"], "filters": [ranged("later")]}, view=view_of(columns=(*COLUMNS, moved)))
    (clause,) = made.where
    assert isinstance(clause.predicate.left, FragmentExpr)


@pytest.mark.parametrize("always", [False, True])
@pytest.mark.parametrize("axis", [None, AdhocColumn(sql_expression="ordered_at", label="t", column_type="BASE_AXIS")])
def test_a_query_without_any_range_is_bounded_as_one_that_says_so(always: bool, axis: AdhocColumn | None) -> None:
    scope = scope_of(view_of(always_filter_main_dttm=always))
    without, explicit = (query_of({"metrics": ["orders"], **extra}) for extra in ({}, {"time_range": "No filter"}))
    assert plan_time_bounds(scope, without, [], axis=axis) == plan_time_bounds(scope, explicit, [], axis=axis)


def test_steps_name_the_granularity_in_the_place_of_an_axis_by_its_label_or_its_column() -> None:
    options = {"index": ["ordered_at", "t"], "columns": ["ordered_at", "t"], "aggregates": {"t": {"operator": "sum"}}}
    step = {"operation": "pivot", "options": options}

    def steps(axis: Any, granularity: str | None) -> dict[str, Any]:
        given = {"columns": [axis], "metrics": ["count"], "granularity": granularity, "post_processing": [step]}
        (found,) = steps_on_granularity(query_of(given), view_of())
        return {name: found.options[name] for name in ("index", "columns", "aggregates")}

    plain = {"columnType": "BASE_AXIS", "sqlExpression": "ordered_at", "timeGrain": "P1M"}
    labelled = {**plain, "label": "t"}
    assert steps(plain, "shipped_on") == {**options, "index": ["shipped_on", "t"]}
    assert steps(labelled, "shipped_on") == {**options, "index": ["ordered_at", "shipped_on"]}
    for axis, granularity in ((plain, None), (plain, "ordered_at"), ("country", "shipped_on")):
        assert steps(axis, granularity) == options
    assert steps({**plain, "sqlExpression": "country"}, "shipped_on") == options
