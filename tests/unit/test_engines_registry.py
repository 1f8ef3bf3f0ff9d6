"""Engines are found by name and alias, and further ones can be added."""

from __future__ import annotations

import re
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from sqlglot import Dialect, exp

from analytics_core._engines.registry import EngineRegistry, default_registry
from analytics_core._engines.specs.mysql import mysql_spec
from analytics_core._engines.specs.sqlite import sqlite_spec
from analytics_core.errors import UnknownEngineError, UnknownNameError
from analytics_core.models.enums import TimeGrain

REGISTRY = default_registry()
FOUND = {
    "mariadb": "mysql",
    "MySQL": "mysql",
    "postgres": "postgresql",
    "presto": "presto",
    "hive": "spark",
    "clickhousedb": "clickhouse",
}


@pytest.mark.parametrize(("asked", "name"), FOUND.items())
def test_an_engine_is_found_by_alias_and_in_any_case(asked: str, name: str) -> None:
    assert REGISTRY.get(asked).name == name


def test_every_engine_of_the_package_is_there() -> None:
    four = {"sqlite", "duckdb", "postgresql", "mysql"}
    others = {"clickhouse", "trino", "bigquery", "snowflake", "redshift", "databricks", "mssql", "oracle", "druid"}
    assert four | others <= set(REGISTRY.names())


def test_every_extra_that_an_error_can_name_exists() -> None:
    root = Path(__file__).parents[2]
    extras = tomllib.loads((root / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    written = "".join(path.read_text() for path in (root / "src").rglob("*.py"))
    named = {REGISTRY.get(name).extra_name for name in REGISTRY.names() if name != "sqlite"}
    named |= set(re.findall(r'extra_name="([^"]+)"', written)) | {"postgres", "mysql"}  # of metadata stores
    assert named <= set(extras)


def test_an_unknown_engine_names_the_known_ones_and_the_nearest() -> None:
    with pytest.raises(
        UnknownEngineError, match=r"no engine 'postgress'; did you mean 'postgresql'\?.*sqlite"
    ) as raised:
        REGISTRY.get("postgress")
    assert isinstance(raised.value, UnknownNameError)


@pytest.mark.parametrize("asked", ["", "sqlite3", "'; DROP TABLE x", "__class__"])
def test_odd_names_are_refused(asked: str) -> None:
    with pytest.raises(UnknownEngineError):
        REGISTRY.get(asked)


def test_a_spec_can_be_added_without_changing_the_registry() -> None:
    own = replace(sqlite_spec(), name="own", aliases=("mine",))
    wider = REGISTRY.with_spec(own)
    assert wider.get("mine") is own
    assert "own" not in REGISTRY.names()


def test_an_added_spec_replaces_the_one_of_its_name() -> None:
    mysql8 = mysql_spec(collation="utf8mb4_0900_bin")
    node = REGISTRY.with_spec(mysql8).get("mariadb").text_equal(exp.Var(this="x"))
    assert node.sql("mysql") == "x COLLATE utf8mb4_0900_bin"


def test_an_alias_never_hides_a_name() -> None:
    hider = replace(sqlite_spec(), name="hider", aliases=("sqlite",))
    registry = EngineRegistry([hider, sqlite_spec()])
    assert registry.get("sqlite").name == "sqlite"


@pytest.mark.parametrize("name", REGISTRY.names())
def test_specs_keep_their_promises(name: str) -> None:
    spec = REGISTRY.get(name)
    assert Dialect.get(spec.dialect) is not None
    assert spec.drivers
    assert spec.label
    assert spec.max_identifier_bytes is None or spec.max_identifier_bytes >= 63


@pytest.mark.parametrize("name", REGISTRY.names())
def test_every_bucket_is_a_fresh_tree_that_parses_in_the_dialect(name: str) -> None:
    spec = REGISTRY.get(name)
    for grain in TimeGrain:
        first, second = (spec.bucket(exp.column("c", quoted=True), grain) for _ in range(2))
        assert not {id(node) for node in first.walk()} & {id(node) for node in second.walk()}
        parents = [(node, child) for node in first.walk() for child in node.iter_expressions()]
        assert all(child.parent is node for node, child in parents)
        Dialect.get_or_raise(spec.dialect).parse(first.sql(spec.dialect))


@pytest.mark.parametrize("name", REGISTRY.names())
def test_compound_moments_are_never_split_by_the_operators_around_them(name: str) -> None:
    spec = REGISTRY.get(name)
    for grain in TimeGrain:
        moment = exp.Add(this=exp.column("a"), expression=exp.column("b"))
        rendered = spec.bucket(moment, grain).sql(spec.dialect)
        assert rendered.count("a + b") == len(re.findall(r"(?:\(|, )a \+ b(?=\)|,| AS )", rendered)), rendered
