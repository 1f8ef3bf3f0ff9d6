"""Which nodes of an SQL tree a user's text may hold: allow-lists, so that a construct nobody thought of is refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sqlglot import exp

from analytics_core._engines.name_sets import name_set
from analytics_core._engines.spec import EngineSpec, Refuse

_PARTS: Final[tuple[type[exp.Expr], ...]] = (
    exp.Identifier, exp.Var, exp.DataType, exp.DataTypeParam, exp.ColumnDef, exp.CharacterSet, exp.Introducer,
    exp.National, exp.Interval, exp.IntervalSpan, exp.AtTimeZone, exp.FromTimeZone, exp.Star, exp.Tuple, exp.Slice,
    exp.Lambda, exp.Distinct, exp.Order, exp.Ordered, exp.Where, exp.Filter, exp.WithinGroup, exp.WindowSpec,
    exp.IgnoreNulls, exp.RespectNulls, exp.HavingMax, exp.Limit, exp.OverflowTruncateBehavior,
    exp.TranslateCharacters, exp.JSON, exp.JSONKeyValue, exp.JSONValue, exp.JSONExtractQuote, exp.FormatJson,
    exp.OnCondition, exp.JSONPath, exp.JSONPathPart,
)  # fmt: skip
"""What scalar expressions are made of besides `exp.Condition`, sqlglot's class of expressions with a value."""

_ALLOWED: Final[tuple[type[exp.Expr], ...]] = (exp.Condition, *_PARTS)

_RELATIONS: Final[tuple[type[exp.Expr], ...]] = (
    exp.Select, exp.SetOperation, exp.Subquery, exp.Values, exp.With, exp.CTE, exp.RecursiveWithSearch, exp.From,
    exp.Join, exp.Table, exp.TableAlias, exp.TableSample, exp.Lateral, exp.Alias, exp.Aliases, exp.Group, exp.Having,
    exp.Qualify, exp.Offset, exp.Fetch, exp.LimitOptions, exp.Cube, exp.Rollup, exp.GroupingSets, exp.Pivot,
    exp.PivotAlias, exp.PivotAny, exp.UnpivotColumns, exp.PositionalColumn, exp.Comprehension, exp.Sort, exp.Cluster,
    exp.Distribute, exp.PreWhere, exp.Final, exp.Connect, exp.Prior, exp.WithTableHint, exp.IndexTableHint,
    exp.TableFromRows, exp.Version, exp.JSONSchema, exp.JSONColumnDef, exp.OpenJSONColumnDef, exp.TableColumn,
)  # fmt: skip
"""What queries are made of besides."""

_NEVER: Final[tuple[type[exp.Expr], ...]] = (exp.Placeholder, exp.Parameter, exp.SessionParameter, exp.NextValueFor)
_QUERY_OPTIONS: Final = ("into", "locks", "settings", "format", "options")
_RELATION_READERS: Final[tuple[type[exp.Expr], ...]] = (exp.Query, exp.Values, exp.Table, exp.From)
_ROW_MAKERS: Final[tuple[type[exp.Expr], ...]] = (
    exp.UDTF, exp.Unnest, exp.Explode, exp.ExplodingGenerateSeries, exp.XMLTable, exp.JSONTable, exp.OpenJSON,
    exp.ReadCSV,
)  # fmt: skip
_ROW_MAKING_NAMES: Final = frozenset(
    {
        "json_array_elements", "jsonb_array_elements", "json_array_elements_text", "jsonb_array_elements_text",
        "json_each", "jsonb_each", "json_each_text", "jsonb_each_text", "json_tree", "json_object_keys",
        "jsonb_object_keys", "json_populate_recordset", "jsonb_populate_recordset", "json_to_recordset",
        "jsonb_to_recordset", "jsonb_path_query", "regexp_split_to_table", "string_to_table", "generate_subscripts",
        "posexplode", "posexplode_outer", "explode_outer", "inline_outer", "flatten", "arrayjoin",
    }
)  # fmt: skip
_CATALOG_TYPES: Final = name_set(
    """
    regclass regcollation regconfig regdictionary regnamespace regoper regoperator regproc regprocedure regrole regtype
    aclitem pg_* !pg_lsn !pg_snapshot
    """
)
"""Types of PostgreSQL whose values are names, looked up in the catalog while the statement runs.

The rows of its catalog (`pg_type`) are types too, and some of their fields are names.
"""

_TUPLE_PARENTS: Final[tuple[type[exp.Expr], ...]] = (
    exp.In, exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Overlaps,
    exp.Distinct, exp.Tuple,
)  # fmt: skip


def reject_unknown_nodes(tree: exp.Expr, reject: Refuse, *, queries: bool) -> None:
    """Refuse trees with nodes outside the allow-lists; `queries` says whether relations may be read."""
    _reject_catalog_types(tree, reject)
    allowed = _ALLOWED + _RELATIONS if queries else _ALLOWED
    for node in tree.walk():
        if isinstance(node, _NEVER):
            raise reject("parameters and sequences cannot be used in it (?, :name, %s, @name, NEXT VALUE FOR)")
        if isinstance(node, exp.Column) and node.name.startswith("$"):
            raise reject(f"parameters cannot be used in it ({node.name})")
        if not isinstance(node, allowed):
            raise reject(f"{node.key.upper()} is not allowed in it")
        if isinstance(node, exp.Query) and (option := next((o for o in _QUERY_OPTIONS if node.args.get(o)), None)):
            raise reject(f"{option.upper()} is not allowed in it")


