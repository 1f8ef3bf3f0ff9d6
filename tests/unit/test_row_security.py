"""Row rules of the store, of a host and of a guest: which bind on a dataset and on a table, and how they read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from tests.support.execution import REGISTRY

from analytics_core._engine.compile.fragments.parser import FragmentParser
from analytics_core._engine.compile.relation import TableRef
from analytics_core._engine.compile.templates import TemplateRenderer
from analytics_core._engine.gate.guard import check_select
from analytics_core._engine.gate.row_security import RowSecurity, facts_of, guest_facts
from analytics_core._engine.rights.actor import Actor
from analytics_core._engine.rights.row_rules import RuleSet, TableName, make_rule_set, ruled_dataset
from analytics_core._records.datasource import Dataset, DatasetColumn
from analytics_core._records.people import GuestPass, GuestRule, Role, RowFilter, RowRule, User
from analytics_core.errors import DatasetAccessError, FragmentError, TemplateError, UnknownColumnError

SPEC = REGISTRY.get("postgresql")
COLUMNS = (DatasetColumn(column_name="region", type="TEXT"), DatasetColumn(column_name="price", type="INTEGER"))


def dataset(record_id: int, table: str = "orders", **facts: Any) -> Dataset:
    return Dataset(id=record_id, uuid=f"u{record_id}", table_name=table, database_id=1, columns=COLUMNS, **facts)


ORDERS, TWIN, OTHER = dataset(1, schema="sales"), dataset(2), dataset(3, "items")
VIRTUAL = dataset(4, "virtual", sql="SELECT 1")
ARCHIVE = dataset(5, schema="archive")
ALL = (ORDERS, TWIN, OTHER, VIRTUAL, ARCHIVE)


class Books:
    """Has rules and datasets; notes what it was asked for."""

    def __init__(self, *rules: RowRule) -> None:
        self.rules = rules
        self.calls: list[Any] = []

    def book(self, database_id: int, dataset_id: int | None, tables: frozenset[TableName], *, role_ids: Any) -> RuleSet:
        self.calls.append((database_id, dataset_id, tables, role_ids))
        return make_rule_set(self.rules, ALL)

    def book_with_others(self, *where: Any, role_ids: Any) -> tuple[RuleSet, int]:
        return self.book(*where, role_ids=role_ids), 3

    def tables(self, database_id: int, name: TableName) -> tuple[Dataset, ...]:
        assert database_id == 1
        loose = [one for one in ALL if one.table_name == name.table]
        return (*loose, VIRTUAL)


class Host:
    """Says the same rules of a dataset to everybody."""

    def __init__(self, **clauses: str) -> None:
        self.clauses = clauses
        self.group: str | None = None

    def row_filters(self, user: User, of: Dataset) -> Iterator[RowFilter]:
        if clause := self.clauses.get(f"d{of.id}"):
            yield RowFilter(name="secret name", clause=clause, group_key=self.group)


def rule(number: int, clause: str, *datasets: int, **facts: Any) -> RowRule:
    return RowRule(id=number, name=f"r{number}", clause=clause, role_ids=(1,), dataset_ids=datasets, **facts)


def security(*rules: RowRule, sources: Sequence[Host] = ()) -> RowSecurity:
    books: Any = Books(*rules)
    parser = FragmentParser(max_length=1_000)
    return RowSecurity(books=books, sources=sources, renderer=TemplateRenderer(), parser=parser)


def actor(*attributes: tuple[str, str], **facts: Any) -> Actor:
    user = User(id=5, username="ann", email="ann@example.com", attributes=attributes)
    return Actor(user=user, roles=(Role(id=1, name="North"),), **facts)


def guest(*rules: GuestRule, all_rows: frozenset[int] | None = frozenset(), **facts: Any) -> Actor:
    named = frozenset({1, 2, 3, 4})
    rights = GuestPass(dashboard_ids=named, chart_ids=named, dataset_ids=named, rules=rules, all_rows=all_rows)
    return actor(guest=rights, **facts)


def on(made: RowSecurity, who: Actor, of: Dataset = ORDERS) -> list[tuple[str, str]]:
    """Return name and clause of what binds on a dataset."""
    found = made.on_dataset(made.ruled(who, of, SPEC))
    return [(item.name, item.clause) for item in found]


def on_table(made: RowSecurity, who: Actor, table: TableRef, of: Dataset = OTHER) -> list[str]:
    """Return the names of the rules that bind on a table."""
    clauses = made.on_table(made.ruled(who, of, SPEC), table)
    return [clause.origin for clause in clauses]


# ---------------------------------------------------------------------------------------------------- the store's rules
def test_rules_of_the_dataset_come_first_then_those_of_others_over_its_table() -> None:
    made = security(rule(1, "price > 1", 2), rule(2, "price > 2", 1), rule(3, "price > 3", 3))
    assert on(made, actor()) == [("2 'r2'", "price > 2"), ("1 'r1'", "price > 1")]
    assert on(made, actor(), OTHER) == [("3 'r3'", "price > 3")]
    assert on(made, actor(), VIRTUAL) == []
    assert on(made, guest(all_rows=None)) == [("2", "price > 2"), ("1", "price > 1")]
    assert on(made, Actor(user=User(id=6, username="eve"))) == []


def test_a_book_is_asked_for_the_dataset_its_table_and_the_roles() -> None:
    made = security()
    books: Any = made._books
    ruled = made.ruled(actor(), ORDERS, SPEC)
    assert books.calls == [(1, 1, frozenset({TableName(table="orders", schema="sales")}), frozenset({1}))]
    made.ruled(actor(), VIRTUAL, SPEC)
    assert books.calls[-1] == (1, 4, frozenset(), frozenset({1}))
    names = frozenset({TableName(table="items")})
    assert made.digest(ruled, names) == make_rule_set((), ALL).digest
    assert books.calls[-1] == (1, None, names, frozenset({1}))
    assert (made.digest(ruled, frozenset()), len(books.calls)) == ("", 3)
    assert made.ruled(actor(), ORDERS, SPEC, own=ruled_dataset(OTHER)).own.id == 3


def test_clauses_with_templates_know_the_actor_and_bind_values() -> None:
    made = security(
        rule(1, "region = '{{ current_user_attribute('region') }}'", 1), rule(2, "price > 2", 1), rule(3, "{% x", 3)
    )
    (first, second) = made.on_dataset(made.ruled(actor(("region", "North")), ORDERS, SPEC))
    assert [one.value for one in first.placeholders] == ["North"]
    assert "North" not in first.clause
    assert (second.clause, second.placeholders) == ("price > 2", ())
    for who, of, name in ((actor(), ORDERS, "1 'r1'"), (actor(), OTHER, "3 'r3'"), (guest(all_rows=None), OTHER, "3")):
        with pytest.raises(TemplateError) as raised:
            on(made, who, of)
        assert raised.value.message.startswith(f"row rule {name!r}: ")


def test_the_facts_of_an_actor_are_theirs_and_a_guest_has_no_id() -> None:
    who = actor(("region", "North"), ("tier", "1"), ("region", "South"))
    facts = facts_of(who)
    assert (facts.user_id, facts.username, facts.email, facts.roles) == (5, "ann", "ann@example.com", ("North",))
    assert facts.attributes == {"region": ("North", "South"), "tier": ("1",)}
    of_guest = guest_facts(guest(), GuestRule(clause="c", values=(("ids", (1, 2)), ("name", "x"))))
    assert (of_guest.user_id, of_guest.values) == (None, {"ids": [1, 2], "name": "x"})


def test_each_place_that_reads_a_ruled_relation_has_its_rules() -> None:
    made = security(rule(1, "price > 1", 2), rule(2, "price > 2", 3))
    ruled = made.ruled(actor(), VIRTUAL, SPEC)

    def rules_in(sql: str) -> list[tuple[int, str, list[str]]]:
        source = made.in_source(ruled, check_select(sql, spec=SPEC, place="d"))
        return [(one.position, one.relation, [clause.origin for clause in one.clauses]) for one in source.rules]

    found = rules_in(
        "SELECT a.x FROM orders AS a JOIN sales.orders AS b ON 1 = 1 JOIN items ON 1 = 1 JOIN free ON 1 = 1"
    )
    assert [(relation, len(clauses)) for _, relation, clauses in found] == [
        ("orders", 1),
        ("sales.orders", 1),
        ("items", 1),
    ]
    assert len({position for position, _, _ in found}) == 3
    source = check_select("SELECT x FROM free", spec=SPEC, place="d")
    assert made.in_source(ruled, source) is source


def test_all_rules_on_a_dataset_and_on_its_tables_are_told_with_their_place() -> None:
    made = security(rule(1, "price > 1", 2), rule(2, "price > 2", 1), rule(3, "price > 3", 3))
    ruled = made.ruled(Actor(user=User(id=6, username="eve")), ORDERS, SPEC)
    found, omitted = made.concerning(ruled, [TableRef(table="items")])
    assert [(one.id, place) for one, place in found] == [
        (2, "this dataset"),
        (1, "another dataset over the same table"),
        (3, "table items in its SQL"),
    ]
    assert omitted == 3
    books: Any = made._books
    assert books.calls[-1][2:] == (
        frozenset({TableName(table="items"), TableName(table="orders", schema="sales")}),
        frozenset(),
    )
    assert made.concerning(made.ruled(actor(), VIRTUAL, SPEC), [])[0] == []


def test_a_clause_is_checked_on_the_columns_of_its_dataset() -> None:
    made = security()
    for clause in ("price > 1", "orders.price > 1", "region = '{{ current_user_attribute('any') }}'"):
        made.check(clause, ORDERS, SPEC)
    for clause, error in (("prcie > 1", UnknownColumnError), ("price >", FragmentError), ("{{ x", TemplateError)):
        with pytest.raises(error, match="clause on dataset 'orders'"):
            made.check(clause, ORDERS, SPEC)
    with pytest.raises(TemplateError):
        made.check("region = '{{ current_user_attribute('any') }}'", ORDERS, SPEC, facts=facts_of(actor()))


# ------------------------------------------------------------------------------------------------------ a host's rules
def test_what_a_host_says_of_datasets_over_the_table_binds_too_and_once() -> None:
    host = Host(d1="price > 1", d2="price > 2", d3="price > 3", d4="price > 4", d5="price > 5")
    made = security(sources=(host,))
    assert made.asks_a_host
    assert not security().asks_a_host
    assert on(made, actor()) == [("secret name", "price > 1"), ("secret name", "price > 2")]
    assert on(made, actor(), VIRTUAL) == [("secret name", "price > 4")]
    assert on(made, guest(all_rows=None)) == [("of the host", "price > 1"), ("of the host", "price > 2")]
    host.clauses["d2"] = "price > 1"
    assert on(made, actor()) == [("secret name", "price > 1")]
    host.group = "g"
    found = made.on_dataset(made.ruled(actor(), ORDERS, SPEC))
    assert [item.group_key for item in found] == ["g", "g on dataset 2"]
    assert [item.columns for item in found] == [None, ruled_dataset(TWIN).columns]
    assert len(on_table(made, actor(), TableRef(table="orders"))) == 3
    assert len(on_table(made, actor(), TableRef(table="orders", schema="archive"))) == 2
    assert on_table(made, actor(), TableRef(table="free")) == []


# ----------------------------------------------------------------------------------------------------- a guest's rules
def test_a_guest_has_the_rules_of_the_token_for_the_dataset_for_all_and_for_its_table() -> None:
    made = security()
    of = {key: GuestRule(clause=f"price > {key}", dataset_id=key) for key in (1, 2, 3, 4)}
    for_all = GuestRule(clause="price > 9")
    assert on(made, guest(of[3], of[2], for_all, of[1])) == [
        ("rule 3 of the guest token", "price > 9"),
        ("rule 4 of the guest token", "price > 1"),
        ("rule 2 of the guest token", "price > 2"),
    ]
    assert on(made, guest(of[4], of[1]), VIRTUAL) == [("rule 1 of the guest token", "price > 4")]
    (found,) = made.on_dataset(made.ruled(guest(of[2]), ORDERS, SPEC))
    assert (found.is_of_guest, found.columns) == (True, ruled_dataset(TWIN).columns)
    (found,) = made.on_dataset(made.ruled(guest(of[1]), ORDERS, SPEC))
    assert found.columns is None


def test_without_a_rule_a_guest_sees_only_what_the_token_names_as_seen_whole() -> None:
    made = security()
    only_other = GuestRule(clause="price > 3", dataset_id=3)
    for who in (guest(), guest(only_other), guest(all_rows=frozenset({2}))):
        with pytest.raises(
            DatasetAccessError, match=r"no row rule for dataset 1; mint it with one, or with all_rows=\[1\]"
        ):
            on(made, who)
    for who in (guest(all_rows=None), guest(all_rows=frozenset({1})), actor()):
        assert on(made, who) == []
    orders = TableRef(table="orders")
    for who in (guest(), guest(only_other), guest(all_rows=frozenset({1}))):
        with pytest.raises(DatasetAccessError, match="no row rule for table orders; mint it with one for its dataset"):
            on_table(made, who, orders)
    assert on_table(made, guest(all_rows=None), orders) == []
    assert on_table(made, guest(all_rows=frozenset({1, 2, 4, 5})), orders) == []
    for_all = GuestRule(clause="price > 9")
    assert len(on_table(made, guest(for_all), orders)) == 1
    assert len(on_table(made, guest(for_all, GuestRule(clause="price > 2", dataset_id=2)), orders)) == 2
    assert len(on_table(made, guest(GuestRule(clause="price > 2", dataset_id=2)), orders)) == 1


def test_a_guests_clause_has_the_values_of_its_rule() -> None:
    made = security()
    of_tenant = GuestRule(clause="region = {{ value('tenant') }}", dataset_id=1, values=(("tenant", "acme"),))
    (found,) = made.on_dataset(made.ruled(guest(of_tenant), ORDERS, SPEC))
    assert [one.value for one in found.placeholders] == ["acme"]
    assert "acme" not in found.clause
    with pytest.raises(TemplateError, match="row rule 'rule 1 of the guest token': "):
        on(made, guest(replace(of_tenant, values=())))
