"""Names in custom SQL are looked up in the dataset, and never reach the engine unqualified."""

from __future__ import annotations

import pytest
from tests.support.cases import for_each
from tests.support.fragments import ENGINES, NAMES, parse

from analytics_core._engine.compile.fragments.parser import FragmentNames
from analytics_core.errors import ErrorType, UnknownColumnError


@pytest.mark.parametrize("on", ENGINES)
def test_every_column_is_qualified_and_quoted(on: str) -> None:
    quote = "`" if on == "mysql" else '"'
    written = parse("a + SUM(b) OVER (PARTITION BY Name ORDER BY ts)", on).sql
    assert all(f"{quote}t{quote}.{quote}{name}{quote}" in written for name in ("a", "b", "Name", "ts"))


@for_each("text", ["Name", "NAME", "name", '"Name"', '"name"', "orders.name", "SHOP.ORDERS.name", "t.name"])
def test_a_name_is_written_as_the_dataset_spells_it(text: str) -> None:
    assert parse(text).sql == '"t"."Name"'


def test_a_column_may_be_named_like_a_keyword() -> None:
    assert parse('"order" + "date"').sql == '"t"."order" + "t"."date"'
    assert parse("date").sql == '"t"."date"'


@pytest.mark.parametrize("text", ["EXTRACT(YEAR FROM ts)", "EXTRACT(DOW FROM ts)", "ts + INTERVAL '1' MONTH"])
def test_date_parts_are_no_columns(text: str) -> None:
    names = FragmentNames(alias="t", columns=("ts", "year", "dow", "month"))
    assert parse(text, "postgresql", names=names).sql.count('"') == 4


def test_the_exact_name_wins_over_one_of_another_case() -> None:
    names = FragmentNames(alias="t", columns=("size", "SIZE"))
    assert parse("SIZE", names=names).sql == '"t"."SIZE"'
    assert parse("size", names=names).sql == '"t"."size"'


def test_a_name_that_two_columns_share_but_for_case_is_unknown() -> None:
    with pytest.raises(UnknownColumnError):
        parse("Size", names=FragmentNames(alias="t", columns=("size", "SIZE")))


@for_each("name", ["nosuch", "rowid", "ctid", "begin", "vacuum", "LIMIT"])
def test_an_unknown_name_is_refused_wherever_it_stands(name: str) -> None:
    with pytest.raises(UnknownColumnError) as caught:
        parse(f"SUM(CASE WHEN {name} > 1 THEN a END)")
    assert caught.value.error_type is ErrorType.COLUMN_DOES_NOT_EXIST_ERROR
    assert caught.value.name == name


def test_the_error_names_the_place_and_the_nearest_column() -> None:
    with pytest.raises(
        UnknownColumnError, match=r"^metric 'm': dataset 't' has no column 'Nam'; did you mean 'Name'\?"
    ):
        parse("UPPER(Nam)")


@pytest.mark.parametrize("on", ["sqlite", "duckdb", "postgresql"])
def test_text_in_double_quotes_is_no_text(on: str) -> None:
    with pytest.raises(UnknownColumnError, match="write text in single quotes: 'Shipped'"):
        parse('Name = "Shipped"', on)


@pytest.mark.parametrize(
    ("on", "text"),
    [("sqlite", "users.password"), ("postgresql", "pg_user.a"), ("mysql", "mysql.user.a"), ("sqlite", "shop.other.a")],
)
def test_a_column_of_another_table_is_refused(on: str, text: str) -> None:
    with pytest.raises(UnknownColumnError):
        parse(text, on)


def test_fields_are_read_only_where_the_dialect_knows_them() -> None:
    assert parse("doc.key", "duckdb").sql == '"t"."doc".key'
    with pytest.raises(UnknownColumnError):
        parse("doc.key", "postgresql")
    assert parse("(doc).key", "postgresql").sql == '("t"."doc").key'


def test_the_parameter_of_a_lambda_is_no_column() -> None:
    names = FragmentNames(alias="t", columns=("xs", "limit_"))
    assert parse("list_filter(xs, x -> x > limit_)", "duckdb", names=names).sql == (
        'LIST_FILTER("t"."xs", LAMBDA x : x > "t"."limit_")'
    )


@for_each("name", ['say "hi"', "a.b", "50%", "naïve", "漢字", "semi;colon", "--", "back`tick", "{{ x }}"])
@for_each("on", ENGINES)
def test_awkward_names_are_quoted_by_the_dialect(on: str, name: str) -> None:
    quoted = f"`{name.replace('`', '``')}`" if on == "mysql" else '"' + name.replace('"', '""') + '"'
    found = parse(f"{quoted} + 1", on, names=FragmentNames(alias="t", columns=(name,)))
    assert f".{quoted} + 1" in found.sql


def test_columns_inside_an_allowed_sub_query_stay_as_they_are() -> None:
    allowed = parse("a IN (SELECT id FROM other)", allow_subqueries=True)
    assert allowed.sql == '"t"."a" IN (SELECT id FROM other)'


def test_the_names_of_a_dataset_are_part_of_what_is_remembered() -> None:
    other = FragmentNames(alias="u", columns=NAMES.columns)
    assert parse("a").sql == '"t"."a"'
    assert parse("a", names=other).sql == '"u"."a"'
