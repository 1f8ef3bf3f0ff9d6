"""Lowers plan expressions to fresh SQL nodes, with the engine's own way where engines differ; values become marks."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

from sqlglot import exp

from analytics_core._engine.compile.plan import (
    AggregateExpr,
    BucketExpr,
    ColumnExpr,
    FragmentExpr,
    InOthersExpr,
    OthersExpr,
    PlanExpr,
    Predicate,
    QueryPlan,
    innermost,
)
from analytics_core._engine.engines.nodes import number, quoted
from analytics_core._engine.engines.spec import BindValue, EngineSpec, dialect_of
from analytics_core._engine.engines.types import Collation, TimeEncoding, TimeFormat, ValueKind
from analytics_core.models.enums import Aggregate

MARK = "\x01"
"""Stands around the name of a bound value in generated text; no text of a user may hold it."""


CONDITION = "w"
ROWS, OFFSET = "rows", "offset"
"""The names of what is marked in a statement that is written without its values, beside `p0` of `Binds`."""


class Binds:
    """The bound values of one statement: name -> value, in the order of their first use."""

    __slots__ = ("values",)

    def __init__(self) -> None:
        self.values: dict[str, BindValue] = {}

    def __call__(self, value: BindValue) -> exp.Expr:
        """Register a value and return the node that stands for it."""
        name = f"p{len(self.values)}"
        self.values[name] = value
        return exp.Var(this=f"{MARK}{name}{MARK}")


class Slots:
    """The conditions of a statement that is written without them, in the order in which they are lowered.

    What stands for one is a mark; so are the numbers of its limit.
    """

    __slots__ = ("conditions",)

    def __init__(self) -> None:
        self.conditions: list[tuple[Predicate, ...]] = []

    def condition(self, predicates: Sequence[Predicate]) -> exp.Expr:
        """Register conditions and return the node that stands for all of them."""
        name = f"{CONDITION}{len(self.conditions)}"
        self.conditions.append(tuple(predicates))
        return exp.Var(this=f"{MARK}{name}{MARK}")

    def number(self, name: str) -> exp.Expr:
        """Return the node that stands for a number."""
        return exp.Literal(this=f"{MARK}{name}{MARK}", is_string=False)


class KnownTexts:
    """The SQL of columns and of expressions over them, as it was written before for one view of a dataset.

    What a plan does not compare by, such as the collation of a column, is the same in one view. Bounded, and safe
    between threads: a text that another thread writes meanwhile is the same.
    """

    __slots__ = ("_texts",)

    def __init__(self) -> None:
        self._texts: dict[Hashable, tuple[str, ...]] = {}

    def nodes(self, key: Hashable, make: Callable[[], Sequence[exp.Expr]], spec: EngineSpec) -> list[exp.Expr]:
        """Return nodes that are the texts of those that `make` makes for the key."""
        texts = self._texts.get(key)
        if texts is None:
            generator = dialect_of(spec.dialect).generator(comments=False)
            texts = tuple(generator.generate(node, copy=False) for node in make())
            if len(self._texts) < _MOST_TEXTS:
                self._texts[key] = texts
        return [exp.Var(this=text) for text in texts]

    def column(self, name: str, low: Lowering) -> exp.Expr:
        """Return a physical column whose text is made: it stays a column to what writes the nodes around it."""
        texts = self._texts.get(name)
        node = exp.Var(this=texts[0]) if texts else self.nodes(name, lambda: [_column(name, low)], low.spec)[0]
        return exp.Column(this=node)


_MOST_TEXTS = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Lowering:
    """The engine, the values bound so far, and the alias of the source with which columns are qualified.

    `fences_relations`: row rules inside the SQL of a virtual dataset stand behind fences of their own. `holds_types`:
    columns are compared as their declared types; what somebody said of a type must not decide about an error. `typed`:
    SQL of users in which columns are read so. `known`: texts are taken from there instead of nodes that would be
    printed again; None: all are nodes. `slots`: conditions go there, and marks stand for them.
    """

    spec: EngineSpec
    binds: Binds
    alias: str
    fences_relations: bool = True
    holds_types: bool = False
    typed: Mapping[FragmentExpr, str] = field(default_factory=dict)
    known: KnownTexts | None = None
    slots: Slots | None = None

    def written(self, use: Hashable, expr: PlanExpr, make: Callable[[], Sequence[exp.Expr]]) -> Sequence[exp.Expr]:
        """Return the nodes that `make` makes of an expression for a use.

        Columns are made as quickly as found. No text is remembered of SQL, of which payloads bring any amount.
        """
        if self.known is None or isinstance(expr, ColumnExpr) or isinstance(innermost(expr), FragmentExpr):
            return make()
        return self.known.nodes((use, expr), make, self.spec)

    def sql_of(self, fragment: FragmentExpr) -> str:
        """Return the SQL of a user as it is sent."""
        return self.typed.get(fragment, fragment.sql)

    @property
    def series_alias(self) -> str:
        """The name under which the best series are joined; never the source's own."""
        return "series_limit" if self.alias.casefold() != "series_limit" else "series_limit_"


