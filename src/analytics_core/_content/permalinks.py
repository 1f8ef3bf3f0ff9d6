"""`core.permalinks`: the state of a chart or a dashboard, under a key that stays until old ones are pruned."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import NoneType
from typing import Any

from pydantic_core import PydanticSerializationError

from analytics_core._content.changes import LoggedAction, begin_act, repeated
from analytics_core._content.datasets.sources import dataset_of_source, parse_source
from analytics_core._content.field_formatter import readable_now
from analytics_core._content.logs import oldest_after_pruning
from analytics_core._content.namespace import Namespace
from analytics_core._content.reader import Reader
from analytics_core._content.stored_json import stored_object, stored_shape
from analytics_core._engine.rights.keys import is_marked, permalink_keys
from analytics_core._records.repositories import ListFilter, UnitOfWork
from analytics_core._records.settings import Settings
from analytics_core._records.shared_state import KeyValue
from analytics_core.errors import (
    AlreadyExistsError,
    GoneError,
    NotFoundError,
    PayloadFormatError,
    StaleVersionError,
)
from analytics_core.models.base import StrictShape
from analytics_core.models.dashboard import DashboardPermalinkState
from analytics_core.models.explore import DashboardPermalink, ExplorePermalink, ExplorePermalinkState, Permalink
from analytics_core.models.parsing import Payload, parse, payload_error

_CHART, _DASHBOARD = "chart_permalink", "dashboard_permalink"
_STORED: Mapping[str, Mapping[str, tuple[type, ...]]] = {
    _CHART: {"chart_id": (int, NoneType), "datasource": (str,), "state": (dict,)},
    _DASHBOARD: {"dashboard_id": (int,), "state": (dict,)},
}


class Permalinks(Namespace):
    """Permalinks, as one actor may make and open them; knowing a key opens nothing that the actor may not read."""

    @repeated
    def create_for_chart(self, payload: ExplorePermalinkState | Payload) -> Permalink:
        """Store the state of an explore view (contract, `ExplorePermalinkStateSchema`) and return its key and address.

        `formData.datasource` names the datasource, for example `1__table`; `formData.slice_id` a stored chart, if any.
        The same state of the same person gives the same key.

        Raises:
            PayloadError: the payload breaks the shape, or its form data names no datasource.
            NotFoundError, DatasetAccessError, ChartAccessError: dataset or chart are unknown or not for this actor.

        Examples:
            >>> link = core.permalinks.create_for_chart({"formData": {"datasource": "1__table", "viz_type": "pie"}})
            >>> link.url == f"https://app.example/chart_permalink/{link.key}"
            True
        """
        shape = "ExplorePermalinkStateSchema"
        state = parse(ExplorePermalinkState, payload, shape=shape)
        act = begin_act(self._runtime, self._actor, "permalink.create")
        source = parse_source(state.form_data.get("datasource"), shape=shape, place="formData.datasource")
        chart_id = _chart_id(state, shape)
        content = {"chart_id": chart_id, "datasource": source.uid, "state": _json(state, shape)}
        with self._runtime.store.unit_of_work() as unit:
            reader = self._reader(unit)
            dataset_of_source(reader, source)
            if chart_id is not None:
                reader.chart(chart_id)
            key = self._key_of(unit, _CHART, content, act, chart_id=chart_id)
        return self._answer(_CHART, key)

    def get_for_chart(self, key: str) -> ExplorePermalink:
        """Return the state of an explore view; a chart that was deleted since is left out.

        Raises:
            NotFoundError: there is no such key, or its dataset is gone; GoneError: the permalink was pruned.
            DatasetAccessError, ChartAccessError: dataset or chart are not for this actor.

        Examples:
            >>> link = core.permalinks.create_for_chart({"formData": {"datasource": "1__table", "viz_type": "pie"}})
            >>> core.permalinks.get_for_chart(link.key).state.form_data["viz_type"]
            'pie'
        """
        with self._runtime.store.unit_of_work() as unit:
            record, content = _content(unit, self._runtime.settings, _CHART, key)
            source = parse_source(content["datasource"], shape="permalink", place="datasource")
            reader = self._reader(unit)
            dataset_of_source(reader, source)
            chart_id = reader.remaining_chart(content["chart_id"])
        state = stored_shape(record, ExplorePermalinkState, content["state"])
        return ExplorePermalink(chartId=chart_id, datasourceId=source.id, datasourceType=source.type, state=state)

    @repeated
    def create_for_dashboard(self, dashboard_id: int, payload: DashboardPermalinkState | Payload) -> Permalink:
        """Store the state of a dashboard (contract, `DashboardPermalinkStateSchema`) and return its key and address.

        The same state of the same person gives the same key.

        Raises:
            PayloadError: the payload breaks the shape.
            NotFoundError, DashboardAccessError: the dashboard is unknown or not for this actor.

        Examples:
            >>> link = core.permalinks.create_for_dashboard(1, {"dataMask": {}})
            >>> core.permalinks.get_for_dashboard(link.key).dashboard_id
            1
        """
        shape = "DashboardPermalinkStateSchema"
        state = parse(DashboardPermalinkState, payload, shape=shape)
        act = begin_act(self._runtime, self._actor, "permalink.create")
        content = {"dashboard_id": dashboard_id, "state": _json(state, shape)}
        with self._runtime.store.unit_of_work() as unit:
            self._reader(unit).dashboard(dashboard_id)
            key = self._key_of(unit, _DASHBOARD, content, act, dashboard_id=dashboard_id)
        return self._answer(_DASHBOARD, key)

    def get_for_dashboard(self, key: str) -> DashboardPermalink:
        """Return the state of a dashboard; NotFoundError (GoneError: pruned) or DashboardAccessError otherwise.

        Examples:
            >>> link = core.permalinks.create_for_dashboard(1, {"anchor": "TAB-2"})
            >>> core.permalinks.get_for_dashboard(link.key).state.anchor
            'TAB-2'
        """
        with self._runtime.store.unit_of_work() as unit:
            record, content = _content(unit, self._runtime.settings, _DASHBOARD, key)
            self._reader(unit).dashboard(content["dashboard_id"])
        state = stored_shape(record, DashboardPermalinkState, content["state"])
        return DashboardPermalink(dashboardId=content["dashboard_id"], state=state)

    def prune(self, older_than_days: int) -> int:
        """Remove the permalinks made more than so many days ago and return how many they were; for administrators.

        Nothing else removes permalinks. Whoever made one and asks for the same state again gets the same key.

        Raises:
            PayloadSchemaError: `older_than_days` is no whole number from 1 to 36,500.
            AccessError: only administrators may.

        Examples:
            >>> core.permalinks.prune(older_than_days=365)
            0
        """
        self._runtime.policy.require_manage_permalinks(self._actor)
        oldest = oldest_after_pruning(older_than_days, now=self._runtime.wall_clock.now(), shape="permalinks.prune")
        act = begin_act(self._runtime, self._actor, "permalink.prune")
        old = (
            ListFilter(col="kind", op="in", val=tuple(_STORED)),
            ListFilter(col="created_on", op="lt", val=oldest),
        )
        with self._runtime.store.unit_of_work() as unit:
            removed = unit.key_values.delete_matching(old)
            act.log(unit, details={"older_than_days": older_than_days, "removed": removed})
        return removed

    def _key_of(self, unit: UnitOfWork, kind: str, content: dict[str, Any], act: LoggedAction, **about: Any) -> str:
        """Return the key of a content, stored now unless it was before."""
        text = json.dumps(content, ensure_ascii=False, sort_keys=True)
        settings = self._runtime.settings
        keys = permalink_keys((settings.key, *settings.older_keys), kind, f"{kind}\x00{self._actor.id}\x00{text}")
        for key in keys:
            if unit.key_values.find(kind=kind, key=key) is not None:
                return key
        try:
            unit.key_values.append(KeyValue(kind=kind, key=keys[0], value=text), actor_id=self._actor.id)
        except AlreadyExistsError:  # stored in this moment by the same person somewhere else; the next try finds it
            raise StaleVersionError("permalink", keys[0]) from None
        act.log(unit, **about)
        return keys[0]

    def _answer(self, kind: str, key: str) -> Permalink:
        readable = readable_now(self._runtime)
        return Permalink(key=key, url=readable.url(kind, {"key": key}))


def stored_state(reader: Reader, settings: Settings, key: str, dashboard_id: int) -> dict[str, Any]:
    """Return the state of a dashboard that a permalink keeps; NotFoundError where it keeps none of this dashboard."""
    record, content = _content(reader.unit, settings, _DASHBOARD, key)
    if content["dashboard_id"] != dashboard_id:
        raise NotFoundError("permalink", key, place=f"of dashboard {dashboard_id}")
    return dict(stored_shape(record, DashboardPermalinkState, content["state"]).model_dump(by_alias=True))


def _chart_id(state: ExplorePermalinkState, shape: str) -> int | None:
    chart_id = state.form_data.get("slice_id")
    if chart_id in (None, 0):  # clients write 0 for a chart that is not saved yet
        return None
    if type(chart_id) is not int:
        raise payload_error(shape, "formData.slice_id", "must be the id of a chart, or null")
    return chart_id


def _json(state: StrictShape, shape: str) -> dict[str, Any]:
    """Return a state as JSON values; PayloadFormatError when it holds something that JSON has not."""
    try:
        return state.model_dump(mode="json", by_alias=True, exclude_unset=True)
    except PydanticSerializationError:
        raise PayloadFormatError(f"{shape}: the state holds a value that is no JSON") from None


def _content(unit: UnitOfWork, settings: Settings, kind: str, key: str) -> tuple[KeyValue, Mapping[str, Any]]:
    record = unit.key_values.find(kind=kind, key=key)
    if record is None:
        is_ours = is_marked((settings.key, *settings.older_keys), kind, key)
        raise (GoneError if is_ours else NotFoundError)("permalink", key)
    return record, stored_object(record, _STORED[kind])
