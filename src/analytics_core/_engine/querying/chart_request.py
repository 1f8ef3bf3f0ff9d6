"""One request to the query engine: who asks and when, what of each query, and what in its payload nobody reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from pydantic import BaseModel

from analytics_core._engine.compile.plan import QueryPlan
from analytics_core._engine.compile.time_bounds import names_range
from analytics_core._engine.execution.cancel import CancelToken
from analytics_core._engine.execution.request_budget import RequestBudget
from analytics_core._engine.frames.pipeline import Step
from analytics_core._engine.results.answer import ChartData, QueryResult
from analytics_core._engine.rights.actor import Actor
from analytics_core._records.datasource import Dataset
from analytics_core.errors import AnalyticsError, Problem, QueryError, UnknownColumnError, nearest
from analytics_core.models.enums import ResultType
from analytics_core.models.parsing import unknown_field
from analytics_core.models.query import (
    AdhocMetric,
    AdhocMetricColumn,
    ChartAnnotationLayer,
    ChartDataQueryContext,
    ChartDataQueryObject,
    PostProcessingOperation,
)

_MARKS: Final = frozenset({"isNew", "datasourceWarning"})
"""What editors of charts write beside an ad-hoc metric, for themselves."""

_NESTED: Final = (tuple, BaseModel)
"""What values that hold objects of a payload are."""
_PLAIN: Final = frozenset({str, int, float, bool, dict, type(None)})
"""What most values are; it is quicker to see than that they are no model."""

TranslateError = Callable[[AnalyticsError, int], AnalyticsError]
"""Gives an error of the query at a position in the terms of what was edited."""

ExtraBundle = Callable[[ChartData], dict[str, Any]]
"""Gives what notebooks show of an answer beside its rows, by media types."""

_Key = tuple[BaseModel, str, str]
"""The object that holds an unread key, the object's place in the payload (with a dot at the end), and the key."""


def unread_keys(context: ChartDataQueryContext) -> tuple[Problem, ...]:
    """Return each key of a context that no shape has, with its place and the name that comes nearest.

    Keys without a value (null, empty text, list or object) ask nothing and do not count; clients send some always.
    """
    own = (_problem(key) for key in _keys_of(context))
    layers = (
        Problem(path=f"queries.{i}.annotation_layers.{j}.overrides.{name}", message=_unknown_override(name))
        for i, query in enumerate(context.queries)
        for j, layer in enumerate(query.annotation_layers)
        for name in unread_overrides(layer)
    )
    return (*own, *layers)


def unread_names(context: ChartDataQueryContext, query: ChartDataQueryObject) -> tuple[str, ...]:
    """Return the unread keys that bear on one query, sorted: its own with their places in it, then the context's."""
    own = sorted(f"{place}{name}" for _, place, name in _keys_of(query))
    around = sorted(name for name in _extra(context))
    return (*own, *(f"{name} (beside queries)" for name in around))


def _keys_of(shape: BaseModel) -> list[_Key]:
    """Return the unread keys of an object; places are told from the inside: objects without any cost nothing."""
    if isinstance(shape, AdhocMetricColumn):
        return []  # clients send all that they know of the column; its name is what counts
    found = [(shape, "", name) for name in _extra(shape)]
    for name, value in shape.__dict__.items():
        if value and type(value) not in _PLAIN and isinstance(value, _NESTED) and (inner := _keys_in(value)):
            field = type(shape).model_fields[name]
            found += _inside(field.serialization_alias or field.alias or name, inner)
    return found


def _keys_in(value: Any) -> list[_Key]:
    if isinstance(value, BaseModel):
        return _keys_of(value)
    found: list[_Key] = []
    for position, item in enumerate(value):
        if type(item) not in _PLAIN and isinstance(item, _NESTED) and (inner := _keys_in(item)):
            found += _inside(str(position), inner)
    return found


def _inside(place: str, keys: list[_Key]) -> list[_Key]:
    return [(shape, f"{place}.{inner}", name) for shape, inner, name in keys]


def _extra(shape: BaseModel) -> Sequence[str]:
    extra = shape.model_extra
    if not extra:
        return ()
    marks = _MARKS if isinstance(shape, AdhocMetric) else frozenset()
    return [name for name, value in extra.items() if name not in marks and not _is_empty(value)]


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, str | list | tuple | Mapping) and not value)


def _problem(key: _Key) -> Problem:
    shape, place, name = key
    return Problem(path=f"{place}{name}", message=unknown_field(name, type(shape)))


