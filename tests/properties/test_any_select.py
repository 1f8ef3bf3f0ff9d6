"""Any SELECT under any row rules gives the rows that it gives in a database of the permitted rows alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from tests.support.any_select import RULES, TABLES, selects
from tests.support.mirrors import Mirrored, comparable, mirrored

from analytics_core.errors import AnalyticsError


@contextmanager
def world_on(engine: str, folder: pytest.TempPathFactory) -> Iterator[Mirrored]:
    place = folder.mktemp("any_select")
    urls = [f"{engine}:///{place}/shop.db", f"{engine}:///:memory:", f"{engine}:///:memory:"]
    with mirrored(engine, urls, place, TABLES, dict.fromkeys(TABLES, "hidden = 0"), {}) as made:
        yield made


@pytest.fixture(scope="module", params=["sqlite", "duckdb"])
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mirrored]:
    with world_on(request.param, tmp_path_factory) as made:
        yield made


@given(rules=RULES, data=st.data())
def test_rows_are_those_of_a_database_of_permitted_rows(
    world: Mirrored, rules: dict[str, str], data: st.DataObject
) -> None:
    sql = data.draw(selects(world.engine), label="statement")
    world.rules.clauses.update(rules)
    world.permitted.keep(rules, TABLES)
    try:
        expected = comparable(world.permitted.rows(sql))
    except Exception:
        event("the engine refuses it")
        with pytest.raises(AnalyticsError):
            world.reader.sql(sql)
        return
    assert comparable(world.reader.sql(sql).rows()) == expected
    event("answered")
