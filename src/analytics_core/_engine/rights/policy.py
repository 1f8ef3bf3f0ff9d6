"""Who may do what: one table, read by one class.

Nobody may do what the table does not say. An administrator is somebody with an `is_admin` role; an owner is named by
the record itself; the grants are those of the actor's roles. A host that wants other rules passes a `Policy` with its
own table, or a subclass. Lists follow the table by one condition of their statement; where a subclass decides by
methods of its own (`can_read_*`), lists ask it about each record that there is, which costs more the more there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from analytics_core._engine.rights.actor import Actor
from analytics_core._engine.rights.relationships import (
    AnyRelationship,
    Relationship,
    creator_relationships,
    general_relationships,
    guest_relationships,
    owner_relationships,
    relationships_on_database,
    relationships_on_dataset,
    relationships_on_schema,
    signed_in_relationships,
)
from analytics_core._records.chart import Annotation, AnnotationLayer, Chart
from analytics_core._records.dashboard import CssTemplate, Dashboard, Tag
from analytics_core._records.datasource import Database, Dataset
from analytics_core._records.report import ReportSchedule
from analytics_core._records.sql_query import SavedQuery
from analytics_core.errors import (
    AccessError,
    ChartAccessError,
    DashboardAccessError,
    DatabaseAccessError,
    DatasetAccessError,
    OwnershipError,
    SettingsError,
    UserActivityAccessError,
)

Rules = Mapping["Permission", AbstractSet[AnyRelationship]]


class Permission(StrEnum):
    """What the policy decides about."""

    READ_DATABASE = "read this database"
    QUERY_DATABASE = "run their own SQL on this database"
    QUERY_TABLE = "read this table by their own SQL"
    WRITE_DATABASE = "create or change databases"
    UPLOAD_FILES = "upload files into this schema"
    READ_DATASET = "read this dataset"
    WRITE_DATASET = "change this dataset"
    READ_CHART = "read this chart"
    WRITE_CHART = "change this chart"
    READ_DASHBOARD = "read this dashboard"
    WRITE_DASHBOARD = "change this dashboard"
    EMBED_DASHBOARD = "show this dashboard inside other pages"
    MINT_GUEST_TOKENS = "mint guest tokens"
    WRITE_TAG = "change this tag"
    MANAGE_PEOPLE = "manage users and roles"
    EMPTY_CACHE = "empty the cache of this dataset"
    READ_ACTIVITY = "read what this user did"
    MANAGE_LOGS = "write log entries of others and remove old ones"
    MANAGE_PERMALINKS = "remove old permalinks"
    READ_ANNOTATIONS = "read annotation layers and annotations"
    ADD_ANNOTATION_LAYER = "create annotation layers"
    WRITE_ANNOTATION_LAYER = "change this annotation layer"
    WRITE_ANNOTATION = "change this annotation"
    WRITE_SAVED_QUERY = "change this saved query"
    READ_CSS_TEMPLATES = "read CSS templates"
    ADD_CSS_TEMPLATE = "create CSS templates"
    WRITE_CSS_TEMPLATE = "change this CSS template"
    MANAGE_ROW_RULES = "manage row rules"
    ADD_REPORT = "create alerts and reports"
    MANAGE_REPORT = "see, run and change this alert or report"


ADMINISTRATOR, OWNER = Relationship.ADMINISTRATOR, Relationship.OWNER
GUEST = Relationship.GUEST_OF_ITS_DASHBOARD
ANY_GRANT = (Relationship.DATABASE_GRANT, Relationship.SCHEMA_GRANT, Relationship.DATASET_GRANT)

RULES: Rules = MappingProxyType(
    {
        Permission.READ_DATABASE: frozenset({ADMINISTRATOR, Relationship.DATABASE_GRANT, Relationship.SCHEMA_GRANT}),
        Permission.QUERY_DATABASE: frozenset({ADMINISTRATOR, Relationship.DATABASE_GRANT}),
        Permission.QUERY_TABLE: frozenset({ADMINISTRATOR, OWNER, *ANY_GRANT}),
        Permission.WRITE_DATABASE: frozenset({ADMINISTRATOR}),
        Permission.UPLOAD_FILES: frozenset({ADMINISTRATOR, Relationship.DATABASE_GRANT, Relationship.SCHEMA_GRANT}),
        Permission.READ_DATASET: frozenset({ADMINISTRATOR, OWNER, *ANY_GRANT, GUEST}),
        Permission.WRITE_DATASET: frozenset({ADMINISTRATOR, OWNER}),
        Permission.READ_CHART: frozenset({ADMINISTRATOR, OWNER, Relationship.READER_OF_ITS_DATASET, GUEST}),
        Permission.WRITE_CHART: frozenset({ADMINISTRATOR, OWNER}),
        Permission.READ_DASHBOARD: frozenset({ADMINISTRATOR, OWNER, Relationship.AUDIENCE, GUEST}),
        Permission.WRITE_DASHBOARD: frozenset({ADMINISTRATOR, OWNER}),
        Permission.WRITE_TAG: frozenset({ADMINISTRATOR, Relationship.CREATOR}),
        Permission.EMBED_DASHBOARD: frozenset({ADMINISTRATOR, OWNER}),
        Permission.MINT_GUEST_TOKENS: frozenset({ADMINISTRATOR}),
        Permission.MANAGE_PEOPLE: frozenset({ADMINISTRATOR}),
        Permission.EMPTY_CACHE: frozenset({ADMINISTRATOR, OWNER}),
        Permission.READ_ACTIVITY: frozenset({ADMINISTRATOR, Relationship.THEMSELVES}),
        Permission.MANAGE_LOGS: frozenset({ADMINISTRATOR}),
        Permission.MANAGE_PERMALINKS: frozenset({ADMINISTRATOR}),
        Permission.READ_ANNOTATIONS: frozenset({ADMINISTRATOR, Relationship.SIGNED_IN, GUEST}),
        Permission.ADD_ANNOTATION_LAYER: frozenset({ADMINISTRATOR, Relationship.SIGNED_IN}),
        Permission.WRITE_ANNOTATION_LAYER: frozenset({ADMINISTRATOR, Relationship.CREATOR}),
        Permission.WRITE_ANNOTATION: frozenset({ADMINISTRATOR, Relationship.CREATOR}),
        Permission.WRITE_SAVED_QUERY: frozenset({ADMINISTRATOR, Relationship.CREATOR}),
        Permission.READ_CSS_TEMPLATES: frozenset({ADMINISTRATOR, Relationship.SIGNED_IN}),
        Permission.ADD_CSS_TEMPLATE: frozenset({ADMINISTRATOR, Relationship.SIGNED_IN}),
        Permission.WRITE_CSS_TEMPLATE: frozenset({ADMINISTRATOR, Relationship.CREATOR}),
        Permission.MANAGE_ROW_RULES: frozenset({ADMINISTRATOR}),
        Permission.ADD_REPORT: frozenset({ADMINISTRATOR, Relationship.SIGNED_IN}),
        Permission.MANAGE_REPORT: frozenset({ADMINISTRATOR, OWNER}),
    }
)
"""The table: each permission, and the relationships of which one gives it."""


class Policy:
    """Decides by the table; `can_*` answers, `require_*` raises the typed refusal.

    Args:
        rules: each permission, and the relationships of which one gives it; one that the table lacks is refused to
            everybody, so a host's table is `{**RULES, ...}` with the permissions that differ.

    Raises:
        SettingsError: the table holds something that is no permission or no relationship, and would bind nobody.
    """

    def __init__(self, rules: Rules = RULES) -> None:
        _check_rules(rules)
        self._rules = {permission: frozenset(relationships) for permission, relationships in rules.items()}

    def allows(self, permission: Permission, relationships: frozenset[AnyRelationship]) -> bool:
        """Tell whether one of the relationships gives the permission; one that the table lacks is refused."""
        return bool(self.enough_for(permission) & relationships)

    def enough_for(self, permission: Permission) -> frozenset[AnyRelationship]:
        """Return the relationships of which one gives the permission; lists are narrowed by them too."""
        return self._rules.get(permission, frozenset())

    def sees_all(self, permission: Permission, actor: Actor) -> bool:
        """Tell whether the actor has the permission on every record, whatever the record is."""
        return self.allows(permission, general_relationships(actor))

    # ------------------------------------------------------------------------------------------------- databases
    def can_read_database(self, actor: Actor, database: Database) -> bool:
        """Tell whether the actor may see the database."""
        return self.allows(Permission.READ_DATABASE, relationships_on_database(actor, database.id))

    def require_read_database(self, actor: Actor, database: Database) -> None:
        """Raise DatabaseAccessError unless the actor may see the database."""
        if not self.can_read_database(actor, database):
            raise DatabaseAccessError(f"you have no access to database {database.id}; ask an administrator for a grant")

    def can_query_database(self, actor: Actor, database: Database) -> bool:
        """Tell whether the actor may run SQL of their own on the database, for example in a virtual dataset."""
        return self.allows(Permission.QUERY_DATABASE, relationships_on_database(actor, database.id))

    def require_query_database(self, actor: Actor, database: Database) -> None:
        """Raise DatabaseAccessError unless the actor may run SQL of their own on the database."""
        if not self.can_query_database(actor, database):
            raise DatabaseAccessError(
                f"SQL on database {database.id} needs a grant on the whole database; ask an administrator for one"
            )

    def can_query_tables(self, actor: Actor, database: Database, *, schema: str | None) -> bool:
        """Tell whether SQL of the actor's own may read the tables of this schema; it takes the right to read them."""
        by_grant = self.allows(Permission.QUERY_TABLE, relationships_on_schema(actor, database.id, schema))
        return by_grant and self.can_read_tables(actor, database, schema=schema)

    def can_query_table_of(self, actor: Actor, dataset: Dataset) -> bool:
        """Tell whether SQL of the actor's own may read the table of a dataset; it takes the right to read that."""
        by_grant = self.allows(Permission.QUERY_TABLE, relationships_on_dataset(actor, dataset))
        return by_grant and self.can_read_dataset(actor, dataset)

    def require_manage_databases(self, actor: Actor) -> None:
        """Raise DatabaseAccessError unless the actor may create databases."""
        if not self.allows(Permission.WRITE_DATABASE, general_relationships(actor)):
            raise DatabaseAccessError("you may not create, change or delete databases; ask an administrator")

    def can_upload(self, actor: Actor, database: Database, *, schema: str | None) -> bool:
        """Tell whether the actor may upload files into this schema, where the database takes them."""
        return self.allows(Permission.UPLOAD_FILES, relationships_on_schema(actor, database.id, schema))

    def require_upload(self, actor: Actor, database: Database, *, schema: str | None) -> None:
        """Raise DatabaseAccessError unless the actor may upload files into this schema."""
        if not self.can_upload(actor, database, schema=schema):
            raise DatabaseAccessError(
                f"you may not upload files into this schema of database {database.id}; ask an administrator for a grant"
            )

    # -------------------------------------------------------------------------------------------------- datasets
    def can_read_dataset(self, actor: Actor, dataset: Dataset) -> bool:
        """Tell whether the actor may read the dataset and its rows."""
        return self.allows(Permission.READ_DATASET, relationships_on_dataset(actor, dataset))

    def require_read_dataset(self, actor: Actor, dataset: Dataset) -> None:
        """Raise DatasetAccessError unless the actor may read the dataset."""
        if not self.can_read_dataset(actor, dataset):
            raise DatasetAccessError(
                f"you have no access to dataset {dataset.id}; ask an administrator for a grant on it or on its database"
            )

    def require_empty_cache(self, actor: Actor, dataset: Dataset) -> None:
        """Raise OwnershipError unless the actor may make the kept answers of the dataset unreachable."""
        if not self.allows(Permission.EMPTY_CACHE, relationships_on_dataset(actor, dataset)):
            raise OwnershipError(f"only an owner or an administrator may empty the cache of dataset {dataset.id}")

    def can_read_tables(self, actor: Actor, database: Database, *, schema: str | None) -> bool:
        """Tell whether the actor may read the tables of this schema of the database."""
        return self.allows(Permission.READ_DATASET, relationships_on_schema(actor, database.id, schema))

    def require_read_table(self, actor: Actor, database: Database, *, schema: str | None) -> None:
        """Raise DatabaseAccessError unless the actor may read the tables of this schema of the database."""
        if not self.can_read_tables(actor, database, schema=schema):
            raise DatabaseAccessError(
                f"you have no access to this schema of database {database.id}; ask an administrator for a grant"
            )

    # ---------------------------------------------------------------------------------------------------- charts
    def can_read_chart(self, actor: Actor, chart: Chart, dataset: Dataset | None) -> bool:
        """Tell whether the actor may read the chart, which is drawn from `dataset` (None: it has none)."""
        if actor.guest is not None:
            return self.allows(Permission.READ_CHART, guest_relationships(chart.id in actor.guest.chart_ids))
        relationships = owner_relationships(actor, chart.owner_ids)
        if dataset is not None and self.can_read_dataset(actor, dataset):
            relationships |= {Relationship.READER_OF_ITS_DATASET}
        return self.allows(Permission.READ_CHART, relationships)

    def require_read_chart(self, actor: Actor, chart: Chart, dataset: Dataset | None) -> None:
        """Raise ChartAccessError unless the actor may read the chart."""
        if not self.can_read_chart(actor, chart, dataset):
            raise ChartAccessError(f"you have no access to chart {chart.id}; ask for a grant on its dataset")

    # ------------------------------------------------------------------------------------------------ dashboards
    def can_read_dashboard(self, actor: Actor, dashboard: Dashboard, datasets: Iterable[Dataset]) -> bool:
        """Tell whether the actor may read the dashboard; `datasets` are those of its charts.

        A draft is for its owners. A published one is for whoever holds one of its roles (it may name none) and may
        read the dataset of at least one of its charts (it may have none).
        """
        if actor.guest is not None:
            return self.allows(
                Permission.READ_DASHBOARD, guest_relationships(dashboard.id in actor.guest.dashboard_ids)
            )
        relationships = owner_relationships(actor, dashboard.owner_ids)
        if self._is_audience(actor, dashboard, datasets):
            relationships |= {Relationship.AUDIENCE}
        return self.allows(Permission.READ_DASHBOARD, relationships)

    def require_read_dashboard(self, actor: Actor, dashboard: Dashboard, datasets: Iterable[Dataset]) -> None:
        """Raise DashboardAccessError unless the actor may read the dashboard."""
        if not self.can_read_dashboard(actor, dashboard, datasets):
            raise DashboardAccessError(
                f"you have no access to dashboard {dashboard.id}; its owners see it, and once it is published whoever "
                "has one of its roles and may read a dataset of its charts"
            )

    def _is_audience(self, actor: Actor, dashboard: Dashboard, datasets: Iterable[Dataset]) -> bool:
        if not dashboard.published:
            return False
        if dashboard.role_ids and not actor.role_ids.intersection(dashboard.role_ids):
            return False
        return not dashboard.chart_ids or any(self.can_read_dataset(actor, dataset) for dataset in datasets)

    # -------------------------------------------------------------------------------------------------- embedding
    def require_embed(self, actor: Actor, dashboard: Dashboard) -> None:
        """Raise OwnershipError unless the actor may say whether and where the dashboard is embedded."""
        if not self.allows(Permission.EMBED_DASHBOARD, owner_relationships(actor, dashboard.owner_ids)):
            raise OwnershipError(f"only an owner or an administrator may embed dashboard {dashboard.id}")

    def require_mint_guest_tokens(self, actor: Actor) -> None:
        """Raise AccessError unless the actor may mint guest tokens, or revoke those of a person."""
        if not self.allows(Permission.MINT_GUEST_TOKENS, general_relationships(actor)):
            raise AccessError("only an administrator may mint guest tokens: whoever holds one reads what it names")

    # ------------------------------------------------------------------------------------------------------- tags
    def require_write_tag(self, actor: Actor, tag: Tag) -> None:
        """Raise OwnershipError unless the actor may rename or delete the tag."""
        if not self.allows(Permission.WRITE_TAG, creator_relationships(actor, tag.audit.created_by)):
            raise OwnershipError(f"only its creator or an administrator may change tag {tag.id}")

    # ---------------------------------------------------------------------------------------------------- changes
    def can_write(self, actor: Actor, record: Database | Dataset | Chart | Dashboard | SavedQuery) -> bool:
        """Tell whether the actor may change or delete the record."""
        match record:
            case Database():
                return self.allows(Permission.WRITE_DATABASE, relationships_on_database(actor, record.id))
            case Dataset():
                return self.allows(Permission.WRITE_DATASET, relationships_on_dataset(actor, record))
            case Dashboard():
                return self.allows(Permission.WRITE_DASHBOARD, owner_relationships(actor, record.owner_ids))
            case SavedQuery():
                return self.allows(Permission.WRITE_SAVED_QUERY, creator_relationships(actor, record.audit.created_by))
        return self.allows(Permission.WRITE_CHART, owner_relationships(actor, record.owner_ids))

    def require_write(self, actor: Actor, record: Database | Dataset | Chart | Dashboard) -> None:
        """Raise OwnershipError unless the actor may change or delete the record.

        A record that is managed externally changes only for somebody who manages externally.
        """
        kind = type(record).__name__.lower()
        if not self.can_write(actor, record):
            who = "an administrator" if isinstance(record, Database) else "an owner or an administrator"
            raise OwnershipError(f"only {who} may change {kind} {record.id}")
        if record.is_managed_externally and not actor.manages_externally:
            raise OwnershipError(f"{kind} {record.id} is managed by another system; change it there")

    # ------------------------------------------------------------------------------------------- shared content
    def require(self, permission: Permission, actor: Actor) -> None:
        """Raise AccessError unless the actor has a permission that no record is needed to decide about."""
        if not self.allows(permission, signed_in_relationships(actor)):
            raise AccessError(f"you may not {permission.value}; ask an administrator")

    def require_show_annotations(self, actor: Actor) -> None:
        """Raise AccessError unless the actor may see stored annotations in the answer of a chart.

        Guests ask the charts of their dashboards as they are stored, so they see the layers that its owners put there.
        """
        relationships = signed_in_relationships(actor) if actor.guest is None else guest_relationships(is_named=True)
        if not self.allows(Permission.READ_ANNOTATIONS, relationships):
            raise AccessError(f"you may not {Permission.READ_ANNOTATIONS.value}; ask an administrator")

    def can_write_annotation_layer(self, actor: Actor, layer: AnnotationLayer) -> bool:
        """Tell whether the actor may change or delete the layer, or add annotations to it."""
        return self.allows(Permission.WRITE_ANNOTATION_LAYER, creator_relationships(actor, layer.audit.created_by))

    def require_write_annotation_layer(self, actor: Actor, layer: AnnotationLayer) -> None:
        """Raise OwnershipError unless the actor may change or delete the layer, or add annotations to it."""
        if not self.can_write_annotation_layer(actor, layer):
            raise OwnershipError(f"only its creator or an administrator may change annotation layer {layer.id}")

    def can_write_annotation(self, actor: Actor, annotation: Annotation, layer: AnnotationLayer) -> bool:
        """Tell whether the actor may change or delete the annotation; the creator of its layer may, too."""
        creators = (annotation.audit.created_by, layer.audit.created_by)
        return self.allows(Permission.WRITE_ANNOTATION, creator_relationships(actor, *creators))

    def require_write_annotation(self, actor: Actor, annotation: Annotation, layer: AnnotationLayer) -> None:
        """Raise OwnershipError unless the actor may change or delete the annotation."""
        if not self.can_write_annotation(actor, annotation, layer):
            raise OwnershipError(
                f"only its creator, the creator of its layer or an administrator may change annotation {annotation.id}"
            )

    def can_write_css_template(self, actor: Actor, template: CssTemplate) -> bool:
        """Tell whether the actor may change or delete the CSS template."""
        return self.allows(Permission.WRITE_CSS_TEMPLATE, creator_relationships(actor, template.audit.created_by))

    def require_write_css_template(self, actor: Actor, template: CssTemplate) -> None:
        """Raise OwnershipError unless the actor may change or delete the CSS template."""
        if not self.can_write_css_template(actor, template):
            raise OwnershipError(f"only its creator or an administrator may change CSS template {template.id}")

    def require_write_saved_query(self, actor: Actor, query: SavedQuery) -> None:
        """Raise OwnershipError unless the actor may change or delete the saved query."""
        if not self.can_write(actor, query):
            raise OwnershipError(f"only its creator or an administrator may change saved query {query.id}")

    def require_manage_people(self, actor: Actor) -> None:
        """Raise AccessError unless the actor may manage users and roles."""
        if not self.allows(Permission.MANAGE_PEOPLE, general_relationships(actor)):
            raise AccessError("you may not manage users and roles; ask an administrator")

    def require_manage_row_rules(self, actor: Actor) -> None:
        """Raise AccessError unless the actor may see and manage row rules."""
        if not self.allows(Permission.MANAGE_ROW_RULES, general_relationships(actor)):
            raise AccessError("you may not see and manage row rules; ask an administrator")

    # ---------------------------------------------------------------------------------------------------- reports
    def can_manage_report(self, actor: Actor, schedule: ReportSchedule) -> bool:
        """Tell whether the actor may see, run and change the alert or report, and read of its runs."""
        return self.allows(Permission.MANAGE_REPORT, owner_relationships(actor, schedule.owner_ids))

    def require_manage_report(self, actor: Actor, schedule: ReportSchedule) -> None:
        """Raise OwnershipError unless the actor may see, run and change the alert or report."""
        if not self.can_manage_report(actor, schedule):
            raise OwnershipError(f"only an owner or an administrator may see or change report schedule {schedule.id}")

    # ------------------------------------------------------------------------------------------------------- logs
    def require_read_activity(self, actor: Actor, user_id: int | None) -> None:
        """Raise UserActivityAccessError unless the actor may read what this user did (None: nobody known)."""
        themselves = frozenset({Relationship.THEMSELVES}) if actor.id == user_id else frozenset()
        if not self.allows(Permission.READ_ACTIVITY, general_relationships(actor) | themselves):
            raise UserActivityAccessError("you may read your own activity only; ask an administrator for others'")

    def reads_all_activity(self, actor: Actor) -> bool:
        """Tell whether the actor may read what everybody did."""
        return self.sees_all(Permission.READ_ACTIVITY, actor)

    def require_manage_logs(self, actor: Actor) -> None:
        """Raise UserActivityAccessError unless the actor may remove log entries and write those of others."""
        if not self.allows(Permission.MANAGE_LOGS, general_relationships(actor)):
            raise UserActivityAccessError("you may not remove or write log entries of others; ask an administrator")

    def require_manage_permalinks(self, actor: Actor) -> None:
        """Raise AccessError unless the actor may remove old permalinks, whoever made them."""
        if not self.allows(Permission.MANAGE_PERMALINKS, general_relationships(actor)):
            raise AccessError(f"you may not {Permission.MANAGE_PERMALINKS.value}; ask an administrator")


def _check_rules(rules: Mapping[Any, AbstractSet[Any]]) -> None:
    for permission, relationships in rules.items():
        if not isinstance(permission, Permission):
            raise SettingsError(
                f"the policy's table decides about {permission!r}; its keys are permissions, such as "
                "Permission.READ_CHART"
            )
        strange = [relationship for relationship in relationships if not isinstance(relationship, AnyRelationship)]
        if strange:
            raise SettingsError(
                f"the policy's table lets {strange[0]!r} {permission.value}; use a Relationship, or HasRole with a "
                "role's name"
            )
