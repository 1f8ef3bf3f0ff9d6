"""Deliveries are tried again where that may help, and nowhere else; each address gets an answer, come what may."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from analytics_core._records.message import Delivery, DeliveryState, Message, Recipient
from analytics_core._reports.delivery import Deliveries, Outage, Outages, RetryPolicy, installed_notifiers, later_s
from analytics_core.errors import DatabaseError, ErrorType, NotificationError, SettingsError
from analytics_core.ports import AddressLookup
from analytics_core.testing.clock import FixedClock

MESSAGE = Message(key="k", subject="Sales", text="3")
THREE = Recipient(kind="Email", to=("a@x", "b@x"), bcc=("c@x",))
DELIVERED, REFUSED, UNAVAILABLE, UNKNOWN = DeliveryState

Answer = Callable[[str], Delivery] | Exception


class ScriptedNotifier:
    """Answers each attempt by its script, and delivers afterwards."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.queried: list[tuple[str, ...]] = []
        self.keys: set[str] = set()

    def start(self, addresses: AddressLookup) -> None:
        """Connect to nothing."""

    def takes(self, recipient: Recipient) -> bool:
        return recipient.kind == "Email"

    def send(
        self, message: Message, recipient: Recipient, *, only: Collection[str] | None = None
    ) -> Sequence[Delivery]:
        addresses = tuple(recipient.addresses if only is None else only)
        self.queried.append(addresses)
        self.keys.add(message.key_for(recipient))
        answer = self.answers.pop(0) if self.answers else all_are(DELIVERED)
        if isinstance(answer, Exception):
            raise answer
        return [answer(address) for address in addresses]

    def close(self) -> None:
        """Hold nothing."""


class PassingTime:
    """Moves a clock on in place of waiting."""

    def __init__(self, clock: FixedClock) -> None:
        self.clock = clock
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.clock.advance(timedelta(seconds=seconds))


def all_are(state: DeliveryState, **facts: Any) -> Callable[[str], Delivery]:
    return lambda address: Delivery(address=address, state=state, reason="why", **facts)


def deliver(
    notifier: ScriptedNotifier, *, only: Collection[str] | None = None, repeats_unknown: bool = False, **policy: Any
) -> tuple[list[DeliveryState], list[float], tuple[Delivery, ...]]:
    clock = FixedClock(datetime(2026, 1, 1, tzinfo=UTC))
    time = PassingTime(clock)
    deliveries = Deliveries(
        [notifier], clock=clock, sleeper=time, jitter=lambda: 1.0, policy=RetryPolicy(**policy) if policy else None
    )
    found = deliveries.deliver(MESSAGE, THREE, only=only, repeats_unknown=repeats_unknown)
    assert [delivery.address for delivery in found] == [a for a in THREE.addresses if only is None or a in only]
    return [delivery.state for delivery in found], time.slept, found


def test_only_the_addresses_that_were_unavailable_are_tried_again() -> None:
    first = {"a@x": DELIVERED, "b@x": UNAVAILABLE, "c@x": REFUSED}
    notifier = ScriptedNotifier(lambda address: all_are(first[address])(address))
    states, slept, _ = deliver(notifier)
    assert states == [DELIVERED, DELIVERED, REFUSED]
    assert notifier.queried == [("a@x", "b@x", "c@x"), ("b@x",)]
    assert (slept, len(notifier.keys)) == ([1.0], 1)


def test_pauses_double_up_to_the_longest_and_attempts_end() -> None:
    notifier = ScriptedNotifier(*[all_are(UNAVAILABLE)] * 9)
    states, slept, _ = deliver(notifier, attempts=6, longest_pause_s=5.0)
    assert states == [UNAVAILABLE] * 3
    assert slept == [1.0, 2.0, 4.0, 5.0, 5.0]
    assert len(notifier.queried) == 6


