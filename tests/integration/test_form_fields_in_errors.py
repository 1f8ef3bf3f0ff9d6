"""Charts that are asked by their forms name the field behind an error, on every road and also once rows are read."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.support.cases import for_each
from tests.support.filtered_dashboard import FilteredDashboard, filtered_dashboard, url_of

from analytics_core import AnalyticsCore, ChartData, DashboardData
from analytics_core.errors import ErrorType

TABLE = {"viz_type": "table", "query_mode": "aggregate", "metrics": ["revenue"], "row_limit": 100}
OF_SQL = {"expressionType": "SQL", "sqlExpression": "SUM(nothing)", "label": "x"}
LINE = {"viz_type": "echarts_timeseries_line", "x_axis": "day", "time_grain_sqla": "P1M", "metrics": ["revenue"]}
FORMS: Mapping[str, tuple[dict[str, Any], str]] = {
    "a dropped column": ({**TABLE, "groupby": ["region", "gone"]}, "form_data: groupby: "),
    "a dropped column of a filter": (
        {
            **TABLE,
            "groupby": ["region"],
            "adhoc_filters": [
                {"expressionType": "SIMPLE", "clause": "WHERE", "subject": "gone", "operator": "==", "comparator": "x"}
            ],
        },
        "form_data: adhoc_filters.0: ",
    ),
    "a column that the dataset lacks": ({**TABLE, "groupby": ["lacking"]}, "form_data: groupby: "),
    "SQL of a metric": ({"viz_type": "pie", "groupby": ["region"], "metric": OF_SQL}, "form_data: metric"),
    "a step": ({**LINE, "rolling_type": "mean", "rolling_periods": -3}, "form_data: rolling_type, rolling_periods"),
}


def answer_of(data: DashboardData) -> ChartData:
    (answer,) = [chart.answer for chart in data if chart.name == "cities"]
    assert answer is not None
    return answer


ROADS: Mapping[str, Callable[[AnalyticsCore, int], Any]] = {
    "data": lambda core, key: core.charts.data(key),
    "job": lambda core, key: core.charts.submit(key).result(60),
    "dashboard": lambda core, key: answer_of(core.dashboards.data(1)),
    "filtered dashboard": lambda core, key: answer_of(core.dashboards.data(1, filters={"region": ["north"]})),
}


ENGINES = [  # but for DuckDB: nobody changes a file that it reads
    "sqlite",
    pytest.param("postgresql", marks=pytest.mark.server),
    pytest.param("mysql", marks=[pytest.mark.server, pytest.mark.long]),
]


@pytest.fixture(scope="module", params=ENGINES)
def filtered(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FilteredDashboard]:
    url = url_of(request, tmp_path_factory.mktemp("forms"))
    with filtered_dashboard(url) as made:
        change(url, "ALTER TABLE visits ADD COLUMN gone VARCHAR(20)")
        made.world.admin.datasets.refresh(made.dataset)
        change(url, "ALTER TABLE visits DROP COLUMN gone")
        yield made


def change(url: str, statement: str) -> None:
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.begin() as connection:
        connection.exec_driver_sql(statement)
    engine.dispose()


@pytest.mark.slow
@for_each("road", ROADS)
@for_each("who", ["owner", "reader", "guest"])
@for_each("case", FORMS)
def test_an_error_names_the_field_of_the_form(filtered: FilteredDashboard, case: str, who: str, road: str) -> None:
    form, named = FORMS[case]
    stored = {"params": json.dumps(form), "viz_type": form["viz_type"], "query_context": None}
    filtered.world.admin.charts.update(filtered.charts["cities"], stored)
    core, _ = filtered.actors()[who]
    (result, *_) = ROADS[road](core, filtered.charts["cities"]).results
    assert (result.error or "").startswith(named)
    assert (result.error or "").count("form_data") == 1


def test_an_error_of_a_filter_of_the_dashboard_names_no_field_of_a_form(tmp_path: Path) -> None:
    with filtered_dashboard(f"sqlite:///{tmp_path}/shop.db") as dashboard:
        form = {**TABLE, "groupby": ["region"]}
        core = dashboard.world.admin
        core.charts.update(dashboard.charts["cities"], {"params": json.dumps(form), "query_context": None})
        given = [{"col": "city", "op": "==", "val": "x"}]
        with closing(sqlite3.connect(tmp_path / "shop.db")) as connection:
            connection.execute("ALTER TABLE visits RENAME COLUMN city TO town")
        (result,) = answer_of(core.dashboards.data(1, extra_filters=given)).results
    assert result.failure is not None
    assert result.failure.error_type is ErrorType.COLUMN_DOES_NOT_EXIST_ERROR
    assert "form_data" not in (result.error or "")


def test_a_warm_up_names_the_field_too(tmp_path: Path) -> None:
    with filtered_dashboard(f"sqlite:///{tmp_path}/shop.db") as dashboard:
        core, key = dashboard.world.admin, dashboard.charts["cities"]
        core.charts.update(key, {"params": json.dumps({**TABLE, "groupby": ["lacking"]}), "query_context": None})
        for on in ({}, {"dashboard_id": 1}):
            (warmed,) = core.cache.warm_up_chart({"chart_id": key, **on}).result
            assert (warmed.viz_error or "").startswith("form_data: groupby: ")
