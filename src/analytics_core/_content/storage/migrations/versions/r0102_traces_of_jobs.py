"""Jobs carry the trace in which they were submitted.

Revision ID: 0102
Revises: 0101
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic.operations import Operations

from analytics_core._content.storage.column_types import Name

revision = "0102"
down_revision = "0101"
branch_labels = None
depends_on = None


def upgrade(op: Operations) -> None:
    """Add the column, unless a run cut off on MariaDB had added it already."""
    known = {found["name"] for found in sa.inspect(op.get_bind()).get_columns("ac_jobs")}
    if "traceparent" not in known:
        op.add_column("ac_jobs", sa.Column("traceparent", Name(64)))
