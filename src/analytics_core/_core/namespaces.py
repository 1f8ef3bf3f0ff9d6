"""What a core has for each kind of content: `core.charts`, `core.databases` and the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from analytics_core._content.namespace import Namespace, live
from analytics_core._content.runtime import ContentRuntime
from analytics_core._core.actors import Actors
from analytics_core._core.runtime import CoreRuntime
from analytics_core._engine.rights.actor import Actor

if TYPE_CHECKING:
    from analytics_core._content.annotations import AnnotationLayers, Annotations
    from analytics_core._content.background_jobs import Jobs
    from analytics_core._content.cache import CacheControl
    from analytics_core._content.charts.namespace import Charts
    from analytics_core._content.css_templates import CssTemplates
    from analytics_core._content.dashboards.namespace import Dashboards
    from analytics_core._content.databases.namespace import Databases
    from analytics_core._content.datasets.namespace import Datasets
    from analytics_core._content.explore import Explore
    from analytics_core._content.guests.embedded import EmbeddedDashboards
    from analytics_core._content.logs import Logs
    from analytics_core._content.oauth import OAuth
    from analytics_core._content.people.roles import Roles
    from analytics_core._content.people.users import Users
    from analytics_core._content.permalinks import Permalinks
    from analytics_core._content.row_level_security import RowLevelSecurity
    from analytics_core._content.tags import Tags
    from analytics_core._notebook.builder.dataset import DatasetHandle
    from analytics_core._reports.namespace import Reports
    from analytics_core._sql.lineage import TableLineage
    from analytics_core._sql.namespace import Sql
    from analytics_core._sql.queries import Queries
    from analytics_core._sql.saved_queries import SavedQueries

Part = TypeVar("Part", bound=Namespace)


class Namespaces:
    """The kinds of content of a core, each as whoever acts may see and change it."""

    _runtime: CoreRuntime
    _actors: Actors

    def _actor(self) -> Actor:
        """Return who acts."""
        raise NotImplementedError

    def _open(self, kind: Callable[[ContentRuntime, Actor], Part]) -> Part:
        """Return a namespace that asks at each of its calls who acts."""
        return live(lambda: kind(self._runtime.content, self._actor()))

    @property
    def databases(self) -> Databases:
        """The connections to databases that users query.

        Examples:
            >>> core.databases.get(1).database_name
            'shop'
        """
        from analytics_core._content.databases.namespace import Databases

        return self._open(Databases)

    @property
    def datasets(self) -> Datasets:
        """Physical and virtual tables with their columns and metrics.

        Examples:
            >>> core.datasets.get("orders").main_dttm_col
            'order_date'
        """
        from analytics_core._content.datasets.namespace import Datasets

        return self._open(Datasets)

    def dataset(self, name: int | str | None = None) -> DatasetHandle:
        """Return a dataset to ask in one line: `core.dataset("orders").query("revenue").by("country").top(10)`.

        Its columns and metrics are read once, as the actor may see them.

        Args:
            name: its name (`orders`, `sales.orders`) or its id; None: the only one that there is.

        Raises:
            NotFoundError: there is none that the actor may read; the message names the nearest one.
            DatasetAccessError: the dataset of this id is not for the actor.
            QueryError: none is named, and there are several.

        Examples:
            >>> core.dataset("orders").query("revenue").by("country").top(1).run()[0][0][0]
            'Germany'
        """
        from analytics_core._notebook.builder.dataset import find_dataset

        return find_dataset(name, self.datasets, self.charts)

    @property
    def charts(self) -> Charts:
        """Saved charts, and the answers to chart queries.

        Examples:
            >>> core.charts.data(1)[0].rowcount
            3
        """
        from analytics_core._content.charts.namespace import Charts

        return self._open(Charts)

    @property
    def sql(self) -> Sql:
        """Statements that people write: `core.sql("SELECT ...", database="shop")` gives their rows.

        Examples:
            >>> core.sql("SELECT COUNT(*) AS orders FROM orders", database="shop").colnames
            ('orders',)
        """
        from analytics_core._sql.namespace import Sql

        return self._open(Sql)

    def lineage(
        self, table: str, *, database: int | str | None = None, schema: str | None = None, column: str | None = None
    ) -> TableLineage:
        """Return what reads a table, or a column of it: what breaks when that changes; no database is asked.

        Found are datasets, saved queries, charts, dashboards, alerts, reports and row rules that the actor may see;
        `has_hidden` tells that there are others. In doubt something reads it: a name without a schema may be of any,
        and a word of SQL may be the column.

        Args:
            table: its name.
            database: its id or its name; None: the only one that there is.
            schema: of the table; None: any.
            column: of the table; None: the table as a whole.

        Raises:
            DatabaseNotFoundError, QueryError: as for `core.sql(...)`.
            DatabaseAccessError: the actor has no grant on the database, on this schema or on a dataset over this table.

        Examples:
            >>> print(core.lineage("orders", database=1, column="country"))
            orders.country is read by 2 datasets, 1 chart, 1 dashboard, 1 report, 1 row rule
        """
        return self.sql._readers(table, database=database, schema=schema, column=column)

    @property
    def queries(self) -> Queries:
        """What was executed in the SQL editor, and where it stands.

        Examples:
            >>> core.queries.list().count
            0
        """
        from analytics_core._sql.queries import Queries

        return self._open(Queries)

    @property
    def saved_queries(self) -> SavedQueries:
        """Statements that people keep, to run them again.

        Examples:
            >>> core.saved_queries.list().count
            0
        """
        from analytics_core._sql.saved_queries import SavedQueries

        return self._open(SavedQueries)

    @property
    def annotation_layers(self) -> AnnotationLayers:
        """Named collections of annotations that charts show.

        Examples:
            >>> core.annotation_layers.list().count
            1
        """
        from analytics_core._content.annotations import AnnotationLayers

        return self._open(AnnotationLayers)

    @property
    def annotations(self) -> Annotations:
        """What happened when, layer by layer.

        Examples:
            >>> core.annotations.get(1, 1).short_descr
            'Christmas'
        """
        from analytics_core._content.annotations import Annotations

        return self._open(Annotations)

    @property
    def css_templates(self) -> CssTemplates:
        """Style sheets that dashboards may start from.

        Examples:
            >>> core.css_templates.get(1).template_name
            'Quiet'
        """
        from analytics_core._content.css_templates import CssTemplates

        return self._open(CssTemplates)

    @property
    def dashboards(self) -> Dashboards:
        """Charts on pages, for those whom their owners publish them to.

        Examples:
            >>> core.dashboards.get("sales").charts
            ('Revenue by country', 'Revenue by month')
        """
        from analytics_core._content.dashboards.namespace import Dashboards

        return self._open(Dashboards)

    @property
    def embedded(self) -> EmbeddedDashboards:
        """Dashboards inside other pages, and the tokens of their guests.

        Examples:
            >>> core.embedded.list().count
            0
        """
        from analytics_core._content.guests.embedded import EmbeddedDashboards

        return self._open(EmbeddedDashboards)

    @property
    def tags(self) -> Tags:
        """Labels on charts and dashboards.

        Examples:
            >>> [tag.name for tag in core.tags.list()]
            ['key figures']
        """
        from analytics_core._content.tags import Tags

        return self._open(Tags)

    @property
    def users(self) -> Users:
        """The people of the metadata store.

        Examples:
            >>> [user.username for user in core.users.list(order_by="id")]
            ['ada', 'grace']
        """
        from analytics_core._content.people.users import Users

        return self._open(Users)

    @property
    def roles(self) -> Roles:
        """Roles and their grants.

        Examples:
            >>> [role.name for role in core.roles.list(order_by="id")]
            ['Administrators', 'Analysts']
        """
        from analytics_core._content.people.roles import Roles

        return self._open(Roles)

    @property
    def row_level_security(self) -> RowLevelSecurity:
        """The rules on which rows whom may see.

        Examples:
            >>> core.row_level_security.get(1).name
            'Germany alone'
        """
        from analytics_core._content.row_level_security import RowLevelSecurity

        return self._open(lambda runtime, actor: RowLevelSecurity(runtime, actor, self._actors.find))

    @property
    def logs(self) -> Logs:
        """Who did what, when.

        Examples:
            >>> core.logs.list(page_size=1).result[0].action
            'database.create'
        """
        from analytics_core._content.logs import Logs

        return self._open(Logs)

    @property
    def explore(self) -> Explore:
        """What the explore view starts from, and form data that is not saved in a chart yet.

        Examples:
            >>> core.explore.context(chart_id=2).form_data["viz_type"]
            'echarts_timeseries_line'
        """
        from analytics_core._content.explore import Explore

        return self._open(Explore)

    @property
    def cache(self) -> CacheControl:
        """Kept answers: made unreachable, and computed ahead.

        Examples:
            >>> core.cache.invalidate({"datasource_uids": ["1__table"]})
            1
        """
        from analytics_core._content.cache import CacheControl

        return self._open(CacheControl)

    @property
    def jobs(self) -> Jobs:
        """Work in the background: all jobs that the actor submitted.

        Examples:
            >>> core.jobs.list().count
            0
        """
        from analytics_core._content.background_jobs import Jobs

        return self._open(Jobs)

    @property
    def permalinks(self) -> Permalinks:
        """Addresses of the state of a chart or a dashboard.

        Examples:
            >>> core.permalinks.create_for_dashboard(1, {}).key == core.permalinks.create_for_dashboard(1, {}).key
            True
        """
        from analytics_core._content.permalinks import Permalinks

        return self._open(Permalinks)

    @property
    def reports(self) -> Reports:
        """Alerts and reports on a schedule.

        Examples:
            >>> core.reports.get(1).name
            'Sales of the week'
        """
        from analytics_core._reports.namespace import Reports

        return self._open(lambda _, actor: Reports(self._runtime.reports, actor, self._actors.find))

    @property
    def oauth(self) -> OAuth:
        """The actor's authorizations to reach databases on their behalf.

        Examples:
            >>> core.oauth.list()
            ()
        """
        from analytics_core._content.oauth import OAuth

        return self._open(OAuth)
