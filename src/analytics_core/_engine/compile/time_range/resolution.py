"""A time text and the present moment become two bounds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from analytics_core._engine.compile.calendar import add_units
from analytics_core._engine.compile.time_range.moments import Bounds, RangeNode, TimeReference, UnitCount
from analytics_core._engine.compile.time_range.parser import parse_moment, parse_time_range
from analytics_core._engine.compile.time_range.tokens import impossible, quoted_text, render_iso
from analytics_core._tools.display.blocks import Blocks
from analytics_core._tools.display.bundles import mime_bundle
from analytics_core._tools.display.objects import object_blocks
from analytics_core.errors import TimeRangeError
from analytics_core.models.enums import RelativeTime


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeRange:
    """A resolved time range, `since <= t < until`, in UTC (contract, `time_range`).

    Attributes:
        since: the first moment, aware, in UTC; None is open.
        until: the first moment after the range, aware, in UTC; None is open.
        text: the text it came from, as given.
        needs_seconds: whether it counts seconds or minutes, so that now may not be cut to the minute for a cache.
    """

    since: datetime | None = None
    until: datetime | None = None
    text: str = "No filter"
    needs_seconds: bool = False

    _repr_mimebundle_ = mime_bundle

    def _blocks(self) -> Blocks:
        return object_blocks(self)

    @property
    def is_unbounded(self) -> bool:
        """Whether both ends are open."""
        return self.since is None and self.until is None


def resolve_time_range(
    text: str | None,
    *,
    now: datetime,
    relative_start: str = RelativeTime.TODAY,
    relative_end: str = RelativeTime.TODAY,
    time_shift: str | None = None,
) -> TimeRange:
    """Return the bounds that `text` names at the moment `now` (contract, `time_range`, `time_shift`).

    Args:
        text: for example `Last 7 days`, `2024-01-01 : now`; None and empty text are `No filter`.
        now: the present moment; a naive one is UTC.
        relative_start: `today` or `now`, what `last N` and `next N` count from in days or longer.
        relative_end: `today` or `now`, where `Last N` in days or longer ends.
        time_shift: `1 week` moves both bounds back, `1 week later` moves them on, `A : B` replaces them.

    Raises:
        TimeRangeError: a text that is not understood, an impossible date, or a range that ends before it starts.
        MissingExtraError: HOLIDAY is used and the package `holidays` is not installed.

    Example:
        >>> from datetime import UTC, datetime
        >>> resolve_time_range("Last 7 days", now=datetime(2024, 7, 1, 12, tzinfo=UTC)).since.isoformat()
        '2024-06-24T00:00:00+00:00'
    """
    reference = TimeReference.at(now, start=_relative(relative_start), end=_relative(relative_end))
    node = parse_time_range(text or "")
    resolved = _resolve(node, reference, text or node.text)
    return resolved if not time_shift or not time_shift.strip() else _shifted(resolved, time_shift, reference)


def render_time_range(value: TimeRange | RangeNode) -> str:
    """Return a text that resolves to the same bounds: canonical for a tree, ISO 8601 for a resolved range."""
    if not isinstance(value, TimeRange):
        return value.text
    if value.since is None and value.until is None:
        return "No filter"
    since, until = ("" if bound is None else render_iso(bound) for bound in (value.since, value.until))
    return f"{since} : {until}"


def _resolve(node: RangeNode, reference: TimeReference, text: str) -> TimeRange:
    try:
        since, until = node.bounds(reference)
    except OverflowError:
        raise impossible(text, "reaches outside the years 1 to 9999; count fewer units") from None
    _check_order(since, until, text)
    return TimeRange(since=since, until=until, text=text, needs_seconds=node.needs_seconds)


def _check_order(since: datetime | None, until: datetime | None, text: str) -> None:
    if since is not None and until is not None and since > until:
        turned = f"starts at {render_iso(since)}, after its end at {render_iso(until)}; write the earlier moment first"
        raise impossible(text, turned)


def _shifted(resolved: TimeRange, time_shift: str, reference: TimeReference) -> TimeRange:
    if ":" in time_shift:
        node = parse_time_range(time_shift)
        if node.sides is not None:
            return replace(_resolve(node, reference, time_shift), text=f"{resolved.text} [{time_shift}]")
    amount = _shift_amount(time_shift)
    try:
        since, until = _moved((resolved.since, resolved.until), amount)
    except OverflowError:
        raise impossible(
            resolved.text, f"is moved outside the years 1 to 9999 by {quoted_text(time_shift)}; shift by less"
        ) from None
    return replace(resolved, since=since, until=until, text=f"{resolved.text} [{time_shift}]")


def _shift_amount(time_shift: str) -> UnitCount:
    shift = parse_moment(time_shift).shift
    if shift is None:
        raise TimeRangeError(
            f"time shift {quoted_text(time_shift)} is not understood; write '1 week', '1 year ago', '2 days later' or "
            "two dates such as '2023-01-01 : 2024-01-01'"
        )
    return shift


def _moved(bounds: Bounds, amount: UnitCount) -> Bounds:
    since, until = (None if bound is None else add_units(bound, amount.signed, amount.unit) for bound in bounds)
    return since, until


def _relative(value: str) -> RelativeTime:
    try:
        return RelativeTime(value.strip().lower())
    except ValueError:
        raise TimeRangeError(f"a relative end is 'today' or 'now', not {quoted_text(value)}") from None
