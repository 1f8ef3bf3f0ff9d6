"""Columns of tables in messages, as the form of a chart and the metrics of its dataset say."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from tests.support.cases import for_each

from analytics_core._engine.results.column_formats import ChartFormats, MetricFormat
from analytics_core._engine.results.readable import readable_texts

TOTAL = {"expressionType": "SIMPLE", "aggregate": "SUM", "column": {"column_name": "amount"}}
REVENUE = {"revenue": MetricFormat(number="$,.2f"), "paid": MetricFormat(currency='{"symbol": "EUR"}')}


def texts(form: dict[str, Any], name: str, values: list[Any], *parts: str) -> list[str]:
    """Return the texts of a column of a chart whose dataset has two metrics with formats."""
    return ChartFormats(form=form, metrics=REVENUE).of(name, parts).texts(values, readable_texts)


@for_each(
    ("form", "name", "value", "text"),
    [
        ({"metrics": ["revenue"]}, "revenue", 1234.5, "$1,234.50"),
        ({"metrics": ["paid"]}, "paid", 1234567, "€ 1,234,567"),
        ({"metrics": ["count"]}, "count", 1234567, "1,234,567"),
        ({"metrics": [TOTAL]}, "SUM(amount)", 1234.5, "1,234.5"),
        ({"metrics": [TOTAL]}, "SUM(amount)", Decimal("-12345.678"), "-12,345.678"),
        ({"metrics": ["count"], "y_axis_format": ",.1f"}, "count", 1234, "1,234.0"),
        ({"metrics": ["revenue"], "y_axis_format": ".3s"}, "revenue", 1234.5, "1.23k"),
        ({"metrics": ["revenue"], "y_axis_format": "SMART_NUMBER"}, "revenue", 1234.5, "$1,234.50"),
        (
            {"metrics": ["count"], "currency_format": {"symbol": "GBP", "symbolPosition": "suffix"}},
            "count",
            5000,
            "5,000 £",
        ),
        (
            {
                "metrics": ["count"],
                "currency_format": {"symbol": "GBP"},
                "column_config": {"count": {"currencyFormat": {"symbol": "EUR"}}},
            },
            "count",
            5000,
            "€ 5,000",
        ),
        ({"metrics": ["count"], "y_axis_format": "no format"}, "count", 1234, "1,234"),
        ({"metrics": ["count"], "column_config": {"count": {"d3NumberFormat": ".1%"}}}, "count", 0.256, "25.6%"),
        (
            {"metrics": ["count"], "column_config": {"count": {"d3NumberFormat": "SMART_NUMBER"}}},
            "count",
            12_345,
            "12.3k",
        ),
        ({"metrics": ["count"], "column_config": {"count": "none"}}, "count", 1234, "1,234"),
        ({"percent_metrics": ["count"]}, "%count", 0.25, "25.000%"),
        ({"metric": "revenue"}, "revenue__contribution", 0.25, "25.000%"),
        ({"metrics": ["revenue"]}, "revenue__1 year ago", 1234.5, "$1,234.50"),
        ({"groupby": ["year"], "metrics": ["count"]}, "year", 2025, "2025"),
        ({"query_mode": "raw", "all_columns": ["id"]}, "id", 123456, "123456"),
        ({"all_columns": ["id"], "column_config": {"id": {"d3NumberFormat": ",d"}}}, "id", 123456, "123,456"),
        ({}, "anything", 123456, "123456"),
    ],
)
def test_number_is_written_as_its_chart_says(form: dict[str, Any], name: str, value: Any, text: str) -> None:
    assert texts(form, name, [value, None]) == [text, ""]


def test_column_of_a_joined_label_is_written_as_its_metric() -> None:
    form = {"metrics": ["revenue", "count"], "groupby": ["region"]}
    assert texts(form, "revenue, EU", [1234.5], "revenue", "EU") == ["$1,234.50"]
    assert texts(form, "count, EU", [1234], "count", "EU") == ["1,234"]


def test_column_named_by_a_value_has_the_format_of_the_only_metric() -> None:
    assert texts({"metrics": ["revenue"], "groupby": ["region"]}, "EU", [1234.5], "EU") == ["$1,234.50"]


def test_small_numbers_have_a_format_of_their_own() -> None:
    config = {"count": {"d3NumberFormat": ",.0f", "d3SmallNumberFormat": ".3f"}}
    found = texts({"metrics": ["count"], "column_config": config}, "count", [1234.5, 0.25, -0.5, float("nan")])
    assert found == ["1,235", "0.250", "-0.500", "NaN"]


@for_each(
    ("form", "text"),
    [
        ({"table_timestamp_format": "%d.%m.%Y"}, "03.03.2025"),
        ({"table_timestamp_format": "smart_date"}, "2025-03-03"),
        ({"column_config": {"day": {"d3TimeFormat": "%B"}}, "table_timestamp_format": "%d.%m.%Y"}, "March"),
    ],
)
@for_each("day", [date(2025, 3, 3), datetime(2025, 3, 3, tzinfo=UTC)])
def test_moment_is_written_as_its_chart_says(form: dict[str, Any], text: str, day: date) -> None:
    assert texts(form, "day", [day, None]) == [text, ""]


def test_moments_among_other_values_stay_as_they_are() -> None:
    values = [date(2025, 3, 3), "soon"]
    assert texts({"table_timestamp_format": "%d.%m.%Y"}, "day", values) == readable_texts(values)


def test_moments_within_a_day_keep_their_time() -> None:
    moments = [datetime(2025, 3, 3, tzinfo=UTC), datetime(2025, 3, 3, 9, tzinfo=UTC)]
    assert [text[:19] for text in texts({}, "day", moments)] == ["2025-03-03 00:00:00", "2025-03-03 09:00:00"]


@pytest.mark.parametrize("values", [["a", 1234], [True, False], ["x"]])
def test_values_that_are_no_numbers_stay_as_they_are(values: list[Any]) -> None:
    assert texts({"metrics": ["count"], "y_axis_format": ",.1f"}, "count", values) == readable_texts(values)
