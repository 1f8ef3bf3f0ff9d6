"""What every `MetadataStore` must keep of every kind of record: fields, versions, ids, keys, links, the revision."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import fields, replace
from datetime import UTC, datetime
from typing import Any, Final

import pytest

from analytics_core._records.datasource import DatasetColumn, DatasetMetric
from analytics_core._records.repositories import ListFilter, ListQuery, UnitOfWork
from analytics_core._records.shared_state import KeyValue
from analytics_core.errors import AlreadyExistsError, InUseError, NotFoundError, StaleVersionError
from analytics_core.ports import MetadataStore
from analytics_core.testing.conformance.records import (
    AWKWARD,
    BARE,
    NOBODY,
    NamedIds,
    StoreSuite,
    filled,
)

_LONG: Final = AWKWARD * 2_000
_EXTREMES: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    ("users", {"username": AWKWARD, "attributes": (("region", AWKWARD), ("region", "EU"), ("", ""))}),
    ("databases", {"database_name": AWKWARD, "extra": _LONG, "force_ctas_schema": AWKWARD, "cache_timeout": -1}),
    (
        "datasets",
        {"columns": (DatasetColumn(uuid="u", column_name="c", description=_LONG, extra=_LONG, nullable=False),)},
    ),
    (
        "datasets",
        {"metrics": (DatasetMetric(uuid="u", metric_name="m", expression=_LONG),), "sql": _LONG, "offset": -3},
    ),
    ("charts", {"params": _LONG, "cache_timeout": 2**31 - 1, "query_context_generation": False}),
    ("dashboards", {"slug": AWKWARD, "css": AWKWARD, "position_json": AWKWARD * 10_000}),
    ("annotation_layers", {"name": AWKWARD, "descr": _LONG}),
    ("annotations", {"start_dttm": datetime(1000, 1, 1, tzinfo=UTC), "short_descr": AWKWARD, "long_descr": _LONG}),
    ("annotations", {"end_dttm": datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)}),
    ("css_templates", {"template_name": AWKWARD, "css": _LONG}),
    ("tags", {"name": AWKWARD, "description": _LONG}),
    ("report_schedules", {"name": AWKWARD, "sql": _LONG, "crontab": AWKWARD, "log_retention": 0}),
    ("report_executions", {"error_message": _LONG, "value": -1.7e308, "value_row_json": _LONG, "attempts": -1}),
    ("report_executions", {"value": 5e-324, "scheduled_dttm": datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)}),
    ("row_rules", {"clause": "country = 'it''s {{ current_username() }}' -- Ä"}),
)
"""Long texts, texts in any script, numbers at their ends, moments at both ends of the calendar."""

JOURNALS: Final = frozenset(
    {
        *("logs", "jobs", "job_results", "job_workers", "locks", "oauth2_tokens"),
        *("report_progress", "report_executions", "report_deliveries", "sql_queries"),
    }
)
"""The repositories of records that nobody keeps after reading them, so that they need not move the revision."""

_UNIQUE: Final[tuple[tuple[str, ...], ...]] = (
    ("users", "username"),
    ("roles", "name"),
    ("databases", "database_name"),
    ("databases", "uuid"),
    ("datasets", "uuid"),
    ("datasets", "database_id", "catalog", "schema", "table_name"),
    ("charts", "uuid"),
    ("dashboards", "uuid"),
    ("dashboards", "slug"),
    ("annotation_layers", "name"),
    ("tags", "type", "name"),
    ("favourites", "user_id", "target", "target_id"),
    ("row_rules", "name"),
    ("key_values", "kind", "key"),
    ("jobs", "job_id"),
    ("job_results", "job_record_id", "position"),
    ("job_workers", "token"),
    ("locks", "name"),
    ("oauth2_tokens", "database_id", "user_id"),
    ("report_schedules", "uuid"),
    ("report_schedules", "type", "name"),
    ("report_executions", "uuid"),
    ("report_executions", "schedule_id", "scheduled_dttm"),
    ("report_deliveries", "execution_id", "recipient_key"),
    ("sql_queries", "user_id", "client_id"),
    ("saved_queries", "uuid"),
)
"""The fields that tell records of a kind apart; the last one is what the error names."""

_LINKS: Final = (
    ("users", "role_ids", "role"),
    ("datasets", "database_id", "database"),
    ("charts", "tag_ids", "tag"),
    ("dashboards", "role_ids", "role"),
    ("dashboards", "chart_ids", "chart"),
    ("dashboards", "tag_ids", "tag"),
    ("annotations", "layer_id", "annotation layer"),
    ("embedded", "dashboard_id", "dashboard"),
    ("row_rules", "role_ids", "role"),
    ("row_rules", "dataset_ids", "dataset"),
    ("job_results", "job_record_id", "job"),
    ("oauth2_tokens", "database_id", "database"),
    ("report_schedules", "chart_id", "chart"),
    ("report_schedules", "dashboard_id", "dashboard"),
    ("report_schedules", "database_id", "database"),
    ("report_progress", "schedule_id", "report schedule"),
    ("report_executions", "schedule_id", "report schedule"),
    ("report_deliveries", "execution_id", "report execution"),
    ("sql_queries", "database_id", "database"),
    ("saved_queries", "database_id", "database"),
    ("saved_queries", "tag_ids", "tag"),
)
"""Fields that hold ids of other records, and what these are called."""

_NEEDED: Final = (
    ("databases", "datasets", "database_id"),
    ("datasets", "row_rules", "dataset_ids"),
    ("roles", "users", "role_ids"),
    ("roles", "dashboards", "role_ids"),
    ("roles", "row_rules", "role_ids"),
    ("charts", "report_schedules", "chart_id"),
    ("dashboards", "report_schedules", "dashboard_id"),
    ("databases", "report_schedules", "database_id"),
)
"""Records that stay while others name them: their kind, that of the others, and the field of these."""

_GIVEN_BY_THE_STORE: Final[Mapping[str, Any]] = {"id": 0, "created_on": None, "changed_on": None}


class _GivenUpError(Exception):
    """What ends a unit in the middle."""


class EveryKindConformance(StoreSuite):
    """Subclass it and override the fixture `store`; it must use the fixture `clock` and start empty for each test."""

    def test_no_field_is_lost_or_made_up(self, store: MetadataStore, named: NamedIds) -> None:
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
                assert _of(unit, kind).get(added.id) == again
                by_id = ListQuery(filters=(ListFilter(col="id", op="eq", val=added.id),))
                assert _of(unit, kind).list(by_id) == (1, (again,))
                assert tuple(_of(unit, kind).get_many([added.id])) == (again,)

    def test_extreme_values_survive(self, store: MetadataStore, named: NamedIds) -> None:
        """They come back as they were given, to the letter and to the microsecond."""
        for kind, given in _EXTREMES:
            record = replace(BARE[kind](named), **given)
            with store.unit_of_work() as unit:
                stored = _of(unit, kind).append(record, actor_id=None)
            with store.unit_of_work() as unit:
                _assert_same(_of(unit, kind).get(stored), record)
                _of(unit, kind).delete(stored)

    def test_a_missing_record_is_a_typed_error_when_got_changed_and_deleted(
        self, store: MetadataStore, named: NamedIds
    ) -> None:
        """NotFoundError, also for ids that no store could hold."""
        for kind, absent in itertools.product(BARE, (NOBODY, 0, -1, 2**40, 2**70)):
            record = replace(BARE[kind](named), id=absent)
            for act, argument in (("get", absent), ("version", absent), ("delete", absent), ("update", record)):
                options = {"actor_id": None} if act == "update" else {}
                with store.unit_of_work() as unit, pytest.raises(NotFoundError):
                    getattr(_of(unit, kind), act)(argument, **options)

    def test_nothing_is_written_over_by_an_old_version(self, store: MetadataStore, named: NamedIds) -> None:
        """The second of two changes of one version is refused and changes nothing, not even links."""
        for kind in BARE:
            with store.unit_of_work() as unit:
                first = _of(unit, kind).add(BARE[kind](named), actor_id=None)
            late = replace(filled(kind, named), id=first.id, audit=first.audit)
            with store.unit_of_work() as unit:
                kept = _of(unit, kind).update(first, actor_id=1)
                with pytest.raises(StaleVersionError):
                    _of(unit, kind).update(late, actor_id=2)
            with store.unit_of_work() as unit, pytest.raises(StaleVersionError):
                _of(unit, kind).update(late, actor_id=2)
            with store.unit_of_work() as unit:
                assert _of(unit, kind).get(first.id) == kept
            assert (kind, kept.audit.version, kept.audit.changed_by) == (kind, 2, 1)

    def test_no_id_comes_back(self, store: MetadataStore, named: NamedIds) -> None:
        """A record goes with all its links, and what names it, such as a grant, does not come to life with another."""
        for kind in BARE:
            with store.unit_of_work() as unit:
                gone = _of(unit, kind).append(filled(kind, named), actor_id=None)
                _of(unit, kind).delete(gone)
            with store.unit_of_work() as unit:
                assert (kind, _of(unit, kind).append(BARE[kind](named), actor_id=None)) > (kind, gone)
                with pytest.raises(NotFoundError):
                    _of(unit, kind).get(gone)

    # --------------------------------------------------------------------------------------------- keys and links
    @pytest.mark.parametrize("key", _UNIQUE, ids=" ".join)
    def test_a_taken_key_is_refused_by_name(self, named: NamedIds, key: tuple[str, ...], unit: UnitOfWork) -> None:
        """When stored and when changed; what differs in one of its fields, or in case alone, is another key."""
        kind, *names = key
        first, bare = filled(kind, named), BARE[kind](named)
        clash = {name: getattr(first, name) for name in names}
        repository = _of(unit, kind)
        kept = repository.add(first, actor_id=1)
        with pytest.raises(AlreadyExistsError) as when_stored:
            repository.append(replace(bare, **clash), actor_id=2)
        other = repository.add(bare, actor_id=None)
        with pytest.raises(AlreadyExistsError) as when_changed:
            repository.update(replace(other, **clash), actor_id=2)
        assert [error.value.field_name for error in (when_stored, when_changed)] == [names[-1]] * 2
        assert repository.get(kept.id) == kept
        for name, value in clash.items():
            changed = value.swapcase() if isinstance(value, str) else getattr(bare, name)
            if changed != value:
                other = repository.update(replace(other, **{**clash, name: changed}), actor_id=None)
                assert getattr(other, name) == changed

    @pytest.mark.parametrize(("kind", "field", "noun"), _LINKS)
    def test_a_link_to_nothing_is_refused_by_name(
        self, named: NamedIds, kind: str, field: str, noun: str, unit: UnitOfWork
    ) -> None:
        """The missing record is named, and nothing is stored."""
        linked = {field: (NOBODY,) if field.endswith("_ids") else NOBODY}
        before = _of(unit, kind).list(ListQuery())
        with pytest.raises(NotFoundError, match=f"no {noun} {NOBODY}"):
            _of(unit, kind).append(replace(BARE[kind](named), **linked), actor_id=None)
        assert _of(unit, kind).list(ListQuery()) == before

    @pytest.mark.parametrize(("kind", "by", "field"), _NEEDED)
    def test_a_record_that_others_need_stays(
        self, store: MetadataStore, named: NamedIds, kind: str, by: str, field: str
    ) -> None:
        """What people may do does not change by a deletion elsewhere: the error says how many need it."""
        with store.unit_of_work() as unit:
            needed = _of(unit, kind).append(BARE[kind](named), actor_id=None)
            linked = {field: (needed,) if field.endswith("_ids") else needed}
            needing = _of(unit, by).append(replace(BARE[by](named), **linked), actor_id=None)
            with pytest.raises(InUseError, match=f"1 {by.replace('_', ' ')}"):
                _of(unit, kind).delete(needed)
            assert _of(unit, kind).get(needed).id == needed
            _of(unit, by).delete(needing)
            _of(unit, kind).delete(needed)
        with store.unit_of_work() as unit, pytest.raises(NotFoundError):
            _of(unit, kind).get(needed)

    # ------------------------------------------------------------------------------------------ people, the revision
    def test_a_deleted_user_is_forgotten_by_the_records(self, store: MetadataStore, named: NamedIds) -> None:
        """Ownerships and signatures are gone, so that nobody who gets the id inherits them; the records stay."""
        for kind in BARE:
            with store.unit_of_work() as unit:
                user = unit.users.append(BARE["users"](named), actor_id=None)
                record = filled(kind, named)
                owned = {"owner_ids": (user, NOBODY)} if hasattr(record, "owner_ids") else {}
                saved = {name: user for name in ("last_saved_by", "executor_id") if hasattr(record, name)}
                stored = _of(unit, kind).append(replace(record, **owned, **saved), actor_id=user)
                assert _of(unit, kind).get(stored).audit.created_by == user
                unit.users.delete(user)
                left = _of(unit, kind).get(stored)
            signed = (left.audit.created_by, left.audit.changed_by, *(getattr(left, name, None) for name in saved))
            assert (kind, set(signed)) == (kind, {None})
            assert not owned or left.owner_ids == (NOBODY,)

    def test_every_change_moves_the_revision(self, store: MetadataStore, named: NamedIds) -> None:
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

    def test_many_are_added_in_one_go_all_or_none(self, store: MetadataStore) -> None:
        """Each as it is added alone; where the key of one is taken none is there, and the unit may go on."""
        many = [KeyValue(kind="k", key=key, value=AWKWARD) for key in ("a", "b", "c")]
        with store.unit_of_work() as unit:
            unit.key_values.append_all([], actor_id=None)
            unit.key_values.append_all(many, actor_id=7)
            with pytest.raises(AlreadyExistsError):
                unit.key_values.append_all([replace(many[0], key="d"), many[1]], actor_id=7)
        with store.unit_of_work() as unit:
            stored = unit.key_values.list(ListQuery(order_by=(("key", False),)))[1]
        told = [(one.key, one.value, one.audit.created_by, one.audit.version) for one in stored]
        assert told == [(one.key, AWKWARD, 7, 1) for one in many]

    def test_a_removal_of_many_moves_the_revision(self, store: MetadataStore, named: NamedIds) -> None:
        """As a deletion of one does."""
        with store.unit_of_work() as unit:
            unit.key_values.append(BARE["key_values"](named), actor_id=None)
        before = store.revision()
        with store.unit_of_work() as unit:
            assert unit.key_values.delete_matching([ListFilter(col="kind", op="eq", val="k")]) == 1
        assert store.revision() > before

    def test_a_change_in_a_failed_unit_is_gone_with_all_its_parts(self, store: MetadataStore, named: NamedIds) -> None:
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
    """Compare two records field by field, so that a failure names the field; some are the store's to give."""
    for name in (one.name for one in fields(given) if one.name not in ("id", "audit")):
        assert (name, _as_given(getattr(stored, name))) == (name, _as_given(getattr(given, name)))


def _as_given(value: Any) -> Any:
    """Return the columns and metrics of a dataset as they are before they are stored."""
    items = isinstance(value, tuple) and value and isinstance(value[0], DatasetColumn | DatasetMetric)
    return [replace(item, **_GIVEN_BY_THE_STORE) for item in value] if items else value
