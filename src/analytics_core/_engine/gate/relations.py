"""Which relations a query reads, with the scopes of SQL, and which of them nobody may read.

A name of a WITH clause hides a table only where it is visible; in doubt a name is a table: then its row rules count.
Refused are the engines' own relations and functions that show what other tables hold, what others run, or passwords.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

from sqlglot import exp

from analytics_core._engine.compile.fragments.sql_nodes import NodeIndex, subclasses_of, table_nodes, unlisted_types
from analytics_core._engine.compile.relation import Relation, TableRef
from analytics_core._engine.engines.nodes import quoted
from analytics_core._engine.engines.spec import EngineSpec, dialect_of
from analytics_core._engine.files.names import is_unfinished
from analytics_core._engine.rights.row_rules import TableName
from analytics_core._records.datasource import Dataset
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


STORE_TABLES: Final = frozenset(
    {
        "ac_alembic_version", "ac_annotation_layers", "ac_annotations", "ac_chart_owners", "ac_chart_tags", "ac_charts",
        "ac_css_templates", "ac_dashboard_charts", "ac_dashboard_owners", "ac_dashboard_roles", "ac_dashboard_tags",
        "ac_dashboards", "ac_databases", "ac_dataset_columns", "ac_dataset_metrics", "ac_dataset_owners", "ac_datasets",
        "ac_embedded_dashboards", "ac_favourites", "ac_job_results", "ac_job_workers", "ac_jobs", "ac_key_values",
        "ac_locks", "ac_logs", "ac_oauth2_tokens", "ac_report_deliveries", "ac_report_executions", "ac_report_progress",
        "ac_report_schedule_owners", "ac_report_schedules", "ac_role_grants", "ac_roles", "ac_row_rule_datasets",
        "ac_row_rule_roles", "ac_row_rules", "ac_saved_statement_tags", "ac_saved_statements", "ac_sql_queries",
        "ac_tags", "ac_user_roles", "ac_users",
    }
)  # fmt: skip
"""The tables of metadata stores: whoever read or replaced them in a database would be above all rules."""


def table_name(table: TableRef) -> TableName:
    """Return the name of a relation as rules compare it."""
    return TableName(table=table.table, schema=table.schema, catalog=table.catalog)


def tables_of(tree: exp.Expr, spec: EngineSpec) -> tuple[TableRef, ...]:
    """Return each relation that `tree` reads, once, sorted by its name; a table, a view and a catalog view alike.

    Raises:
        StatementRefusedError: a relation that cannot be resolved to a name: a file, a function that is not known to
            make its rows from values alone, a name after IN.
    """
    return named_by(relations_of(tree, spec))


def relations_in(index: NodeIndex, spec: EngineSpec, *, checked: Iterable[Relation] = ()) -> tuple[Relation, ...]:
    """Return what `relations_of` does, of a tree whose nodes are known; the names of `checked` were read before."""
    return _read(index.of(*_READERS), spec, checked)


def relations_of(tree: exp.Expr, spec: EngineSpec) -> tuple[Relation, ...]:
    """Return each place where `tree` reads a relation; StatementRefusedError as for `tables_of`."""
    return _read(_readers(tree), spec)


_READERS: Final = (exp.Table, exp.In, exp.Anonymous, exp.TableFromRows, exp.With)


def _readers(tree: exp.Expr) -> list[exp.Expr]:
    is_reader = subclasses_of(_READERS)
    return [node for node in tree.dfs() if is_reader[type(node)]]


def named_by(relations: Iterable[Relation]) -> tuple[TableRef, ...]:
    """Return each name of some relations once, sorted."""
    return tuple(sorted({id(one.table): one.table for one in relations}.values(), key=str))


def _read(nodes: Iterable[exp.Expr], spec: EngineSpec, checked: Iterable[Relation] = ()) -> tuple[Relation, ...]:
    """Return the relations among all nodes of a tree that may name one, which are checked first, and their places."""
    tables: list[tuple[exp.Table, TableRef | None]] = []
    names = [relation.table for relation in checked]
    known = {(table.table, table.schema or "", table.catalog or ""): table for table in names}
    ctes: set[str] = set()
    for node in nodes:
        match node:
            case exp.Table():
                tables.append((node, _resolved(node, known, spec)))
            case exp.In():
                _reject_name_after_in(node, spec)
            case exp.Anonymous():
                _reject_revealing_call(node, spec)
            case exp.TableFromRows():
                _reject_unknown_rows(node, spec)
            case exp.With():
                ctes.update(name.name.casefold() for name in _named(node.expressions))
    read = [
        Relation(position=position, table=table)
        for position, (node, table) in enumerate(tables)
        if table is not None and not (table.table.casefold() in ctes and is_cte(node, spec))
    ]
    for one in read:
        reject_cut_names((one.table.table, one.table.schema, one.table.catalog), spec)
    return tuple(read)


def exact_names(tree: exp.Expr, spec: EngineSpec) -> Iterator[tuple[TableRef, TableName | None]]:
    """Yield each relation that `tree` reads, and its one name as the engine compares it; None where that is in doubt.

    Equal to `exact_name` of a table's own name: the statement reads that table and no other one.
    """
    nodes = table_nodes(tree)
    for relation in relations_of(tree, spec):
        node = nodes[relation.position]
        parts = [node.args.get(part) for part in ("this", "db", "catalog")]
        yield relation.table, _exact(parts, spec)


def exact_name(name: TableName, spec: EngineSpec) -> TableName | None:
    """Return the name of a table, spelled as its database spells it, as the engine compares names."""
    return _exact([quoted(part) if part else None for part in (name.table, name.schema, name.catalog)], spec)


def unlisted_names(tree: exp.Expr, spec: EngineSpec, added: Collection[str]) -> Iterator[str]:
    """Yield each function and type in `tree` that no list has, as the engine gets it.

    The parser knows functions of other engines, too: here they may be those of an owner, who reads what they like.
    """
    listed = spec.guards.allowed_functions
    for call in tree.find_all(exp.Func):
        name = _written_name(call, spec)
        if name and not (name in listed or name in added or name in _ROW_MAKERS or name in spec.guards.row_makers):
            yield name
    yield from unlisted_types(NodeIndex(tree), spec, listed, added)


_NO_CALLS: Final = (exp.Connector, exp.Binary, exp.SubqueryPredicate, exp.Case, exp.Cast)
_CALL: Final = re.compile(r"(\w+)\(")


def _written_name(call: exp.Expr, spec: EngineSpec) -> str | None:
    """Return the name of a function as it is sent, in lower case; None for what is written as an operator."""
    if isinstance(call, exp.Anonymous | exp.AnonymousAggFunc):
        return call.name.lower()
    if isinstance(call, _NO_CALLS):
        return None
    found = _CALL.match(call.sql(dialect=spec.dialect))
    return found[1].lower() if found else None


def _exact(parts: Sequence[exp.Expr | None], spec: EngineSpec) -> TableName | None:
    names: list[str | None] = []
    for part in parts:
        if part is None:
            names.append(None)
            continue
        name, is_quoted = _folded(part, spec) if isinstance(part, exp.Identifier) else ("", False)
        is_parted = spec.guards.table_names.parted and "." in name
        if not name or is_parted or not (name.isascii() or is_quoted):  # beyond ASCII engines fold in their own ways
            return None
        names.append(name)
    table, schema, catalog = names
    return None if table is None else TableName(table=table, schema=schema, catalog=catalog)


def _reject_name_after_in(member: exp.In, spec: EngineSpec) -> None:
    names = spec.guards.table_names
    if names.after_in and member.args.get("field") is not None:
        raise StatementRefusedError("IN takes values or a sub-query: write IN (SELECT ... FROM ...)")
    if names.after_in_alone and len(member.expressions) == 1:
        only = member.expressions[0]
        while isinstance(only, exp.Paren | exp.Alias):
            only = only.this
        if isinstance(only, exp.Column | exp.Dot | exp.Identifier | exp.Table):
            raise StatementRefusedError("a name alone after IN could be a table: write = for a column")


def _reject_unknown_rows(rows: exp.TableFromRows, spec: EngineSpec) -> None:
    if not isinstance(rows.this, exp.Func):
        raise StatementRefusedError("TABLE(...) takes a function; write the name of a table without it")
    _reject_unknown_function(rows.this, spec)


def _resolved(node: exp.Table, known: dict[tuple[str, str, str], TableRef], spec: EngineSpec) -> TableRef | None:
    """Return the name of a relation, of which each is checked once; None for rows that a function makes."""
    inner = node.this
    if isinstance(inner, exp.Func):
        _reject_unknown_function(inner, spec)
        return None
    name, schema, catalog = parts = (node.name, node.db, node.catalog)
    if not isinstance(inner, exp.Identifier) or not name:
        raise StatementRefusedError("a relation without a name cannot be read; read a table or a view")
    if (found := known.get(parts)) is not None:
        return found
    if spec.guards.table_names.calls and name.lower() in spec.guards.denied_functions.names:
        raise StatementRefusedError(f"the relation {name} is not allowed; read a table or a view")
    reject_revealing(name, spec, schema=schema, catalog=catalog)
    if spec.guards.table_names.is_file(name):
        raise StatementRefusedError(f"{name!r} is a file, not a table; files cannot be read")
    known[parts] = found = TableRef(table=name, schema=schema or None, catalog=catalog or None)
    return found


def _reject_unknown_function(call: exp.Func, spec: EngineSpec) -> None:
    name = (call.name if isinstance(call, exp.Anonymous) else call.key).lower()
    if name not in _ROW_MAKERS and name not in spec.guards.row_makers:
        raise StatementRefusedError(f"the table function {name} is not allowed; read a table or a view")


def is_cte(table: exp.Table, spec: EngineSpec) -> bool:
    """Tell whether a WITH clause answers to the relation."""
    return _clause_of(table, spec) is not None


def _clause_of(table: exp.Table, spec: EngineSpec) -> exp.Identifier | None:
    """Return the name of the WITH clause that answers to the relation; None for a table."""
    name = table.this
    if table.db or table.catalog or not isinstance(name, exp.Identifier):
        return None
    spelled, written = name.name.casefold(), (name.name, name.quoted)
    alike = [cte for cte in _visible(table) if cte.name.casefold() == spelled]
    same = (cte for cte in alike if (cte.name, cte.quoted) == written or _folded(cte, spec) == _folded(name, spec))
    return next(same, None)


def _visible(node: exp.Expr) -> Iterator[exp.Identifier]:
    """Yield the names of the WITH clauses that are in sight of a node, the nearest query first."""
    child, parent = node, node.parent
    while parent is not None:
        if isinstance(parent, exp.With):
            yield from _named(_before(parent, child, node))
        elif isinstance(with_ := parent.args.get("with_"), exp.With) and child is not with_:
            yield from _named(with_.expressions)
        child, parent = parent, parent.parent


def rename_clauses(index: NodeIndex, spec: EngineSpec) -> NodeIndex:
    """Return a statement in which no WITH clause is called like a table, where the engine may confuse the two.

    MariaDB looks for a table where it does not see a clause of a query around, and would read it without its row rules.
    Where a clause has the name of a table or of another clause, MariaDB may hang beyond all limits, or crash.
    """
    withs = index.of(exp.With)
    if spec.guards.table_names.nested_ctes or not withs:
        return index
    clauses = [name for with_ in withs for name in _named(with_.expressions)]
    names = {name.name.casefold() for name in clauses}
    tables = [node for node in index.nodes if isinstance(node, exp.Table) and node.name.casefold() in names]
    read = [(table, _clause_of(table, spec)) for table in tables]
    if len(withs) == 1 and all(clause is not None for _, clause in read):
        return index
    renamed = {id(name): quoted(f"{name.name[:40]} clause {n}") for n, name in enumerate(clauses, start=1)}
    for table, clause in read:
        if clause is not None:
            table.set("alias", table.args.get("alias") or exp.TableAlias(this=table.this.copy()))
            table.set("this", renamed[id(clause)].copy())
    for name in clauses:
        name.replace(renamed[id(name)])
    return NodeIndex(index.tree)


def _before(with_: exp.With, own: exp.Expr, node: exp.Expr) -> list[exp.Expr]:
    """Return the clauses that the one around `node` may read: those before it, and itself where it recurs."""
    position = next(i for i, clause in enumerate(with_.expressions) if clause is own)
    return list(with_.expressions[: position + (1 if _recurs(with_, own, node) else 0)])


def _recurs(with_: exp.With, own: exp.Expr, node: exp.Expr) -> bool:
    """Tell whether `node` is in the recursive term; in the first term engines may look for a table of that name.

    Only a plain UNION recurs: DuckDB looks for a table from INTERSECT, EXCEPT and UNION BY NAME.
    """
    body = own.this
    if not with_.args.get("recursive") or not isinstance(body, exp.Union) or body.args.get("by_name"):
        return False
    ancestor: exp.Expr | None = node
    while ancestor is not None and ancestor.parent is not body:
        ancestor = ancestor.parent
    return ancestor is body.expression


def _named(clauses: list[exp.Expr]) -> Iterator[exp.Identifier]:
    """Yield the names of relations; `WITH 1 AS t` of ClickHouse names a value, and hides no table."""
    for clause in clauses:
        alias = clause.args.get("alias")
        if alias is not None and isinstance(alias.this, exp.Identifier) and not clause.args.get("scalar"):
            yield alias.this


def _folded(name: exp.Identifier, spec: EngineSpec) -> tuple[str, bool]:
    """Return a name as the engine compares it; outside ASCII engines differ, so only the same spelling is the same."""
    if not name.name.isascii():
        return name.name, bool(name.quoted)
    return dialect_of(spec.dialect).normalize_identifier(name.copy()).name, False


def reject_revealing(name: str, spec: EngineSpec, *, schema: str | None, catalog: str | None = None) -> None:
    """Refuse a relation that shows rows of other tables, what others run, passwords or files; StatementRefusedError.

    So is the table of an upload that is not finished: its rows may never be; and one of a metadata store, which may lie
    in the same database.
    """
    if schema and not catalog and schema.lower() in spec.guards.table_names.of_files:
        raise StatementRefusedError(
            f"the relation {schema}.{name} is not allowed: {spec.label} reads files by such a name; "
            f"where {schema} is a schema, name its catalog, too"
        )
    last = name.rpartition(".")[2] if spec.guards.table_names.parted else name
    if last.lower() in STORE_TABLES:
        raise StatementRefusedError(f"the relation {name} is not allowed: it is of a metadata store of this library")
    if is_unfinished(last):
        raise StatementRefusedError(f"the relation {name} is not allowed: it is of an upload that is not finished")
    if _is_inside(last, spec, schema=schema, catalog=catalog) or last.lower() in spec.guards.revealing.relations:
        raise StatementRefusedError(
            f"the relation {name} is not allowed: it shows rows of other tables, what others run, or passwords"
        )


def _is_inside(name: str, spec: EngineSpec, *, schema: str | None, catalog: str | None) -> bool:
    """Tell whether a relation lies in a schema of that kind."""
    places, harmless = spec.guards.revealing.schemas, spec.guards.revealing.harmless
    inside = bool(schema) and (f"{schema}".lower() in places or f"{catalog}.{schema}".lower() in places)
    return inside and name.lower() not in harmless


NO_SCHEMA: Final = "schema of the connection"
"""Stands before a table that `in_schema` is to leave without a schema."""


def in_schema(tree: exp.Expr, schema: str | None, spec: EngineSpec) -> exp.Expr:
    """Return the tree, which is changed, with the schema, where there is one, before each table that names none.

    `NO_SCHEMA` before a table goes.
    """
    if not schema:
        return tree
    tables = table_nodes(tree)
    for relation in relations_of(tree, spec):
        is_part = isinstance(tree, exp.Alter) and tables[relation.position] is not tree.this
        if relation.table.schema is None and not is_part:
            tables[relation.position].set("db", quoted(schema))
        elif relation.table.schema == NO_SCHEMA:
            tables[relation.position].set("db", None)
    return tree


def reject_revealing_table(dataset: Dataset, spec: EngineSpec) -> None:
    """Refuse a dataset over such a relation, or by a name that the engine would cut or part; StatementRefusedError."""
    reject_revealing(dataset.table_name, spec, schema=dataset.schema, catalog=dataset.catalog)
    reject_cut_names((dataset.table_name, dataset.schema, dataset.catalog), spec)
    if spec.guards.table_names.parted and "." in dataset.table_name:
        raise StatementRefusedError(
            f"the table name {dataset.table_name!r} has a dot, by which {spec.label} would read a table of another "
            "schema; name schema and table apart"
        )


def reject_revealing_calls(tree: exp.Expr, spec: EngineSpec) -> None:
    """Refuse the function that stands behind such relations; StatementRefusedError."""
    for call in tree.find_all(exp.Anonymous):
        _reject_revealing_call(call, spec)


def _reject_revealing_call(call: exp.Anonymous, spec: EngineSpec) -> None:
    if (name := call.name.lower()) in spec.guards.revealing.functions:
        raise StatementRefusedError(f"the function {name} is not allowed: it shows values of rows that may be hidden")


def reject_cut_names(parts: Iterable[str | None], spec: EngineSpec) -> None:
    """Refuse a table by a name that the engine would cut: no rule stands on that name; StatementRefusedError."""
    longest = spec.guards.table_names.longest
    for part in parts:
        if longest is not None and part and len(part.encode()) > longest:
            raise StatementRefusedError(
                f"the name {part[:20]}... has more than {longest} bytes, and the engine would read another table"
            )
