"""The SQL trees of users' text: which nodes they may hold, and what keeps their meaning when they are written again.

The nodes are allow-lists, so that a construct nobody thought of is refused. A text that sqlglot reads and writes in its
own dialect may still come out with another meaning: repairs of the tree keep it, or the text is refused.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterator, Sequence
from functools import cache
from typing import Final

from sqlglot import Token, TokenType, exp

from analytics_core._engine.engines.guards import name_set
from analytics_core._engine.engines.spec import EngineSpec, Refuse, Repair, Syntax, repairs

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


class _Subclasses(dict[type[exp.Expr], bool]):
    """Which classes of nodes are derived from some and from none of others: each class is asked once."""

    __slots__ = ("_classes", "_without")

    def __init__(self, classes: tuple[type[exp.Expr], ...], without: tuple[type[exp.Expr], ...] = ()) -> None:
        super().__init__()
        self._classes, self._without = classes, without

    def __missing__(self, kind: type[exp.Expr]) -> bool:
        self[kind] = found = issubclass(kind, self._classes) and not issubclass(kind, self._without)
        return found


subclasses_of: Final = cache(_Subclasses)
"""Classes, and others if any -> which classes of nodes are derived from these and from none of the others."""
_IN_FRAGMENTS: Final = _Subclasses(_ALLOWED, without=_NEVER)
_IN_QUERIES: Final = _Subclasses(_ALLOWED + _RELATIONS, without=_NEVER)


class NodeIndex:
    """The nodes of a tree, walked once: in the order of its text, and by their classes."""

    __slots__ = ("by_class", "nodes", "tree")

    def __init__(self, tree: exp.Expr) -> None:
        self.tree = tree
        self.nodes = list(tree.dfs())
        self.by_class: defaultdict[type[exp.Expr], list[exp.Expr]] = defaultdict(list)
        for node in self.nodes:
            self.by_class[type(node)].append(node)

    def of(self, *classes: type[exp.Expr]) -> list[exp.Expr]:
        """Return the nodes of these classes and of those derived from them."""
        found = subclasses_of(classes)
        return [node for kind, nodes in self.by_class.items() if found[kind] for node in nodes]


def table_nodes(tree: exp.Expr) -> list[exp.Table]:
    """Return the tables of a tree in the order of its text, by which `Relation.position` counts them."""
    return [node for node in tree.dfs() if isinstance(node, exp.Table)]


def reject_unknown_nodes(
    index: NodeIndex, reject: Refuse, *, queries: bool, besides: tuple[type[exp.Expr], ...] = ()
) -> None:
    """Refuse trees with nodes outside the allow-lists; `queries` says whether relations may be read."""
    _reject_catalog_types(index, reject)
    for node in index.of(exp.Query):
        if options := [option for option in _QUERY_OPTIONS if node.args.get(option)]:
            raise reject(f"{options[0].upper()} is not allowed in it")
    allowed, added = _IN_QUERIES if queries else _IN_FRAGMENTS, subclasses_of(besides, _NEVER)
    for kind in [kind for kind in index.by_class if not (allowed[kind] or added[kind])]:
        if issubclass(kind, _NEVER):
            raise reject("parameters and sequences cannot be used in it (?, :name, %s, @name, NEXT VALUE FOR)")
        raise reject(f"{kind.key.upper()} is not allowed in it")
    if parameters := [column.name for column in index.of(exp.Column) if column.name.startswith("$")]:
        raise reject(f"parameters cannot be used in it ({parameters[0]})")


def reads_relation(index: NodeIndex, *, spec: EngineSpec) -> bool:
    """Tell whether a scalar expression reads a relation of its own, or makes rows."""
    if index.of(*_RELATION_READERS, *_ROW_MAKERS):
        return True
    guards = spec.guards
    called = [call.name.lower() for call in index.of(exp.Anonymous)]
    if any(name in _ROW_MAKING_NAMES or name in guards.row_makers for name in called):
        return True
    if any(name in guards.revealing.functions for name in called):
        return True
    # `a IN t` names a table on SQLite; DuckDB and others test membership in a list there.
    return guards.table_names.after_in and any(one.args.get("field") is not None for one in index.of(exp.In))


def types_by_name(index: NodeIndex) -> Iterator[str]:
    """Yield the types in a tree that the parser does not know as its own, in lower case and without their schema."""
    for node in index.of(exp.DataType, exp.ObjectIdentifier):
        if isinstance(node, exp.ObjectIdentifier):
            yield str(node.this).lower()
        elif node.this is exp.DType.USERDEFINED and (kind := node.args.get("kind")):
            yield (kind.name if isinstance(kind, exp.Expr) else str(kind)).rpartition(".")[2].lower()


def unlisted_types(index: NodeIndex, spec: EngineSpec, listed: Container[str], added: Container[str]) -> Iterator[str]:
    """Yield the types in a tree that the lists, the engine's own and what a host `added`, do not have.

    Where each table is a type, too, a cast tells by failing whether there is one: so the engine's types alone may be
    named there, by their own names, and no functions' names count.
    """
    own = spec.guards.table_names.types
    if own is None:
        yield from (name for name in types_by_name(index) if name not in listed and name not in added)
        return
    for node in index.of(exp.DataType, exp.ObjectIdentifier):
        name = _written_type(node, spec)
        if name.split(" ")[0] not in own and name.rpartition(".")[2].lower() not in added:
            yield name


def _written_type(node: exp.Expr, spec: EngineSpec) -> str:
    """Return the name of a type as it is sent, without its parameters and the schema of the engine's own."""
    kind = node.args.get("kind")
    if isinstance(kind, exp.Identifier | exp.Dot):
        parts = [part.name if part.quoted else part.name.lower() for part in kind.find_all(exp.Identifier, bfs=False)]
        return ".".join(parts).removeprefix("pg_catalog.")
    if isinstance(node.this, exp.Expr):
        return node.this.key  # INTERVAL DAY
    plain = type(node)(this=node.this, kind=kind) if isinstance(node, exp.DataType) else node
    return plain.sql(dialect=spec.dialect).lower()


