"""How dashboards, annotations, tags, row rules, logs, small texts, jobs and locks lie in their tables."""

from __future__ import annotations

from typing import Final

from analytics_core._records.audit import LogEntry
from analytics_core._records.chart import Annotation, AnnotationLayer
from analytics_core._records.dashboard import CssTemplate, Dashboard, EmbeddedDashboard, Favourite, Tag
from analytics_core._records.row_rule import RowRule, RowRuleType
from analytics_core._records.shared_state import JobRecord, JobResultPart, JobState, JobWorker, KeyValue, LockRecord
from analytics_core._storage import content_tables as tables
from analytics_core._storage.record_kinds import (
    RecordKind,
    Reference,
    forget_favourites,
    id_parts,
    missing_record,
    owner_parts,
)
from analytics_core._storage.tables import CHARTS, DATASETS, ROLES

ANNOTATION_LAYER_KIND: Final[RecordKind[AnnotationLayer]] = RecordKind(
    noun="annotation layer",
    table=tables.ANNOTATION_LAYERS,
    record_type=AnnotationLayer,
    missing=missing_record("annotation layer"),
)

ANNOTATION_KIND: Final[RecordKind[Annotation]] = RecordKind(
    noun="annotation",
    table=tables.ANNOTATIONS,
    record_type=Annotation,
    missing=missing_record("annotation"),
    references=(
        Reference(attribute="layer_id", table=tables.ANNOTATION_LAYERS, missing=missing_record("annotation layer")),
    ),
)

CSS_TEMPLATE_KIND: Final[RecordKind[CssTemplate]] = RecordKind(
    noun="CSS template",
    table=tables.CSS_TEMPLATES,
    record_type=CssTemplate,
    missing=missing_record("CSS template"),
)

TAG_KIND: Final[RecordKind[Tag]] = RecordKind(
    noun="tag", table=tables.TAGS, record_type=Tag, missing=missing_record("tag")
)

FAVOURITE_KIND: Final[RecordKind[Favourite]] = RecordKind(
    noun="favourite", table=tables.FAVOURITES, record_type=Favourite, missing=missing_record("favourite")
)

DASHBOARD_KIND: Final[RecordKind[Dashboard]] = RecordKind(
    noun="dashboard",
    table=tables.DASHBOARDS,
    record_type=Dashboard,
    missing=missing_record("dashboard"),
    parts=(
        owner_parts(tables.DASHBOARD_OWNERS, tables.DASHBOARD_OWNERS.c.dashboard_id),
        id_parts(
            "role_ids",
            noun="role",
            parent=tables.DASHBOARD_ROLES.c.dashboard_id,
            column=tables.DASHBOARD_ROLES.c.role_id,
        ),
        id_parts(
            "chart_ids",
            noun="chart",
            parent=tables.DASHBOARD_CHARTS.c.dashboard_id,
            column=tables.DASHBOARD_CHARTS.c.chart_id,
        ),
        id_parts(
            "tag_ids", noun="tag", parent=tables.DASHBOARD_TAGS.c.dashboard_id, column=tables.DASHBOARD_TAGS.c.tag_id
        ),
    ),
    references=(
        Reference(attribute="role_ids", table=ROLES, missing=missing_record("role")),
        Reference(attribute="chart_ids", table=CHARTS, missing=missing_record("chart")),
        Reference(attribute="tag_ids", table=tables.TAGS, missing=missing_record("tag")),
    ),
    forget=forget_favourites("dashboard"),
)

EMBEDDED_DASHBOARD_KIND: Final[RecordKind[EmbeddedDashboard]] = RecordKind(
    noun="embedded dashboard",
    table=tables.EMBEDDED_DASHBOARDS,
    record_type=EmbeddedDashboard,
    missing=missing_record("embedded dashboard"),
    texts=frozenset({"allowed_domains"}),
    references=(Reference(attribute="dashboard_id", table=tables.DASHBOARDS, missing=missing_record("dashboard")),),
)

ROW_RULE_KIND: Final[RecordKind[RowRule]] = RecordKind(
    noun="row rule",
    table=tables.ROW_RULES,
    record_type=RowRule,
    missing=missing_record("row rule"),
    enums={"filter_type": RowRuleType},
    parts=(
        id_parts(
            "role_ids",
            noun="role",
            parent=tables.ROW_RULE_ROLES.c.row_rule_id,
            column=tables.ROW_RULE_ROLES.c.role_id,
        ),
        id_parts(
            "dataset_ids",
            noun="dataset",
            parent=tables.ROW_RULE_DATASETS.c.row_rule_id,
            column=tables.ROW_RULE_DATASETS.c.dataset_id,
        ),
    ),
    references=(
        Reference(attribute="role_ids", table=ROLES, missing=missing_record("role")),
        Reference(attribute="dataset_ids", table=DATASETS, missing=missing_record("dataset")),
    ),
)

LOG_KIND: Final[RecordKind[LogEntry]] = RecordKind(
    noun="log entry",
    table=tables.LOGS,
    record_type=LogEntry,
    missing=missing_record("log entry"),
    is_journal=True,
)

KEY_VALUE_KIND: Final[RecordKind[KeyValue]] = RecordKind(
    noun="key", table=tables.KEY_VALUES, record_type=KeyValue, missing=missing_record("key")
)

JOB_KIND: Final[RecordKind[JobRecord]] = RecordKind(
    noun="job",
    table=tables.JOBS,
    record_type=JobRecord,
    missing=missing_record("job"),
    enums={"state": JobState},
    is_journal=True,
)

JOB_RESULT_KIND: Final[RecordKind[JobResultPart]] = RecordKind(
    noun="job result part",
    table=tables.JOB_RESULTS,
    record_type=JobResultPart,
    missing=missing_record("job result part"),
    references=(Reference(attribute="job_record_id", table=tables.JOBS, missing=missing_record("job")),),
    is_journal=True,
)

JOB_WORKER_KIND: Final[RecordKind[JobWorker]] = RecordKind(
    noun="job worker",
    table=tables.JOB_WORKERS,
    record_type=JobWorker,
    missing=missing_record("job worker"),
    is_journal=True,
)

LOCK_KIND: Final[RecordKind[LockRecord]] = RecordKind(
    noun="lock", table=tables.LOCKS, record_type=LockRecord, missing=missing_record("lock"), is_journal=True
)
