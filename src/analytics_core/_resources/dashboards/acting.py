"""The filters of a dashboard that act on its charts now: set by their makers, by a permalink, or by the caller."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from analytics_core._records.chart import Chart
from analytics_core._records.dashboard import Dashboard
from analytics_core._resources.batches import id_in
from analytics_core._resources.charts.extra_filters import ExtraFilters
from analytics_core._resources.dashboards.filters import (
    DeclaredFilter,
    FilterKind,
    all_filters,
    charts_of_cross_filters,
    named_filters,
)
from analytics_core._resources.dashboards.options import options_question
from analytics_core._resources.dashboards.values import (
    SHAPE,
    asked_by,
    asked_by_mask,
    filters_on_columns,
    value_of_mask,
)
from analytics_core._resources.stored_json import json_object
from analytics_core._results.answer import ChartData
from analytics_core._results.dashboard_answer import FilterState
from analytics_core.errors import (
    AnalyticsError,
    NotFoundError,
    PayloadSchemaError,
    Problem,
    QueryError,
    UnknownNameError,
    nearest,
)
from analytics_core.models.parsing import payload_error

Ask = Callable[[dict[str, Any]], ChartData]
"""Answers a query context for the actor."""

Masks = Mapping[str, Mapping[str, Any]]
"""Data masks by the ids of filters, and of the charts that filter others."""

_NOTHING: Final = ExtraFilters()
_LONGEST_CASCADE: Final = 20
_MOST_TOLD: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenState:
    """What a caller sets on a dashboard.

    Attributes:
        filters: values, or data masks, by the ids or names of filters; None clears one.
        cross_filters: values by columns, or data masks, by the ids of the charts in which they were picked.
        kept: what a permalink keeps.
        active_tabs: the tabs that are open on the page of a permalink; empty: all charts are shown.
        extra: what is asked of every chart.
    """

    filters: Mapping[str, Any] = field(default_factory=dict)
    cross_filters: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    kept: Masks = field(default_factory=dict)
    active_tabs: frozenset[str] = frozenset()
    extra: ExtraFilters = _NOTHING


def given_state(
    *,
    filters: Mapping[str, Any] | None = None,
    cross_filters: Mapping[int, Mapping[str, Any]] | None = None,
    kept: Mapping[str, Any] | None = None,
    extra: ExtraFilters = _NOTHING,
) -> GivenState:
    """Return what a caller sets; `kept` is the state of a permalink.

    Raises:
        PayloadSchemaError: an argument is no mapping.
    """
    for name, value in (("filters", filters), ("cross_filters", cross_filters)):
        if not isinstance(value, Mapping | None):
            raise payload_error(SHAPE, name, "must be an object")
    masks, tabs = (kept or {}).get("dataMask"), (kept or {}).get("activeTabs")
    return GivenState(
        filters=filters or {},
        cross_filters={_number(key): value for key, value in (cross_filters or {}).items()},
        kept=masks if isinstance(masks, Mapping) else {},
        active_tabs=frozenset(tabs or ()),
        extra=extra,
    )


def _number(key: Any) -> Any:
    """Return the id of a chart, which JSON writes as a text."""
    number = id_in(key) if isinstance(key, str) else None
    return key if number is None else number


@dataclass(frozen=True, slots=True, kw_only=True)
class ActingFilter:
    """One filter, what it is set to, and what that asks; `failure` is why nobody can tell."""

    declared: DeclaredFilter
    state: FilterState
    asks: ExtraFilters
    failure: AnalyticsError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ActingFilters:
    """All filters of a dashboard as they act now; `crossing` are pairs of the charts acted on and what is asked."""

    filters: tuple[ActingFilter, ...]
    crossing: tuple[tuple[frozenset[int], ExtraFilters], ...] = ()
    extra: ExtraFilters = _NOTHING
    notes: tuple[str, ...] = ()

    def on(self, chart: Chart) -> ExtraFilters:
        """Return what all of them ask of a chart; columns to group by are for the charts of their dataset.

        Raises:
            AnalyticsError: a filter that acts on it needs a value, or its value could not be found out.
        """
        found = _NOTHING
        for item in self.filters:
            declared = item.declared
            is_elsewhere = declared.kind is FilterKind.GROUP_BY and declared.dataset_id not in (None, chart.dataset_id)
            if chart.id not in declared.chart_ids or is_elsewhere:
                continue
            if item.failure is not None:
                raise item.failure
            found = found.and_then(item.asks)
        for reached, asks in self.crossing:
            found = found.and_then(asks if chart.id in reached else _NOTHING)
        return found.and_then(self.extra)


def acting_filters(dashboard: Dashboard, given: GivenState, ask: Ask) -> ActingFilters:
    """Return the filters of a dashboard as they act now.

    Args:
        dashboard: the dashboard.
        given: what the caller sets.
        ask: finds the first item that a filter offers, where its maker has it begin with that.

    Raises:
        UnknownNameError: the dashboard has no filter that is given.
        PayloadSchemaError: a filter takes no such value.
    """
    setting = _Setting(dashboard, given, ask)
    found = tuple(setting.filter(item.key) for item in setting.declared.values())
    crossing, notes = _crossing(dashboard, given)
    known = {*setting.declared, *map(str, dashboard.chart_ids)}
    unknown = [f"the permalink sets {key!r}, which the dashboard has no more" for key in given.kept if key not in known]
    return ActingFilters(filters=found, crossing=crossing, extra=given.extra, notes=(*notes, *unknown))


class _Setting:
    """Sets the filters of a dashboard one by one, those that narrow others first."""

    def __init__(self, dashboard: Dashboard, given: GivenState, ask: Ask) -> None:
        self.declared = {item.key: item for item in all_filters(dashboard)}
        self._dashboard = dashboard
        self._given = {self._key(name): value for name, value in given.filters.items()}
        self._kept = given.kept
        self._ask = ask
        self._found: dict[str, ActingFilter] = {}

    def filter(self, key: str, below: frozenset[str] = frozenset()) -> ActingFilter:
        """Return a filter; `below` are those that wait for it, so that a circle of parents ends."""
        known = self._found.get(key)
        if known is not None:
            return known
        declared = self.declared[key]
        made = self._failing(declared, below | {key})
        self._found[key] = made
        return made

    def within(self, declared: DeclaredFilter, below: frozenset[str] = frozenset()) -> ExtraFilters:
        """Return what the parents of a filter ask."""
        found = _NOTHING
        if len(below) > _LONGEST_CASCADE:
            raise QueryError(f"filter {declared.name!r} depends on others over more than {_LONGEST_CASCADE} steps")
        for parent in declared.parents:
            if parent in self.declared and parent not in below:
                acting = self.filter(parent, below)
                if acting.failure is not None:
                    raise acting.failure
                found = found.and_then(acting.asks)
        return found

    def _failing(self, declared: DeclaredFilter, below: frozenset[str]) -> ActingFilter:
        try:
            value, set_by, asks = self._set(declared, below)
        except AnalyticsError as error:
            if declared.key in self._given:
                raise
            return ActingFilter(declared=declared, state=_state(declared, None, None), asks=_NOTHING, failure=error)
        state, failure = _state(declared, value, set_by), None
        if declared.control("enableEmptyFilter") and asks == _NOTHING:
            hint = f"give filters={{{declared.name!r}: ...}}"
            failure = QueryError(f"filter {declared.name!r} of dashboard {self._dashboard.id} needs a value; {hint}")
        return ActingFilter(declared=declared, state=state, asks=asks, failure=failure)

    def _set(self, declared: DeclaredFilter, below: frozenset[str]) -> tuple[Any, str | None, ExtraFilters]:
        """Return the value of a filter, who set it, and what it asks."""
        if declared.key in self._given:
            return self._of_caller(declared, self._given[declared.key])
        for mask, set_by in ((self._kept.get(declared.key), "permalink"), (declared.default_mask, "default")):
            if isinstance(mask, Mapping) and (
                set_by == "permalink" or mask.get("extraFormData") or value_of_mask(mask)
            ):
                return value_of_mask(mask), set_by, _asked(declared, mask)
        if declared.control("defaultToFirstItem") and declared.kind is FilterKind.VALUES and declared.targets:
            return self._first_item(declared, below)
        return None, None, _NOTHING

    def _of_caller(self, declared: DeclaredFilter, value: Any) -> tuple[Any, str | None, ExtraFilters]:
        if not isinstance(value, Mapping):
            return value, "caller", asked_by(declared, value)
        if not isinstance(value.get("extraFormData"), Mapping):
            raise payload_error(SHAPE, f"filters.{declared.name}", "a data mask must hold the object extraFormData")
        return value_of_mask(value), "caller", _asked(declared, value)

    def _first_item(self, declared: DeclaredFilter, below: frozenset[str]) -> tuple[Any, str | None, ExtraFilters]:
        question = options_question(declared, within=self.within(declared, below), search=None, row_limit=1)
        rows = self._ask(question).raise_for_error().results[0].rows()
        values = [rows[0][0]] if rows else []
        return values, "first item", asked_by(declared, values)

    def named(self, named: object) -> DeclaredFilter | None:
        """Return the filter that has this id, or else this name; None where there is none."""
        found = named_filters(self.declared.values(), named)
        if len(found) > 1:
            message = f"several filters have this name: name one by its id, {[item.key for item in found]}"
            raise payload_error(SHAPE, f"filters.{named}", message)
        return found[0] if found else None

    def check(self, named: Any, value: Any) -> None:
        """Raise what giving a filter this value would; errors are those of `acting_filters`."""
        self._of_caller(self.declared[self._key(named)], value)

    def _key(self, named: Any) -> str:
        """Return the id of a filter that is named by its id or its name."""
        found = self.named(named)
        if found is not None:
            return found.key
        known = (item.name for item in self.declared.values())
        raise UnknownNameError(str(named), place=f"filters: dashboard {self._dashboard.id}", known=known)


def problems_of_given(dashboard: Dashboard, filters: Mapping[str, Any], *, path: str) -> Iterator[Problem]:
    """Yield what is wrong with filters that are to be given later: names of none, and values that do not fit.

    Args:
        dashboard: the dashboard.
        filters: as `data` takes them.
        path: under which their names stand in the payload.
    """
    setting = _Setting(dashboard, GivenState(), _asks_nothing)
    for name, value in filters.items():
        try:
            setting.check(name, value)
        except PayloadSchemaError as error:
            yield from (Problem(path=f"{path}.{name}", message=one.message) for one in error.problems)
        except AnalyticsError as error:
            yield Problem(path=f"{path}.{name}", message=error.message)


def _asks_nothing(_: object) -> ChartData:
    raise QueryError("no question is asked while names are checked")


def options_of(
    dashboard: Dashboard, filter_id: int | str, given: GivenState, ask: Ask, *, search: str | None, row_limit: int
) -> ChartData:
    """Return what a filter offers while its parents are set as given; errors are those of `options_question`.

    Raises:
        NotFoundError: the dashboard declares no such filter.
    """
    setting = _Setting(dashboard, given, ask)
    declared = setting.named(filter_id)
    if declared is None or (declared.kind in (FilterKind.VALUES, FilterKind.RANGE) and not declared.targets):
        close = nearest(filter_id, (item.name for item in setting.declared.values()))
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise NotFoundError("filter", filter_id, place=f"of dashboard {dashboard.id}{hint}")
    within = setting.within(declared, frozenset({declared.key}))
    return ask(options_question(declared, within=within, search=search, row_limit=row_limit))


def _asked(declared: DeclaredFilter, mask: Mapping[str, Any]) -> ExtraFilters:
    """Return what a data mask asks; the one of columns to group by shows them, and asks nothing else."""
    if declared.kind is FilterKind.GROUP_BY:
        return asked_by(declared, value_of_mask(mask))
    return asked_by_mask(mask)


def _state(declared: DeclaredFilter, value: Any, set_by: str | None) -> FilterState:
    return FilterState(
        filter_id=declared.key,
        name=declared.name,
        kind=str(declared.item.get("filterType") or ""),
        value=value,
        set_by=set_by,
        chart_ids=tuple(sorted(declared.chart_ids)),
    )


def _crossing(
    dashboard: Dashboard, given: GivenState
) -> tuple[tuple[tuple[frozenset[int], ExtraFilters], ...], tuple[str, ...]]:
    """Return what picks inside charts ask of the other charts, and notes of those that act no more."""
    kept = {_number(key): mask for key, mask in given.kept.items() if _number(key) in dashboard.chart_ids}
    picked = {**{key: asked_by_mask(mask) for key, mask in kept.items()}, **_picked(dashboard, given)}
    if picked and json_object(dashboard.json_metadata).get("cross_filters_enabled") is False:
        if given.cross_filters:
            raise payload_error(SHAPE, "cross_filters", "the dashboard has them off (cross_filters_enabled)")
        return (), ("what was picked in charts of the permalink is not applied: the dashboard has cross filters off",)
    reached = charts_of_cross_filters(picked, dashboard)
    return tuple((reached[key], asks) for key, asks in picked.items()), ()


def _picked(dashboard: Dashboard, given: GivenState) -> dict[int, ExtraFilters]:
    found = {}
    for key, value in given.cross_filters.items():
        place = f"cross_filters.{key}"
        if key not in dashboard.chart_ids:
            known = ", ".join(map(str, sorted(dashboard.chart_ids)[:_MOST_TOLD]))
            raise payload_error(SHAPE, place, f"is the id of no chart of the dashboard; those are {known}")
        if not isinstance(value, Mapping):
            raise payload_error(SHAPE, place, 'must be an object of columns and values, such as {"country": ["FR"]}')
        is_mask = isinstance(value.get("extraFormData"), Mapping)
        found[key] = asked_by_mask(value) if is_mask else filters_on_columns(value, place=place)
    return found
