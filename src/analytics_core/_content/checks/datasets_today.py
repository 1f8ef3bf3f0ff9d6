"""Datasets as their tables are today, for questions that are asked of them instead of the stored ones."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final
from uuid import uuid4

from analytics_core._content.datasets.records import with_found
from analytics_core._content.runtime import ContentRuntime
from analytics_core._engine.engines.spec import EngineSpec
from analytics_core._engine.gate.loaded_datasets import LoadedDataset
from analytics_core._engine.gate.metadata import FoundColumn
from analytics_core._engine.querying.chart_request import ChartRequest
from analytics_core._engine.rights.actor import Actor
from analytics_core._records.datasource import Database, Dataset
from analytics_core.errors import AccessError, AnalyticsError
from analytics_core.models.enums import GenericType


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetToday:
    """A dataset with the columns that its table has now; `failure` is why the table could not be asked.

    `gone` are the stored columns that the table has no more; `changed` tells of columns that hold values of another
    kind. `is_checked` is False where the actor may not ask it, so that the columns are the stored ones.
    """

    dataset: Dataset
    database: Database
    gone: tuple[str, ...] = ()
    changed: Mapping[str, str] = field(default_factory=dict)
    failure: AnalyticsError | None = None
    is_checked: bool = True


def loaded(
    runtime: ContentRuntime, given: Iterable[tuple[Dataset, Database, AnalyticsError | None]]
) -> dict[int, LoadedDataset | AnalyticsError]:
    """Return what questions find under the ids of these datasets: the datasets, or why they cannot be asked.

    Args:
        runtime: knows the engines.
        given: datasets with their databases; an error is why one cannot be asked.
    """
    # No answer of a stored dataset is taken for one of these, nor one of these for an answer of a stored one.
    generation = -secrets.randbits(62)
    return {
        dataset.id: LoadedDataset(
            dataset=dataset, database=database, spec=runtime.engine.registry.get(database.engine), generation=generation
        )
        if failure is None
        else failure
        for dataset, database, failure in given
    }


def datasets_today(
    runtime: ContentRuntime, actor: Actor, datasets: Iterable[Dataset], databases: Mapping[int, Database]
) -> dict[int, DatasetToday]:
    """Return datasets as their tables are now, by id; a database that cannot be reached is asked once."""
    found: dict[int, DatasetToday] = {}
    away: dict[int, AnalyticsError] = {}
    for dataset in datasets:
        database = databases[dataset.database_id]
        if database.id in away:
            found[dataset.id] = DatasetToday(dataset=dataset, database=database, failure=away[database.id])
            continue
        today = found[dataset.id] = dataset_today(runtime, actor, dataset, database)
        if today.failure is not None and today.failure.retryable:
            away[database.id] = today.failure
    return found


def dataset_today(runtime: ContentRuntime, actor: Actor, dataset: Dataset, database: Database) -> DatasetToday:
    """Return a dataset with the columns that its table has now."""
    try:
        found = found_columns(runtime, actor, dataset, database)
    except AccessError:
        return DatasetToday(dataset=dataset, database=database, is_checked=False)
    except AnalyticsError as failure:
        return DatasetToday(dataset=dataset, database=database, failure=failure)
    there = {column.name for column in found}
    gone = (
        column.column_name for column in dataset.columns if not column.expression and column.column_name not in there
    )
    now = with_found(dataset, found, lambda: str(uuid4()))
    changed = _changed_kinds(dataset, found, runtime.engine.registry.get(database.engine))
    return DatasetToday(dataset=now, database=database, gone=tuple(gone), changed=changed)


def _changed_kinds(dataset: Dataset, found: Iterable[FoundColumn], spec: EngineSpec) -> dict[str, str]:
    """Return what became of the columns whose values are of another kind than those that were stored."""
    kinds = {column.name: column.kind.generic for column in found}
    changed = {}
    for column in dataset.columns:
        stored = column.stored_type or column.type  # a type that people told the dataset changes no table
        was = spec.value_kind(stored).generic if stored and not column.expression else None
        now = kinds.get(column.column_name)
        if was is not None and now is not None and was != now:
            changed[column.column_name] = f"is {_KIND_NAMES[now]}, and was {_KIND_NAMES[was]}"
    return changed


_KIND_NAMES: Final = {
    GenericType.NUMERIC: "a number",
    GenericType.STRING: "a text",
    GenericType.TEMPORAL: "a moment",
    GenericType.BOOLEAN: "a Boolean",
}


def found_columns(
    runtime: ContentRuntime, actor: Actor, dataset: Dataset, database: Database
) -> tuple[FoundColumn, ...]:
    """Return the columns of a dataset's table or SQL; errors are those of `MetadataReader.columns_of`."""
    request = begun_request(runtime, actor)
    sql = runtime.engine.questions.templates.sample_source(
        dataset, runtime.engine.registry.get(database.engine), request
    )
    return runtime.engine.metadata.columns_of(actor, dataset, database, sql=sql)


def begun_request(runtime: ContentRuntime, actor: Actor) -> ChartRequest:
    """Return a request without a question, whose budget has begun."""
    return runtime.request(actor)
