"""Servers that hang, are stopped or killed: users' databases and metadata stores on PostgreSQL and MariaDB."""

from __future__ import annotations

import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

from tests.faults.tally import Tally
from tests.support.execution import MARIADB_ENDLESS, POSTGRES_ENDLESS, limits, target
from tests.support.servers import (
    MariadbServer,
    PostgresServer,
    PrivateServer,
    _start_detached,
    name_server_folder,
    start_watch,
)
from tests.support.shop import context, hosted_core, shop_url
from tests.support.stalling_proxy import stalling_proxy, through

from analytics_core import AnalyticsCore
from analytics_core._engine.execution.cancel import CancelToken
from analytics_core._engine.execution.reflection import Reflector
from analytics_core.errors import StoreUnavailableError


class DurablePostgres(PostgresServer):
    """A PostgreSQL that keeps what it acknowledged when it is killed."""

    @classmethod
    def command(cls, folder: Path, binaries: Mapping[str, str], port: int) -> Sequence[str]:
        return [*super().command(folder, binaries, port), "-c", "synchronous_commit=on"]


class DurableMariadb(MariadbServer):
    """A MariaDB that keeps what it acknowledged when it is killed."""

    @classmethod
    def command(cls, folder: Path, binaries: Mapping[str, str], port: int) -> Sequence[str]:
        return [*super().command(folder, binaries, port), "--innodb-flush-log-at-trx-commit=2"]


KINDS: dict[str, type[PrivateServer]] = {"postgresql": DurablePostgres, "mysql": DurableMariadb}
ENDLESS = {"postgresql": POSTGRES_ENDLESS, "mysql": MARIADB_ENDLESS}
LIMITS_S = (1.0, 3.0)
STORE_LIMIT_S = 2.0
ROUNDS = 3


@contextmanager
def own_server(kind: str) -> Iterator[PrivateServer]:
    """Give a server that this scenario alone uses; what it acknowledges survives its own end, not the machine's."""
    folder = name_server_folder()
    start_watch(folder)
    server = KINDS[kind].start(folder / KINDS[kind].name)
    try:
        yield server
    finally:
        for number in (signal.SIGCONT, server.stop_signal):
            _signal(server, number)
        server.stop()
        shutil.rmtree(folder)


def hung_databases(kind: str) -> Tally:
    """Ask a database behind a proxy that stops forwarding: on new, pooled and busy connections, and by reflection."""
    tally = Tally(name=f"hung {kind}: statements, reflection, cancel")
    with own_server(kind) as server, stalling_proxy(server.port) as proxy:
        url = through(server.make_database(), proxy)  # type: ignore[attr-defined]
        for limit_s in LIMITS_S:
            with target(url, engine=kind, statement_timeout_s=limit_s) as shop:
                ask = _asking(shop, limit_s)
                reflector = Reflector(shop.connector, timeout_s=limit_s)
                for _ in range(ROUNDS):
                    proxy.resume()
                    shop.rows("SELECT 1", limits=limits(timeout_s=20))
                    proxy.stall()
                    tally.attempt(ask, limit_s=limit_s)
                    tally.attempt(lambda: reflector.tables(shop.admission), limit_s=limit_s)  # noqa: B023
                    proxy.resume()
                    shop.rows("SELECT 1", limits=limits(timeout_s=20))
                    threading.Timer(0.3, proxy.stall).start()
                    tally.attempt(lambda: shop.run(ENDLESS[kind], limits=limits(timeout_s=limit_s)), limit_s=limit_s)  # noqa: B023
                    token = CancelToken()
                    threading.Timer(0.2, token.cancel).start()
                    endless = limits(timeout_s=60)
                    tally.attempt(lambda: shop.run(ENDLESS[kind], limits=endless, cancel=token), limit_s=0.2)  # noqa: B023
                proxy.resume()
                tally.require(shop.rows("SELECT 1", limits=limits(timeout_s=20)) == [(1,)], "it is not asked again")
    return tally


def stopped_and_killed_databases(kind: str) -> Tally:
    """Ask a database whose server is stopped (SIGSTOP), goes on, and is killed (SIGKILL) and started again."""
    tally = Tally(name=f"stopped and killed {kind}: statements")
    limit_s = LIMITS_S[0]
    with own_server(kind) as server, target(_url(server), engine=kind, statement_timeout_s=limit_s) as shop:
        ask = _asking(shop, limit_s)
        for _ in range(ROUNDS):
            tally.require(shop.rows("SELECT 1", limits=limits(timeout_s=20)) == [(1,)], "it is not asked again")
            _signal(server, signal.SIGSTOP)
            tally.attempt(ask, limit_s=limit_s)
            _signal(server, signal.SIGCONT)
            threading.Timer(0.3, _signal, (server, signal.SIGKILL)).start()
            tally.attempt(lambda: shop.run(ENDLESS[kind], limits=limits(timeout_s=limit_s)), limit_s=limit_s)
            tally.attempt(ask, limit_s=limit_s)
            _restart(server)
    return tally


