"""Statements that people write, answered through the gate: checked, fenced with the row rules, bounded, bound, run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Protocol, TypeVar

from sqlglot import exp

from analytics_core._engine.compile.lowering.expressions import Binds, Lowering
from analytics_core._engine.compile.lowering.query import with_rules
from analytics_core._engine.compile.plain_sql import is_plain_query
from analytics_core._engine.compile.plan import RelationRule, SqlSource
from analytics_core._engine.compile.planning_context import VIRTUAL_ALIAS
from analytics_core._engine.compile.relation import TableRef
from analytics_core._engine.compile.render import render
from analytics_core._engine.compile.statement import Statement
from analytics_core._engine.compile.templates import is_template
from analytics_core._engine.engines.spec import EngineSpec
from analytics_core._engine.execution.connections import Admission
from analytics_core._engine.execution.fetching import FetchedResult, FetchLimits
from analytics_core._engine.frames.frame import Frame
from analytics_core._engine.gate.gate import DatabaseUse, Gate, StatementTables
from analytics_core._engine.gate.relations import in_schema, tables_of
from analytics_core._engine.gate.row_security import RowSecurity, RuledActor
from analytics_core._engine.querying.chart_request import ChartRequest
from analytics_core._engine.querying.observing import Stopwatch, fingerprint_of
from analytics_core._engine.querying.sql_limits import LimitingFactor, has_share, limited
from analytics_core._engine.querying.sql_parameters import (
    Values,
    as_written,
    bind_parameters,
    holds_other_than_text,
    reject_lost,
    reject_unbound,
    with_marks,
    without_parameters,
)
from analytics_core._engine.querying.stored_statements import require_open_editor
from analytics_core._engine.querying.templating import QueryTemplates
from analytics_core._engine.results.answer import LimitEntry, QueryResult
from analytics_core._engine.results.batch_stream import BatchStream
from analytics_core._engine.results.rows import ResultRows, coltypes
from analytics_core._engine.rights.actor import Actor
from analytics_core._engine.tracing import tracer_of
from analytics_core._records.audit import Observation
from analytics_core._records.datasource import Database, Dataset
from analytics_core._records.settings import Settings
from analytics_core._records.sql_query import SavedQuery
from analytics_core.errors import (
    AnalyticsError,
    DatabaseAccessError,
    ErrorType,
    LimitError,
    StatementError,
    StatementRefusedError,
    StatementTimeoutError,
)
from analytics_core.models.query import ChartDataQueryObject
from analytics_core.ports import Observer

_RESULT_TYPE: Final = "sql"


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlQuestion:
    """One statement as somebody asks it.

    Attributes:
        sql: the statement.
        schema: where tables without a schema are; None: where the database looks by itself.
        values: those of its parameters.
        template_params: a JSON object that its template may use, as text.
        row_limit: how many rows are wanted; None or 0: as many as the settings say.
        streams: whether its rows are streamed, for which the settings have a cap of their own.
    """

    sql: str
    schema: str | None = None
    values: Values = field(default_factory=dict)
    template_params: str | None = None
    row_limit: int | None = None
    streams: bool = False


def saved_question(query: SavedQuery) -> SqlQuestion:
    """Return what a saved query asks; its parameters have no values."""
    return SqlQuestion(sql=query.sql, schema=query.schema or None, template_params=query.template_params)


@dataclass(frozen=True, slots=True, kw_only=True)
class BegunSql:
    """The text of a person before it is read: who asks which database, the rules that may bind, its template rendered.

    It is no admission: who may run it is decided by the tables that it turns out to read.
    """

    database: Database
    ruled: RuledActor
    rendered: str

    @property
    def spec(self) -> EngineSpec:
        """The facts of the engine."""
        return self.ruled.spec


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadySql:
    """A statement that may run: what the driver gets, which tables it reads, and how many rows it gives.

    `factor` is the limit that counts if rows are cut; one `with_share` has a limit of its own that is no number, and
    cuts untold. `rules` are the row rules in it, `rendered` its text after its template.
    """

    admission: Admission
    statement: Statement
    tables: tuple[TableRef, ...]
    limit: int
    factor: LimitingFactor
    rules: tuple[RelationRule, ...]
    rendered: str
    with_share: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlAnswer:
    """What a statement gave: its rows as a result, and what was run for them.

    `tracking_url` is where its server shows it, for whoever manages the database: it names a host.
    """

    result: QueryResult
    ready: ReadySql
    factor: LimitingFactor
    tracking_url: str | None = None


class HasResult(Protocol):
    """What has a result."""

    @property
    def result(self) -> QueryResult:
        """The rows."""


Answer = TypeVar("Answer", bound=HasResult)
Failed = TypeVar("Failed", bound=AnalyticsError)


class SqlQueries:
    """Runs statements of people, each one query; any thread may use it."""

    def __init__(
        self,
        *,
        gate: Gate,
        row_security: RowSecurity,
        templates: QueryTemplates,
        settings: Settings,
        observer: Observer,
    ) -> None:
        self._gate = gate
        self._row_security = row_security
        self._templates = templates
        self._settings = settings
        self._observer = observer
        self._tracer = tracer_of(observer)

    def ready(self, request: ChartRequest, database: Database, question: SqlQuestion) -> ReadySql:
        """Return a statement as it may run for the actor of a request.

        Raises:
            DatabaseAccessError: the editor is closed on this database, or to the actor.
            TableAccessError: it reads tables on which the actor has no grant.
            TemplateError: its template, or that of a row rule, cannot be rendered.
            StatementError: it is no statement of the engine's SQL, or its parameters do not fit.
            StatementRefusedError: it is not one query that only reads, or it reads what cannot be told to be a table.
            LimitError: a limit of rows that there cannot be.
        """
        begun = self.begun(request, database, question)
        marked = with_marks(begun.rendered, question.values, begun.spec)
        source = self._checked(begun.spec, marked)
        reject_lost(source.sql, marked, question.values)
        return self.bound(begun, source, question)

    def begun(self, request: ChartRequest, database: Database, question: SqlQuestion) -> BegunSql:
        """Return what a text of a person is read with: its template rendered, and the rules that may bind.

        Raises:
            DatabaseAccessError: the editor is closed on this database.
            TemplateError: as for `ready`.
        """
        spec = self.spec_of(database)
        dataset = Dataset(
            uuid="",
            database_id=database.id,
            table_name="statement",
            sql=question.sql,
            template_params=question.template_params,
        )
        templates = self._templates.for_query(ChartDataQueryObject(), dataset, spec, request)
        ruled = self._row_security.ruled(request.actor, dataset, spec)
        return BegunSql(database=database, ruled=ruled, rendered=templates.render(question.sql))

    def spec_of(self, database: Database) -> EngineSpec:
        """Return the facts of an engine, by which a text is read; DatabaseAccessError where the editor is closed."""
        require_open_editor(database)
        return self._gate.spec_of(database)

    def require_tables(self, begun: BegunSql, question: SqlQuestion) -> None:
        """Raise unless the actor may read the tables of a text, whose parameters need no values.

        Raises:
            DatabaseAccessError, TableAccessError, StatementError, StatementRefusedError: as for `ready`.
        """
        source = self._checked(begun.spec, without_parameters(begun.rendered, begun.spec))
        self._admit_to_tables(begun, in_schema(tree_of(source).copy(), question.schema, begun.spec), question)

    def _admit_to_tables(self, begun: BegunSql, tree: exp.Expr, question: SqlQuestion) -> Admission:
        on = StatementTables(tree, f"{question.sql} {question.schema}")
        return self._gate.admit(begun.ruled.actor, begun.database, on=on)

    def bound(self, begun: BegunSql, source: SqlSource, question: SqlQuestion) -> ReadySql:
        """Return a checked query with its limit, and with the row rules on each of its relations.

        Raises:
            AnalyticsError: as for `ready`.
        """
        spec = begun.spec
        tree = in_schema(tree_of(source).copy(), question.schema, spec)
        admission = self._admit_to_tables(begun, tree, question)
        tree, limit, factor = limited(tree, question.values, self.row_limit(question))
        tables, bound = tables_of(tree, spec), begun.ruled
        source = self._row_security.in_source(bound, replace(source, tree=tree, relations=None))
        is_safe = _is_plain(source, question.values, spec) and self._row_security.stores(bound, tables, _columns(tree))
        with_share = isinstance(tree, exp.Query) and has_share(tree, question.values)
        return ReadySql(
            admission=admission,
            statement=statement_of(source, question.values, spec, fences=not is_safe),
            tables=tables,
            limit=limit,
            factor=factor,
            rules=source.rules,
            rendered=begun.rendered,
            with_share=with_share,
        )

    def admit(self, actor: Actor, database: Database) -> Admission:
        """Return the actor's admission to write any statement for a database.

        Raises:
            DatabaseAccessError: the editor is closed on this database, or the actor has no grant on the whole of it.
        """
        require_open_editor(database)
        return self._gate.admit(actor, database, on=DatabaseUse.QUERY)

    def check_saved(self, request: ChartRequest, database: Database, question: SqlQuestion) -> None:
        """Refuse a statement that could never run, as far as that is known without its parameters.

        Its template is rendered for those alone who need a grant on each of its tables.

        Raises:
            AnalyticsError: as for `ready`.
        """
        try:
            admission = self.admit(request.actor, database)
        except DatabaseAccessError:
            self.require_tables(self.begun(request, database, question), question)
        else:
            if not is_template(question.sql):
                self._gate.statement(admission.spec, without_parameters(question.sql, admission.spec))

    def _checked(self, spec: EngineSpec, marked: str) -> SqlSource:
        """Return a checked statement; what is wrong with it is told with the names of its parameters."""
        try:
            return self._gate.statement(spec, marked)
        except (StatementError, StatementRefusedError) as error:
            raise type(error)(as_written(error.message)) from None

    def row_limit(self, question: SqlQuestion) -> int:
        """Return how many rows are given at the most."""
        requested, most, usual = question.row_limit, self._settings.max_row_limit, self._settings.default_row_limit
        if question.streams:
            most = usual = self._settings.stream_row_limit or most
        if requested is not None and (type(requested) is not int or requested < 0):
            raise LimitError("the limit of rows must be a whole number, 0 or more; 0 takes that of the settings")
        return min(requested or usual, most)

    def run(self, request: ChartRequest, database: Database, question: SqlQuestion) -> SqlAnswer:
        """Return the rows of a statement.

        Raises:
            AnalyticsError: as for `ready`.
            DatabaseError: the database refuses it, or cannot be reached.
        """

        def work(watch: Stopwatch) -> SqlAnswer:
            ready = self.ready(request, database, question)
            watch.fingerprint = fingerprint_of([ready.statement])
            watch.begin("results")
            return self.answer(request, ready)

        return self.observed(request, database, work)

    def observed(self, request: ChartRequest, database: Database, work: Callable[[Stopwatch], Answer]) -> Answer:
        """Return what some work answers; the observer is told how it went."""
        watch = Stopwatch(request.budget, self._tracer)
        try:
            answer = work(watch)
        except AnalyticsError as error:
            self._observe(request, database, watch, error=_of_editor(error))
            raise
        finally:
            if watch.work is not None:
                watch.work.leave()
        self._observe(request, database, watch, rows=answer.result.rowcount)
        return answer

    def answer(self, request: ChartRequest, ready: ReadySql) -> SqlAnswer:
        """Run a query that is ready, and return its rows; DatabaseError."""
        fetched = self._gate.statements.run(
            ready.admission.to_run(ready.statement),
            limits=self.limits(ready.limit),
            cancel=request.cancel,
            budget=request.budget,
        )
        return answer_of(fetched, ready)

    def stream(self, request: ChartRequest, database: Database, question: SqlQuestion) -> BatchStream:
        """Return the rows of a statement in batches; its first rows are there when this returns.

        Raises:
            AnalyticsError: as for `run`.
        """
        watch = Stopwatch(request.budget, self._tracer)

        def ended(rows: int, error: AnalyticsError | None) -> None:
            self._observe(request, database, watch, rows=rows, error=error)

        try:
            ready = self.ready(request, database, replace(question, streams=True))
            watch.fingerprint = fingerprint_of([ready.statement])
            watch.begin("results")
            frames = self._gate.statements.stream(
                ready.admission.to_run(ready.statement),
                limits=replace(self.limits(ready.limit), timeout_s=self._settings.request_timeout_s),
                wait_s=self._settings.statement_timeout_s,
                cancel=request.cancel,
                budget=request.budget,
            )
            return BatchStream(
                frames,
                shape=lambda frame: (with_own_names(frame), ()),
                error_mapper=_of_editor,
                row_limit=ready.limit,
                declared={},
                notes=(),
                ended=ended,
            )
        except AnalyticsError as error:
            ended(0, _of_editor(error))
            raise
        finally:
            if watch.work is not None:  # it ends later; what else begins here is no part of it
                watch.work.leave()

    def limits(self, rows: int) -> FetchLimits:
        """Return what one statement may give."""
        settings = self._settings
        return FetchLimits(max_rows=rows, max_bytes=settings.max_result_bytes, timeout_s=settings.statement_timeout_s)

    def _observe(
        self,
        request: ChartRequest,
        database: Database,
        watch: Stopwatch,
        *,
        rows: int | None = None,
        error: AnalyticsError | None = None,
    ) -> None:
        work = watch.work
        self._observer.observe(
            Observation(
                actor_id=request.actor.stored_id,
                dataset_id=None,
                database_id=database.id,
                engine=database.engine,
                result_type=_RESULT_TYPE,
                rows=None if error else rows,
                steps_ms=watch.end(),
                error_type=error.error_type.value if error else None,
                fingerprint=watch.fingerprint,
                duration_ms=None if work is None else work.duration_ms,
                span=None if work is None else work.span,
            )
        )


def _of_editor(error: Failed) -> Failed:
    """Return an error with the type that it has in the editor: a statement that ran out of its time has one there."""
    if type(error) is StatementTimeoutError:
        error.error_type = ErrorType.SQLLAB_TIMEOUT_ERROR
        error.code = error.error_type.value
    return error


def answer_of(fetched: FetchedResult, ready: ReadySql) -> SqlAnswer:
    """Return the rows of a query as its answer."""
    frame = with_own_names(fetched.frame)
    untold = LimitingFactor.QUERY if ready.with_share else LimitingFactor.NOT_LIMITED
    factor = ready.factor if fetched.has_more else untold
    result = QueryResult(
        query=ready.statement.display_sql,
        colnames=frame.names,
        coltypes=coltypes(frame, declared={}, temporal=frozenset()),
        rowcount=len(frame),
        sql_rowcount=len(frame),
        notes=fetched.notes,
        limits=(_entry(ready, was_cut=fetched.has_more or (None if ready.with_share else False)),),
        row_set=ResultRows(frame),
    )
    page = fetched.tracking_url if ready.admission.may_know_why else None
    return SqlAnswer(result=result, ready=ready, factor=factor, tracking_url=page)


def tree_of(source: SqlSource) -> exp.Expr:
    """Return the tree of a source that the guard gave."""
    assert source.tree is not None  # noqa: S101 - the guard gives a source with its tree; tells the type checker
    return source.tree


def _is_plain(source: SqlSource, values: Values, spec: EngineSpec) -> bool:
    """Tell whether a statement that row rules bind computes nothing that can fail on a row of a stored table."""
    return bool(source.rules) and is_plain_query(source.tree, spec) and not holds_other_than_text(values)


def _columns(tree: exp.Expr) -> frozenset[str]:
    """Return the names of the columns in a statement, in lower case."""
    return frozenset(node.name.casefold() for node in tree.find_all(exp.Column) if not node.is_star)


def statement_of(
    source: SqlSource, values: Values, spec: EngineSpec, *, fences: bool = True, binds_values: bool = True
) -> Statement:
    """Return what the driver gets: row rules and parameters in their places, values bound; the tree is changed."""
    low, tree = Lowering(spec=spec, binds=Binds(), alias=VIRTUAL_ALIAS, fences_relations=fences), tree_of(source)
    if values:  # before the rules come in, which hold literals of others
        bind_parameters(tree, values, low.binds)
    tree = with_rules(tree, source.rules, low)
    statement = render(tree, low.binds, spec, labels=(), kinds=(), binds_values=binds_values)
    reject_unbound(statement.sql)
    return statement


def _entry(ready: ReadySql, *, was_cut: bool | None) -> LimitEntry:
    own = ready.factor in (LimitingFactor.QUERY, LimitingFactor.QUERY_AND_DROPDOWN)
    return LimitEntry(limit="row_limit", rows=ready.limit, set_by="statement" if own else "query limit", cut=was_cut)


def with_own_names(frame: Frame) -> Frame:
    """Return the frame with a name of its own for each column: `a`, `a__1`, `a__2`; `_col_0` for one without."""
    names = _own_names(frame.names)
    if names == frame.names:
        return frame
    return Frame(columns=tuple(replace(column, name=name) for column, name in zip(frame.columns, names, strict=True)))


def _own_names(names: Sequence[str]) -> tuple[str, ...]:
    taken, found = set(names), list[str]()
    seen: set[str] = set()
    for name in names:
        own = _free(name, taken) if name in seen or not name else name
        seen.add(own)
        taken.add(own)
        found.append(own)
    return tuple(found)


def _free(name: str, taken: set[str]) -> str:
    number = 1 if name else 0
    while (free := f"{name}__{number}" if name else f"_col_{number}") in taken:
        number += 1
    return free
