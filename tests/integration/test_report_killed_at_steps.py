"""A scheduler that dies at any step of a run, a statement, an end of a transaction or a message: the next goes on."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.support.many_records import engine_of
from tests.support.reports import HOUR, KEY, NoPause, ReportWorld, mail, report_world

from analytics_core import AnalyticsCore, Settings
from analytics_core._reports.delivery_rows import DIED_MIDWAY
from analytics_core.ports import Delivery, Message, Recipient
from analytics_core.testing import FakeRenderer, InlineJobRunner, Outbox

PAST = "2000-01-01 00:00:00.000000"
TARGETS = ("a@example.com", "b@example.com")


class KilledError(BaseException):
    """The process is no more."""


class Life:
    """What a process does in its main thread, step by step, until it dies; `remaining` are the steps before that."""

    def __init__(self) -> None:
        self.remaining = 0
        self._thread = threading.get_ident()

    def step(self, *_: Any) -> None:
        """Do one step more, unless it is dead."""
        if threading.get_ident() == self._thread:
            self.remaining -= 1
            if self.remaining < 0:
                raise KilledError


class MortalOutbox:
    """Hands messages over, a step each, while the process lives."""

    def __init__(self, outbox: Outbox, life: Life) -> None:
        self._outbox = outbox
        self._life = life
        self.start, self.takes, self.close = outbox.start, outbox.takes, outbox.close

    def send(self, message: Message, recipient: Recipient, *, only: Collection[str]) -> Sequence[Delivery]:
        """Send a message; the process may die just before."""
        self._life.step()
        return self._outbox.send(message, recipient, only=only)


@contextmanager
def mortal_core(world: ReportWorld, url: str, life: Life) -> Iterator[AnalyticsCore]:
    """Give the core of processes that die: what they ask of the store, and the ends of transactions, are steps."""
    core = AnalyticsCore(
        Settings(secret_key=KEY, data_roots=(world.file.parent,)),
        metadata_url=url,
        clock=world.clock,
        notifiers=[MortalOutbox(world.outbox, life)],
        jobs=InlineJobRunner(),
        sleeper=NoPause(),
        renderer=FakeRenderer(),
    )
    with core:
        for name in ("before_cursor_execute", "commit"):
            sa.event.listen(engine_of(core), name, life.step)
        yield core
        life.remaining = 10_000


def lives_through(core: AnalyticsCore, life: Life, steps: int) -> bool:
    """Look for what is due in a new process, as forks are, that lives for so many steps; return whether it lives on."""
    jobs = core._runtime.content.job_registry
    jobs._heartbeat.close()
    for forked in (jobs, jobs._heartbeat):
        forked.after_fork()
    life.remaining = 10_000
    jobs._heartbeat.hold()
    life.remaining = steps
    try:
        core.scheduler.tick()
    except KilledError:
        return False
    return life.remaining >= 0


def end_leases_of_others(core: AnalyticsCore) -> None:
    """Let the leases of other processes be over, as half a minute later, and those of runs that nobody began."""
    own = core._runtime.content.job_registry._heartbeat.token
    with engine_of(core).begin() as connection:
        over = f"SET lease_until = '{PAST}' WHERE"
        connection.exec_driver_sql(f"UPDATE ac_job_workers {over} token <> ?", (own,))
        connection.exec_driver_sql(f"UPDATE ac_report_executions {over} lease_until NOT NULL")


def open_jobs_of_good_ends(core: AnalyticsCore) -> int:
    """Return how many jobs are not over whose runs ended well: both are recorded together."""
    with engine_of(core).begin() as connection:
        return connection.exec_driver_sql(
            "SELECT COUNT(*) FROM ac_jobs AS job JOIN ac_report_executions AS run ON run.job_id = job.job_id "
            "WHERE run.state = 'Success' AND job.ended_on IS NULL"
        ).scalar_one()


def sent_to(world: ReportWorld, run: str) -> list[int]:
    """Return how often each recipient got the message of a run."""
    got = [one.recipient.to for one in world.outbox.sent if one.message.key == run]
    return [got.count((target,)) for target in TARGETS]


@pytest.mark.slow
@pytest.mark.parametrize("promise", ["at_most_once", pytest.param("at_least_once", marks=pytest.mark.long)])
def test_a_run_whose_process_dies_at_any_step_is_neither_lost_nor_doubled(tmp_path: Path, promise: str) -> None:
    url, life, steps, lives = f"sqlite:///{tmp_path}/meta.db", Life(), 0, False
    with (
        report_world(tmp_path, url=url, jobs=InlineJobRunner()) as world,
        mortal_core(world, url, life) as mortal,
    ):
        made = world.report(recipients=[mail(target) for target in TARGETS], extra={"delivery": promise})
        world.host._runtime.content.job_registry._heartbeat.hold()
        while not lives:
            world.clock.advance(HOUR)
            lives = lives_through(mortal, life, steps)
            assert not open_jobs_of_good_ends(world.host), steps
            end_leases_of_others(world.host)
            world.host.scheduler.tick()
            again = world.host.scheduler.tick()
            assert (again.claimed, again.taken_up, again.missed) == (0, 0, 0), steps
            run, sent = world.runs(made)[-1], sent_to(world, world.runs(made)[-1].uuid)
            assert run.scheduled_dttm == world.clock.now(), steps
            if promise == "at_least_once":
                assert (run.state, min(sent), max(sent) <= 2) == ("Success", 1, True), steps
            else:
                doubts = (run.error_message or "").count(DIED_MIDWAY)
                assert (run.state == "Success", max(sent)) == (not doubts, 1), steps
                assert sum(sent) in (2 - doubts, 2), steps
            steps += 1
        assert len(world.runs(made)) == steps > 50
