"""Stopping from another thread: lost interrupts are repeated, late ones never sent."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from tests.support.cases import for_each

from analytics_core._engine.execution.cancel import CancelToken, Stopper, StopReason


def wait_for(condition: Callable[[], bool], timeout_s: float = 5.0) -> bool:
    deadline = time.monotonic() + timeout_s
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.002)
    return condition()


class Interrupts:
    """Counts interrupts; may fail each time."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.count = 0
        self.failure = failure

    def __call__(self) -> None:
        self.count += 1
        if self.failure:
            raise self.failure


def test_a_run_that_is_not_stopped_is_never_interrupted() -> None:
    stopper, interrupts = Stopper(), Interrupts()
    stopper.arm(interrupts, after_s=30)
    stopper.watch()
    stopper.finish()
    assert (stopper.reason, interrupts.count) == (None, 0)


def test_an_interrupt_is_repeated_until_the_run_reports() -> None:
    stopper, interrupts = Stopper(), Interrupts()
    stopper.arm(interrupts, after_s=None, repeat_s=0.002)
    stopper.stop(StopReason.CANCELLED)
    assert wait_for(lambda: interrupts.count >= 3)
    stopper.finish()
    after = interrupts.count
    time.sleep(0.03)
    assert interrupts.count == after


def test_the_time_limit_interrupts_by_itself() -> None:
    stopper, interrupts = Stopper(), Interrupts()
    stopper.arm(interrupts, after_s=0.02, repeat_s=0.002)
    stopper.watch()
    assert wait_for(lambda: interrupts.count >= 2)
    stopper.finish()
    assert stopper.reason is StopReason.TIMED_OUT


def test_cancelling_does_not_wait_for_the_time_limit() -> None:
    stopper, interrupts = Stopper(), Interrupts()
    stopper.arm(interrupts, after_s=60, repeat_s=0.002)
    stopper.watch()
    stopper.stop(StopReason.CANCELLED)
    assert wait_for(lambda: interrupts.count >= 1)
    stopper.finish()
    assert stopper.reason is StopReason.CANCELLED


def test_an_interrupt_that_fails_is_tried_again() -> None:
    stopper, interrupts = Stopper(), Interrupts(OSError("server gone"))
    stopper.arm(interrupts, after_s=None, repeat_s=0.002)
    stopper.stop(StopReason.CANCELLED)
    assert wait_for(lambda: interrupts.count >= 3)
    stopper.finish()


def test_a_stop_before_the_run_is_armed_interrupts_as_soon_as_it_is() -> None:
    stopper, interrupts = Stopper(), Interrupts()
    stopper.stop(StopReason.CANCELLED)
    stopper.arm(interrupts, after_s=None, repeat_s=0.002)
    assert wait_for(lambda: interrupts.count >= 1)
    stopper.finish()


def test_a_stop_after_the_run_has_no_effect() -> None:
    stopper, interrupts = Stopper(), Interrupts()
    stopper.arm(interrupts, after_s=None)
    stopper.finish()
    stopper.stop(StopReason.CANCELLED)
    assert (stopper.reason, interrupts.count) == (None, 0)


def test_the_first_reason_stays() -> None:
    stopper = Stopper()
    stopper.stop(StopReason.CANCELLED)
    stopper.note(StopReason.TIMED_OUT)
    assert stopper.reason is StopReason.CANCELLED


def test_a_run_whose_time_somebody_watches_is_interrupted_only_once_they_leave_that_to_it() -> None:
    stopper, interrupts = Stopper(), Interrupts()
    stopper.arm(interrupts, after_s=0.02, repeat_s=0.002)
    time.sleep(0.1)
    assert (interrupts.count, stopper.reason) == (0, None)
    stopper.watch()
    assert wait_for(lambda: interrupts.count > 1)
    assert stopper.reason is StopReason.TIMED_OUT
    stopper.finish()


def test_a_run_that_starts_after_its_time_was_left_to_it_is_interrupted() -> None:
    stopper, interrupts = Stopper(), Interrupts()
    stopper.watch()
    stopper.arm(interrupts, after_s=0.02, repeat_s=0.002)
    assert wait_for(lambda: interrupts.count > 1)
    stopper.finish()


def test_whoever_leaves_a_stopped_run_its_time_does_not_wait_for_its_interrupt() -> None:
    stopper, is_interrupting, release = Stopper(), threading.Event(), threading.Event()

    def slow_interrupt() -> None:
        is_interrupting.set()
        release.wait(5)

    stopper.arm(slow_interrupt, after_s=30)
    stopper.stop(StopReason.CANCELLED)
    assert is_interrupting.wait(5)
    started = time.monotonic()
    stopper.watch()
    assert time.monotonic() - started < 2
    release.set()
    stopper.finish()


def test_no_interrupt_is_under_way_when_finish_returns() -> None:
    running, is_interrupting, release = Stopper(), threading.Event(), threading.Event()
    times: list[float] = []

    def slow_interrupt() -> None:
        is_interrupting.set()
        release.wait(5)
        times.append(time.monotonic())

    running.arm(slow_interrupt, after_s=None)
    running.stop(StopReason.CANCELLED)
    assert is_interrupting.wait(5)
    threading.Timer(0.05, release.set).start()
    running.finish()
    assert times
    assert time.monotonic() >= times[0]


def test_cancel_may_be_called_often_and_returns_at_once() -> None:
    token, stopper, release, ended = CancelToken(), Stopper(), threading.Event(), threading.Event()

    def slow_interrupt() -> None:
        release.wait(10)
        ended.set()

    stopper.arm(slow_interrupt, after_s=None)
    token.attach(stopper)
    for _ in range(3):
        token.cancel()
    assert not ended.is_set()  # cancelling did not wait for the interrupt
    assert token.cancelled
    release.set()
    assert ended.wait(10)
    stopper.finish()
    token.detach(stopper)


def test_one_token_stops_several_runs() -> None:
    token, stoppers = CancelToken(), (Stopper(), Stopper())
    for stopper in stoppers:
        token.attach(stopper)
    token.cancel()
    assert [stopper.reason for stopper in stoppers] == [StopReason.CANCELLED] * 2


def test_a_token_that_was_cancelled_stops_what_is_attached_later() -> None:
    token, stopper = CancelToken(), Stopper()
    token.cancel()
    token.attach(stopper)
    assert stopper.reason is StopReason.CANCELLED


def test_a_detached_run_is_left_alone() -> None:
    token, stopper = CancelToken(), Stopper()
    token.attach(stopper)
    token.detach(stopper)
    token.cancel()
    assert stopper.reason is None


@for_each("attempt", range(5))
def test_a_race_of_cancel_and_finish_never_leaves_a_late_interrupt(attempt: int) -> None:
    stopper, interrupts, token = Stopper(), Interrupts(), CancelToken()
    stopper.arm(interrupts, after_s=0.001 * attempt, repeat_s=0.001)
    token.attach(stopper)
    thread = threading.Thread(target=token.cancel)
    thread.start()
    stopper.finish()
    after = interrupts.count
    thread.join()
    time.sleep(0.01)
    assert interrupts.count == after
