"""Turns what databases tell of engines and tables into answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from analytics_core._content.databases.records import engine_information
from analytics_core._engine.engines.spec import EngineSpec
from analytics_core._engine.execution.drivers import install_command, is_installed
from analytics_core._engine.gate.metadata import FoundColumn
from analytics_core._engine.gate.tables import FoundTable, SampledRows
from analytics_core.models.table import (
    DatabaseEngine,
    DatabaseTableDetails,
    TableColumnDetails,
    TableForeignKey,
    TableIndexDetails,
    TableSample,
)


def database_engine(spec: EngineSpec) -> DatabaseEngine:
    """Return an engine that databases may have."""
    installed = is_installed(spec)
    return DatabaseEngine(
        engine=spec.name,
        label=spec.label,
        drivers=spec.drivers,
        default_driver=spec.drivers[0] if spec.drivers else None,
        is_installed=installed,
        install=None if installed else install_command(spec),
        parameters=spec.parameters.names,
        required_parameters=spec.parameters.required,
        engine_information=engine_information(spec),
    )


def table_details(database_id: int, table: str, schema: str | None, found: FoundTable) -> DatabaseTableDetails:
    """Return the structure of a table."""
    details = found.details
    return DatabaseTableDetails(
        database_id=database_id,
        schema=schema,
        table_name=table,
        comment=details.comment,
        columns=_columns(found.columns, defaults=details.defaults, comments=details.comments),
        primary_key=details.primary_key,
        foreign_keys=tuple(
            TableForeignKey(
                name=key.name,
                columns=key.columns,
                schema=key.schema,
                table_name=key.table,
                referred_columns=key.referred_columns,
            )
            for key in details.foreign_keys
        ),
        indexes=tuple(
            TableIndexDetails(name=index.name, columns=index.columns, is_unique=index.is_unique)
            for index in details.indexes
        ),
        select_star=found.select_star,
    )


def table_sample(database_id: int, table: str, schema: str | None, sampled: SampledRows) -> TableSample:
    """Return the first rows of a table."""
    from analytics_core._engine.results.rows import records

    return TableSample(
        database_id=database_id,
        schema=schema,
        table_name=table,
        columns=_columns(sampled.columns),
        data=tuple(records(sampled.frame)),
        has_more=sampled.was_cut,
    )


def _columns(
    found: Iterable[FoundColumn],
    *,
    defaults: Mapping[str, str] | None = None,
    comments: Mapping[str, str] | None = None,
) -> tuple[TableColumnDetails, ...]:
    return tuple(
        TableColumnDetails(
            column_name=column.name,
            type=column.type,
            nullable=column.nullable,
            default=(defaults or {}).get(column.name),
            comment=(comments or {}).get(column.name),
        )
        for column in found
    )