def reads_relation(tree: exp.Expr, *, spec: EngineSpec) -> bool:
    """Tell whether a scalar expression reads a relation of its own, or makes rows."""
    return any(_reads(node, spec) for node in tree.walk())


def _reads(node: exp.Expr, spec: EngineSpec) -> bool:
    if isinstance(node, (*_RELATION_READERS, *_ROW_MAKERS)):
        return True
    if isinstance(node, exp.Anonymous):
        name = node.name.lower()
        guards = spec.guards
        return name in _ROW_MAKING_NAMES or name in guards.row_makers or name in guards.revealing.functions
    # `a IN t` names a table on SQLite; DuckDB and others test membership in a list there.
    return isinstance(node, exp.In) and spec.guards.table_names.after_in and node.args.get("field") is not None


def types_by_name(tree: exp.Expr) -> Iterator[str]:
    """Yield the types in a tree that the parser does not know as its own, in lower case and without their schema."""
    for node in tree.find_all(exp.DataType, exp.ObjectIdentifier):
        if isinstance(node, exp.ObjectIdentifier):
            yield str(node.this).lower()
        elif node.this is exp.DType.USERDEFINED and (kind := node.args.get("kind")):
            yield (kind.name if isinstance(kind, exp.Expr) else str(kind)).rpartition(".")[2].lower()


def _reject_catalog_types(tree: exp.Expr, reject: Refuse) -> None:
    """Refuse casts to types whose values are looked up in the catalog: they tell what there is by failing."""
    for name in types_by_name(tree):
        if name.lstrip("_") in _CATALOG_TYPES:
            raise reject(f"the type {name} is not allowed: it looks names up in the catalog")


def reject_misplaced(tree: exp.Expr, reject: Refuse) -> None:
    """Refuse stars outside COUNT(*), lists of values outside comparisons, and IN without members."""
    for node in tree.walk():
        parent = node.parent
        if isinstance(node, exp.Columns) or (isinstance(node, exp.Star) and not isinstance(parent, exp.Count)):
            raise reject("* stands for many columns; it is allowed in COUNT(*) only")
        if isinstance(node, exp.Tuple) and not isinstance(parent, _TUPLE_PARENTS):
            raise reject("it is a list of expressions; one is needed")
        if isinstance(node, exp.In) and not _has_members(node):
            raise reject("IN () has no members")


def _has_members(node: exp.In) -> bool:
    return bool(node.expressions or any(node.args.get(key) for key in ("query", "unnest", "field")))


_SCALAR_PAIRS: Final = (exp.Max, exp.Min)
_AGGREGATE_NAMES: Final = frozenset(
    {
        "total", "json_group_array", "json_group_object", "jsonb_group_array", "jsonb_group_object", "every",
        "histogram", "product", "favg", "fsum", "sumkahan", "kahan_sum", "mad", "entropy", "json_object_agg",
        "jsonb_object_agg", "xmlagg", "range_agg", "json_arrayagg", "json_objectagg", "bitstring_agg", "listagg",
        "approx_quantile", "reservoir_quantile",
    }
)  # fmt: skip


def aggregates(tree: exp.Expr, *, spec: EngineSpec) -> Iterator[exp.Expr]:
    """Yield the aggregate calls that are not the function of a window (`SUM(x) OVER ()` is none, its inner SUM is)."""
    return (node for node in tree.walk() if _is_aggregate(node, spec) and not _is_windowed(node))


_GATHERING: Final = (exp.Anonymous, exp.Window, exp.Filter, exp.WithinGroup, exp.Query)
"""Below these a column is aggregated, or may be in a way that only the engine knows."""


def loose_columns(tree: exp.Expr, *, spec: EngineSpec) -> frozenset[str]:
    """Return the names of the columns that stand outside every aggregate."""
    gathering = {id(node) for node in aggregates(tree, spec=spec)}
    outside = tree.walk(prune=lambda one: id(one) in gathering or isinstance(one, _GATHERING))
    return frozenset(node.name for node in outside if isinstance(node, exp.Column))


def _is_aggregate(node: exp.Expr, spec: EngineSpec) -> bool:
    if isinstance(node, exp.Anonymous):
        return node.name.lower() in _AGGREGATE_NAMES
    if isinstance(node, _SCALAR_PAIRS) and spec.syntax.extremes_of_values and node.expressions:
        return False  # max(a, b) of SQLite is the larger of two values
    return isinstance(node, exp.AggFunc)


def _is_windowed(node: exp.Expr) -> bool:
    inner, outer = node, node.parent
    while isinstance(outer, exp.Filter | exp.WithinGroup | exp.IgnoreNulls | exp.RespectNulls) and outer.this is inner:
        inner, outer = outer, outer.parent
    return isinstance(outer, exp.Window) and outer.this is inner


_OPERATORS: Final[tuple[type[exp.Expr], ...]] = (exp.Binary, exp.Not, exp.Neg, exp.BitwiseNot, exp.Between, exp.In)


_CLOSED: Final = (exp.Func, exp.Dot)


def operators(tree: exp.Expr) -> list[tuple[str, str | None]]:
    """Return the operators of a tree in order, each with the side of its parent on which it stands.

    Two texts with equal lists group their operators alike; parentheses themselves do not count.
    """
    return [
        (node.key, _side(node))
        for node in tree.dfs()
        if isinstance(node, _OPERATORS) and (isinstance(node, exp.Connector) or not isinstance(node, _CLOSED))
    ]


def _side(node: exp.Expr) -> str | None:
    while isinstance(node.parent, exp.Paren):
        node = node.parent
    return node.arg_key
