"""Shapes what was fetched into the answer to one query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from analytics_core._engine.compile.columns import column_label
from analytics_core._engine.compile.metrics import metric_label
from analytics_core._engine.compile.plan import (
    ColumnExpr,
    FragmentExpr,
    OthersExpr,
    Output,
    OutputRole,
    QueryPlan,
    RowLimit,
)
from analytics_core._engine.compile.planning_context import DatasetView
from analytics_core._engine.engines.grains import grain_function, grain_name
from analytics_core._engine.engines.spec import EngineSpec
from analytics_core._engine.engines.types import ValueKind
from analytics_core._engine.frames.arrow_frames import is_arrow, long_decimals
from analytics_core._engine.frames.frame import Frame, FrameColumn
from analytics_core._engine.frames.pipeline import ProcessedFrame
from analytics_core._engine.frames.values import is_rounded
from analytics_core._engine.querying.chart_request import RequestedQuery
from analytics_core._engine.querying.preparing import PreparedQuery
from analytics_core._engine.querying.result_cache import CacheKey, CacheTimeout
from analytics_core._engine.results.answer import LimitEntry, QueryResult, listed_result
from analytics_core._engine.results.rows import ResultRows, coltypes
from analytics_core._records.datasource import Dataset
from analytics_core.models.enums import ExpressionType, ResultType, TimeGrain
from analytics_core.models.query import AdhocColumn, AdhocMetric, ChartDataQueryObject


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultLayout:
    """The answer to a prepared query, but for what its rows decide.

    Attributes:
        outline: the result without rows.
        limits: those of the plan, the row limit first.
        kinds: the kind of each label as the plan and the dataset declare it.
        temporal: the labels that hold moments.
        names: what the labels of the query stand for.
        form_data: what the chart kind reads of the payload; None unless the result is `post_processed`.
    """

    outline: QueryResult
    limits: tuple[LimitEntry, ...]
    kinds: Mapping[str, ValueKind]
    temporal: frozenset[str]
    names: Mapping[str, tuple[str, ...]]
    form_data: Mapping[str, Any] | None


def result_layout(
    requested: RequestedQuery,
    prepared: PreparedQuery,
    view: DatasetView,
    form_data: Any,
    *,
    key: CacheKey | None,
    timeout: CacheTimeout,
) -> ResultLayout:
    """Return what is known of the result of a query before it runs; without a `key` it is not cached."""
    plan = prepared.plan
    applied, rejected = reported_filters(prepared.query, plan, has_time=bool(view.times))
    outline = QueryResult(
        cache_key=key.text if key else None,
        cache_timeout=timeout.seconds if key else None,
        result_type=requested.result_type,
        query=prepared.statement.display_sql,
        applied_filters=applied,
        rejected_filters=rejected,
        from_dttm=epoch_ms(plan.since),
        to_dttm=epoch_ms(plan.until),
        verbose_names=_verbose_names(prepared.query, view),
    )
    return ResultLayout(
        outline=outline,
        limits=_limits_of(plan),
        kinds=declared_kinds(plan, view),
        temporal=temporal_labels(plan, view),
        names=_names_of_labels(prepared.query, view),
        form_data=(form_data if isinstance(form_data, Mapping) else {})
        if requested.result_type is ResultType.POST_PROCESSED
        else None,
    )


def shaped(
    layout: ResultLayout,
    processed: ProcessedFrame,
    *,
    fetched: int,
    was_cut: bool | None,
    cut_offsets: Sequence[tuple[str, RowLimit]] = (),
) -> QueryResult:
    """Return the result of one query with every field of the contract; `notes` are those of its steps alone.

    Args:
        layout: what was known before it ran.
        processed: its rows, compared and processed.
        fetched: the rows of its statement.
        was_cut: whether the statement had more; None: nobody can tell.
        cut_offsets: the comparisons that reached their limit.
    """
    outline, frame = layout.outline, processed.frame
    colnames, names = frame.names, {**processed.parts, **layout.names}
    result = replace(
        outline,
        # Of each answer its own: the layout answers the same question again.
        annotation_data=[],
        applied_filters=tuple(map(dict, outline.applied_filters)),
        rejected_filters=tuple(map(dict, outline.rejected_filters)),
        verbose_names=dict(outline.verbose_names),
        colnames=colnames,
        coltypes=coltypes(frame, declared=layout.kinds, temporal=layout.temporal),
        rowcount=len(frame),
        sql_rowcount=fetched,
        label_map={name: names.get(name, (name,)) for name in colnames},
        notes=(*processed.notes, *notes_of_rounding(frame)),
        limits=ledger(layout, was_cut, cut_offsets),
        row_set=ResultRows(frame),
    )
    if layout.form_data is None:
        return result
    from analytics_core._engine.results.client_processing import client_processed

    return client_processed(result, form_data=layout.form_data)


def reported_filters(
    query: ChartDataQueryObject, plan: QueryPlan, *, has_time: bool
) -> tuple[tuple[Mapping[str, Any], ...], tuple[Mapping[str, Any], ...]]:
    """Return the applied and the rejected filters, the dashboard's time extras among them."""
    applied = [{"column": name} for name in plan.applied_filters]
    rejected = [{"column": item.column, "reason": item.reason} for item in plan.rejected_filters]
    for extra in query.applied_time_extras or {}:
        if has_time:
            applied.append({"column": extra})
        else:
            rejected.append({"column": extra, "reason": "no_temporal_column"})
    return tuple(applied), tuple(rejected)


