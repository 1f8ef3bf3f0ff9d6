"""Presses Ctrl-C on itself at random moments: `python interrupted_process.py write|query FOLDER ENGINE ROUNDS`.

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
    rolls, kept = random.Random(7), list[BaseException | None]()
    counted = {"interrupts": 0, "other": 0, "locked": 0, "lost": 0}
    with hosted_core(shop_url(folder), metadata_url=f"sqlite:///{folder}/meta.db") as host:
        core, acknowledged = host.as_user("admin"), list[str]()

        def write() -> None:
            name = f"tag {len(acknowledged)} {rolls.random()}"
            core.tags.create({"name": name})
            acknowledged.append(name)

        for _ in range(rounds):
            kept.append(interrupted(write, rolls))
            counted["interrupts" if isinstance(kept[-1], KeyboardInterrupt) else "other"] += 1
            other = sqlite3.connect(folder / "meta.db", timeout=1.0, isolation_level=None)
            try:
                other.execute("BEGIN IMMEDIATE").close()
                other.execute("ROLLBACK").close()
            except sqlite3.OperationalError:
                counted["locked"] += 1
            stored = {row[0] for row in other.execute("SELECT name FROM ac_tags")}
            other.close()
            counted["lost"] += len(set(acknowledged) - stored)
    return counted


def queries(folder: Path, engine: str, rounds: int) -> dict[str, int]:
    """Count queries that Ctrl-C ended otherwise than by a KeyboardInterrupt, and those that did not work afterwards."""
    rolls, kept = random.Random(7), list[BaseException | None]()
    counted = {"interrupts": 0, "other": 0, "failed": 0}
    question = context({"columns": ["country"], "metrics": ["count"], "filters": FILTERS})
    with hosted_core(shop_url(folder, engine), metadata_url=f"sqlite:///{folder}/meta.db") as host:
        core = host.as_user("admin")
        core.charts.data(question, force=True).raise_for_error()
        for _ in range(rounds):
            work = lambda: core.charts.data(question, force=True).raise_for_error()  # noqa: E731
            kept.append(interrupted(work, rolls))
            counted["interrupts" if isinstance(kept[-1], KeyboardInterrupt) else "other"] += 1
            counted["failed"] += core.charts.data(question, force=True).results[0].error is not None
    return counted


FILTERS = [{"col": "country", "op": "ILIKE", "val": "%a%"}]  # on SQLite this calls a function of ours in Python


if __name__ == "__main__":
    kind, where, named, times = sys.argv[1:5]
    print(json.dumps({"write": writes, "query": queries}[kind](Path(where), named, int(times))))
