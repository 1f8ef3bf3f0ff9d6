"""Whatever stands in the form of a chart, its payload is a query context or a typed error that names a field."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.any_form import HOSTILE, places, with_value
from tests.support.small_core import SmallCore, small_core

from analytics_core._content.lookups.chart_contexts import ChartContexts
from analytics_core._superset.field_names import QUERY_WORDS
from analytics_core._superset.registry import ChartKinds
from analytics_core.errors import AnalyticsError, PayloadError
from analytics_core.models.parsing.query_context import parse_query_context

KINDS = ChartKinds()
CONTEXTS = ChartContexts(KINDS)
COUNT = {"expressionType": "SIMPLE", "aggregate": "SUM", "column": {"column_name": "id"}, "label": "SUM(id)"}
SQL = {"expressionType": "SQL", "sqlExpression": "COUNT(*)", "label": "n"}
FORM: dict[str, Any] = {
    "viz_type": "table",
    "datasource": "1__table",
    "x_axis": "day",
    "time_grain_sqla": "P1D",
    "granularity_sqla": "day",
    "time_range": "2024-01-01 : 2025-01-01",
    **{name: [COUNT, SQL] for name in ("metrics", "percent_metrics", "tooltip_metrics")},
    **dict.fromkeys(("metric", "size", "timeseries_limit_metric", "secondary_metric"), COUNT),
    **{name: ["country"] for name in ("groupby", "columns", "groupbyRows", "groupby_b")},
    **dict.fromkeys(("entity", "series", "source", "target", "geojson", "line_column", "y_axis"), "country"),
    **dict.fromkeys(("column", "id", "parent", "name", "start_time", "end_time"), "id"),
    **{name: {"type": "geohash", "geohashCol": "country"} for name in ("spatial", "start_spatial", "end_spatial")},
    "point_radius_fixed": {"type": "metric", "value": COUNT},
    "metrics_b": [SQL],
    "adhoc_filters": [
        {"clause": "WHERE", "expressionType": "SIMPLE", "subject": "id", "operator": ">", "comparator": 0},
        {"clause": "HAVING", "expressionType": "SQL", "sqlExpression": "COUNT(*) > 0"},
    ],
    "extra_filters": [{"col": "country", "op": "IN", "val": ["France"]}],
    "extra_form_data": {"filters": [{"col": "id", "op": ">", "val": 0}], "adhoc_filters": [], "time_grain_sqla": "P1D"},
    "annotation_layers": [{"name": "x", "annotationType": "FORMULA", "value": "1", "show": True, "showMarkers": True}],
    "order_by_cols": ['["id", true]'],
    "time_compare": ["1 day ago"],
    "comparison_type": "values",
    "rolling_type": "mean",
    "rolling_periods": 2,
    "resample_rule": "1D",
    "resample_method": "ffill",
    "row_limit": 10,
    "limit": 3,
    "forecastEnabled": False,
    "temporal_columns_lookup": {"day": True},
    "url_params": {"a": "b"},
    "show_totals": True,
    "server_pagination": True,
}
"""A form of every kind at once: each builder takes its own fields of it."""


@st.composite
def forms(draw: st.DrawFn) -> dict[str, Any]:
    form = {**FORM, "viz_type": draw(st.sampled_from([*KINDS, "of a plug-in"]))}
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from([*places(form), *((name,) for name in sorted(QUERY_WORDS - form.keys()))]))
        form = with_value(form, path, draw(st.sampled_from(HOSTILE)))
    return form


@settings(
    suppress_health_check=[HealthCheck.too_slow],
)
@given(form=forms())
def test_a_mutated_form_gives_a_query_context_or_names_its_fields(form: dict[str, Any]) -> None:
    built, error = None, None
    try:
        built = CONTEXTS.of_form(form)
    except PayloadError as rejection:
        error = rejection
    if built is not None:
        parse_query_context(built.payload)
        assert all(names for names in built.origins.values())
    else:
        named = [problem.path for problem in getattr(error, "problems", ())]
        assert all(named) or "form_data" in str(error)
        assert not any(path.startswith("queries.") for path in named), named


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallCore]:
    with small_core(Path(tmp_path_factory.mktemp("forms"))) as made:
        made.orders()
        chart = {"slice_name": "x", "datasource_id": 1, "datasource_type": "table", "params": "{}", "viz_type": "pie"}
        made.core.charts.create(chart)
        yield made


@pytest.mark.slow
@settings(
    suppress_health_check=[HealthCheck.too_slow],
)
@given(form=forms())
def test_a_chart_of_a_mutated_form_answers_or_fails_with_a_typed_error(shop: SmallCore, form: dict[str, Any]) -> None:
    kind = form["viz_type"] if isinstance(form["viz_type"], str) else "pie"
    with suppress(AnalyticsError):
        shop.core.charts.update(1, {"viz_type": kind, "params": json.dumps(form)})
    with suppress(AnalyticsError):
        shop.core.charts.data(1).raise_for_error()
    with suppress(AnalyticsError):
        shop.core.charts.explain(1)
    with suppress(AnalyticsError):
        shop.core.charts.payload_of(form)
