"""Faults inside one process: caches, forks, Ctrl-C, a full disk, a clock that is put back."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

from tests.faults.tally import Tally
from tests.support.faulty_caches import BrokenCache, HangingCache
from tests.support.shop import KEY, NOW, add_reader, context, hosted_core, shop_url

from analytics_core import AnalyticsCore, Settings
from analytics_core.errors import ActorRequiredError, AnalyticsError
from analytics_core.testing.clock import FixedClock

COUNT: dict[str, Any] = context({"metrics": ["count"]})
CACHE_LIMIT_S = 0.3
INTERRUPTED = Path(__file__).parents[1] / "support" / "interrupted_process.py"
PLACES, ROUNDS, CHILDREN, ASKING = 400, 100, 20, 30


def caches(folder: Path) -> Tally:
    """Ask charts while the cache raises or hangs; each has an answer."""
    tally = Tally(name="cache that raises or hangs")
    with hosted_core(shop_url(folder)) as host:  # loads what is loaded once in a process
        host.as_user("admin").charts.data(COUNT).raise_for_error()
    for kind in (BrokenCache, HangingCache):
        with hosted_core(shop_url(_made(folder / kind.__name__)), cache=kind()) as host:
            core = host.as_user("admin")
            for _ in range(ASKING):
                tally.attempt(lambda: core.charts.data(COUNT).raise_for_error(), limit_s=CACHE_LIMIT_S)  # noqa: B023
    tally.require(tally.rejected == 0, "a chart needs its cache")
    return tally


def forks(folder: Path) -> Tally:
    """Ask and write in forked children and their parent; nobody hangs, nothing is lost."""
    tally = Tally(name="forked children")
    for engine in ("sqlite", "duckdb"):
        with _core_in(folder / engine, engine) as host:

            def use(host: AnalyticsCore = host) -> None:
                core = host.as_user("admin")
                core.charts.data(COUNT, force=True).raise_for_error()
                core.tags.create({"name": uuid4().hex})

            use()
            for _ in range(CHILDREN):
                tally.attempt(lambda: _in_child(use), limit_s=20.0)
                tally.attempt(use, limit_s=20.0)
            tally.require(host.as_user("admin").tags.list().count == 1 + 2 * CHILDREN, "a tag of a child is lost")
    return tally


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _core_in(folder: Path, engine: str = "sqlite") -> AnalyticsCore:
    """Return a core whose shop and metadata are files in a new folder."""
    return hosted_core(shop_url(_made(folder), engine), metadata_url=f"sqlite:///{folder}/meta.db")


def _in_child(work: Callable[[], None]) -> None:
    child = os.fork()
    if not child:
        signal.alarm(20)
        try:
            work()
        except BaseException:
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if status:
        raise RuntimeError(f"a child ended with status {status}")


def interrupts(folder: Path) -> Tally:
    """Press Ctrl-C all over a write, and at random moments of queries."""
    tally = Tally(name="Ctrl-C")
    written = _interrupted("everywhere", folder / "write", "sqlite", PLACES)
    tally.require(not written["locked"], f"{written['locked']} interrupts left the store locked")
    tally.require(not written["lost"], f"{written['lost']} acknowledged writes lost")
    for engine in ("sqlite", "duckdb"):
        requested = _interrupted("query", folder / engine, engine, ROUNDS)
        tally.require(not requested["other"], f"{requested['other']} interrupts were no KeyboardInterrupt")
        tally.require(not requested["failed"], f"{requested['failed']} questions failed afterwards")
    tally.tries += PLACES + 2 * ROUNDS
    return tally


def _interrupted(kind: str, folder: Path, engine: str, rounds: int) -> dict[str, int]:
    command = [sys.executable, str(INTERRUPTED), kind, str(_made(folder)), engine, str(rounds)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=True)
    counted: dict[str, int] = json.loads(done.stdout)
    return counted


def full_disk(folder: Path) -> Tally:
    """Write into a store that may not grow: by a limit of the process on files, and by SQLite's own on pages."""
    tally = Tally(name="full disk")
    for kind in ("RLIMIT_FSIZE", "max_page_count"):
        with _core_in(folder / kind) as host:
            core, acknowledged = host.as_user("admin"), set[str]()
            mend = _fill(kind, host, folder / kind)
            try:
                for _ in range(100):
                    tally.attempt(lambda: _write(core, acknowledged), limit_s=20.0)  # noqa: B023
            finally:
                mend()
            tally.require(tally.rejected, "the disk never was full")
            for _ in range(3):
                _write(core, acknowledged)
            stored = {d.dashboard_title: d for d in core.dashboards.list(page_size=1_000).result}
            tally.require(stored.keys() == acknowledged, "what is stored is not what was acknowledged")
            acts = core.logs.list([{"col": "action", "op": "eq", "val": "dashboard.create"}], page_size=1_000).count
            tally.require(acts == len(acknowledged), "a write and its log entry do not agree")
    return tally


def _write(core: AnalyticsCore, acknowledged: set[str]) -> None:
    title = uuid4().hex
    core.dashboards.create({"dashboard_title": title, "css": "/* large */" * 2_000})
    acknowledged.add(title)


def _fill(kind: str, host: AnalyticsCore, place: Path) -> Callable[[], None]:
    """Let the store's files grow by a little more, and return what lifts the limit."""
    store = host._runtime.content.store
    if kind == "RLIMIT_FSIZE":
        former = resource.getrlimit(resource.RLIMIT_FSIZE)
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        most = max(file.stat().st_size for file in place.glob("meta.db*")) + 500_000
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, former[1]))
        return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, former)

    def pages(count: int) -> None:
        with store._engine.connect() as connection:
            connection.exec_driver_sql(f"PRAGMA max_page_count = {count}")

    with store._engine.connect() as connection:
        now = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
    pages(int(now) + 100)
    return lambda: pages(1_000_000)


def clock_put_back(folder: Path) -> Tally:
    """Deactivate somebody in another process and put the clock back; their time is over all the same."""
    tally, clock, store = Tally(name="clock put back"), FixedClock(NOW), f"sqlite:///{folder}/meta.db"
    with hosted_core(shop_url(folder), metadata_url=store, clock=clock) as host:
        reader = add_reader(host, "reader")
        tally.attempt(lambda: reader.charts.data(COUNT).raise_for_error(), limit_s=20.0)
        with AnalyticsCore(Settings(secret_key=KEY), metadata_url=store) as other:
            other.as_user("admin").users.update(2, {"active": False})
        clock.advance(timedelta(hours=-1))
        clock.advance(timedelta(seconds=2))
        tally.require(_is_refused(reader), "a deactivated person is answered")
    return tally


def _is_refused(core: AnalyticsCore) -> bool:
    try:
        core.charts.data(COUNT)
    except ActorRequiredError:
        return True
    except AnalyticsError:
        return False
    return False
