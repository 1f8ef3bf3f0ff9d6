"""Shapes of embedded dashboards and guest tokens (contract, section Embedded dashboard; Guest token request)."""

from __future__ import annotations

from enum import StrEnum

from analytics_core.models.base import Answer, Moment, Omittable, StrictShape, Text64, Texts, UuidText, Whole
from analytics_core.models.references import UserDetails


class EmbeddedDashboardConfig(StrictShape):
    """The domains that may embed a dashboard; an empty list allows all (contract, `EmbeddedDashboardConfig`)."""

    allowed_domains: Texts


class EmbeddedDashboardGet(Answer):
    """How a dashboard is embedded (contract, `EmbeddedDashboardResponseSchema`)."""

    uuid: str | None = None
    dashboard_id: str | None = None
    allowed_domains: Texts = ()
    changed_on: Moment | None = None
    changed_by: UserDetails | None = None


class EmbeddedDashboardUuid(Answer):
    """The uuid of an embedded dashboard (contract, `EmbeddedDashboardRestApi.get` and `.get_list`)."""

    uuid: UuidText | None = None


class EmbeddedDashboardUuidPayload(StrictShape):
    """The uuid of an embedded dashboard in a payload (contract, `EmbeddedDashboardRestApi.post` and `.put`)."""

    uuid: Omittable[UuidText] = None


class AvailableDomains(Answer):
    """The domains that the service answers on (contract, `AvailableDomainsSchema`)."""

    domains: Texts = ()


class GuestResourceType(StrEnum):
    """What a guest token opens."""

    DASHBOARD = "dashboard"


class GuestResource(StrictShape):
    """What a guest may see: an embedded dashboard by uuid, or a dashboard by id as text.

    The contract names this shape, `Resource`, and does not show it.
    """

    type: GuestResourceType
    id: str


class GuestRowRule(StrictShape):
    """A SQL condition on what the guest sees of a dataset, or without `dataset` of all.

    The contract names this shape, `RlsRule`, and does not show it.
    """

    clause: str
    dataset: Whole | None = None


class GuestUser(StrictShape):
    """The guest as the host knows them. The contract names this shape, `User2`, and does not show it."""

    username: Omittable[Text64] = None
    first_name: Omittable[Text64] = None
    last_name: Omittable[Text64] = None


class GuestTokenCreate(StrictShape):
    """What a guest token grants, and to whom (contract, `GuestTokenCreate`)."""

    resources: tuple[GuestResource, ...]
    rls: tuple[GuestRowRule, ...]
    user: Omittable[GuestUser] = None
