"""The runner of mutants finds the faults that tests catch, those that they miss, and the same ones again later."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.mutants.mutant_lists import all_mutants, choose, equivalents, replay, save
from tests.mutants.operators import mutants_of
from tests.mutants.packages import TESTS as PACKAGES
from tests.mutants.reach import Reach, Record

PROJECT = Path(__file__).resolve().parents[2]
MODULE = "/".join(("tests", "unit", "test_prices.py"))
PRICES = '''"""Prices."""
import logging

LOG = logging.getLogger("prices")
LIMIT = 10
CURRENCY = "EUR"


def total(count: int, price: int) -> int:
    """Return the price of some pieces."""
    if count > LIMIT:
        raise ValueError(f"more than {LIMIT}")
    LOG.info("priced %s", 3)
    return count * price


def is_free(price: int) -> bool:
    return price == 0
'''
TESTS = """import pytest
import shop.prices


@pytest.mark.server
def test_nothing_is_free():
    assert shop.prices.is_free(0)


def test_prices_are_in_euros():
    assert shop.prices.CURRENCY == "EUR"


def test_pieces_are_multiplied():
    assert shop.prices.total(2, 4) == 8
    assert shop.prices.total(10, 1) == 10
    try:
        shop.prices.total(11, 1)
    except ValueError:
        return
    raise AssertionError
"""


def make_project(folder: Path) -> Path:
    """Write a project whose tests reach one function of two."""
    library = folder / "src" / "shop"
    library.mkdir(parents=True)
    (library / "__init__.py").write_text("")
    (library / "prices.py").write_text(PRICES)
    tests = folder / "tests" / "unit"
    tests.mkdir(parents=True)
    (tests / "test_prices.py").write_text(TESTS)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n    server: none\n    long: none\n")
    return folder


@pytest.mark.slow
def test_the_runner_reports_what_is_caught_and_what_survives(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    results = tmp_path / "results.json"
    options = ["--project", str(project), "--library", "shop", "--mutants", "20", "--cache", str(tmp_path / "cache")]
    done = subprocess.run(
        [sys.executable, "-m", "tests.mutants", "prices", *options, "--results", str(results), "--light", "--servers"],
        cwd=PROJECT,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    found = json.loads(results.read_text())
    outcomes = {(row["scope"], row["outcome"]) for row in found["mutants"]}
    assert outcomes == {("total", "caught"), ("is_free", "unreached"), ("", "caught")}, done.stdout + done.stderr
    assert "prices.py:18 is_free: constant (unreached, caught with servers)" in done.stdout
    (missed,) = [row for row in found["mutants"] if row["outcome"] == "unreached"]
    assert (found["by_servers"], missed["server_test"]) == (1, f"{MODULE}::test_nothing_is_free")
    assert done.returncode == (0 if found["share"] >= 70 else 1)


def test_each_operator_changes_what_a_test_can_notice_and_no_message() -> None:
    made = {(m.operator, m.before, m.after) for m in mutants_of("prices.py", PRICES.encode())}
    assert made == {
        ("constant", "10", "11"),
        ("constant", "'EUR'", "'EUR_x'"),
        ("negation", "count > LIMIT", "not count > LIMIT"),
        ("comparison", "count > LIMIT", "count >= LIMIT"),
        ("deletion", "raise ValueError(f'more than {LIMIT}')", "pass"),
        ("return", "return count * price", "return None"),
        ("arithmetic", "count * price", "count / price"),
        ("return", "return price == 0", "return None"),
        ("comparison", "price == 0", "price != 0"),
        ("constant", "0", "1"),
    }


def test_tests_that_run_what_reads_a_constant_are_nearer_than_others_of_its_file() -> None:
    source = "def total():\n    return LIMITS\n\n\ndef free():\n    return 0\n\n\nLIMIT = 10\nLIMITS = [LIMIT]\n"
    (limit,) = [mutant for mutant in mutants_of("prices.py", source.encode()) if mutant.before == "10"]
    free, total = (Reach(test=name, seconds=0.1) for name in ("free", "total"))
    record = Record(tests=(free, total), shared={"prices.py": 1 << 9}, lines={"prices.py": {1 << 6: [0], 1 << 2: [1]}})
    assert dict(record.reaching(limit)) == {free: False, total: True}


def test_every_mutant_is_valid_python_and_differs_from_the_source() -> None:
    source = PRICES.encode()
    for mutant in mutants_of("prices.py", source):
        changed = mutant.apply(source)
        compile(changed, mutant.file, "exec")
        assert changed != source, mutant


def test_a_seed_chooses_the_same_mutants_again_and_another_one_others(tmp_path: Path) -> None:
    library = make_project(tmp_path) / "src" / "shop"
    mutants = all_mutants(library, "prices")
    chosen = [choose(mutants, 3, seed, library=library) for seed in ("1", "1", "2")]
    assert chosen[0] == chosen[1] != chosen[2]
    assert len({mutant.line for mutant in chosen[0]}) == 3


def test_a_saved_list_is_found_again_after_lines_moved(tmp_path: Path) -> None:
    library = make_project(tmp_path) / "src" / "shop"
    saved = all_mutants(library, "prices")
    save(tmp_path / "list.json", saved)
    (library / "prices.py").write_text("# a new line\n" + PRICES.replace("price == 0", "price <= 0"))
    found, gone = replay(tmp_path / "list.json", all_mutants(library, "prices"))
    assert [mutant.line for mutant in found] == [m.line + 1 for m in saved if "price == 0" not in m.before]
    assert len(gone) == 2


def test_an_equivalent_is_named_by_place_and_change_and_has_a_reason() -> None:
    listed = equivalents(PROJECT / "tests" / "mutants" / "equivalent.txt")
    known = {m.name for file in {name[0] for name in listed} for m in library_mutants(file.removesuffix(".py"))}
    assert {name for name in listed if name not in known} == set()
    assert all(len(reason) > 10 for reason in listed.values())


def library_mutants(package: str) -> list:
    """Return the mutants of a package, or of one file, of the library."""
    return all_mutants(PROJECT / "src" / "analytics_core", package)


def test_a_package_leaves_out_what_counts_for_itself_below_it() -> None:
    apart = all_mutants(PROJECT / "src" / "analytics_core", "_notebook", PACKAGES)
    assert apart == []
    assert {Path(mutant.file).parts[1] for mutant in library_mutants("_notebook")} == {"builder", "sources"}


def test_every_package_of_the_table_is_a_folder_of_the_library() -> None:
    assert [name for name in PACKAGES if not (PROJECT / "src" / "analytics_core" / name).is_dir()] == []
