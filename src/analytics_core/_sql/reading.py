"""What a statement tells without running: what is wrong with it, how it is laid out, where its columns come from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.lineage import Node, lineage
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import Scope, traverse_scope

from analytics_core._content.runtime import ContentRuntime
from analytics_core._engine.compile.fragments.sql_nodes import table_nodes
from analytics_core._engine.compile.fragments.sql_text import FAULTS, check_characters, parse_statements, read_tokens
from analytics_core._engine.compile.relation import TableRef
from analytics_core._engine.engines.spec import EngineSpec
from analytics_core._engine.gate.changes import (
    CHANGES,
    DEFINING,
    MOST_CHARACTERS,
    ScriptPart,
    is_of_schema,
    split_script,
)
from analytics_core._engine.gate.guard import BESIDE_QUERIES, check_select
from analytics_core._engine.gate.relations import relations_of
from analytics_core._engine.querying.chart_request import ChartRequest
from analytics_core._engine.querying.sql_parameters import as_written, without_parameters
from analytics_core._engine.querying.sql_queries import BegunSql, SqlQuestion
from analytics_core._engine.querying.sql_scripts import place_of
from analytics_core._engine.rights.actor import Actor
from analytics_core._engine.rights.row_rules import TableName
from analytics_core._records.datasource import Database
from analytics_core.errors import (
    AccessError,
    AnalyticsError,
    DatabaseError,
    ErrorType,
    QueryError,
    StatementError,
    StatementRefusedError,
    TableAccessError,
    nearest,
)
from analytics_core.errors.base import known_list

_PLACE: Final = "the statement"
_WHERE: Final = re.compile(r" in line (\d+), column (\d+)")
_MOST_TABLES: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlProblem:
    """One thing wrong with a statement; `line` and `column` count from 1, None where no place is known.

    `suggestions` are the nearest names that would be right.
    """

    message: str
    line: int | None = None
    column: int | None = None
    suggestions: tuple[str, ...] = ()
    error_type: ErrorType = ErrorType.INVALID_SQL_ERROR


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnLineage:
    """Which columns of which tables a column of an answer is made of; none: of constants alone.

    `chart` is the id of the chart whose answer it is; None where none was asked for.
    """

    column: str
    sources: tuple[str, ...]
    chart: int | None = None


@dataclass(frozen=True, slots=True)
class KnownTables:
    """The columns of the tables that a statement reads, as the actor may see them.

    `defined` are the names of tables that a script makes or changes before: what they hold then is not known.
    """

    runtime: ContentRuntime
    actor: Actor
    database: Database
    spec: EngineSpec
    schema: str | None = None
    found: dict[TableRef, tuple[str, ...] | AnalyticsError] = field(default_factory=dict)
    defined: set[str] = field(default_factory=set)

    def columns(self, table: TableRef) -> tuple[str, ...] | AnalyticsError:
        """Return the names of a table's columns, or why they are not known."""
        if table.table.casefold() in self.defined:
            return StatementError(f"{table} is changed by the script")
        if table not in self.found and self._is_of_the_engine(table):
            self.found[table] = StatementError(f"{table} is a relation of the engine itself")
        if table not in self.found:
            named = TableName(table=table.table, schema=table.schema or self.schema, catalog=table.catalog)
            try:
                columns = self.runtime.engine.metadata.columns_of_relation(self.actor, self.database, named)
                self.found[table] = tuple(column.name for column in columns)
            except AnalyticsError as error:
                self.found[table] = error
        return self.found[table]

    @property
    def errors(self) -> tuple[AnalyticsError, ...]:
        """Why the columns of some tables are not known."""
        return tuple(found for found in self.found.values() if isinstance(found, AnalyticsError))

    def _is_of_the_engine(self, table: TableRef) -> bool:
        own = self.spec.guards.table_names.own
        return (table.schema or table.table).casefold() in own or table.table.casefold() in own


def problems_of(sql: str, known: KnownTables) -> tuple[SqlProblem, ...]:
    """Return what is wrong with a statement, in the order of its text; nothing: it can be asked."""
    try:
        tree = _read(sql, known.spec)
    except QueryError as error:
        return (_of_error(error),)
    return _name_problems(tree, known)


