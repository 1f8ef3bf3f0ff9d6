"""Row rules are found by their type: those of Base bind people whom they do not name.

Revision ID: 0103
Revises: 0102
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic.operations import Operations

revision = "0103"
down_revision = "0102"
branch_labels = None
depends_on = None


def upgrade(op: Operations) -> None:
    """Make the index, unless a run cut off on MariaDB had made it already."""
    known = {found["name"] for found in sa.inspect(op.get_bind()).get_indexes("ac_row_rules")}
    if "ix_ac_row_rules_type" not in known:
        op.create_index("ix_ac_row_rules_type", "ac_row_rules", ["filter_type"])
