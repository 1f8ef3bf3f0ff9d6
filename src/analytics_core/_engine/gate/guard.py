"""Lets a user's statement through only as one read-only query, generated again from the tree that was checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from sqlglot import Token, exp

from analytics_core._engine.compile.fragments.sql_nodes import (
    NodeIndex,
    forget_places,
    operators,
    reject_new_groups,
    reject_unknown_nodes,
    release,
    restore_meaning,
)
from analytics_core._engine.compile.fragments.sql_text import (
    called_names,
    check_characters,
    parse_statements,
    read_tokens,
    reject_denied,
    write_sql,
)
from analytics_core._engine.compile.plan import SqlSource
from analytics_core._engine.compile.relation import NamePlace, Relation, TableRef
from analytics_core._engine.engines.spec import EngineSpec, Refuse
from analytics_core._engine.gate.changes import (
    CHANGES,
    MOST_CHARACTERS,
    QUERY_STARTS,
    check_change,
    is_of_schema,
    reject_hidden_targets,
    reject_start,
    without_hints,
)
from analytics_core._engine.gate.relations import in_schema, named_by, relations_in, rename_clauses
from analytics_core.errors import QueryError, StatementRefusedError, VirtualDatasetError

Check = Callable[..., NodeIndex]
"""Checks every node of a tree, and returns those that are left of it; it is given `rejected`."""

_QUERIES: Final[tuple[type[exp.Expr], ...]] = (exp.Select, exp.SetOperation, exp.Subquery, exp.Values)
_ONLY_QUERIES: Final = "it must be read-only: one query (SELECT or WITH ... SELECT)"
BESIDE_QUERIES: Final = "; core.sql.execute takes scripts, changes of data and EXPLAIN, where the database allows them"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedStatement:
    """One statement that may run: its regenerated text, its tree, the relations it names; does it change data?"""

    sql: str
    tree: exp.Expr
    tables: tuple[TableRef, ...]
    changes_data: bool = False

    @property
    def source(self) -> SqlSource:
        """The statement as what is read."""
        return SqlSource(sql=self.sql, tree=self.tree)


def check_select(
    sql: str,
    *,
    spec: EngineSpec,
    place: str,
    invalid_as: type[QueryError] = VirtualDatasetError,
    hint: str = "",
) -> SqlSource:
    """Return the SQL of a virtual dataset, or of a person, as one checked query; `place` names it in errors.

    A `hint` says where other statements may run, to whoever sends one.

    Raises:
        VirtualDatasetError: empty, several statements, not SQL of the engine; `invalid_as` is another class for it.
        StatementRefusedError: not read-only, or it reads what cannot be resolved to a table.
    """

    def invalid(what: str) -> QueryError:
        return invalid_as(f"{place}: {what}")

    def rejected(what: str) -> QueryError:
        return StatementRefusedError(f"{place}: {what}")

    index, tokens = _one_statement(sql, spec, invalid=invalid, rejected=rejected, hint=hint)
    if not isinstance(index.tree, _QUERIES):
        raise rejected(_ONLY_QUERIES + hint)
    index = _check_query(index, rejected=rejected)
    forget_places(index)
    index = rename_clauses(index, spec)
    try:
        relations = relations_in(index, spec)
    except StatementRefusedError as error:
        raise rejected(error.message) from None
    text, relations = _written_twice(index, relations, tokens, spec, rejected=rejected)
    return SqlSource(sql=text, tree=index.tree, relations=relations)


def select_in_schema(sql: str, schema: str, *, spec: EngineSpec, place: str) -> str:
    """Return the text of one query with a schema before each table that names none; errors are those of a check."""

    def rejected(what: str) -> QueryError:
        return StatementRefusedError(f"{place}: {what}")

    tree = check_select(sql, spec=spec, place=place).tree
    assert tree is not None  # noqa: S101 - a check gives a tree; tells the type checker
    return write_sql(in_schema(tree.copy(), schema, spec), spec.dialect, rejected)


def check_statement(
    sql: str,
    *,
    spec: EngineSpec,
    allow_dml: bool = False,
    place: str = "the statement",
    invalid_as: type[QueryError] = VirtualDatasetError,
) -> CheckedStatement:
    """Return one statement that may run as it is; `allow_dml` also lets INSERT, UPDATE, DELETE, MERGE and DDL through.

    Raises:
        VirtualDatasetError: not one statement of the engine's SQL; `invalid_as` is another class for it.
        StatementRefusedError: a kind of statement that is not allowed.
    """

    def invalid(what: str) -> QueryError:
        return invalid_as(f"{place}: {what}")

    def rejected(what: str) -> QueryError:
        return StatementRefusedError(f"{place}: {what}")

    index, tokens = _one_statement(sql, spec, invalid=invalid, rejected=rejected, only_queries=not allow_dml)
    tree = index.tree
    is_query = isinstance(tree, _QUERIES)
    if not is_query and not (allow_dml and isinstance(tree, CHANGES)):
        raise rejected(_ONLY_QUERIES if not allow_dml else "only queries and changes of tables may run")
    check = _check_query if is_query else check_change
    index = check(index, rejected=rejected)
    forget_places(index)
    if not is_query:
        reject_hidden_targets(tree, spec, rejected)
    index = rename_clauses(index, spec)
    try:
        relations = _relations(index, spec)
        text, _ = _written_twice(index, relations, tokens, spec, rejected=rejected, check=check)
    except StatementRefusedError as error:
        raise (error if error.message.startswith(place) else rejected(error.message)) from None
    return CheckedStatement(sql=text, tree=tree, tables=named_by(relations), changes_data=not is_query)


def _one_statement(
    sql: str, spec: EngineSpec, *, invalid: Refuse, rejected: Refuse, only_queries: bool = True, hint: str = ""
) -> tuple[NodeIndex, list[Token]]:
    check_characters(sql, max_length=MOST_CHARACTERS, reject=invalid)
    tokens = read_tokens(sql, spec.dialect, invalid)
    first = next((token.text.upper() for token in tokens if token.text != ";"), "")
    if only_queries and first and first not in QUERY_STARTS:
        reject_start(first, invalid, rejected)
        raise rejected(_ONLY_QUERIES + hint)
    called = called_names(tokens)
    reject_denied(called, spec.guards.denied_functions, rejected)
    # Of a word that begins another statement, the tokens are not those that a parser takes.
    trees = parse_statements(sql, spec.dialect, invalid, tokens=tokens if only_queries else None)
    if not trees:
        raise invalid("it is empty")
    if len(trees) > 1:
        raise invalid(f"it holds several statements; one SELECT is needed{hint}")
    tree = trees[0]
    if isinstance(tree, exp.Pivot):  # a statement of its own on DuckDB, and a relation inside of another
        tree = exp.Select(expressions=[exp.Star()], from_=exp.From(this=exp.Subquery(this=tree)))
    try:
        return restore_meaning(NodeIndex(tree), spec.syntax, rejected, called=called), tokens
    except RecursionError:
        raise invalid("it is nested too deeply; write it flatter") from None


def _check_query(index: NodeIndex, *, rejected: Refuse) -> NodeIndex:
    """Drop the hints of a query and check every node of it."""
    index = without_hints(index)
    if changes := index.of(*CHANGES):
        raise rejected(f"{changes[0].key.upper()} changes data; a query must be read-only")
    if not all(select.expressions for select in index.of(exp.Select)):
        raise rejected("a SELECT in it names no column")
    reject_unknown_nodes(index, rejected, queries=True)
    return index


def _relations(index: NodeIndex, spec: EngineSpec, checked: Sequence[Relation] = ()) -> tuple[Relation, ...]:
    return () if is_of_schema(index.tree) else relations_in(index, spec, checked=checked)


def _written_twice(
    index: NodeIndex,
    relations: tuple[Relation, ...],
    before: Sequence[Token],
    spec: EngineSpec,
    *,
    rejected: Refuse,
    check: Check = _check_query,
) -> tuple[str, tuple[Relation, ...]]:
    """Return the text of a tree, and its `relations` with their places there.

    It is made sure that the text reads back as a statement which groups its operators alike, on the same tables.
    """
    text = write_sql(index.tree, spec.dialect, rejected)
    check_characters(text, max_length=max(len(text), 1), reject=rejected)
    is_query = isinstance(index.tree, _QUERIES)
    again, after = _one_statement(text, spec, invalid=rejected, rejected=rejected, only_queries=is_query)
    reject_new_groups(spec.syntax, before, after, rejected)
    if not is_query and type(again.tree) is not type(index.tree):
        raise rejected("it cannot be written again as the same kind of statement")
    again = check(again, rejected=rejected)
    found = _relations(again, spec, relations)
    if not means_the_same(again, index, found, relations):
        raise rejected("a part of it cannot be written again with the same meaning; write it in another way")
    if found == relations:
        tables = again.of(exp.Table)
        relations = tuple(replace(one, place=_place(tables[one.position], text)) for one in found)
    release(again)
    return text, relations


def means_the_same(
    again: NodeIndex, index: NodeIndex, found: Sequence[Relation], relations: Sequence[Relation]
) -> bool:
    """Tell whether a statement that reads `found` groups its operators as the one that reads `relations`, by name."""
    return operators(again) == operators(index) and named_by(found) == named_by(relations)


_OF_NAMES: Final = frozenset({"this", "db", "catalog", "alias"})


def _place(table: exp.Expr, text: str) -> NamePlace | None:
    """Return where the name of a table stands in its text; None where there is more to it than a name.

    So it is with a schema and no alias: its columns may be named by both.
    """
    args = table.args
    parts = [part for name in ("catalog", "db", "this") if (part := args.get(name))]
    has_alias = bool(args.get("alias"))
    if (len(parts) > 1 and not has_alias) or any(value for part, value in args.items() if part not in _OF_NAMES):
        return None
    start, end = parts[0].meta.get("start"), parts[-1].meta.get("end")
    if start is None or end is None or table.name not in text[start : end + 1]:
        return None
    return NamePlace(start, end + 1, has_alias)
