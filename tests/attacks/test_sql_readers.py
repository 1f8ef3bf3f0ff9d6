"""Readers of several tenants at once: no rule, value, schema or limit of one stays in the statement of the next."""

from __future__ import annotations

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.support.tenant_world import ROWS, TENANTS, TenantWorld, rule, tenant_world

from analytics_core import AnalyticsCore

OWN = {tenant: {row[0] for row in ROWS if row[1] == tenant} for tenant in TENANTS}
STATEMENTS = (
    "SELECT id FROM sales",
    "SELECT s.id FROM sales AS s ORDER BY s.id",
    "WITH q AS (SELECT * FROM sales) SELECT id FROM q",
    "SELECT id FROM main.sales LIMIT 100",
)
TIMES = 40

pytestmark = pytest.mark.usefixtures("silent")


@pytest.fixture(params=["sqlite", "duckdb"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[TenantWorld]:
    url = f"{request.param}:///{tmp_path}/shop.db"
    with tenant_world(request.param, url, tmp_path, freshness_s=30, timeout_s=60) as made:
        made.admin.row_level_security.create(rule(made))
        made.admin.saved_queries.create({"label": "all", "database": 1, "sql": "SELECT id FROM sales"})
        yield made


def found(core: AnalyticsCore, road: str, sql: str, options: dict[str, Any]) -> set[int]:
    """Return the ids that an answer has."""
    match road:
        case "call":
            return {row[0] for row in core.sql(sql, database=1, **options).rows()}
        case "script":
            return {row["id"] for row in core.sql.execute({"database_id": 1, "sql": f"SELECT 1; {sql}"}).data}
        case "batches":
            with core.sql.batches(sql, database=1, **options) as batches:
                return {key for batch in batches for key in batch.column(0).to_pylist()}
    source = {"id": 1, "type": "saved_query"}
    data = core.charts.data({"datasource": source, "queries": [{"columns": ["id"], "row_limit": 100}]})
    data.raise_for_error()
    return {row["id"] for row in data.results[0].data}


def test_readers_of_several_tenants_at_once_get_their_own_rows(world: TenantWorld) -> None:
    def ask(who: str, seed: int) -> list[tuple[Any, ...]]:
        chance, core, foreign = random.Random(seed), world.user(who), []
        for _ in range(TIMES):
            road, sql = chance.choice(["call", "script", "batches", "saved query"]), chance.choice(STATEMENTS)
            options = {"schema": chance.choice([None, "main"]), "row_limit": chance.choice([None, 1, 50])}
            rows = found(core, road, sql, options)
            if not rows or not rows <= OWN[who]:
                foreign.append((who, road, sql, options, rows))
        return foreign

    with ThreadPoolExecutor(6) as pool:
        tasks = [pool.submit(ask, who, seed) for seed in range(2) for who in TENANTS]
    assert [one for task in tasks for one in task.result()] == []
