"""How one record names another (contract, Shared reference objects)."""

from __future__ import annotations

from analytics_core.models.base import Answer, Integer, JsonText, Omittable, StrictShape, Text64, Text250, Text500
from analytics_core.models.enums import TagType


class UserNames(Answer):
    """A user by their names."""

    first_name: Text64
    last_name: Text64


class UserReference(Answer):
    """A user by id and names."""

    id: Integer = 0
    first_name: Text64
    last_name: Text64


class UserFirstName(Answer):
    """A user by id and first name, as annotations show them."""

    first_name: Text64
    id: Integer = 0


class UserDetails(UserReference):
    """A user by id, names and, where it is shown, user name (contract, user reference)."""

    username: Omittable[Text64] = None


class RoleReference(Answer):
    """A role by id and name."""

    id: Integer = 0
    name: Text64


class TagReference(StrictShape):
    """A tag; also an item of a chart's `tags` in an update."""

    id: Omittable[Integer] = None
    name: Text250 | None = None
    type: Omittable[TagType] = None


class DashboardReference(Answer):
    """A dashboard by id and title."""

    id: Integer = 0
    dashboard_title: Text500 | None = None


class DashboardReferenceWithMetadata(DashboardReference):
    """A dashboard as a chart shows it."""

    json_metadata: JsonText | None = None


class DatasetReference(Answer):
    """The dataset of a chart in a list (contract, chart list field `table`)."""

    default_endpoint: str | None = None
    table_name: Text250


class OnlyId(Answer):
    """A record of which the contract shows the id alone."""

    id: Integer = 0


class OnlyIdPayload(StrictShape):
    """A payload for which the contract shows the id alone."""

    id: Omittable[Integer] = None
