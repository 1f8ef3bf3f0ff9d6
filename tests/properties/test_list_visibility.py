"""What an actor's list shows is what the policy, asked about every record one by one, lets the actor read."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.support.stores import open_store
from tests.support.visible_world import KINDS, PEOPLE, SCHEMAS, fill

from analytics_core._engine.rights.actor import Actor
from analytics_core._engine.rights.policy import RULES, Permission, Policy
from analytics_core._engine.rights.relationships import HasRole, Relationship
from analytics_core._engine.rights.scopes import scope_of
from analytics_core._records.people import Grant, GrantTarget, GuestPass, Role, User
from analytics_core.testing.clock import FixedClock
from analytics_core.testing.store.records import START

READING = {
    "databases": Permission.READ_DATABASE,
    "datasets": Permission.READ_DATASET,
    "charts": Permission.READ_CHART,
    "dashboards": Permission.READ_DASHBOARD,
}


@pytest.fixture(
    scope="module",
    params=[
        "memory",
        pytest.param("postgres", marks=pytest.mark.server),
        pytest.param("mariadb", marks=pytest.mark.server),
    ],
)
def world(request, reused_store):
    url = "sqlite://" if request.param == "memory" else reused_store(request.param)
    with open_store(url, FixedClock(START)) as store:
        yield fill(store)


ids = st.integers(1, 4)
grants = st.one_of(
    st.builds(Grant, target=st.just(GrantTarget.DATABASE), target_id=ids),
    st.builds(Grant, target=st.just(GrantTarget.SCHEMA), target_id=ids, schema=st.sampled_from(SCHEMAS)),
    st.builds(Grant, target=st.just(GrantTarget.DATASET), target_id=st.integers(1, 25)),
)
roles = st.builds(
    Role,
    id=ids,
    name=st.sampled_from(["r", "readers"]),
    is_admin=st.sampled_from([False, False, False, True]),
    grants=st.frozensets(grants, max_size=3),
)
named = st.frozensets(st.integers(1, 25), max_size=6)
passes = st.builds(
    GuestPass, dashboard_ids=named, chart_ids=named, dataset_ids=named, rules=st.just(()), all_rows=st.none()
)
actors = st.one_of(
    st.builds(
        Actor,
        user=st.builds(User, id=st.sampled_from((*PEOPLE, 77)), username=st.just("u")),
        roles=st.lists(roles, max_size=3).map(tuple),
    ),
    st.builds(
        Actor, user=st.just(User(id=0, username="g")), roles=st.lists(roles, max_size=3).map(tuple), guest=passes
    ),
)
ELSEWHERE = {
    Relationship.THEMSELVES,
    Relationship.SIGNED_IN,
    Relationship.CREATOR,
}  # relationships that no list is narrowed by
relationships = st.frozensets(
    st.sampled_from(
        [*(relationship for relationship in Relationship if relationship not in ELSEWHERE), HasRole("readers")]
    )
)
tables = st.one_of(st.just(RULES), st.fixed_dictionaries(dict.fromkeys(READING.values(), relationships)))


@pytest.mark.slow
@given(actor=actors, table=tables)
@example(actor=Actor(user=User(id=2, username="u")), table=RULES)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_list_shows_what_the_policy_lets_read(world, actor, table):
    policy = Policy(table)
    for name in KINDS:
        assert scope_of(policy, READING[name], actor) is not None
        readable = world.readable(name, policy, actor)
        assert world.listed(name, policy, actor) == (len(readable), readable), name


class Choosy(Policy):
    """A host's policy with rules in its methods: odd ids are for nobody, not even for administrators."""

    def can_read_database(self, actor, database):
        return database.id % 2 == 0 and super().can_read_database(actor, database)

    def can_read_dataset(self, actor, dataset):
        return dataset.id % 2 == 0 and bool(dataset.columns) and super().can_read_dataset(actor, dataset)

    def can_read_chart(self, actor, chart, dataset):
        return chart.id % 2 == 0 and super().can_read_chart(actor, chart, dataset)

    def can_read_dashboard(self, actor, dashboard, datasets):
        return dashboard.id % 2 == 0 and super().can_read_dashboard(actor, dashboard, datasets)


@pytest.mark.slow
@given(actor=actors)
@example(actor=Actor(user=User(id=2, username="u"), roles=(Role(id=1, name="r", is_admin=True),)))
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_lists_ask_a_policy_that_decides_by_methods_of_its_own(world, actor):
    policy = Choosy()
    for name in KINDS:
        assert scope_of(policy, READING[name], actor) is None
        readable = world.readable(name, policy, actor)
        assert all(key % 2 == 0 for key in readable)
        assert world.listed(name, policy, actor) == (len(readable), readable), name


class ChoosyAboutDatasets(Policy):
    def can_read_dataset(self, actor, dataset):
        return False


@pytest.mark.parametrize(
    ("act", "is_consulted"),
    [
        (Permission.READ_DATABASE, False),
        (Permission.READ_DATASET, True),
        (Permission.READ_CHART, True),
        (Permission.READ_DASHBOARD, True),
    ],
)
def test_a_policy_is_asked_about_what_its_methods_bear_on(act, is_consulted):
    someone = Actor(user=User(id=2, username="u"))
    assert (scope_of(ChoosyAboutDatasets(), act, someone) is None) is is_consulted


def test_a_policy_whose_method_was_replaced_on_the_object_is_asked_too():
    policy = Policy()
    policy.can_read_chart = lambda actor, chart, dataset: False
    assert scope_of(policy, Permission.READ_CHART, Actor(user=User(id=2, username="u"))) is None


@pytest.mark.parametrize("permission", [Permission.READ_CHART, Permission.READ_DATASET])
def test_a_relationship_that_lists_do_not_know_makes_them_ask_about_each_record(permission: Permission) -> None:
    table = {**RULES, permission: frozenset({Relationship.SIGNED_IN})}
    assert scope_of(Policy(table), Permission.READ_CHART, Actor(user=User(id=2, username="u"))) is None
