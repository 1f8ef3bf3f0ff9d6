"""`import analytics_core` loads the standard library only; names come on first use."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import analytics_core
from analytics_core.models.base import StrictShape
from analytics_core.testing.sample_data import make_shop

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


def test_the_module_of_shared_memory_can_be_imported_without_its_package() -> None:
    assert _loaded_by("import analytics_core.redis") & {*HEAVY, "redis"} == set()


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
    *("_sql", "_pictures", "_core.display", "_core.guest_core", "_core.operating", "_core.wiring.questions"),
    *("_reports.delivery", "_reports.dispatcher", "_reports.namespace", "_reports.runner", "_reports.scheduler"),
    *("_superset.form", "_superset.kinds", "_superset.registry"),
    *("_content.bundles", "_content.checks", "_content.charts", "_content.dashboards", "_content.guests"),
    *("_content.oauth", "_content.logs", "_content.lookups.guests", "_content.needed_by_reports"),
    *("_content.questions", "_content.pictures"),
    *("_content.databases.tables", "_content.databases.uploads", "_content.datasets.sources"),
    *("_engine.compile.fragments.parser", "_engine.compile.lowering", "_engine.compile.plan"),
    *("_engine.compile.templates", "_engine.compile.time_range", "_engine.engines.costs", "_engine.engines.partitions"),
    *("_engine.execution.sessions.loaders", "_engine.execution.sessions.loading", "_engine.execution.table_loader"),
    *("_engine.files.reading", "_engine.forecast", "_engine.frames.operations", "_engine.frames.registry"),
    *("_engine.gate.guard", "_engine.gate.row_security", "_engine.gate.tables", "_engine.gate.uploads"),
    *("_engine.oauth.flow", "_engine.oauth.state", "_engine.oauth.token_renewal"),
    *("_engine.querying", "_engine.results", "_engine.rights.guest_tokens"),
    *("models.embedded", "models.log", "models.people", "models.postprocessing", "models.query", "models.report"),
    *("models.meanings", "models.table"),
)
"""Rooms and subjects that are loaded with their first use."""

HEAVY_LATER = {
    "alembic", "celery", "croniter", "duckdb", "jinja2", "jwt", "numpy", "orjson", "pandas", "paramiko", "pyarrow",
    "scipy", "statsmodels", "vl_convert", "xlsxwriter",
}  # fmt: skip
"""Packages likewise."""

CORE = (
    "import secrets; from analytics_core import AnalyticsCore, Settings; "
    "AnalyticsCore(Settings(secret_key=secrets.token_urlsafe()))"
)
IDLE_TICK = f"{CORE}.scheduler.tick()"


def _of_ours(loaded: set[str]) -> set[str]:
    return {name.removeprefix("analytics_core.") for name in loaded if name.startswith("analytics_core.")}


def _too_early(ours: set[str]) -> set[str]:
    return {name for name in ours for later in LATER if f"{name}.".startswith(f"{later}.")}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("shop") / "shop.db"
    make_shop(file, days=2)
    return str(file)


def test_connecting_loads_nothing_that_a_connection_does_not_need(shop: str) -> None:
    loaded = _modules_loaded_by(f"import analytics_core; analytics_core.connect({shop!r})")
    ours = _of_ours(loaded)
    assert _too_early(ours) == set()
    assert HEAVY_LATER & loaded == set()
    assert {name for name in ours if name.startswith("_engine.engines.specs.")} == {"_engine.engines.specs.sqlite"}
    assert {"sqlglot.dialects.sqlite", "sqlglot.generators.sqlite"} & loaded == set()  # no SQL is written yet
    assert len(ours) <= 198


def test_a_shape_is_built_at_its_first_use() -> None:
    class Shape(StrictShape):
        name: str

    assert not Shape.__pydantic_complete__
    assert Shape(name="a").name == "a"
    assert Shape.__pydantic_complete__


def test_a_core_loads_nothing_that_it_may_never_need() -> None:
    loaded = _modules_loaded_by(CORE)
    assert HEAVY_LATER & loaded == set()
    assert _too_early(_of_ours(loaded)) == set()
    assert len(_of_ours(loaded)) <= 163


def test_a_look_for_due_reports_that_finds_none_loads_nothing_that_runs_them() -> None:
    loaded = _modules_loaded_by(IDLE_TICK)
    assert _too_early(_of_ours(loaded)) == {"_reports.delivery", "_reports.scheduler"}
    assert HEAVY_LATER & loaded == set()


def test_a_first_answer_draws_nothing(shop: str) -> None:
    answer = f"import analytics_core; analytics_core.connect({shop!r}).dataset('orders').query('count').run()"
    loaded = _modules_loaded_by(answer)
    ours = _of_ours(loaded)
    unneeded = ("_pictures.", "_content.pictures", "_reports.", "_sql.", "_tools.pivots")
    assert {name for name in ours if name.startswith(unneeded)} == set()
    assert {"numpy", "pandas", "pyarrow", "scipy", "vl_convert"} & loaded == set()
