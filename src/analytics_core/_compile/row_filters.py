"""Row rules as an input of the planner: conditions that no payload can widen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analytics_core._compile.fragments import FragmentSlot
from analytics_core._compile.plan import AnyOf, Clause, Condition, Origin, OriginKind
from analytics_core._compile.scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFilter:
    """One condition on the rows that an actor may see.

    Conditions that share a `group_key` are ORed, groups and keyless conditions are ANDed (contract, row-level security).
    """

    clause: str
    origin: Origin = Origin(OriginKind.ROW_RULE, "")
    group_key: str | None = None


def plan_row_filters(scope: Scope, row_filters: Sequence[RowFilter]) -> tuple[Clause, ...]:
    """Return the clauses of all row filters: one for each keyless filter, one for each group."""
    groups: dict[str, list[RowFilter]] = {}
    clauses: list[Clause] = []
    for item in row_filters:
        if item.group_key:
            groups.setdefault(item.group_key, []).append(item)
        else:
            clauses.append(Clause(_condition(scope, item), item.origin))
    for key, members in groups.items():
        conditions = tuple(_condition(scope, member) for member in members)
        places = "; ".join(member.origin.place for member in members)
        clauses.append(Clause(AnyOf(conditions), Origin(members[0].origin.kind, f"group {key}: {places}")))
    return tuple(clauses)


def _condition(scope: Scope, item: RowFilter) -> Condition:
    return Condition(scope.read(item.clause, FragmentSlot.ROW_RULE, item.origin.place or "row rule"))
