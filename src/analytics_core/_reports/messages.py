"""What a run of an alert or a report says, and to whom: as whoever it runs as, or as each of its recipients."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, Final

from analytics_core._content.lookups.loading import snapshot
from analytics_core._content.storage.store_backed import StoredUserDirectory
from analytics_core._content.user_directory import read_users
from analytics_core._engine.execution.cancel import CancelToken
from analytics_core._engine.rights.actor import Actor
from analytics_core._engine.rights.policy import Policy
from analytics_core._records.message import Message, Recipient
from analytics_core._records.people import User
from analytics_core._records.report import ReportExecution, ReportSchedule
from analytics_core._records.repositories import ListFilter, ListQuery, Snapshot
from analytics_core._reports.alerts import AlertValidator, Verdict, fires_unless_empty, fires_when
from analytics_core._reports.content import Content, ContentMaker
from analytics_core._reports.delivery import Outages
from analytics_core._reports.mail import parse_address
from analytics_core._reports.options import RunAs, options_of
from analytics_core._reports.recipients import receivers
from analytics_core._reports.records import validator_config
from analytics_core._reports.runtime import ReportsRuntime
from analytics_core._reports.texts import RunFacts, local_time
from analytics_core._tools.log import line_log
from analytics_core.errors import ActorRequiredError, AlertError, AnalyticsError, NotificationError, ReportError
from analytics_core.models.report import RecipientType

_LOG = line_log(__name__)
_MOST: Final = 100
_TO_ADMINISTRATORS: Final = "\nThis goes to administrators: none of its owners is active and has an e-mail address.\n"
_HOW_TO_RUN_IT: Final = (
    "an owner or an administrator who lends it their rows saves it with their own id as extra.run_as"
)

FindActor = Callable[[int], Actor]
"""Gives the actor of a user's id, with the rights that they have now; ActorRequiredError where nobody is active."""


ReadActor = Callable[[int, Snapshot | None], Actor]
"""Does the same in a snapshot, unless they were just read."""


def read_ahead(runtime: ReportsRuntime, schedule: ReportSchedule, read_actor: ReadActor) -> None:
    """Read in one transaction what a report of a chart asks the store for, as far as it is believed for a moment.

    Nothing is decided by it: where something cannot be read, whatever asks for it tells.
    """
    content = runtime.content
    user_id, chart_id = schedule.executor_id, schedule.chart_id
    if not content.settings.metadata_freshness_s or user_id is None or chart_id is None:
        return
    is_host = not isinstance(content.people, StoredUserDirectory)  # whose directory may take its time
    with suppress(AnalyticsError):
        known = read_actor(user_id, None) if is_host else None
        with snapshot(content.store) as at:
            actor, runner = known or read_actor(user_id, at), content.engine.questions.runner
            content.charts.load_at(chart_id, at, lambda dataset_id: runner.read_ahead(actor, dataset_id, at))


def executor_for(schedule: ReportSchedule, find_actor: FindActor, policy: Policy) -> Actor:
    """Return as whom a schedule runs, with the rights that they have now.

    Raises:
        ReportError: they own it no more, or are not active any more.
    """
    user_id, stopped = schedule.executor_id, f"report schedule {schedule.id} has nobody to run as: "
    if user_id is None:
        raise ReportError(f"{stopped}whose rows it showed is no owner any more; {_HOW_TO_RUN_IT}")
    try:
        executor = find_actor(user_id)
    except ActorRequiredError:
        raise ReportError(f"{stopped}user {user_id} is not active any more; {_HOW_TO_RUN_IT}") from None
    if not policy.can_manage_report(executor, schedule):
        raise ReportError(f"{stopped}user {user_id} may not manage it any more; {_HOW_TO_RUN_IT}")
    return executor


def verdict_of(runtime: ReportsRuntime, executor: Actor, schedule: ReportSchedule, cancel: CancelToken) -> Verdict:
    """Return what an alert's query says now.

    Raises:
        AlertError: it gave more than one value, or one that its validator cannot judge.
        AnalyticsError: what the query fails with.
    """
    with runtime.content.store.unit_of_work() as unit:
        database = unit.databases.get(schedule.database_id or 0)
    request = runtime.content.request(executor, cancel=cancel)
    found = runtime.content.engine.questions.alerts.read(request, database, schedule.sql or "", name=schedule.name)
    if schedule.validator_type == AlertValidator.NOT_NULL:
        return fires_unless_empty(found.columns, found.rows)
    config = validator_config(schedule)
    if config.op is None or config.threshold is None or not math.isfinite(config.threshold):
        raise AlertError("the alert's validator_config_json needs op and threshold")
    return fires_when(found.columns, found.rows, op=config.op, threshold=config.threshold)


def messages_of(
    runtime: ReportsRuntime,
    schedule: ReportSchedule,
    executor: Actor,
    *,
    find_actor: FindActor,
    verdict: Verdict | None,
    scheduled: datetime,
    key: str,
    cancel: CancelToken,
) -> Sequence[tuple[Recipient, Content]]:
    """Return what goes to whom, all of it made before anything is sent.

    Raises:
        AnalyticsError: something of it cannot be made.
    """
    made: dict[Hashable, Content] = {}

    def content_for(actor: Actor) -> Content:
        maker = ContentMaker(runtime, actor, cancel)
        shared = actor.id if actor is executor else maker.shared_with(schedule)
        if shared not in made:
            facts = _run_facts(schedule, maker.title_of(schedule), verdict, scheduled, link=maker.link_of(schedule))
            made[shared] = maker.make(schedule, facts, key=key if actor is executor else f"{key}-{len(made)}")
        return made[shared]

    if options_of(schedule.extra).run_as is RunAs.EXECUTOR:
        return [(recipient, content_for(executor)) for recipient in receivers(schedule)]
    found = []
    for recipient in receivers(schedule):
        for address in recipient.addresses:
            actor = _actor_at(runtime, address, find_actor)
            try:
                found.append((Recipient(kind=recipient.kind, to=(address,)), content_for(actor)))
            except AnalyticsError as error:
                raise error.at(address) from None
    return found


