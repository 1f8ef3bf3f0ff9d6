"""Four scheduler processes in simulated days around clock changes, killed at random moments, on a store that dies."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.faults.servers import own_server, restart
from tests.faults.tally import Tally
from tests.support.report_judge import Judgement
from tests.support.scheduler_trial import Course, Trial

CHANGES = (
    datetime(2026, 3, 8, 10, tzinfo=UTC),  # New York and Los Angeles, forward
    datetime(2026, 3, 29, 1, tzinfo=UTC),  # Berlin, forward
    datetime(2026, 4, 4, 15, tzinfo=UTC),  # Lord Howe, back by half an hour; Santiago, back, at midnight
    datetime(2026, 9, 6, 4, tzinfo=UTC),  # Santiago, forward: no midnight
    datetime(2026, 10, 3, 15, 30, tzinfo=UTC),  # Lord Howe, forward by half an hour
    datetime(2026, 10, 25, 1, tzinfo=UTC),  # Berlin, back
    datetime(2026, 11, 1, 6, tzinfo=UTC),  # New York, back
)
SCHEDULES, DUE, KILLS, RESTARTS, DAY = 200, 20_000, 200, 5, timedelta(days=1)
SMALL = 50
"""How many schedules and kills there are on SQLite, which takes one writer at a time."""

Restart = Callable[[], None]


def reports(kind: str, folder: Path) -> Tally:
    """Run two days around each clock change on a store of a kind: `postgresql` or `sqlite`."""
    tally, total = Tally(name=f"reports {kind}"), Judgement()
    is_server = kind == "postgresql"
    changes = CHANGES if is_server else CHANGES[1::4]
    kills = KILLS if is_server else SMALL
    for number, change in enumerate(changes):
        course = Course(
            since=change - DAY,
            until=change + DAY,
            schedules=SCHEDULES if is_server else SMALL,
            kills=math.ceil(kills / len(changes)),
            restarts=int(is_server and number < RESTARTS),
            seed=number,
        )
        place = folder / str(number)
        place.mkdir()
        with _store(kind, place) as (url, again):
            found = Trial(course, url, place, restart=again).run()
        print(f"{tally.name}, {change:%d %B}: {found.text()}", flush=True)
        total += found
    _count(tally, total)
    if is_server:
        tally.require(total.due >= DUE, f"only {total.due} due times")
        tally.require(total.killed >= KILLS, f"only {total.killed} processes killed")
    return tally


def _count(tally: Tally, total: Judgement) -> None:
    tally.tries += total.due
    tally.answered += total.due - total.lost - total.stuck
    tally.told.append(f"{tally.name}: {total.text()}")
    for name, count in total.wrongs.items():
        tally.require(not count, f"{count} {name}")
    tally.told += total.told


@contextmanager
def _store(kind: str, folder: Path) -> Iterator[tuple[str, Restart | None]]:
    if kind == "sqlite":
        yield f"sqlite:///{folder}/meta.db", None
        return
    with own_server(kind) as server:
        yield server.make_database(), lambda: restart(server)  # type: ignore[attr-defined]
