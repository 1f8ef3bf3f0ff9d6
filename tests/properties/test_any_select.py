"""Any SELECT under any row rules gives the rows that it gives in a database of the permitted rows alone."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from random import Random, SystemRandom
from typing import Any

import pytest
from hypothesis import settings
from tests.support.analytic_statements import in_dialect
from tests.support.any_select import AnyDatabase, Writer, any_database
from tests.support.mirrors import Mirrored, comparable, mirrored
from tests.support.tenant_world import ENGINES, url_on

from analytics_core.errors import AnalyticsError

A_DATABASE, A_RULE = 500, 50
"""So many statements are written for one database, and for one set of rules on it."""
MOST_REFUSED = 0.1
MOST_ROWS = 20_000
"""More rows are not compared: the library cuts at a limit of its own."""
LONGEST_S = 3.0
"""What takes the mirror as long is left out: the library ends statements."""
ENDS = {"postgresql": "SET statement_timeout = '3s'", "mysql": "SET max_statement_time = 3"}


Databases = tuple[str, Callable[[Path], str]]
"""An engine, and what makes an empty database in a folder or on the server."""


@pytest.fixture(params=ENGINES)
def databases(request: pytest.FixtureRequest) -> Databases:
    return request.param, partial(url_on, request)


def test_rows_are_those_of_a_database_of_permitted_rows(
    databases: Databases, tmp_path_factory: pytest.TempPathFactory
) -> None:
    engine, new_database = databases
    profile = settings.default
    assert profile is not None
    seed = 0 if profile.derandomize else SystemRandom().randrange(10**9)
    wanted, found, counted = max(profile.max_examples, 100), list[str](), Counter[str]()
    for number in range(0, wanted, A_DATABASE):
        random, folders = Random(f"{seed}, {number}"), [tmp_path_factory.mktemp("any_select") for _ in range(3)]
        database = any_database(random)
        tables = {name: in_dialect(engine, made) for name, made in database.tables.items()}
        urls, rules = [new_database(folder) for folder in folders], database.rules(random)
        with mirrored(engine, urls, folders[0], tables, rules, database.views) as world:
            for answer in answers(world, database, random, min(A_DATABASE, wanted - number)):
                counted[answer.partition(":")[0]] += 1
                found += [f"seed {seed}, {number}: {answer}"] if answer.startswith("different") else []
    print(engine, dict(counted))
    assert found == []
    assert counted["refused by both"] <= MOST_REFUSED * wanted


def answers(world: Mirrored, database: AnyDatabase, random: Random, many: int) -> Iterator[str]:
    """Yield how the library answers any statements, beside the mirror of permitted rows."""
    if world.engine in ENDS:
        world.permitted.rows(ENDS[world.engine])
    writer = Writer(random, world.engine, database)
    for number in range(many):
        if number % A_RULE == 0:
            world.rules.clauses.update(database.rules(random))
            world.permitted.keep(world.rules.clauses, database.tables)
        sql = writer.statement()
        answer = answer_to(world, sql)
        yield f"{answer} under {world.rules.clauses} for {sql}" if answer.startswith("different") else answer


def answer_to(world: Mirrored, sql: str) -> str:
    """Return how the library answers a statement, beside the mirror."""
    began = time.monotonic()
    try:
        expected: list[Any] | Exception = world.permitted.rows(sql.replace("{schema}", world.permitted.schema))
    except Exception as error:
        expected = error
    if time.monotonic() - began > LONGEST_S or (isinstance(expected, list) and len(expected) > MOST_ROWS):
        return "too long"
    try:
        rows = world.reader.sql(sql.replace("{schema}", world.schema)).rows()
    except AnalyticsError as error:
        return "refused by both" if isinstance(expected, Exception) else f"different: {error} instead of {expected}"
    is_same = isinstance(expected, list) and comparable(rows) == comparable(expected)
    return "the same" if is_same else f"different: {rows} instead of {expected}"
