"""`AnalyticsCore.load_bundle`: content of another store, all of it, nothing, or what is sound."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from analytics_core._content.batches import LARGEST_ID
from analytics_core._content.bundles.content import (
    chart_change,
    complete_chart,
    saved_query,
    store_chart,
    store_dashboard,
    store_saved_query,
)
from analytics_core._content.bundles.databases import DatabasesOfBundle, Replacements, databases_of, store_database
from analytics_core._content.bundles.datasets import DatasetOfBundle, read_dataset, store_dataset, values_by_dataset
from analytics_core._content.bundles.documents import Document, DocumentKind, Documents, read_documents
from analytics_core._content.bundles.files import SHAPE, read_files
from analytics_core._content.bundles.identities import uuid_text, value_here
from analytics_core._content.bundles.labels import store_css_template, store_layer, store_tags
from analytics_core._content.bundles.progress import Load, RecordKey, problems_of
from analytics_core._content.bundles.report import BundleReport, SkippedFile
from analytics_core._content.bundles.rights import store_role, store_row_rule
from analytics_core._content.changes import until_accepted
from analytics_core._content.charts.records import changed_chart
from analytics_core._content.reader import Reader
from analytics_core._content.runtime import ContentRuntime
from analytics_core._engine.rights.actor import Actor
from analytics_core._records.chart import Chart
from analytics_core._records.datasource import Database, Dataset
from analytics_core._records.sql_query import SavedQuery
from analytics_core.errors import AnalyticsError, NotFoundError, PayloadSchemaError, Problem
from analytics_core.errors.base import short_repr
from analytics_core.models.base import uuid_in
from analytics_core.models.parsing import payload_error

_RIGHTS: Final = (DocumentKind.ROLE, DocumentKind.ROW_RULE)
_STEPS: Final[Sequence[tuple[DocumentKind, Callable[[Load, Document], None]]]] = (
    (DocumentKind.ROLE, store_role),
    (DocumentKind.ROW_RULE, store_row_rule),
    (DocumentKind.TAGS, store_tags),
    (DocumentKind.CSS_TEMPLATE, store_css_template),
    (DocumentKind.ANNOTATION_LAYER, store_layer),
    (DocumentKind.CHART, store_chart),
    (DocumentKind.CHART, complete_chart),
    (DocumentKind.DASHBOARD, store_dashboard),
    (DocumentKind.SAVED_QUERY, store_saved_query),
)
"""What is stored after databases and datasets: a record after those that it names."""


class _TriedError(Exception):
    """Ends the transaction of a bundle that is only tried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Preparation:
    """What was found out before anything is stored: datasets here by UUID, those to store, and what is wrong."""

    databases: DatabasesOfBundle
    here: Mapping[str, Dataset]
    datasets: Sequence[DatasetOfBundle]
    problems: Sequence[Problem]

    def failed(self, documents: Documents) -> dict[RecordKey, Sequence[Problem]]:
        """Return the datasets that are neither here nor to store; what is wrong with them is among the problems."""
        named = {*self.here, *(one.document.key for one in self.datasets)}
        remaining = (document for document in documents.of(DocumentKind.DATASET) if document.key not in named)
        return {(document.kind, document.key): () for document in remaining}


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleContent:
    """The datasets of a bundle with their databases, its charts and saved queries, as they would be stored; by UUIDs.

    Charts name their datasets by the ids of these records. `failures` say why a chart could not be made.
    """

    datasets: Mapping[str, tuple[Dataset, Database]]
    charts: Mapping[str, Chart]
    failures: Mapping[str, tuple[str, AnalyticsError]]
    saved_queries: Mapping[str, SavedQuery]


