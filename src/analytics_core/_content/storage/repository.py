"""Records of one kind inside a unit of work: read, listed, and written so that a refusal leaves nothing behind."""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Generic, NoReturn, cast

import sqlalchemy as sa
from sqlalchemy import ColumnElement, Connection, Row
from sqlalchemy.exc import DBAPIError

from analytics_core._content.storage.column_types import fits_integer
from analytics_core._content.storage.failures import ConstraintKind, failure_of, violated_key
from analytics_core._content.storage.listing import (
    TOTAL,
    StatementCache,
    conditions,
    count_statement,
    distinct_statements,
    newest_statement,
    page_statement,
)
from analytics_core._content.storage.parts import among
from analytics_core._content.storage.record_kinds import Record, RecordKind, missing_record
from analytics_core._content.storage.row_mapping import as_stored, to_records, to_row
from analytics_core._records.audit import Audit
from analytics_core._records.repositories import ListFilter, ListQuery, Scope
from analytics_core.errors import AlreadyExistsError, InUseError, StaleVersionError
from analytics_core.ports import Clock, SecretBox

_OTHERS_WERE_FASTER = frozenset({ConstraintKind.REFERENCE, ConstraintKind.CONCURRENT, ConstraintKind.UNDONE})
_RESOLUTION = timedelta(microseconds=1)
"""The least by which moments in the store differ, on every kind of store."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSession:
    """What repositories of one unit of work share.

    Servers keep a unit at one moment by REPEATABLE READ. SQLite does not wait when a transaction that has read begins
    to write, so there the first write ends the transaction of the reads and begins one that may write: whatever was
    read before is of one moment, and the version of a record tells whether it changed since. A store in memory lets
    one thread at a time in and needs no transaction to read.

    `changed` has the nouns of the kinds that were written (None: of any), and whether that moves the store's revision,
    `revisions` what the tables' revision was as they were written; None: this store cannot tell it with what it writes.
    """

    connection: Connection
    clock: Clock
    secret_box: SecretBox
    cache: StatementCache
    is_sqlite: bool
    is_on_file: bool
    changed: dict[str | None, bool]
    revisions: set[str | None] | None
    may_write: threading.Event = field(default_factory=threading.Event)
    undone: list[StaleVersionError] = field(default_factory=list)

    def begin_reading(self) -> None:
        """Give all statements up to the first write the same moment of a file."""
        driver: Any = self.connection.connection.dbapi_connection
        if not driver.in_transaction:
            self.connection.exec_driver_sql("BEGIN")

    def writing(self, *, is_one: bool) -> AbstractContextManager[object]:
        """Return a block whose writes happen together or not at all; refused, the unit may go on, unless `undone`.

        `is_one`: the block is one statement. SQLite takes back what a refused one did, and needs no savepoint; a server
        may have ended the transaction, which the end of the savepoint tells.
        """
        if not self.is_sqlite:
            return self.connection.begin_nested()
        driver: Any = self.connection.connection.dbapi_connection
        if self.is_on_file and not self.may_write.is_set() and driver.in_transaction:
            self.connection.exec_driver_sql("COMMIT")
        if not driver.in_transaction:
            self.connection.exec_driver_sql("BEGIN IMMEDIATE")
        self.may_write.set()
        return nullcontext() if is_one else self.connection.begin_nested()


class SqlRepository(Generic[Record]):
    """Records of one kind in their tables (protocol `Repository`)."""

    def __init__(self, kind: RecordKind[Record], session: StoreSession) -> None:
        self._kind = kind
        self._session = session
        self._connection = session.connection

    def get(self, record_id: int) -> Record:
        """Return the record; NotFoundError when there is none."""
        kind = self._kind
        rows = None
        if fits_integer(record_id):
            rows = kind.reader.rows(self._connection, kind.get_statement, {"record_id": record_id})
        if not rows:
            raise missing_record(kind.noun, record_id)
        return to_records(kind, rows, self._connection, self._session.secret_box)[0]

    def find(self, **unique: Any) -> Record | None:
        """Return the one record whose columns equal `unique`, or None."""
        filters = [ListFilter(col=name, op="eq", val=value) for name, value in unique.items()]
        query = ListQuery(filters=tuple(filters), page_size=1)
        statement, values = page_statement(self._kind, query, self._session.cache, with_total=False)
        rows = self._kind.reader.rows(self._connection, statement, values)
        found = to_records(self._kind, rows, self._connection, self._session.secret_box)
        return found[0] if found else None

    def get_many(self, record_ids: Collection[int], *, without: frozenset[str] = frozenset()) -> Sequence[Record]:
        """Return the records of these ids that exist, in the order of their ids; `without` is as in `ListQuery`."""
        wanted = sorted({one for one in record_ids if fits_integer(one)})
        if not wanted:
            return ()
        rows = self._kind.reader.rows(self._connection, self._kind.get_many_statement, {"record_ids": wanted})
        return to_records(self._kind, rows, self._connection, self._session.secret_box, without=without)

    def list(self, query: ListQuery) -> tuple[int, Sequence[Record]]:
        """Return how many records match in all, and the ones of the page.

        One statement reads the page, one all parts that are ids, and one each kind of part with rows of its own.
        """
        if query.ids is not None and _is_empty(query.ids):
            return 0, ()
        statement, values = page_statement(self._kind, query, self._session.cache)
        rows = self._kind.reader.rows(self._connection, statement, values)
        if rows:
            for row in rows:
                total = row.pop(TOTAL)
            box = self._session.secret_box
            return total, to_records(self._kind, rows, self._connection, box, without=query.without)
        if not query.page:
            return 0, ()
        return self._connection.execute(count_statement(self._kind, query, self._session.cache)).scalar_one(), ()

    def distinct(self, column: str, query: ListQuery) -> tuple[int, Sequence[Any]]:
        """Return how many different values a column has among the records that match, and the ones of the page."""
        if _is_empty(query.ids):
            return 0, ()
        counted, paged, bound = distinct_statements(self._kind, column, query, self._session.cache)
        values = self._connection.execute(paged, bound).scalars().all()
        if len(values) < query.page_size and (values or not query.page):  # these are the last ones
            return query.page * query.page_size + len(values), values
        return self._connection.execute(counted, bound).scalar_one(), values

    def newest(
        self, columns: Sequence[str], moment: str, query: ListQuery
    ) -> Sequence[tuple[tuple[Any, ...], datetime, int]]:
        """Return the different values of columns together among the records that match, the newest ones first."""
        if _is_empty(query.ids):
            return ()
        statement, bound = newest_statement(self._kind, columns, moment, query, self._session.cache)
        return [(tuple(values), latest, last) for *values, latest, last in self._connection.execute(statement, bound)]

    def version(self, record_id: int) -> int:
        """Return the version of the stored record in one small statement; NotFoundError when there is none."""
        if fits_integer(record_id):
            found = self._connection.execute(self._kind.version_statement, {"record_id": record_id}).scalar()
            if found is not None:
                return int(found)
        raise missing_record(self._kind.noun, record_id)

    def add(self, record: Record, *, actor_id: int | None) -> Record:
        """Store a new record and return it with its id and audit; AlreadyExistsError when a unique name is taken."""
        record_id, row = self._insert(record, actor_id=actor_id)
        if not self._kind.read_as_written:
            return self.get(record_id)
        now = row["at_created_on"].replace(tzinfo=UTC)
        audit = Audit(created_on=now, changed_on=now, created_by=actor_id, changed_by=actor_id, version=1)
        return replace(as_stored(self._kind, record, row, audit), id=record_id)

    def append(self, record: Record, *, actor_id: int | None) -> int:
        """Store a new record without reading it back and return its id; AlreadyExistsError as in `add`."""
        return self._insert(record, actor_id=actor_id)[0]

    def _insert(self, record: Record, *, actor_id: int | None) -> tuple[int, dict[str, Any]]:
        """Store a new record, and return its id and its row."""
        kind = self._kind
        row = to_row(kind, record, self._session.secret_box) | self._audit_of_new(actor_id)
        try:
            with self._session.writing(is_one=not kind.parts):
                if (revisions := self._session.revisions) is None:
                    inserted = self._connection.execute(kind.insert_statement, row)
                    record_id = int(cast("Row[Any]", inserted.inserted_primary_key).id)
                else:
                    record_id, revision = self._connection.execute(kind.revision_insert, row).one()
                    revisions.add(revision)
                for part in kind.parts:
                    wanted = getattr(record, part.attribute)
                    part.write(self._connection, record_id, wanted, now=row["at_created_on"], is_new=True)
        except DBAPIError as error:
            self._explain_write(error, record)
        self._session.changed[kind.noun] = not kind.is_journal
        return record_id, row

    def _audit_of_new(self, actor_id: int | None) -> dict[str, Any]:
        now = self._session.clock.now().astimezone(UTC).replace(tzinfo=None)
        by = {"created_by": actor_id, "changed_by": actor_id}
        return {"at_created_on": now, "at_changed_on": now, "version": 1, **by}

    def update(self, record: Record, *, actor_id: int | None) -> Record:
        """Store a changed record; StaleVersionError when its `audit.version` is no longer the stored one.

        Its `changed_on` is later than that of the version before, so that it tells the versions apart.
        """
        kind, before = self._kind, record.audit
        now = self._session.clock.now()
        if before.changed_on is not None:
            now = max(now, before.changed_on + _RESOLUTION)
        audit = replace(before, changed_on=now, changed_by=actor_id)
        if kind.marks and (stored := self._that_differs_by_marks(record)) is not None:
            audit = stored.audit
        audit = replace(audit, version=before.version + 1)
        row = to_row(kind, record, self._session.secret_box)
        row["at_changed_on"] = now = cast("datetime", audit.changed_on).astimezone(UTC).replace(tzinfo=None)
        given = {"version": audit.version, "changed_by": audit.changed_by}
        same = {
            "record_id": record.id if fits_integer(record.id) else 0,
            "record_version": before.version,
        }
        try:
            with self._session.writing(is_one=not kind.parts):
                if (revisions := self._session.revisions) is None:
                    is_stored = self._connection.execute(kind.update_statement, row | given | same).rowcount == 1
                else:
                    found = self._connection.execute(kind.revision_update, row | given | same).scalars().all()
                    revisions.update(found)
                    is_stored = len(found) == 1
                if not is_stored:
                    self.version(record.id)  # NotFoundError when it is gone
                    raise StaleVersionError(kind.noun, record.id)
                for part in kind.parts:
                    part.write(self._connection, record.id, getattr(record, part.attribute), now=now)
        except DBAPIError as error:
            self._explain_write(error, record)
        self._session.changed[kind.noun] = not kind.is_journal
        if not kind.read_as_written or before.created_on is None:  # it was not read before
            return self.get(record.id)
        return as_stored(kind, record, row, replace(audit, changed_on=now.replace(tzinfo=UTC)))

    def _that_differs_by_marks(self, record: Record) -> Record | None:
        """Return the stored record from which this one differs by what holds it for a while alone; None: by more."""
        stored, marks = self.get(record.id), {name: getattr(record, name) for name in self._kind.marks}
        differs = stored != record and replace(stored, **marks, audit=record.audit) == record
        return stored if differs else None

    def delete(self, record_id: int) -> None:
        """Remove the record and what belongs to it alone.

        Raises:
            NotFoundError: there is none.
            InUseError: other records need it.
        """
        kind = self._kind
        try:
            with self._session.writing(is_one=False):
                self.version(record_id)
                for statement in kind.forget(record_id):
                    self._connection.execute(statement)
                gone = self._connection.execute(sa.delete(kind.table).where(self._has_id(record_id)))
                if not gone.rowcount:  # somebody deleted it since this unit began to read
                    raise missing_record(kind.noun, record_id)
        except DBAPIError as error:
            self._explain_delete(error, record_id)
        self._session.changed[kind.noun if kind.is_journal else None] = not kind.is_journal

    def _has_id(self, record_id: int) -> ColumnElement[bool]:
        return self._kind.table.c.id == record_id if fits_integer(record_id) else sa.false()

    def _explain_write(self, error: DBAPIError, record: Record) -> NoReturn:
        """Raise what the driver's refusal of an addition or a change means."""
        kind = self._kind
        failure = failure_of(error)
        if failure is ConstraintKind.UNIQUE and (key := violated_key(error, kind.table)) is not None:
            name = list(key.columns)[-1].name
            raise AlreadyExistsError(kind.noun, name, getattr(record, name)) from None
        if failure is ConstraintKind.REFERENCE:
            self._raise_missing_reference(record)
        self._raise_stale(failure, record.id)
        raise error

    def _raise_missing_reference(self, record: Record) -> None:
        for reference in self._kind.references:
            value = getattr(record, reference.attribute)
            wanted = {value} if isinstance(value, int) else set(value or ())
            column = reference.table.c.id
            known = set(self._connection.execute(sa.select(column).where(among(column, wanted))).scalars())
            for absent in sorted(wanted - known):
                raise missing_record(reference.noun, absent) from None

    def _explain_delete(self, error: DBAPIError, record_id: int) -> NoReturn:
        kind = self._kind
        failure = failure_of(error)
        for referrer in kind.referrers if failure is ConstraintKind.REFERENCE else ():
            count = self._connection.execute(
                sa.select(sa.func.count()).select_from(referrer.column.table).where(referrer.column == record_id)
            ).scalar_one()
            if count:
                users = f"{count} {referrer.nouns}"
                raise InUseError(f"{kind.noun} {record_id} is needed by {users}; change those first") from None
        self._raise_stale(failure, record_id)
        raise error

    def _raise_stale(self, failure: ConstraintKind, record_id: int | str) -> None:
        """Raise StaleVersionError where others were faster; what a server has undone is never committed."""
        if failure in _OTHERS_WERE_FASTER:
            stale = StaleVersionError(self._kind.noun, record_id)
            if failure is ConstraintKind.UNDONE:
                self._session.undone.append(stale)
            raise stale from None