def _column(name: str, low: Lowering) -> exp.Column:
    return exp.Column(this=quoted(name), table=quoted(low.alias))


_PLAIN_TIMESTAMP = TimeFormat(encoding=TimeEncoding.TIMESTAMP)
_ATOMS = (
    exp.Column, exp.Literal, exp.Paren, exp.Case, exp.Cast, exp.AggFunc, exp.Anonymous,
    exp.Upper, exp.Lower, exp.Coalesce,
)  # fmt: skip


def raw(expr: ColumnExpr | FragmentExpr, low: Lowering) -> exp.Expr:
    """Return the column or fragment itself; fragments stand in parentheses unless they are atoms in every syntax.

    A fragment is the text that was rendered from its checked tree: printing it verbatim saves rendering it again.
    """
    if isinstance(expr, ColumnExpr):
        return _column(expr.name, low) if low.known is None else low.known.column(expr.name, low)
    closed = isinstance(expr.tree, _ATOMS) and not isinstance(expr.tree, exp.Binary)  # AND is a function to sqlglot
    sql = low.sql_of(expr)
    return exp.Var(this=sql if closed else f"({sql})")


def is_constant(expr: PlanExpr) -> bool:
    """Tell whether an expression is a written constant: in GROUP BY and ORDER BY that would be a column's position."""
    if not isinstance(expr, FragmentExpr) or expr.tree is None:
        return False
    return isinstance(_unsigned(expr.tree), exp.Literal | exp.Null | exp.Boolean)


def _unsigned(tree: exp.Expr) -> exp.Expr:
    while isinstance(tree, exp.Paren | exp.Neg):
        tree = tree.this
    return tree


def lower_displayed(expr: PlanExpr, low: Lowering, *, grouped: bool) -> exp.Expr:
    """Return the node that selects an expression: rows that are not grouped show a text whatever compares it."""
    if not grouped and isinstance(expr, ColumnExpr | FragmentExpr):
        return raw(expr, low)
    return lower_expr(expr, low)


def lower_expr(expr: PlanExpr, low: Lowering) -> exp.Expr:
    """Return the node that groups by an expression: texts are equal by code point."""
    if not isinstance(expr, OthersExpr):
        return lower_key(expr, low)
    return exp.Case(ifs=[exp.If(this=_is_hit(low), true=lower_key(expr.source, low))])


def lower_key(expr: PlanExpr, low: Lowering) -> exp.Expr:
    """Return the grouping key of a column expression, without 'Others'."""
    match expr:
        case ColumnExpr() | FragmentExpr():
            return _plain_key(expr, low)
        case BucketExpr():
            return bucket(expr, low)
        case AggregateExpr():
            return aggregate(expr, low)
        case OthersExpr():
            return lower_key(expr.source, low)
        case InOthersExpr():
            return exp.Case(ifs=[exp.If(this=_is_hit(low), true=number(0))], default=number(1))


def _plain_key(expr: ColumnExpr | FragmentExpr, low: Lowering) -> exp.Expr:
    node = raw(expr, low)
    is_date = expr.time is not None and expr.time.encoding is TimeEncoding.TEXT  # texts that differ mean other moments
    if expr.kind is not ValueKind.TEXT or is_date:
        return node
    match _collation(expr):
        case Collation.EXACT | Collation.CODE_POINT:
            return node
        case Collation.UTF8:
            return low.spec.text_order(node)
    return low.spec.text_key(node)


def lower_sorted(expr: PlanExpr, low: Lowering) -> exp.Expr:
    """Return the sort key of an expression: text by code point, also where it is grouped as it is."""
    node = lower_expr(expr, low)
    column = expr.source if isinstance(expr, OthersExpr) else expr
    is_exact = isinstance(column, ColumnExpr) and column.kind is ValueKind.TEXT and column.collation is Collation.EXACT
    return low.spec.text_key(node) if is_exact else node


