"""CSV files and sheets that are written in another way than they are read by default, or leave open how."""

from __future__ import annotations

import warnings
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import xlsxwriter
from tests.support.cases import for_each
from tests.support.handed_over import queried

import analytics_core
from analytics_core import AnalyticsCore
from analytics_core.errors import DatabaseError, FilterValueError, SourceError

GERMAN = "Tag;Umsatz;Menge\n01/02/2024;1.234,56;1.234\n03/04/2024;99,90;2.500\n"
COLUMNS = ("Tag", "Umsatz", "Menge")


@pytest.fixture
def german(tmp_path: Path) -> Path:
    return written(tmp_path, GERMAN)


def written(folder: Path, text: str) -> Path:
    path = folder / "sales.csv"
    path.write_text(text, encoding="utf-8")
    return path


def rows(core: AnalyticsCore, *columns: str, dataset: str = "sales") -> list[tuple[Any, ...]]:
    return [tuple(row) for row in queried(core, dataset, columns=columns)]


def description(core: AnalyticsCore) -> str:
    return core.datasets.get("sales").description or ""


def test_numbers_with_a_decimal_comma_are_read_when_it_is_told(german: Path) -> None:
    options: dict[str, Any] = {"decimal_character": ",", "thousands_character": ".", "date_format": "%d/%m/%Y"}
    with analytics_core.connect(german, **options) as core:
        assert rows(core, "Umsatz", "Menge") == [(Decimal("99.90"), 2500), (Decimal("1234.56"), 1234)]
        assert not description(core)


@pytest.mark.slow
@pytest.mark.parametrize(("date_format", "first"), [("%d/%m/%Y", date(2024, 2, 1)), ("%m/%d/%Y", date(2024, 1, 2))])
def test_dates_are_read_in_the_format_that_is_told(german: Path, date_format: str, first: date) -> None:
    with pytest.warns(UserWarning, match="Menge"), analytics_core.connect(german, date_format=date_format) as core:
        assert str(rows(core, "Tag")[0][0])[:10] == str(first)


def test_moments_are_read_in_the_format_that_is_told(tmp_path: Path) -> None:
    path = written(tmp_path, "at;n\n05.01.2024 10:30;1\n13.01.2024 11:30;2\n")
    with analytics_core.connect(path, date_format="%d.%m.%Y %H:%M") as core:
        assert str(rows(core, "at")[0][0]).startswith("2024-01-05 10:30")


def test_dates_that_tell_days_and_months_not_apart_are_said(german: Path) -> None:
    with pytest.warns(UserWarning, match=r"column 'Tag': .* read as the day; .* date_format='%m/%d/%Y'") as caught:
        core = analytics_core.connect(german)
    with core:
        assert "column 'Tag': no date tells days and months apart" in description(core)
    assert {Path(one.filename).name for one in caught} == {Path(__file__).name}


def test_numbers_that_may_be_thousands_are_said(german: Path) -> None:
    with pytest.warns(UserWarning, match=r"column 'Menge': .* decimal_character=',', thousands_character='\.'"):
        core = analytics_core.connect(german)
    with core:
        assert "column 'Menge'" in description(core)


def test_numbers_that_may_be_thousands_are_said_where_some_are_too_small_for_a_separator(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match=r"column 'n': .* thousands_character='\.'"):
        analytics_core.connect(written(tmp_path, "n;city\n5.123;a\n12;b\n-1.200;c\n;d\n0;e\n")).close()


IDS = ("12345678901234567891", "12345678901234567892", "-12345678901234567893", "7", "9007199254740993")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "form", "message"),
    [
        ("sales.csv", "{}\n", {}),
        ("sales.csv", "{:,}\n", {"thousands_character": ","}),
        ("sales.ndjson", '{{"id": {}}}\n', {}),
    ],
    ids=["CSV", "CSV with thousands", "JSON"],
)
def test_whole_numbers_beyond_64_bits_stay_apart(tmp_path: Path, name: str, form: str, message: dict[str, Any]) -> None:
    lines = [form.format(int(text)) for text in IDS]
    if message:
        lines = [f'"{line.strip()}"\n' for line in lines]
    path = tmp_path / name
    path.write_text("".join(["" if name.endswith("json") else "id\n", *lines]), encoding="utf-8")
    with analytics_core.connect(path, **message) as core:
        assert sorted(int(row[0]) for row in rows(core, "id")) == sorted(map(int, IDS))


