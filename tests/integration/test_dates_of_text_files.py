"""Days and moments of CSV and JSON files, compared with what Python's own `strptime` makes of each column."""

from __future__ import annotations

import csv
import secrets
from datetime import UTC, date, datetime
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.support.cases import for_each
from tests.support.handed_over import queried

import analytics_core
from analytics_core import AnalyticsCore, Settings
from analytics_core._engine.execution.handed_over import HandedFiles
from analytics_core._engine.execution.sessions.duckdb_tables import relation_of
from analytics_core._notebook.sources.files import table_of_files
from analytics_core._notebook.sources.reading import FileReading
from analytics_core.errors import DatabaseError

ORDERS = {"day": "%d{0}%m{0}%y", "month": "%m{0}%d{0}%y", "year": "%y{0}%m{0}%d"}
LONG_ORDERS = {"day": "%d{0}%m{0}%Y", "month": "%m{0}%d{0}%Y", "year": "%Y{0}%m{0}%d"}
TIMES = ("", " %H:%M", " %H:%M:%S", " %I:%M %p")


def written(folder: Path, text: str, name: str = "sales.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def column(folder: Path, *texts: str) -> Path:
    return written(folder, "d;n\n" + "".join(f"{text};1\n" for text in texts))


def values(core: AnalyticsCore, name: str = "d") -> list[str]:
    return sorted(str(row[0]) for row in queried(core, "sales", columns=(name,)))


def form_of(kind: str, between: str, time: str, *, is_long: bool) -> str:
    return (LONG_ORDERS if is_long else ORDERS)[kind].format(between) + time


@st.composite
def columns_of_dates(draw: st.DrawFn) -> list[str]:
    """Return a column of dates that are all written in one form, with leading zeros or without."""
    form = form_of(
        draw(st.sampled_from(sorted(ORDERS))),
        draw(st.sampled_from("/-.")),
        draw(st.sampled_from(TIMES)),
        is_long=draw(st.booleans()),
    )
    moments = st.datetimes(min_value=datetime(2010, 1, 1), max_value=datetime(2040, 12, 31))
    texts = [moment.strftime(form) for moment in draw(st.lists(moments, min_size=3, max_size=3))]
    if draw(st.booleans()):
        return texts
    return [text.removeprefix("0").replace("/0", "/").replace("-0", "-").replace(".0", ".") for text in texts]


def read_by_python(texts: list[str]) -> list[list[datetime]]:
    """Return each way in which all texts can be read, the day first, then the month, then the year."""
    found = []
    for kind, between, time, is_long in product(ORDERS, "/-.", TIMES, (True, False)):
        try:
            read = [datetime.strptime(text, form_of(kind, between, time, is_long=is_long)) for text in texts]
        except ValueError:
            continue
        found.append(read)
    return found


def read_by_us(*paths: Path, **reported: Any) -> tuple[HandedFiles, dict[str, tuple[Any, ...]]]:
    """Return files as a table, and the values of its columns."""
    reading = FileReading(settings=Settings(secret_key=secrets.token_urlsafe(32)), **reported)
    table = table_of_files(paths, reading)
    assert isinstance(table, HandedFiles)
    with duckdb.connect() as root:
        relation = relation_of(root, table)
        return table, dict(zip(relation.columns, zip(*relation.fetchall(), strict=True), strict=True))


def read_days(*paths: Path, **reported: Any) -> list[object]:
    return list(map(as_moment, read_by_us(*paths, **reported)[1]["d"]))


def written_columns(folder: Path, columns: list[list[str]]) -> Path:
    path = folder / "dates.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, delimiter=";")
        rows.writerow([f"c{place}" for place in range(len(columns))])
        rows.writerows(zip(*columns, strict=True))
    return path


def as_moment(value: object) -> object:
    return datetime(value.year, value.month, value.day) if type(value) is date else value


@pytest.mark.slow
@given(columns=st.lists(columns_of_dates(), min_size=1, max_size=5))
@example(columns=[["1/1/10"] * 3, ["1/1/10 00:00:00"] * 3, ["2010/1/1"] * 3])
def test_each_column_of_dates_is_read_as_python_reads_it_with_the_day_first(columns: list[list[str]]) -> None:
    with TemporaryDirectory() as folder:
        table, read = read_by_us(written_columns(Path(folder), columns))
    for place, texts in enumerate(columns):
        ways = read_by_python(texts)
        assert [as_moment(value) for value in read[f"c{place}"]] == ways[0], texts
        is_open = any(way != ways[0] for way in ways[1:])
        assert any(f"'c{place}'" in note for note in table.notes) == is_open, texts


@pytest.mark.slow
@for_each("between", ["/", "-", "."])
@for_each("form", ["%d{0}%m{0}%y", "%m{0}%d{0}%y", "%y{0}%m{0}%d"])
def test_two_digit_years_are_read_as_told_and_without_a_note(tmp_path: Path, form: str, between: str) -> None:
    days = [datetime(2024, 2, 1), datetime(2023, 12, 11)]
    path = column(tmp_path, *(day.strftime(form.format(between)) for day in days))
    assert read_days(path, date_format=form.format(between)) == days
    assert not read_by_us(path, date_format=form.format(between))[0].notes


def test_two_digit_years_are_read_with_the_day_first_and_said(tmp_path: Path) -> None:
    note = r"no date tells days and years apart; .* read as the day; if it is the year, give date_format='%y\.%m\.%d'"
    with pytest.warns(UserWarning, match=note):
        core = analytics_core.connect(column(tmp_path, "01.02.24", "15.03.24", "31.12.23"))
    with core:
        assert [text[:10] for text in values(core)] == ["2023-12-31", "2024-02-01", "2024-03-15"]


@pytest.mark.slow
def test_the_form_is_that_of_the_whole_file_and_not_of_its_first_rows(tmp_path: Path) -> None:
    path = column(tmp_path, *(["01/02/2024"] * 30_000), "02/13/2024")
    assert set(read_days(path)) == {datetime(2024, 1, 2), datetime(2024, 2, 13)}


def test_the_form_is_that_of_all_files_of_a_dataset(tmp_path: Path) -> None:
    texts = ("01/02/2024", "02/13/2024")
    paths = [written(tmp_path, f"d;n\n{text};1\n", f"sales_{place}.csv") for place, text in enumerate(texts)]
    assert read_days(*paths) == [datetime(2024, 1, 2), datetime(2024, 2, 13)]


@pytest.mark.slow
@for_each(
    "texts",
    [
        ("1-2-3", "1-2-3"),
        ("1/2/124", "1/2/124"),
        ("1-2-3 10:00", "1-2-3 10:00"),
        ("01/02-2024", "01/02-2024"),
        ("2024-01-02 10:00:00", "01-02-24 10:00"),
        ("2030/03/14", "20/02/01"),
        ("2024-01-02", "13-02-24"),
    ],
)
def test_what_is_written_in_no_known_form_is_text(tmp_path: Path, texts: tuple[str, ...]) -> None:
    assert read_days(column(tmp_path, *texts)) == list(texts)


@for_each(
    ("form", "texts", "read"),
    [
        ("%Y%m%d", ("20240131", "20231201"), [datetime(2024, 1, 31), datetime(2023, 12, 1)]),
        ("%d%m%Y", ("31012024", "01122023"), [datetime(2024, 1, 31), datetime(2023, 12, 1)]),
        ("%Y%m%d%H%M", ("202401311045",), [datetime(2024, 1, 31, 10, 45)]),
        ("%Y%m%d", ("20240131", "20231301"), [20240131, 20231301]),  # no month
        ("%Y%m%d", ("202411", "202412"), [202411, 202412]),  # months, which are shorter than days
        ("%Y", ("2024", "1999"), [2024, 1999]),
    ],
)
def test_digits_alone_are_days_where_the_form_says_so(
    tmp_path: Path, form: str, texts: tuple[str, ...], read: list[Any]
) -> None:
    assert read_days(column(tmp_path, *texts), date_format=form) == read


def test_a_column_that_is_written_otherwise_than_told_is_text(tmp_path: Path) -> None:
    assert read_days(column(tmp_path, "01/02/24", "15/03/24"), date_format="%d.%m.%Y") == ["01/02/24", "15/03/24"]


def test_a_date_of_another_form_that_comes_later_is_an_error_without_its_text(tmp_path: Path) -> None:
    path = column(tmp_path, "13.02.2024", "14.02.2024")
    with analytics_core.connect(path) as core:
        path.write_text("d;n\n13.02.2024;1\nSECRET;1\n", encoding="utf-8")
        with pytest.raises(DatabaseError, match="cannot be read as it was when it was connected") as caught:
            values(core)
    assert "SECRET" not in str(caught.value)


def test_dates_in_a_file_without_a_header_are_dates(tmp_path: Path) -> None:
    _, read = read_by_us(written(tmp_path, "13.02.24;5\n14.02.99;6\n"))
    assert read["column0"] == (date(2024, 2, 13), date(1999, 2, 14))


@pytest.mark.slow
def test_moments_with_offsets_in_json_are_moments_in_utc(tmp_path: Path) -> None:
    texts = ["2024-01-02T10:00:00+02:00", "2024-06-02T10:00:00Z", "2024-06-02T10:00:00.5-0130"]
    for some in (texts[:1], texts):
        rows = ",".join(f'{{"d": "{text}"}}' for text in some)
        with analytics_core.connect(written(tmp_path, f"[{rows}]", "sales.json")) as core:
            expected = sorted(str(datetime.fromisoformat(text).astimezone(UTC))[:19] for text in some)
            assert [text[:19] for text in values(core)] == expected


def test_years_of_two_digits_in_json_are_text(tmp_path: Path) -> None:
    assert read_days(written(tmp_path, '[{"d": "01-02-24"}]', "sales.json")) == ["01-02-24"]
