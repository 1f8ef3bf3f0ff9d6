"""Puts bound values where the holders of a row rule's clause stand, once the clause was parsed and checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from sqlglot import exp

from analytics_core._compile.binds import MARK
from analytics_core._compile.fragments.sql_text import write_sql
from analytics_core._compile.plan import FragmentExpr
from analytics_core._compile.values import convert
from analytics_core._engines.spec import BindValue, EngineSpec, Refuse
from analytics_core._engines.types import ValueKind
from analytics_core._records.row_rule import Holder
from analytics_core.errors import FilterValueError

_COMPARISONS: Final = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ)
_CONVERTED: Final = frozenset(
    {ValueKind.INTEGER, ValueKind.FLOAT, ValueKind.DECIMAL, ValueKind.TEXT, ValueKind.BOOLEAN}
)


def bind_holders(
    fragment: FragmentExpr,
    holders: Sequence[Holder],
    *,
    kinds: Mapping[str, ValueKind],
    spec: EngineSpec,
    refuse: Refuse,
) -> FragmentExpr:
    """Return the fragment with a numbered mark for each value; a value compared with a column becomes of its kind.

    `kinds` says what the columns hold, by their names.

    Raises:
        QueryError: (of `refuse`) a value does not fit its column, or stands where no value can be bound.
    """
    if not holders:
        return fragment
    assert fragment.tree is not None  # noqa: S101 - a parsed fragment has its tree; tells the type checker
    tree = exp.Paren(this=fragment.tree.copy())
    values: list[BindValue] = []
    for literal in [node for node in tree.find_all(exp.Literal) if node.is_string]:
        value = _value_of(literal, holders, refuse)
        if value is not None:
            values.append(_fitting(value, literal, kinds, refuse))
            literal.replace(exp.Var(this=f"{MARK}{len(values) - 1}{MARK}"))
    text = write_sql(tree.this, spec.dialect, refuse)
    if any(holder.mark in text for holder in holders) or text.count(MARK) != 2 * len(values):
        raise refuse("a value stands where it cannot be bound; compare a column with it")
    return replace(fragment, sql=text, tree=tree.this, values=tuple(values))


def _value_of(literal: exp.Literal, holders: Sequence[Holder], refuse: Refuse) -> BindValue:
    """Return what a literal stands for: one value, or a text with values in it; None when it holds none."""
    text = literal.this
    found = [holder for holder in holders if holder.mark in text]
    if not found:
        return None
    if len(found) == 1 and text == found[0].mark:
        return found[0].value
    for holder in found:
        if holder.is_member:
            raise refuse("a list stands inside a text; write IN (...) around it")
        text = text.replace(holder.mark, str(holder.value))
    return str(text)


def _fitting(value: BindValue, literal: exp.Expr, kinds: Mapping[str, ValueKind], refuse: Refuse) -> BindValue:
    column = _compared_column(literal)
    kind = kinds.get(column, ValueKind.UNKNOWN) if column is not None else ValueKind.UNKNOWN
    if column is None or kind not in _CONVERTED:
        return value
    try:
        return convert(value, kind, column=column)
    except FilterValueError:
        raise refuse(f"the value for column {column!r} is not of its type") from None


def _compared_column(literal: exp.Expr) -> str | None:
    """Return the name of the column that a value is compared with, when it is compared with one alone."""
    node: exp.Expr = literal
    while isinstance(node.parent, exp.Paren | exp.Tuple):
        node = node.parent
    parent = node.parent
    if isinstance(parent, exp.In | exp.Between):
        other = parent.this if parent.this is not node else None
    elif isinstance(parent, _COMPARISONS):
        other = parent.right if parent.left is node else parent.left
    else:
        return None
    other = other.unnest() if other is not None else None
    return other.name if isinstance(other, exp.Column) else None
