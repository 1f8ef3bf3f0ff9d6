"""Turns what uploads wrote, and what files hold, into answers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from analytics_core._engine.files.reading import FilePart
from analytics_core._engine.files.table import FileColumn
from analytics_core._engine.gate.uploads import WrittenTable
from analytics_core.models.enums import FileKind
from analytics_core.models.table import FilePartMetadata, UploadedColumn, UploadedTable, UploadFileMetadata


def uploaded_table(database_id: int, uploaded: WrittenTable) -> UploadedTable:
    """Return what an upload wrote, as callers get it."""
    return UploadedTable(
        database_id=database_id,
        schema=uploaded.schema,
        table_name=uploaded.table,
        rows=uploaded.rows,
        columns=_uploaded_columns(uploaded.columns),
        notes=uploaded.notes,
    )


def upload_file_metadata(kind: FileKind, parts: Iterable[FilePart]) -> UploadFileMetadata:
    """Return what a file holds, as callers get it."""
    items = (
        FilePartMetadata(
            sheet_name=part.sheet,
            column_names=tuple(column.name for column in part.columns),
            columns=_uploaded_columns(part.columns),
            notes=part.notes,
        )
        for part in parts
    )
    return UploadFileMetadata(type=kind, items=tuple(items))


def _uploaded_columns(columns: Iterable[FileColumn]) -> tuple[UploadedColumn, ...]:
    return tuple(
        UploadedColumn(column_name=column.name, header=column.header, type=str(column.type)) for column in columns
    )


def upload_details(database_id: int, uploaded: WrittenTable) -> dict[str, Any]:
    """Return what the log says of an upload."""
    place = {"database_id": database_id, "schema": uploaded.schema, "table": uploaded.table}
    return {**place, "rows": uploaded.rows, "columns": len(uploaded.columns)}
