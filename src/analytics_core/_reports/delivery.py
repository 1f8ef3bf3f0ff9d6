"""Messages on their way to recipients: who takes them, and what is tried again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import EntryPoint
from typing import Final

from analytics_core._records.message import Delivery, DeliveryState, Message, Recipient, display_address, plain_text
from analytics_core._reports import ENTRY_POINTS
from analytics_core._tools.log import line_log
from analytics_core.errors import AnalyticsError, NotificationError, SettingsError
from analytics_core.ports import Clock, Notifier, Sleeper

FIRST_LATER_S: Final = 60.0
"""Seconds before a run is first taken up again whose receivers were away."""
_LONGEST_LATER_S: Final = 900.0
_LONGEST_REST_S: Final = 1e9
"""What receivers ask for is cut here: whole numbers may be larger than any sum of seconds."""

_LOG = line_log(__name__)
_HOW_TO_GIVE_ONE: Final = (
    "give AnalyticsCore one (notifiers=[...]), or variables to tick and serve (ANALYTICS_CORE_SMTP_HOST, ...)"
)


def installed_notifiers(entries: Iterable[EntryPoint]) -> tuple[Notifier, ...]:
    """Return the notifiers that installed packages add, in the order of their names.

    Args:
        entries: the entry points of the group.

    Raises:
        SettingsError: an entry point cannot be loaded, or makes no `Notifier`.
    """
    return tuple(map(_made, sorted(entries, key=lambda entry: entry.name)))


def _made(entry: EntryPoint) -> Notifier:
    try:
        made = entry.load()()
    except Exception as error:  # border: a package's own code
        raise SettingsError(f"the entry point {entry.name!r} of {ENTRY_POINTS} cannot be loaded") from error
    if not isinstance(made, Notifier):
        raise SettingsError(f"the entry point {entry.name!r} of {ENTRY_POINTS} must make a Notifier")
    return made


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often a delivery is tried where trying again may help, and how long that may take.

    Attributes:
        attempts: with the first.
        first_pause_s: before the second attempt, in seconds; each pause is twice the one before.
        longest_pause_s: what a pause grows to. A receiver may ask for longer ones.
        total_s: no attempt begins later than so many seconds after the first; of a receiver that is away, the first
            to any of its recipients.
    """

    attempts: int = 5
    first_pause_s: float = 1.0
    longest_pause_s: float = 60.0
    total_s: float = 300.0


