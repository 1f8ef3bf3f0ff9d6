"""Budgets on all roads to users' data: whatever asks, the same budget stops it, with its numbers in the error."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.support.execution import DUCKDB_ENDLESS, SQLITE_ENDLESS
from tests.support.reports import NOON, filtered_dashboard, form, mail
from tests.support.tenant_world import ENGINES, url_on

from analytics_core import AnalyticsCore, Budget, Settings
from analytics_core._records.repositories import ListQuery
from analytics_core.errors import BudgetError, ReportError, UnsupportedByEngineError
from analytics_core.testing import FixedClock, InlineJobRunner, Outbox

KEY = "a-test-key-that-is-long-enough-9f3a"
QUERY = {"columns": ["id"], "metrics": [], "row_limit": 100}
ENDLESS = {"sqlite": SQLITE_ENDLESS, "duckdb": DUCKDB_ENDLESS}
Call = Callable[[], Any]


@dataclass(frozen=True, kw_only=True)
class BudgetWorld:
    """A database of 30 orders on one engine, with a dataset, a chart, a dashboard, an alert and a report over it.

    `admin` makes content without a budget; `ann` works under the budgets.
    """

    engine: str
    admin: AnalyticsCore
    ann: AnalyticsCore
    clock: FixedClock
    virtual_id: int
    report_id: int
    alert_id: int

    def context(self, dataset_id: int = 1, **more: Any) -> dict[str, Any]:
        """Return a payload that no result in the cache answers."""
        return {"datasource": {"id": dataset_id, "type": "table"}, "queries": [{**QUERY, **more}], "force": True}

    def roads(self) -> dict[str, Call]:
        """Return each road to the data as ann goes it; a failure on it is raised."""
        ann, context = self.ann, self.context
        script = "SELECT id FROM orders; SELECT day FROM orders"
        return {
            "core.sql": lambda: ann.sql("SELECT id FROM orders"),
            "core.sql.batches": lambda: list(ann.sql.batches("SELECT id FROM orders")),
            "sql.execute": lambda: ann.sql.execute({"database_id": 1, "sql": "SELECT id FROM orders"}),
            "sql.execute of a script": lambda: ann.sql.execute({"database_id": 1, "sql": script}),
            "charts.data": lambda: ann.charts.data(context()).raise_for_error(),
            "charts.data of a virtual dataset": lambda: ann.charts.data(context(self.virtual_id)).raise_for_error(),
            "charts.batches": lambda: list(ann.charts.batches(context())),
            "dashboards.data": lambda: ann.dashboards.data(1, force=True).raise_for_error(),
            "a report": lambda: ann.reports.run_now(self.report_id, raise_errors=True),
            "an alert": lambda: ann.reports.run_now(self.alert_id, raise_errors=True),
        }


@contextmanager
def budget_world(engine: str, url: str, folder: Path, budgets: tuple[Budget, ...]) -> Iterator[BudgetWorld]:
    owner = sa.create_engine(url, poolclass=sa.NullPool)
    with owner.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE orders (id INTEGER, day DATE, region VARCHAR(10), amount INTEGER)")
        for number in range(30):
            connection.exec_driver_sql(f"INSERT INTO orders VALUES ({number}, '2026-01-01', 'r{number}', {number})")
    owner.dispose()
    clock = FixedClock(NOON)
    settings = Settings(
        secret_key=KEY, data_roots=(folder,), metadata_freshness_s=0, budgets=budgets, allowed_networks=("127.0.0.1",)
    )
    with AnalyticsCore(
        settings, metadata_url="sqlite://", clock=clock, notifiers=[Outbox()], jobs=InlineJobRunner()
    ) as host:
        admin = host.as_user(host.create_first_administrator("admin", email="admin@example.com").id)
        flags = {"allow_dml": True, "allow_run_async": True}
        admin.databases.create({"database_name": "shop", "sqlalchemy_uri": url, **flags})
        admin.datasets.create({"database": 1, "table_name": "orders"})
        virtual = admin.datasets.create({"database": 1, "table_name": "v", "sql": "SELECT id FROM orders"})
        fields = {"datasource_id": 1, "datasource_type": "table", "params": form(1)}
        admin.charts.create({"slice_name": "By region", "viz_type": "table", **fields})
        filtered_dashboard(admin)
        role = admin.roles.create({"name": "analysts", "is_admin": True})
        ann = host.as_user(admin.users.create({"username": "ann", "email": "a@example.com", "roles": [role.id]}).id)
        schedule = {"crontab": "0 * * * *", "report_format": "TEXT", "recipients": [mail("bob@example.com")]}
        alert = {
            "type": "Alert",
            "database": 1,
            "sql": "SELECT COUNT(*) AS n FROM orders",
            "validator_type": "Operator",
            "validator_config_json": {"op": ">", "threshold": 2},
        }
        yield BudgetWorld(
            engine=engine,
            admin=admin,
            ann=ann,
            clock=clock,
            virtual_id=virtual.id,
            report_id=ann.reports.create({"name": "orders", "type": "Report", "chart": 1, **schedule}).id,
            alert_id=ann.reports.create(
                {"name": "many", "type": "Alert", "chart": 1, "database": 1, **alert, **schedule}
            ).id,
        )


World = Callable[..., BudgetWorld]


@pytest.fixture(params=["sqlite", "duckdb"])
def world_of(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    made = []

    def make(*budgets: Budget) -> BudgetWorld:
        world = budget_world(request.param, url_on(request, tmp_path), tmp_path, budgets)
        made.append(world)
        return world.__enter__()

    yield make
    for world in made:
        world.__exit__(None, None, None)


def outcomes(roads: Mapping[str, Call]) -> dict[str, str]:
    """Return what becomes of each road: nothing, or what its budget says."""
    found = {}
    for name, road in roads.items():
        try:
            road()
        except (BudgetError, ReportError) as error:  # a report says what kept it from being sent
            found[name] = error.message
    return found


def test_a_day_that_is_spent_stops_every_road_and_the_next_one_opens_them(world_of: World) -> None:
    world = world_of(Budget(user="ann", rows_per_day=500))
    roads = world.roads()
    assert outcomes(roads) == {}
    context = {**world.context(), "force": False}
    assert world.ann.charts.data(context).results[0].rowcount == 30
    with pytest.raises(BudgetError):
        deque(map(world.ann.sql, repeat("SELECT id FROM orders", 20)), maxlen=0)
    stopped = outcomes(roads)
    assert set(stopped) == set(roads)
    reason = "the budget of user 'ann' allows 500 rows per day: 500 were spent before; it is free again at 2026-05-02"
    assert all(reason in message for message in stopped.values())
    assert world.ann.charts.data(context).results[0].rowcount == 30  # a result in the cache costs nothing
    assert world.admin.sql("SELECT id FROM orders").rowcount == 30
    world.clock.advance(timedelta(days=1))
    assert outcomes(roads) == {}


def test_more_rows_than_a_statement_may_give_end_the_reading_on_every_road(world_of: World) -> None:
    world = world_of(Budget(role="analysts", rows_per_statement=20))
    stopped = outcomes(world.roads())
    assert set(stopped) == set(world.roads())
    assert all("allows 20 rows per statement: the statement has more; ask for less" in one for one in stopped.values())
    assert world.ann.sql("SELECT id FROM orders", row_limit=20).rowcount == 20
    assert world.ann.sql("SELECT id FROM orders WHERE id < 20").rowcount == 20


def test_seconds_of_a_budget_lower_the_time_limit_and_are_counted(world_of: World) -> None:
    world = world_of(Budget(user="ann", seconds_per_statement=0.5), Budget(user="ann", seconds_per_day=0.8))
    sql = ENDLESS[world.engine]
    reason = "the budget of user 'ann' allows 0.5 seconds per statement: the statement took longer and was stopped"
    with pytest.raises(BudgetError, match=reason):
        world.ann.sql(sql)
    reason = r"allows 0.8 seconds per day: 0.\d+ were spent before; the statement took longer"
    with pytest.raises(BudgetError, match=reason):
        list(world.ann.sql.batches(sql))
    with pytest.raises(BudgetError, match=r"allows 0.8 seconds per day: "):
        world.ann.sql.execute({"database_id": 1, "sql": f"SELECT 1 AS one; {sql}"})


def test_a_script_is_undone_when_it_changes_more_rows_than_are_left(world_of: World) -> None:
    world = world_of(Budget(user="ann", rows_per_day=45))
    run = {"database_id": 1, "sql": "UPDATE orders SET amount = 0; UPDATE orders SET amount = 1"}
    with pytest.raises(BudgetError, match="statement 2 of 2: the budget of user 'ann' allows 45 rows per day"):
        world.ann.sql.execute(run)
    assert world.admin.sql("SELECT SUM(amount) AS n FROM orders").rows() == [(435,)]
    assert world.ann.queries.list(order_by="-id").result[0].status == "failed"


def test_a_background_job_stands_under_the_budgets_of_who_asked(world_of: World) -> None:
    world = world_of(Budget(user="ann", rows_per_statement=20))
    run = world.ann.sql.execute({"database_id": 1, "sql": "SELECT id FROM orders", "runAsync": True})
    with pytest.raises(BudgetError, match="allows 20 rows per statement"):
        world.ann.sql.results(run.query.results_key)


def test_explain_says_which_budgets_bound_a_query(world_of: World) -> None:
    world = world_of(Budget(user="ann", rows_per_day=500), Budget(database=1, seconds_per_statement=5))
    world.ann.sql("SELECT id FROM orders")
    reasons = (
        "the budget of user 'ann' allows 500 rows per day, and 30 are spent",
        "the budget of database 1 allows 5 seconds per statement",
    )
    explained = world.ann.sql.explain("SELECT id FROM orders")
    assert explained.budgets == reasons
    assert reasons[0] in str(explained)
    assert set(reasons) <= set(world.ann.charts.explain(world.context()).queries[0].notes)
    assert world.admin.sql.explain("SELECT id FROM orders").budgets == reasons[1:]


def test_a_cost_is_asked_for_where_a_budget_bounds_it(world_of: World) -> None:
    world = world_of(Budget(database="shop", user="ann", cost_per_statement=1_000))
    if world.engine == "sqlite":
        with pytest.raises(UnsupportedByEngineError, match="SQLite does not estimate this one's"):
            world.ann.sql("SELECT id FROM orders")
        return
    joined = "SELECT a.id FROM orders AS a CROSS JOIN orders AS b CROSS JOIN orders AS c"
    assert world.ann.sql("SELECT id FROM orders").rowcount == 30
    for sql in (joined, f"CREATE TABLE made AS {joined}", f"DROP TABLE IF EXISTS made; {joined}"):
        with pytest.raises(
            BudgetError, match="allows 1,000 of estimated cost per statement: the statement would cost more"
        ):
            world.ann.sql.execute({"database_id": 1, "sql": sql})
    assert world.admin.sql("SELECT 1 AS one").rowcount == 1


def test_what_was_spent_goes_by_prune(world_of: World) -> None:
    world = world_of(Budget(rows_per_day=5_000))
    world.ann.sql("SELECT id FROM orders")
    runtime = world.admin._runtime
    assert runtime.engine.statements._budgets is not None
    runtime.engine.statements._budgets.flush()
    assert world.admin.prune().key_values == 0
    world.clock.advance(timedelta(days=9))
    assert world.admin.prune().key_values == 1
    with runtime.content.store.unit_of_work() as unit:
        assert unit.key_values.list(ListQuery())[0] == 0


@pytest.fixture(params=ENGINES[2:])
def server_world(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    def make(*budgets: Budget) -> Any:
        return budget_world(request.param, url_on(request, tmp_path), tmp_path, budgets)

    return make


def test_servers_are_bounded_by_rows_seconds_and_cost(server_world: Any) -> None:
    budgets = (
        Budget(user="ann", rows_per_statement=40, seconds_per_statement=1.0),
        Budget(database=1, user="ann", cost_per_statement=2_000),
    )
    with server_world(*budgets) as world:
        assert world.ann.sql("SELECT id FROM orders").rowcount == 30
        two = "SELECT a.id FROM orders AS a CROSS JOIN orders AS b"
        for road in (
            lambda: world.ann.sql(two),
            lambda: list(world.ann.sql.batches(two)),
            lambda: world.ann.sql.execute({"database_id": 1, "sql": f"SELECT 1 AS one; {two}"}),
        ):
            with pytest.raises(BudgetError, match="allows 40 rows per statement: the statement has more"):
                road()
        many = ", ".join(f"orders AS o{number}" for number in range(8))
        with pytest.raises(BudgetError, match="allows 2,000 of estimated cost per statement"):
            world.ann.sql(f"SELECT COUNT(*) AS n FROM {many}")
        with pytest.raises(BudgetError, match="statement 2 of 2: the budget of database 1 and user 'ann' allows 2,000"):
            world.ann.sql.execute({"database_id": 1, "sql": f"SELECT 1 AS one; SELECT COUNT(*) AS n FROM {many}"})
        assert world.ann.sql("SELECT id FROM orders").rowcount == 30
