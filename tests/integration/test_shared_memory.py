"""Processes that share a Redis server run one statement for one question; its troubles cost little, and no answer."""

from __future__ import annotations

import gc
import json
import logging
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.support import sharing_process
from tests.support.redis_server import RedisServer
from tests.support.sharing_process import PATIENT_S, Costs, answer, open_core
from tests.support.stalling_proxy import stalling_proxy

from analytics_core import AnalyticsCore
from analytics_core.ports import Observer
from analytics_core.testing.sample_data import make_shop

LATE_MS = 300.0
COUNTED = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < {most}) SELECT MAX(n) AS n FROM c"


class Service:
    """A metadata store with datasets that are counted anew in each statement; `open` starts what shares it."""

    def __init__(self, folder: Path, redis: RedisServer) -> None:
        self.redis = redis
        self.place = f"sqlite:///{folder}/meta.db", str(folder)
        shop = make_shop(folder / "shop.db")
        with self.core(timeout_s=PATIENT_S) as core:
            core.create_first_administrator("ada")
            core.databases.create({"database_name": "shop", "orm_uri": shop})

    def core(self, *, url: str | None = None, observer: Observer | None = None, **options: float) -> AnalyticsCore:
        """Return a core in this process."""
        store_url, root = self.place
        return open_core(store_url, url or self.redis.url, root, observer=observer, **options)

    def dataset(self, most: int) -> int:
        """Return a dataset whose rows take a while to be counted."""
        with self.core(timeout_s=PATIENT_S) as core:
            payload = {"database": 1, "table_name": f"to {most}", "sql": COUNTED.format(most=most)}
            return core.datasets.create(payload).id


class Process:
    """Another process of the service."""

    def __init__(self, service: Service) -> None:
        store_url, root = service.place
        command = [sys.executable, sharing_process.__file__, store_url, service.redis.url, root]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def read(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def ask(self, **request: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def service(tmp_path: Path, own_redis: RedisServer) -> Service:
    return Service(tmp_path, own_redis)


@pytest.fixture
def processes(service: Service) -> Iterator[Callable[[int], list[Process]]]:
    with ExitStack() as killed:

        def start(count: int) -> list[Process]:
            made = [Process(service) for _ in range(count)]
            for process in made:
                killed.callback(process.kill)
            assert [process.read() for process in made] == ["ready"] * count
            return made

        yield start


# ----------------------------------------------------------------------------------------------------- one statement
@pytest.mark.slow
def test_one_cold_question_of_many_processes_is_one_statement(
    service: Service, processes: Callable[[int], list[Process]]
) -> None:
    dataset = service.dataset(1_000_000)
    started = processes(4)
    for _ in range(2):
        for process in started:
            process.ask(dataset=dataset)
        answers = [json.loads(process.read()) for process in started]
        assert [(one["rows"], one["error"]) for one in answers] == [([[1_000_000]], None)] * 4
        assert sorted(one["cached"] for one in answers) == [False] + [True] * 3
        service.redis.ask("FLUSHALL")


@pytest.mark.slow
def test_a_process_that_is_killed_while_it_answers_is_followed_by_one(
    service: Service, processes: Callable[[int], list[Process]]
) -> None:
    dataset = service.dataset(3_000_000)
    dying, *others = processes(4)
    dying.ask(dataset=dataset)
    wait_for(lambda: bool(service.redis.ask("KEYS", "*:lock:*")))
    dying.kill()
    for process in others:
        process.ask(dataset=dataset)
    answers = [json.loads(process.read()) for process in others]
    assert [one["rows"] for one in answers] == [[[3_000_000]]] * 3
    assert sorted(one["cached"] for one in answers) == [False, True, True]


def wait_for(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.005)


# ------------------------------------------------------------------------------------------------- a server in trouble
def test_an_answer_of_one_core_is_found_by_the_next(service: Service) -> None:
    dataset = service.dataset(10)
    for is_cached in (False, True):
        with service.core(timeout_s=PATIENT_S) as core:
            assert answer(core, dataset)["cached"] is is_cached
    service.redis.ask("FLUSHALL")
    with service.core(timeout_s=PATIENT_S) as core:
        assert answer(core, dataset)["rows"] == [[10]]


def test_foreign_bytes_in_place_of_every_entry_are_misses(service: Service) -> None:
    dataset = service.dataset(10)
    with service.core(timeout_s=PATIENT_S) as core:
        assert answer(core, dataset)["cached"] is False
        (place,) = service.redis.ask("KEYS", "*:cache:chart-data-*")
        entry = service.redis.ask("GET", place)
        for content in (b"", b"\x80\x04N.", entry[:-1], b"x" + entry[1:]):
            service.redis.ask("SET", place, content)
            found = answer(core, dataset)
            assert (found["cached"], found["rows"]) == (False, [[10]])
            assert answer(core, dataset)["cached"] is True


TROUBLE: dict[str, Callable[[RedisServer], object]] = {
    "down": RedisServer.kill,
    "hanging": RedisServer.hang,
    "full": lambda server: server.ask("CONFIG", "SET", "maxmemory", "1"),
    "read-only": lambda server: server.ask("REPLICAOF", "127.0.0.1", "1"),
    "without answers": lambda server: server.ask("CLIENT", "PAUSE", 60_000, "ALL"),
    "guarded": lambda server: server.ask("CONFIG", "SET", "requirepass", "open sesame"),
}


@pytest.fixture
def _without_collector() -> Iterator[None]:
    """A collection of all that the tests have loaded takes as long as what is measured."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("_without_collector")
@pytest.mark.parametrize("trouble", TROUBLE)
def test_a_server_in_trouble_makes_no_answer_late_wrong_or_lost(
    service: Service, trouble: str, caplog: pytest.LogCaptureFixture
) -> None:
    datasets = [service.dataset(most) for most in range(1, 9)]
    usual, costs = Costs(), Costs()
    with service.core(observer=usual) as core:
        for dataset in datasets:
            answer(core, dataset, force=True)
    service.redis.ask("FLUSHALL")
    with service.core(observer=costs) as core:
        answer(core, datasets[0], force=True)  # loads what is loaded once
        caplog.clear()
        TROUBLE[trouble](service.redis)
        answers = [answer(core, dataset) for dataset in datasets[1:]]
    assert [one["rows"] for one in answers] == [[[most]] for most in range(2, 9)]
    assert max(costs.own_ms[1:]) < max(usual.own_ms) + LATE_MS
    warnings = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert 1 <= len(warnings) <= 4  # not one an answer


@pytest.mark.usefixtures("_without_collector")
@pytest.mark.parametrize("delay_s", [0.02, 0.045, 0.2])
def test_a_slow_server_makes_no_answer_late(service: Service, delay_s: float) -> None:
    datasets = [service.dataset(most) for most in range(1, 5)]
    usual, costs = Costs(), Costs()
    with service.core(observer=usual) as core:
        for dataset in datasets:
            answer(core, dataset, force=True)
    service.redis.ask("FLUSHALL")
    with stalling_proxy(service.redis.port) as proxy:
        proxy.delay(delay_s)
        with service.core(url=f"redis://127.0.0.1:{proxy.port}/0", observer=costs) as core:
            answers = [answer(core, dataset) for dataset in datasets]
    assert [one["rows"] for one in answers] == [[[most]] for most in range(1, 5)]
    assert max(costs.own_ms) < max(usual.own_ms) + LATE_MS