RANGE_OVERRIDE: Final = "time_range"
RANGE_END_OVERRIDES: Final = ("since", "until")
SHIFT_OVERRIDE: Final = "time_shift"
GRAIN_OVERRIDES: Final = ("time_grain_orm", "time_grain_sqla", "time_grain")
GRANULARITY_OVERRIDES: Final = ("granularity", "granularity_orm", "granularity_sqla")
READ_OVERRIDES: Final = frozenset(
    {RANGE_OVERRIDE, *RANGE_END_OVERRIDES, SHIFT_OVERRIDE, *GRAIN_OVERRIDES, *GRANULARITY_OVERRIDES}
)
"""Names of `overrides` of an annotation layer that are read."""


def unread_overrides(layer: ChartAnnotationLayer) -> list[str]:
    """Return the names of a layer's overrides that are not read, sorted."""
    return sorted(name for name in layer.overrides or {} if name not in READ_OVERRIDES)


def _unknown_override(name: str) -> str:
    close = nearest(name, READ_OVERRIDES)
    hint = f"did you mean {close[0]!r}?" if close else f"those are {', '.join(sorted(READ_OVERRIDES))}"
    return f"is no override that is read; {hint}"


_LISTED_KEYS = 20
_NOT_STRICT = "ask without strict to have it told in the notes of the result"


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedQuery:
    """One query of a context, by its position, the type of its result, and the totals that another query gave it."""

    position: int
    query: ChartDataQueryObject
    result_type: ResultType
    totals: tuple[tuple[str, float], ...] = ()


def requested_queries(context: ChartDataQueryContext) -> tuple[RequestedQuery, ...]:
    """Return the queries of a context; a query's own result type goes before the context's."""
    return tuple(
        RequestedQuery(position=i, query=query, result_type=query.result_type or context.result_type)
        for i, query in enumerate(context.queries)
    )


def effective_query(requested: RequestedQuery, dataset: Dataset) -> ChartDataQueryObject:
    """Return the query as it will be planned: samples and drill detail ask for all columns as raw rows."""
    match requested.result_type:
        case ResultType.SAMPLES:
            # What the payload orders by is not honoured, and still asks for rows that can be read by pages.
            pages = {"row_offset": requested.query.row_offset} if requested.query.orderby else {}
            return _all_columns(requested.query, dataset, granularity=None, time_range=None, orderby=(), **pages)
        case ResultType.DRILL_DETAIL:
            first = dataset.columns[0].column_name if dataset.columns else None
            return _all_columns(requested.query, dataset, orderby=((first, True),) if first else ())
    return requested.query


def _all_columns(query: ChartDataQueryObject, dataset: Dataset, **changes: object) -> ChartDataQueryObject:
    return query.model_copy(
        update={
            "columns": tuple(column.column_name for column in dataset.columns),
            "metrics": None,
            "post_processing": (),
            "is_timeseries": False,
            "series_columns": (),
            "series_limit": 0,
            "time_offsets": (),
            **changes,
        }
    ).given_as({})


def notes_of(context: ChartDataQueryContext, requested: RequestedQuery) -> tuple[str, ...]:
    """Return what a caller should know about parts of the payload that nobody reads."""
    query = requested.query
    return (
        *_unread(unread_names(context, query)),
        *_misplaced_parameters(context, query),
        *_range_of_samples(requested),
    )


def _misplaced_parameters(context: ChartDataQueryContext, query: ChartDataQueryObject) -> tuple[str, ...]:
    form = context.form_data if isinstance(context.form_data, Mapping) else {}
    given = form.get("url_params")
    if not given or given == query.url_params:
        return ()
    return ("url_params of form_data are not read; templates read those of the query: queries[i].url_params",)


def _range_of_samples(requested: RequestedQuery) -> tuple[str, ...]:
    query = requested.query
    if requested.result_type is not ResultType.SAMPLES or not names_range(query.time_range):
        return ()
    return (f"time_range {query.time_range!r} does not bound samples; a TEMPORAL_RANGE filter does",)


def notes_of_steps(steps: Sequence[Step]) -> tuple[str, ...]:
    """Return what a caller should know about options of post-processing that nobody reads."""
    return tuple(f"{step.place}: {note}" for step in steps for note in _unread(step.unread))


def reject_unused(requested: RequestedQuery, plan: QueryPlan, steps: Sequence[Step], dataset: Dataset) -> None:
    """Refuse a query with parts that have no effect; what a dashboard added (`isExtra`) may have none.

    Raises:
        UnknownColumnError: a filter is on a column that the dataset does not have.
        QueryError: anything else that is not used.
    """
    place = f"queries[{requested.position}]"
    own = {item.col for item in requested.query.filters if isinstance(item.col, str) and not item.is_extra}
    lost = (item.column for item in plan.rejected_filters if item.reason == "not_in_datasource")
    for name in lost:
        if name in own and name not in plan.applied_filters:
            known = [column.column_name for column in dataset.columns]
            raise UnknownColumnError(name, dataset=dataset.table_name, known=known, place=f"{place}.filters")
    unused = (*plan.unused, *notes_of_steps(steps))
    if unused:
        raise QueryError(f"{place}: {'; '.join(unused)}; {_NOT_STRICT}")


