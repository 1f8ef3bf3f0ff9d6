"""Which stored rules are read for a question: those that concern it, however many others there are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from tests.support.many_records import fill_many, statements_of

from analytics_core import AnalyticsCore, Settings
from analytics_core._content.lookups.rule_sets import StoredRuleSets
from analytics_core._core.adapters.clock import SystemClock
from analytics_core._engine.rights.row_rules import TableName
from analytics_core._records.people import RowRule, RowRuleType

ROLES, RULES = 4, 40
EVERY_ROLE = frozenset(range(1, ROLES + 2))
OWN = TableName(table="table 00007")


@pytest.fixture(scope="module")
def core() -> Iterator[AnalyticsCore]:
    with AnalyticsCore(Settings(secret_key="a-key-of-these-tests-5f1c9e")) as host:
        host.create_first_administrator("admin")
        fill_many(host, datasets=RULES // 2, roles=ROLES, rules=RULES)
        yield host


@pytest.fixture(scope="module")
def books(core: AnalyticsCore) -> StoredRuleSets:
    return StoredRuleSets(core._runtime.content.store, SystemClock(), freshness_s=3_600)


def names(books: StoredRuleSets, *, tables: Sequence[TableName] = (OWN,), roles: frozenset[int] = EVERY_ROLE) -> Any:
    found = books.book(1, None, frozenset(tables), role_ids=roles)
    return [rule.name for rule in found.rules], set(found.datasets)


def test_rules_of_other_tables_are_not_read(books: StoredRuleSets) -> None:
    assert names(books) == (["rule 00006", "rule 00026"], {8})


def test_rules_of_a_table_of_that_name_in_another_database_are_not_read(books: StoredRuleSets) -> None:
    for tables in (OWN, TableName(table="table*")):
        assert books.book(2, None, frozenset({tables}), role_ids=EVERY_ROLE).rules == ()
        assert books.tables(2, tables) == ()
    assert len(books.tables(1, OWN)) == 1


def test_a_name_that_may_lead_anywhere_reads_all(books: StoredRuleSets) -> None:
    assert len(names(books, tables=[TableName(table="table*")])[0]) == RULES


def test_rules_for_other_roles_are_not_read(books: StoredRuleSets) -> None:
    assert names(books, roles=frozenset({4}))[0] == ["rule 00006", "rule 00026"]
    assert names(books, roles=frozenset({2})) == ([], set())
    assert names(books, roles=frozenset()) == ([], set())


def test_a_base_rule_is_read_for_everybody(core: AnalyticsCore, books: StoredRuleSets) -> None:
    admin = core.as_user(1)
    rule = {"name": "base", "clause": "1 = 1", "filter_type": "Base", "roles": [2], "tables": [8]}
    made = admin.row_level_security.create(rule)
    assert "base" in names(books, roles=frozenset())[0]
    assert "base" in names(books, roles=frozenset({2}))[0]
    admin.row_level_security.delete(made.id)
    assert "base" not in names(books, roles=frozenset())[0]


def test_what_was_read_is_kept_while_other_kinds_change(core: AnalyticsCore, books: StoredRuleSets) -> None:
    names(books)
    core.as_user(1).tags.create({"name": "another tag"})
    with statements_of(core) as seen:
        names(books)
    assert seen == []
    core.as_user(1).row_level_security.update(7, {"description": "changed"})
    with statements_of(core) as seen:
        names(books)
    assert seen


def test_of_rules_that_do_not_bind_the_first_are_read_and_the_rest_counted(core: AnalyticsCore) -> None:
    admin = core.as_user(1)
    database = admin.databases.create({"database_name": "other", "sqlalchemy_uri": "sqlite://"})
    dataset = admin.datasets.create({"database": database.id, "table_name": "t", "sql": "SELECT 1 AS id"}).id
    mine, others = (admin.roles.create({"name": name}).id for name in ("mine", "others"))
    rule = {"clause": "id = 1", "filter_type": "Regular", "tables": [dataset]}
    bound: Any = {"filter_type": RowRuleType.REGULAR, "dataset_ids": (dataset,), "role_ids": (others,)}
    with core._runtime.content.store.unit_of_work() as unit:
        for number in range(503):
            unit.row_rules.add(RowRule(id=0, name=f"n{number}", clause="1=1", **bound), actor_id=1)
    admin.row_level_security.create({**rule, "name": "own", "roles": [mine]})
    person = admin.users.create({"username": "tenant", "roles": [mine]}).id
    report = admin.row_level_security.simulate(person, dataset)
    assert [verdict.name for verdict in report.binding] == ["own"]
    assert len(report.verdicts) == 501
    assert report.omitted == 3
    assert "3 more rules do not bind" in str(report).splitlines()


def test_rules_that_are_not_regular_are_asked_for_as_an_index_finds_them(
    core: AnalyticsCore, books: StoredRuleSets
) -> None:
    with statements_of(core) as seen:
        books.book(1, 9, frozenset({OWN}), role_ids=frozenset({3}))
    conditions = [statement for statement, _ in seen if "filter_type" in statement]
    assert any("filter_type < ? OR ac_row_rules.filter_type > ?" in statement for statement in conditions)
    assert not any("filter_type !=" in statement for statement in conditions)
