"""Annotation layers of a query: what they show, read for each answer anew and never kept with its rows.

A FORMULA has no data: the client evaluates it. A NATIVE layer shows stored annotations, a `line` or `table` layer the
answer of a chart, which is asked on the same road as any other: with the access, the row rules and the cache of the
actor. The layers of such a chart are not followed.

An override that is text replaces the chart's own value. Null takes the value of the query that shows the layer, as
clients mean it when they offer "use the time range of this view". `since` and `until` together are a `time_range`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final, Protocol

from analytics_core._engine.compile.columns import parse_grain, time_grain, with_grain
from analytics_core._engine.compile.planning_context import PlanLimits
from analytics_core._engine.compile.time_bounds import NO_FILTER, resolve_range
from analytics_core._engine.frames.frame import Frame
from analytics_core._engine.querying.chart_request import (
    GRAIN_OVERRIDES,
    GRANULARITY_OVERRIDES,
    RANGE_END_OVERRIDES,
    RANGE_OVERRIDE,
    SHIFT_OVERRIDE,
    ChartRequest,
    requested_queries,
    totals_source,
    unread_overrides,
)
from analytics_core._engine.results.answer import LimitEntry, QueryResult
from analytics_core._engine.results.rows import AnnotationData, records
from analytics_core._engine.rights.policy import Policy
from analytics_core._records.chart import Annotation, Chart, NativeLayer
from analytics_core._records.datasource import Dataset
from analytics_core.errors import (
    AccessError,
    AnalyticsError,
    ErrorType,
    LimitError,
    NotFoundError,
    QueryError,
    SubqueryNotAllowedError,
    UnknownNameError,
)
from analytics_core.models.enums import FilterOperator, ResultFormat, ResultType, TimeGrain
from analytics_core.models.parsing.query_context import parse_query_context
from analytics_core.models.query import (
    AnnotationSource,
    AnnotationType,
    ChartAnnotationLayer,
    ChartDataQueryContext,
    ChartDataQueryObject,
)

_LONGEST: Final = 1_000
_LISTED: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotatedQuery:
    """The query that shows the layers, its resolved range (naive UTC; None: open), and the request."""

    query: ChartDataQueryObject
    since: datetime | None
    until: datetime | None
    request: ChartRequest

    @property
    def range_text(self) -> str:
        """The resolved range as a time range of its own."""
        if self.since is None and self.until is None:
            return NO_FILTER
        since, until = (moment.isoformat() if moment else "" for moment in (self.since, self.until))
        return f"{since} : {until}"

    @property
    def grain(self) -> TimeGrain | None:
        """The time grain of the query."""
        return time_grain(self.query)


def range_override(overrides: Mapping[str, Any], host: AnnotatedQuery) -> str | None:
    """Return the time range that a layer asks for; None when it leaves the range alone."""
    if RANGE_OVERRIDE in overrides:
        return _text(overrides, RANGE_OVERRIDE) or host.range_text
    if any(name in overrides for name in RANGE_END_OVERRIDES):
        since, until = (_text(overrides, name) or "" for name in RANGE_END_OVERRIDES)
        return f"{since} : {until}" if since or until else host.range_text
    return None


def overridden(query: ChartDataQueryObject, overrides: Mapping[str, Any], host: AnnotatedQuery) -> ChartDataQueryObject:
    """Return a query of a chart as the layer wants it.

    Raises:
        QueryError: an override is not text.
        UnknownTimeGrainError: a grain is none.
    """
    changes: dict[str, Any] = {}
    if (time_range := range_override(overrides, host)) is not None:
        changes |= _with_range(query, time_range)
    if (granularity := _given(overrides, GRANULARITY_OVERRIDES)) and (
        column := granularity[1] or host.query.granularity
    ):
        changes["granularity"] = column
    if shift := _text(overrides, SHIFT_OVERRIDE):
        changes["time_shift"] = shift
    changed = query.model_copy(update=changes) if changes else query
    if (grain := _given(overrides, GRAIN_OVERRIDES)) is None:
        return changed
    wanted = parse_grain(grain[1], place=f"overrides.{grain[0]}") or host.grain
    return with_grain(changed, wanted) if wanted else changed


def _with_range(query: ChartDataQueryObject, text: str) -> dict[str, Any]:
    """Return a range in the place of the query's own and of those of its filters."""
    filters = tuple(
        item.model_copy(update={"val": text}) if item.op is FilterOperator.TEMPORAL_RANGE else item
        for item in query.filters
    )
    is_in_filters = any(item.op is FilterOperator.TEMPORAL_RANGE for item in filters) and not query.time_range
    return {"filters": filters} if is_in_filters else {"filters": filters, "time_range": text}


