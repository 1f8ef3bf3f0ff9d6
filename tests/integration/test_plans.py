"""Plans of our statements by property: the index that must be used, and no join in a loop over all rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa
from tests.support.cases import for_each
from tests.support.plan_cases import CASES, Case, flaw, plan_of, statements
from tests.support.plan_world import TABLE, load

import analytics_core

ROWS = 50_000
ENGINES = (
    "sqlite",
    "duckdb",
    pytest.param("postgresql", marks=pytest.mark.server),
    pytest.param("mysql", marks=pytest.mark.server),
)
ASSERTED = [case for case in CASES if case.shows]


@pytest.fixture(scope="module", params=ENGINES)
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("plans")
    makers = {"postgresql": "make_postgres_database", "mysql": "make_mariadb_database"}
    maker = makers.get(request.param)
    url = request.getfixturevalue(maker)() if maker else f"{request.param}:///{folder}/a.{request.param}"
    load(url, ROWS, folder)
    with analytics_core.connect(url) as core:
        core.datasets.create({"database": 1, "table_name": TABLE})
        made = {case.name: statements(core, case)[0] for case in ASSERTED}
    engine = sa.create_engine(url)
    with engine.connect() as connection:
        yield request.param, connection, made
    engine.dispose()


@pytest.mark.slow
@for_each("case", ASSERTED, ids=lambda case: case.name)
def test_a_plan_shows_what_it_must(world: Any, case: Case) -> None:
    engine, connection, made = world
    plan = plan_of(connection, engine, made[case.name])
    assert flaw(case, engine, plan) is None, plan


@pytest.mark.slow
def test_a_plan_that_lacks_its_index_or_join_is_found_out(world: Any) -> None:
    engine, connection, _ = world
    case = next(case for case in ASSERTED if engine in case.shows)
    plan = plan_of(connection, engine, f"SELECT quantity FROM {TABLE}")
    assert flaw(case, engine, plan) is not None
