"""Who is admitted to what: the one door to users' databases."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.support.cases import for_each
from tests.support.execution import REGISTRY, database, settings

from analytics_core._core.adapters.connector import SqlAlchemyConnector
from analytics_core._engine.compile.fragments.parser import FragmentParser
from analytics_core._engine.compile.plan import SqlSource, TableSource
from analytics_core._engine.compile.templates import TemplateRenderer
from analytics_core._engine.execution.statements import StatementRunner
from analytics_core._engine.gate.gate import (
    DatabaseUse,
    DatasetAdmission,
    Gate,
    SchemaTables,
    UploadSchema,
    upload_schemas,
)
from analytics_core._engine.gate.loaded_datasets import LoadedDataset
from analytics_core._engine.gate.row_security import RowSecurity
from analytics_core._engine.rights.actor import Actor
from analytics_core._engine.rights.policy import Policy
from analytics_core._engine.rights.row_rules import RuleSet, TableName, make_rule_set
from analytics_core._records.datasource import Access, Dataset, Identity
from analytics_core._records.people import Grant, GrantTarget, GuestPass, GuestRule, GuestValue, Role, RowRule, User
from analytics_core._tools.once import Once
from analytics_core.errors import AccessError, AnalyticsError, DatabaseAccessError

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


def gate_with(books: Books, policy: Policy | None = None, *, tokens: Any = None) -> Gate:
    connector = SqlAlchemyConnector(settings=settings(), specs=REGISTRY.get)
    parser = FragmentParser(max_length=100)
    row_security = RowSecurity(books=books, sources=(), renderer=TemplateRenderer(), parser=parser)
    runner = StatementRunner(connector)
    policy = policy or Policy()
    return Gate(
        policy=policy,
        registry=REGISTRY,
        runner=runner,
        row_security=Once(lambda: row_security),
        books=books,
        tokens=tokens,
    )


@pytest.fixture(scope="module")
def gate() -> Gate:
    return gate_with(Books())


def actor(*grants: Grant, is_admin: bool = False) -> Actor:
    role = Role(id=1, name="role", is_admin=is_admin, grants=frozenset(grants))
    return Actor(user=User(id=5, username="ann"), roles=(role,))


NO_ONE = actor()
OF_DATASET = actor(Grant(target=GrantTarget.DATASET, target_id=ORDERS.id))
OF_SCHEMA = actor(Grant(target=GrantTarget.SCHEMA, target_id=SHOP.id, schema="main"))
OF_DATABASE = actor(Grant(target=GrantTarget.DATABASE, target_id=SHOP.id))
ADMIN = actor(is_admin=True)
EVERYBODY = (NO_ONE, OF_DATASET, OF_SCHEMA, OF_DATABASE, ADMIN)


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
        gate.admit(NO_ONE, SHOP, on=LOADED)
    changed = replace(ORDERS, table_name="other", audit=replace(ORDERS.audit, version=ORDERS.audit.version + 1))
    assert gate.admit(OF_DATASET, SHOP, on=replace(LOADED, dataset=changed)).loaded.dataset == changed


OWNED = replace(ORDERS, owner_ids=(NO_ONE.id,))


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
    gate.admit(NO_ONE, SHOP, on=replace(LOADED, dataset=OWNED))
    with pytest.raises(AccessError):
        gate.admit(NO_ONE, SHOP, on=replace(LOADED, dataset=put_back))


def test_the_state_of_a_dataset_has_another_name_once_a_store_that_is_put_back_changes_it_otherwise() -> None:
    later = replace(ORDERS.audit, changed_on=datetime(2030, 1, 1, tzinfo=UTC))
    datasets = [ORDERS, replace(ORDERS, uuid="other"), replace(ORDERS, audit=later)]
    databases = [SHOP, replace(SHOP, uuid="other"), replace(SHOP, audit=later)]
    states = {replace(LOADED, dataset=one, database=other).versions for one in datasets for other in databases}
    assert len(states) == len(datasets) * len(databases)


def test_what_is_prepared_for_a_guest_with_a_number_is_not_for_one_with_an_equal_number_that_is_another_text() -> None:
    def recalled(value: GuestValue) -> object:
        rule = GuestRule(clause="tenant = {{ value('tenant') }}", values=(("tenant", value),))
        ids = {"dashboard_ids": frozenset({1}), "chart_ids": frozenset({1}), "dataset_ids": frozenset({ORDERS.id})}
        guest = GuestPass(**ids, rules=(rule,), all_rows=None)
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


# ------------------------------------------------------------------------------------------------------------- uploads
def takes_files(extra: str | None = None, **changes: Any) -> Any:
    return replace(SHOP, **{"allow_file_upload": True, "extra": extra, **changes})


def test_the_schemas_of_uploads_are_those_that_extra_names_and_what_cannot_be_read_names_none_that_is_there() -> None:
    for extra, named in (
        (None, ()),
        ("", ()),
        ("{}", ()),
        ('{"schemas_allowed_for_file_upload": null}', ()),
        ('{"schemas_allowed_for_file_upload": []}', ()),
        ('{"schemas_allowed_for_file_upload": ["a", "b"]}', ("a", "b")),
        ('{"schemas_allowed_for_file_upload": ["a", 5]}', ("a", "")),
        ('{"schemas_allowed_for_file_upload": "a"}', ("",)),
        ("{", ("",)),
        ("[]", ("",)),
        ("[" * 100_000, ("",)),
    ):
        assert upload_schemas(takes_files(extra)) == named, extra


def test_files_go_where_the_database_takes_them_and_change_tables_only_in_named_schemas(gate: Gate) -> None:
    def admitted(who: Actor, record: Any, *, schema: str = "main", changes: bool = False) -> bool:
        try:
            gate.admit(who, record, on=UploadSchema(schema, changes_tables=changes), access=Access.WRITE)
        except DatabaseAccessError:
            return False
        return True

    open_to_all, named = takes_files(), takes_files('{"schemas_allowed_for_file_upload": ["main"]}')
    closed = takes_files(allow_file_upload=False)
    for who, may in ((NO_ONE, False), (OF_DATASET, False), (OF_SCHEMA, True), (OF_DATABASE, True), (ADMIN, True)):
        assert admitted(who, open_to_all) is admitted(who, named) is may
        assert not admitted(who, closed)
        assert not admitted(who, named, schema="other")
        assert admitted(who, open_to_all, schema="other") is (who in (OF_DATABASE, ADMIN))
        assert admitted(who, open_to_all, changes=True) is (who is ADMIN)
        assert admitted(who, named, changes=True) is may
    for record, changes, match in (
        (closed, False, "database 1 takes no files in this schema"),
        (open_to_all, True, "you may upload new tables into database 1, not replace or append"),
    ):
        with pytest.raises(DatabaseAccessError, match=match):
            gate.admit(OF_DATABASE, record, on=UploadSchema("main", changes_tables=changes), access=Access.WRITE)


# -------------------------------------------------------------------------------------------------------- whose tokens
class Tokens:
    """Asks each database in the name of its users, who signed in as their own number."""

    def are_needed_by(self, _database: object) -> bool:
        return True

    def authorization(self, _database: object, user_id: int) -> int:
        return user_id * 10


def test_where_users_are_asked_by_their_tokens_each_is_admitted_anew_and_guests_are_not() -> None:
    made = gate_with(Books(), tokens=Tokens())
    identity = Identity(username="ann", user_id=5, authorization=50)
    first, second = (made.admit(OF_DATASET, SHOP, on=LOADED) for _ in range(2))
    assert (first.identity, first is second, first == second) == (identity, False, True)
    assert made.admit(OF_DATABASE, SHOP, on=DatabaseUse.LIST).identity == identity
    rights = GuestPass(
        dashboard_ids=frozenset(), chart_ids=frozenset(), dataset_ids=frozenset({ORDERS.id}), rules=(), all_rows=None
    )
    guest = Actor(user=User(id=0, username="guest"), guest=rights)
    with pytest.raises(DatabaseAccessError, match="database 1 is asked in the name of its users, and guests are none"):
        made.admit(guest, SHOP, on=LOADED)
    plain = gate_with(Books())
    assert plain.admit(guest, SHOP, on=LOADED).row_filters == ()
    impersonating = replace(SHOP, impersonate_user=True)
    with pytest.raises(DatabaseAccessError, match="in the name of its users"):
        plain.admit(guest, impersonating, on=replace(LOADED, database=impersonating))


# -------------------------------------------------------------------------------------------------------- what is read
def test_a_source_is_the_table_or_the_checked_sql_with_the_rules_of_now(gate: Gate) -> None:
    admission = gate.admit(OF_DATASET, SHOP, on=LOADED)
    table = gate.source(admission, None)
    assert isinstance(table, TableSource)
    assert gate.tables_in(admission, [table]) == frozenset()
    source = gate.source(admission, "SELECT a FROM x JOIN main.y ON 1 = 1")
    assert isinstance(source, SqlSource)
    tables = frozenset({TableName(table="x"), TableName(table="y", schema="main")})
    assert gate.tables_in(admission, [table, source]) == tables
    again = gate.source(admission, "SELECT a FROM x JOIN main.y ON 1 = 1")
    assert isinstance(again, SqlSource)
    assert again.tree is source.tree
    assert gate.still_ruled(admission, [table, source])
    assert gate.rules_on(admission, frozenset()) == ""
    with pytest.raises(AnalyticsError, match="read-only"):
        gate.source(admission, "DELETE FROM x")
    hidden = Dataset(id=9, uuid="u", table_name="ac_users", database_id=SHOP.id)
    with pytest.raises(AnalyticsError, match="ac_users"):
        gate.source(replace(admission, loaded=replace(LOADED, dataset=hidden)), None)


def test_a_source_is_ruled_no_longer_once_a_rule_on_a_table_inside_is_stored() -> None:
    books = ChangingBooks()
    made = gate_with(books)
    admission = made.admit(OF_DATASET, SHOP, on=LOADED)
    source = made.source(admission, "SELECT a FROM orders")
    names = frozenset({TableName(table="orders")})
    before = made.rules_on(admission, names)
    assert made.still_ruled(admission, [source])
    books.clauses.append("1 = 1")
    assert not made.still_ruled(admission, [source])
    assert made.rules_on(admission, names) != before
