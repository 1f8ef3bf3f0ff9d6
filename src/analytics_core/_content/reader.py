"""What one actor may read: single records, scopes of lists, and the names that answers tell.

Every namespace asks here who sees which record. The policy's table becomes a condition of the list's own statement; a
policy that decides by methods of its own is asked about each record instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Literal, TypeAlias

from analytics_core._content.batches import by_ids, every, every_id, stored_ids
from analytics_core._engine.rights.actor import Actor
from analytics_core._engine.rights.policy import Permission, Policy
from analytics_core._engine.rights.scopes import NOT_LOOKED_AT, scope_of
from analytics_core._records.chart import Chart
from analytics_core._records.dashboard import Dashboard
from analytics_core._records.datasource import Database, Dataset
from analytics_core._records.report import ReportSchedule
from analytics_core._records.repositories import ListFilter, ListQuery, Names, NamesQuery, Repository, Scope, UnitOfWork
from analytics_core._records.sql_query import SavedQuery
from analytics_core.errors import NotFoundError

Visible: TypeAlias = frozenset[int] | Scope | None
"""Which records of a list: ids or a scope; None for all."""

Kind = Literal["databases", "datasets", "charts", "dashboards", "report_schedules"]
"""A kind of record that not everybody sees alike; the name of its repository."""

DATASET_NAME = "datasource_name"
"""What lists of charts call the name of a chart's dataset."""

