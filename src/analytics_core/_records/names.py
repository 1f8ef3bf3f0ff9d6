"""Short names of records that other records mention, read together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from analytics_core._records.scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class NamesQuery:
    """Whose names are wanted, by id; `dashboards_of` are charts, of whose dashboards those of `dashboards` are wanted.

    `dashboards` and `among_datasets` are a scope or ids, None for all. `with_metadata` also reads the JSON text of the
    dashboards.
    """

    tags: frozenset[int] = frozenset()
    roles: frozenset[int] = frozenset()
    datasets: frozenset[int] = frozenset()
    among_datasets: frozenset[int] | Scope | None = None
    databases: frozenset[int] = frozenset()
    dashboards_of: frozenset[int] = frozenset()
    dashboards: frozenset[int] | Scope | None = None
    with_metadata: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TagName:
    """A tag; `type` is the contract's number."""

    id: int
    name: str
    type: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleName:
    """A role."""

    id: int
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetName:
    """A dataset."""

    id: int
    table_name: str
    default_endpoint: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseName:
    """A database."""

    id: int
    database_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DashboardName:
    """A dashboard; `json_metadata` is None where it was not asked for."""

    id: int
    dashboard_title: str | None
    json_metadata: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """The names found, by id; what does not exist is left out. `dashboards` go by the id of a chart, in their order."""

    tags: Mapping[int, TagName] = field(default_factory=dict)
    roles: Mapping[int, RoleName] = field(default_factory=dict)
    datasets: Mapping[int, DatasetName] = field(default_factory=dict)
    databases: Mapping[int, DatabaseName] = field(default_factory=dict)
    dashboards: Mapping[int, tuple[DashboardName, ...]] = field(default_factory=dict)