def _text(overrides: Mapping[str, Any], name: str) -> str | None:
    value = overrides.get(name)
    if value is not None and not (isinstance(value, str) and len(value) <= _LONGEST):
        raise QueryError(f"overrides.{name} must be text of at most {_LONGEST} characters, or null")
    return value


def _given(overrides: Mapping[str, Any], names: tuple[str, ...]) -> tuple[str, str | None] | None:
    """Return the first of the names that is given with its text; None when none is."""
    return next(((name, _text(overrides, name)) for name in names if name in overrides), None)


_MARKS = frozenset({AnnotationType.EVENT, AnnotationType.INTERVAL})


class UnknownAnnotationColumnError(UnknownNameError, error_type=ErrorType.COLUMN_DOES_NOT_EXIST_ERROR):
    """An annotation layer names a column that the answer of its chart does not have."""

    noun = "column"


def displayed_columns(frame: Frame, layer: ChartAnnotationLayer, *, chart_id: int) -> Frame:
    """Return the columns that the layer shows, in the order time, end, title, descriptions.

    Series show all columns, and so do events and intervals that name no description columns or no time column.

    Raises:
        UnknownAnnotationColumnError: the layer names a column that is not there.
    """
    if layer.annotation_type not in _MARKS or not len(frame):  # an empty answer may lack columns that steps would add
        return frame
    columns = {column.name: column for column in frame.columns}
    named = list(_named(layer))
    for place, name in named:
        if name not in columns:
            raise UnknownAnnotationColumnError(name, place=f"{place}: the answer of chart {chart_id}", known=columns)
    if not layer.description_columns or not layer.time_column:
        return frame
    return Frame(columns=tuple(columns[name] for name in dict.fromkeys(name for _, name in named)))


def _named(layer: ChartAnnotationLayer) -> Iterator[tuple[str, str]]:
    """Yield the columns that a layer names, each with the field that names it."""
    if layer.time_column:
        yield "timeColumn", layer.time_column
    if layer.interval_end_column and layer.annotation_type is AnnotationType.INTERVAL:
        yield "intervalEndColumn", layer.interval_end_column
    if layer.title_column:
        yield "titleColumn", layer.title_column
    for name in layer.description_columns or ():
        yield "descriptionColumns", name


NATIVE_COLUMNS: Final = ("start_dttm", "end_dttm", "short_descr", "long_descr", "json_metadata")
_CHARTS: Final = frozenset({AnnotationSource.LINE, AnnotationSource.TABLE})
_SOURCES: Final = frozenset({AnnotationSource.NATIVE, *_CHARTS})

AskChart = Callable[[ChartRequest], QueryResult]
"""Answers the first query of a chart's context."""

BindChart = Callable[[ChartRequest], Hashable]
"""Tells what binds the actor on a chart's context."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _LayerResult:
    """What one layer adds to the answer; without `data` it shows nothing."""

    data: AnnotationData | None = None
    notes: tuple[str, ...] = ()
    limits: tuple[LimitEntry, ...] = ()


class StoredLayers(Protocol):
    """Reads what annotation layers name."""

    def native(self, layer_id: int, *, since: datetime | None, until: datetime | None) -> NativeLayer:
        """Return a layer with the annotations that touch `[since, until)` (aware; None: open), earliest first."""

    def chart(self, chart_id: int) -> tuple[Chart, Dataset | None]:
        """Return a chart and the dataset that it is drawn from, if it has one; NotFoundError for an unknown chart."""


class ContextOfChart(Protocol):
    """The query context of a chart as JSON text, and what answers should tell of how it was made."""

    @property
    def text(self) -> str:
        """The query context."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What differs from the chart that people see."""


class ContextsOfCharts(Protocol):
    """Gives the query contexts of charts."""

    def of_chart(self, chart: Chart) -> ContextOfChart:
        """Return the context of a chart; an AnalyticsError says why it has none."""


