"""Which tables a row rule stands on: in doubt a name leads to the table."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.support.cases import for_each

from analytics_core._engine.rights.row_rules import TableName, make_rule_set, ruled_dataset, table_key
from analytics_core._records.datasource import Dataset
from analytics_core._records.people import RowRule, RowRuleType


@for_each(
    "written",
    [
        "sales",
        "SALES",
        "sales ",
        "sales$partitions",
        "sales@v1",
        "sal*",
        "*",
        "shop.sales",
        "\uff53\uff41\uff4c\uff45\uff53",  # wide letters: the same name on SQL Server
        "s\u00e1les",
    ],
)
def test_a_name_that_may_lead_to_a_ruled_table_is_bound(written: str) -> None:
    ruled = TableName(table="Sales", schema="shop")
    assert TableName(table=written, schema="shop").may_be(ruled)
    assert ruled.may_be(TableName(table=written))


@for_each(
    "written", ["sale", "salesx", "sales_2024", "x*", "sales.x", "wholesales", "sales2024$parts", "\u0441\u0430les"]
)
def test_another_table_is_not_bound(written: str) -> None:
    assert not TableName(table=written).may_be(TableName(table="sales"))


def test_a_schema_that_is_not_written_may_be_any() -> None:
    ruled = TableName(table="sales", schema="shop")
    assert TableName(table="sales").may_be(ruled)
    assert not TableName(table="sales", schema="other").may_be(ruled)
    assert TableName(table="sales", schema="other").may_be(ruled, two_parts_are_loose=True)


@given(st.text("aAbé.$@* \u00c9", min_size=1, max_size=7), st.text("aAbé.$@* \u00c9", min_size=1, max_size=7))
def test_names_that_may_be_one_table_have_one_key_or_any(first: str, second: str) -> None:
    one, two = TableName(table=first), TableName(table=second)
    if one.may_be(two):
        assert None in (table_key(one), table_key(two)) or table_key(one) == table_key(two)


def test_other_tables_have_other_keys() -> None:
    names = ("sales", "sale", "sales_2024", "wholesales")
    assert len({table_key(TableName(table=name)) for name in names}) == len(names)


HERE, ELSEWHERE = (
    Dataset(id=number, uuid=f"u-{number}", database_id=number, table_name="sales", schema="shop") for number in (1, 2)
)
RULE = RowRule(id=1, name="own", clause="1 = 0", filter_type=RowRuleType.BASE, dataset_ids=(1,), role_ids=())


def test_a_rule_stays_in_its_database() -> None:
    book = make_rule_set([RULE], [HERE, ELSEWHERE])
    name = TableName(table="sales", schema="shop")

    def bound(database_id: int) -> list[int]:
        units = book.on_table(frozenset(), database_id, name, two_parts_are_loose=True)
        return [rule.id for unit in units for rule in unit.rules]

    assert (bound(1), bound(2)) == ([1], [])
    assert len(book.on_dataset(frozenset(), ruled_dataset(HERE))) == 1
    assert book.on_dataset(frozenset(), ruled_dataset(ELSEWHERE)) == ()
    assert book.rules_over(1, name, two_parts_are_loose=False) == (RULE,)
    assert book.rules_over(2, name, two_parts_are_loose=False) == ()
    assert list(book.concerning(ruled_dataset(ELSEWHERE))) == []
