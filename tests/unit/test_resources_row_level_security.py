"""`core.row_level_security`: from creating a rule to deleting it, for administrators alone."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.support.shop import KEY, ORDERS, add_reader, ask, column_put, context, hosted_core, rows, shop_url

from analytics_core import AnalyticsCore, Settings, errors
from analytics_core._records.repositories import ListFilter, ListQuery


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    return shop_url(tmp_path_factory.mktemp("rules"))


@pytest.fixture
def host(url: str) -> Iterator[AnalyticsCore]:
    with hosted_core(url) as host:
        yield host


@pytest.fixture
def admin(host: AnalyticsCore) -> AnalyticsCore:
    return host.as_user("admin")


def user_of(admin: AnalyticsCore, name: str) -> Any:
    return admin.users.list([{"col": "username", "op": "eq", "val": name}]).result[0]


def rule(**changes: Any) -> dict[str, Any]:
    fields = {"name": "eu", "clause": "country = 'France'", "filter_type": "Base", "roles": [], "tables": [1]}
    return {**fields, **changes}


# ----------------------------------------------------------------------------------------------------------- records
def test_a_rule_is_stored_read_changed_and_deleted(admin: AnalyticsCore) -> None:
    made = admin.row_level_security.create(rule(roles=[1], description="why", group_key="land"))
    assert made.to_payload() == {
        "id": made.id,
        "name": "eu",
        "description": "why",
        "clause": "country = 'France'",
        "filter_type": "Base",
        "group_key": "land",
        "roles": [{"id": 1, "name": "Administrators"}],
        "tables": [{"id": 1, "schema": None, "table_name": "orders"}],
    }
    assert admin.row_level_security.get(made.id) == made
    changed = admin.row_level_security.update(
        made.id, {"clause": "id > 3", "filter_type": "Regular", "group_key": None}
    )
    assert (changed.clause, changed.filter_type.value, changed.group_key) == ("id > 3", "Regular", None)
    assert (changed.name, changed.description, [role.id for role in changed.roles]) == ("eu", "why", [1])
    admin.row_level_security.delete(made.id)
    with pytest.raises(errors.NotFoundError):
        admin.row_level_security.get(made.id)


def test_an_update_replaces_lists_and_null_clears_texts(admin: AnalyticsCore) -> None:
    customers = admin.datasets.create({"database": 1, "table_name": "customers"})
    made = admin.row_level_security.create(rule(clause="id > 0", roles=[1], description="d"))
    put = {"roles": [], "tables": [customers.id], "description": None, "group_key": "  "}
    changed = admin.row_level_security.update(made.id, put)
    assert (changed.roles, [t.id for t in changed.tables]) == ((), [customers.id])
    assert (changed.description, changed.group_key) == (None, None)


def test_lists_are_filtered_ordered_and_cut(admin: AnalyticsCore) -> None:
    customers = admin.datasets.create({"database": 1, "table_name": "customers"})
    for name, tables, kind in (("a", [1], "Base"), ("b", [1, customers.id], "Regular"), ("c", [customers.id], "Base")):
        admin.row_level_security.create(rule(name=name, clause="id > 0", tables=tables, filter_type=kind, roles=[1]))
    page = admin.row_level_security.list(order_by="-name", page_size=2)
    assert (page.count, [item.name for item in page]) == (3, ["c", "b"])
    assert page.result[0].changed_on_delta_humanized == "now"
    named = admin.row_level_security.list([{"col": "tables", "op": "eq", "val": customers.id}], columns=["name"])
    assert [item.to_payload() for item in named] == [{"name": "b"}, {"name": "c"}]
    base = admin.row_level_security.list([{"col": "filter_type", "op": "eq", "val": "Base"}])
    assert [item.name for item in base] == ["a", "c"]
    assert len(admin.row_level_security.list([{"col": "roles", "op": "in", "val": [7]}])) == 0
    with pytest.raises(errors.PayloadSchemaError, match="clause"):
        admin.row_level_security.list([{"col": "clause", "op": "eq", "val": "x"}])


def test_only_administrators_see_and_manage_rules(host: AnalyticsCore, admin: AnalyticsCore) -> None:
    made = admin.row_level_security.create(rule())
    anna = add_reader(host, "anna").row_level_security
    acts = (
        lambda: anna.create(rule(name="mine")),
        lambda: anna.get(made.id),
        anna.list,
        lambda: anna.update(made.id, {"clause": "1 = 1"}),
        lambda: anna.delete(made.id),
        lambda: anna.simulate("anna", 1),
    )
    for act in acts:
        with pytest.raises(errors.AccessError, match="administrator") as rejected:
            act()
        assert rejected.value.status == 403
    assert admin.row_level_security.get(made.id).clause == "country = 'France'"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "error", "says"),
    [
        ({"clause": ""}, errors.PayloadSchemaError, "clause: is empty"),
        ({"clause": "country ="}, errors.FragmentError, "not one SQL expression"),
        ({"clause": "country"}, None, None),
        ({"clause": "UPPER(country)"}, errors.FragmentError, "not true or false"),
        ({"clause": "SUM(amount) > 3"}, errors.FragmentError, "aggregate"),
        ({"clause": "ROW_NUMBER() OVER () = 1"}, errors.FragmentError, "window"),
        ({"clause": "1 = 1; DELETE FROM orders"}, errors.FragmentError, "more than one statement|not one SQL"),
        ({"clause": "1 = 1) OR (1 = 1"}, errors.FragmentError, "not one SQL expression"),
        ({"clause": "id IN (SELECT id FROM customers)"}, errors.SubqueryNotAllowedError, "sub-queries"),
        ({"clause": "EXISTS (SELECT 1)"}, errors.SubqueryNotAllowedError, "sub-queries"),
        ({"clause": "id IN customers"}, errors.SubqueryNotAllowedError, "sub-queries"),
        ({"clause": "load_extension('x') = 1"}, errors.FragmentError, "load_extension"),
        ({"clause": "land = 'x'"}, errors.UnknownColumnError, "no column 'land'"),
        ({"clause": "country = {{ url_param('x') }}"}, errors.MissingTemplateValueError, "url_param"),
        ({"clause": "country IN {{ filter_values('country')|where_in }}"}, errors.MissingTemplateValueError, "filter"),
        ({"clause": "country = {{ nobody }}"}, errors.MissingTemplateValueError, "nobody"),
        ({"clause": "country = {{ current_username() }"}, errors.TemplateError, "template"),
        ({"clause": "{{ current_username() }} = 'x' OR x{{ current_username() }}y = 1"}, errors.TemplateError, "value"),
        ({"clause": "'{{ current_user_roles() }}!' = country"}, errors.FragmentError, "list"),
        ({"clause": "country = '1; DROP TABLE orders' -- )"}, None, None),
        ({"clause": "country = '(SELECT 1)' OR country = 'it''s'"}, None, None),
        ({"clause": "country = '{{ current_username() }}' OR country LIKE '{{ current_username() }}%'"}, None, None),
        ({"clause": "country IN ({{ current_user_roles() }})"}, None, None),
        ({"tables": []}, errors.PayloadSchemaError, "tables"),
        ({"tables": [1, 99]}, errors.NotFoundError, "99"),
        ({"roles": [99]}, errors.NotFoundError, "99"),
        ({"filter_type": "Other"}, errors.PayloadSchemaError, "filter_type"),
        ({"name": ""}, errors.PayloadSchemaError, "name"),
        ({"name": "x" * 256}, errors.PayloadSchemaError, "name"),
        ({"clauses": "1 = 1"}, errors.PayloadSchemaError, "clause"),
    ],
)
def test_a_clause_is_read_when_it_is_stored(
    admin: AnalyticsCore, changes: dict[str, Any], error: type[Exception] | None, says: str | None
) -> None:
    made = admin.row_level_security.create(rule(name="before"))
    if error is None:
        assert admin.row_level_security.create(rule(**changes)).clause == changes["clause"]
        assert admin.row_level_security.update(made.id, changes).clause == changes["clause"]
        return
    with pytest.raises(error, match=says):
        admin.row_level_security.create(rule(**changes))
    if changes.get("tables") != []:
        with pytest.raises(error, match=says):
            admin.row_level_security.update(made.id, changes)
    assert [item.clause for item in admin.row_level_security.list()] == ["country = 'France'"]


def test_a_clause_must_fit_every_dataset_of_the_rule(admin: AnalyticsCore) -> None:
    customers = admin.datasets.create({"database": 1, "table_name": "customers"})
    with pytest.raises(errors.UnknownColumnError, match="customers"):
        admin.row_level_security.create(rule(clause="quantity > 1", tables=[1, customers.id]))


def test_a_name_is_taken_once(admin: AnalyticsCore) -> None:
    admin.row_level_security.create(rule())
    with pytest.raises(errors.AlreadyExistsError, match="'eu'"):
        admin.row_level_security.create(rule())


def test_each_change_is_in_the_log(admin: AnalyticsCore) -> None:
    made = admin.row_level_security.create(rule())
    admin.row_level_security.update(made.id, {"clause": "id > 1"})
    admin.row_level_security.delete(made.id)
    with admin._runtime.content.store.unit_of_work() as unit:
        of_rules = ListQuery(filters=(ListFilter(col="action", op="starts_with", val="row_level_security."),))
        logged = [(entry.action, entry.user_id, entry.json) for entry in unit.logs.list(of_rules)[1]]
    details = f'{{"row_rule_id": {made.id}}}'
    assert logged == [(f"row_level_security.{verb}", 1, details) for verb in ("create", "update", "delete")]


# ----------------------------------------------------------------------------------------------- datasets with rules
def test_a_dataset_with_rules_stays_and_keeps_its_table(host: AnalyticsCore, admin: AnalyticsCore) -> None:
    add_reader(host, "anna")
    anna_id = user_of(admin, "anna").id
    admin.datasets.update(1, {"owners": [anna_id]})
    made = admin.row_level_security.create(rule())
    anna = host.as_user("anna")
    with pytest.raises(errors.InUseError, match="row rules"):
        anna.datasets.delete(1)
    with pytest.raises(errors.AccessError, match="administrator"):
        anna.datasets.update(1, {"table_name": "customers"})
    with pytest.raises(errors.AccessError, match="administrator"):
        anna.datasets.update(1, {"sql": "SELECT * FROM orders"})
    assert anna.datasets.update(1, {"description": "ours"}).description == "ours"
    admin.row_level_security.delete(made.id)
    anna.datasets.delete(1)


# ----------------------------------------------------------------------------------------------- who is bound by what
CLAUSES = {"a": "country = 'France'", "b": "channel = 'web'", "c": "quantity = 1"}
HOLDS = {
    "a": lambda row: row["country"] == "France",
    "b": lambda row: row["channel"] == "web",
    "c": lambda row: row["quantity"] == 1,
}


def permitted(row: dict[str, Any], rules: list[dict[str, Any]], roles: set[int]) -> bool:
    """The contract's words in plain Python."""
    alternatives: dict[str, list[bool]] = {}
    for item in rules:
        has_role = bool(roles & set(item["roles"]))
        if has_role == (item["filter_type"] == "Regular"):
            alternatives.setdefault(item["group_key"] or item["name"], []).append(HOLDS[item["name"]](row))
    return all(any(members) for members in alternatives.values())


