"""What a store must keep of every kind of record: fields, versions, ids, keys, links, lists, the revision."""

from __future__ import annotations

import operator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from datetime import datetime, timedelta
from typing import Any, Final

import pytest

from analytics_core._records.datasource import DatasetColumn, DatasetMetric
from analytics_core._records.repositories import ListFilter, ListQuery, UnitOfWork
from analytics_core._records.secret import Secret
from analytics_core.errors import AlreadyExistsError, InUseError, NotFoundError, StaleVersionError, UnknownNameError
from analytics_core.ports import MetadataStore
from analytics_core.testing.clock import FixedClock
from analytics_core.testing.store.cases import for_each
from analytics_core.testing.store.fixtures import StoreSuite
from analytics_core.testing.store.kinds import KINDS, Fields, LinkEnding, NamedIds, RecordLink, filled
from analytics_core.testing.store.records import NO_USER

_EXTREMES: Final = [(kind, given) for kind, facts in KINDS.items() for given in facts.extremes]
_KEYS: Final = [(kind, key) for kind, facts in KINDS.items() for key in facts.keys]
_LINKS: Final = [(kind, link) for kind, facts in KINDS.items() for link in facts.links]
_GIVEN_BY_THE_STORE: Final[Fields] = {"id": 0, "created_on": None, "changed_on": None}
_MICROSECOND: Final = timedelta(microseconds=1)


class _GivenUpError(Exception):
    """What ends a unit in the middle."""


