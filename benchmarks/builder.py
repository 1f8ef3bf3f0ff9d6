"""What a question in one line takes beside its payload, written by hand: built anew each time, and built once."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any

import analytics_core
from analytics_core import AnalyticsCore, DatasetHandle, DatasetQuery
from analytics_core.testing.sample_data import make_shop
from benchmarks.report import Ratio
from benchmarks.timing import paired_ratio

MOST_OVERHEAD = 1.1
MOST_BUILDING_MS = 1.0
AT_ONCE = 20
"""Questions in one measured call: one from the cache takes less than a clock can tell."""

Question = Callable[[DatasetHandle], DatasetQuery]


def compare() -> Iterator[Ratio]:
    """Ask the sample shop on SQLite, measure."""
    with tempfile.TemporaryDirectory() as folder, analytics_core.connect(make_shop(Path(folder) / "shop.db")) as core:
        dataset = core.datasets.create({"database": 1, "table_name": "orders"})
        metrics = [{"metric_name": "revenue", "expression": "SUM(amount)"}]
        core.datasets.update(dataset.id, {"main_dttm_col": "order_date", "metrics": metrics})
        frozen = core.as_of(datetime(2025, 1, 1, tzinfo=UTC))
        orders = frozen.dataset("orders")
        for name, question in (("short", _short), ("long", _long)):
            yield from _beside_its_payload(frozen, orders, name, question)


def _beside_its_payload(core: AnalyticsCore, orders: DatasetHandle, name: str, question: Question) -> Iterator[Ratio]:
    """Compare by processor time: what the builder adds is computed in this process, and the machine may be busy."""
    query = question(orders)
    payload = query.payload()

    def answers(force: bool) -> Any:
        return [core.charts.data(payload, force=force).raise_for_error() for _ in range(AT_ONCE)]

    def built_anew() -> Any:
        return [question(orders).run(force=True) for _ in range(AT_ONCE)]

    def cached() -> Any:
        return [query.run() for _ in range(AT_ONCE)]

    yield Ratio(
        name=f"{name} question in one line, built anew: over its payload's time",
        value=paired_ratio(lambda: built_anew, lambda: answers(True), rounds=15, by="cpu_s"),
        goal=MOST_OVERHEAD,
    )
    yield Ratio(
        name=f"{name} question in one line, kept, from the cache: the same",
        value=paired_ratio(lambda: cached, lambda: answers(False), rounds=31, by="cpu_s"),
        goal=MOST_OVERHEAD,
    )
    started = perf_counter()
    for _ in range(AT_ONCE):
        question(orders).payload()
    yield Ratio(
        name=f"{name} question in one line: building it and its payload",
        value=(perf_counter() - started) / AT_ONCE * 1_000,
        goal=MOST_BUILDING_MS,
        unit="ms",
    )


def _short(orders: DatasetHandle) -> DatasetQuery:
    return orders.query("revenue").by("country").top(10)


def _long(orders: DatasetHandle) -> DatasetQuery:
    return (
        orders.query("revenue", orders.sum.quantity)
        .by("country")
        .during("2024-01-01 : 2025-01-01", grain="P1M")
        .where((orders.c.channel == "web") & orders.c.category.isin(["toys", "books"]))
        .compare("1 year ago")
        .top(3)
    )
