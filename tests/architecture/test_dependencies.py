"""What the package asks for: extras that errors name are there, and every bound is one that is tried and told."""

from __future__ import annotations

import ast
import re
import tomllib
from functools import cache
from itertools import chain

from packaging.requirements import Requirement
from tests.architecture.source import PROJECT, source_files

from analytics_core._engine.engines.registry import installed_engines

METADATA = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = METADATA["optional-dependencies"]
BUNDLES_AND_TOOLS = {"all", "docs", "fast", "lint", "test"}
"""Extras that no error names: `fast` is faster without a change of code, the others are sets."""


@cache
def named_by_errors() -> set[str]:
    """Return the extras that a MissingExtraError may name: those of engines, of stores, and of calls."""
    registry = installed_engines(())
    engines = {registry.get(name).extra_name for name in registry.names()} - {None}
    nodes = list(chain.from_iterable(file.nodes for file in source_files()))
    in_calls = {
        keyword.value.value
        for node in nodes
        if isinstance(node, ast.Call)
        for keyword in node.keywords
        if keyword.arg == "extra_name" and isinstance(keyword.value, ast.Constant)
    }
    assigned = (node for node in nodes if isinstance(node, ast.AnnAssign))
    tables = [node for node in assigned if isinstance(node.target, ast.Name) and node.target.id == "_EXTRAS"]
    assert tables, "the extras of metadata stores are listed elsewhere now"
    in_tables = {name for table in tables if table.value for name in ast.literal_eval(table.value).values()}
    return {name for name in engines | in_calls | in_tables if name is not None}


def requirements() -> list[Requirement]:
    return list(map(Requirement, chain(METADATA["dependencies"], *EXTRAS.values())))


def test_every_extra_that_an_error_names_is_one() -> None:
    assert named_by_errors() - EXTRAS.keys() == set()
    assert len(named_by_errors()) > 15


def test_every_extra_has_code_that_asks_for_it() -> None:
    assert EXTRAS.keys() - named_by_errors() == BUNDLES_AND_TOOLS


def test_sets_of_extras_are_made_of_extras_that_there_are() -> None:
    own = [requirement for requirement in requirements() if requirement.name == METADATA["name"]]
    assert {extra for requirement in own for extra in requirement.extras} <= EXTRAS.keys()
    assert own


def test_every_dependency_that_the_package_brings_has_a_lower_bound() -> None:
    brought = [text for name in EXTRAS.keys() - {"all", "notebook", "test", "lint", "docs"} for text in EXTRAS[name]]
    unbound = [
        text
        for text in [*METADATA["dependencies"], *brought]
        if not any(part.operator == ">=" for part in Requirement(text).specifier)
    ]
    assert unbound == []


def test_the_page_for_hosts_tells_the_bounds_of_every_dependency() -> None:
    page = (PROJECT / "docs" / "how-to" / "depend-on-it.md").read_text(encoding="utf-8")
    page_bounds = dict(re.findall(r"^\| `([a-z0-9-]+)` \| `(>=[^`]+)` \|", page, re.MULTILINE))
    brought = {item.name: str(item.specifier) for item in map(Requirement, METADATA["dependencies"])}
    assert {name: set(bounds.split(",")) for name, bounds in page_bounds.items()} == {
        name: set(bounds.split(",")) for name, bounds in brought.items()
    }
