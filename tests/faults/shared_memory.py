"""A Redis server that fails while many threads of several cores ask: no answer is wrong, late by 0.3 s, or lost."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count, cycle, islice
from pathlib import Path
from typing import Any

from tests.faults.tally import Tally
from tests.support.redis_server import RedisServer, redis_server
from tests.support.sharing_process import Costs
from tests.support.shop import KEY, context, hosted_core, shop_url

from analytics_core import AnalyticsCore, Settings
from analytics_core.redis import RedisCache, RedisLock

LATE_MS = 300.0
CORES, THREADS, ASKING = 3, 2, 60

Fault = Callable[[RedisServer], object]
FAULTS: dict[str, tuple[Fault, Fault]] = {
    "killed": (RedisServer.kill, RedisServer.start),
    "hanging": (RedisServer.hang, RedisServer.go_on),
    "full": (
        lambda server: server.ask("CONFIG", "SET", "maxmemory", "1"),
        lambda server: server.ask("CONFIG", "SET", "maxmemory", "0"),
    ),
    "emptied": (lambda server: server.ask("FLUSHALL"), lambda server: server.ask("FLUSHALL")),
    "a replica": (
        lambda server: server.ask("REPLICAOF", "127.0.0.1", "1"),
        lambda server: server.ask("REPLICAOF", "NO", "ONE"),
    ),
    "busy": (
        lambda server: server.ask("CLIENT", "PAUSE", 700, "ALL"),
        lambda server: server.ask("CLIENT", "UNPAUSE"),
    ),
}


def shared_memory(folder: Path) -> Tally:
    """Ask new and known questions from several cores while the server fails and comes back."""
    tally = Tally(name="shared memory on Redis")
    limits = count(1)
    with redis_server(folder / "redis") as server:
        costs = [Costs() for _ in range(CORES)]
        cores = list(_cores(folder, server, costs))
        try:
            for _ in range(2):  # the first round loads what is loaded once
                _ask_meanwhile(cores, limits, tally, lambda: None, "none")
            gc.disable()  # a collection of all that is loaded takes as long as what is measured
            usual_ms = max(ms for cost in costs for ms in cost.own_ms[ASKING // CORES :])
            for cost in costs:
                cost.own_ms.clear()
            for name, (begin, end) in FAULTS.items():
                for change in (begin, end):
                    _ask_meanwhile(cores, limits, tally, lambda change=change: change(server), name)
        finally:
            gc.enable()
            server.go_on()
            for core in cores:
                core.close()
    own_ms = [ms for cost in costs for ms in cost.own_ms]
    late = [ms for ms in own_ms if ms > usual_ms + LATE_MS]
    tally.require(not late, f"{len(late)} answers were late, the latest by {max(late, default=0) - usual_ms:.0f} ms")
    tally.require(tally.rejected == 0, "a chart needs its Redis")
    return tally


def _cores(folder: Path, server: RedisServer, costs: list[Costs]) -> Iterator[AnalyticsCore]:
    """Yield cores of one store, as processes would have them."""
    url, store = shop_url(folder), f"sqlite:///{folder}/meta.db"
    hosted_core(url, metadata_url=store).close()
    settings = Settings(secret_key=KEY, data_roots=(folder,))
    for cost in costs:
        parts: dict[str, Any] = {"cache": RedisCache(server.url), "lock": RedisLock(server.url), "observer": cost}
        yield AnalyticsCore(settings, metadata_url=store, **parts)


def _ask_meanwhile(
    cores: list[AnalyticsCore], limits: Iterator[int], tally: Tally, change: Callable[[], object], name: str
) -> None:
    """Ask each core new questions of its own, whose answers wait for no other core, and change the server meanwhile."""
    questions = list(zip(cycle(cores), islice(limits, ASKING), strict=False))
    with ThreadPoolExecutor(CORES * THREADS) as pool:
        answers = [
            pool.submit(tally.attempt, lambda core=core, limit=limit: _rows(core, limit), limit_s=10.0)
            for core, limit in questions
        ]
        answers[ASKING // 2].result()
        change()
        found = [answer.result() for answer in answers]
    tally.require(found == [limit for _, limit in questions], f"{name}: an answer is wrong or lost")


def _rows(host: AnalyticsCore, limit: int) -> int:
    """Return how many rows a question has that is limited to so many."""
    query = {"columns": ["id"], "metrics": [], "row_limit": limit}
    data = host.as_user("admin").charts.data(context(query))
    data.raise_for_error()
    return len(data.results[0].rows())
