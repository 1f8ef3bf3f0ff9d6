"""Notes on answers that would be misread: buckets that a compared range cuts elsewhere, and metrics that are added up.

A range of whole weeks, moved by a year, does not start and end with a week: the last week would be compared with a part
of one, and a decline be seen where there is none. Sums of averages or of distinct counts say nothing of all rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from analytics_core._engine.compile.calendar import bucket_span, truncate
from analytics_core._engine.compile.metrics import metric_label
from analytics_core._engine.compile.plan import BucketExpr, OutputRole, QueryPlan, Within
from analytics_core._engine.frames.pipeline import Step
from analytics_core._engine.querying.time_comparison import TimeComparison
from analytics_core._records.chart_form import OLD_CHART_KINDS, is_on
from analytics_core._records.datasource import Dataset
from analytics_core.errors import TimeOffsetError
from analytics_core.models.enums import Aggregate, TimeGrain
from analytics_core.models.query import AdhocMetric, ChartDataQueryObject

_IN_STEP: Final = MappingProxyType(
    {TimeGrain.MONTH: "12 months ago", TimeGrain.QUARTER: "4 quarters ago", TimeGrain.YEAR: "1 year ago"}
    | dict.fromkeys((grain for grain in TimeGrain if grain.name.startswith("WEEK")), "52 weeks ago")
)
_DAY: Final = timedelta(days=1)


class _Part(NamedTuple):
    """The part of a bucket that lies in a range, as time from the start of the bucket; `end` None: up to its end."""

    start: timedelta
    end: timedelta | None
    length: timedelta


def notes_of_cut_buckets(compared: Sequence[TimeComparison], plan: QueryPlan) -> tuple[str, ...]:
    """Return a note for each bucket that is compared with one that its range cuts at another place.

    Args:
        compared: the comparisons of the query.
        plan: the query itself.
    """
    grain = _grain_of_range(plan)
    if grain is None or plan.since is None or plan.until is None:
        return ()
    return tuple(note for item in compared for note in _notes(item, grain, plan.since, plan.until))


def _grain_of_range(plan: QueryPlan) -> TimeGrain | None:
    """Return the grain of the column that the range of the query bounds; None where it is cut into no buckets."""
    bounded = [clause.predicate.left for clause in plan.where if isinstance(clause.predicate, Within)]
    buckets = [output.expr for output in plan.outputs if output.role is OutputRole.COLUMN]
    return next((one.grain for one in buckets if isinstance(one, BucketExpr) and one.source in bounded), None)


def _notes(compared: TimeComparison, grain: TimeGrain, since: datetime, until: datetime) -> Iterator[str]:
    try:
        start, end = compared.offset.shifted(since, until)
        pairs = [(label, compared.compared(label, grain)) for label in _at_the_ends(grain, since, until)]
    except (TimeOffsetError, OverflowError):  # at the ends of the calendar; what runs will tell
        return
    for label, other in pairs:
        own, its = _part(label, grain, since, until), _part(other, grain, start, end)
        if own is not None and its is not None and own[:2] != its[:2]:
            yield (
                f"{compared.text}: the bucket {_text(label)} ({_days(own.length)}) is compared with the bucket "
                f"{_text(other)}, of which the compared range {_text(start)} : {_text(end)} holds {_days(its.length)}"
                f"{_advice(grain)}"
            )


def _at_the_ends(grain: TimeGrain, since: datetime, until: datetime) -> list[datetime]:
    """Return the labels of the first two and the last two buckets of a range, in order."""
    if since >= until:
        return []
    first, last = truncate(since, grain), truncate(until - timedelta.resolution, grain)
    second, before = truncate(bucket_span(first, grain)[1], grain), bucket_span(last, grain)[0] - timedelta.resolution
    inside = [label for label in (second, truncate(before, grain)) if first < label < last]
    return sorted({first, *inside, last})


def _part(label: datetime, grain: TimeGrain, since: datetime, until: datetime) -> _Part | None:
    """Return which part of a bucket lies in a range; None: nothing of it does."""
    start, end = bucket_span(label, grain)
    if since >= end or until <= start:
        return None
    length = min(until, end) - max(since, start)
    return _Part(max(since - start, timedelta()), None if until >= end else until - start, length)


def _advice(grain: TimeGrain) -> str:
    offset = _IN_STEP.get(grain)
    return f"; an offset in the unit of the buckets, such as {offset!r}, cuts both alike" if offset else ""


def _days(length: timedelta) -> str:
    days = length / _DAY
    return "1 day" if days == 1 else f"{days:.4g} days"


def _text(moment: datetime) -> str:
    is_day = (moment.hour, moment.minute, moment.second, moment.microsecond) == (0, 0, 0, 0)
    return f"{moment:%Y-%m-%d}" if is_day else moment.isoformat()


_ADDED_UP: Final = (Aggregate.SUM, Aggregate.COUNT)
_NOT_ADDED_UP: Final = re.compile(
    r"\b(avg|mean|median|min|max|mode|std\w*|var\w*|corr|quantile\w*|percentile\w*|approx\w*)\s*\(|\bdistinct\b|/",
    re.IGNORECASE,
)
"""What tells in SQL that a metric of several groups is not the sum of those of each."""

_PIVOT_TABLE: Final = "pivot_table_v2"


def notes_of_sums(
    query: ChartDataQueryObject, steps: Sequence[Step], dataset: Dataset, form: object
) -> tuple[str, ...]:
    """Return a note for each sum of a metric that does not add up: totals of pivots, and running sums.

    Args:
        query: what is asked.
        steps: its post-processing.
        dataset: its saved metrics tell by their SQL whether they add up.
        form: the form data of the chart; those of a pivot table may ask for totals.
    """
    summed = [*_summed(steps), *_totals_of_form(query, form if isinstance(form, Mapping) else {})]
    if not summed:
        return ()
    saved = {metric.metric_name: metric.expression for metric in dataset.metrics}
    labels = [metric_label(metric) for metric in query.metrics or () if not _adds_up(metric, saved)]
    return tuple(
        f"{what} of {label!r}{place} are sums, which do not say what it is of all rows together; ask for that by a "
        "query of its own"
        for label in labels
        for what, name, place in summed
        if name == label or name.startswith(f"{label}__")
    )


def _adds_up(metric: str | AdhocMetric, saved: Mapping[str, str]) -> bool:
    if isinstance(metric, str):
        return not _NOT_ADDED_UP.search(saved.get(metric, ""))
    if metric.aggregate is not None and metric.sql_expression is None:
        return metric.aggregate in _ADDED_UP
    return not _NOT_ADDED_UP.search(metric.sql_expression or "")


def _summed(steps: Sequence[Step]) -> Iterator[tuple[str, str, str]]:
    """Yield what adds up, in words, the column that it adds up, and where."""
    if not steps:
        return
    from analytics_core.models.postprocessing import AggregateOperator, CumOptions, CumulativeOperator, PivotOptions

    summing = (AggregateOperator.SUM, AggregateOperator.NANSUM)
    for step in steps:
        options, place = step.options, f" in {step.place}"
        if isinstance(options, PivotOptions) and options.marginal_distributions:
            sums = [(name, spec) for name, spec in options.aggregates.items() if spec.operator in summing]
            yield from (("the totals", spec.column or name, place) for name, spec in sums)
        elif isinstance(options, CumOptions) and options.operator is CumulativeOperator.SUM:
            yield from (("the running results", name, place) for name in options.columns)


def _totals_of_form(query: ChartDataQueryObject, form: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    kind = str(form.get("viz_type"))
    has_totals = any(is_on(form.get(name)) for name in ("rowTotals", "colTotals"))
    is_sum = str(form.get("aggregateFunction") or "Sum").startswith("Sum")
    if OLD_CHART_KINDS.get(kind, kind) != _PIVOT_TABLE or not has_totals or not is_sum:
        return
    for metric in query.metrics or ():
        yield "the totals", metric_label(metric), " in the pivot table"
