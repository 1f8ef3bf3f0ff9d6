"""Judges what became of due times: by the store's rows, by the journal of the receivers, and by an own reference."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from pathlib import Path

from tests.support.scheduler_process import journal_lines

from analytics_core import AnalyticsCore
from analytics_core._records.report import ReportDelivery, ReportExecution
from analytics_core._records.repositories import ListFilter, ListQuery

FINAL = ("Success", "Error", "Not triggered", "On Grace", "Missed")
IN_DOUBT = ("sending", "unknown")
Times = Mapping[int, Sequence[datetime]]
Addresses = Mapping[int, Sequence[tuple[str, str]]]


@dataclass(kw_only=True)
class Judgement:
    """What came of a course, in numbers; `reported` names the first cases of what is wrong.

    Attributes:
        due: due times that the reference names.
        lost: those without a row.
        invented: rows at other times.
        stuck: rows that are not over, or stand in no final state.
        unsent: addresses of successful runs that got nothing.
        doubled: messages that came twice at an address, those in the window aside.
        misjudged: deliveries that the store tells otherwise than the receiver.
        crashed: processes that ended by themselves.
        in_window: deliveries in doubt, since their sender was killed before it recorded them.
        rejected_in_window: those of them that the receiver did not take, or was not asked to.
        doubled_in_window: messages that came twice since their schedule asks for at least once.
        later: messages given after their receiver had said later, since their schedule keeps trying.
        killed: processes.
        states: of the rows.
        took_s: without the making of the schedules; `quiet_s` of it after the last due time.
    """

    due: int = 0
    lost: int = 0
    invented: int = 0
    stuck: int = 0
    unsent: int = 0
    doubled: int = 0
    misjudged: int = 0
    rejected_in_window: int = 0
    crashed: int = 0
    in_window: int = 0
    doubled_in_window: int = 0
    later: int = 0
    killed: int = 0
    given: int = 0
    states: Counter[str] = field(default_factory=Counter)
    took_s: float = 0.0
    quiet_s: float = 0.0
    reported: list[str] = field(default_factory=list)

    def __add__(self, other: Judgement) -> Judgement:
        names = [one.name for one in fields(self)]
        return Judgement(**{name: getattr(self, name) + getattr(other, name) for name in names})

    @property
    def wrongs(self) -> Mapping[str, int]:
        """What must be 0, by its name."""
        names = ("lost", "invented", "stuck", "unsent", "doubled", "misjudged", "crashed")
        return {name: getattr(self, name) for name in names}

    def text(self) -> str:
        """Return the figures in one line."""
        states = ", ".join(f"{count} {state}" for state, count in sorted(self.states.items()))
        wrongs = ", ".join(f"{count} {name}" for name, count in self.wrongs.items())
        window = f"{self.in_window} in the window, {self.rejected_in_window} of them not taken, "
        window += f"{self.doubled_in_window} given again; {self.later} given later"
        return (
            f"{self.due} due times ({states}), {self.given} messages given, {self.killed} processes killed: {wrongs}; "
            f"{window}; {self.took_s:.0f} s, {self.quiet_s:.1f} s until quiet"
        )

    def _count(self, name: str, what: str) -> None:
        setattr(self, name, getattr(self, name) + 1)
        if getattr(self, name) <= 5:
            self.reported.append(f"{name}: {what}")


def judged(
    core: AnalyticsCore,
    due: Times,
    addresses: Addresses,
    *,
    folder: Path,
    killed: Collection[int],
    again: Collection[int],
    crashed: Sequence[str],
    took_s: float,
    quiet_s: float,
) -> Judgement:
    """Return the judgement on a store where all is quiet.

    Args:
        core: of the store.
        due: the due times of each schedule, by the reference.
        addresses: kind and address of each schedule's recipients.
        folder: holds the journal.
        killed: the processes that were killed.
        again: schedules that ask for at least once.
        crashed: how processes ended by themselves.
        took_s: how long the course took.
        quiet_s: how long after its last due time all was quiet.
    """
    found = Judgement(took_s=took_s, quiet_s=quiet_s, killed=len(killed), due=sum(map(len, due.values())))
    for how in crashed:
        found._count("crashed", how)
    journal: defaultdict[tuple[str, str], list[tuple[str, int]]] = defaultdict(list)
    for word, key, address, pid in journal_lines(folder):
        journal[key, address].append((word, pid))
    found.given = sum(word in ("given", "doubt") for tries in journal.values() for word, _ in tries)
    rows, deliveries = _stored(core)
    for schedule_id, times in due.items():
        _judge_rows(found, schedule_id, times, rows[schedule_id])
        for row in rows[schedule_id]:
            for kind, address in addresses[schedule_id]:
                tries = journal.pop((row.uuid, address), [])
                delivery = deliveries.get((row.id, hashlib.sha256(f"{kind}\0{address}".encode()).hexdigest()))
                is_again = schedule_id in again
                _judge_delivery(found, row, address, tries, delivery, killed=killed, is_again=is_again)
    for (key, address), tries in journal.items():  # what owners are told
        if sum(word in ("given", "doubt") for word, _ in tries) > 1:
            found._count("doubled", f"{key} at {address}: {tries}")
    return found


def _judge_rows(found: Judgement, schedule_id: int, times: Sequence[datetime], rows: Sequence[ReportExecution]) -> None:
    moments = Counter(row.scheduled_dttm for row in rows)
    for moment in set(times) - moments.keys():
        found._count("lost", f"schedule {schedule_id} at {moment}")
    for moment, count in moments.items():
        if moment not in times or count > 1:
            found._count("invented", f"schedule {schedule_id} at {moment}, {count} rows")
    for row in rows:
        found.states[row.state.value] += 1
        if row.end_dttm is None or row.state.value not in FINAL:
            found._count("stuck", f"schedule {schedule_id} at {row.scheduled_dttm}: {row}")


def _judge_delivery(
    found: Judgement,
    row: ReportExecution,
    address: str,
    tries: Sequence[tuple[str, int]],
    delivery: ReportDelivery | None,
    *,
    killed: Collection[int],
    is_again: bool,
) -> None:
    state = None if delivery is None else delivery.state
    given = [(word, pid) for word, pid in tries if word in ("given", "doubt")]
    found.later += bool(given) and any(word == "later" for word, _ in tries)
    where = f"run {row.id} ({row.state.value}, {row.error_message}) at {address}: {state}, {tries}"
    if len(given) > 1:
        is_in_window = is_again and all(word == "doubt" or pid in killed for word, pid in given[:-1])
        if is_in_window:
            found.doubled_in_window += 1
        else:
            found._count("doubled", where)
    if row.state.value == "Success" and not given:
        found._count("unsent", where)
    if (state == "delivered") != bool(given) and state not in IN_DOUBT:
        found._count("misjudged", where)
    if state in IN_DOUBT and not any(word == "doubt" for word, _ in given):
        found.in_window += 1
        if not tries or tries[-1][0] in ("failed", "later"):  # killed just before the first try, or after the last
            found.rejected_in_window += 1
        if tries and tries[-1][1] not in killed:
            found._count("misjudged", where)


def _stored(
    core: AnalyticsCore,
) -> tuple[Mapping[int, Sequence[ReportExecution]], Mapping[tuple[int, str], ReportDelivery]]:
    """Return the runs of each schedule, and what became of each message by run and recipient."""
    rows: defaultdict[int, list[ReportExecution]] = defaultdict(list)
    deliveries = {}
    all_of_them = ListQuery(filters=(ListFilter(col="id", op="gt", val=0),), page_size=10_000_000)
    with core._runtime.content.store.unit_of_work() as unit:
        for row in unit.report_executions.list(all_of_them)[1]:
            rows[row.schedule_id].append(row)
        for one in unit.report_deliveries.list(all_of_them)[1]:
            deliveries[one.execution_id, one.recipient_key] = one
    return rows, deliveries
