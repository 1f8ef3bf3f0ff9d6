"""Which fields of records bundles tell: those that a change of a record takes, and that no store knows itself."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel

from analytics_core._records.chart import Chart
from analytics_core._records.dashboard import Dashboard
from analytics_core._records.datasource import Dataset, DatasetColumn, DatasetMetric
from analytics_core._records.sql_query import SavedQuery
from analytics_core.models.chart import ChartPut
from analytics_core.models.dashboard import DashboardPut
from analytics_core.models.dataset import ColumnPut, DatasetPut, MetricPut
from analytics_core.models.sql_editor import SavedQueryPut

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_OF_THE_STORE: Final = frozenset({"id", "uuid", "external_url", "is_managed_externally"})


_JSON: Final = frozenset({"currency", "extra", "template_params"})
Fields = Mapping[str, bool]
"""Names of fields; whether a record may be without a value there, so that null takes it away."""


def _shared(record: type[DataclassInstance], shape: type[BaseModel], *apart: str) -> Fields:
    """Return the fields that a record and its changes have alike, without those that bundles write in another way."""
    excluded = _OF_THE_STORE.union(apart)
    shared = (one for one in fields(record) if one.name in shape.model_fields and one.name not in excluded)
    return {one.name: one.default is None for one in shared}


COLUMN_FIELDS: Final = _shared(DatasetColumn, ColumnPut)
METRIC_FIELDS: Final = _shared(DatasetMetric, MetricPut)
DATASET_FIELDS: Final = _shared(Dataset, DatasetPut, "table_name", "sql", "database_id", "columns", "metrics")
CHART_FIELDS: Final = _shared(
    *(Chart, ChartPut, "datasource_id", "datasource_type", "datasource_name"),
    *("params", "query_context", "query_context_generation"),
)
DASHBOARD_FIELDS: Final = _shared(Dashboard, DashboardPut, "json_metadata", "position_json")
SAVED_QUERY_FIELDS: Final[Fields] = {**_shared(SavedQuery, SavedQueryPut), "schema": True}
CONNECTION_FIELDS: Final = dict.fromkeys(
    (
        *("expose_in_sqllab", "allow_run_async", "allow_ctas", "allow_cvas", "allow_dml", "allow_file_upload"),
        *("impersonate_user", "force_ctas_schema", "cache_timeout", "extra"),
    ),
    False,
)
"""What is taken of a connection that is made; exports hold none of it."""

OF_ONE_STORE: Final = frozenset({"slice_id", "dashboards", "datasource"})
"""Fields of the form of a chart that go by ids, and that the store knows itself."""


def given_fields(content: Mapping[str, Any], known: Fields) -> dict[str, Any]:
    """Return those of some fields that a document has; objects, which exports unfold, are JSON text again."""
    given = {name: None if content[name] == "" else content[name] for name in known if name in content}
    return {
        name: json.dumps(value, ensure_ascii=False) if name in _JSON and isinstance(value, dict) else value
        for name, value in given.items()
        if value is not None or known[name]
    }


def document_fields(record: object, *names: str) -> dict[str, Any]:
    """Return some fields of a record as a document has them; blank text says nothing."""
    return {name: None if (value := getattr(record, name)) == "" else value for name in names}


def texts_in(content: Mapping[str, Any], *names: str) -> Iterator[tuple[str, Any]]:
    """Yield those of some fields that say something."""
    for name in names:
        if content.get(name) not in (None, "", [], {}, False):
            yield name, content[name]


def mappings_in(value: Any) -> list[Mapping[str, Any]]:
    """Return the objects of a list; none where it is no list."""
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def mapping_of(value: Any) -> Mapping[str, Any]:
    """Return an object; an empty one where it is none."""
    return value if isinstance(value, Mapping) else {}


def texts_of(value: Any) -> tuple[str, ...]:
    """Return the texts of a list, each once; none where it is no list."""
    return tuple(dict.fromkeys(item for item in value if isinstance(item, str))) if isinstance(value, list) else ()
