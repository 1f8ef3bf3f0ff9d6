"""Mints guest tokens: what a token opens must exist, and what it hides must be readable as a rule."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analytics_core._content.batches import by_ids, id_in, is_id, read_once, stored_ids
from analytics_core._content.changes import begin_act
from analytics_core._content.runtime import ContentRuntime
from analytics_core._engine.gate.row_security import guest_facts
from analytics_core._engine.rights.actor import Actor
from analytics_core._engine.rights.guest_tokens import attributes_of, named, rule_of
from analytics_core._engine.rights.row_rules import ruled_dataset
from analytics_core._records.dashboard import EmbeddedDashboard
from analytics_core._records.datasource import Dataset
from analytics_core._records.people import User
from analytics_core._records.repositories import UnitOfWork
from analytics_core._superset.layers import with_layers
from analytics_core.errors import NotFoundError
from analytics_core.models.base import uuid_in
from analytics_core.models.embedded import GuestResource, GuestRowRule, GuestTokenCreate
from analytics_core.models.parsing import Payload, parse, payload_error

AllRows = bool | Iterable[int]
_SHAPE = "GuestTokenCreate"
_MOST_IDS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _NamedDashboards:
    """The embedded dashboards that a request names, and the datasets of their charts and of the layers of maps."""

    embedded: tuple[EmbeddedDashboard, ...]
    datasets: Mapping[int, Dataset]


def mint_guest_token(
    runtime: ContentRuntime,
    actor: Actor,
    payload: GuestTokenCreate | Payload,
    *,
    life_s: float | None,
    all_rows: AllRows,
) -> str:
    """Return a token (`Embedded.guest_token` tells the rest)."""
    runtime.policy.require_mint_guest_tokens(actor)
    request = parse(GuestTokenCreate, payload, shape=_SHAPE)
    act = begin_act(runtime, actor, "embedded.guest_token")
    unrestricted = _is_fully_visible(all_rows)
    for position, rule in enumerate(request.rls):
        if not rule.clause.strip():
            raise payload_error(
                _SHAPE, f"rls.{position}.clause", "is empty; write a condition, for example region = 'EU'"
            )
    with runtime.store.unit_of_work() as unit:
        opened = _open(unit, request.resources)
        _check_rules(runtime, unit, request, opened)
        _reject_unruled(request, opened, unrestricted)
        embedded = [item.uuid for item in opened.embedded]
        token = runtime.guests.tokens.sign(request, embedded=embedded, all_rows=unrestricted, life_s=life_s)
        for item in opened.embedded:
            act.log(unit, dashboard_id=item.dashboard_id, details={"subject": named(request.user).username})
    return token


def _check_rules(
    runtime: ContentRuntime, unit: UnitOfWork, request: GuestTokenCreate, opened: _NamedDashboards
) -> None:
    """Read each clause on every dataset that it is for."""
    user = named(request.user)
    guest = Actor(user=User(username=user.username or "", attributes=attributes_of(user)))
    targets = [
        (rule, dataset)
        for position, rule in enumerate(request.rls)
        for dataset in _targets(unit, rule, opened, place=f"rls.{position}.dataset")
    ]
    databases = by_ids(unit.databases, {dataset.database_id for _, dataset in targets})
    for rule, dataset in targets:
        spec = runtime.engine.registry.get(databases[dataset.database_id].engine)
        runtime.engine.row_security.check(rule.clause, dataset, spec, facts=guest_facts(guest, rule_of(rule)))


def find_embedded(unit: UnitOfWork, key: int | str) -> EmbeddedDashboard:
    """Return an embedded dashboard by the dashboard's id (a number or its digits) or the uuid of the embedding."""
    found = None
    number = _number_of(key)
    if number is not None:
        found = unit.embedded.find(dashboard_id=number) if stored_ids([number]) else None
    elif isinstance(key, str) and (uuid := uuid_in(key)):
        found = unit.embedded.find(uuid=uuid)
    if found is None:
        raise NotFoundError("embedded dashboard", key)
    return found


def _number_of(key: object) -> int | None:
    if isinstance(key, str):
        return id_in(key)
    return key if is_id(key) else None


def _open(unit: UnitOfWork, resources: Sequence[GuestResource]) -> _NamedDashboards:
    if not resources:
        raise payload_error(_SHAPE, "resources", "names nothing; name at least one embedded dashboard")
    embedded = {item.id: item for resource in resources for item in (find_embedded(unit, resource.id),)}
    dashboards = by_ids(unit.dashboards, (item.dashboard_id for item in embedded.values()))
    chart_ids = frozenset(chart_id for dashboard in dashboards.values() for chart_id in dashboard.chart_ids)
    charts = with_layers(chart_ids, lambda ids: by_ids(unit.charts, ids).values())
    datasets = by_ids(unit.datasets, (chart.dataset_id or 0 for chart in charts.values()))
    return _NamedDashboards(embedded=tuple(embedded.values()), datasets=datasets)


def _targets(unit: UnitOfWork, rule: GuestRowRule, opened: _NamedDashboards, *, place: str) -> Sequence[Dataset]:
    """Return the datasets that a rule is for.

    A rule on a dataset that is on none of the dashboards binds where the SQL of a virtual dataset reads its table;
    without such a dataset in the same database it would bind nowhere, and is refused.
    """
    if rule.dataset is None:
        return tuple(opened.datasets.values())
    if rule.dataset in opened.datasets:
        return (opened.datasets[rule.dataset],)
    dataset = unit.datasets.get(rule.dataset)
    table = ruled_dataset(dataset).name
    others = [ruled_dataset(d).name for d in opened.datasets.values() if d.database_id == dataset.database_id]
    if table is None or not any(other is None or table.may_be(other) for other in others):
        raise payload_error(
            _SHAPE, place, f"dataset {rule.dataset} is on none of the dashboards, so the rule would bind nothing"
        )
    return (dataset,)


def _is_fully_visible(all_rows: Any) -> bool | tuple[int, ...]:
    """Return what `all_rows` says, as tokens say it; a token with anything else would open nothing."""
    if isinstance(all_rows, bool):
        return all_rows
    ids = read_once(all_rows, most=_MOST_IDS)
    if not isinstance(ids, tuple) or not all(map(is_id, ids)):
        raise payload_error(_SHAPE, "all_rows", "must be true, false, or the ids of datasets")
    return tuple(dict.fromkeys(ids))


def _reject_unruled(request: GuestTokenCreate, opened: _NamedDashboards, all_rows: bool | tuple[int, ...]) -> None:
    """Refuse a token that would show a dataset without a rule, unless the caller said so."""
    if all_rows is True:
        return
    ruled = {rule.dataset for rule in request.rls}
    candidates = () if None in ruled else opened.datasets
    unruled = sorted(key for key in candidates if key not in (all_rows or ()) and key not in ruled)
    if unruled or not (request.rls or all_rows):
        listed = ", ".join(map(str, unruled)) or "all"
        raise payload_error(
            _SHAPE, "rls", f"no rule binds on datasets {listed}; add one, or mint with all_rows=[ids] or True"
        )
