"""What a store must keep of scopes: a list shows what its ways lead to, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from analytics_core._records.audit import LogEntry
from analytics_core._records.people import Role
from analytics_core._records.repositories import (
    Audience,
    ListFilter,
    ListQuery,
    NamesQuery,
    Repository,
    Scope,
    UnitOfWork,
)
from analytics_core.ports import MetadataStore
from analytics_core.testing.store.fixtures import StoreSuite
from analytics_core.testing.store.records import START, a_chart, a_dashboard, a_database, a_dataset

_ANY = Scope(everything=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeIds:
    """Ids by name: datasets called `schema.table` of two databases, charts by their dataset, dashboards, roles."""

    databases: tuple[int, int]
    datasets: Mapping[str, int]
    charts: Mapping[str, int]
    dashboards: Mapping[str, int]
    roles: tuple[int, int]


class ScopeConformance(StoreSuite):
    """What each way of a scope leads to."""

    @pytest.fixture
    def visible(self, store: MetadataStore) -> ScopeIds:
        """Return what lists may show."""
        with store.unit_of_work() as unit:
            return store_visible(unit)

    def test_datasets_are_reached_by_database_schema_owner_and_id(
        self, store: MetadataStore, visible: ScopeIds
    ) -> None:
        """A schema is one of its database and counts to the letter; no way leads to the rest."""
        first, second = visible.databases
        for scope, expected in (
            (Scope(database_ids=frozenset({second})), {"s.c"}),
            (Scope(database_ids=frozenset({second + 1_000})), set()),
            (Scope(schemas=frozenset({(first, "s")})), {"s.a"}),
            (Scope(schemas=frozenset({(first, "s"), (second, "s")})), {"s.a", "s.c"}),
            (Scope(schemas=frozenset({(second, "S"), (second, "")})), set()),
            (Scope(owner_id=7), {"S.a"}),
            (Scope(owner_id=8), set()),
            (
                Scope(owner_id=7, ids=frozenset({visible.datasets[".b"]}), schemas=frozenset({(second, "s")})),
                {"S.a", ".b", "s.c"},
            ),
            (Scope(drawn_from=_ANY, audience=Audience(role_ids=frozenset(), datasets=_ANY)), set()),
        ):
            assert _found(store, "datasets", scope, visible.datasets) == expected

    def test_charts_are_reached_through_the_datasets_that_they_are_drawn_from(
        self, store: MetadataStore, visible: ScopeIds
    ) -> None:
        """A chart of a stored query, or of none, is drawn from no dataset, whatever its number says."""
        only = Scope(ids=frozenset({visible.datasets["s.a"]}))
        owned = Scope(owner_id=7)
        for scope, expected in (
            (Scope(), set()),
            (_ANY, set(visible.charts)),
            (Scope(drawn_from=only), {"s.a"}),
            (Scope(drawn_from=Scope(schemas=frozenset({(visible.databases[1], "s")}))), {"s.c"}),
            (Scope(drawn_from=owned), {"S.a"}),
            (Scope(drawn_from=Scope()), set()),
            (Scope(drawn_from=_ANY), {"s.a", "S.a", ".b", "s.c"}),
            (Scope(owner_id=7, drawn_from=only), {"s.a", "query"}),
            (Scope(database_ids=frozenset(visible.databases)), set()),
        ):
            assert _found(store, "charts", scope, visible.charts) == expected

    def test_dashboards_are_reached_by_their_audience(self, store: MetadataStore, visible: ScopeIds) -> None:
        """Published, for no role or one of these, and without charts or with one that is drawn from these datasets."""
        (reader, editor), of_a = visible.roles, Scope(ids=frozenset({visible.datasets["s.a"]}))
        no_user: frozenset[int] = frozenset()
        for scope, expected in (
            (Scope(audience=Audience(role_ids=no_user, datasets=of_a)), {"open", "empty"}),
            (Scope(audience=Audience(role_ids=frozenset({reader}), datasets=of_a)), {"open", "empty", "readers"}),
            (Scope(audience=Audience(role_ids=frozenset({editor}), datasets=of_a)), {"open", "empty"}),
            (Scope(audience=Audience(role_ids=frozenset({reader}), datasets=Scope())), {"empty"}),
            (Scope(audience=Audience(role_ids=no_user, datasets=_ANY)), {"open", "empty", "other data"}),
            (Scope(owner_id=7), {"draft"}),
            (Scope(owner_id=7, audience=Audience(role_ids=no_user, datasets=Scope())), {"draft", "empty"}),
            (Scope(drawn_from=_ANY, database_ids=frozenset(visible.databases)), set()),
        ):
            assert _found(store, "dashboards", scope, visible.dashboards) == expected

    def test_values_and_names_stay_in_the_scope_too(self, visible: ScopeIds, unit: UnitOfWork) -> None:
        """Look-ups would tell otherwise what lists hide."""
        second = Scope(database_ids=frozenset({visible.databases[1]}))
        assert unit.datasets.distinct("table_name", ListQuery(ids=second)) == (1, ["c"])
        assert unit.datasets.distinct("owner_ids", ListQuery(ids=second)) == (0, [])
        every = frozenset(visible.datasets.values())
        named = unit.names(NamesQuery(datasets=every, among_datasets=second)).datasets
        assert set(named) == {visible.datasets["s.c"]}
        given = unit.names(NamesQuery(datasets=every, among_datasets=frozenset())).datasets
        assert not given

    def test_the_newest_are_those_of_the_ids(self, unit: UnitOfWork) -> None:
        """Entries of others are not counted among them."""
        mine, _ = (
            unit.logs.append(LogEntry(action=name, dttm=START + timedelta(hours=hours)), actor_id=1)
            for name, hours in (("mine", 1), ("theirs", 2))
        )
        found = unit.logs.newest(("action",), "dttm", ListQuery(ids=frozenset({mine})))
        assert [tuple(values) for values, _, _ in found] == [("mine",)]


def store_visible(unit: UnitOfWork) -> ScopeIds:
    """Store what lists may show."""
    first, second = (unit.databases.add(a_database(name), actor_id=None).id for name in ("one", "two"))
    reader, editor = (unit.roles.add(Role(name=name), actor_id=None).id for name in ("readers", "editors"))
    places = (("s", "a", first, ()), ("S", "a", first, (7,)), (None, "b", first, ()), ("s", "c", second, ()))
    datasets = {
        f"{schema or ''}.{name}": unit.datasets.add(
            a_dataset(database, name, schema=schema, owner_ids=owners), actor_id=None
        ).id
        for schema, name, database, owners in places
    }
    charts = {name: _chart(unit, name, key, datasource_type="table") for name, key in datasets.items()}
    charts["query"] = _chart(unit, "query", datasets["s.a"], datasource_type="query", owner_ids=(7,))
    charts["none"] = _chart(unit, "none", None)
    dashboards = {
        "open": _dashboard(unit, charts["s.a"], charts["s.c"]),
        "empty": _dashboard(unit),
        "readers": _dashboard(unit, charts["s.a"], role_ids=(reader,)),
        "other data": _dashboard(unit, charts["s.c"]),
        "of a query": _dashboard(unit, charts["query"]),
        "draft": _dashboard(unit, charts["s.a"], published=False, owner_ids=(7,)),
    }
    return ScopeIds(
        databases=(first, second), datasets=datasets, charts=charts, dashboards=dashboards, roles=(reader, editor)
    )


def _chart(unit: UnitOfWork, name: str, datasource_id: int | None, **fields: Any) -> int:
    return unit.charts.append(a_chart(name, datasource_id=datasource_id, **fields), actor_id=None)


def _dashboard(unit: UnitOfWork, *charts: int, **fields: Any) -> int:
    return unit.dashboards.append(a_dashboard(chart_ids=charts, **{"published": True, **fields}), actor_id=None)


def _found(store: MetadataStore, kind: str, scope: Scope, names: Mapping[str, int]) -> set[str]:
    """Return the names of what a list shows, once its total and a list of one are the same."""
    with store.unit_of_work() as unit:
        repository: Repository[Any] = getattr(unit, kind)
        total, found = repository.list(ListQuery(ids=scope))
        visible = {name for name, key in names.items() if any(record.id == key for record in found)}
        assert total == len(found) == len(visible) == repository.list(ListQuery(ids=scope, page_size=1))[0]
        for name, key in names.items():
            one = ListQuery(ids=scope, filters=(ListFilter(col="id", op="eq", val=key),))
            assert repository.list(one)[0] == (name in visible)
    return visible
