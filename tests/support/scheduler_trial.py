"""Drives four scheduler processes through simulated days: moves their clock, kills them, restarts their store."""

from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import Any

from tests.support import scheduler_process
from tests.support.due_time_reference import expected
from tests.support.report_judge import Judgement, judged
from tests.support.reports import ROWS, chat, form, mail
from tests.support.scheduler_process import AWAY, SharedClock, open_core

from analytics_core import AnalyticsCore
from analytics_core._records.repositories import ListFilter, ListQuery
from analytics_core.errors import AnalyticsError

ZONES = (
    *("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Santiago"),
    *("Africa/Casablanca", "Asia/Kathmandu", "America/Los_Angeles", "UTC"),
)
CRONTABS = (
    *("0 * * * *", "30 * * * *", "45 */6 * * *", "*/40 */5 * * *", "15 */2 * * *", "*/30 */3 * * *", "0 0-23 * * *"),
    *("0 0 * * *", "30 0 * * *", "30 1 * * *", "0 2 * * *", "15 2 * * *", "*/15 2 * * *", "30 2,3 * * *"),
    *("0 3 * * *", "*/20 1-3 * * *", "0 8-18 * * *", "*/30 9-17 * * 1-5", "0 9 * * 1-5", "15 23 * * *"),
    *("*/10 4 * * *", "10,50 * * * 0,6", "5 0-12/2 * * *", "0 6,18 * * *", "20 */4 * * *"),
)
PROCESSES, INTERVAL_S, MOST_OPEN, PATIENCE_S, QUIET_S, STEP_S = 4, 0.25, 48, 3.0, 90.0, 600
HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """What happens in the simulated time from `since` until `until`.

    `kills` and `restarts` come at random moments; `outages` are ten minutes without any process, `jumps` times when the
    clock is put an hour ahead, or back, for a moment. With `draws` what is sent are pictures, each drawn anew.
    """

    since: datetime
    until: datetime
    schedules: int
    kills: int
    restarts: int = 0
    outages: int = 1
    jumps: int = 2
    seed: int = 1
    draws: bool = False


class Fleet:
    """Four scheduler processes; of those that are killed others take the place."""

    def __init__(self, url: str, folder: Path) -> None:
        command = [sys.executable, scheduler_process.__file__, url, str(folder), str(INTERVAL_S)]
        self._parent = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._alive: list[int] = []
        self.killed: set[int] = set()
        self.ended: list[str] = []

    def fill(self) -> None:
        """Start processes until there are four."""
        while len(self._alive) < PROCESSES:
            self._alive.append(int(self._reported("start")))

    def kill(self, pid: int) -> None:
        """Kill a process of these at once."""
        self._alive.remove(pid)
        self.killed.add(pid)
        how = self._reported(f"kill {pid}")
        if how != "killed":
            self.ended.append(how)

    def kill_one(self, chance: random.Random) -> None:
        """Kill one, and start another."""
        self.kill(chance.choice(self._alive))
        self.fill()

    def kill_all(self) -> None:
        """Kill all of them at once."""
        for pid in tuple(self._alive):
            self.kill(pid)

    def close(self) -> None:
        """End them with their parent."""
        self.kill_all()
        assert self._parent.stdin is not None
        assert self._parent.stdout is not None
        self._parent.stdin.close()
        self._parent.wait(10)
        self._parent.stdout.close()

    def _reported(self, line: str) -> str:
        assert self._parent.stdin is not None
        assert self._parent.stdout is not None
        print(line, file=self._parent.stdin, flush=True)
        return self._parent.stdout.readline().strip()


@contextmanager
def _fleet(url: str, folder: Path) -> Iterator[Fleet]:
    made = Fleet(url, folder)
    try:
        yield made
    finally:
        made.close()


