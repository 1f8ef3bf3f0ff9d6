"""Pages, settings and tests name files, modules and calls that exist: a check of what is gone passes on nothing."""

from __future__ import annotations

import ast
import importlib
import re
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from tests.architecture.source import PACKAGE, PROJECT, source_files
from tests.support.cases import for_each
from tests.support.doors import kind_of

import analytics_core

PAGES = sorted({*PROJECT.glob("*.md"), *(PROJECT / "docs").rglob("*.md")})
TOOLS = [
    *(PROJECT / name for name in ("pyproject.toml", "noxfile.py", "mkdocs.yml", ".ci/run", ".pre-commit-config.yaml")),
    *(PROJECT / ".github").rglob("*.yml"),
]
CODE = [
    path
    for folder in ("src", "tests", "benchmarks", "examples", "typing_tests")
    for path in sorted((PROJECT / folder).rglob("*.py"))
    if path != Path(__file__)
]
SETTINGS: dict[str, Any] = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]

QUOTED = re.compile(r"`([^`\n]+)`")
FILE = re.compile(r"(?<![\w/.:-])((?:[\w.-]+/)+[\w*.-]*|[\w-]+\.(?:py|md|toml|sql|yml))(?![\w/(])")
BARE_FILE = re.compile(r"(?<![\w/.-])((?:src|tests|docs|benchmarks|examples|typing_tests|\.ci)/[\w./*-]*\w)")
PAGE = re.compile(r"(?<![\w-])[\w-]+\.md\b")
DOTTED = re.compile(r"(?<![\w./-])analytics_core(?:\.\w+)+")
PRIVATE = re.compile(r"(?<![\w.])_[a-z_]+(?:\.(?!py\b)\w+)+")
CALL = re.compile(r"(?<![\w.])core\.(\w+)(?:\.(\w+))?")

NO_FILES = re.compile(
    r"[\d./]+|[dmw]/|\w+/\d.*|host/(?:name|shop)|localhost/sales|(?:data|\d+)/\*\.\w+|(?:connection|core)\.sql|\.\./shared\b.*"
)
"""What looks like a path: dates, networks, durations, parts of URLs, files of examples; and what a clone may lack."""

NO_MODULES = {
    "analytics_core.advanced_data_types": "a group of entry points",
    "analytics_core.chart_kinds": "a group of entry points",
    "analytics_core.engines": "a group of entry points",
    "analytics_core.operations": "a group of entry points",
    "analytics_core.database": "a logger",
    "analytics_core.prune": "a logger",
    "analytics_core.questions": "a logger",
    "analytics_core.run_job": "a task of Celery",
    "analytics_core.store": "a logger",
    "analytics_core.conect": "a mistake that type checkers must find",
    "analytics_core.postprocessing.clip": "an operation that a page adds",
}
PAGES_OF_OTHERS = {"dependencies.md"}
FUTURE_LAYERS: set[str] = set()
"""Layers that have a place before they have a module."""


def _texts(paths: Iterable[Path]) -> Iterator[tuple[str, str]]:
    return ((path.relative_to(PROJECT).as_posix(), path.read_text(encoding="utf-8")) for path in paths)


def test_there_is_something_to_look_at() -> None:
    assert (len(PAGES) > 40, len(TOOLS) > 5, len(CODE) > 600) == (True, True, True)


def test_every_file_that_a_page_names_exists() -> None:
    named = [
        (place, name.rstrip("."))
        for place, text in _texts(PAGES)
        for quoted in QUOTED.findall(text)
        for name in FILE.findall(quoted)
        if not NO_FILES.fullmatch(name)
    ]
    assert len(named) > 200
    assert [f"{place}: {name}" for place, name in named if not _is_file(name, PROJECT / place)] == []


def _is_file(name: str, page: Path) -> bool:
    """Pages name files from the top, from the package, from the tests, or from where they are themselves."""
    folders = (PROJECT, PACKAGE, PROJECT / "src", PROJECT / "tests", page.parent)
    return any((folder / name).exists() or any(folder.glob(name)) for folder in folders)


def test_every_file_that_a_tool_or_the_code_names_exists() -> None:
    texts = list(_texts([*TOOLS, *CODE]))
    named = [(place, name) for place, text in texts for name in BARE_FILE.findall(text)]
    assert len(named) > 30
    assert [f"{place}: {name}" for place, name in named if not any(PROJECT.glob(name))] == []
    pages = {page.name for page in PAGES} | PAGES_OF_OTHERS
    named = [(place, name) for place, text in texts for name in PAGE.findall(text)]
    assert len(named) > 15
    assert [f"{place}: {name}" for place, name in named if name not in pages] == []


