"""How long roads are: the library's own frames that calls enter, and what they ask of the store, whatever the machine.

A frame is a call of a Python function of the library, or one more turn of its generators, in any thread. A carrier is a
record (a dataclass of the library) that is an argument of a function between `Charts.data` and the driver, when the
user's database is read. Of pictures, dashboards, reports and the reading of a chart the frames of the calling thread
count, with the statements and transactions of a store in a file, which is believed for a second.
"""

from __future__ import annotations

import dataclasses
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from types import FrameType
from typing import Any

from tests.support.reports import HOUR, filtered_dashboard, report_world
from tests.support.steps import work_of

import analytics_core
from analytics_core._tools.bounded_calls import BoundedCalls
from analytics_core.testing import InlineJobRunner
from analytics_core.testing.sample_data import make_shop
from benchmarks.report import Ratio

_LIBRARY = str(Path(analytics_core.__file__).parent)
_REVENUE = {"expressionType": "SIMPLE", "aggregate": "SUM", "column": {"column_name": "amount"}, "label": "revenue"}
_QUERY = {"columns": ["category"], "metrics": [_REVENUE], "orderby": [["revenue", False]]}
_READS = frozenset({"execute", "fetchone", "fetchmany", "fetchall"})
_GOALS = (
    ("the store is read anew, the database asked", 0.0, True, 400),
    ("the store is believed, the database asked", 3_600.0, True, 250),
    ("the answer is cached", 3_600.0, False, 80),
)
_ROADS = (("a picture", 800), ("a dashboard", 400), ("charts.get", 120), ("a report run", 1_500))
_MOST_STATEMENTS = {"charts.get": (4, 1), "a report run": (40, 6)}
_DEEPEST = 11
_MOST_CARRIERS = 8


def compare() -> Iterator[Ratio]:
    """Count the frames of README's payload, how deep the driver stands below `Charts.data`, and the carriers."""
    with tempfile.TemporaryDirectory() as folder:
        url = make_shop(Path(folder) / "shop.db")
        deepest, carriers = 0, 0
        for name, freshness_s, is_forced, goal in _GOALS:
            counted = _counted(url, freshness_s, is_forced=is_forced)
            deepest, carriers = max(deepest, counted.deepest), max(carriers, len(counted.carriers))
            yield Ratio(name=f"frames: {name}", value=counted.frames, goal=goal, unit="")
        yield Ratio(name="frames: between charts.data and the driver", value=deepest, goal=_DEEPEST, unit="")
        yield Ratio(name="carriers: between charts.data and the driver", value=carriers, goal=_MOST_CARRIERS, unit="")
    yield from _of_roads()


def _of_roads() -> Iterator[Ratio]:
    """Count what calls with a store in a file cost, once all that they need is made and loaded."""
    with tempfile.TemporaryDirectory() as name:
        folder, believed = Path(name), {"metadata_freshness_s": 1}
        url = f"sqlite:///{folder / 'meta.db'}"
        with report_world(folder, jobs=InlineJobRunner(), url=url, settings=believed) as world:
            board = filtered_dashboard(world.admin)
            charts, dashboards = world.admin.charts, world.admin.dashboards
            calls: tuple[Callable[[], object], ...] = (
                lambda: charts.picture(1),
                lambda: dashboards.data(board),
                lambda: charts.get(1),
                world.host.scheduler.tick,
            )
            world.report()
            world.host._runtime.content.job_registry._heartbeat.hold()  # a process without jobs renews its lease first
            for (road, goal), call in zip(_ROADS, calls, strict=True):
                for _ in range(3):
                    world.clock.advance(HOUR if road == "a report run" else timedelta())
                    work = work_of(world.host, call)
                yield Ratio(name=f"frames: {road}", value=work.frames, goal=goal, unit="")
                if road in _MOST_STATEMENTS:
                    statements, transactions = _MOST_STATEMENTS[road]
                    yield Ratio(name=f"statements: {road}", value=len(work.statements), goal=statements, unit="")
                    yield Ratio(name=f"transactions: {road}", value=work.transactions, goal=transactions, unit="")


class _Counter:
    """Counts frames of the library while it is switched on, and what stands on them where the user's database is read.

    That is `deepest`, how many frames of the library there are, and `carriers`, the records that they were given. The
    work goes on in another thread: what stands above the handover counts too.
    """

    def __init__(self) -> None:
        self.is_on = False
        self.frames = 0
        self.handover = 0
        self.deepest = 0
        self.handed: frozenset[type] = frozenset()
        self.carriers: frozenset[type] = frozenset()

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        if not self.is_on:
            return
        if event == "call":
            self.frames += frame.f_code.co_filename.startswith(_LIBRARY)
            if frame.f_code is BoundedCalls.start.__code__:
                self.handover, self.handed = _depth(frame), _records_on(frame)
        elif event == "c_call" and getattr(argument, "__name__", "") in _READS:
            depth = _depth(frame)
            self.deepest = max(self.deepest, self.handover + depth)
            self.carriers |= self.handed | _records_on(frame) if depth else frozenset()


def _depth(frame: FrameType | None) -> int:
    """Return how many frames of the library the user's database stands below in this thread; 0: another is read."""
    depth, is_of_user = 0, False
    while frame is not None:
        name = frame.f_code.co_filename
        depth += name.startswith(_LIBRARY)
        is_of_user = is_of_user or "execution" in name
        frame = frame.f_back
    return depth if is_of_user else 0


def _records_on(frame: FrameType | None) -> frozenset[type]:
    """Return the types of the records that the library's functions below a frame were given, or hold from outside."""
    found: set[type] = set()
    while frame is not None:
        code = frame.f_code
        if code.co_filename.startswith(_LIBRARY):
            given = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount] + code.co_freevars
            found.update(type(frame.f_locals.get(name)) for name in given)
        frame = frame.f_back
    return frozenset(filter(dataclasses.is_dataclass, found))


def _counted(url: str, freshness_s: float, *, is_forced: bool) -> _Counter:
    counter = _Counter()
    _profile(counter)
    try:
        with analytics_core.connect(url, metadata_freshness_s=freshness_s) as core:
            orders = core.datasets.create({"database": 1, "table_name": "orders"})
            payload = {"datasource": {"id": orders.id, "type": "table"}, "queries": [_QUERY]}
            charts = core.charts
            for _ in range(2):
                charts.data(payload, force=is_forced)
            counter.is_on = True
            charts.data(payload, force=is_forced)
            counter.is_on = False
    finally:
        _profile(None)
    return counter


def _profile(counter: Callable[[FrameType, str, Any], None] | None) -> None:
    threading.setprofile(counter)
    sys.setprofile(counter)