def declared_kinds(plan: QueryPlan, view: DatasetView) -> dict[str, ValueKind]:
    """Return the kind of each label as the plan and the dataset declare it, for columns without a value."""
    declared = {
        output.label: ValueKind.TEXT if isinstance(output.expr, OthersExpr) else output.kind for output in plan.outputs
    }
    for output in plan.outputs:
        if declared[output.label] is ValueKind.UNKNOWN:
            declared[output.label] = view.kinds.get(output.label, ValueKind.UNKNOWN)
    return declared


def temporal_labels(plan: QueryPlan, view: DatasetView) -> frozenset[str]:
    """Return the labels of the outputs that hold moments, and of columns that the dataset flags as such."""
    columns = [output for output in plan.outputs if output.role is OutputRole.COLUMN]
    return frozenset(output.label for output in columns if output.is_temporal or _is_flagged(output, view))


def _is_flagged(output: Output, view: DatasetView) -> bool:
    name = output.expr.name if isinstance(output.expr, ColumnExpr) else output.label
    column = view.columns.get(name)
    return column is not None and column.is_dttm and isinstance(output.expr, ColumnExpr | FragmentExpr)


def notes_of_rounding(frame: Frame) -> tuple[str, ...]:
    """Return a note on each column with decimals that a number in JSON or a spreadsheet does not hold whole."""
    decimals = [column for column in frame.columns if column.kind is ValueKind.DECIMAL]
    if not decimals:
        return ()
    counts = zip(decimals, map(_rounded_count, decimals), strict=True)
    return tuple(
        [
            f"column {column.name!r}: {count} decimals have more digits than a number in JSON holds and are rounded "
            "there; CSV and frame have them whole"
            for column, count in counts
            if count
        ]
    )


def _rounded_count(column: FrameColumn) -> int:
    values = long_decimals(column.values).to_pylist() if is_arrow(column.values) else column.to_list()
    return sum(value is not None and is_rounded(value) for value in values)


def _names_of_labels(query: ChartDataQueryObject, view: DatasetView) -> dict[str, tuple[str, ...]]:
    """Return, for each label of the query, the names that it stands for.

    A column or saved metric stands for its stored name, ad-hoc SQL for its text as the payload has it. Of other columns
    of a result a label that post-processing joined stands for its parts, everything else for itself.
    """
    columns = {column_label(column): _text(column) for column in query.columns or ()}
    stored = {label: (view.find_column(text) or text,) for label, text in columns.items()}
    metrics = {metric_label(metric): (_text(metric),) for metric in query.metrics or ()}
    return {**stored, **metrics}


