"""The filters of a dashboard that act on its charts now: set by their makers, by a permalink, or by the caller.

And what a filter offers to choose from, as a question to its dataset.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from analytics_core._content.lists import LONGEST_SEARCH
from analytics_core._content.questions.dashboard_filters import (
    DeclaredFilter,
    FilterKind,
    all_filters,
    named_filters,
)
from analytics_core._content.questions.extra_filters import ExtraFilters, KnowsName, masked_filters, with_filters
from analytics_core._content.questions.filter_values import (
    SHAPE,
    as_meant,
    filters_of_mask,
    filters_of_value,
    value_of_mask,
)
from analytics_core._content.questions.picks import Picks, acting_picks, chart_key
from analytics_core._content.questions.queries import JobQueries
from analytics_core._engine.results.answer import ChartData
from analytics_core._engine.results.dashboard_answer import FilterState
from analytics_core._records.chart import Chart
from analytics_core._records.dashboard import Dashboard
from analytics_core.errors import (
    AnalyticsError,
    LimitError,
    NotFoundError,
    PayloadSchemaError,
    Problem,
    QueryError,
    UnknownNameError,
    nearest,
)
from analytics_core.models.enums import ResultType
from analytics_core.models.parsing import payload_error
from analytics_core.models.query import ChartDataQueryContext

Masks = Mapping[str, Mapping[str, Any]]
"""Data masks by the ids of filters, and of the charts that filter others."""

_NOTHING: Final = ExtraFilters()
_LONGEST_CASCADE: Final = 20
FIRST_ITEM: Final = "first item"
"""What sets a filter to the first value that it offers, which is read from rows."""


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
    permalink_state: Masks = field(default_factory=dict)
    active_tabs: frozenset[str] = frozenset()
    extra: ExtraFilters = _NOTHING


def given_state(
    *,
    filters: Mapping[str, Any] | None = None,
    cross_filters: Mapping[int, Mapping[str, Any]] | None = None,
    state: Mapping[str, Any] | None = None,
    extra: ExtraFilters = _NOTHING,
) -> GivenState:
    """Return what a caller sets; `state` is the state of a permalink.

    Raises:
        PayloadSchemaError: an argument is no mapping.
    """
    for name, value in (("filters", filters), ("cross_filters", cross_filters)):
        if not isinstance(value, Mapping | None):
            raise payload_error(SHAPE, name, "must be an object")
    masks, tabs = (state or {}).get("dataMask"), (state or {}).get("activeTabs")
    return GivenState(
        filters=filters or {},
        cross_filters={chart_key(key): value for key, value in (cross_filters or {}).items()},
        permalink_state=masks if isinstance(masks, Mapping) else {},
        active_tabs=frozenset(tabs or ()),
        extra=extra,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ActingFilter:
    """One filter, what it is set to, and what that asks; `failure` is why nobody can tell."""

    declared: DeclaredFilter
    state: FilterState
    asks: ExtraFilters
    failure: AnalyticsError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ActingFilters:
    """All filters of a dashboard as they act now, and what is picked in its charts."""

    filters: tuple[ActingFilter, ...]
    picks: tuple[Picks, ...] = ()
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
        for picks in self.picks:
            found = found.and_then(picks.on(chart))
        return found.and_then(self.extra)


def acting_filters(dashboard: Dashboard, given: GivenState, queries: JobQueries) -> ActingFilters:
    """Return the filters of a dashboard as they act now.

    Args:
        dashboard: the dashboard.
        given: what the caller sets.
        queries: answer what a filter begins with, and tell what a chart asks in which something is picked.

    Raises:
        UnknownNameError: the dashboard has no filter that is given.
        PayloadSchemaError: a filter takes no such value.
    """
    setting = _Setting(dashboard, given, queries)
    found = tuple(setting.filter(item.key) for item in setting.declared.values())
    acting = ActingFilters(filters=found, extra=given.extra)
    picks, notes = acting_picks(
        dashboard,
        given.cross_filters,
        given.permalink_state,
        context_of=partial(_requested_by_chart, acting, queries),
        holds=queries.holds,
    )
    known = {*setting.declared, *map(str, dashboard.chart_ids)}
    unknown = [
        f"the permalink sets {key!r}, which the dashboard has no more"
        for key in given.permalink_state
        if key not in known
    ]
    return replace(acting, picks=picks, notes=(*notes, *unknown))


def _requested_by_chart(acting: ActingFilters, queries: JobQueries, chart_id: int) -> ChartDataQueryContext | None:
    """Return what a chart asks while the filters of its dashboard act; None where it asks the actor nothing."""
    try:
        chart = queries.chart(chart_id)
        return queries.on_dashboard(chart, acting.on(chart)).context
    except AnalyticsError:  # of the chart itself, which its own answer tells
        return None


class _Setting:
    """Sets the filters of a dashboard one by one, those that narrow others first."""

    def __init__(self, dashboard: Dashboard, given: GivenState, queries: JobQueries | None = None) -> None:
        self.declared = {item.key: item for item in all_filters(dashboard)}
        self._dashboard = dashboard
        self._given = {self._key(name): value for name, value in given.filters.items()}
        self._stored = given.permalink_state
        self._queries = queries
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
        for mask, set_by in ((self._stored.get(declared.key), "permalink"), (declared.default_mask, "default")):
            if isinstance(mask, Mapping) and (
                set_by == "permalink" or mask.get("extraFormData") or value_of_mask(mask)
            ):
                return value_of_mask(mask), set_by, self._filters_of_mask(declared, mask)
        if declared.control("defaultToFirstItem") and declared.kind is FilterKind.VALUES and declared.targets:
            return self._first_item(declared, below)
        return None, None, _NOTHING

    def _of_caller(self, declared: DeclaredFilter, value: Any) -> tuple[Any, str | None, ExtraFilters]:
        if not isinstance(value, Mapping):
            return value, "caller", filters_of_value(declared, value)
        if not isinstance(value.get("extraFormData"), Mapping):
            raise payload_error(SHAPE, f"filters.{declared.name}", "a data mask must hold the object extraFormData")
        return value_of_mask(value), "caller", self._filters_of_mask(declared, value)

    def _filters_of_mask(self, declared: DeclaredFilter, mask: Mapping[str, Any]) -> ExtraFilters:
        """Return what a data mask asks; the one of columns to group by shows them, and asks nothing else."""
        if declared.kind is FilterKind.GROUP_BY:
            return filters_of_value(declared, value_of_mask(mask))
        asks = filters_of_mask(mask)
        if self._queries is None:
            return asks
        holds = partial(self._queries.holds, declared.dataset_id)
        return as_meant(asks, holds, name=f"filter {declared.name!r}")

    def _first_item(self, declared: DeclaredFilter, below: frozenset[str]) -> tuple[Any, str | None, ExtraFilters]:
        rows = self.options(declared, below, search=None, row_limit=1).raise_for_error().results[0].rows()
        values = [rows[0][0]] if rows else []
        return values, FIRST_ITEM, filters_of_value(declared, values)

    def options(
        self, declared: DeclaredFilter, below: frozenset[str], *, search: str | None, row_limit: int
    ) -> ChartData:
        """Return what a filter offers inside the values of its parents; errors are those of `options_question`."""
        if self._queries is None:
            raise QueryError("no question is asked while names are checked")
        within, knows = self.within(declared, below), self._queries.knows_name
        question = options_question(declared, within=within, search=search, row_limit=row_limit, knows_name=knows)
        return self._queries.ask(question)

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


def check_given(dashboard: Dashboard, given: GivenState) -> None:
    """Raise what the values that are given to filters would, before anything is asked.

    Raises:
        UnknownNameError, PayloadSchemaError: as in `acting_filters`.
    """
    setting = _Setting(dashboard, given)
    for name, value in given.filters.items():
        setting.check(name, value)


def problems_of_given(dashboard: Dashboard, filters: Mapping[str, Any], *, path: str) -> Iterator[Problem]:
    """Yield what is wrong with filters that are to be given later: names of none, and values that do not fit.

    Args:
        dashboard: the dashboard.
        filters: as `data` takes them.
        path: under which their names stand in the payload.
    """
    setting = _Setting(dashboard, GivenState())
    for name, value in filters.items():
        try:
            setting.check(name, value)
        except PayloadSchemaError as error:
            yield from (Problem(path=f"{path}.{name}", message=one.message) for one in error.problems)
        except AnalyticsError as error:
            yield Problem(path=f"{path}.{name}", message=error.message)


def options_of(
    dashboard: Dashboard,
    filter_id: int | str,
    given: GivenState,
    queries: JobQueries,
    *,
    search: str | None,
    row_limit: int,
) -> ChartData:
    """Return what a filter offers while its parents are set as given; errors are those of `options_question`.

    Raises:
        NotFoundError: the dashboard declares no such filter.
    """
    setting = _Setting(dashboard, given, queries)
    declared = setting.named(filter_id)
    if declared is None or (declared.kind in (FilterKind.VALUES, FilterKind.RANGE) and not declared.targets):
        close = nearest(filter_id, (item.name for item in setting.declared.values()))
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise NotFoundError("filter", filter_id, place=f"of dashboard {dashboard.id}{hint}")
    return setting.options(declared, frozenset({declared.key}), search=search, row_limit=row_limit)


def _state(declared: DeclaredFilter, value: Any, set_by: str | None) -> FilterState:
    return FilterState(
        filter_id=declared.key,
        name=declared.name,
        kind=str(declared.item.get("filterType") or ""),
        value=value,
        set_by=set_by,
        chart_ids=tuple(sorted(declared.chart_ids)),
    )


MOST_VALUES: Final = 10_000

_LISTED: Final = {
    FilterKind.TIME_GRAIN: ResultType.TIMEGRAINS,
    FilterKind.TIME_COLUMN: ResultType.COLUMNS,
    FilterKind.GROUP_BY: ResultType.COLUMNS,
}
_PREFILTERS: Final = ("adhoc_filters", "time_range", "granularity_sqla")


def options_question(
    declared: DeclaredFilter,
    *,
    within: ExtraFilters,
    search: str | None,
    row_limit: int,
    knows_name: KnowsName,
) -> dict[str, Any]:
    """Return the query context for what a filter offers, inside its own conditions and those of its parents.

    Values of a column are sorted as its maker says. A range offers the smallest and the largest value, as `min` and
    `max`.

    Raises:
        QueryError: the filter offers nothing to choose from, for example a time range.
        LimitError: `row_limit` is out of bounds, or `search` is too long.
    """
    _check_options(search, row_limit)
    source = {"id": declared.targets[0][0] if declared.targets else declared.dataset_id, "type": "table"}
    listed = _LISTED.get(declared.kind)
    has_list = listed is not None or declared.kind in (FilterKind.VALUES, FilterKind.RANGE)
    if not has_list or source["id"] is None:
        taken = _TAKEN.get(declared.kind, "a value")
        raise QueryError(f"filter {declared.key!r} takes {taken} and has no list of values")
    if search and declared.kind is not FilterKind.VALUES:
        raise QueryError(f"filter {declared.key!r} has no list of values to search")
    if listed is not None:
        return {"datasource": source, "queries": [{}], "result_type": listed.value}
    column = declared.targets[0][1]
    query = _ends(column) if declared.kind is FilterKind.RANGE else _values(declared, column, search, row_limit)
    own = masked_filters({name: declared.item[name] for name in _PREFILTERS if declared.item.get(name)})
    return with_filters({"datasource": source, "queries": [query]}, own.and_then(within), knows_name)


_TAKEN: Final = {
    FilterKind.TIME_RANGE: "a time range",
    FilterKind.TIME_GRAIN: "a time grain",
    FilterKind.TIME_COLUMN: "a time column",
}


def _values(declared: DeclaredFilter, column: str, search: str | None, row_limit: int) -> dict[str, Any]:
    metric = declared.item.get("sortMetric")
    key = metric if isinstance(metric, str) and metric else column
    return {
        "columns": [column],
        "metrics": [],
        "orderby": [[key, declared.control("sortAscending") is not False]],
        "row_limit": row_limit,
        "apply_fetch_values_predicate": True,
        "filters": [{"col": column, "op": "ILIKE", "val": f"%{_plain(search)}%"}] if search else [],
    }


def _ends(column: str) -> dict[str, Any]:
    ends = [
        {"expressionType": "SIMPLE", "column": {"column_name": column}, "aggregate": name, "label": name.lower()}
        for name in ("MIN", "MAX")
    ]
    return {"columns": [], "metrics": ends, "apply_fetch_values_predicate": True}


def _check_options(search: object, row_limit: object) -> None:
    """Refuse what is out of bounds or of another kind: hosts pass on what stands in an address."""
    if not isinstance(row_limit, int) or isinstance(row_limit, bool) or not 1 <= row_limit <= MOST_VALUES:
        raise LimitError(f"row_limit must be an integer between 1 and {MOST_VALUES}")
    if search is not None and not (isinstance(search, str) and len(search) <= LONGEST_SEARCH):
        raise LimitError(f"search must be a text of {LONGEST_SEARCH} characters at most")


def _plain(text: str) -> str:
    """Return a text whose signs of patterns stand for themselves."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
