"""Whatever an answer or a filter of a dashboard shows as a value finds exactly the rows that show it, on each engine.

The reference is what a plain query shows of each row, and for texts what was inserted; no filter takes part in it.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.support.filtered_dashboard import ENGINES, native, url_of

import analytics_core
from analytics_core import AnalyticsCore

ODD = (
    " ",
    "\t",
    "\n",
    "\r",
    "\x0b",
    "\x1f",
    "\x7f",
    "\x85",
    "\u00a0",
    "\u200b",
    "\u2028",
    "\ufeff",
    "a",
    "A",
    "\u0301",
)
RANDOM = random.Random(29)
TEXTS = [
    *(
        "foo",
        "foo\n",
        "\tfoo",
        "<NULL>",
        "",
        "<empty string>",
        "foo ",
        "Foo",
        "FOO",
        " foo",
        "\n",
        "\r\n",
        " ",
        "NULL",
    ),
    *("null", "None", "é", "e\u0301", "É", "ß", "ss", "İ", "i", "ı", "ﬁ", "Å", "\u212b", "😀", "%", "_", "\\", "'"),
    *("0", "1", "1.0", "true", "nan", "2024-01-01", "1704067200000", "0x00ff", '{"a": 1}', "[1, 2]", "?", ":p0"),
    *("{{ 1 }}", "{% if", "No filter", "Last week", "--", "x" * 300),
    *sorted({"".join(RANDOM.choices(ODD, k=RANDOM.randint(1, 3))) for _ in range(40)}),
]
MOMENTS = [
    *(datetime(2024, 1, 31, 10), datetime(2024, 1, 31, 10, 0, 0, 123_456), datetime(2024, 1, 31, 10, 0, 0, 123_999)),
    *(datetime(2024, 1, 31, 10, 0, 0, 124_000), datetime(1970, 1, 1), datetime(1969, 12, 31, 23, 59, 59, 999_999)),
    *(datetime(1000, 1, 1), datetime(9999, 12, 31, 23, 59, 59), datetime(9999, 12, 31, 23, 59, 59, 999_999)),
]
INTEGERS = [0, 1, -1, 2**31, 2**53 - 1, 2**53, 2**53 + 1, 2**63 - 1, -(2**63)]
CENTS = [Decimal(text) for text in ("0.1000", "1.0000", "-2.5000", "90071992547409.9301", "0.0001", "0.3000")]
FLOATS = [0.0, 0.1, -0.1, 0.1 + 0.2, 0.3, 1e300, 5e-324, 2.0**53 + 2, 1e16, 123456789.123456789]
DAYS = [date(2024, 1, 31), date(1969, 12, 31), date(1970, 1, 1), date(1000, 1, 1), date(9999, 12, 31)]
TIMES = [time(10), time(0), time(23, 59, 59, 123_456)]
BYTES = [b"", b"a", b"a\n", b"\x00\xff", b"0x00ff", b"0x", b"0x61", "é".encode()]
JSON = ['{"a":1.10}', "null", '""', '"a"', "1", "[1]", '{"a": "\\n"}']

TYPES: Mapping[str, tuple[Mapping[str, str], Sequence[Any]]] = {
    "text": ({"mysql": "VARCHAR(400) CHARACTER SET utf8mb4"}, TEXTS),
    "varchar(400)": ({"mysql": "VARCHAR(400) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci"}, TEXTS),
    "boolean": ({}, [True, False]),
    "bigint": ({}, INTEGERS),
    "decimal(18, 4)": ({}, CENTS),
    "double precision": ({"sqlite": "double"}, FLOATS),
    "date": ({}, DAYS),
    "timestamp": ({"mysql": "DATETIME(6)"}, MOMENTS),
    "time": ({"mysql": "TIME(6)"}, TIMES),
    "blob": ({"postgresql": "bytea"}, BYTES),
    "json": ({"postgresql": "jsonb"}, JSON),
}


@dataclass(frozen=True, kw_only=True)
class DisplayedTable:
    """A dataset of numbered rows with one column, and what a plain query shows of each row: as JSON, and in Python."""

    core: AnalyticsCore
    dataset: int
    as_json: Mapping[int, Any]
    as_python: Mapping[int, Any]

    def ask(self, *queries: dict[str, Any]) -> Sequence[Any]:
        answer = self.core.charts.data({"datasource": {"id": self.dataset, "type": "table"}, "queries": list(queries)})
        return answer.raise_for_error().results

    @property
    def is_displayed_alike(self) -> bool:
        return [*map(_typed, self.as_json.values())] == [*map(_typed, self.as_python.values())]

    def wrong(self, cells: Mapping[int, Any], *operators: Sequence[str]) -> Iterator[str]:
        """Yield the values with which a filter finds other rows than those that show them; values take turns."""
        values = list({_typed(value): value for value in cells.values()}.values())
        conditions = [(op, value) for value, own in zip(values, cycle(operators), strict=False) for op in own]
        for some in (conditions[place : place + 100] for place in range(0, len(conditions), 100)):
            filters = [{"col": "c", "op": op, "val": [value] if "IN" in op else value} for op, value in some]
            answers = self.ask(*({"columns": ["id"], "filters": [one]} for one in filters))
            for (op, value), result in zip(some, answers, strict=True):
                found, own = {row["id"] for row in result.data}, rows_of(cells, value)
                others = {key for key, other in cells.items() if other is not None} - own
                if found != (others if op in ("!=", "NOT IN") else own):
                    yield f"{op} {value!r}: {sorted(found)}, of {sorted(own)}"


def _typed(value: Any) -> tuple[type, Any]:
    return type(value), value


def rows_of(cells: Mapping[int, Any], value: Any) -> set[int]:
    """Return the rows that show a value."""
    return {key for key, other in cells.items() if _typed(other) == _typed(value)}


DisplayedWorld = Mapping[str, DisplayedTable]
"""One table for each of `TYPES`."""


def _fill(engine: sa.Engine, most: int) -> None:
    with engine.begin() as connection:
        for number, (kind, (own, values)) in enumerate(TYPES.items()):
            connection.exec_driver_sql(f"CREATE TABLE t{number} (id INTEGER, c {own.get(engine.name, kind)})")
            place = "CAST(:c AS jsonb)" if own.get(engine.name) == "jsonb" else ":c"
            written = _in_sqlite if engine.name == "sqlite" else _as_it_is
            rows = [{"i": key, "c": written(value)} for key, value in enumerate(_rows(values[:most]))]
            connection.execute(sa.text(f"INSERT INTO t{number} VALUES (:i, {place})"), rows)


def _rows(values: Sequence[Any]) -> list[Any]:
    return [None, *values, *values[:3]]


def _as_it_is(value: Any) -> Any:
    return value


def _in_sqlite(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat(" ")
    if isinstance(value, date | time):
        return value.isoformat()
    return float(value) if isinstance(value, Decimal) else value


def _displayed(core: AnalyticsCore, number: int) -> DisplayedTable:
    dataset = core.datasets.create({"database": 1, "table_name": f"t{number}"}).id
    question = {"columns": ["id", "c"], "metrics": None}
    answer = core.charts.data({"datasource": {"id": dataset, "type": "table"}, "queries": [question]})
    (result,) = answer.raise_for_error().results
    by_id = {row["id"]: row["c"] for row in result.data}
    return DisplayedTable(core=core, dataset=dataset, as_json=by_id, as_python=dict(result.rows()))


def _world(request: pytest.FixtureRequest, folder: Path, *, most: int) -> Iterator[DisplayedWorld]:
    url = url_of(request, folder)
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    _fill(engine, most)
    engine.dispose()
    with analytics_core.connect(url) as core:
        yield {kind: _displayed(core, number) for number, kind in enumerate(TYPES)}


@pytest.fixture(scope="module", params=ENGINES)
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DisplayedWorld]:
    yield from _world(request, tmp_path_factory.mktemp("shown"), most=1000)


@pytest.fixture(params=ENGINES[:2])
def small(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[DisplayedWorld]:
    yield from _world(request, tmp_path, most=7)


def test_the_first_of_the_shown_values_find_their_rows(small: DisplayedWorld) -> None:
    found = {kind: list(table.wrong(table.as_json, ("IN",))) for kind, table in small.items()}
    assert {kind: wrong for kind, wrong in found.items() if wrong} == {}


@pytest.mark.slow
def test_each_comparison_finds_the_rows_of_a_value_or_all_others(world: DisplayedWorld) -> None:
    found, half, rest = {}, ("==", "NOT IN"), ("!=", "IN")
    turns = {"text": (half, rest), "varchar(400)": (rest, half)}  # the same texts meet all four in two columns
    for kind, table in world.items():
        operators = turns.get(kind, ((*half, *rest),))
        found[kind] = list(table.wrong(table.as_json, *operators))
        if kind != "blob" and not table.is_displayed_alike:  # whose bytes JSON cannot say
            found[kind] += table.wrong(table.as_python, *operators)
    assert {kind: wrong for kind, wrong in found.items() if wrong} == {}


@pytest.mark.slow
def test_each_text_is_shown_as_it_was_inserted(world: DisplayedWorld) -> None:
    for kind in ("text", "varchar(400)"):
        assert list(world[kind].as_json.values()) == _rows(TEXTS)


@pytest.mark.slow
def test_each_option_of_a_filter_and_each_pick_finds_its_rows(world: DisplayedWorld) -> None:
    wrong = []
    for kind, table in world.items():
        number, ids, values = dashboard_of(table)
        offered = [row["c"] for row in table.core.dashboards.filter_options(number, "K").results[0].data]
        assert set(map(_typed, offered)) == set(map(_typed, table.as_json.values())), kind
        for value in offered[::7] if kind in ("text", "varchar(400)") else offered:
            for given in ({"filters": {"K": [value]}}, {"cross_filters": {values: {"c": value}}}):
                rows = table.core.dashboards.data(number, **given).chart(ids).results[0].data
                if {row["id"] for row in rows} != rows_of(table.as_json, value):
                    wrong.append(f"{kind}: {given}")
    assert wrong == []


def dashboard_of(table: DisplayedTable) -> tuple[int, int, int]:
    """Return the ids of a dashboard and of its two charts: one of the rows, one of the values."""
    core, forms = table.core, ({"query_mode": "raw", "all_columns": ["id"]}, {"groupby": ["c"], "metrics": ["count"]})
    charts = [
        core.charts.create(
            {
                "slice_name": "shown",
                "viz_type": "table",
                "datasource_id": table.dataset,
                "datasource_type": "table",
                "params": json.dumps({"viz_type": "table", "row_limit": 1000, **form}),
            }
        ).id
        for form in forms
    ]
    layout = {f"CHART-{key}": {"type": "CHART", "children": [], "meta": {"chartId": key}} for key in charts}
    declared = {**native("K", "filter_select", column="c", dataset=table.dataset), "scope": None}
    stored = {"native_filter_configuration": [declared]}
    made = core.dashboards.create(
        {"dashboard_title": "D", "position_json": json.dumps(layout), "json_metadata": json.dumps(stored)}
    )
    return made.id, *charts
