"""Dashboards, annotations, CSS templates, tags, favourites, row rules, logs and small texts under keys.

Revision ID: 0002
Revises: 0001

Everything here is written out, so that later changes of the tables do not change what this revision makes.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic.operations import Operations
from sqlalchemy.schema import SchemaItem

from analytics_core._storage.column_types import LongText, Name, UtcMoment

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade(op: Operations) -> None:
    """Make the tables; those that a run cut off on MariaDB had made already are left as they are."""
    _create_annotations(op)
    _create_css_templates(op)
    _create_tags(op)
    _create_dashboards(op)
    _create_embedded_dashboards(op)
    _create_favourites(op)
    _create_row_rules(op)
    _create_logs(op)
    _create_key_values(op)
    _create_orders(op)


def _create_records(op: Operations, name: str, *items: SchemaItem) -> None:
    op.create_table(
        name,
        sa.Column("id", sa.Integer(), primary_key=True, autoincrement=True),
        *items,
        sa.Column("created_on", UtcMoment(), nullable=False),
        sa.Column("changed_on", UtcMoment(), nullable=False),
        sa.Column("created_by", sa.Integer()),
        sa.Column("changed_by", sa.Integer()),
        sa.Column("version", sa.Integer(), nullable=False),
        sqlite_autoincrement=True,
        if_not_exists=True,
    )


def _create_links(op: Operations, name: str, parent: tuple[str, str], child: tuple[str, str], *, keeps: bool) -> None:
    """Make a table of pairs; `parent` and `child` are (noun, table), a child that is kept cannot be deleted."""
    columns = []
    for (noun, table), action in ((parent, "CASCADE"), (child, None if keeps else "CASCADE")):
        key = sa.ForeignKey(f"{table}.id", name=f"fk_{name}_{noun}", ondelete=action)
        columns.append(sa.Column(f"{noun}_id", sa.Integer(), key, primary_key=True, autoincrement=False))
    op.create_table(name, *columns, if_not_exists=True)
    _create_index(op, f"ix_{name}_{child[0]}", name, [f"{child[0]}_id"])


def _create_index(op: Operations, name: str, table: str, columns: list[str]) -> None:
    """Make an index unless it is there; MySQL has no IF NOT EXISTS for indexes."""
    if name not in {index["name"] for index in sa.inspect(op.get_bind()).get_indexes(table)}:
        op.create_index(name, table, columns)


def _create_annotations(op: Operations) -> None:
    _create_records(
        op,
        "ac_annotation_layers",
        sa.Column("name", Name(250), nullable=False),
        sa.Column("descr", LongText()),
        sa.UniqueConstraint("name", name="uq_ac_annotation_layers_name"),
    )
    layer = sa.ForeignKey("ac_annotation_layers.id", name="fk_ac_annotations_layer", ondelete="CASCADE")
    _create_records(
        op,
        "ac_annotations",
        sa.Column("layer_id", sa.Integer(), layer, nullable=False),
        sa.Column("start_dttm", UtcMoment(), nullable=False),
        sa.Column("end_dttm", UtcMoment(), nullable=False),
        sa.Column("short_descr", Name(500), nullable=False),
        sa.Column("long_descr", LongText()),
        sa.Column("json_metadata", LongText()),
    )
    _create_index(op, "ix_ac_annotations_layer", "ac_annotations", ["layer_id", "start_dttm"])


def _create_css_templates(op: Operations) -> None:
    _create_records(op, "ac_css_templates", sa.Column("template_name", Name(250)), sa.Column("css", LongText()))


def _create_tags(op: Operations) -> None:
    _create_records(
        op,
        "ac_tags",
        sa.Column("name", Name(250), nullable=False),
        sa.Column("type", sa.Integer(), nullable=False),
        sa.Column("description", LongText()),
        sa.UniqueConstraint("type", "name", name="uq_ac_tags_name"),
    )
    _create_links(op, "ac_chart_tags", ("chart", "ac_charts"), ("tag", "ac_tags"), keeps=False)


def _create_dashboards(op: Operations) -> None:
    _create_records(
        op,
        "ac_dashboards",
        sa.Column("uuid", Name(36), nullable=False),
        sa.Column("dashboard_title", Name(500)),
        sa.Column("slug", Name(255)),
        sa.Column("css", LongText()),
        sa.Column("json_metadata", LongText()),
        sa.Column("position_json", LongText()),
        sa.Column("published", sa.Boolean(), nullable=False),
        sa.Column("certified_by", LongText()),
        sa.Column("certification_details", LongText()),
        sa.Column("external_url", LongText()),
        sa.Column("is_managed_externally", sa.Boolean(), nullable=False),
        sa.UniqueConstraint("uuid", name="uq_ac_dashboards_uuid"),
        sa.UniqueConstraint("slug", name="uq_ac_dashboards_slug"),
    )
    dashboard = ("dashboard", "ac_dashboards")
    owned = sa.ForeignKey("ac_dashboards.id", name="fk_ac_dashboard_owners_dashboard_id", ondelete="CASCADE")
    op.create_table(
        "ac_dashboard_owners",
        sa.Column("dashboard_id", sa.Integer(), owned, primary_key=True, autoincrement=False),
        sa.Column("user_id", sa.Integer(), primary_key=True, autoincrement=False),
        if_not_exists=True,
    )
    _create_index(op, "ix_ac_dashboard_owners_user", "ac_dashboard_owners", ["user_id"])
    _create_links(op, "ac_dashboard_roles", dashboard, ("role", "ac_roles"), keeps=True)
    _create_links(op, "ac_dashboard_charts", dashboard, ("chart", "ac_charts"), keeps=False)
    _create_links(op, "ac_dashboard_tags", dashboard, ("tag", "ac_tags"), keeps=False)


def _create_embedded_dashboards(op: Operations) -> None:
    shown = sa.ForeignKey("ac_dashboards.id", name="fk_ac_embedded_dashboards_dashboard", ondelete="CASCADE")
    _create_records(
        op,
        "ac_embedded_dashboards",
        sa.Column("uuid", Name(36), nullable=False),
        sa.Column("dashboard_id", sa.Integer(), shown, nullable=False),
        sa.Column("allowed_domains", LongText(), nullable=False),
        sa.UniqueConstraint("uuid", name="uq_ac_embedded_dashboards_uuid"),
        sa.UniqueConstraint("dashboard_id", name="uq_ac_embedded_dashboards_dashboard"),
    )


def _create_favourites(op: Operations) -> None:
    _create_records(
        op,
        "ac_favourites",
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("target", Name(20), nullable=False),
        sa.Column("target_id", sa.Integer(), nullable=False),
        sa.UniqueConstraint("user_id", "target", "target_id", name="uq_ac_favourites_target"),
    )
    _create_index(op, "ix_ac_favourites_target", "ac_favourites", ["target", "target_id"])


def _create_row_rules(op: Operations) -> None:
    _create_records(
        op,
        "ac_row_rules",
        sa.Column("name", Name(255), nullable=False),
        sa.Column("clause", LongText(), nullable=False),
        sa.Column("filter_type", Name(20), nullable=False),
        sa.Column("group_key", Name(255)),
        sa.Column("description", LongText()),
        sa.UniqueConstraint("name", name="uq_ac_row_rules_name"),
    )
    rule = ("row_rule", "ac_row_rules")
    _create_links(op, "ac_row_rule_roles", rule, ("role", "ac_roles"), keeps=True)
    _create_links(op, "ac_row_rule_datasets", rule, ("dataset", "ac_datasets"), keeps=True)


def _create_logs(op: Operations) -> None:
    _create_records(
        op,
        "ac_logs",
        sa.Column("action", Name(512), nullable=False),
        sa.Column("user_id", sa.Integer()),
        sa.Column("dashboard_id", sa.Integer()),
        sa.Column("slice_id", sa.Integer()),
        sa.Column("dttm", UtcMoment()),
        sa.Column("duration_ms", sa.Integer()),
        sa.Column("json", LongText()),
        sa.Column("referrer", Name(1024)),
    )
    _create_index(op, "ix_ac_logs_user", "ac_logs", ["user_id", "dttm"])
    _create_index(op, "ix_ac_logs_dttm", "ac_logs", ["dttm"])


def _create_key_values(op: Operations) -> None:
    _create_records(
        op,
        "ac_key_values",
        sa.Column("kind", Name(32), nullable=False),
        sa.Column("key", Name(128), nullable=False),
        sa.Column("value", LongText(), nullable=False),
        sa.Column("expires_on", UtcMoment()),
        sa.UniqueConstraint("kind", "key", name="uq_ac_key_values_key"),
    )
    _create_index(op, "ix_ac_key_values_expiry", "ac_key_values", ["kind", "expires_on"])


def _create_orders(op: Operations) -> None:
    """Make the indexes of the columns by which lists are mostly ordered, also on the tables of revision 0001."""
    _create_index(op, "ix_ac_datasets_table", "ac_datasets", ["table_name"])
    _create_index(op, "ix_ac_datasets_changed", "ac_datasets", ["changed_on"])
    _create_index(op, "ix_ac_charts_name", "ac_charts", ["slice_name"])
    _create_index(op, "ix_ac_charts_changed", "ac_charts", ["changed_on"])
    _create_index(op, "ix_ac_dashboards_title", "ac_dashboards", ["dashboard_title"])
    _create_index(op, "ix_ac_dashboards_changed", "ac_dashboards", ["changed_on"])
