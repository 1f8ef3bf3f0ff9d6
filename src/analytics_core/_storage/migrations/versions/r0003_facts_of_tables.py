"""Datasets know the primary key of their table, and of their columns the indexes and collations.

Revision ID: 0003
Revises: 0002

Of datasets that are there already none is known until they are refreshed.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic.operations import Operations

from analytics_core._storage.column_types import LongText

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade(op: Operations) -> None:
    """Add the columns; those that a run cut off on MariaDB had added already are left as they are."""
    _add(op, "ac_datasets", sa.Column("primary_key", LongText()))
    _add(op, "ac_dataset_columns", sa.Column("leads_index", sa.Boolean()))
    _add(op, "ac_dataset_columns", sa.Column("collation", LongText(), quote=True))


def _add(op: Operations, table: str, column: sa.Column[object]) -> None:
    known = {found["name"] for found in sa.inspect(op.get_bind()).get_columns(table)}
    if column.name not in known:
        op.add_column(table, column)
