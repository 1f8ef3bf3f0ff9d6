"""Columns of datasets know whether the database stores them, and as which type.

Revision ID: 0005
Revises: 0004

Of columns that are there already nothing is known until their dataset is refreshed: they count as computed.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic.operations import Operations

from analytics_core._storage.column_types import LongText

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade(op: Operations) -> None:
    """Add the column, unless a run cut off on MariaDB had added it already."""
    known = {found["name"] for found in sa.inspect(op.get_bind()).get_columns("ac_dataset_columns")}
    if "stored_type" not in known:
        op.add_column("ac_dataset_columns", sa.Column("stored_type", LongText()))
