"""The tables of the metadata store as they are now; how they came to be is in `migrations`.

Names begin with `ac_`, so that a host may keep the store in a database of its own tables. Columns are named like the
fields of the records. User ids are no foreign keys where a host's own user directory may have given them.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Boolean, Column, Double, ForeignKey, Index, Integer, Table, UniqueConstraint

from analytics_core._content.storage.column_types import LongBytes, LongText, Name, UtcMoment
from analytics_core._content.storage.table_kinds import METADATA as METADATA  # noqa: PLC0414 - the tables below are in it
from analytics_core._content.storage.table_kinds import item_table, link_table, owner_table, record_table

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

USER_ROLES = link_table("user", "role", keeps=True)

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
    Column("secret_extra", LongText),
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

DATASET_COLUMNS = item_table(
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

DATASET_METRICS = item_table(
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

DATASET_OWNERS = owner_table("dataset")

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

CHART_OWNERS = owner_table("chart")


ANNOTATION_LAYERS = record_table(
    "ac_annotation_layers",
    Column("name", Name(), nullable=False),
    Column("descr", LongText),
    UniqueConstraint("name", name="uq_ac_annotation_layers_name"),
)

ANNOTATIONS = record_table(
    "ac_annotations",
    Column(
        "layer_id",
        ForeignKey("ac_annotation_layers.id", ondelete="CASCADE", name="fk_ac_annotations_layer"),
        nullable=False,
    ),
    Column("start_dttm", UtcMoment, nullable=False),
    Column("end_dttm", UtcMoment, nullable=False),
    Column("short_descr", Name(500), nullable=False),
    Column("long_descr", LongText),
    Column("json_metadata", LongText),
    Index("ix_ac_annotations_layer", "layer_id", "start_dttm"),
)

CSS_TEMPLATES = record_table(
    "ac_css_templates",
    Column("template_name", Name()),
    Column("css", LongText),
)

TAGS = record_table(
    "ac_tags",
    Column("name", Name(), nullable=False),
    Column("type", Integer, nullable=False),
    Column("description", LongText),
    UniqueConstraint("type", "name", name="uq_ac_tags_name"),
)

CHART_TAGS = link_table("chart", "tag")

DASHBOARDS = record_table(
    "ac_dashboards",
    Column("uuid", Name(36), nullable=False),
    Column("dashboard_title", Name(500)),
    Column("slug", Name(255)),
    Column("css", LongText),
    Column("json_metadata", LongText),
    Column("position_json", LongText),
    Column("published", Boolean, nullable=False),
    Column("certified_by", LongText),
    Column("certification_details", LongText),
    Column("external_url", LongText),
    Column("is_managed_externally", Boolean, nullable=False),
    UniqueConstraint("uuid", name="uq_ac_dashboards_uuid"),
    UniqueConstraint("slug", name="uq_ac_dashboards_slug"),
    Index("ix_ac_dashboards_title", "dashboard_title"),
    Index("ix_ac_dashboards_changed", "changed_on"),
)

DASHBOARD_OWNERS = owner_table("dashboard")

DASHBOARD_ROLES = link_table("dashboard", "role", keeps=True)

DASHBOARD_CHARTS = link_table("dashboard", "chart")
DASHBOARD_TAGS = link_table("dashboard", "tag")

EMBEDDED_DASHBOARDS = record_table(
    "ac_embedded_dashboards",
    Column("uuid", Name(36), nullable=False),
    Column(
        "dashboard_id",
        ForeignKey("ac_dashboards.id", ondelete="CASCADE", name="fk_ac_embedded_dashboards_dashboard"),
        nullable=False,
    ),
    Column("allowed_domains", LongText, nullable=False),
    UniqueConstraint("uuid", name="uq_ac_embedded_dashboards_uuid"),
    UniqueConstraint("dashboard_id", name="uq_ac_embedded_dashboards_dashboard"),
)

FAVOURITES = record_table(
    "ac_favourites",
    Column("user_id", Integer, nullable=False),
    Column("target", Name(20), nullable=False),
    Column("target_id", Integer, nullable=False),
    UniqueConstraint("user_id", "target", "target_id", name="uq_ac_favourites_target"),
    Index("ix_ac_favourites_target", "target", "target_id"),
)

ROW_RULES = record_table(
    "ac_row_rules",
    Column("name", Name(255), nullable=False),
    Column("clause", LongText, nullable=False),
    Column("filter_type", Name(20), nullable=False),
    Column("group_key", Name(255)),
    Column("description", LongText),
    UniqueConstraint("name", name="uq_ac_row_rules_name"),
    Index("ix_ac_row_rules_type", "filter_type"),
)

ROW_RULE_ROLES = link_table("row_rule", "role", keeps=True)
ROW_RULE_DATASETS = link_table("row_rule", "dataset", keeps=True)

LOGS = record_table(
    "ac_logs",
    Column("action", Name(512), nullable=False),
    Column("user_id", Integer),
    Column("dashboard_id", Integer),
    Column("slice_id", Integer),
    Column("dttm", UtcMoment),
    Column("duration_ms", Integer),
    Column("json", LongText),
    Column("referrer", Name(1024)),
    Index("ix_ac_logs_user", "user_id", "dttm"),
    Index("ix_ac_logs_dttm", "dttm"),
)

KEY_VALUES = record_table(
    "ac_key_values",
    Column("kind", Name(32), nullable=False),
    Column("key", Name(128), nullable=False),
    Column("value", LongText, nullable=False),
    Column("expires_on", UtcMoment),
    UniqueConstraint("kind", "key", name="uq_ac_key_values_key"),
    Index("ix_ac_key_values_expiry", "kind", "expires_on"),
)

JOBS = record_table(
    "ac_jobs",
    Column("job_id", Name(64), nullable=False),
    Column("kind", Name(32), nullable=False),
    Column("payload", LongText, nullable=False),
    Column("user_id", Integer, nullable=False),
    Column("claims", LongText),
    Column("queue", Name(), nullable=False),
    Column("moment", UtcMoment),
    Column("state", Name(20), nullable=False),
    Column("cancel_requested", Boolean, nullable=False),
    Column("worker", Name(64)),
    Column("lease_until", UtcMoment),
    Column("started_on", UtcMoment),
    Column("ended_on", UtcMoment),
    Column("bound", Name(128)),
    Column("error", LongText),
    Column("result_bytes", Integer),
    Column("expires_on", UtcMoment),
    Column("traceparent", Name(64)),
    UniqueConstraint("job_id", name="uq_ac_jobs_job_id"),
    Index("ix_ac_jobs_end", "ended_on"),
    Index("ix_ac_jobs_worker", "worker"),
    Index("ix_ac_jobs_user", "user_id", "id"),
    Index("ix_ac_jobs_expiry", "expires_on"),
)

JOB_RESULTS = record_table(
    "ac_job_results",
    Column("job_record_id", ForeignKey("ac_jobs.id", name="fk_ac_job_results_job", ondelete="CASCADE"), nullable=False),
    Column("position", Integer, nullable=False),
    Column("data", LongBytes, nullable=False),
    UniqueConstraint("job_record_id", "position", name="uq_ac_job_results_position"),
)

JOB_WORKERS = record_table(
    "ac_job_workers",
    Column("token", Name(64), nullable=False),
    Column("lease_until", UtcMoment, nullable=False),
    UniqueConstraint("token", name="uq_ac_job_workers_token"),
)

LOCKS = record_table(
    "ac_locks",
    Column("name", Name(), nullable=False),
    Column("owner", Name(64), nullable=False),
    Column("ends_on", UtcMoment, nullable=False),
    UniqueConstraint("name", name="uq_ac_locks_name"),
)


def _database_column(table: str) -> Column[Any]:
    key = ForeignKey("ac_databases.id", ondelete="CASCADE", name=f"fk_{table}_database")
    return Column("database_id", key, nullable=False)


OAUTH2_TOKENS = record_table(
    "ac_oauth2_tokens",
    Column("user_id", Integer, nullable=False),
    _database_column("ac_oauth2_tokens"),
    Column("client", Name(64), nullable=False),
    Column("access_token", LongText),
    Column("access_token_expiration", UtcMoment),
    Column("refresh_token", LongText),
    Column("refresh_until", UtcMoment),
    Column("useless_after", UtcMoment),
    UniqueConstraint("database_id", "user_id", name="uq_ac_oauth2_tokens_user"),
    Index("ix_ac_oauth2_tokens_user", "user_id"),
    Index("ix_ac_oauth2_tokens_useless", "useless_after"),
)

REPORT_SCHEDULES = record_table(
    "ac_report_schedules",
    Column("uuid", Name(36), nullable=False),
    Column("name", Name(150), nullable=False),
    Column("type", Name(50), nullable=False),
    Column("crontab", LongText, nullable=False),
    Column("timezone", Name(100), nullable=False),
    Column("active", Boolean, nullable=False),
    Column("creation_method", Name(255), nullable=False),
    Column("description", LongText),
    Column("context_markdown", LongText),
    Column("chart_id", ForeignKey("ac_charts.id", name="fk_ac_report_schedules_chart")),
    Column("dashboard_id", ForeignKey("ac_dashboards.id", name="fk_ac_report_schedules_dashboard")),
    Column("database_id", ForeignKey("ac_databases.id", name="fk_ac_report_schedules_database")),
    Column("custom_width", Integer),
    Column("force_screenshot", Boolean, nullable=False),
    Column("grace_period", Integer),
    Column("log_retention", Integer),
    Column("working_timeout", Integer),
    Column("report_format", Name(50), nullable=False),
    Column("selected_tabs", LongText),
    Column("sql", LongText),
    Column("validator_type", Name(100)),
    Column("validator_config_json", LongText),
    Column("extra", LongText),
    Column("recipients", LongText, nullable=False),
    Column("executor_id", Integer),
    UniqueConstraint("uuid", name="uq_ac_report_schedules_uuid"),
    UniqueConstraint("type", "name", name="uq_ac_report_schedules_name"),
    Index("ix_ac_report_schedules_chart", "chart_id"),
    Index("ix_ac_report_schedules_dashboard", "dashboard_id"),
    Index("ix_ac_report_schedules_database", "database_id"),
    Index("ix_ac_report_schedules_changed", "changed_on"),
)

REPORT_SCHEDULE_OWNERS = owner_table("report_schedule")


def _schedule_column(table: str) -> Column[Any]:
    key = ForeignKey("ac_report_schedules.id", ondelete="CASCADE", name=f"fk_{table}_schedule")
    return Column("schedule_id", key, nullable=False)


REPORT_PROGRESS = record_table(
    "ac_report_progress",
    _schedule_column("ac_report_progress"),
    Column("next_due_on", UtcMoment),
    Column("last_eval_dttm", UtcMoment),
    Column("last_state", Name(50)),
    Column("last_value", Double),
    Column("last_value_row_json", LongText),
    Column("last_success_on", UtcMoment),
    Column("last_notice_on", UtcMoment),
    UniqueConstraint("schedule_id", name="uq_ac_report_progress_schedule"),
    Index("ix_ac_report_progress_due", "next_due_on"),
)

REPORT_EXECUTIONS = record_table(
    "ac_report_executions",
    Column("uuid", Name(36), nullable=False),
    _schedule_column("ac_report_executions"),
    Column("scheduled_dttm", UtcMoment, nullable=False),
    Column("cause", Name(20), nullable=False),
    Column("state", Name(50), nullable=False),
    Column("start_dttm", UtcMoment),
    Column("end_dttm", UtcMoment),
    Column("error_message", LongText),
    Column("value", Double),
    Column("value_row_json", LongText),
    Column("job_id", Name(64)),
    Column("attempts", Integer, nullable=False),
    Column("lease_until", UtcMoment),
    Column("late_on", UtcMoment),
    Column("manifest", LongText),
    Column("error_type", LongText),
    UniqueConstraint("uuid", name="uq_ac_report_executions_uuid"),
    UniqueConstraint("schedule_id", "scheduled_dttm", name="uq_ac_report_executions_scheduled_dttm"),
    Index("ix_ac_report_executions_end", "end_dttm", "schedule_id", "scheduled_dttm"),
)

REPORT_DELIVERIES = record_table(
    "ac_report_deliveries",
    Column(
        "execution_id",
        ForeignKey("ac_report_executions.id", ondelete="CASCADE", name="fk_ac_report_deliveries_execution"),
        nullable=False,
    ),
    Column("recipient_key", Name(64), nullable=False),
    Column("address", LongText, nullable=False),
    Column("state", Name(20), nullable=False),
    Column("reason", LongText),
    Column("subject", LongText),
    Column("files", LongText),
    Column("attempts", Integer, nullable=False),
    UniqueConstraint("execution_id", "recipient_key", name="uq_ac_report_deliveries_recipient_key"),
)

SQL_QUERIES = record_table(
    "ac_sql_queries",
    Column("client_id", Name(11), nullable=False),
    Column("user_id", Integer, nullable=False),
    _database_column("ac_sql_queries"),
    Column("sql", LongText, nullable=False),
    Column("job_id", Name(64), nullable=False),
    Column("state", Name(16), nullable=False),
    *(Column(name, Name(256)) for name in ("schema", "tab_name", "sql_editor_id", "tmp_schema_name", "tmp_table_name")),
    *(Column(name, LongText) for name in ("template_params", "select_sql", "executed_sql", "error_message")),
    *(Column(name, Integer) for name in ("query_limit", "limit", "rows")),
    *(Column(name, Name(64)) for name in ("limiting_factor", "results_key", "ctas_method", "error_type")),
    *(Column(name, Boolean, nullable=False) for name in ("expand_data", "select_as_cta", "select_as_cta_used")),
    Column("progress", Integer, nullable=False),
    Column("tables", LongText, nullable=False),
    *(Column(name, Double) for name in ("start_time", "start_running_time", "end_time", "end_result_backend_time")),
    Column("extra", LongText),
    UniqueConstraint("user_id", "client_id", name="uq_ac_sql_queries_client"),
    Index("ix_ac_sql_queries_database", "database_id"),
    Index("ix_ac_sql_queries_job", "job_id"),
    Index("ix_ac_sql_queries_end", "end_time"),
)

SAVED_QUERIES = record_table(
    "ac_saved_statements",
    Column("uuid", Name(36), nullable=False),
    Column("label", Name(256), nullable=False),
    _database_column("ac_saved_statements"),
    Column("sql", LongText, nullable=False),
    *(Column(name, LongText) for name in ("description", "template_params")),
    Column("schema", Name(256)),
    UniqueConstraint("uuid", name="uq_ac_saved_statements_uuid"),
    Index("ix_ac_saved_statements_database", "database_id"),
)

SAVED_QUERY_TAGS = link_table("saved_statement", "tag")
