"""The page that adds an engine is followed: as another package, and as one more file of the library."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import analytics_core
from analytics_core.errors import SettingsError

pytestmark = pytest.mark.slow

PROJECT = Path(__file__).parents[2]
PAGE = (PROJECT / "docs" / "how-to" / "add-an-engine.md").read_text(encoding="utf-8")
CODE = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
(ENTRY_POINT,) = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
SPEC = "\n".join(CODE[:2])
TRIAL = CODE[2].replace("engines=installed_engines().with_spec(POND)", "")


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    """The page's trial of its package, and hostile texts after it."""
    folder = tmp_path_factory.mktemp("package")
    (folder / "my_package.py").write_text(SPEC)
    install(folder)
    return run(TRIAL + HOSTILE, folder)


def test_a_package_adds_the_engine_of_the_page(tried: subprocess.CompletedProcess[str]) -> None:
    assert tried.stdout.splitlines()[:1] == ["[('2024-01', 900), ('2024-02', 1300)]"], tried.stderr


def test_its_guards_hold_from_the_start(tried: subprocess.CompletedProcess[str]) -> None:
    assert tried.stdout.splitlines()[1:] == [
        "dataset 'v': the relation pond_settings is not allowed",
        "dataset 'v': the relation anything is not allowed",
        "dataset 'v': the function pond_secrets is not allowed",
        "Pond: connection option 'access_mode' is not allowed; allowed: threads",
        "Pond: this file is not allowed; it must lie inside one of Settings.data_roots",
    ], tried.stderr


@pytest.mark.parametrize(
    ("target", "problem"),
    [
        ("nothing_there:X", "the entry point 'pond' of analytics_core.engines cannot be loaded"),
        ("os:sep", "the entry point 'pond' of analytics_core.engines must name an EngineSpec"),
    ],
)
def test_an_entry_point_that_is_no_engine_stops_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str, problem: str
) -> None:
    install(tmp_path, target)
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(SettingsError, match=problem):
        analytics_core.connect("sqlite://")


def test_one_more_file_of_the_library_adds_an_engine(tmp_path: Path) -> None:
    """Its spec is all that is written; golden file and extra are not code."""
    shutil.copytree(PROJECT / "src", tmp_path / "src")  # with compiled modules, as of an installed package
    (tmp_path / "src" / "analytics_core" / "_engine" / "engines" / "specs" / "pond.py").write_text(
        f"{SPEC}\nENGINES = (POND,)\n"
    )
    done = run(TRIAL, tmp_path / "src")
    assert done.stdout.strip() == "[('2024-01', 900), ('2024-02', 1300)]", done.stderr


def install(folder: Path, target: str = "") -> None:
    """Write what an installed package has beside its modules."""
    group, entry = re.findall(r'^\[project\.entry-points\."(.*)"\]\n(.*)$', ENTRY_POINT, re.MULTILINE)[0]
    name, given = (part.strip(' "') for part in entry.split("="))
    info = folder / "my_package-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-package\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[{group}]\n{name} = {target or given}\n")


def run(code: str, path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        cwd=path,
        env={"PYTHONPATH": str(path)},
    )


HOSTILE = """
from analytics_core import errors

def refused(attempt):
    try:
        attempt()
    except errors.AnalyticsError as error:
        print(error.message.partition(": it shows")[0])

def reading(sql):
    return lambda: ann.datasets.create({"database": pond.id, "table_name": "v", "sql": sql})

def opening(uri):
    return lambda: ann.databases.create({"database_name": "other", "orm_uri": uri})

refused(reading("SELECT * FROM pond_settings"))
refused(reading("SELECT * FROM pond_admin.anything"))
refused(reading("SELECT pond_secrets()"))
refused(opening("pond:///pond.db?access_mode=read_write"))
refused(opening("pond:////etc/passwd"))
"""
