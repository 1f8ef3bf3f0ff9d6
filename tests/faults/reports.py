"""Four scheduler processes in simulated days around clock changes, killed at random moments, on a store that dies."""

from __future__ import annotations

import math
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from operator import truediv
from pathlib import Path
from uuid import uuid4

from tests.faults.servers import own_server, restart
from tests.faults.tally import Tally
from tests.support import large_report
from tests.support.report_judge import Judgement
from tests.support.reports import ReportWorld, mail, report_world
from tests.support.scheduler_trial import Course, Trial

from analytics_core._records.report import ReportProgress
from analytics_core._reports.claims import DueRuns
from analytics_core.testing import InlineJobRunner

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

MOST_MB = 150
FEW, MANY, DUE_AT_ONCE, MESSAGES = 100, 10_000, 10, 1_000
Restart = Callable[[], None]


def reports(kind: str, folder: Path) -> Tally:
    """Run two days around each clock change on a store: `postgresql`, or `sqlite`, where pictures are sent at first."""
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
            draws=not is_server and number == 0,
        )
        place = folder / str(number)
        place.mkdir()
        with _store(kind, place) as (url, again):
            found = Trial(course, url, place, restart=again).run()
        print(f"{tally.name}, {change:%d %B}: {found.text()}", *found.reported, sep="\n! ", flush=True)
        total += found
    _count(tally, total)
    tally.require(total.later > 0, "no message was given later")
    if is_server:
        tally.require(total.due >= DUE, f"only {total.due} due times")
        tally.require(total.killed >= KILLS, f"only {total.killed} processes killed")
    return tally


def rows(folder: Path) -> Tally:
    """Send a report of a million rows as CSV, which must not be held in memory."""
    tally = Tally(name="reports rows")
    command = [sys.executable, "-m", "tests.support.large_report", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    grown_mb, size, count = map(float, done.stdout.split())
    tally.reported.append(
        f"{tally.name}: {count:,.0f} rows, {size / 1e6:.0f} MB of CSV, {grown_mb:.0f} MB above start-up"
    )
    tally.require(count == large_report.ROWS, f"{count:,.0f} rows arrived")
    tally.require(grown_mb < MOST_MB, f"more than {MOST_MB} MB above start-up")
    return tally


def looks(folder: Path) -> Tally:
    """Look for what is due among 100 and among 10,000 schedules, and send 1,000 messages of one run."""
    tally = Tally(name="reports looks")
    with report_world(folder, jobs=InlineJobRunner(), url=f"sqlite:///{folder}/meta.db") as world:
        made = world.report(recipients=[mail(f"a{number}@example.com") for number in range(MESSAGES)])
        began = time.process_time()
        world.pass_time()
        each_ms = (time.process_time() - began) / MESSAGES * 1_000
        tally.reported.append(f"{tally.name}: {MESSAGES} messages of one run take {each_ms:.1f} ms of CPU each")
        messages = {id(entry.message) for entry in world.outbox.sent[-MESSAGES:]}
        tally.require(world.states(made)[-1:] == ["Success"], "they were not sent")
        tally.require(len(messages) == 1, f"they were rendered {len(messages)} times")
        few = _looks_ms(world, tally, FEW)
        many = _looks_ms(world, tally, MANY)
        tally.require(max(map(truediv, many, few)) < 3, "a look costs more where more is stored that is not due")
    return tally


def _looks_ms(world: ReportWorld, tally: Tally, count: int) -> tuple[float, float]:
    """Return the CPU of a look where nothing is due among so many schedules, and of a claim where a few are."""
    store, clock = world.host._runtime.content.store, world.clock
    with store.unit_of_work() as unit:
        schedule = unit.report_schedules.get(1)
        for number in range(count):
            copy = replace(schedule, id=0, uuid=str(uuid4()), name=f"{count}-{number}", active=True)
            schedule_id = unit.report_schedules.append(copy, actor_id=None)
            later = clock.now() + timedelta(seconds=1 if number < DUE_AT_ONCE else 10**6)
            unit.report_progress.append(ReportProgress(schedule_id=schedule_id, next_due_on=later), actor_id=None)
    due = DueRuns(store, on_time_s=300.0, lease_s=30.0, is_claimed=lambda *_: True)
    idle_ms = min(_cpu_ms(lambda: due.due(clock.now())) for _ in range(20))
    clock.advance(timedelta(seconds=1))
    found = due.due(clock.now())
    claim_ms = _cpu_ms(lambda: [due.claim(one, clock.now()) for one in (*due.due(clock.now()),)])
    tally.require(len(found) == DUE_AT_ONCE, f"{len(found)} are due")
    figures = f"nothing due takes {idle_ms:.1f} ms of CPU, {DUE_AT_ONCE} due {claim_ms:.1f} ms"
    tally.reported.append(f"{tally.name}: among {count} schedules, {figures}")
    return idle_ms, claim_ms


def _cpu_ms(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return (time.process_time() - began) * 1_000


def _count(tally: Tally, total: Judgement) -> None:
    tally.tries += total.due
    tally.answered += total.due - total.lost - total.stuck
    tally.reported.append(f"{tally.name}: {total.text()}")
    for name, count in total.wrongs.items():
        tally.require(not count, f"{count} {name}")
    tally.reported += total.reported


@contextmanager
def _store(kind: str, folder: Path) -> Iterator[tuple[str, Restart | None]]:
    if kind == "sqlite":
        yield f"sqlite:///{folder}/meta.db", None
        return
    with own_server(kind) as server:
        yield server.make_database(), lambda: restart(server)  # type: ignore[attr-defined]