def _reject_catalog_types(index: NodeIndex, reject: Refuse) -> None:
    """Refuse casts to types whose values are looked up in the catalog: they tell what there is by failing."""
    for name in types_by_name(index):
        if name.lstrip("_") in _CATALOG_TYPES:
            raise reject(f"the type {name} is not allowed: it looks names up in the catalog")


def reject_misplaced(index: NodeIndex, reject: Refuse) -> None:
    """Refuse stars outside COUNT(*), lists of values outside comparisons, and IN without members."""
    if index.of(exp.Columns) or any(not isinstance(star.parent, exp.Count) for star in index.of(exp.Star)):
        raise reject("* stands for many columns; it is allowed in COUNT(*) only")
    if any(not isinstance(values.parent, _TUPLE_PARENTS) for values in index.of(exp.Tuple)):
        raise reject("it is a list of expressions; one is needed")
    if not all(map(_has_members, index.of(exp.In))):
        raise reject("IN () has no members")


def _has_members(node: exp.Expr) -> bool:
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


_CONNECTORS: Final = _Subclasses((exp.Connector,))
_OPEN_OPERATORS: Final = _Subclasses(
    (exp.Binary, exp.Not, exp.Neg, exp.BitwiseNot, exp.Between, exp.In), without=(exp.Func, exp.Dot)
)


def operators(index: NodeIndex) -> list[tuple[str, str | None]]:
    """Return the operators of a tree in order, each with the side of its parent on which it stands.

    Two texts with equal lists group their operators alike; parentheses themselves do not count.
    """
    classes = {kind for kind in index.by_class if _CONNECTORS[kind] or _OPEN_OPERATORS[kind]}
    return [(node.key, _side(node)) for node in index.nodes if type(node) in classes]


