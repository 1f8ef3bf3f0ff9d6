"""The history of the metadata store's tables: Alembic revisions, run forward by `_content.storage.migrate`.

Each revision in `versions` has `upgrade(op)`; it is handed its operations, so no global state is involved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import inspect

if TYPE_CHECKING:
    from alembic.operations import Operations


def made_columns(op: Operations, table: str) -> set[str]:
    """Return the columns of a table, which a run that MariaDB cut off may have added; none where SQL is written."""
    return set() if op.get_context().as_sql else {one["name"] for one in inspect(op.get_bind()).get_columns(table)}


def made_indexes(op: Operations, table: str) -> set[str | None]:
    """Return the indexes of a table, likewise; MySQL has no IF NOT EXISTS for indexes."""
    return set() if op.get_context().as_sql else {one["name"] for one in inspect(op.get_bind()).get_indexes(table)}
