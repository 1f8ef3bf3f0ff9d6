"""The datasets of a bundle: their tables are asked for columns first, then they are stored."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from uuid import uuid4

from analytics_core._gate.metadata import FoundColumn
from analytics_core._querying.chart_request import ChartRequest
from analytics_core._records.datasource import Database, Dataset
from analytics_core._resources.bundles.documents import Document, DocumentKind
from analytics_core._resources.bundles.fields import (
    COLUMN_FIELDS,
    DATASET_FIELDS,
    METRIC_FIELDS,
    given_fields,
    mappings_in,
    texts_in,
)
from analytics_core._resources.bundles.identities import uuid_text
from analytics_core._resources.bundles.progress import Load
from analytics_core._resources.datasets.records import changed_dataset, new_dataset, with_found
from analytics_core._runtime import Runtime
from analytics_core._security.actor import Actor
from analytics_core.errors import AccessError, NotFoundError, PayloadSchemaError
from analytics_core.models.dataset import DatasetPost, DatasetPut
from analytics_core.models.parsing import parse, payload_error


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetOfBundle:
    """A dataset of a bundle, with the columns that its table has here."""

    document: Document
    plain: Dataset
    found: Sequence[FoundColumn]
    put: DatasetPut
    notes: tuple[str, ...]

    def record(self, before: Dataset | None, database_id: int) -> Dataset:
        """Return the record to store; what is here already keeps its ids, its owners and its row rules.

        Raises:
            PayloadSchemaError: what is here reads another table: its row rules do not bind the one of the bundle.
        """
        plain = replace(self.plain, database_id=database_id)
        if before is not None and _source(before) != _source(plain):
            told = "a dataset here has this UUID, and reads another table"
            raise payload_error(self.document.path, "table_name", told)
        known = plain if before is None else replace(before, sql=plain.sql, table_name=plain.table_name)
        base = with_found(known, self.found, _new_uuid)
        return changed_dataset(base, self.put, owner_ids=base.owner_ids, new_uuid=_new_uuid)


def read_dataset(runtime: Runtime, actor: Actor, document: Document, database: Database) -> DatasetOfBundle:
    """Ask the database for the columns of a dataset, and check what the bundle says of them."""
    source = {"database": database.id, **dict(texts_in(document.content, "table_name", "schema", "sql"))}
    post = parse(DatasetPost, source, shape=document.path)
    made = new_dataset(post, owner_ids=(actor.id,), new_uuid=_new_uuid)
    plain = replace(made, uuid=document.key, metrics=())
    spec = runtime.registry.get(database.engine)
    request = runtime.queries.begun(ChartRequest(actor=actor, now=runtime.clock.now()))
    sql = runtime.templates.sample_source(plain, spec, request)
    found = runtime.metadata.columns_of(actor, plain, database, sql=sql)
    fields, gone = _fields(document.content, {column.name for column in found})
    asked = DatasetOfBundle(
        document=document,
        plain=plain,
        found=found,
        put=parse(DatasetPut, fields, shape=document.path),
        notes=tuple(f"column {name!r} is left out: the table has none" for name in gone),
    )
    problems = runtime.stored_fragments.problems(asked.record(None, database.id), spec, request, before=None)
    if problems:
        raise PayloadSchemaError(shape=document.path, problems=problems)
    return asked


def _fields(content: Mapping[str, Any], there: Collection[str]) -> tuple[dict[str, Any], list[str]]:
    """Return the fields of an update that a document says, and the names of columns that the table has not."""
    columns, gone = [], []
    for item in (given_fields(one, COLUMN_FIELDS) for one in mappings_in(content.get("columns"))):
        if item.get("expression"):
            columns.append(item)
        elif isinstance(name := item.get("column_name"), str) and name in there:
            columns.append({name: value for name, value in item.items() if name != "type"})
        else:
            gone.append(str(name))
    metrics = [given_fields(item, METRIC_FIELDS) for item in mappings_in(content.get("metrics"))]
    fields = {**given_fields(content, DATASET_FIELDS), "columns": columns, "metrics": metrics}
    if fields.get("main_dttm_col") in gone:
        del fields["main_dttm_col"]
    return fields, gone


def store_dataset(load: Load, document: Document, asked: DatasetOfBundle) -> None:
    """Store a dataset on the database that is here now."""
    key = uuid_text(document.content.get("database_uuid"))
    database: Database = load.needed(DocumentKind.DATABASE, key, lambda: None)
    before = load.unit.datasets.find(uuid=document.key)
    if before is not None:
        load.require_change(before)
    record = asked.record(before, database.id)
    store = load.unit.datasets.add if before is None else load.unit.datasets.update
    stored = store(record, actor_id=load.actor.id)
    load.act("dataset", before).log(load.unit, details={"dataset_id": stored.id})
    load.found[document.kind, document.key] = stored
    load.tell(document, stored.table_name, stored.id, is_new=before is None, notes=asked.notes)


def find_dataset(load: Load, uuid: Any) -> Dataset:
    """Return a dataset that something needs; NotFoundError also for one that the actor may not read."""
    if uuid is None:
        raise payload_error("", "dataset_uuid", "is required: charts are drawn from a dataset")
    key = uuid_text(uuid)
    found: Dataset = load.needed(DocumentKind.DATASET, key, partial(load.unit.datasets.find, uuid=key))
    try:
        load.reader.require_dataset(found)
    except AccessError:
        raise NotFoundError(DocumentKind.DATASET.value, key) from None
    return found


def _source(dataset: Dataset) -> tuple[Any, ...]:
    """Return what a dataset reads; the name of a virtual one reads nothing."""
    return dataset.database_id, dataset.schema, None if dataset.sql else dataset.table_name


def _new_uuid() -> str:
    return str(uuid4())
