"""What alerts and reports need: it is not deleted as long as they are there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from analytics_core._content.batches import every
from analytics_core._content.reader import Reader
from analytics_core._records.report import ReportSchedule
from analytics_core._records.repositories import ListFilter
from analytics_core.errors import InUseError

_NAMED: Final = 10


def require_unscheduled(reader: Reader, record_id: int, *, noun: str) -> None:
    """Raise InUseError where alerts or reports need a chart, a dashboard or a database, as `noun` says.

    It names those that the actor may see.
    """
    needing = tuple(every(reader.unit.report_schedules, (ListFilter(col=f"{noun}_id", op="eq", val=record_id),)))
    if needing:
        raise _needed(reader, f"{noun} {record_id}", needing, "change or delete those first")


def require_runs_nothing(reader: Reader, user_id: int) -> None:
    """Raise InUseError where alerts or reports run as a user.

    They would have nobody to run as.
    """
    theirs = tuple(every(reader.unit.report_schedules, (ListFilter(col="executor_id", op="eq", val=user_id),)))
    if theirs:
        raise _needed(reader, f"user {user_id}", theirs, "let somebody else run those in their place (extra.run_as)")


def _needed(reader: Reader, what: str, schedules: Sequence[ReportSchedule], remedy: str) -> InUseError:
    seen = [one for one in schedules if reader.policy.can_manage_report(reader.actor, one)]
    named = [f"{one.type} {one.id} {one.name!r}" for one in seen[:_NAMED]]
    rest = len(schedules) - len(named)
    others = [f"{rest} more" if named else f"{rest} of somebody else's alerts and reports"] if rest else []
    return InUseError(f"{what} is needed by {', '.join([*named, *others])}; {remedy}")