def _collation(expr: ColumnExpr | FragmentExpr) -> Collation:
    return expr.collation if isinstance(expr, ColumnExpr) else Collation.UNKNOWN


def _sorted_kind(expr: ColumnExpr | FragmentExpr) -> ValueKind:
    """Return the kind of an expression; UNKNOWN for text that the engine compares by code point without being told."""
    is_sorted = expr.kind is ValueKind.TEXT and _collation(expr) is Collation.CODE_POINT
    return ValueKind.UNKNOWN if is_sorted else expr.kind


def bucket(expr: BucketExpr, low: Lowering) -> exp.Expr:
    """Return the moment of a temporal expression, moved by the dataset's offset and cut to its bucket."""
    read = low.spec.moment if expr.grain else low.spec.sorted_moment or low.spec.moment
    node = read(raw(expr.source, low), expr.source.time or _PLAIN_TIMESTAMP)
    if expr.hours:
        node = low.spec.shift(node, expr.hours)
    return low.spec.bucket(node, expr.grain) if expr.grain else node


def aggregate(expr: AggregateExpr, low: Lowering) -> exp.Expr:
    """Return an aggregate that gives the same on every engine."""
    node, kind = _source(expr.source, low)
    match expr.aggregate:
        case Aggregate.COUNT:
            return exp.Count(this=node, big_int=True)
        case Aggregate.COUNT_DISTINCT:
            return low.spec.count_distinct(node, kind)
        case Aggregate.AVG:
            return low.spec.average(_countable(node, kind))
        case Aggregate.SUM:
            return low.spec.sum_(node, kind)
        case Aggregate.MIN | Aggregate.MAX:
            return low.spec.extreme(node, kind, expr.aggregate is Aggregate.MAX)


def _source(source: ColumnExpr | FragmentExpr | BucketExpr, low: Lowering) -> tuple[exp.Expr, ValueKind]:
    if isinstance(source, BucketExpr):
        return bucket(source, low), ValueKind.TIMESTAMP
    node = raw(source, low)
    if isinstance(source, ColumnExpr) and source.numbers is not None and source.numbers.bits:
        node = exp.Paren(this=exp.Add(this=node, expression=number(0)))
    return node, _sorted_kind(source)


def _countable(node: exp.Expr, kind: ValueKind) -> exp.Expr:
    return exp.cast(node, exp.DataType.Type.INT, copy=False) if kind is ValueKind.BOOLEAN else node


def _is_hit(low: Lowering) -> exp.Expr:
    hit = exp.Column(this=quoted("hit"), table=quoted(low.series_alias))
    return exp.Not(this=exp.Is(this=hit, expression=exp.Null()))


_HASH_LENGTH = 8


def aliases_of(plan: QueryPlan, spec: EngineSpec) -> list[str]:
    """Return the SQL alias of each output of a plan."""
    return aliases(
        [output.label for output in plan.outputs],
        max_bytes=spec.max_identifier_bytes,
        largest=spec.largest_identifier_character,
    )


def aliases(labels: Sequence[str], *, max_bytes: int | None, largest: str = "\U0010ffff") -> list[str]:
    """Return an SQL alias for each label: the label itself, or cut and hashed where it is too long or not unique.

    Aliases differ also when case is ignored, as some engines do; results are matched by position, never by alias.
    Characters beyond `largest` become underscores.
    """
    seen: set[str] = set()
    result = []
    for position, label in enumerate(labels):
        known = "".join("_" if letter > largest else letter for letter in label) if max(label) > largest else label
        alias = _shortened(known.strip(), max_bytes)
        if alias.casefold() in seen or alias != label:
            alias = _free(known, position, seen, max_bytes)
        seen.add(alias.casefold())
        result.append(alias)
    return result


def _shortened(label: str, max_bytes: int | None) -> str:
    if max_bytes is None or len(label.encode()) <= max_bytes:
        return label
    return label.encode()[:max_bytes].decode(errors="ignore")


def _free(label: str, position: int, seen: set[str], max_bytes: int | None) -> str:
    """Return a cut and hashed alias that is not taken, not even by a label made to look like one."""
    tries = (_hashed(label, position, turn, max_bytes) for turn in count())
    return next(alias for alias in tries if alias.casefold() not in seen)


def _hashed(label: str, position: int, turn: int, max_bytes: int | None) -> str:
    digest = hashlib.sha256(f"{turn} {label}".encode()).hexdigest()[:_HASH_LENGTH]
    suffix = f"_{position}_{digest}"
    room = (max_bytes or 60) - len(suffix)
    return _shortened(label.strip(), room).strip() + suffix
