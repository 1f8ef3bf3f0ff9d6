"""The outbox of tests keeps what it is given, in order, and fails as often as it is told to."""

from __future__ import annotations

import pytest

from analytics_core.errors import NotificationError
from analytics_core.ports import DeliveryState, Message, Recipient
from analytics_core.testing import Outbox

DELIVERED, REFUSED, UNAVAILABLE, UNKNOWN = DeliveryState
TWO = Recipient(kind="Pager", to=("a", "b"))


def message(key: str = "k") -> Message:
    return Message(key=key, subject="Sales", text="3")


def test_it_keeps_message_recipient_and_addresses_in_order() -> None:
    outbox, first, second = Outbox(), message(), message("l")
    outbox.send(first, TWO)
    assert [one.address for one in outbox.send(second, TWO, only=["b"])] == ["b"]
    assert outbox.send(second, TWO, only=["c"]) == ()
    assert [(one.message, one.recipient, one.only) for one in outbox.sent] == [
        (first, TWO, None),
        (second, TWO, ("b",)),
    ]


def test_it_fails_as_often_and_in_the_ways_that_it_is_told() -> None:
    outbox = Outbox()
    outbox.fail_next(2, retry_after_s=7.0)
    outbox.fail_next(state=REFUSED)
    outbox.fail_next(state=UNKNOWN)
    found = [outbox.send(message(), TWO)[0] for _ in range(5)]
    assert [one.state for one in found] == [UNAVAILABLE, UNAVAILABLE, REFUSED, UNKNOWN, DELIVERED]
    assert [one.retry_after_s for one in found] == [7.0, 7.0, None, None, None]
    assert ([one.state for one in outbox.attempts], len(outbox.sent)) == ([one.state for one in found], 1)


def test_it_forgets_what_was_sent_and_what_shall_fail() -> None:
    outbox = Outbox()
    outbox.send(message(), TWO)
    outbox.fail_next()
    outbox.clear()
    assert outbox.attempts == ()
    assert outbox.send(message(), TWO)[0].is_delivered


def test_nothing_is_sent_after_its_end_and_what_was_sent_can_be_read() -> None:
    outbox = Outbox()
    outbox.send(message(), TWO)
    outbox.close()
    with pytest.raises(NotificationError, match="closed"):
        outbox.send(message(), TWO)
    assert len(outbox.sent) == 1