def later_s(errors: Iterable[NotificationError], *, waited_s: float, remaining_s: float) -> float | None:
    """Return in how many seconds those are tried again who were away; None: nobody was, or no more.

    That is as long as the run has lasted, from a minute to a quarter of an hour, and as receivers ask for at least. The
    last attempt comes when `remaining_s` are over; with less than a minute there is none. No one is waited for who asks
    more than that: they are tried with the others.
    """
    rests_s = [rest_s for error in errors if error.retryable and (rest_s := error.retry_after_s or 0.0) <= remaining_s]
    if not rests_s or remaining_s < FIRST_LATER_S:
        return None
    own = min(max(waited_s, FIRST_LATER_S), _LONGEST_LATER_S)
    return min(max(own, *rests_s), remaining_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """A receiver that took nothing, whoever it was for: since when, by the monotonic clock, and why."""

    since_s: float
    reason: str


Outages = MutableMapping[tuple[int, str], Outage]
"""What one run knows of receivers that are away, by the position of their notifier and their name."""


def _only_sleep(_: Sequence[Delivery], sleep: Callable[[], None]) -> None:
    sleep()


class Deliveries:
    """Hands messages to the notifiers that take them, and tries again where that may help; any thread may use it.

    Args:
        notifiers: the first one that takes a recipient gets their messages.
        clock: tells how long it lasted.
        sleeper: waits between attempts.
        jitter: gives numbers from 0 to 1, so that many who wait do not come back together.
        policy: how often is tried.
    """

    def __init__(
        self,
        notifiers: Sequence[Notifier],
        *,
        clock: Clock,
        sleeper: Sleeper,
        jitter: Callable[[], float],
        policy: RetryPolicy | None = None,
    ) -> None:
        self._notifiers = tuple(notifiers)
        self._clock = clock
        self._sleeper = sleeper
        self._jitter = jitter
        self._policy = RetryPolicy() if policy is None else policy

    def takes(self, recipient: Recipient) -> bool:
        """Tell whether a notifier takes messages to this recipient."""
        return any(True for _ in self._positions(recipient))

    def deliver(
        self,
        message: Message,
        recipient: Recipient,
        *,
        only: Collection[str] | None = None,
        repeats_unknown: bool = False,
        outages: Outages | None = None,
        pause: Callable[[Sequence[Delivery], Callable[[], None]], None] = _only_sleep,
    ) -> tuple[Delivery, ...]:
        """Send a message, and return what became of it at each address; nothing is raised where it was not delivered.

        A receiver that was away for the recipient before is tried once more, after the last pause, in place of anew.

        Args:
            message: what is sent.
            recipient: to whom.
            only: the addresses that are still to be reached; None: all.
            repeats_unknown: whether a message that may have been delivered is sent again, so that it comes at least
                once in place of at most once.
            outages: what the run knows of receivers that are away, and is told here; None: nothing.
            pause: is called between two attempts, with what became of it until then and with what waits for the next
                one; what it raises ends the delivery.
        """
        addresses = tuple(address for address in recipient.addresses if only is None or address in only)
        position = next(self._positions(recipient), None)
        if position is None:
            reason = f"no notifier takes recipients of the kind {recipient.kind!r}; {_HOW_TO_GIVE_ONE}"
            return tuple(_failed(address, DeliveryState.REFUSED, reason) for address in addresses)
        outages = {} if outages is None else outages
        again = (DeliveryState.UNAVAILABLE, *((DeliveryState.UNKNOWN,) if repeats_unknown else ()))
        found = self._by(position, message, recipient, addresses, again=again, outages=outages, pause=pause)
        return tuple(found[address] for address in addresses)

    def deliver_by_any(self, message: Message, recipient: Recipient, *, outages: Outages) -> tuple[Delivery, ...]:
        """Send a message as `deliver` does, and what one notifier does not bring there by the next that takes it."""
        found: dict[str, Delivery] = {}
        rest = recipient.addresses
        for position in self._positions(recipient):
            again = (DeliveryState.UNAVAILABLE,)
            found |= self._by(position, message, recipient, rest, again=again, outages=outages, pause=_only_sleep)
            rest = tuple(one for one in rest if found[one].state in (DeliveryState.UNAVAILABLE, DeliveryState.REFUSED))
            if not rest:
                break
        return tuple(found.values())

    def _by(
        self,
        position: int,
        message: Message,
        recipient: Recipient,
        addresses: Sequence[str],
        *,
        again: Collection[DeliveryState],
        outages: Outages,
        pause: Callable[[Sequence[Delivery], Callable[[], None]], None],
    ) -> Mapping[str, Delivery]:
        """Have one notifier send a message; `again` are the states after which it is tried again."""
        notifier, place = self._notifiers[position], (position, recipient.receiver)
        outage = outages.get(place)
        begun = self._clock.monotonic() if outage is None else outage.since_s
        found = _attempt(notifier, message, recipient, addresses) if outage is None else _passed_over(outage, addresses)
        for attempt in range(1 if outage is None else self._policy.attempts - 1, self._policy.attempts):
            rest = [address for address in addresses if found[address].state in again]
            if not rest:
                break
            pause_s = self._pause_s(attempt, [found[address] for address in rest])
            if self._clock.monotonic() - begun + pause_s > self._policy.total_s:
                break
            pause(tuple(found.values()), partial(self._sleeper.sleep, pause_s))
            found = {**found, **_attempt(notifier, message, recipient, rest)}
        if any(delivery.state not in again for delivery in found.values()):
            outages.pop(place, None)
        elif outage is None and addresses:
            outages[place] = Outage(since_s=begun, reason=found[addresses[-1]].reason)
        return found

    def _positions(self, recipient: Recipient) -> Iterator[int]:
        """Yield where the notifiers stand that take this recipient."""
        return (at for at, notifier in enumerate(self._notifiers) if _takes(notifier, recipient))

    def _pause_s(self, attempt: int, deliveries: Iterable[Delivery]) -> float:
        """Return the seconds before the next attempt: half of them at random, and what receivers ask for at least."""
        most = min(self._policy.first_pause_s * 2.0 ** (attempt - 1), self._policy.longest_pause_s)
        own = most * (0.5 + self._jitter() / 2)
        return max((delivery.retry_after_s or 0.0 for delivery in deliveries), default=0.0) + own


def _takes(notifier: Notifier, recipient: Recipient) -> bool:
    """Tell whether a notifier takes a recipient; one that cannot tell does not, so that others may."""
    try:
        return bool(notifier.takes(recipient))
    except Exception as error:  # border: a host's own code
        _LOG.warning("a notifier is passed over: asked whom it takes, it failed (%s)", type(error).__name__)
        return False


def _passed_over(outage: Outage, addresses: Iterable[str]) -> Mapping[str, Delivery]:
    reason = f"not tried, as the receiver took nothing for others before: {outage.reason}"
    return {address: _failed(address, DeliveryState.UNAVAILABLE, reason) for address in addresses}


def _attempt(
    notifier: Notifier, message: Message, recipient: Recipient, addresses: Sequence[str]
) -> Mapping[str, Delivery]:
    """Return what became of one attempt at each address; a notifier of a host's may raise what it likes."""
    if not addresses:
        return {}
    try:
        outcomes = {found.address: _checked(found) for found in notifier.send(message, recipient, only=addresses)}
    except NotificationError as error:
        state = DeliveryState.UNAVAILABLE if error.retryable else DeliveryState.REFUSED
        failures = (_failed(address, state, error.message) for address in addresses)
        outcomes = {one.address: _checked(replace(one, retry_after_s=error.retry_after_s)) for one in failures}
    except AnalyticsError as error:
        state = DeliveryState.UNAVAILABLE if error.retryable else DeliveryState.REFUSED
        outcomes = {address: _failed(address, state, error.message) for address in addresses}
    except Exception as error:  # border: a host's own code, of which nobody knows how far it came
        _LOG.warning("a notifier failed (%s) at %s", type(error).__name__, ", ".join(map(display_address, addresses)))
        reason = "the notifier failed, and nobody knows how far it came; the log tells of what kind its error was"
        outcomes = {address: _failed(address, DeliveryState.UNKNOWN, reason) for address in addresses}
    missing = "the notifier did not tell what became of it"
    return {address: outcomes.get(address) or _failed(address, DeliveryState.UNKNOWN, missing) for address in addresses}


def _checked(delivery: Delivery) -> Delivery:
    """Return what a notifier told as it can be recorded; a rest that is no number of seconds is none.

    Raises:
        ValueError: it tells none of the four states.
    """
    retry_after_s, rest_s = delivery.retry_after_s, None
    if isinstance(retry_after_s, int | float) and retry_after_s > 0:  # NaN is not
        rest_s = float(min(retry_after_s, _LONGEST_REST_S))
    reason = plain_text(str(delivery.reason))
    return replace(delivery, state=DeliveryState(delivery.state), reason=reason, retry_after_s=rest_s)


def _failed(address: str, state: DeliveryState, reason: str) -> Delivery:
    return Delivery(address=address, state=state, reason=reason)
