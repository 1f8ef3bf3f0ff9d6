"""What every `MetadataStore` must keep of every kind of record alike: all fields, versions, ids, the revision."""

from __future__ import annotations

import dataclasses
import types
import typing
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from typing import Any, Final

import pytest

from analytics_core._records.audit import LogEntry
from analytics_core._records.chart import Annotation, AnnotationLayer, Chart
from analytics_core._records.dashboard import CssTemplate, Dashboard, EmbeddedDashboard, Favourite, Tag
from analytics_core._records.datasource import Database, Dataset
from analytics_core._records.people import Grant, GrantTarget, Role, RowRule, RowRuleType, User
from analytics_core._records.repositories import ListFilter, ListQuery, UnitOfWork
from analytics_core._records.secret import Secret
from analytics_core._records.shared_state import JobRecord, JobResultPart, JobState, JobWorker, KeyValue, LockRecord
from analytics_core.errors import NotFoundError, StaleVersionError
from analytics_core.ports import MetadataStore
from analytics_core.testing.conformance.records import (
    START,
    StoreSuite,
    a_chart,
    a_dashboard,
    a_database,
    a_dataset,
    a_job,
)

_MADE: Final[Mapping[type, Callable[[str], Any]]] = {
    bytes: lambda name: bytes(range(256)) + name.encode(),
    str: lambda name: f"{name[:12]} Ä😀",
    int: lambda name: 7 + len(name),
    bool: lambda _: True,
    datetime: lambda name: START + timedelta(microseconds=len(name)),
    Secret: lambda name: Secret(f"{name} hunter2"),
}
_NOBODY: Final = 1_000_000
"""A user id that no suite gives: the job that others name must not go with a deleted user."""

_NOT_STORED: Final = frozenset({"id", "audit", "role_names"})


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedIds:
    """The ids of stored records that other records name."""

    database: int
    dataset: int
    chart: int
    dashboard: int
    role: int
    tag: int
    layer: int
    job: int


def store_named(unit: UnitOfWork) -> NamedIds:
    """Store one record of each kind that others name."""
    database = unit.databases.add(a_database("named"), actor_id=None).id
    return NamedIds(
        database=database,
        dataset=unit.datasets.add(a_dataset(database, "named"), actor_id=None).id,
        chart=unit.charts.add(a_chart("named"), actor_id=None).id,
        dashboard=unit.dashboards.add(a_dashboard("named"), actor_id=None).id,
        role=unit.roles.add(Role(name="named"), actor_id=None).id,
        tag=unit.tags.add(Tag(name="named"), actor_id=None).id,
        layer=unit.annotation_layers.add(AnnotationLayer(name="named"), actor_id=None).id,
        job=unit.jobs.add(a_job("named", user_id=_NOBODY), actor_id=None).id,
    )


JOURNALS: Final = frozenset({"logs", "jobs", "job_results", "job_workers", "locks"})
"""The repositories of records that nobody keeps after reading them, so that they need not move the revision."""

BARE: Final[Mapping[str, Callable[[NamedIds], Any]]] = {
    "users": lambda _: User(username="u"),
    "roles": lambda _: Role(name="r"),
    "databases": lambda _: Database(uuid=str(uuid.uuid4()), database_name="d", uri=Secret("s"), engine="sqlite"),
    "datasets": lambda t: Dataset(uuid=str(uuid.uuid4()), database_id=t.database, table_name="t"),
    "charts": lambda _: Chart(uuid=str(uuid.uuid4()), slice_name="c"),
    "dashboards": lambda _: Dashboard(uuid=str(uuid.uuid4())),
    "annotation_layers": lambda _: AnnotationLayer(name="l"),
    "annotations": lambda t: Annotation(layer_id=t.layer, start_dttm=START, end_dttm=START, short_descr="a"),
    "css_templates": lambda _: CssTemplate(),
    "tags": lambda _: Tag(name="g"),
    "favourites": lambda _: Favourite(user_id=1, target="chart", target_id=1),
    "embedded": lambda t: EmbeddedDashboard(uuid=str(uuid.uuid4()), dashboard_id=t.dashboard),
    "row_rules": lambda _: RowRule(name="w", clause="1 = 0"),
    "logs": lambda _: LogEntry(action="view"),
    "key_values": lambda _: KeyValue(kind="k", key="k", value="{}"),
    "jobs": lambda _: JobRecord(job_id="j", kind="k", payload="{}", user_id=1),
    "job_results": lambda t: JobResultPart(job_record_id=t.job, position=0, data=b""),
    "job_workers": lambda _: JobWorker(token="w", lease_until=START),
    "locks": lambda _: LockRecord(name="k", owner="o", ends_on=START),
}
"""What every repository of a unit of work can hold, by its name, with as little in it as possible."""

