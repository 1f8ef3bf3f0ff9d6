"""Lets a user's statement through only as one read-only query, generated again from the tree that was checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from sqlglot import Token, exp

from analytics_core._compile.fragments.sql_nodes import (
    operators,
    reject_new_groups,
    reject_unknown_nodes,
    restore_meaning,
)
from analytics_core._compile.fragments.sql_text import (
    called_names,
    check_characters,
    parse_statements,
    read_tokens,
    reject_denied,
    write_sql,
)
from analytics_core._compile.plan import SqlSource
from analytics_core._engines.spec import EngineSpec, Refuse
from analytics_core._gate.changes import (
    CHANGES,
    MOST_CHARACTERS,
    QUERY_STARTS,
    check_change,
    is_of_schema,
    reject_hidden_targets,
    reject_start,
)
from analytics_core._gate.relations import TableRef, tables_of
from analytics_core.errors import QueryError, StatementRefusedError, VirtualDatasetError

Check = Callable[..., None]
"""Checks every node of a tree, which it may change; it is given `rejected`."""

_QUERIES: Final[tuple[type[exp.Expr], ...]] = (exp.Select, exp.SetOperation, exp.Subquery, exp.Values)
_ONLY_QUERIES: Final = "it must be read-only: one query (SELECT or WITH ... SELECT)"


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
    sql: str, *, spec: EngineSpec, place: str, invalid_as: type[QueryError] = VirtualDatasetError
) -> SqlSource:
    """Return the SQL of a virtual dataset, or of a person, as one checked query; `place` names it in errors.

    Raises:
        VirtualDatasetError: empty, several statements, not SQL of the engine; `invalid_as` is another class for it.
        StatementRefusedError: not read-only, or it reads what cannot be resolved to a table.
    """

    def invalid(what: str) -> QueryError:
        return invalid_as(f"{place}: {what}")

    def rejected(what: str) -> QueryError:
        return StatementRefusedError(f"{place}: {what}")

    tree, tokens = _one_statement(sql, spec, invalid=invalid, rejected=rejected)
    if not isinstance(tree, _QUERIES):
        raise rejected(_ONLY_QUERIES)
    _check_query(tree, rejected=rejected)
    try:
        tables_of(tree, spec)
    except StatementRefusedError as error:
        raise rejected(error.message) from None
    return SqlSource(sql=_written_twice(tree, tokens, spec, rejected=rejected), tree=tree)


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

    tree, tokens = _one_statement(sql, spec, invalid=invalid, rejected=rejected, only_queries=not allow_dml)
    is_query = isinstance(tree, _QUERIES)
    if not is_query and not (allow_dml and isinstance(tree, CHANGES)):
        raise rejected(_ONLY_QUERIES if not allow_dml else "only queries and changes of tables may run")
    check = _check_query if is_query else check_change
    check(tree, rejected=rejected)
    if not is_query:
        reject_hidden_targets(tree, spec, rejected)
    try:
        text = _written_twice(tree, tokens, spec, rejected=rejected, check=check)
        tables = () if is_of_schema(tree) else tables_of(tree, spec)
    except StatementRefusedError as error:
        raise (error if error.message.startswith(place) else rejected(error.message)) from None
    return CheckedStatement(sql=text, tree=tree, tables=tables, changes_data=not is_query)


def _one_statement(
    sql: str, spec: EngineSpec, *, invalid: Refuse, rejected: Refuse, only_queries: bool = True
) -> tuple[exp.Expr, list[Token]]:
    check_characters(sql, max_length=MOST_CHARACTERS, reject=invalid)
    tokens = read_tokens(sql, spec.dialect, invalid)
    first = next((token.text.upper() for token in tokens if token.text != ";"), "")
    if only_queries and first and first not in QUERY_STARTS:
        reject_start(first, invalid, rejected)
        raise rejected(_ONLY_QUERIES)
    reject_denied(tokens, spec.guards.denied_functions, rejected)
    # Of a word that begins another statement, the tokens are not those that a parser takes.
    trees = parse_statements(sql, spec.dialect, invalid, tokens=tokens if only_queries else None)
    if not trees:
        raise invalid("it is empty")
    if len(trees) > 1:
        raise invalid("it holds several statements; one SELECT is needed")
    tree = trees[0]
    if isinstance(tree, exp.Pivot):  # a statement of its own on DuckDB, and a relation inside of another
        tree = exp.Select(expressions=[exp.Star()], from_=exp.From(this=exp.Subquery(this=tree)))
    try:
        return restore_meaning(tree, spec.syntax, rejected, called=called_names(tokens)), tokens
    except RecursionError:
        raise invalid("it is nested too deeply; write it flatter") from None


def _check_query(tree: exp.Expr, *, rejected: Refuse) -> None:
    """Drop the hints of a query and check every node of it."""
    for node in list(tree.find_all(exp.Hint, exp.Select, *CHANGES)):
        if isinstance(node, exp.Hint):
            node.pop()
        elif not isinstance(node, exp.Select):
            raise rejected(f"{node.key.upper()} changes data; a query must be read-only")
        elif not node.expressions:
            raise rejected("a SELECT in it names no column")
    reject_unknown_nodes(tree, rejected, queries=True)


def _written_twice(
    tree: exp.Expr, before: Sequence[Token], spec: EngineSpec, *, rejected: Refuse, check: Check = _check_query
) -> str:
    """Return the text of the tree, after making sure that it reads back as the same statement."""
    text = write_sql(tree, spec.dialect, rejected)
    check_characters(text, max_length=max(len(text), 1), reject=rejected)
    is_query = isinstance(tree, _QUERIES)
    again, after = _one_statement(text, spec, invalid=rejected, rejected=rejected, only_queries=is_query)
    reject_new_groups(spec.syntax, before, after, rejected)
    if not is_query and type(again) is not type(tree):
        raise rejected("it cannot be written again as the same kind of statement")
    check(again, rejected=rejected)
    if not means_the_same(again, tree, spec):
        raise rejected("a part of it cannot be written again with the same meaning; write it in another way")
    return text


def means_the_same(one: exp.Expr, other: exp.Expr, spec: EngineSpec) -> bool:
    """Tell whether two queries group their operators alike and read the same relations."""
    same = operators(one) == operators(other)
    return same and (is_of_schema(one) or tables_of(one, spec) == tables_of(other, spec))