@pytest.mark.parametrize(("name", "form"), [("sales.csv", "{}\n"), ("sales.ndjson", '{{"id": {}}}\n')])
def test_whole_numbers_of_more_than_38_digits_are_text(tmp_path: Path, name: str, form: str) -> None:
    texts = ["1" * 38 + "21", "1" * 38 + "22", "5"]
    path = tmp_path / name
    path.write_text(("id\n" if name == "sales.csv" else "") + "".join(map(form.format, texts)), encoding="utf-8")
    with analytics_core.connect(path) as core:
        assert sorted(rows(core, "id")) == [(text,) for text in sorted(texts)]


def test_whole_numbers_of_two_files_stay_apart(tmp_path: Path) -> None:
    for place, text in enumerate(("9007199254740993", "12345678901234567891")):
        (tmp_path / f"sales_{place}.csv").write_text(f"id\n{text}\n", encoding="utf-8")
    with analytics_core.connect(str(tmp_path / "sales_*.csv")) as core:
        assert sorted(rows(core, "id")) == [(9007199254740993,), (12345678901234567891,)]


def test_whole_numbers_of_json_that_are_rounded_beside_fractions_are_said(tmp_path: Path) -> None:
    path = tmp_path / "sales.ndjson"
    path.write_text('{"n": 12345678901234567891}\n{"n": 1.5}\n', encoding="utf-8")
    with pytest.warns(UserWarning, match="column 'n': it has whole numbers beyond 9007199254740992, which are rounded"):
        analytics_core.connect(path).close()


TITLED = (["Sales of 2024", None], [None, None], ["city", "n"], ["Rome", 3])


@pytest.mark.slow
def test_a_title_above_the_header_of_a_csv_file_is_said(tmp_path: Path) -> None:
    path = written(tmp_path, "".join(f"{first or ''};{second or ''}\n" for first, second in TITLED))
    with pytest.warns(UserWarning, match="names one of 2 columns, 'Sales of 2024'; .* give skip_rows=2"):
        analytics_core.connect(path).close()
    with analytics_core.connect(path, skip_rows=2) as core:
        assert rows(core, "city", "n") == [("Rome", 3)]


def test_midnights_among_the_moments_of_a_sheet_are_moments(tmp_path: Path) -> None:
    moments = pd.date_range("2024-02-28", periods=50, freq="h")
    pd.DataFrame({"at": moments}).to_excel(tmp_path / "sales.xlsx", index=False, engine="xlsxwriter")
    with analytics_core.connect(tmp_path / "sales.xlsx") as core:
        assert rows(core, "at") == [(moment,) for moment in moments.to_pydatetime()]


@pytest.mark.parametrize("sheets", [("one",), ("one", "two")])
def test_a_title_above_the_header_of_a_sheet_is_said(tmp_path: Path, sheets: tuple[str, ...]) -> None:
    path = tmp_path / "sales.xlsx"
    with xlsxwriter.Workbook(path) as book:
        for name in sheets:
            sheet = book.add_worksheet(name)
            for place, row in enumerate(TITLED):
                sheet.write_row(place, 0, row)
    with pytest.warns(UserWarning, match="names one of 2 columns, 'Sales of 2024'; .* give skip_rows=2") as caught:
        analytics_core.connect(path).close()
    assert len(caught) == len(sheets)


def test_an_index_without_a_name_in_a_sheet_is_no_title(tmp_path: Path) -> None:
    path = tmp_path / "sales.xlsx"
    pd.DataFrame({"city": ["Rome", "Oslo"]}, index=["a", "b"]).to_excel(path, engine="xlsxwriter")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        analytics_core.connect(path).close()


def test_a_note_holds_no_value_of_a_row(german: Path) -> None:
    with pytest.warns(UserWarning, match="Menge") as caught, analytics_core.connect(german):
        pass
    assert not any("1.234" in str(one.message) or "2024" in str(one.message) for one in caught)


