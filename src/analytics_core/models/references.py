"""How one record names another (contract, Shared reference objects)."""

from __future__ import annotations

from typing import Annotated

from pydantic import StringConstraints

from analytics_core.models.base import Answer, JsonText, Omittable, StrictShape, Text64, Text250, Whole
from analytics_core.models.enums import TagType

Text500 = Annotated[str, StringConstraints(max_length=500)]


class UserNames(Answer):
    """A user by their names."""

    first_name: Text64
    last_name: Text64


class UserReference(Answer):
    """A user by id and names."""

    id: Whole = 0
    first_name: Text64
    last_name: Text64


class RoleReference(Answer):
    """A role by id and name."""

    id: Whole = 0
    name: Text64


class TagReference(StrictShape):
    """A tag; also an item of a chart's `tags` in an update."""

    id: Omittable[Whole] = None
    name: Text250 | None = None
    type: Omittable[TagType] = None


class DashboardReference(Answer):
    """A dashboard by id and title."""

    id: Whole = 0
    dashboard_title: Text500 | None = None


class DashboardReferenceWithMetadata(DashboardReference):
    """A dashboard as a chart shows it."""

    json_metadata: JsonText | None = None


class DatasetReference(Answer):
    """The dataset of a chart in a list (contract, chart list field `table`)."""

    default_endpoint: str | None = None
    table_name: Text250