def test_every_dotted_name_of_the_package_is_there() -> None:
    named = [(place, name) for place, text in _texts([*PAGES, *TOOLS, *CODE]) for name in DOTTED.findall(text)]
    packages = {path.stem for path in PACKAGE.iterdir()}
    named += [
        (place, f"analytics_core.{name}")
        for place, text in _texts([*PAGES, *CODE])
        for quoted in QUOTED.findall(text)
        for name in PRIVATE.findall(quoted)
        if name.partition(".")[0] in packages
    ]
    assert len(named) > 2_000
    measured = set(DOTTED.findall((PACKAGE / "otel.py").read_text(encoding="utf-8")))  # metrics and attributes
    gone = {name for _, name in named if name not in NO_MODULES and name not in measured and not _resolves(name)}
    assert [f"{place}: {name}" for place, name in named if name in gone] == []
    assert NO_MODULES.keys() - {name for _, name in named} == set()


@cache
def _resolves(name: str) -> bool:
    """Tell whether a name is a module or is found in one; fields of records and models count."""
    module, _, rest = name, "", ""
    while True:
        try:
            found: Any = importlib.import_module(module)
        except ModuleNotFoundError:
            module, _, attribute = module.rpartition(".")
            rest = f"{attribute}.{rest}"
            continue
        break
    for part in rest.split(".")[:-1]:
        fields = {**getattr(found, "__dataclass_fields__", {}), **getattr(found, "__pydantic_fields__", {})}
        if not hasattr(found, part) and part not in fields:
            return False
        found = getattr(found, part, None)
    return True


def test_every_call_of_a_core_that_a_page_names_is_one() -> None:
    named = [(place, match) for place, text in _texts(PAGES) for match in CALL.findall(text)]
    assert len(named) > 200
    wrong = [f"{place}: core.{first}.{second}" for place, (first, second) in named if not _is_call(first, second)]
    assert [one for one in wrong if not one.endswith("core.md.")] == []


@cache
def _is_call(first: str, second: str) -> bool:
    found = getattr(analytics_core.AnalyticsCore, first, None)
    if isinstance(found, property) and second:
        return hasattr(kind_of(first), second)
    return found is not None


@for_each("pattern", SETTINGS["ruff"]["lint"]["per-file-ignores"])
def test_every_exception_from_a_lint_rule_is_for_files_that_exist(pattern: str) -> None:
    assert any(
        path.suffix == ".py"
        for path in PROJECT.glob(pattern.removesuffix("**") + "**/*.py" if "**" in pattern else pattern)
    )


def test_every_folder_that_a_tool_reads_exists() -> None:
    folders = [*SETTINGS["mypy"]["files"], SETTINGS["mypy"]["mypy_path"], *SETTINGS["ruff"]["src"]]
    folders += [pattern.removesuffix("/**") for pattern in SETTINGS["ruff"]["extend-exclude"]]
    folders += SETTINGS["pyright"]["include"]
    assert [folder for folder in folders if not (PROJECT / folder).is_dir()] == []
    assert [name for name in SETTINGS["coverage"]["run"]["source"] if not _resolves(name)] == []


def test_every_layer_is_a_module_or_said_to_come() -> None:
    contracts = [contract for contract in SETTINGS["importlinter"]["contracts"] if contract["type"] == "layers"]
    assert len(contracts) > 1
    for contract in contracts:
        (room,), layers = contract["containers"], contract["layers"]
        named = {name for layer in layers for name in re.findall(r"\w+", layer)}
        assert {name for name in named if not _resolves(f"{room}.{name}")} == FUTURE_LAYERS
        assert {name for layer in layers for name in re.findall(r"\((\w+)\)", layer)} == FUTURE_LAYERS


def test_the_page_of_the_architecture_tells_every_layer_from_top_to_bottom_and_names_classes_that_exist() -> None:
    page = (PROJECT / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")
    contracts = SETTINGS["importlinter"]["contracts"]
    (layers,) = (c["layers"] for c in contracts if c.get("containers") == ["analytics_core"])
    order = {name: place for place, layer in enumerate(layers) for name in re.findall(r"\w+", layer)}
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", page, re.MULTILINE)
    layer_names = [name for row in rows for name in re.findall(r"\w+", row)]
    assert sorted(layer_names) == sorted(set(order) - FUTURE_LAYERS)
    assert [order[name] for name in layer_names] == sorted(order[name] for name in layer_names)
    drawn = set(re.findall(r"^([A-Z][a-z]+[A-Z]\w+)|^ \|  ([A-Z]\w+)\.", page, re.MULTILINE))
    classes = {node.name for file in source_files() for node in file.tree.body if isinstance(node, ast.ClassDef)}
    assert len(drawn) > 5
    assert {name for names in drawn for name in names if name} - classes == set()
    folders = re.findall(r"\b(_\w+(?:/\w+)+)\b(?![/.])", "\n".join(re.findall(r"^ \|.*", page, re.MULTILINE)))
    assert len(folders) > 15
    assert [name for name in folders if not ((PACKAGE / name).is_dir() or (PACKAGE / f"{name}.py").is_file())] == []
