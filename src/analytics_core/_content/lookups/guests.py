"""What a guest token opens now: its dashboards may have changed, and it may have been revoked."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Final

from analytics_core._content.lookups.loading import StoreReadCache
from analytics_core._engine.rights.actor import Actor
from analytics_core._engine.rights.origins import allows_origin
from analytics_core._records.chart import Chart
from analytics_core._records.dashboard import Dashboard, EmbeddedDashboard
from analytics_core._records.people import GuestGrant, GuestPass, GuestVisit, Role, User
from analytics_core._records.repositories import ListFilter, ListQuery, UnitOfWork
from analytics_core._records.settings import Settings
from analytics_core._tools.once import Once
from analytics_core.errors import GuestAccessError, GuestTokenError, SettingsError, StoredDataError
from analytics_core.ports import Clock, MetadataStore

if TYPE_CHECKING:
    from analytics_core._engine.rights.guest_tokens import GuestTokens

CUT_OFF_KIND: Final = "guest-cutoff"


@dataclass(frozen=True, slots=True, kw_only=True)
class _EmbeddedContent:
    """One embedded dashboard of a token with what is on it."""

    embedded: EmbeddedDashboard
    chart_ids: frozenset[int]
    dataset_ids: frozenset[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class _TokenFacts:
    """What the store says of a token."""

    opened: tuple[_EmbeddedContent, ...]
    roles: tuple[Role, ...]


class Guests:
    """Turns what tokens say into actors; what it read of the store counts for `metadata_freshness_s` seconds."""

    def __init__(self, store: MetadataStore, clock: Clock, settings: Settings) -> None:
        self._made_tokens = Once(partial(_tokens, settings, clock))
        self._store = store
        self._role_names = settings.guest_roles
        self._known: StoreReadCache[GuestGrant, _TokenFacts] = StoreReadCache(
            store, clock, seconds=settings.metadata_freshness_s
        )

    @property
    def tokens(self) -> GuestTokens:
        """What signs and reads tokens; it is loaded with the first of them."""
        return self._made_tokens()

    def actor(self, visit: GuestVisit) -> Actor:
        """Return the guest as they may act now, on the page of their visit.

        Raises:
            GuestTokenError: the token is over, revoked, or nothing that it names is embedded any more.
            GuestAccessError: none of its dashboards may be shown on pages of this origin.
        """
        grant = visit.grant
        self.tokens.check_not_over(grant)
        known = self._known.get(grant, lambda: self._read(grant))
        contents = [item for item in known.opened if allows_origin(item.embedded.allowed_domains, visit.origin)]
        if not contents:
            raise GuestAccessError(
                "this page may not show the dashboards of the guest token; the allowed domains of each are in "
                "core.embedded, and as_guest must be told the origin of the page"
            )
        return Actor(user=_user(grant), roles=known.roles, guest=_pass(grant, contents))

    def _read(self, grant: GuestGrant) -> _TokenFacts:
        with self._store.unit_of_work() as unit:
            opened = _opened(unit, _among(unit, grant.embedded))
            if not opened:
                raise GuestTokenError("none of its dashboards is embedded any more")
            cut_off = _latest_cut_off(unit, grant, (item.embedded.dashboard_id for item in opened))
            if cut_off is not None and grant.issued_on <= cut_off:
                raise GuestTokenError("it was revoked")
            _reject_lost_datasets(unit, grant)
            return _TokenFacts(opened=opened, roles=self._roles(unit))

    def _roles(self, unit: UnitOfWork) -> tuple[Role, ...]:
        found = {name: unit.roles.find(name=name) for name in self._role_names}
        missing = [name for name, role in found.items() if role is None]
        if missing:
            raise SettingsError(f"Settings.guest_roles: there is no role {missing[0]!r}; create it or take it out")
        return tuple(role for role in found.values() if role is not None)


def _tokens(settings: Settings, clock: Clock) -> GuestTokens:
    from analytics_core._engine.rights.guest_tokens import GuestTokens

    return GuestTokens(settings, clock)


def dashboard_key(dashboard_id: int) -> str:
    """Return the key under which the cut-off of a dashboard is stored."""
    return f"dashboard {dashboard_id}"


def subject_key(username: str) -> str:
    """Return the key under which the cut-off of a guest is stored."""
    return f"subject {username}"


def read_cut_off(text: str) -> datetime:
    """Return a stored cut-off; StoredDataError when it cannot be read, which lets nobody in."""
    try:
        moment = datetime.fromisoformat(json.loads(text)["cut_off"])
    except (ValueError, TypeError, KeyError, RecursionError):
        moment = None
    if moment is None or moment.tzinfo is None:
        raise StoredDataError("a stored cut-off of guest tokens cannot be read; revoke once more")
    return moment


def write_cut_off(moment: datetime) -> str:
    """Return a cut-off as it is stored."""
    return json.dumps({"cut_off": moment.isoformat()})


def _user(grant: GuestGrant) -> User:
    return User(
        username=grant.username,
        first_name=grant.first_name,
        last_name=grant.last_name,
        attributes=grant.attributes,
    )


def _pass(grant: GuestGrant, contents: Sequence[_EmbeddedContent]) -> GuestPass:
    return GuestPass(
        dashboard_ids=frozenset(item.embedded.dashboard_id for item in contents),
        chart_ids=frozenset().union(*(item.chart_ids for item in contents)),
        dataset_ids=frozenset().union(*(item.dataset_ids for item in contents)),
        rules=grant.rules,
        all_rows=grant.all_rows,
    )


def _among(unit: UnitOfWork, uuids: Sequence[str]) -> Sequence[EmbeddedDashboard]:
    condition = ListFilter(col="uuid", op="in", val=tuple(uuids))
    return unit.embedded.list(ListQuery(filters=(condition,), page_size=len(uuids)))[1]


def _opened(unit: UnitOfWork, embedded: Sequence[EmbeddedDashboard]) -> tuple[_EmbeddedContent, ...]:
    """Return what is on these dashboards, the layers of its maps too; two statements for all of them, or three."""
    if not embedded:
        return ()
    ids = frozenset(item.dashboard_id for item in embedded)
    dashboards = {d.id: d for d in unit.dashboards.list(ListQuery(ids=ids, page_size=len(ids)))[1]}
    wanted = frozenset(chart_id for dashboard in dashboards.values() for chart_id in dashboard.chart_ids)
    from analytics_core._superset.layers import with_layers

    charts = with_layers(wanted, lambda ids: _charts(unit, ids))
    present = [(item, dashboards[item.dashboard_id]) for item in embedded if item.dashboard_id in dashboards]
    return tuple(_with_charts(item, dashboard, charts) for item, dashboard in present)


def _charts(unit: UnitOfWork, ids: frozenset[int]) -> Sequence[Chart]:
    return unit.charts.list(ListQuery(ids=ids, page_size=len(ids)))[1] if ids else ()


def _with_charts(item: EmbeddedDashboard, dashboard: Dashboard, charts: Mapping[int, Chart]) -> _EmbeddedContent:
    """Return an embedded dashboard with its charts and their layers."""
    placed = [charts[chart_id] for chart_id in dashboard.chart_ids if chart_id in charts]
    from analytics_core._superset.layers import layers_of

    layers = (layer for chart in placed for layer in layers_of(chart) if layer in charts)
    chart_ids = frozenset((*(chart.id for chart in placed), *layers))
    datasets = {chart_id: charts[chart_id].dataset_id for chart_id in chart_ids}
    found = (datasets[chart_id] for chart_id in chart_ids)
    return _EmbeddedContent(
        embedded=item, chart_ids=chart_ids, dataset_ids=frozenset(key for key in found if key is not None)
    )


def _latest_cut_off(unit: UnitOfWork, grant: GuestGrant, dashboard_ids: Iterable[int]) -> datetime | None:
    keys = (subject_key(grant.username), *map(dashboard_key, dashboard_ids))
    conditions = (
        ListFilter(col="kind", op="eq", val=CUT_OFF_KIND),
        ListFilter(col="key", op="in", val=keys),
    )
    _, found = unit.key_values.list(ListQuery(filters=conditions, page_size=len(keys)))
    return max((read_cut_off(item.value) for item in found), default=None)


def _reject_lost_datasets(unit: UnitOfWork, grant: GuestGrant) -> None:
    """Refuse a token with a rule on a dataset that is gone: its table may be read through another one."""
    wanted = frozenset(rule.dataset_id for rule in grant.rules if rule.dataset_id is not None)
    if wanted and unit.datasets.list(ListQuery(ids=wanted, page_size=1))[0] < len(wanted):
        raise GuestTokenError("one of its rules is on a dataset that is gone")
