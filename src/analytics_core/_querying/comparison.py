"""Time comparison: the queries over shifted ranges that go with a main query (contract, `time_offsets`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from analytics_core._compile.plan import OutputRole, QueryPlan
from analytics_core._compile.planner import PlanRequest
from analytics_core._compile.time_offset import OffsetKind, TimeOffset, parse_time_offset
from analytics_core._compile.time_range import TimeRange
from analytics_core._querying.offset_join import offset_label
from analytics_core.errors import DuplicateLabelError, LimitError, TimeOffsetError
from analytics_core.models.enums import TimeGrain
from analytics_core.models.query import ChartDataQueryObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
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
) -> tuple[Comparison, ...]:
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
) -> Comparison:
    offset = parse_time_offset(text)
    if offset.kind is OffsetKind.DATE_RANGE and not date_ranges:
        raise TimeOffsetError(f"time_offsets: {text!r} is a date range; Settings.date_range_offsets is off")
    assert main.since is not None  # noqa: S101 - made so by _enclosed; tells the type checker
    assert main.until is not None  # noqa: S101 - likewise
    since, until = offset.shifted(main.since, main.until)
    shifted = TimeRange(since=since, until=until, text=f"{main.text}, {text}")
    return Comparison(
        text=text,
        offset=offset,
        query=_shifted_query(query),
        request=replace(request, range_override=shifted),
        main=main,
    )


def _shifted_query(query: ChartDataQueryObject) -> ChartDataQueryObject:
    """Return the query as it runs over a shifted range: unordered, up to the default limit, without further steps."""
    changes: Mapping[str, object] = {
        "time_offsets": (),
        "post_processing": (),
        "orderby": (),
        "row_limit": None,
        "row_offset": 0,
    }
    return query.model_copy(update=dict(changes))
