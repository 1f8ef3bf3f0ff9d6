"""Writers in processes of their own, for tests of what a store keeps when they are killed or get in each other's way.

    python killed_writers.py kill URL LEDGER ROUNDS SEED
    python killed_writers.py count URL CHART_ID WRITERS UPDATES RETRY

One process imports everything once; each writer is forked from it and opens the store itself.
"""

from __future__ import annotations

import itertools
import os
import random
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from analytics_core import AnalyticsCore, Settings
from analytics_core.errors import StaleVersionError

KEY = "a-test-key-that-is-long-enough-9f3a"
TAGS_OF_EVEN, TAGS_OF_ODD = (1, 2), (3,)
COUNTED = 1
"""The chart that writers update; its description is how often it was."""


def open_core(url: str) -> AnalyticsCore:
    """Return the core of the store as its first administrator."""
    return AnalyticsCore(Settings(secret_key=KEY), metadata_url=url, acting_as=1)


def kill(url: str, ledger: str, rounds: str, seed: str) -> None:
    """Let a writer write, and kill it after a moment, again and again; the ledger has a line per finished write."""
    chance = random.Random(int(seed))
    with open_core(url) as core:
        _write_once(core, f"{seed}-first", lambda line: None)
        for number in range(int(rounds)):
            core._runtime.content.store._engine.dispose()  # each writer connects anew
            reader, writer = os.pipe()
            pid = _forked(partial(_write_for_ever, core, ledger, f"{seed}-{number}", ready=writer))
            os.close(writer)
            if not os.read(reader, 1):
                sys.exit("a writer ended before its first write")
            time.sleep(chance.uniform(0, 0.04))
            os.kill(pid, signal.SIGKILL)
            _, status = os.waitpid(pid, 0)
            os.close(reader)
            if not os.WIFSIGNALED(status):
                sys.exit("a writer ended by itself")


def _write_for_ever(core: AnalyticsCore, ledger: str, name: str, *, ready: int) -> None:
    lines = os.open(ledger, os.O_WRONLY | os.O_APPEND)

    def acknowledge(line: str) -> None:
        os.write(lines, f"{line}\n".encode())
        os.fsync(lines)
        os.write(ready, b"!")

    for number in itertools.count():
        _write_once(core, f"{name}-{number}", acknowledge)


def _write_once(core: AnalyticsCore, name: str, acknowledge: Callable[[str], None]) -> None:
    core.charts.create({"slice_name": name, "datasource_id": 1, "datasource_type": "table", "owners": [1, 2]})
    acknowledge(f"created {name}")
    times = int(core.charts.get(COUNTED).description) + 1
    tags = TAGS_OF_ODD if times % 2 else TAGS_OF_EVEN
    core.charts.update(COUNTED, {"description": str(times), "tags": [{"id": tag} for tag in tags]})
    acknowledge(f"counted {times}")


def count(url: str, chart_id: str, writers: str, updates: str, retry: str) -> None:
    """Let several writers add to one number, and print how many additions were accepted and how many refused."""
    go, start = os.pipe()
    results = []
    for number in range(int(writers)):
        reader, writer = os.pipe()
        chance = random.Random(number)
        _forked(partial(_add, url, int(chart_id), int(updates), chance, retry=retry == "retry", go=go, out=writer))
        os.close(writer)
        results.append(reader)
    os.write(start, b"!" * len(results))
    sums = [tuple(map(int, os.read(reader, 100).split())) for reader in results]
    print(sum(accepted for accepted, _ in sums), sum(rejected for _, rejected in sums))


def _add(url: str, chart_id: int, updates: int, chance: random.Random, *, retry: bool, go: int, out: int) -> None:
    accepted = rejected = 0
    with open_core(url) as core:
        store = core._runtime.content.store
        core.charts.get(chart_id)
        os.read(go, 1)
        while accepted + (0 if retry else rejected) < updates:
            try:
                with store.unit_of_work() as unit:
                    chart = unit.charts.get(chart_id)
                    grown = replace(chart, description=str(int(chart.description) + 1))
                    unit.charts.update(grown, actor_id=1)
                accepted += 1
            except StaleVersionError:
                rejected += 1
                time.sleep(chance.uniform(0, 0.05))
    os.write(out, f"{accepted} {rejected}".encode())


def _forked(work: Callable[[], None]) -> int:
    """Start a process that does the work and ends; an error in it is printed, and shows in its exit code."""
    pid = os.fork()
    if pid:
        return pid
    try:
        work()
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


if __name__ == "__main__":
    {"kill": kill, "count": count}[sys.argv[1]](*sys.argv[2:])
