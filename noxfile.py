"""The project's checks. `nox` runs the short ones; `nox -s tests` runs one.

Each session makes its own environment. `.ci/run` makes one environment for all of them and calls
`nox --no-venv`; sessions then install nothing.
"""

from __future__ import annotations

import os
from pathlib import Path

import nox

nox.options.default_venv_backend = "uv|virtualenv"
nox.options.sessions = ["tests", "lint", "types", "contracts", "docs", "acceptance"]

ENGINES = "-e.[duckdb,postgres,mysql,fast,test]"
SHARED = Path(os.environ.get("ANALYTICS_CORE_SHARED", "../shared"))


def _install(session: nox.Session, *packages: str) -> None:
    """Install into the session's environment; a run without environments brings everything itself."""
    if session.venv_backend != "none":
        session.install(*packages)


@nox.session
def tests(session: nox.Session) -> None:
    """Run the tests: unit, golden, properties, conformance, architecture, and integration with private servers."""
    _install(session, ENGINES)
    session.run("python", "-m", "pytest", "-n", "2", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Check style and format."""
    _install(session, "ruff>=0.17.5,<0.18")
    session.run("python", "-m", "ruff", "check")
    session.run("python", "-m", "ruff", "format", "--check")


@nox.session
def types(session: nox.Session) -> None:
    """Check types, strictly."""
    _install(session, ENGINES, "-e.[lint]")
    session.run("python", "-m", "mypy")


@nox.session
def contracts(session: nox.Session) -> None:
    """Check that imports point down the layers."""
    _install(session, ENGINES, "-e.[lint]")
    session.run("lint-imports", "--no-cache")


@nox.session
def docs(session: nox.Session) -> None:
    """Build the documentation and run its examples; `-- --only-build` leaves those to the session `tests`."""
    _install(session, ENGINES, "-e.[docs]")
    calm = {"NO_MKDOCS_2_WARNING": "1"}
    session.run("python", "-m", "mkdocs", "build", "--strict", "--site-dir", "site", env=calm)
    if "--only-build" not in session.posargs:
        session.run("python", "-m", "pytest", "-q", "-n", "2", "tests/docs")


@nox.session
def acceptance(session: nox.Session) -> None:
    """Compare the shapes with the contract, and real chart queries with the recorded answers, on all four engines."""
    _install(session, ENGINES)
    session.run("python", "tests/acceptance/check_shapes.py", str(SHARED / "spec" / "shapes.json"))
    session.run("python", "tests/acceptance/run_acceptance.py", str(SHARED / "acceptance"), *session.posargs)


@nox.session
def attacks(session: nox.Session) -> None:
    """Try to learn of hidden rows and hidden things, at length: every road, four engines, small and large tables."""
    _install(session, ENGINES)
    session.run("python", "-m", "pytest", "-n", "2", "tests/attacks", *session.posargs)


@nox.session
def differential(session: nox.Session) -> None:
    """Ask random queries of four engines and compare the rows with plain Python; `-- --queries 1000` asks fewer."""
    _install(session, ENGINES)
    session.run("python", "-m", "tests.differential", *session.posargs)


@nox.session
def plans(session: nox.Session) -> None:
    """Check the plans of our statements by property at 2 million rows, and print what an expert's cost beside them."""
    _install(session, ENGINES)
    session.run("python", "-m", "benchmarks.plans", *session.posargs)


@nox.session
def bench(session: nox.Session) -> None:
    """Measure the ratios that the project promises; `-- --peer FOLDER` measures the peer beside it."""
    _install(session, ENGINES)
    folders = [str(SHARED / "bench"), "--forecast", str(SHARED / "forecast")]
    session.run("python", "-m", "benchmarks", *folders, *session.posargs)


@nox.session
def faults(session: nox.Session) -> None:
    """Try the library under faults: servers that hang or die, caches, forks, Ctrl-C, a full disk, a clock put back."""
    _install(session, ENGINES)
    session.run("python", "-m", "tests.faults", *session.posargs)
