"""The tables of release 0.1.0.

Revision ID: 0100
Revises: none

Everything here is written out, so that later changes of `tables.py` do not change what this revision makes. Numbers
begin at 0100: the nine revisions from before the release stay unknown numbers, of which a store is refused.
"""

from __future__ import annotations

from typing import Any

from alembic.operations import Operations
from sqlalchemy import Boolean, Column, Double, ForeignKey, Integer, UniqueConstraint
from sqlalchemy.schema import SchemaItem
from sqlalchemy.types import TypeEngine

from analytics_core._content.storage.column_types import LongBytes, LongText, Name, UtcMoment
from analytics_core._content.storage.migrations import made_indexes

revision = "0100"
down_revision = None
branch_labels = None
depends_on = None


def upgrade(op: Operations) -> None:
    """Make the tables and indexes; those that a run cut off on MariaDB had made already are left as they are."""
    _create_people(op)
    _create_databases(op)
    _create_datasets(op)
    _create_dataset_items(op)
    _create_charts(op)
    _create_annotations(op)
    _create_dashboards(op)
    _create_tags_and_favourites(op)
    _create_row_rules(op)
    _create_logs_and_key_values(op)
    _create_jobs(op)
    _create_report_schedules(op)
    _create_report_runs(op)


def _create_people(op: Operations) -> None:
    _create_records(
        op,
        "ac_users",
        *_required(Name(), "username", "first_name", "last_name"),
        Column("email", Name()),
        Column("active", Boolean(), nullable=False),
        Column("attributes", LongText(), nullable=False),
        UniqueConstraint("username", name="uq_ac_users_username"),
    )
    _create_records(
        op,
        "ac_roles",
        Column("name", Name(), nullable=False),
        Column("is_admin", Boolean(), nullable=False),
        UniqueConstraint("name", name="uq_ac_roles_name"),
    )
    _create_links(op, "user", "role", keeps=True)
    op.create_table(
        "ac_role_grants",
        _pair_column("role_id", ForeignKey("ac_roles.id", name="fk_ac_role_grants_role", ondelete="CASCADE")),
        Column("target", Name(20), primary_key=True),
        _pair_column("target_id"),
        Column("schema", Name(255), primary_key=True),
        if_not_exists=True,
    )
    _create_indexes(op, "ac_role_grants", target=("target", "target_id"))


def _create_databases(op: Operations) -> None:
    _create_records(
        op,
        "ac_databases",
        Column("uuid", Name(36), nullable=False),
        Column("database_name", Name(), nullable=False),
        Column("uri", LongText(), nullable=False),
        Column("engine", Name(), nullable=False),
        Column("driver", Name()),
        Column("configuration_method", Name(), nullable=False),
        *_required(Boolean(), "expose_in_sqllab", "allow_ctas", "allow_cvas", "allow_dml"),
        *_required(Boolean(), "allow_file_upload", "allow_run_async", "impersonate_user"),
        Column("force_ctas_schema", Name()),
        Column("cache_timeout", Integer()),
        *_nullable(LongText(), "extra", "secret_extra", "ssh_tunnel", "external_url"),
        Column("is_managed_externally", Boolean(), nullable=False),
        UniqueConstraint("uuid", name="uq_ac_databases_uuid"),
        UniqueConstraint("database_name", name="uq_ac_databases_database_name"),
    )
    _create_records(
        op,
        "ac_oauth2_tokens",
        Column("user_id", Integer(), nullable=False),
        _reference("database_id", "ac_databases", name="fk_ac_oauth2_tokens_database"),
        Column("client", Name(64), nullable=False),
        Column("access_token", LongText()),
        Column("access_token_expiration", UtcMoment()),
        Column("refresh_token", LongText()),
        *_nullable(UtcMoment(), "refresh_until", "useless_after"),
        UniqueConstraint("database_id", "user_id", name="uq_ac_oauth2_tokens_user"),
    )
    _create_indexes(op, "ac_oauth2_tokens", useless="useless_after", user="user_id")


