"""Each row of "Where do I change ...?" leads to the file: a change there, in a copy of the source, is what is seen."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pytest

pytestmark = pytest.mark.slow

PROJECT = Path(__file__).parents[2]
PAGE = (PROJECT / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")
TABLE = PAGE.split("\n## Where do I change ...?\n")[1].split("\n## ")[0]
ROWS = {found[1]: re.findall(r"`(\w[^`]*)`", found[2]) for found in re.finditer(r"^\| (.+?) \| (.+) \|$", TABLE, re.M)}
"""Each row of the table, and the files and folders that it names."""

HEADER = {"To change", "---"}
OF_ANOTHER_PAGE = {"a field that is stored"}
"""What test_extend.py changes by the page *Extend it*."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change of one file, and what an observation of `ASK` is before and after it."""

    file: str
    old: str
    new: str
    before: Any
    after: Any


CHANGES = {
    "a kind of chart: what it asks": Change(
        file="_superset/kinds/parts.py",
        old='{label}__contribution"',
        new='{label}__share"',
        before=["count__contribution"],
        after=["count__share"],
    ),
    "a kind of chart: how it is drawn": Change(
        file="_pictures/kinds/parts.py",
        old='f"Pie chart of',
        new='f"Round chart of',
        before="Pie",
        after="Round",
    ),
    "an operation of post-processing": Change(
        file="_engine/frames/operations/cum.py",
        old="CumulativeOperator.SUM: np.cumsum",
        new="CumulativeOperator.SUM: np.cumprod",
        before=[2, 5, 9],
        after=[2, 6, 24],
    ),
    "an engine's facts": Change(
        file="_engine/engines/specs/sqlite.py",
        old='label="SQLite"',
        new='label="SQLite file"',
        before="SQLite",
        after="SQLite file",
    ),
    "how a filter, a range or a metric becomes SQL": Change(
        file="_engine/compile/lowering/predicates.py",
        old="Comparison.GREATER: exp.GT,",
        new="Comparison.GREATER: exp.LT,",
        before=[4],
        after=[2],
    ),
    "why a row is missing": Change(
        file="_engine/gate/row_security.py",
        old="units = ruled.book.on_dataset(ruled.actor.role_ids, own)",
        new="units = ()",
        before=1,
        after=3,
    ),
    "where a statement is stopped": Change(
        file="_engine/execution/cancel.py",
        old="                self._interrupt()",
        new='                open("stopped", "w").close()\n                self._interrupt()',
        before=False,
        after=True,
    ),
    "what a resource answers": Change(
        file="_content/tags.py",
        old="name=record.slice_name",
        new="name=record.slice_name.upper()",
        before="Parts",
        after="PARTS",
    ),
    "who may do what": Change(
        file="_engine/rights/policy.py",
        old="Permission.ADD_ANNOTATION_LAYER: frozenset({ADMINISTRATOR, Relationship.SIGNED_IN})",
        new="Permission.ADD_ANNOTATION_LAYER: frozenset({ADMINISTRATOR})",
        before=None,
        after="AccessError",
    ),
    "what a mail says": Change(
        file="_reports/content.py",
        old='_SUBJECT: Final = "[{{ type }}]',
        new='_SUBJECT: Final = "[Our {{ type }}]',
        before="[Report] Daily: Parts",
        after="[Our Report] Daily: Parts",
    ),
    "what sends messages": Change(
        file="_core/adapters/configured_notifiers.py",
        old="(*mail, ChatWebhookNotifier(), *bot)",
        new="(*mail, *bot)",
        before=["ChatWebhookNotifier"],
        after=[],
    ),
    "a default": Change(
        file="_records/settings.py",
        old="default_row_limit: int = 50_000",
        new="default_row_limit: int = 2",
        before=3,
        after=2,
    ),
}

