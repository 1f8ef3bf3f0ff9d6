"""Which columns hold no NULL in the rows that conditions let through: orders and joins need not provide for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from analytics_core._compile.plan import (
    AllOf,
    Clause,
    ColumnExpr,
    Compare,
    InValues,
    IsNull,
    IsTruth,
    Match,
    Output,
    Predicate,
    Within,
)


def columns_without_null(where: Iterable[Clause]) -> frozenset[str]:
    """Return the columns that are not NULL in any row for which all conditions hold."""
    return frozenset(name for clause in where for name in _proven(clause.predicate))


def without_nulls(outputs: Sequence[Output], where: Iterable[Clause]) -> tuple[Output, ...]:
    """Return the outputs of which those that conditions prove so hold no NULL."""
    proven = columns_without_null(where)
    return tuple(
        replace(output, nullable=False)
        if isinstance(output.expr, ColumnExpr) and output.expr.name in proven
        else output
        for output in outputs
    )


def _proven(predicate: Predicate) -> Iterable[str]:
    match predicate:
        case AllOf():
            return [name for member in predicate.members for name in _proven(member)]
        case Compare() | IsTruth() | Match() | Within():
            passes_null = False
        case InValues():
            passes_null = predicate.with_null and not predicate.negated
        case IsNull():
            passes_null = not predicate.negated
        case _:
            return ()
    return () if passes_null or not isinstance(predicate.left, ColumnExpr) else (predicate.left.name,)
