"""What every `MetadataStore` must keep of every kind of record alike: all fields, versions, ids, the revision."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

from analytics_core._records.repositories import ListFilter, ListQuery, UnitOfWork
from analytics_core.errors import NotFoundError, StaleVersionError
from analytics_core.ports import MetadataStore
from analytics_core.testing.conformance.filled import BARE, JOURNALS, Named, filled, store_named
from analytics_core.testing.conformance.on_a_store import OnAStore

_OWNED = ("datasets", "charts", "dashboards")


class _GivenUpError(Exception):
    """What ends a unit in the middle."""


class EveryKindConformance(OnAStore):
    """Subclass it and override the fixture `store`; it must use the fixture `clock` and start empty for each test."""

    @pytest.fixture
    def named(self, store: MetadataStore) -> Named:
        """Return what records may name."""
        with store.unit_of_work() as unit:
            return store_named(unit)

    def test_no_field_is_lost_or_made_up(self, store: MetadataStore, named: Named) -> None:
        """With every field given, and with none; when stored, when changed, and when listed."""
        for kind in BARE:
            full, bare = filled(kind, named), BARE[kind](named)
            with store.unit_of_work() as unit:
                added = _of(unit, kind).add(full, actor_id=None)
                _assert_same(added, full)
                emptied = _of(unit, kind).update(replace(bare, id=added.id, audit=added.audit), actor_id=None)
                _assert_same(emptied, bare)
                again = _of(unit, kind).update(replace(full, id=added.id, audit=emptied.audit), actor_id=None)
            with store.unit_of_work() as unit:
                _assert_same(_of(unit, kind).get(added.id), full)
                by_id = ListQuery(filters=(ListFilter(col="id", op="eq", val=added.id),))
                assert _of(unit, kind).list(by_id) == (1, (again,))
                assert tuple(_of(unit, kind).get_many([added.id])) == (again,)

    def test_nothing_is_written_over_by_an_old_version(self, store: MetadataStore, named: Named) -> None:
        """The second of two changes of one version is refused and changes nothing, not even links."""
        for kind in BARE:
            with store.unit_of_work() as unit:
                first = _of(unit, kind).add(BARE[kind](named), actor_id=None)
            with store.unit_of_work() as unit:
                kept = _of(unit, kind).update(first, actor_id=1)
            late = replace(filled(kind, named), id=first.id, audit=first.audit)
            with store.unit_of_work() as unit, pytest.raises(StaleVersionError):
                _of(unit, kind).update(late, actor_id=2)
            with store.unit_of_work() as unit:
                assert _of(unit, kind).get(first.id) == kept
            assert (kind, kept.audit.version, kept.audit.changed_by) == (kind, 2, 1)

    def test_no_id_comes_back(self, store: MetadataStore, named: Named) -> None:
        """What names a deleted record by its id must not come to life with another one."""
        for kind in BARE:
            with store.unit_of_work() as unit:
                gone = _of(unit, kind).append(BARE[kind](named), actor_id=None)
                _of(unit, kind).delete(gone)
            with store.unit_of_work() as unit:
                assert (kind, _of(unit, kind).append(BARE[kind](named), actor_id=None)) > (kind, gone)
                with pytest.raises(NotFoundError):
                    _of(unit, kind).get(gone)

    def test_every_change_moves_the_revision(self, store: MetadataStore, named: Named) -> None:
        """Whoever keeps what they read must learn of each: an addition, a change, a deletion."""
        for kind in (kind for kind in BARE if kind not in JOURNALS):
            seen = [store.revision()]
            with store.unit_of_work() as unit:
                record_id = _of(unit, kind).append(BARE[kind](named), actor_id=None)
            seen.append(store.revision())
            with store.unit_of_work() as unit:
                _of(unit, kind).update(_of(unit, kind).get(record_id), actor_id=None)
            seen.append(store.revision())
            with store.unit_of_work() as unit:
                _of(unit, kind).delete(record_id)
            seen.append(store.revision())
            assert (kind, seen) == (kind, sorted(set(seen)))

    def test_a_removal_of_many_moves_the_revision(self, store: MetadataStore, named: Named) -> None:
        """As a deletion of one does."""
        with store.unit_of_work() as unit:
            unit.key_values.append(BARE["key_values"](named), actor_id=None)
        before = store.revision()
        with store.unit_of_work() as unit:
            assert unit.key_values.delete_matching([ListFilter(col="kind", op="eq", val="k")]) == 1
        assert store.revision() > before

    def test_a_deleted_user_owns_nothing(self, store: MetadataStore, named: Named) -> None:
        """Others keep what they own."""
        for kind in _OWNED:
            with store.unit_of_work() as unit:
                user = unit.users.append(BARE["users"](named), actor_id=None)
                record = replace(filled(kind, named), owner_ids=(user, user + 1))
                stored = _of(unit, kind).append(record, actor_id=user)
                unit.users.delete(user)
                left = _of(unit, kind).get(stored)
            signed = (left.audit.created_by, left.audit.changed_by)
            assert (kind, left.owner_ids, signed) == (kind, (user + 1,), (None, None))

    def test_a_change_in_a_failed_unit_is_gone_with_all_its_parts(self, store: MetadataStore, named: Named) -> None:
        """Fields and links are as they were."""
        for kind in BARE:
            with store.unit_of_work() as unit:
                kept = _of(unit, kind).add(BARE[kind](named), actor_id=None)
            changed = replace(filled(kind, named), id=kept.id, audit=kept.audit)
            with pytest.raises(_GivenUpError), store.unit_of_work() as unit:  # noqa: PT012 - all of the block counts
                _of(unit, kind).update(changed, actor_id=None)
                raise _GivenUpError
            with store.unit_of_work() as unit:
                assert _of(unit, kind).get(kept.id) == kept


def _of(unit: UnitOfWork, kind: str) -> Any:
    return getattr(unit, kind)


def _assert_same(stored: Any, given: Any) -> None:
    """Compare field by field, so that a failure names the field; id and audit are the store's."""
    for name in (one.name for one in fields(given) if one.name not in ("id", "audit")):
        assert (name, getattr(stored, name)) == (name, getattr(given, name))
