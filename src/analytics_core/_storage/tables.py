"""The tables of the metadata store as they are now; how they came to be is in `migrations`.

Names begin with `ac_`, so that a host may keep the store in a database of its own tables. Columns are named like the
fields of the records. User ids are no foreign keys where a host's own user directory may have given them.
"""

from __future__ import annotations

from sqlalchemy import Boolean, Column, ForeignKey, Index, Integer, MetaData, Table, UniqueConstraint
from sqlalchemy.schema import SchemaItem

from analytics_core._storage.column_types import LongText, Name, UtcMoment

METADATA = MetaData()


def record_table(name: str, *items: SchemaItem) -> Table:
    """Return a table with an id that is never given twice (grants name ids) and the audit columns."""
    return Table(
        name,
        METADATA,
        Column("id", Integer, primary_key=True, autoincrement=True),
        *(item for item in items if not isinstance(item, Index)),
        Column("created_on", UtcMoment, nullable=False),
        Column("changed_on", UtcMoment, nullable=False),
        Column("created_by", Integer),
        Column("changed_by", Integer),
        Column("version", Integer, nullable=False),
        *(item for item in items if isinstance(item, Index)),  # they may be of audit columns too
        sqlite_autoincrement=True,
    )


def _item_table(name: str, *items: SchemaItem) -> Table:
    """Return a table of the columns or metrics of datasets; `position` keeps their order."""
    return Table(
        name,
        METADATA,
        Column("id", Integer, primary_key=True, autoincrement=True),
        Column(
            "dataset_id", ForeignKey("ac_datasets.id", ondelete="CASCADE", name=f"fk_{name}_dataset"), nullable=False
        ),
        Column("position", Integer, nullable=False),
        *items,
        Column("created_on", UtcMoment, nullable=False),
        Column("changed_on", UtcMoment, nullable=False),
        Index(f"ix_{name}_dataset", "dataset_id"),
        sqlite_autoincrement=True,
    )


def owner_table(name: str, *, parent: str, parent_table: str) -> Table:
    """Return a table of who owns the records of `parent_table`."""
    return Table(
        name,
        METADATA,
        Column(
            parent,
            ForeignKey(f"{parent_table}.id", ondelete="CASCADE", name=f"fk_{name}_{parent}"),
            primary_key=True,
            autoincrement=False,
        ),
        Column("user_id", Integer, primary_key=True, autoincrement=False),
        Index(f"ix_{name}_user", "user_id"),
    )


USERS = record_table(
    "ac_users",
    Column("username", Name(), nullable=False),
    Column("first_name", Name(), nullable=False),
    Column("last_name", Name(), nullable=False),
    Column("email", Name()),
    Column("active", Boolean, nullable=False),
    Column("attributes", LongText, nullable=False),
    UniqueConstraint("username", name="uq_ac_users_username"),
)

ROLES = record_table(
    "ac_roles",
    Column("name", Name(), nullable=False),
    Column("is_admin", Boolean, nullable=False),
    UniqueConstraint("name", name="uq_ac_roles_name"),
)

USER_ROLES = Table(
    "ac_user_roles",
    METADATA,
    Column(
        "user_id",
        ForeignKey("ac_users.id", ondelete="CASCADE", name="fk_ac_user_roles_user"),
        primary_key=True,
        autoincrement=False,
    ),
    Column("role_id", ForeignKey("ac_roles.id", name="fk_ac_user_roles_role"), primary_key=True, autoincrement=False),
    Index("ix_ac_user_roles_role", "role_id"),
)

ROLE_GRANTS = Table(
    "ac_role_grants",
    METADATA,
    Column(
        "role_id",
        ForeignKey("ac_roles.id", ondelete="CASCADE", name="fk_ac_role_grants_role"),
        primary_key=True,
        autoincrement=False,
    ),
    Column("target", Name(20), primary_key=True),
    Column("target_id", Integer, primary_key=True, autoincrement=False),
    Column("schema", Name(255), primary_key=True),
    Index("ix_ac_role_grants_target", "target", "target_id"),
)

