"""The query contexts of stored charts: as they are stored, or built of the form data that people edit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from analytics_core._content.stored_json import json_object
from analytics_core._records.chart import Chart
from analytics_core._superset.chart_kind import ChartKind
from analytics_core._superset.field_errors import check_built, check_form, naming_fields
from analytics_core._superset.field_names import QUERY_WORDS
from analytics_core._superset.layers import LAYERED, LAYERS, Layer, build_map, layer_ids, layers_of
from analytics_core._superset.payload import BuiltPayload, build_payload
from analytics_core._superset.registry import ChartKinds
from analytics_core._tools.memo import Memo
from analytics_core.errors import AccessError, NotFoundError, QueryError
from analytics_core.models.strict_json import RepeatedKeyError, json_text, read_json_once

if TYPE_CHECKING:
    from analytics_core._engine.querying.chart_request import TranslateError

FindChart = Callable[[int], Chart]
"""Gives a chart that the actor may read by its id; raises NotFoundError or AccessError otherwise."""

_OF_A_REQUEST: Final = frozenset(
    {
        *("datasource", "force", "result_format", "result_type", "url_params", "custom_params"),
        *("extra_filters", "extra_form_data", "temporal_columns_lookup"),
    }
)
"""Fields that clients set for one request, or for themselves; they do not tell whether a form was edited."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartContext:
    """The query context of a chart as JSON text, with what its answers should tell of how it was made.

    `built` is None where the context is the stored one.
    """

    text: str
    built: BuiltPayload | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        """What differs from the chart that people see, as sentences without a full stop."""
        return () if self.built is None else self.built.notes

    @property
    def translate_error(self) -> TranslateError | None:
        """Tells errors of its queries by the fields of the form; None where the context is the stored one."""
        return None if self.built is None else partial(naming_fields, self.built)


class ChartContexts:
    """Gives the query contexts of charts; any thread may use it.

    Args:
        kinds: the chart kinds.
    """

    def __init__(self, kinds: ChartKinds) -> None:
        self._kinds = kinds
        self._known: Memo[tuple[object, ...], ChartContext] = Memo()

    def of_form(self, form_data: Mapping[str, Any], find: FindChart | None = None) -> BuiltPayload:
        """Return the query context that a form asks; `find` gives the charts that are layers of a map.

        Raises:
            PayloadFormatError: a field holds what no engine can take.
            PayloadSchemaError: fields that cannot be used, all of them at once.
        """
        check_form(form_data)
        if form_data.get("viz_type") == LAYERED:
            layers = _layers(form_data, _found(layer_ids(form_data), find))
            built = build_map(form_data, self._kinds, layers)
        else:
            built = build_payload(form_data, self._kinds)
        check_built(built)
        return built

    def of_chart(self, chart: Chart, find: FindChart | None = None) -> ChartContext:
        """Return the context of a chart: the stored one; where there is none, or its form was edited, a built one.

        A map of several layers is always asked by its form: its queries are those of the charts that are its layers,
        which `find` gives.

        Raises:
            QueryError: the chart stores neither a context nor a form that can be read, or is a map none of whose
                layers can be read.
            PayloadSchemaError: fields of its form cannot be used.
        """
        layers = _found(layers_of(chart), find)
        key = (*_facts(chart), *(fact for item in layers for fact in (item[0], *_facts(item[1]))))
        known = self._known.get(key)
        if known is None:
            known = self._made(chart, find)
            self._known.put(key, known)
        return known

    def grouped_by(self, chart: Chart, columns: Sequence[str]) -> ChartContext | None:
        """Return what is built of the form of a chart with other columns to group by; None where it groups by none."""
        form = _read_form(chart)
        if not form.get("groupby"):
            return None
        built = self.of_form({**form, "groupby": list(columns)})
        return ChartContext(text=json_text(built.payload, shape="form_data"), built=built)

    def with_fresh_context(self, chart: Chart, before: Chart) -> Chart:
        """Return a changed chart without the query context that was made of what it asked before.

        The context stays where the form asks the same as before, and where the context says that it was made of it.
        """
        if not (chart.query_context and chart.params and before.params):
            return chart
        try:
            old, new, context = _read_form(before), _read_form(chart), read_json_once(chart.query_context)
        except (ValueError, RecursionError, QueryError):
            return chart
        own = context.get("form_data") if isinstance(context, dict) else None
        if self._ask_alike(old, new) or (isinstance(own, dict) and self._ask_alike(own, new)):
            return chart
        return replace(chart, query_context=None, query_context_generation=None)

    def _ask_alike(self, before: Mapping[str, Any], form: Mapping[str, Any]) -> bool:
        return before.get("datasource") == form.get("datasource") and not self._ask_otherwise(before, form)

    def built(self, chart: Chart, find: FindChart | None = None) -> BuiltPayload:
        """Return what is built of the form of a chart, whatever context it stores; errors are those of `of_chart`."""
        return self.of_form(_read_form(chart), find)

    def _made(self, chart: Chart, find: FindChart | None) -> ChartContext:
        if chart.query_context and chart.viz_type != LAYERED and not self._is_edited(chart):
            return ChartContext(text=chart.query_context)
        if not chart.params:
            raise QueryError(
                f"chart {chart.id} has no query_context and no params; save one of them with charts.update, or ask "
                "with a query context"
            )
        built = self.built(chart, find)
        if not built.payload["queries"]:
            raise QueryError(f"chart {chart.id} asks nothing: {'; '.join(built.notes)}")
        return ChartContext(text=json_text(built.payload, shape="form_data"), built=built)

    def _is_edited(self, chart: Chart) -> bool:
        """Tell whether the form of a chart asks otherwise than the one that its stored context was made of.

        A context that does not say what form it was made of, or that nobody can read, is never called out of date.
        """
        try:
            context = read_json_once(chart.query_context or "")
            form = _read_form(chart) if chart.params else {}
        except (ValueError, RecursionError, QueryError):
            return False
        before = context.get("form_data") if isinstance(context, dict) else None
        if not isinstance(before, dict) or not form or "viz_type" not in before:
            return False
        return self._ask_otherwise(before, form)

    def _ask_otherwise(self, before: Mapping[str, Any], form: Mapping[str, Any]) -> bool:
        if before.get("viz_type") != form.get("viz_type"):
            return True
        kind = self._kinds.kind_of(form.get("viz_type"))
        names = (form.keys() | (before.keys() & kind.defaults.keys())) & ((QUERY_WORDS | kind.fields) - _OF_A_REQUEST)
        return any(_differs(name, form, before, kind) for name in names)


