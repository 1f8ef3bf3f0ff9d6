"""Every column type of the four engines, with awkward values: what is shown is what the engine holds, or a note tells.

Each cell is read raw and as a group key, found by a filter on what is shown, asked for by MAX where the engine knows
one, and read again from the cache, as CSV, as a workbook and as a DataFrame.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest
import sqlalchemy as sa

import analytics_core
from analytics_core.errors import AnalyticsError

LOST = "null here"
"""Part of the note on a value that no answer can show."""


@dataclass(frozen=True)
class Cell:
    """A value as SQL, what JSON shows of it (None: null, told by a note), and which roads the engine does not have."""

    sql: str
    displayed: Any
    without: frozenset[str] = field(default_factory=frozenset)
    typed: Any = None


def cell(sql: str, expected: Any, *without: str, typed: Any = None) -> Cell:
    return Cell(sql, expected, frozenset(without), typed)


BIG, LONG = "9007199254740993", "12345678901234567.123456789"
NO_ORDER = ("max",)
SINGLE = 0.10000000149011612
UUID = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"

TYPES: dict[str, dict[str, list[Cell]]] = {
    "sqlite": {
        "INTEGER": [cell(BIG, BIG, typed=2**53 + 1), cell("2.5", 2.5)],
        "REAL": [cell("0.1", 0.1), cell("1e308 * 10", None)],
        "DECIMAL(10, 2)": [cell("0.1", 0.1), cell("9007199254740992.5", 9007199254740992.0)],
        "BOOLEAN": [cell("1", True)],
        "DATE": [cell("'2024-01-31'", 1_706_659_200_000, typed=date(2024, 1, 31))],
        "TIMESTAMP": [cell("'2024-01-31 10:00:00.5'", 1_706_695_200_500)],
        "TIME": [cell("'10:00:00'", "10:00:00")],
        "BLOB": [cell("x'00ff'", "0x00ff", typed=b"\x00\xff"), cell("x'6162'", "ab"), cell("x'3078'", "0x")],
        "TEXT": [cell("'İß'", "İß")],
    },
    "duckdb": {
        "TINYINT": [cell("-128", -128)],
        "BIGINT": [cell(BIG, BIG, typed=2**53 + 1)],
        "UBIGINT": [cell(str(2**64 - 1), str(2**64 - 1), typed=2**64 - 1)],
        "HUGEINT": [cell(str(2**127 - 1), str(2**127 - 1), typed=2**127 - 1)],
        "UHUGEINT": [cell(str(2**128 - 1), str(2**128 - 1), typed=2**128 - 1)],
        "BIGNUM": [cell(f"'{10**44}'::BIGNUM", str(10**44), typed=10**44)],
        "FLOAT": [cell("0.1", SINGLE), cell("'inf'", None), cell("'nan'", None)],
        "DOUBLE": [cell("0.1", 0.1), cell("'-inf'", None)],
        "DECIMAL(38, 9)": [cell(LONG, LONG, typed=Decimal(LONG)), cell("0.1", 0.1)],
        "DECIMAL(18, 2)": [cell("90071992547409.93", "90071992547409.93")],
        "BOOLEAN": [cell("true", True)],
        "DATE": [cell("DATE '2024-01-31'", 1_706_659_200_000, typed=date(2024, 1, 31))]
        + [cell(f"DATE '{day}'", None) for day in ("infinity", "-infinity", "12024-01-01", "0044-03-15 (BC)")],
        "TIMESTAMP": [
            cell("TIMESTAMP '2024-01-31 10:00:00.123456'", 1_706_695_200_123),
            *(
                cell(f"TIMESTAMP '{moment}'", None)
                for moment in ("infinity", "12024-01-01", "0044-03-15 (BC) 00:00:00")
            ),
        ],
        "TIMESTAMP_S": [cell("TIMESTAMP '2024-01-31 10:00:00'", 1_706_695_200_000), cell("'infinity'", None)],
        "TIMESTAMP_NS": [
            cell("TIMESTAMP_NS '2024-01-31 10:00:00.123456'", 1_706_695_200_123),
            cell("'infinity'", None),
        ],
        "TIMESTAMPTZ": [cell("TIMESTAMPTZ '2024-01-31 10:00:00+02'", 1_706_688_000_000), cell("'-infinity'", None)],
        "TIME": [cell("TIME '10:00:00.5'", "10:00:00.500000"), cell("TIME '24:00:00'", "24:00:00")],
        "TIME_NS": [cell("'10:00:00.123456789'", "10:00:00.123456789")],
        "TIMETZ": [cell("'10:00:00+05:30'", "10:00:00+05:30")],
        "INTERVAL": [cell("INTERVAL '1 month 2 days 3 hours'", "1 month 2 days 03:00:00")],
        "BLOB": [cell("'\\x00\\xff'::BLOB", "0x00ff", typed=b"\x00\xff")],
        "BIT": [cell("'0101'::BIT", "0101")],
        "UUID": [cell(f"'{UUID}'", UUID)],
        "JSON": [cell("""'{"a":1.10}'""", '{"a":1.10}')],
        "INTEGER[]": [cell("[1, 2]", "[1,2]", "filter")],
        "INTERVAL[]": [cell("[INTERVAL '1 month']", "[1 month]", "filter", *NO_ORDER)],
        "DATE[]": [cell("[DATE 'infinity']", "[infinity]", "filter")],
        "STRUCT(a INTEGER)": [cell("{'a': 1}", '{"a":1}', "filter")],
        "ENUM('x', 'y')": [cell("'x'", "x")],
    },
    "postgresql": {
        "BIGINT": [cell(BIG, BIG, typed=2**53 + 1)],
        "REAL": [cell("0.1", SINGLE), cell("'inf'", None), cell("'nan'", None)],
        "DOUBLE PRECISION": [cell("0.1", 0.1), cell("'-inf'", None)],
        "NUMERIC(38, 9)": [cell(LONG, LONG, typed=Decimal(LONG))],
        "NUMERIC": [
            cell("1e-30", 1e-30),
            cell("1" * 81 + ".5", "1" * 81 + ".5", typed=Decimal("1" * 81 + ".5")),
            cell("'NaN'", None),
        ],
        "BOOLEAN": [cell("true", True, "max")],
        "DATE": [cell("'2024-01-31'", 1_706_659_200_000, typed=date(2024, 1, 31))]
        + [cell(f"'{day}'", None) for day in ("infinity", "-infinity", "12024-01-01", "0044-03-15 BC")],
        "TIMESTAMP": [
            cell("'2024-01-31 10:00:00.123456'", 1_706_695_200_123, typed=datetime(2024, 1, 31, 10, 0, 0, 123456)),
            *(cell(f"'{moment}'", None) for moment in ("infinity", "12024-01-01", "0044-03-15 BC")),
        ],
        "TIMESTAMPTZ": [cell("'2024-01-31 10:00:00+02'", 1_706_688_000_000), cell("'-infinity'", None)],
        "TIME": [cell("'10:00:00.5'", "10:00:00.500000"), cell("'24:00:00'", "24:00:00")],
        "TIMETZ": [cell("'10:00:00+05:30'", "10:00:00+05:30"), cell("'24:00:00+00'", "24:00:00+00")],
        "INTERVAL": [
            cell("'1 month 2 days 3 hours'", "1 mon 2 days 03:00:00"),
            cell("'1 year'", "1 year"),
            cell("'32 days 3 hours'", "32 days 03:00:00"),
        ],
        "BYTEA": [cell("'\\x00ff'", "0x00ff", *NO_ORDER, typed=b"\x00\xff")],
        "BIT(4)": [cell("B'0101'", "0101", *NO_ORDER)],
        "UUID": [cell(f"'{UUID}'", UUID, *NO_ORDER)],
        "JSON": [
            cell(f"""'{{"a":{LONG}}}'""", f'{{"a":{LONG}}}', "max", "group"),
            cell("'null'", "null", "max", "group"),
        ],
        "JSONB": [cell(f"""'{{"a":{LONG}}}'""", f'{{"a": {LONG}}}', *NO_ORDER)],
        "INTEGER[]": [cell("'{1,2}'", "[1,2]", "filter")],
        "TIMESTAMP[]": [cell("'{infinity}'", '["infinity"]', "filter")],
        "INET": [cell("'10.0.0.1/24'", "10.0.0.1/24")],
        "INT4RANGE": [cell("'[1,5)'", "[1,5)", *NO_ORDER)],
        "DATERANGE": [cell("'[2024-01-01,infinity)'", "[2024-01-01,infinity)", *NO_ORDER)],
        "CHAR(5)": [cell("'ab'", "ab   ")],
        "OID": [cell("4294967295", 4294967295)],
    },
    "mariadb": {
        "TINYINT(1)": [cell("1", True), cell("0", False)],
        "BIGINT": [cell(BIG, BIG, typed=2**53 + 1)],
        "BIGINT UNSIGNED": [cell(str(2**64 - 1), str(2**64 - 1), typed=2**64 - 1)],
        "FLOAT": [cell("0.1", SINGLE), cell("1234567", 1234567.0)],
        "DOUBLE": [cell("0.1", 0.1), cell("1e300", 1e300)],
        "DECIMAL(38, 9)": [cell(LONG, LONG, typed=Decimal(LONG))],
        "DECIMAL(65, 2)": [cell("1" * 63 + ".45", "1" * 63 + ".45"), cell("90071992547409.93", "90071992547409.93")],
        "BIT(1)": [cell("b'1'", True)],
        "BIT(8)": [cell("b'10101010'", 170), cell("b'111'", 7)],
        "BIT(64)": [cell(f"b'{'1' * 64}'", str(2**64 - 1), typed=2**64 - 1)],
        "DATE": [cell("'2024-01-31'", 1_706_659_200_000), cell("'0000-00-00'", None), cell("'2024-00-00'", None)],
        "DATETIME(6)": [cell("'2024-01-31 10:00:00.123456'", 1_706_695_200_123), cell("'0000-00-00'", None)],
        "TIMESTAMP(6) NULL": [cell("'2024-01-31 10:00:00.123456'", 1_706_695_200_123)],
        "TIME": [cell("'10:00:00'", "10:00:00"), cell("'838:59:59'", "838:59:59"), cell("'-01:00:00'", "-01:00:00")],
        "YEAR": [cell("2024", 2024)],
        "BLOB": [cell("x'00ff'", "0x00ff", typed=b"\x00\xff")],
        "BINARY(4)": [cell("'ab'", "0x61620000")],
        "JSON": [cell("""'{"a":1.10}'""", '{"a":1.10}')],
        "SET('x', 'y')": [cell("'x,y'", "x,y")],
        "UUID": [cell(f"'{UUID}'", UUID)],
    },
}


def statements(engine: str) -> Iterator[str]:
    """Yield what makes and fills a table for each type: mixed columns would hide a cell behind another."""
    for number, (name, cells) in enumerate(TYPES[engine].items()):
        yield f"CREATE TABLE t{number} (id INTEGER, c {name})"
        for position, case in enumerate(cells):
            yield f"INSERT INTO t{number} VALUES ({position}, {case.sql})"


def run(url: str, engine: str) -> None:
    if engine == "sqlite":
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)) as raw:
            for statement in statements(engine):
                raw.execute(statement)
        return
    made = sa.create_engine(url)
    with made.begin() as connection:
        if engine == "mariadb":
            connection.exec_driver_sql("SET sql_mode = 'ALLOW_INVALID_DATES'")
        for statement in statements(engine):
            connection.exec_driver_sql(statement.replace("%", "%%"))
    made.dispose()


@pytest.fixture(scope="module", params=list(TYPES))
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, str]]:
    match request.param:
        case "postgresql":
            url = request.getfixturevalue("make_postgres_database")()
        case "mariadb":
            url = request.getfixturevalue("make_mariadb_database")()
        case _:
            url = f"{request.param}:///{tmp_path_factory.mktemp(request.param) / 'types.db'}"
    run(url, request.param)
    with analytics_core.connect(url) as core:
        yield core, request.param


def ask(core: Any, dataset: int, query: dict[str, Any]) -> Any:
    return core.charts.data({"datasource": {"id": dataset, "type": "table"}, "queries": [query]}).raise_for_error()


MAX = {"expressionType": "SIMPLE", "column": {"column_name": "c"}, "aggregate": "MAX", "label": "c"}
COUNT = {"expressionType": "SIMPLE", "column": {"column_name": "id"}, "aggregate": "COUNT", "label": "n"}


def problems_of(core: Any, dataset: int, position: int, case: Cell) -> Iterator[str]:
    """Yield what is wrong on the roads of one cell."""
    own = {"filters": [{"col": "id", "op": "==", "val": position}]}
    answer = ask(core, dataset, {"columns": ["c"], **own})
    (result,) = answer.results
    if (result.data, type(result.data[0]["c"])) != ([{"c": case.displayed}], type(case.displayed)):
        yield f"raw: {result.data}"
    if (case.displayed is None) != any(LOST in note for note in result.notes):
        yield f"notes: {result.notes}"
    typed = result.frame.columns[0].to_list()[0]
    if case.typed is not None and (typed, type(typed)) != (case.typed, type(case.typed)):
        yield f"frame: {typed!r}"
    cached = ask(core, dataset, {"columns": ["c"], **own}).results[0]
    again = cached.frame.columns[0].to_list()[0]
    if not cached.is_cached or (again, type(again)) != (typed, type(typed)) or cached.data != result.data:
        yield f"cache: {again!r}"
    if case.displayed is not None and answer.to_csv() == b"\xef\xbb\xbfc\n\n":
        yield "csv: empty"
    answer.to_xlsx()
    result.pandas()
    yield from problems_of_further_roads(core, dataset, position, case, own)


def problems_of_further_roads(core: Any, dataset: int, position: int, case: Cell, own: dict[str, Any]) -> Iterator[str]:
    if "group" not in case.without:
        grouped = ask(core, dataset, {"columns": ["c"], "metrics": [COUNT], **own}).results[0].data
        if grouped != [{"c": case.displayed, "n": 1}]:
            yield f"group: {grouped}"
    if "max" not in case.without:
        most = ask(core, dataset, {"columns": [], "metrics": [MAX], **own}).results[0].data
        if most != [{"c": int(case.displayed) if isinstance(case.displayed, bool) else case.displayed}]:
            yield f"max: {most}"
    if case.displayed is None or "filter" in case.without:
        return
    for op, value in (("==", case.displayed), ("IN", [case.displayed])):
        rows = ask(core, dataset, {"columns": ["id"], "filters": [{"col": "c", "op": op, "val": value}]}).results[0]
        if [row["id"] for row in rows.data] != [position]:
            yield f"{op}: {rows.data}"


@pytest.mark.server
def test_what_is_shown_is_what_the_engine_holds(world: tuple[Any, str]) -> None:
    core, engine = world
    found = []
    for number, (name, cells) in enumerate(TYPES[engine].items()):
        dataset = core.datasets.create({"database": 1, "table_name": f"t{number}"}).id
        for position, case in enumerate(cells):
            found += [f"{name} {case.sql}: {problem}" for problem in problems_of(core, dataset, position, case)]
    assert found == []


@pytest.mark.server
def test_a_stream_shows_what_the_answer_shows(world: tuple[Any, str]) -> None:
    core, engine = world
    found = []
    for number, name in enumerate(TYPES[engine]):
        made = core.datasets.list(filters=[{"col": "table_name", "op": "eq", "val": f"t{number}"}]).result
        dataset = made[0].id if made else core.datasets.create({"database": 1, "table_name": f"t{number}"}).id
        query = {"columns": ["id", "c"], "metrics": None, "row_limit": 0}
        result = ask(core, dataset, query).results[0]
        with core.charts.batches({"datasource": {"id": dataset, "type": "table"}, "queries": [query]}) as stream:
            batches = list(stream)
        values = [value for batch in batches for value in batch["c"].to_pylist()]
        expected = result.arrow()["c"].to_pylist()
        if list(map(_typed, values)) != list(map(_typed, expected)):
            found.append(f"{name}: {values!r} for {expected!r}")
        if set(stream.notes) != set(result.notes):
            found.append(f"{name}: {stream.notes} for {result.notes}")
    assert found == []


def _typed(value: Any) -> tuple[type, Any]:
    return type(value), value


@pytest.mark.server
def test_one_infinite_cell_costs_no_other(world: tuple[Any, str]) -> None:
    core, engine = world
    names = list(TYPES[engine])
    number = names.index("DATE")
    payload = {"database": 1, "table_name": "together", "sql": f"SELECT c FROM t{number}"}
    dataset = core.datasets.create(payload).id
    result = ask(core, dataset, {"columns": ["c"], "row_limit": 10}).results[0]
    expected = [case.displayed for case in TYPES[engine]["DATE"]]
    assert sorted(map(str, (row["c"] for row in result.data))) == sorted(map(str, expected))


@pytest.mark.server
def test_lists_and_structs_are_not_compared_with_a_value(world: tuple[Any, str]) -> None:
    core, engine = world
    if "INTEGER[]" not in TYPES[engine]:
        return
    number = list(TYPES[engine]).index("INTEGER[]")
    found = core.datasets.list(filters=[{"col": "table_name", "op": "eq", "val": f"t{number}"}]).result
    dataset = found[0].id if found else core.datasets.create({"database": 1, "table_name": f"t{number}"}).id
    for op, value in (("==", "[1,2]"), ("IN", ["[1,2]"]), ("!=", "[1,2]")):
        with pytest.raises(AnalyticsError, match="lists or structs"):
            ask(core, dataset, {"columns": ["id"], "filters": [{"col": "c", "op": op, "val": value}]})


@pytest.mark.server
def test_a_label_may_have_any_character(world: tuple[Any, str]) -> None:
    core, engine = world
    number = list(TYPES[engine]).index("DATE")
    payload = {"database": 1, "table_name": "labelled", "sql": f"SELECT id FROM t{number}"}
    dataset = core.datasets.create(payload).id
    metrics = [{**COUNT, "label": label} for label in ("😀", "😁", "_")]
    result = ask(core, dataset, {"columns": [], "metrics": metrics}).results[0]
    assert set(result.data[0]) == {"😀", "😁", "_"}


@pytest.mark.server
def test_columns_that_the_engine_takes_for_one_are_refused_or_told_apart(world: tuple[Any, str]) -> None:
    core, engine = world
    quote = "`" if engine == "mariadb" else '"'
    payload = {"database": 1, "table_name": "twins", "sql": f"SELECT 1 AS {quote}v{quote}, 2 AS {quote}V{quote}"}
    if engine in ("duckdb", "mariadb"):
        with pytest.raises(AnalyticsError, match="two columns are called 'V'"):
            core.datasets.create(payload)
        return
    made = core.datasets.create(payload)
    names = [column.column_name for column in made.columns]
    assert list(ask(core, made.id, {"columns": names}).results[0].data[0].values()) == [1, 2]
