"""`<NULL>` and `<empty string>` mean null and the empty text in filters of front ends, unless the column holds them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.support.cases import for_each
from tests.support.filtered_dashboard import native

import analytics_core
from analytics_core import AnalyticsCore

ROWS = [(1, None, None, "<NULL>"), (2, "", 5, None), (3, "a", 6, "<empty string>"), (4, "b", None, "")]
NULL, EMPTY = "<NULL>", "<empty string>"
NOTE = "'<NULL>' means null, as front ends write it: the column holds no such text"
FILTERS: list[tuple[str, str, Any, set[int]]] = [
    ("plain", "IN", [NULL], {1}),
    ("plain", "==", NULL, {1}),
    ("plain", "!=", NULL, {2, 3, 4}),
    ("plain", "IN", [NULL, "a"], {1, 3}),
    ("plain", "IN", [EMPTY], {2}),
    ("plain", "NOT IN", [EMPTY, NULL], {3, 4}),
    ("number", "IN", [NULL, 5], {1, 2, 4}),
    ("odd", "IN", [NULL], {1}),
    ("odd", "IN", [EMPTY], {3}),
    ("odd", "==", EMPTY, {3}),
    ("odd", "LIKE", NULL, {1}),
]


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AnalyticsCore]:
    with opened(Path(tmp_path_factory.mktemp("placeholders"), "v.db")) as made:
        yield made


@contextmanager
def opened(path: Path) -> Iterator[AnalyticsCore]:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE v (id INTEGER, plain TEXT, number INTEGER, odd TEXT)")
        connection.executemany("INSERT INTO v VALUES (?, ?, ?, ?)", ROWS)
    with analytics_core.connect(f"sqlite:///{path}") as made:
        made.datasets.create({"database": 1, "table_name": "v"})
        yield made


def form(column: str = "plain", op: str = "IN", value: Any = (NULL,)) -> dict[str, Any]:
    item = {"clause": "WHERE", "expressionType": "SIMPLE", "subject": column, "operator": op, "comparator": value}
    return {"viz_type": "table", "query_mode": "raw", "all_columns": ["id"], "adhoc_filters": [item]}


def chart_of(core: AnalyticsCore, params: dict[str, Any]) -> int:
    made = {"slice_name": "c", "viz_type": "table", "datasource_id": 1, "datasource_type": "table"}
    return core.charts.create({**made, "params": json.dumps(params)}).id


def ids(result: Any) -> set[int]:
    return {row["id"] for row in result.data}


@for_each(("column", "op", "value", "rows"), FILTERS)
def test_a_form_means_null_and_empty_by_texts_that_its_column_does_not_hold(
    core: AnalyticsCore, column: str, op: str, value: Any, rows: set[int]
) -> None:
    payload = core.charts.payload_of({**form(column, op, value), "datasource": "1__table"}).payload
    (result,) = core.charts.data(payload).raise_for_error().results
    assert ids(result) == rows
    assert any("as front ends write it" in note for note in result.notes) is (column != "odd")


@for_each(("column", "op", "value", "rows"), [case for case in FILTERS if case[0] != "number"])
def test_elsewhere_they_are_texts(core: AnalyticsCore, column: str, op: str, value: Any, rows: set[int]) -> None:
    query = {"columns": ["id"], "filters": [{"col": column, "op": op, "val": value}]}
    (result,) = core.charts.data({"datasource": {"id": 1, "type": "table"}, "queries": [query]}).results
    texts = {
        place: dict(zip(("id", "plain", "number", "odd"), row, strict=True))[column]
        for place, row in enumerate(ROWS, 1)
    }
    values = set(value) if isinstance(value, list) else {value}
    among = {key for key, text in texts.items() if text in values}
    others = {key for key, text in texts.items() if text is not None} - among
    assert ids(result) == (others if op in ("!=", "NOT IN") else among)
    assert result.notes == ()


def test_a_stored_chart_tells_what_its_texts_mean_and_explains_it(core: AnalyticsCore) -> None:
    chart = chart_of(core, form())
    (result,) = core.charts.data(chart).raise_for_error().results
    assert (ids(result), result.notes) == ({1}, (f"filters[0] on 'plain': {NOTE}",))
    (explained,) = core.charts.explain(chart).queries
    assert "IS NULL" in explained.sql
    assert f"filters[0] on 'plain': {NOTE}" in explained.notes
    question = core.charts.question(chart, extra_filters=[{"col": "odd", "op": "IN", "val": [NULL, EMPTY]}])
    assert ids(core.charts.data(question).raise_for_error().results[0]) == {1}


def test_the_state_of_a_dashboard_means_null_and_its_callers_values_are_texts(core: AnalyticsCore) -> None:
    chart, picking = (chart_of(core, {**form(), "adhoc_filters": []}) for _ in range(2))
    mask = {
        "extraFormData": {"filters": [{"col": "plain", "op": "IN", "val": [NULL]}]},
        "filterState": {"value": [NULL]},
    }
    layout = {f"CHART-{key}": {"type": "CHART", "children": [], "meta": {"chartId": key}} for key in (chart, picking)}
    plain = native("K", "filter_select", column="plain", dataset=1, defaultDataMask=mask, chartsInScope=[chart])
    stored = {"native_filter_configuration": [plain]}
    payload = {"dashboard_title": "D", "position_json": json.dumps(layout), "json_metadata": json.dumps(stored)}
    number = core.dashboards.create(payload).id

    def answered(**given: Any) -> Any:
        return core.dashboards.data(number, **given).chart(chart).results[0]

    assert (ids(answered()), answered().notes) == ({1}, (f"filter 'K': {NOTE}",))
    assert ids(answered(filters={"K": mask})) == {1}
    assert ids(answered(filters={"K": [NULL]})) == set()
    cleared = {"filters": {"K": None}}
    assert ids(answered(**cleared, cross_filters={picking: mask})) == {1}
    assert answered(**cleared, cross_filters={picking: mask}).notes == (f"picked in chart {picking}: {NOTE}",)
    assert ids(answered(**cleared, cross_filters={picking: {"plain": [NULL]}})) == set()
    of_odd = {"extraFormData": {"filters": [{"col": "odd", "op": "IN", "val": [NULL, "x"]}]}}
    assert (ids(answered(filters={"K": of_odd})), answered(filters={"K": of_odd}).notes) == ({1}, ())
    key = core.permalinks.create_for_dashboard(number, {"dataMask": {"K": mask, str(picking): of_odd}}).key
    assert ids(answered(permalink=key)) == {1}


def test_a_column_of_a_dashboard_holds_what_was_written_since(tmp_path: Path) -> None:
    with opened(tmp_path / "v.db") as core:
        chart = chart_of(core, {**form(), "adhoc_filters": []})
        layout = {f"CHART-{chart}": {"type": "CHART", "children": [], "meta": {"chartId": chart}}}
        metadata = {"native_filter_configuration": [native("K", "filter_select", column="plain", dataset=1)]}
        payload = {"dashboard_title": "D", "position_json": json.dumps(layout), "json_metadata": json.dumps(metadata)}
        number = core.dashboards.create(payload).id
        mask = {"extraFormData": {"filters": [{"col": "plain", "op": "IN", "val": [NULL]}]}}

        def answered() -> set[int]:
            return ids(core.dashboards.data(number, filters={"K": mask}).chart(chart).results[0])

        assert answered() == {1}
        with closing(sqlite3.connect(tmp_path / "v.db")) as connection, connection:
            connection.execute("INSERT INTO v VALUES (5, ?, 1, '')", [NULL])
        assert answered() == {5}


def test_a_column_holds_what_the_actor_may_see_of_it(core: AnalyticsCore) -> None:
    role = core.roles.create({"name": "some"})
    core.roles.grant(role, on=("dataset", 1))
    rule = {"name": "some", "filter_type": "Regular", "clause": "id > 1", "tables": [1], "roles": [role.id]}
    core.row_level_security.create(rule)
    reader = core.as_user(core.users.create({"username": "reader", "roles": [role.id]}).id)
    chart = chart_of(core, form("odd"))
    assert ids(core.charts.data(chart).results[0]) == {1}
    assert ids(reader.charts.data(chart).results[0]) == {2}
