"""Any answer of any resource, given back to its update in any form, changes what was changed in it and nothing else."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import json
import operator
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, get_args

import pytest
from cryptography.hazmat.primitives.asymmetric import ed25519
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, PrivateFormat, PublicFormat
from tests.support.cases import for_each
from tests.support.doors import hints_of
from tests.support.guests import QUERY, GuestWorld, chart, dashboard, guest_world, people_of
from tests.support.lives import EVENT, LIVES, RULE, Key

from analytics_core import AnalyticsCore
from analytics_core.errors import PayloadSchemaError
from analytics_core.models.base import Answer
from analytics_core.models.parsing import field_names

pytestmark = pytest.mark.slow

URI = "postgresql+psycopg://ann:s3same@db.example/sales?sslmode=require"
CLIENT = {
    "id": "our-client",
    "secret": "s3same",
    "scope": "read",
    "authorization_request_uri": "https://login.example/authorize",
    "token_request_uri": "https://login.example/token",
}
HOOK = "https://hooks.example.com/T0/B0/s3same"
REPOSITORIES = {"reports": "report_schedules", "row_level_security": "row_rules"}


# ---------------------------------------------------------------------------------------------------- what is shown
def tunnel(**secrets: str) -> dict[str, Any]:
    key = ed25519.Ed25519PrivateKey.generate().public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    return {"server_address": "gate.example", "username": "maria", "host_key": key.decode(), **secrets}


def sealed_key() -> str:
    how = BestAvailableEncryption(b"s3same")
    return ed25519.Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, how).decode()


def databases(core: AnalyticsCore) -> list[Key]:
    form = {"host": "db.example", "username": "ann", "password": "s3same", "database": "d", "encryption": True}
    payloads: list[dict[str, Any]] = [
        {"orm_uri": "sqlite://"},
        {"orm_uri": URI, "extra": json.dumps({"oauth2_client_info": CLIENT, "version": "16"}), "cache_timeout": 60},
        {"orm_uri": URI, "ssh_tunnel": tunnel(password="s3same")},
        {"orm_uri": URI, "ssh_tunnel": tunnel(private_key=sealed_key(), private_key_password="s3same")},
        {"orm_uri": URI, "ssh_tunnel": {**tunnel(password="s3same"), "host_key": None, "insecure_host_key": True}},
        {"engine": "postgresql", "configuration_method": "dynamic_form", "parameters": form},
    ]
    made = [core.databases.create({"database_name": f"d{i}", **payload}) for i, payload in enumerate(payloads)]
    return [(one.id,) for one in made]


def datasets(core: AnalyticsCore) -> list[Key]:
    sql = "SELECT city, day, amount FROM sales"
    made = core.datasets.create({"database": 1, "table_name": "big", "sql": sql, "owners": [1, 2]})
    city, day, amount = core.datasets.get(made.id).columns
    columns = [
        {"id": city.id, "column_name": "city", "verbose_name": "City", "extra": '{"warning_markdown": "x"}'},
        {"id": day.id, "column_name": "day", "python_date_format": "%Y-%m-%d", "is_dttm": True, "groupby": False},
        {"id": amount.id, "column_name": "amount", "description": "net"},
        {"column_name": "twice", "expression": "amount * 2", "type": "INTEGER"},
    ]
    metrics = [
        {"metric_name": "count", "expression": "COUNT(*)", "metric_type": "count", "warning_text": "all of them"},
        {"metric_name": "net", "expression": "SUM(amount)", "d3format": ".2f", "currency": '{"symbol": "EUR"}'},
    ]
    options = {"main_dttm_col": "day", "template_params": '{"a": 1}', "offset": 2, "cache_timeout": 0}
    core.datasets.update(made.id, {"columns": columns, "metrics": metrics, "description": "large", **options})
    return [(1,), (made.id,)]


def charts(core: AnalyticsCore) -> list[Key]:
    made = core.charts.create({**chart("rich", 1, QUERY), "owners": [1, 2], "dashboards": [2], "certified_by": "Ada"})
    core.charts.update(made.id, {"query_context": json.dumps({"queries": []}), "query_context_generation": True})
    core.tags.tag("chart", made.id, ["key figures", "weekly"])
    plain = core.charts.create({"slice_name": "plain", "datasource_id": 1, "datasource_type": "table"})
    return [(1,), (made.id,), (plain.id,)]


def dashboards(core: AnalyticsCore) -> list[Key]:
    made = core.dashboards.create({**dashboard("rich", 1, 3), "slug": "rich", "css": "a {}", "roles": [2]})
    core.tags.tag("dashboard", made.id, ["weekly"])
    return [(1,), (made.id,), (core.dashboards.create({}).id,)]


def annotations_of_layers(core: AnalyticsCore) -> list[Key]:
    layer = core.annotation_layers.create({"name": "of annotations"}).id
    rich = {**EVENT, "long_descr": "all day", "json_metadata": '{"a": [1]}'}
    return [(layer, core.annotations.create(layer, payload).id) for payload in (EVENT, rich)]


def embedded(core: AnalyticsCore) -> list[Key]:
    core.embedded.create(2, {"allowed_domains": ["https://a.example"]})
    return [(2,)]


def reports(core: AnalyticsCore) -> list[Key]:
    mail = {"type": "Email", "recipient_config_json": {"target": "ada@example.com", "ccTarget": "bob@example.com"}}
    hooks = [{"type": "Chat", "recipient_config_json": {"target": HOOK + end}} for end in ("", "2")]
    plain = {"type": "Report", "crontab": "0 9 * * *", "report_format": "TEXT", "recipients": [*hooks, mail]}
    alert = {
        **plain,
        "type": "Alert",
        "chart": 1,
        "database": 1,
        "sql": "SELECT 1 AS n",
        "validator_type": "operator",
        "validator_config_json": {"op": ">", "threshold": 5.0},
        "timezone": "Europe/Berlin",
        "owners": [1, 2],
    }
    payloads = ({**plain, "chart": 1}, {**plain, "dashboard": 1, "extra": {"subject": "of {{ name }}"}}, alert)
    return [(core.reports.create({"name": f"r{i}", **payload}).id,) for i, payload in enumerate(payloads)]


def plain(namespace: str, *payloads: dict[str, Any]) -> Callable[[AnalyticsCore], list[Key]]:
    return lambda core: [(getattr(core, namespace).create(payload).id,) for payload in payloads]


RECORDS: Mapping[str, Callable[[AnalyticsCore], list[Key]]] = {
    "databases": databases,
    "datasets": datasets,
    "charts": charts,
    "dashboards": dashboards,
    "annotation_layers": plain("annotation_layers", {"name": "bare"}, {"name": "described", "descr": "of what"}),
    "annotations": annotations_of_layers,
    "css_templates": plain("css_templates", {"template_name": "wide", "css": "a {}"}, {}),
    "saved_queries": plain(
        "saved_queries",
        {"label": "all", "database": 1, "sql": "SELECT 1", "schema": "main", "tags": [{"name": "weekly"}]},
        {"label": "one", "database": 1, "sql": "SELECT 2"},
    ),
    "tags": plain("tags", {"name": "bare"}, {"name": "described", "description": "of what"}),
    "row_level_security": plain("row_level_security", RULE, {**RULE, "name": "grouped", "group_key": "g"}),
    "embedded": embedded,
    "reports": reports,
    "users": plain("users", {"username": "bare"}, {"username": "full", "roles": [2], "attributes": {"a": ["1", "2"]}}),
    "roles": plain("roles", {"name": "bare"}),
}


class World:
    """A core with records of every resource, and what is stored of each."""

    def __init__(self, world: GuestWorld) -> None:
        self.admin = world.admin
        self.owner = people_of(world)["owner"]
        self.owner_id = self.admin.users.list([{"col": "username", "op": "eq", "val": "owner"}])[0].id
        self.keys = {name: make(world.admin) for name, make in RECORDS.items()}
        self.admin.roles.grant("bare", on=("schema", 1, "main"))

    def stored(self, name: str, key: Key) -> Any:
        """Return the record as the store has it, its secrets, version and moments too."""
        with self.admin._runtime.content.store.unit_of_work() as unit:
            repository = getattr(unit, REPOSITORIES.get(name, name))
            return repository.find(dashboard_id=key[0]) if name == "embedded" else repository.get(key[-1])

    def answers(self, name: str, key: Key, core: AnalyticsCore) -> list[Answer]:
        """Return the record in each shape in which it is shown."""
        namespace, column = getattr(core, name), "dashboard_id" if name == "embedded" else "id"
        found = [namespace.get(*key), *namespace.list(*key[:-1], [{"col": column, "op": "eq", "val": key[-1]}])]
        return [*found, core.databases.connection(*key)] if name == "databases" else found


def address(kind: str, values: Mapping[str, Any]) -> str:
    return f"https://app.example/{kind}?{json.dumps(values)}"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    file = tmp_path_factory.mktemp("given_back") / "shop.db"
    with guest_world(f"sqlite:///{file}", metadata_url=f"sqlite:///{file}.meta", url_for=address) as made:
        yield World(made)


# ------------------------------------------------------------------------------------------------------- unchanged
FORMS: Mapping[str, Callable[[Any], Any]] = {
    "object": lambda answer: answer,
    "payload": lambda answer: answer.to_payload(),
    "values": lambda answer: answer.model_dump(),
    "JSON values": lambda answer: answer.model_dump(mode="json"),
    "read JSON": lambda answer: json.loads(answer.model_dump_json()),
    "JSON": lambda answer: answer.model_dump_json(),
    "attributes": lambda answer: {name: getattr(answer, name) for name in answer.to_payload()},
    "some fields": lambda answer: dict(list(answer.to_payload().items())[::2]),
}


def test_every_resource_that_is_changed_is_tried(world: World) -> None:
    names = [name for name in dir(world.admin) if not name.startswith("_")]
    changed = {name for name in names if hasattr(getattr(world.admin, name), "update")}
    assert changed == set(RECORDS) == set(LIVES)


@for_each("form", FORMS)
@for_each("name", RECORDS)
def test_an_answer_given_back_changes_nothing(world: World, name: str, form: str) -> None:
    for key in world.keys[name]:
        before = world.stored(name, key)
        for answer in world.answers(name, key, world.admin):
            given = FORMS[form](answer)
            after = getattr(world.admin, name).update(*key, given)
            assert world.stored(name, key) == before, (key, type(answer))
            assert after.to_payload() == world.answers(name, key, world.admin)[0].to_payload()


def test_who_sees_less_of_a_record_takes_nothing_from_it(world: World) -> None:
    """A dashboard with a role, a report and a chart that their owner has no access to, as the owner sees them."""
    for name, (key, *_) in world.keys.items():
        if name not in ("charts", "dashboards", "datasets", "reports"):
            continue
        getattr(world.admin, name).update(*key, {"owners": [1, world.owner_id]})
        before = world.stored(name, key)
        for form in FORMS.values():
            for answer in world.answers(name, key, world.owner):
                getattr(world.owner, name).update(*key, form(answer))
                assert world.stored(name, key) == before, (name, type(answer))


# --------------------------------------------------------------------------------------------------------- changed
MOVING = {
    *("changed_on_delta_humanized", "created_on_delta_humanized", "changed_on_humanized", "created_on_humanized"),
    *("last_eval_dttm", "last_state", "last_value", "last_value_row_json"),
}
"""Fields that move while nobody changes the record."""

RICHEST = {"charts": 1, "dashboards": 1}
"""The places of records that show most, where it is not the last one."""

SAVED = {"last_saved_at", "last_saved_by", "saved_by"}
"""Fields of records that say who saved them, and when."""

PARTS: Mapping[str, list[tuple[Any, ...]]] = {
    "charts": [("owners", 0, "first_name"), ("dashboards", 0, "dashboard_title")],
    "dashboards": [("owners", 0, "username"), ("roles", 0, "name")],
    "datasets": [("columns", 0, "created_on"), ("columns", 3, "type_generic"), ("metrics", 0, "changed_on")],
    "reports": [("chart", "slice_name"), ("database", "database_name"), ("owners", 1, "last_name")],
    "row_level_security": [("tables", 0, "table_name"), ("roles", 0, "name")],
    "users": [("roles", 0, "name")],
}
"""Fields of what an answer shows inside of a record, which no update takes."""


def taken(name: str, world: World) -> frozenset[str]:
    """Return the names of the fields that an update takes."""
    update = inspect.unwrap(type(getattr(world.admin, name)).update)
    (put, *_) = get_args(hints_of(update)["payload"])
    return frozenset(field_names(put))


def other(value: Any) -> Any:
    """Return another value, of the same kind where it has one."""
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case list():
            return [*value, "other"]
        case dict():
            return {**value, "other": 1}
    return f"{value or ''}x"


def changed(given: Any, field: str, value: Any) -> Any:
    """Return what is given with another value in a field."""
    if isinstance(given, Answer):
        return given.model_copy(update={field: value})
    return json.dumps({**json.loads(given), field: value}) if isinstance(given, str) else {**given, field: value}


def refused(world: World, name: str, key: Key, payload: Any) -> list[str]:
    """Return the places of a payload for which it is refused."""
    with pytest.raises(PayloadSchemaError) as caught:
        getattr(world.admin, name).update(*key, payload)
    return [problem.path for problem in caught.value.problems]


@for_each("name", RECORDS)
def test_what_no_update_takes_is_refused_where_it_differs(world: World, name: str) -> None:
    key = world.keys[name][RICHEST.get(name, -1)]
    before = world.stored(name, key)
    for answer in world.answers(name, key, world.admin):
        payload = answer.to_payload()
        for field in payload.keys() - taken(name, world) - {"database"}:
            wrong = {**payload, field: other(payload[field])}
            if field in MOVING:
                getattr(world.admin, name).update(*key, wrong)
            else:
                assert refused(world, name, key, wrong) == [field]
    for *way, field in PARTS.get(name, ()):
        payload = world.answers(name, key, world.admin)[0].to_payload()
        part = functools.reduce(operator.getitem, way, payload)
        part[field] = other(part[field])
        assert refused(world, name, key, payload) == [".".join(map(str, (*way, field)))]
    assert world.stored(name, key) == before


@for_each("form", FORMS)
@for_each("name", RECORDS)
def test_what_is_changed_in_an_answer_is_all_that_changes(world: World, name: str, form: str) -> None:
    life = LIVES[name]
    keys = [key for key in world.keys[name] if (name, key) != ("datasets", (1,))]  # which is called as its table is
    keys = keys if form == "payload" else [world.keys[name][RICHEST.get(name, -1)]]
    for key in keys:
        for number in range(len(world.answers(name, key, world.admin))):
            given = FORMS[form](world.answers(name, key, world.admin)[number])
            before, word = world.stored(name, key), f"{form.replace(' ', '-').lower()}-{key[-1]}-{number}"
            getattr(world.admin, name).update(*key, changed(given, life.field, life.to_field(word)))
            after = world.stored(name, key)
            assert life.read(world.admin, key) == word
            fields = (one.name for one in dataclasses.fields(after))
            moved = {field for field in fields if getattr(before, field) != getattr(after, field)}
            assert moved <= {life.field, "audit", *SAVED}, (key, number)


@for_each("name", RECORDS)
def test_no_field_of_an_answer_given_back_alone_changes_its_record(world: World, name: str) -> None:
    """Where a field alone says too little it is refused; a mask, or what is not shown, takes nothing away."""
    for key in world.keys[name]:
        before, given = world.stored(name, key), []
        for answer in world.answers(name, key, world.admin):
            for field, value in answer.to_payload().items():
                if (field, value) in given:
                    continue
                given.append((field, value))
                with suppress(PayloadSchemaError):
                    getattr(world.admin, name).update(*key, {field: value})
                saved = dict.fromkeys(SAVED & set(dir(before)))
                after = dataclasses.replace(world.stored(name, key), audit=before.audit, **saved)
                assert after == dataclasses.replace(before, **saved), (key, type(answer), field)
