"""What the store has of the messages of a run, address by address: written before one is sent, and after."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from analytics_core._records.message import Delivery, DeliveryState, Message, Recipient, display_address
from analytics_core._records.report import ReportDelivery, ReportExecution
from analytics_core._records.repositories import ListFilter, ListQuery, UnitOfWork
from analytics_core.errors import NotificationError

DIED_MIDWAY: Final = "the process that sent it died before it could record what became of it"
_SENDING: Final = "sending"
_IN_DOUBT: Final = (_SENDING, DeliveryState.UNKNOWN.value)
_FEW: Final = 100
_MOST_DELIVERIES: Final = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedDelivery:
    """A message on its way: to which addresses, what is wrong with others, and what the store has of the former."""

    addresses: Sequence[str]
    failures: Sequence[NotificationError]
    rows: Mapping[str, ReportDelivery]


@dataclass(frozen=True, slots=True, kw_only=True)
class SentMessage:
    """What became of a message at each address that it was sent to.

    `rows` are what the store had of them, as far as this process knows: versions tell whether that is so still. None:
    they are to be read.
    """

    recipient: Recipient
    found: Sequence[Delivery]
    rows: Mapping[str, ReportDelivery] | None = None


def opened(
    unit: UnitOfWork,
    execution: ReportExecution,
    recipient: Recipient,
    message: Message,
    addresses: Sequence[str],
    *,
    repeats: bool,
    is_new: bool,
) -> OpenedDelivery:
    """Record that a message is on its way to those of some addresses that it did not go to before.

    `repeats`: it goes once more where it may have come already. `is_new`: it was never sent to any of them.
    """
    keys = {address: _key(recipient, address) for address in addresses}
    known = {} if is_new else known_deliveries(unit, execution, recipient, addresses)
    rows: dict[str, ReportDelivery] = {}
    failures: list[NotificationError] = []
    for address, key in keys.items():
        before = known.get(key)
        if before is None:
            rows[address] = unit.report_deliveries.add(_sending(execution, recipient, message, address), actor_id=None)
        elif before.state == DeliveryState.UNAVAILABLE or (repeats and before.state in _IN_DOUBT):
            again = replace(before, state=_SENDING, reason=None, attempts=before.attempts + 1)
            rows[address] = unit.report_deliveries.update(again, actor_id=None)
        else:
            failures += _settled(unit, before)
    stored = {keys[address]: row for address, row in rows.items()}
    return OpenedDelivery(addresses=tuple(rows), failures=failures, rows=stored)


def record(unit: UnitOfWork, execution: ReportExecution, sent: SentMessage) -> None:
    """Record what became of a message."""
    addresses, stored = [one.address for one in sent.found], sent.rows
    if stored is None:
        stored = known_deliveries(unit, execution, sent.recipient, addresses)
    for address, delivery in zip(addresses, sent.found, strict=True):
        before = stored.get(_key(sent.recipient, address))
        if before is not None:
            done = replace(before, state=delivery.state.value, reason=delivery.reason or None)
            unit.report_deliveries.update(done, actor_id=None)


def known_deliveries(
    unit: UnitOfWork, execution: ReportExecution, recipient: Recipient, addresses: Sequence[str]
) -> dict[str, ReportDelivery]:
    """Return the deliveries of a run to some addresses, by their keys; of many addresses those of all are read."""
    if len(addresses) > _FEW:
        of_run = (ListFilter(col="execution_id", op="eq", val=execution.id),)
        query = ListQuery(filters=of_run, page_size=_MOST_DELIVERIES)
        return {delivery.recipient_key: delivery for delivery in unit.report_deliveries.list(query)[1]}
    keys = [_key(recipient, address) for address in addresses]
    found = (unit.report_deliveries.find(execution_id=execution.id, recipient_key=key) for key in keys)
    return {delivery.recipient_key: delivery for delivery in found if delivery is not None}


def _settled(unit: UnitOfWork, delivery: ReportDelivery) -> Sequence[NotificationError]:
    """Return what is wrong with a delivery that is not tried again; one that was cut off is in doubt for ever."""
    if delivery.state == _SENDING:
        delivery = replace(delivery, state=DeliveryState.UNKNOWN.value, reason=DIED_MIDWAY)
        unit.report_deliveries.update(delivery, actor_id=None)
    state = DeliveryState(delivery.state)
    error = Delivery(address=delivery.address, state=state, reason=delivery.reason or "").error()
    return [] if error is None else [error]


def _key(recipient: Recipient, address: str) -> str:
    return hashlib.sha256(f"{recipient.kind}\0{address}".encode()).hexdigest()[:64]


def _sending(execution: ReportExecution, recipient: Recipient, message: Message, address: str) -> ReportDelivery:
    return ReportDelivery(
        execution_id=execution.id,
        recipient_key=_key(recipient, address),
        address=display_address(address),
        state=_SENDING,
        subject=message.subject,
        files=json.dumps([file.name for file in (*message.images, *message.attachments)], ensure_ascii=False),
        attempts=1,
    )
