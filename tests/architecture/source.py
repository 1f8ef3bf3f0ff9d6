"""The library's source as trees, for the tests of its architecture."""

from __future__ import annotations

import ast
import gc
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).parents[2]
PACKAGE = PROJECT / "src" / "analytics_core"

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, kw_only=True)
class SourceFile:
    """One module: its dotted name, its path inside the project, and its text."""

    module: str
    path: str
    text: str

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The lines of the text."""
        return tuple(self.text.splitlines())

    @cached_property
    def tree(self) -> ast.Module:
        """The tree, parsed with its first use: a worker that only collects the tests needs none."""
        with _out_of_the_collector():
            return ast.parse(self.text)

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """All nodes of the tree, those outside first."""
        return tuple(ast.walk(self.tree))

    def functions(self) -> Iterator[Function]:
        """Every function and method, nested ones included."""
        return (node for node in self.nodes if isinstance(node, Function))

    def at(self, node: ast.stmt | ast.expr | ast.excepthandler) -> str:
        """Where a node stands, as people write it."""
        return f"{self.path}:{node.lineno}"


@cache
def source_files() -> tuple[SourceFile, ...]:
    """Every module of the library, in order of its path; read once in a run of the tests."""
    files = tuple(_read(path) for path in sorted(PACKAGE.rglob("*.py")))
    assert len(files) > 200, "the library is somewhere else now: every test of its source would pass on nothing"
    return files


@contextmanager
def _out_of_the_collector() -> Iterator[None]:
    """Spare the garbage collector the 700,000 nodes, which stay: while they are made, and in all rounds after."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


@cache
def files_of_tests() -> tuple[SourceFile, ...]:
    """Every module of the tests and the benchmarks, as `source_files` has those of the library."""
    return tuple(_read(path) for part in ("tests", "benchmarks") for path in sorted((PROJECT / part).rglob("*.py")))


def _read(path: Path) -> SourceFile:
    above = PACKAGE.parent if path.is_relative_to(PACKAGE) else PROJECT
    parts = path.relative_to(above).with_suffix("").parts
    return SourceFile(
        module=".".join(parts[:-1] if parts[-1] == "__init__" else parts),
        path=path.relative_to(PROJECT).as_posix(),
        text=path.read_text(encoding="utf-8"),
    )


def house_rules() -> dict[str, Any]:
    """The table `[tool.analytics_core]` of `pyproject.toml`."""
    with (PROJECT / "pyproject.toml").open("rb") as file:
        rules: dict[str, Any] = tomllib.load(file)["tool"]["analytics_core"]
    return rules
