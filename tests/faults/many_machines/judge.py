"""Judges what became of due times, jobs and changes once all is quiet, by the store, the mails and the database."""

from __future__ import annotations

import json
import re
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from email import message_from_bytes, policy
from typing import Any

from tests.faults.many_machines.load import Noted, right_answer, without_ids
from tests.faults.tally import Tally
from tests.support.mail_server import ArrivedMail

from analytics_core import AnalyticsCore
from analytics_core._records.repositories import ListFilter, ListQuery
from analytics_core.errors import AnalyticsError

QUIET_S = 180.0
FINAL = ("Success", "Error", "Missed")
IN_DOUBT = ("sending", "unknown")
EVERYTHING = ListQuery(filters=(ListFilter(col="id", op="gt", val=0),), page_size=10_000_000)
UNFINISHED = ListQuery(filters=(ListFilter(col="ended_on", op="is_null", val=True),), page_size=1_000)
UNFINISHED_RUNS = ListQuery(filters=(ListFilter(col="end_dttm", op="is_null", val=True),), page_size=1_000)


def wait_until_quiet(core: AnalyticsCore, last_due: datetime) -> float:
    """Return after how many seconds no job and no run was open any more; a number beyond `QUIET_S`: some were."""
    began = time.monotonic()
    while (waited := time.monotonic() - began) < QUIET_S:
        with suppress(AnalyticsError), core._runtime.content.store.unit_of_work() as unit:
            is_past = unit.now() > last_due + timedelta(seconds=5)
            if is_past and not unit.jobs.list(UNFINISHED)[0] and not unit.report_executions.list(UNFINISHED_RUNS)[0]:
                return waited
        time.sleep(0.5)
    return QUIET_S + 1


def judge_answers(tally: Tally, noted: Noted) -> None:
    """Count what clients were answered."""
    tally.tries += noted.counts.total()
    tally.answered += noted.counts["answered"]
    tally.rejected += noted.counts["rejected"] + noted.counts["cut"]
    tally.raw += len(noted.raw)
    tally.late += len(noted.late)
    tally.lost += len(noted.wrong)
    tally.slowest_s = noted.slowest_s
    for found in (noted.raw, noted.late, noted.wrong):
        tally.reported += [f"{tally.name}: {what}" for what in found[:10]]
    tally.reported.append(
        f"{tally.name}: requests: {listed(noted.counts)}; jobs as clients saw them: {listed(noted.ends)}"
    )
    tally.reported += [f"{tally.name}: {count} times {what}" for what, count in noted.refusals.most_common(20)]


def judge_jobs(tally: Tally, core: AnalyticsCore) -> None:
    """Count jobs that are not over, or ended as no fault ends them, by the store."""
    with core._runtime.content.store.unit_of_work() as unit:
        jobs = unit.jobs.list(EVERYTHING)[1]
    states = Counter(f"{job.kind} {job.state.value}" for job in jobs)
    tally.reported.append(f"{tally.name}: jobs in the store: {listed(states)}")
    for kind, count in states.items():
        state = kind.rpartition(" ")[2]
        tally.require(state not in ("pending", "running"), f"{count} jobs are open for ever: {kind}")
        tally.require(state != "stopped", f"{count} jobs were stopped, which nobody asked for: {kind}")
    errors = Counter(without_ids(json.loads(job.error)["message"]) for job in jobs if job.error)
    tally.reported += [f"{tally.name}: {count} jobs: {message}" for message, count in errors.most_common(12)]


def judge_changes(tally: Tally, noted: Noted, marks: Sequence[tuple[str, int]]) -> None:
    """Compare the rows that were inserted with what clients were told of them."""
    found = dict(marks)
    doubled = [mark for mark, count in found.items() if count > 1]
    tally.require(not doubled, f"{len(doubled)} changes have their effect twice: {doubled[:5]}")
    for mark, state in noted.marks.items():
        if state == "success":
            tally.require(found.get(mark) == 1, f"change {mark} succeeded, and has {found.get(mark, 0)} rows")
    in_doubt = sum(mark in found for mark, state in noted.marks.items() if state != "success")
    tally.reported.append(
        f"{tally.name}: {len(noted.marks)} changes, {len(found)} of them made; {in_doubt} made that did not succeed"
    )


