"""What every `Notifier` must keep."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from analytics_core.errors import DatabaseError, NotificationError
from analytics_core.ports import (
    Attachment,
    DeliveryState,
    DestinationPurpose,
    Message,
    Notifier,
    Recipient,
)

_STRANGER = Recipient(kind="Carrier pigeon", to=("loft 7",))
_WORDS = "hunter2"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedMessage:
    """A message as its receiver has it.

    Attributes:
        text: all that is read of it.
        addresses: those of the recipient that got it, as the recipient has them.
        key: what the receiver tells copies by; empty where it has nothing of the kind.
    """

    text: str
    addresses: tuple[str, ...]
    key: str = ""


Received = Callable[[], Sequence[ReceivedMessage]]
Behave = Callable[[DeliveryState], None]


class NotifierConformance:
    """Subclass it and override the fixtures `notifier`, `recipient`, `received` and `behave`; the others where needed.

    The suite starts the notifier with addresses of the loopback.
    """

    @pytest.fixture
    def notifier(self) -> Notifier:
        """Return the notifier under test, not started."""
        raise NotImplementedError("override the fixture `notifier`")

    @pytest.fixture
    def recipient(self) -> Recipient:
        """Return whom it delivers to, with more than one address where it takes such."""
        raise NotImplementedError("override the fixture `recipient`")

    @pytest.fixture
    def received(self) -> Received:
        """Return a function that gives what has arrived in this test, in order."""
        raise NotImplementedError("override the fixture `received`")

    @pytest.fixture
    def behave(self) -> Behave:
        """Return a function that says what the receiver does with all further messages.

        DELIVERED: takes them, as in the beginning. REFUSED, UNAVAILABLE: does not, now or for good, with the word
        `hunter2` in its answer. UNKNOWN: it has all of a message, and gives no answer.
        """
        raise NotImplementedError("override the fixture `behave`")

    @pytest.fixture
    def stranger(self) -> Recipient | None:
        """Return whom it does not deliver to; None: it delivers to everybody."""
        return _STRANGER

    @pytest.fixture
    def connects(self) -> bool:
        """Tell whether it connects to anything."""
        return True

    @pytest.fixture
    def hang(self) -> Callable[[], float] | None:
        """Return what lets the receiver hang, and returns the limit of the notifier in seconds; None: nothing can."""
        return None

    @pytest.fixture
    def lookups(self) -> list[DestinationPurpose]:
        """Return the list of what addresses were asked for."""
        return []

    @pytest.fixture
    def started(self, notifier: Notifier, lookups: list[DestinationPurpose]) -> Iterator[Notifier]:
        """Yield the notifier, started, and close it afterwards."""

        def loopback(_host: str, _port: int, purpose: DestinationPurpose) -> Sequence[str]:
            lookups.append(purpose)
            return ("127.0.0.1",)

        notifier.start(loopback)
        yield notifier
        notifier.close()

    def test_it_is_a_notifier(self, notifier: Notifier) -> None:
        """It has all methods of the port."""
        assert isinstance(notifier, Notifier)

    def test_it_takes_its_recipients_alone(
        self, started: Notifier, recipient: Recipient, stranger: Recipient | None
    ) -> None:
        """Somebody else may deliver to the others."""
        assert started.takes(recipient) is True
        assert stranger is None or started.takes(stranger) is False

    def test_a_message_arrives_at_each_address(
        self, started: Notifier, recipient: Recipient, received: Received
    ) -> None:
        """Each address is told of once, in any order."""
        assert _states(started, _message(), recipient) == dict.fromkeys(recipient.addresses, DeliveryState.DELIVERED)
        (found,) = received()
        assert set(found.addresses) == set(recipient.addresses)
        assert "Sales of March" in found.text
        assert "three and a half" in found.text

    def test_only_the_addresses_that_are_asked_for_get_it(
        self, started: Notifier, recipient: Recipient, received: Received
    ) -> None:
        """The others have it already, or never will."""
        last = recipient.addresses[-1]
        assert _states(started, _message(), recipient, only=[last]) == {last: DeliveryState.DELIVERED}
        assert _states(started, _message(), recipient, only=["nobody's"]) == {}
        assert _states(started, _message(), recipient, only=()) == {}
        assert [found.addresses for found in received()] == [(last,)]

    def test_a_copy_has_the_key_of_the_first_and_another_message_another(
        self, started: Notifier, recipient: Recipient, received: Received
    ) -> None:
        """Whatever `only` names: so receivers can drop the second copy."""
        _states(started, _message(), recipient)
        _states(started, _message(), recipient)
        _states(started, _message(), recipient, only=[recipient.addresses[-1]])
        _states(started, _message("another"), recipient)
        first, again, partly, other = (found.key for found in received())
        assert first == again == partly
        assert other != first or first == ""

    def test_files_can_be_sent_again(self, started: Notifier, recipient: Recipient, received: Received) -> None:
        """An open file is read from its beginning each time."""
        sent = _message(file=io.BytesIO(b"a,b\n1,2\n"))
        for _ in range(2):
            assert set(_states(started, sent, recipient).values()) == {DeliveryState.DELIVERED}
        assert len(received()) == 2

    def test_many_threads_send_at_once(self, started: Notifier, recipient: Recipient, received: Received) -> None:
        """Nothing is lost, and nothing is mixed up."""
        sent = [_message(f"message {number}") for number in range(24)]
        with ThreadPoolExecutor(max_workers=6) as threads:
            found = list(threads.map(lambda one: _states(started, one, recipient), sent))
        assert [set(states.values()) for states in found] == [{DeliveryState.DELIVERED}] * 24
        texts = [one.text for one in received()]
        assert sorted(sum(f"key of {one.key}." in text for text in texts) for one in sent) == [1] * 24

    @pytest.mark.parametrize("state", list(DeliveryState))
    def test_what_became_of_it_is_told_without_words_of_the_receiver(
        self, started: Notifier, recipient: Recipient, behave: Behave, state: DeliveryState
    ) -> None:
        """A message that may have arrived is neither delivered nor to be sent again; the next one finds its way."""
        behave(state)
        reasons: list[str] = []
        assert _states(started, _message(), recipient, reasons=reasons) == dict.fromkeys(recipient.addresses, state)
        assert all(reasons) or state is DeliveryState.DELIVERED
        assert not [reason for reason in reasons if _WORDS in reason]
        behave(DeliveryState.DELIVERED)
        assert set(_states(started, _message(), recipient).values()) == {DeliveryState.DELIVERED}

    def test_it_connects_to_allowed_addresses_alone(
        self, notifier: Notifier, recipient: Recipient, received: Received, connects: bool
    ) -> None:
        """Where there are none, nothing arrives, and somebody is told."""
        if not connects:
            pytest.skip("it connects to nothing")
        notifier.start(_refuse)
        states = set(_states(notifier, _message(), recipient).values())
        assert states <= {DeliveryState.REFUSED, DeliveryState.UNAVAILABLE}
        assert received() == []
        notifier.close()

    def test_addresses_are_asked_for(
        self, started: Notifier, recipient: Recipient, connects: bool, lookups: list[DestinationPurpose]
    ) -> None:
        """By the purpose for which a host allows them."""
        _states(started, _message(), recipient)
        assert bool(lookups) is connects

    def test_it_takes_no_longer_than_its_limit(
        self, started: Notifier, recipient: Recipient, hang: Callable[[], float] | None
    ) -> None:
        """A receiver that hangs has it, or has it not."""
        if hang is None:
            pytest.skip("nothing can hang")
        limit_s = hang()
        begun = time.monotonic()
        states = set(_states(started, _message(), recipient).values())
        assert time.monotonic() - begun < limit_s + 2.0
        assert states <= {DeliveryState.UNKNOWN, DeliveryState.UNAVAILABLE}

    def test_nothing_is_sent_after_close(self, started: Notifier, recipient: Recipient, received: Received) -> None:
        """A second `close` does nothing."""
        started.close()
        started.close()
        assert DeliveryState.DELIVERED not in _states(started, _message(), recipient).values()
        assert received() == []


def _refuse(_host: str, _port: int, _purpose: DestinationPurpose) -> Sequence[str]:
    raise DatabaseError("the network policy does not let it be reached", retryable=False)


def _message(key: str = "a message", *, file: io.BytesIO | None = None) -> Message:
    files = () if file is None else (Attachment(name="orders.csv", content_type="text/csv", content=file),)
    text = f"They are three and a half, by the key of {key}."
    return Message(key=key, subject="Sales of March", text=text, attachments=files)


def _states(
    notifier: Notifier,
    message: Message,
    recipient: Recipient,
    *,
    only: Collection[str] | None = None,
    reasons: list[str] | None = None,
) -> Mapping[str, DeliveryState]:
    """Return what became of a message at each address; an error counts for all that were asked for."""
    messages = [] if reasons is None else reasons
    try:
        found = notifier.send(message, recipient, only=only)
    except NotificationError as error:
        messages.append(error.message)
        state = DeliveryState.UNAVAILABLE if error.retryable else DeliveryState.REFUSED
        return {address: state for address in recipient.addresses if only is None or address in only}
    messages.extend(delivery.reason for delivery in found)
    states = {delivery.address: delivery.state for delivery in found}
    assert len(states) == len(found), "an address is told of twice"
    return states
