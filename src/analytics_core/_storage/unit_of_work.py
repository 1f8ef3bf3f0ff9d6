"""One transaction on the metadata store."""

from __future__ import annotations

from analytics_core._records.chart import Chart
from analytics_core._records.database import Database
from analytics_core._records.dataset import Dataset
from analytics_core._records.people import Role, User
from analytics_core._storage.record_kinds import CHART_KIND, DATABASE_KIND, DATASET_KIND, ROLE_KIND, USER_KIND
from analytics_core._storage.repository import SqlRepository
from analytics_core._storage.session import StoreSession


class SqlUnitOfWork:
    """The repositories of one transaction (protocol `UnitOfWork`)."""

    def __init__(self, session: StoreSession) -> None:
        self._session = session

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
