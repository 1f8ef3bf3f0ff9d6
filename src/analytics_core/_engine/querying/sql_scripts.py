"""Scripts of people: each statement is checked before the first one runs, and all of them are one transaction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from sqlglot import exp

from analytics_core._engine.compile.fragments.sql_nodes import table_nodes
from analytics_core._engine.compile.plan import RelationRule, SqlSource
from analytics_core._engine.compile.relation import TableRef
from analytics_core._engine.engines.costs import Costs
from analytics_core._engine.engines.nodes import quoted
from analytics_core._engine.engines.spec import EngineSpec, Undone
from analytics_core._engine.execution.connections import Admission
from analytics_core._engine.execution.sessions.base import ScriptStatement
from analytics_core._engine.frames.frame import Frame
from analytics_core._engine.gate.changes import (
    DEFINING,
    ScriptPart,
    changed_places,
    is_of_schema,
    only_adds_rows,
    split_script,
)
from analytics_core._engine.gate.gate import DatabaseUse, Gate
from analytics_core._engine.gate.guard import CheckedStatement, check_statement
from analytics_core._engine.gate.metadata import CachedNames, MetadataReader
from analytics_core._engine.gate.relations import in_schema, tables_of
from analytics_core._engine.gate.row_security import RowSecurity
from analytics_core._engine.querying.chart_request import ChartRequest
from analytics_core._engine.querying.observing import Stopwatch, fingerprint_of
from analytics_core._engine.querying.sql_limits import LimitingFactor
from analytics_core._engine.querying.sql_parameters import with_marks
from analytics_core._engine.querying.sql_queries import (
    BegunSql,
    ReadySql,
    SqlAnswer,
    SqlQueries,
    SqlQuestion,
    answer_of,
    statement_of,
)
from analytics_core._engine.results.answer import QueryResult
from analytics_core._engine.results.rows import ResultRows
from analytics_core._engine.rights.actor import Actor
from analytics_core._records.datasource import Access, Database
from analytics_core.errors import (
    AnalyticsError,
    DatabaseAccessError,
    ErrorType,
    QueryError,
    StatementError,
    StatementRefusedError,
    UnsupportedByEngineError,
)


class MadeKind(StrEnum):
    """What is made of a query."""

    TABLE = "TABLE"
    VIEW = "VIEW"

    @property
    def error_type(self) -> ErrorType:
        """The contract's type for a script of which none is made."""
        table = self is MadeKind.TABLE
        return ErrorType.INVALID_CTAS_QUERY_ERROR if table else ErrorType.INVALID_CVAS_QUERY_ERROR


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeRelation:
    """A table or view that is made of the last query of a script; without a schema where the database makes it."""

    kind: MadeKind
    name: str
    schema: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyStep:
    """One statement of a script that may run.

    Attributes:
        ready: what the driver gets, and what it reads.
        kind: what it does, in words of SQL: `SELECT`, `CREATE TABLE`.
        changes_data: whether it may change anything.
        defines: whether it changes the structure, which some engines commit at once.
        is_query: whether it reads rows and does nothing else; the plan of a query is none.
        gives_rows: whether its rows may be the answer.
        has_plan: whether it reads or changes rows, so that its cost can be estimated.
    """

    ready: ReadySql
    kind: str
    changes_data: bool = False
    defines: bool = False
    is_query: bool = False
    gives_rows: bool = False
    has_plan: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyScript:
    """Statements that may run, the admission to run them with, and what there is to know of what they make."""

    admission: Admission
    steps: tuple[ReadyStep, ...]
    rendered: str
    select_sql: str | None
    notes: tuple[str, ...]

    @property
    def changes_data(self) -> bool:
        """Whether it may change anything."""
        return any(step.changes_data for step in self.steps)

    @property
    def answering(self) -> ReadyStep | None:
        """The statement whose rows are the answer: the last one that gives rows."""
        return next((step for step in reversed(self.steps) if step.gives_rows), None)

    @property
    def tables(self) -> tuple[TableRef, ...]:
        """The relations that it names, sorted."""
        return tuple(sorted({table for step in self.steps for table in step.ready.tables}, key=str))

    @property
    def display_sql(self) -> str:
        """The statements as people read them."""
        return ";\n".join(step.ready.statement.display_sql for step in self.steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptAnswer:
    """What a script gave: its rows, which limit cut them, and how many each statement gave or changed.

    `tracking_url` is that of the statement whose rows are the answer, as in `SqlAnswer`.
    """

    result: QueryResult
    ready: ReadyScript
    factor: LimitingFactor
    rows: tuple[int | None, ...]
    tracking_url: str | None = None


class SqlScripts:
    """Runs scripts of people; any thread may use it."""

    def __init__(
        self,
        *,
        queries: SqlQueries,
        gate: Gate,
        row_security: RowSecurity,
        names: CachedNames,
        metadata: MetadataReader,
    ) -> None:
        self._queries = queries
        self._gate = gate
        self._row_security = row_security
        self._names = names
        self._metadata = metadata

    def ready(
        self, request: ChartRequest, database: Database, question: SqlQuestion, makes: MadeRelation | None = None
    ) -> ReadyScript:
        """Return the statements of a script as they may run for the actor of a request.

        Raises:
            StatementError: one of them is no SQL of the engine; INVALID_CTAS_QUERY_ERROR, INVALID_CVAS_QUERY_ERROR.
            StatementRefusedError: one may not run: its kind, the flags of the database, a row rule on what it changes.
            DatabaseAccessError: one changes data or shows a plan, which takes a grant on the whole database.
            AnalyticsError: as for a query.
        """
        begun = self._queries.begun(request, database, question)
        spec = begun.spec
        plain = with_marks(begun.rendered, {}, spec)  # scripts take no parameters
        parts = split_script(plain, spec=spec, invalid=_invalid, rejected=_rejected)
        if makes is not None:
            _reject_making(makes, database, parts)
        steps = []
        for number, part in enumerate(parts, start=1):
            made = makes if number == len(parts) else None
            steps.append(self.step(begun, part, question, made=made, place=place_of(number, len(parts))))
        script = ReadyScript(
            admission=steps[-1].ready.admission,
            steps=tuple(steps),
            rendered=begun.rendered,
            select_sql=None if makes is None else _select_sql(makes, spec, limit=steps[-1].ready.limit),
            notes=tuple(filter(None, map(_note, steps))),
        )
        if not script.changes_data:
            return script
        writing = self._gate.admit(request.actor, database, on=DatabaseUse.QUERY, access=Access.WRITE)
        return replace(script, admission=writing)

    def step(
        self, begun: BegunSql, part: ScriptPart, question: SqlQuestion, *, made: MadeRelation | None = None, place: str
    ) -> ReadyStep:
        """Return one statement of a script as it may run; errors are those of `ready`, and begin with its `place`."""
        database, spec = begun.database, begun.spec
        may_change = not part.explains
        checked = check_statement(part.sql, spec=spec, allow_dml=may_change, place=place, invalid_as=StatementError)
        if made is not None:
            if checked.changes_data or part.explains:
                raise _not_made(made, "the last statement must be a query")
            return self._change(begun, _create(made, checked.tree), question, place)
        if checked.changes_data:
            if not database.allow_dml:
                raise StatementRefusedError(
                    f"{place}: {_kind(checked.tree)} changes data, and database {database.id} is read-only for SQL; an "
                    "administrator may set allow_dml"
                )
            return self._change(begun, checked.tree, question, place)
        return self._query(begun, part, checked, question, place)

    def _query(
        self, begun: BegunSql, part: ScriptPart, checked: CheckedStatement, question: SqlQuestion, place: str
    ) -> ReadyStep:
        ready = self._queries.bound(begun, checked.source, question)
        if not part.explains:
            return ReadyStep(ready=ready, kind="SELECT", is_query=True, gives_rows=True)
        if ready.rules:
            raise StatementRefusedError(
                f"{place}: the plan of a query on tables with row rules that bind you tells of all their rows; "
                "sql.explain shows the statement"
            )
        full = self._queries.admit(begun.ruled.actor, begun.database)  # a plan tells of what is behind views
        said = f"{part.explains} "
        statement = replace(
            ready.statement, sql=said + ready.statement.sql, display_sql=said + ready.statement.display_sql
        )
        return ReadyStep(
            ready=replace(ready, admission=full, statement=statement), kind="EXPLAIN", gives_rows=True, has_plan=False
        )

    def _change(self, begun: BegunSql, tree: exp.Expr, question: SqlQuestion, place: str) -> ReadyStep:
        """Return a statement that changes data: it reads under the row rules, and changes no table that has some.

        Its rows are bounded as those of a query are, but not by a limit in its text.
        """
        spec, defines = begun.spec, isinstance(tree, DEFINING)
        admission = self._queries.admit(begun.ruled.actor, begun.database)
        source, tables = SqlSource(sql="", tree=tree), tuple[TableRef, ...]()
        kind, gives_rows = _kind(tree), bool(tree.args.get("returning"))  # the tree is changed below
        has_plan = not defines or (kind == "CREATE TABLE" and tree.expression is not None)
        if not is_of_schema(tree):
            tree = in_schema(tree, question.schema, spec)
            source = self._row_security.in_source(begun.ruled, SqlSource(sql="", tree=tree))
            source = replace(source, rules=_read_rules(source.rules, tree, place))
            tables = tables_of(tree, spec)
        ready = ReadySql(
            admission=admission,
            statement=statement_of(source, {}, spec, binds_values=not defines),
            tables=tables,
            limit=self._queries.row_limit(question),
            factor=LimitingFactor.DROPDOWN,
            rules=source.rules,
            rendered=begun.rendered,
        )
        return ReadyStep(
            ready=ready,
            kind=kind,
            changes_data=True,
            defines=defines,
            gives_rows=gives_rows,
            has_plan=has_plan,
        )

    def estimate(self, request: ChartRequest, database: Database, question: SqlQuestion) -> tuple[Costs, ...]:
        """Return what each statement of a script would cost, as it would run; none of them does.

        Raises:
            AnalyticsError: as for `ready`.
            UnsupportedByEngineError: the engine estimates nothing, or not such a statement.
            StatementRefusedError: row rules bind on what a statement reads.
            DatabaseAccessError: it reads a view, and the actor has no grant on the whole database.
            DatabaseError: the database refuses a statement, or cannot be reached.
        """
        ready = self.ready(request, database, question)
        self._require_stored(request.actor, ready)
        spec = ready.admission.spec
        if spec.costs is None:
            raise UnsupportedByEngineError(f"nothing here estimates the cost of statements on {spec.label}")
        if any(step.ready.rules for step in ready.steps):
            raise StatementRefusedError(
                "the cost of a query on tables with row rules that bind you is estimated from all their rows; budgets "
                "count it all the same"
            )
        planned = [step.ready.statement for step in ready.steps if step.has_plan]
        limits = self._queries.limits(ready.steps[0].ready.limit)
        found = iter(self._gate.statements.estimate(ready.admission, planned, spec.costs, limits=limits))
        return tuple(next(found) if step.has_plan else {} for step in ready.steps)

    def _require_stored(self, actor: Actor, ready: ReadyScript) -> None:
        """Let pass stored tables alone without a grant on the database: a plan tells of what is behind views."""
        try:
            self._queries.admit(actor, ready.admission.database)
        except DatabaseAccessError:
            if not self._metadata.are_stored(ready.admission, ready.tables):
                raise

    def run(
        self,
        request: ChartRequest,
        database: Database,
        question: SqlQuestion,
        makes: MadeRelation | None = None,
        *,
        begins: Callable[[ReadyScript], None],
        tell: Callable[[int], None],
    ) -> ScriptAnswer:
        """Run a script; `begins` is told before it runs, and may raise, and `tell` how many percent of it are done.

        Raises:
            AnalyticsError: as for `ready`.
            DatabaseError: the database refuses a statement, or cannot be reached; what stays then is told.
        """

        def work(watch: Stopwatch) -> ScriptAnswer:
            ready = self.ready(request, database, question, makes)
            watch.fingerprint = fingerprint_of([step.ready.statement for step in ready.steps])
            watch.begin("results")
            begins(ready)
            if len(ready.steps) == 1 and ready.steps[0].is_query:
                found = self._queries.answer(request, ready.steps[0].ready)
                return _answer(ready, found, (found.result.rowcount,))
            return self._run(request, ready, tell)

        return self._queries.observed(request, database, work)

    def _run(self, request: ChartRequest, ready: ReadyScript, tell: Callable[[int], None]) -> ScriptAnswer:
        rows: list[int | None] = []

        def done(count: int | None) -> None:
            rows.append(count)
            tell(100 * len(rows) // len(ready.steps))

        answering = ready.answering
        most = max(step.ready.limit for step in ready.steps)
        try:
            fetched = self._gate.statements.run_script(
                ready.admission,
                [
                    ScriptStatement(
                        statement=step.ready.statement,
                        is_query=step.is_query,
                        gives_rows=step.gives_rows,
                        has_plan=step.has_plan,
                    )
                    for step in ready.steps
                ],
                limits=self._queries.limits(most if answering is None else answering.ready.limit),
                done=done,
                cancel=request.cancel,
                budget=request.budget,
            )
        except AnalyticsError as error:
            raise _with_staying(error, ready, done=len(rows)) from None
        finally:
            if any(step.defines for step in ready.steps):
                self._names.forget_tables(ready.admission)
        found = None if fetched is None or answering is None else answer_of(fetched, answering.ready)
        return _answer(ready, found, tuple(rows))


def place_of(number: int, count: int) -> str:
    """Return what messages call one statement of as many."""
    return "the statement" if count == 1 else f"statement {number} of {count}"


def _answer(ready: ReadyScript, found: SqlAnswer | None, rows: tuple[int | None, ...]) -> ScriptAnswer:
    """Return the answer of a script; of one that gives no rows it has no columns either."""
    if found is None:
        result = QueryResult(
            query=ready.display_sql, rowcount=0, notes=ready.notes, row_set=ResultRows(Frame(columns=()))
        )
        return ScriptAnswer(result=result, ready=ready, factor=LimitingFactor.NOT_LIMITED, rows=rows)
    result = replace(found.result, notes=(*found.result.notes, *ready.notes))
    return ScriptAnswer(result=result, ready=ready, factor=found.factor, rows=rows, tracking_url=found.tracking_url)


def _invalid(what: str) -> QueryError:
    return StatementError(f"the statement: {what}")


def _rejected(what: str) -> QueryError:
    return StatementRefusedError(f"the statement: {what}")


def _kind(tree: exp.Expr) -> str:
    """Return what a statement does: `INSERT`, `CREATE VIEW`."""
    verb = tree.key.upper().removesuffix("TABLE")  # that of TRUNCATE is one word with it
    return f"{verb} {str(tree.args['kind']).upper()}" if tree.args.get("kind") else verb


def _not_made(made: MadeRelation, why: str) -> StatementError:
    return StatementError(f"no {made.kind.lower()} is made of this: {why}", error_type=made.kind.error_type)


def _reject_making(made: MadeRelation, database: Database, parts: Sequence[ScriptPart]) -> None:
    flag = "allow_ctas" if made.kind is MadeKind.TABLE else "allow_cvas"
    if not getattr(database, flag):
        raise _not_made(made, f"database {database.id} does not take it; an administrator may set {flag}")
    if made.kind is MadeKind.VIEW and len(parts) > 1:
        raise _not_made(made, f"a view is made of one query, and this has {len(parts)} statements")


def _create(made: MadeRelation, query: exp.Expr) -> exp.Create:
    return exp.Create(this=_table(made), kind=made.kind.value, expression=query.copy())


def _table(made: MadeRelation) -> exp.Table:
    return exp.Table(this=quoted(made.name), db=quoted(made.schema) if made.schema else None)


def _select_sql(made: MadeRelation, spec: EngineSpec, *, limit: int) -> str:
    return exp.select("*").from_(_table(made)).limit(limit).sql(dialect=spec.dialect)


def _read_rules(rules: Sequence[RelationRule], tree: exp.Expr, place: str) -> tuple[RelationRule, ...]:
    """Return the rules on what a statement reads.

    Raises:
        StatementRefusedError: a rule binds on what it changes, and it does more than add rows there.
    """
    changed, tables = changed_places(tree), table_nodes(tree)
    filled = tree.this.find(exp.Table) if only_adds_rows(tree) else None
    for rule in rules:
        if rule.position in changed and tables[rule.position] is not filled:
            raise StatementRefusedError(
                f"{place}: {_kind(tree)} may not name {rule.relation} outside of a sub-query, for row rules bind you "
                "there; what is allowed is to read it, and to add rows by INSERT without RETURNING or conflicts"
            )
    return tuple(rule for rule in rules if rule.position not in changed)


def _note(step: ReadyStep) -> str | None:
    """Return what is to be told of a statement that carries rows away from their rules."""
    if not (step.changes_data and step.ready.rules):
        return None
    tables = ", ".join(sorted({rule.relation for rule in step.ready.rules}))
    return (
        f"{step.kind}: what it made holds or shows the rows of {tables} that row rules let you read, and carries no "
        "rule of its own: whoever may read it reads them"
    )


def _with_staying(error: AnalyticsError, ready: ReadyScript, *, done: int) -> AnalyticsError:
    """Return what a script failed with: which statement it was, and which ones stay all the same."""
    if len(ready.steps) > 1:
        error.at(f"statement {done + 1} of {len(ready.steps)}" if done < len(ready.steps) else "the commit")
    staying = ready.steps[: _staying(ready, done)]
    if any(step.changes_data for step in staying):
        label = ready.admission.spec.label
        which = "statement 1 stays" if len(staying) == 1 else f"statements 1 to {len(staying)} stay"
        error.message += f"; {which}: {label} does not take them back"
        error.args = (error.message,)
        error.extra["statements_that_stay"] = len(staying)
    return error


def _staying(ready: ReadyScript, done: int) -> int:
    """Return how many statements stay after a failure: a change of the structure commits what came before, too."""
    undone = ready.admission.spec.undone
    if undone is Undone.ALL:
        return 0
    if undone is Undone.NOTHING or (done < len(ready.steps) and ready.steps[done].defines):
        return done
    return max((number for number, step in enumerate(ready.steps[:done], start=1) if step.defines), default=0)
