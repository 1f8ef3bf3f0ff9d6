"""The operators and LIKE patterns that most engines write alike, made from the few facts in which they differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from sqlglot import exp

from analytics_core._engine.engines import nodes
from analytics_core._engine.engines.spec import Bind, BindValue
from analytics_core._engine.engines.types import ValueKind
from analytics_core.errors import FilterValueError

ESCAPE = "!"
"""The escape character that we write: no engine gives it a meaning of its own."""


def escaped_like(pattern: str, *, also_wild: str = "") -> str:
    """Return the pattern for `LIKE ... ESCAPE '!'`; `also_wild` are characters that the engine would take as wild."""
    special = frozenset("%_" + ESCAPE + also_wild)
    return _translated(
        pattern,
        wild=lambda char: char,
        plain=lambda char: ESCAPE + char if char in special else char,
    )


def bare_like(pattern: str, *, also_wild: str = "") -> str | None:
    """Return the pattern for `LIKE` without ESCAPE; None where a character needs one, or is an escape on some engine.

    Engines read a bare pattern as what it begins with (DuckDB, and indexes of PostgreSQL).
    """
    characters = list(_characters(pattern))
    if any(not is_wild and char in "%_\\" + also_wild for char, is_wild in characters):
        return None
    return "".join(char for char, _ in characters)


def glob(pattern: str) -> str:
    """Return the pattern for SQLite's GLOB, which minds case."""
    return _translated(
        pattern,
        wild=lambda char: "*" if char == "%" else "?",
        plain=lambda char: f"[{char}]" if char in "*?[" else char,
    )


def backslashed_like(pattern: str) -> str:
    """Return the pattern for engines whose LIKE takes a backslash and no ESCAPE clause."""
    return _translated(
        pattern,
        wild=lambda char: char,
        plain=lambda char: "\\" + char if char in "%_\\" else char,
    )


def _translated(pattern: str, *, wild: Callable[[str], str], plain: Callable[[str], str]) -> str:
    return "".join(wild(char) if is_wild else plain(char) for char, is_wild in _characters(pattern))


def _characters(pattern: str) -> Iterator[tuple[str, bool]]:
    """Yield each character that the pattern means, and whether it is wild; a last lone backslash means itself."""
    escaped = False
    for char in pattern:
        if escaped:
            yield char, False
            escaped = False
        elif char == "\\":
            escaped = True
        else:
            yield char, char in "%_"
    if escaped:
        yield "\\", False


LONG_LIST = 1000
"""Lists longer than this travel as one parameter where the driver takes one."""

ToNode = Callable[[exp.Expr], exp.Expr]
InList = Callable[[exp.Expr, Sequence[BindValue], ValueKind, Bind], exp.Expr]


def unchanged(node: exp.Expr) -> exp.Expr:
    """Return the node itself: the engine does it right without help."""
    return node


def cast_to(name: exp.DType, *parameters: int) -> ToNode:
    """Return a function that casts a node to the type."""
    return lambda node: nodes.cast(node, name, *parameters)


def calling(function: str) -> ToNode:
    """Return a function that gives a node to an SQL function."""
    return lambda node: nodes.call(function, node)


def average_of_cast(name: exp.DType = nodes.Type.DOUBLE) -> ToNode:
    """Return `AVG(CAST(node AS type))`: doubles everywhere, where AVG of integers would round to a few digits."""
    return lambda node: exp.Avg(this=nodes.cast(node, name))


def as_number(node: exp.Expr) -> exp.Expr:
    """Return a Boolean as 0 or 1, NULL as NULL."""
    return nodes.cast(node, nodes.Type.INT)


def sum_(node: exp.Expr, kind: ValueKind) -> exp.Expr:
    """Return SUM; Booleans count as 0 and 1."""
    return exp.Sum(this=as_number(node) if kind is ValueKind.BOOLEAN else node)


def extreme_by(text_key: ToNode, *, all_digits: ToNode = unchanged) -> Callable[[exp.Expr, ValueKind, bool], exp.Expr]:
    """Return MIN and MAX, text by code point, Booleans as 0 and 1."""

    def extreme(node: exp.Expr, kind: ValueKind, is_max: bool) -> exp.Expr:
        if kind is ValueKind.BOOLEAN:
            node = as_number(node)
        elif kind is ValueKind.TEXT:
            node = text_key(node)
        elif kind is ValueKind.FLOAT:
            node = all_digits(node)
        return exp.Max(this=node) if is_max else exp.Min(this=node)

    return extreme


def count_distinct_by(text_key: ToNode) -> Callable[[exp.Expr, ValueKind], exp.Expr]:
    """Return COUNT(DISTINCT node), text by code point."""

    def count_distinct(node: exp.Expr, kind: ValueKind) -> exp.Expr:
        key = text_key(node) if kind is ValueKind.TEXT else node
        return exp.Count(this=exp.Distinct(expressions=[key]), big_int=True)

    return count_distinct


