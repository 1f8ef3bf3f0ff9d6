"""A notifier that keeps what it is given, and fails as it is told to."""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from analytics_core.errors import NotificationError
from analytics_core.ports import AddressLookup, Delivery, DeliveryState, Message, Recipient


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxEntry:
    """One call of `Outbox.send`.

    Attributes:
        message: what was sent.
        recipient: to whom.
        only: the addresses that were asked for; None: all of the recipient's.
        state: what the caller was told of it.
    """

    message: Message
    recipient: Recipient
    only: tuple[str, ...] | None = field(repr=False)
    state: DeliveryState


class Outbox:
    """Keeps messages in place of sending them (port `Notifier`), to recipients of all kinds; any thread may use it.

    Examples:
        >>> outbox = Outbox()
        >>> outbox.fail_next(state=DeliveryState.UNAVAILABLE)
        >>> ada = Recipient(kind="Email", to=("ada@example.com",))
        >>> [outbox.send(Message(key="k", subject="Sales", text="3"), ada)[0].state.value for _ in range(2)]
        ['unavailable', 'delivered']
        >>> [(entry.message.subject, entry.recipient.to, entry.only) for entry in outbox.sent]
        [('Sales', ('ada@example.com',), None)]
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._attempts: list[OutboxEntry] = []
        self._failures: list[tuple[DeliveryState, float | None]] = []
        self._is_closed = False

    @property
    def sent(self) -> tuple[OutboxEntry, ...]:
        """What was delivered, in order."""
        return tuple(entry for entry in self.attempts if entry.state is DeliveryState.DELIVERED)

    @property
    def attempts(self) -> tuple[OutboxEntry, ...]:
        """Every call of `send`, in order, those that failed as they were told to among them."""
        with self._guard:
            return tuple(self._attempts)

    def fail_next(
        self, count: int = 1, *, state: DeliveryState = DeliveryState.UNAVAILABLE, retry_after_s: float | None = None
    ) -> None:
        """Let so many further calls of `send` fail, after those that shall fail already.

        Args:
            count: of calls.
            state: `UNAVAILABLE`: trying again may help; `REFUSED`: it never will; `UNKNOWN`: it may have been
                delivered.
            retry_after_s: for how long the receiver asks to be left alone, in seconds; None: it does not say.
        """
        with self._guard:
            self._failures += [(state, retry_after_s)] * count

    def clear(self) -> None:
        """Forget what was sent, and what shall fail."""
        with self._guard:
            self._attempts, self._failures = [], []

    def start(self, addresses: AddressLookup) -> None:
        """Connect to nothing."""

    def takes(self, recipient: Recipient) -> bool:  # noqa: ARG002 - the port's signature
        """Tell that it takes every recipient."""
        return True

    def send(
        self, message: Message, recipient: Recipient, *, only: Collection[str] | None = None
    ) -> Sequence[Delivery]:
        """Keep the message, and tell that it was delivered, or what `fail_next` says.

        Raises:
            NotificationError: after `close`.
        """
        with self._guard:
            if self._is_closed:
                raise NotificationError("the outbox is closed")
            requested = None if only is None else tuple(only)
            addresses = [one for one in recipient.addresses if requested is None or one in requested]
            if not addresses:
                return ()
            state, retry_after_s = self._failures.pop(0) if self._failures else (DeliveryState.DELIVERED, None)
            self._attempts.append(OutboxEntry(message=message, recipient=recipient, only=requested, state=state))
        reason = "" if state is DeliveryState.DELIVERED else "the outbox was told to fail"
        return [
            Delivery(address=address, state=state, reason=reason, retry_after_s=retry_after_s) for address in addresses
        ]

    def close(self) -> None:
        """Keep nothing afterwards; what was sent can still be read."""
        with self._guard:
            self._is_closed = True
