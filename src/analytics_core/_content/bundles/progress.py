"""A bundle that is being loaded: who does it in which unit of work, what came of its documents, what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from analytics_core._content.bundles.documents import Document, DocumentKind
from analytics_core._content.bundles.fields import texts_in
from analytics_core._content.bundles.report import LoadedRecord
from analytics_core._content.changes import LoggedAction, begin_act
from analytics_core._content.reader import Reader
from analytics_core._content.runtime import ContentRuntime
from analytics_core._engine.rights.actor import Actor
from analytics_core._records.chart import Chart
from analytics_core._records.dashboard import Dashboard
from analytics_core._records.datasource import Dataset
from analytics_core._records.repositories import UnitOfWork
from analytics_core._records.sql_query import SavedQuery
from analytics_core.errors import (
    AnalyticsError,
    NotFoundError,
    OwnershipError,
    PayloadSchemaError,
    Problem,
    StoreUnavailableError,
)
from analytics_core.errors.base import short_repr

RecordKey = tuple[DocumentKind, str]
Found = TypeVar("Found")

_OMITTED: Final = {
    DocumentKind.DATABASE: ("ssh_tunnel", "encrypted_extra", "masked_encrypted_extra", "server_cert"),
    DocumentKind.DATASET: ("catalog", "params", "folders", "normalize_columns"),
    DocumentKind.DASHBOARD: ("description", "theme_uuid", "theme_id"),
    DocumentKind.SAVED_QUERY: ("catalog",),
}
"""Fields that do not come along; those that say something are told."""


class FailedBeforeError(Exception):
    """Ends a record of a bundle that needs one which failed, and names that; its problem is told, once."""


@dataclass(slots=True, kw_only=True)
class Load:
    """One load in one unit of work.

    Attributes:
        found: what is here of the documents so far: ids, of databases and datasets the records.
        failed: what could not be stored, and why; nothing where it needs another one that failed.
        with_rules: whether roles and row rules come along.
        leaves_out: whether the rest is stored without what failed.
        omissions: what records are stored without.
    """

    runtime: ContentRuntime
    actor: Actor
    unit: UnitOfWork
    with_rules: bool
    leaves_out: bool
    failed: dict[RecordKey, Sequence[Problem]]
    found: dict[RecordKey, Any] = field(default_factory=dict)
    records: dict[RecordKey, LoadedRecord] = field(default_factory=dict)
    omissions: dict[Problem, None] = field(default_factory=dict)

    @property
    def reader(self) -> Reader:
        """What the actor may read."""
        return Reader(self.unit, self.runtime.policy, self.actor)

    def store(self, document: Document, store: Callable[[Load, Document], None]) -> None:
        """Store a document, or keep what is wrong with it; what is wrong with the store, or only now, ends it all."""
        key = document.kind, document.key
        if key in self.failed:
            return
        try:
            store(self, document)
        except AnalyticsError as error:
            self.failed[key] = problems_of(document, error)
        except FailedBeforeError as error:
            self.failed[key] = [Problem(path=document.path, message=str(error))] if self.leaves_out else ()

    def each(
        self, document: Document, place: str, wanted: Iterable[str], find: Callable[[Load, str], Found]
    ) -> dict[str, Found]:
        """Return what is here of the things that a place in a document names, by their UUIDs or names.

        With `leaves_out` those that are not here are left out, and told; else the first of them ends the document.
        """
        found = {}
        for key in wanted:
            try:
                found[key] = find(self, key)
            except (FailedBeforeError, NotFoundError) as error:
                if not self.leaves_out:
                    raise
                self.omissions[Problem(path=f"{document.path}: {place}", message=str(error))] = None
        return found

    def needed(self, kind: DocumentKind, key: str, find: Callable[[], Any]) -> Any:
        """Return what is here of a document, or what `find` finds in the store.

        Raises:
            FailedBeforeError: the bundle has it, and it could not be stored.
            NotFoundError: it is in neither.
        """
        if (kind, key) in self.failed:
            raise FailedBeforeError(f"needs {kind.value} {short_repr(key)}, which is left out")
        found = self.found.get((kind, key))
        found = find() if found is None else found
        if found is None:
            raise NotFoundError(kind.value, key)
        return found

    def require_change(self, before: Dataset | Chart | Dashboard | SavedQuery) -> None:
        """Raise OwnershipError unless the actor may change a record; whoever may not hears nothing else of it."""
        policy = self.runtime.policy
        if not policy.can_write(self.actor, before):
            raise OwnershipError("only an owner or an administrator may change what has this UUID here")
        if not isinstance(before, SavedQuery):
            policy.require_write(self.actor, before)

    def act(self, kind: str, before: object | None) -> LoggedAction:
        """Return the act that stores a record, for the log."""
        return begin_act(self.runtime, self.actor, f"{kind}.create" if before is None else f"{kind}.update")

    def tell(
        self,
        document: Document,
        name: str,
        record_id: int,
        *,
        is_new: bool,
        notes: tuple[str, ...] = (),
        fidelity: str | None = None,
    ) -> None:
        """Put a record into the report, with what of it does not come along."""
        omissions = texts_in(document.content, *_OMITTED.get(document.kind, ()))
        self.records[document.kind, document.key] = LoadedRecord(
            kind=document.kind.value,
            name=name,
            uuid=document.key if "uuid" in document.content else None,
            id=record_id,
            is_new=is_new,
            fidelity=fidelity,
            notes=(*notes, *(f"{given} does not come along" for given, _ in omissions)),
        )


def problems_of(document: Document, error: AnalyticsError) -> list[Problem]:
    """Return what is wrong with a document, each problem with the path of its file.

    Raises:
        AnalyticsError: the error itself, where not the document is wrong: a server or the store cannot be reached now.
    """
    if error.retryable or isinstance(error, StoreUnavailableError):
        raise error
    if isinstance(error, PayloadSchemaError):
        return [Problem(path=f"{document.path}: {one.path}", message=one.message) for one in error.problems]
    return [Problem(path=document.path, message=error.message)]
