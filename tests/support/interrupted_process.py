"""Presses Ctrl-C on itself: `python interrupted_process.py write|query|everywhere FOLDER ENGINE ROUNDS`.

Prints what it counted as JSON. Exceptions are kept, as a notebook keeps them: what their tracebacks hold stays open.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.support.shop import context, hosted_core, shop_url

LONGEST_S = 0.02


def interrupted(work: Callable[[], Any], rolls: random.Random) -> BaseException | None:
    """Run `work` again and again until Ctrl-C comes; return what came out of it."""
    pressed = threading.Event()

    def press() -> None:
        time.sleep(rolls.uniform(0, LONGEST_S))
        pressed.set()
        os.kill(os.getpid(), signal.SIGINT)

    presser = threading.Thread(target=press)
    try:
        presser.start()
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            work()
    except BaseException as error:
        presser.join()
        return error
    return None


def writes(folder: Path, _engine: str, rounds: int) -> dict[str, int]:
    """Count writes that Ctrl-C tore: locks that stayed, tags that were acknowledged and are not there."""
    rolls, outcomes = random.Random(7), list[BaseException | None]()
    counted = {"interrupts": 0, "other": 0, "locked": 0, "lost": 0}
    with hosted_core(shop_url(folder), metadata_url=f"sqlite:///{folder}/meta.db") as host:
        core, acknowledged = host.as_user("admin"), list[str]()

        def write() -> None:
            name = f"tag {len(acknowledged)} {rolls.random()}"
            core.tags.create({"name": name})
            acknowledged.append(name)

        for _ in range(rounds):
            outcomes.append(interrupted(write, rolls))
            counted["interrupts" if isinstance(outcomes[-1], KeyboardInterrupt) else "other"] += 1
            locked, stored = look(folder / "meta.db")
            counted["locked"] += locked
            counted["lost"] += len(set(acknowledged) - stored)
    return counted


def look(file: Path) -> tuple[bool, set[str]]:
    """Tell whether somebody keeps the store locked, and which tags are in it."""
    locked = False
    other = sqlite3.connect(file, timeout=0.1, isolation_level=None)
    try:
        other.execute("BEGIN IMMEDIATE").close()
        other.execute("ROLLBACK").close()
    except sqlite3.OperationalError:
        locked = True
    stored = {row[0] for row in other.execute("SELECT name FROM ac_tags")}
    other.close()
    return locked, stored


def everywhere(folder: Path, _engine: str, rounds: int) -> dict[str, int]:
    """Count what is wrong after an interrupt at one of so many places, evenly spread over all lines of a write."""
    failures: list[BaseException] = []
    counted = {"interrupts": 0, "locked": 0, "lost": 0}
    with hosted_core(shop_url(folder), metadata_url=f"sqlite:///{folder}/meta.db") as host:
        core = host.as_user("admin")
        core.tags.create({"name": "warm"})
        steps = Steps(at=-1)
        steps.run(lambda: core.tags.create({"name": "counted"}))
        for number in range(rounds):
            name = f"tag {number}"
            try:
                Steps(at=steps.done * number // rounds).run(lambda name=name: core.tags.create({"name": name}))
                acknowledged = True
            except KeyboardInterrupt as error:
                failures.append(error)
                acknowledged = False
            locked, stored = look(folder / "meta.db")
            counted["locked"] += locked
            counted["lost"] += acknowledged and name not in stored
        counted["interrupts"] = len(failures)
    return counted


class Steps:
    """Counts the lines and calls of some work, and presses Ctrl-C at one of them."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.done = 0

    def run(self, work: Callable[[], Any]) -> None:
        sys.settrace(self._step)
        try:
            work()
        finally:
            sys.settrace(None)

    def _step(self, *_event: Any) -> Any:
        self.done += 1
        if self.done == self.at:
            os.kill(os.getpid(), signal.SIGINT)
        return self._step


def queries(folder: Path, engine: str, rounds: int) -> dict[str, int]:
    """Count queries that Ctrl-C ended otherwise than by a KeyboardInterrupt, and those that did not work afterwards."""
    rolls, outcomes = random.Random(7), list[BaseException | None]()
    counted = {"interrupts": 0, "other": 0, "failed": 0}
    question = context({"columns": ["country"], "metrics": ["count"], "filters": FILTERS})
    with hosted_core(shop_url(folder, engine), metadata_url=f"sqlite:///{folder}/meta.db") as host:
        core = host.as_user("admin")
        core.charts.data(question, force=True).raise_for_error()
        for _ in range(rounds):
            work = lambda: core.charts.data(question, force=True).raise_for_error()  # noqa: E731
            outcomes.append(interrupted(work, rolls))
            counted["interrupts" if isinstance(outcomes[-1], KeyboardInterrupt) else "other"] += 1
            counted["failed"] += core.charts.data(question, force=True).results[0].error is not None
    return counted


FILTERS = [{"col": "country", "op": "ILIKE", "val": "%a%"}]  # on SQLite this calls a function of ours in Python


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # shells start background processes that ignore it
    kind, where, named, times = sys.argv[1:5]
    print(
        json.dumps({"write": writes, "query": queries, "everywhere": everywhere}[kind](Path(where), named, int(times)))
    )