_GIVEN: Final[Mapping[str, Callable[[NamedIds], Mapping[str, Any]]]] = {
    "users": lambda t: {"active": False, "role_ids": (t.role,), "attributes": (("a", "1"), ("a", "2"), ("b", ""))},
    "roles": lambda t: {"grants": _grants(t)},
    "datasets": lambda t: {
        "database_id": t.database,
        "primary_key": ("id", "Ä😀"),
        "columns": (),
        "metrics": (),
        "owner_ids": (3, 5),
    },
    "charts": lambda t: {"owner_ids": (3, 5), "tag_ids": (t.tag,)},
    "dashboards": lambda t: {
        "owner_ids": (3, 5),
        "role_ids": (t.role,),
        "chart_ids": (t.chart,),
        "tag_ids": (t.tag,),
    },
    "annotations": lambda t: {"layer_id": t.layer},
    "embedded": lambda t: {"dashboard_id": t.dashboard, "allowed_domains": ("https://a.example", "http://b:1")},
    "row_rules": lambda t: {
        "filter_type": RowRuleType.BASE,
        "role_ids": (t.role,),
        "dataset_ids": (t.dataset,),
    },
    "jobs": lambda _: {"state": JobState.RUNNING},
    "job_results": lambda t: {"job_record_id": t.job},
}
"""What is not made by its type: what names other records, and flags that are true when nobody gives them."""


def _grants(named: NamedIds) -> frozenset[Grant]:
    return frozenset(
        {
            Grant(target=GrantTarget.DATASET, target_id=named.dataset),
            Grant(target=GrantTarget.DATABASE, target_id=named.database),
            Grant(target=GrantTarget.SCHEMA, target_id=named.database, schema="Ä"),
        }
    )


def filled(kind: str, named: NamedIds) -> Any:
    """Return a record of this kind with every field given, and none as it is in `BARE`."""
    bare = BARE[kind](named)
    give = _GIVEN.get(kind)
    given = give(named) if give else {}
    hints = typing.get_type_hints(type(bare))
    wanted = [one.name for one in dataclasses.fields(bare) if one.name not in _NOT_STORED | set(given)]
    return replace(bare, **given, **{name: _made(hints[name], name, getattr(bare, name)) for name in wanted})


def _made(hint: Any, name: str, bare: Any) -> Any:
    """Return a value for a field; a flag is the contrary of what it is by itself."""
    if isinstance(bare, bool):
        return not bare
    members = [one for one in typing.get_args(hint) if one is not types.NoneType]
    return _MADE[members[0] if members else hint](name)


_OWNED = ("datasets", "charts", "dashboards")


class _GivenUpError(Exception):
    """What ends a unit in the middle."""


class EveryKindConformance(StoreSuite):
    """Subclass it and override the fixture `store`; it must use the fixture `clock` and start empty for each test."""

    @pytest.fixture
    def named(self, store: MetadataStore) -> NamedIds:
        """Return what records may name."""
        with store.unit_of_work() as unit:
            return store_named(unit)

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
                by_id = ListQuery(filters=(ListFilter(col="id", op="eq", val=added.id),))
                assert _of(unit, kind).list(by_id) == (1, (again,))
                assert tuple(_of(unit, kind).get_many([added.id])) == (again,)

    def test_nothing_is_written_over_by_an_old_version(self, store: MetadataStore, named: NamedIds) -> None:
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

    def test_no_id_comes_back(self, store: MetadataStore, named: NamedIds) -> None:
        """What names a deleted record by its id must not come to life with another one."""
        for kind in BARE:
            with store.unit_of_work() as unit:
                gone = _of(unit, kind).append(BARE[kind](named), actor_id=None)
                _of(unit, kind).delete(gone)
            with store.unit_of_work() as unit:
                assert (kind, _of(unit, kind).append(BARE[kind](named), actor_id=None)) > (kind, gone)
                with pytest.raises(NotFoundError):
                    _of(unit, kind).get(gone)

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

    def test_a_removal_of_many_moves_the_revision(self, store: MetadataStore, named: NamedIds) -> None:
        """As a deletion of one does."""
        with store.unit_of_work() as unit:
            unit.key_values.append(BARE["key_values"](named), actor_id=None)
        before = store.revision()
        with store.unit_of_work() as unit:
            assert unit.key_values.delete_matching([ListFilter(col="kind", op="eq", val="k")]) == 1
        assert store.revision() > before

    def test_a_deleted_user_owns_nothing(self, store: MetadataStore, named: NamedIds) -> None:
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
    """Compare field by field, so that a failure names the field; id and audit are the store's."""
    for name in (one.name for one in fields(given) if one.name not in ("id", "audit")):
        assert (name, getattr(stored, name)) == (name, getattr(given, name))
