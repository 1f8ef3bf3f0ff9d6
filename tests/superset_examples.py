"""Loads the example exports of the peer's package, and asks every chart and dashboard of them.

    python -m tests.superset_examples WHEEL

WHEEL is the package as `pip download` gives it; nothing of it is installed or run. Prints a line for each dashboard,
and fails unless every chart answers. The data are those of the package, in one DuckDB file.
"""

from __future__ import annotations

import secrets
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import duckdb
import yaml

from analytics_core import AnalyticsCore, Settings
from analytics_core._content.charts.namespace import Charts
from analytics_core._content.dashboards.namespace import Dashboards
from analytics_core._engine.results.dashboard_answer import DashboardChart

_EXAMPLES = "superset/examples/"


def main(wheel: str) -> int:
    """Unpack, load twice, ask, print; return the exit code."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        examples = _unpacked(Path(wheel), folder)
        _fill(folder / "examples.duckdb", examples)
        settings = Settings(secret_key=secrets.token_urlsafe(32), data_roots=(folder,), request_timeout_s=120)
        made = [AnalyticsCore(settings, metadata_url=f"sqlite:///{folder}/{name}.db") for name in ("store", "other")]
        here, there = (host.as_user(host.create_first_administrator("admin").id) for host in made)
        database = {"database_name": "here", "orm_uri": f"duckdb:///{folder}/examples.duckdb", "uuid": str(uuid4())}
        for core in (here, there):
            core.databases.create(database)
        failed = _loaded_and_requested(here, examples) + _brought_along(here, there)
        for host in made:
            host.close()
        return 1 if failed else 0


def _brought_along(here: AnalyticsCore, there: AnalyticsCore) -> int:
    """Export everything, load it elsewhere, export that: tell whether the bytes are the same."""
    exported = here.export_bundle(dashboards=_ids(here.dashboards), charts=_ids(here.charts))
    report = there.load_bundle(exported)
    again = there.export_bundle(dashboards=_ids(there.dashboards), charts=_ids(there.charts))
    is_same = again == exported
    print(f"exported ({len(exported)} bytes), loaded elsewhere ({report}), exported again: ", end="")
    print("the same bytes" if is_same else "OTHER BYTES")
    return 0 if is_same else 1


def _ids(records: Charts | Dashboards) -> list[int]:
    return [item.id for item in records.list(page_size=1_000)]


def _loaded_and_requested(core: AnalyticsCore, examples: Path) -> int:
    report = core.load_bundle(examples, databases={"examples": 1})
    again = core.load_bundle(examples, databases={"examples": 1})
    print(f"{report}; fidelity of charts: {dict(Counter(record.fidelity for record in report.of('chart')))}")
    failed = sum(
        chart.error is not None
        for record in report.of("dashboard")
        for chart in _reported(core, record.name, record.id or 0)
    )
    alone = [record for record in report.of("chart") if _fails(core, record.name, record.id or 0)]
    is_same = [record.id for record in again.records] == [record.id for record in report.records]
    print(f"\n{len(report.of('chart')) - len(alone)} of {len(report.of('chart'))} charts answer; ", end="")
    print(f"{failed} fail on dashboards; loaded again: {'the same records' if is_same else 'OTHER RECORDS'}")
    return 1 if alone or failed or not is_same or not report.of("chart") else 0


def _reported(core: AnalyticsCore, name: str, dashboard_id: int) -> Iterator[DashboardChart]:
    data = core.dashboards.data(dashboard_id)
    print(f"{name:30} {len(data):3} charts, {len(data.filters)} filters")
    for chart in data:
        if chart.error is not None:
            print(f"    {chart.name}: {chart.error}")
        yield chart


def _fails(core: AnalyticsCore, name: str, chart_id: int) -> bool:
    errors = [result.error for result in core.charts.data(chart_id).results if result.error is not None]
    for error in errors:
        print(f"{name}: {error}")
    return bool(errors)


def _unpacked(wheel: Path, folder: Path) -> Path:
    with zipfile.ZipFile(wheel) as packed:
        for name in packed.namelist():
            if name.startswith(_EXAMPLES) and name.endswith((".yaml", ".parquet")):
                packed.extract(name, folder)
    return folder / _EXAMPLES


def _fill(file: Path, examples: Path) -> None:
    """Make a table of the Parquet file of each dataset."""
    with duckdb.connect(str(file)) as connection:
        for path in (*examples.glob("*/dataset.yaml"), *examples.glob("*/datasets/*.yaml")):
            dataset = yaml.safe_load(path.read_text(encoding="utf-8"))
            alone = path.name == "dataset.yaml"
            data = path.parent / "data.parquet" if alone else path.parents[1] / "data" / f"{path.stem}.parquet"
            table = dataset["table_name"].replace('"', '""')
            connection.execute(f'CREATE OR REPLACE TABLE "{table}" AS SELECT * FROM read_parquet(?)', [str(data)])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
