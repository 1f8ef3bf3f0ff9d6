"""Which row rules bind on a dataset and on a table, in which order, and under which names."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from analytics_core._engine.rights.row_rules import (
    RuleSet,
    TableName,
    binds,
    key_of_table,
    make_rule_set,
    ruled_dataset,
    table_key,
)
from analytics_core._records.datasource import Dataset, DatasetColumn
from analytics_core._records.people import RowRule, RowRuleType

COLUMNS = (
    DatasetColumn(column_name="region", type="TEXT"),
    DatasetColumn(column_name="made", type="TEXT", expression="1"),
)


def dataset(record_id: int, table: str = "orders", **facts: Any) -> Dataset:
    given = {"database_id": 1, "columns": COLUMNS, **facts}
    return Dataset(id=record_id, uuid=f"u{record_id}", table_name=table, **given)


def rule(number: int, *datasets: int, **facts: Any) -> RowRule:
    return RowRule(
        **{"id": number, "name": f"r{number}", "clause": "c", "role_ids": (1,), "dataset_ids": datasets, **facts}
    )


def book(*rules: RowRule) -> RuleSet:
    others = (dataset(4, "items"), dataset(5, database_id=2), dataset(6, "orders", sql="SELECT 1"))
    return make_rule_set(rules, (*others, dataset(2, schema="sales"), dataset(1)))


def ids(units: Any) -> list[list[int]]:
    return [[one.id for one in unit.rules] for unit in units]


ROLES = frozenset({1})


def test_a_rule_binds_who_has_its_role_and_a_base_rule_who_has_none_of_its_roles() -> None:
    for kind, roles, does in (
        (RowRuleType.REGULAR, {1}, True),
        (RowRuleType.REGULAR, {1, 9}, True),
        (RowRuleType.REGULAR, {9}, False),
        (RowRuleType.REGULAR, set(), False),
        (RowRuleType.BASE, {1}, False),
        (RowRuleType.BASE, {9}, True),
        (RowRuleType.BASE, set(), True),
    ):
        assert binds(rule(1, 1, filter_type=kind), frozenset(roles)) is does, (kind, roles)
    assert binds(rule(1, 1, filter_type=RowRuleType.BASE, role_ids=()), ROLES)
    assert not binds(rule(1, 1, role_ids=()), ROLES)


def test_on_a_dataset_its_own_rules_bind_first_then_those_of_others_over_its_table() -> None:
    made = book(rule(1, 2), rule(2, 1), rule(3, 4), rule(4, 5), rule(5, 6), rule(6, 1, role_ids=(9,)))
    one = made.datasets[1]
    units = made.on_dataset(ROLES, one)
    assert ids(units) == [[2], [1]]
    assert [(unit.dataset.id, unit.is_own) for unit in units] == [(1, True), (2, False)]
    assert ids(made.on_dataset(ROLES, made.datasets[6])) == [[5]]
    assert ids(made.on_dataset(frozenset({9}), one)) == [[6]]
    on_table = made.on_table(ROLES, 1, TableName(table="ORDERS"), two_parts_are_loose=False)
    assert ids(on_table) == [[2], [1]]
    assert not any(unit.is_own for unit in on_table)
    assert ids(made.on_table(ROLES, 2, TableName(table="orders"), two_parts_are_loose=False)) == [[4]]
    other = TableName(table="orders", schema="other")
    assert ids(made.on_table(ROLES, 1, other, two_parts_are_loose=False)) == [[2]]
    assert ids(made.on_table(ROLES, 1, other, two_parts_are_loose=True)) == [[2], [1]]


def test_rules_of_a_group_are_one_unit_of_one_dataset_and_what_another_implies_is_left_out() -> None:
    grouped = book(rule(1, 1, group_key="g"), rule(2, 1, group_key="g"), rule(3, 1, group_key="h"), rule(4, 1))
    assert ids(grouped.on_dataset(ROLES, grouped.datasets[1])) == [[4], [1, 2], [3]]
    shared = book(rule(1, 1, 2), rule(2, 1, group_key="g"), rule(3, 2))
    assert ids(shared.on_dataset(ROLES, shared.datasets[1])) == [[1], [2], [3]]
    weaker = book(rule(1, 1, group_key="g"), rule(2, 2, group_key="g"), rule(3, 1, 2, group_key="g"))
    assert ids(weaker.on_dataset(ROLES, weaker.datasets[1])) == [[1, 3], [2, 3]]
    stronger = book(rule(1, 1, 2, group_key="g"), rule(2, 2, group_key="g"))
    assert ids(stronger.on_dataset(ROLES, stronger.datasets[1])) == [[1]]


def test_filters_are_named_for_people_by_name_and_for_guests_by_number() -> None:
    made = book(rule(1, 1, group_key="g"), rule(2, 1))
    single, group = made.on_dataset(ROLES, made.datasets[1])
    (found,) = single.filters(for_guest=False)
    assert (found.name, found.clause, found.group_key, found.columns) == ("2 'r2'", "c", None, None)
    (found,) = group.filters(for_guest=True)
    assert (found.name, found.group_key) == ("1", "g on dataset 1")
    (found,) = replace(single, is_own=False).filters(for_guest=True)
    assert found.columns == (("region", "TEXT"),)


def test_every_rule_that_concerns_a_dataset_is_named_once_binding_or_not() -> None:
    made = book(rule(1, 2), rule(2, 1, 2, role_ids=()), rule(3, 4), rule(4, 6))
    found = [(one.id, place) for one, place in made.concerning(made.datasets[1])]
    assert found == [(2, "this dataset"), (1, "another dataset over the same table")]
    assert [one.id for one, _ in made.concerning(made.datasets[6])] == [4]
    over = made.rules_over(1, TableName(table="orders"), two_parts_are_loose=False)
    assert [one.id for one in over] == [1, 2]


def test_a_book_has_its_rules_by_number_and_a_digest_of_all_that_they_say() -> None:
    made = book(rule(2, 1), rule(1, 2))
    assert [one.id for one in made.rules] == [1, 2]
    assert list(made.datasets) == [1, 2, 4, 5, 6]
    assert made.digest == book(rule(1, 2), rule(2, 1)).digest
    changes: tuple[dict[str, Any], ...] = (
        {"name": "x"},
        {"clause": "x"},
        {"filter_type": RowRuleType.BASE},
        {"group_key": "x"},
        {"role_ids": (2,)},
        {"dataset_ids": (1, 2)},
        {"id": 9},
    )
    digests = [book(rule(1, 2), replace(rule(2, 1), **change)).digest for change in changes]
    assert len({made.digest, *digests}) == 8


def test_names_lead_to_a_table_as_engines_read_them() -> None:
    def may(one: TableName, other: TableName, *, loose: bool = False) -> bool:
        assert one.may_be(other, two_parts_are_loose=loose) == other.may_be(one, two_parts_are_loose=loose)
        return one.may_be(other, two_parts_are_loose=loose)

    orders = TableName(table="orders", schema="sales", catalog="shop")
    for table in ("ORDERS", "orders ", "orders$partitions", "orders@v1", "ord*", "*", "sales.orders", "örders"):
        assert may(orders, TableName(table=table)), table
    for accent in {*map(chr, range(0x300, 0x370))} - {"\u0345"}:  # the iota below is a letter where case is folded
        assert may(TableName(table=f"o{accent}l"), TableName(table="OL")), hex(ord(accent))
    assert not may(TableName(table="oʼl"), TableName(table="ol"))
    assert not may(orders, TableName(table="orders_old"))
    assert not may(TableName(table="items"), TableName(table="ord*"))
    for schema, catalog, does, loosely in (
        (None, None, True, True),
        ("SALES", "Shop", True, True),
        ("other", None, False, True),
        ("other", "shop", False, False),
        ("sales", "other", False, False),
        (None, "other", False, False),
    ):
        name = TableName(table="orders", schema=schema, catalog=catalog)
        assert (may(orders, name), may(orders, name, loose=True)) == (does, loosely), name


def test_stores_find_the_datasets_over_a_table_by_a_key_that_never_changes() -> None:
    key = table_key(TableName(table="orders"))
    assert key == "44ca0059a7c4a09e661ed10ce6c69e52"
    for table in ("ORDERS", "orders ", "orders$files", "orders@v1", "sales.orders"):
        assert table_key(TableName(table=table)) == key, table
    assert table_key(TableName(table="items")) != key
    for table in ("ord*", "*", "orders$a.b"):
        assert table_key(TableName(table=table)) is None, table
    assert [key_of_table(dataset(1, name)) for name in ("orders", "ord*")] == [key, "*"]
    assert key_of_table(dataset(1, sql="SELECT 1")) == ""
    found = ruled_dataset(dataset(7, schema="", catalog=""))
    assert (found.id, found.database_id, found.name, found.columns) == (
        7,
        1,
        TableName(table="orders"),
        (("region", "TEXT"),),
    )
    assert ruled_dataset(dataset(7, sql="SELECT 1")).name is None
