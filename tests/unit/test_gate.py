"""Who is admitted to what: the one door to users' databases."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.support.cases import for_each
from tests.support.execution import REGISTRY, database, settings

from analytics_core._adapters.connector import SqlAlchemyConnector
from analytics_core._compile.fragments.parser import FragmentParser
from analytics_core._compile.templates import TemplateRenderer
from analytics_core._execution.statements import StatementRunner
from analytics_core._gate.gate import DatabaseUse, DatasetAdmission, Gate, SchemaTables
from analytics_core._gate.row_security import RowSecurity
from analytics_core._lookups.loading import LoadedDataset
from analytics_core._records.datasource import Access, Dataset, Identity
from analytics_core._records.people import Grant, GrantTarget, GuestPass, GuestRule, GuestValue, Role, RowRule, User
from analytics_core._security.actor import Actor
from analytics_core._security.policy import Policy
from analytics_core._security.row_rules import RuleSet, TableName, make_rule_set
from analytics_core.errors import AccessError, DatabaseAccessError

SHOP = database("sqlite://")
ORDERS = Dataset(id=3, uuid="u", table_name="orders", schema="main", database_id=SHOP.id)
LOADED = LoadedDataset(dataset=ORDERS, database=SHOP, spec=REGISTRY.get("sqlite"))
ON_ORDERS = TableName(table="orders", schema="main")
ON_OTHERS = TableName(table="others", schema="main")


class Books:
    """Knows no rule, and that one dataset stands over `main.orders`."""

    def book(self, *_where: object, **_who: object) -> RuleSet:
        """Return an empty book."""
        return RuleSet()

    def tables(self, _database_id: int, table: TableName) -> tuple[Dataset, ...]:
        """Return the dataset over a table."""
        return (ORDERS,) if table == ON_ORDERS else ()


class ChangingBooks(Books):
    """Knows a rule that binds whoever has the role, once it is stored."""

    def __init__(self) -> None:
        self.clauses: list[str] = []

    def book(self, *_where: object, **_who: object) -> RuleSet:
        """Return the rules that are stored now."""
        rules = [
            RowRule(id=i, name="r", clause=clause, role_ids=(1,), dataset_ids=(ORDERS.id,))
            for i, clause in enumerate(self.clauses, start=1)
        ]
        return make_rule_set(rules, [ORDERS])


class Curfew(Policy):
    """Lets nobody read while it is night, which no record knows."""

    is_night = False

    def can_read_dataset(self, actor: Actor, dataset: Dataset) -> bool:
        """Tell whether the table lets the actor read, and it is day."""
        return not self.is_night and super().can_read_dataset(actor, dataset)


def gate_with(books: Books, policy: Policy | None = None) -> Gate:
    connector = SqlAlchemyConnector(settings=settings(), specs=REGISTRY.get)
    parser = FragmentParser(max_length=100)
    row_security = RowSecurity(books=books, sources=(), renderer=TemplateRenderer(), parser=parser)
    runner = StatementRunner(connector)
    policy = policy or Policy()
    return Gate(policy=policy, registry=REGISTRY, runner=runner, row_security=row_security, books=books)


@pytest.fixture(scope="module")
def gate() -> Gate:
    return gate_with(Books())


def actor(*grants: Grant, is_admin: bool = False) -> Actor:
    role = Role(id=1, name="role", is_admin=is_admin, grants=frozenset(grants))
    return Actor(user=User(id=5, username="ann"), roles=(role,))


NOBODY = actor()
OF_DATASET = actor(Grant(target=GrantTarget.DATASET, target_id=ORDERS.id))
OF_SCHEMA = actor(Grant(target=GrantTarget.SCHEMA, target_id=SHOP.id, schema="main"))
OF_DATABASE = actor(Grant(target=GrantTarget.DATABASE, target_id=SHOP.id))
ADMIN = actor(is_admin=True)
EVERYBODY = (NOBODY, OF_DATASET, OF_SCHEMA, OF_DATABASE, ADMIN)


@for_each(
    ("on", "admitted"),
    [
        (LOADED, (OF_DATASET, OF_SCHEMA, OF_DATABASE, ADMIN)),
        (ON_ORDERS, (OF_DATASET, OF_SCHEMA, OF_DATABASE, ADMIN)),
        (ON_OTHERS, (OF_SCHEMA, OF_DATABASE, ADMIN)),
        (SchemaTables("main"), (OF_SCHEMA, OF_DATABASE, ADMIN)),
        (SchemaTables("other"), (OF_DATABASE, ADMIN)),
        (SchemaTables(None), (OF_DATABASE, ADMIN)),
        (DatabaseUse.LIST, (OF_SCHEMA, OF_DATABASE, ADMIN)),
        (DatabaseUse.QUERY, (OF_DATABASE, ADMIN)),
        (DatabaseUse.MANAGE, (ADMIN,)),
    ],
)
def test_who_is_admitted_to_what(gate: Gate, on: Any, admitted: tuple[Actor, ...]) -> None:
    for who in EVERYBODY:
        if who in admitted:
            admission = gate.admit(who, SHOP, on=on)
            assert (admission.actor, admission.database, admission.access) == (who, SHOP, Access.READ)
            assert admission.spec is REGISTRY.get("sqlite")
        else:
            with pytest.raises(AccessError):
                gate.admit(who, SHOP, on=on)


def test_the_admission_to_a_dataset_tells_what_binds_its_actor(gate: Gate) -> None:
    admission = gate.admit(OF_DATASET, SHOP, on=LOADED)
    assert isinstance(admission, DatasetAdmission)
    assert (admission.loaded, admission.row_filters, admission.writes_sql) == (LOADED, (), False)
    assert gate.admit(OF_DATABASE, SHOP, on=LOADED).writes_sql


def test_an_admission_is_remembered_only_for_the_same_actor_rules_and_state_of_the_dataset() -> None:
    books = ChangingBooks()
    gate = gate_with(books)
    first = gate.admit(OF_DATASET, SHOP, on=LOADED)
    assert gate.admit(OF_DATASET, SHOP, on=replace(LOADED)) is first
    books.clauses = ["id = 1"]
    bound = gate.admit(OF_DATASET, SHOP, on=LOADED)
    assert [item.clause for item in bound.row_filters] == ["id = 1"]
    assert bound.recall_key != first.recall_key
    with pytest.raises(AccessError):
        gate.admit(NOBODY, SHOP, on=LOADED)
    changed = replace(ORDERS, table_name="other", audit=replace(ORDERS.audit, version=ORDERS.audit.version + 1))
    assert gate.admit(OF_DATASET, SHOP, on=replace(LOADED, dataset=changed)).loaded.dataset == changed


OWNED = replace(ORDERS, owner_ids=(NOBODY.id,))


@pytest.mark.parametrize(
    "put_back",
    [
        ORDERS,
        replace(ORDERS, uuid="other"),
        replace(ORDERS, audit=replace(ORDERS.audit, changed_on=datetime(2030, 1, 1, tzinfo=UTC))),
    ],
)
def test_no_admission_outlives_a_store_that_is_put_back_and_counts_the_same_versions_again(put_back: Dataset) -> None:
    gate = gate_with(Books())
    gate.admit(NOBODY, SHOP, on=replace(LOADED, dataset=OWNED))
    with pytest.raises(AccessError):
        gate.admit(NOBODY, SHOP, on=replace(LOADED, dataset=put_back))


def test_the_state_of_a_dataset_has_another_name_once_a_store_that_is_put_back_changes_it_otherwise() -> None:
    later = replace(ORDERS.audit, changed_on=datetime(2030, 1, 1, tzinfo=UTC))
    datasets = [ORDERS, replace(ORDERS, uuid="other"), replace(ORDERS, audit=later)]
    databases = [SHOP, replace(SHOP, uuid="other"), replace(SHOP, audit=later)]
    states = {replace(LOADED, dataset=one, database=other).versions for one in datasets for other in databases}
    assert len(states) == len(datasets) * len(databases)


def test_what_is_prepared_for_a_guest_with_a_number_is_not_for_one_with_an_equal_number_that_is_another_text() -> None:
    def recalled(value: GuestValue) -> object:
        rule = GuestRule(clause="tenant = {{ value('tenant') }}", values=(("tenant", value),))
        shown = {"dashboard_ids": frozenset({1}), "chart_ids": frozenset({1}), "dataset_ids": frozenset({ORDERS.id})}
        guest = GuestPass(**shown, rules=(rule,), all_rows=None)
        who = Actor(user=User(username="guest"), guest=guest)
        return gate_with(Books()).admit(who, SHOP, on=LOADED).recall_key

    assert recalled(1) == recalled(1)
    assert recalled(1) != recalled(1.0)


def test_a_policy_that_decides_by_methods_of_its_own_is_asked_each_time() -> None:
    policy = Curfew()
    gate = gate_with(Books(), policy)
    gate.admit(OF_DATASET, SHOP, on=LOADED)
    policy.is_night = True
    with pytest.raises(AccessError):
        gate.admit(OF_DATASET, SHOP, on=LOADED)


@for_each("on", [SchemaTables("main"), ON_ORDERS, *DatabaseUse])
def test_write_access_is_for_sql_on_a_database_that_allows_it(gate: Gate, on: Any) -> None:
    for record in (SHOP, replace(SHOP, allow_dml=True)):
        if record.allow_dml and on is DatabaseUse.QUERY:
            assert gate.admit(ADMIN, record, on=on, access=Access.WRITE).access is Access.WRITE
            with pytest.raises(AccessError):
                gate.admit(OF_SCHEMA, record, on=on, access=Access.WRITE)
        else:
            with pytest.raises(DatabaseAccessError, match="allow_dml"):
                gate.admit(ADMIN, record, on=on, access=Access.WRITE)


def test_who_may_create_connections_may_know_why_one_fails(gate: Gate) -> None:
    assert gate.admit(ADMIN, SHOP, on=DatabaseUse.LIST).may_know_why
    assert not gate.admit(OF_DATABASE, SHOP, on=DatabaseUse.LIST).may_know_why


def test_the_identity_is_the_users_where_the_database_impersonates(gate: Gate) -> None:
    audit = replace(SHOP.audit, version=SHOP.audit.version + 1)
    impersonating = replace(SHOP, impersonate_user=True, audit=audit)
    for on in (replace(LOADED, database=impersonating), DatabaseUse.LIST):
        assert gate.admit(OF_DATABASE, impersonating, on=on).identity == Identity(username="ann")
    for on in (LOADED, DatabaseUse.LIST):
        assert gate.admit(OF_DATABASE, SHOP, on=on).identity is None
