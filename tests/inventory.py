"""Lists what is tried, case by case, with the gate that tries it; and what a change of the tests has lost.

    python -m tests.inventory             # file, test, engine, gate: how many cases
    python -m tests.inventory --base REV  # the same beside the commit REV; ends with 1 when a case is gone

A case is one set of arguments: a test of its own, or one that `for_each` tries. Its engine is the one that they name.
`moved_cases.txt` says where cases went that another test tries now; such a test must be there.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

ROOT: Final = Path(__file__).parents[1]
FOLDERS: Final = ("tests", "tests/attacks")
MOVED: Final = Path(__file__).with_name("moved_cases.txt")
ENGINES: Final = {
    "sqlite": r"sqlite",
    "duckdb": r"duckdb",
    "postgresql": r"postgres|psycopg",
    "mariadb": r"mariadb|mysql|pymysql",
}


class Collector:
    """A plug-in of pytest that counts cases by test, engine and gate."""

    def __init__(self) -> None:
        self.cases: Counter[tuple[str, str, str]] = Counter()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Read the tests, whatever is marked."""
        for item in session.items:
            test, _, arguments = item.nodeid.partition("[")
            gate = gate_of(item)
            for name in getattr(getattr(item, "obj", None), "cases", [""]):
                self.cases[test, engine_of(f"{arguments} {name}"), gate] += 1


def gate_of(item: Any) -> str:
    """Return the session that runs a test: `tests`, `servers`, `attacks`, or `faults` by night."""
    if "/attacks/" in item.nodeid:
        return "attacks"
    if item.get_closest_marker("long"):
        return "faults"
    elsewhere = any(item.get_closest_marker(name) for name in ("server", "slow", "repeats"))
    return "servers" if elsewhere else "tests"


def engine_of(arguments: str) -> str:
    """Return the first engine that a case names; "-" when it names none."""
    found = (name for name, words in ENGINES.items() if re.search(words, arguments, re.IGNORECASE))
    return next(found, "-")


def cases_in(tree: Path) -> Counter[tuple[str, str, str]]:
    """Return the cases of a working tree; it is collected by a process of its own."""
    environ = {**os.environ, "PYTHONPATH": str(tree / "src")}
    call = [sys.executable, str(Path(__file__).resolve()), "--collect"]
    answer = subprocess.run(call, cwd=tree, env=environ, stdout=subprocess.PIPE, text=True, check=True)
    return Counter({(test, engine, gate): count for test, engine, gate, count in json.loads(answer.stdout)})


def cases_at(revision: str) -> Counter[tuple[str, str, str]]:
    """Return the cases of a commit, which is laid out in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", str(tree), revision], cwd=ROOT, check=True)
        try:
            return cases_in(tree)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(tree)], cwd=ROOT, check=True)


def collect() -> None:
    """Print the cases of the current folder as JSON."""
    collector = Collector()
    with contextlib.redirect_stdout(io.StringIO()):
        for folder in FOLDERS:
            pytest.main(["--collect-only", "-q", "-m", "", folder], plugins=[collector])
    print(json.dumps([(*place, count) for place, count in collector.cases.items()]))


def lost(before: Counter[tuple[str, str, str]], after: Counter[tuple[str, str, str]], moved: str = "") -> Iterator[str]:
    """Yield a line for each test that has fewer cases of an engine than before, or is gone.

    Args:
        before: the cases of before.
        after: the cases of now.
        moved: lines such as `3 a.py::old [sqlite] -> b.py::new`; the new test must be there.
    """
    was, now, tests = by_engine(before), by_engine(after), {test for test, _, _ in after}
    for count, old, engine, new in re.findall(r"^(\d+) (\S+) \[(\S+)\] -> (\S+)$", moved, re.MULTILINE):
        if new in tests:
            now[old, engine] += int(count)
        else:
            yield f"{old} [{engine}] is said to be {new}, which is not there"
    for (test, engine), count in sorted(was.items()):
        if now[test, engine] < count:
            yield f"{test} [{engine}]: {count} cases before, {now[test, engine]} now"


def by_engine(cases: Counter[tuple[str, str, str]]) -> Counter[tuple[str, str]]:
    """Return how many cases a test has of an engine, whatever the gate."""
    counted: Counter[tuple[str, str]] = Counter()
    for (test, engine, _gate), count in cases.items():
        counted[test, engine] += count
    return counted


def main() -> int:
    """Print; return 1 when something is lost."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", help="a commit to compare with")
    parser.add_argument("--collect", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.collect:
        collect()
        return 0
    cases = cases_in(ROOT)
    for (test, engine, gate), count in sorted(cases.items()):
        print(f"{gate}\t{engine}\t{count}\t{test}")
    for gate in sorted({gate for _, _, gate in cases}):
        print(f"{gate}: {sum(count for place, count in cases.items() if place[2] == gate)} cases")
    gone = [] if options.base is None else [*lost(cases_at(options.base), cases, MOVED.read_text("utf-8"))]
    print("\n".join(gone))
    return 1 if gone else 0


if __name__ == "__main__":
    sys.exit(main())
