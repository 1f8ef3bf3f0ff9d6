"""Refuses metrics and conditions on groups that name a column outside every aggregate.

Most engines refuse them themselves; SQLite would answer with the value of any row, so the planner decides for all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlglot import exp

from analytics_core._compile.plan import (
    AggregateExpr,
    BucketExpr,
    Clause,
    ColumnExpr,
    Condition,
    FragmentExpr,
    InOthersExpr,
    Output,
    OutputRole,
    PlanExpr,
)
from analytics_core.errors import FragmentError


def check_aggregated(metrics: Iterable[Output], outputs: Sequence[Output]) -> None:
    """Check that the metrics of grouped rows name only columns that are grouped or aggregated.

    Raises:
        FragmentError: a metric names another column.
    """
    grouped = _grouped_names(outputs)
    for metric in metrics:
        _check(metric.expr, grouped, what=f"metric {metric.label!r}")


def check_having(having: Iterable[Clause], outputs: Sequence[Output]) -> None:
    """Check the same of conditions on groups; FragmentError names the column."""
    grouped = _grouped_names(outputs)
    for clause in having:
        if isinstance(clause.predicate, Condition):
            _check(clause.predicate.fragment, grouped, what=clause.origin.place)


def _check(expr: PlanExpr, grouped: set[str], *, what: str) -> None:
    if not isinstance(expr, FragmentExpr) or expr.loose_columns <= grouped:
        return
    name = min(expr.loose_columns - grouped)
    raise FragmentError(
        f"{what}: column {name!r} is neither grouped nor inside an aggregate; write for example MAX({name})"
    )


def _grouped_names(outputs: Sequence[Output]) -> set[str]:
    """Return the columns that rows are grouped by, also those inside expressions: an engine may match the whole."""
    names: set[str] = set()
    for output in outputs:
        if output.role is OutputRole.COLUMN:
            names |= _names(output.expr)
    return names


def _names(expr: PlanExpr) -> set[str]:
    match expr:
        case ColumnExpr():
            return {expr.name}
        case FragmentExpr():
            return {column.name for column in expr.tree.find_all(exp.Column)} if expr.tree is not None else set()
        case BucketExpr():
            return _names(expr.source)
        case AggregateExpr() | InOthersExpr():
            return set()
    return _names(expr.source)
