"""Charts that store form data and no query context: answers, explanations, jobs and batches say how they were made."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.cases import for_each
from tests.support.small_core import SmallCore, small_core

from analytics_core.errors import PayloadError, PayloadSchemaError, QueryError

FORM = {"viz_type": "table", "query_mode": "aggregate", "groupby": ["country"], "metrics": ["count"], "glow": 3}
NOTE = "not understood, and not asked: glow"


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[SmallCore]:
    with small_core(tmp_path) as made:
        made.orders()
        yield made


def chart_of(shop: SmallCore, form: dict[str, Any], **fields: Any) -> int:
    given = {"slice_name": "x", "datasource_id": 1, "datasource_type": "table", "params": json.dumps(form), **fields}
    return int(shop.core.charts.create({**given, "viz_type": form.get("viz_type")}).id)


def test_every_road_asks_what_the_form_asks_and_tells_what_it_leaves_out(shop: SmallCore) -> None:
    chart = chart_of(shop, FORM)
    charts = shop.core.charts
    direct = charts.data(charts.payload(chart).payload).results[0]
    result = charts.data(chart).results[0]
    job = charts.submit(chart).result().results[0]
    assert result.rows() == job.rows() == direct.rows()
    assert NOTE in result.notes
    assert result.notes == job.notes
    assert NOTE in charts.explain(chart).queries[0].notes
    with charts.batches(chart) as stream:
        assert [tuple(row.values()) for batch in stream for row in batch.to_pylist()] == direct.rows()


def test_a_form_that_was_edited_is_asked_in_place_of_its_older_context(shop: SmallCore) -> None:
    before = {**FORM, "datasource": "1__table"}
    context = {**shop.core.charts.payload_of(before).payload, "form_data": before}
    chart = chart_of(shop, before, query_context=json.dumps(context))
    assert shop.core.charts.data(chart).results[0].colnames == ("country", "count")
    shop.core.charts.update(chart, {"params": json.dumps({**before, "groupby": ["id"]})})
    assert shop.core.charts.data(chart).results[0].colnames == ("id", "count")


def test_a_form_that_only_draws_otherwise_leaves_the_stored_context(shop: SmallCore) -> None:
    before = {**FORM, "datasource": "1__table"}
    context = {**shop.core.charts.payload_of(before).payload, "form_data": before}
    context["queries"][0]["row_limit"] = 1  # tells the stored context from a built one
    chart = chart_of(shop, {**before, "show_cell_bars": True}, query_context=json.dumps(context))
    assert len(shop.core.charts.data(chart).results[0].rows()) == 1


def test_what_cannot_be_asked_is_told_by_its_chart(shop: SmallCore) -> None:
    without = chart_of(shop, {"viz_type": "pie", "groupby": 5, "metric": {"nothing": 1}})
    with pytest.raises(PayloadSchemaError, match="groupby"):
        shop.core.charts.data(without)
    given = {"slice_name": "x", "datasource_id": 1, "datasource_type": "table"}
    empty = shop.core.charts.create(given).id
    with pytest.raises(QueryError, match=f"chart {empty} has no query_context and no params"):
        shop.core.charts.data(empty)


def test_an_explanation_names_the_field_of_the_form_behind_each_clause(shop: SmallCore) -> None:
    conditions = [
        {"expressionType": "SIMPLE", "clause": "WHERE", "subject": "country", "operator": "==", "comparator": "France"},
        {"expressionType": "SQL", "clause": "WHERE", "sqlExpression": "id > 0"},
        {"expressionType": "SQL", "clause": "HAVING", "sqlExpression": "COUNT(*) > 0"},
    ]
    form = {**FORM, "adhoc_filters": conditions, "row_limit": 7, "percent_metrics": ["count"]}
    explained = shop.core.charts.explain(chart_of(shop, form)).queries[0]
    origins = {
        clause.origin.partition("; form: ")[0]: clause.origin.partition("; form: ")[2] for clause in explained.clauses
    }
    assert origins["payload: columns[0]"] == "groupby"
    assert origins["payload: filters[0] country"] == "adhoc_filters.0"
    assert origins["payload: extras.where"] == "adhoc_filters.1"
    assert origins["payload: extras.having"] == "adhoc_filters.2"
    assert origins["payload: row_limit"] == "row_limit"
    assert origins["payload: post_processing[0]"] == "percent_metrics"
    assert not origins["dataset: 1"]
    context = shop.core.charts.payload_of({**form, "datasource": "1__table"}).payload
    assert not any("form:" in clause.origin for clause in shop.core.charts.explain(context).queries[0].clauses)


# --------------------------------------------------------------------------------------------- stored and changed
CONTEXT = {"datasource": {"id": 1, "type": "table"}, "queries": [{"columns": ["id"], "metrics": ["count"]}]}


def test_a_chart_is_made_of_its_form_alone(shop: SmallCore) -> None:
    made = shop.core.charts.get(chart_of(shop, {**FORM, "metrics": ["count"]}))
    assert made.query_context is None
    assert sorted(shop.core.charts.data(made.id).results[0].rows(), key=str) == [("France", 1), (None, 1)]


def test_an_update_of_the_form_ends_a_context_that_does_not_say_what_it_was_made_of(shop: SmallCore) -> None:
    chart = chart_of(shop, FORM, query_context=json.dumps(CONTEXT))
    assert shop.core.charts.data(chart).results[0].colnames == ("id", "count")
    changed = shop.core.charts.update(chart, {"params": json.dumps({**FORM, "groupby": ["day"]})})
    assert changed.query_context is None
    assert shop.core.charts.data(chart).results[0].colnames == ("day", "count")
    assert shop.core.charts.submit(chart).result().results[0].colnames == ("day", "count")


@pytest.mark.parametrize(
    "change",
    [
        {"params": json.dumps({**FORM, "show_cell_bars": True})},
        {"slice_name": "another"},
        {"params": json.dumps({**FORM, "groupby": ["day"]}), "query_context": json.dumps(CONTEXT)},
        {"params": None},
    ],
)
def test_an_update_that_asks_nothing_else_leaves_the_context(shop: SmallCore, change: dict[str, Any]) -> None:
    chart = chart_of(shop, FORM, query_context=json.dumps(CONTEXT))
    assert json.loads(shop.core.charts.update(chart, change).query_context or "{}") == CONTEXT


def test_a_form_that_catches_up_with_its_context_leaves_it(shop: SmallCore) -> None:
    new = {**FORM, "groupby": ["day"], "datasource": "1__table"}
    context = {**shop.core.charts.payload_of(new).payload, "form_data": new}
    chart = chart_of(shop, FORM, query_context=json.dumps(context))
    assert shop.core.charts.update(chart, {"params": json.dumps(new)}).query_context is not None


def test_a_chart_on_another_dataset_is_asked_there(shop: SmallCore) -> None:
    people = shop.core.datasets.create({"database": 1, "table_name": "people"})
    form = {"viz_type": "table", "query_mode": "aggregate", "groupby": [], "metrics": ["count"]}
    chart = chart_of(shop, form, query_context=json.dumps({**CONTEXT, "queries": [{"metrics": ["count"]}]}))
    assert shop.core.charts.data(chart).results[0].rows() == [(2,)]
    shop.core.charts.update(chart, {"datasource_id": people.id})
    assert shop.core.charts.data(chart).results[0].rows() == [(0,)]


def test_another_kind_of_chart_is_asked_as_its_kind_asks(shop: SmallCore) -> None:
    form = {"viz_type": "table", "query_mode": "aggregate", "groupby": ["country"], "metrics": ["count"]}
    chart = chart_of(shop, form, query_context=json.dumps(CONTEXT))
    shop.core.charts.update(chart, {"viz_type": "big_number_total", "params": json.dumps({"metric": "count"})})
    assert shop.core.charts.data(chart).results[0].rows() == [(2,)]


# ------------------------------------------------------------------------------------------------------- errors
SIMPLE = {"expressionType": "SIMPLE", "aggregate": "SUM", "column": {"column_name": "gone"}, "label": "x"}


@for_each(
    ("changes", "field"),
    [
        ({"groupby": ["gone"]}, "groupby"),
        ({"metrics": ["gone"]}, "metrics"),
        ({"metrics": [SIMPLE]}, "metrics"),
        ({"granularity_sqla": "gone", "time_range": "Last week"}, "granularity_sqla"),
        (
            {"adhoc_filters": [{"expressionType": "SQL", "clause": "WHERE", "sqlExpression": "gone > 1"}]},
            r"adhoc_filters\.0",
        ),
    ],
)
def test_a_column_that_is_missing_is_told_with_the_field_that_names_it(
    shop: SmallCore, changes: dict[str, Any], field: str
) -> None:
    chart = chart_of(shop, {**FORM, **changes})
    for _ in range(2):  # the second time from what is remembered: the field is named once
        with pytest.raises(QueryError, match=rf"^form_data: {field}(, order_desc)?: (?!form_data)"):
            shop.core.charts.data(chart).raise_for_error()
    assert shop.core.charts.explain(chart).queries[0].failure is not None


def test_a_time_that_cannot_be_read_is_told_with_the_field_that_holds_it(shop: SmallCore) -> None:
    line = {"viz_type": "echarts_timeseries_line", "x_axis": "day", "metrics": ["count"]}
    ranged = {"expressionType": "SIMPLE", "clause": "WHERE", "subject": "day", "operator": "TEMPORAL_RANGE"}
    for changes, field in (
        ({"adhoc_filters": [{**ranged, "comparator": "Lst year"}]}, r"adhoc_filters\.0"),
        ({"time_range": "Lst year"}, "time_range"),
        ({"x_axis": None}, "x_axis"),
        ({"time_compare": ["1 yaer ago"]}, "time_compare, .*"),
        (
            {"adhoc_filters": [{"expressionType": "SQL", "clause": "WHERE", "sqlExpression": "country = 'x"}]},
            r"adhoc_filters\.0",
        ),
    ):
        with pytest.raises(QueryError, match=rf"^form_data: {field}: "):
            shop.core.charts.data(chart_of(shop, {**line, **changes})).raise_for_error()


def test_a_step_that_cannot_run_names_its_fields(shop: SmallCore) -> None:
    form = {"viz_type": "echarts_timeseries_line", "x_axis": "day", "metrics": ["count"], "rolling_type": "mean"}
    chart = chart_of(shop, {**form, "rolling_periods": -3})
    with pytest.raises(QueryError, match=r"^form_data: rolling_type, rolling_periods, .*rolling\): window"):
        shop.core.charts.data(chart).raise_for_error()


def test_a_form_in_place_of_a_query_context_is_told_where_to_go(shop: SmallCore) -> None:
    form = {**FORM, "datasource": "1__table"}
    with pytest.raises(PayloadSchemaError, match=r"charts\.payload_of\(form\)\.payload"):
        shop.core.charts.data(form)
    assert shop.core.charts.data(shop.core.charts.payload_of(form).payload).results[0].rows()


def test_a_value_of_a_wrong_type_names_its_field(shop: SmallCore) -> None:
    chart = chart_of(shop, {**FORM, "metrics": [{"label": 5, "expressionType": "SQL", "sqlExpression": "COUNT(*)"}]})
    with pytest.raises(PayloadSchemaError) as caught:
        shop.core.charts.data(chart)
    assert {problem.path for problem in caught.value.problems} == {"metrics"}
    broken = chart_of(shop, {**FORM, "groupby": ["a\u0000b"]})
    with pytest.raises(PayloadError, match="'groupby'"):
        shop.core.charts.data(broken)