def is_true(node: exp.Expr, kind: ValueKind, truth: bool) -> exp.Expr:
    """Return `IS TRUE` or `IS FALSE`; numbers count as their inequality with 0.

    Raises:
        FilterValueError: values of this kind are neither true nor false.
    """
    if kind.is_numeric:
        return number_is_true(node, truth)
    _reject_without_truth(kind)
    return exp.Is(this=nodes.operand(node), expression=exp.Boolean(this=truth))


def equals_truth(node: exp.Expr, kind: ValueKind, truth: bool) -> exp.Expr:
    """Return `= TRUE` or `= FALSE`, which choose the same rows, for engines without `IS TRUE`.

    Raises:
        FilterValueError: values of this kind are neither true nor false.
    """
    if kind.is_numeric:
        return number_is_true(node, truth)
    _reject_without_truth(kind)
    return nodes.equal(node, exp.Boolean(this=truth))


def is_true_of_bit(node: exp.Expr, kind: ValueKind, truth: bool) -> exp.Expr:
    """Return `IS TRUE` or `IS FALSE` for engines that have no Booleans, only bits and numbers.

    Raises:
        FilterValueError: values of this kind are neither true nor false.
    """
    _reject_without_truth(kind)
    return number_is_true(node, truth)


def number_is_true(node: exp.Expr, truth: bool) -> exp.Expr:
    """Return `node <> 0` or `node = 0`; NULL is neither."""
    comparison = exp.NEQ if truth else exp.EQ
    return comparison(this=nodes.operand(node), expression=nodes.number(0))


def _reject_without_truth(kind: ValueKind) -> None:
    if not kind.is_numeric and kind not in (ValueKind.BOOLEAN, ValueKind.UNKNOWN):
        raise FilterValueError(f"IS TRUE and IS FALSE take a Boolean or a number, not a column of kind {kind.value!r}")


def in_list_of(text_equal: ToNode = unchanged) -> InList:
    """Return `left IN (values)`, one parameter each; the first text says how all are compared."""

    def in_list(left: exp.Expr, values: Sequence[BindValue], kind: ValueKind, bind: Bind) -> exp.Expr:
        members = [bind(value) for value in values]
        if isinstance(values[0], str) and kind in (ValueKind.TEXT, ValueKind.UNKNOWN):
            members[0] = text_equal(members[0])
        return exp.In(this=nodes.operand(left), expressions=members)

    return in_list


def in_array() -> InList:
    """Return `left IN (values)`, and for long lists of one type `left = ANY(list)` with one parameter."""
    in_members = in_list_of()

    def in_list(left: exp.Expr, values: Sequence[BindValue], kind: ValueKind, bind: Bind) -> exp.Expr:
        if len(values) <= LONG_LIST or len({type(value) for value in values}) > 1:
            return in_members(left, values, kind, bind)
        return nodes.equal(left, nodes.call("ANY", bind([value for value in values if not isinstance(value, list)])))

    return in_list


def matching(write: ToNode, pattern: str, bind: Bind, *, also_wild: str = "") -> exp.Expr:
    """Return the match that `write` makes of a bound pattern, with `ESCAPE '!'` where something is escaped in it."""
    bare = bare_like(pattern, also_wild=also_wild)
    if bare is not None:
        return write(bind(bare))
    match = write(bind(escaped_like(pattern, also_wild=also_wild)))
    return exp.Escape(this=match, expression=nodes.text(ESCAPE))


def like_where_case_counts(
    *, has_ilike: bool, also_wild: str = "", pattern_key: ToNode = unchanged
) -> Callable[[exp.Expr, str, bool, Bind], exp.Expr]:
    """Return LIKE of an engine whose LIKE minds case, of patterns behind `pattern_key` at least.

    Case is folded by its ILIKE, or by LOWER on both sides.
    """

    def like(left: exp.Expr, pattern: str, fold_case: bool, bind: Bind) -> exp.Expr:
        def match(value: exp.Expr) -> exp.Expr:
            if fold_case and has_ilike:
                return exp.ILike(this=nodes.operand(left), expression=pattern_key(value))
            sides = (nodes.call("LOWER", left), nodes.call("LOWER", value)) if fold_case else (left, value)
            return exp.Like(this=nodes.operand(sides[0]), expression=pattern_key(sides[1]))

        return matching(match, pattern, bind, also_wild=also_wild)

    return like


def null_safe_equal(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """Return equality in which NULL equals NULL, as the dialect writes it."""
    return exp.NullSafeEQ(this=nodes.operand(left), expression=nodes.operand(right))


def null_safe_equal_spelled(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """Return the same for engines without an operator for it: equal, or both NULL."""
    both_null = exp.And(
        this=exp.Is(this=nodes.operand(left.copy()), expression=exp.Null()),
        expression=exp.Is(this=nodes.operand(right.copy()), expression=exp.Null()),
    )
    either = exp.Or(this=nodes.equal(left, nodes.operand(right)), expression=exp.Paren(this=both_null))
    return exp.Paren(this=either)
