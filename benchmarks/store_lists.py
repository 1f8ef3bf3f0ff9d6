"""What lists, and creating and reading one record, cost in our own code on a store with many records.

Our own time is the processor time of this process without the driver's. For a list the driver's is that of the same
statements run on a bare connection, all rows fetched; for a change, which cannot be run twice, that of its calls to
execute, commit and ping, without fetching. Reading who acts is part of a change, not of a list. Of many rounds the
lower quartile counts: a busy machine only adds.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, event
from tests.support.many_records import TRANSACTION_CONTROL, engine_of, fill_many
from tests.support.servers import ServerMissingError, private_servers

from analytics_core import AnalyticsCore, Settings
from benchmarks.report import Ratio, Unmeasured

CHARTS, DASHBOARDS = 10_000, 1_000
ROUNDS, WARM_UP = 40, 5
LIST_GOAL_MS, STATEMENTS_GOAL, CREATE_GOAL_MS = 10, 4, 5
STORES = ("sqlite", "postgres")
DRIVER_CALLS = ("do_execute", "do_executemany", "do_commit", "do_rollback", "do_ping")


@dataclass(slots=True)
class Meter:
    """The statements of a call, and the seconds of processor time that the driver took for them and for commits."""

    statements: list[tuple[str, Any]] = field(default_factory=list)
    cpu_s: float = 0.0

    @contextmanager
    def listening(self, engine: Engine) -> Iterator[None]:
        """Listen to one engine."""
        for name in DRIVER_CALLS:
            setattr(engine.dialect, name, self._timed(getattr(engine.dialect, name)))
        event.listen(engine, "before_cursor_execute", self._note)
        try:
            yield
        finally:
            event.remove(engine, "before_cursor_execute", self._note)
            for name in DRIVER_CALLS:
                delattr(engine.dialect, name)

    def _note(self, _connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        if not TRANSACTION_CONTROL.match(statement):
            self.statements.append((statement, parameters))

    def _timed(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*arguments: Any, **options: Any) -> Any:
            began = time.process_time()
            try:
                return call(*arguments, **options)
            finally:
                self.cpu_s += time.process_time() - began

        return timed


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One call: milliseconds of our own processor time, and by the clock with the database; its statements."""

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
            sample = _measured(admin, call, again=True)
            label = f"{name}, {who}: {store}"
            clock = f"{sample.total_ms:.1f} ms by the clock with the database"
            yield Ratio(name=f"page of 25 {label}", value=sample.own_ms, goal=LIST_GOAL_MS, unit="ms", note=clock)
            yield Ratio(name=f"statements of it: {label}", value=sample.statements, goal=STATEMENTS_GOAL, unit="")
    for name, call in _changes(admin).items():
        sample = _measured(admin, call, again=False)
        note = f"{sample.statements} statements, {sample.total_ms:.1f} ms by the clock with the database"
        label = f"create and get a {name}: {store}"
        yield Ratio(name=label, value=sample.own_ms, goal=CREATE_GOAL_MS, unit="ms", note=note)


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
    charts, dashboards, datasets = core.charts, core.dashboards, core.datasets
    return {
        "charts": lambda: charts.list(filters=by_name, order_by="-changed_on"),
        "charts, page 5": lambda: charts.list(filters=by_name, order_by="slice_name", page=4),
        "dashboards": lambda: dashboards.list(filters=by_title, order_by="-changed_on"),
        "datasets": lambda: datasets.list(filters=by_table, order_by="table_name"),
    }


def _changes(core: AnalyticsCore) -> dict[str, Callable[[], Any]]:
    numbers = count()

    def chart() -> Any:
        payload = {"slice_name": f"new {next(numbers)}", "datasource_id": 1, "datasource_type": "table", "params": "{}"}
        return core.charts.get(core.charts.create(payload).id)

    def dashboard() -> Any:
        return core.dashboards.get(core.dashboards.create({"dashboard_title": f"new {next(numbers)}"}).id)

    return {"chart": chart, "dashboard": dashboard}


def _measured(core: AnalyticsCore, call: Callable[[], Any], *, again: bool) -> Sample:
    samples = [_once(core, call, again=again) for _ in range(WARM_UP + ROUNDS)][WARM_UP:]
    return Sample(
        own_ms=_quartile(sample.own_ms for sample in samples),
        total_ms=_quartile(sample.total_ms for sample in samples),
        statements=max(sample.statements for sample in samples),
    )


def _quartile(values: Iterable[float]) -> float:
    return statistics.quantiles(values, n=4)[0]


def _once(core: AnalyticsCore, call: Callable[[], Any], *, again: bool) -> Sample:
    """Run a call once; `again` takes the driver's time from running its statements another time."""
    meter, engine = Meter(), engine_of(core)
    with meter.listening(engine):
        cpu, wall = time.process_time(), time.perf_counter()
        call()
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    drivers = _bare_cpu_s(engine, meter.statements) if again else meter.cpu_s
    return Sample(own_ms=(cpu - drivers) * 1000, total_ms=wall * 1000, statements=len(meter.statements))


def _bare_cpu_s(engine: Engine, statements: Iterable[tuple[str, Any]]) -> float:
    """Return the processor time that the bare driver needs for statements that read."""
    connection = engine.raw_connection()
    try:
        cursor, before = connection.cursor(), time.process_time()
        for statement, parameters in statements:
            cursor.execute(statement, parameters)
            cursor.fetchall()
        return time.process_time() - before
    finally:
        connection.close()