class Annotator:
    """Adds to answers what their annotation layers show."""

    def __init__(
        self,
        *,
        reader: StoredLayers,
        policy: Policy,
        limits: PlanLimits,
        chart_contexts: ContextsOfCharts,
        most_layers: int,
    ) -> None:
        self._reader = reader
        self._chart_contexts = chart_contexts
        self._policy = policy
        self._limits = limits
        self._most_layers = most_layers

    def annotated(self, result: QueryResult, host: AnnotatedQuery, *, ask: AskChart) -> QueryResult:
        """Return the result with the data of the layers that are shown.

        Raises:
            LimitError: there are too many layers.
            AnalyticsError: whatever a layer failed with; the message names the layer. For guests a source that is not
                theirs, or not there, is a note instead.
        """
        rendered = [self._layer_result(layer, host, ask) for layer in self._layers(host)]
        data = tuple(item.data for item in rendered if item.data is not None)
        return replace(
            result,
            annotations=data,
            annotation_data=[item.to_payload() for item in data],
            notes=(*result.notes, *(note for item in rendered for note in item.notes)),
            limits=(*result.limits, *(limit for item in rendered for limit in item.limits)),
        )

    def bound_by(self, host: AnnotatedQuery, *, ask: BindChart) -> Hashable:
        """Return what binds the actor on the sources of the layers that are shown; errors are those of `annotated`."""
        return tuple(self._bound(layer, host, ask) for layer in self._layers(host) if layer.source_type in _SOURCES)

    def _layers(self, host: AnnotatedQuery) -> list[ChartAnnotationLayer]:
        layers = [layer for layer in host.query.annotation_layers if layer.show and _needs_data(layer)]
        if len(layers) > self._most_layers:
            raise LimitError(
                f"annotation_layers: {len(layers)} layers need data; at most {self._most_layers} may "
                "(Settings.max_annotation_layers)"
            )
        return layers

    def _bound(self, layer: ChartAnnotationLayer, host: AnnotatedQuery, ask: BindChart) -> Hashable:
        source_id = _source_id(layer)
        if layer.source_type is AnnotationSource.NATIVE:
            self._policy.require_show_annotations(host.request.actor)
            return source_id
        chart, context, _ = self._requested(layer, source_id, host)
        return source_id, ask(replace(host.request.on(context), chart_cache_timeout=chart.cache_timeout))

    def _layer_result(self, layer: ChartAnnotationLayer, host: AnnotatedQuery, ask: AskChart) -> _LayerResult:
        if layer.source_type not in _SOURCES:
            return _LayerResult(notes=(f"{_place(layer)} shows nothing: sourceType is none of NATIVE, line, table",))
        try:
            source_id = _source_id(layer)
            if layer.source_type is AnnotationSource.NATIVE:
                return self._native(layer, source_id, host)
            return self._chart(layer, source_id, host, ask)
        except AnalyticsError as error:
            if host.request.actor.guest is not None and _is_closed(error):
                return _LayerResult(notes=(f"{_place(layer)} shows nothing: its source is not open to this guest",))
            raise error.at(_place(layer)) from None

    # ------------------------------------------------------------------------------------------------ native layers
    def _native(self, layer: ChartAnnotationLayer, layer_id: int, host: AnnotatedQuery) -> _LayerResult:
        self._policy.require_show_annotations(host.request.actor)
        overrides = layer.overrides or {}
        since, until = self._range(overrides, host)
        stored = self._reader.native(layer_id, since=since, until=until)
        if stored.is_deleted:
            return _LayerResult(notes=(f"{_place(layer)} shows nothing: the layer {stored.name!r} was deleted",))
        found = tuple(_record(annotation) for annotation in stored.annotations)
        limits: tuple[LimitEntry, ...] = ()
        if stored.count > len(found):
            limits = (_cut(layer, "annotations", rows=len(found), set_by="Settings.max_annotations"),)
        return _LayerResult(data=_data(layer, NATIVE_COLUMNS, found), limits=limits)

    def _range(self, overrides: Mapping[str, Any], host: AnnotatedQuery) -> tuple[datetime | None, datetime | None]:
        """Return the range of the stored annotations to show (aware): the query's, unless the layer has its own."""
        text = range_override(overrides, host)
        if text is None or text == host.range_text:
            return _aware(host.since), _aware(host.until)
        own = resolve_range(host.query, text, now=host.request.now, limits=self._limits)
        return own.since, own.until

    # ------------------------------------------------------------------------------------------------------ charts
    def _chart(self, layer: ChartAnnotationLayer, chart_id: int, host: AnnotatedQuery, ask: AskChart) -> _LayerResult:
        chart, context, notes = self._requested(layer, chart_id, host)
        result = ask(replace(host.request.on(context), chart_cache_timeout=chart.cache_timeout))
        frame = displayed_columns(result.frame, layer, chart_id=chart_id)
        wanted = range_override(layer.overrides or {}, host)
        if wanted not in (None, NO_FILTER) and result.from_dttm is result.to_dttm is None:
            notes = [*notes, f"its time range bounds nothing: chart {chart_id} has no time column that it could bound"]
        cut = [limit for limit in result.limits if limit.cut]
        return _LayerResult(
            data=_data(layer, frame.names, tuple(records(frame))),
            notes=tuple(f"{_place(layer)}: {note}" for note in notes),
            limits=tuple(_cut(layer, item.limit, rows=item.rows, set_by=item.set_by) for item in cut),
        )

    def _requested(
        self, layer: ChartAnnotationLayer, chart_id: int, host: AnnotatedQuery
    ) -> tuple[Chart, ChartDataQueryContext, list[str]]:
        """Return the chart of a layer, which the actor may read, and what it is asked for the layer."""
        chart, dataset = self._reader.chart(chart_id)
        self._policy.require_read_chart(host.request.actor, chart, dataset)
        return chart, *_context(chart, self._chart_contexts.of_chart(chart), layer, host)


