"""Which tests reach which lines of the library: each test module is run once under `coverage`, then remembered."""

from __future__ import annotations

import hashlib
import json
import os
import signal
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NoReturn

import coverage
import pytest
from tests.mutants.children import Library
from tests.mutants.operators import Mutant

SHARED: Final = ""
"""The context of lines that run for a module's tests together: imports and fixtures of a wider scope."""
LONGEST_S: Final = 7200.0
LONGEST_TEST_S: Final = 120.0
EMPTY: Final = {"tests": [], "shared": {}, "lines": {}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """A test that passes, and its cost."""

    test: str
    seconds: float

    @property
    def function(self) -> str:
        """The test without its parameters."""
        return self.test.partition("[")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What a test module reaches: sets of lines are the bits of a number."""

    tests: tuple[Reach, ...]
    shared: dict[str, int]
    lines: dict[str, dict[int, list[int]]]
    """By file: a set of lines, and the numbers of the tests that reach exactly these."""

    def reaching(self, mutant: Mutant) -> Iterator[tuple[Reach, bool]]:
        """Yield tests that run a mutant's lines, or those that read what it names, and whether they do.

        Where its lines run at import, the others that run its file come, too.
        """
        shared = self.imports(mutant)
        near = _bits(mutant) | sum(1 << line for line in mutant.readers)
        for lines, numbers in self.lines.get(mutant.file, {}).items():
            if shared or lines & near:
                yield from ((self.tests[number], bool(lines & near)) for number in numbers)

    def imports(self, mutant: Mutant) -> bool:
        """Tell whether a mutant's lines run for all tests of the module together."""
        return bool(self.shared.get(mutant.file, 0) & _bits(mutant))


def _bits(mutant: Mutant) -> int:
    first, last = mutant.lines
    return ((1 << (last - first + 1)) - 1) << first


class _Recorder:
    """A plug-in that measures each test on its own, and writes a record when the next test is of another module."""

    def __init__(self, measured: coverage.Coverage, source: Path, files: dict[str, Path]) -> None:
        self._measured, self._source, self._files = measured, source, files
        self._context = SHARED
        self._imported: dict[str, dict[str, int]] = {}
        self._seconds: dict[str, float] = {}
        self._failed: set[str] = set()

    def pytest_collection_finish(self) -> None:
        """Count what imports run for the tests of all modules."""
        self._imported = _lines_by_file(self._measured.get_data(), self._source)
        self._measured.get_data().erase()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
        """Measure a test."""
        began = sum(os.times()[:4])
        self._switch(item.nodeid)
        signal.setitimer(signal.ITIMER_REAL, LONGEST_TEST_S)
        result = yield
        signal.setitimer(signal.ITIMER_REAL, 0)
        self._switch(SHARED)
        self._seconds[item.nodeid] = sum(os.times()[:4]) - began
        if nextitem is None or nextitem.path != item.path:
            self._write(item.nodeid.partition("::")[0])
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Iterator[None]:
        """Count what a wider fixture runs for all tests of the module."""
        outside = self._context
        if fixturedef.scope != "function":
            self._switch(SHARED)
        try:
            return (yield)
        finally:
            if self._context != outside:
                self._switch(outside)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember the tests that do not pass."""
        if not report.passed:
            self._failed.add(report.nodeid)

    def _switch(self, context: str) -> None:
        self._context = context
        self._measured.switch_context(context)

    def _write(self, module: str) -> None:
        lines = _lines_by_file(self._measured.get_data(), self._source)
        for file, sets in self._imported.items():
            found = lines.setdefault(file, {})
            found[SHARED] = found.get(SHARED, 0) | sets.get(SHARED, 0)
        tests = [name for name in self._seconds if name not in self._failed]
        partial = self._files[module].with_suffix(f".{os.getpid()}")
        partial.write_text(json.dumps(_as_json(tests, self._seconds, lines)), encoding="utf-8")
        partial.rename(self._files[module])
        self._measured.get_data().erase()
        self._seconds, self._failed = {}, set()


class ReachMap:
    """The records of test modules; one is made again when the library, the module or the tests' support changed."""

    def __init__(self, library: Library, cache: Path, *, markers: str) -> None:
        self._library, self._cache, self._markers = library, cache, markers
        self._common = _digest(library.root, ("src", "tests/support"))
        cache.mkdir(parents=True, exist_ok=True)

    def records(self, modules: Iterable[Path]) -> list[Record]:
        """Return the records of test modules, made now or before; a module that ends the run has no tests."""
        files = {module.as_posix(): self._file(module) for module in modules}
        while missing := {name: file for name, file in files.items() if not file.is_file()}:
            self._library.run(lambda made=missing: self._measure(made), cpu_s=LONGEST_S, wall_s=2 * LONGEST_S)
            if all(not file.is_file() for file in missing.values()):
                next(iter(missing.values())).write_text(json.dumps(EMPTY), encoding="utf-8")
        return [_record(file) for file in files.values()]

    def _file(self, module: Path) -> Path:
        content = (self._library.root / module).read_bytes()
        digest = hashlib.sha256(self._common + self._markers.encode() + content).hexdigest()[:16]
        return self._cache / f"{module.stem}-{digest}.json"

    def _measure(self, files: dict[str, Path]) -> int:
        source = self._library.folder / "library" / self._library.name
        measured = coverage.Coverage(data_file=None, config_file=False, source=[str(source)])
        recorder = _Recorder(measured, source, files)
        signal.signal(signal.SIGALRM, _end_test)
        measured.start()
        return self._library.pytest(["-m", self._markers, *files], [recorder])


def _end_test(*_: object) -> NoReturn:
    pytest.fail(f"the test took longer than {LONGEST_TEST_S:g} s", pytrace=False)


def _record(file: Path) -> Record:
    found = json.loads(file.read_text(encoding="utf-8"))
    return Record(
        tests=tuple(Reach(test=test, seconds=seconds) for test, seconds in found["tests"]),
        shared={name: int(lines, 16) for name, lines in found["shared"].items()},
        lines={name: {int(bits, 16): tests for bits, tests in sets.items()} for name, sets in found["lines"].items()},
    )


def _lines_by_file(data: coverage.CoverageData, source: Path) -> dict[str, dict[str, int]]:
    """Return by file and test the set of lines."""
    found: dict[str, dict[str, int]] = {}
    for file in data.measured_files():
        sets: dict[str, int] = defaultdict(int)
        for line, contexts in data.contexts_by_lineno(file).items():
            for context in contexts:
                sets[context] |= 1 << line
        found[Path(file).relative_to(source).as_posix()] = dict(sets)
    return found


def _as_json(tests: Sequence[str], seconds: dict[str, float], lines: dict[str, dict[str, int]]) -> dict[str, Any]:
    number = {test: place for place, test in enumerate(tests)}
    grouped: dict[str, dict[str, list[int]]] = {}
    for file, sets in lines.items():
        groups: dict[str, list[int]] = defaultdict(list)
        for test, bits in sets.items():
            if test in number:
                groups[f"{bits:x}"].append(number[test])
        grouped[file] = dict(groups)
    return {
        "tests": [(test, round(seconds[test], 4)) for test in tests],
        "shared": {file: f"{sets[SHARED]:x}" for file, sets in lines.items() if SHARED in sets},
        "lines": grouped,
    }


def _digest(root: Path, folders: Iterable[str]) -> bytes:
    found = hashlib.sha256()
    for folder in folders:
        for file in sorted((root / folder).rglob("*.py")):
            found.update(file.relative_to(root).as_posix().encode() + file.read_bytes())
    return found.digest()
