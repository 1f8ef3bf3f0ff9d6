"""Which relations a query reads, with the scopes of SQL: a CTE's name hides a table only where it is visible."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from analytics_core._engines.spec import EngineSpec
from analytics_core._gate.cte_names import is_cte
from analytics_core._gate.revealing import refuse_cut_names, refuse_revealing, refuse_revealing_calls
from analytics_core.errors import StatementRefusedError

_ROW_MAKERS: Final = frozenset(
    {
        "generate_series", "generate_subscripts", "range", "unnest", "explode", "explode_outer", "posexplode",
        "posexplode_outer", "inline", "inline_outer", "stack", "flatten", "sequence", "numbers", "json_each",
        "json_tree", "jsonb_each", "json_each_text", "jsonb_each_text", "json_table", "jsontable", "openjson",
        "json_array_elements", "json_array_elements_text", "jsonb_array_elements", "jsonb_array_elements_text",
        "json_object_keys", "jsonb_object_keys", "json_to_recordset", "jsonb_to_recordset", "jsonb_path_query",
        "json_populate_recordset", "jsonb_populate_recordset", "regexp_matches", "regexp_split_to_table",
        "string_to_table", "string_split", "split_to_table", "xmltable", "explodinggenerateseries", "generateseries",
        "regexpsplittotable", "splittotable", "generator",
    }
)  # fmt: skip
"""Functions that make rows from values alone, whatever the engine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRef:
    """A relation as a query names it; None where the query leaves a part out."""

    table: str
    schema: str | None = None
    catalog: str | None = None

    def __str__(self) -> str:
        return ".".join(part for part in (self.catalog, self.schema, self.table) if part)


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """One place where a query reads a relation; `position` counts the table nodes of its tree."""

    position: int
    table: TableRef


def tables_of(tree: exp.Expr, spec: EngineSpec) -> tuple[TableRef, ...]:
    """Return each relation that `tree` reads, once, sorted by its name; a table, a view and a catalog view alike.

    Raises:
        StatementRefusedError: a relation that cannot be resolved to a name: a file, a function that is not known to
            make its rows from values alone, a name after IN.
    """
    return tuple(sorted({relation.table for relation in relations_of(tree, spec)}, key=str))


def relations_of(tree: exp.Expr, spec: EngineSpec) -> tuple[Relation, ...]:
    """Return each place where `tree` reads a relation; StatementRefusedError as for `tables_of`."""
    for member in tree.find_all(exp.In):
        if spec.guards.table_names.after_in and member.args.get("field") is not None:
            raise StatementRefusedError("IN takes values or a sub-query: write IN (SELECT ... FROM ...)")
    refuse_revealing_calls(tree, spec)
    tables = list(tree.find_all(exp.Table))
    for node in tables:
        _refuse_unresolvable(node, spec)
    for rows in tree.find_all(exp.TableFromRows):
        if not isinstance(rows.this, exp.Func):
            raise StatementRefusedError("TABLE(...) takes a function; write the name of a table without it")
        _refuse_unknown_function(rows.this, spec)
    return tuple(
        Relation(position=position, table=_reference(node, spec))
        for position, node in enumerate(tables)
        if not isinstance(node.this, exp.Func) and not is_cte(node, spec)
    )


def _refuse_unresolvable(node: exp.Table, spec: EngineSpec) -> None:
    inner = node.this
    if isinstance(inner, exp.Func):
        _refuse_unknown_function(inner, spec)
        return
    if not isinstance(inner, exp.Identifier) or not node.name:
        raise StatementRefusedError("a relation without a name cannot be read; read a table or a view")
    if spec.guards.table_names.calls and node.name.lower() in spec.guards.denied_functions.names:
        raise StatementRefusedError(f"the relation {node.name} is not allowed; read a table or a view")
    refuse_revealing(node.name, spec, schema=node.db, catalog=node.catalog)
    if spec.guards.table_names.is_file(node.name):
        raise StatementRefusedError(f"{node.name!r} is a file, not a table; files cannot be read")


def _refuse_unknown_function(call: exp.Func, spec: EngineSpec) -> None:
    name = (call.name if isinstance(call, exp.Anonymous) else call.key).lower()
    if name not in _ROW_MAKERS and name not in spec.guards.row_makers:
        raise StatementRefusedError(f"the table function {name} is not allowed; read a table or a view")


def _reference(node: exp.Table, spec: EngineSpec) -> TableRef:
    refuse_cut_names((node.name, node.db, node.catalog), spec)
    return TableRef(table=node.name, schema=node.db or None, catalog=node.catalog or None)
