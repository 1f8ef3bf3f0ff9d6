"""A plug-in of pytest: a fresh clone is compiled once for all workers of a run, by as many processes as there are.

Each worker of pytest-xdist would rewrite the assertions of four hundred modules for itself, and compile the library.
"""

from __future__ import annotations

import compileall
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from _pytest.assertion import rewrite

ROOT: Final = Path(__file__).parents[2]
NEEDED: Final = ("PYC_TAIL", "_read_pyc", "_rewrite_test", "_write_pyc", "assertstate_key", "get_cache_dir")
"""What this takes of pytest's own; where a version has it no more, the workers do the work as they always did."""


def pytest_sessionstart(session: pytest.Session) -> None:
    """Compile before the workers begin."""
    workers = getattr(session.config.option, "tx", None) or []
    if workers and hasattr(os, "fork") and all(hasattr(rewrite, name) for name in NEEDED):
        _in_processes(session.config, len(workers))


def _in_processes(config: pytest.Config, count: int) -> None:
    sources = sorted(path for folder in ("src", "tests") for path in (ROOT / folder).rglob("*.py"))
    children = []
    for number in range(count):
        child = os.fork()
        if not child:
            try:
                _compile(config, sources[number::count])
            finally:
                os._exit(0)  # what could not be compiled here fails where it is imported, with its reason
        children.append(child)
    for child in children:
        os.waitpid(child, 0)


def _compile(config: pytest.Config, sources: Sequence[Path]) -> None:
    parts: Any = rewrite
    for source in sources:
        if not source.name.startswith("test_"):
            compileall.compile_file(source, quiet=2)
            continue
        compiled = parts.get_cache_dir(source) / (source.name[: -len(".py")] + parts.PYC_TAIL)
        compiled.parent.mkdir(exist_ok=True)
        if parts._read_pyc(source, compiled) is None:
            status, code = parts._rewrite_test(source, config)
            parts._write_pyc(config.stash[parts.assertstate_key], code, status, compiled)
