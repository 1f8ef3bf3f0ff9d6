"""Runs the recorded chart queries on a database of yours, and writes a report to send us: `nox -s engine -- URL`.

    python tests/acceptance/run_on_account.py ../shared/acceptance URL [--only SUBSTRING] [--report engine-report.json]

It makes the tables of the example data, some 100,000 rows, in the database or schema of the URL, asks the charts, and
drops the tables again (`--keep` leaves them). Where a table of one of these names is there already, nothing is done.
The report says which charts agree, what differs in the others, and versions: no URL, names of host and user masked.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from collections.abc import Sequence
from importlib.metadata import packages_distributions, version
from pathlib import Path
from typing import Any

import pandas as pd
import sqlalchemy as sa

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1]))

from tests.acceptance.run_acceptance import choose_cases, compare_with_recordings  # noqa: E402 - needs the path above

ROWS_PER_INSERT = 2_000
URL_VARIABLE = "ANALYTICS_CORE_ENGINE_URL"


def main(words: Sequence[str] | None = None) -> int:
    """Load, compare, report, drop; return the exit code."""
    arguments = _arguments(words)
    os.environ["ANALYTICS_CORE_ACCEPTANCE"] = str(arguments.cases)
    url = sa.make_url(arguments.url)
    engine = sa.create_engine(url)
    described = json.loads((arguments.cases / "datasets.json").read_text(encoding="utf-8")).values()
    tables = {one["table"]: arguments.cases / one["parquet"] for one in described}
    there = sorted(set(tables) & set(sa.inspect(engine).get_table_names()))
    if there:
        print(f"these tables are there already; use an empty database or schema: {', '.join(there)}")
        return 2
    try:
        for table, path in tables.items():
            _load(engine, table, path)
        outcome = _ask(arguments)
    finally:
        if not arguments.keep:
            _drop(engine, list(tables))
        engine.dispose()
    report = {**_versions(engine), **_masked(outcome, url)}
    Path(arguments.report).write_text(json.dumps(report, indent=1), encoding="utf-8")
    print(f"\n{report['agree']} of {report['total']} agree; send us {arguments.report}")
    return 0 if report["passed"] and report["total"] else 1


def _arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", type=lambda text: Path(text).resolve(), help="the folder of the acceptance cases")
    parser.add_argument("url", nargs="?", default=os.environ.get(URL_VARIABLE), help=f"or the variable {URL_VARIABLE}")
    parser.add_argument("--only", default="", help="cases whose id holds this text")
    parser.add_argument("--report", default="engine-report.json")
    parser.add_argument("--keep", action="store_true", help="do not drop the tables at the end")
    found = parser.parse_args(words)
    if not found.url:
        parser.error("a URL of SQLAlchemy is needed")
    return found


def _load(engine: sa.Engine, table: str, path: Path) -> None:
    frame = pd.read_parquet(path)
    with engine.begin() as connection:
        frame.to_sql(table, connection, if_exists="fail", index=False, chunksize=ROWS_PER_INSERT)
    print(f"{table}: {len(frame)} rows", flush=True)


def _drop(engine: sa.Engine, tables: Sequence[str]) -> None:
    metadata = sa.MetaData()
    for table in tables:
        sa.Table(table, metadata)
    with engine.begin() as connection:
        metadata.drop_all(connection)


def _ask(arguments: argparse.Namespace) -> dict[str, Any]:
    name = sa.make_url(arguments.url).get_backend_name()
    with tempfile.TemporaryDirectory() as folder:
        chosen = Path(folder) / "cases"
        choose_cases(arguments, chosen)
        return compare_with_recordings(name, arguments.url, arguments, chosen)


def _versions(engine: sa.Engine) -> dict[str, Any]:
    dialect = engine.dialect
    driver = getattr(dialect.loaded_dbapi, "__name__", "").partition(".")[0]
    package = next(iter(packages_distributions().get(driver, [])), None)
    return {
        "engine": dialect.name,
        "driver": f"{driver} {version(package)}" if package else driver,
        "server": ".".join(map(str, getattr(dialect, "server_version_info", None) or ())),
        "library": version("analytics-core"),
        "sqlalchemy": sa.__version__,
        "python": platform.python_version(),
    }


def _masked(outcome: dict[str, Any], url: sa.URL) -> dict[str, Any]:
    """Return the outcome without names of the connection; notes of cases repeat errors, which may hold them."""
    text = json.dumps({name: outcome[name] for name in ("agree", "total", "tally", "passed", "cases")})
    for word, name in (("host", url.host), ("user", url.username), ("password", url.password)):
        if name:
            text = text.replace(json.dumps(name)[1:-1], f"<{word}>")
    masked: dict[str, Any] = json.loads(text)
    masked["cases"] = [case for case in masked["cases"] if case["verdict"] != "agree"]
    return masked


if __name__ == "__main__":
    sys.exit(main())
