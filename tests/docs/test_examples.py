"""The examples of the documentation run as they stand, and print what the pages show."""

from __future__ import annotations

import ast
import contextlib
import doctest
import importlib
import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from shutil import copyfile
from typing import Any

import pytest
from tests.support.cases import for_each

from analytics_core._engine.frames.registry import Operations

PROJECT = Path(__file__).parents[2]
PAGES = [PROJECT / "README.md", *sorted((PROJECT / "docs").rglob("*.md"))]
FENCED = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMPARISON = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A block of Python, the line it starts at, and the output that the page shows below it (None: not shown)."""

    code: str
    line: int
    output: str | None


def _examples(page: Path) -> list[Example]:
    text = page.read_text(encoding="utf-8")
    blocks = list(FENCED.finditer(text))
    return [
        Example(
            code=block[2],
            line=text.count("\n", 0, block.start(2)) + 1,
            output=_output_below(text, block.end(), after),
        )
        for block, after in pairwise([*blocks, None])
        if block is not None and block[1] == "python"
    ]


def _output_below(text: str, end: int, after: re.Match[str] | None) -> str | None:
    follows = after is not None and after[1] == "text" and not text[end : after.start()].strip()
    return after[2] if after is not None and follows else None


def _named(path: Path) -> str:
    return path.relative_to(PROJECT).as_posix()


@pytest.mark.parametrize("page", [page for page in PAGES if _examples(page)], ids=_named)
def test_the_examples_of_a_page_run_and_print_what_it_shows(page: Path, tmp_path: Path) -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    with contextlib.chdir(tmp_path), _closing_cores(names):
        for example in _examples(page):
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                # Line numbers of a traceback are those of the page.
                exec(compile("\n" * (example.line - 1) + example.code, _named(page), "exec"), names)
            if example.output is not None:
                _assert_displayed(example, output.getvalue())


def _assert_displayed(example: Example, got: str) -> None:
    if not doctest.OutputChecker().check_output(example.output or "", got, COMPARISON):
        pytest.fail(
            f"line {example.line}: the page shows\n{example.output}\nbut the example prints\n{got}", pytrace=False
        )


@contextlib.contextmanager
def _closing_cores(names: dict[str, Any]) -> Iterator[None]:
    """Close what the page opened."""
    import analytics_core

    try:
        yield
    finally:
        for value in list(names.values()):
            if isinstance(value, analytics_core.AnalyticsCore):
                value.close()


SOURCE = PROJECT / "src"
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef)


def _modules_with_examples() -> list[str]:
    return [
        ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
        for path in sorted(SOURCE.rglob("*.py"))
        if ">>> " in path.read_text(encoding="utf-8")
    ]


def _docstrings(path: Path) -> Iterator[tuple[ast.AST, str]]:
    """Yield what has a docstring with examples; methods that are wrapped, which `doctest` passes over, too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, DOCUMENTED) and ">>> " in (text := ast.get_docstring(node) or ""):
            yield node, text


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """What the examples of `DatasetHandle` make, for those of what it gives."""
    import analytics_core
    from analytics_core.testing.sample_data import make_shop

    with analytics_core.connect(make_shop(tmp_path_factory.mktemp("shop") / "shop.db")) as core:
        made = core.datasets.create({"database": 1, "table_name": "orders"})
        metrics = [{"metric_name": "revenue", "expression": "SUM(amount)"}]
        core.datasets.update(made.id, {"main_dttm_col": "order_date", "metrics": metrics})
        yield {"core": core, "orders": core.dataset("orders")}


