"""Which relations a query reads, with the scopes of SQL: a CTE's name hides a table only where it is visible."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from sqlglot import exp
from sqlglot.optimizer.normalize_identifiers import normalize_identifiers
from sqlglot.optimizer.scope import Scope, traverse_scope

from analytics_core._compile.fragments.sql_text import FAULTS
from analytics_core._engines.spec import EngineSpec
from analytics_core.errors import StatementRefusedError

_WRITTEN: Final = "written_name"
_ROW_MAKERS: Final = frozenset(
    {
        "generate_series", "generate_subscripts", "range", "unnest", "explode", "explode_outer", "posexplode",
        "posexplode_outer", "inline", "inline_outer", "stack", "flatten", "sequence", "numbers", "json_each",
        "json_tree", "jsonb_each", "json_each_text", "jsonb_each_text", "json_table", "jsontable", "openjson",
        "json_array_elements", "json_array_elements_text", "jsonb_array_elements", "jsonb_array_elements_text",
        "json_object_keys", "jsonb_object_keys", "json_to_recordset", "jsonb_to_recordset", "jsonb_path_query",
        "json_populate_recordset", "jsonb_populate_recordset", "regexp_matches", "regexp_split_to_table",
        "string_to_table", "string_split", "split_to_table", "xmltable", "explodinggenerateseries", "generateseries",
        "regexpsplittotable", "splittotable",
    }
)  # fmt: skip
"""Functions that make rows from values alone."""

_FILE_ENDINGS: Final = (
    ".csv", ".tsv", ".txt", ".parquet", ".json", ".jsonl", ".ndjson", ".xlsx", ".arrow", ".feather", ".avro", ".db",
    ".duckdb", ".sqlite", ".gz", ".zst",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRef:
    """A relation as a query names it; None where the query leaves a part out."""

    table: str
    schema: str | None = None
    catalog: str | None = None

    def __str__(self) -> str:
        return ".".join(part for part in (self.catalog, self.schema, self.table) if part)


def tables_of(tree: exp.Expr, spec: EngineSpec) -> tuple[TableRef, ...]:
    """Return each relation that `tree` reads, once, sorted by its name; a table, a view and a catalog view alike.

    Raises:
        StatementRefusedError: a relation that cannot be resolved to a name: a file, a function that is not known to
            make its rows from values alone.
    """
    for node in tree.find_all(exp.Table):
        _refuse_unresolvable(node, spec)
    found = {_reference(node) for node in _physical(tree, spec)}
    return tuple(sorted(found, key=str))


def _physical(tree: exp.Expr, spec: EngineSpec) -> Iterator[exp.Table]:
    """Yield the table nodes that no CTE answers to; what the scopes do not reach counts as a table."""
    normal = _normalized(tree, spec)
    answered = {id(node) for scope in _scopes(normal) for node in _answered_by_cte(scope)}
    for node in normal.find_all(exp.Table):
        if id(node) not in answered and not isinstance(node.this, exp.Func):
            yield node


def _normalized(tree: exp.Expr, spec: EngineSpec) -> exp.Expr:
    copied = tree.copy()
    for node in copied.find_all(exp.Table):
        node.meta[_WRITTEN] = (node.catalog, node.db, node.name)
    return normalize_identifiers(copied, dialect=spec.dialect)


def _scopes(tree: exp.Expr) -> list[Scope]:
    """Return the scopes of every query in `tree`, also of those inside expressions."""
    queries = [tree] if isinstance(tree, exp.Query) else [q for q in tree.find_all(exp.Query) if _is_outermost(q)]
    try:
        return [scope for query in queries for scope in traverse_scope(query)]
    except (*FAULTS, RecursionError):
        raise StatementRefusedError("the tables of the statement cannot be told; write it more simply") from None


def _is_outermost(query: exp.Query) -> bool:
    return query.find_ancestor(exp.Query) is None


def _answered_by_cte(scope: Scope) -> Iterator[exp.Expr]:
    for node, source in scope.selected_sources.values():
        if isinstance(node, exp.Table) and isinstance(source, Scope):
            yield node


def _refuse_unresolvable(node: exp.Table, spec: EngineSpec) -> None:
    inner = node.this
    if isinstance(inner, exp.Func):
        name = (inner.name if isinstance(inner, exp.Anonymous) else inner.key).lower()
        if name not in _ROW_MAKERS:
            raise StatementRefusedError(f"the table function {name} is not allowed; read a table or a view")
        return
    if not isinstance(inner, exp.Identifier) or not node.name:
        raise StatementRefusedError("a relation without a name cannot be read; read a table or a view")
    if node.name.lower() in spec.denied_functions:
        raise StatementRefusedError(f"the relation {node.name} is not allowed; read a table or a view")
    if spec.dialect == "duckdb" and _is_file(node.name):
        raise StatementRefusedError(f"{node.name!r} is a file, not a table; files cannot be read")


def _is_file(name: str) -> bool:
    return "/" in name or "\\" in name or "*" in name or name.lower().endswith(_FILE_ENDINGS)


def _reference(node: exp.Table) -> TableRef:
    catalog, schema, table = node.meta[_WRITTEN]
    return TableRef(table=table, schema=schema or None, catalog=catalog or None)