@pytest.mark.slow
@for_each(
    "text",
    [
        "day,n\n01/02/2024,1.5\n13/02/2024,2.123\n",
        "city,n\nRome,1.234\nOslo,1500\n",
        "city,n\nRome,1.234\nOslo,0.250\n",
        "city,n\nRome,1e20\nOslo,2\n",
        "city,,\nRome,1,2\n",
        "day,n\n2024-01-02,1\n2024-03-04,2\n",
        "day,n\n02/02/2024,0.125\n03/03/2024,0.250\n",
    ],
    ids=[
        "a day above 12",
        "four digits without a separator",
        "a fraction of one",
        "an exponent",
        "a header of one name above numbers",
        "ISO 8601",
        "all days are their months",
    ],
)
def test_what_a_file_tells_is_not_doubted(tmp_path: Path, text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with analytics_core.connect(written(tmp_path, text)) as core:
            assert not description(core)


def test_a_decimal_character_is_not_doubted_where_that_of_thousands_is_told(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with analytics_core.connect(written(tmp_path, "city;n\nRome;1.234\n"), thousands_character=" ") as core:
            assert rows(core, "n") == [(Decimal("1.234"),)]
            assert not description(core)


def test_rows_above_the_header_are_left_out(tmp_path: Path) -> None:
    path = written(tmp_path, "Report of sales\n\ncity,n\nRome,3\n")
    for skip_rows in (1, 2):  # the empty line is left out in any case
        with analytics_core.connect(path, skip_rows=skip_rows) as core:
            assert rows(core, "city", "n") == [("Rome", 3)]


def test_a_file_of_another_encoding_is_read_by_the_name_of_it(tmp_path: Path) -> None:
    path = tmp_path / "sales.csv"
    path.write_bytes("city,n\nKöln,3\n".encode("windows-1252"))
    with analytics_core.connect(path, encoding="windows-1252") as core:
        assert rows(core, "city", "n") == [("Köln", 3)]


def test_rows_above_the_header_of_a_sheet_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "sales.xlsx"
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet()
        for place, row in enumerate((["Report of sales"], ["city", "n"], ["Rome", 3])):
            sheet.write_row(place, 0, row)
    with analytics_core.connect(path, skip_rows=1) as core:
        assert rows(core, "city", "n") == [("Rome", 3)]


@pytest.mark.slow
def test_a_file_beside_other_datasets_is_read_as_told(german: Path) -> None:
    options: dict[str, Any] = {"decimal_character": ",", "thousands_character": ".", "date_format": "%d/%m/%Y"}
    with analytics_core.connect([{"n": 1}]) as core:
        core.dataset_from(german, "sales", **options)
        assert rows(core, "Umsatz", "Menge") == [(Decimal("99.90"), 2500), (Decimal("1234.56"), 1234)]
        with pytest.warns(UserWarning, match="Tag") as warned:
            core.dataset_from(german, "sales", replace=True)
    assert {Path(one.filename).name for one in warned} == {Path(__file__).name}


def test_the_first_row_of_another_length_says_skip_rows(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="skip_rows=1"):
        analytics_core.connect(written(tmp_path, "Report of sales\ncity,n\nRome,3\n"))


@for_each(
    "text",
    [
        "day,at,paid\n31.01.2024,2024-01-31 10:00:00,2024-01-31\n28.02.2024,2024-02-28 10:00:00,2024-02-01\n",
        "day,at,paid\n31.01.2024 10:00:00,2024-01-31T10:00:00,2024-01-31\nnone,2024-02-28 10:00,2024-02-01\n",
        "day,at,paid\n01/31/2024,2024-01-31T10:00:00,2024-01-31\nnone,2024-02-28 10:00:00,2024-02-01\n",
    ],
)
def test_dates_of_one_column_change_nothing_in_how_those_of_others_are_read(tmp_path: Path, text: str) -> None:
    with analytics_core.connect(written(tmp_path, text)) as core:
        assert rows(core, "at", "paid") == [
            (datetime(2024, 1, 31, 10), date(2024, 1, 31)),
            (datetime(2024, 2, 28, 10), date(2024, 2, 1)),
        ]


@for_each(
    ("text", "row"),
    [("tag,n\nx,5\n#y,6\n# end\n", 4), ("tag,n\nx,5\n#a,b,c\ny,6\n", 3), ("# by x\ntag,n\nx,5\n", 2)],
)
def test_a_row_that_begins_with_a_hash_is_a_row(tmp_path: Path, text: str, row: int) -> None:
    with pytest.raises(SourceError, match="cells, and the table") as error:
        analytics_core.connect(written(tmp_path, text))
    assert error.value.extra["row"] == row


def test_empty_lines_above_the_header_of_one_file_alone_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("day,n\n2024-01-31,1\n")
    (tmp_path / "b.csv").write_text("\n\nday,n\n2024-02-01,2\n")
    with analytics_core.connect({"sales": f"{tmp_path}/*.csv"}) as core:
        assert sorted(rows(core, "n")) == [(1,), (2,)]


def test_folders_that_name_values_are_no_columns_of_text_files(tmp_path: Path) -> None:
    for year in (2023, 2024):
        (tmp_path / f"year={year}").mkdir()
        (tmp_path / f"year={year}" / "part.csv").write_text(f"day,n\n{year}-01-31,{year}\n")
    with analytics_core.connect({"sales": f"{tmp_path}/**/*.csv"}) as core:
        assert rows(core, "day", "n") == [(date(2023, 1, 31), 2023), (date(2024, 1, 31), 2024)]


@for_each(
    ("options", "message"),
    [
        ({"decimal_character": ";"}, r"decimal_character cannot be ';'; give \".\" or \",\""),
        ({"thousands_character": "."}, "another than decimal_character"),
        ({"date_format": "dd.mm.yyyy"}, "a format of strptime"),
        ({"date_format": "%Q"}, "date_format cannot be '%Q'"),
        ({"skip_rows": -1}, "skip_rows cannot be -1"),
    ],
)
def test_a_reading_that_cannot_be_is_an_error(german: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(SourceError, match=message):
        analytics_core.connect(german, **options)


def test_a_reading_without_a_text_file_is_an_error() -> None:
    with pytest.raises(SourceError, match="decimal_character is for CSV files, and none is given"):
        analytics_core.connect([{"n": 1}], decimal_character=",")


def test_numbers_that_came_as_text_say_how_they_become_numbers(tmp_path: Path) -> None:
    message = r"connect\(path, decimal_character=','.* pandas.to_numeric"
    path = written(tmp_path, "Umsatz;n\n1.234,56;1\n")
    with analytics_core.connect(path) as core, pytest.raises(FilterValueError, match=message):
        core.dataset("sales").query("Umsatz")


def test_dates_that_came_as_text_say_how_they_become_dates_and_do() -> None:
    with analytics_core.connect([{"day": "01.02.2024", "n": 1}, {"day": "05.03.2024", "n": 2}]) as core:
        march = core.dataset("data").query("n").as_time("day").during("2024-03-01 : 2024-04-01")
        with pytest.raises(FilterValueError, match=r"python_date_format .* pandas.to_datetime .* date_format="):
            march.run()
        day = {"column_name": "day", "is_dttm": True, "python_date_format": "%d.%m.%Y"}
        core.datasets.set_column(1, day)
        march = core.dataset("data").query("n").as_time("day").during("2024-03-01 : 2024-04-01")
        assert march.run()[0].rows() == [(2,)]


LATER = {
    "a fraction": ("1", "1.5", False),
    "more digits of a fraction": ("1.5", "1.25", False),
    "more digits before it": ("1.5", "170000.5", True),
    "an id that a double rounds": ("1e3", "12345678901234567", False),
    "a whole number": ("1e3", "12345678901234", True),
    "a leading zero": ("7", "007", False),
    "another word": ("true", "yes", False),
    "a moment": ("2024-01-31", "2024-01-31 10:00", False),
    "a zone": ("2024-01-31 10:00", "2024-01-31 10:00+02:00", False),
    "a date of another form": ("2024-01-31", "31.01.2024", False),
    "a date of the same form": ("31.01.2024", "01.02.2024", True),
    "a number among texts": ("x", "1", True),
    "nothing": ("1", "", True),
}


@pytest.mark.slow
@for_each("name", sorted(LATER))
def test_values_that_come_later_are_not_made_to_fit_the_type(tmp_path: Path, name: str) -> None:
    before, after, fits = LATER[name]
    with analytics_core.connect(written(tmp_path, f"n,a\n1,{before}\n")) as core:
        questions = (("n",), ("n", "a"), ("a", "n"))  # each another one, whose answer is not kept yet
        for text, is_read, question in zip((before, after, before), (True, fits, True), questions, strict=True):
            written(tmp_path, f"n,a\n1,{text}\n")
            if is_read:
                assert rows(core, *question)[0][question.index("n")] == 1
            else:
                with pytest.raises(DatabaseError, match="have other columns or values now; connect again"):
                    rows(core, *question)


@for_each(
    ("name", "text"),
    [("sales.csv", '"a.b","c ""d"""\n1,2024-01-31\n'), ("sales.ndjson", '{"a.b": 1, "c \\"d\\"": "2024-01-31"}\n')],
)
def test_names_of_columns_may_have_dots_and_quotes(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    with analytics_core.connect(tmp_path / name) as core:
        assert rows(core, "a.b", 'c "d"') == [(1, date(2024, 1, 31))]