class Trial:
    """One course on one store.

    Args:
        course: what happens.
        url: of an empty store.
        folder: takes the clock, the journal, and what is reported of.
        restart: restarts the server of the store; None: it has none.
    """

    def __init__(self, course: Course, url: str, folder: Path, *, restart: Callable[[], None] | None = None) -> None:
        self._course, self._url, self._folder, self._restart = course, url, folder, restart
        self._chance = random.Random(course.seed)
        self._clock = SharedClock(folder / "clock")
        self._last = course.until - timedelta(seconds=1)

    def run(self) -> Judgement:
        """Run the course to its end, wait until all is quiet, and judge."""
        self._clock.move_to(self._course.since)
        with open_core(self._url, self._folder) as core:
            schedules = make_schedules(core, self._folder, self._course.schedules, draws=self._course.draws)
            due = {
                number: tuple(
                    expected(one["crontab"], one["timezone"], since=self._course.since, until=self._course.until)
                )
                for number, one in schedules.items()
            }
            began = time.monotonic()
            with _fleet(self._url, self._folder) as fleet:
                self._pass(core, fleet, sorted({moment for times in due.values() for moment in times}))
                quiet_s = self._quiet(core)
            return judged(
                core,
                due,
                {number: tuple(addresses_of(one)) for number, one in schedules.items()},
                folder=self._folder,
                killed=fleet.killed,
                again={number for number, one in schedules.items() if one["extra"]["delivery"] == "at_least_once"},
                crashed=fleet.ended,
                took_s=time.monotonic() - began,
                quiet_s=quiet_s,
            )

    def _pass(self, core: AnalyticsCore, fleet: Fleet, moments: Sequence[datetime]) -> None:
        """Let the time pass, ten minutes at a time where something is due, with all that is to happen in between."""
        steps = [max(group) for _, group in groupby(moments, lambda moment: moment.timestamp() // STEP_S)]
        acts = self._acts(len(steps))
        fleet.fill()
        skipped_until = self._course.since
        for position, moment in enumerate(steps):
            if moment < skipped_until:
                continue
            self._clock.move_to(moment)
            for act in acts.get(position, ()):
                time.sleep(self._chance.uniform(0, 0.1))
                if act == "kill":
                    fleet.kill_one(self._chance)
                elif act == "restart" and self._restart is not None:
                    self._restart()
                elif act == "outage":
                    fleet.kill_all()
                    skipped_until = moment + timedelta(minutes=10)
                    self._clock.move_to(skipped_until)
                    fleet.fill()
                elif act in ("ahead", "back"):
                    self._jump(moment, HOUR if act == "ahead" else -HOUR)
            self._wait_for_room(core)
        self._clock.move_to(self._last)

    def _acts(self, positions: int) -> Mapping[int, list[str]]:
        """Return what happens at which moments, the first and the last ones aside."""
        course = self._course
        acts = ["kill"] * course.kills + ["restart"] * course.restarts + ["outage"] * course.outages
        acts += [("ahead", "back")[number % 2] for number in range(course.jumps)]
        found: dict[int, list[str]] = {}
        for act in acts:
            found.setdefault(self._chance.randrange(positions // 20, positions * 9 // 10), []).append(act)
        return found

    def _jump(self, moment: datetime, step: timedelta) -> None:
        self._clock.move_to(min(moment + step, self._last))
        time.sleep(0.5)
        self._clock.move_to(moment)

    def _wait_for_room(self, core: AnalyticsCore) -> None:
        end = time.monotonic() + PATIENCE_S
        time.sleep(0.02)
        while time.monotonic() < end:
            with suppress(AnalyticsError):
                _end_rests(core)
                due, unfinished = self._open(core)
                if not due and unfinished <= MOST_OPEN:
                    return
            time.sleep(0.05)

    def _open(self, core: AnalyticsCore) -> tuple[int, int]:
        """Return how many schedules are due, and how many runs are not over."""
        now = self._clock.now()
        due = ListQuery(filters=(ListFilter(col="next_due_on", op="lt", val=now + timedelta(seconds=1)),), page_size=1)
        unfinished = ListQuery(filters=(ListFilter(col="end_dttm", op="is_null", val=True),), page_size=1)
        with core._runtime.content.store.unit_of_work() as unit:
            return unit.report_progress.list(due)[0], unit.report_executions.list(unfinished)[0]

    def _quiet(self, core: AnalyticsCore) -> float:
        """Wait until nothing is open; return how long that took."""
        began = time.monotonic()
        while time.monotonic() - began < QUIET_S:
            with suppress(AnalyticsError):
                _end_rests(core)
                if self._open(core) == (0, 0):
                    break
            time.sleep(0.2)
        return time.monotonic() - began


# ---------------------------------------------------------------------------------------------------------- the store
def _end_rests(core: AnalyticsCore) -> None:
    """Let runs go on that wait for receivers: they wait by the store's time, which does not pass as the clock does."""
    resting = tuple(ListFilter(col=name, op="is_null", val=val) for name, val in (("end_dttm", True), ("job_id", True)))
    with core._runtime.content.store.unit_of_work() as unit:
        for run in unit.report_executions.list(ListQuery(filters=resting, page_size=1_000))[1]:
            if run.is_put_off and run.lease_until is not None and run.lease_until > unit.now():
                unit.report_executions.update(replace(run, lease_until=unit.now()), actor_id=None)


def make_schedules(
    core: AnalyticsCore, folder: Path, count: int, *, draws: bool = False
) -> Mapping[int, Mapping[str, Any]]:
    """Make a store with schedules of all kinds, and return their payloads by their ids."""
    with closing(sqlite3.connect(folder / "shop.db")) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS orders (id INTEGER, day DATE, region VARCHAR(10), amount REAL)")
        connection.executemany("INSERT INTO orders VALUES (?, ?, ?, ?)", ROWS)
        connection.commit()
    admin = core.as_user(core.create_first_administrator("ada", email="ada@example.com").id)
    admin.databases.create({"database_name": "shop", "sqlalchemy_uri": f"sqlite:///{folder / 'shop.db'}"})
    dataset = admin.datasets.create({"database": 1, "table_name": "orders"})
    fields = {"datasource_id": dataset.id, "datasource_type": "table", "params": form(dataset.id)}
    admin.charts.create({"slice_name": "By region", "viz_type": "table", **fields})
    payloads = [_payload(number) for number in range(count)]
    if draws:
        payloads = [_drawn(payload, number) for number, payload in enumerate(payloads)]
    return {admin.reports.create(payload).id: payload for payload in payloads}


def _payload(number: int) -> dict[str, Any]:
    keeps_trying = number % 6 == 4
    recipients = [mail(f"a{number}@example.com,b{number}@example.com")]
    if keeps_trying:
        recipients.append(mail(f"c{number}{AWAY}"))
    if number % 3 == 0:
        recipients.append(chat(f"https://chat.example.com/hook/{number}"))
    payload: dict[str, Any] = {
        "name": f"r{number}",
        "type": "Report",
        "crontab": CRONTABS[number % len(CRONTABS)],
        "timezone": ZONES[number // len(CRONTABS) % len(ZONES)],
        "report_format": "TEXT",
        "chart": 1,
        "recipients": recipients,
        "extra": {
            "missed": ("latest", "all", "skip")[number % 7 % 3],
            "delivery": "at_least_once" if number % 10 == 4 else "at_most_once",
            **({"keep_trying_s": 86_400} if keeps_trying else {}),
        },
    }
    if number % 4 == 1:
        payload |= {"type": "Alert", "database": 1, "sql": f"SELECT {number % 8 // 4}", "validator_type": "Not Null"}
        payload["grace_period"] = 7_200 if number % 3 == 1 else None
        payload = {name: value for name, value in payload.items() if value is not None}
    return payload


def _drawn(payload: Mapping[str, Any], number: int) -> dict[str, Any]:
    """Return a schedule that sends a picture in place of a text."""
    extra = {**payload["extra"], **({"format": "PDF"} if number % 2 else {})}
    return {**payload, "report_format": "PNG", "extra": extra, "force_screenshot": True}


def addresses_of(payload: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield kind and address of each recipient."""
    for one in payload["recipients"]:
        for address in one["recipient_config_json"]["target"].split(","):
            yield one["type"], address