def notes_of_layers(query: ChartDataQueryObject) -> tuple[str, ...]:
    """Return where the layers of a query come from, for an explanation."""
    layers = [layer for layer in query.annotation_layers if layer.show and _needs_data(layer)]
    native = {layer.name: layer.value for layer in layers if layer.source_type is AnnotationSource.NATIVE}
    charts = {layer.name: layer.value for layer in layers if layer.source_type in _CHARTS}
    return (
        *(f"annotation layer {name!r} is read from stored layer {value!r}" for name, value in native.items()),
        *(f"annotation layer {name!r} is the answer of chart {value!r}" for name, value in charts.items()),
    )


def _needs_data(layer: ChartAnnotationLayer) -> bool:
    return layer.annotation_type is not AnnotationType.FORMULA


def _is_closed(error: AnalyticsError) -> bool:
    """Tell whether a source is not there or not for the actor; guests are told the same of both.

    Guests cannot ask for a grant, so they get the rest of the answer; others are told what they lack.
    """
    return isinstance(error, AccessError | NotFoundError) and not isinstance(error, SubqueryNotAllowedError)


def _place(layer: ChartAnnotationLayer) -> str:
    return f"annotation layer {layer.name!r}"


def _source_id(layer: ChartAnnotationLayer) -> int:
    """Return the id in `value`; clients send it as a number or as digits."""
    value = layer.value
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    what = "an annotation layer" if layer.source_type is AnnotationSource.NATIVE else "a chart"
    raise QueryError(f"value must be the id of {what}")


def _context(
    chart: Chart, own: ContextOfChart, layer: ChartAnnotationLayer, host: AnnotatedQuery
) -> tuple[ChartDataQueryContext, list[str]]:
    """Return the chart's query context as the layer wants it, with what a caller should know about it."""
    context = parse_query_context(own.text)
    if not context.queries:
        raise QueryError(f"chart {chart.id} asks nothing: its query_context has no queries")
    # Only the first query is shown; another one counts where it gives the first its totals.
    requested = context.queries if totals_source(requested_queries(context)) is not None else context.queries[:1]
    plain = [query.model_copy(update={"annotation_layers": (), "result_type": None}) for query in requested]
    unread = unread_overrides(layer)
    notes = [*own.notes, *([f"overrides kept but not read: {', '.join(unread[:_LISTED])}"] if unread else [])]
    if context.queries[0].annotation_layers:
        notes.append(f"the layers of chart {chart.id} itself are not followed")
    changes = {
        "queries": tuple(overridden(query, layer.overrides or {}, host) for query in plain),
        "force": host.request.force,
        "result_type": ResultType.FULL,
        "result_format": ResultFormat.JSON,
    }
    return context.model_copy(update=changes), notes


def _record(annotation: Annotation) -> dict[str, Any]:
    return {
        "start_dttm": _epoch_ms(annotation.start_dttm),
        "end_dttm": _epoch_ms(annotation.end_dttm),
        "short_descr": annotation.short_descr,
        "long_descr": annotation.long_descr,
        "json_metadata": annotation.json_metadata,
    }


def _epoch_ms(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)


def _aware(moment: datetime | None) -> datetime | None:
    return moment.replace(tzinfo=UTC) if moment else None


def _data(
    layer: ChartAnnotationLayer, columns: tuple[str, ...], found: tuple[Mapping[str, Any], ...]
) -> AnnotationData:
    return AnnotationData(
        name=layer.name,
        annotation_type=layer.annotation_type.value if layer.annotation_type else None,
        source_type=layer.source_type.value if layer.source_type else "",
        columns=columns,
        records=found,
    )


def _cut(layer: ChartAnnotationLayer, limit: str, *, rows: int | None, set_by: str) -> LimitEntry:
    return LimitEntry(limit=f"{limit} of {_place(layer)}", rows=rows, set_by=set_by, cut=True)
