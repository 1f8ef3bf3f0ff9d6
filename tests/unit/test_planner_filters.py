"""Filters of a query become predicates, values are converted to the column's kind, or the query is refused."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from tests.support.cases import for_each
from tests.support.planning import condition, plan, statement, stored, view_of

from analytics_core._engine.compile.plan import (
    AnyOf,
    BucketExpr,
    ColumnExpr,
    Compare,
    Comparison,
    InValues,
    IsNull,
    IsTruth,
    Match,
    OriginKind,
    RejectedFilter,
    Within,
)
from analytics_core._engine.compile.planning_context import PlanLimits
from analytics_core._engine.compile.values import bytes_displayed_as, convert
from analytics_core._engine.engines.types import TimeEncoding, TimeFormat, ValueKind, bytes_text
from analytics_core._records.datasource import DatasetColumn
from analytics_core.errors import (
    EmptyQueryError,
    FilterValueError,
    PayloadSchemaError,
    SubqueryNotAllowedError,
    UnknownColumnError,
    UnknownTimeGrainError,
)
from analytics_core.models.enums import TimeGrain

CITY = ColumnExpr("city", ValueKind.TEXT)
QUANTITY = ColumnExpr("quantity", ValueKind.INTEGER)


def item(col: Any, op: str, *val: Any, **fields: Any) -> dict[str, Any]:
    return {"col": col, "op": op, **({"val": val[0]} if val else {}), **fields}


# --------------------------------------------------------------------------------------------------------- operators
@for_each(
    ("op", "comparison"),
    [
        ("==", Comparison.EQUAL),
        ("!=", Comparison.NOT_EQUAL),
        (">", Comparison.GREATER),
        (">=", Comparison.GREATER_OR_EQUAL),
        ("<", Comparison.LESS),
        ("<=", Comparison.LESS_OR_EQUAL),
    ],
)
def test_a_comparison_holds_its_value(op: str, comparison: Comparison) -> None:
    assert condition(item("quantity", op, 5)) == Compare(QUANTITY, comparison, 5)
    assert condition(item("city", op, "Bonn")) == Compare(CITY, comparison, "Bonn")


@for_each("op", ["==", "!="])
def test_equality_with_null_asks_for_null(op: str) -> None:
    assert condition(item("city", op, None)) == IsNull(CITY, negated=op == "!=")


@for_each("op", [">", ">=", "<", "<=", "LIKE", "ILIKE", "NOT LIKE", "NOT ILIKE"])
def test_other_comparisons_need_a_value(op: str) -> None:
    with pytest.raises(FilterValueError, match="city"):
        condition(item("city", op, None))


def test_a_value_of_null_finds_nulls() -> None:
    assert condition(item("city", "==", None)) == IsNull(CITY)


def test_a_comparison_takes_a_list_of_one() -> None:
    assert condition(item("quantity", "==", [5])) == Compare(QUANTITY, Comparison.EQUAL, 5)
    for values in ([], [1, 2]):
        with pytest.raises(FilterValueError, match="one value"):
            condition(item("quantity", "==", values))


@for_each("text", ["<NULL>", "<empty string>", "NULL", "", " ", "\tBonn\n", "\n", " Bonn ", "Bonn\r\n", "\u2028"])
def test_every_text_is_a_value_and_nothing_of_it_is_cut_off(text: str) -> None:
    assert condition(item("city", "==", text)) == Compare(CITY, Comparison.EQUAL, text)
    assert condition(item("city", "IN", [text, None])) == InValues(CITY, (text,), with_null=True)
    assert condition(item("city", "LIKE", text)) == Match(CITY, text, fold_case=False, negated=False)


def test_membership_splits_null_from_the_values_and_drops_repeats() -> None:
    assert condition(item("city", "IN", ["a", "b", "a"])) == InValues(CITY, ("a", "b"))
    assert condition(item("city", "IN", ["a", None])) == InValues(CITY, ("a",), with_null=True)
    assert condition(item("city", "IN", [None])) == InValues(CITY, (), with_null=True)
    assert condition(item("city", "NOT IN", ["a", None])) == InValues(CITY, ("a",), with_null=True, negated=True)
    assert condition(item("city", "IN", "a")) == InValues(CITY, ("a",))


def test_an_empty_list_is_refused() -> None:
    for op in ("IN", "NOT IN"):
        for value in ([], None):
            with pytest.raises(FilterValueError, match="at least one"):
                condition(item("city", op, value))


def test_numbers_that_the_column_cannot_hold_are_left_out_of_a_list() -> None:
    made = condition(item("quantity", "IN", [1, 2.5, 2**40]), view=view_of("postgresql"))
    assert made.values == (1,)
    assert condition(item("city", "NOT IN", ["1", 2.5])) == InValues(CITY, ("1", "2.5"), negated=True)


@for_each("type_", ["INTEGER[]", "STRUCT(a INTEGER)", "MAP(VARCHAR, INTEGER)"])
def test_no_single_value_is_compared_with_lists_and_structs(type_: str) -> None:
    view = view_of("duckdb", columns=stored((DatasetColumn(column_name="tags", type=type_),)))
    for op, value in (("==", "x"), (">", "x"), ("IN", ["x"]), ("NOT IN", ["x"])):
        with pytest.raises(FilterValueError, match="filter on 'tags': the column holds lists or structs"):
            condition(item("tags", op, value), view=view)
    assert isinstance(condition(item("tags", "LIKE", "%x%"), view=view), Match)
    assert isinstance(condition(item("tags", "IS NULL"), view=view), IsNull)


def test_a_list_longer_than_the_setting_is_refused() -> None:
    limits = PlanLimits(max_in_values=3)
    assert condition(item("quantity", "IN", [1, 2, 3]), limits=limits) == InValues(QUANTITY, (1, 2, 3))
    with pytest.raises(FilterValueError, match="max_in_values"):
        condition(item("quantity", "IN", [1, 2, 3, 4]), limits=limits)


@pytest.mark.parametrize(
    ("op", "fold_case", "negated"),
    [("LIKE", False, False), ("NOT LIKE", False, True), ("ILIKE", True, False), ("not ilike", True, True)],
)
def test_patterns(op: str, fold_case: bool, negated: bool) -> None:
    assert condition(item("city", op, "Bo%")) == Match(CITY, "Bo%", fold_case=fold_case, negated=negated)


def test_a_pattern_may_be_a_number_also_on_a_column_of_numbers() -> None:
    assert condition(item("quantity", "LIKE", 5)) == Match(QUANTITY, "5")
    assert condition(item("quantity", "LIKE", "5%")) == Match(QUANTITY, "5%")


@pytest.mark.parametrize("column", ["weight", "is_paid"])
def test_a_pattern_needs_a_column_that_all_engines_write_alike(column: str) -> None:
    with pytest.raises(FilterValueError, match="differs by engine"):
        condition(item(column, "LIKE", "1%"))


@for_each("letter", ["\u0130", "\u1e9e", "\u1c90", "\u2d00", "\u212a"])
def test_a_letter_whose_case_mariadb_does_not_fold_is_refused_there(letter: str) -> None:
    payload = {"metrics": ["orders"], "filters": [item("city", "ILIKE", f"a{letter}%")]}
    with pytest.raises(FilterValueError, match="does not fold"):
        statement(payload, "mysql")
    assert statement(payload, "postgresql").sql
    assert statement({"metrics": ["orders"], "filters": [item("city", "ILIKE", "ÉßжΣ%")]}, "mysql").sql


@pytest.mark.parametrize("value", [True, ["a", "b"], []])
def test_a_pattern_is_one_text(value: Any) -> None:
    with pytest.raises(FilterValueError):
        condition(item("city", "LIKE", value))


def test_null_checks_need_no_value() -> None:
    assert condition(item("city", "IS NULL")) == IsNull(CITY)
    assert condition(item("city", "IS NOT NULL", "ignored")) == IsNull(CITY, negated=True)


def test_truth_checks_take_booleans_and_numbers() -> None:
    paid = ColumnExpr("is_paid", ValueKind.BOOLEAN)
    assert condition(item("is_paid", "IS TRUE")) == IsTruth(paid, truth=True)
    assert condition(item("quantity", "is false")) == IsTruth(QUANTITY, truth=False)
    for column in ("city", "ordered_at"):
        with pytest.raises(FilterValueError, match=column):
            condition(item(column, "IS TRUE"))


def test_booleans_have_no_order() -> None:
    with pytest.raises(FilterValueError, match="Boolean"):
        condition(item("is_paid", ">", True))


def test_operators_are_a_closed_list() -> None:
    for op in ("REGEX", "=", "LIKE '%' OR 1=1 --", "", "BETWEEN"):
        with pytest.raises(PayloadSchemaError):
            plan({"metrics": ["orders"], "filters": [item("city", op, "x")]})


# ---------------------------------------------------------------------------------------------------------- left sides
def test_a_filter_on_an_unknown_column_is_listed_and_does_nothing() -> None:
    made = plan({"metrics": ["orders"], "filters": [item("nowhere", "==", 1), item("city", "==", "x")]})
    assert made.rejected_filters == (RejectedFilter(column="nowhere", reason="not_in_datasource"),)
    assert made.applied_filters == ("city",)
    assert len(made.where) == 1


def test_a_filter_may_use_the_verbose_name() -> None:
    made = plan({"metrics": ["orders"], "filters": [item("Land", "==", "x")]})
    assert made.applied_filters == ("Land",)
    assert made.where[0].predicate == Compare(ColumnExpr("country", ValueKind.TEXT), Comparison.EQUAL, "x")


def test_a_filter_on_a_saved_metric_goes_to_having_and_counts_as_applied() -> None:
    made = plan({"columns": ["city"], "metrics": ["orders"], "filters": [item("turnover", ">", 5)]})
    assert made.where == ()
    assert isinstance(made.having[0].predicate, Compare)
    assert made.applied_filters == ("turnover",)


def test_a_filter_on_a_metric_needs_a_grouped_query() -> None:
    with pytest.raises(EmptyQueryError, match="metrics"):
        plan({"columns": ["city"], "filters": [item("turnover", ">", 5)]})


def test_a_filter_may_compare_an_expression() -> None:
    made = condition(item({"label": "shout", "sqlExpression": "UPPER(city)"}, "==", "BONN"))
    assert isinstance(made, Compare)
    assert made.value == "BONN"
    with pytest.raises(SubqueryNotAllowedError):
        condition(item({"label": "x", "sqlExpression": "(SELECT 1)"}, "==", 1))
    with pytest.raises(UnknownColumnError):
        condition(item({"label": "x", "sqlExpression": "nowhere"}, "==", 1))


def test_a_filter_on_a_calculated_column_takes_values_of_its_kind() -> None:
    assert condition(item("revenue", ">", "12.5")).value == 12.5
    with pytest.raises(FilterValueError, match="revenue"):
        condition(item("revenue", ">", "much"))


def test_a_filter_on_time_compares_a_moment_or_its_bucket() -> None:
    plain = condition(item("ordered_at", ">=", "2024-01-31"))
    assert plain.value == datetime(2024, 1, 31)
    assert isinstance(plain.left, ColumnExpr)
    cut = condition(item("ordered_at", "==", "2024-01-01", grain="P1M"))
    assert isinstance(cut.left, BucketExpr)
    assert cut.left.grain is TimeGrain.MONTH
    with pytest.raises(UnknownTimeGrainError):
        condition(item("ordered_at", "==", "2024-01-01", grain="P7M"))


def test_a_filter_on_time_sees_the_moved_moments_of_the_dataset() -> None:
    made = condition(item("ordered_at", "==", "2024-01-01"), view=view_of(offset=2))
    assert isinstance(made.left, ColumnExpr)
    assert made.value == datetime(2023, 12, 31, 22)


ORDERED_AT = ColumnExpr(
    "ordered_at", ValueKind.TIMESTAMP, nullable=False, time=TimeFormat(encoding=TimeEncoding.TIMESTAMP)
)
START, END = datetime(2024, 1, 1), datetime(2024, 1, 1, microsecond=1000)


@for_each(
    ("op", "made"),
    [
        ("==", Within(ORDERED_AT, START, END)),
        (
            "!=",
            AnyOf(
                (
                    Compare(ORDERED_AT, Comparison.LESS, START),
                    Compare(ORDERED_AT, Comparison.GREATER_OR_EQUAL, END),
                )
            ),
        ),
        (">", Compare(ORDERED_AT, Comparison.GREATER_OR_EQUAL, END)),
        (">=", Compare(ORDERED_AT, Comparison.GREATER_OR_EQUAL, START)),
        ("<", Compare(ORDERED_AT, Comparison.LESS, START)),
        ("<=", Compare(ORDERED_AT, Comparison.LESS, END)),
    ],
)
def test_a_number_stands_for_all_moments_of_its_millisecond(op: str, made: Any) -> None:
    assert condition(item("ordered_at", op, 1_704_067_200_000)) == made
    assert condition(item("ordered_at", op, "1704067200000")) == made


LAST = datetime(9999, 12, 31, 23, 59, 59, 999_000)


@for_each(
    ("op", "made"),
    [
        ("==", Within(ORDERED_AT, LAST, None)),
        ("!=", Compare(ORDERED_AT, Comparison.LESS, LAST)),
        (">", AnyOf(())),
        (">=", Compare(ORDERED_AT, Comparison.GREATER_OR_EQUAL, LAST)),
        ("<", Compare(ORDERED_AT, Comparison.LESS, LAST)),
        ("<=", IsNull(ORDERED_AT, negated=True)),
    ],
)
def test_the_last_millisecond_of_the_calendar_has_no_end(op: str, made: Any) -> None:
    assert condition(item("ordered_at", op, 253_402_300_799_999)) == made


@for_each(
    ("text", "moment"),
    [
        ("0", datetime(1970, 1, 1)),
        ("-1", datetime(1969, 12, 31, 23, 59, 59, 999_000)),
        ("86400000", datetime(1970, 1, 2)),
        ("2012010112345", datetime(2033, 10, 4, 3, 41, 52, 345_000)),
        ("1704067200000.5", datetime(2024, 1, 1, microsecond=500)),
        ("20240131", datetime(2024, 1, 31)),
    ],
)
def test_digits_are_milliseconds_unless_they_are_a_day(text: str, moment: datetime) -> None:
    assert convert(text, ValueKind.TIMESTAMP, column="c") == moment


@for_each("text", ["2024", "202401", "1" * 19, "1e3", "0x10", "\u0661\u0662", "1 000"])
def test_digits_that_are_a_year_a_month_or_no_number_are_no_moment(text: str) -> None:
    with pytest.raises(FilterValueError, match="takes a date"):
        convert(text, ValueKind.TIMESTAMP, column="c")


def test_members_may_be_milliseconds_exact_moments_and_null() -> None:
    exact = datetime(2024, 1, 2)
    assert condition(item("ordered_at", "IN", [1_704_067_200_000, "2024-01-02", None])) == AnyOf(
        (InValues(ORDERED_AT, (exact,), with_null=True), Within(ORDERED_AT, START, END))
    )
    many = condition(item("ordered_at", "IN", list(range(0, 600_000, 1000))))
    assert isinstance(many, InValues)
    assert len(many.values) == 600


def test_days_are_compared_as_they_are() -> None:
    for filter_ in (item("shipped_on", "==", 1_704_067_200_000), item("day_text", "==", 1_704_067_200_000)):
        made = condition(filter_)
        assert made == Compare(made.left, Comparison.EQUAL, START)


def test_buckets_are_compared_as_they_are() -> None:
    day = BucketExpr(ORDERED_AT, TimeGrain.DAY)
    for op, made in (("==", Compare(day, Comparison.EQUAL, START)), ("IN", InValues(day, (START,)))):
        assert condition(item("ordered_at", op, 1_704_067_200_000, grain="P1D")) == made


def test_a_moment_that_the_offset_moves_out_of_the_calendar_is_refused() -> None:
    with pytest.raises(FilterValueError, match="between the years"):
        condition(item("ordered_at", "==", "0001-01-01"), view=view_of(offset=2))


def test_a_range_without_bounds_is_taken_on_any_column() -> None:
    made = plan({"metrics": ["orders"], "filters": [item("quantity", "TEMPORAL_RANGE", "No filter")]})
    assert (made.where, made.applied_filters) == ((), ("quantity",))


def test_every_filter_says_where_it_came_from() -> None:
    (clause,) = plan({"metrics": ["orders"], "filters": [item("city", "==", "x")]}).where
    assert (clause.origin.kind, clause.origin.place) == (OriginKind.PAYLOAD, "filters[0] city")


# ------------------------------------------------------------------------------------------------------------ values
CONVERSIONS = [
    (ValueKind.INTEGER, 5, 5),
    (ValueKind.INTEGER, "5", 5),
    (ValueKind.INTEGER, " 5 ", 5),
    (ValueKind.INTEGER, 5.0, 5),
    (ValueKind.INTEGER, 5.5, 5.5),
    (ValueKind.INTEGER, "5.5", 5.5),
    (ValueKind.INTEGER, True, 1),
    (ValueKind.INTEGER, "1e3", 1000),
    (ValueKind.INTEGER, 2**63, 2**63),
    (ValueKind.FLOAT, "0.5", 0.5),
    (ValueKind.FLOAT, 2**70, float(2**70)),
    (ValueKind.DECIMAL, 0.1, Decimal("0.1")),
    (ValueKind.DECIMAL, 3, 3),
    (ValueKind.DECIMAL, Decimal("1.10"), Decimal("1.10")),
    (ValueKind.TEXT, 5, "5"),
    (ValueKind.TEXT, 5.5, "5.5"),
    (ValueKind.TEXT, True, "true"),
    (ValueKind.TEXT, "O'Hara", "O'Hara"),
    (ValueKind.BOOLEAN, "true", True),
    (ValueKind.BOOLEAN, "FALSE", False),
    (ValueKind.BOOLEAN, 1, True),
    (ValueKind.BOOLEAN, 0, False),
    (ValueKind.BOOLEAN, True, True),
    (ValueKind.UNKNOWN, 5, 5),
    (ValueKind.UNKNOWN, "5", "5"),
    (ValueKind.UNKNOWN, True, True),
    (ValueKind.TIMESTAMP, "2024-01-31T10:00:00+02:00", datetime(2024, 1, 31, 8)),
    (ValueKind.TIMESTAMP, 1_704_067_200_000, datetime(2024, 1, 1)),
    (ValueKind.TIMESTAMP, 1_704_067_200_500, datetime(2024, 1, 1, microsecond=500_000)),
    (ValueKind.TIMESTAMP, -1, datetime(1969, 12, 31, 23, 59, 59, 999_000)),
    (ValueKind.DATE, "2024-01-31", datetime(2024, 1, 31)),
    (ValueKind.TIMESTAMPTZ, datetime(2024, 1, 1, 1, tzinfo=timezone(timedelta(hours=1))), datetime(2024, 1, 1)),
    (ValueKind.TIMESTAMP, datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 1, 1)),
]


@for_each(("kind", "given", "made"), CONVERSIONS)
def test_a_value_becomes_one_of_the_column_s_kind(kind: ValueKind, given: Any, made: Any) -> None:
    converted = convert(given, kind, column="c")
    assert (converted, type(converted)) == (made, type(made))


@for_each("content", [b"", b"ab", b"0x", b"0x00ff", b"0x6162", b"\x00\xff", b"a\x00", "é".encode(), b"\xc3"])
def test_the_text_that_is_shown_of_bytes_finds_them(content: bytes) -> None:
    found = bytes_displayed_as(bytes_text(content), column="c")
    assert content in found
    assert {bytes_text(other) for other in found} == {bytes_text(content)}
    assert found == tuple(dict.fromkeys(found))
    assert convert(content, ValueKind.BYTES, column="c") == content


MISFITS = [
    (ValueKind.INTEGER, "apple"),
    (ValueKind.INTEGER, "1_000"),
    (ValueKind.INTEGER, ""),
    (ValueKind.INTEGER, "NaN"),
    (ValueKind.INTEGER, "Infinity"),
    (ValueKind.INTEGER, "1e999999999"),
    (ValueKind.INTEGER, float("nan")),
    (ValueKind.INTEGER, float("inf")),
    (ValueKind.DECIMAL, Decimal("sNaN")),
    (ValueKind.FLOAT, "0x10"),
    (ValueKind.DECIMAL, "1 OR 1=1"),
    (ValueKind.BOOLEAN, "maybe"),
    (ValueKind.BOOLEAN, 2),
    (ValueKind.TIMESTAMP, "yesterday"),
    (ValueKind.TIMESTAMP, "2024-02-30"),
    (ValueKind.TIMESTAMP, True),
    (ValueKind.TIMESTAMP, 10**18),
    (ValueKind.TIMESTAMP, -(10**17)),
    (ValueKind.TIMESTAMP, "0001-01-01T00:00:00+05:00"),
    (ValueKind.TEXT, b"bytes"),
    (ValueKind.UNKNOWN, b"bytes"),
    (ValueKind.UNKNOWN, object()),
    (ValueKind.TEXT, ("a", "b")),
]


@for_each(("kind", "given"), MISFITS)
def test_a_value_that_cannot_be_of_the_kind_is_refused(kind: ValueKind, given: Any) -> None:
    with pytest.raises(FilterValueError, match="'c'"):
        convert(given, kind, column="c")


@for_each("kind", list(ValueKind))
@for_each(
    "number",
    [10**400, -(10**400), 10**5000, Decimal("1e500"), 1e308, -1e-320, -1e-20],
    ids=["1e400", "-1e400", "1e5000", "Decimal 1e500", "1e308", "-1e-320", "-1e-20"],
)
def test_a_number_of_any_size_is_a_value_or_a_typed_refusal(kind: ValueKind, number: Any) -> None:
    with suppress(FilterValueError):
        convert(number, kind, column="c")


def test_a_number_beyond_every_engine_s_reach_is_refused() -> None:
    for kind in (ValueKind.INTEGER, ValueKind.FLOAT, ValueKind.DECIMAL, ValueKind.UNKNOWN, ValueKind.TEXT):
        with pytest.raises(FilterValueError, match="number"):
            convert(10**400, kind, column="c")


def test_a_refusal_shows_only_the_beginning_of_a_long_value() -> None:
    with pytest.raises(FilterValueError) as caught:
        convert("x" * 5000, ValueKind.INTEGER, column="c")
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("op", ["==", "!="])
def test_a_comparison_without_a_value_is_no_search_for_nulls(op: str) -> None:
    with pytest.raises(FilterValueError, match=f"filter on 'city': {op} needs val"):
        plan({"columns": ["city"], "filters": [{"col": "city", "op": op, "value": "Rome"}]})
    assert isinstance(condition({"col": "city", "op": op, "val": None}), IsNull)


def test_a_grain_of_a_filter_on_a_column_without_moments_is_told() -> None:
    made = plan({"columns": ["city"], "filters": [{"col": "city", "op": "==", "val": "Rome", "grain": "P1D"}]})
    assert made.unused == ("filters[0].grain P1D is not used: 'city' holds no moments",)
    timed = {"col": "ordered_at", "op": "==", "val": "2024-06-01", "grain": "P1D"}
    assert plan({"columns": ["city"], "filters": [timed]}).unused == ()


def test_a_grain_of_a_range_is_told_to_be_unread() -> None:
    ranged = {"col": "ordered_at", "op": "TEMPORAL_RANGE", "val": "2024-06-01 : 2024-06-03", "grain": "P1M"}
    made = plan({"columns": ["city"], "filters": [ranged]})
    assert made.unused == ("filters[0].grain P1M is not used: a TEMPORAL_RANGE filter bounds moments",)
