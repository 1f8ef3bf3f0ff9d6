"""What every `MetadataStore` must keep about row rules: nothing may be lost that hides a row."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from analytics_core._records.people import Role, RowRule, RowRuleType
from analytics_core._records.repositories import ListFilter, ListQuery
from analytics_core.errors import AlreadyExistsError, InUseError, NotFoundError, StaleVersionError
from analytics_core.ports import MetadataStore
from analytics_core.testing.conformance.records import START, StoreSuite, a_database, a_dataset


@dataclass(frozen=True, slots=True, kw_only=True)
class RuledRecords:
    """The ids of two stored roles and two stored datasets."""

    roles: tuple[int, int]
    datasets: tuple[int, int]

    def rule(self, name: str = "eu") -> RowRule:
        """Return a rule on both datasets for the first role that is not stored yet."""
        return RowRule(
            name=name,
            clause="country = 'it''s {{ current_username() }}' -- Ä",
            filter_type=RowRuleType.BASE,
            group_key="land",
            description="why",
            role_ids=(self.roles[0],),
            dataset_ids=self.datasets,
        )


class RowRuleConformance(StoreSuite):
    """Subclass it and override the fixture `store`; it must use the fixture `clock` and start empty for each test."""

    @pytest.fixture
    def things(self, store: MetadataStore) -> RuledRecords:
        """Return what rules may name."""
        with store.unit_of_work() as unit:
            first, second = (unit.roles.add(Role(name=name), actor_id=None).id for name in ("readers", "editors"))
            database = unit.databases.add(a_database(), actor_id=None)
            one, two = (unit.datasets.add(a_dataset(database.id, n), actor_id=None).id for n in ("orders", "lines"))
        return RuledRecords(roles=(first, second), datasets=(one, two))

    def _add(self, store: MetadataStore, rule: RowRule) -> RowRule:
        with store.unit_of_work() as unit:
            return unit.row_rules.add(rule, actor_id=3)

    def test_a_rule_comes_back_as_it_was_given(self, store: MetadataStore, things: RuledRecords) -> None:
        """Clause, kind, group, roles and datasets are kept to the letter."""
        stored = self._add(store, things.rule())
        with store.unit_of_work() as unit:
            assert unit.row_rules.get(stored.id) == stored
        assert replace(stored, id=0, audit=things.rule().audit) == things.rule()
        assert (stored.audit.created_by, stored.audit.created_on, stored.audit.version) == (3, START, 1)

    def test_roles_and_datasets_are_replaced(self, store: MetadataStore, things: RuledRecords) -> None:
        """An update keeps no role and no dataset that it does not name."""
        stored = self._add(store, things.rule())
        changed = replace(stored, role_ids=(things.roles[1],), dataset_ids=(), filter_type=RowRuleType.REGULAR)
        with store.unit_of_work() as unit:
            after = unit.row_rules.update(changed, actor_id=None)
        assert (after.role_ids, after.dataset_ids) == ((things.roles[1],), ())
        assert after.filter_type is RowRuleType.REGULAR

    def test_a_stale_change_is_refused(self, store: MetadataStore, things: RuledRecords) -> None:
        """Of two changes of one version the second one is refused, so that neither is lost unseen."""
        stored = self._add(store, things.rule())
        with store.unit_of_work() as unit:
            unit.row_rules.update(replace(stored, clause="1 = 0"), actor_id=None)
        with pytest.raises(StaleVersionError), store.unit_of_work() as unit:
            unit.row_rules.update(replace(stored, clause="1 = 1"), actor_id=None)
        with store.unit_of_work() as unit:
            assert unit.row_rules.get(stored.id).clause == "1 = 0"

    def test_a_name_is_taken_once(self, store: MetadataStore, things: RuledRecords) -> None:
        """Names tell rules apart in explanations."""
        self._add(store, things.rule())
        with pytest.raises(AlreadyExistsError, match="'eu'"):
            self._add(store, things.rule())

    def test_unknown_roles_and_datasets_are_refused(self, store: MetadataStore, things: RuledRecords) -> None:
        """A rule that names nothing real would bind nobody."""
        with pytest.raises(NotFoundError, match="role"):
            self._add(store, replace(things.rule(), role_ids=(999,)))
        with pytest.raises(NotFoundError, match="dataset"):
            self._add(store, replace(things.rule(), dataset_ids=(999,)))

    def test_what_a_rule_names_stays(self, store: MetadataStore, things: RuledRecords) -> None:
        """A role or a dataset cannot be deleted while a rule needs it; afterwards it can."""
        stored = self._add(store, things.rule())
        with pytest.raises(InUseError, match="row rules"), store.unit_of_work() as unit:
            unit.datasets.delete(things.datasets[0])
        with pytest.raises(InUseError, match="row rules"), store.unit_of_work() as unit:
            unit.roles.delete(things.roles[0])
        with store.unit_of_work() as unit:
            unit.row_rules.delete(stored.id)
            unit.datasets.delete(things.datasets[0])
            unit.roles.delete(things.roles[0])

    def test_rules_are_found_by_role_and_dataset(self, store: MetadataStore, things: RuledRecords) -> None:
        """Lists filter by what rules name."""
        both = self._add(store, things.rule("both"))
        self._add(store, replace(things.rule("second"), dataset_ids=things.datasets[1:], role_ids=()))
        for col, value in (("dataset_ids", things.datasets[0]), ("role_ids", things.roles[0])):
            with store.unit_of_work() as unit:
                found = unit.row_rules.list(ListQuery(filters=(ListFilter(col=col, op="eq", val=value),)))
            assert found == (1, (both,))