ASK = """
import json, os
from datetime import UTC, datetime
from pathlib import Path
import analytics_core
import pandas as pd
from analytics_core import AnalyticsCore, Settings, errors, postprocessing
from analytics_core.notifiers import notifiers_from_env
from analytics_core.testing import FixedClock, Outbox

seen, outbox = {}, Outbox()
settings = Settings(secret_key="a long key for this page alone", data_roots=(Path.cwd(),), statement_timeout_s=0.5)
core = AnalyticsCore(settings, notifiers=[outbox], clock=FixedClock(datetime(2025, 3, 3, 10, tzinfo=UTC)))
ada = core.as_user(core.create_first_administrator("ada", email="ada@example.com").id)
shop = ada.databases.create({"database_name": "shop", "sqlalchemy_uri": f"sqlite:///{Path('shop.db').resolve()}"})
parts = ada.datasets.create({"database": shop.id, "table_name": "parts"})
role = ada.roles.create({"name": "Readers"})
ada.roles.grant("Readers", on=parts)
bob = core.as_user(ada.users.create({"username": "bob", "roles": [role.id]}).id)
ada.row_level_security.create(
    {"name": "own", "filter_type": "Regular", "clause": "size = 2", "roles": [role.id], "tables": [parts.id]}
)
form = {"viz_type": "pie", "groupby": ["name"], "metric": "count", "row_limit": 10}
chart = ada.charts.create(
    {"slice_name": "Parts", "viz_type": "pie", "datasource_id": parts.id, "datasource_type": "table",
     "params": json.dumps(form)}
)

def ask(who, **query):
    payload = {"datasource": {"id": parts.id, "type": "table"}, "queries": [{"columns": ["size"], **query}]}
    return [row["size"] for row in who.charts.data(payload, force=True).results[0].data]

def failure(work):
    try:
        work()
    except errors.AnalyticsError as error:
        return type(error).__name__

built = ada.charts.payload(chart.id).payload["queries"][0]["post_processing"][0]
seen["a kind of chart: what it asks"] = built["options"]["rename_columns"]
seen["a kind of chart: how it is drawn"] = ada.charts.picture(chart.id).description.split()[1]
cumulated = postprocessing.cum(pd.DataFrame({"n": [2, 3, 4]}), columns={"n": "n"}, operator="sum")
seen["an operation of post-processing"] = cumulated["n"].tolist()
seen["an engine's facts"] = next(one.label for one in ada.databases.engines() if one.engine == "sqlite")
larger = {"col": "size", "op": ">", "val": 3}
seen["how a filter, a range or a metric becomes SQL"] = ask(ada, filters=[larger], orderby=[["size", True]])[:1]
seen["why a row is missing"] = len(ask(bob, row_limit=10))
duck = ada.databases.create({"database_name": "duck", "sqlalchemy_uri": f"duckdb:///{Path('shop.duckdb').resolve()}"})
failure(lambda: ada.sql("SELECT COUNT(*) FROM range(1000000000000)", database="duck"))
seen["where a statement is stopped"] = Path("stopped").exists()
ada.tags.tag("chart", chart.id, ["mine"])
tag = ada.tags.list().result[0]
seen["what a resource answers"] = ada.tags.tagged(tag.id, "chart")[0].name
seen["who may do what"] = failure(lambda: bob.annotation_layers.create({"name": "Fairs"}))
report = ada.reports.create(
    {"name": "Daily", "type": "Report", "crontab": "0 9 * * *", "chart": chart.id, "report_format": "TEXT",
     "recipients": [{"type": "Email", "recipient_config_json": {"target": "bob@example.com"}}]}
)
ada.reports.run_now(report.id)
seen["what a mail says"] = outbox.sent[0].message.subject
seen["what sends messages"] = [type(one).__name__ for one in notifiers_from_env({})]
seen["a default"] = len(ask(ada))
core.close()
print(json.dumps(seen))
"""


def observed(folder: Path, source: Path) -> dict[str, Any]:
    """Return what `ASK` sees with a copy of the source."""
    command = [sys.executable, "-W", "error", "-c", ASK]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=folder, env={"PYTHONPATH": str(source)}
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def test_every_row_has_a_change() -> None:
    assert ROWS.keys() - HEADER == CHANGES.keys() | OF_ANOTHER_PAGE


@pytest.mark.parametrize("row", CHANGES)
def test_the_row_names_the_file_that_is_changed(row: str) -> None:
    file = CHANGES[row].file
    assert [place for place in ROWS[row] if file == place or file.startswith(f"{place}/")]


def test_a_change_of_the_file_of_a_row_is_what_is_seen(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "shop.db") as shop:
        shop.execute("CREATE TABLE parts (name TEXT, size INTEGER)")
        shop.executemany("INSERT INTO parts VALUES (?, ?)", [("a", 2), ("b", 3), ("c", 4)])
    duckdb.connect(tmp_path / "shop.duckdb").close()
    before = observed(tmp_path, PROJECT / "src")
    assert before == {row: change.before for row, change in CHANGES.items()}
    shutil.copytree(PROJECT / "src", tmp_path / "src")  # with compiled modules, as of an installed package
    for change in CHANGES.values():
        file = tmp_path / "src" / "analytics_core" / change.file
        text = file.read_text(encoding="utf-8")
        assert text.count(change.old) == 1, change.old
        file.write_text(text.replace(change.old, change.new), encoding="utf-8")
    assert observed(tmp_path, tmp_path / "src") == {row: change.after for row, change in CHANGES.items()}
