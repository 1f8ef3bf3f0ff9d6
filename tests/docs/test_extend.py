"""The steps of the page that extends the library are taken in a copy of it, and the copy is asked for the result."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.extended_copy import copy_of_the_source, run, steps, steps_of_a_field, take

from analytics_core._content.storage.migrate import MIGRATIONS

pytestmark = pytest.mark.slow


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return copy_of_the_source(tmp_path)


# ---------------------------------------------------------------------------------------------------------- operations
def test_an_operation_is_one_file_its_options_and_its_section(copy: Path) -> None:
    taken = steps("An operation")
    for step in taken:
        take(step, copy)
    assert [Path(step.path).name for step in taken] == ["clip.py", "postprocessing.py", "operations.md"]
    assert run(copy, "-c", ASK_THE_OPERATION).splitlines() == [
        "[10.0, 5.0, 10.0, 8.0, 6.0]",
        "[7, 9]",
        "post_processing[0] (clip): columns: there is no column 'm'. The columns are: n",
        "True",
    ]


ASK_THE_OPERATION = """
import re
import analytics_core
from pathlib import Path
from analytics_core import errors, postprocessing
from analytics_core.testing.sample_data import make_shop

page = Path("docs/reference/operations.md").read_text()
frame, example = page.split("```python\\n")[1].split("```")[0], page.split("## clip\\n")[1].split("```python\\n")[1]
exec(frame.replace("print(sales)", "") + example.split("```")[0])

core = analytics_core.connect(make_shop("shop.db"))
rows = core.datasets.create({"database": 1, "table_name": "rows", "sql": "SELECT 3 AS n UNION ALL SELECT 9"})

def asked(**options):
    query = {"columns": ["n"], "orderby": [["n", True]], "post_processing": [{"operation": "clip", "options": options}]}
    return core.charts.data({"datasource": {"id": rows.id, "type": "table"}, "queries": [query]}, strict=True)

print([row["n"] for row in asked(columns="n", lower=7).results[0].data])
try:
    asked(columns="m").raise_for_error()
except errors.PostProcessingError as error:
    print(error)
print("clip" in postprocessing.Operations())
core.close()
"""


# --------------------------------------------------------------------------------------------------- fields of charts
def test_a_stored_field_of_a_chart_has_at_most_five_places(copy: Path) -> None:
    taken = steps_of_a_field()
    assert run(copy, "-c", MAKE_AN_OLD_STORE) == ""
    for step in taken:
        take(step, copy)
    assert len({step.path for step in taken}) <= 5
    assert run(copy, "-c", ASK_THE_FIELD).splitlines() == [
        "old.db: None",
        "old.db: Up, Up, headline: Up, A line above the chart.",
        "memory: None",
        "memory: Up, Up, headline: Up, A line above the chart.",
    ]


def test_the_page_speaks_of_revisions_that_there_are() -> None:
    assert list((MIGRATIONS / "versions").glob("r0103_*.py"))


MAKE_AN_OLD_STORE = """
from analytics_core import AnalyticsCore, Settings
from analytics_core.testing.sample_data import make_shop
from pathlib import Path

settings = Settings(secret_key="a long key for this page alone", data_roots=(Path.cwd(),))
with AnalyticsCore(settings, metadata_url="sqlite:///old.db") as core:
    core.create_first_administrator("ann")
    ann = core.as_user("ann")
    shop = ann.databases.create({"database_name": "shop", "orm_uri": make_shop(str(Path("shop.db").resolve()))})
    orders = ann.datasets.create({"database": shop.id, "table_name": "orders"})
    ann.charts.create({"slice_name": "Old", "datasource_id": orders.id, "datasource_type": "table"})
"""

ASK_THE_FIELD = """
import io
import zipfile
from pathlib import Path

import analytics_core
from analytics_core import AnalyticsCore, Settings, models

def ask(name, core):
    print(f"{name}: {core.charts.get(1).headline}")
    core.charts.update(1, {"headline": "Up"})
    shown = core.charts.get(1).headline
    listed = core.charts.list(columns=["headline"]).result[0].headline
    with zipfile.ZipFile(io.BytesIO(core.export_bundle(charts=[1]))) as bundle:
        chart = next(bundle.read(name).decode() for name in bundle.namelist() if "charts/" in name)
    written = next(line for line in chart.splitlines() if line.startswith("headline"))
    field = models.ChartPut.model_json_schema()["properties"]["headline"]
    print(f"{name}: {shown}, {listed}, {written}, {field['description']}")

settings = Settings(secret_key="a long key for this page alone", data_roots=(Path.cwd(),))
with AnalyticsCore(settings, metadata_url="sqlite:///old.db") as core:
    ask("old.db", core.as_user("ann"))
with analytics_core.connect(f"sqlite:///{Path('shop.db').resolve()}") as core:
    orders = core.datasets.create({"database": 1, "table_name": "orders"})
    core.charts.create({"slice_name": "New", "datasource_id": orders.id, "datasource_type": "table"})
    ask("memory", core)
"""