@pytest.mark.slow
def test_base_regular_and_groups_bind_as_the_contract_says(host: AnalyticsCore, admin: AnalyticsCore) -> None:

    people = {"anna": add_reader(host, "anna"), "bert": add_reader(host, "bert"), "admin": admin}
    role_of = {name: {role.id for role in user_of(admin, name).roles} for name in people}
    (anna,), (bert,) = role_of["anna"], role_of["bert"]
    for kinds, keys, roles in itertools.product(
        (("Regular", "Regular", "Base"), ("Base", "Regular", "Regular"), ("Base", "Base", "Base")),
        (("", "", ""), ("g", "g", ""), ("g", "h", "g"), ("g", "g", "g")),
        (([anna], [bert], [anna]), ([anna, bert], [anna], []), ([], [], [1])),
    ):
        rules = [
            rule(name=name, clause=CLAUSES[name], filter_type=kind, group_key=key, roles=role_ids)
            for name, kind, key, role_ids in zip("abc", kinds, keys, roles, strict=True)
        ]
        made = [admin.row_level_security.create(item).id for item in rules]
        for name, core in people.items():
            expected = [row["id"] for row in ORDERS if permitted(row, rules, role_of[name])]
            seen = sorted(row[0] for row in rows(core, {"columns": ["id"], "row_limit": 5_000}))
            assert seen == sorted(expected), (name, rules)
        for rule_id in made:
            admin.row_level_security.delete(rule_id)


