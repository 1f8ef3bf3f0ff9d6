"""Each mutant meets the tests that reach its lines, direct and quick ones first, until one fails."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from tests.mutants.children import TIMED_OUT, Library, Selection, cpu_seconds
from tests.mutants.mutant_lists import equivalents
from tests.mutants.operators import Mutant
from tests.mutants.reach import Reach, Record

EQUIVALENT = Path(__file__).with_name("equivalent.txt")
FIRST_ROUND_S = 2.5
FIRST_ROUND_MODULES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What became of a mutant: `caught`, `timeout`, `survived`, `unreached` or `equivalent`."""

    mutant: Mutant
    outcome: str
    test: str = ""
    cpu_s: float = 0.0

    @property
    def is_caught(self) -> bool:
        """Whether a test failed or ran without end."""
        return self.outcome in {"caught", "timeout"}

    @property
    def is_missed(self) -> bool:
        """Whether a test should have failed."""
        return self.outcome in {"survived", "unreached"}


class Trials:
    """Tries mutants on the tests of a package."""

    def __init__(self, library: Library, records: Sequence[Record], *, budget_s: float) -> None:
        self._library, self._records, self._budget_s = library, records, budget_s
        self._unreliable: set[str] = set()

    def verdicts(self, mutants: Iterable[Mutant]) -> list[Verdict]:
        """Return what became of each mutant; what a test caught that fails without any mutant, too, is tried again."""
        named = equivalents(EQUIVALENT)
        found = [
            Verdict(mutant=mutant, outcome="equivalent") if mutant.name in named else self._printed(mutant)
            for mutant in mutants
        ]
        return self._confirmed(found)

    def _printed(self, mutant: Mutant) -> Verdict:
        began = cpu_seconds()
        verdict = replace(self._run(mutant), cpu_s=round(cpu_seconds() - began, 1))
        print("." if verdict.is_caught else "S", end="", flush=True)
        return verdict

    def _run(self, mutant: Mutant) -> Verdict:
        """Return whether a test catches a mutant; tests that take `budget_s` together are tried."""
        ranked = [test for test in self._ranked(mutant) if test.test not in self._unreliable]
        chosen = list(_affordable(ranked, self._budget_s))
        if not chosen:
            return Verdict(mutant=mutant, outcome="unreached")
        source = (self._library.root / "src" / self._library.name / mutant.file).read_bytes()
        with self._library.changed(mutant.file, mutant.apply(source)):
            for tests in _rounds(chosen):
                outcome, failures = self._try(tests)
                if outcome != "survived":
                    return Verdict(mutant=mutant, outcome=outcome, test=next(iter(failures), "at import"))
        return Verdict(mutant=mutant, outcome="survived", test=f"{len(chosen)} of {len(ranked)} tests")

    def _confirmed(self, verdicts: Sequence[Verdict]) -> list[Verdict]:
        names = sorted({verdict.test for verdict in verdicts if verdict.outcome == "caught" and "::" in verdict.test})
        known = {test.test: test for record in self._records for test in record.tests}
        self._unreliable |= set(self._try([known[name] for name in names], ends_at_first=False)[1]) if names else set()
        return [self._run(v.mutant) if v.test in self._unreliable else v for v in verdicts]

    def _try(self, tests: Sequence[Reach], *, ends_at_first: bool = True) -> tuple[str, list[str]]:
        """Return the outcome and the tests that failed."""
        failures = self._library.folder / "failures.txt"
        failures.write_text("", encoding="utf-8")
        modules = dict.fromkeys(test.test.partition("::")[0] for test in tests)
        if gone := [module for module in modules if not (self._library.root / module).is_file()]:
            raise FileNotFoundError(f"{gone[0]} went away while mutants were tried")
        options = ["-x"] if ends_at_first else []
        expected = sum(test.seconds for test in tests)
        code = self._library.run_tests(
            ["-m", "", *options, *modules],
            [Selection(_by_module(tests), failures)],
            cpu_s=20 + 4 * expected,
            wall_s=60 + 10 * expected,
        )
        survived = code in {pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED}
        outcome = "timeout" if code == TIMED_OUT else "survived" if survived else "caught"
        return outcome, failures.read_text(encoding="utf-8").splitlines()

    def _ranked(self, mutant: Mutant) -> list[Reach]:
        """Return the tests that reach a mutant: direct and quick ones first, each function's cases in turn.

        Where its lines run at import, tests that run none of its file come last: they may read what it says.
        """
        importing = [record for record in self._records if record.imports(mutant)]
        reached = {test.test: (2, test) for record in importing for test in record.tests}
        for record in self._records:
            reached |= {test.test: (int(not near), test) for test, near in record.reaching(mutant)}
        ranked, cases = [], Counter[str]()
        for distance, test in sorted(reached.values(), key=lambda row: (row[0], row[1].seconds, row[1].test)):
            ranked.append((distance, cases[test.function], test))
            cases[test.function] += 1
        return [row[-1] for row in sorted(ranked, key=lambda row: row[:2])]


def _affordable(tests: Iterable[Reach], budget_s: float) -> Iterator[Reach]:
    """Yield tests in turn that fit into the budget together; the first one in any case."""
    spent = 0.0
    for test in tests:
        if spent == 0 or spent + test.seconds <= budget_s:
            spent += max(test.seconds, 0.001)
            yield test


def _rounds(tests: Sequence[Reach]) -> list[list[Reach]]:
    """Return a few cheap tests of a few modules, then the others."""
    first: list[Reach] = []
    modules: set[str] = set()
    for test in _affordable(tests, FIRST_ROUND_S):
        module = test.test.partition("::")[0]
        if module in modules or len(modules) < FIRST_ROUND_MODULES:
            modules.add(module)
            first.append(test)
    taken = {test.test for test in first}
    return [part for part in (first, [test for test in tests if test.test not in taken]) if part]


def _by_module(tests: Sequence[Reach]) -> list[str]:
    """Return names so that a module's tests follow each other, and share what its fixtures made."""
    modules: dict[str, list[str]] = {}
    for test in tests:
        modules.setdefault(test.test.partition("::")[0], []).append(test.test)
    return [name for names in modules.values() for name in names]