def stored_form(chart: Chart, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that a chart stores for drawing, completed by what its record knows."""
    datasource = f"{chart.datasource_id}__{chart.datasource_type}" if chart.datasource_id is not None else None
    known = {"slice_id": chart.id, "viz_type": chart.viz_type, "datasource": datasource}
    return {**fields, **{name: value for name, value in known.items() if value is not None}}


def form_of_chart(chart: Chart) -> dict[str, Any]:
    """Return the form data that say how a stored chart is drawn."""
    return stored_form(chart, json_object(chart.params))


def _facts(chart: Chart | None) -> tuple[object, ...]:
    """Return all that the context of a chart is made of."""
    if chart is None:
        return (None,)
    query_fields = chart.query_context, chart.params, chart.viz_type, chart.datasource_id, chart.datasource_type
    return chart.id, chart.slice_name, *query_fields


def _found(ids: Sequence[int], find: FindChart | None) -> list[tuple[int, Chart | None]]:
    """Return charts by their ids, None for those that are not there or not for the actor."""
    found: list[tuple[int, Chart | None]] = []
    for chart_id in ids:
        try:
            found.append((chart_id, None if find is None else find(chart_id)))
        except (NotFoundError, AccessError):
            found.append((chart_id, None))
    return found


def _layers(form_data: Mapping[str, Any], charts: Sequence[tuple[int, Chart | None]]) -> list[Layer]:
    named = form_data[LAYERS] if charts else ()
    return [
        Layer(place=named.index(chart_id), chart_id=chart_id)
        if chart is None
        else Layer(place=named.index(chart_id), chart_id=chart_id, name=chart.slice_name, form=_read_form(chart))
        for chart_id, chart in charts
    ]


def _read_form(chart: Chart) -> dict[str, Any]:
    try:
        fields = read_json_once(chart.params or "{}")
    except RepeatedKeyError as error:
        raise QueryError(f"the params of chart {chart.id} {error}; save them again with charts.update") from None
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        raise QueryError(f"the params of chart {chart.id} are no JSON object; save them again with charts.update")
    return stored_form(chart, fields)


def _differs(name: str, form: Mapping[str, Any], before: Mapping[str, Any], kind: ChartKind) -> bool:
    default = kind.defaults.get(name)
    if name not in before and name not in form:
        return False
    meant, meant_before = (_meant(fields.get(name, default)) for fields in (form, before))
    return bool(meant != meant_before)


def _meant(value: Any) -> Any:
    """Return a value as it counts: what is empty is none."""
    return None if value in (None, "", [], {}, False) else value
