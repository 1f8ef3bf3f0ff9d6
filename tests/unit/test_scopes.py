"""What an actor may read as one scope, and each refusal of the policy by its type and words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from analytics_core._engine.rights.actor import Actor
from analytics_core._engine.rights.policy import RULES, Permission, Policy
from analytics_core._engine.rights.relationships import HasRole, Relationship
from analytics_core._engine.rights.scopes import decides_by_table, scope_of
from analytics_core._records.audit import Audit
from analytics_core._records.chart import Annotation, AnnotationLayer, Chart
from analytics_core._records.dashboard import CssTemplate, Dashboard, Tag
from analytics_core._records.datasource import Database, Dataset
from analytics_core._records.people import Grant, GrantTarget, GuestPass, Role, User
from analytics_core._records.report import ReportSchedule
from analytics_core._records.repositories import Audience, Scope
from analytics_core._records.secret import Secret
from analytics_core.errors import (
    AccessError,
    ChartAccessError,
    DashboardAccessError,
    DatabaseAccessError,
    DatasetAccessError,
    OwnershipError,
    SettingsError,
    UserActivityAccessError,
)

LISTED = (
    Permission.READ_DATABASE,
    Permission.READ_DATASET,
    Permission.READ_CHART,
    Permission.READ_DASHBOARD,
    Permission.MANAGE_REPORT,
)


def actor(*grants: Grant, user_id: int = 5, **role: Any) -> Actor:
    made = Role(**{"id": 1, "name": "North", "grants": frozenset(grants), **role})
    return Actor(user=User(id=user_id, username="ann"), roles=(made,))


def of_guest(**named_ids: frozenset[int]) -> Actor:
    nothing: Any = dict.fromkeys(("dashboard_ids", "chart_ids", "dataset_ids"), frozenset())
    rights = GuestPass(**{**nothing, **named_ids}, rules=(), all_rows=None)
    return Actor(user=User(id=0, username="guest"), guest=rights, roles=(Role(id=1, name="North", is_admin=True),))


def dataset(record_id: int) -> Dataset:
    return Dataset(id=record_id, uuid=f"u{record_id}", table_name="orders", database_id=1)


GRANTS = (
    Grant(target=GrantTarget.DATABASE, target_id=1),
    Grant(target=GrantTarget.SCHEMA, target_id=2, schema="sales"),
    Grant(target=GrantTarget.DATASET, target_id=3),
)


def scopes(who: Actor, policy: Policy | None = None) -> list[Scope | None]:
    return [scope_of(policy or Policy(), permission, who) for permission in LISTED]


# ---------------------------------------------------------------------------------------------------------- the scopes
def test_the_scope_of_somebody_is_what_they_own_and_what_their_grants_open() -> None:
    datasets = Scope(owner_id=5, ids=frozenset({3}), database_ids=frozenset({1}), schemas=frozenset({(2, "sales")}))
    assert scopes(actor(*GRANTS)) == [
        Scope(ids=frozenset({1, 2})),
        datasets,
        Scope(owner_id=5, drawn_from=datasets),
        Scope(owner_id=5, audience=Audience(role_ids=frozenset({1}), datasets=datasets)),
        Scope(owner_id=5),
    ]
    assert scopes(actor(is_admin=True)) == [Scope(everything=True)] * 5
    assert scopes(actor())[:2] == [Scope(), Scope(owner_id=5)]


def test_the_scope_of_a_guest_is_what_the_token_names() -> None:
    guest = of_guest(dashboard_ids=frozenset({1}), chart_ids=frozenset({2}), dataset_ids=frozenset({3}))
    ids = [frozenset[int](), frozenset({3}), frozenset({2}), frozenset({1}), frozenset[int]()]
    assert scopes(guest) == [Scope(ids=found) for found in ids]
    closed = {one: RULES[one] - {Relationship.GUEST_OF_ITS_DASHBOARD} for one in RULES}
    assert scopes(guest, Policy(closed)) == [Scope()] * 5


def test_a_way_that_the_table_does_not_name_is_no_part_of_a_scope() -> None:
    def without(*gone: Relationship) -> list[Scope | None]:
        return scopes(actor(*GRANTS), Policy({one: RULES[one] - {*gone} for one in RULES}))

    assert without(Relationship.OWNER)[4] == Scope()
    assert without(Relationship.DATABASE_GRANT)[0] == Scope(ids=frozenset({2}))
    assert without(Relationship.SCHEMA_GRANT)[0] == Scope(ids=frozenset({1}))
    every = Scope(owner_id=5, ids=frozenset({3}), database_ids=frozenset({1}), schemas=frozenset({(2, "sales")}))
    assert without(Relationship.SCHEMA_GRANT)[1] == replace(every, schemas=frozenset())
    assert without(Relationship.DATABASE_GRANT)[1] == replace(every, database_ids=frozenset())
    assert without(Relationship.DATASET_GRANT)[1] == replace(every, ids=frozenset())
    assert without(Relationship.READER_OF_ITS_DATASET)[2] == Scope(owner_id=5)
    assert without(Relationship.AUDIENCE)[3] == Scope(owner_id=5)
    closed = Policy({one: RULES[one] - {Relationship.ADMINISTRATOR} for one in RULES})
    assert scopes(actor(is_admin=True), closed)[4] == Scope(owner_id=5)


def test_a_role_that_a_hosts_table_names_opens_all_and_a_way_unknown_to_scopes_asks_each_record() -> None:
    north = Policy({**RULES, Permission.READ_DATASET: RULES[Permission.READ_DATASET] | {HasRole("North")}})
    assert scopes(actor(), north)[1] == Scope(everything=True)
    assert scopes(actor(name="South"), north)[1] == Scope(owner_id=5)
    assert scopes(actor(), north)[0] == Scope()
    odd = Policy({**RULES, Permission.READ_DATASET: RULES[Permission.READ_DATASET] | {Relationship.SIGNED_IN}})
    found = scopes(actor(), odd)
    assert [one is None for one in found] == [False, True, True, True, False]


def test_a_policy_of_methods_of_its_own_has_no_scope_where_they_decide() -> None:
    def overriding(name: str) -> Policy:
        return type("Own", (Policy,), {name: lambda self, *_, **__: True})()

    cases = {
        "can_read_database": [True, False, False, False, False],
        "can_read_dataset": [False, True, True, True, False],
        "can_read_chart": [False, False, True, False, False],
        "can_read_dashboard": [False, False, False, True, False],
        "_is_audience": [False, False, False, True, False],
        "can_manage_report": [False, False, False, False, True],
        "allows": [True] * 5,
        "enough_for": [True] * 5,
        "require_write_tag": [False] * 5,
    }
    for name, has_none in cases.items():
        policy = overriding(name)
        assert [decides_by_table(policy, name) is False, *has_none][1:] == has_none
        if name != "enough_for":
            assert [one is None for one in scopes(actor(), policy)] == has_none, name
    assert decides_by_table(Policy(), "can_read_chart")
    assert not decides_by_table(overriding("can_read_chart"), "can_read_chart")


# ------------------------------------------------------------------------------------------------------- the refusals
def test_each_refusal_is_of_its_type_and_names_the_record_and_an_administrator_meets_none() -> None:
    shop = Database(id=41, uuid="u", database_name="d", uri=Secret("sqlite://"), engine="sqlite")
    orders, chart = dataset(42), Chart(id=43, uuid="u", slice_name="c")
    board, tag = Dashboard(id=44, uuid="u", dashboard_title="d", published=True, role_ids=(9,)), Tag(id=45, name="t")
    layer, template = AnnotationLayer(id=46, name="l"), CssTemplate(id=47, template_name="t")
    start = datetime(2026, 1, 1, tzinfo=UTC)
    note = Annotation(id=48, layer_id=46, short_descr="n", start_dttm=start, end_dttm=start)
    schedule = ReportSchedule(
        id=49, uuid="u", name="s", type="Report", crontab="0 * * * *", report_format="CSV", recipients=Secret("[]")
    )
    p, who = Policy(), actor()
    acts: tuple[tuple[Callable[[Actor], None], type[Exception], str], ...] = (
        (lambda a: p.require_read_database(a, shop), DatabaseAccessError, "no access to database 41"),
        (lambda a: p.require_query_database(a, shop), DatabaseAccessError, "SQL on database 41 needs a grant"),
        (p.require_manage_databases, DatabaseAccessError, "may not create, change or delete databases"),
        (lambda a: p.require_upload(a, shop, schema="s"), DatabaseAccessError, "may not upload files .* database 41"),
        (lambda a: p.require_read_dataset(a, orders), DatasetAccessError, "no access to dataset 42"),
        (lambda a: p.require_empty_cache(a, orders), OwnershipError, "empty the cache of dataset 42"),
        (lambda a: p.require_read_table(a, shop, schema="s"), DatabaseAccessError, "this schema of database 41"),
        (lambda a: p.require_read_chart(a, chart, None), ChartAccessError, "no access to chart 43"),
        (lambda a: p.require_read_dashboard(a, board, ()), DashboardAccessError, "no access to dashboard 44"),
        (lambda a: p.require_embed(a, board), OwnershipError, "may embed dashboard 44"),
        (p.require_mint_guest_tokens, AccessError, "only an administrator may mint guest tokens"),
        (lambda a: p.require_write_tag(a, tag), OwnershipError, "may change tag 45"),
        (lambda a: p.require_write(a, shop), OwnershipError, "only an administrator may change database 41"),
        (lambda a: p.require_write(a, chart), OwnershipError, "an owner or an administrator may change chart 43"),
        (lambda a: p.require_write(a, orders), OwnershipError, "may change dataset 42"),
        (lambda a: p.require_write(a, board), OwnershipError, "may change dashboard 44"),
        (lambda a: p.require_write_annotation_layer(a, layer), OwnershipError, "may change annotation layer 46"),
        (lambda a: p.require_write_annotation(a, note, layer), OwnershipError, "may change annotation 48"),
        (lambda a: p.require_write_css_template(a, template), OwnershipError, "may change CSS template 47"),
        (p.require_manage_people, AccessError, "may not manage users and roles"),
        (p.require_manage_row_rules, AccessError, "may not see and manage row rules"),
        (lambda a: p.require_manage_report(a, schedule), OwnershipError, "see or change report schedule 49"),
        (lambda a: p.require_read_activity(a, 9), UserActivityAccessError, "may read your own activity only"),
        (lambda a: p.require_read_activity(a, None), UserActivityAccessError, "may read your own activity only"),
        (p.require_manage_logs, UserActivityAccessError, "may not remove or write log entries"),
        (p.require_manage_permalinks, AccessError, "may not remove old permalinks"),
    )
    for act, error, match in acts:
        with pytest.raises(error, match=match):
            act(who)
        act(actor(is_admin=True))
    p.require_read_activity(who, 5)
    assert not p.reads_all_activity(who)
    assert p.reads_all_activity(actor(is_admin=True))
    with pytest.raises(AccessError, match="you may not read annotation layers and annotations"):
        p.require(Permission.READ_ANNOTATIONS, of_guest())
    p.require(Permission.READ_ANNOTATIONS, who)
    p.require_show_annotations(of_guest())
    p.require_show_annotations(who)
    closed = Policy({**RULES, Permission.READ_ANNOTATIONS: frozenset({Relationship.ADMINISTRATOR})})
    for one in (of_guest(), who):
        with pytest.raises(AccessError, match="you may not read annotation layers"):
            closed.require_show_annotations(one)
    creator = Audit(created_by=5)
    assert p.can_write_annotation(who, replace(note, audit=creator), layer)
    assert p.can_write_annotation(who, note, replace(layer, audit=creator))
    assert p.can_write_annotation_layer(who, replace(layer, audit=creator))
    assert p.can_write_css_template(who, replace(template, audit=creator))


def test_a_table_of_things_that_bind_nobody_is_refused() -> None:
    for rules, match in (
        ({"read": frozenset({Relationship.OWNER})}, "decides about 'read'; its keys are permissions"),
        ({Permission.READ_CHART: frozenset({"owner"})}, "lets 'owner' read this chart; use a Relationship"),
    ):
        broken: Any = rules
        with pytest.raises(SettingsError, match=match):
            Policy(broken)
