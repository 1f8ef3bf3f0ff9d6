"""Further payloads of datasets: copy one, find or make one (contract, section Dataset)."""

from __future__ import annotations

from pydantic import Field

from analytics_core.models.base import JsonInput, Omittable, StrictShape, Text250, Title250, Whole


class DatasetDuplicate(StrictShape):
    """A virtual dataset to copy under another name (contract, `DatasetDuplicateSchema`)."""

    base_model_id: Whole
    table_name: Title250


class GetOrCreateDataset(StrictShape):
    """A table whose dataset is wanted, made if there is none (contract, `GetOrCreateDatasetSchema`)."""

    database_id: Whole
    table_name: Title250
    schema_name: Text250 | None = Field(default=None, alias="schema")
    template_params: Omittable[JsonInput] = None