def _side(node: exp.Expr) -> str | None:
    while isinstance(node.parent, exp.Paren):
        node = node.parent
    return node.arg_key


def is_bare_call(column: exp.Column, syntax: Syntax) -> bool:
    """Tell whether a name is a function that its dialect calls without parentheses, and the parser did not know."""
    name = column.this
    quoted = isinstance(name, exp.Identifier) and name.quoted
    return not (quoted or column.table) and column.name.lower() in syntax.bare_calls


def restore_meaning(index: NodeIndex, syntax: Syntax, reject: Refuse, *, called: Container[str]) -> NodeIndex:
    """Return the tree with the nodes replaced that its dialect would write with another meaning; it may be changed.

    `called` are the names of the functions in the text, in lower case: a few calls parse to the node of an operator.
    """
    by_call = [repair for name, repair in syntax.repairs_by_call.items() if name in called]
    grouping = _mixed_comparisons if syntax.groups_comparisons else _closed_operand
    known = _repairs_by_class((*_EVERYWHERE, grouping, *syntax.repairs, *by_call))
    of_class = {kind: found for kind in index.by_class if (found := known[kind])}
    tree, is_changed = index.tree, False
    # From the leaves up: a repair may copy what is below it.
    for node in [node for node in reversed(index.nodes) if type(node) in of_class] if of_class else ():
        for repair in of_class[type(node)]:
            other = repair.run(node, reject)
            is_changed = is_changed or other is not None
            if other is None or other is node:
                continue
            if node is tree:
                tree = other
            else:
                node.replace(other)
            break
    return NodeIndex(tree) if is_changed else index


class _Repairs(dict[type[exp.Expr], tuple[Repair, ...]]):
    """Which of some repairs are tried on the nodes of a class: each class is asked once."""

    __slots__ = ("_repairs",)

    def __init__(self, repairs: tuple[Repair, ...]) -> None:
        super().__init__()
        self._repairs = repairs

    def __missing__(self, kind: type[exp.Expr]) -> tuple[Repair, ...]:
        self[kind] = found = tuple(repair for repair in self._repairs if issubclass(kind, repair.of))
        return found


_repairs_by_class: Final = cache(_Repairs)


def forget_places(index: NodeIndex) -> None:
    """Drop what the parser notes of where nodes stand in the text: two thirds of what each copy of a tree costs."""
    for node in [node for node in index.nodes if node._meta]:
        if node._meta and node._meta.keys() == _PLACE:
            node._meta = None


def release(index: NodeIndex) -> None:
    """Let go of a tree that nobody needs: its nodes hold each other, and otherwise wait for the garbage collector."""
    for node in index.nodes:
        node.parent = None


_PLACE: Final = frozenset({"line", "col", "start", "end"})
"""What the parser notes of where a node stands in the text."""


def reject_new_groups(syntax: Syntax, before: Sequence[Token], after: Sequence[Token], reject: Refuse) -> None:
    """Refuse text that got parentheses of the parser's own where the engine groups comparisons in another way.

    SQLite and MariaDB read `a = b IS NULL IN (1)` with other levels than the parser, which follows PostgreSQL.
    """
    if syntax.groups_comparisons and (made := _groups(after) - _groups(before)) > 0 and made > _allowance(before):
        raise reject(_MIXED)


def _groups(tokens: Sequence[Token]) -> int:
    """Count the parentheses that group: those of a call or a list follow a name or IN, those of rows begin VALUES."""
    places = [position for position, token in enumerate(tokens) if token.token_type is TokenType.L_PAREN]
    before = [tokens[position - 1].text if position else "" for position in places]
    around = [[one.token_type for one in tokens[position - 1 : position + 2 : 2]] for position in places]
    return sum(not text[-1:].isalnum() or text.upper() in _OPENERS for text in before) - around.count(_AROUND_ROWS)


_AROUND_ROWS: Final = [TokenType.FROM, TokenType.VALUES]
"""Between them the writer opens a relation for `WITH t AS (VALUES ...)`."""