def _create_datasets(op: Operations) -> None:
    _create_records(
        op,
        "ac_datasets",
        Column("uuid", Name(36), nullable=False),
        Column("database_id", Integer(), ForeignKey("ac_databases.id", name="fk_ac_datasets_database"), nullable=False),
        Column("catalog", Name(), nullable=False),
        Column("schema", Name(255), nullable=False),
        Column("table_name", Name(), nullable=False),
        Column("table_key", Name(32), nullable=False, server_default=""),
        *_nullable(LongText(), "sql", "description", "extra", "default_endpoint", "fetch_values_predicate"),
        *_required(Boolean(), "filter_select_enabled", "is_sqllab_view", "is_managed_externally"),
        Column("external_url", LongText()),
        Column("main_dttm_col", Name(255)),
        Column("always_filter_main_dttm", Boolean(), nullable=False),
        Column("offset", Integer(), nullable=False),
        Column("cache_timeout", Integer()),
        *_nullable(LongText(), "template_params", "primary_key"),
        UniqueConstraint("uuid", name="uq_ac_datasets_uuid"),
        UniqueConstraint("database_id", "catalog", "schema", "table_name", name="uq_ac_datasets_table_name"),
    )
    _create_indexes(op, "ac_datasets", changed="changed_on", key=("database_id", "table_key"), table="table_name")
    _create_owners(op, "dataset")


def _create_dataset_items(op: Operations) -> None:
    _create_items(
        op,
        "ac_dataset_columns",
        Column("uuid", Name(36)),
        Column("column_name", Name(255), nullable=False),
        *_nullable(LongText(), "verbose_name", "description", "expression", "extra", "type"),
        *_nullable(Name(255), "advanced_data_type", "python_date_format"),
        *_required(Boolean(), "filterable", "groupby", "is_active", "is_dttm"),
        *_nullable(Boolean(), "nullable", "leads_index"),
        Column("collation", LongText(), quote=True),
        Column("stored_type", LongText()),
    )
    _create_items(
        op,
        "ac_dataset_metrics",
        Column("uuid", Name(36)),
        Column("metric_name", Name(255), nullable=False),
        Column("expression", LongText(), nullable=False),
        *_nullable(LongText(), "verbose_name", "description"),
        Column("metric_type", Name(32)),
        *_nullable(Name(128), "d3format", "currency"),
        *_nullable(LongText(), "warning_text", "extra"),
    )


def _create_charts(op: Operations) -> None:
    _create_records(
        op,
        "ac_charts",
        Column("uuid", Name(36), nullable=False),
        Column("slice_name", Name(), nullable=False),
        Column("viz_type", Name()),
        Column("datasource_id", Integer()),
        Column("datasource_type", Name(200)),
        *_nullable(LongText(), "datasource_name", "description"),
        Column("cache_timeout", Integer()),
        *_nullable(LongText(), "certified_by", "certification_details", "params", "query_context"),
        Column("query_context_generation", Boolean()),
        Column("external_url", LongText()),
        Column("is_managed_externally", Boolean(), nullable=False),
        Column("last_saved_at", UtcMoment()),
        Column("last_saved_by", Integer()),
        UniqueConstraint("uuid", name="uq_ac_charts_uuid"),
    )
    _create_indexes(op, "ac_charts", changed="changed_on", datasource="datasource_id", name="slice_name")
    _create_owners(op, "chart")


def _create_annotations(op: Operations) -> None:
    _create_records(
        op,
        "ac_annotation_layers",
        Column("name", Name(), nullable=False),
        Column("descr", LongText()),
        UniqueConstraint("name", name="uq_ac_annotation_layers_name"),
    )
    _create_records(
        op,
        "ac_annotations",
        _reference("layer_id", "ac_annotation_layers", name="fk_ac_annotations_layer"),
        *_required(UtcMoment(), "start_dttm", "end_dttm"),
        Column("short_descr", Name(500), nullable=False),
        *_nullable(LongText(), "long_descr", "json_metadata"),
    )
    _create_indexes(op, "ac_annotations", layer=("layer_id", "start_dttm"))


