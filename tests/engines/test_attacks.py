"""The attacks of `tests/attacks` on engines that run as clusters: hostile texts on every road, and the fence.

`fence_trials` has fragments that fail on hidden rows alone; with the rules as plain conditions some of them do.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from tests.attacks.test_roads import (
    embedded,
    reader,
    test_every_road_leads_somewhere,
    test_harmless_look_alikes_are_answered,
    test_nothing_hidden_comes_back_to_a_guest,
    test_nothing_hidden_comes_back_to_a_reader,
    test_nothing_hidden_comes_back_to_somebody_who_writes_sql,
    test_statements_on_the_roads_of_virtual_datasets,
)
from tests.attacks.test_sql_editor import (
    test_nothing_hidden_comes_back_from_any_place_of_a_statement,
    test_nothing_hidden_comes_back_through_what_stands_beside_a_statement,
)
from tests.support.attacks import Figures, attack, report
from tests.support.cluster_servers import CLUSTERS, ClickhouseServer, ClusterServer
from tests.support.fence_trials import Trials, editor_leaks, every_pair, fill, leaks, one_rule_each
from tests.support.hostile_spark import FILES_BY_NAMES, HOSTILE, ODD
from tests.support.mirrors import Rules, ruled_core
from tests.support.security_world import EDITOR_ROADS, STATEMENT_ROADS, World, security_world

__all__ = [
    "embedded",
    "reader",
    "test_every_road_leads_somewhere",
    "test_harmless_look_alikes_are_answered",
    "test_nothing_hidden_comes_back_from_any_place_of_a_statement",
    "test_nothing_hidden_comes_back_through_what_stands_beside_a_statement",
    "test_nothing_hidden_comes_back_to_a_guest",
    "test_nothing_hidden_comes_back_to_a_reader",
    "test_nothing_hidden_comes_back_to_somebody_who_writes_sql",
    "test_statements_on_the_roads_of_virtual_datasets",
]

LAYOUTS = {
    "in no order": " ENGINE = MergeTree ORDER BY tuple()",
    "by the rule": " ENGINE = MergeTree ORDER BY (tenant_id, tenant)",
    "by other columns": " ENGINE = MergeTree ORDER BY (status, zero, id)",
    "parted by the rule": " ENGINE = MergeTree PARTITION BY tenant_id ORDER BY id",
    "by time, in small parts": " ENGINE = MergeTree PARTITION BY toYYYYMM(created_at) ORDER BY created_at",
    "as a log": " ENGINE = Log",
}
WIDE = " ENGINE = MergeTree ORDER BY id SETTINGS min_bytes_for_wide_part = 0"
MANY = 1_000_000


@pytest.fixture(scope="module", params=CLUSTERS)
def target(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[World, str]]:
    engine: str = request.param
    server: ClusterServer = request.getfixturevalue(engine)
    with security_world(engine, server.make_database(), tmp_path_factory.mktemp("attacks"), timeout_s=60.0) as world:
        yield world, engine


def test_nothing_hidden_comes_back_from_files_code_and_scripts(target: tuple[World, str]) -> None:
    """What Spark has beside SQL; ClickHouse knows hardly any of it."""
    world, name = target
    before = world.contents()
    texts = [*HOSTILE, *ODD, *(f"SELECT * FROM {relation}" for relation in (*FILES_BY_NAMES, "text.log"))]
    figures = Figures()
    for text in texts:
        figures.add("sql", text, lambda text=text: EDITOR_ROADS["sql"](world, text))  # type: ignore[misc]
    others = {**EDITOR_ROADS, "virtual dataset": STATEMENT_ROADS["virtual dataset"]}
    report(f"{name}, files, code and scripts", figures)
    report(f"{name}, the same on other roads", attack(world, others, texts))
    assert world.contents() == before
    assert name == "clickhouse" or figures.tried["answered"] > 5


@pytest.fixture(scope="module")
def silent() -> Iterator[None]:
    """Switch logging off: every record of every statement would be kept until the end."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def connected(url: str) -> sa.Connection:
    """Return a connection with what the library's own sessions set."""
    settings = {"autogenerate_session_id": False, "join_use_nulls": 1}
    return sa.create_engine(url, connect_args=settings, poolclass=sa.NullPool).connect()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_no_fragment_tells_of_a_hidden_row(clickhouse: ClickhouseServer, layout: str) -> None:
    place = list(LAYOUTS).index(layout)
    with connected(clickhouse.make_database()) as connection:
        fill(connection, "clickhouse", 100, stored=LAYOUTS[layout])
        tried, failed = leaks(connection, Trials("clickhouse").make(every_pair("clickhouse")[place :: len(LAYOUTS)]))
    assert failed == {}
    assert tried > 200


def test_no_fragment_tells_of_a_hidden_row_of_many_and_without_the_fence_some_do(clickhouse: ClickhouseServer) -> None:
    with connected(clickhouse.make_database()) as connection:
        fill(connection, "clickhouse", MANY, each=50, stored=WIDE)
        _, failed = leaks(connection, Trials("clickhouse").make(one_rule_each("clickhouse")))
        _, unfenced = leaks(connection, Trials("clickhouse").make(one_rule_each("clickhouse"), old=True))
    assert failed == {}
    assert len(unfenced) > 10


@pytest.mark.usefixtures("silent")
def test_no_statement_of_the_editor_fails_on_a_hidden_row(clickhouse: ClickhouseServer, tmp_path: Path) -> None:
    url = clickhouse.make_database()
    with connected(url) as connection:
        fill(connection, "clickhouse", 100, stored=WIDE)
    rules = Rules(clauses={"orders": "tenant_id = 1"})
    with ruled_core(url, tmp_path, rules) as (_, asking):
        tried, failed = editor_leaks(asking, rules.clauses, "clickhouse", every_pair("clickhouse")[::2])
    assert failed == {}
    assert tried > 400
