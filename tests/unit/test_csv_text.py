"""CSV: UTF-8 with a mark, plain numbers, and text that no spreadsheet runs."""

from __future__ import annotations

import csv
import io
import sys
import unicodedata
from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.cases import for_each
from tests.support.formulas import HARMLESS, HOSTILE
from tests.support.frames import frame_of

from analytics_core._engine.frames.frame import Frame
from analytics_core._engine.frames.values import json_value, text_value
from analytics_core._engine.results.spreadsheets import BYTE_ORDER_MARK, begins_like_formula, csv_chunks, neutral_text


def csv_bytes(frame: Frame, *, headers: Mapping[str, str] | None = None) -> bytes:
    return b"".join(csv_chunks(frame, headers=headers or {}))


def lines(frame: Any, **options: Any) -> list[list[str]]:
    text = csv_bytes(frame, **options).removeprefix(BYTE_ORDER_MARK).decode()
    return list(csv.reader(io.StringIO(text, newline="")))


@for_each("text", HOSTILE, ids=ascii)
def test_text_that_begins_like_a_formula_is_neutralised(text: str) -> None:
    assert neutral_text(text) == "'" + text


@for_each("text", HARMLESS, ids=ascii)
def test_text_that_only_looks_like_a_formula_is_left_alone(text: str) -> None:
    assert neutral_text(text) == text


@pytest.mark.slow
def test_every_form_of_a_sign_that_normalising_makes_a_sign_is_one() -> None:
    forms = [
        character
        for character in map(chr, range(sys.maxunicode + 1))
        if unicodedata.normalize("NFKC", character).lstrip()[:1] in set("=+-@|%−")
        and unicodedata.category(character) != "Cs"
        and character.strip()
    ]
    assert {*"=+-@|%", "＝", "﬩", "⩵"} <= set(forms)
    assert [form for form in forms if neutral_text(f"{form}1+1") != f"'{form}1+1"] == []


@for_each("category", ["Cc", "Cf", "Zs", "Zl", "Zp"])
def test_no_white_space_or_control_character_hides_a_sign(category: str) -> None:
    hiding = [c for c in map(chr, range(0x30000)) if unicodedata.category(c) == category]
    assert hiding
    for character in hiding:
        assert neutral_text(f"{character}=1") == f"'{character}=1", ascii(character)
        assert neutral_text(f"{character} {character}＝1") == f"'{character} {character}＝1", ascii(character)
        assert neutral_text(f"{character}a=1") == f"{character}a=1", ascii(character)


@given(st.text())
def test_neutral_text_stays_neutral_and_keeps_its_characters(text: str) -> None:
    safe = neutral_text(text)
    assert neutral_text(safe) == safe
    assert safe.removeprefix("'") == text.removeprefix("'")
    assert not begins_like_formula(safe) or safe == text


def test_the_file_starts_with_a_byte_order_mark_and_the_header() -> None:
    assert csv_bytes(frame_of({"a": [1], "ö": ["ß"]})) == b"\xef\xbb\xbfa,\xc3\xb6\n1,\xc3\x9f\n"


def test_an_empty_result_keeps_its_header() -> None:
    assert lines(frame_of({"a": [], "b": []})) == [["a", "b"]]


@for_each("text", HOSTILE, ids=ascii)
def test_cells_headers_and_verbose_names_are_neutralised(text: str) -> None:
    assert lines(frame_of({text: [text, None], "b": [text, 1]}), headers={"b": text}) == [
        ["'" + text, "'" + text],
        ["'" + text, "'" + text],
        ["", "1"],
    ]


def test_numbers_stay_numbers() -> None:
    frame = frame_of(
        {"i": [-5, 2**60], "f": [-1.5, float("nan")], "d": [Decimal("-1.10"), Decimal("1E+3")], "b": [True, None]}
    )
    assert lines(frame)[1:] == [["-5", "-1.5", "-1.1", "True"], ["1152921504606846976", "", "1000", ""]]


def test_days_and_moments_are_iso_text() -> None:
    frame = frame_of(
        {"d": [date(2024, 1, 31)], "t": [datetime(2024, 1, 31, 12)], "z": [datetime(2024, 1, 31, tzinfo=UTC)]}
    )
    assert lines(frame)[1] == ["2024-01-31", "2024-01-31 12:00:00", "2024-01-31 00:00:00+00:00"]


def test_bytes_and_nested_values_are_text() -> None:
    assert lines(frame_of({"b": [b"\xff", b"=x"], "n": [{"a": [1]}, None]}))[1:] == [["0xff", '{"a":[1]}'], ["'=x", ""]]


@for_each("text", ["x;=1+1", "x\t=1", "x\n=1", 'x"=1', "x,=1", "x\r=1"], ids=ascii)
def test_a_cell_that_another_separator_would_split_is_quoted(text: str) -> None:
    body = csv_bytes(frame_of({"a": [text]})).decode("utf-8-sig").removeprefix("a\n")
    assert body.startswith('"')
    assert lines(frame_of({"a": [text]}))[1] == [text]


@given(st.lists(st.lists(st.text() | st.none() | st.integers(), min_size=2, max_size=2), max_size=5))
def test_every_text_comes_back_from_a_csv_reader(rows: list[list[Any]]) -> None:
    frame = frame_of({"a": [row[0] for row in rows], "b": [row[1] for row in rows]})
    expected = [["" if v is None else neutral_text(v) if isinstance(v, str) else str(v) for v in row] for row in rows]
    assert lines(frame)[1:] == expected


def test_arrow_columns_give_the_same_file_as_lists() -> None:
    values = {
        "s": ["=1", None, "x"],
        "n": [1.5, None, -2.0],
        "t": [datetime(2024, 1, 1), None, datetime(1969, 1, 1, 1)],
    }
    arrow = {name: pa.chunked_array([column[:1], column[1:]]) for name, column in values.items()}
    assert csv_bytes(frame_of(arrow)) == csv_bytes(frame_of(values))


@for_each(
    ("value", "text"),
    [
        (time(9, 30), "09:30:00"),
        (timedelta(days=1, seconds=5), "1 day, 0:00:05"),
        (b"caf\xc3\xa9", "café"),
        (b"\xff\x00", "0xff00"),
        ([1, Decimal("0.5"), date(2024, 2, 29)], '[1,0.5,"2024-02-29"]'),
        ({"a": {2, 1}}, '{"a":[1,2]}'),
    ],
)
def test_what_json_has_no_value_for_is_the_same_text_in_json_and_csv(value: Any, text: str) -> None:
    assert (json_value(value), text_value(value)) == (text, text)
