"""Ctrl-C is a KeyboardInterrupt, and leaves neither locks nor half of a write behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.execution import target
from tests.support.shop import shop_url

from analytics_core._content.storage.store import DeferredInterrupts

pytestmark = pytest.mark.slow

PROCESS = Path(__file__).parents[1] / "support" / "interrupted_process.py"
ROUNDS = 20


def run(*arguments: object) -> dict[str, int]:
    command = [sys.executable, str(PROCESS), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    counted: dict[str, int] = json.loads(done.stdout)
    return counted


def test_a_write_that_is_interrupted_leaves_the_store_unlocked(tmp_path: Path) -> None:
    assert run("write", tmp_path, "sqlite", ROUNDS) == {"interrupts": ROUNDS, "other": 0, "locked": 0, "lost": 0}


def test_no_place_of_a_write_is_a_bad_one_for_an_interrupt(tmp_path: Path) -> None:
    counted = run("everywhere", tmp_path, "sqlite", 100)
    assert (counted["locked"], counted["lost"]) == (0, 0)
    assert counted["interrupts"] > 60


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_a_query_that_is_interrupted_is_no_failed_answer(tmp_path: Path, engine: str) -> None:
    assert run("query", tmp_path, engine, ROUNDS) == {"interrupts": ROUNDS, "other": 0, "failed": 0}


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Let SIGINT interrupt this process, also where a shell started it in the background."""
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, former)


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000000) SELECT max(i) FROM n"


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("is_stream", [False, True])
@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_an_interrupt_goes_upwards_when_the_driver_has_left_its_call(
    tmp_path: Path, engine: str, is_stream: bool
) -> None:
    with target(shop_url(tmp_path, engine), tmp_path, engine=engine) as shop:
        presser = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
        presser.start()
        ask = (lambda: next(shop.stream(ENDLESS))) if is_stream else (lambda: shop.run(ENDLESS))
        with pytest.raises(KeyboardInterrupt):
            ask()
        assert shop.lent == 0
        presser.join()


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_inside_of_a_block_comes_at_its_end() -> None:
    reached = []

    def work() -> None:
        with DeferredInterrupts():
            with DeferredInterrupts():
                signal.raise_signal(signal.SIGINT)
                reached.append("inner")
            reached.append("outer")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert reached == ["inner", "outer"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_handler_of_the_host_is_called() -> None:
    seen: list[int] = []
    former = signal.signal(signal.SIGINT, lambda number, _frame: seen.append(number))
    try:
        with DeferredInterrupts():
            signal.raise_signal(signal.SIGINT)
            assert seen == []
    finally:
        signal.signal(signal.SIGINT, former)
    assert seen == [signal.SIGINT]