class SqlExpendableRepository(SqlRepository[Record]):
    """Records of one kind that nothing else in the store refers to (protocol `ExpendableRepository`)."""

    def append_all(self, records: Sequence[Record], *, actor_id: int | None) -> None:
        """Store new records, all or none of them; AlreadyExistsError where a unique name of one is taken."""
        if not records:
            return
        kind, audit = self._kind, self._audit_of_new(actor_id)
        rows = [to_row(kind, record, self._session.secret_box) | audit for record in records]
        try:
            with self._session.writing(is_one=len(rows) == 1):
                self._connection.execute(kind.insert_statement, rows)
        except DBAPIError as error:
            self._explain_write(error, records[0])
        self._session.changed[kind.noun] = not kind.is_journal

    def delete_matching(self, filters: Sequence[ListFilter]) -> int:
        """Remove all records for which every condition holds, in one statement, and return how many they were.

        Raises:
            StaleVersionError: somebody changed or removed one of them since this unit began to read.
        """
        kind = self._kind
        matching = conditions(kind, ListQuery(filters=tuple(filters)), self._session.cache)
        try:
            with self._session.writing(is_one=True):
                gone = int(self._connection.execute(sa.delete(kind.table).where(*matching)).rowcount)
        except DBAPIError as error:
            self._raise_stale(failure_of(error), "that was to be removed")
            raise
        self._session.changed[kind.noun if kind.is_journal else None] = not kind.is_journal
        return gone


def _is_empty(ids: frozenset[int] | Scope | None) -> bool:
    return ids.is_empty if isinstance(ids, Scope) else ids is not None and not ids