def _actor_at(runtime: ReportsRuntime, address: str, find_actor: FindActor) -> Actor:
    """Return the person of the store whose e-mail address this is, with or without a name, with their rights."""
    bare = parse_address(address).address
    same = (ListFilter(col="email", op="eq", val=bare), ListFilter(col="active", op="eq", val=True))
    with runtime.content.store.unit_of_work() as unit:
        _, people = unit.users.list(ListQuery(filters=same, page_size=2))
    if len(people) != 1:
        many = "several people have" if people else "nobody active has"
        raise ReportError(f"{many} the e-mail address {address}; run_as 'recipient' sends each their own rows")
    return find_actor(people[0].id)


def _run_facts(
    schedule: ReportSchedule, title: str, verdict: Verdict | None, scheduled: datetime, *, link: str | None
) -> RunFacts:
    value = "" if verdict is None or verdict.value is None else f"{verdict.value:.15g}"
    when = local_time(scheduled, schedule.timezone)
    return RunFacts(name=schedule.name, type=schedule.type, title=title, scheduled=when, value=value, link=link or "")


def tell_owners(
    runtime: ReportsRuntime,
    schedule: ReportSchedule,
    execution: ReportExecution,
    problem: str,
    *,
    outages: Outages | None = None,
) -> None:
    """Tell the owners of a schedule by e-mail that a run failed; whom no mail reaches, the log tells.

    Where no owner is active and has an address, the administrators of the store are told. People see the address of
    whom it runs as, or of the first administrator, and not those of each other: anybody may name anybody as an owner.
    `outages` are receivers that the run found away; where mail does not get through, another notifier of mail is asked.
    """
    people = read_users(runtime.content.people, schedule.owner_ids).users
    owners = (people.get(user_id or 0) for user_id in (schedule.executor_id, *schedule.owner_ids))
    addresses, why = _addresses(owners), ""
    if not addresses:
        addresses, why = _addresses(_administrators(runtime)), _TO_ADMINISTRATORS
    message = Message(
        key=f"{execution.uuid}-error",
        subject=" ".join(f"Error occurred for {schedule.type}: {schedule.name}".split()),
        text=f"{schedule.type} {schedule.name!r}, due {local_time(execution.scheduled_dttm, schedule.timezone)}, "
        f"failed:\n\n{problem}\n{why}",
    )
    failures = "; ".join(_failures(runtime, message, addresses, outages))
    if failures:
        _LOG.warning("the notice of %s %s %r to its owners: %s", schedule.type, schedule.id, schedule.name, failures)


def _failures(
    runtime: ReportsRuntime, message: Message, addresses: Sequence[str], outages: Outages | None
) -> Iterator[str]:
    """Send a notice to people who do not see each other's addresses; yield whom it did not reach, and why."""
    if not addresses:
        yield "no owner or administrator is active and has an e-mail address"
        return
    recipient = Recipient(kind=RecipientType.EMAIL.value, to=tuple(addresses[:1]), bcc=tuple(addresses[1:]))
    if not runtime.deliveries.takes(recipient):
        yield "no notifier of this core sends e-mail"
        return
    found = runtime.deliveries.deliver_by_any(message, recipient, outages={} if outages is None else outages)
    errors = (delivery.error() for delivery in found)
    yield from (error.message for error in errors if error is not None)


def _addresses(people: Iterable[User | None]) -> tuple[str, ...]:
    """Return the addresses of those who are active and have one that mail can be sent to."""
    mails = (user.email for user in people if user and user.email and user.active)
    return tuple(filter(_takes_mail, dict.fromkeys(mails)))


def _administrators(runtime: ReportsRuntime) -> Sequence[User]:
    """Return the active administrators whom the store knows; a host's own directory cannot list its people."""
    with runtime.content.store.unit_of_work() as unit:
        roles = unit.roles.list(ListQuery(filters=(ListFilter(col="is_admin", op="eq", val=True),), page_size=_MOST))[1]
        found: dict[int, User] = {}
        for role in roles:
            of_role = (ListFilter(col="role_ids", op="eq", val=role.id), ListFilter(col="active", op="eq", val=True))
            order = (("id", False),)
            found |= {
                user.id: user
                for user in unit.users.list(ListQuery(filters=of_role, order_by=order, page_size=_MOST))[1]
            }
    return tuple(found.values())


def _takes_mail(address: str) -> bool:
    """Tell whether mail can be sent to what a person has as their e-mail address."""
    try:
        return bool(parse_address(address))
    except NotificationError:
        return False


def manifest(schedule: ReportSchedule, contents: Sequence[Content]) -> Mapping[str, Any]:
    """Return what a run was made of: the schedule's revision, and digests of each message's statements and rows."""
    once = {id(content): content for content in contents}.values()
    return {
        "revision": schedule.audit.version,
        "messages": [
            {"key": one.message.key, "statements": list(map(_digest, one.statements)), "rows": one.digest}
            for one in once
        ],
    }


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
