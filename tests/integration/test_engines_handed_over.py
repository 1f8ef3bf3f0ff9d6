"""An engine of SQLAlchemy that a host hands over: asked by its own connections, read-only, and left as it was."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError
from tests.support.execution import MARIADB_ENDLESS, POSTGRES_ENDLESS
from tests.support.handed_over import queried, total
from tests.support.servers import MariadbServer, PostgresServer

import analytics_core
from analytics_core import AnalyticsCore
from analytics_core.errors import StatementTimeoutError

pytestmark = pytest.mark.server

TABLE = "CREATE TABLE sales (country VARCHAR(20), amount INTEGER, day DATE)"
ROWS = "INSERT INTO sales VALUES ('France', 10, '2024-01-01'), ('Italy', 2, '2024-01-02')"


@pytest.fixture(params=["postgresql", "mysql"])
def engine(request: pytest.FixtureRequest) -> Iterator[sa.Engine]:
    fixture = "postgres_server" if request.param == "postgresql" else "mariadb_server"
    server: PostgresServer | MariadbServer = request.getfixturevalue(fixture)
    made = sa.create_engine(server.make_database(), pool_size=2)
    with made.begin() as connection:
        connection.exec_driver_sql(TABLE)
        connection.exec_driver_sql(ROWS)
    yield made
    made.dispose()


@pytest.fixture
def core(engine: sa.Engine) -> Iterator[AnalyticsCore]:
    with analytics_core.connect(engine, statement_timeout_s=2) as opened:
        yield opened


def test_its_tables_are_datasets(core: AnalyticsCore) -> None:
    assert [dataset.table_name for dataset in core.datasets.list()] == ["sales"]
    assert queried(core, "sales", total("amount"), columns=("country",)) == [("France", 10), ("Italy", 2)]
    assert core.datasets.get("sales").main_dttm_col == "day"


def test_connections_are_opened_by_the_engine(engine: sa.Engine) -> None:
    opened = []
    sa.event.listen(engine, "connect", lambda raw, _record: opened.append(raw))
    engine.dispose()
    with analytics_core.connect(engine) as core:
        queried(core, "sales", "count")
    assert opened


def test_its_password_is_kept_nowhere(engine: sa.Engine, core: AnalyticsCore) -> None:
    connection = core.databases.connection(1)
    with core._runtime.content.store.unit_of_work() as unit:
        stored = unit.databases.get(1).uri.reveal()
    assert connection.orm_uri == stored
    assert sa.make_url(stored).password is None
    assert sa.make_url(stored).host == engine.url.host


def test_its_sessions_only_read(core: AnalyticsCore, engine: sa.Engine) -> None:
    with core._runtime.content.store.unit_of_work() as unit:
        ours = core._runtime.parts.connector.engine(unit.databases.get(1))
    for _ in range(2):  # the second time it comes out of the pool
        with pytest.raises(DBAPIError, match=r"(?i)read.only"), ours.connect() as lent:
            lent.exec_driver_sql("INSERT INTO sales VALUES ('Spain', 1, '2024-01-01')")
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT COUNT(*) FROM sales").scalar() == 2


def test_the_engine_goes_on_writing_beside_and_after(engine: sa.Engine) -> None:
    with analytics_core.connect(engine) as core:
        with engine.begin() as connection:
            connection.exec_driver_sql("INSERT INTO sales VALUES ('Spain', 1, '2024-01-01')")
        assert queried(core, "sales", "count") == [(3,)]
    with engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM sales")


def test_a_statement_that_takes_too_long_is_stopped(core: AnalyticsCore, engine: sa.Engine) -> None:
    sql = {"postgresql": POSTGRES_ENDLESS, "mysql": MARIADB_ENDLESS}
    slow = core.datasets.create({"database": 1, "table_name": "slow", "sql": sql[engine.dialect.name]}).id or 0
    with pytest.raises(StatementTimeoutError):
        queried(core, slow, "count")
    assert queried(core, "sales", "count") == [(2,)]