def judge_reports(
    tally: Tally, core: AnalyticsCore, due: Mapping[int, Sequence[datetime]], mails: Sequence[ArrivedMail]
) -> None:
    """Compare due times with runs, and runs with what arrived."""
    with core._runtime.content.store.unit_of_work() as unit:
        runs = [run for run in unit.report_executions.list(EVERYTHING)[1] if run.schedule_id in due]
        deliveries = defaultdict(list)
        for one in unit.report_deliveries.list(EVERYTHING)[1]:
            deliveries[one.execution_id].append(one)
    by_time = Counter((run.schedule_id, run.scheduled_dttm) for run in runs)
    expected = {(schedule, moment) for schedule, moments in due.items() for moment in moments}
    for key in sorted(expected):
        tally.require(by_time[key] == 1, f"schedule {key[0]} has {by_time[key]} runs at {key[1]}")
    for key in by_time.keys() - expected:
        tally.require(False, f"schedule {key[0]} has a run at {key[1]}, when it was not due")
    arrived = _arrived(mails)
    names = _names(core)
    states, whys = Counter[str](), Counter[str]()
    for run in runs:
        states[run.state.value] += 1
        whys[run.error_message or ""] += 1
        subject = f"{names[run.schedule_id]} due {run.scheduled_dttm:%Y-%m-%d %H:%M}"
        _judge_run(tally, run, arrived.get(subject, ()), deliveries[run.id])
    sent = sum(len(copies) for subject, copies in arrived.items() if " due " in subject)
    figures = f"{len(expected)} due times: {listed(states)}; {sent} mails of them, {len(mails) - sent} to owners"
    tally.reported.append(f"{tally.name}: {figures}")
    tally.reported += [f"{tally.name}: {count} runs: {why}" for why, count in whys.most_common(12) if why]


def _judge_run(tally: Tally, run: Any, mails: Sequence[str], deliveries: Sequence[Any]) -> None:
    states = [one.state for one in deliveries]
    where = f"run {run.id}, {run.state.value}, {run.error_message}: {states}, {len(mails)} mails"
    tally.require(run.state.value in FINAL, where)
    tally.require(len(mails) <= 1, f"doubled: {where}")
    if run.state.value == "Success" or "delivered" in states:
        tally.require(mails, f"not sent: {where}")
    if mails and "delivered" not in states:
        tally.require(any(state in IN_DOUBT for state in states), f"sent, but not recorded: {where}")
    for text in mails:
        tally.require(is_table_of_orders(text), f"a mail has other rows: {where}: {text[:600]}")


def _arrived(mails: Sequence[ArrivedMail]) -> Mapping[str, Sequence[str]]:
    """Return the texts of the mails by their subjects without the zone."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for mail in mails:
        message: Any = message_from_bytes(mail.content, policy=policy.default)
        text = message.get_body(("plain",)).get_content()
        found[str(message["Subject"]).removesuffix(" UTC")].append(text)
    return found


def _names(core: AnalyticsCore) -> Mapping[int, str]:
    with core._runtime.content.store.unit_of_work() as unit:
        return {schedule.id: schedule.name for schedule in unit.report_schedules.list(EVERYTHING)[1]}


def is_table_of_orders(text: str) -> bool:
    """Tell whether a mail shows the table of all orders."""
    numbers = re.sub(r"(?<=\d)[,.](?=\d{3}\b)", "", text)
    return all(re.search(rf"{region}\W+{total}\b", numbers) for region, total, _ in right_answer(0))


def listed(counts: Mapping[str, int]) -> str:
    """Return counts as a text."""
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