def test_a_change_counts_at_once_for_who_asked_before(host: AnalyticsCore, admin: AnalyticsCore) -> None:
    anna = add_reader(host, "anna")
    query = {"columns": ["country"], "metrics": ["count"]}
    everything = rows(anna, query)
    made = admin.row_level_security.create(rule())
    assert {row[0] for row in rows(anna, query)} == {"France"}
    admin.row_level_security.update(made.id, {"clause": "country = 'Brazil'"})
    assert {row[0] for row in rows(anna, query)} == {"Brazil"}
    admin.row_level_security.delete(made.id)
    assert rows(anna, query) == everything


@pytest.mark.slow
def test_rules_cost_no_statement_of_the_store_for_each_query(url: str) -> None:
    with hosted_core(url, settings={"metadata_freshness_s": 600}) as host:  # a slow machine needs longer than usual
        admin = host.as_user("admin")
        for number in range(20):
            admin.row_level_security.create(rule(name=f"r{number}", clause=f"id <> {number}"))
        virtual = admin.datasets.create({"database": 1, "table_name": "v", "sql": "SELECT id FROM orders"})
        anna = add_reader(host, "anna")
        for dataset in (1, virtual.id):
            ask(anna, {"metrics": ["count"]}, dataset=dataset)
        statements: list[str] = []
        engine = host._runtime.content.store._engine
        sa.event.listen(engine, "before_cursor_execute", lambda *args: statements.append(args[2]))
        for dataset, number in itertools.product((1, virtual.id), range(3)):
            ask(anna, {"metrics": ["count"], "row_limit": 10 + number}, dataset=dataset)
        assert statements == []


