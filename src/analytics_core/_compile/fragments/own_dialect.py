"""Keeps the meaning of a user's SQL that is written again in its own dialect, where sqlglot alone would change it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from sqlglot import Token, TokenType, exp

from analytics_core._engines.spec import Refuse, Repair, Syntax


def is_bare_call(column: exp.Column, syntax: Syntax) -> bool:
    """Tell whether a name is a function that its dialect calls without parentheses, and the parser did not know."""
    name = column.this
    quoted = isinstance(name, exp.Identifier) and name.quoted
    return not (quoted or column.table) and column.name.lower() in syntax.bare_calls


def restore_meaning(tree: exp.Expr, syntax: Syntax, reject: Refuse, *, called: Iterable[str]) -> exp.Expr:
    """Return the tree with the nodes replaced that its dialect would write with another meaning; `tree` may change.

    `called` are the names of the functions in the text, in lower case: a few calls parse to the node of an operator.
    """
    names = set(called)
    by_call = [repair for name, repair in syntax.repairs_by_call.items() if name in names]
    grouping = _mixed_comparisons if syntax.groups_comparisons else _closed_operand
    repairs = (*_EVERYWHERE, grouping, *syntax.repairs, *by_call)
    for node in reversed(list(tree.walk())):  # from the leaves up: a repair may copy what is below it
        for repair in repairs:
            repaired = repair(node, reject)
            if repaired is None:
                continue
            if node is tree:
                tree = repaired
            else:
                node.replace(repaired)
            break
    return tree


def reject_new_groups(syntax: Syntax, before: Sequence[Token], after: Sequence[Token], reject: Refuse) -> None:
    """Refuse text that got parentheses of the parser's own where the engine groups comparisons in another way.

    SQLite and MariaDB read `a = b IS NULL IN (1)` with other levels than the parser, which follows PostgreSQL.
    """
    if syntax.groups_comparisons and _groups(after) > _groups(before) + _allowance(before):
        raise reject(_MIXED)


def _groups(tokens: Sequence[Token]) -> int:
    """Count the parentheses that group: those of a call or a list follow a name or IN."""
    found = 0
    for position, token in enumerate(tokens):
        if token.token_type is TokenType.L_PAREN:
            previous = tokens[position - 1] if position else None
            found += previous is None or not (previous.text[-1:].isalnum() and previous.text.upper() not in _OPENERS)
    return found


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


def _unquote_function(node: exp.Expr, reject: Refuse) -> exp.Expr | None:
    """Write `"left"(a, 2)`, as servers print it in view definitions, without quotes: they would be upper-cased."""
    if not isinstance(node, exp.Anonymous) or not isinstance(node.this, exp.Identifier):
        return None
    if node.this.quoted and node.name != node.name.lower():
        raise reject(f'the function name "{node.name}" stands in quotes; write it without')
    node.set("this", node.name)
    return None


def _own_origin(node: exp.Expr, _reject: Refuse) -> exp.Expr | None:
    """Read the third argument of DATE_BIN and TIME_BUCKET as the column it is, not as a unit."""
    unit = node.args.get("unit") if isinstance(node, exp.DateBin) else None
    if isinstance(unit, exp.Var):
        node.set("unit", exp.Column(this=exp.Identifier(this=unit.name, quoted=False)))
    return None


def _closed_operand(node: exp.Expr, _reject: Refuse) -> exp.Expr | None:
    """Put parentheses where the parser made one operator of another: `a NOT IN (1) = b` is not `NOT a IN (1) = b`."""
    parent = node.parent
    beside = isinstance(parent, exp.Binary | exp.Neg) and not isinstance(parent, exp.Connector)
    return exp.Paren(this=node.copy()) if isinstance(node, exp.Not) and beside else None


def _closed_mod(node: exp.Expr, _reject: Refuse) -> exp.Expr | None:
    """Close what MOD(a, b) becomes after a minus: `-(a % b)`."""
    return exp.Paren(this=node.copy()) if isinstance(node, exp.Mod) and isinstance(node.parent, exp.Neg) else None


_COMPARISONS: Final = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)


_ONE_LEVEL: Final = (
    *_COMPARISONS, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Is, exp.In, exp.Between, exp.Like, exp.ILike, exp.Glob,
    exp.Match, exp.RegexpLike,
)  # fmt: skip


def _mixed_comparisons(node: exp.Expr, reject: Refuse) -> exp.Expr | None:
    """Refuse what these engines group unlike the parser: `a = b NOT IN (1)` is `(a = b) NOT IN (1)` on SQLite.

    Without a NOT the text is written in its own order, and the engine groups it as it always did.
    """
    if not isinstance(node, exp.Not):
        return None
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
