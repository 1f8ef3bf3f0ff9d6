"""What the README shows: connect, describe a dataset, ask, read the answer."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, assert_type

import analytics_core
from analytics_core import AnalyticsCore, BatchStream, ChartData, Explanation, QueryResult, Settings, errors, models
from analytics_core.models import TimeGrain
from analytics_core.testing.sample_data import make_shop


def first_chart(folder: Path) -> bytes:
    with analytics_core.connect(make_shop(folder / "shop.db"), max_row_limit=10, strict_queries=True) as core:
        assert_type(core, AnalyticsCore)
        orders = core.datasets.create({"database": 1, "table_name": "orders"})
        assert_type(orders, models.DatasetGet)
        revenue = {"expressionType": "SIMPLE", "aggregate": "SUM", "column": {"column_name": "amount"}}
        query = {"columns": ["category"], "metrics": [revenue], "orderby": [["revenue", False]]}
        answer = core.charts.data({"datasource": {"id": orders.id, "type": "table"}, "queries": [query]})
        assert_type(answer, ChartData)
        assert_type(answer.results[0], QueryResult)
        assert_type(answer.results[0].rowcount, int)
        assert_type(answer.raise_for_error(), ChartData)
        assert_type(core.charts.explain(1), Explanation)
        with core.charts.batches(7) as batches:
            assert_type(batches, BatchStream)
        assert_type(core.datasets.batches(orders.id or 1, columns=["category"]).rows, int)
        core.charts.data('{"queries": [{"metrics": ["count"]}]}')
        core.charts.data(b'{"queries": [{"metrics": ["count"]}]}')
        core.charts.data(7, force=True)
        return answer.to_json()


def a_service(settings: Settings) -> str:
    service = AnalyticsCore(settings, metadata_url="sqlite:///meta.db")
    admin = service.create_first_administrator("ada", first_name="Ada", email=None)
    assert_type(admin.username, str)
    ada = service.as_user("ada")
    assert_type(ada, AnalyticsCore)
    names = [database.database_name for database in ada.databases.list(page_size=5)]
    return ", ".join(name or "" for name in names)


def what_an_error_tells(core: AnalyticsCore) -> tuple[str, bool, int]:
    try:
        core.charts.data({"queries": []})
    except errors.UnknownColumnError as error:
        assert_type(error.suggestions, tuple[str, ...])
        return error.code, error.retryable, error.status
    except errors.AnalyticsError as error:
        assert_type(error.error_type, errors.ErrorType)
        assert_type(error.to_payload(), dict[str, Any])
    return "", False, 0


def modules_are_reached_through_the_package(known: Mapping[str, str]) -> models.ChartPut:
    assert_type(analytics_core.models.TimeGrain("P1D"), TimeGrain)
    assert_type(analytics_core.errors.nearest("a", known), tuple[str, ...])
    return analytics_core.models.ChartPut(slice_name="b")