def test_a_rule_that_no_longer_fits_stops_the_query_and_tells_nothing(
    host: AnalyticsCore, admin: AnalyticsCore
) -> None:
    anna = add_reader(host, "anna")
    admin.row_level_security.create(rule(clause="channel = 'secret-word'"))
    virtual = admin.datasets.create({"database": 1, "table_name": "v", "sql": "SELECT id FROM orders"})
    columns = [{"column_name": "id", "type": "INTEGER"}, {"column_name": "channel", "expression": "id + 1"}]
    admin.datasets.update(1, {"columns": columns})
    for dataset in (1, virtual.id):
        result = anna.charts.data(context({"metrics": ["count"]}, dataset=dataset)).results[0]
        assert result.rowcount == 0
        assert isinstance(result.failure, errors.RowRuleError)
        assert "secret-word" not in str(result.to_payload())
        assert "channel" not in str(result.to_payload())
    report = admin.row_level_security.simulate("anna", 1)
    assert "channel" in str(report)
    assert isinstance(report.failure, errors.RowRuleError)


# ------------------------------------------------------------------------------------------------- keys and reporting
def test_the_cache_key_holds_rules_and_values_also_inside_virtual_datasets(
    host: AnalyticsCore, admin: AnalyticsCore
) -> None:
    cores = {name: add_reader(host, name) for name in ("anna", "bert", "carl")}
    for name, country in (("anna", "France"), ("bert", "Brazil"), ("carl", "France")):
        user = user_of(admin, name)
        admin.users.update(user.id, {"attributes": {"country": country}})
    clause = "country = {{ current_user_attribute('country') }}"
    admin.row_level_security.create(rule(clause=clause, roles=[1]))
    virtual = admin.datasets.create({"database": 1, "table_name": "v", "sql": "SELECT id, country FROM orders"})
    for dataset in (1, virtual.id):
        requested = context({"columns": ["country"], "metrics": ["count"]}, dataset=dataset)
        parts = {name: core.charts.explain(requested).queries[0] for name, core in cores.items()}
        assert parts["anna"].cache_key == parts["carl"].cache_key != parts["bert"].cache_key
        assert parts["anna"].cache_key != admin.charts.explain(requested).queries[0].cache_key
        assert parts["anna"].cache_key_parts["rules"] == ["row rule: 1 'eu'"]
        for name, country in (("anna", "France"), ("bert", "Brazil"), ("carl", "France")):
            result = cores[name].charts.data(requested).results[0]
            assert [row["country"] for row in result.data] == [country]
            assert result.is_cached == (name == "carl")