def _unread(keys: Sequence[str]) -> tuple[str, ...]:
    return (f"kept but not read: {', '.join(keys[:_LISTED_KEYS])}",) if keys else ()


_NO_QUERIES: Final = ChartDataQueryContext()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartRequest:
    """What one request carries from step to step, from its payload to the statements.

    Attributes:
        actor: who acts.
        now: the moment that counts as now (aware UTC).
        context: the query context; one without queries where templates alone are rendered.
        queries: those of the context.
        digest: of the payload that the context was read from; None when it has no canonical bytes, or was changed.
        force: read from the source, not the cache.
        chart_cache_timeout: in seconds; None when the request comes from no chart, or the chart leaves it open.
        strict: refuse parts of a query that have no effect, of which an answer tells otherwise.
        cancel: stops it from another thread.
        budget: what is left of the request; None until the query engine begins with it.
        notes: what each answer tells of the request as a whole.
        translate_error: gives an error of the query at a position in the terms of what the context was made of, such
            as the form of a chart; None: of nothing.
        form: the form data that the answer is drawn by; None where nothing says how.
        extra_bundle: gives what notebooks show of the answer beside its rows; None: nothing.
        is_of_known_shape: a payload with other values was read before, so that it pays to remember what is made.
    """

    actor: Actor
    now: datetime
    context: ChartDataQueryContext = _NO_QUERIES
    queries: tuple[RequestedQuery, ...] = ()
    digest: bytes | None = None
    force: bool = False
    chart_cache_timeout: int | None = None
    strict: bool = False
    cancel: CancelToken | None = None
    budget: RequestBudget | None = None
    notes: tuple[str, ...] = ()
    translate_error: TranslateError | None = None
    form: Mapping[str, Any] | None = None
    extra_bundle: ExtraBundle | None = None
    is_of_known_shape: bool = False

    def on(self, context: ChartDataQueryContext) -> ChartRequest:
        """Return the same request for another query context."""
        queries = requested_queries(context)
        return replace(
            self,
            context=context,
            queries=queries,
            digest=None,
            force=context.force,
            translate_error=None,
            is_of_known_shape=False,
        )

    def rejection(self, error: AnalyticsError, position: int) -> AnalyticsError:
        """Return an error of one of the queries, in the terms of what the context was made of."""
        return error if self.translate_error is None else self.translate_error(error, position)


CONTRIBUTION = "contribution"
OPTION = "contribution_totals"


def totals_source(requested: Sequence[RequestedQuery]) -> int | None:
    """Return the position of the query that gives totals: the first with metrics alone, when another needs them.

    It may have shares of itself beside its metrics, as a row of totals has.
    """
    if not any(_needs_totals(step) for item in requested for step in item.query.post_processing):
        return None
    return next((place for place, item in enumerate(requested) if _has_metrics_alone(item.query)), None)


def _has_metrics_alone(query: ChartDataQueryObject) -> bool:
    steps = query.post_processing
    return bool(query.metrics) and not (query.columns or query.is_rowcount) and all(map(_adds_shares, steps))


def _adds_shares(step: PostProcessingOperation) -> bool:
    """Tell whether a step of contribution keeps the values that it shares out."""
    return step.operation == CONTRIBUTION and bool(step.options.get("rename_columns"))


def _needs_totals(step: PostProcessingOperation) -> bool:
    if step.operation != CONTRIBUTION:
        return False
    from analytics_core.models.postprocessing import Orientation

    return step.options.get("orientation") in (None, Orientation.COLUMN) and step.options.get(OPTION) is None


def totals_of(result: QueryResult) -> dict[str, float]:
    """Return the numbers of a result of one row by their labels; of any other result none."""
    if len(result.row_set.frame) != 1:
        return {}
    values = {column.name: column.to_list()[0] for column in result.row_set.frame.columns}
    return {
        name: float(value)
        for name, value in values.items()
        if isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    }


def with_totals(requested: RequestedQuery, totals: Mapping[str, float]) -> RequestedQuery:
    """Return the query with these totals in its contributions; totals that it brings itself stay."""
    steps = requested.query.post_processing
    if not totals or not any(map(_needs_totals, steps)):
        return requested
    given = tuple(
        step.model_copy(update={"options": {**step.options, OPTION: dict(totals)}}) if _needs_totals(step) else step
        for step in steps
    )
    query = requested.query.model_copy(update={"post_processing": given})
    return replace(requested, query=query, totals=tuple(totals.items()))
