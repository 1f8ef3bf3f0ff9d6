"""Whoever may read one table gets no other one through stored statements, datasets made of them, or estimates."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any
from uuid import uuid4

import pytest
from tests.support.cases import for_each
from tests.support.tenant_world import ENGINES, TenantWorld, rule, tenant_world, url_on

from analytics_core import AnalyticsCore
from analytics_core._records.sql_query import SavedQuery
from analytics_core.errors import AnalyticsError, DatabaseAccessError, TableAccessError

OWN = [1, 2, 3]
SECRET = ("targets", "goal")
OTHERS = (
    "SELECT goal AS id FROM targets",
    "SELECT s.id FROM sales AS s, targets AS t",
    "SELECT id FROM sales UNION ALL SELECT goal FROM targets",
    "WITH sales AS (SELECT goal AS id FROM targets) SELECT id FROM sales",
    "SELECT id FROM sales WHERE id IN (SELECT id FROM targets)",
    "SELECT (SELECT MAX(goal) FROM targets) AS id FROM sales",
    "SELECT id FROM every_sale",
    "SELECT report_of_all(id) AS id FROM sales",
)
"""Statements that take more than a grant on the table `sales`."""


@pytest.fixture(scope="module", params=ENGINES)
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TenantWorld]:
    folder = tmp_path_factory.mktemp("stored")
    with tenant_world(request.param, url_on(request, folder), folder) as made:
        made.admin.databases.update(1, {"allow_run_async": True})
        made.release()
        made.execute("CREATE VIEW every_sale AS SELECT id, tenant FROM sales")
        role = made.admin.roles.create({"name": "reads sales"})
        made.admin.roles.grant(role, on=("dataset", 1))
        for name in ("ruled", "free"):
            roles = [role.id]
            made.admin.users.create({"username": name, "roles": roles, "attributes": {"tenant": "acme"}})
        ruled = made.admin.roles.create({"name": "ruled"})
        user = next(one for one in made.admin.users.list().result if one.username == "ruled")
        made.admin.users.update(user.id, {"roles": [role.id, ruled.id]})
        made.admin.row_level_security.create(rule(made, roles=[ruled.id]))
        yield made


@pytest.fixture
def reader(world: TenantWorld) -> AnalyticsCore:
    """Somebody of the tenant `acme` who may read `sales` alone, under a rule."""
    return world.user("ruled")


def retained(core: AnalyticsCore, sql: str, **fields: Any) -> int:
    """Return a saved query of the actor, stored past every check, as before a grant was taken back."""
    runtime, actor_id = core._runtime.content, core.sql._actor.id
    with runtime.store.unit_of_work() as unit:
        record = SavedQuery(uuid=str(uuid4()), label="retained", database_id=1, sql=sql, **fields)
        return int(unit.saved_queries.add(record, actor_id=actor_id).id)


def executed(core: AnalyticsCore, sql: str) -> int:
    """Return the record of an execution, also of one that was refused."""
    with suppress(AnalyticsError):
        core.sql.execute({"database_id": 1, "sql": sql})
    return int(core.queries.list(order_by="-id").result[0].id)


STORED: Mapping[str, Callable[[AnalyticsCore, str], int]] = {"saved_query": retained, "query": executed}


def context(kind: str, key: int, **query: Any) -> dict[str, Any]:
    return {"datasource": {"id": key, "type": kind}, "queries": [{"columns": ["id"], "row_limit": 100, **query}]}


def finished(core: AnalyticsCore, payload: dict[str, Any]) -> Any:
    job = core.charts.submit(payload)
    assert job.wait(20)
    return job.result(5).raise_for_error()


Ask = Callable[[AnalyticsCore, str, int], Any]
ROADS: Mapping[str, Ask] = {
    "rows": lambda core, kind, key: core.charts.data(context(kind, key)).raise_for_error(),
    "count": lambda core, kind, key: core.charts.data(context(kind, key, is_rowcount=True)).raise_for_error(),
    "samples": lambda core, kind, key: core.charts.data(context(kind, key, result_type="samples")).raise_for_error(),
    "columns": lambda core, kind, key: core.charts.data(context(kind, key, result_type="columns")).raise_for_error(),
    "text": lambda core, kind, key: core.charts.data(context(kind, key, result_type="query")).raise_for_error(),
    "batches": lambda core, kind, key: core.charts.batches(context(kind, key)).__enter__().close(),
    "job": lambda core, kind, key: finished(core, context(kind, key)),
    "explain": lambda core, kind, key: raised(core.charts.explain(context(kind, key)).queries[0].failure),
    "explore": lambda core, kind, key: core.explore.context(datasource=f"{key}__{kind}"),
    "dataset": lambda core, kind, key: core.sql.save_as_dataset("stolen", **{kind: key}),
}
"""Every way in which a stored statement is asked."""


def raised(failure: AnalyticsError | None) -> None:
    if failure is not None:
        raise failure


def ids(core: AnalyticsCore, kind: str, key: int, **query: Any) -> list[int]:
    rows = core.charts.data(context(kind, key, **query)).raise_for_error().results[0].rows()
    return sorted(row[0] for row in rows)


# ----------------------------------------------------------------------------------------------------- what it opens
@for_each("kind", STORED)
def test_a_grant_on_the_table_opens_stored_statements_of_it_under_its_rules(reader: AnalyticsCore, kind: str) -> None:
    key = STORED[kind](reader, "SELECT id FROM (SELECT * FROM sales) AS s")
    assert ids(reader, kind, key) == OWN
    assert ids(reader, kind, key, filters=[{"col": "id", "op": ">", "val": 1}]) == [2, 3]
    assert reader.charts.explain(context(kind, key)).queries[0].failure is None
    made = reader.sql.save_as_dataset(f"own {kind}", **{kind: key})
    assert ids(reader, "table", made.id) == OWN


def test_a_dataset_of_a_statement_keeps_the_rules_and_its_sql(world: TenantWorld, reader: AnalyticsCore) -> None:
    made = reader.sql.save_as_dataset("of acme", "SELECT id, tenant FROM sales", database=1)
    assert ids(reader, "table", made.id) == OWN
    assert len(ids(world.admin, "table", made.id)) == 7
    for change in (
        {"sql": "SELECT goal AS id FROM targets"},
        {"template_params": '{"t": "targets"}'},
        {"fetch_values_predicate": "id IN (SELECT goal FROM targets)"},
        {"metrics": [{"metric_name": "m", "expression": "(SELECT MAX(goal) FROM targets)"}]},
    ):
        with pytest.raises(DatabaseAccessError):
            reader.datasets.update(made.id, change)
    with pytest.raises(DatabaseAccessError):
        reader.datasets.create({"database": 1, "table_name": "direct", "sql": "SELECT id FROM sales"})


# ----------------------------------------------------------------------------------------------- what it does not open
@for_each("road", ROADS)
@for_each("kind", STORED)
def test_no_stored_statement_shows_another_table(reader: AnalyticsCore, kind: str, road: str) -> None:
    for sql in OTHERS:
        key = STORED[kind](reader, sql)
        with pytest.raises(TableAccessError) as caught:
            ROADS[road](reader, kind, key)
        payload = str(caught.value.to_payload())
        assert all(name in sql for name in SECRET if name in payload)


def test_a_template_reaches_no_other_table_by_what_the_question_brings(reader: AnalyticsCore) -> None:
    sql = "SELECT id FROM {{ url_param('t') or 'sales' }}"
    key = retained(reader, sql)
    assert ids(reader, "saved_query", key) == OWN
    for _ in range(2):
        with pytest.raises(TableAccessError) as caught:
            ids(reader, "saved_query", key, url_params={"t": "targets"})
        assert "targets" not in str(caught.value.to_payload())
    assert ids(reader, "saved_query", key) == OWN
    for source in ({"sql": sql, "database": 1}, {"saved_query": key}):
        with pytest.raises(DatabaseAccessError, match="a grant on the whole database"):
            reader.sql.save_as_dataset("later another", **source)
    hidden = retained(reader, "SELECT id FROM {{ t }}", template_params='{"t": "targets"}')
    with pytest.raises(TableAccessError):
        ids(reader, "saved_query", hidden)


def test_fragments_of_a_chart_reach_no_other_table_and_no_function_beyond_the_list(reader: AnalyticsCore) -> None:
    key = retained(reader, "SELECT id FROM sales")
    for text in ("(SELECT MAX(goal) FROM targets)", "report_of_all(id)", "MAX((SELECT goal FROM targets))"):
        metric = {"expressionType": "SQL", "sqlExpression": text, "label": "m"}
        with pytest.raises(AnalyticsError) as caught:
            ids(reader, "saved_query", key, metrics=[metric])
        assert caught.value.status in (400, 403)
        with pytest.raises(AnalyticsError):
            ids(reader, "saved_query", key, extras={"where": f"id = {text}"})


def test_statements_of_others_stay_theirs(world: TenantWorld, reader: AnalyticsCore) -> None:
    saved, ran = retained(world.admin, "SELECT id FROM sales"), executed(world.admin, "SELECT id FROM sales")
    for kind, key in (("saved_query", saved), ("query", ran)):
        for ask in ROADS.values():
            with pytest.raises(AnalyticsError) as caught:
                ask(reader, kind, key)
            assert caught.value.status == 403


def test_answers_are_closed_when_the_grant_or_the_ownership_is_gone(world: TenantWorld) -> None:
    """Also those that are cached, prepared or stored."""
    role = world.admin.roles.create({"name": "for a while"})
    world.admin.roles.grant(role, on=("dataset", 1))
    by_grant = world.admin.users.create({"username": "granted", "roles": [role.id]})
    owner = world.admin.users.create({"username": "owning", "roles": []})
    world.admin.datasets.update(1, {"owners": [1, owner.id]})
    payloads, jobs = {}, {}
    for name in ("granted", "owning"):
        core = world.user(name)
        payloads[name] = context("saved_query", retained(core, "SELECT id FROM sales"))
        jobs[name] = core.charts.submit(payloads[name]).job_id
        for _ in range(2):
            assert core.charts.data(payloads[name]).raise_for_error().results[0].rowcount == 7
        assert core.jobs.get(jobs[name]).wait(20)
    world.admin.users.update(by_grant.id, {"roles": []})
    world.admin.datasets.update(1, {"owners": [1]})
    for name, payload in payloads.items():
        with pytest.raises(AnalyticsError) as caught:
            world.user(name).charts.data(payload).raise_for_error()
        assert caught.value.status == 403
        with pytest.raises(AnalyticsError):
            world.user(name).jobs.get(jobs[name]).result(5)


def test_a_question_that_was_prepared_is_closed_with_the_ownership_of_a_table(world: TenantWorld) -> None:
    free, user = world.user("free"), next(one for one in world.admin.users.list().result if one.username == "free")
    made = world.admin.datasets.create({"database": 1, "table_name": "targets", "owners": [1, user.id]})
    key = retained(free, "SELECT id FROM {{ url_param('t') or 'sales' }}")
    for _ in range(2):
        assert ids(free, "saved_query", key, url_params={"t": "targets"}) == [1, 4, 9]
    world.admin.datasets.update(made.id, {"owners": [1]})
    with pytest.raises(TableAccessError):
        ids(free, "saved_query", key, url_params={"t": "targets"})
    world.admin.datasets.delete(made.id)


# --------------------------------------------------------------------------------------------------------- estimates
def test_estimates_are_of_stored_tables_with_a_grant_and_without_rules(
    world: TenantWorld, reader: AnalyticsCore
) -> None:
    def estimate(core: AnalyticsCore, sql: str) -> tuple[dict[str, float], ...]:
        return core.sql.estimate({"database_id": 1, "sql": sql})

    free = world.user("free")
    for sql in OTHERS:
        with pytest.raises(TableAccessError):
            estimate(free, sql)
        with pytest.raises(TableAccessError):
            estimate(free, f"SELECT id FROM sales; {sql}")
    for core, sql in ((reader, "SELECT id FROM sales"), (free, "SELECT id FROM sales; EXPLAIN SELECT id FROM sales")):
        with pytest.raises(AnalyticsError):
            estimate(core, sql)
    if world.engine != "sqlite":
        assert len(estimate(free, "SELECT id FROM sales; SELECT COUNT(*) AS n FROM sales")) == 2


def test_an_estimate_tells_nothing_of_what_is_behind_a_view(world: TenantWorld) -> None:
    view = world.admin.datasets.create({"database": 1, "table_name": "every_sale"})
    role = world.admin.roles.create({"name": "of the view"})
    world.admin.roles.grant(role, on=("dataset", view.id))
    world.admin.users.create({"username": "viewer", "roles": [role.id]})
    viewer = world.user("viewer")
    assert viewer.sql("SELECT id FROM every_sale", database=1).rowcount == 7
    with pytest.raises(DatabaseAccessError, match="whole database"):
        viewer.sql.estimate({"database_id": 1, "sql": "SELECT id FROM every_sale"})
    world.admin.datasets.delete(view.id)
