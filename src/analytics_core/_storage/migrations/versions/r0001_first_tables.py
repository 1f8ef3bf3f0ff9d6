"""The first tables: users, roles, databases, datasets and charts.

Revision ID: 0001
Revises: none

Everything here is written out, so that later changes of `tables.py` do not change what this revision makes.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic.operations import Operations

from analytics_core._storage.column_types import LongText, Name, UtcMoment

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade(op: Operations) -> None:
    """Make the tables; those that a run cut off on MariaDB had made already are left as they are."""
    _create_users(op)
    _create_roles(op)
    _create_user_roles(op)
    _create_role_grants(op)
    _create_databases(op)
    _create_datasets(op)
    _create_dataset_columns(op)
    _create_dataset_metrics(op)
    _create_dataset_owners(op)
    _create_charts(op)
    _create_chart_owners(op)


def _id() -> sa.Column[int]:
    return sa.Column("id", sa.Integer(), primary_key=True, autoincrement=True)


def _audit() -> tuple[sa.Column[object], ...]:
    return (
        sa.Column("created_on", UtcMoment(), nullable=False),
        sa.Column("changed_on", UtcMoment(), nullable=False),
        sa.Column("created_by", sa.Integer()),
        sa.Column("changed_by", sa.Integer()),
        sa.Column("version", sa.Integer(), nullable=False),
    )


def _create_index(op: Operations, name: str, table: str, columns: list[str]) -> None:
    """Make an index unless it is there; MySQL has no IF NOT EXISTS for indexes."""
    if name not in {index["name"] for index in sa.inspect(op.get_bind()).get_indexes(table)}:
        op.create_index(name, table, columns)


def _create_users(op: Operations) -> None:
    op.create_table(
        "ac_users",
        _id(),
        sa.Column("username", Name(250), nullable=False),
        sa.Column("first_name", Name(250), nullable=False),
        sa.Column("last_name", Name(250), nullable=False),
        sa.Column("email", Name(250)),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.Column("attributes", LongText(), nullable=False),
        *_audit(),
        sa.UniqueConstraint("username", name="uq_ac_users_username"),
        sqlite_autoincrement=True,
        if_not_exists=True,
    )


def _create_roles(op: Operations) -> None:
    op.create_table(
        "ac_roles",
        _id(),
        sa.Column("name", Name(250), nullable=False),
        sa.Column("is_admin", sa.Boolean(), nullable=False),
        *_audit(),
        sa.UniqueConstraint("name", name="uq_ac_roles_name"),
        sqlite_autoincrement=True,
        if_not_exists=True,
    )


def _create_user_roles(op: Operations) -> None:
    op.create_table(
        "ac_user_roles",
        sa.Column(
            "user_id",
            sa.Integer(),
            sa.ForeignKey("ac_users.id", name="fk_ac_user_roles_user", ondelete="CASCADE"),
            primary_key=True,
            autoincrement=False,
        ),
        sa.Column(
            "role_id",
            sa.Integer(),
            sa.ForeignKey("ac_roles.id", name="fk_ac_user_roles_role"),
            primary_key=True,
            autoincrement=False,
        ),
        if_not_exists=True,
    )
    _create_index(op, "ix_ac_user_roles_role", "ac_user_roles", ["role_id"])


def _create_role_grants(op: Operations) -> None:
    op.create_table(
        "ac_role_grants",
        sa.Column(
            "role_id",
            sa.Integer(),
            sa.ForeignKey("ac_roles.id", name="fk_ac_role_grants_role", ondelete="CASCADE"),
            primary_key=True,
            autoincrement=False,
        ),
        sa.Column("target", Name(20), primary_key=True),
        sa.Column("target_id", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("schema", Name(255), primary_key=True),
        if_not_exists=True,
    )
    _create_index(op, "ix_ac_role_grants_target", "ac_role_grants", ["target", "target_id"])


def _create_databases(op: Operations) -> None:
    op.create_table(
        "ac_databases",
        _id(),
        sa.Column("uuid", Name(36), nullable=False),
        sa.Column("database_name", Name(250), nullable=False),
        sa.Column("uri", LongText(), nullable=False),
        sa.Column("engine", Name(250), nullable=False),
        sa.Column("driver", Name(250)),
        sa.Column("configuration_method", Name(250), nullable=False),
        sa.Column("expose_in_sqllab", sa.Boolean(), nullable=False),
        sa.Column("allow_ctas", sa.Boolean(), nullable=False),
        sa.Column("allow_cvas", sa.Boolean(), nullable=False),
        sa.Column("allow_dml", sa.Boolean(), nullable=False),
        sa.Column("allow_file_upload", sa.Boolean(), nullable=False),
        sa.Column("allow_run_async", sa.Boolean(), nullable=False),
        sa.Column("impersonate_user", sa.Boolean(), nullable=False),
        sa.Column("force_ctas_schema", Name(250)),
        sa.Column("cache_timeout", sa.Integer()),
        sa.Column("extra", LongText()),
        sa.Column("ssh_tunnel", LongText()),
        sa.Column("external_url", LongText()),
        sa.Column("is_managed_externally", sa.Boolean(), nullable=False),
        *_audit(),
        sa.UniqueConstraint("database_name", name="uq_ac_databases_database_name"),
        sa.UniqueConstraint("uuid", name="uq_ac_databases_uuid"),
        sqlite_autoincrement=True,
        if_not_exists=True,
    )


def _create_datasets(op: Operations) -> None:
    op.create_table(
        "ac_datasets",
        _id(),
        sa.Column("uuid", Name(36), nullable=False),
        sa.Column(
            "database_id",
            sa.Integer(),
            sa.ForeignKey("ac_databases.id", name="fk_ac_datasets_database"),
            nullable=False,
        ),
        sa.Column("catalog", Name(250), nullable=False),
        sa.Column("schema", Name(255), nullable=False),
        sa.Column("table_name", Name(250), nullable=False),
        sa.Column("sql", LongText()),
        sa.Column("description", LongText()),
        sa.Column("extra", LongText()),
        sa.Column("default_endpoint", LongText()),
        sa.Column("fetch_values_predicate", LongText()),
        sa.Column("filter_select_enabled", sa.Boolean(), nullable=False),
        sa.Column("is_sqllab_view", sa.Boolean(), nullable=False),
        sa.Column("is_managed_externally", sa.Boolean(), nullable=False),
        sa.Column("external_url", LongText()),
        sa.Column("main_dttm_col", Name(255)),
        sa.Column("always_filter_main_dttm", sa.Boolean(), nullable=False),
        sa.Column("offset", sa.Integer(), nullable=False),
        sa.Column("cache_timeout", sa.Integer()),
        sa.Column("template_params", LongText()),
        *_audit(),
        sa.UniqueConstraint("database_id", "catalog", "schema", "table_name", name="uq_ac_datasets_table_name"),
        sa.UniqueConstraint("uuid", name="uq_ac_datasets_uuid"),
        sqlite_autoincrement=True,
        if_not_exists=True,
    )


def _create_dataset_columns(op: Operations) -> None:
    op.create_table(
        "ac_dataset_columns",
        _id(),
        sa.Column(
            "dataset_id",
            sa.Integer(),
            sa.ForeignKey("ac_datasets.id", name="fk_ac_dataset_columns_dataset", ondelete="CASCADE"),
            nullable=False,
        ),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("uuid", Name(36)),
        sa.Column("column_name", Name(255), nullable=False),
        sa.Column("verbose_name", LongText()),
        sa.Column("description", LongText()),
        sa.Column("expression", LongText()),
        sa.Column("extra", LongText()),
        sa.Column("type", LongText()),
        sa.Column("advanced_data_type", Name(255)),
        sa.Column("python_date_format", Name(255)),
        sa.Column("filterable", sa.Boolean(), nullable=False),
        sa.Column("groupby", sa.Boolean(), nullable=False),
        sa.Column("is_active", sa.Boolean(), nullable=False),
        sa.Column("is_dttm", sa.Boolean(), nullable=False),
        sa.Column("nullable", sa.Boolean()),
        sa.Column("created_on", UtcMoment(), nullable=False),
        sa.Column("changed_on", UtcMoment(), nullable=False),
        sqlite_autoincrement=True,
        if_not_exists=True,
    )
    _create_index(op, "ix_ac_dataset_columns_dataset", "ac_dataset_columns", ["dataset_id"])


def _create_dataset_metrics(op: Operations) -> None:
    op.create_table(
        "ac_dataset_metrics",
        _id(),
        sa.Column(
            "dataset_id",
            sa.Integer(),
            sa.ForeignKey("ac_datasets.id", name="fk_ac_dataset_metrics_dataset", ondelete="CASCADE"),
            nullable=False,
        ),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("uuid", Name(36)),
        sa.Column("metric_name", Name(255), nullable=False),
        sa.Column("expression", LongText(), nullable=False),
        sa.Column("verbose_name", LongText()),
        sa.Column("description", LongText()),
        sa.Column("metric_type", Name(32)),
        sa.Column("d3format", Name(128)),
        sa.Column("currency", Name(128)),
        sa.Column("warning_text", LongText()),
        sa.Column("extra", LongText()),
        sa.Column("created_on", UtcMoment(), nullable=False),
        sa.Column("changed_on", UtcMoment(), nullable=False),
        sqlite_autoincrement=True,
        if_not_exists=True,
    )
    _create_index(op, "ix_ac_dataset_metrics_dataset", "ac_dataset_metrics", ["dataset_id"])


def _create_dataset_owners(op: Operations) -> None:
    op.create_table(
        "ac_dataset_owners",
        sa.Column(
            "dataset_id",
            sa.Integer(),
            sa.ForeignKey("ac_datasets.id", name="fk_ac_dataset_owners_dataset_id", ondelete="CASCADE"),
            primary_key=True,
            autoincrement=False,
        ),
        sa.Column("user_id", sa.Integer(), primary_key=True, autoincrement=False),
        if_not_exists=True,
    )
    _create_index(op, "ix_ac_dataset_owners_user", "ac_dataset_owners", ["user_id"])


def _create_charts(op: Operations) -> None:
    op.create_table(
        "ac_charts",
        _id(),
        sa.Column("uuid", Name(36), nullable=False),
        sa.Column("slice_name", Name(250), nullable=False),
        sa.Column("viz_type", Name(250)),
        sa.Column("datasource_id", sa.Integer()),
        sa.Column("datasource_type", Name(200)),
        sa.Column("datasource_name", LongText()),
        sa.Column("description", LongText()),
        sa.Column("cache_timeout", sa.Integer()),
        sa.Column("certified_by", LongText()),
        sa.Column("certification_details", LongText()),
        sa.Column("params", LongText()),
        sa.Column("query_context", LongText()),
        sa.Column("query_context_generation", sa.Boolean()),
        sa.Column("external_url", LongText()),
        sa.Column("is_managed_externally", sa.Boolean(), nullable=False),
        sa.Column("last_saved_at", UtcMoment()),
        sa.Column("last_saved_by", sa.Integer()),
        *_audit(),
        sa.UniqueConstraint("uuid", name="uq_ac_charts_uuid"),
        sqlite_autoincrement=True,
        if_not_exists=True,
    )
    _create_index(op, "ix_ac_charts_datasource", "ac_charts", ["datasource_id"])


def _create_chart_owners(op: Operations) -> None:
    op.create_table(
        "ac_chart_owners",
        sa.Column(
            "chart_id",
            sa.Integer(),
            sa.ForeignKey("ac_charts.id", name="fk_ac_chart_owners_chart_id", ondelete="CASCADE"),
            primary_key=True,
            autoincrement=False,
        ),
        sa.Column("user_id", sa.Integer(), primary_key=True, autoincrement=False),
        if_not_exists=True,
    )
    _create_index(op, "ix_ac_chart_owners_user", "ac_chart_owners", ["user_id"])