def _create_dashboards(op: Operations) -> None:
    _create_records(op, "ac_css_templates", Column("template_name", Name()), Column("css", LongText()))
    _create_records(
        op,
        "ac_dashboards",
        Column("uuid", Name(36), nullable=False),
        Column("dashboard_title", Name(500)),
        Column("slug", Name(255)),
        *_nullable(LongText(), "css", "json_metadata", "position_json"),
        Column("published", Boolean(), nullable=False),
        *_nullable(LongText(), "certified_by", "certification_details", "external_url"),
        Column("is_managed_externally", Boolean(), nullable=False),
        UniqueConstraint("uuid", name="uq_ac_dashboards_uuid"),
        UniqueConstraint("slug", name="uq_ac_dashboards_slug"),
    )
    _create_indexes(op, "ac_dashboards", changed="changed_on", title="dashboard_title")
    _create_owners(op, "dashboard")
    _create_links(op, "dashboard", "role", keeps=True)
    _create_links(op, "dashboard", "chart")
    _create_records(
        op,
        "ac_embedded_dashboards",
        Column("uuid", Name(36), nullable=False),
        _reference("dashboard_id", "ac_dashboards", name="fk_ac_embedded_dashboards_dashboard"),
        Column("allowed_domains", LongText(), nullable=False),
        UniqueConstraint("uuid", name="uq_ac_embedded_dashboards_uuid"),
        UniqueConstraint("dashboard_id", name="uq_ac_embedded_dashboards_dashboard"),
    )


def _create_tags_and_favourites(op: Operations) -> None:
    _create_records(
        op,
        "ac_tags",
        Column("name", Name(), nullable=False),
        Column("type", Integer(), nullable=False),
        Column("description", LongText()),
        UniqueConstraint("type", "name", name="uq_ac_tags_name"),
    )
    _create_links(op, "chart", "tag")
    _create_links(op, "dashboard", "tag")
    _create_records(
        op,
        "ac_favourites",
        Column("user_id", Integer(), nullable=False),
        Column("target", Name(20), nullable=False),
        Column("target_id", Integer(), nullable=False),
        UniqueConstraint("user_id", "target", "target_id", name="uq_ac_favourites_target"),
    )
    _create_indexes(op, "ac_favourites", target=("target", "target_id"))


def _create_row_rules(op: Operations) -> None:
    _create_records(
        op,
        "ac_row_rules",
        Column("name", Name(255), nullable=False),
        Column("clause", LongText(), nullable=False),
        Column("filter_type", Name(20), nullable=False),
        Column("group_key", Name(255)),
        Column("description", LongText()),
        UniqueConstraint("name", name="uq_ac_row_rules_name"),
    )
    _create_links(op, "row_rule", "role", keeps=True)
    _create_links(op, "row_rule", "dataset", keeps=True)


def _create_logs_and_key_values(op: Operations) -> None:
    _create_records(
        op,
        "ac_logs",
        Column("action", Name(512), nullable=False),
        *_nullable(Integer(), "user_id", "dashboard_id", "slice_id"),
        Column("dttm", UtcMoment()),
        Column("duration_ms", Integer()),
        Column("json", LongText()),
        Column("referrer", Name(1024)),
    )
    _create_indexes(op, "ac_logs", dttm="dttm", user=("user_id", "dttm"))
    _create_records(
        op,
        "ac_key_values",
        Column("kind", Name(32), nullable=False),
        Column("key", Name(128), nullable=False),
        Column("value", LongText(), nullable=False),
        Column("expires_on", UtcMoment()),
        UniqueConstraint("kind", "key", name="uq_ac_key_values_key"),
    )
    _create_indexes(op, "ac_key_values", expiry=("kind", "expires_on"))


