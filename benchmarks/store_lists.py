"""What lists, and creating and reading one chart, cost in our own code on a store with many records.

Our own time is the processor time of this process without that of the driver's `execute` calls: on SQLite the database
works inside them. What the driver does in `fetchall` counts as ours.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from sqlalchemy import event
from tests.support.many_records import TRANSACTION_CONTROL, engine_of, fill_many
from tests.support.servers import ServerMissingError, private_servers

from analytics_core import AnalyticsCore, Settings
from benchmarks.report import Ratio, Unmeasured

CHARTS, DASHBOARDS = 10_000, 1_000
ROUNDS, WARM_UP = 30, 5
LIST_GOAL_MS, STATEMENTS_GOAL, CREATE_GOAL_MS = 10, 4, 5
STORES = ("sqlite", "postgres")


@dataclass(slots=True)
class Meter:
    """What the driver's `execute` calls took since `start`."""

    statements: int = 0
    cpu_s: float = 0.0
    wall_s: float = 0.0
    _began: tuple[float, float] = (0.0, 0.0)

    def before(self, _connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        """Begin one call."""
        self.statements += not TRANSACTION_CONTROL.match(statement)
        self._began = (time.process_time(), time.perf_counter())

    def after(self, *_: Any) -> None:
        """End it."""
        self.cpu_s += time.process_time() - self._began[0]
        self.wall_s += time.perf_counter() - self._began[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One call: milliseconds of our own, by processor and by clock, all together by clock, and its statements."""

    cpu_ms: float
    own_ms: float
    total_ms: float
    statements: int


def compare(stores: tuple[str, ...] = STORES) -> Iterator[Ratio | Unmeasured]:
    """Fill each kind of store, measure."""
    with tempfile.TemporaryDirectory() as folder, private_servers() as servers:
        for store in stores:
            try:
                url = (
                    f"sqlite:///{Path(folder) / 'meta.db'}" if store == "sqlite" else servers.postgres().make_database()
                )
            except ServerMissingError as missing:
                yield Unmeasured(name=f"lists of {CHARTS} charts: {store}", why=str(missing))
                continue
            with _filled_core(url) as core:
                yield from _on_store(core, store)


@contextmanager
def _filled_core(url: str) -> Iterator[AnalyticsCore]:
    with AnalyticsCore(Settings(secret_key="a-key-of-the-benchmarks-71c3"), metadata_url=url) as host:
        first = host.create_first_administrator("admin", first_name="Ada")
        fill_many(host, charts=CHARTS, dashboards=DASHBOARDS)
        with engine_of(host).connect() as connection:
            connection.exec_driver_sql("ANALYZE")
            connection.commit()
        yield host.as_user(first.id)


def _on_store(admin: AnalyticsCore, store: str) -> Iterator[Ratio]:
    for who, core in (("administrator", admin), ("reader", _reader(admin))):
        for name, call in _lists(core).items():
            sample = _measured(admin, call)
            label = f"{name}, {who}: {store}"
            clock = f"{sample.own_ms:.1f} ms by the clock, {sample.total_ms:.1f} ms with the database"
            yield Ratio(name=f"page of 25 {label}", value=sample.cpu_ms, goal=LIST_GOAL_MS, unit="ms", note=clock)
            yield Ratio(name=f"statements of it: {label}", value=sample.statements, goal=STATEMENTS_GOAL, unit="")
    for name, call in _changes(admin).items():
        sample = _measured(admin, call)
        note = f"{sample.statements} statements, {sample.total_ms:.1f} ms with the database"
        yield Ratio(
            name=f"create and get a {name}: {store}", value=sample.cpu_ms, goal=CREATE_GOAL_MS, unit="ms", note=note
        )


def _reader(admin: AnalyticsCore) -> AnalyticsCore:
    """Return the core as somebody sees it who reads half of the datasets."""
    role = admin.roles.create({"name": "readers"})
    for dataset_id in range(2, 26, 2):
        admin.roles.grant(role, on=("dataset", dataset_id))
    admin.roles.grant(role, on=("schema", 1, "sales"))
    return admin.as_user(admin.users.create({"username": "reader", "roles": [role.id]}).id)


def _lists(core: AnalyticsCore) -> dict[str, Callable[[], Any]]:
    by_name = [{"col": "slice_name", "op": "contains", "val": "chart 0"}]
    by_title = [{"col": "dashboard_title", "op": "contains", "val": "dashboard 0"}]
    by_table = [{"col": "table_name", "op": "contains", "val": "table"}]
    return {
        "charts": lambda: core.charts.list(filters=by_name, order_by="-changed_on"),
        "charts, page 5": lambda: core.charts.list(filters=by_name, order_by="slice_name", page=4),
        "dashboards": lambda: core.dashboards.list(filters=by_title, order_by="-changed_on"),
        "datasets": lambda: core.datasets.list(filters=by_table, order_by="table_name"),
    }


def _changes(core: AnalyticsCore) -> dict[str, Callable[[], Any]]:
    numbers = count()

    def chart() -> Any:
        payload = {"slice_name": f"new {next(numbers)}", "datasource_id": 1, "datasource_type": "table", "params": "{}"}
        return core.charts.get(core.charts.create(payload).id)

    def dashboard() -> Any:
        return core.dashboards.get(core.dashboards.create({"dashboard_title": f"new {next(numbers)}"}).id)

    return {"chart": chart, "dashboard": dashboard}


def _measured(core: AnalyticsCore, call: Callable[[], Any]) -> Sample:
    samples = [_once(core, call) for _ in range(WARM_UP + ROUNDS)][WARM_UP:]
    return Sample(
        cpu_ms=statistics.median(sample.cpu_ms for sample in samples),
        own_ms=statistics.median(sample.own_ms for sample in samples),
        total_ms=statistics.median(sample.total_ms for sample in samples),
        statements=int(statistics.median(sample.statements for sample in samples)),
    )


def _once(core: AnalyticsCore, call: Callable[[], Any]) -> Sample:
    meter, engine = Meter(), engine_of(core)
    hooks = (("before_cursor_execute", meter.before), ("after_cursor_execute", meter.after))
    for name, hook in hooks:
        event.listen(engine, name, hook)
    try:
        cpu, wall = time.process_time(), time.perf_counter()
        call()
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    finally:
        for name, hook in hooks:
            event.remove(engine, name, hook)
    return Sample(
        cpu_ms=(cpu - meter.cpu_s) * 1000,
        own_ms=(wall - meter.wall_s) * 1000,
        total_ms=wall * 1000,
        statements=meter.statements,
    )
