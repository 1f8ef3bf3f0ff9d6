"""Which of the SQL that users write cannot fail on any row of its dataset, told from the types of the stored columns.

Each node is known here or listed among the operations of the engine (`engines/totals.py`); anything else may fail. The
bounds of numbers are followed through sums and products, so that none leaves the type that the engine computes it in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final

from sqlglot import exp

from analytics_core._engine.compile.fragments.sql_text import write_sql
from analytics_core._engine.engines.spec import BindValue, EngineSpec
from analytics_core._engine.engines.totals import (
    ANYTHING,
    DIGITS_OF_BITS,
    FIXED,
    LONGEST_TEXT,
    NOTHING_IS_TOTAL,
    TRUTH,
    Values,
    call_of,
    exact,
    is_fixed_moment,
    is_kind,
    number_union,
    of_bits,
)
from analytics_core._engine.engines.types import ValueKind
from analytics_core.errors import FragmentError

_MOST_WILDCARDS: Final = 2
"""`%` of one pattern: an engine that goes back for each takes a time that grows with every one."""
_MOST_DIGITS: Final = 18


class Totality:
    """Reads the trees of one dataset on one engine.

    `stored` are the types, as the database told them, of the columns that are stored; `has_bounds`: they tell which
    numbers such a column holds. `columns` are those that were
    read, each with the type in which it is computed with, where that is wider than its own.
    """

    def __init__(self, spec: EngineSpec, stored: Mapping[str, str], *, has_bounds: bool = True) -> None:
        self._has_bounds = has_bounds
        self._spec, self._total, self._stored = spec, spec.total or NOTHING_IS_TOTAL, stored
        self.columns: dict[int, tuple[exp.Column, str | None]] = {}

    def of_rows(self, tree: exp.Expr | None) -> Values | None:
        """Return what an expression without aggregates gives; None where it may fail on a row."""
        if tree is None or not self._total or not self._stored:
            return None
        try:
            return self.row(tree)
        except RecursionError:
            return None  # deeper than it can be read

    def of_groups(self, tree: exp.Expr | None) -> bool:
        """Tell whether an expression fails on no row; what is computed of groups sees permitted rows alone."""
        if tree is None or not self._total or not self._stored:
            return False
        try:
            return self._group(tree)
        except RecursionError:
            return False

    def column(self, name: str) -> Values | None:
        """Return what a stored column gives."""
        return self._stored_values(name, wide=False)

    # ---------------------------------------------------------------------------------------------------------- rows
    def row(self, node: exp.Expr | None, *, wide: bool = False) -> Values | None:
        """Return what a node gives on any row, None where it may fail; `wide`: it is computed with, in a wider type."""
        if node is None:
            return None
        rule = _RULES.get(type(node))
        if rule is not None:
            return rule(self, node, wide)
        return self._function(node, wide=wide)

    def rows(self, nodes: Sequence[exp.Expr | None], *, wide: bool = False) -> list[Values] | None:
        """Return what each of some nodes gives, None where one may fail."""
        found = [self.row(node, wide=wide) for node in nodes]
        return None if any(values is None for values in found) else [values for values in found if values is not None]

    def read_column(self, node: exp.Column, wide: bool) -> Values | None:
        """Return what a column gives, and note the type in which it is computed with."""
        declared = self._stored.get(node.name)
        if declared is None or not isinstance(node.this, exp.Identifier):
            return None
        if self._spec.guards.casts_columns and self._spec.as_declared(exp.Null(), declared) is None:
            return None
        self.columns[id(node)] = (node, self._total.widened(declared) if wide else None)
        return self._stored_values(node.name, wide=wide)

    def _stored_values(self, name: str, *, wide: bool) -> Values | None:
        declared = self._stored.get(name)
        if declared is None:
            return None
        if self._total.takes_anything:
            return ANYTHING
        wider = self._total.widened(declared) if wide else None
        found = self._of_type(declared)
        if wider is not None:
            found = replace(found, size=self._of_type(wider).size)
        return replace(found, names=frozenset({name}))

    def _of_type(self, declared: str) -> Values:
        kind = self._spec.value_kind(declared)
        numbers = self._spec.number_range(declared) if self._has_bounds else None
        if numbers is None or numbers.bits or not (kind.is_numeric or kind is ValueKind.BOOLEAN):
            return Values(kind=kind)
        if kind is ValueKind.DECIMAL:
            size = len(str(numbers.high))
            return exact(numbers.low, numbers.high, scale=numbers.scale, size=size, kind=kind)
        bits = next((bits for bits in DIGITS_OF_BITS if numbers.high < 2**bits), 0)
        if kind is ValueKind.BOOLEAN or not bits:
            return Values(kind=kind if bits else ValueKind.OTHER)
        return replace(exact(numbers.low, numbers.high, size=bits), is_unsigned=numbers.low == 0)

    def compared(self, nodes: Sequence[exp.Expr | None]) -> Values | None:
        """Return the truth that a comparison of the first node with the others gives."""
        found = self.rows(nodes)
        return TRUTH if found and self._all_meet(found) else None

    def _all_meet(self, found: Sequence[Values]) -> bool:
        """Tell whether each two of some values meet: engines bring all that stand in one list to one type."""
        unlike = list({one.likeness: one for one in found}.values())
        return all(self.meets(one, other) for at, one in enumerate(unlike) for other in unlike[at + 1 :])

    def truths(self, nodes: Sequence[exp.Expr | None]) -> bool:
        """Tell whether nodes are conditions."""
        found = self.rows(nodes)
        return found is not None and all(self._is_truth(values) for values in found)

    def _is_truth(self, values: Values) -> bool:
        if self._total.takes_anything or values.is_null or values.kind is ValueKind.BOOLEAN:
            return True
        return self._total.mixes_kinds and values.kind.is_numeric

    def meets(self, left: Values, right: Values) -> bool:
        """Tell whether expressions compare, or stand in one place, and none is cast to what cannot hold it."""
        total = self._total
        if total.takes_anything or left.is_null or right.is_null:
            return True
        if left.kind.is_temporal or right.kind.is_temporal:
            return self._moments_meet(left, right)
        if left.kind.is_numeric and right.kind.is_numeric:
            return self._numbers_meet(left, right)
        if left.kind is right.kind:
            one_collation = total.mixes_texts or len(left.names | right.names) <= 1
            return left.kind is ValueKind.BOOLEAN or (left.kind is ValueKind.TEXT and one_collation)
        return total.mixes_kinds and all(is_kind(values.kind, "any") for values in (left, right))

    def _numbers_meet(self, left: Values, right: Values) -> bool:
        if ValueKind.FLOAT in (left.kind, right.kind):
            return all(values.kind is ValueKind.FLOAT or values.low is not None for values in (left, right))
        most = self._total.most_digits
        if most is None or left.kind is right.kind is ValueKind.INTEGER:
            return True
        bounded = left.low is not None and right.low is not None
        return bounded and max(left.digits, right.digits) + max(left.scale, right.scale) <= most

    def _moments_meet(self, left: Values, right: Values) -> bool:
        if left.text is not None or right.text is not None:
            moment, text = (right, left.text) if left.text is not None else (left, right.text)
            written = is_fixed_moment(text or "")
            is_day = moment.kind is ValueKind.DATE and not self._total.mixes_moments
            return moment.kind.is_temporal and (written == "date" or (written is not None and not is_day))
        if not (left.kind.is_temporal and right.kind.is_temporal):
            return False
        if left.kind is right.kind or self._total.mixes_moments:
            return True
        fixed, other = (left, right) if left.is_fixed else (right, left)
        return fixed.is_fixed and (fixed.kind, other.kind) == (ValueKind.DATE, ValueKind.TIMESTAMP)

    def joined(self, nodes: Sequence[exp.Expr | None], *, wide: bool) -> Values | None:
        """Return what one of several nodes gives."""
        found = self.rows(nodes, wide=wide)
        if not found:
            return None
        known = [values for values in found if not values.is_null] or found[:1]
        if not self._all_meet(known):
            return None
        return ANYTHING if self._total.takes_anything else self._union(known)

    def _union(self, known: Sequence[Values]) -> Values | None:
        known = [self.as_number(values) for values in known] if len({one.kind for one in known}) > 1 else known
        kinds = {values.kind for values in known}
        is_fixed, names = all(one.is_fixed for one in known), frozenset[str]().union(*(one.names for one in known))
        if all(kind.is_numeric for kind in kinds):
            return replace(number_union(known), is_fixed=is_fixed)
        moments = [kind for kind in kinds if kind.is_temporal]
        kind = max(moments, key=_MOMENTS.index) if moments else next(iter(kinds))
        if len(kinds - {kind, ValueKind.TEXT}) > 0 and not self._total.joins_moments:
            return None
        if len(kinds) > 1 and not moments:
            return None
        return Values(kind=kind, is_fixed=is_fixed, names=names)

    def as_number(self, values: Values) -> Values:
        """Return truths as the numbers that some engines take them for."""
        is_truth = values.kind is ValueKind.BOOLEAN and self._total.mixes_kinds and not values.is_null
        return of_bits(8) if is_truth else values

    def computed(self, node: exp.Expr) -> Values | None:
        """Return what an operator of arithmetic gives."""
        left, right = node.this, node.expression
        if isinstance(right, exp.Interval):
            return self._moved(left, right) if isinstance(node, exp.Add | exp.Sub) else None
        found = self.rows((left, right), wide=True)
        return self.operated(type(node), *found) if found else None

    def operated(self, operator: type[exp.Expr], left: Values, right: Values) -> Values | None:
        """Return what an operator gives of numbers."""
        if self._total.takes_anything:
            return ANYTHING
        left, right = self.as_number(left), self.as_number(right)
        if left.is_null or right.is_null or not (left.kind.is_numeric and right.kind.is_numeric):
            return None
        return self._total.arithmetic(operator, left, right)

    def _moved(self, node: exp.Expr, interval: exp.Interval) -> Values | None:
        """Return a moment moved by a fixed interval: one that is fixed too, or NULL where there is no such moment."""
        values = self.row(node)
        if values is None or not values.kind.is_temporal or not self._is_unit(interval.args.get("unit")):
            return None
        if not FIXED["count"](interval.this) or not (values.is_fixed or self._total.moves_moments):
            return None
        kind = ValueKind.TIMESTAMP if values.kind is ValueKind.DATE else values.kind
        return Values(kind=kind)  # no longer fixed: many intervals lead out of the engine's time

    def _is_unit(self, node: exp.Expr | None, word: str = "unit") -> bool:
        plain = isinstance(node, exp.Var) or (isinstance(node, exp.Literal) and node.is_string)
        return plain and node is not None and node.name.lower().removesuffix("s") in self._total.units.get(word, ())

    def cast(self, node: exp.Cast) -> Values | None:
        """Return what a cast gives."""
        values, to = self.row(node.this), node.to
        if values is None or any(node.args.get(name) for name in ("format", "action", "default")):
            return None
        if self._total.takes_anything:
            return ANYTHING
        written = to.sql(self._spec.dialect)
        kind = self._spec.value_kind(written)
        if isinstance(node, exp.TryCast):
            return self._of_type(written) if self._total.tries and is_kind(kind, "any") else None
        if values.text is not None and kind.is_temporal:
            fits = self._moments_meet(Values(kind=kind), values)
            return Values(kind=kind, is_fixed=True) if fits else None
        return self._total.casts(self.as_number(values), to, kind)

    def matched(self, node: exp.Expr) -> Values | None:
        """Return the truth of LIKE with a fixed pattern that ends in no lone escape and has few wildcards."""
        found = self.rows((node.this, node.expression)) if self._total.likes else None
        if found is None or found[1].text is None:
            return None
        pattern, is_text = found[1].text, self._total.takes_anything or found[0].kind is ValueKind.TEXT
        ends_escaped = (len(pattern) - len(pattern.rstrip("\\"))) % 2 == 1
        is_short = len(pattern) <= LONGEST_TEXT and pattern.count("%") <= _MOST_WILDCARDS
        return TRUTH if is_text and is_short and not ends_escaped else None

    # ----------------------------------------------------------------------------------------------------- functions
    def _function(self, node: exp.Expr, *, wide: bool) -> Values | None:
        name, arguments = call_of(node)
        forms = self._total.functions.get(name, ()) if arguments is not None else ()
        for takes, gives in forms:
            found = self._taken(takes, arguments or [], wide=wide and gives == "same")
            if found is not None:
                return self._given(gives, found)
        return None

    def _taken(self, takes: Sequence[str], arguments: Sequence[exp.Expr], *, wide: bool) -> list[Values] | None:
        if takes == ("texts",):
            takes = ("text",) * len(arguments)
        if len(takes) != len(arguments):
            return None
        found = []
        for word, argument in zip(takes, arguments, strict=True):
            if word in self._total.units or word in FIXED:
                if not (FIXED[word](argument) if word in FIXED else self._is_unit(argument, word)):
                    return None
                continue
            values = self.row(argument, wide=wide)
            if values is None or not (self._total.takes_anything or is_kind(values.kind, word)):
                return None
            found.append(values)
        is_one = self._total.mixes_texts or len(frozenset[str]().union(*(one.names for one in found))) <= 1
        return found if is_one else None

    def _given(self, gives: str, found: Sequence[Values]) -> Values:
        if self._total.takes_anything:
            return ANYTHING
        if gives == "same":
            one, more = found[0], 10 ** found[0].scale
            low, high = (None, None) if one.low is None or one.high is None else (one.low - more, one.high + more)
            return replace(one, low=low, high=high)
        is_fixed, names = all(one.is_fixed for one in found), frozenset[str]().union(*(one.names for one in found))
        if gives == "count":
            return exact(-(2**32), 2**32, size=64)
        return Values(kind=ValueKind(gives), is_fixed=is_fixed, names=names)

    # -------------------------------------------------------------------------------------------------------- groups
    def _group(self, node: exp.Expr) -> bool:
        if isinstance(node, exp.Filter):
            return self._group(node.this) and self.truths([node.expression.this])
        if isinstance(node, exp.Window):
            return self._window(node)
        if isinstance(node, exp.WithinGroup):
            return isinstance(node.this, exp.AggFunc) and self._ordered(node.expression)
        if isinstance(node, exp.AggFunc) and not isinstance(node, exp.AnonymousAggFunc | exp.ParameterizedAgg):
            return self._gathered(node)
        if node.find(exp.AggFunc, exp.Window) is None:
            return self.row(node) is not None
        known = type(node) in _RULES or isinstance(node, _OF_GROUPS) or call_of(node)[0] in self._total.functions
        return known and all(map(self._group, _operands(node)))

    def _gathered(self, node: exp.Expr) -> bool:
        """Tell whether an aggregate is over values that fail on no row."""
        given = [
            part for one in _operands(node) for part in (one.expressions if isinstance(one, exp.Distinct) else (one,))
        ]
        return all(isinstance(one, exp.Star) or self.row(one) is not None for one in given)

    def _ordered(self, node: exp.Expr) -> bool:
        return isinstance(node, exp.Order) and all(self._group(one.this) for one in node.expressions)

    def _window(self, node: exp.Window) -> bool:
        """Tell whether a window function computes with what fails on no row; its frame counts rows."""
        frame, order, function = node.args.get("spec"), node.args.get("order"), node.this
        if frame is not None and (frame.args.get("kind") != "ROWS" or frame.find(exp.Column, exp.Func)):
            return False
        if any(node.args.get(name) for name in ("alias", "first")) or not isinstance(function, exp.Func | exp.Filter):
            return False
        inside = [function] if isinstance(function, exp.Filter) else list(_operands(function))
        parts = [*inside, *node.args.get("partition_by", ())]
        return (order is None or self._ordered(order)) and all(
            isinstance(one, exp.Star) or self._group(one) for one in parts
        )


def typed_sql(tree: exp.Expr, spec: EngineSpec, stored: Mapping[str, str]) -> str | None:
    """Return a fragment that fails on no row as the engine is sent it, its columns read as their types; None: as it is.

    What somebody said of a type must not decide about an error, and a sum must not leave the type of its columns.
    """
    own = tree.copy()
    totality = Totality(spec, stored)
    if not spec.guards.casts_columns or not totality.of_groups(own) or not totality.columns:
        return None
    for column, wider in totality.columns.values():
        typed: exp.Expr = spec.as_declared(column.copy(), stored[column.name]) or column.copy()
        typed = exp.Cast(this=typed, to=exp.DataType.build(wider, dialect=spec.dialect)) if wider else typed
        if column is own:
            own = typed
        else:
            column.replace(typed)
    return write_sql(own, spec.dialect, FragmentError)


def meets_value(found: Values, value: BindValue, *, any_digits: bool) -> bool:
    """Tell whether what an expression gives compares with a bound value without being cast to what cannot hold it."""
    match value:
        case bool():
            return found.kind is ValueKind.BOOLEAN
        case str():
            return found.kind is ValueKind.TEXT
        case int():
            return found.kind is ValueKind.FLOAT or (found.kind.is_numeric and found.low is not None and any_digits)
        case float():
            return found.kind is ValueKind.FLOAT or (found.kind.is_numeric and found.low is not None)
    return isinstance(value, Decimal) and found.kind is ValueKind.FLOAT


# ----------------------------------------------------------------------------------------------------------- the nodes
_OF_GROUPS: Final = (exp.Sqrt, exp.Pow, exp.Exp, exp.Ln, exp.Log, exp.Round, exp.Floor, exp.Ceil)
"""What may fail, but not of an aggregate: only groups of permitted rows have those."""
_MOMENTS: Final = (ValueKind.DATE, ValueKind.TIMESTAMP, ValueKind.TIMESTAMPTZ)


def _operands(node: exp.Expr) -> Iterator[exp.Expr]:
    return (one for one in node.iter_expressions() if not isinstance(one, exp.Var | exp.DataType))


def _members(node: exp.Expr) -> list[exp.Expr]:
    return node.expressions if isinstance(node, exp.Distinct) else [node]


def _literal(_totality: Totality, node: exp.Literal, _wide: bool) -> Values | None:
    if node.is_string:
        return Values(kind=ValueKind.TEXT, text=node.name, is_fixed=True)
    units, _, fraction = node.name.partition(".")
    digits = units + fraction
    if not digits.isdecimal() or not digits.isascii() or len(digits) > _MOST_DIGITS:
        return None
    number = int(digits)
    if "." not in node.name:
        bits = 32 if number < 2**31 else 64
        return replace(exact(number, number, size=bits), is_fixed=True)
    values = exact(number, number, scale=len(fraction), size=max(len(digits), 1), kind=ValueKind.DECIMAL)
    return replace(values, is_fixed=True)


def _null(_totality: Totality, _node: exp.Expr, _wide: bool) -> Values:
    return Values(kind=ValueKind.UNKNOWN, is_null=True, is_fixed=True)


def _membership(totality: Totality, node: exp.Expr, _wide: bool) -> Values | None:
    if any(node.args.get(name) for name in ("query", "unnest", "field")) or not node.expressions:
        return None
    return totality.compared([node.this, *node.expressions])


def _between(totality: Totality, node: exp.Expr, _wide: bool) -> Values | None:
    if node.args.get("symmetric"):
        return None
    return totality.compared([node.this, node.args["low"], node.args["high"]])


def _is(totality: Totality, node: exp.Expr, _wide: bool) -> Values | None:
    if isinstance(node.expression, exp.Boolean):
        return TRUTH if totality.truths([node.this]) else None
    is_null = isinstance(node.expression, exp.Null)
    return TRUTH if is_null and totality.rows([node.this]) else None


def _logic(totality: Totality, node: exp.Expr, _wide: bool) -> Values | None:
    return TRUTH if totality.truths(list(node.iter_expressions())) else None


def _case(totality: Totality, node: exp.Expr, wide: bool) -> Values | None:
    branches, subject = node.args["ifs"], node.this
    conditions = [branch.this for branch in branches]
    fine = totality.compared([subject, *conditions]) if subject is not None else totality.truths(conditions)
    default = node.args.get("default")
    results = [*(branch.args["true"] for branch in branches), *([default] if default is not None else [])]
    return totality.joined(results, wide=wide) if fine else None


def _if(totality: Totality, node: exp.Expr, wide: bool) -> Values | None:
    results = [one for name in ("true", "false") if (one := node.args.get(name)) is not None]
    return totality.joined(results, wide=wide) if totality.truths([node.this]) else None


def _one_of(totality: Totality, node: exp.Expr, wide: bool) -> Values | None:
    return totality.joined([node.this, *node.expressions], wide=wide)


def _nullif(totality: Totality, node: exp.Expr, wide: bool) -> Values | None:
    found = totality.rows([node.this, node.expression], wide=wide)
    if found is None or not totality.meets(*found):
        return None
    return replace(found[0], never_zero=found[1].low == found[1].high == 0)


def _negative(totality: Totality, node: exp.Expr, _wide: bool) -> Values | None:
    one = totality.row(node.this, wide=True)
    negative = totality.operated(exp.Sub, exact(0, 0, size=8), one) if one is not None else None
    return negative if one is None or negative is None else replace(negative, is_fixed=one.is_fixed)


def _absolute(totality: Totality, node: exp.Expr, _wide: bool) -> Values | None:
    one = totality.row(node.this, wide=True)
    if one is None or totality.operated(exp.Sub, exact(0, 0, size=8), one) in (None, ANYTHING):
        return None
    return one if one.low is None or one.high is None else replace(one, low=0, high=max(abs(one.low), abs(one.high)))


_Rule = Callable[[Totality, Any, bool], Values | None]
_RULES: Final[Mapping[type[exp.Expr], _Rule]] = {
    exp.Column: lambda totality, node, wide: totality.read_column(node, wide),
    exp.Literal: _literal,
    exp.Null: _null,
    exp.Boolean: lambda _totality, _node, _wide: TRUTH,
    exp.Paren: lambda totality, node, wide: totality.row(node.this, wide=wide),
    **dict.fromkeys((exp.And, exp.Or, exp.Not), _logic),
    **dict.fromkeys(
        (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ),
        lambda totality, node, _wide: totality.compared([node.this, node.expression]),
    ),
    exp.In: _membership,
    exp.Between: _between,
    exp.Is: _is,
    **dict.fromkeys((exp.Like, exp.ILike), lambda totality, node, _wide: totality.matched(node)),
    exp.Case: _case,
    exp.If: _if,
    **dict.fromkeys((exp.Coalesce, exp.Greatest, exp.Least), _one_of),
    exp.Nullif: _nullif,
    exp.Neg: _negative,
    exp.Abs: _absolute,
    **dict.fromkeys(
        (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod), lambda totality, node, _wide: totality.computed(node)
    ),
    **dict.fromkeys((exp.Cast, exp.TryCast), lambda totality, node, _wide: totality.cast(node)),
}