def test_what_one_notifier_does_not_bring_there_the_next_one_does() -> None:
    first = {"a@x": DELIVERED, "b@x": REFUSED, "c@x": UNKNOWN}
    for script, addresses in (
        ([all_are(UNAVAILABLE)] * 9, ("a@x", "b@x", "c@x")),
        ([NotificationError("not started")], ("a@x", "b@x", "c@x")),
        ([lambda address: all_are(first[address])(address)], ("b@x",)),
        ([], None),
    ):
        clock = FixedClock(datetime(2026, 1, 1, tzinfo=UTC))
        one, other = ScriptedNotifier(*script), ScriptedNotifier()
        deliveries = Deliveries([one, other], clock=clock, sleeper=PassingTime(clock), jitter=lambda: 1.0)
        found = deliveries.deliver_by_any(MESSAGE, THREE, outages={})
        assert [delivery.address for delivery in found] == list(THREE.addresses)
        doubted = UNKNOWN if addresses == ("b@x",) else DELIVERED
        assert [delivery.state for delivery in found] == [DELIVERED, DELIVERED, doubted]
        assert other.queried == ([] if addresses is None else [addresses])
    assert deliveries.deliver_by_any(MESSAGE, Recipient(kind="Chat", to=("#ops",)), outages={}) == ()


def test_those_who_were_away_are_tried_later_until_time_is_over() -> None:
    away, gone = NotificationError("away", retryable=True), NotificationError("gone")
    busy = NotificationError("busy", retryable=True, retry_after_s=1_000.0)
    cases: tuple[tuple[list[NotificationError], float, float, float | None], ...] = (
        ([away], 15.0, 3_600.0, 60.0),
        ([gone, away], 200.0, 3_600.0, 200.0),
        ([away], 5_000.0, 3_600.0, 900.0),
        ([away], -3_600.0, 3_600.0, 60.0),  # a clock was put back
        ([away, busy], 15.0, 3_600.0, 1_000.0),
        ([away, busy], 15.0, 999.0, 60.0),
        ([gone, busy], 15.0, 999.0, None),
        ([away], 5_000.0, 60.0, 60.0),
        ([away], 5_000.0, 59.0, None),
        ([gone], 15.0, 3_600.0, None),
        ([], 15.0, 3_600.0, None),
    )
    for errors, waited_s, remaining_s, pause_s in cases:
        assert later_s(errors, waited_s=waited_s, remaining_s=remaining_s) == pause_s, (errors, waited_s, remaining_s)


def test_half_of_a_pause_is_random() -> None:
    clock = FixedClock(datetime(2026, 1, 1, tzinfo=UTC))
    time = PassingTime(clock)
    notifier = ScriptedNotifier(all_are(UNAVAILABLE), all_are(UNAVAILABLE))
    Deliveries([notifier], clock=clock, sleeper=time, jitter=iter((0.0, 0.5)).__next__).deliver(MESSAGE, THREE)
    assert time.slept == [0.5, 1.5]


def test_a_receiver_that_asks_for_time_gets_it() -> None:
    assert deliver(ScriptedNotifier(all_are(UNAVAILABLE, retry_after_s=30.0)))[1] == [31.0]
    busy = NotificationError("busy", retryable=True, retry_after_s=7.0)
    assert deliver(ScriptedNotifier(busy))[:2] == ([DELIVERED] * 3, [8.0])


def test_a_receiver_that_asks_for_too_much_time_is_not_waited_for() -> None:
    states, slept, found = deliver(ScriptedNotifier(all_are(UNAVAILABLE, retry_after_s=3_600.0)))
    assert (states, slept) == ([UNAVAILABLE] * 3, [])
    error = found[0].error()
    assert error is not None
    assert (error.retry_after_s, error.retryable) == (3_600.0, True)


def test_refusals_are_not_tried_again() -> None:
    notifier = ScriptedNotifier(all_are(REFUSED))
    assert deliver(notifier)[:2] == ([REFUSED] * 3, [])


def test_what_may_have_been_delivered_is_sent_again_only_where_that_is_asked_for() -> None:
    assert deliver(ScriptedNotifier(all_are(UNKNOWN)))[:2] == ([UNKNOWN] * 3, [])
    assert deliver(ScriptedNotifier(all_are(UNKNOWN)), repeats_unknown=True)[0] == [DELIVERED] * 3


def test_a_rest_that_is_no_number_of_seconds_is_none() -> None:
    for rest_s in (float("nan"), -5.0, 0, "soon"):
        fields: Any = {"retry_after_s": rest_s}
        for busy in (all_are(UNAVAILABLE, **fields), NotificationError("busy", retryable=True, **fields)):
            states, slept, _ = deliver(ScriptedNotifier(*[busy] * 9))
            assert (states, slept) == ([UNAVAILABLE] * 3, [1.0, 2.0, 4.0, 8.0]), rest_s
    for rest_s in (float("inf"), 10**400):
        assert deliver(ScriptedNotifier(all_are(UNAVAILABLE, retry_after_s=rest_s)))[1] == []


