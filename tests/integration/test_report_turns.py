"""Runs that must not wait for each other: for slow receivers and owners, for claims, for notices, for lost leases."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.support.reports import HOUR, NOON, ReportWorld, chat, mail, report_world, until

from analytics_core._core.adapters.job_runners import ThreadJobRunner
from analytics_core._records.message import display_address
from analytics_core._records.repositories import ListQuery
from analytics_core._reports.dispatcher import queue_of
from analytics_core._reports.run_log import TOOK_TOO_LONG
from analytics_core.ports import AddressLookup, Delivery, DeliveryState, Message, Recipient
from analytics_core.testing import InlineJobRunner

MINUTE = timedelta(minutes=1)
SLOW, FAST = "https://slow.example.com/hook", "https://fast.example.com/hook"


class Gate:
    """A notifier of some addresses that hangs until it is opened."""

    def __init__(self, *retained: str, before: Callable[[], None] = lambda: None) -> None:
        self._retained = retained
        self._before = before
        self.opened = threading.Event()
        self.entered = threading.Semaphore(0)
        self.sent: list[str] = []

    def start(self, addresses: AddressLookup) -> None:
        """Connect to nothing."""

    def takes(self, recipient: Recipient) -> bool:
        """Tell whether it is one of the addresses."""
        return any(part in address for address in recipient.addresses for part in self._retained)

    def send(
        self, message: Message, recipient: Recipient, *, only: Collection[str] | None = None
    ) -> Sequence[Delivery]:
        """Hang, and then deliver."""
        self._before()
        self.entered.release()
        assert self.opened.wait(30)
        found = recipient.addresses if only is None else tuple(only)
        self.sent += [f"{address} {message.subject}" for address in found]
        return [Delivery(address=address, state=DeliveryState.DELIVERED) for address in found]

    def close(self) -> None:
        """Let go."""
        self.opened.set()


@contextmanager
def gated(folder: Path, *retained: str, **more: Any) -> Iterator[tuple[ReportWorld, Gate]]:
    """Give a world with eight threads whose messages to some addresses hang; in the end they are let go."""
    gate = Gate(*retained)
    url = f"sqlite:///{folder}/meta.db"
    with report_world(folder, url=url, jobs=ThreadJobRunner(workers=8), notifiers=[gate], **more) as world:
        try:
            yield world, gate
        finally:
            gate.opened.set()


# -------------------------------------------------------------------------------------------------------- receivers
@pytest.mark.slow
def test_a_slow_web_hook_does_not_hold_back_reports_to_others(tmp_path: Path) -> None:
    with gated(tmp_path, "slow.example.com") as (world, gate):
        slow = [world.report(name=f"slow {number}", recipients=[chat(SLOW)]) for number in range(8)]
        fast = world.report(name="fast", recipients=[chat(FAST)])
        mailed = world.report(name="mailed")
        world.clock.advance(HOUR)
        world.host.scheduler.tick(wait=False)
        assert until(lambda: len(world.outbox.sent) == 2)
        assert not gate.sent
        assert until(lambda: world.states(fast) + world.states(mailed) == ["Success"] * 2)
        gate.opened.set()
        assert until(lambda: all(world.states(one) == ["Success"] for one in slow))


@pytest.mark.slow
def test_reports_of_one_owner_that_hang_leave_turns_to_other_owners(tmp_path: Path) -> None:
    with gated(tmp_path, "slow@example.com") as (world, gate):
        anna = world.person("anna", world.admin.databases.get(1))
        for number in range(8):
            world.report(name=f"slow {number}", recipients=[mail("slow@example.com")])
        other = world.report(anna, name="of anna")
        world.clock.advance(HOUR)
        world.host.scheduler.tick(wait=False)
        assert until(lambda: world.states(other) == ["Success"])
        assert not gate.sent
        gate.opened.set()


@pytest.mark.slow
def test_a_tick_that_waits_goes_on_with_others_while_some_hang(tmp_path: Path) -> None:
    with gated(tmp_path, "slow.example.com") as (world, gate):
        for number in range(28):
            world.report(name=f"slow {number}", recipients=[chat(SLOW)])
        fast = world.report(name="fast", recipients=[chat(FAST)], crontab="0 13 * * *")
        world.clock.advance(HOUR)
        found: list[Any] = []
        thread = threading.Thread(target=lambda: found.append(world.host.scheduler.tick()))
        thread.start()
        assert until(lambda: len(world.outbox.sent) == 1)
        assert (world.outbox.sent[0].message.subject[-15:], found) == ("fast: By region", [])
        gate.opened.set()
        thread.join(30)
        assert (found[0].claimed, found[0].finished, len(gate.sent)) == (29, 29, 28)
        assert world.states(fast) == ["Success"]


def test_a_queue_names_receivers_by_kind_and_host_and_no_secret(tmp_path: Path) -> None:
    with report_world(tmp_path, jobs=InlineJobRunner()) as world:
        hooks = [chat(f"https://hooks.example.com/secret-{number}") for number in range(2)]
        made = world.report(recipients=[mail("a@example.com"), mail("b@example.com"), *hooks])
        with world.host._runtime.content.store.unit_of_work() as unit:
            queue = queue_of(unit.report_schedules.get(made.id))
            unreadable = queue_of(replace(unit.report_schedules.get(made.id), extra="[", executor_id=None))
    hook = display_address("https://hooks.example.com/x")
    assert queue == f"reports to Email + reports to Chat {hook} / user 1"
    assert unreadable.endswith(" / user None")


# ----------------------------------------------------------------------------------------------------------- claims
@pytest.mark.slow
def test_runs_begin_while_others_are_still_claimed(tmp_path: Path) -> None:
    seen: list[int] = []
    gate = Gate("bob@example.com")
    gate.opened.set()
    with report_world(tmp_path, jobs=InlineJobRunner(), notifiers=[gate]) as world:

        def count() -> None:
            with world.host._runtime.content.store.unit_of_work() as unit:
                seen.append(unit.report_executions.list(ListQuery())[0])

        gate._before = count
        for number in range(5):
            world.report(name=f"r{number}", crontab="* * * * *")
        tick = world.pass_time()
        assert (tick.due, tick.claimed, tick.missed, tick.finished) == (5, 5, 5 * 59, 5)
        assert seen == [60, 120, 180, 240, 300]


# ---------------------------------------------------------------------------------------------------------- notices
def test_a_mail_server_that_hangs_does_not_hold_up_the_look_that_ends_a_late_run(tmp_path: Path) -> None:
    with gated(tmp_path, "ada@example.com", "slow.example.com") as (world, gate):
        late = world.report(name="late", recipients=[chat(SLOW)])
        world.clock.advance(HOUR)
        world.host.scheduler.tick(wait=False)
        assert gate.entered.acquire(timeout=20)
        with world.host._runtime.content.store.unit_of_work() as unit:
            (run,) = unit.report_executions.list(ListQuery())[1]
            unit.report_executions.update(replace(run, late_on=NOON), actor_id=None)
        world.host.scheduler.tick(wait=False)
        assert [run.error_message for run in world.runs(late)] == [TOOK_TOO_LONG]
        assert gate.entered.acquire(timeout=20)  # the notice is on its way, and hangs
        gate.opened.set()
        assert until(lambda: any("Error occurred" in one for one in gate.sent))
        world.host.scheduler.tick()
        assert sum("Error occurred" in one for one in gate.sent) == 1


# ------------------------------------------------------------------------------------------------------------ fences
@pytest.mark.parametrize("promise", ["at_most_once", "at_least_once"])
def test_a_process_that_lost_its_lease_hands_over_nothing_more(tmp_path: Path, promise: str) -> None:
    first = Gate("a@example.com")
    first.opened.set()
    with report_world(tmp_path, jobs=InlineJobRunner(), notifiers=[first]) as world:

        def lose_lease() -> None:
            with world.host._runtime.content.store.unit_of_work() as unit:
                (worker,) = unit.job_workers.list(ListQuery())[1]
                unit.job_workers.update(replace(worker, lease_until=unit.now() - HOUR), actor_id=None)

        first._before = lose_lease
        recipients = [mail("a@example.com"), mail("b@example.com")]
        made = world.report(recipients=recipients, extra={"delivery": promise})
        world.pass_time()
        assert world.deliveries(made) == [("a@example.com", "delivered")]
        assert (world.states(made), world.outbox.sent) == (["Working"], ())
        first._before = lambda: None
        with world.host._runtime.content.store.unit_of_work() as unit:
            (run,) = unit.report_executions.list(ListQuery())[1]
            assert (run.end_dttm, run.attempts) == (None, 1)
            (worker,) = unit.job_workers.list(ListQuery())[1]
            unit.job_workers.update(replace(worker, lease_until=unit.now() + HOUR), actor_id=None)
        assert world.host.scheduler.tick().taken_up == 1  # another process would do as much
        assert world.states(made) == ["Success"]
        assert [entry.recipient.to for entry in world.outbox.sent] == [("b@example.com",)]
