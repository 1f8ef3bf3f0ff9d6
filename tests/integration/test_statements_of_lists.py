"""A page of a list costs at most four statements, however many rows it has and whoever asks."""

from __future__ import annotations

import inspect
from contextlib import contextmanager

import pytest
from sqlalchemy import event
from tests.support.cases import for_each
from tests.support.many_records import engine_of, fill_many, statements_of

from analytics_core import AnalyticsCore, Settings
from analytics_core._records.people import User

LISTS = ("databases", "datasets", "charts", "dashboards", "tags", "users", "roles")
FOR_EVERYBODY = ("databases", "datasets", "charts", "dashboards", "tags")
MOST = 4


@pytest.fixture(
    scope="module",
    params=[
        "file",
        pytest.param("postgres", marks=pytest.mark.server),
        pytest.param("mariadb", marks=pytest.mark.server),
    ],
)
def admin(request, tmp_path_factory, reused_store):
    if request.param == "file":
        url = f"sqlite:///{tmp_path_factory.mktemp('store')}/meta.db"
    else:
        url = reused_store(request.param)
    with AnalyticsCore(
        Settings(secret_key="a-test-key-that-is-long-enough-9f3a", metadata_freshness_s=3600), metadata_url=url
    ) as core:
        first = core.create_first_administrator("admin", first_name="Ada")
        every = dict.fromkeys(("people", "datasets", "tags", "charts", "dashboards"), 120)
        fill_many(core, **every, roles=110, databases=110)
        yield core.as_user(first.id)


@pytest.fixture(scope="module")
def reader(admin):
    """Somebody who owns some records, and reads others by grants on a schema and on datasets."""
    role = admin.roles.create({"name": "readers"})
    for grant in (("schema", 1, "sales"), ("database", 2), *(("dataset", key) for key in range(1, 100))):
        admin.roles.grant(role, on=grant)
    user = admin.users.create({"username": "reader", "roles": [role.id]})
    admin.charts.update(7, {"owners": [1, user.id]})
    return admin.as_user(user.id)


@pytest.fixture(scope="module")
def guest_of_a_host(admin):
    """Somebody whom only the host knows, with a role of the store."""
    return admin.as_user(User(id=501, username="guest", role_ids=(2,)))


@contextmanager
def listened(engine, name, note):
    event.listen(engine, name, note)
    yield
    event.remove(engine, name, note)


def cost(core, name, **arguments):
    listed = getattr(core, name)  # the actor is read here
    with statements_of(core) as seen:
        page = listed.list(**arguments)
    return page, [statement for statement, _ in seen]


@pytest.mark.slow
@for_each("name", LISTS)
def test_a_page_of_25_and_one_of_100_cost_the_same_few_statements(admin, name):
    small, of_small = cost(admin, name, page_size=25)
    large, of_large = cost(admin, name, page_size=100)
    assert (len(small), len(large)) == (25, 100)
    assert len(of_small) == len(of_large) <= MOST, of_large


@pytest.mark.slow
@for_each("name", FOR_EVERYBODY)
def test_a_page_for_a_reader_costs_no_more(reader, name):
    page, statements = cost(reader, name, page_size=100)
    assert len(page) > 0
    assert len(statements) <= MOST, statements


@for_each("name", FOR_EVERYBODY)
def test_a_page_for_somebody_without_grants_costs_no_more(guest_of_a_host, name):
    _, statements = cost(guest_of_a_host, name, page_size=100)
    assert len(statements) <= MOST, statements


PEOPLE_OF_ALL = ("databases", "datasets", "charts", "dashboards", "tags")


@pytest.mark.slow
@for_each("who", ["admin", "reader"])
@for_each(
    ("name", "field"),
    [
        *((name, "created_by") for name in PEOPLE_OF_ALL),
        *((name, "owners") for name in ("datasets", "charts", "dashboards")),
        *(("charts", field) for field in ("datasets", "dashboards", "tags")),
        *(("dashboards", field) for field in ("charts", "roles")),
        ("datasets", "database"),
        ("users", "roles"),
    ],
)
def test_choices_cost_few_statements_however_many_records_name_them(admin, reader, who, name, field):
    requested = getattr({"admin": admin, "reader": reader}[who], name)
    with statements_of(admin) as seen:
        found = requested.related(field, page_size=100)
    assert found.result
    assert len(seen) <= (1 if field not in ("created_by", "owners") else 3), seen


def test_people_are_found_by_their_names_on_every_store(admin):
    everybody = [item.text for item in admin.charts.related("owners", page_size=1000).result]
    found = admin.charts.related("owners", filter="ADA", page_size=1000)
    assert [item.text for item in found.result] == [name for name in everybody if "ada" in name.lower()] != []
    assert everybody == sorted(everybody)


@for_each("who", ["admin", "reader"])
@for_each(
    ("name", "field"), [("charts", "viz_type"), ("dashboards", "slug"), ("datasets", "table_name"), ("tags", "name")]
)
def test_distinct_values_cost_two_statements(admin, reader, who, name, field):
    """Two at the most: where a page is not full, it tells how many there are."""
    requested = getattr({"admin": admin, "reader": reader}[who], name)
    counts = []
    for page, page_size, statements in ((0, 1000, 1), (0, 1, 2), (7_000, 1, 2)):
        with statements_of(admin) as seen:
            counts.append(requested.distinct(field, page=page, page_size=page_size).count)
        assert len(seen) == statements, (page, page_size, seen)
    assert counts[0] > 1
    assert len(set(counts)) == 1