def test_what_a_notifier_tells_can_be_recorded_whatever_it_is() -> None:
    odd: Any = Delivery(address="a@x", state="delivered", reason="no\0 \ud800")  # type: ignore[arg-type]
    states, _, found = deliver(ScriptedNotifier(lambda address: replace(odd, address=address)))
    assert states == [DELIVERED] * 3
    assert found[0].reason == "no\N{REPLACEMENT CHARACTER} ?"
    for answer in (lambda _: None, lambda address: replace(odd, address=address, state="on its way")):
        reply: Any = answer
        assert deliver(ScriptedNotifier(reply))[0] == [UNKNOWN] * 3


def test_a_notifier_that_cannot_tell_whom_it_takes_is_passed_over(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(ScriptedNotifier):
        def takes(self, recipient: Recipient) -> bool:
            raise RuntimeError("hunter2")

    clock = FixedClock(datetime(2026, 1, 1, tzinfo=UTC))
    broken, sound = Broken(), ScriptedNotifier()
    for notifiers, states in (([broken, sound], {DELIVERED}), ([broken], {REFUSED})):
        deliveries = Deliveries(notifiers, clock=clock, sleeper=PassingTime(clock), jitter=lambda: 1.0)
        assert {one.state for one in deliveries.deliver(MESSAGE, THREE)} == states
    assert not broken.queried
    assert "it failed (RuntimeError)" in caplog.text
    assert "hunter2" not in caplog.text


PEOPLE = [Recipient(kind="Email", to=(f"{number}@x",)) for number in range(200)]


def one_after_the_other(
    answer: Callable[[int], Answer], recipients: Sequence[Recipient] = PEOPLE
) -> tuple[Counter[DeliveryState], float, int, Delivery]:
    """Send to recipients of one run; the answers go by the seconds that have passed."""
    begun = datetime(2026, 1, 1, tzinfo=UTC)
    clock = FixedClock(begun)

    def reply(address: str) -> Delivery:
        now = answer(int((clock.now() - begun).total_seconds()))
        assert not isinstance(now, Exception)
        return now(address)

    notifier = ScriptedNotifier(*[reply] * 999)
    deliveries = Deliveries([notifier], clock=clock, sleeper=PassingTime(clock), jitter=lambda: 1.0)
    outages: Outages = {}
    found = [deliveries.deliver(MESSAGE, one, outages=outages)[0] for one in recipients]
    passed_s = (clock.now() - begun).total_seconds()
    return Counter(one.state for one in found), passed_s, len(notifier.queried), found[-1]


def test_a_receiver_that_is_away_is_waited_for_once_however_many_recipients_there_are() -> None:
    states, passed_s, requests, last = one_after_the_other(lambda _: all_are(UNAVAILABLE))
    assert (states, requests) == ({UNAVAILABLE: 200}, 5 + 35)
    assert 285 < passed_s <= 300
    assert last.reason == "not tried, as the receiver took nothing for others before: why"
    assert one_after_the_other(lambda _: all_are(UNAVAILABLE), PEOPLE[:4])[1] == 15 + 3 * 8


def test_a_receiver_that_comes_back_gets_the_messages_of_all_who_follow() -> None:
    states, _, requests, _ = one_after_the_other(lambda now_s: all_are(UNAVAILABLE if now_s < 40 else DELIVERED))
    assert (states, requests) == ({UNAVAILABLE: 4, DELIVERED: 196}, 5 + 4 + 195)


def test_a_receiver_that_is_away_holds_up_nobody_at_others() -> None:
    hooks = [Recipient(kind="Email", to=(f"https://{host}.example/{n}",)) for n in range(3) for host in "ab"]
    clock = FixedClock(datetime(2026, 1, 1, tzinfo=UTC))
    time, outages = PassingTime(clock), dict[tuple[int, str], Outage]()
    notifier = ScriptedNotifier(*[lambda address: all_are(UNAVAILABLE if "a." in address else DELIVERED)(address)] * 99)
    deliveries = Deliveries([notifier], clock=clock, sleeper=time, jitter=lambda: 1.0)
    states = [deliveries.deliver(MESSAGE, hook, outages=outages)[0].state for hook in hooks]
    assert states == [UNAVAILABLE, DELIVERED] * 3
    assert time.slept == [1.0, 2.0, 4.0, 8.0, 8.0, 8.0]
    assert [name for _, name in outages] == ["Email https://a.example/XXXXXXXXXX"]


def test_addresses_that_were_reached_before_are_not_asked_again() -> None:
    notifier = ScriptedNotifier()
    assert deliver(notifier, only=["b@x"])[0] == [DELIVERED]
    assert notifier.queried == [("b@x",)]


@pytest.mark.parametrize(
    ("raised", "state"),
    [
        (NotificationError("no"), REFUSED),
        (DatabaseError("not reached", error_type=ErrorType.CONNECTION_ACCESS_DENIED_ERROR, retryable=False), REFUSED),
        (RuntimeError("hunter2"), UNKNOWN),
        (KeyError("hunter2"), UNKNOWN),
    ],
    ids=["ours", "network", "runtime", "key"],
)
def test_whatever_a_notifier_raises_each_address_has_an_answer(raised: Exception, state: DeliveryState) -> None:
    states, _, found = deliver(ScriptedNotifier(raised))
    assert states == [state] * 3
    assert "hunter2" not in str(found)


def test_an_address_that_a_notifier_forgets_is_told_as_unknown() -> None:
    class Forgetful(ScriptedNotifier):
        def send(self, *_: Any, **__: Any) -> Sequence[Delivery]:
            return [Delivery(address="a@x", state=DELIVERED)]

    assert deliver(Forgetful())[0] == [DELIVERED, UNKNOWN, UNKNOWN]


def test_a_recipient_that_nobody_takes_is_told() -> None:
    clock = FixedClock(datetime(2026, 1, 1, tzinfo=UTC))
    deliveries = Deliveries([ScriptedNotifier()], clock=clock, sleeper=PassingTime(clock), jitter=lambda: 1.0)
    pager = Recipient(kind="Pager", to=("1",))
    assert not deliveries.takes(pager)
    (found,) = deliveries.deliver(MESSAGE, pager)
    message = str(found.error())
    assert message.startswith(
        "1 was not reached: no notifier takes recipients of the kind 'Pager'; give AnalyticsCore one"
    )
    error = found.error()
    assert error is not None
    assert error.to_payload()["errors"][0]["error_type"] == "REPORT_NOTIFICATION_ERROR"


def test_notifiers_of_packages_come_in_the_order_of_their_names_and_what_makes_none_is_refused() -> None:
    class Entry:
        def __init__(self, name: str, made: Any) -> None:
            self.name, self.made = name, made

        def load(self) -> Any:
            if isinstance(self.made, Exception):
                raise self.made
            return self.made

    first, second = ScriptedNotifier(), ScriptedNotifier()
    entries: Any = [Entry("b", lambda: second), Entry("a", lambda: first)]
    assert installed_notifiers(entries) == (first, second)
    for made, match in (
        (ImportError("x"), "'c' of .* cannot be loaded"),
        (AttributeError("x"), "'c' of .* cannot be loaded"),
        (lambda needed: needed, "'c' of .* cannot be loaded"),
        (RuntimeError("x"), "'c' of .* cannot be loaded"),
        (object, "'c' of .* must make a Notifier"),
    ):
        broken: Any = [Entry("c", made)]
        with pytest.raises(SettingsError, match=match):
            installed_notifiers(broken)


def test_the_policy_of_the_contract_tries_five_times_in_five_minutes() -> None:
    clock = FixedClock(datetime(2026, 1, 1, tzinfo=UTC))
    for jitter, slept in ((0.0, [0.5, 1.0, 2.0, 4.0]), (1.0, [1.0, 2.0, 4.0, 8.0])):
        time, notifier = PassingTime(clock), ScriptedNotifier(*[all_are(UNAVAILABLE)] * 9)
        deliveries = Deliveries([notifier], clock=clock, sleeper=time, jitter=lambda jitter=jitter: jitter)
        assert {one.state for one in deliveries.deliver(MESSAGE, THREE)} == {UNAVAILABLE}
        assert (time.slept, len(notifier.queried)) == (slept, 5)
    long_pauses = {"attempts": 20, "first_pause_s": 40.0}
    _, pauses, _ = deliver(ScriptedNotifier(*[all_are(UNAVAILABLE)] * 30), **long_pauses)
    assert pauses == [40.0, 60.0, 60.0, 60.0, 60.0]
