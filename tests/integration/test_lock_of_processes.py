"""One process at a time holds a lock of a store; one that is killed keeps the others out until its end, no longer."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path

import pytest
from tests.support import lock_holder
from tests.support.stores import open_store

from analytics_core._content.storage.store_backed import StoreLock
from analytics_core._core.adapters.clock import SystemClock

pytestmark = pytest.mark.slow

TIMES, PROCESSES, TTL_S = 5, 4, 3.0
STORES = [
    "file",
    pytest.param("postgres", marks=[pytest.mark.server, pytest.mark.long]),
    pytest.param("mariadb", marks=[pytest.mark.server, pytest.mark.long]),
]


@pytest.fixture(params=STORES)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "file":
        return f"sqlite:///{tmp_path}/meta.db"
    return str(request.getfixturevalue(f"make_{request.param}_database")())


class Holder:
    """A process that waits for `go`."""

    def __init__(self, *arguments: object) -> None:
        command = [sys.executable, lock_holder.__file__, *map(str, arguments)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def read(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def go(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def killed() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def test_four_processes_contend_and_one_that_is_killed_loses_its_lock(
    url: str, tmp_path: Path, killed: ExitStack
) -> None:
    journal = tmp_path / "journal"
    dying = Holder(url, journal, "take", TTL_S)
    killed.callback(dying.kill)
    contending = [Holder(url, journal, "contend", TIMES) for _ in range(PROCESSES)]
    for holder in contending:
        killed.callback(holder.kill)
    assert [holder.read() for holder in (dying, *contending)] == ["ready"] * (PROCESSES + 1)
    taken = time.monotonic()
    dying.go()
    first = int(dying.read())
    dying.process.kill()
    for holder in contending:
        holder.go()
    time.sleep(TTL_S / 3)
    assert not journal.exists()  # it is dead, and its time is not over
    assert [holder.process.wait(timeout=60) for holder in contending] == [0] * PROCESSES
    assert time.monotonic() - taken >= TTL_S
    lines = [line.split() for line in journal.read_text().splitlines()]
    assert [what for _, what in lines] == ["begin", "end"] * (TIMES * PROCESSES)
    numbers = [int(number) for number, what in lines if what == "begin"]
    assert [int(number) for number, what in lines if what == "end"] == numbers  # nobody was there meanwhile
    assert all(earlier < later for earlier, later in pairwise([first, *numbers]))
    with open_store(url, SystemClock()) as store:
        assert StoreLock(store).acquire(lock_holder.NAME, ttl_s=1) is not None  # all was given back
