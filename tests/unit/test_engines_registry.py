"""Engines are found by name and alias, and further ones can be added."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from sqlglot import exp
from tests.support.cases import for_each

from analytics_core._engine.engines.guards import RevealingRelations, name_set
from analytics_core._engine.engines.registry import EngineRegistry, installed_engines
from analytics_core._engine.engines.specs.mysql import mysql_spec
from analytics_core.errors import SettingsError, UnknownEngineError, UnknownNameError

REGISTRY = installed_engines(())
FOUND = {
    "mariadb": "mysql",
    "MySQL": "mysql",
    "postgres": "postgresql",
    "presto": "presto",
    "hive": "spark",
    "clickhousedb": "clickhouse",
}


@for_each(("alias", "name"), FOUND.items())
def test_an_engine_is_found_by_alias_and_in_any_case(alias: str, name: str) -> None:
    assert REGISTRY.get(alias).name == name


def test_every_engine_of_the_package_is_there() -> None:
    four = {"sqlite", "duckdb", "postgresql", "mysql"}
    others = {"clickhouse", "trino", "bigquery", "snowflake", "redshift", "databricks", "mssql", "oracle", "druid"}
    assert four | others <= set(REGISTRY.names())


def test_an_unknown_engine_names_the_known_ones_and_the_nearest() -> None:
    with pytest.raises(
        UnknownEngineError, match=r"no engine 'postgress'; did you mean 'postgresql'\?.*sqlite"
    ) as raised:
        REGISTRY.get("postgress")
    assert isinstance(raised.value, UnknownNameError)


@pytest.mark.parametrize("name", ["", "sqlite3", "'; DROP TABLE x", "__class__"])
def test_odd_names_are_refused(name: str) -> None:
    with pytest.raises(UnknownEngineError):
        REGISTRY.get(name)


def test_a_spec_can_be_added_without_changing_the_registry() -> None:
    own = replace(REGISTRY.get("sqlite"), name="own", aliases=("mine",))
    wider = REGISTRY.with_spec(own)
    assert wider.get("mine") is own
    assert "own" not in REGISTRY.names()


def test_an_added_spec_replaces_the_one_of_its_name() -> None:
    mysql8 = mysql_spec(collation="utf8mb4_0900_bin")
    node = REGISTRY.with_spec(mysql8).get("mariadb").text_equal(exp.Var(this="x"))
    assert node.sql("mysql") == "x COLLATE utf8mb4_0900_bin"


def test_an_alias_never_hides_a_name() -> None:
    hider = replace(REGISTRY.get("sqlite"), name="hider", aliases=("sqlite",))
    registry = EngineRegistry([hider, REGISTRY.get("sqlite")])
    assert registry.get("sqlite").name == "sqlite"


UNSAID = name_set("")
GAPS = {
    "guards.denied_functions is empty": {"denied_functions": UNSAID},
    "guards.revealing is empty": {
        "revealing": RevealingRelations(relations=UNSAID, schemas=UNSAID, harmless=UNSAID, functions=UNSAID)
    },
}


@pytest.mark.parametrize(("problem", "gap"), GAPS.items())
def test_an_engine_with_a_gap_in_its_guards_is_refused_when_it_is_registered(problem: str, gap: dict[str, Any]) -> None:
    trino = REGISTRY.get("trino")
    with pytest.raises(SettingsError, match=f"the engine 'trino' cannot be registered: {problem}"):
        REGISTRY.with_spec(replace(trino, guards=replace(trino.guards, **gap)))


def test_an_engine_says_its_schemas_or_its_relations() -> None:
    trino = REGISTRY.get("trino")
    by_schema = replace(trino.guards.revealing, relations=name_set(""), schemas=name_set("system.*"))
    spec = replace(trino, guards=replace(trino.guards, revealing=by_schema))
    assert REGISTRY.with_spec(spec).get("trino") is spec


@pytest.mark.parametrize(
    ("problem", "change"),
    [("must be in lower case", {"name": "Trino"}), ("sqlglot has no dialect 'klingon'", {"dialect": "klingon"})],
)
def test_an_engine_that_nobody_could_find_or_read_is_refused(problem: str, change: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match=problem):
        REGISTRY.with_spec(replace(REGISTRY.get("trino"), **change))
