"""What a dashboard may name: roles that exist, and charts that exist and that the actor may read."""

from __future__ import annotations

from collections.abc import Iterable

from analytics_core._resources.batches import by_ids, unknown_ids
from analytics_core._resources.reader import Reader
from analytics_core._security.policy import Act
from analytics_core.errors import AccessError, PayloadSchemaError, Problem


def check_roles(reader: Reader, role_ids: Iterable[int], *, before: Iterable[int], shape: str) -> None:
    """Check the roles that a dashboard is to have; those that it had `before` may stay.

    Who may not manage people names roles that they have: an id would tell whether there is such a role, and the answer
    what it is called.

    Raises:
        PayloadSchemaError: for each role that does not exist.
        AccessError: a role that the actor neither has nor manages.
    """
    wanted, kept = tuple(role_ids), frozenset(before)
    if not reader.policy.sees_all(Act.MANAGE_PEOPLE, reader.actor):
        strange = [role_id for role_id in wanted if role_id not in kept | reader.actor.role_ids]
        if strange:
            raise AccessError(
                f"you have no role {strange[0]}; name roles that you have (dashboards.related('roles')), or ask an "
                "administrator to add this one"
            )
        return
    known = by_ids(reader.unit.roles, wanted, without=frozenset({"grants"}))
    problems = unknown_ids(wanted, known, path="roles", noun="role")
    if problems:
        raise PayloadSchemaError(shape=shape, problems=problems)


def placed_charts(reader: Reader, chart_ids: Iterable[int], *, before: Iterable[int], shape: str) -> tuple[int, ...]:
    """Return which of the charts that a layout names the dashboard has.

    A chart that is new on it must exist and be readable for the actor. One that was named before may have been deleted
    since: its place in the layout stays, and nothing else does.

    Raises:
        PayloadSchemaError: a layout names a chart that does not exist.
        ChartAccessError: or one that the actor may not read.
    """
    wanted, known_before = tuple(chart_ids), frozenset(before)
    charts = by_ids(reader.unit.charts, wanted)
    missing = [chart_id for chart_id in wanted if chart_id not in charts and chart_id not in known_before]
    if missing:
        listed = ", ".join(map(str, missing[:20]))
        problem = Problem(path="position_json", message=f"places charts that do not exist: {listed}")
        raise PayloadSchemaError(shape=shape, problems=[problem])
    new = [charts[chart_id] for chart_id in wanted if chart_id in charts and chart_id not in known_before]
    reader.require_charts(new)
    return tuple(chart_id for chart_id in wanted if chart_id in charts)
