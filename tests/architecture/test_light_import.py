"""`import analytics_core` loads the standard library only; names come on first use."""

from __future__ import annotations

import json
import subprocess
import sys

import analytics_core

HEAVY = {
    "alembic", "croniter", "cryptography", "dateutil", "duckdb", "jinja2", "jwt", "numpy", "orjson", "pandas",
    "paramiko", "pyarrow", "pydantic", "pymysql", "psycopg", "scipy", "sqlalchemy", "sqlglot",
    "sshtunnel", "statsmodels", "xlsxwriter",
}  # fmt: skip


def _loaded_by(statement: str) -> set[str]:
    return {name.split(".")[0] for name in _modules_loaded_by(statement)}


def _modules_loaded_by(statement: str) -> set[str]:
    listing = "print(json.dumps(sorted(set(sys.modules) - before)))"
    code = f"import json, sys; before = set(sys.modules); {statement}; {listing}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


def test_importing_the_package_loads_no_heavy_package() -> None:
    assert _loaded_by("import analytics_core") & HEAVY == set()


def test_importing_the_package_loads_the_standard_library_only() -> None:
    assert _loaded_by("import analytics_core") - set(sys.stdlib_module_names) == {"analytics_core"}


def test_listing_the_public_names_loads_nothing_heavy() -> None:
    assert _loaded_by("import analytics_core; dir(analytics_core)") & HEAVY == set()


def test_the_errors_and_ports_can_be_imported_without_a_heavy_package() -> None:
    assert _loaded_by("import analytics_core.errors, analytics_core.ports") & HEAVY == set()


def test_the_version_is_printed_without_a_heavy_package() -> None:
    command = [sys.executable, "-X", "importtime", "-m", "analytics_core", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"analytics_core {analytics_core.__version__}\n"
    loaded = {line.rpartition("|")[2].strip().split(".")[0] for line in done.stderr.splitlines()}
    assert "analytics_core" in loaded
    assert loaded & HEAVY == set()


def test_every_public_name_is_listed_and_can_be_reached() -> None:
    assert set(analytics_core.__all__) <= set(dir(analytics_core))
    assert {"AnalyticsCore", "Settings", "connect", "errors", "models", "ports", "resolve_time_range"} <= set(
        analytics_core.__all__
    )
    for name in analytics_core.__all__:
        assert getattr(analytics_core, name) is not None


def test_the_package_shows_nothing_private_to_a_notebook() -> None:
    assert [name for name in dir(analytics_core) if name.startswith("_") and not name.startswith("__")] == []


LATER = (
    *("_sql", "_pictures", "_superset.kinds", "_reports.runner", "_reports.scheduler", "_core.guest_core"),
    *("_content.bundles", "_content.checks", "_content.charts", "_content.dashboards", "_content.guests"),
    *("_content.questions", "_content.pictures", "_engine.querying", "_engine.forecast", "_engine.frames.operations"),
)
"""Rooms and subjects that are loaded with their first use."""


def test_connecting_loads_nothing_that_a_connection_does_not_need() -> None:
    loaded = _modules_loaded_by("import analytics_core; analytics_core.connect('sqlite://')")
    ours = {name.removeprefix("analytics_core.") for name in loaded if name.startswith("analytics_core.")}
    assert {name for name in ours for later in LATER if f"{name}.".startswith(f"{later}.")} == set()
    assert {"alembic", "croniter", "jinja2", "jwt", "pandas", "paramiko", "scipy", "statsmodels"} & loaded == set()
    assert len(ours) <= 300
