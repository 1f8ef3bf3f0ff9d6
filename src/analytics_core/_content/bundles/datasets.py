"""The datasets of a bundle: their tables are asked for columns first, then they are stored."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final
from uuid import uuid4

from analytics_core._content.bundles.documents import Document, DocumentKind, Documents
from analytics_core._content.bundles.fields import (
    COLUMN_FIELDS,
    DATASET_FIELDS,
    METRIC_FIELDS,
    given_fields,
    mapping_of,
    mappings_in,
    texts_in,
    texts_of,
)
from analytics_core._content.bundles.identities import dataset_targets, uuid_text
from analytics_core._content.bundles.progress import Load
from analytics_core._content.datasets.records import changed_dataset, new_dataset, with_found
from analytics_core._content.runtime import ContentRuntime
from analytics_core._content.stored_json import json_object
from analytics_core._engine.gate.metadata import FoundColumn
from analytics_core._engine.rights.actor import Actor
from analytics_core._records.datasource import Database, Dataset
from analytics_core.errors import AccessError, NotFoundError, PayloadSchemaError, Problem
from analytics_core.errors.base import short_repr
from analytics_core.models.dataset import DatasetPost, DatasetPut
from analytics_core.models.parsing import parse, payload_error


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetOfBundle:
    """A dataset of a bundle, with the columns that its table has here, and what is wrong with parts left out of it."""

    document: Document
    plain: Dataset
    found: Sequence[FoundColumn]
    put: DatasetPut
    notes: tuple[str, ...]
    omissions: tuple[Problem, ...] = ()

    def record(self, before: Dataset | None, database_id: int) -> Dataset:
        """Return the record to store; what is here already keeps its ids, its owners and its row rules.

        Raises:
            PayloadSchemaError: what is here reads another table: its row rules do not bind the one of the bundle.
        """
        plain = replace(self.plain, database_id=database_id)
        if before is not None and _source(before) != _source(plain):
            message = "a dataset here has this UUID, and reads another table"
            raise payload_error(self.document.path, "table_name", message)
        known = plain if before is None else replace(before, sql=plain.sql, table_name=plain.table_name)
        base = with_found(known, self.found, _new_uuid)
        return changed_dataset(base, self.put, owner_ids=base.owner_ids, new_uuid=_new_uuid)


def read_dataset(
    runtime: ContentRuntime,
    actor: Actor,
    document: Document,
    database: Database,
    named: Sequence[Any],
    *,
    leaves_out: bool,
) -> DatasetOfBundle:
    """Ask the database for the columns of a dataset, and check what the bundle says of them.

    Args:
        runtime: the wired library.
        actor: who loads.
        document: of the dataset.
        database: that the dataset is on here.
        named: what the bundle says of the dataset beside its document, by `values_by_dataset`.
        leaves_out: leave out columns and metrics that cannot be here, rather than raise what is wrong with them.
    """
    source = {"database": database.id, **dict(texts_in(document.content, "table_name", "schema", "sql"))}
    post = parse(DatasetPost, source, shape=document.path)
    made = new_dataset(post, owner_ids=(actor.id,), new_uuid=_new_uuid)
    plain = replace(made, uuid=document.key, metrics=())
    spec = runtime.engine.registry.get(database.engine)
    request = runtime.request(actor)
    sql = runtime.engine.questions.templates.sample_source(plain, spec, request)
    found = runtime.engine.metadata.columns_of(actor, plain, database, sql=sql)
    fields, notes = _fields(document.content, [column.name for column in found], named)
    omissions: list[Problem] = []
    while True:
        try:
            put = parse(DatasetPut, fields, shape=document.path)
            entry = DatasetOfBundle(
                document=document, plain=plain, found=found, put=put, notes=notes, omissions=tuple(omissions)
            )
            problems = runtime.engine.questions.fragments.problems(
                entry.record(None, database.id), spec, request, before=None
            )
            if not problems:
                return entry
            raise PayloadSchemaError(shape=document.path, problems=problems)
        except PayloadSchemaError as error:
            faulty = [_PART.match(problem.path) for problem in error.problems]
            if not leaves_out or not all(faulty):
                raise
            omissions += _named(document, error.problems, fields)
            lost = {(part["list"], int(part["number"])) for part in faulty if part is not None}
            for name in _PARTS:
                fields[name] = [item for n, item in enumerate(fields[name]) if (name, n) not in lost]


def _named(document: Document, problems: Sequence[Problem], fields: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield what is wrong with columns and metrics by their names: their numbers count those before them alone."""
    for problem in problems:
        part = _PART.match(problem.path)
        assert part is not None  # noqa: S101 - its path was looked at
        name = fields[part["list"]][int(part["number"])].get(_PARTS[part["list"]])
        yield replace(problem, path=f"{document.path}: {part['list']}.{short_repr(name)}{part['field']}")


