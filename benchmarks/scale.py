"""What processes and threads carry on one PostgreSQL store and one Redis, and what a store of millions costs beside.

    python -m benchmarks.scale [--seconds 5] [--simulate]

Each process is a core of its own, as a web worker is; its threads ask one chart of 100 rows over and over. The database
that is asked is an SQLite file, so that no third server is in the figures. Requests per second of a processor count the
workers' own; p50 and p99, by the clock, mean something on a quiet machine with a core for each thread.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sqlite3
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
from tests.support.many_records import statements_of
from tests.support.redis_server import RedisServer, redis_server
from tests.support.servers import ServerMissingError, private_servers

from analytics_core import AnalyticsCore, Settings
from analytics_core.redis import RedisCache, RedisLock
from analytics_core.testing.sample_data import make_shop
from benchmarks import simulation
from benchmarks.report import Ratio, Unmeasured

KEY = "a-key-of-this-benchmark-71d0c4"
PROCESSES, THREADS = (1, 2, 4), (1, 4)
_ROWS = "SELECT id, order_date, country, amount FROM orders ORDER BY id LIMIT 100"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where all processes find what they share."""

    store: str
    redis: str
    shop: str
    seconds: float

    def core(self) -> AnalyticsCore:
        """Return a core as a worker has it; a record of the store is believed for a minute."""
        settings = Settings(secret_key=KEY, data_roots=(Path(self.shop).parent,), metadata_freshness_s=60)
        cache, lock = RedisCache(self.redis), RedisLock(self.redis)
        return AnalyticsCore(settings, metadata_url=self.store, cache=cache, lock=lock)

    def bare(self) -> Callable[[], object]:
        """Return what fetches the rows and writes them as JSON without the library, on a connection of its thread."""
        connections = threading.local()

        def ask() -> bytes:
            if not hasattr(connections, "opened"):
                connections.opened = sqlite3.connect(self.shop)
            cursor = connections.opened.execute(_ROWS)
            names = [column[0] for column in cursor.description]
            return orjson.dumps([dict(zip(names, row, strict=True)) for row in cursor.fetchall()])

        return ask


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What one process did: requests, seconds of its processor time, and how long each request took."""

    requests: int
    cpu_s: float
    taken_s: list[float]


QUESTION = {
    "datasource": {"id": 1, "type": "table"},
    "queries": [{"columns": ["id", "order_date", "country", "amount"], "orderby": [["id", True]], "row_limit": 100}],
}


def asking(core: AnalyticsCore, *, is_cached: bool) -> Callable[[], object]:
    """Return what asks the chart and writes its answer as JSON, from the cache or from the database."""
    admin = core.as_user("admin")
    return lambda: admin.charts.data(QUESTION, force=not is_cached).raise_for_error().to_json()


def load_of(ask: Callable[[], object], *, threads: int, seconds: float) -> Load:
    """Ask in threads for some seconds."""
    taken: list[list[float]] = [[] for _ in range(threads)]
    ask()
    began = time.perf_counter()
    cpu = time.process_time()

    def work(own: list[float]) -> None:
        while (before := time.perf_counter()) - began < seconds:
            ask()
            own.append(time.perf_counter() - before)

    workers = [threading.Thread(target=work, args=(own,)) for own in taken]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    all_taken = [one for own in taken for one in own]
    return Load(requests=len(all_taken), cpu_s=time.process_time() - cpu, taken_s=all_taken)


def _serve(place: Place, threads: int, is_cached: bool, begin: Any, loads: Any) -> None:
    with place.core() as core:
        ask = asking(core, is_cached=is_cached)
        for _ in range(3):
            ask()
        begin.wait()
        loads.put(load_of(ask, threads=threads, seconds=place.seconds))


def _loads(place: Place, processes: int, threads: int, *, is_cached: bool) -> list[Load]:
    """Return what so many processes did at once."""
    spawning = multiprocessing.get_context("spawn")
    begin, loads = spawning.Barrier(processes), spawning.Queue()
    workers = [
        spawning.Process(target=_serve, args=(place, threads, is_cached, begin, loads)) for _ in range(processes)
    ]
    for worker in workers:
        worker.start()
    found = [loads.get(timeout=place.seconds + 120) for _ in workers]
    for worker in workers:
        worker.join()
    return found


def _calls_of(server: RedisServer) -> int:
    statistics_of_commands = server.ask("INFO", "commandstats")
    text = statistics_of_commands if isinstance(statistics_of_commands, str) else None
    found = statistics_of_commands.items() if text is None else ()
    return sum(int(facts["calls"]) for name, facts in found if not name.endswith(("info", "ping", "client|setinfo")))


def _of_one_request(place: Place, server: RedisServer) -> Iterator[Ratio]:
    """Count what an answer asks of the store, of Redis and of the user's database."""
    with place.core() as core:
        for is_cached, most_calls in ((True, 2), (False, 5)):
            ask = asking(core, is_cached=is_cached)
            for _ in range(3):
                ask()
            before = _calls_of(server)
            with statements_of(core) as seen:
                for _ in range(10):
                    ask()
            kind = "cached answer" if is_cached else "new answer"
            calls = (_calls_of(server) - before) / 10
            yield Ratio(name=f"scale: statements of the store, {kind}", value=len(seen) / 10, goal=0, unit="")
            yield Ratio(name=f"scale: calls of Redis, {kind}", value=calls, goal=most_calls, unit="")


