"""Runs that send nothing: what would go to whom at a moment, and whether it is what went before."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from analytics_core._engine.execution.cancel import CancelToken
from analytics_core._engine.rights.actor import Actor
from analytics_core._records.message import Message, Recipient, display_address
from analytics_core._records.report import ReportExecution, ReportSchedule
from analytics_core._reports.alerts import Verdict
from analytics_core._reports.content import Content
from analytics_core._reports.messages import FindActor, executor_for, messages_of
from analytics_core._reports.runtime import ReportsRuntime
from analytics_core._tools.display.blocks import Blocks, HeadingBlock, fold, table
from analytics_core._tools.display.bundles import mime_bundle
from analytics_core._tools.display.objects import object_blocks
from analytics_core.errors import AccessError, StoredDataError


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRun:
    """What a run would do: `verdict` is what an alert's query says, None for a report.

    `messages` are what would go to whom, without those that `extra.skip_when_empty` leaves out; an alert that does not
    fire would send none of them.
    """

    verdict: Verdict | None
    messages: tuple[tuple[Recipient, Message], ...]

    @property
    def would_send(self) -> bool:
        """Whether anything would be sent."""
        return bool(self.messages) and (self.verdict is None or self.verdict.is_triggered)

    _repr_mimebundle_ = mime_bundle

    def _blocks(self) -> Blocks:
        return _dry_run_blocks(self)


def _dry_run_blocks(run: DryRun) -> Blocks:
    """Return what can be seen of a dry run; of the address of a web hook no more than its host."""
    columns: dict[str, list[str | None]] = {
        "to": [", ".join(map(display_address, recipient.addresses)) for recipient, _ in run.messages],
        "by": [recipient.kind for recipient, _ in run.messages],
        "subject": [message.subject for _, message in run.messages],
        "files": [", ".join(file.name for file in message.attachments) or None for _, message in run.messages],
    }
    text = "would send" if run.would_send else "would send nothing"
    verdict = [] if run.verdict is None else object_blocks(run.verdict)
    return [HeadingBlock(text="Dry run", detail=text), *table(columns), *fold("what the alert's query says", verdict)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """Whether a run, made again, is what it was; `differences` say what changed, in words."""

    is_equal: bool
    differences: tuple[str, ...] = ()

    _repr_mimebundle_ = mime_bundle

    def _blocks(self) -> Blocks:
        return object_blocks(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A run that is not on record: a schedule at a moment, with the rights of whoever it runs as."""

    runtime: ReportsRuntime
    schedule: ReportSchedule
    executor: Actor
    find_actor: FindActor

    @classmethod
    def of(
        cls, runtime: ReportsRuntime, schedule: ReportSchedule, find_actor: FindActor, *, at: datetime | None
    ) -> Trial:
        """Return the trial of a schedule; `at` None is now.

        Raises:
            PayloadSchemaError: `at` is no moment.
            ReportError: there is nobody to run it as.
        """
        if at is not None:
            runtime = runtime.pinned_at(at, shape="trial run", name="at")
        executor = executor_for(schedule, find_actor, runtime.content.policy)
        return cls(runtime=runtime, schedule=schedule, executor=executor, find_actor=find_actor)

    def contents(self, verdict: Verdict | None, *, key: str = "trial") -> Sequence[tuple[Recipient, Content]]:
        """Return what would go to whom, with what it is made of."""
        return messages_of(
            self.runtime,
            self.schedule,
            self.executor,
            find_actor=self.find_actor,
            verdict=verdict,
            scheduled=self.runtime.content.clock.now(),
            key=key,
            cancel=CancelToken(),
        )

    def messages(self, verdict: Verdict | None) -> Iterator[tuple[Recipient, Message]]:
        """Yield what would go to whom."""
        for recipient, content in self.contents(verdict):
            if not content.is_skipped:
                yield recipient, content.message


def for_viewer(viewer: Actor, find_actor: FindActor) -> FindActor:
    """Return what finds people for a trial whose messages `viewer` gets to see.

    Messages show the rows of whomever they are made for: administrators see everybody's, others see their own; what is
    returned raises AccessError for anybody else.
    """

    def find(user_id: int) -> Actor:
        if user_id != viewer.id and not viewer.is_admin:
            raise AccessError(
                "a dry run would show you the rows of somebody else: ask an administrator; or save the schedule with "
                f"extra.run_as {viewer.username!r}, so that it sends yours"
            )
        return find_actor(user_id)

    return find


def stored_manifest(execution: ReportExecution) -> Mapping[str, Any]:
    """Return what a run recorded of what it was made of; StoredDataError where the store holds something else."""
    try:
        content = json.loads(execution.manifest or "")
        messages = [{name: one[name] for name in ("key", "statements", "rows")} for one in content["messages"]]
        return {"revision": content["revision"], "messages": messages}
    except (ValueError, KeyError, TypeError, RecursionError):
        raise StoredDataError(f"what run {execution.id} was made of cannot be read") from None


def compared(before: Mapping[str, Any], now: Mapping[str, Any]) -> Replay:
    """Return how two manifests of one run differ."""
    differences = []
    if before["revision"] != now["revision"]:
        differences.append(f"the schedule was changed since (revision {before['revision']}, now {now['revision']})")
    then = {message["key"]: message for message in before["messages"]}
    for message in now["messages"]:
        known = then.pop(message["key"], None)
        if known is None:
            differences.append("a message goes to somebody who got none")
            continue
        if known["statements"] != message["statements"]:
            differences.append("the statements are others: a chart, a dataset, a filter or a rule was changed")
        if known["rows"] != message["rows"]:
            differences.append("the rows are others")
    differences += ["a message goes to nobody any more"] * len(then)
    rows_differ = any("rows" in text or "message" in text for text in differences)
    return Replay(is_equal=not rows_differ, differences=tuple(dict.fromkeys(differences)))