@pytest.fixture(scope="module")
def filled_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of `example_core`, of which each docstring gets a copy."""
    from analytics_core.testing.example_core import example_core

    folder = tmp_path_factory.mktemp("example")
    example_core(folder).close()
    return (folder / "example.db").rename(folder / "filled.db")


@contextlib.contextmanager
def _names_of(module: str, request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    """Give the names that a docstring uses without making them: see the reference of the facade."""
    from analytics_core.testing.example_core import example_core

    if "._notebook.builder." in module:
        yield request.getfixturevalue("shop")
    elif any(f"._{room}." in module for room in ("core", "content", "reports", "sql", "engine.results")):
        filled = request.getfixturevalue("filled_store")
        copyfile(filled, filled.with_name("example.db"))
        with example_core(filled.parent) as core:
            yield {"core": core}
    else:
        yield {}


@for_each("name", _modules_with_examples())
def test_the_examples_of_docstrings_give_what_they_show(
    name: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    module = importlib.import_module(name)
    path = Path(module.__file__ or "")
    runner, report = doctest.DocTestRunner(optionflags=COMPARISON), io.StringIO()
    for node, text in _docstrings(path):
        with _names_of(name, request) as names, contextlib.chdir(tmp_path):
            test = doctest.DocTestParser().get_doctest(
                text, {**vars(module), **names}, getattr(node, "name", name), str(path), getattr(node, "lineno", 0)
            )
            runner.run(test, out=report.write)
    if runner.summarize(verbose=False).failed:
        pytest.fail(report.getvalue(), pytrace=False)
    assert runner.tries > 0


@pytest.mark.slow
def test_the_program_of_the_first_chart_prints_sql_rows_and_explanation() -> None:
    command = [sys.executable, "-W", "error", str(PROJECT / "examples" / "first_chart.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    for expected in ("SELECT", "revenue__1 year ago", "Germany", "time range: 2024-01-01 : 2025-01-01"):
        assert expected in done.stdout
    assert done.stderr == ""


@pytest.mark.slow
def test_the_quick_start_prints_a_table_and_draws_the_picture_of_the_first_page(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-W",
        "error",
        str(PROJECT / "examples" / "quickstart.py"),
        str(tmp_path / "revenue.png"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert "garden 390573.20" in done.stdout
    assert done.stderr == ""
    stored = PROJECT / "docs" / "pictures" / "revenue.png"
    drawn = (tmp_path / "revenue.png").read_bytes()
    assert drawn == stored.read_bytes(), "draw it anew: python examples/quickstart.py docs/pictures/revenue.png"


@pytest.mark.slow
def test_a_week_of_reports_passes_in_a_moment() -> None:
    command = [sys.executable, "-W", "error", str(PROJECT / "examples" / "schedule_reports.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    sent = [line for line in done.stdout.splitlines() if " | " in line]
    assert sum("[Report] Orders" in line for line in sent) == 14
    assert sum("[Alert] Many returns" in line for line in sent) == 3
    assert done.stderr == ""


@pytest.mark.slow
def test_what_cron_calls_looks_once(tmp_path: Path) -> None:
    store, key = f"sqlite:///{tmp_path}/meta.db", "a-test-key-that-is-long-enough-9f3a"
    variables = {**os.environ, "ANALYTICS_CORE_STORE": store, "ANALYTICS_CORE_SECRET_KEY": key}
    command = [sys.executable, "-W", "error", str(PROJECT / "examples" / "cron_tick.py")]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=True, timeout=60)
    assert (done.stdout, done.stderr) == ("Tick(due=0, claimed=0, taken_up=0, missed=0, finished=0)\n", "")


@for_each("name", Operations())
def test_the_page_of_operations_shows_each_with_an_example_and_every_option(name: str) -> None:
    page = (PROJECT / "docs" / "reference" / "operations.md").read_text(encoding="utf-8")
    section = page.split(f"\n## {name}\n")[1].split("\n## ")[0]
    assert f"postprocessing.{name}(" in section
    assert "```text\n" in section
    options = {
        option for row in re.findall(r"^\| (`.*?) \|", section, re.MULTILINE) for option in re.findall(r"`(\w+)`", row)
    }
    assert set(Operations()[name].options.model_fields) <= options


def test_every_link_between_pages_leads_somewhere() -> None:
    link = re.compile(r"\]\((?!https?://|#|mailto:)([^)#\s]+)")
    lost = [
        f"{_named(page)}: {target}"
        for page in [*PAGES, PROJECT / "CONTRIBUTING.md"]
        for target in link.findall(page.read_text(encoding="utf-8"))
        if not (page.parent / target).exists()
    ]
    assert lost == []
