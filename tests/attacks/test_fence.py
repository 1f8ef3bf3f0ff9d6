"""The large matrix of the fence: every rule with every fragment in every place, on small and large tables.

Run it with every new version of a server: `nox -s attacks`. ANALYTICS_CORE_ATTACK_ROWS says how large a large table is.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import sqlalchemy as sa
from tests.support.attacks import SHARE
from tests.support.fence_trials import INDEXES, Trials, arrange, fill, leaks, one_rule_trials, share_of_pairs
from tests.support.tenant_world import ENGINES, url_on

MANY = int(os.environ.get("ANALYTICS_CORE_ATTACK_ROWS", "2000000"))
SERVERS = [engine for engine in ENGINES if not isinstance(engine, str)]
PARALLEL = (
    "SET max_parallel_workers_per_gather = 4",
    "SET parallel_setup_cost = 0",
    "SET parallel_tuple_cost = 0",
    "SET min_parallel_table_scan_size = 0",
)


@contextmanager
def connected(request: pytest.FixtureRequest, factory: pytest.TempPathFactory) -> Iterator[sa.Connection]:
    url = url_on(request, factory.mktemp("fence"))
    engine = sa.create_engine(url, poolclass=sa.NullPool, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        yield connection
    engine.dispose()


@pytest.fixture(scope="module", params=ENGINES)
def small(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, sa.Connection]]:
    with connected(request, tmp_path_factory) as connection:
        fill(connection, request.param, 100)
        yield request.param, connection


@pytest.mark.parametrize("situation", INDEXES)
def test_on_a_small_table_no_fragment_tells_of_a_hidden_row(small: tuple[str, sa.Connection], situation: str) -> None:
    name, connection = small
    arrange(connection, name, situation)
    share = share_of_pairs(name, list(INDEXES).index(situation), SHARE)
    _, failed = leaks(connection, Trials(name).make(share))
    assert failed == {}


@pytest.fixture(params=SERVERS)
def partitioned(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, sa.Connection]]:
    with connected(request, tmp_path_factory) as connection:
        fill(connection, request.param, 1_000, partitioned=True)
        yield request.param, connection


def test_on_a_partitioned_table_no_fragment_tells_of_a_hidden_row(partitioned: tuple[str, sa.Connection]) -> None:
    name, connection = partitioned
    arrange(connection, name, "index without the rule")
    _, failed = leaks(connection, Trials(name).make(share_of_pairs(name, 0, SHARE)))
    assert failed == {}


@pytest.fixture(scope="module", params=ENGINES)
def large(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, sa.Connection]]:
    with connected(request, tmp_path_factory) as connection:
        fill(connection, request.param, MANY, each=50)
        if request.param == "duckdb":
            connection.exec_driver_sql("CHECKPOINT")  # what is stored has dictionaries
        for statement in PARALLEL if request.param == "postgresql" else ():
            connection.exec_driver_sql(statement)
        connection.commit()
        yield request.param, connection


@pytest.mark.parametrize("situation", ["bare", "index on the rule", "index without the rule"])
def test_on_a_large_table_no_fragment_tells_of_a_hidden_row(large: tuple[str, sa.Connection], situation: str) -> None:
    name, connection = large
    arrange(connection, name, situation)
    _, failed = leaks(connection, one_rule_trials(name))
    assert failed == {}
