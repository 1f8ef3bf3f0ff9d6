"""What every `MetadataStore` must keep about dashboards, tags and stars, and the charts that hang on them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analytics_core._records.dashboard import Favourite, Tag
from analytics_core._records.people import Role
from analytics_core._records.repositories import ListFilter, ListQuery
from analytics_core.errors import (
    AlreadyExistsError,
    FilterValueError,
    InUseError,
    NotFoundError,
    StaleVersionError,
)
from analytics_core.ports import MetadataStore
from analytics_core.testing.conformance.records import StoreSuite, a_chart, a_dashboard, a_user


class DashboardConformance(StoreSuite):
    """Subclass it and override the fixture `store`; it must use the fixture `clock` and start empty for each test."""

    def test_every_field_of_a_dashboard_survives(self, store: MetadataStore) -> None:
        """Long layouts, texts in any script, and all its links."""
        text = "Größe — 価格 😀 \\ %_ \n"
        with store.unit_of_work() as unit:
            charts = tuple(unit.charts.add(a_chart(name), actor_id=None).id for name in ("a", "b"))
            role = unit.roles.add(Role(name="r"), actor_id=None).id
            tag = unit.tags.add(Tag(name=text, description=text), actor_id=None).id
            record = a_dashboard(
                text,
                slug=text,
                css=text,
                position_json=text * 10_000,
                json_metadata=text,
                published=True,
                certified_by=text,
                owner_ids=(3, 5),
                role_ids=(role,),
                chart_ids=charts,
                tag_ids=(tag,),
            )
            stored = unit.dashboards.add(record, actor_id=3)
        with store.unit_of_work() as unit:
            assert unit.dashboards.get(stored.id) == stored
        assert replace(stored, id=0, audit=record.audit) == record

    def test_a_slug_is_taken_once_and_none_is_never_taken(self, store: MetadataStore) -> None:
        """Any number of dashboards may go without a slug."""
        with store.unit_of_work() as unit:
            unit.dashboards.add(a_dashboard(slug="s"), actor_id=None)
            with pytest.raises(AlreadyExistsError, match="slug 's'"):
                unit.dashboards.add(a_dashboard(slug="s"), actor_id=None)
            for slug in ("S", None, None):
                assert unit.dashboards.add(a_dashboard(slug=slug), actor_id=None).slug == slug

    def test_a_change_of_an_old_version_is_refused_with_all_its_links(self, store: MetadataStore) -> None:
        """Neither fields nor links of the second writer stay."""
        with store.unit_of_work() as unit:
            chart = unit.charts.add(a_chart(), actor_id=None)
            read = unit.dashboards.add(a_dashboard(), actor_id=None)
            unit.dashboards.update(replace(read, css="first"), actor_id=None)
            with pytest.raises(StaleVersionError):
                unit.dashboards.update(replace(read, css="second", chart_ids=(chart.id,)), actor_id=None)
            assert (unit.dashboards.get(read.id).css, unit.dashboards.get(read.id).chart_ids) == ("first", ())

    def test_links_to_nothing_are_refused_by_name(self, store: MetadataStore) -> None:
        """The missing record is named, and nothing is stored."""
        with store.unit_of_work() as unit:
            for links, noun in (("chart_ids", "chart"), ("role_ids", "role"), ("tag_ids", "tag")):
                with pytest.raises(NotFoundError, match=f"{noun} 98"):
                    unit.dashboards.add(replace(a_dashboard(), **{links: (98,)}), actor_id=None)  # type: ignore[arg-type]
            assert unit.dashboards.list(ListQuery())[0] == 0

    def test_a_deleted_chart_or_tag_leaves_the_dashboard(self, store: MetadataStore) -> None:
        """The dashboard stays without them; a deleted dashboard leaves its charts."""
        with store.unit_of_work() as unit:
            chart, tag = unit.charts.add(a_chart(), actor_id=None), unit.tags.add(Tag(name="t"), actor_id=None)
            tagged = unit.charts.add(a_chart("b", tag_ids=(tag.id,)), actor_id=None)
            made = a_dashboard(chart_ids=(chart.id, tagged.id), tag_ids=(tag.id,))
            stored = unit.dashboards.add(made, actor_id=None)
            unit.charts.delete(chart.id)
            unit.tags.delete(tag.id)
            left = unit.dashboards.get(stored.id)
            assert (left.chart_ids, left.tag_ids, unit.charts.get(tagged.id).tag_ids) == ((tagged.id,), (), ())
            unit.dashboards.delete(stored.id)
            assert unit.charts.get(tagged.id).slice_name == "b"

    def test_a_role_of_a_dashboard_stays(self, store: MetadataStore) -> None:
        """Who may open a dashboard does not change by a deletion elsewhere; the error names who needs the role."""
        with store.unit_of_work() as unit:
            role = unit.roles.add(Role(name="r"), actor_id=None)
            stored = unit.dashboards.add(a_dashboard(role_ids=(role.id,)), actor_id=None)
            with pytest.raises(InUseError, match="1 dashboards"):
                unit.roles.delete(role.id)
            unit.dashboards.delete(stored.id)
            unit.roles.delete(role.id)

    def test_dashboards_are_found_by_their_links(self, store: MetadataStore) -> None:
        """By chart, role, tag and owner; by one of several too."""
        with store.unit_of_work() as unit:
            one, two = (unit.charts.add(a_chart(name), actor_id=None).id for name in ("a", "b"))
            first = unit.dashboards.add(a_dashboard(chart_ids=(one, two), owner_ids=(7,)), actor_id=None).id
            second = unit.dashboards.add(a_dashboard(chart_ids=(two,)), actor_id=None).id

            def found(col: str, op: str, val: object) -> list[int]:
                query = ListQuery(filters=(ListFilter(col=col, op=op, val=val),))
                return [dashboard.id for dashboard in unit.dashboards.list(query)[1]]

            assert found("chart_ids", "eq", one) == [first]
            assert found("chart_ids", "in", [one, two]) == [first, second]
            assert (found("owner_ids", "eq", 7), found("tag_ids", "in", [1]), found("role_ids", "in", [])) == (
                [first],
                [],
                [],
            )
            with pytest.raises(FilterValueError):
                found("chart_ids", "eq", "1")

    def test_a_star_is_given_once_and_goes_with_its_record_and_its_user(self, store: MetadataStore) -> None:
        """Stars have no foreign keys; the store forgets them itself."""
        with store.unit_of_work() as unit:
            user, page = unit.users.add(a_user(), actor_id=None), unit.dashboards.add(a_dashboard(), actor_id=None)
            chart = unit.charts.add(a_chart(), actor_id=None)
            for target, key in (("dashboard", page.id), ("chart", chart.id), ("dashboard", page.id + 1)):
                unit.favourites.append(Favourite(user_id=user.id, target=target, target_id=key), actor_id=user.id)
            with pytest.raises(AlreadyExistsError):
                unit.favourites.append(Favourite(user_id=user.id, target="chart", target_id=chart.id), actor_id=user.id)
            unit.dashboards.delete(page.id)
            left = [(star.target, star.target_id) for star in unit.favourites.list(ListQuery())[1]]
            assert left == [("chart", chart.id), ("dashboard", page.id + 1)]
            unit.users.delete(user.id)
            assert unit.favourites.list(ListQuery())[0] == 0

    def test_a_tags_name_is_taken_once_per_type(self, store: MetadataStore) -> None:
        """A tag that people made may be called like one of another type."""
        with store.unit_of_work() as unit:
            for kind in (1, 2):
                unit.tags.add(Tag(name="t", type=kind), actor_id=None)
                with pytest.raises(AlreadyExistsError, match="name 't'"):
                    unit.tags.add(Tag(name="t", type=kind), actor_id=None)
