"""The inventory of the tests tells engines and gates apart, and names what a change has lost."""

from __future__ import annotations

from collections import Counter

from tests.inventory import MOVED, ROOT, engine_of, lost

from analytics_core.testing.store import StoreConformance


def test_the_engine_of_a_case_is_the_one_that_it_names() -> None:
    named = {"[sqlite-1": "sqlite", "[1] 'DuckDB'": "duckdb", "[postgres] x": "postgresql", "mysql+pymysql": "mariadb"}
    assert {arguments: engine_of(arguments) for arguments in named} == named
    assert engine_of("[1-two]") == "-"


def test_cases_that_are_fewer_are_lost_and_cases_of_another_gate_are_not() -> None:
    one, two = "a.py::one", "a.py::two"
    before = Counter({(one, "sqlite", "tests"): 3, (one, "duckdb", "tests"): 2, (two, "-", "tests"): 1})
    after = Counter({(one, "sqlite", "tests"): 1, (one, "sqlite", "servers"): 2, (one, "duckdb", "tests"): 1})
    assert [*lost(before, after)] == [
        "a.py::one [duckdb]: 2 cases before, 1 now",
        "a.py::two [-]: 1 cases before, 0 now",
    ]


def test_cases_that_are_said_to_be_elsewhere_are_lost_only_where_that_is_not_true() -> None:
    one, two = "a.py::one", "b.py::two"
    before = Counter({(one, "sqlite", "tests"): 3})
    after = Counter({(two, "-", "servers"): 1})
    assert [*lost(before, after, f"# why\n3 {one} [sqlite] -> {two}\n")] == []
    assert [*lost(before, after, f"2 {one} [sqlite] -> {two}")] == [f"{one} [sqlite]: 3 cases before, 2 now"]
    assert [*lost(before, after, f"3 {one} [sqlite] -> {two}s")] == [
        f"{one} [sqlite] is said to be {two}s, which is not there",
        f"{one} [sqlite]: 3 cases before, 0 now",
    ]


def test_the_tests_that_cases_are_said_to_have_gone_to_are_there() -> None:
    places = [line.partition(" -> ")[2].split("::") for line in MOVED.read_text("utf-8").splitlines() if " -> " in line]
    assert places
    assert [place for place in places if not _is_there(*place)] == []


def _is_there(file: str, *names: str) -> bool:
    """Tell whether a file has a test, or a class that has it of the suite for stores."""
    text = (ROOT / file).read_text("utf-8")
    if len(names) == 1:
        return f"\ndef {names[0]}(" in text
    return f"\nclass {names[0]}({StoreConformance.__name__}):" in text and hasattr(StoreConformance, names[1])
