"""Shows a stored database as the contract's shapes; no secret comes out.

`spec` is None for an engine that is not registered any more: its databases can still be seen, and removed.
"""

from __future__ import annotations

from typing import Any

from analytics_core._engines.guards import DatabaseFiles
from analytics_core._engines.spec import EngineSpec
from analytics_core._execution.connection_uri import masked
from analytics_core._records.datasource import Database
from analytics_core._resources.field_formatter import FieldFormatter, shown_as
from analytics_core._resources.people.directory import UserIndex
from analytics_core._resources.stored_json import json_object
from analytics_core.models.database import DatabaseConnection, DatabaseGet, DatabaseListItem
from analytics_core.models.dataset import DatabaseSummary
from analytics_core.models.enums import ConfigurationMethod


def database_get(database: Database, *, spec: EngineSpec | None) -> DatabaseGet:
    """Return one database (contract, `DatabaseRestApi.get`)."""
    return shown_as(DatabaseGet, database, backend=database.engine, engine_information=_engine_information(spec))


def database_item(
    database: Database, *, spec: EngineSpec | None, people: UserIndex, readable: FieldFormatter
) -> DatabaseListItem:
    """Return one database of a list (contract, `DatabaseRestApi.get_list`)."""
    return shown_as(
        DatabaseListItem,
        database,
        **_explore_options(database),
        created_by=people.names(database.audit.created_by),
        allows_cost_estimate=spec is not None and spec.allows_cost_estimate,
        allows_subquery=spec is not None and spec.allows_subqueries,
        backend=database.engine,
        changed_on_delta_humanized=readable.delta(database.audit.changed_on),
        engine_information=_engine_information(spec),
    )


def database_connection(database: Database, *, spec: EngineSpec | None) -> DatabaseConnection:
    """Return a database with its URI, secrets masked (contract, `DatabaseConnectionSchema`)."""
    return shown_as(
        DatabaseConnection,
        database,
        orm_uri=masked(database.uri),
        configuration_method=ConfigurationMethod(database.configuration_method),
        ssh_tunnel=None,
        backend=database.engine,
        engine_information=_engine_information(spec),
    )


def database_summary(database: Database, spec: EngineSpec) -> DatabaseSummary:
    """Return what a page needs to know of the database behind a dataset."""
    return DatabaseSummary(
        id=database.id,
        name=database.database_name,
        backend=database.engine,
        allows_cost_estimate=spec.allows_cost_estimate,
        allows_subquery=spec.allows_subqueries,
        disable_drill_to_detail=json_object(database.extra).get("disable_drill_to_detail", False) is True,
        **_explore_options(database),
    )


def _explore_options(database: Database) -> dict[str, Any]:
    """Return what the `extra` of a database says of exploring it."""
    options = json_object(database.extra)
    explored = options.get("explore_database_id")
    return {
        "allows_virtual_table_explore": options.get("allows_virtual_table_explore", True) is not False,
        "disable_data_preview": options.get("disable_data_preview", False) is True,
        "explore_database_id": explored if type(explored) is int else database.id,
    }


def _engine_information(spec: EngineSpec | None) -> dict[str, Any]:
    opens_files = spec is not None and spec.guards.database_files is not DatabaseFiles.NONE
    return {"supports_file_upload": False, "disable_ssh_tunneling": opens_files}