def test_explain_names_the_rule_of_each_clause(host: AnalyticsCore, admin: AnalyticsCore) -> None:
    admin.row_level_security.create(rule(roles=[1]))
    virtual = admin.datasets.create({"database": 1, "table_name": "v", "sql": "SELECT id, country FROM orders"})
    anna = add_reader(host, "anna")
    (plain,) = [
        c for c in anna.charts.explain(context({"metrics": ["count"]})).queries[0].clauses if "rule" in c.origin
    ]
    assert (plain.part, plain.origin) == ("where", "row rule: 1 'eu'")
    inside = anna.charts.explain(context({"metrics": ["count"]}, dataset=virtual.id)).queries[0].clauses
    (clause,) = [c for c in inside if "rule" in c.origin]
    assert (clause.part, clause.origin) == ("from orders", "row rule: 1 'eu'")
    assert "France" in clause.sql


def test_simulate_tells_what_binds_and_why(host: AnalyticsCore, admin: AnalyticsCore) -> None:
    add_reader(host, "anna")
    anna = user_of(admin, "anna")
    admin.users.update(anna.id, {"attributes": {"country": "France"}})
    own = anna.roles[0]
    own_clause = "country = {{ current_user_attribute('country') }}"
    admin.row_level_security.create(rule(name="own", clause=own_clause, filter_type="Regular", roles=[own.id]))
    admin.row_level_security.create(rule(name="staff", clause="id > 0", roles=[1], group_key="g"))
    admin.row_level_security.create(rule(name="excepted", clause="id > 1", roles=[own.id]))
    admin.row_level_security.create(rule(name="bosses", clause="id > 2", filter_type="Regular", roles=[1]))
    report = admin.row_level_security.simulate("anna", 1)
    assert [(v.name, v.binds, v.why) for v in report.verdicts] == [
        ("own", True, f"has its role {own.name}"),
        ("staff", True, "has none of the excepted roles"),
        ("excepted", False, f"excepted by the role {own.name}"),
        ("bosses", False, "has none of its roles"),
    ]
    assert [v.name for v in report.binding] == ["own", "staff"]
    assert (report.may_read, report.failure) == (True, None)
    assert [(c.place, c.sql) for c in report.conditions] == [
        ("this dataset", '("orders"."country" = \'France\')'),
        ("this dataset", '(("orders"."id" > 0))'),
    ]
    assert "binds: rule 1 'own' (Regular; this dataset): has its role" in str(report)
    assert admin.row_level_security.simulate(anna, admin.datasets.get(1)).verdicts == report.verdicts
    assert admin.row_level_security.simulate(anna.id, 1).username == "anna"


