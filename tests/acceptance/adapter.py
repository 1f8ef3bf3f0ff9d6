"""What `compare.py` of the acceptance cases calls: a case's payload in, the library's results out."""

from __future__ import annotations

import json
import os
import re
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from tests.acceptance.load_parquet import PREFIX, folder_of

import analytics_core
from analytics_core._content.pictures.picture import Picture

# The recorded answers were made with the clock stopped here.
FROZEN_NOW = datetime(2024, 7, 1, 12, tzinfo=UTC)
CASES = Path(os.environ.get("ANALYTICS_CORE_ACCEPTANCE", Path(__file__).parents[3] / "shared" / "acceptance"))

# What a description of a data set says of a column beyond what reflection finds.
COLUMN_FIELDS = ("verbose_name", "expression", "python_date_format", "is_dttm", "groupby", "filterable")
METRIC_FIELDS = ("metric_name", "expression", "verbose_name", "metric_type", "d3format")


def spark_name(table: str) -> str:
    """Return the name that a table has in Spark, which takes letters of ASCII, digits and underscores alone."""
    return re.sub(r"\W", "_", table, flags=re.ASCII)


class LoadedDatabase:
    """One database of example data behind the library's facade, its data sets registered when first asked for."""

    def __init__(self, uri: str, descriptions: dict[str, Any]) -> None:
        self._core = analytics_core.connect(_source(uri, descriptions)).as_of(FROZEN_NOW)
        self._is_spark = uri.startswith("hive:")
        self._is_of_files = uri.startswith(PREFIX)
        self._descriptions = descriptions
        self._dataset_ids: dict[str, int] = {}

    def run(self, payload: dict[str, Any], dataset: str) -> list[dict[str, Any]]:
        """Return one result for each query, as the contract writes it."""
        answer = self._core.charts.data(self._context(payload, dataset)).to_payload()
        results: list[dict[str, Any]] = answer["result"]
        return results

    def picture(self, payload: dict[str, Any], dataset: str, *, theme: str) -> Picture:
        """Return the picture of a payload with form data, as SVG."""
        return self._core.charts.picture(self._context(payload, dataset), format="svg", theme=theme)

    def _context(self, payload: dict[str, Any], dataset: str) -> dict[str, Any]:
        if dataset not in self._dataset_ids:
            self._dataset_ids[dataset] = self._register(self._descriptions[dataset])
        return _for_dataset(payload, self._dataset_ids[dataset])

    def _register(self, description: dict[str, Any]) -> int:
        """Create the dataset by reflection, then add what people said of it; return its id.

        Files are datasets at once.
        """
        table = spark_name(description["table"]) if self._is_spark else description["table"]
        datasets = self._core.datasets
        created = datasets.get(table) if self._is_of_files else datasets.create({"database": 1, "table_name": table})
        found = {column.column_name: column for column in created.columns}
        changes = {
            "main_dttm_col": description["main_dttm_col"],
            "offset": description["offset"],
            "columns": [_column(item, found) for item in description["columns"]],
            "metrics": [_given(item, METRIC_FIELDS) for item in description["metrics"]],
        }
        self._core.datasets.update(created.id, changes)
        return int(created.id)


def _source(uri: str, descriptions: dict[str, Any]) -> Any:
    """Return what to connect: a URL, or the files of each table by a glob."""
    if not uri.startswith(PREFIX):
        return uri
    tables = [description["table"] for description in descriptions.values()]
    return {table: f"{folder_of(uri, table)}/**/*.parquet" for table in tables}


def _for_dataset(payload: dict[str, Any], dataset_id: int) -> dict[str, Any]:
    """Point the payload, and queries that name a source of their own, to the dataset registered here."""
    source = {**payload["datasource"], "id": dataset_id}
    queries = [
        {**query, "datasource": {**query["datasource"], "id": dataset_id}} if query.get("datasource") else query
        for query in payload["queries"]
    ]
    return {**payload, "datasource": source, "queries": queries}


def _column(item: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """A column to store: a reflected one keeps its id and its own engine's type, a calculated one brings its type."""
    name = item["column_name"]
    given = {"column_name": name, **_given(item, COLUMN_FIELDS)}
    if name in found:
        return {**given, "id": found[name].id, "type": found[name].type}
    return {**given, "type": item["type"]}


def _given(item: dict[str, Any], fields: tuple[str, ...]) -> dict[str, Any]:
    return {name: item[name] for name in fields if item.get(name) not in (None, "")}


class Adapter:
    """Keeps one facade for each database, so that the cases of a run share it."""

    def __init__(self, descriptions: dict[str, Any]) -> None:
        self._descriptions = descriptions
        self._databases: dict[str, LoadedDatabase] = {}

    def run(self, payload: dict[str, Any], dataset: str, engine_uri: str) -> list[dict[str, Any]]:
        """Return one result for each query of the payload; a refused payload raises."""
        if engine_uri not in self._databases:
            self._databases[engine_uri] = LoadedDatabase(engine_uri, self._descriptions)
        return self._databases[engine_uri].run(payload, dataset)


run = Adapter(json.loads((CASES / "datasets.json").read_text(encoding="utf-8"))).run