class EveryKindConformance(StoreSuite):
    """Each test tries each kind, key or link of `KINDS`."""

    # ------------------------------------------------------------------------------------------------ one record
    @for_each("kind", KINDS)
    def test_no_field_is_lost_or_made_up(self, store: MetadataStore, named: NamedIds, kind: str) -> None:
        """With every field given, and with none; when stored, when changed, and when listed."""
        full, bare = filled(kind, named), KINDS[kind].bare(named)
        with store.unit_of_work() as unit:
            added = _of(unit, kind).add(full, actor_id=None)
            _assert_same(added, full)
            emptied = _of(unit, kind).update(_as_version_of(added, bare), actor_id=None)
            _assert_same(emptied, bare)
            again = _of(unit, kind).update(_as_version_of(emptied, full), actor_id=None)
        with store.unit_of_work() as unit:
            _assert_same(_of(unit, kind).get(added.id), full)
            assert _of(unit, kind).get(added.id) == again
            assert _found(_of(unit, kind), "id", added.id) == [again]
            assert tuple(_of(unit, kind).get_many([added.id])) == (again,)

    @for_each("kind, given", _EXTREMES)
    def test_extreme_values_survive(self, store: MetadataStore, named: NamedIds, kind: str, given: Fields) -> None:
        """They come back as they were given, to the letter, the byte and the microsecond."""
        record = replace(KINDS[kind].bare(named), **given)
        with store.unit_of_work() as unit:
            stored = _of(unit, kind).append(record, actor_id=None)
        with store.unit_of_work() as unit:
            _assert_same(_of(unit, kind).get(stored), record)
            _of(unit, kind).delete(stored)

    @for_each("kind", KINDS)
    def test_a_missing_record_is_a_typed_error_when_got_changed_and_deleted(
        self, unit: UnitOfWork, named: NamedIds, kind: str
    ) -> None:
        """NotFoundError, also for ids that no store could hold."""
        for absent in (NO_USER, 0, -1, 2**40, 2**70):
            record = replace(KINDS[kind].bare(named), id=absent)
            for act, argument in (("get", absent), ("version", absent), ("delete", absent), ("update", record)):
                options = {"actor_id": None} if act == "update" else {}
                with pytest.raises(NotFoundError):
                    getattr(_of(unit, kind), act)(argument, **options)

    @for_each("kind", KINDS)
    def test_no_id_comes_back(self, store: MetadataStore, named: NamedIds, kind: str) -> None:
        """A record goes with all its parts, and what names it, such as a grant, does not come to life with another."""
        with store.unit_of_work() as unit:
            gone = _of(unit, kind).append(filled(kind, named), actor_id=None)
            _of(unit, kind).delete(gone)
        with store.unit_of_work() as unit:
            after = _of(unit, kind).append(filled(kind, named), actor_id=None)
            assert after > gone
            with pytest.raises(NotFoundError):
                _of(unit, kind).get(gone)
        bare = KINDS[kind].bare(named)
        with store.unit_of_work() as unit:
            _of(unit, kind).delete(after)
            _assert_same(_of(unit, kind).add(bare, actor_id=None), bare)

    def test_owners_are_a_set_of_ids(self, named: NamedIds, unit: UnitOfWork) -> None:
        """They come back in the order of their ids, each once."""
        owned = [kind for kind in KINDS if hasattr(KINDS[kind].bare(named), "owner_ids")]
        assert len(owned) == 4
        for kind in owned:
            added = _of(unit, kind).add(replace(KINDS[kind].bare(named), owner_ids=(5, 3, 5)), actor_id=None)
            changed = _of(unit, kind).update(replace(added, owner_ids=(9, 3, 9)), actor_id=None)
            assert (kind, added.owner_ids, changed.owner_ids) == (kind, (3, 5), (3, 9))

    # ------------------------------------------------------------------------------------------------ its versions
    @for_each("kind", KINDS)
    def test_who_made_and_changed_it_is_signed(
        self, store: MetadataStore, named: NamedIds, kind: str, clock: FixedClock
    ) -> None:
        """Who, when, version 1; a change keeps the origin and moves the rest."""
        first = clock.now()
        with store.unit_of_work() as unit:
            added = _of(unit, kind).add(KINDS[kind].bare(named), actor_id=7)
        later = clock.advance(timedelta(minutes=5))
        with store.unit_of_work() as unit:
            changed = _of(unit, kind).update(_as_version_of(added, filled(kind, named)), actor_id=8).audit
            assert _of(unit, kind).version(added.id) == 2
        audit = added.audit
        assert (audit.created_on, audit.changed_on, audit.created_by, audit.changed_by) == (first, first, 7, 7)
        assert (changed.created_on, changed.changed_on, changed.created_by, changed.changed_by) == (first, later, 7, 8)
        assert (audit.version, changed.version) == (1, 2)

    @for_each("kind", KINDS)
    def test_a_version_is_later_than_the_one_before_whatever_the_clock_says(
        self, store: MetadataStore, named: NamedIds, kind: str, clock: FixedClock
    ) -> None:
        """`changed_on` tells versions apart, also when two changes are quick or the clock is put back."""
        bare, full = KINDS[kind].bare(named), filled(kind, named)
        with store.unit_of_work() as unit:
            seen = [_of(unit, kind).add(bare, actor_id=None)]
        for step_s, record in ((0, full), (-60, bare), (0, full), (-60, bare)):
            clock.advance(timedelta(seconds=step_s))
            with store.unit_of_work() as unit:
                _of(unit, kind).update(_as_version_of(seen[-1], record), actor_id=None)
            with store.unit_of_work() as unit:
                seen.append(_of(unit, kind).get(seen[0].id))
        moments = [record.audit.changed_on for record in seen]
        assert len(moments) == 5
        assert moments == sorted(set(moments))

    @for_each("kind", KINDS)
    def test_nothing_is_written_over_by_an_old_version(self, store: MetadataStore, named: NamedIds, kind: str) -> None:
        """The second of two changes of one version is refused and changes nothing, not even links."""
        with store.unit_of_work() as unit:
            first = _of(unit, kind).add(KINDS[kind].bare(named), actor_id=None)
        late = _as_version_of(first, filled(kind, named))
        with store.unit_of_work() as unit:
            newest = _of(unit, kind).update(first, actor_id=1)
            with pytest.raises(StaleVersionError):
                _of(unit, kind).update(late, actor_id=2)
        with store.unit_of_work() as unit, pytest.raises(StaleVersionError):
            _of(unit, kind).update(late, actor_id=2)
        with store.unit_of_work() as unit:
            assert _of(unit, kind).get(first.id) == newest
        assert (newest.audit.version, newest.audit.changed_by) == (2, 1)

    @for_each("kind", KINDS)
    def test_one_of_many_who_change_a_version_at_once_is_let(
        self, store: MetadataStore, named: NamedIds, kind: str
    ) -> None:
        """Four read the same record and store it as their own: the others learn that they were late."""
        with store.unit_of_work() as unit:
            first = _of(unit, kind).add(KINDS[kind].bare(named), actor_id=None)

        def change(actor_id: int) -> int | None:
            try:
                with store.unit_of_work() as unit:
                    _of(unit, kind).update(_as_version_of(first, filled(kind, named)), actor_id=actor_id)
            except StaleVersionError:
                return None
            return actor_id

        with ThreadPoolExecutor(4) as pool:
            let = [actor_id for actor_id in pool.map(change, range(1, 5)) if actor_id is not None]
        with store.unit_of_work() as unit:
            audit = _of(unit, kind).get(first.id).audit
        assert (let, audit.version) == ([audit.changed_by], 2)

    @for_each("kind", KINDS)
    def test_a_failed_unit_leaves_nothing_behind(self, store: MetadataStore, named: NamedIds, kind: str) -> None:
        """What it added is not there, what it changed or deleted is as it was, with all its parts."""
        with store.unit_of_work() as unit:
            before = _of(unit, kind).add(KINDS[kind].bare(named), actor_id=None)
        with pytest.raises(_GivenUpError), store.unit_of_work() as unit:  # noqa: PT012 - all of the block counts
            _of(unit, kind).update(_as_version_of(before, filled(kind, named)), actor_id=None)
            _of(unit, kind).delete(before.id)
            added = _of(unit, kind).append(filled(kind, named), actor_id=None)
            raise _GivenUpError
        with store.unit_of_work() as unit:
            assert _of(unit, kind).get(before.id) == before
            with pytest.raises(NotFoundError):
                _of(unit, kind).get(added)

    def test_every_change_moves_the_revision(self, store: MetadataStore, named: NamedIds) -> None:
        """Whoever keeps what they read must learn of each: an addition, a change, a deletion."""
        for kind in (kind for kind, facts in KINDS.items() if not facts.is_journal):
            seen = [store.revision()]
            with store.unit_of_work() as unit:
                record_id = _of(unit, kind).append(KINDS[kind].bare(named), actor_id=None)
            seen.append(store.revision())
            with store.unit_of_work() as unit:
                _of(unit, kind).update(_of(unit, kind).get(record_id), actor_id=None)
            seen.append(store.revision())
            with store.unit_of_work() as unit:
                _of(unit, kind).delete(record_id)
            seen.append(store.revision())
            assert (kind, seen) == (kind, sorted(set(seen)))

    # --------------------------------------------------------------------------------------------- keys and links
    @for_each("kind, key", _KEYS)
    def test_a_key_is_of_one_record_to_the_letter(
        self, named: NamedIds, kind: str, key: tuple[str, ...], unit: UnitOfWork
    ) -> None:
        """A taken one is refused by name, when stored and when changed; case, accents and blanks make another key."""
        first, bare, repository = filled(kind, named), KINDS[kind].bare(named), _of(unit, kind)
        clash = {name: getattr(first, name) for name in key}
        stored = repository.add(first, actor_id=1)
        assert repository.find(**clash) == stored
        with pytest.raises(AlreadyExistsError) as when_stored:
            repository.append(replace(bare, **clash), actor_id=2)
        other = repository.add(bare, actor_id=None)
        with pytest.raises(AlreadyExistsError) as when_changed:
            repository.update(replace(other, **clash), actor_id=2)
        assert [error.value.field_name for error in (when_stored, when_changed)] == [key[-1]] * 2
        assert repository.get(stored.id) == stored
        for name in key:
            for unlike in _unlike(clash[name], getattr(bare, name)):
                another = {**clash, name: unlike}
                assert repository.find(**another) in (None, other)
                other = repository.update(replace(other, **another), actor_id=None)
                assert repository.find(**another) == other
        for one in (stored, other):
            repository.delete(one.id)

    @for_each("kind, link", _LINKS)
    def test_a_link_leads_to_a_record_that_is_there(
        self, store: MetadataStore, named: NamedIds, kind: str, link: RecordLink
    ) -> None:
        """A missing record is named; a list finds by the link; it ends as its kind says when the other is deleted."""
        bare = KINDS[kind].bare(named)
        with store.unit_of_work() as unit:
            to = _of(unit, link.to).append(KINDS[link.to].bare(named), actor_id=None)
            if not link.unchecked:
                before = _of(unit, kind).list(ListQuery())
                noun = link.to[:-1].replace("_", " ")
                with pytest.raises(NotFoundError, match=f"no {noun} {NO_USER}"):
                    _of(unit, kind).append(replace(bare, **link.fields(NO_USER)), actor_id=None)
                assert _of(unit, kind).list(ListQuery()) == before
            other = _of(unit, kind).add(filled(kind, named), actor_id=None)
            linked = _of(unit, kind).add(replace(bare, **link.fields(to)), actor_id=None)
            for op, value in (("eq", to), ("in", (to, NO_USER - 1))):
                assert _found(_of(unit, kind), link.field, value, op) == [linked]
            if link.field.endswith("_ids"):
                unlinked = _of(unit, kind).update(replace(linked, **{link.field: ()}), actor_id=None)
                assert _found(_of(unit, kind), link.field, to) == []
                _of(unit, kind).update(replace(unlinked, **link.fields(to)), actor_id=None)
        _assert_ends(store, (kind, link), to, linked.id)
        with store.unit_of_work() as unit:
            assert _of(unit, kind).get(other.id) == other
            _of(unit, kind).delete(other.id)

    @for_each("kind", KINDS)
    def test_a_deleted_user_is_forgotten_by_the_records(self, store: MetadataStore, named: NamedIds, kind: str) -> None:
        """Ownerships and signatures are gone, so that nobody who gets the id inherits them; the records stay."""
        with store.unit_of_work() as unit:
            user = unit.users.append(KINDS["users"].bare(named), actor_id=None)
            record = filled(kind, named)
            owned = {"owner_ids": (user, NO_USER)} if hasattr(record, "owner_ids") else {}
            saved = {name: user for name in ("last_saved_by", "executor_id") if hasattr(record, name)}
            stored = _of(unit, kind).append(replace(record, **owned, **saved), actor_id=user)
            assert _of(unit, kind).get(stored).audit.created_by == user
            unit.users.delete(user)
            after = _of(unit, kind).get(stored)
        signed = (after.audit.created_by, after.audit.changed_by, *(getattr(after, name, None) for name in saved))
        assert set(signed) == {None}
        assert not owned or after.owner_ids == (NO_USER,)

    # ------------------------------------------------------------------------------------------------------- lists
    @for_each("kind", KINDS)
    def test_lists_know_each_field(self, named: NamedIds, kind: str, unit: UnitOfWork) -> None:
        """A condition finds by it exactly, to the microsecond, and it is an order, with None last."""
        full = _of(unit, kind).add(filled(kind, named), actor_id=None)
        bare = _of(unit, kind).add(KINDS[kind].bare(named), actor_id=None)
        both = frozenset({full.id, bare.id})
        for name in ("id", *(one.name for one in fields(full) if _is_listed(getattr(full, one.name), one.name))):
            value, other = getattr(full, name), getattr(bare, name)
            linked = name.endswith("_ids")
            found = _found(_of(unit, kind), name, value[0] if linked else value, ids=both)
            assert (name, found) == (name, [full] if value != other else [full, bare])
            if not linked and (other is None or isinstance(value, datetime)):
                beyond = [hit for way in ("lt", "gt") for hit in _found(_of(unit, kind), name, value, way, ids=both)]
                assert (name, full in beyond, bare in beyond) == (name, False, other not in (None, value))
            if isinstance(value, datetime):
                assert full in _found(_of(unit, kind), name, value - _MICROSECOND, "gt", ids=both)
                assert full in _found(_of(unit, kind), name, value + _MICROSECOND, "lt", ids=both)
            if not linked:
                for descending in (False, True):
                    ordered = _of(unit, kind).list(ListQuery(ids=both, order_by=((name, descending),)))[1]
                    valued = [one for one in (full, bare) if getattr(one, name) is not None]
                    valued.sort(key=operator.attrgetter(name), reverse=descending)
                    expected = valued + [one for one in (bare,) if one not in valued]
                    assert (name, descending, list(ordered)) == (name, descending, expected)

    def test_secrets_can_neither_be_searched_nor_ordered_by(self, named: NamedIds, unit: UnitOfWork) -> None:
        """Their columns are not known to lists, nor have they distinct values."""
        secrets = [
            (kind, one.name)
            for kind in KINDS
            for record in (filled(kind, named),)
            for one in fields(record)
            if isinstance(getattr(record, one.name), Secret)
        ]
        assert len(secrets) == 7
        for kind, name in secrets:
            for query in (
                ListQuery(filters=(ListFilter(col=name, op="contains", val="a"),)),
                ListQuery(order_by=((name, True),)),
            ):
                with pytest.raises(UnknownNameError) as rejection:
                    _of(unit, kind).list(query)
                assert name not in rejection.value.known
            with pytest.raises(UnknownNameError):
                _of(unit, kind).distinct(name, ListQuery())


