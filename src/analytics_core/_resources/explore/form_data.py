"""Stored form data: what the explore view holds before it is saved in a chart, under a key, for some days."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from types import NoneType
from typing import Any

from analytics_core._records.repositories import ListFilter, UnitOfWork
from analytics_core._records.shared_state import KeyValue
from analytics_core._resources.datasets.sources import Source, dataset_of_source
from analytics_core._resources.journal import begin_act
from analytics_core._resources.reader import Reader
from analytics_core._resources.stored_json import json_object, stored_object
from analytics_core._runtime import Runtime
from analytics_core._security.actor import Actor
from analytics_core.errors import NotFoundError, OwnershipError
from analytics_core.models.explore import FormDataPost

KIND = "form_data"
_STORED = {"id": (int,), "type": (str,), "chart_id": (int, NoneType), "form_data": (str,)}


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFormData:
    """Form data (a JSON text) with the datasource and the chart that it was stored for."""

    source: Source
    chart_id: int | None
    text: str

    @property
    def fields(self) -> Mapping[str, Any]:
        """The form data itself; empty when the text holds no object."""
        return json_object(self.text)


class FormDataStore:
    """Stores form data and finds it again, as one actor may; a key alone opens nothing."""

    def __init__(self, runtime: Runtime, actor: Actor) -> None:
        self._runtime = runtime
        self._actor = actor

    def add(self, post: FormDataPost) -> str:
        """Store form data under a new key and return it; keys whose time is over go."""
        act = begin_act(self._runtime, self._actor, "form_data.create")
        given = _given(post)
        record = KeyValue(kind=KIND, key=secrets.token_urlsafe(32), value=_written(given))
        with self._runtime.store.unit_of_work() as unit:
            self._require_access(unit, given)
            unit.key_values.delete_matching(self._ended())
            unit.key_values.append(self._kept_anew(record), actor_id=self._actor.id)
            act.log(unit, chart_id=given.chart_id)
        return record.key

    def find(self, unit: UnitOfWork, key: str) -> StoredFormData:
        """Return the form data of a key; a chart that was deleted since is left out.

        Raises:
            NotFoundError: nothing is stored under the key, or no longer.
            DatasetAccessError, ChartAccessError: the actor may not read what it was stored for.
        """
        return self._opened(unit, self._record(unit, key))

    def replace(self, key: str, put: FormDataPost) -> None:
        """Store other form data under a key; only who stored it may."""
        act = begin_act(self._runtime, self._actor, "form_data.update")
        given = _given(put)
        with self._runtime.store.unit_of_work() as unit:
            record = self._own_record(unit, key)
            self._require_access(unit, given)
            changed = self._kept_anew(replace(record, value=_written(given)))
            unit.key_values.update(changed, actor_id=self._actor.id)
            act.log(unit, chart_id=given.chart_id)

    def remove(self, key: str) -> None:
        """Forget a key; only who stored it may."""
        act = begin_act(self._runtime, self._actor, "form_data.delete")
        with self._runtime.store.unit_of_work() as unit:
            record = self._own_record(unit, key)
            unit.key_values.delete(record.id)
            act.log(unit, chart_id=_read(record).chart_id)

    def _opened(self, unit: UnitOfWork, record: KeyValue) -> StoredFormData:
        """Return what a record holds, once the actor may read what it was stored for."""
        stored, reader = _read(record), self._reader(unit)
        dataset_of_source(reader, stored.source)
        return replace(stored, chart_id=reader.remaining_chart(stored.chart_id))

    def _own_record(self, unit: UnitOfWork, key: str) -> KeyValue:
        record = self._record(unit, key)
        self._opened(unit, record)
        if record.audit.created_by != self._actor.id:
            raise OwnershipError("only who stored this form data may change it; store yours under a key of its own")
        return record

    def _record(self, unit: UnitOfWork, key: str) -> KeyValue:
        record = unit.key_values.find(kind=KIND, key=key)
        now = self._runtime.wall_clock.now()
        if record is None or (record.expires_on is not None and record.expires_on <= now):
            raise NotFoundError("form data", key)
        return record

    def _require_access(self, unit: UnitOfWork, stored: StoredFormData) -> None:
        reader = self._reader(unit)
        dataset_of_source(reader, stored.source)
        if stored.chart_id is not None:
            reader.chart(stored.chart_id)

    def _reader(self, unit: UnitOfWork) -> Reader:
        return Reader(unit, self._runtime.policy, self._actor)

    def _kept_anew(self, record: KeyValue) -> KeyValue:
        keep = timedelta(seconds=self._runtime.settings.form_data_keep_s)
        return replace(record, expires_on=self._runtime.wall_clock.now() + keep)

    def _ended(self) -> tuple[ListFilter, ...]:
        now = self._runtime.wall_clock.now()
        return ListFilter(col="kind", op="eq", val=KIND), ListFilter(col="expires_on", op="lt", val=now)


def _given(post: FormDataPost) -> StoredFormData:
    source = Source(id=post.datasource_id, type=post.datasource_type.value)
    return StoredFormData(source=source, chart_id=post.chart_id, text=post.form_data)


def _written(given: StoredFormData) -> str:
    content = {"id": given.source.id, "type": given.source.type, "chart_id": given.chart_id, "form_data": given.text}
    return json.dumps(content, ensure_ascii=False)


def _read(record: KeyValue) -> StoredFormData:
    content = stored_object(record, _STORED)
    source = Source(id=content["id"], type=content["type"])
    return StoredFormData(source=source, chart_id=content["chart_id"], text=content["form_data"])
