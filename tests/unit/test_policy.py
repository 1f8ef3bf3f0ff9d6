"""Who may do what, cell by cell of the policy's table."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from tests.support.cases import for_each

from analytics_core._engine.rights.actor import Actor
from analytics_core._engine.rights.policy import RULES, Permission, Policy
from analytics_core._engine.rights.relationships import Relationship
from analytics_core._records.audit import Audit
from analytics_core._records.chart import Annotation, AnnotationLayer, Chart
from analytics_core._records.dashboard import CssTemplate, Dashboard, Tag
from analytics_core._records.datasource import Database, Dataset
from analytics_core._records.people import Grant, GrantTarget, GuestPass, Role, User
from analytics_core._records.secret import Secret
from analytics_core.errors import (
    AccessError,
    ChartAccessError,
    DashboardAccessError,
    DatabaseAccessError,
    DatasetAccessError,
    OwnershipError,
)

DATABASE = Database(id=1, uuid="d", database_name="shop", uri=Secret("sqlite://"), engine="sqlite")
DATASET = Dataset(id=10, uuid="t", database_id=1, table_name="orders", schema="sales", owner_ids=(7,))
CHART = Chart(id=100, uuid="c", slice_name="Revenue", datasource_id=10, datasource_type="table", owner_ids=(8,))
PAGE = Dashboard(id=1000, uuid="p", dashboard_title="Sales", chart_ids=(100,), owner_ids=(9,))
POLICY = Policy()

ON_DATABASE = Grant(target=GrantTarget.DATABASE, target_id=1)
ON_SCHEMA = Grant(target=GrantTarget.SCHEMA, target_id=1, schema="sales")
ON_DATASET = Grant(target=GrantTarget.DATASET, target_id=10)
ELSEWHERE = (
    Grant(target=GrantTarget.DATABASE, target_id=2),
    Grant(target=GrantTarget.SCHEMA, target_id=2, schema="sales"),
    Grant(target=GrantTarget.SCHEMA, target_id=1, schema="hr"),
    Grant(target=GrantTarget.DATASET, target_id=1),
    Grant(target=GrantTarget.DATABASE, target_id=10),
)


def actor(user_id: int = 5, *grants: Grant, is_admin: bool = False) -> Actor:
    role = Role(id=1, name="role", is_admin=is_admin, grants=frozenset(grants))
    return Actor(user=User(id=user_id, username="u", role_ids=(1,)), roles=(role,))


ADMIN, STRANGER, DATASET_OWNER, CHART_OWNER = actor(is_admin=True), actor(), actor(7), actor(8)


@for_each(
    ("who", "may_read", "may_query"),
    [
        (ADMIN, True, True),
        (actor(5, ON_DATABASE), True, True),
        (actor(5, ON_SCHEMA), True, False),
        (actor(5, ON_DATASET), False, False),
        (DATASET_OWNER, False, False),
        (STRANGER, False, False),
    ],
)
def test_databases_are_read_and_queried_by_grants(who: Actor, may_read: bool, may_query: bool) -> None:
    assert POLICY.can_read_database(who, DATABASE) is may_read
    assert POLICY.can_query_database(who, DATABASE) is may_query


@for_each(
    ("who", "may_read", "may_write"),
    [
        (ADMIN, True, True),
        (DATASET_OWNER, True, True),
        (actor(5, ON_DATABASE), True, False),
        (actor(5, ON_SCHEMA), True, False),
        (actor(5, ON_DATASET), True, False),
        (CHART_OWNER, False, False),
        (actor(5, *ELSEWHERE), False, False),
        (STRANGER, False, False),
    ],
)
def test_datasets_are_read_by_grants_and_changed_by_owners(who: Actor, may_read: bool, may_write: bool) -> None:
    assert POLICY.can_read_dataset(who, DATASET) is may_read
    assert POLICY.can_write(who, DATASET) is may_write


@for_each(
    ("who", "may_read", "may_write"),
    [
        (ADMIN, True, True),
        (CHART_OWNER, True, True),
        (DATASET_OWNER, True, False),
        (actor(5, ON_SCHEMA), True, False),
        (STRANGER, False, False),
    ],
)
def test_charts_are_read_by_readers_of_their_dataset(who: Actor, may_read: bool, may_write: bool) -> None:
    assert POLICY.can_read_chart(who, CHART, DATASET) is may_read
    assert POLICY.can_write(who, CHART) is may_write


def test_a_chart_without_its_dataset_is_for_its_owners_only() -> None:
    assert POLICY.can_read_chart(CHART_OWNER, CHART, None)
    assert not POLICY.can_read_chart(actor(5, ON_DATABASE), CHART, None)


DRAFT, PUBLISHED = PAGE, replace(PAGE, published=True)
FOR_ROLE_1, FOR_ROLE_2 = replace(PUBLISHED, role_ids=(1, 3)), replace(PUBLISHED, role_ids=(2,))


@for_each(
    ("who", "draft", "published", "for_role_1", "for_role_2"),
    [
        (ADMIN, True, True, True, True),
        (actor(9), True, True, True, True),
        (actor(5, ON_DATASET), False, True, True, False),
        (actor(5, ON_DATABASE), False, True, True, False),
        (DATASET_OWNER, False, True, True, False),
        (CHART_OWNER, False, False, False, False),
        (STRANGER, False, False, False, False),
    ],
)
def test_dashboards_are_read_by_their_audience(
    who: Actor, draft: bool, published: bool, for_role_1: bool, for_role_2: bool
) -> None:
    pages = (DRAFT, PUBLISHED, FOR_ROLE_1, FOR_ROLE_2)
    seen = [POLICY.can_read_dashboard(who, page, [DATASET]) for page in pages]
    assert seen == [draft, published, for_role_1, for_role_2]


def test_a_dashboard_of_charts_without_datasets_is_for_its_owners_only() -> None:
    assert not POLICY.can_read_dashboard(actor(5, ON_DATABASE), PUBLISHED, [])
    assert POLICY.can_read_dashboard(STRANGER, replace(PUBLISHED, chart_ids=()), [])


def test_a_dashboard_is_changed_by_its_owners() -> None:
    assert POLICY.can_write(actor(9), PAGE)
    assert not POLICY.can_write(actor(5, ON_DATABASE), PUBLISHED)
    with pytest.raises(DashboardAccessError, match="published"):
        POLICY.require_read_dashboard(STRANGER, PAGE, [DATASET])


def test_a_tag_is_changed_by_who_made_it() -> None:
    tag = Tag(id=1, name="t", audit=Audit(created_by=5))
    POLICY.require_write_tag(STRANGER, tag)
    POLICY.require_write_tag(ADMIN, replace(tag, audit=Audit()))
    for rejected in (tag, replace(tag, audit=Audit())):
        with pytest.raises(OwnershipError, match="tag 1"):
            POLICY.require_write_tag(CHART_OWNER, rejected)


def test_a_schema_grant_does_not_open_tables_of_the_unnamed_schema() -> None:
    unnamed = replace(DATASET, schema=None)
    assert not POLICY.can_read_dataset(actor(5, ON_SCHEMA), unnamed)
    assert POLICY.can_read_dataset(actor(5, ON_DATABASE), unnamed)


def test_grants_of_several_roles_add_up() -> None:
    roles = (
        Role(id=1, name="a", grants=frozenset({ON_DATASET})),
        Role(id=2, name="b", grants=frozenset({ON_DATABASE})),
    )
    both = Actor(user=User(id=5, username="u"), roles=roles)
    assert POLICY.can_read_dataset(both, DATASET)
    assert POLICY.can_query_database(both, DATABASE)
    assert both.role_ids == {1, 2}


def test_somebody_without_roles_may_nothing() -> None:
    no_roles = Actor(user=User(id=5, username="u"))
    assert not POLICY.can_read_dataset(no_roles, DATASET)
    assert not POLICY.can_read_database(no_roles, DATABASE)


def test_refusals_are_typed_and_tell_what_would_help() -> None:
    with pytest.raises(DatabaseAccessError, match="grant"):
        POLICY.require_read_database(STRANGER, DATABASE)
    with pytest.raises(DatabaseAccessError, match="grant on the whole database"):
        POLICY.require_query_database(actor(5, ON_SCHEMA), DATABASE)
    with pytest.raises(DatabaseAccessError, match="administrator"):
        POLICY.require_manage_databases(actor(5, ON_DATABASE))
    with pytest.raises(DatasetAccessError, match="grant"):
        POLICY.require_read_dataset(STRANGER, DATASET)
    with pytest.raises(DatabaseAccessError, match="schema"):
        POLICY.require_read_table(actor(5, ON_SCHEMA), DATABASE, schema="hr")
    with pytest.raises(ChartAccessError, match="dataset"):
        POLICY.require_read_chart(STRANGER, CHART, DATASET)
    with pytest.raises(AccessError, match="administrator"):
        POLICY.require_manage_people(DATASET_OWNER)


@pytest.mark.parametrize("record", [DATABASE, DATASET, CHART, PAGE])
def test_only_owners_and_administrators_change_records(record: Database | Dataset | Chart | Dashboard) -> None:
    POLICY.require_write(ADMIN, record)
    with pytest.raises(OwnershipError) as caught:
        POLICY.require_write(actor(5, ON_DATABASE), record)
    assert caught.value.status == 403


def test_no_refusal_names_a_record_that_the_actor_may_not_see() -> None:
    for rejected in (
        lambda: POLICY.require_read_dataset(STRANGER, DATASET),
        lambda: POLICY.require_read_chart(STRANGER, CHART, DATASET),
        lambda: POLICY.require_read_database(STRANGER, DATABASE),
        lambda: POLICY.require_read_dashboard(STRANGER, PAGE, [DATASET]),
    ):
        with pytest.raises(AccessError) as caught:
            rejected()
        assert not {"orders", "Revenue", "shop", "Sales"} & set(caught.value.message.split())


def test_a_record_managed_externally_changes_only_for_its_manager() -> None:
    managed = replace(DATASET, is_managed_externally=True)
    manager = replace(ADMIN, user=replace(ADMIN.user, attributes=(("manages_externally", "true"),)))
    POLICY.require_write(manager, managed)
    for who in (ADMIN, DATASET_OWNER):
        with pytest.raises(OwnershipError, match="another system"):
            POLICY.require_write(who, managed)


def test_an_external_manager_needs_the_right_to_write_as_well() -> None:
    manager = replace(STRANGER, user=replace(STRANGER.user, attributes=(("manages_externally", "true"),)))
    with pytest.raises(OwnershipError, match="owner"):
        POLICY.require_write(manager, replace(DATASET, is_managed_externally=True))


def test_lists_are_not_narrowed_for_those_who_see_all() -> None:
    assert POLICY.sees_all(Permission.READ_DATASET, ADMIN)
    assert not POLICY.sees_all(Permission.READ_DATASET, DATASET_OWNER)


@for_each(
    ("who", "may_write_layer", "may_write_annotation"),
    [
        (ADMIN, True, True),
        (actor(1), True, True),
        (actor(2), False, True),
        (actor(3), False, False),
        (actor(3, ON_DATABASE, ON_DATASET), False, False),
    ],
)
def test_annotations_are_read_by_everybody_and_changed_by_who_made_them_or_their_layer(
    who: Actor, may_write_layer: bool, may_write_annotation: bool
) -> None:
    layer = AnnotationLayer(id=1, name="Releases", audit=Audit(created_by=1))
    moment = datetime(2024, 1, 1, tzinfo=UTC)
    annotation = Annotation(
        id=2, layer_id=1, start_dttm=moment, end_dttm=moment, short_descr="2.0", audit=Audit(created_by=2)
    )
    POLICY.require(Permission.READ_ANNOTATIONS, who)
    POLICY.require(Permission.ADD_ANNOTATION_LAYER, who)
    assert POLICY.can_write_annotation_layer(who, layer) is may_write_layer
    assert POLICY.can_write_annotation(who, annotation, layer) is may_write_annotation


def test_css_templates_are_read_by_everybody_and_changed_by_who_made_them() -> None:
    template = CssTemplate(id=1, audit=Audit(created_by=1))
    POLICY.require(Permission.READ_CSS_TEMPLATES, STRANGER)
    assert [POLICY.can_write_css_template(who, template) for who in (ADMIN, actor(1), STRANGER)] == [True, True, False]


def test_what_a_deleted_person_made_is_changed_by_administrators_alone() -> None:
    orphan = CssTemplate(id=1, audit=Audit(created_by=None))
    assert POLICY.can_write_css_template(ADMIN, orphan)
    assert not POLICY.can_write_css_template(STRANGER, orphan)


def test_a_host_may_keep_shared_content_to_administrators() -> None:
    strict = Policy({**RULES, Permission.READ_ANNOTATIONS: frozenset({Relationship.ADMINISTRATOR})})
    strict.require(Permission.READ_ANNOTATIONS, ADMIN)
    with pytest.raises(AccessError, match="read annotation layers"):
        strict.require(Permission.READ_ANNOTATIONS, STRANGER)


def test_the_table_decides_every_act() -> None:
    assert set(RULES) == set(Permission)
    assert all(Relationship.ADMINISTRATOR in enough for enough in RULES.values())


def test_a_host_may_bring_a_stricter_table() -> None:
    strict = Policy({**RULES, Permission.READ_DATASET: frozenset({Relationship.OWNER})})
    assert strict.can_read_dataset(DATASET_OWNER, DATASET)
    assert not strict.can_read_dataset(ADMIN, DATASET)
    assert not strict.sees_all(Permission.READ_DATASET, ADMIN)


def test_an_act_that_a_table_lacks_is_refused() -> None:
    assert not Policy({}).can_read_dataset(ADMIN, DATASET)


def guest() -> Actor:
    """Return a guest of dashboard 1000, whom no store knows."""
    read = {"dashboard_ids": frozenset({1000}), "chart_ids": frozenset({100}), "dataset_ids": frozenset({10})}
    return Actor(user=User(id=0, username="g"), guest=GuestPass(**read, rules=(), all_rows=None))


@pytest.mark.parametrize("who", [guest(), STRANGER, actor(0)], ids=["guest", "stranger", "id 0"])
def test_nobody_is_the_creator_of_a_record_whose_maker_is_gone(who: Actor) -> None:
    layer, day = AnnotationLayer(id=1, name="holidays", audit=Audit()), datetime(2024, 1, 1, tzinfo=UTC)
    annotation = Annotation(
        id=2, layer_id=1, short_descr="new year", start_dttm=day, end_dttm=day, audit=Audit(created_by=None)
    )
    assert not POLICY.can_write_annotation_layer(who, layer)
    assert not POLICY.can_write_annotation(who, annotation, layer)
    assert not POLICY.can_write_css_template(who, CssTemplate(id=3, template_name="t", css="", audit=Audit()))
    with pytest.raises(OwnershipError):
        POLICY.require_write_tag(who, Tag(id=4, name="tag", audit=Audit(created_by=None)))


def test_a_guest_owns_no_record_that_nobody_owns() -> None:
    for record in (replace(CHART, owner_ids=()), replace(PAGE, owner_ids=()), replace(DATASET, owner_ids=()), DATABASE):
        assert not POLICY.can_write(guest(), record)
