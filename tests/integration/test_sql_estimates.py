"""`core.sql.estimate`: what statements would cost, as numbers alone, under the gate and the row rules."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.small_core import small_core
from tests.support.tenant_world import ENGINES, TenantWorld, rule, tenant_world, url_on

from analytics_core import AnalyticsCore
from analytics_core.errors import (
    DatabaseAccessError,
    DatabaseError,
    StatementRefusedError,
    TemplateError,
    UnsupportedByEngineError,
)


@pytest.fixture(scope="module", params=ENGINES[1:])
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TenantWorld]:
    folder = tmp_path_factory.mktemp("estimates")
    with tenant_world(request.param, url_on(request, folder), folder) as made:
        made.admin.row_level_security.create(rule(made))
        made.admin.databases.update(1, {"allow_dml": True})
        yield made


NAMES = {
    "postgresql": ["rows", "startup_cost", "total_cost"],
    "mysql": ["rows"],
    "duckdb": ["rows", "rows_of_steps"],
}
"""What each engine estimates, its cost last."""


def estimate(core: AnalyticsCore, sql: str, **fields: Any) -> tuple[dict[str, float], ...]:
    return core.sql.estimate({"database_id": 1, "sql": sql, **fields})


def test_each_statement_of_a_script_has_the_numbers_of_its_engine(world: TenantWorld) -> None:
    sql = "SELECT tenant FROM sales; DROP TABLE IF EXISTS none_of_them; INSERT INTO sales SELECT * FROM sales"
    assert world.admin.databases.list().result[0].allows_cost_estimate is True
    before = world.admin.sql("SELECT COUNT(*) AS n FROM sales").rows()
    query, dropped, filled = estimate(world.admin, sql)
    assert sorted(query) == NAMES[world.engine]
    assert all(isinstance(number, float) for number in query.values())
    assert dropped == {}
    assert sorted(filled) == NAMES[world.engine]
    assert world.admin.sql("SELECT COUNT(*) AS n FROM sales").rows() == before


def test_what_is_joined_costs_more_than_what_is_read_once(world: TenantWorld) -> None:
    once = estimate(world.admin, "SELECT * FROM sales")[0]
    joined = estimate(world.admin, "SELECT a.* FROM sales AS a CROSS JOIN sales AS b CROSS JOIN sales AS c")[0]
    counted = NAMES[world.engine][-1]
    assert joined[counted] > once[counted] > 0


def test_an_estimate_goes_through_the_gate(world: TenantWorld) -> None:
    acme = world.user("acme")
    with pytest.raises(StatementRefusedError, match="estimated from all their rows"):
        estimate(acme, "SELECT 1 AS one; SELECT * FROM sales")
    assert estimate(acme, "SELECT 1 AS one")
    with pytest.raises(StatementRefusedError, match="statement 2 of 2"):
        estimate(acme, "SELECT 1 AS one; UPDATE sales SET amount = 0")
    with pytest.raises(DatabaseError, match="nowhere"):
        estimate(acme, "SELECT * FROM nowhere")
    with pytest.raises(TemplateError):
        estimate(acme, "SELECT {{ nothing }} AS one")
    assert estimate(acme, "SELECT {{ number }} AS one", template_params={"number": 7})
    world.admin.databases.update(1, {"expose_in_sqllab": False})
    with pytest.raises(DatabaseAccessError):
        estimate(acme, "SELECT 1 AS one")
    world.admin.databases.update(1, {"expose_in_sqllab": True})


def test_an_engine_that_estimates_nothing_says_so(tmp_path: Path) -> None:
    with small_core(tmp_path) as small:
        assert small.core.databases.list().result[0].allows_cost_estimate is False
        with pytest.raises(UnsupportedByEngineError, match="nothing here estimates the cost of statements on SQLite"):
            estimate(small.core, "SELECT 1 AS one")


def test_a_table_made_of_a_query_costs_what_the_query_costs_where_the_engine_plans_it(world: TenantWorld) -> None:
    made = "CREATE TABLE copied AS SELECT * FROM sales"
    if world.engine == "mysql":
        with pytest.raises(UnsupportedByEngineError, match="estimate its query alone"):
            estimate(world.admin, made)
    else:
        assert sorted(estimate(world.admin, made)[0]) == NAMES[world.engine]