DATABASES = record_table(
    "ac_databases",
    Column("uuid", Name(36), nullable=False),
    Column("database_name", Name(), nullable=False),
    Column("uri", LongText, nullable=False),
    Column("engine", Name(), nullable=False),
    Column("driver", Name()),
    Column("configuration_method", Name(), nullable=False),
    Column("expose_in_sqllab", Boolean, nullable=False),
    Column("allow_ctas", Boolean, nullable=False),
    Column("allow_cvas", Boolean, nullable=False),
    Column("allow_dml", Boolean, nullable=False),
    Column("allow_file_upload", Boolean, nullable=False),
    Column("allow_run_async", Boolean, nullable=False),
    Column("impersonate_user", Boolean, nullable=False),
    Column("force_ctas_schema", Name()),
    Column("cache_timeout", Integer),
    Column("extra", LongText),
    Column("ssh_tunnel", LongText),
    Column("external_url", LongText),
    Column("is_managed_externally", Boolean, nullable=False),
    UniqueConstraint("uuid", name="uq_ac_databases_uuid"),
    UniqueConstraint("database_name", name="uq_ac_databases_database_name"),
)

DATASETS = record_table(
    "ac_datasets",
    Column("uuid", Name(36), nullable=False),
    Column("database_id", ForeignKey("ac_databases.id", name="fk_ac_datasets_database"), nullable=False),
    Column("catalog", Name(), nullable=False),
    Column("schema", Name(255), nullable=False),
    Column("table_name", Name(), nullable=False),
    Column("table_key", Name(32), nullable=False, server_default=""),
    Column("sql", LongText),
    Column("description", LongText),
    Column("extra", LongText),
    Column("default_endpoint", LongText),
    Column("fetch_values_predicate", LongText),
    Column("filter_select_enabled", Boolean, nullable=False),
    Column("is_sqllab_view", Boolean, nullable=False),
    Column("is_managed_externally", Boolean, nullable=False),
    Column("external_url", LongText),
    Column("main_dttm_col", Name(255)),
    Column("always_filter_main_dttm", Boolean, nullable=False),
    Column("offset", Integer, nullable=False),
    Column("cache_timeout", Integer),
    Column("template_params", LongText),
    Column("primary_key", LongText),
    UniqueConstraint("uuid", name="uq_ac_datasets_uuid"),
    UniqueConstraint("database_id", "catalog", "schema", "table_name", name="uq_ac_datasets_table_name"),
    Index("ix_ac_datasets_table", "table_name"),
    Index("ix_ac_datasets_key", "database_id", "table_key"),
    Index("ix_ac_datasets_changed", "changed_on"),
)

DATASET_COLUMNS = _item_table(
    "ac_dataset_columns",
    Column("uuid", Name(36)),
    Column("column_name", Name(255), nullable=False),
    Column("verbose_name", LongText),
    Column("description", LongText),
    Column("expression", LongText),
    Column("extra", LongText),
    Column("type", LongText),
    Column("advanced_data_type", Name(255)),
    Column("python_date_format", Name(255)),
    Column("filterable", Boolean, nullable=False),
    Column("groupby", Boolean, nullable=False),
    Column("is_active", Boolean, nullable=False),
    Column("is_dttm", Boolean, nullable=False),
    Column("nullable", Boolean),
    Column("leads_index", Boolean),
    Column("collation", LongText, quote=True),
    Column("stored_type", LongText),
)

DATASET_METRICS = _item_table(
    "ac_dataset_metrics",
    Column("uuid", Name(36)),
    Column("metric_name", Name(255), nullable=False),
    Column("expression", LongText, nullable=False),
    Column("verbose_name", LongText),
    Column("description", LongText),
    Column("metric_type", Name(32)),
    Column("d3format", Name(128)),
    Column("currency", Name(128)),
    Column("warning_text", LongText),
    Column("extra", LongText),
)

DATASET_OWNERS = owner_table("ac_dataset_owners", parent="dataset_id", parent_table="ac_datasets")

CHARTS = record_table(
    "ac_charts",
    Column("uuid", Name(36), nullable=False),
    Column("slice_name", Name(), nullable=False),
    Column("viz_type", Name()),
    Column("datasource_id", Integer),
    Column("datasource_type", Name(200)),
    Column("datasource_name", LongText),
    Column("description", LongText),
    Column("cache_timeout", Integer),
    Column("certified_by", LongText),
    Column("certification_details", LongText),
    Column("params", LongText),
    Column("query_context", LongText),
    Column("query_context_generation", Boolean),
    Column("external_url", LongText),
    Column("is_managed_externally", Boolean, nullable=False),
    Column("last_saved_at", UtcMoment),
    Column("last_saved_by", Integer),
    UniqueConstraint("uuid", name="uq_ac_charts_uuid"),
    Index("ix_ac_charts_datasource", "datasource_id"),
    Index("ix_ac_charts_name", "slice_name"),
    Index("ix_ac_charts_changed", "changed_on"),
)

CHART_OWNERS = owner_table("ac_chart_owners", parent="chart_id", parent_table="ac_charts")
