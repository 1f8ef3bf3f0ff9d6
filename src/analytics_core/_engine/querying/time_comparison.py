"""Time comparison (contract, `time_offsets`): queries over shifted ranges, joined to the result of the main one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Any

from analytics_core._engine.compile.plan import BucketExpr, OthersExpr, Output, OutputRole, QueryPlan
from analytics_core._engine.compile.planner import PlanRequest
from analytics_core._engine.compile.time_offset import OffsetKind, TimeOffset, parse_time_offset
from analytics_core._engine.compile.time_range import TimeRange
from analytics_core._engine.frames.frame import Frame, FrameColumn
from analytics_core.errors import DuplicateLabelError, LimitError, TimeOffsetError
from analytics_core.models.enums import TimeGrain
from analytics_core.models.query import ChartDataQueryObject


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeComparison:
    """One shifted query: its text, the query to plan, and the request that moves its range."""

    text: str
    offset: TimeOffset
    query: ChartDataQueryObject
    request: PlanRequest
    main: TimeRange

    def compared(self, label: datetime, grain: TimeGrain | None) -> datetime:
        """Return the label (naive UTC) of the compared bucket that goes with a main one (naive UTC)."""
        assert self.main.since is not None  # noqa: S101 - checked when the comparison was made
        assert self.main.until is not None  # noqa: S101 - likewise
        since, until = self.main.since.replace(tzinfo=None), self.main.until.replace(tzinfo=None)
        return self.offset.compared_bucket(label, grain, since, until)


def comparisons(
    query: ChartDataQueryObject, plan: QueryPlan, request: PlanRequest, *, date_ranges: bool, most: int
) -> tuple[TimeComparison, ...]:
    """Return the comparisons of a query in the order of its `time_offsets`; an offset named twice counts once.

    Raises:
        LimitError: there are more than `most` of them; each is a statement of its own.
        TimeOffsetError: the query has no metrics or no range with both ends, or an offset is not understood.
        DuplicateLabelError: a label of the query is the name of a compared metric.
    """
    texts = tuple(dict.fromkeys(text for text in query.time_offsets if text))
    if not texts or plan.count_rows:
        return ()
    if not any(output.role is OutputRole.METRIC for output in plan.outputs):
        raise TimeOffsetError("time_offsets compare metrics, and this query has none; give metrics")
    if len(texts) > most:
        raise LimitError(
            f"time_offsets: a query may be compared with {most} ranges at most (Settings.max_time_offsets), "
            f"not {len(texts)}"
        )
    _check_labels(texts, plan)
    main, request = _enclosed(plan), replace(request, series_limit=plan.series_limit)
    return tuple(_comparison(text, query, request, main, date_ranges=date_ranges) for text in texts)


def _check_labels(texts: tuple[str, ...], plan: QueryPlan) -> None:
    labels = {output.label for output in plan.outputs}
    metrics = [output.label for output in plan.outputs if output.role is OutputRole.METRIC]
    taken = labels & {offset_label(metric, text) for metric in metrics for text in texts}
    if taken:
        raise DuplicateLabelError(sorted(taken))


def _enclosed(plan: QueryPlan) -> TimeRange:
    if plan.since is None or plan.until is None:
        raise TimeOffsetError(
            "An enclosed time range (both start and end) must be specified when using a Time Comparison; "
            "give time_range, for example '2024-01-01 : 2025-01-01', and a time column that it bounds"
        )
    return TimeRange(
        since=plan.since.replace(tzinfo=UTC), until=plan.until.replace(tzinfo=UTC), text=plan.range_text or ""
    )


def _comparison(
    text: str, query: ChartDataQueryObject, request: PlanRequest, main: TimeRange, *, date_ranges: bool
) -> TimeComparison:
    offset = parse_time_offset(text)
    if offset.kind is OffsetKind.DATE_RANGE and not date_ranges:
        raise TimeOffsetError(f"time_offsets: {text!r} is a date range; Settings.date_range_offsets is off")
    assert main.since is not None  # noqa: S101 - made so by _enclosed; tells the type checker
    assert main.until is not None  # noqa: S101 - likewise
    since, until = offset.shifted(main.since, main.until)
    shifted = TimeRange(since=since, until=until, text=f"{main.text}, {text}")
    return TimeComparison(
        text=text,
        offset=offset,
        query=_shifted_query(query),
        request=replace(request, range_override=shifted),
        main=main,
    )


def _shifted_query(query: ChartDataQueryObject) -> ChartDataQueryObject:
    """Return the query as it runs over a shifted range: unordered, up to the default limit, without further steps."""
    changes = {"time_offsets": (), "post_processing": (), "orderby": (), "row_limit": None, "row_offset": 0}
    return query.model_copy(update=changes)


ComparedBucket = Callable[[datetime, TimeGrain | None], datetime]
"""The label of the compared bucket that goes with a main one, both naive UTC."""

SEPARATOR = "__"


def offset_label(label: str, offset: str) -> str:
    """Return the name of a compared metric: `METRIC__1 year ago`."""
    return f"{label}{SEPARATOR}{offset}"


def join_offset(main: Frame, shifted: Frame, plan: QueryPlan, *, offset: str, compared: ComparedBucket) -> Frame:
    """Return the main frame with the metrics of the shifted one on the right, null where a key has no partner.

    Rows of the main frame stay as they are, in number and order.
    """
    keys = [i for i, output in enumerate(plan.outputs) if output.role is OutputRole.COLUMN]
    metrics = [i for i, output in enumerate(plan.outputs) if output.role is OutputRole.METRIC]
    partners = {key: place for place, key in enumerate(_row_keys(shifted, keys, [_same] * len(keys)))}
    back = [_mover(plan.outputs[i], compared) for i in keys]
    places = [partners.get(key) for key in _row_keys(main, keys, back)]
    added = tuple(_picked(shifted.columns[i], places, offset) for i in metrics)
    return Frame(columns=(*main.columns, *added))


def _row_keys(frame: Frame, keys: Sequence[int], movers: Sequence[Callable[[Any], Any]]) -> list[tuple[Any, ...]]:
    if not keys:
        return [()] * len(frame)
    columns = [
        [mover(_plain(value)) for value in frame.columns[i].to_list()] for i, mover in zip(keys, movers, strict=True)
    ]
    return list(zip(*columns, strict=True))


def _same(value: Any) -> Any:
    return value


def _plain(value: Any) -> Any:
    """Return dates and moments as naive UTC datetimes, so that equal moments are equal keys; lists as tuples."""
    match value:
        case datetime():
            return value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
        case date():
            return datetime(value.year, value.month, value.day)  # noqa: DTZ001 - naive UTC
        case list() | tuple():
            return tuple(map(_plain, value))
        case dict():
            return tuple((_plain(name), _plain(member)) for name, member in value.items())
    return value


def _mover(output: Output, compared: ComparedBucket) -> Callable[[Any], Any]:
    if not output.is_temporal:
        return _same
    expr = output.expr.source if isinstance(output.expr, OthersExpr) else output.expr
    grain = expr.grain if isinstance(expr, BucketExpr) else None
    return lambda value: compared(value, grain) if isinstance(value, datetime) else value


def _picked(column: FrameColumn, places: Sequence[int | None], offset: str) -> FrameColumn:
    values = column.to_list()
    picked = [None if place is None else values[place] for place in places]
    return FrameColumn(name=offset_label(column.name, offset), kind=column.kind, values=picked)
