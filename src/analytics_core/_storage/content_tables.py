"""The tables of what people make of their data: dashboards, annotations, tags, row rules, logs, small texts, jobs."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Boolean, Column, ForeignKey, Index, Integer, Table, UniqueConstraint

from analytics_core._storage.column_types import LongBytes, LongText, Name, UtcMoment
from analytics_core._storage.tables import METADATA, owner_table, record_table


def _link_table(
    name: str, *, parent: str, parent_table: str, child: str, child_table: str, keeps: bool = False
) -> Table:
    """Return a table of pairs; they go with either side, unless the link `keeps` the child from being deleted."""
    return Table(
        name,
        METADATA,
        _link_column(name, parent, parent_table, ondelete="CASCADE"),
        _link_column(name, child, child_table, ondelete=None if keeps else "CASCADE"),
        Index(f"ix_{name}_{child.removesuffix('_id')}", child),
    )


def _link_column(table: str, name: str, target: str, *, ondelete: str | None) -> Column[Any]:
    key = ForeignKey(f"{target}.id", ondelete=ondelete, name=f"fk_{table}_{name.removesuffix('_id')}")
    return Column(name, key, primary_key=True, autoincrement=False)


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

CHART_TAGS = _link_table(
    "ac_chart_tags", parent="chart_id", parent_table="ac_charts", child="tag_id", child_table="ac_tags"
)

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

DASHBOARD_OWNERS = owner_table("ac_dashboard_owners", parent="dashboard_id", parent_table="ac_dashboards")

DASHBOARD_ROLES = _link_table(
    "ac_dashboard_roles",
    parent="dashboard_id",
    parent_table="ac_dashboards",
    child="role_id",
    child_table="ac_roles",
    keeps=True,
)

DASHBOARD_CHARTS = _link_table(
    "ac_dashboard_charts",
    parent="dashboard_id",
    parent_table="ac_dashboards",
    child="chart_id",
    child_table="ac_charts",
)

DASHBOARD_TAGS = _link_table(
    "ac_dashboard_tags", parent="dashboard_id", parent_table="ac_dashboards", child="tag_id", child_table="ac_tags"
)

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
)

ROW_RULE_ROLES = _link_table(
    "ac_row_rule_roles",
    parent="row_rule_id",
    parent_table="ac_row_rules",
    child="role_id",
    child_table="ac_roles",
    keeps=True,
)

ROW_RULE_DATASETS = _link_table(
    "ac_row_rule_datasets",
    parent="row_rule_id",
    parent_table="ac_row_rules",
    child="dataset_id",
    child_table="ac_datasets",
    keeps=True,
)

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

ALL_TABLES = METADATA
"""Every table of the store as it is now, those of `tables` included."""
