"""Fragments that fail on hidden rows only, in every place of a statement, on four engines: no error may come.

The large matrix (two million rows, partitions, statistics) is in `tests/attacks`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from tests.support.cases import for_each
from tests.support.fence_trials import (
    FRAGMENTS,
    Trials,
    arrange,
    editor_leaks,
    fill,
    leaks,
    one_rule_each,
    one_rule_trials,
)
from tests.support.mirrors import Rules, ruled_core
from tests.support.tenant_world import ENGINES, url_on

Orders = tuple[str, sa.Connection]


@pytest.fixture(params=ENGINES)
def orders(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Orders]:
    url = url_on(request, tmp_path)
    engine = sa.create_engine(url, poolclass=sa.NullPool, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        fill(connection, request.param, 100)
        yield request.param, connection
    engine.dispose()


@pytest.mark.slow
@for_each("situation", ["bare", "index without the rule"])
def test_no_fragment_fails_on_a_hidden_row(orders: Orders, situation: str) -> None:
    name, connection = orders
    arrange(connection, name, situation)
    count, failed = leaks(connection, one_rule_trials(name))
    assert failed == {}
    assert count > 100


@pytest.mark.slow
def test_without_a_fence_fragments_tell_of_hidden_rows(orders: Orders) -> None:
    name, connection = orders
    arrange(connection, name, "index without the rule")
    pairs = [("null", fragment) for fragment in FRAGMENTS[name]]
    _, failed = leaks(connection, Trials(name).make(pairs, old=True))
    assert len(failed) > 4


def test_no_statement_of_the_editor_fails_on_a_hidden_row(request: pytest.FixtureRequest, orders: Orders) -> None:
    name, connection = orders
    url, folder = connection.engine.url.render_as_string(hide_password=False), request.getfixturevalue("tmp_path")
    connection.close()
    rules = Rules(clauses={"orders": "tenant_id = 1"})
    with ruled_core(url, folder, rules) as (_, reader):
        count, failed = editor_leaks(reader, rules.clauses, name, one_rule_each(name))
    assert failed == {}
    assert count >= 16 * len(FRAGMENTS[name])
