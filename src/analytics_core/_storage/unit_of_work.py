"""One transaction on the metadata store."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

import sqlalchemy as sa

from analytics_core._records.audit import LogEntry
from analytics_core._records.chart import Annotation, AnnotationLayer, Chart
from analytics_core._records.dashboard import CssTemplate, Dashboard, EmbeddedDashboard, Favourite, Tag
from analytics_core._records.database import Database
from analytics_core._records.dataset import Dataset
from analytics_core._records.people import Role, User
from analytics_core._records.repositories import Names, NamesQuery
from analytics_core._records.row_rule import RowRule
from analytics_core._records.shared_state import JobRecord, JobResultPart, JobWorker, KeyValue, LockRecord
from analytics_core._storage.column_types import StoreMoment
from analytics_core._storage.content_kinds import (
    ANNOTATION_KIND,
    ANNOTATION_LAYER_KIND,
    CSS_TEMPLATE_KIND,
    DASHBOARD_KIND,
    EMBEDDED_DASHBOARD_KIND,
    FAVOURITE_KIND,
    JOB_KIND,
    JOB_RESULT_KIND,
    JOB_WORKER_KIND,
    KEY_VALUE_KIND,
    LOCK_KIND,
    LOG_KIND,
    ROW_RULE_KIND,
    TAG_KIND,
)
from analytics_core._storage.names import read_names
from analytics_core._storage.record_kinds import CHART_KIND, DATABASE_KIND, DATASET_KIND, ROLE_KIND, USER_KIND
from analytics_core._storage.repository import SqlExpendableRepository, SqlRepository
from analytics_core._storage.session import StoreSession

_NOW: Final = sa.select(StoreMoment())


@dataclass(frozen=True, slots=True)
class SqlUnitOfWork:
    """The repositories of one transaction (protocol `UnitOfWork`)."""

    _session: StoreSession

    def now(self) -> datetime:
        """Return the store's own time when asked, aware and in UTC: milliseconds on SQLite, else microseconds."""
        return self._session.connection.execute(_NOW).scalar_one()

    def names(self, query: NamesQuery) -> Names:
        """Return short names of records, all read by one statement."""
        return read_names(self._session.connection, query, self._session.kept)

    @property
    def users(self) -> SqlRepository[User]:
        """The stored people."""
        return SqlRepository(USER_KIND, self._session)

    @property
    def roles(self) -> SqlRepository[Role]:
        """The roles with their grants."""
        return SqlRepository(ROLE_KIND, self._session)

    @property
    def databases(self) -> SqlRepository[Database]:
        """The databases that users query."""
        return SqlRepository(DATABASE_KIND, self._session)

    @property
    def datasets(self) -> SqlRepository[Dataset]:
        """The datasets with their columns and metrics."""
        return SqlRepository(DATASET_KIND, self._session)

    @property
    def charts(self) -> SqlRepository[Chart]:
        """The charts."""
        return SqlRepository(CHART_KIND, self._session)

    @property
    def annotation_layers(self) -> SqlRepository[AnnotationLayer]:
        """The annotation layers."""
        return SqlRepository(ANNOTATION_LAYER_KIND, self._session)

    @property
    def annotations(self) -> SqlRepository[Annotation]:
        """The annotations of all layers."""
        return SqlRepository(ANNOTATION_KIND, self._session)

    @property
    def css_templates(self) -> SqlRepository[CssTemplate]:
        """The CSS templates."""
        return SqlRepository(CSS_TEMPLATE_KIND, self._session)

    @property
    def tags(self) -> SqlRepository[Tag]:
        """The tags."""
        return SqlRepository(TAG_KIND, self._session)

    @property
    def favourites(self) -> SqlRepository[Favourite]:
        """The stars that people gave."""
        return SqlRepository(FAVOURITE_KIND, self._session)

    @property
    def dashboards(self) -> SqlRepository[Dashboard]:
        """The dashboards."""
        return SqlRepository(DASHBOARD_KIND, self._session)

    @property
    def embedded(self) -> SqlRepository[EmbeddedDashboard]:
        """The dashboards that may be shown inside other pages."""
        return SqlRepository(EMBEDDED_DASHBOARD_KIND, self._session)

    @property
    def row_rules(self) -> SqlRepository[RowRule]:
        """The row-level security rules."""
        return SqlRepository(ROW_RULE_KIND, self._session)

    @property
    def logs(self) -> SqlExpendableRepository[LogEntry]:
        """Who did what, when."""
        return SqlExpendableRepository(LOG_KIND, self._session)

    @property
    def key_values(self) -> SqlExpendableRepository[KeyValue]:
        """Small texts under keys."""
        return SqlExpendableRepository(KEY_VALUE_KIND, self._session)

    @property
    def jobs(self) -> SqlExpendableRepository[JobRecord]:
        """The jobs of all users and processes."""
        return SqlExpendableRepository(JOB_KIND, self._session)

    @property
    def job_results(self) -> SqlExpendableRepository[JobResultPart]:
        """The results of jobs, in parts."""
        return SqlExpendableRepository(JOB_RESULT_KIND, self._session)

    @property
    def job_workers(self) -> SqlExpendableRepository[JobWorker]:
        """The processes that hold jobs."""
        return SqlExpendableRepository(JOB_WORKER_KIND, self._session)

    @property
    def locks(self) -> SqlExpendableRepository[LockRecord]:
        """The locks that are held, and those whose time is over."""
        return SqlExpendableRepository(LOCK_KIND, self._session)
