"""Stored charts, and the annotation layers that they show."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from analytics_core._records.audit import StoredRecord

DATASET_TYPES: Final[frozenset[str | None]] = frozenset({None, "table", "dataset"})
"""The datasource types with which a `datasource_id` is a dataset's id; one that is not named means a table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart(StoredRecord):
    """A saved question and the way it is drawn; `params` and `query_context` are JSON texts.

    `cache_timeout` is in seconds; None: the dataset's. `datasource_name` is what the dataset was called when the
    chart was stored on it; lists go by what it is called now.
    """

    uuid: str
    slice_name: str
    viz_type: str | None = None
    datasource_id: int | None = None
    datasource_type: str | None = None
    datasource_name: str | None = None
    description: str | None = None
    cache_timeout: int | None = None
    certified_by: str | None = None
    certification_details: str | None = None
    params: str | None = None
    query_context: str | None = None
    query_context_generation: bool | None = None
    external_url: str | None = None
    is_managed_externally: bool = False
    owner_ids: tuple[int, ...] = ()
    tag_ids: tuple[int, ...] = ()
    last_saved_at: datetime | None = None
    last_saved_by: int | None = None

    @property
    def dataset_id(self) -> int | None:
        """The id of the dataset that the chart is drawn from; None when it is drawn from none."""
        return self.datasource_id if self.datasource_type in DATASET_TYPES else None


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotationLayer(StoredRecord):
    """A named collection of annotations that charts may show."""

    name: str
    descr: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotation(StoredRecord):
    """Something that happened from `start_dttm` to `end_dttm` (aware, UTC); `json_metadata` is a JSON text."""

    layer_id: int
    start_dttm: datetime
    end_dttm: datetime
    short_descr: str
    long_descr: str | None = None
    json_metadata: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeLayer:
    """A stored layer and its annotations within a range; `count` is how many there are in all."""

    name: str
    annotations: tuple[Annotation, ...] = ()
    count: int = 0
    is_deleted: bool = False
