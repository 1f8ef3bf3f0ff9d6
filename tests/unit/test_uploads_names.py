"""Names of columns and tables of a file: taken by every engine, told apart, and kept where they can be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.cases import for_each

from analytics_core._engine.files.names import (
    LONGEST_NAME,
    RESERVED_PREFIX,
    check_table_name,
    column_names,
    is_unfinished,
)
from analytics_core.errors import PayloadSchemaError

HEADERS = st.lists(st.one_of(st.none(), st.text(max_size=80), st.sampled_from(["a", "A", "a_2", "column_1", ""])))


@given(headers=HEADERS)
def test_names_of_columns_are_apart_short_and_plain(headers: list[str | None]) -> None:
    names = column_names(headers)
    assert len(names) == len(headers)
    assert len({name.casefold() for name in names}) == len(names)
    for name in names:
        assert 1 <= len(name.encode()) <= LONGEST_NAME
        assert name == name.strip()
        assert not set(name) & set("\"'`[]\\;%{}:\0\n\r\t")


@given(headers=HEADERS)
def test_names_that_were_made_are_kept(headers: list[str | None]) -> None:
    names = column_names(headers)
    assert column_names(names) == names


@pytest.mark.parametrize("name", ["orders", "Größe_2", "_x", "a" * LONGEST_NAME])
def test_plain_names_of_tables_are_taken(name: str) -> None:
    assert check_table_name(name) == name


@for_each(
    "name",
    ["", "a b", "a.b", "1a", "a-b", 'a"b', "a" * 64, "ü" * 32, "a\0", None, 5, f"{RESERVED_PREFIX}x".upper()],
)
def test_other_names_of_tables_are_refused(name: object) -> None:
    with pytest.raises(PayloadSchemaError) as caught:
        check_table_name(name)
    assert [problem.path for problem in caught.value.problems] == ["table"]


def test_a_table_of_an_unfinished_upload_is_known_by_its_name_whatever_its_case() -> None:
    assert is_unfinished(f"{RESERVED_PREFIX}0f".title())
    assert not is_unfinished("uploads")
