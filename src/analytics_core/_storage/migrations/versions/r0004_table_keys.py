"""The key by which datasets over a table are found, so that row rules are read by an index.

Revision ID: 0004
Revises: 0003
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic.operations import Operations

from analytics_core._security.row_rules import ANY_TABLE, TableName, table_key
from analytics_core._storage.column_types import Name

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade(op: Operations) -> None:
    """Add the column, fill it, and index it; what a run cut off on MariaDB had made already is left as it is."""
    known = sa.inspect(op.get_bind())
    if "table_key" not in {column["name"] for column in known.get_columns("ac_datasets")}:
        op.add_column("ac_datasets", sa.Column("table_key", Name(32), nullable=False, server_default=""))
    _fill(op)
    if "ix_ac_datasets_key" not in {index["name"] for index in known.get_indexes("ac_datasets")}:
        op.create_index("ix_ac_datasets_key", "ac_datasets", ["database_id", "table_key"])


def _fill(op: Operations) -> None:
    datasets = sa.table("ac_datasets", *map(sa.column, ("id", "table_name", "sql", "table_key")))
    connection = op.get_bind()
    rows = connection.execute(sa.select(datasets.c.id, datasets.c.table_name, datasets.c.sql)).all()
    keys = [
        {"dataset": row.id, "made": table_key(TableName(table=row.table_name)) or ANY_TABLE}
        for row in rows
        if not row.sql
    ]
    if keys:
        changed = sa.update(datasets).where(datasets.c.id == sa.bindparam("dataset"))
        connection.execute(changed.values(table_key=sa.bindparam("made")), keys)
