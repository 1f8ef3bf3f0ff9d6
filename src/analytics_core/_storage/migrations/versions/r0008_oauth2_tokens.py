"""OAuth 2.0 tokens of users for databases, and what is secret of the options of a database.

Revision ID: 0008
Revises: 0007

Everything here is written out, so that later changes of the tables do not change what this revision makes.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic.operations import Operations

from analytics_core._storage.column_types import LongText, Name, UtcMoment

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade(op: Operations) -> None:
    """Add the column and the table; what a run cut off on MariaDB had made already is left as it is."""
    known = sa.inspect(op.get_bind())
    if "secret_extra" not in {column["name"] for column in known.get_columns("ac_databases")}:
        op.add_column("ac_databases", sa.Column("secret_extra", LongText()))
    _create_tokens(op)


def _create_tokens(op: Operations) -> None:
    database = sa.ForeignKey("ac_databases.id", name="fk_ac_oauth2_tokens_database", ondelete="CASCADE")
    op.create_table(
        "ac_oauth2_tokens",
        sa.Column("id", sa.Integer(), primary_key=True, autoincrement=True),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("database_id", sa.Integer(), database, nullable=False),
        sa.Column("client", Name(64), nullable=False),
        sa.Column("access_token", LongText()),
        sa.Column("access_token_expiration", UtcMoment()),
        sa.Column("refresh_token", LongText()),
        sa.Column("refresh_until", UtcMoment()),
        sa.Column("useless_after", UtcMoment()),
        sa.UniqueConstraint("database_id", "user_id", name="uq_ac_oauth2_tokens_user"),
        sa.Column("created_on", UtcMoment(), nullable=False),
        sa.Column("changed_on", UtcMoment(), nullable=False),
        sa.Column("created_by", sa.Integer()),
        sa.Column("changed_by", sa.Integer()),
        sa.Column("version", sa.Integer(), nullable=False),
        sqlite_autoincrement=True,
        if_not_exists=True,
    )
    made = {index["name"] for index in sa.inspect(op.get_bind()).get_indexes("ac_oauth2_tokens")}
    for name, column in {"user": "user_id", "useless": "useless_after"}.items():  # MySQL has no IF NOT EXISTS here
        if f"ix_ac_oauth2_tokens_{name}" not in made:
            op.create_index(f"ix_ac_oauth2_tokens_{name}", "ac_oauth2_tokens", [column])
