"""Jobs carry the trace in which they were submitted.

Revision ID: 0102
Revises: 0101
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic.operations import Operations

from analytics_core._content.storage.column_types import Name
from analytics_core._content.storage.migrations import made_columns

revision = "0102"
down_revision = "0101"
branch_labels = None
depends_on = None


def upgrade(op: Operations) -> None:
    """Add the column, unless a run cut off on MariaDB had added it already."""
    if "traceparent" not in made_columns(op, "ac_jobs"):
        op.add_column("ac_jobs", sa.Column("traceparent", Name(64)))
