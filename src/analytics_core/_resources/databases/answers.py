"""Shows a stored database as the contract's shapes; no secret comes out.

`spec` is None for an engine that is not registered any more: its databases can still be seen, and removed.
"""

from __future__ import annotations

from typing import Any

from analytics_core._engines.guards import DatabaseFiles
from analytics_core._engines.spec import EngineSpec
from analytics_core._execution.connection_uri import masked
from analytics_core._records.datasource import Database
from analytics_core._resources.field_formatter import FieldFormatter
from analytics_core._resources.people.directory import UserIndex
from analytics_core._resources.stored_json import json_object
from analytics_core.models.database import DatabaseConnection, DatabaseGet, DatabaseListItem
from analytics_core.models.enums import ConfigurationMethod


def database_get(database: Database, *, spec: EngineSpec | None) -> DatabaseGet:
    """Return one database (contract, `DatabaseRestApi.get`)."""
    answer = DatabaseGet(
        **_flags(database),
        id=database.id,
        uuid=database.uuid,
        database_name=database.database_name,
        impersonate_user=database.impersonate_user,
        cache_timeout=database.cache_timeout,
        configuration_method=database.configuration_method,
        force_ctas_schema=database.force_ctas_schema,
        is_managed_externally=database.is_managed_externally,
        backend=database.engine,
        driver=database.driver,
        engine_information=_engine_information(spec),
    )
    return answer.stamped(database.audit.changed_on)


def database_item(
    database: Database, *, spec: EngineSpec | None, people: UserIndex, readable: FieldFormatter
) -> DatabaseListItem:
    """Return one database of a list (contract, `DatabaseRestApi.get_list`)."""
    options = json_object(database.extra)
    explored = options.get("explore_database_id")
    return DatabaseListItem(
        **_flags(database),
        id=database.id,
        uuid=database.uuid,
        database_name=database.database_name,
        impersonate_user=database.impersonate_user,
        extra=database.extra,
        force_ctas_schema=database.force_ctas_schema,
        changed_on=database.audit.changed_on,
        created_by=people.names(database.audit.created_by),
        allows_cost_estimate=spec is not None and spec.allows_cost_estimate,
        allows_subquery=spec is not None and spec.allows_subqueries,
        allows_virtual_table_explore=options.get("allows_virtual_table_explore", True) is not False,
        backend=database.engine,
        changed_on_delta_humanized=readable.delta(database.audit.changed_on),
        disable_data_preview=options.get("disable_data_preview", False) is True,
        engine_information=_engine_information(spec),
        explore_database_id=explored if type(explored) is int else database.id,
    )


def database_connection(database: Database, *, spec: EngineSpec | None) -> DatabaseConnection:
    """Return a database with its URI, secrets masked (contract, `DatabaseConnectionSchema`)."""
    return DatabaseConnection(
        **_flags(database),
        database_name=database.database_name,
        orm_uri=masked(database.uri),
        driver=database.driver,
        configuration_method=ConfigurationMethod(database.configuration_method),
        cache_timeout=database.cache_timeout,
        extra=database.extra,
        ssh_tunnel=None,
        uuid=database.uuid,
        external_url=database.external_url,
        backend=database.engine,
        engine_information=_engine_information(spec),
    )


def _flags(database: Database) -> dict[str, bool]:
    return {
        "expose_in_sqllab": database.expose_in_sqllab,
        "allow_ctas": database.allow_ctas,
        "allow_cvas": database.allow_cvas,
        "allow_dml": database.allow_dml,
        "allow_file_upload": database.allow_file_upload,
        "allow_run_async": database.allow_run_async,
    }


def _engine_information(spec: EngineSpec | None) -> dict[str, Any]:
    opens_files = spec is not None and spec.guards.database_files is not DatabaseFiles.NONE
    return {"supports_file_upload": False, "disable_ssh_tunneling": opens_files}
