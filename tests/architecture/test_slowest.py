"""Slowness does not come back unseen: what `nox -s slowest` wrote of the usual run stays under its bounds."""

from __future__ import annotations

from tests.architecture.source import PROJECT

SLOWEST = PROJECT / "tests" / "slowest.txt"
MOST_S = {"all": 480.0, "file": 15.0, "test": 6.0}
"""Seconds of processor time, on a quiet machine of two cores. Above: make it cheaper, or mark it `slow`."""
EXAMPLES = "tests/docs/test_examples.py"
EXAMPLES_S = 60.0
"""All examples of docstrings and pages, which run for that long."""


def _kind(name: str) -> str:
    return "test" if "::" in name else "file" if name.endswith(".py") else name


def test_what_costs_most_stays_under_its_bound() -> None:
    rows = [line.split() for line in SLOWEST.read_text(encoding="utf-8").splitlines()]
    assert [row[1] for row in rows if _kind(row[1]) == "all"] == ["all"]
    assert {_kind(name) for _, name in rows} == MOST_S.keys()
    most = {name: EXAMPLES_S if name.startswith(EXAMPLES) else MOST_S[_kind(name)] for _, name in rows}
    assert [(name, seconds) for seconds, name in rows if float(seconds) > most[name]] == []
