"""A question in one line reaches no database before it is run: a connector counts who asks for an engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.execution import REGISTRY
from tests.support.templates import sample_shop

from analytics_core import AnalyticsCore, Settings
from analytics_core._core.adapters.connector import SqlAlchemyConnector

SETTINGS = Settings(secret_key="a long key of a test that nobody else has 0123456789")


class CountingConnector:
    """Pools that count how often an engine was asked for."""

    def __init__(self, pools: SqlAlchemyConnector) -> None:
        self._pools = pools
        self.queried = 0

    def engine(self, *arguments: Any, **named: Any) -> Any:
        self.queried += 1
        return self._pools.engine(*arguments, **named)

    def dispose(self, database_id: int) -> None:
        self._pools.dispose(database_id)

    def close(self) -> None:
        self._pools.close()


@pytest.fixture
def connector(tmp_path: Path) -> CountingConnector:
    sample_shop(tmp_path / "shop.db")
    return CountingConnector(
        SqlAlchemyConnector(settings=SETTINGS, specs=REGISTRY.get, allowed_files=[tmp_path / "shop.db"])
    )


@pytest.fixture
def core(connector: CountingConnector, tmp_path: Path) -> Iterator[AnalyticsCore]:
    with AnalyticsCore(SETTINGS, connector=connector, allowed_files=[tmp_path / "shop.db"]) as host:
        admin = host.as_user(host.create_first_administrator("ada").id)
        admin.databases.create({"database_name": "shop", "orm_uri": f"sqlite:///{tmp_path}/shop.db"})
        dataset = admin.datasets.create({"database": 1, "table_name": "orders"})
        revenue = {"metric_name": "revenue", "expression": "SUM(amount)"}
        admin.datasets.update(dataset.id, {"main_dttm_col": "order_date", "metrics": [revenue]})
        yield admin


@pytest.mark.slow
def test_no_database_is_reached_before_a_question_is_run(core: AnalyticsCore, connector: CountingConnector) -> None:
    connector.queried = 0
    orders = core.dataset("orders")
    question = (
        orders.query("revenue", orders.sum.amount / orders.count())
        .by("country")
        .during("2024-01-01 : 2025-01-01", grain="month")
        .where(orders.c.channel == "web", orders.sql("quantity > 1"))
        .having(orders.m.revenue > 10)
        .compare("1 year ago")
        .top(2)
        .others()
        .order("-revenue")
        .pivot("country", fill=0)
        .rolling(2)
        .share("row")
    )
    forecast = orders.query("revenue").during("2023-01-01 : 2025-01-01", grain="month").forecast(3)
    rows = orders.query().raw("id", "amount").limit(3)
    for written in (question, forecast, rows):
        assert repr(written).startswith("orders.query(")
        assert written.chart("table").payload()["queries"] == written.payload()["queries"]
    forecast.chart("line").payload()
    assert "SELECT" in question.sql
    assert question.explain().queries[0].sql
    assert forecast.save_as("Forecast").slice_name == "Forecast"
    assert connector.queried == 0
    for number, written in enumerate((question, forecast, rows), start=1):
        requests = connector.queried
        assert written.run().results[0].rowcount
        assert connector.queried > requests, number