def _allowance(tokens: Sequence[Token]) -> int:
    """Count what the repairs and the writer close rightly: MOD(a, b) becomes (a % b), REGEXP a comparison."""
    return sum(token.text.upper() in _CLOSED_WORDS for token in tokens)


_CLOSED_WORDS: Final = frozenset({"MOD", "TO_DAYS", "ISNULL", "REGEXP", "RLIKE", "REGEXP_LIKE", "SOUNDS", "!"})
_OPENERS: Final = frozenset(
    {
        "AND", "OR", "NOT", "XOR", "WHEN", "THEN", "ELSE", "CASE", "BETWEEN", "LIKE", "IS", "DIV", "MOD", "GLOB",
        "REGEXP", "RLIKE", "MATCH", "SELECT", "WHERE", "HAVING", "ON", "BY", "DISTINCT", "FROM", "TRUE", "FALSE",
        "NULL",
    }
)  # fmt: skip
_MIXED: Final = "it mixes operators that are grouped differently elsewhere; put parentheses around each part"


@repairs(exp.Anonymous)
def _unquote_function(node: exp.Expr, reject: Refuse) -> exp.Expr | None:
    """Write `"left"(a, 2)`, as servers print it in view definitions, without quotes: they would be upper-cased."""
    if not isinstance(node.this, exp.Identifier):
        return None
    if node.this.quoted and node.name != node.name.lower():
        raise reject(f'the function name "{node.name}" stands in quotes; write it without')
    node.set("this", node.name)
    return node


@repairs(exp.DateBin)
def _own_origin(node: exp.Expr, _reject: Refuse) -> exp.Expr | None:
    """Read the third argument of DATE_BIN and TIME_BUCKET as the column it is, not as a unit."""
    unit = node.args.get("unit")
    if not isinstance(unit, exp.Var):
        return None
    node.set("unit", exp.Column(this=exp.Identifier(this=unit.name, quoted=False)))
    return node


@repairs(exp.Not)
def _closed_operand(node: exp.Expr, _reject: Refuse) -> exp.Expr | None:
    """Put parentheses where the parser made one operator of another: `a NOT IN (1) = b` is not `NOT a IN (1) = b`."""
    parent = node.parent
    beside = isinstance(parent, exp.Binary | exp.Neg) and not isinstance(parent, exp.Connector)
    return exp.Paren(this=node.copy()) if beside else None


@repairs(exp.Mod)
def _closed_mod(node: exp.Expr, _reject: Refuse) -> exp.Expr | None:
    """Close what MOD(a, b) becomes after a minus: `-(a % b)`."""
    return exp.Paren(this=node.copy()) if isinstance(node.parent, exp.Neg) else None


_COMPARISONS: Final = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)


_ONE_LEVEL: Final = (
    *_COMPARISONS, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Is, exp.In, exp.Between, exp.Like, exp.ILike, exp.Glob,
    exp.Match, exp.RegexpLike,
)  # fmt: skip


@repairs(exp.Not)
def _mixed_comparisons(node: exp.Expr, reject: Refuse) -> exp.Expr | None:
    """Refuse what these engines group unlike the parser: `a = b NOT IN (1)` is `(a = b) NOT IN (1)` on SQLite.

    Without a NOT the text is written in its own order, and the engine groups it as it always did.
    """
    beside = isinstance(node.parent, exp.Binary | exp.Neg | exp.Between) and not isinstance(node.parent, exp.Connector)
    inner = node.this
    chained = isinstance(inner, _ONE_LEVEL) and any(
        isinstance(operand, (exp.Not, *_ONE_LEVEL))
        for key, operand in inner.args.items()
        if key in ("this", "expression", "low", "high")
    )
    if beside or chained:
        raise reject(_MIXED)
    return None


_EVERYWHERE: Final[tuple[Repair, ...]] = (_unquote_function, _own_origin, _closed_mod)