def _of_threads(place: Place) -> Iterator[Ratio]:
    """Compare what 8 threads keep of one thread's requests with what bare fetches keep, in turns on one machine."""
    with place.core() as core:
        ours, bare = asking(core, is_cached=False), place.bare()
        ratios: dict[str, list[float]] = {"ours": [], "bare": []}
        for _ in range(5):
            for name, ask in (("ours", ours), ("bare", bare)):
                one, eight = (load_of(ask, threads=threads, seconds=place.seconds / 5).requests for threads in (1, 8))
                ratios[name].append(eight / one)
        own, others = (statistics.median(ratios[name]) for name in ("ours", "bare"))
        note = f"8 threads do {own:.2f} of what one does, bare ones {others:.2f}"
        yield Ratio(
            name="scale: 8 threads, of what 8 bare threads keep", value=own / others, goal=0.9, at_least=True, note=note
        )


def compare(*, seconds: float) -> Iterator[Ratio | Unmeasured | str]:
    """Fill a store, measure."""
    with tempfile.TemporaryDirectory() as folder, private_servers() as servers:
        shop = make_shop(Path(folder) / "shop.db").removeprefix("sqlite:///")
        try:
            store = servers.postgres().make_database()
        except ServerMissingError as missing:
            yield Unmeasured(name="scale", why=str(missing))
            return
        with redis_server(Path(folder) / "redis") as server:
            place = Place(store=store, redis=server.url, shop=shop, seconds=seconds)
            with place.core() as core:
                core.create_first_administrator("admin")
                admin = core.as_user("admin")
                database = admin.databases.create({"database_name": "shop", "sqlalchemy_uri": f"sqlite:///{shop}"})
                admin.datasets.create({"database": database.id, "table_name": "orders"})
            yield from _of_one_request(place, server)
            yield from _of_threads(place)
            for is_cached in (True, False):
                for processes in PROCESSES:
                    for threads in THREADS:
                        yield _line(
                            _loads(place, processes, threads, is_cached=is_cached), processes, threads, is_cached
                        )


def _line(loads: list[Load], processes: int, threads: int, is_cached: bool) -> str:
    taken = sorted(one for load in loads for one in load.taken_s)
    requests, cpu_s = len(taken), sum(load.cpu_s for load in loads)
    wall_s = sum(taken) / (processes * threads)
    p50, p99 = (1_000 * taken[int(len(taken) * share)] for share in (0.5, 0.99))
    name = f"scale: {'cached' if is_cached else 'new'} answers, {processes} processes x {threads} threads"
    figures = f"{requests / cpu_s:8.0f} per CPU second  {requests / wall_s:8.0f} per second"
    return f"{name:64} {figures}  p50 {p50:.1f} ms  p99 {p99:.1f} ms"


def main() -> int:
    """Measure, print; the exit code is 1 when a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5, help="of each load")
    parser.add_argument("--simulate", action="store_true", help="fill a store with millions of records, too")
    arguments = parser.parse_args()
    missed = 0
    for figure in compare(seconds=arguments.seconds):
        print(figure if isinstance(figure, str) else figure.line(), flush=True)
        missed += isinstance(figure, Ratio) and not figure.met
    for figure in simulation.compare() if arguments.simulate else ():
        print(figure.line(), flush=True)
        missed += isinstance(figure, Ratio) and not figure.met
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
