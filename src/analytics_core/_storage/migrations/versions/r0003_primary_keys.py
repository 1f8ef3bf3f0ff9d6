"""Datasets know the primary key of their table.

Revision ID: 0003
Revises: 0002

Of datasets that are there already no key is known until they are refreshed.
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
    """Add the column; one that a run cut off on MariaDB had added already is left as it is."""
    known = {column["name"] for column in sa.inspect(op.get_bind()).get_columns("ac_datasets")}
    if "primary_key" not in known:
        op.add_column("ac_datasets", sa.Column("primary_key", LongText()))