DASHBOARD_PARTS = frozenset({"owner_ids", "role_ids", "chart_ids", "tag_ids"})
_READING: Final[Mapping[Kind, Permission]] = {
    "databases": Permission.READ_DATABASE,
    "datasets": Permission.READ_DATASET,
    "charts": Permission.READ_CHART,
    "dashboards": Permission.READ_DASHBOARD,
    "report_schedules": Permission.MANAGE_REPORT,
}
_EVERYTHING = ListQuery()


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads records in one unit of work as one actor, under one policy."""

    unit: UnitOfWork
    policy: Policy
    actor: Actor

    # ------------------------------------------------------------------------------------------------ one record
    def database(self, database_id: int) -> Database:
        """Return a database; DatabaseNotFoundError or DatabaseAccessError otherwise."""
        database = self.unit.databases.get(database_id)
        self.policy.require_read_database(self.actor, database)
        return database

    def reads_within(self, database: Database) -> bool:
        """Tell whether somebody who signed in may read a database, or a dataset of it, and so tables by their SQL."""
        if self.actor.guest is not None or self.policy.can_read_database(self.actor, database):
            return self.actor.guest is None
        of_it = ListQuery(filters=(ListFilter(col="database_id", op="eq", val=database.id),), page_size=1)
        return self.unit.datasets.list(replace(self.visible("datasets", of_it), without=NOT_LOOKED_AT))[0] > 0

    def require_saved_query(self, query: SavedQuery) -> None:
        """Raise DatabaseAccessError unless the actor may run any SQL there, or made it and may read a table there."""
        database = self.unit.databases.get(query.database_id)
        if query.audit.created_by != self.actor.id or not self.reads_within(database):
            self.policy.require_query_database(self.actor, database)

    def dataset(self, dataset_id: int) -> Dataset:
        """Return a dataset; NotFoundError or DatasetAccessError otherwise."""
        dataset = self.unit.datasets.get(dataset_id)
        self.require_dataset(dataset)
        return dataset

    def chart(self, chart_id: int) -> Chart:
        """Return a chart; NotFoundError or ChartAccessError otherwise."""
        chart = self.unit.charts.get(chart_id)
        self.require_charts((chart,))
        return chart

    def chart_called(self, name: str) -> Chart:
        """Return the one chart of a name that the actor may read; NotFoundError where there is none, or several."""
        named = every(self.unit.charts, (ListFilter(col="slice_name", op="eq", val=name),))
        found = self.charts(chart.id for chart in named)
        if len(found) == 1:
            return next(iter(found.values()))
        ids = ", ".join(map(str, found))
        place = f"alone: {ids} are called so; give an id" if found else "(give its id or its name)"
        raise NotFoundError("chart", name, place=place)

    def dashboard(self, dashboard_id: int) -> Dashboard:
        """Return a dashboard; NotFoundError or DashboardAccessError otherwise."""
        dashboard = self.unit.dashboards.get(dashboard_id)
        self.require_dashboard(dashboard)
        return dashboard

    def report(self, schedule_id: int) -> ReportSchedule:
        """Return the schedule of an alert or a report; NotFoundError or OwnershipError otherwise."""
        schedule = self.unit.report_schedules.get(schedule_id)
        self.policy.require_manage_report(self.actor, schedule)
        return schedule

    def remaining_chart(self, chart_id: int | None) -> int | None:
        """Return the id of a chart that something was stored for, None when it was deleted since.

        Raises:
            ChartAccessError: the actor may not read it.
        """
        try:
            return None if chart_id is None else self.chart(chart_id).id
        except NotFoundError:
            return None

    def require_dataset(self, dataset: Dataset) -> None:
        """Raise DatasetAccessError unless the actor may read the dataset."""
        self.policy.require_read_dataset(self.actor, dataset)

    def require_charts(self, charts: Sequence[Chart]) -> None:
        """Raise ChartAccessError unless the actor may read these charts."""
        datasets = {} if self._reads_all("charts") else self._sources(charts)
        for chart in charts:
            self.policy.require_read_chart(self.actor, chart, datasets.get(chart.id))

    def require_layers(self, chart: Chart, *, before: Chart | None = None) -> None:
        """Raise ChartAccessError unless the actor may read the layers that a map newly names; guests see them with it.

        Raises:
            NotFoundError: there is no such chart.
        """
        from analytics_core._superset.layers import layers_of

        known = () if before is None else layers_of(before)
        for layer in layers_of(chart):
            if layer not in known:
                self.chart(layer)

    def require_dashboard(self, dashboard: Dashboard) -> None:
        """Raise DashboardAccessError unless the actor may read the dashboard."""
        scope = self._table("dashboards")
        datasets: Iterable[Dataset] = ()
        if scope is None:
            datasets = self.datasets_of(dashboard)
        elif not scope.everything:
            charts = by_ids(self.unit.charts, dashboard.chart_ids, without=frozenset({"owner_ids", "tag_ids"}))
            datasets = _datasets_of(self.unit, charts.values(), without=NOT_LOOKED_AT).values()
        self.policy.require_read_dashboard(self.actor, dashboard, datasets)

    # --------------------------------------------------------------------------------------------- some of many
    def databases(self, ids: Iterable[int | None]) -> dict[int, Database]:
        """Return those databases that exist and that the actor may read, by id and in the order of their ids."""
        return self._among("databases", self.unit.databases, ids)

    def visible_saved_queries(self) -> ListQuery:
        """Return a query of the saved queries that `require_saved_query` lets the actor see."""
        databases = tuple(every(self.unit.databases))
        opened = [one.id for one in databases if self.policy.can_query_database(self.actor, one)]
        partly = [one.id for one in databases if one.id not in opened and self.reads_within(one)]
        on_opened = ListFilter(col="database_id", op="in", val=tuple(opened))
        made = ListFilter(col="created_by", op="eq", val=self.actor.id)
        there = ListFilter(col="database_id", op="in", val=tuple(partly))
        own = frozenset(every_id(self.unit.saved_queries, (made, there))) if partly else frozenset()
        if not own:
            return ListQuery(filters=(on_opened,))
        return ListQuery(ids=own.union(every_id(self.unit.saved_queries, (on_opened,))))

    def charts(self, ids: Iterable[int | None]) -> dict[int, Chart]:
        """Return those charts that exist and that the actor may read, by id and in the order of their ids."""
        return self._among("charts", self.unit.charts, ids)

    def dashboards(self, ids: Iterable[int | None]) -> dict[int, Dashboard]:
        """Return those dashboards that exist and that the actor may read, by id and in the order of their ids."""
        return self._among("dashboards", self.unit.dashboards, ids)

    def among_dashboards(self, dashboards: Sequence[Dashboard]) -> tuple[Dashboard, ...]:
        """Return those of the dashboards, which have been read whole, that the actor may read."""
        scope = self._table("dashboards")
        if scope is None:
            return tuple(self._allowed("dashboards", dashboards))
        if scope.everything or not dashboards:
            return tuple(dashboards)
        ids = (dashboard.id for dashboard in dashboards)
        readable = self._among("dashboards", self.unit.dashboards, ids, without=DASHBOARD_PARTS)
        return tuple(dashboard for dashboard in dashboards if dashboard.id in readable)

    def among_datasets(self, datasets: Iterable[Dataset]) -> tuple[Dataset, ...]:
        """Return those of the datasets, which have been read whole, that the actor may read."""
        return tuple(dataset for dataset in datasets if self.policy.can_read_dataset(self.actor, dataset))

    # -------------------------------------------------------------------------------------------------- lists
    def scope(self, kind: Kind) -> Visible:
        """Return which records of a kind the actor may read, for `ListQuery.ids`."""
        scope = self._table(kind)
        if scope is not None:
            return None if scope.everything else scope
        repository: Repository[Any] = getattr(self.unit, kind)
        return frozenset(record.id for record in self._allowed(kind, tuple(every(repository))))

    def named_charts(self) -> Visible:
        """Return which visible charts may be found by the name of their dataset: those whose dataset is readable.

        An owner sees their chart also when its dataset is not for them, but learns nothing of that dataset.
        """
        charts = self.scope("charts")
        if self.scope("datasets") is None:
            return charts
        if isinstance(charts, Scope) and charts.drawn_from is not None:
            return Scope(drawn_from=charts.drawn_from)
        datasets = _datasets_of(self.unit, every(self.unit.charts, ids=charts))
        return frozenset(key for key, dataset in datasets.items() if self.policy.can_read_dataset(self.actor, dataset))

    def visible(self, kind: Kind, query: ListQuery = _EVERYTHING) -> ListQuery:
        """Return a query of what the actor may see, in which nothing is found or ordered by what they may not.

        Filters by charts or dashboards count those only that the actor may read, so that nobody learns which dashboards
        show a chart that is not for them. Datasets that the actor may not read have no name to lists of charts.
        """
        seen = replace(query, ids=self.scope(kind))
        match kind:
            case "charts":
                dashboards = partial(self._among, "dashboards", self.unit.dashboards, without=DASHBOARD_PARTS)
                return self._by_names(_narrowed(seen, "dashboard_ids", dashboards))
            case "dashboards":
                return _narrowed(seen, "chart_ids", self.charts)
        return seen

    def names(self, query: NamesQuery) -> Names:
        """Return the names that a query asks for; of datasets and dashboards those that the actor may read."""
        datasets = self.scope("datasets") if query.datasets else frozenset[int]()
        dashboards = self.scope("dashboards") if query.dashboards_of else frozenset[int]()
        return self.unit.names(replace(query, among_datasets=datasets, dashboards=dashboards))

    # ------------------------------------------------------------------------------- datasets behind other records
    def source_of(self, chart: Chart) -> Dataset | None:
        """Return the dataset of a chart, whoever may read it, as far as the policy needs it.

        It is whole for a policy with methods of its own; else columns and metrics are left unread.
        """
        return self._sources((chart,)).get(chart.id)

    def datasets_of(self, dashboard: Dashboard) -> tuple[Dataset, ...]:
        """Return the datasets of a dashboard's charts, whoever may read them, each once, in the order of their ids."""
        datasets = _datasets_of(self.unit, by_ids(self.unit.charts, dashboard.chart_ids).values())
        once = {dataset.id: dataset for dataset in datasets.values()}
        return tuple(once[key] for key in sorted(once))

    # ------------------------------------------------------------------------------------------------------ inside
    def _table(self, kind: Kind) -> Scope | None:
        """Return what the policy's table says of a kind; None: the policy must be asked about each record."""
        return scope_of(self.policy, _READING[kind], self.actor)

    def _reads_all(self, kind: Kind) -> bool:
        scope = self._table(kind)
        return scope is not None and scope.everything

    def _sources(self, charts: Iterable[Chart]) -> Mapping[int, Dataset]:
        reads_all = self._table("datasets") is None or self._table("charts") is None
        return _datasets_of(self.unit, charts, without=frozenset() if reads_all else NOT_LOOKED_AT)

    def _allowed(self, kind: Kind, records: Sequence[Any]) -> list[Any]:
        """Return those of the records that the policy allows to read, each by itself."""
        may_read: Callable[[Any], bool]
        match kind:
            case "databases":
                may_read = partial(self.policy.can_read_database, self.actor)
            case "datasets":
                may_read = partial(self.policy.can_read_dataset, self.actor)
            case "charts":
                may_read = partial(self._is_readable_chart, _datasets_of(self.unit, records))
            case "dashboards":
                charts = by_ids(self.unit.charts, {key for dashboard in records for key in dashboard.chart_ids})
                may_read = partial(self._is_readable_dashboard, _datasets_of(self.unit, charts.values()))
            case "report_schedules":
                may_read = partial(self.policy.can_manage_report, self.actor)
        return [record for record in records if may_read(record)]

    def _is_readable_chart(self, datasets: Mapping[int, Dataset], chart: Chart) -> bool:
        return self.policy.can_read_chart(self.actor, chart, datasets.get(chart.id))

    def _is_readable_dashboard(self, datasets: Mapping[int, Dataset], dashboard: Dashboard) -> bool:
        its_datasets = (datasets[chart_id] for chart_id in dashboard.chart_ids if chart_id in datasets)
        return self.policy.can_read_dashboard(self.actor, dashboard, its_datasets)

    def _among(
        self,
        kind: Kind,
        repository: Repository[Any],
        ids: Iterable[int | None],
        *,
        without: frozenset[str] = frozenset(),
    ) -> dict[int, Any]:
        wanted = stored_ids(key for key in ids if key is not None)
        scope = self._table(kind)
        if scope is None:
            return {record.id: record for record in self._allowed(kind, tuple(by_ids(repository, wanted).values()))}
        if scope.everything or not wanted:
            return by_ids(repository, wanted, without=without)
        these = (ListFilter(col="id", op="in", val=wanted),)
        query = ListQuery(filters=these, ids=scope, page_size=len(wanted), without=without)
        return {record.id: record for record in repository.list(query)[1]}

    def _by_names(self, query: ListQuery) -> ListQuery:
        """Return a query of charts to which the datasets that the actor may not read have no name."""
        is_filter = any(item.col == DATASET_NAME for item in query.filters)
        if not is_filter and all(column != DATASET_NAME for column, _ in query.order_by):
            return query
        named = replace(query, among_datasets=self.scope("datasets"))
        return replace(named, ids=self.named_charts()) if is_filter else named


def _datasets_of(
    unit: UnitOfWork, charts: Iterable[Chart], *, without: frozenset[str] = frozenset()
) -> Mapping[int, Dataset]:
    """Return the dataset of each chart that has one, by the chart's id; parts of them may be left unread."""
    sources = {chart.id: chart.dataset_id for chart in charts if chart.dataset_id is not None}
    datasets = by_ids(unit.datasets, sources.values(), without=without)
    return {chart_id: datasets[source] for chart_id, source in sources.items() if source in datasets}


def _narrowed(query: ListQuery, column: str, readable: Callable[[frozenset[int]], Iterable[int]]) -> ListQuery:
    """Return a query whose filters on a column of ids name readable ones only; without such filters the same query."""

    def narrowed(item: ListFilter) -> ListFilter:
        if item.col != column:
            return item
        requested = stored_ids(item.val if item.op == "in" else (item.val,))
        return replace(item, op="in", val=tuple(readable(requested)))

    return replace(query, filters=tuple(map(narrowed, query.filters)))
