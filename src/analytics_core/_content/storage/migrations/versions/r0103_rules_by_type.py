"""Row rules are found by their type: those of Base bind people whom they do not name.

Revision ID: 0103
Revises: 0102
"""

from __future__ import annotations

from alembic.operations import Operations

from analytics_core._content.storage.migrations import made_indexes

revision = "0103"
down_revision = "0102"
branch_labels = None
depends_on = None


def upgrade(op: Operations) -> None:
    """Make the index, unless a run cut off on MariaDB had made it already."""
    if "ix_ac_row_rules_type" not in made_indexes(op, "ac_row_rules"):
        op.create_index("ix_ac_row_rules_type", "ac_row_rules", ["filter_type"])
