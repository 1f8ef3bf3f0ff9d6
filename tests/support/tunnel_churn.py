"""Many connections come and go through a tunnel that is cut again and again; nothing of it may stay."""

from __future__ import annotations

import itertools
import json
import os
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import sqlalchemy as sa
from tests.support.small_core import small_core
from tests.support.ssh_server import OpensshServer

from analytics_core import AnalyticsCore
from analytics_core._engine.execution.cancel import Stopper
from analytics_core._engine.execution.connections import Admission, Connections
from analytics_core._engine.execution.sessions.base import Session
from analytics_core.errors import AnalyticsError

CONNECTIONS = 100
CUT_EVERY_S = 5.0
LIMIT_S = 20.0
_GONE_S = 20.0


@dataclass
class Churned:
    """What became of the queries, and what was left over when all was closed."""

    answered: int = 0
    cuts: int = 0
    typed: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    residue: list[str] = field(default_factory=list)


def churn(folder: Path, sshd: OpensshServer, url: str, *, seconds: float) -> Churned:
    """Have 100 threads query through new connections for so many seconds, while the tunnel is cut every 5 s."""
    churned = Churned()
    threads, files = _threads(), _files()
    with small_core(folder, allowed_networks=("127.0.0.0/8",)) as shop:
        extra = json.dumps({"engine_params": {"pool_size": CONNECTIONS}})
        made = shop.core.databases.create(
            {"database_name": "behind", "orm_uri": url, "ssh_tunnel": sshd.tunnel(), "extra": extra}
        )
        _query_and_cut(shop.core, made.id, sshd, churned, seconds)
    deadline = time.monotonic() + _GONE_S
    while time.monotonic() < deadline and (_threads() - threads or len(_files()) > len(files) or sshd.sessions()):
        time.sleep(0.1)
    churned.residue = [*sorted(_threads() - threads), *_files()[len(files) :], *map(str, sshd.sessions())]
    return churned


def _query_and_cut(core: AnalyticsCore, number: int, sshd: OpensshServer, churned: Churned, seconds: float) -> None:
    with core._runtime.content.store.unit_of_work() as unit:
        database = unit.databases.get(number)
    spec = core._runtime.engine.registry.get(database.engine)
    admission = Admission(actor=core.databases._actor, database=database, spec=spec, identity=None, may_know_why=True)
    connections = Connections(core._runtime.parts.connector)
    end, turns, guard = time.monotonic() + seconds, itertools.count(), threading.Lock()

    def work() -> None:
        while time.monotonic() < end:
            outcome = _answer(connections, admission, next(turns))
            with guard:
                _count(churned, outcome)

    workers = [threading.Thread(target=work, name=f"churn {place}") for place in range(CONNECTIONS)]
    for worker in workers:
        worker.start()
    while time.monotonic() < end:
        time.sleep(min(CUT_EVERY_S, max(end - time.monotonic(), 0.01)))
        churned.cuts += sshd.cut()
    for worker in workers:
        worker.join()
    connections.calls.close()


def _answer(connections: Connections, admission: Admission, turn: int) -> AnalyticsError | str | None:
    """Return None for the right answer, a typed error, or what else came."""

    def query(connection: sa.Connection, _session: Session, _stopper: Stopper, _remaining_s: float) -> int:
        found = int(connection.exec_driver_sql(f"SELECT {turn} + 1").scalar_one())
        connection.invalidate()  # the next one is new
        return found

    try:
        found = connections.use(admission, query, timeout_s=LIMIT_S)
    except AnalyticsError as error:
        return error
    except Exception as error:  # told: it is neither an answer nor typed
        return f"{type(error).__name__}: {error}"
    return None if found == turn + 1 else f"{found} in place of {turn + 1}"


def _count(churned: Churned, outcome: AnalyticsError | str | None) -> None:
    if outcome is None:
        churned.answered += 1
    elif isinstance(outcome, AnalyticsError):
        churned.typed[str(outcome.error_type)] += 1
    else:
        churned.wrong.append(outcome)


def _threads() -> set[str]:
    return {f"{thread.name} {thread.ident}" for thread in threading.enumerate()}


def _files() -> list[str]:
    """Return what is open, the sockets last."""
    links = []
    for number in os.listdir("/proc/self/fd"):
        try:
            links.append(os.readlink(f"/proc/self/fd/{number}"))
        except OSError:  # the folder's own, closed by now
            continue
    return sorted(links)
