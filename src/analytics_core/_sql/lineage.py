"""Where the columns of answers come from, and what reads a table, and so breaks when that changes."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, Final, TypeVar

from sqlglot import exp
from sqlglot.optimizer.scope import Scope, traverse_scope

from analytics_core._content.bundles.datasets import texts_in_values
from analytics_core._content.checks.checking import request_of
from analytics_core._content.checks.datasets_today import begun_request
from analytics_core._content.questions.dashboard_filters import all_filters
from analytics_core._content.reader import Reader
from analytics_core._content.related_names import charts_drawn_from
from analytics_core._content.runtime import ContentRuntime
from analytics_core._content.stored_json import json_object
from analytics_core._engine.compile.fragments.sql_nodes import table_nodes
from analytics_core._engine.compile.fragments.sql_text import FAULTS, parse_statements
from analytics_core._engine.compile.relation import TableRef
from analytics_core._engine.engines.spec import EngineSpec
from analytics_core._engine.gate.relations import in_schema, relations_of, table_name
from analytics_core._engine.querying.chart_request import ChartRequest
from analytics_core._engine.querying.sql_parameters import without_parameters
from analytics_core._engine.rights.actor import Actor
from analytics_core._engine.rights.policy import Permission
from analytics_core._engine.rights.row_rules import TableName, ruled_dataset
from analytics_core._records.dashboard import Dashboard
from analytics_core._records.datasource import Database, Dataset
from analytics_core._records.report import ReportSchedule
from analytics_core._records.repositories import ListFilter, ListQuery, Repository, UnitOfWork
from analytics_core._sql.reading import ColumnLineage, KnownTables, lineage_of
from analytics_core._tools.display.blocks import Blocks, HeadingBlock, counted, notes
from analytics_core._tools.display.bundles import mime_bundle
from analytics_core._tools.display.objects import objects_table
from analytics_core.errors import AnalyticsError, QueryError
from analytics_core.models.enums import DatasourceType
from analytics_core.models.query import ChartDataDatasource

_WORD: Final = re.compile(r"\w+")
_AT_ONCE: Final = 500
"""Records that one statement of the store reads."""

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependent:
    """A record that reads a table or a column.

    Attributes:
        kind: `dataset`, `saved query`, `chart`, `dashboard`, `alert`, `report` or `row rule`.
        id: of the record.
        name: of the record.
        through: what it reads it by: `table`, `SQL`, or the records between, such as `dataset 3`.
    """

    kind: str
    id: int
    name: str
    through: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TableLineage:
    """What reads a table or a column of it, as far as the actor may see it; true where something does.

    Attributes:
        table: the table, with its schema where one was named.
        column: the column; None for the table as a whole.
        dependents: what reads it, datasets first.
        unread: SQL that could not be read, which may read the table as well.
        has_hidden: whether more reads it that the actor may not see.
    """

    table: str
    column: str | None
    dependents: tuple[Dependent, ...]
    unread: tuple[Dependent, ...] = ()
    has_hidden: bool = False

    def __bool__(self) -> bool:
        return bool(self.dependents) or self.has_hidden

    def __str__(self) -> str:
        counts = Counter(one.kind for one in self.dependents)
        readers = ", ".join(counted(number, kind) for kind, number in counts.items()) or "nothing that you may see"
        more = "; more that you may not see" if self.has_hidden else ""
        return f"{self._what()} is read by {readers}{more}"

    def of(self, kind: str) -> tuple[Dependent, ...]:
        """Return the dependents of one kind, such as `chart`."""
        return tuple(one for one in self.dependents if one.kind == kind)

    def _what(self) -> str:
        return self.table if self.column is None else f"{self.table}.{self.column}"

    _repr_mimebundle_ = mime_bundle

    def _blocks(self) -> Blocks:
        unread = f"the SQL of {counted(len(self.unread), 'record')} could not be read"
        return [
            HeadingBlock(text="Lineage", detail=str(self)),
            *objects_table(self.dependents),
            *(notes([unread]) if self.unread else ()),
            *objects_table(self.unread),
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Names:
    """What a dataset has of a column by other names; `breaks`: its SQL names the column, and so fails as a whole."""

    names: frozenset[str]
    breaks: bool


@dataclass(slots=True)
class TableReaders:
    """Finds what reads one table, or one column of it; each SQL is parsed once, and no table is asked.

    Args:
        runtime: the wired library.
        actor: who asks.
        database: that the table is in.
        table: its name; without a schema it may be in any.
        column: of the table; None: the table as a whole.
    """

    runtime: ContentRuntime
    actor: Actor
    database: Database
    table: TableName
    column: str | None
    found: list[Dependent] = field(default_factory=list)
    unread: list[Dependent] = field(default_factory=list)
    has_hidden: bool = False

    @property
    def _spec(self) -> EngineSpec:
        return self.runtime.engine.registry.get(self.database.engine)

    @property
    def _is_loose(self) -> bool:
        return self._spec.guards.table_names.loose

    def lineage(self) -> TableLineage:
        """Return what reads the table."""
        datasets = self._datasets()
        self._saved_queries()
        charts = self._charts(datasets)
        self._reports(charts, self._dashboards(datasets, charts))
        self._row_rules(datasets)
        parts = (self.table.catalog, self.table.schema, self.table.table)
        return TableLineage(
            table=".".join(filter(None, parts)),
            column=self.column,
            dependents=tuple(self.found),
            unread=tuple(self.unread),
            has_hidden=self.has_hidden,
        )

    # ---------------------------------------------------------------------------------------------------- each kind
    def _datasets(self) -> dict[int, _Names]:
        """Return the datasets that read the table, seen or not, with what they have of the column."""
        affected: dict[int, _Names] = {}
        for dataset in self._each(lambda unit: unit.datasets, self._here):
            may_see = self.runtime.policy.can_read_dataset(self.actor, dataset)
            names = self._names(dataset, may_see=may_see)
            if names is not None:
                affected[dataset.id] = names
                way = "SQL" if dataset.sql else "table"
                self._add("dataset", dataset.id, dataset.table_name, way, may_see=may_see)
        return affected

    def _names(self, dataset: Dataset, *, may_see: bool) -> _Names | None:
        """Return what a dataset has of the column; None where it does not read it."""
        reads, own = False, ruled_dataset(dataset).name
        if own is None:
            found = self._reads(dataset, "dataset", dataset.id, may_see=may_see)
            if found is None:
                return None
            reads = found
        elif not own.may_be(self.table, two_parts_are_loose=self._is_loose):
            return None
        if self.column is None:
            return _Names(names=frozenset(), breaks=True)
        names = {self.column.casefold()}
        parts = [(one.column_name, one.expression) for one in dataset.columns if one.expression]
        parts += [(one.metric_name, one.expression) for one in dataset.metrics]
        parts += [(one.verbose_name, one.column_name) for one in dataset.columns if one.verbose_name]
        while more := {name.casefold() for name, text in parts if _mentions(text, names)} - names:
            names |= more
        is_listed = any(one.column_name.casefold() in names for one in dataset.columns if not one.expression)
        if not reads and not is_listed and (own is None or len(names) == 1):
            return None
        return _Names(names=frozenset(names), breaks=reads)

    def _saved_queries(self) -> None:
        sees_all = self.runtime.policy.can_query_database(self.actor, self.database)
        for query in self._each(lambda unit: unit.saved_queries, self._here):
            may_see = sees_all or query.audit.created_by == self.actor.id
            plain = Dataset(
                uuid="",
                database_id=self.database.id,
                table_name=query.label,
                schema=query.schema,
                sql=query.sql,
                template_params=query.template_params,
            )
            if self._reads(plain, "saved query", query.id, may_see=may_see):
                self._add("saved query", query.id, query.label, "SQL", may_see=may_see)

    def _charts(self, datasets: dict[int, _Names]) -> AbstractSet[int]:
        """Return the charts that read the table, seen or not."""
        affected: dict[int, tuple[str, str]] = {}
        for ids in _parts(datasets):
            for chart in self._each(lambda unit: unit.charts, *charts_drawn_from(ids)):
                names = datasets[chart.dataset_id or 0]
                if names.breaks or _named(names.names, (json_object(chart.params), json_object(chart.query_context))):
                    affected[chart.id] = (chart.slice_name, f"dataset {chart.dataset_id}")
        return self._add_all("chart", affected, Reader.charts)

    def _dashboards(self, datasets: dict[int, _Names], charts: AbstractSet[int]) -> AbstractSet[int]:
        """Return the dashboards that show such charts, or whose filters read such datasets, seen or not."""
        affected: dict[int, tuple[str, str]] = {}
        for board in self._each(lambda unit: unit.dashboards):
            through = [f"chart {key}" for key in board.chart_ids if key in charts]
            through += [f"filter {name!r}" for name in _filters(board, datasets)]
            if through:
                affected[board.id] = (board.dashboard_title or "", ", ".join(through))
        return self._add_all("dashboard", affected, Reader.dashboards)

    def _reports(self, charts: AbstractSet[int], boards: AbstractSet[int]) -> None:
        for schedule in self._each(lambda unit: unit.report_schedules):
            may_see = self.runtime.policy.can_manage_report(self.actor, schedule)
            if through := self._schedule_reads(schedule, charts, boards, may_see=may_see):
                kind = "alert" if schedule.is_alert else "report"
                self._add(kind, schedule.id, schedule.name, through, may_see=may_see)

    def _schedule_reads(
        self, schedule: ReportSchedule, charts: AbstractSet[int], boards: AbstractSet[int], *, may_see: bool
    ) -> str:
        if schedule.chart_id in charts:
            return f"chart {schedule.chart_id}"
        if schedule.dashboard_id in boards:
            return f"dashboard {schedule.dashboard_id}"
        if not schedule.sql or schedule.database_id != self.database.id:
            return ""
        plain = Dataset(uuid="", database_id=self.database.id, table_name=schedule.name, sql=schedule.sql)
        return "SQL" if self._reads(plain, "alert", schedule.id, may_see=may_see) else ""

    def _row_rules(self, datasets: dict[int, _Names]) -> None:
        may_see = self.runtime.policy.sees_all(Permission.MANAGE_ROW_RULES, self.actor)
        for rule in self._each(lambda unit: unit.row_rules):
            on = [key for key in rule.dataset_ids if key in datasets]
            on = [key for key in on if self.column is None or _mentions(rule.clause, datasets[key].names)]
            if on:
                self._add("row rule", rule.id, rule.name, ", ".join(f"dataset {key}" for key in on), may_see=may_see)

    # ------------------------------------------------------------------------------------------------------- records
    @property
    def _here(self) -> ListFilter:
        return ListFilter(col="database_id", op="eq", val=self.database.id)

    def _each(self, repository_of: Callable[[UnitOfWork], Repository[Found]], *filters: ListFilter) -> Iterator[Found]:
        """Yield the records of a kind; the store has no transaction open while one is looked at."""
        for page in count():
            with self.runtime.store.unit_of_work() as unit:
                query = ListQuery(filters=filters, page=page, page_size=_AT_ONCE)
                records = repository_of(unit).list(query)[1]
            yield from records
            if len(records) < _AT_ONCE:
                return

    def _add_all(
        self,
        kind: str,
        affected: dict[int, tuple[str, str]],
        seen_by: Callable[[Reader, Iterable[int]], dict[int, Any]],
    ) -> AbstractSet[int]:
        """Add records by their names and what they read it through; return their ids, seen or not."""
        seen: set[int] = set()
        for ids in _parts(affected):
            with self.runtime.store.unit_of_work() as unit:
                seen |= seen_by(Reader(unit, self.runtime.policy, self.actor), ids).keys()
        for key, (name, through) in affected.items():
            self._add(kind, key, name, through, may_see=key in seen)
        return affected.keys()

    def _add(self, kind: str, key: int, name: str, through: str, *, may_see: bool) -> None:
        if may_see:
            self.found.append(Dependent(kind=kind, id=key, name=name, through=through))
        self.has_hidden |= not may_see

    # --------------------------------------------------------------------------------------------------- reading SQL
    def _reads(self, source: Dataset, kind: str, key: int, *, may_see: bool) -> bool | None:
        """Tell whether SQL names the column, or reads the table where none is meant.

        False: it may have the column by a star alone; None: it does not read it. What cannot be read is told to whoever
        may see it.
        """
        try:
            return self._tree_reads(self._tree(source))
        except (*FAULTS, AnalyticsError, RecursionError) as error:
            if may_see:
                why = error.message if isinstance(error, AnalyticsError) else "it is nested too deeply"
                self.unread.append(Dependent(kind=kind, id=key, name=source.table_name, through=why))
            return None

    def _tree(self, source: Dataset) -> exp.Expr:
        request = begun_request(self.runtime, self.actor)
        sql = (
            self.runtime.engine.questions.templates.sample_source(replace(source, schema=None), self._spec, request)
            or ""
        )
        trees = parse_statements(without_parameters(sql, self._spec), self._spec.dialect, QueryError)
        if len(trees) != 1:
            raise QueryError("it is not one statement")
        return in_schema(trees[0], source.schema, self._spec)

    def _tree_reads(self, tree: exp.Expr) -> bool | None:
        tables = table_nodes(tree)
        read = {
            id(tables[relation.position])
            for relation in relations_of(tree, self._spec)
            if self.table.may_be(table_name(relation.table), two_parts_are_loose=self._is_loose)
        }
        if not read:
            return None
        if self.column is None or _names_column(tree, read, self.column):
            return True
        has_star = any(not isinstance(star.parent, exp.Count) for star in tree.find_all(exp.Star))
        return False if has_star else None


def answer_lineage(
    runtime: ContentRuntime, actor: Actor, *, dataset: int | None, chart: int | None, dashboard: int | None
) -> tuple[ColumnLineage, ...]:
    """Return where each column and metric of a dataset, or each column of charts, comes from; nothing runs.

    Raises:
        NotFoundError, AccessError: it is unknown, or not for the actor.
        AnalyticsError: a question cannot be compiled, or a column cannot be traced.
    """
    now = runtime.clock.now()
    if dataset is not None:
        source = ChartDataDatasource(id=dataset, type=DatasourceType.TABLE)
        loaded = runtime.engine.questions.runner.load(ChartRequest(actor=actor, now=now), source).dataset
        parts = ([one.column_name for one in loaded.columns], [one.metric_name for one in loaded.metrics])
        queries = [{"columns": columns, "metrics": metrics} for columns, metrics in ((parts[0], []), ([], parts[1]))]
        queries = [query for query in queries if query["columns"] or query["metrics"]]
        text = json.dumps({"datasource": {"id": dataset, "type": "table"}, "queries": queries})
        return tuple(_traced(runtime, runtime.engine.questions.contexts.read(text, actor=actor, now=now)))
    with runtime.store.unit_of_work() as unit:
        reader = Reader(unit, runtime.policy, actor)
        if chart is not None:
            charts = {chart: reader.chart(chart)}
        else:
            charts = reader.charts(reader.dashboard(dashboard or 0).chart_ids)
    found = ((key, _traced(runtime, request_of(runtime, actor, one, now=now))) for key, one in charts.items())
    return tuple(replace(column, chart=key) for key, columns in found for column in columns)


def _traced(runtime: ContentRuntime, request: ChartRequest) -> Iterator[ColumnLineage]:
    explained = runtime.engine.questions.runner.explain(request).queries
    for requested, query in zip(request.queries, explained, strict=True):
        if query.failure is not None:
            raise query.failure
        source = requested.query.datasource or request.context.datasource
        if source is None or not query.sql:  # facts of a dataset, which no statement asks
            continue
        loaded = runtime.engine.questions.runner.load(request, source)
        known = KnownTables(runtime, request.actor, loaded.database, loaded.spec)
        own = loaded.dataset
        if not own.sql:
            table = TableRef(table=own.table_name, schema=own.schema or None, catalog=own.catalog or None)
            known.found[table] = tuple(one.column_name for one in own.columns if not one.expression)
        yield from lineage_of(query.sql, known, is_ours=True)


def _names_column(tree: exp.Expr, read: AbstractSet[int], column: str) -> bool:
    """Tell whether a statement names a column of one of the tables that it reads, or what it may have of it."""
    wanted = column.casefold()

    def may_have(source: Any) -> bool:
        if isinstance(source, Scope):
            return any(id(table) in read for table in source.expression.find_all(exp.Table))
        return id(source) in read

    for scope in traverse_scope(tree):
        for one in scope.columns:
            if one.name.casefold() != wanted:
                continue
            sources = [scope.sources[one.table]] if one.table in scope.sources else scope.sources.values()
            if any(map(may_have, sources)) or not scope.sources:
                return True
    return False


def _mentions(text: str | None, names: AbstractSet[str]) -> bool:
    """Tell whether SQL has all words of one of the names."""
    words = {word.casefold() for word in _WORD.findall(text or "")}
    return any(own and words.issuperset(own) for own in map(_WORD.findall, names))


def _named(names: AbstractSet[str], values: Sequence[Any]) -> bool:
    """Tell whether JSON values name something, as a text or as a word of SQL."""
    return any(
        text.casefold() in names or (is_sql and _mentions(text, names)) for is_sql, text in texts_in_values(values)
    )


def _filters(board: Dashboard, datasets: dict[int, _Names]) -> Iterator[str]:
    """Yield the names of the filters of a dashboard that read such datasets."""
    for one in all_filters(board):
        for dataset_id, column in one.targets:
            names = datasets.get(dataset_id)
            if names is not None and (names.breaks or column.casefold() in names.names):
                yield one.name
                break


def _parts(ids: Iterable[int]) -> Iterator[tuple[int, ...]]:
    """Yield ids in parts that one statement of the store takes."""
    listed = tuple(ids)
    for start in range(0, len(listed), _AT_ONCE):
        yield listed[start : start + _AT_ONCE]