def _of(unit: UnitOfWork, kind: str) -> Any:
    return getattr(unit, kind)


def _as_version_of(stored: Any, record: Any) -> Any:
    """Return the record as a change of the stored one."""
    return replace(record, id=stored.id, audit=stored.audit)


def _found(repository: Any, col: str, val: object, op: str = "eq", ids: frozenset[int] | None = None) -> list[Any]:
    count, found = repository.list(ListQuery(filters=(ListFilter(col=col, op=op, val=val),), ids=ids))
    assert count == len(found)
    return list(found)


def _is_listed(value: object, name: str) -> bool:
    """Tell whether lists know a field: texts, numbers, flags, moments, links; a dataset's name is what it is now."""
    if isinstance(value, tuple):
        return name.endswith("_ids")
    return isinstance(value, str | int | float | datetime) and name not in ("id", "datasource_name")


def _unlike(value: object, of_the_other: object) -> list[object]:
    """Return values that a key may not take for this one."""
    if not isinstance(value, str):
        return [] if of_the_other == value else [of_the_other]
    return [one for one in (value.swapcase(), value.replace("Ä", "A"), f"{value} ") if one != value]


def _assert_ends(store: MetadataStore, by: tuple[str, RecordLink], to: int, record_id: int) -> None:
    """Delete what a record names, and compare what becomes of it."""
    kind, link = by
    if link.ending is LinkEnding.REFUSED:
        with store.unit_of_work() as unit:
            with pytest.raises(InUseError, match=f"1 {kind.replace('_', ' ')}"):
                _of(unit, link.to).delete(to)
            assert _of(unit, link.to).get(to).id == to
            _of(unit, kind).delete(record_id)
    with store.unit_of_work() as unit:
        _of(unit, link.to).delete(to)
    with store.unit_of_work() as unit:
        with pytest.raises(NotFoundError):
            _of(unit, link.to).get(to)
        if link.ending is LinkEnding.FORGETS:
            assert getattr(_of(unit, kind).get(record_id), link.field) == ()
            _of(unit, kind).delete(record_id)
        else:
            with pytest.raises(NotFoundError):
                _of(unit, kind).get(record_id)


def _assert_same(stored: Any, given: Any) -> None:
    """Compare two records field by field, so that a failure names the field; some are the store's to give."""
    for name in (one.name for one in fields(given) if one.name not in ("id", "audit")):
        there, wanted = _as_given(getattr(stored, name)), _as_given(getattr(given, name))
        assert (name, type(there), there) == (name, type(wanted), wanted)


def _as_given(value: Any) -> Any:
    """Return the columns and metrics of a dataset as they are before they are stored."""
    items = isinstance(value, tuple) and value and isinstance(value[0], DatasetColumn | DatasetMetric)
    return [replace(item, **_GIVEN_BY_THE_STORE) for item in value] if items else value
