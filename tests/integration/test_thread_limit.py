"""A process that may start no more threads (a container's limit) answers with typed errors, and goes on afterwards."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count

import pytest

from analytics_core import AnalyticsCore, Settings
from analytics_core._core.adapters.caches import GuardedCache
from analytics_core._core.adapters.job_runners import ThreadJobRunner
from analytics_core._engine.execution.cancel import Stopper, StopReason
from analytics_core.errors import JobError, ThreadLimitError
from analytics_core.testing.sample_data import make_shop

MORE_THAN_THERE_IS = 1 << 46
"""Bytes of stack that no system has for a thread: so none starts."""


@contextmanager
def no_more_threads() -> Iterator[None]:
    threading.stack_size(MORE_THAN_THERE_IS)
    try:
        yield
    finally:
        threading.stack_size(0)


class CountingCache:
    """A cache that has everything, and keeps what it was asked."""

    def __init__(self) -> None:
        self.requested: list[str] = []

    def get(self, key: str) -> bytes | None:
        self.requested.append(key)
        return b"kept"

    def set(self, key: str, value: bytes, *, timeout_s: int | None) -> None:
        self.get(key)

    def delete(self, key: str) -> None:
        self.get(key)


@pytest.fixture
def open_core(tmp_path) -> Callable[[], AnalyticsCore]:
    """Open a store with the dataset `orders` anew, without a thread of earlier statements."""
    settings = Settings(secret_key="a-test-key-that-is-long-enough-9f3a", data_roots=(tmp_path,))
    opened = partial(AnalyticsCore, settings, metadata_url=f"sqlite:///{tmp_path}/meta.db", acting_as=1)
    with opened() as core:
        core.create_first_administrator("ada")
        core.databases.create({"database_name": "shop", "orm_uri": make_shop(tmp_path / "shop.db")})
        core.datasets.create({"database": 1, "table_name": "orders"})
    return opened


def ask(core: AnalyticsCore) -> int | None:
    query = {"columns": ["country"], "row_limit": 1}
    answer = core.charts.data({"datasource": {"id": 1, "type": "table"}, "queries": [query]})
    answer.raise_for_error()
    return answer.results[0].rowcount


@pytest.mark.slow
@pytest.mark.parametrize(
    "act", [ask, lambda core: len(core.databases.tables(1)), lambda core: core.datasets.refresh(1)]
)
def test_a_question_is_a_typed_error_and_the_next_one_is_answered(open_core, act):
    with open_core() as core:
        with no_more_threads(), pytest.raises(ThreadLimitError, match="raise its limits"):
            act(core)
        assert act(core)


def test_a_job_is_refused_and_never_begins():
    runner, begun = ThreadJobRunner(workers=2), list[str]()
    runner.start(begun.append)
    with no_more_threads(), pytest.raises(JobError, match="no more threads"):
        runner.submit("first")
    runner.submit("second")
    runner.close()
    assert begun == ["second"]


def test_a_runner_without_a_thread_can_be_closed():
    runner = ThreadJobRunner()
    runner.start(lambda _: None)
    with no_more_threads():
        with pytest.raises(JobError):
            runner.submit("first")
        closing = threading.Event()
    closer = threading.Thread(target=lambda: (runner.close(), closing.set()), daemon=True)
    closer.start()
    assert closing.wait(5)


def test_a_host_cache_is_a_miss():
    counting = CountingCache()
    cache = GuardedCache(counting, monotonic=count(step=60).__next__)  # no pause is longer
    with no_more_threads():
        assert cache.get("key") is None
        cache.set("key", b"value", timeout_s=1)
        cache.delete("key")
    assert counting.requested == []
    assert cache.get("key") == b"kept"


def test_stopping_is_told_to_whoever_waits_and_to_the_database():
    stopper, happened = Stopper(), list[str]()
    stopper.arm(lambda: happened.append("interrupted"), after_s=None)
    stopper.on_stop(lambda: happened.append("told"))
    with no_more_threads():
        stopper.stop(StopReason.CANCELLED)
    assert happened == ["told", "interrupted"]
