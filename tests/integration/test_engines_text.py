"""Text compares, groups, orders and matches by code point on each engine with a driver."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from sqlglot import exp
from tests.support.cases import for_each
from tests.support.engine_bench import BENCHES, Bench, Values, column, open_bench

from analytics_core._engine.engines.types import ValueKind

TEXTS = [
    None,
    "",
    "a",
    "A",
    "a ",
    "b",
    "B",
    "é",
    "É",
    "e",
    "e\u0301",
    "élan",
    "Élan",
    "straße",
    "STRASSE",
    "漢字",
    "😀",
    "100%",
    "100 percent",
    "under_score",
    "underXscore",
    "back\\slash",
    "back/slash",
    "bang!",
    "[set]",
    "s",
    "star*",
    "start",
    "quest?",
    "it's",
    "two\nlines",
    "<NULL>",
    "?",
    ":p0",
    "$1",
    "--",
]
PRESENT = [value for value in TEXTS if value is not None]


@pytest.fixture(scope="module", params=BENCHES)
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    with open_bench(request.param, request) as opened:
        kind = "VARCHAR(40) CHARACTER SET utf8mb4" if opened.engine == "mysql" else "VARCHAR(40)"
        rows = [[i, value] for i, value in enumerate([*TEXTS, *PRESENT])]
        opened.create("v", {"id": "INTEGER", "s": kind}, rows)
        yield opened


def chosen(bench: Bench, where: exp.Expr, values: Values) -> set[str]:
    return {row[0] for row in bench.select("v", [column("s")], binds=values, where=where)}


def test_groups_are_those_of_code_points(bench: Bench) -> None:
    key, again = bench.spec.text_key(column("s")), bench.spec.text_key(column("s"))
    rows = bench.select("v", [key, exp.Count(this=exp.Star())], group=[again])
    assert sorted(rows, key=repr) == sorted([(None, 1), *((value, 2) for value in PRESENT)], key=repr)


def test_order_is_that_of_code_points_with_nulls_last(bench: Bench) -> None:
    key = bench.spec.text_key(column("s"))
    rows = bench.select("v", [column("s")], order=key)
    assert [row[0] for row in rows] == [*sorted([*PRESENT, *PRESENT]), None]


def test_minimum_maximum_and_distinct_count_go_by_code_point(bench: Bench) -> None:
    spec = bench.spec
    row = bench.select(
        "v",
        [
            spec.extreme(column("s"), ValueKind.TEXT, False),
            spec.extreme(column("s"), ValueKind.TEXT, True),
            spec.count_distinct(column("s"), ValueKind.TEXT),
        ],
    )[0]
    assert row == (min(PRESENT), max(PRESENT), len(PRESENT))


def test_equality_finds_exactly_the_text(bench: Bench) -> None:
    wrong = []
    for text in PRESENT:
        values = Values()
        where = exp.EQ(this=column("s"), expression=bench.spec.text_equal(values(text)))
        if chosen(bench, where, values) != {text}:
            wrong.append(text)
    assert wrong == []


@for_each("text", ["", "a", "b", "e", "É", "straße", "漢字"])
def test_comparison_goes_by_code_point(bench: Bench, text: str) -> None:
    values = Values()
    where = exp.GT(this=column("s"), expression=bench.spec.text_order(values(text)))
    assert chosen(bench, where, values) == {value for value in PRESENT if value > text}


@for_each("members", [["a"], ["a", "É", "100%"], ["nowhere", "a "]])
def test_membership_finds_exactly_the_members(bench: Bench, members: list[str]) -> None:
    values = Values()
    where = bench.spec.in_list(column("s"), members, ValueKind.TEXT, values)
    assert chosen(bench, where, values) == set(members) & set(PRESENT)


def test_long_lists_find_the_same_and_may_be_negated(bench: Bench) -> None:
    members = ["a", "É", "it's", *(f"filler {i}" for i in range(70_000))]
    values = Values()
    where = bench.spec.in_list(column("s"), members, ValueKind.TEXT, values)
    assert chosen(bench, where, values) == {"a", "É", "it's"}
    values = Values()
    where = exp.Not(this=exp.Paren(this=bench.spec.in_list(column("s"), members, ValueKind.TEXT, values)))
    assert chosen(bench, where, values) == set(PRESENT) - {"a", "É", "it's"}


def test_null_safe_equality_takes_null_for_equal_to_null(bench: Bench) -> None:
    where = bench.spec.null_safe_equal(bench.spec.text_key(column("s")), bench.spec.text_key(column("s")))
    assert len(bench.select("v", [column("id")], where=where)) == len(TEXTS) + len(PRESENT)


# --------------------------------------------------------------------------------------------------------------- LIKE
PATTERNS = [
    "",
    "%",
    "_",
    "__",
    "a",
    "A",
    "a%",
    "É%",
    "é%",
    "É_AN",
    "%slash",
    "STRA%E",
    "100\\%",
    "100%",
    "under\\_score",
    "under_score",
    "back\\\\slash",
    "back\\slash",
    "%!",
    "!",
    "bang!%",
    "[set]",
    "[s]%",
    "star*",
    "star_",
    "quest?",
    "漢_",
    "_",
    "it's",
    "two%lines",
    "ends in a backslash\\",
    "%\\",
    "\\a",
    "?",
    ":p0",
    "%%",
]


def like_reference(pattern: str, text: str, *, fold: bool) -> bool:
    regex, escaped = "", False
    for char in pattern:
        if escaped:
            regex, escaped = regex + re.escape(char), False
        elif char == "\\":
            escaped = True
        else:
            regex += {"%": ".*", "_": "."}.get(char, re.escape(char))
    if escaped:
        regex += re.escape("\\")
    return re.fullmatch(regex, text, re.DOTALL | (re.IGNORECASE if fold else 0)) is not None


@for_each("fold", [False, True], ids=["LIKE", "ILIKE"])
def test_like_patterns_match_alike(bench: Bench, fold: bool) -> None:
    wrong = []
    for pattern in PATTERNS:
        values = Values()
        where = bench.spec.like(column("s"), pattern, fold, values)
        got = chosen(bench, where, values)
        wanted = {text for text in PRESENT if like_reference(pattern, text, fold=fold)}
        if got != wanted:
            wrong.append((pattern, got ^ wanted))
    assert wrong == []


def test_like_may_be_negated_and_stand_beside_other_conditions(bench: Bench) -> None:
    values = Values()
    like = exp.Not(this=exp.Paren(this=bench.spec.like(column("s"), "a%", False, values)))
    where = exp.And(this=like, expression=bench.spec.like(column("s"), "%s%", True, values))
    wanted = {text for text in PRESENT if not text.startswith("a") and "s" in text.casefold()}
    assert chosen(bench, where, values) == wanted


def test_text_of_another_kind_can_be_matched_after_as_text(bench: Bench) -> None:
    values = Values()
    where = bench.spec.like(bench.spec.as_text(column("id")), "1_", False, values)
    rows = bench.select("v", [column("id")], binds=values, where=where)
    assert sorted(row[0] for row in rows) == list(range(10, 20))


@pytest.mark.server
def test_columns_of_another_character_set_group_by_code_point_too(request: pytest.FixtureRequest) -> None:
    with open_bench("mysql", request) as bench:
        bench.create("latin", {"s": "VARCHAR(10) CHARACTER SET latin1"}, [["a"], ["A"], ["é"], ["e"], ["e "]])
        key, again = bench.spec.text_key(column("s")), bench.spec.text_key(column("s"))
        assert len(bench.select("latin", [key], group=[again])) == 5


@pytest.mark.parametrize("collation", ["NOCASE", "RTRIM", "BINARY"])
def test_sqlite_columns_that_fold_text_compare_by_code_point_too(
    request: pytest.FixtureRequest, collation: str
) -> None:
    with open_bench("sqlite", request) as bench:
        bench.create("folded", {"s": f"VARCHAR(10) COLLATE {collation}"}, [["a"], ["A"], ["a "], ["b"]])
        spec, values = bench.spec, Values()
        assert len(bench.select("folded", [spec.text_key(column("s"))], group=[spec.text_key(column("s"))])) == 4
        assert bench.select("folded", [spec.count_distinct(column("s"), ValueKind.TEXT)]) == [(4,)]
        equal = exp.EQ(this=column("s"), expression=spec.text_equal(values("a")))
        member = spec.in_list(column("s"), ["a", "x"], ValueKind.TEXT, values)
        long_member = spec.in_list(column("s"), ["a", *map(str, range(2000))], ValueKind.TEXT, values)
        both = exp.And(this=equal, expression=exp.And(this=member, expression=long_member))
        assert bench.select("folded", [column("s")], binds=values, where=both) == [("a",)]
        assert bench.select("folded", [spec.extreme(column("s"), ValueKind.TEXT, False)]) == [("A",)]
