"""Facts of an engine stand in its file of `_engine/engines/specs`: nothing else in the library names an engine."""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Iterator
from functools import cache

import pytest
from tests.architecture.source import SourceFile, source_files

from analytics_core._engine.engines.guards import Guards, RevealingRelations, TableNames
from analytics_core._engine.engines.registry import installed_engines
from analytics_core._engine.engines.spec import EngineSpec

LONGEST_SPEC = 180
SPECIAL_CASES = {
    "sqlite": "without dates or decimals of its own: moments are texts",
    "duckdb": "has its own session, and an error of its own for each step",
    "postgresql": "has its own session; its codes of errors, and a catalog of functions",
    "mysql": "has its own session; calendar, collations and repairs of its own",
    "clickhouse": "its calendar functions begin in 1970",
    "mssql": "truncates nothing before 2022, and has no Booleans",
    "oracle": "its texts, dates and Booleans are not those of the standard",
}
"""Files of `specs` that may be longer, and why."""

AT_HOME = ("analytics_core._engine.engines.specs", "analytics_core._engine.execution.sessions")
NO_ENGINES_THERE = {
    "analytics_core._notebook.sources": "what people have in hand: files, connections and engines of packages",
    "analytics_core._content.storage": "the store's own databases, which are no engines of charts",
    "analytics_core.testing": "fakes, samples and suites, which are tests",
    "analytics_core._engine.compile.advanced_types": "names of services, as the register of ports has them",
}
A_STORE_OR_DATABASE_BY_URL = re.compile(r"\bsqlite://")

_REGISTRY = installed_engines(())
_SPECS = [_REGISTRY.get(name) for name in _REGISTRY.names()]
NAMES = sorted({name for spec in _SPECS for name in (spec.name, spec.dialect, *spec.aliases)}, key=len, reverse=True)
NAMED = re.compile("|".join(NAMES), re.IGNORECASE)


@cache
def words_that_name_engines() -> list[tuple[SourceFile, int, str]]:
    return [(file, line, word) for file in source_files() for line, word in _words(file) if NAMED.search(word)]


def test_names_of_engines_stand_in_their_specs_and_sessions_alone() -> None:
    """In code: comments and docstrings may tell of an engine why something is as it is."""
    found = [
        f"{file.path}:{line} {word}"
        for file, line, word in words_that_name_engines()
        if not any(_is_inside(file.module, place) for place in (*AT_HOME, *NO_ENGINES_THERE))
        if NAMED.search(A_STORE_OR_DATABASE_BY_URL.sub("", word))
    ]
    assert found == []


def test_no_place_is_excused_that_names_no_engine() -> None:
    naming = {file.module for file, _, _ in words_that_name_engines()}
    stale = [place for place in NO_ENGINES_THERE if not any(_is_inside(module, place) for module in naming)]
    assert stale == []


def test_a_name_is_found_wherever_code_can_hide_it() -> None:
    text = '"""duckdb"""\nif dialect == "sqlite": pass\n_ORACLE = 1\ndef read_mysql(trino): x.hive\nimport a.druid'
    hidden = SourceFile(module="m", path="m.py", text=text)
    found = {word for _, word in _words(hidden) if NAMED.search(word)}
    assert found == {"sqlite", "_ORACLE", "read_mysql", "trino", "hive", "a.druid"}


def _is_inside(module: str, place: str) -> bool:
    return module == place or module.startswith(f"{place}.")


def _words(file: SourceFile) -> Iterator[tuple[int, str]]:
    """Yield the names and texts of the code, without docstrings."""
    docstrings = {id(node.value) for node in file.nodes if isinstance(node, ast.Expr)}
    for node in file.nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.lineno, node.value
        for word in _names(node):
            yield getattr(node, "lineno", 0), word


def _names(node: ast.AST) -> Iterator[str]:
    for field in ("id", "attr", "name", "arg", "module", "asname"):
        word = getattr(node, field, None)
        if isinstance(word, str):
            yield word


def test_an_engine_that_is_no_special_case_takes_a_short_file() -> None:
    files = [file for file in source_files() if _is_inside(file.module, AT_HOME[0])]
    long = {file.module.rpartition(".")[2]: len(file.lines) for file in files if len(file.lines) > LONGEST_SPEC}
    assert {name: lines for name, lines in long.items() if name not in SPECIAL_CASES} == {}
    assert [name for name in SPECIAL_CASES if name not in long] == []


@pytest.mark.parametrize("record", [Guards, RevealingRelations, TableNames])
def test_no_fact_of_the_guards_has_a_default(record: type) -> None:
    """Whoever adds an engine must say it."""
    missing = dataclasses.MISSING
    assert [f.name for f in dataclasses.fields(record) if (f.default, f.default_factory) != (missing, missing)] == []


def test_an_engine_cannot_be_made_without_its_guards() -> None:
    required = {f.name for f in dataclasses.fields(EngineSpec) if f.default is f.default_factory is dataclasses.MISSING}
    assert {"guards", "error_patterns", "dialect", "literal"} <= required
