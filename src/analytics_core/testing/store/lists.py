"""What a store must keep of lists: conditions, order, pages, counts, distinct values, short names."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from analytics_core._records.dashboard import Dashboard, Tag
from analytics_core._records.people import Role
from analytics_core._records.report import ReportProgress
from analytics_core._records.repositories import (
    DashboardName,
    DatabaseName,
    DatasetName,
    ListFilter,
    ListQuery,
    Names,
    NamesQuery,
    RoleName,
    Scope,
    TagName,
    UnitOfWork,
)
from analytics_core.errors import FilterValueError, LimitError, UnknownNameError, UnknownOperatorError
from analytics_core.ports import MetadataStore
from analytics_core.testing.clock import FixedClock
from analytics_core.testing.store.cases import for_each
from analytics_core.testing.store.fixtures import StoreSuite
from analytics_core.testing.store.records import START, a_chart, a_database, a_dataset, a_schedule, a_user

_CHARTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("Alpha", {"cache_timeout": 10, "viz_type": "bar", "owner_ids": (1,)}),
    ("alpha 50%", {"cache_timeout": None, "viz_type": None, "owner_ids": (1, 2)}),
    ("beta_x", {"cache_timeout": 5, "viz_type": "bar", "owner_ids": (2,)}),
    ("Ärger", {"cache_timeout": 10, "viz_type": "pie", "is_managed_externally": True}),
    ("zeta\\x", {"cache_timeout": None, "viz_type": "Bar"}),
)
_ELSEWHERE = timezone(timedelta(hours=2))
_NAMES = [name for name, _ in _CHARTS]


class ListConformance(StoreSuite):
    """Charts stand for all kinds; what is particular to another one is here too."""

    @pytest.fixture
    def charts(self, store: MetadataStore, clock: FixedClock) -> list[int]:
        """Store five charts, an hour apart, and return their ids."""
        ids = []
        for name, fields in _CHARTS:
            with store.unit_of_work() as unit:
                ids.append(unit.charts.add(a_chart(name, **fields), actor_id=None).id)
            clock.advance(timedelta(hours=1))
        return ids

    def _names(self, store: MetadataStore, **query: Any) -> list[str]:
        with store.unit_of_work() as unit:
            total, found = unit.charts.list(ListQuery(**query))
        assert total >= len(found)
        return [chart.slice_name for chart in found]

    @for_each(
        "col, op, val, expected",
        [
            ("slice_name", "eq", "Alpha", [0]),
            ("slice_name", "eq", "alpha", []),
            ("slice_name", "neq", "Alpha", [1, 2, 3, 4]),
            ("slice_name", "in", ["Alpha", "zeta\\x", "none"], [0, 4]),
            ("slice_name", "in", [], []),
            ("slice_name", "contains", "ALPHA", [0, 1]),
            ("slice_name", "contains", "%", [1]),
            ("slice_name", "contains", "_", [2]),
            ("slice_name", "contains", "\\", [4]),
            ("slice_name", "contains", "ärg", [3]),
            ("slice_name", "contains", "'; DROP TABLE ac_charts --", []),
            ("slice_name", "starts_with", "BETA", [2]),
            ("slice_name", "starts_with", "x", []),
            ("slice_name", "gt", "alpha 50%", [2, 3, 4]),
            ("cache_timeout", "eq", 10, [0, 3]),
            ("cache_timeout", "eq", None, [1, 4]),
            ("cache_timeout", "neq", 10, [1, 2, 4]),
            ("cache_timeout", "neq", None, [0, 2, 3]),
            ("cache_timeout", "lt", 10, [2]),
            ("cache_timeout", "in", [5, None], [1, 2, 4]),
            ("cache_timeout", "is_null", True, [1, 4]),
            ("cache_timeout", "is_null", None, [1, 4]),
            ("cache_timeout", "is_null", False, [0, 2, 3]),
            ("viz_type", "eq", "bar", [0, 2]),
            ("is_managed_externally", "eq", True, [3]),
            ("owner_ids", "eq", 2, [1, 2]),
            ("owner_ids", "in", [1, 2, 99], [0, 1, 2]),
            ("created_on", "gt", START + timedelta(hours=3), [4]),
            ("created_on", "lt", (START + timedelta(hours=1)).isoformat(), [0]),
            (
                "created_on",
                "lt",
                (START + timedelta(hours=1)).astimezone(_ELSEWHERE).isoformat(),
                [0],
            ),
            ("version", "eq", 1, [0, 1, 2, 3, 4]),
        ],
    )
    @pytest.mark.usefixtures("charts")
    def test_a_condition_finds(self, store: MetadataStore, col: str, op: str, val: Any, expected: list[int]) -> None:
        """Text is compared exactly, searched in any case; None is a value of its own."""
        found = self._names(store, filters=(ListFilter(col=col, op=op, val=val),))
        assert found == [_NAMES[position] for position in expected]

    @pytest.mark.usefixtures("charts")
    def test_all_conditions_hold(self, store: MetadataStore) -> None:
        """Conditions are joined by AND."""
        bar, ten = ListFilter(col="viz_type", op="eq", val="bar"), ListFilter(col="cache_timeout", op="eq", val=10)
        assert self._names(store, filters=(bar, ten)) == ["Alpha"]

    @for_each(
        "order_by, expected",
        [
            ((), [0, 1, 2, 3, 4]),
            ((("slice_name", False),), [0, 1, 2, 4, 3]),
            ((("slice_name", True),), [3, 4, 2, 1, 0]),
            ((("cache_timeout", False),), [2, 0, 3, 1, 4]),
            ((("cache_timeout", True),), [0, 3, 2, 1, 4]),
            ((("cache_timeout", True), ("slice_name", True)), [3, 0, 2, 4, 1]),
            ((("created_on", True),), [4, 3, 2, 1, 0]),
        ],
    )
    @pytest.mark.usefixtures("charts")
    def test_order_is_by_code_point_none_last_and_complete(
        self, store: MetadataStore, order_by: tuple[tuple[str, bool], ...], expected: list[int]
    ) -> None:
        """Every store gives the same order."""
        assert self._names(store, order_by=order_by) == [_NAMES[position] for position in expected]

    @pytest.mark.usefixtures("charts")
    def test_pages_cover_everything_once(self, store: MetadataStore) -> None:
        """Also when the order has ties."""
        pages = [self._names(store, order_by=(("viz_type", False),), page=page, page_size=2) for page in range(4)]
        assert [len(page) for page in pages] == [2, 2, 1, 0]
        assert sorted(name for page in pages for name in page) == sorted(_NAMES)

    @for_each("page", [0, 1, 9])
    @pytest.mark.usefixtures("charts")
    def test_the_count_is_of_all_matches_on_every_page(self, page: int, unit: UnitOfWork) -> None:
        """Beyond the last page too."""
        total, _ = unit.charts.list(ListQuery(page=page, page_size=4))
        assert total == 5

    @pytest.mark.parametrize(("page", "most", "count"), [(0, 3, 3), (9, 3, 3), (0, 9, 5), (9, 9, 5)])
    @pytest.mark.usefixtures("charts")
    def test_no_more_matches_are_counted_than_wanted(self, page: int, most: int, count: int, unit: UnitOfWork) -> None:
        """The page itself is not cut."""
        total, found = unit.charts.list(ListQuery(page=page, page_size=4, count_up_to=most))
        assert (total, len(found)) == (count, 0 if page else 4)

    def test_only_given_ids_are_seen(self, store: MetadataStore, charts: list[int]) -> None:
        """No ids, nothing; None, everything; also very many ids."""
        assert self._names(store, ids=frozenset()) == []
        assert self._names(store, ids=frozenset({charts[1], charts[3], 10_000})) == ["alpha 50%", "Ärger"]
        assert self._names(store, ids=frozenset({charts[0], *range(100_000, 170_000)})) == ["Alpha"]

    @for_each(
        "query",
        [
            ListQuery(filters=(ListFilter(col="slice_nam", op="eq", val="x"),)),
            ListQuery(order_by=(("slice_nam", False),)),
        ],
    )
    def test_an_unknown_column_is_refused_with_the_nearest_name(self, store: MetadataStore, query: ListQuery) -> None:
        """Never ignored, never passed on."""
        with store.unit_of_work() as unit, pytest.raises(UnknownNameError, match="did you mean 'slice_name'"):
            unit.charts.list(query)

    @for_each(
        "col, op, val, error",
        [
            ("slice_name", "like", "x", UnknownOperatorError),
            ("slice_name", "eq", 5, FilterValueError),
            ("slice_name", "eq", "a\x00", FilterValueError),
            ("slice_name", "in", "abc", FilterValueError),
            ("slice_name", "contains", None, FilterValueError),
            ("slice_name", "is_null", "yes", FilterValueError),
            ("cache_timeout", "contains", 1, FilterValueError),
            ("cache_timeout", "eq", "5", FilterValueError),
            ("cache_timeout", "eq", True, FilterValueError),
            ("cache_timeout", "eq", 2**70, FilterValueError),
            ("is_managed_externally", "eq", 1, FilterValueError),
            ("created_on", "gt", "yesterday", FilterValueError),
            ("created_on", "gt", "0001-01-01T00:00:00+14:00", FilterValueError),
            ("created_on", "lt", datetime(9999, 12, 31, 23, tzinfo=timezone(timedelta(hours=-9))), FilterValueError),
            ("owner_ids", "contains", 1, UnknownOperatorError),
            ("owner_ids", "eq", "1", FilterValueError),
        ],
    )
    def test_a_condition_that_makes_no_sense_is_a_typed_error(
        self, store: MetadataStore, col: str, op: str, val: Any, error: type[Exception]
    ) -> None:
        """Every store refuses the same values."""
        with store.unit_of_work() as unit, pytest.raises(error, match=col):
            unit.charts.list(ListQuery(filters=(ListFilter(col=col, op=op, val=val),)))

    @for_each("page, page_size", [(-1, 5), (0, 0), (0, -1), (2**31, 2**31)])
    def test_pages_that_cannot_be_are_refused(self, store: MetadataStore, page: int, page_size: int) -> None:
        """LimitError, not a driver's overflow."""
        with store.unit_of_work() as unit, pytest.raises(LimitError):
            unit.charts.list(ListQuery(page=page, page_size=page_size))

    def test_datasets_without_schema_are_found_as_such(self, unit: UnitOfWork) -> None:
        """None is None for the caller, whatever the store writes."""
        database = unit.databases.add(a_database(), actor_id=None)
        for schema in (None, "s"):
            unit.datasets.add(a_dataset(database.id, schema=schema), actor_id=None)
        for item, schemas in (
            (ListFilter(col="schema", op="is_null"), [None]),
            (ListFilter(col="schema", op="is_null", val=False), ["s"]),
            (ListFilter(col="schema", op="eq", val=None), [None]),
            (ListFilter(col="schema", op="neq", val=None), ["s"]),
            (ListFilter(col="schema", op="in", val=[None]), [None]),
        ):
            assert [found.schema for found in unit.datasets.list(ListQuery(filters=(item,)))[1]] == schemas
        assert unit.datasets.find(schema=None) is not None

    # ------------------------------------------------------------------------------------------- distinct values
    @pytest.mark.usefixtures("charts")
    def test_the_values_of_a_column_come_once_sorted_and_by_pages(self, unit: UnitOfWork) -> None:
        """By code point; None is no value; conditions, ids and pages count."""
        assert unit.charts.distinct("viz_type", ListQuery()) == (3, ["Bar", "bar", "pie"])
        assert unit.charts.distinct("cache_timeout", ListQuery()) == (2, [5, 10])
        assert unit.charts.distinct("viz_type", ListQuery(page=1, page_size=2)) == (3, ["pie"])
        searched = ListQuery(filters=(ListFilter(col="viz_type", op="contains", val="BA"),))
        assert unit.charts.distinct("viz_type", searched) == (2, ["Bar", "bar"])
        assert unit.charts.distinct("viz_type", ListQuery(ids=frozenset())) == (0, ())
        for unknown in ("nothing", "columns"):
            with pytest.raises(UnknownNameError):
                unit.charts.distinct(unknown, ListQuery())

    def test_no_schema_is_no_distinct_value(self, unit: UnitOfWork) -> None:
        """None is none, whatever the store writes."""
        database = unit.databases.add(a_database(), actor_id=None)
        for name, schema in (("a", None), ("b", "main"), ("c", "main")):
            unit.datasets.add(a_dataset(database.id, name, schema=schema), actor_id=None)
        assert unit.datasets.distinct("schema", ListQuery()) == (1, ["main"])

    def test_linked_ids_have_distinct_values(self, charts: list[int], unit: UnitOfWork) -> None:
        """Those of the records that match, each once and in order, page by page."""
        assert unit.charts.distinct("owner_ids", ListQuery()) == (2, [1, 2])
        assert unit.charts.distinct("owner_ids", ListQuery(page=1, page_size=1)) == (2, [2])
        assert unit.charts.distinct("owner_ids", ListQuery(ids=frozenset({charts[0]}))) == (1, [1])
        assert unit.charts.distinct("owner_ids", ListQuery(ids=frozenset({charts[2], charts[3]}))) == (1, [2])
        assert unit.charts.distinct("tag_ids", ListQuery()) == (0, [])
        last = (ListFilter(col="id", op="eq", val=charts[-1]),)
        assert unit.charts.distinct("owner_ids", ListQuery(filters=last)) == (0, [])

    def test_many_records_are_read_by_their_ids(self, charts: list[int], unit: UnitOfWork) -> None:
        """In the order of their ids, each once; what is not there is left out."""
        found = unit.charts.get_many([charts[3], charts[0], charts[3], 10**9, -1, 2**70])
        assert list(found) == [unit.charts.get(charts[0]), unit.charts.get(charts[3])]
        assert not unit.charts.get_many([])

    def test_parts_that_a_list_leaves_out_are_not_read_as_empty(self, charts: list[int], unit: UnitOfWork) -> None:
        """The others are there."""
        _, found = unit.charts.list(ListQuery(without=frozenset({"tag_ids"})))
        (one,) = unit.charts.get_many([charts[1]], without=frozenset({"tag_ids"}))
        assert [chart.owner_ids for chart in found] == [(1,), (1, 2), (2,), (), ()]
        assert one.owner_ids == (1, 2)
        with pytest.raises(TypeError):
            list(one.tag_ids)

    def test_charts_are_listed_by_the_present_names_of_the_datasets_that_count(self, store: MetadataStore) -> None:
        """What a chart itself holds as the name does not; without a dataset among those that count it has none."""
        with store.unit_of_work() as unit:
            database = unit.databases.add(a_database(), actor_id=None).id
            made = [unit.datasets.add(a_dataset(database, name), actor_id=None) for name in ("a", "b", "c")]
            for dataset in made:
                chart = replace(a_chart(dataset.table_name, datasource_name="old"), datasource_id=dataset.id)
                unit.charts.add(replace(chart, datasource_type="table"), actor_id=None)
            unit.charts.add(a_chart("none", datasource_name="old"), actor_id=None)
            unit.datasets.update(replace(made[0], table_name="z"), actor_id=None)
        ordered: dict[str, Any] = {"order_by": (("datasource_name", False),)}
        assert self._names(store, **ordered) == ["b", "c", "a", "none"]
        named = (ListFilter(col="datasource_name", op="in", val=("z", "b", "old")),)
        assert self._names(store, filters=named, **ordered) == ["b", "a"]
        for some in (frozenset({made[0].id, made[2].id}), Scope(ids=frozenset({made[0].id, made[2].id}))):
            assert self._names(store, among_datasets=some, **ordered) == ["c", "a", "b", "none"]
            assert self._names(store, among_datasets=some, filters=named) == ["a"]
            with store.unit_of_work() as unit:
                query = ListQuery(among_datasets=some)
                assert unit.charts.distinct("datasource_name", query) == (2, ["c", "z"])

    def test_people_are_listed_by_what_they_are_called(self, unit: UnitOfWork) -> None:
        """By first and last name, and by the user name where there is neither."""
        called = (("u1", "Zoe", ""), ("u2", "", "Bo"), ("m", "", ""), ("u3", "Al", "Ba"))
        for username, first, last in called:
            unit.users.add(replace(a_user(), username=username, first_name=first, last_name=last), actor_id=None)
        query = ListQuery(order_by=(("full_name", False),))
        assert [user.username for user in unit.users.list(query)[1]] == ["u3", "u2", "u1", "m"]
        found = replace(query, filters=(ListFilter(col="full_name", op="contains", val="l b"),))
        assert [user.username for user in unit.users.list(found)[1]] == ["u3"]

    def test_schedules_are_found_by_how_their_last_run_ended(self, unit: UnitOfWork) -> None:
        """By the progress of each; one that has none, or never ran, has no state."""
        for number, state in enumerate(("Error", "Success", None, None)):
            stored = unit.report_schedules.append(a_schedule(f"s{number}"), actor_id=None)
            if number < 3:
                evaluated = START + timedelta(hours=-number)
                progress = ReportProgress(schedule_id=stored, last_state=state, last_eval_dttm=evaluated)
                unit.report_progress.append(progress, actor_id=None)

        def names(op: str, val: Any) -> list[str]:
            order = (("last_eval_dttm", False), ("name", False))
            query = ListQuery(filters=(ListFilter(col="last_state", op=op, val=val),), order_by=order)
            return [one.name for one in unit.report_schedules.list(query)[1]]

        assert names("eq", "Error") == ["s0"]
        assert names("in", ("Error", "Success")) == ["s1", "s0"]
        assert sorted(names("is_null", val=True)) == ["s2", "s3"]

    def test_short_names_of_several_kinds_are_read_together(self, unit: UnitOfWork) -> None:
        """By id; what is not there is left out."""
        tag = unit.tags.add(Tag(name="t", type=3), actor_id=None)
        role = unit.roles.add(Role(name="r"), actor_id=None)
        database = unit.databases.add(a_database(), actor_id=None)
        dataset = unit.datasets.add(a_dataset(database.id, default_endpoint="/e"), actor_id=None)
        every = NamesQuery(
            tags=frozenset({tag.id, 10**9}),
            roles=frozenset({role.id}),
            datasets=frozenset({dataset.id}),
            databases=frozenset({database.id}),
        )
        names, nothing = unit.names(every), unit.names(NamesQuery())
        assert nothing == Names()
        assert names.tags == {tag.id: TagName(id=tag.id, name="t", type=3)}
        assert names.roles == {role.id: RoleName(id=role.id, name="r")}
        assert names.datasets == {dataset.id: DatasetName(id=dataset.id, table_name="orders", default_endpoint="/e")}
        assert names.databases == {database.id: DatabaseName(id=database.id, database_name="shop")}

    def test_dashboards_of_charts_are_named_where_the_scope_has_them(self, charts: list[int], unit: UnitOfWork) -> None:
        """By the id of the chart; their JSON text comes only where it is asked for."""
        first, second = (
            Dashboard(uuid=f"p{n}", json_metadata="{}", chart_ids=tuple(charts[:n]), owner_ids=(n,)) for n in (1, 2)
        )
        of = frozenset(charts)
        pages = [unit.dashboards.add(one, actor_id=None).id for one in (first, second)]
        every = unit.names(NamesQuery(dashboards_of=of, with_metadata=True)).dashboards
        owned = unit.names(NamesQuery(dashboards_of=of, dashboards=Scope(owner_id=2))).dashboards
        given = unit.names(NamesQuery(dashboards_of=of, dashboards=frozenset({pages[0]}))).dashboards
        both = tuple(DashboardName(id=key, dashboard_title=None, json_metadata="{}") for key in pages)
        assert every == {charts[0]: both, charts[1]: both[1:]}
        bare = tuple(replace(name, json_metadata=None) for name in both)
        assert owned == {charts[0]: bare[1:], charts[1]: bare[1:]}
        assert given == {charts[0]: bare[:1]}

    def test_scopes_that_take_turns_are_not_taken_for_each_other(self, store: MetadataStore, charts: list[int]) -> None:
        """The same lists and names are asked for again and again, each time with another scope."""
        pages = [Dashboard(uuid=f"p{n}", chart_ids=(charts[0],), owner_ids=(n,)) for n in (1, 2)]
        with store.unit_of_work() as unit:
            first, second = (unit.dashboards.add(page, actor_id=None).id for page in pages)
        turns: list[tuple[frozenset[int] | Scope | None, set[int]]] = [
            (Scope(owner_id=1), {first}),
            (Scope(owner_id=2), {second}),
            (Scope(ids=frozenset({first})), {first}),
            (frozenset({second}), {second}),
            (Scope(ids=frozenset({first, second})), {first, second}),
            (None, {first, second}),
        ]
        for scope, expected in (*turns, *reversed(turns)):
            with store.unit_of_work() as unit:
                _, listed = unit.dashboards.list(ListQuery(ids=scope))
                named = unit.names(NamesQuery(dashboards_of=frozenset({charts[0]}), dashboards=scope)).dashboards
            assert {page.id for page in listed} == expected
            assert {name.id for name in named[charts[0]]} == expected