def _create_jobs(op: Operations) -> None:
    _create_records(
        op,
        "ac_jobs",
        Column("job_id", Name(64), nullable=False),
        Column("kind", Name(32), nullable=False),
        Column("payload", LongText(), nullable=False),
        Column("user_id", Integer(), nullable=False),
        Column("claims", LongText()),
        Column("queue", Name(), nullable=False),
        Column("moment", UtcMoment()),
        Column("state", Name(20), nullable=False),
        Column("cancel_requested", Boolean(), nullable=False),
        Column("worker", Name(64)),
        *_nullable(UtcMoment(), "lease_until", "started_on", "ended_on"),
        Column("bound", Name(128)),
        Column("error", LongText()),
        Column("result_bytes", Integer()),
        Column("expires_on", UtcMoment()),
        UniqueConstraint("job_id", name="uq_ac_jobs_job_id"),
    )
    _create_indexes(op, "ac_jobs", end="ended_on", expiry="expires_on", user=("user_id", "id"), worker="worker")
    _create_records(
        op,
        "ac_job_results",
        _reference("job_record_id", "ac_jobs", name="fk_ac_job_results_job"),
        Column("position", Integer(), nullable=False),
        Column("data", LongBytes(), nullable=False),
        UniqueConstraint("job_record_id", "position", name="uq_ac_job_results_position"),
    )
    _create_records(
        op,
        "ac_job_workers",
        Column("token", Name(64), nullable=False),
        Column("lease_until", UtcMoment(), nullable=False),
        UniqueConstraint("token", name="uq_ac_job_workers_token"),
    )
    _create_records(
        op,
        "ac_locks",
        Column("name", Name(), nullable=False),
        Column("owner", Name(64), nullable=False),
        Column("ends_on", UtcMoment(), nullable=False),
        UniqueConstraint("name", name="uq_ac_locks_name"),
    )


def _create_report_schedules(op: Operations) -> None:
    _create_records(
        op,
        "ac_report_schedules",
        Column("uuid", Name(36), nullable=False),
        Column("name", Name(150), nullable=False),
        Column("type", Name(50), nullable=False),
        Column("crontab", LongText(), nullable=False),
        Column("timezone", Name(100), nullable=False),
        Column("active", Boolean(), nullable=False),
        Column("creation_method", Name(255), nullable=False),
        *_nullable(LongText(), "description", "context_markdown"),
        Column("chart_id", Integer(), ForeignKey("ac_charts.id", name="fk_ac_report_schedules_chart")),
        Column("dashboard_id", Integer(), ForeignKey("ac_dashboards.id", name="fk_ac_report_schedules_dashboard")),
        Column("database_id", Integer(), ForeignKey("ac_databases.id", name="fk_ac_report_schedules_database")),
        Column("custom_width", Integer()),
        Column("force_screenshot", Boolean(), nullable=False),
        *_nullable(Integer(), "grace_period", "log_retention", "working_timeout"),
        Column("report_format", Name(50), nullable=False),
        *_nullable(LongText(), "selected_tabs", "sql"),
        Column("validator_type", Name(100)),
        *_nullable(LongText(), "validator_config_json", "extra"),
        Column("recipients", LongText(), nullable=False),
        Column("executor_id", Integer()),
        UniqueConstraint("uuid", name="uq_ac_report_schedules_uuid"),
        UniqueConstraint("type", "name", name="uq_ac_report_schedules_name"),
    )
    targets = {"chart": "chart_id", "dashboard": "dashboard_id", "database": "database_id"}
    _create_indexes(op, "ac_report_schedules", changed="changed_on", **targets)
    _create_owners(op, "report_schedule")


def _create_report_runs(op: Operations) -> None:
    _create_records(
        op,
        "ac_report_progress",
        _reference("schedule_id", "ac_report_schedules", name="fk_ac_report_progress_schedule"),
        *_nullable(UtcMoment(), "next_due_on", "last_eval_dttm"),
        Column("last_state", Name(50)),
        Column("last_value", Double()),
        Column("last_value_row_json", LongText()),
        *_nullable(UtcMoment(), "last_success_on", "last_notice_on"),
        UniqueConstraint("schedule_id", name="uq_ac_report_progress_schedule"),
    )
    _create_indexes(op, "ac_report_progress", due="next_due_on")
    _create_records(
        op,
        "ac_report_executions",
        Column("uuid", Name(36), nullable=False),
        _reference("schedule_id", "ac_report_schedules", name="fk_ac_report_executions_schedule"),
        Column("scheduled_dttm", UtcMoment(), nullable=False),
        Column("cause", Name(20), nullable=False),
        Column("state", Name(50), nullable=False),
        *_nullable(UtcMoment(), "start_dttm", "end_dttm"),
        Column("error_message", LongText()),
        Column("value", Double()),
        Column("value_row_json", LongText()),
        Column("job_id", Name(64)),
        Column("attempts", Integer(), nullable=False),
        *_nullable(UtcMoment(), "lease_until", "late_on"),
        *_nullable(LongText(), "manifest", "error_type"),
        UniqueConstraint("uuid", name="uq_ac_report_executions_uuid"),
        UniqueConstraint("schedule_id", "scheduled_dttm", name="uq_ac_report_executions_scheduled_dttm"),
    )
    _create_indexes(op, "ac_report_executions", end=("end_dttm", "schedule_id", "scheduled_dttm"))
    _create_records(
        op,
        "ac_report_deliveries",
        _reference("execution_id", "ac_report_executions", name="fk_ac_report_deliveries_execution"),
        Column("recipient_key", Name(64), nullable=False),
        Column("address", LongText(), nullable=False),
        Column("state", Name(20), nullable=False),
        *_nullable(LongText(), "reason", "subject", "files"),
        Column("attempts", Integer(), nullable=False),
        UniqueConstraint("execution_id", "recipient_key", name="uq_ac_report_deliveries_recipient_key"),
    )


