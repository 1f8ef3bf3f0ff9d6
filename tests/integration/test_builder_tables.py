"""Charts of questions: the rows that a limit leaves, fields of tables that ask for more, names that mean two things."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.support.cases import for_each

import analytics_core
from analytics_core import DatasetHandle
from analytics_core._notebook.builder.forms import SHAPES
from analytics_core.errors import QueryError, UnknownMetricError

_PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "pictures.md"
FRAME = pd.DataFrame(
    {
        "kind": ["a", "b", "c", "d"],
        "part": ["x", "y", "x", "y"],
        "month": pd.to_datetime(["2024-01-01", "2024-02-01", "2024-03-01", "2024-04-01"]),
        "amount": [1, 2, 3, 4],
        "weight": [2.0, 3.0, 4.0, 5.0],
        "count": [5, 6, 7, 8],
    }
)


@pytest.fixture(scope="module")
def data() -> Iterator[DatasetHandle]:
    with analytics_core.connect(FRAME) as core:
        yield core.dataset()


# ------------------------------------------------------------------------------------------------------------- limits
def questions(kind: str, data: DatasetHandle) -> list[Any]:
    if kind == "histogram":
        return [data.query().raw("amount").limit(2)]
    if kind == "big_number":
        return [data.query("amount").during(grain="month").limit(2)]
    if kind == "heatmap":
        return [data.query("amount").by("kind", "part").limit(2)]
    grouped = data.query("amount").by("kind")
    return [grouped.limit(2), grouped.offset(1), data.query("amount").during(grain="month").limit(2)]


@pytest.mark.slow
@for_each("kind", SHAPES)
def test_a_limit_without_an_order_leaves_a_chart_the_rows_of_its_question(data: DatasetHandle, kind: str) -> None:
    for question in questions(kind, data):
        assert question.chart(kind).sql == question.sql


def test_the_order_that_a_form_names_by_hand_chooses_the_rows(data: DatasetHandle) -> None:
    pie = data.query("amount").by("kind").limit(2).chart("pie", sort_by_metric=True)
    assert [row[:2] for row in pie.run()[0].rows()] == [("d", 4), ("c", 3)]


# ------------------------------------------------------------------------------------------------------------- tables
def test_a_table_has_totals_and_shares_where_its_form_asks_for_them(data: DatasetHandle) -> None:
    table = data.query("amount", data.max.weight.label("most")).by("kind")
    answer = table.chart("table", show_totals=True, percent_metrics=["amount"]).run()
    assert answer[0].colnames == ("kind", "amount", "most", "%amount")
    assert [row[:3] for row in answer[0].rows()] == table.run()[0].rows()
    assert [row[3] for row in answer[0].rows()] == pytest.approx(list(FRAME.amount / FRAME.amount.sum()))
    assert answer[1].rows() == [(FRAME.amount.sum(), FRAME.weight.max(), 1.0)]


@pytest.mark.parametrize("named", ["weight", "most"])
def test_a_share_is_of_a_metric_of_the_question_or_of_what_it_would_mean_there(data: DatasetHandle, named: str) -> None:
    table = data.query(data.sum.weight.label("most")).by("kind").chart("table", percent_metrics=[named])
    shares = [row[-1] for row in table.run()[0].rows()]
    assert shares == pytest.approx(list(FRAME.weight / FRAME.weight.sum()))


def test_totals_keep_conditions_ranges_and_compared_times(data: DatasetHandle) -> None:
    query = data.query("amount").during("2024-02-01", "2024-04-01", grain="month").where(data.c.kind != "b")
    answer = query.compare("1 month ago").chart("table", show_totals=True).run()
    assert answer[0].rows() == query.compare("1 month ago").run()[0].rows()
    assert [row[-2:] for row in answer[1].rows()] == [(3, 1)]


def test_totals_are_those_of_all_rows_and_the_rows_those_of_the_question(data: DatasetHandle) -> None:
    for question in (data.query("amount").by("kind").top(2), data.query("amount").by("kind").limit(2)):
        answer = question.chart("table", show_totals=True).run()
        assert (answer[0].rows(), answer[1].rows()) == (question.run()[0].rows(), [(10,)])


def test_a_stored_table_with_totals_answers_as_the_question(data: DatasetHandle) -> None:
    with analytics_core.connect(FRAME) as core:
        chart = core.dataset().query("amount").by("kind").chart("table", show_totals=True)
        stored = core.charts.data(chart.save_as("With totals").id)
        assert [result.rows() for result in stored] == [result.rows() for result in chart.run()]


def test_fields_of_a_table_that_cannot_be_honoured_are_told(data: DatasetHandle) -> None:
    table = data.query("amount").by("kind")
    with pytest.raises(QueryError, match=r"a table after \.share .* has no field for show_totals"):
        table.share().chart("table", show_totals=True)
    with pytest.raises(UnknownMetricError, match="did you mean 'amount'"):
        table.chart("table", percent_metrics=["amont"])


def test_every_field_of_the_page_is_taken_by_its_kinds(data: DatasetHandle) -> None:
    rows = [line.split("|")[1:3] for line in _PAGE.read_text().splitlines() if line.startswith("| `")]
    assert {kind for kinds, _ in rows for kind in re.findall(r"`(\w+)`", kinds)} == {*SHAPES, "table"}
    for kinds, fields in rows:
        for kind in re.findall(r"`(\w+)`", kinds):
            question = data.query().raw("amount") if kind == "histogram" else data.query("amount")
            for field in re.findall(r"`(\w+)`", fields):
                query = question if kind in ("big_number", "histogram") else question.by("kind")
                query = query.by("part") if kind == "heatmap" else query
                assert query.chart(kind, **{field: None}).form_data[field] is None


def test_a_second_metric_of_a_sunburst_is_named_as_in_a_question(data: DatasetHandle) -> None:
    answer = data.query("amount").by("kind").chart("sunburst", secondary_metric="weight").run()[0]
    assert answer.colnames == ("kind", "amount", "weight")


def test_totals_of_extremes_are_extremes_where_the_form_asks_for_them(data: DatasetHandle) -> None:
    chart = data.query(data.max.amount).by("kind", "part").pivot("part").chart("pivot_table", rowTotals=True)
    assert (chart.form_data["aggregateFunction"], chart.run()[0].notes) == ("Maximum", ())


# -------------------------------------------------------------------------------------------------------------- names
def test_a_column_called_like_the_count_of_rows_is_told_with_both_ways_to_write_it(data: DatasetHandle) -> None:
    owner = re.escape(repr(data))
    with pytest.raises(QueryError, match=rf"{owner}\.m\.count for the rows, {owner}\.sum\.count for the sum"):
        data.query("count")
    with pytest.raises(QueryError, match=rf"{owner}\.m\.count"):
        data.query("amount").by("kind").order("-count")
    both = data.query(data.m.count, data.sum.count).by("part")
    assert both.run()[0].rows() == [("x", 2, 12), ("y", 2, 14)]


def test_the_sum_of_a_column_called_count_is_not_shown_as_the_count_of_rows(data: DatasetHandle) -> None:
    summed, counted = (data.query(metric).by("part").chart("bar") for metric in (data.c["count"], data.m.count))
    assert summed.run()[0].rows() == [("x", 12.0), ("y", 14.0)]
    assert (summed.run()[0].verbose_names, counted.run()[0].verbose_names) == ({}, {"count": "COUNT(*)"})
    assert summed.run().to_csv().decode("utf-8-sig").startswith("part,count")


def test_a_metric_that_somebody_named_like_a_column_is_what_the_name_means(tmp_path: Path) -> None:
    with analytics_core.connect(FRAME) as core:
        made = {"metric_name": "amount", "expression": "MAX(amount)"}
        core.datasets.update(core.dataset().id, {"metrics": [made]})
        assert core.dataset().query("amount").run()[0].rows() == [(4,)]


# -------------------------------------------------------------------------------------------------------------- notes
def test_a_metric_without_an_aggregate_is_told_where_nothing_makes_one_row(data: DatasetHandle) -> None:
    constant = data.sql("1 + 1", label="two")
    result = data.query(constant).run()[0]
    assert result.rows() == [(2,)] * 4
    (note,) = result.notes
    assert note.startswith("'two' without an aggregate: each row of the source")
    for other in (data.query(constant).by("kind"), data.query(constant, "amount"), data.query(data.sql("COUNT(*)"))):
        assert other.run()[0].notes == ()


@pytest.mark.parametrize(
    ("months", "message"),
    [
        (1, "one value was observed and is repeated; an interval needs two values, a trend 5"),
        (3, "3 values were observed, of which the last is repeated; a trend needs 5"),
    ],
)
def test_a_forecast_of_few_values_says_how_many_it_needs(data: DatasetHandle, months: int, message: str) -> None:
    first = data.query("amount").during("2024-01-01", f"2024-0{months + 1}-01", grain="month").forecast(2)
    (note,) = first.run()[0].notes
    assert note.endswith(message)
