"""The recipients of a schedule: sealed in the store, checked when saved, without secrets when shown."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final

from analytics_core._records.message import Recipient, display_address, is_masked
from analytics_core._records.report import ReportSchedule
from analytics_core._records.secret import Secret
from analytics_core._reports.mail import parse_address, split_addresses
from analytics_core.errors import NotificationError, Problem, StoredDataError
from analytics_core.models.report import RecipientOfListItem, RecipientOfReport, RecipientType, ReportRecipient

_TARGETS: Final = ("target", "ccTarget", "bccTarget")
_MOST: Final = 1_000
"""Recipients, and addresses of all of them."""

_LONGEST: Final = 500_000
_CONFIG: Final = "recipient_config_json"


def sealed(recipients: Iterable[Mapping[str, Any]]) -> Secret:
    """Return recipients as the store keeps them."""
    return Secret(json.dumps(list(recipients), ensure_ascii=False))


def stored(schedule: ReportSchedule) -> Sequence[Mapping[str, Any]]:
    """Return the recipients of a schedule as the store keeps them; StoredDataError where it holds something else."""
    try:
        content = json.loads(schedule.recipients.reveal())
        return [{"type": item["type"], _CONFIG: dict(item[_CONFIG])} for item in content]
    except (ValueError, KeyError, TypeError):
        raise StoredDataError(
            f"the recipients of report schedule {schedule.id} cannot be read; save them anew"
        ) from None


def readable(schedule: ReportSchedule) -> Sequence[Mapping[str, Any]]:
    """Return the recipients of a schedule; none where they cannot be read, so that it is shown and saved anew."""
    try:
        return stored(schedule)
    except StoredDataError:
        return ()


def given(recipients: Sequence[ReportRecipient], before: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """Return the recipients of a payload as the store keeps them.

    An address of a web hook that is masked, as answers show it, stands for the stored one of its kind that is shown so;
    of several that are shown alike, in their order, where all of them are there. Others stay masked, and are refused.
    """
    entries: list[dict[str, Any]] = [{"type": one.type.value, _CONFIG: _texts(one)} for one in recipients]
    stored_places = _by_display(before, display_address)
    masked = [one for one in entries if is_masked(one[_CONFIG].get("target", ""))]
    for place, configs in _by_display(masked, str).items():
        targets = [config["target"] for config in stored_places.get(place, ())]
        if len(targets) != len(configs) and len(set(targets)) == 1:
            targets = targets[:1] * len(configs)
        if len(targets) == len(configs):
            for config, target in zip(configs, targets, strict=True):
                config["target"] = target
    return entries


def _texts(recipient: ReportRecipient) -> dict[str, str]:
    config = recipient.recipient_config_json
    return {} if config is None else config.model_dump(by_alias=True, exclude_none=True)


def _by_display(
    recipients: Iterable[Mapping[str, Any]], show: Callable[[str], str]
) -> Mapping[tuple[str, str], Sequence[dict[str, str]]]:
    """Return the configurations of recipients that are no e-mail addresses, by their kind and what is shown of them."""
    found: defaultdict[tuple[str, str], list[dict[str, str]]] = defaultdict(list)
    for one in recipients:
        if one["type"] != RecipientType.EMAIL:
            found[one["type"], show(one[_CONFIG].get("target", ""))].append(one[_CONFIG])
    return found


def listed_recipients(schedule: ReportSchedule) -> tuple[RecipientOfReport, ...]:
    """Return the recipients of a schedule as its owners see them, numbered from 1; none where they cannot be read."""
    return tuple(
        RecipientOfReport(id=number, type=one["type"], recipient_config_json=json.dumps(_without_secrets(one[_CONFIG])))
        for number, one in enumerate(readable(schedule), 1)
    )


def listed(schedule: ReportSchedule) -> tuple[RecipientOfListItem, ...]:
    """Return the kinds of a schedule's recipients, numbered from 1; none where they cannot be read."""
    return tuple(RecipientOfListItem(id=number, type=one["type"]) for number, one in enumerate(readable(schedule), 1))


def _without_secrets(config: Mapping[str, str]) -> Mapping[str, str]:
    return {name: display_address(text) for name, text in config.items()}


def receivers(schedule: ReportSchedule) -> tuple[Recipient, ...]:
    """Return to whom the messages of a schedule go; StoredDataError where the store holds something else."""
    try:
        return tuple(map(_receiver, stored(schedule)))
    except NotificationError:
        raise StoredDataError(f"a recipient of report schedule {schedule.id} cannot be read; save them anew") from None


def _receiver(one: Mapping[str, Any]) -> Recipient:
    config = one[_CONFIG]
    if one["type"] == RecipientType.EMAIL:
        to, cc, bcc = (split_addresses(config.get(name, "")) for name in _TARGETS)
        return Recipient(kind=RecipientType.EMAIL.value, to=to, cc=cc, bcc=bcc)
    return Recipient(kind=one["type"], to=(config.get("target", "").strip(),))


def problems_of(
    recipients: Sequence[Mapping[str, Any]], takes: Callable[[Recipient], bool], *, by_mail_alone: bool
) -> Iterator[Problem]:
    """Yield what is wrong with recipients.

    `takes` tells whether a notifier of the core takes one. With `by_mail_alone` each gets their own rows: people are
    known by their e-mail addresses.
    """
    if not recipients:
        yield Problem(path="recipients", message="must name somebody whom it goes to")
    if len(recipients) > _MOST:
        yield Problem(path="recipients", message=f"may name {_MOST} recipients at most")
        return
    if sum(len(one[_CONFIG].get(name, "")) for one in recipients for name in _TARGETS) > _LONGEST:
        yield Problem(path="recipients", message=f"may take {_LONGEST} characters at most")
        return
    if sum(map(_count, recipients)) > _MOST:
        yield Problem(path="recipients", message=f"may name {_MOST} addresses at most")
        return
    for position, one in enumerate(recipients):
        message = _problem(one, takes)
        if by_mail_alone and one["type"] != RecipientType.EMAIL:
            message = "is nobody whose rows could be told; extra.run_as 'recipient' takes e-mail addresses of people"
        if message is not None:
            yield Problem(path=f"recipients.{position}.{_CONFIG}", message=message)


def _count(one: Mapping[str, Any]) -> int:
    return sum(len(split_addresses(one[_CONFIG].get(name, ""))) for name in _TARGETS)


def _problem(one: Mapping[str, Any], takes: Callable[[Recipient], bool]) -> str | None:
    config = one[_CONFIG]
    if is_masked(config.get("target", "")):
        return "is masked, and stands for none, or for several of the stored addresses; give the whole address"
    if not config.get("target", "").strip():
        return "needs a target: e-mail addresses, a channel, or the address of a web hook"
    try:
        if one["type"] == RecipientType.EMAIL:
            for address in chain.from_iterable(split_addresses(config.get(name, "")) for name in _TARGETS):
                parse_address(address)
        elif any(config.get(name) for name in _TARGETS[1:]):
            return "takes ccTarget and bccTarget for e-mail alone"
        receiver = _receiver(one)
    except NotificationError as error:
        return error.message
    return None if takes(receiver) else _none_takes(receiver)


def _none_takes(receiver: Recipient) -> str:
    return (
        f"cannot be reached: no notifier of this core takes {display_address(receiver.to[0])!r} as {receiver.kind}; "
        "give AnalyticsCore one (notifiers=[...])"
    )
