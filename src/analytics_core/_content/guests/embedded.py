"""`core.embedded`: dashboards inside other pages, and the tokens with which guests read them."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from uuid import uuid4

from analytics_core._content.batches import every_id
from analytics_core._content.changes import reject_later_change, repeated
from analytics_core._content.field_formatter import answer_as
from analytics_core._content.guests.minting import AllRows, find_embedded, mint_guest_token
from analytics_core._content.lists import (
    DASHBOARDS,
    Listing,
    ResourceLists,
    anybody,
)
from analytics_core._content.lookups.guests import CUT_OFF_KIND, dashboard_key, read_cut_off, subject_key, write_cut_off
from analytics_core._content.namespace import ListedNamespace
from analytics_core._content.reader import Reader
from analytics_core._content.user_directory import UserIndex, read_users
from analytics_core._content.written_back import read_changes
from analytics_core._engine.rights import policy as rules
from analytics_core._engine.rights.origins import read_origin
from analytics_core._records.dashboard import Dashboard, EmbeddedDashboard
from analytics_core._records.repositories import ListFilter, ListQuery, UnitOfWork
from analytics_core._records.shared_state import KeyValue
from analytics_core.errors import (
    AlreadyExistsError,
    NotFoundError,
    PayloadSchemaError,
    Problem,
    StaleVersionError,
    StoredDataError,
)
from analytics_core.models.embedded import (
    AvailableDomains,
    EmbeddedDashboardConfig,
    EmbeddedDashboardGet,
    GuestTokenCreate,
    GuestUser,
)
from analytics_core.models.parsing import Payload, parse, payload_error

_CONFIG = "EmbeddedDashboardConfig"
_MOST_DOMAINS = 1_000
_REVOKE = "revoke_guest_tokens"


def _own_dashboards(reader: Reader, query: ListQuery) -> ListQuery:
    """Return a query of the dashboards that the actor may embed."""
    if reader.policy.sees_all(rules.Permission.EMBED_DASHBOARD, reader.actor):
        return query
    return replace(query, filters=(*query.filters, ListFilter(col="owner_ids", op="eq", val=reader.actor.id)))


def _visible(reader: Reader, query: ListQuery) -> ListQuery:
    """Return a query of the embeddings that the actor may see: those of the dashboards that they may embed."""
    own = _own_dashboards(reader, ListQuery()).filters
    if not own:
        return query
    ids = tuple(every_id(reader.unit.dashboards, own))
    return replace(query, filters=(*query.filters, ListFilter(col="dashboard_id", op="in", val=ids)))


LISTS = ResourceLists(
    listing=Listing(
        shape="embedded dashboard",
        item=EmbeddedDashboardGet,
        is_audited=False,
        integers=("dashboard_id", "created_by", "changed_by", "dashboard"),
        texts=("uuid",),
        moments=("created_on", "changed_on"),
        stored_as={"dashboard": "dashboard_id"},
    ),
    repository=lambda unit: unit.embedded,
    item=lambda embedded, facts: _embedded_answer(embedded, facts.people),
    permission=anybody,
    people_of=lambda embedded: (embedded.audit.changed_by,),
    visibility=_visible,
    records={"dashboard": replace(DASHBOARDS, visibility=_own_dashboards)},
)


class EmbeddedDashboards(ListedNamespace[EmbeddedDashboardGet]):
    """Embedded dashboards; owners of a dashboard and administrators see and change how it is embedded.

    `related` takes `created_by`, `changed_by` or `dashboard`: the dashboards that the actor may embed.
    """

    _resource = LISTS

    # ---------------------------------------------------------------------------------------------------- records
    @repeated
    def create(self, dashboard_id: int, payload: EmbeddedDashboardConfig | Payload) -> EmbeddedDashboardGet:
        """Let pages of the `allowed_domains` embed a dashboard (contract, `EmbeddedDashboardConfig`).

        An empty list allows every page. A domain is an origin, for example `https://shop.example`. A dashboard that is
        embedded already keeps its uuid and gets the new domains.

        Raises:
            PayloadError: the payload breaks the shape, a domain is no origin, or there are more than 1,000 of them.
            NotFoundError: there is no such dashboard.
            OwnershipError: the actor does not own it.

        Examples:
            >>> core.embedded.create(1, {"allowed_domains": ["https://shop.example"]}).allowed_domains
            ('https://shop.example',)
        """
        domains = _read_domains(payload)
        with self._acting("embedded.create") as (act, unit):
            self._owned(unit, dashboard_id)
            before = unit.embedded.find(dashboard_id=dashboard_id)
            if before is None:
                stored = self._new(unit, dashboard_id, domains)
            else:
                stored = unit.embedded.update(replace(before, allowed_domains=domains), actor_id=self._actor.id)
            act.log(unit, dashboard_id=dashboard_id)
        return self._answer(stored)

    @repeated
    def update(
        self,
        dashboard_id: int,
        payload: EmbeddedDashboardConfig | EmbeddedDashboardGet | Payload,
        *,
        unchanged_since: datetime | str | None = None,
    ) -> EmbeddedDashboardGet:
        """Change the domains of an embedded dashboard; its uuid stays.

        With `unchanged_since`, the `changed_on` of the embedding that the caller read, a change that somebody else made
        since is not overwritten; changes of the dashboard itself do not count.

        Raises:
            PayloadError, OwnershipError: as in `create`.
            NotFoundError: there is no such dashboard, or it is not embedded.
            StaleVersionError: somebody else changed it meanwhile.

        Examples:
            >>> _ = core.embedded.create(1, {"allowed_domains": ["https://shop.example"]})
            >>> core.embedded.update(1, {"allowed_domains": []}).allowed_domains
            ()
        """
        answers = self._answers(EmbeddedDashboardGet, self.get, dashboard_id)
        domains = _read_domains(read_changes(EmbeddedDashboardConfig, payload, shape=_CONFIG, answers=answers))
        with self._acting("embedded.update") as (act, unit):
            self._owned(unit, dashboard_id)
            before = unit.embedded.find(dashboard_id=dashboard_id)
            if before is None:
                raise NotFoundError("embedded dashboard", dashboard_id)
            reject_later_change(before, unchanged_since)
            after = replace(before, allowed_domains=domains)
            stored = act.update(unit, unit.embedded, before, after, dashboard_id=dashboard_id)
        return self._answer(stored)

    def get(self, key: int | str) -> EmbeddedDashboardGet:
        """Return how a dashboard is embedded, by the dashboard's id or the uuid of the embedding.

        Raises:
            NotFoundError: it is not embedded.
            OwnershipError: the actor does not own the dashboard.

        Examples:
            >>> made = core.embedded.create(1, {"allowed_domains": ["https://shop.example"]})
            >>> core.embedded.get(made.uuid).dashboard_id
            '1'
        """
        with self._runtime.store.unit_of_work() as unit:
            found = find_embedded(unit, key)
            self._owned(unit, found.dashboard_id)
        return self._answer(found)

    @repeated
    def delete(self, dashboard_id: int) -> None:
        """End the embedding of a dashboard: its tokens open it no longer, also when it is embedded anew.

        Examples:
            >>> _ = core.embedded.create(1, {"allowed_domains": []})
            >>> core.embedded.delete(1)
            >>> core.embedded.list().count
            0
        """
        with self._acting("embedded.delete") as (act, unit):
            self._owned(unit, dashboard_id)
            unit.embedded.delete(find_embedded(unit, dashboard_id).id)
            act.log(unit, dashboard_id=dashboard_id)

    def available_domains(self) -> AvailableDomains:
        """Return the domains that the host answers on, `Settings.available_domains` (AvailableDomainsSchema).

        Examples:
            >>> core.embedded.available_domains().domains
            ('app.example',)
        """
        return AvailableDomains(domains=self._runtime.settings.available_domains)

    # ----------------------------------------------------------------------------------------------------- tokens
    def guest_token(
        self, payload: GuestTokenCreate | Payload, *, life_s: float | None = None, all_rows: AllRows = False
    ) -> str:
        """Return a signed token with which somebody reads embedded dashboards (contract, `GuestTokenCreate`).

        Args:
            payload: `resources` names embedded dashboards: `{"type": "dashboard", "id": uuid}`; `rls` holds rules
                `{"clause", "dataset"?, "values"?}`, one of which must bind on each dataset of the dashboards; `user`
                has `username`, `first_name`, `last_name` and `attributes` for row rules.
            life_s: seconds; None: `Settings.guest_token_life_s`; at most `Settings.guest_token_max_life_s`.
            all_rows: the ids of datasets that the guest sees without a rule of the token; True: all datasets.

        Raises:
            PayloadError: the payload breaks the shape, or a dataset has no rule and `all_rows` does not name it.
            AccessError: only administrators mint tokens.
            NotFoundError: a dashboard is not embedded, or there is no such dataset.
            FragmentError, SubqueryNotAllowedError, UnknownColumnError, TemplateError: a clause is not one condition on
                the columns of each dataset that it is for.
            LimitError: the life is too long, or the token would be.

        Example:
            token = core.embedded.guest_token({
                "user": {"username": "anna"},
                "resources": [{"type": "dashboard", "id": core.embedded.get(1).uuid}],
                "rls": [{"clause": "tenant = {{ value('tenant') }}", "values": {"tenant": "acme"}}],
            })

        Examples:
            >>> page = core.embedded.create(1, {"allowed_domains": ["https://shop.example"]})
            >>> rule = {"clause": "country = {{ value('country') }}", "values": {"country": "France"}}
            >>> sales = {"type": "dashboard", "id": page.uuid}
            >>> token = core.embedded.guest_token({"resources": [sales], "rls": [rule]}, life_s=300)
            >>> [row[0] for row in core.as_guest(token, origin="https://shop.example").charts.data(1)[0]]
            ['France']
        """
        return mint_guest_token(self._runtime, self._actor, payload, life_s=life_s, all_rows=all_rows)

    @repeated
    def revoke_guest_tokens(self, *, dashboard_id: int | None = None, subject: str | None = None) -> None:
        """Refuse from now on every token minted until now that names a dashboard, or that is of one guest.

        Args:
            dashboard_id: tokens that name this dashboard; its owners and administrators may.
            subject: tokens of the guest with this `username`; administrators may.

        Raises:
            PayloadSchemaError: give exactly one of the two; or `subject` is no name that a guest may have.
            NotFoundError, OwnershipError, AccessError: the dashboard is unknown, or this is not for the actor.

        Examples:
            >>> page = core.embedded.create(1, {"allowed_domains": []})
            >>> rule = {"clause": "country = 'France'"}
            >>> sales = {"type": "dashboard", "id": page.uuid}
            >>> token = core.embedded.guest_token({"resources": [sales], "rls": [rule]})
            >>> core.embedded.revoke_guest_tokens(dashboard_id=1)
            >>> core.as_guest(token)
            Traceback (most recent call last):
                ...
            analytics_core.errors.GuestTokenError: the guest token opens nothing: it was revoked; ...
        """
        if (dashboard_id is None) is (subject is None):
            raise payload_error(_REVOKE, "dashboard_id", "give either a dashboard_id or a subject")
        if subject is not None:
            _check_subject(subject)
        with self._acting("embedded.revoke_guest_tokens") as (act, unit):
            if dashboard_id is not None:
                self._owned(unit, dashboard_id)
                key = dashboard_key(dashboard_id)
            else:
                self._runtime.policy.require_mint_guest_tokens(self._actor)
                key = subject_key(subject or "")
            self._cut_off(unit, key)
            act.log(unit, dashboard_id=dashboard_id, details={"subject": subject} if subject is not None else None)

    # ------------------------------------------------------------------------------------------------------ inside
    def _new(self, unit: UnitOfWork, dashboard_id: int, domains: tuple[str, ...]) -> EmbeddedDashboard:
        record = EmbeddedDashboard(uuid=str(uuid4()), dashboard_id=dashboard_id, allowed_domains=domains)
        try:
            return unit.embedded.add(record, actor_id=self._actor.id)
        except AlreadyExistsError:  # another session was faster: once more, from what it stored
            raise StaleVersionError("embedded dashboard", dashboard_id) from None

    def _cut_off(self, unit: UnitOfWork, key: str) -> None:
        """Move a cut-off to now; it never moves back. One that cannot be read any more is written anew."""
        moment = self._runtime.guests.tokens.now()
        before = unit.key_values.find(kind=CUT_OFF_KIND, key=key)
        if before is not None:
            with suppress(StoredDataError):
                moment = max(moment, read_cut_off(before.value))
            unit.key_values.update(replace(before, value=write_cut_off(moment)), actor_id=self._actor.id)
            return
        record = KeyValue(kind=CUT_OFF_KIND, key=key, value=write_cut_off(moment))
        try:
            unit.key_values.append(record, actor_id=self._actor.id)
        except AlreadyExistsError:  # another session was faster: once more, from what it stored
            raise StaleVersionError("cut-off of guest tokens", key) from None

    def _owned(self, unit: UnitOfWork, dashboard_id: int) -> Dashboard:
        dashboard = unit.dashboards.get(dashboard_id)
        self._runtime.policy.require_embed(self._actor, dashboard)
        return dashboard

    def _answer(self, record: EmbeddedDashboard) -> EmbeddedDashboardGet:
        return _embedded_answer(record, read_users(self._runtime.people, (record.audit.changed_by,)))


def _check_subject(subject: object) -> None:
    """Refuse what no guest is called: nothing would be revoked, and nobody told."""
    if not isinstance(subject, str) or not subject:
        message = "must be the username of a guest; those who were minted without one are called guest_user"
        raise payload_error(_REVOKE, "subject", message)
    parse(GuestUser, {"username": subject}, shape=_REVOKE)


def _read_domains(payload: EmbeddedDashboardConfig | Payload) -> tuple[str, ...]:
    """Return the domains of a payload as origins, each once."""
    config = parse(EmbeddedDashboardConfig, payload, shape=_CONFIG)
    if len(config.allowed_domains) > _MOST_DOMAINS:  # each request of a guest compares them
        raise payload_error(_CONFIG, "allowed_domains", f"may name {_MOST_DOMAINS} domains at most")
    origins = [read_origin(domain) for domain in config.allowed_domains]
    problems = [
        Problem(
            path=f"allowed_domains.{position}",
            message="must be an origin: http or https, a host and perhaps a port, for example https://shop.example",
        )
        for position, origin in enumerate(origins)
        if origin is None
    ]
    if problems:
        raise PayloadSchemaError(shape=_CONFIG, problems=problems)
    return tuple(dict.fromkeys(origin for origin in origins if origin is not None))


def _embedded_answer(record: EmbeddedDashboard, people: UserIndex) -> EmbeddedDashboardGet:
    changed_by = people.details(record.audit.changed_by)
    return answer_as(EmbeddedDashboardGet, record, dashboard_id=str(record.dashboard_id), changed_by=changed_by)
