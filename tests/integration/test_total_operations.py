"""What is said to fail on no row, tried on a table of extreme values of every type: no error may come."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from tests.support.extremes import Expressions, fill, scope_of, total_sql
from tests.support.tenant_world import ENGINES, url_on

from analytics_core._engine.compile.fragments.parser import FragmentSlot
from analytics_core._engine.engines.totals import call_of
from analytics_core.errors import AnalyticsError

_COUNTED = {"sqlite": "COUNT({})", "postgresql": "COUNT({})"}
"""Where drivers cannot read all values; the other engines may count without looking at them."""
Extremes = tuple[str, sa.Connection]


@pytest.fixture(params=ENGINES)
def extremes(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Extremes]:
    engine = sa.create_engine(url_on(request, tmp_path), poolclass=sa.NullPool, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        fill(connection, request.param, rows=150)
        yield request.param, connection
    engine.dispose()


def failures(extremes: Extremes, texts: Iterator[str]) -> tuple[int, dict[str, str]]:
    """Run those of some expressions that need no fence; return how many, and the errors."""
    name, connection = extremes
    scope, count, failed = scope_of(name), 0, {}
    for text in texts:
        try:
            sql = total_sql(text, scope)
        except AnalyticsError:
            continue  # no expression of this engine
        if sql is None:
            continue
        count += 1
        cursor = connection.connection.cursor()
        try:
            cursor.execute(f"SELECT {_COUNTED.get(name, '{}').format(sql)} FROM extremes")
            cursor.fetchall()
        except connection.dialect.loaded_dbapi.Error as error:
            failed[text] = f"{error} // {sql}"
        finally:
            cursor.close()
    return count, failed


@pytest.mark.parametrize("engine", ["duckdb", "mysql", "postgresql", "sqlite"])
def test_every_listed_function_is_tried(engine: str) -> None:
    scope, tried = scope_of(engine), set()
    for text in Expressions(engine).of_columns():
        try:
            fragment = scope.read(text, FragmentSlot.COLUMN, "a trial")
        except AnalyticsError:
            continue
        if fragment.tree is not None and total_sql(text, scope) is not None:
            tried |= {call_of(node)[0] for node in fragment.tree.walk()}
    assert scope.view.spec.total is not None
    assert set(scope.view.spec.total.functions) - tried == set()


@pytest.mark.slow
def test_no_listed_operation_fails_on_an_extreme_value(extremes: Extremes) -> None:
    count, failed = failures(extremes, Expressions(extremes[0]).of_columns())
    assert failed == {}
    assert count > 200


@pytest.mark.slow
def test_no_tree_of_listed_operations_fails_on_an_extreme_value(extremes: Extremes) -> None:
    count, failed = failures(extremes, Expressions(extremes[0]).at_random(600))
    assert failed == {}
    assert count > 200


@pytest.mark.slow
def test_columns_that_are_read_as_their_types_give_the_same_answers(tmp_path: Path) -> None:
    engine = sa.create_engine(f"duckdb:///{tmp_path}/same.duckdb", poolclass=sa.NullPool, isolation_level="AUTOCOMMIT")
    scope, compared = scope_of("duckdb"), 0
    with engine.connect() as connection:
        fill(connection, "duckdb", rows=150)
        for text in Expressions("duckdb").at_random(600):
            try:
                plain = scope.read(text, FragmentSlot.COLUMN, "a trial").sql
                typed = total_sql(text, scope)
                if typed is None or "CURRENT_" in typed or "NOW" in typed:
                    continue
                found = connection.exec_driver_sql(_TEXTS.format(plain)).fetchall()
            except (AnalyticsError, sa.exc.DBAPIError):
                continue  # a sum that leaves the type of its columns, which the wider one holds
            assert connection.exec_driver_sql(_TEXTS.format(typed)).fetchall() == found, text
            compared += 1
    engine.dispose()
    assert compared > 200


_TEXTS = "SELECT id, CAST(({}) AS VARCHAR) FROM extremes"
