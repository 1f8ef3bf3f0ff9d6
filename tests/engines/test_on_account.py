"""What users run on a database of their own leaves nothing behind, and its report names no connection."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import sqlalchemy as sa
from tests.acceptance.run_on_account import main

CASES = Path(os.environ.get("ANALYTICS_CORE_SHARED", "../shared")) / "acceptance"
pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason="the acceptance cases are not here")


def test_the_charts_are_asked_and_the_tables_dropped(tmp_path: Path) -> None:
    url, report = f"sqlite:///{tmp_path}/mine.db", tmp_path / "report.json"
    assert main([str(CASES), url, "--only", "x_grain_P1W", "--report", str(report)]) == 0
    assert sa.inspect(sa.create_engine(url)).get_table_names() == []
    found = json.loads(report.read_text())
    assert (found["engine"], found["agree"], found["total"] > 0) == ("sqlite", found["total"], True)
    assert str(tmp_path) not in report.read_text()


def test_a_table_of_the_same_name_is_left_as_it_is(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/mine.db"
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE flights (mine INTEGER)")
        connection.exec_driver_sql("INSERT INTO flights VALUES (1)")
    assert main([str(CASES), url, "--report", str(tmp_path / "report.json")]) == 2
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT * FROM flights").all() == [(1,)]
    assert not (tmp_path / "report.json").exists()
