"""`for_each` tries what `parametrize` would, and says which cases failed."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from tests.support.cases import for_each


def test_every_case_is_tried_and_those_that_fail_are_named() -> None:
    tried: list[int] = []

    @for_each("number", [1, 2, 3, pytest.param(4, id="four")])
    def check(number: int) -> None:
        tried.append(number)
        assert number % 2

    with pytest.raises(AssertionError) as failure:
        check()
    assert tried == [1, 2, 3, 4]
    assert failure.value.__notes__ == ["2 of 4 cases failed; this is the first: 2, four"]


def test_stacked_cases_are_tried_in_all_combinations_with_the_fixtures_that_are_left() -> None:
    tried: list[tuple[str, int, int]] = []

    @for_each(("first", "second"), [(1, 2), (3, 4)])
    @for_each("name", ["a", "b"])
    def check(name: str, first: int, second: int, tmp_path: Any) -> None:
        tried.append((name, first, second))

    assert [*inspect.signature(check).parameters] == ["tmp_path"]
    check(tmp_path=None)
    assert sorted(tried) == [("a", 1, 2), ("a", 3, 4), ("b", 1, 2), ("b", 3, 4)]
    assert check.cases == ["1-2-'a'", "3-4-'a'", "1-2-'b'", "3-4-'b'"]


def test_a_test_is_skipped_when_all_of_its_cases_are_and_fails_when_some_are() -> None:
    @for_each("reason", ["no server", ""])
    def check(reason: str) -> None:
        if reason:
            pytest.skip(reason)

    with pytest.raises(pytest.fail.Exception, match="no server"):
        check()

    @for_each("reason", ["no server", "no font"])
    def skip(reason: str) -> None:
        pytest.skip(reason)

    with pytest.raises(pytest.skip.Exception, match="no server"):
        skip()


def test_what_is_no_list_of_cases_is_refused() -> None:
    def check(number: int) -> None: ...

    for names, values, ids in (
        ("number", [], None),
        ("other", [1], None),
        ("number", [pytest.param(1, marks=pytest.mark.server)], None),
        ("number", [1, 2], ["one"]),
    ):
        with pytest.raises(TypeError):
            for_each(names, values, ids=ids)(check)