class BundleLoader:
    """Loads bundles for one actor."""

    def __init__(self, runtime: ContentRuntime, actor: Actor) -> None:
        self._runtime = runtime
        self._actor = actor

    def load(
        self, source: Any, given: Replacements, *, with_rules: bool, leaves_out: bool, dry_run: bool
    ) -> BundleReport:
        """Store what a bundle holds, or only try it; `leaves_out` stores the rest of it without what is wrong."""
        if with_rules:
            self._runtime.policy.require_manage_people(self._actor)
            self._runtime.policy.require_manage_row_rules(self._actor)
        documents = read_documents(read_files(source))
        documents = documents if with_rules else _without_rights(documents)
        with databases_of(self._runtime, self._actor, documents, given) as databases:
            plan = self._prepare(documents, databases, given, leaves_out=leaves_out)
            how = partial(Load, runtime=self._runtime, actor=self._actor, with_rules=with_rules, leaves_out=leaves_out)
            return until_accepted(lambda: self._load(documents, plan, how, dry_run=dry_run))

    def _load(
        self, documents: Documents, plan: _Preparation, how: Callable[..., Load], *, dry_run: bool
    ) -> BundleReport:
        """Store a bundle in one transaction; what fails in it is undone, and left out of the next one."""
        failed, reported = plan.failed(documents), list(plan.problems)
        while True:
            with suppress(_TriedError), self._runtime.store.unit_of_work() as unit:
                load = how(unit=unit, failed=dict(failed))
                self._store(load, documents, plan)
                new = {key: problems for key, problems in load.failed.items() if key not in failed}
                reported += [problem for problems in new.values() for problem in problems]
                if load.leaves_out and any(kind in _RIGHTS for kind, _ in new):
                    reported.append(Problem(path="on_problem", message="roles and row rules are never left out"))
                    raise PayloadSchemaError(shape=SHAPE, problems=reported)
                if reported and not load.leaves_out:
                    raise PayloadSchemaError(shape=SHAPE, problems=reported)
                if new or dry_run:
                    raise _TriedError
            if not new:
                break
            failed = load.failed
        omissions = dict.fromkeys(
            (*reported, *(problem for one in plan.datasets for problem in one.omissions), *load.omissions)
        )
        records = tuple(replace(record, id=None) if dry_run else record for record in load.records.values())
        return BundleReport(records=records, skipped=documents.skipped, left_out=tuple(omissions), is_dry_run=dry_run)

    def content(self, source: Any, given: Replacements) -> BundleContent:
        """Return what a bundle holds without storing it; a dataset that is here already has its id, and so its rules.

        Raises:
            PayloadSchemaError: files that cannot be read, and datasets that cannot be here. Of those whose database
                does not answer now the charts are among the failures.
        """
        documents = _without_rights(read_documents(read_files(source)))
        with databases_of(self._runtime, self._actor, documents, given) as databases:
            if databases.made:
                raise payload_error(SHAPE, "databases", "no connection is made here: name databases by their ids")
            away: dict[str, AnalyticsError] = {}
            plan = self._prepare(documents, databases, given, away=away)
        if plan.problems:
            raise PayloadSchemaError(shape=SHAPE, problems=plan.problems)
        datasets = self._unstored_datasets(plan)
        charts, failures = {}, {}
        for document in documents.of(DocumentKind.CHART):
            try:
                charts[document.key] = self._unstored_chart(document, datasets, away)
            except AnalyticsError as error:
                failures[document.key] = str(document.content["slice_name"]), error
        found = plan.databases.found
        queries = {
            one.key: saved_query(one, None, found[uuid].id if uuid in found else 0)
            for one in documents.of(DocumentKind.SAVED_QUERY)
            for uuid in (uuid_text(one.content.get("database_uuid")),)
        }
        return BundleContent(datasets=datasets, charts=charts, failures=failures, saved_queries=queries)

    def _unstored_datasets(self, plan: _Preparation) -> dict[str, tuple[Dataset, Database]]:
        found: dict[str, tuple[Dataset, Database]] = {}
        with self._runtime.store.unit_of_work() as unit:
            for uuid, dataset in plan.here.items():
                found[uuid] = dataset, unit.databases.get(dataset.database_id)
            for number, one in enumerate(plan.datasets):
                database = plan.databases.found[uuid_text(one.document.content.get("database_uuid"))]
                before = unit.datasets.find(uuid=one.document.key)
                record = one.record(before, database.id)
                found[one.document.key] = (record if before else replace(record, id=LARGEST_ID - number)), database
        return found

    def _unstored_chart(
        self,
        document: Document,
        datasets: Mapping[str, tuple[Dataset, Database]],
        away: Mapping[str, AnalyticsError],
    ) -> Chart:
        uuid = uuid_text(document.content.get("dataset_uuid"))
        if uuid in away:
            raise away[uuid]
        if uuid not in datasets:
            raise NotFoundError("dataset", uuid)
        put = chart_change(document, datasets[uuid][0], value_here({}, {}))
        return changed_chart(Chart(uuid=document.key, slice_name=""), put, owner_ids=(self._actor.id,))

    # ---------------------------------------------------------------------------------------------------- asking
    def _prepare(
        self,
        documents: Documents,
        databases: DatabasesOfBundle,
        given: Replacements,
        *,
        leaves_out: bool = False,
        away: dict[str, AnalyticsError] | None = None,
    ) -> _Preparation:
        """Ask for the columns of the tables of all datasets that nothing here takes the place of.

        `away` takes the errors of datasets whose database does not answer now; without it the first of them is raised.
        """
        described = {document.key for document in documents.of(DocumentKind.DATASET)}
        beside = {uuid: one for uuid, one in given.datasets.items() if uuid_in(uuid) == uuid and uuid not in described}
        here = {uuid: self._dataset(one) for uuid, one in beside.items()}
        items: list[DatasetOfBundle] = []
        problems: list[Problem] = list(databases.problems)
        named = values_by_dataset(documents)
        for document in documents.of(DocumentKind.DATASET):
            if (stand_in := given.dataset(document)) is not None:
                here[document.key] = self._dataset(stand_in)
                continue
            uuid, of_it = uuid_text(document.content.get("database_uuid")), named.get(document.key, ())
            if (database := databases.found.get(uuid)) is None:
                message = f"needs database {short_repr(uuid)}, which is left out"
                problems += [Problem(path=document.path, message=message)] if leaves_out else ()
                continue
            try:
                items.append(read_dataset(self._runtime, self._actor, document, database, of_it, leaves_out=leaves_out))
            except AnalyticsError as error:
                if away is not None and error.retryable:
                    away[document.key] = error
                else:
                    problems += problems_of(document, error)
        return _Preparation(databases=databases, here=here, datasets=items, problems=problems)

    def _dataset(self, dataset_id: int) -> Dataset:
        with self._runtime.store.unit_of_work() as unit:
            return Reader(unit, self._runtime.policy, self._actor).dataset(dataset_id)

    # --------------------------------------------------------------------------------------------------- storing
    def _store(self, load: Load, documents: Documents, plan: _Preparation) -> None:
        load.found.update(_keyed(DocumentKind.DATASET, plan.here))
        load.found.update(_keyed(DocumentKind.DATABASE, plan.databases.found))
        for uuid, document in plan.databases.made.items():
            load.store(document, partial(store_database, record=plan.databases.found[uuid]))
        for one in plan.datasets:
            load.store(one.document, partial(store_dataset, dataset=one))
        for kind, store in _STEPS:
            for document in documents.of(kind):
                load.store(document, store)


def _keyed(kind: DocumentKind, records: Mapping[str, Database | Dataset]) -> dict[tuple[DocumentKind, str], Any]:
    return {(kind, uuid): record for uuid, record in records.items()}


def _without_rights(documents: Documents) -> Documents:
    """Leave out roles and row rules, and tell that they are."""
    paths = (document.path for document in documents.found if document.kind in _RIGHTS)
    skipped = (SkippedFile(path=path, reason="roles and row rules come along with rules=True only") for path in paths)
    return Documents(
        found=tuple(document for document in documents.found if document.kind not in _RIGHTS),
        skipped=(*documents.skipped, *skipped),
    )