def _create_records(op: Operations, name: str, *items: SchemaItem) -> None:
    op.create_table(
        name,
        Column("id", Integer(), primary_key=True, autoincrement=True),
        *items,
        Column("created_on", UtcMoment(), nullable=False),
        Column("changed_on", UtcMoment(), nullable=False),
        Column("created_by", Integer()),
        Column("changed_by", Integer()),
        Column("version", Integer(), nullable=False),
        sqlite_autoincrement=True,
        if_not_exists=True,
    )


def _create_items(op: Operations, name: str, *items: SchemaItem) -> None:
    """Make a table of the columns or metrics of datasets."""
    op.create_table(
        name,
        Column("id", Integer(), primary_key=True, autoincrement=True),
        _reference("dataset_id", "ac_datasets", name=f"fk_{name}_dataset"),
        Column("position", Integer(), nullable=False),
        *items,
        Column("created_on", UtcMoment(), nullable=False),
        Column("changed_on", UtcMoment(), nullable=False),
        sqlite_autoincrement=True,
        if_not_exists=True,
    )
    _create_indexes(op, name, dataset="dataset_id")


def _create_owners(op: Operations, of: str) -> None:
    """Make the table of who owns datasets, charts and so on; users are no foreign key."""
    name = f"ac_{of}_owners"
    op.create_table(
        name,
        _pair_column(f"{of}_id", ForeignKey(f"ac_{of}s.id", name=f"fk_{name}_{of}_id", ondelete="CASCADE")),
        _pair_column("user_id"),
        if_not_exists=True,
    )
    _create_indexes(op, name, user="user_id")


def _create_links(op: Operations, parent: str, child: str, *, keeps: bool = False) -> None:
    """Make a table of pairs; a child that the link keeps cannot be deleted."""
    name = f"ac_{parent}_{child}s"
    action = None if keeps else "CASCADE"
    op.create_table(
        name,
        _pair_column(f"{parent}_id", ForeignKey(f"ac_{parent}s.id", name=f"fk_{name}_{parent}", ondelete="CASCADE")),
        _pair_column(f"{child}_id", ForeignKey(f"ac_{child}s.id", name=f"fk_{name}_{child}", ondelete=action)),
        if_not_exists=True,
    )
    _create_indexes(op, name, **{child: f"{child}_id"})


def _pair_column(name: str, *keys: ForeignKey) -> Column[int]:
    return Column(name, Integer(), *keys, primary_key=True, autoincrement=False)


def _reference(column: str, table: str, *, name: str) -> Column[int]:
    """Return a column of the record that a row belongs to, with which it is deleted."""
    return Column(column, Integer(), ForeignKey(f"{table}.id", name=name, ondelete="CASCADE"), nullable=False)


def _required(kind: TypeEngine[Any], *names: str) -> tuple[Column[Any], ...]:
    return tuple(Column(name, kind, nullable=False) for name in names)


def _nullable(kind: TypeEngine[Any], *names: str) -> tuple[Column[Any], ...]:
    return tuple(Column(name, kind) for name in names)


def _create_indexes(op: Operations, table: str, /, **columns: str | tuple[str, ...]) -> None:
    """Make the indexes that are not there."""
    made = made_indexes(op, table)
    for name, found in columns.items():
        if f"ix_{table}_{name}" not in made:
            op.create_index(f"ix_{table}_{name}", table, [found] if isinstance(found, str) else list(found))