def written_labels(query: ChartDataQueryObject) -> tuple[tuple[str, str], ...]:
    """Return the labels of ad-hoc SQL, each with its text as the payload has it."""
    columns = tuple((column_label(column), _text(column)) for column in query.columns or ())
    metrics = tuple((metric_label(metric), _text(metric)) for metric in query.metrics or ())
    return tuple((label, text) for label, text in (*columns, *metrics) if label != text)


def _text(item: str | AdhocColumn | AdhocMetric) -> str:
    """Return what an item of `columns` or `metrics` names: its SQL where it is ad-hoc, else its label."""
    if isinstance(item, AdhocColumn):
        return item.sql_expression or column_label(item)
    if isinstance(item, AdhocMetric) and item.expression_type is ExpressionType.SQL:
        return item.sql_expression or metric_label(item)
    return metric_label(item)


def _limits_of(plan: QueryPlan) -> tuple[LimitEntry, ...]:
    """Return the limits that bound every result of a plan; nobody knows yet whether they cut."""
    rows = _row_limit("row_limit", plan.limit, cut=None)
    if not plan.series_limit:
        return (rows,)
    origin = str(plan.series_limit.origin)
    return rows, LimitEntry(limit="series_limit", rows=plan.series_limit.limit, set_by=origin, cut=None)


def ledger(
    layout: ResultLayout, was_cut: bool | None, cut_offsets: Sequence[tuple[str, RowLimit]]
) -> tuple[LimitEntry, ...]:
    """Return the limits that bound the result; those of comparisons only where they cut."""
    rows, *others = layout.limits
    for text, limit in cut_offsets:
        others.append(_row_limit(f"row_limit of {text!r}", limit, cut=True))
    return replace(rows, cut=was_cut), *others


def _row_limit(name: str, limit: RowLimit, *, cut: bool | None) -> LimitEntry:
    return LimitEntry(limit=name, rows=limit.rows, set_by=str(limit.origin), cut=cut)


def epoch_ms(moment: datetime | None) -> int | None:
    """Return a naive UTC moment as milliseconds since 1970."""
    return None if moment is None else round(moment.replace(tzinfo=UTC).timestamp() * 1000)


def _verbose_names(query: ChartDataQueryObject, view: DatasetView) -> dict[str, str]:
    """Return the names that people see; one of a column and of a saved metric is the metric's where that is asked."""
    saved = {metric for metric in query.metrics or () if isinstance(metric, str)}
    columns = {name: c.verbose_name for name, c in view.columns.items() if c.verbose_name and name not in saved}
    metrics = {name: m for name, m in view.metrics.items() if name in saved or name not in view.columns}
    return {**columns, **{name: m.verbose_name for name, m in metrics.items() if m.verbose_name}}


def query_text(prepared: PreparedQuery) -> QueryResult:
    """Return the result of a query that asks for its statement only."""
    return QueryResult(result_type=ResultType.QUERY, query=prepared.statement.display_sql)


def listed(result_type: ResultType, dataset: Dataset, spec: EngineSpec) -> QueryResult:
    """Return the columns of a dataset, or the time grains of its engine."""
    if result_type is ResultType.COLUMNS:
        return listed_result(result_type, _column_items(dataset, spec))
    grains = [
        {"name": grain_name(grain), "function": grain_function(spec, grain), "duration": grain.value}
        for grain in TimeGrain
    ]
    return listed_result(result_type, grains)


def _column_items(dataset: Dataset, spec: EngineSpec) -> list[dict[str, Any]]:
    items = []
    for column in dataset.columns:
        generic = spec.value_kind(column.type).generic if column.type else None
        dtype = None if generic is None else int(generic)
        items.append({"column_name": column.column_name, "verbose_name": column.verbose_name, "dtype": dtype})
    return items