def stores(kind: str, folder: Path) -> Tally:
    """Write into a store whose server hangs, is stopped and killed; what was acknowledged must be there in the end."""
    tally = Tally(name=f"hung, stopped and killed store on {kind}")
    with own_server(kind) as server, stalling_proxy(server.port) as proxy:
        url = server.make_database()  # type: ignore[attr-defined]
        settings = {"store_timeout_s": STORE_LIMIT_S, "metadata_freshness_s": 0}
        with hosted_core(shop_url(folder), metadata_url=through(url, proxy), settings=settings) as host:
            core, acknowledged = host.as_user("admin"), set[str]()
            for fault, mend in _faults(server, proxy):
                for _ in range(ROUNDS):
                    threading.Timer(0.3, fault).start()
                    end = time.monotonic() + 1.0
                    while time.monotonic() < end:
                        tally.attempt(_writing(core, acknowledged), limit_s=STORE_LIMIT_S)
                    tally.attempt(partial(_read, core), limit_s=STORE_LIMIT_S)
                    mend()
                    core = _again(host)
            stored = {tag.name for tag in _all_tags(core)}
            lost = acknowledged - stored
            tally.require(not lost, f"{len(lost)} of {len(acknowledged)} acknowledged writes are lost")
            acts = core.logs.list([{"col": "action", "op": "eq", "val": "tag.create"}], page_size=1).count
            tally.require(acts == len(stored), f"{len(stored)} tags are stored, but {acts} are in the log")
    return tally


def _faults(server: PrivateServer, proxy: Any) -> Iterator[tuple[Callable[[], None], Callable[[], None]]]:
    yield proxy.stall, proxy.resume
    yield lambda: _signal(server, signal.SIGSTOP), lambda: _signal(server, signal.SIGCONT)
    yield lambda: _signal(server, signal.SIGKILL), lambda: _restart(server)


def _writing(core: AnalyticsCore, acknowledged: set[str]) -> Callable[[], None]:
    def write() -> None:
        name = uuid4().hex
        core.tags.create({"name": name})
        acknowledged.add(name)

    return write


def _read(core: AnalyticsCore) -> Any:
    return core.datasets.get(1)


def _again(host: AnalyticsCore) -> AnalyticsCore:
    """Return the administrator's core once the store answers again."""
    end = time.monotonic() + 30
    while True:
        try:
            return host.as_user("admin")
        except StoreUnavailableError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


def _all_tags(core: AnalyticsCore) -> Iterator[Any]:
    page = 0
    while found := core.tags.list(page=page, page_size=1_000).result:
        yield from found
        page += 1


def jobs(folder: Path) -> Tally:
    """Submit jobs to a database that hangs; those on another one are answered meanwhile."""
    tally = Tally(name="jobs beside a hung database")
    with own_server("postgresql") as server, stalling_proxy(server.port) as proxy:
        settings = {"job_workers": 2, "statement_timeout_s": 3.0}
        with hosted_core(shop_url(folder), settings=settings) as host:
            core = host.as_user("admin")
            url = through(server.make_database(), proxy)  # type: ignore[attr-defined]
            other = core.databases.create({"database_name": "behind", "orm_uri": url})
            hangs = core.datasets.create({"database": other.id, "table_name": "v", "sql": "SELECT 1 AS one"})
            core.charts.data(context({"metrics": ["count"]})).raise_for_error()
            proxy.stall()
            waiting = [core.charts.submit(context({"columns": ["one"]}, dataset=hangs.id)) for _ in range(5)]
            for _ in range(10):
                job = core.charts.submit(context({"metrics": ["count"]}), force=True)
                tally.attempt(lambda: job.result(timeout_s=3).raise_for_error(), limit_s=1.0)  # noqa: B023
            tally.require(tally.answered == 10, "jobs on a healthy database wait")
            for job in waiting:
                job.cancel()
    return tally


def _asking(shop: Any, limit_s: float) -> Callable[[], Any]:
    return lambda: shop.run("SELECT 1", limits=limits(timeout_s=limit_s))


def _url(server: PrivateServer) -> str:
    made: str = server.make_database()  # type: ignore[attr-defined]
    return made


def _signal(server: PrivateServer, number: int) -> None:
    """Send a signal to the server that we started, and to the processes that it started."""
    for pid in (server.pid, *_children(server.pid)):
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue


def _children(pid: int) -> list[int]:
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        return [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except OSError:
        return []


def restart(server: PrivateServer) -> None:
    """Kill the server that we started, and start it again."""
    _signal(server, signal.SIGKILL)
    _restart(server)


def _restart(server: PrivateServer) -> None:
    binaries = server.find_binaries()
    (server.folder / "data" / "postmaster.pid").unlink(missing_ok=True)
    end = time.monotonic() + 30
    while True:
        server.pid = _start_detached(server.command(server.folder, binaries, server.port), folder=server.folder)
        try:
            server.wait_until_ready()
        except RuntimeError:
            if time.monotonic() > end:
                raise
            time.sleep(0.5)
        else:
            return