def test_simulate_tells_of_tables_in_sql_and_of_missing_attributes_and_grants(
    host: AnalyticsCore, admin: AnalyticsCore
) -> None:
    add_reader(host, "anna", on=None)
    clause = "country = {{ current_user_attribute('country') }}"
    admin.row_level_security.create(rule(clause=clause, roles=[1]))
    virtual = admin.datasets.create({"database": 1, "table_name": "v", "sql": "SELECT o.id FROM orders AS o"})
    report = admin.row_level_security.simulate("anna", virtual.id)
    assert [(v.name, v.place, v.binds) for v in report.verdicts] == [("eu", "table orders in its SQL", True)]
    assert isinstance(report.failure, errors.MissingTemplateValueError)
    assert "no query runs: row rule \"1 'eu'\": the person has no attribute 'country', which it needs" in str(report)
    assert "country" not in json.dumps(report.failure.to_payload())
    assert not report.may_read
    assert "sees nothing" in str(report)
    assert "no row is hidden" in str(admin.row_level_security.simulate("admin", virtual.id))
    with pytest.raises(errors.ActorRequiredError):
        admin.row_level_security.simulate("stranger", 1)
    with pytest.raises(errors.NotFoundError):
        admin.row_level_security.simulate("anna", 99)
    dataset: Any
    for dataset in ({"id": 1}, None, True, "1"):
        with pytest.raises(errors.PayloadSchemaError, match="dataset: must be the id"):
            admin.row_level_security.simulate("anna", dataset)


def test_rules_of_one_dataset_never_widen_those_of_another_over_the_same_table(
    host: AnalyticsCore, admin: AnalyticsCore
) -> None:
    twin = admin.datasets.create({"database": 1, "table_name": "orders", "schema": "main"})
    admin.row_level_security.create(rule(name="a", clause="country = 'France'", group_key="g"))
    admin.row_level_security.create(rule(name="b", clause="country = 'Brazil'", group_key="g", tables=[twin.id]))
    anna = add_reader(host, "anna")
    query = {"columns": ["country"], "metrics": ["count"]}
    for dataset in (1, twin.id):
        assert rows(anna, query, dataset=dataset) == []
    admin.row_level_security.update(2, {"tables": [1, twin.id]})
    for dataset in (1, twin.id):  # (a or b) and b
        assert {row[0] for row in rows(anna, query, dataset=dataset)} == {"Brazil"}
    admin.row_level_security.update(1, {"tables": [1, twin.id]})
    for dataset in (1, twin.id):
        assert {row[0] for row in rows(anna, query, dataset=dataset)} == {"France", "Brazil"}


def test_a_calculated_column_cannot_take_the_place_of_a_rules_column(host: AnalyticsCore, admin: AnalyticsCore) -> None:
    admin.row_level_security.create(rule())
    column_put(admin, {"country": {"expression": "'France'", "type": "VARCHAR"}})
    anna = add_reader(host, "anna")
    result = anna.charts.data(context({"metrics": ["count"]})).results[0]
    assert isinstance(result.failure, errors.RowRuleError)


def test_attributes_with_several_values_come_back_as_they_were_given(admin: AnalyticsCore) -> None:
    given = {"region": ("north", "south"), "team": "a"}
    made = admin.users.create({"username": "anna", "attributes": {"region": ["north", "south"], "team": "a"}})
    assert made.attributes == given
    assert admin.users.get(made.id).attributes == given
    assert admin.users.update(made.id, {"attributes": {"team": ["b"]}}).attributes == {"team": "b"}


def test_the_rules_are_stored_on_disk_with_the_rest(url: str, tmp_path: Path) -> None:
    place = f"sqlite:///{tmp_path}/meta.db"
    with hosted_core(url, metadata_url=place) as first:
        first.as_user("admin").row_level_security.create(rule())

    with AnalyticsCore(Settings(secret_key=KEY), metadata_url=place, allowed_files=[url[10:]]) as second:
        assert {r[0] for r in rows(second.as_user("admin"), {"columns": ["country"], "metrics": []})} == {"France"}
