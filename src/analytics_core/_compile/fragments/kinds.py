"""Infers what kind of value a fragment gives, where it is obvious; UNKNOWN wherever it depends on a column."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sqlglot import exp

from analytics_core._engines.spec import EngineSpec
from analytics_core._engines.types import ValueKind

_CONDITIONS: Final[tuple[type[exp.Expr], ...]] = (exp.Predicate, exp.And, exp.Or, exp.Xor, exp.Not, exp.Boolean)
_COUNTS: Final[tuple[type[exp.Expr], ...]] = (
    exp.Count,
    exp.CountIf,
    exp.ApproxDistinct,
    exp.RowNumber,
    exp.Rank,
    exp.DenseRank,
)
_TEXTS: Final[tuple[type[exp.Expr], ...]] = (
    exp.Upper, exp.Lower, exp.Trim, exp.Replace, exp.Concat, exp.ConcatWs, exp.GroupConcat, exp.Left, exp.Right,
    exp.Pad, exp.Initcap, exp.SplitPart, exp.RegexpReplace, exp.National, exp.RawString, exp.MD5,
)  # fmt: skip


def infer_kind(tree: exp.Expr, spec: EngineSpec) -> ValueKind:
    """Return the kind of the values of `tree`."""
    tree = tree.unnest()
    if isinstance(tree, exp.Cast):
        return spec.value_kind(tree.to.sql(spec.dialect))
    if isinstance(tree, exp.Case | exp.If | exp.Coalesce):
        return _common(infer_kind(branch, spec) for branch in _branches(tree))
    if isinstance(tree, exp.Window | exp.Filter | exp.Collate | exp.Neg):
        return infer_kind(tree.this, spec)
    if isinstance(tree, exp.DPipe):
        sides = (infer_kind(tree.this, spec), infer_kind(tree.expression, spec))
        return ValueKind.TEXT if ValueKind.TEXT in sides else ValueKind.UNKNOWN
    return _plain_kind(tree)


def _plain_kind(tree: exp.Expr) -> ValueKind:
    if isinstance(tree, _CONDITIONS) and not isinstance(tree, exp.SubqueryPredicate):
        return ValueKind.BOOLEAN
    if isinstance(tree, _COUNTS):
        return ValueKind.INTEGER
    if isinstance(tree, _TEXTS):
        return ValueKind.TEXT
    if isinstance(tree, exp.Literal):
        if tree.is_string:
            return ValueKind.TEXT
        return ValueKind.INTEGER if tree.is_int else ValueKind.UNKNOWN
    return ValueKind.UNKNOWN


def _branches(tree: exp.Case | exp.If | exp.Coalesce) -> Iterator[exp.Expr]:
    if isinstance(tree, exp.Coalesce):
        yield from (tree.this, *tree.expressions)
        return
    choices = tree.args.get("ifs") or [tree]
    default = tree.args.get("default") if isinstance(tree, exp.Case) else tree.args.get("false")
    for branch in (*(choice.args.get("true") for choice in choices), default):
        if branch is not None and not isinstance(branch, exp.Null):
            yield branch


def _common(kinds: Iterator[ValueKind]) -> ValueKind:
    found = set(kinds)
    return found.pop() if len(found) == 1 else ValueKind.UNKNOWN