@for_each("name", [*LISTS, "annotation_layers", "annotations", "css_templates", "embedded", "logs"])
def test_every_list_takes_the_same_arguments(admin, name):
    taken = dict(inspect.signature(getattr(admin, name).list).parameters)
    taken.pop("layer_id", None)  # annotations are those of a layer
    of_databases = inspect.signature(admin.databases.list).parameters
    assert list(taken) == list(of_databases)
    assert {parameter.kind for parameter in taken.values()} == {inspect.Parameter.POSITIONAL_OR_KEYWORD}


def test_filters_order_and_a_later_page_cost_no_more(reader):
    conditions = [
        {"col": "slice_name", "op": "contains", "val": "chart"},
        {"col": "owners", "op": "in", "val": list(range(1, 100))},
    ]
    page, statements = cost(reader, "charts", filters=conditions, order_by=["-changed_on", "viz_type"], page=1)
    assert len(page) == 25
    assert len(statements) <= MOST, statements


@pytest.mark.slow
@for_each("op", ["eq", "contains", "in", "gt"])
def test_the_names_of_datasets_cost_no_more(reader, op):
    """Also on servers, where names of datasets are part of conditions, counts, orders and different values."""
    name = reader.charts.list(page_size=1).result[0].datasource_name_text
    value = {"eq": name, "contains": name[:3], "in": [name], "gt": ""}[op]
    order = ["-datasource_name", "id"]
    page, statements = cost(
        reader, "charts", filters=[{"col": "datasource_name", "op": op, "val": value}], order_by=order
    )
    assert len(statements) <= MOST, statements
    labels = [item.datasource_name_text for item in page.result]
    assert labels == sorted(labels, reverse=True) != []
    ordered, statements = cost(reader, "charts", order_by=order, page_size=1000)
    assert len(statements) <= MOST, statements
    assert [item.id for item in page.result] == [item.id for item in ordered.result if item.id in {i.id for i in page}]
    names = reader.charts.distinct("datasource_name", page_size=1000)
    assert {item.datasource_name_text for item in ordered.result} - {None} == {item.text for item in names.result}


def test_a_filter_by_dashboards_costs_one_statement_more(reader):
    by_dashboard = [{"col": "dashboards", "op": "in", "val": list(range(1, 90))}]
    page, statements = cost(reader, "charts", filters=by_dashboard)
    assert len(page) == 25
    assert len(statements) <= MOST + 1, statements


def test_a_page_beyond_the_last_costs_two_statements(reader):
    page, statements = cost(reader, "charts", page=50)
    assert (len(page), len(statements)) == (0, 2)
    assert page.count > 25


def test_what_a_page_shows_is_what_one_record_at_a_time_shows(reader):
    page = reader.charts.list(page_size=100)
    for item in page.result[:5]:
        one = reader.charts.get(item.id)
        assert item.owners == one.owners != ()
        assert item.tags == one.tags != ()
        assert [d.id for d in item.dashboards] == [d.id for d in one.dashboards]
        assert item.table.table_name == item.datasource_name_text


def test_a_directory_of_a_host_that_finds_one_person_at_a_time_still_works(admin):
    host = HostDirectory()
    with AnalyticsCore(Settings(secret_key="a-test-key-that-is-long-enough-9f3a"), acting_as=70, users=host) as core:
        core.create_first_administrator("admin")
        core.tags.create({"name": "one"})
        assert core.tags.list().result[0].created_by.first_name == "Hosted"
        assert set(host.requested) == {70}


class HostDirectory:
    """Knows everybody, one at a time."""

    def __init__(self):
        self.requested = []

    def find(self, key):
        self.requested.append(key)
        return User(id=70, username="hosted", first_name="Hosted", role_ids=(1,))


def test_who_acts_is_read_again_after_a_change_of_people_not_after_one_of_charts(admin):
    def read_for_a_list():
        with statements_of(admin) as seen:
            admin.charts.list(page_size=1)
        return [statement for statement, _ in seen if "ac_role_grants" in statement]

    admin.roles.create({"name": "makes people change"})
    assert len(read_for_a_list()) == 1
    admin.charts.update(9, {"description": "changed"})
    assert read_for_a_list() == []
    admin.users.update(3, {"first_name": "Other"})
    assert len(read_for_a_list()) == 1


def test_who_acts_is_read_with_their_roles_in_one_transaction(admin):
    begun = []
    admin.roles.create({"name": "makes people change again"})
    with listened(engine_of(admin), "begin", begun.append):
        admin.charts.list(page_size=1)
        anew = len(begun)
        admin.charts.list(page_size=1)
    assert anew == (len(begun) - anew) + 1


def test_the_latest_log_entries_are_read_along_their_index(admin):
    with statements_of(admin) as seen:
        admin.logs.list()
    (statement,) = [text for text, _ in seen if "FROM ac_logs ORDER BY" in " ".join(text.split())]
    assert "CASE" not in statement
    if engine_of(admin).dialect.name == "sqlite":
        with engine_of(admin).connect() as connection:
            plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", (25, 0)).all()
        assert any("ac_logs USING INDEX ix_ac_logs_dttm" in str(line) for line in plan)
