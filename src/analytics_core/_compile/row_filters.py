"""Row rules as an input of the planner: conditions that no payload can widen."""

from __future__ import annotations

from collections.abc import Sequence

from analytics_core._compile.fragments import FragmentSlot
from analytics_core._compile.plan import AnyOf, Clause, Condition, Origin, OriginKind
from analytics_core._compile.scope import Scope
from analytics_core._records.row_filter import RowFilter


def plan_row_filters(scope: Scope, row_filters: Sequence[RowFilter]) -> tuple[Clause, ...]:
    """Return the clauses of all row filters: one for each keyless filter, one for each group."""
    groups: dict[str, list[RowFilter]] = {}
    clauses: list[Clause] = []
    for item in row_filters:
        if item.group_key:
            groups.setdefault(item.group_key, []).append(item)
        else:
            clauses.append(Clause(_condition(scope, item), Origin(OriginKind.ROW_RULE, item.name)))
    for key, members in groups.items():
        names = ", ".join(member.name for member in members)
        conditions = AnyOf(tuple(_condition(scope, member) for member in members))
        clauses.append(Clause(conditions, Origin(OriginKind.ROW_RULE, f"{names} (group {key})")))
    return tuple(clauses)


def _condition(scope: Scope, item: RowFilter) -> Condition:
    return Condition(scope.read(item.clause, FragmentSlot.ROW_RULE, f"row rule {item.name!r}"))