def begun_text(
    runtime: ContentRuntime, request: ChartRequest, database: Database, question: SqlQuestion
) -> tuple[str, KnownTables]:
    """Return a statement after its template, and what is known of the tables that it reads and the actor may.

    Raises:
        DatabaseAccessError, TableAccessError: the actor may not read its tables, or write SQL there.
        TemplateError: its template cannot be rendered.
    """
    begun = runtime.engine.sql_queries.begun(request, database, question)
    return begun.rendered, _known(runtime, begun, question)


def _known(runtime: ContentRuntime, begun: BegunSql, question: SqlQuestion) -> KnownTables:
    with suppress(StatementError, StatementRefusedError):  # whoever reads it tells what is wrong with it, and where
        runtime.engine.sql_queries.require_tables(begun, question)
    return KnownTables(runtime, begun.ruled.actor, begun.database, begun.spec, question.schema)


def problems_of_script(
    runtime: ContentRuntime, request: ChartRequest, database: Database, question: SqlQuestion
) -> tuple[SqlProblem, ...]:
    """Return what is wrong with the statements of a script, or with one query, in the order of the text.

    Raises:
        DatabaseAccessError: the actor may not write SQL there.
    """
    try:
        begun = runtime.engine.sql_queries.begun(request, database, question)
        sql, spec = begun.rendered, begun.spec
        parts = split_script(sql, spec=spec, invalid=_invalid, rejected=_rejected)
        if len(parts) == 1 and not _is_change(parts[0], spec):
            return problems_of(sql, _known(runtime, begun, question))
    except (QueryError, TableAccessError) as error:
        return (_of_error(error),)
    known = KnownTables(runtime, request.actor, database, spec, question.schema)
    problems: list[SqlProblem] = []
    for number, part in enumerate(parts, start=1):
        place = place_of(number, len(parts))
        problems += (_moved(problem, sql, part) for problem in _of_part(begun, part, question, known, place))
    return tuple(problems)


def formatted(sql: str, spec: EngineSpec) -> str:
    """Return a statement laid out over lines, its comments kept; StatementError where it cannot be read."""
    statements = [_laid_out(tree, spec) for tree in _parsed_all(sql, spec)]
    return ";\n\n".join(statements)


def lineage_of(sql: str, known: KnownTables, *, is_ours: bool = False) -> tuple[ColumnLineage, ...]:
    """Return for each column of a statement which columns of tables it comes from.

    One that `is_ours`, which the library made of a question, is not checked again.

    Raises:
        StatementError: it cannot be read, or a column cannot be traced.
        DatabaseError: a table is not there.
    """
    spec = known.spec
    tree = _parsed_all(sql, spec)[0] if is_ours else _read(sql, spec)
    for problem in () if is_ours else _name_problems(tree, known):
        if problem.error_type is ErrorType.COLUMN_DOES_NOT_EXIST_ERROR:
            raise StatementError(f"{_PLACE}: {problem.message}")
    schema: dict[str, Any] = {}
    for ref in _tables_of(tree, spec).values():
        columns = known.columns(ref)
        if isinstance(columns, AnalyticsError):
            raise columns
        place = schema
        for part in filter(None, (ref.catalog, ref.schema)):
            place = place.setdefault(part, {})
        place[ref.table] = dict.fromkeys(columns, "TEXT")
    try:
        qualified = qualify(
            tree,
            schema=_of_one_depth(schema),
            dialect=spec.dialect,
            validate_qualify_columns=False,
            quote_identifiers=False,
        )
        names = qualified.named_selects if isinstance(qualified, exp.Query) else []
        nodes = lineage(None, qualified.copy(), {}, dialect=spec.dialect) if names else {}
        return tuple(ColumnLineage(column=name, sources=_sources(nodes[name])) for name in names)
    except (*FAULTS, SqlglotError, RecursionError):
        raise StatementError(f"{_PLACE}: its columns cannot be traced to tables; name each by its table") from None


