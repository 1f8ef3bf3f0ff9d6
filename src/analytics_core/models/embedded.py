"""Shapes of embedded dashboards and guest tokens (contract, section Embedded dashboard; Guest token request)."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, StrictFloat, StrictInt, StrictStr, StringConstraints

from analytics_core.models.base import (
    Answer,
    Bool,
    Integer,
    Moment,
    Number,
    Omittable,
    StrictShape,
    Text64,
    Text250,
    Texts,
    UuidText,
)
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


_RuleValue = StrictStr | StrictInt | StrictFloat | tuple[StrictStr, ...]
"""A value that a rule binds: a text, a number, or a list of texts."""

_AttributeValue = Text250 | tuple[Text250, ...]


class GuestRowRule(StrictShape):
    """A SQL condition on what the guest sees of a dataset, or without `dataset` of all.

    `values` are bound where the clause says `{{ value('name') }}`. The contract names this shape, `RlsRule`, and does
    not show it.
    """

    clause: str
    dataset: Integer | None = None
    values: Omittable[dict[Text250, _RuleValue]] = None


class GuestUser(StrictShape):
    """The guest as the host knows them. The contract names this shape, `User2`, and does not show it.

    `attributes` are what `{{ current_user_attribute('name') }}` in row rules stands for.
    """

    username: Omittable[Text64] = None
    first_name: Omittable[Text64] = None
    last_name: Omittable[Text64] = None
    attributes: Omittable[dict[Text250, _AttributeValue]] = None


class GuestTokenCreate(StrictShape):
    """What a guest token grants, and to whom (contract, `GuestTokenCreate`)."""

    resources: tuple[GuestResource, ...]
    rls: tuple[GuestRowRule, ...]
    user: Omittable[GuestUser] = None


class GuestClaims(StrictShape):
    """What a guest token says; nothing may be missing and nothing is read that is not here.

    Times are seconds since 1970. `all_rows` true: no dataset needs a rule; a list: these datasets need none.
    """

    type: Literal["guest"]
    aud: str
    iat: Annotated[Number, Field(gt=0)]
    exp: Annotated[Number, Field(gt=0)]
    jti: Annotated[str, StringConstraints(min_length=16, max_length=64)]
    sub: Text64
    user: GuestUser
    resources: Annotated[tuple[GuestResource, ...], Field(min_length=1)]
    rls_rules: tuple[GuestRowRule, ...]
    all_rows: Bool | tuple[Integer, ...]
