"""Reads annotation layers, and the charts that serve as layers, from the metadata store.

They are read anew for every answer, so that a changed annotation shows at once, whoever changed it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from analytics_core._querying.loading import find_dataset_of
from analytics_core._records.chart import Annotation, AnnotationLayer, Chart
from analytics_core._records.dataset import Dataset
from analytics_core._records.repositories import ListFilter, ListQuery, UnitOfWork
from analytics_core._records.shared_state import KeyValue
from analytics_core.errors import NotFoundError
from analytics_core.ports import MetadataStore

_DELETED: Final = "deleted annotation layer"
_EARLIEST: Final = datetime.min.replace(tzinfo=UTC)
_TICK: Final = timedelta(microseconds=1)
"""The smallest step between two stored moments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeLayer:
    """A stored layer and its annotations within a range; `count` is how many there are in all."""

    name: str
    annotations: tuple[Annotation, ...] = ()
    count: int = 0
    is_deleted: bool = False


class AnnotationReader:
    """Reads what annotation layers name; `most` bounds the annotations of one layer."""

    def __init__(self, store: MetadataStore, *, most: int) -> None:
        self._store = store
        self._most = most

    def native(self, layer_id: int, *, since: datetime | None, until: datetime | None) -> NativeLayer:
        """Return a layer with the annotations that touch `[since, until)` (aware; None: open), earliest first.

        A layer that was deleted comes back empty, under the name that it had.

        Raises:
            NotFoundError: there never was such a layer.
        """
        query = ListQuery(
            filters=tuple(_touching(layer_id, since, until)),
            order_by=(("start_dttm", False), ("end_dttm", False)),
            page_size=self._most,
        )
        with self._store.unit_of_work() as unit:
            try:
                layer = unit.annotation_layers.get(layer_id)
            except NotFoundError:
                return _deleted_layer(unit, layer_id)
            count, annotations = unit.annotations.list(query)
        return NativeLayer(name=layer.name, annotations=tuple(annotations), count=count)

    def chart(self, chart_id: int) -> tuple[Chart, Dataset | None]:
        """Return a chart and the dataset that it is drawn from, if it has one; NotFoundError for an unknown chart."""
        with self._store.unit_of_work() as unit:
            chart = unit.charts.get(chart_id)
            return chart, find_dataset_of(unit, chart)


def remember_deleted_layer(unit: UnitOfWork, layer: AnnotationLayer, *, actor_id: int) -> None:
    """Keep the name of a deleted layer, so that charts which show it can tell it from one that never was."""
    kept = KeyValue(kind=_DELETED, key=str(layer.id), value=json.dumps(layer.name))
    unit.key_values.append(kept, actor_id=actor_id)


def _deleted_layer(unit: UnitOfWork, layer_id: int) -> NativeLayer:
    kept = unit.key_values.find(kind=_DELETED, key=str(layer_id))
    if kept is None:
        raise NotFoundError("annotation layer", layer_id)
    return NativeLayer(name=json.loads(kept.value), is_deleted=True)


def _touching(layer_id: int, since: datetime | None, until: datetime | None) -> Iterator[ListFilter]:
    """Yield the conditions of the annotations that begin before `until` and do not end before `since`."""
    yield ListFilter(col="layer_id", op="eq", val=layer_id)
    if until is not None:
        yield ListFilter(col="start_dttm", op="lt", val=until)
    if since is not None and since > _EARLIEST:
        yield ListFilter(col="end_dttm", op="gt", val=since - _TICK)