def _of_one_depth(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema if all tables are named with as many parts; else none: sqlglot takes no mixture."""
    depths = {_depth(value) for value in schema.values()}
    return schema if len(depths) <= 1 else {}


def _depth(value: Any) -> int:
    return 1 + max(map(_depth, value.values()), default=0) if isinstance(value, dict) else 0


def _sources(node: Node) -> tuple[str, ...]:
    return tuple(sorted({_source(leaf) for leaf in node.walk() if _is_leaf(leaf)}))


def _is_leaf(node: Node) -> bool:
    return not node.downstream and isinstance(node.expression, exp.Table)


def _source(leaf: Node) -> str:
    table = leaf.expression
    parts = [part.name for part in table.parts] if isinstance(table, exp.Table) else []
    return ".".join([*parts, leaf.name.rpartition(".")[2].strip('"`')])


# ----------------------------------------------------------------------------------------------------------- its text
def _read(sql: str, spec: EngineSpec) -> exp.Expr:
    """Return the tree of a statement that the guard takes, with the places of its names, which a repaired one lacks.

    Where the parser cannot read its parameters, the places behind them are nearly right.
    """
    plain = without_parameters(sql, spec)
    try:
        check_select(plain, spec=spec, place=_PLACE, invalid_as=StatementError, hint=BESIDE_QUERIES)
    except (StatementError, StatementRefusedError) as error:
        raise type(error)(as_written(error.message)) from None
    try:
        tree = _parsed_all(sql, spec)[0]
    except StatementError:
        tree = _parsed_all(plain, spec)[0]
    for member in tree.find_all(exp.In):
        if isinstance(field := member.args.get("field"), exp.Placeholder):  # IN :names
            member.set("field", None)
            member.set("expressions", [field])
    return tree


def _parsed_all(sql: str, spec: EngineSpec) -> list[exp.Expr]:
    check_characters(sql, max_length=MOST_CHARACTERS, reject=_invalid)
    read_tokens(sql, spec.dialect, _invalid)
    found = parse_statements(sql, spec.dialect, _invalid)
    if not found:
        raise _invalid("it is empty")
    return found


def _laid_out(tree: exp.Expr, spec: EngineSpec) -> str:
    try:
        return tree.sql(dialect=spec.dialect, pretty=True)
    except (*FAULTS, RecursionError):
        raise _invalid("a part of it cannot be written for this engine") from None


def _invalid(what: str) -> QueryError:
    return StatementError(f"{_PLACE}: {what}")


def _rejected(what: str) -> QueryError:
    return StatementRefusedError(f"{_PLACE}: {what}")


# ----------------------------------------------------------------------------------------------------------- problems
def _is_change(part: ScriptPart, spec: EngineSpec) -> bool:
    try:
        return bool(part.explains) or isinstance(_parsed_all(part.sql, spec)[0], CHANGES)
    except QueryError:
        return False


def _of_part(
    begun: BegunSql, part: ScriptPart, question: SqlQuestion, known: KnownTables, place: str
) -> tuple[SqlProblem, ...]:
    """Return what is wrong with one statement of a script, as it stands alone."""
    try:
        known.runtime.engine.sql_scripts.step(begun, part, question, place=place)
        tree = _parsed_all(part.sql, known.spec)[0]
    except (QueryError, AccessError) as error:
        return (_of_error(error),)
    return _name_problems(tree, known)


def _moved(problem: SqlProblem, sql: str, part: ScriptPart) -> SqlProblem:
    """Return a problem of a statement with its place in the script; without one it is where the statement begins."""
    line, column = sql.count("\n", 0, part.start), part.start - sql.rfind("\n", 0, part.start) - 1
    column = (problem.column or 1) + (column if problem.line in (None, 1) else 0)
    line += problem.line or 1
    message = _WHERE.sub(f" in line {line}, column {column}", problem.message)
    return replace(problem, message=message, line=line, column=column)


def _of_error(error: AnalyticsError) -> SqlProblem:
    place = _WHERE.search(error.message)
    line, column = (int(place[1]), int(place[2])) if place else (None, None)
    return SqlProblem(message=error.message, line=line, column=column, error_type=error.error_type)


def _of_table(node: exp.Table, error: Any) -> SqlProblem:
    line, column = _position(node.this)
    suggestions = tuple(error.extra.get("suggestions", ()))
    return SqlProblem(
        message=error.message, line=line, column=column, suggestions=suggestions, error_type=error.error_type
    )


def _position(name: Any) -> tuple[int | None, int | None]:
    """Return the line and the column at which a name begins."""
    meta = name.meta if isinstance(name, exp.Identifier) else {}
    if "line" not in meta:
        return None, None
    length = meta["end"] - meta["start"] + 1
    return meta["line"], meta["col"] - length + 1


def _tables_of(tree: exp.Expr, spec: EngineSpec) -> dict[exp.Table, TableRef]:
    nodes = table_nodes(tree)
    relations = relations_of(tree, spec)[:_MOST_TABLES]
    return {nodes[relation.position]: relation.table for relation in relations}


def _name_problems(tree: exp.Expr, known: KnownTables) -> tuple[SqlProblem, ...]:
    """Return a problem for each name of a table or a column that is not there; what a script defines is there."""
    if is_of_schema(tree):
        return ()
    tables = _tables_of(tree, known.spec)
    if isinstance(tree, DEFINING):
        known.defined.update(tables[node].table.casefold() for node in tables if _is_outside(node))
    columns = {node: known.columns(ref) for node, ref in tables.items()}
    problems = [_of_table(node, found) for node, found in columns.items() if isinstance(found, DatabaseError)]
    hidden = known.spec.guards.table_names.row_ids | set(_made_by_recursions(tree))
    changed = _changed(tree) if isinstance(tree, CHANGES) and not isinstance(tree, DEFINING) else {}
    found = (*problems, *_Columns(tables=columns, hidden=hidden, changed=changed).problems(tree))
    return tuple(sorted(found, key=lambda problem: (problem.line or 0, problem.column or 0)))


def _is_outside(node: exp.Expr) -> bool:
    """Tell whether a part of a statement stands outside of every query in it."""
    return node.find_ancestor(exp.Query) is None


def _changed(tree: exp.Expr) -> dict[str, exp.Expr]:
    """Return what a change reads and changes outside of its queries, by the name that columns call it."""
    nodes = filter(_is_outside, tree.find_all(exp.Table, exp.Subquery))
    found: dict[str, exp.Expr] = {node.alias_or_name: node for node in nodes if node.alias_or_name}
    return {**found, "excluded": next(iter(found.values()))} if tree.args.get("conflict") else found


def _made_by_recursions(tree: exp.Expr) -> Iterator[str]:
    """Yield the columns that SEARCH and CYCLE add to a recursion."""
    for clause in tree.find_all(exp.RecursiveWithSearch):
        made = (clause.expression, clause.args.get("using"))
        yield from (name.name.casefold() for name in made if isinstance(name, exp.Expr))


@dataclass(frozen=True, slots=True)
class _Columns:
    """Finds columns that no table of their query has."""

    tables: Mapping[exp.Table, tuple[str, ...] | AnalyticsError]
    hidden: AbstractSet[str]
    changed: Mapping[str, exp.Expr]

    def problems(self, tree: exp.Expr) -> Iterator[SqlProblem]:
        """Yield a problem for each column that is not there, once for each place."""
        try:
            scopes = list(traverse_scope(tree))
        except (*FAULTS, RecursionError):
            return
        seen: set[int] = set()
        for scope in reversed(scopes):  # the outermost first: an inner query sees what is around it
            for column in scope.columns:
                if id(column) not in seen and self._owner(scope, column) is scope:
                    seen.add(id(column))
                    selects = getattr(scope.expression, "selects", ())
                    own = column.find_ancestor(exp.Alias)
                    others = (one for one in selects if isinstance(one, exp.Alias) and one is not own)
                    aliases = {one.alias.casefold() for one in others}
                    sees = not isinstance(tree, exp.Insert) or column.find_ancestor(exp.OnConflict, exp.Returning)
                    around = [*_sources_around(scope), *([self.changed] if sees else [])]
                    yield from self._problem(column, around, aliases)
        for column in self._outside(tree) if self.changed else ():
            yield from self._problem(column, [self.changed], frozenset())

    def _outside(self, tree: exp.Expr) -> Iterator[exp.Column]:
        """Yield the columns that a change names outside of its queries, those of INSERT INTO t (a, b) among them."""
        yield from filter(_is_outside, tree.find_all(exp.Column))
        if isinstance(tree, exp.Insert) and isinstance(tree.this, exp.Schema):
            yield from (exp.Column(this=name.copy()) for name in tree.this.expressions)

    def _owner(self, scope: Scope, column: exp.Column) -> Scope:
        """Return the innermost query that a column stands in: its own, also where an outer one lists it."""
        inner = column.find_ancestor(exp.Select)
        return scope if inner is None or inner is scope.expression or not isinstance(inner, exp.Select) else _OTHER

    def _problem(
        self, column: exp.Column, around: Sequence[Mapping[str, Any]], aliases: AbstractSet[str]
    ) -> Iterator[SqlProblem]:
        qualifier, named = column.table.casefold(), column.this
        if not any(qualifier == one.casefold() for each in around for one in each):
            qualifier, named = "", column.parts[0]  # a field of a column, or of a table that is not here
        known: list[str] = []
        for each in around:
            for source_name, source in each.items():
                if qualifier and source_name.casefold() != qualifier:
                    continue
                names = self._names(source)
                if names is None:
                    return
                known += filter(None, (*names, source_name))
            if qualifier and known:
                break
        is_known = {one.casefold() for one in known}
        name = named.name.casefold()
        if name in is_known | self.hidden or (not qualifier and name in aliases) or not known:
            return
        close = nearest(named.name, dict.fromkeys(known))
        line, place = _position(named)
        where = f"{column.table!r}" if qualifier else "the tables of this query"
        hint = f"did you mean {close[0]!r}?" if close else f"there are: {known_list(sorted(set(known)))}"
        what = "column" if named is column.this else "table or column"
        yield SqlProblem(
            message=f"there is no {what} {named.name!r} in {where}; {hint}",
            line=line,
            column=place,
            suggestions=tuple(close),
            error_type=ErrorType.COLUMN_DOES_NOT_EXIST_ERROR,
        )

    def _names(self, source: Any) -> list[str] | None:
        """Return the columns of a source; None where they are not known."""
        if isinstance(source, exp.Table):
            found, renamed = self.tables.get(source), _renamed(source)
            return [*renamed, *found[len(renamed) :]] if isinstance(found, tuple) else None
        if not isinstance(source, Scope) or not isinstance(source.expression, exp.Query):
            return None
        names, around = source.expression.named_selects, source.expression.parent
        while isinstance(around, exp.SetOperation):  # a recursion reads its first query
            around = around.parent
        renamed = _renamed(around)
        if renamed:
            return renamed
        return None if not names or "*" in names or any(_is_star(one) for one in source.expression.selects) else names


_OTHER: Any = object()


def _sources_around(scope: Scope) -> Iterator[Mapping[str, Any]]:
    """Yield what a query reads, and those around it, whose columns it may name, the nearest first.

    No query names its own columns, none those of a clause of WITH that it does not read, no clause those of its reader.
    """
    inner: Scope | None = None
    around: Scope | None = scope
    while around is not None:
        if inner is None or not inner.is_cte:
            read, clauses = {table.alias_or_name for table in around.tables}, around.cte_sources
            found = {name: source for name, source in around.sources.items() if name in read or name not in clauses}
            yield {name: source for name, source in found.items() if source is not inner}
        inner, around = around, around.parent


def _is_star(item: exp.Expr) -> bool:
    return item.find(exp.Star) is not None


def _renamed(source: exp.Expr | None) -> list[str]:
    """Return the names that `WITH t(a, b)` or `AS t(a, b)` give to the columns of a query, or to a table's first."""
    alias = source.args.get("alias") if source is not None else None
    columns: Iterable[Any] = alias.args.get("columns") or () if isinstance(alias, exp.TableAlias) else ()
    return [column.name for column in columns]
