"""What people have in hand is connected; what cannot be is an error before anything runs."""

from collections.abc import Iterator
from pathlib import Path
from typing import assert_type

import duckdb
import pandas as pd
import sqlalchemy as sa

import analytics_core
from analytics_core import AnalyticsCore, models


def ways(frame: pd.DataFrame, engine: sa.Engine, url: sa.URL) -> Iterator[AnalyticsCore]:
    assert_type(analytics_core.connect("sales.parquet"), AnalyticsCore)
    yield analytics_core.connect(Path("sales.parquet"), lazy=True, max_row_limit=10)
    yield analytics_core.connect(frame)
    yield analytics_core.connect({"orders": frame, "people": "people.csv", "rows": [{"a": 1}]})
    yield analytics_core.connect([{"country": "France", "amount": 10.5}, {"country": None}])
    yield analytics_core.connect(["orders.csv", Path("people.csv")])
    yield analytics_core.connect(engine)
    yield analytics_core.connect(url)
    with duckdb.connect() as connection:
        yield analytics_core.connect(connection)


def beside_others(core: AnalyticsCore, frame: pd.DataFrame) -> int | None:
    orders = core.dataset_from(frame, "orders", replace=True)
    assert_type(orders, models.DatasetGet)
    core.dataset_from("people.csv", "people")
    core.dataset_from(["one.csv", "two.csv"], "both")
    core.dataset_from([{"a": 1}], "rows")
    return orders.id


def what_cannot_be_connected(core: AnalyticsCore, frame: pd.DataFrame, engine: sa.Engine) -> None:
    analytics_core.connect(7)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    analytics_core.connect(None)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    analytics_core.connect({1, 2})  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    core.dataset_from(engine, "shop")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    core.dataset_from(frame, 7)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    core.dataset_from(frame, "orders", True)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