_PARTS: Final = {"columns": "column_name", "metrics": "metric_name"}
_PART: Final = re.compile(r"(?P<list>columns|metrics)\.(?P<number>\d+)(?P<field>.*)")
_WORD: Final = re.compile(r"\w+")
_SQL_FIELDS: Final = frozenset({"sqlExpression", "where", "having"})
_OWN_WORDS: Final = frozenset({"label", "viz_type"})


def _fields(
    content: Mapping[str, Any], there: Sequence[str], named: Sequence[Any]
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the fields of an update that a document says, and what of its columns is another here.

    A column that the table has, and the document does not list, joins it where the bundle names it. One that nothing
    names stays out: somebody may have taken it away from those who read the dataset.
    """
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
    listed = [*(item.get("column_name") for item in columns), *(item.get("metric_name") for item in metrics)]
    added = [name for name in _columns_named(fields, there, named) if name not in listed]
    columns += ({"column_name": name} for name in added)
    notes = [f"column {name!r} is left out: the table has none" for name in gone]
    notes += (f"column {name!r} is added: the table has it, and the bundle names it" for name in added)
    if isinstance(main := fields.get("main_dttm_col"), str) and main not in (*listed, *added):
        del fields["main_dttm_col"]
        notes += () if main in gone else (f"main_dttm_col is left out: the table has no column {main!r}",)
    return fields, tuple(notes)


def values_by_dataset(documents: Documents) -> dict[str, list[Any]]:
    """Return what charts ask of datasets and filters read of them, as JSON values by the UUIDs of the datasets."""
    found: dict[str, list[Any]] = {}
    for chart in documents.of(DocumentKind.CHART):
        context = chart.content.get("query_context")
        values = [chart.content["params"], json_object(context if isinstance(context, str) else None)]
        found.setdefault(uuid_text(chart.content.get("dataset_uuid")), []).extend(values)
    for dashboard in documents.of(DocumentKind.DASHBOARD):
        for uuid, target in dataset_targets(mapping_of(dashboard.content.get("metadata"))):
            found.setdefault(uuid, []).append(target)
    return found


def _columns_named(fields: Mapping[str, Any], there: Sequence[str], named: Sequence[Any]) -> Iterator[str]:
    """Yield those columns of a table that are named, as a value or in SQL."""
    texts = [item.get("expression") for name in _PARTS for item in fields[name]]
    sql = [text for text in (*texts, fields.get("fetch_values_predicate")) if isinstance(text, str)]
    values = [fields.get("main_dttm_col")]
    for is_sql, text in texts_in_values(named):
        (sql if is_sql else values).append(text)
    words = {word for text in sql for word in _WORD.findall(text.casefold())}
    names = frozenset(texts_of(values))
    for name in there:
        its = _WORD.findall(name.casefold())
        if name in names or (its and words.issuperset(its)):
            yield name


def texts_in_values(values: Sequence[Any]) -> Iterator[tuple[bool, str]]:
    """Yield the texts in JSON values of charts and filters, each with whether it is SQL."""
    yield from ((field in _SQL_FIELDS, text) for field, text in _texts(list(values)))


def _texts(value: Any, field: str = "") -> Iterator[tuple[str, str]]:
    """Yield the texts in a JSON value, each with the field that it stands in."""
    if isinstance(value, str):
        yield field, value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item, field)
    elif isinstance(value, dict):
        for name, item in value.items():
            if name not in _OWN_WORDS:
                yield from _texts(item, name)


def store_dataset(load: Load, document: Document, dataset: DatasetOfBundle) -> None:
    """Store a dataset on the database that is here now."""
    key = uuid_text(document.content.get("database_uuid"))
    database: Database = load.needed(DocumentKind.DATABASE, key, lambda: None)
    before = load.unit.datasets.find(uuid=document.key)
    if before is not None:
        load.require_change(before)
    record = dataset.record(before, database.id)
    store = load.unit.datasets.add if before is None else load.unit.datasets.update
    stored = store(record, actor_id=load.actor.id)
    load.act("dataset", before).log(load.unit, details={"dataset_id": stored.id})
    load.found[document.kind, document.key] = stored
    load.tell(document, stored.table_name, stored.id, is_new=before is None, notes=dataset.notes)


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
