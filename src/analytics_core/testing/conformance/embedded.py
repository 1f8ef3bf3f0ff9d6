"""What every `MetadataStore` must keep of embedded dashboards, and of the cut-offs of their guests."""

from __future__ import annotations

import uuid
from dataclasses import replace

import pytest

from analytics_core._records.dashboard import EmbeddedDashboard
from analytics_core._records.repositories import ListFilter, ListQuery
from analytics_core._records.shared_state import KeyValue
from analytics_core.errors import AlreadyExistsError, NotFoundError, StaleVersionError
from analytics_core.ports import MetadataStore
from analytics_core.testing.conformance.records import StoreSuite, a_dashboard

_DOMAINS = ("https://shop.example", "http://localhost:8080")


def _embedded(dashboard_id: int, *domains: str) -> EmbeddedDashboard:
    return EmbeddedDashboard(uuid=str(uuid.uuid4()), dashboard_id=dashboard_id, allowed_domains=domains)


class EmbeddedConformance(StoreSuite):
    """Subclass it and override the fixture `store`; it must use the fixture `clock` and start empty for each test."""

    def test_an_embedding_keeps_its_domains_in_their_order(self, store: MetadataStore) -> None:
        """Domains come back as they went in; changing them keeps the uuid."""
        with store.unit_of_work() as unit:
            dashboard = unit.dashboards.add(a_dashboard(), actor_id=1)
            stored = unit.embedded.add(_embedded(dashboard.id, *_DOMAINS), actor_id=1)
            changed = unit.embedded.update(replace(stored, allowed_domains=()), actor_id=2)
        assert stored.allowed_domains == _DOMAINS
        assert (changed.uuid, changed.allowed_domains, changed.audit.changed_by) == (stored.uuid, (), 2)

    def test_an_embedding_is_found_by_uuid_and_by_dashboard(self, store: MetadataStore) -> None:
        """Both are unique; several uuids are found by one list."""
        with store.unit_of_work() as unit:
            dashboards = [unit.dashboards.add(a_dashboard(), actor_id=1) for _ in range(3)]
            stored = [unit.embedded.add(_embedded(dashboard.id), actor_id=1) for dashboard in dashboards]
            assert unit.embedded.find(uuid=stored[1].uuid) == stored[1]
            assert unit.embedded.find(dashboard_id=dashboards[2].id) == stored[2]
            wanted = ListFilter(col="uuid", op="in", val=(stored[0].uuid, stored[2].uuid, str(uuid.uuid4())))
            count, found = unit.embedded.list(ListQuery(filters=(wanted,)))
            assert (count, list(found)) == (2, [stored[0], stored[2]])

    def test_a_dashboard_is_embedded_once(self, store: MetadataStore) -> None:
        """A second embedding of one dashboard is refused, and one of no dashboard."""
        with store.unit_of_work() as unit:
            dashboard = unit.dashboards.add(a_dashboard(), actor_id=1)
            unit.embedded.add(_embedded(dashboard.id), actor_id=1)
        with pytest.raises(AlreadyExistsError), store.unit_of_work() as unit:
            unit.embedded.add(_embedded(dashboard.id), actor_id=1)
        with pytest.raises(NotFoundError), store.unit_of_work() as unit:
            unit.embedded.add(_embedded(dashboard.id + 1_000), actor_id=1)

    def test_an_embedding_ends_with_its_dashboard(self, store: MetadataStore) -> None:
        """Nothing is left that a token could name."""
        with store.unit_of_work() as unit:
            dashboard = unit.dashboards.add(a_dashboard(), actor_id=1)
            stored = unit.embedded.add(_embedded(dashboard.id), actor_id=1)
        with store.unit_of_work() as unit:
            unit.dashboards.delete(dashboard.id)
        with store.unit_of_work() as unit:
            assert unit.embedded.find(uuid=stored.uuid) is None

    def test_a_key_is_unique_among_its_kind(self, store: MetadataStore) -> None:
        """The same key of another kind is another text; names that differ in case are different."""
        with store.unit_of_work() as unit:
            for kind, key in (("cut-off", "subject anna"), ("other", "subject anna"), ("cut-off", "subject Anna")):
                unit.key_values.add(KeyValue(kind=kind, key=key, value="{}"), actor_id=None)
        with pytest.raises(AlreadyExistsError), store.unit_of_work() as unit:
            unit.key_values.add(KeyValue(kind="cut-off", key="subject anna", value="{}"), actor_id=None)
        with store.unit_of_work() as unit:
            both = (
                ListFilter(col="kind", op="eq", val="cut-off"),
                ListFilter(col="key", op="in", val=("subject anna", "subject Anna", "subject bert")),
            )
            assert unit.key_values.list(ListQuery(filters=both))[0] == 2

    def test_a_text_under_a_key_is_not_written_over_by_an_old_version(self, store: MetadataStore) -> None:
        """A cut-off that somebody moved meanwhile is not moved back."""
        with store.unit_of_work() as unit:
            stored = unit.key_values.add(KeyValue(kind="cut-off", key="k", value="1"), actor_id=None)
        with store.unit_of_work() as unit:
            unit.key_values.update(replace(stored, value="3"), actor_id=None)
        with pytest.raises(StaleVersionError), store.unit_of_work() as unit:
            unit.key_values.update(replace(stored, value="2"), actor_id=None)
