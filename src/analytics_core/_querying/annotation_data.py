"""What one annotation layer shows in the answer to a query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotationData:
    """The data of one annotation layer: its name, its columns, and one record of JSON values for each annotation.

    `annotation_type` is EVENT, INTERVAL or TIME_SERIES (None: the layer did not say), `source_type` is NATIVE, line or
    table. Moments are milliseconds since 1970 in UTC, as in the rows of the answer.
    """

    name: str
    annotation_type: str | None
    source_type: str
    columns: tuple[str, ...]
    records: tuple[Mapping[str, Any], ...]

    def to_payload(self) -> dict[str, str]:
        """Return `{name: JSON text of {columns, records}}`, one item of the contract's `annotation_data`."""
        import orjson

        content = {"columns": list(self.columns), "records": list(self.records)}
        return {self.name: orjson.dumps(content).decode()}
