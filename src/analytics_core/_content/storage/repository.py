"""Records of one kind inside a unit of work, to rows and back; secrets are sealed here and nowhere else."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Generic, NoReturn, cast

import sqlalchemy as sa
from sqlalchemy import ColumnElement, Connection, Row
from sqlalchemy.exc import DBAPIError

from analytics_core._content.storage.column_types import check_row, fits_integer
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
from analytics_core._content.storage.parts import add_parts, among
from analytics_core._content.storage.record_kinds import Record, RecordKind, missing_record
from analytics_core._records.audit import Audit
from analytics_core._records.repositories import ListFilter, ListQuery, Scope
from analytics_core._records.secret import Secret, UnopenedSecret
from analytics_core.errors import AlreadyExistsError, InUseError, StaleVersionError, StoredDataError
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
    """

    connection: Connection
    clock: Clock
    secret_box: SecretBox
    on_write: Callable[[str | None, bool], None]
    cache: StatementCache
    is_on_file: bool
    may_write: threading.Event = field(default_factory=threading.Event)
    undone: list[StaleVersionError] = field(default_factory=list)

    def begin_reading(self) -> None:
        """Give all statements up to the first write the same moment of a file."""
        if not self._has_begun():
            self.connection.exec_driver_sql("BEGIN")

    @contextmanager
    def writing(self, noun: str | None = None, *, counts: bool = True) -> Iterator[None]:
        """Make the block's writes happen together or not at all; after a refusal the unit may go on, unless `undone`.

        `noun` is the one kind of records that they bear on; None: they may bear on any. `counts` tells whether they
        move the store's revision.
        """
        if self.connection.dialect.name == "sqlite":
            self._begin_writing()
        with self.connection.begin_nested():
            yield
        self.on_write(noun, counts)

    def _begin_writing(self) -> None:
        if self.is_on_file and not self.may_write.is_set() and self._has_begun():
            self.connection.exec_driver_sql("COMMIT")
        if not self._has_begun():
            self.connection.exec_driver_sql("BEGIN IMMEDIATE")
        self.may_write.set()

    def _has_begun(self) -> bool:
        return bool(getattr(self.connection.connection.dbapi_connection, "in_transaction", False))


class SqlRepository(Generic[Record]):
    """Records of one kind in their tables (protocol `Repository`)."""

    def __init__(self, kind: RecordKind[Record], session: StoreSession) -> None:
        self._kind = kind
        self._session = session
        self._connection = session.connection
        self._bears_on = kind.noun if kind.is_journal else None
        if session.is_on_file:
            session.begin_reading()

    def get(self, record_id: int) -> Record:
        """Return the record; NotFoundError when there is none."""
        if not fits_integer(record_id):
            raise missing_record(self._kind.noun, record_id)
        kind = self._kind
        rows = kind.reader.rows(self._connection, kind.get_statement, {"record_id": record_id})
        if not rows:
            raise missing_record(kind.noun, record_id)
        return self._records(rows)[0]

    def find(self, **unique: Any) -> Record | None:
        """Return the one record whose columns equal `unique`, or None."""
        filters = tuple(ListFilter(col=name, op="eq", val=value) for name, value in unique.items())
        query = ListQuery(filters=filters, page_size=1)
        statement, values = page_statement(self._kind, query, self._session.cache, with_total=False)
        rows = self._kind.reader.rows(self._connection, statement, values)
        return self._records(rows)[0] if rows else None

    def get_many(self, record_ids: Collection[int], *, without: frozenset[str] = frozenset()) -> Sequence[Record]:
        """Return the records of these ids that exist, in the order of their ids; `without` is as in `ListQuery`."""
        wanted = sorted({record_id for record_id in record_ids if fits_integer(record_id)})
        if not wanted:
            return ()
        rows = self._kind.reader.rows(self._connection, self._kind.get_many_statement, {"record_ids": wanted})
        return self._records(rows, without=without)

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
            return total, self._records(rows, without=query.without)
        if not query.page:
            return 0, ()
        return self._connection.execute(count_statement(self._kind, query, self._session.cache)).scalar_one(), ()

    def distinct(self, column: str, query: ListQuery) -> tuple[int, Sequence[Any]]:
        """Return how many different values a column has among the records that match, and the ones of the page."""
        if _is_empty(query.ids):
            return 0, ()
        counted, paged = distinct_statements(self._kind, column, query, self._session.cache)
        count = self._connection.execute(counted).scalar_one()
        return count, self._connection.execute(paged).scalars().all()

    def newest(
        self, columns: Sequence[str], moment: str, query: ListQuery
    ) -> Sequence[tuple[tuple[Any, ...], datetime, int]]:
        """Return the different values of columns together among the records that match, the newest ones first."""
        if _is_empty(query.ids):
            return ()
        statement = newest_statement(self._kind, columns, moment, query, self._session.cache)
        return [(tuple(values), latest, last) for *values, latest, last in self._connection.execute(statement)]

    def version(self, record_id: int) -> int:
        """Return the version of the stored record in one small statement; NotFoundError when there is none."""
        if fits_integer(record_id):
            found = self._connection.execute(self._kind.version_statement, {"record_id": record_id}).scalar()
            if found is not None:
                return int(found)
        raise missing_record(self._kind.noun, record_id)

    def add(self, record: Record, *, actor_id: int | None) -> Record:
        """Store a new record and return it with its id and audit; AlreadyExistsError when a unique name is taken."""
        return self.get(self.append(record, actor_id=actor_id))

    def append(self, record: Record, *, actor_id: int | None) -> int:
        """Store a new record without reading it back and return its id; AlreadyExistsError as in `add`."""
        kind, audit = self._kind, self._audit_of_new(actor_id)
        row, now = to_row(kind, record, self._session.secret_box), audit["created_on"]
        with self._writing(record):
            inserted = self._connection.execute(kind.insert_statement, {**row, **audit})
            record_id = int(cast("Row[Any]", inserted.inserted_primary_key).id)
            for part in kind.parts:
                part.write(self._connection, record_id, getattr(record, part.attribute), now=now, is_new=True)
        return record_id

    def _audit_of_new(self, actor_id: int | None) -> dict[str, Any]:
        now = self._session.clock.now()
        return {"created_on": now, "changed_on": now, "created_by": actor_id, "changed_by": actor_id, "version": 1}

    def update(self, record: Record, *, actor_id: int | None) -> Record:
        """Store a changed record; StaleVersionError when its `audit.version` is no longer the stored one.

        Its `changed_on` is later than that of the version before, so that it tells the versions apart.
        """
        kind, now = self._kind, self._later_than(record.audit.changed_on)
        row = to_row(kind, record, self._session.secret_box)
        audit: dict[str, Any] = {"version": record.audit.version + 1}
        if not self._differs_by_marks(record):
            audit |= {"changed_on": now, "changed_by": actor_id}
        same = (self._has_id(record.id), kind.table.c.version == record.audit.version)
        with self._writing(record):
            changed = self._connection.execute(sa.update(kind.table).where(*same).values(**row, **audit))
            if changed.rowcount != 1:
                self.version(record.id)  # NotFoundError when it is gone
                raise StaleVersionError(kind.noun, record.id)
            for part in kind.parts:
                part.write(self._connection, record.id, getattr(record, part.attribute), now=now)
        return self.get(record.id)

    def _differs_by_marks(self, record: Record) -> bool:
        """Tell whether a record differs from the stored one by what holds it for a while alone."""
        if not self._kind.marks:
            return False
        stored, marks = self.get(record.id), {name: getattr(record, name) for name in self._kind.marks}
        return stored != record and replace(stored, **marks, audit=record.audit) == record

    def delete(self, record_id: int) -> None:
        """Remove the record and what belongs to it alone.

        Raises:
            NotFoundError: there is none.
            InUseError: other records need it.
        """
        kind = self._kind
        try:
            with self._session.writing(self._bears_on, counts=not self._kind.is_journal):
                self.version(record_id)
                for statement in kind.forget(record_id):
                    self._connection.execute(statement)
                gone = self._connection.execute(sa.delete(kind.table).where(self._has_id(record_id)))
                if not gone.rowcount:  # somebody deleted it since this unit began to read
                    raise missing_record(kind.noun, record_id)
        except DBAPIError as error:
            self._explain_delete(error, record_id)

    def _later_than(self, before: datetime | None) -> datetime:
        """Return the moment of a change: now, or just after the last change when the clock has not moved past it."""
        now = self._session.clock.now()
        return now if before is None else max(now, before + _RESOLUTION)

    def _has_id(self, record_id: int) -> ColumnElement[bool]:
        return self._kind.table.c.id == record_id if fits_integer(record_id) else sa.false()

    def _records(self, rows: Sequence[dict[str, Any]], *, without: frozenset[str] = frozenset()) -> Sequence[Record]:
        """Return the records of rows with their parts, but for those that are left unread."""
        kind = self._kind
        if kind.parts and rows:
            add_parts(self._connection, kind.parts, rows, links=kind.links_statement, without=without)
        return tuple(map(partial(to_record, kind, box=self._session.secret_box), rows))

    @contextmanager
    def _writing(self, record: Record) -> Iterator[None]:
        try:
            with self._session.writing(self._kind.noun, counts=not self._kind.is_journal):
                yield
        except DBAPIError as error:
            self._explain_write(error, record)

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
        audit = self._audit_of_new(actor_id)
        rows = [{**to_row(self._kind, record, self._session.secret_box), **audit} for record in records]
        with self._writing(records[0]):
            self._connection.execute(self._kind.insert_statement, rows)

    def delete_matching(self, filters: Sequence[ListFilter]) -> int:
        """Remove all records for which every condition holds, in one statement, and return how many they were.

        Raises:
            StaleVersionError: somebody changed or removed one of them since this unit began to read.
        """
        matching = conditions(self._kind, ListQuery(filters=tuple(filters)), self._session.cache)
        try:
            with self._session.writing(self._bears_on, counts=not self._kind.is_journal):
                return int(self._connection.execute(sa.delete(self._kind.table).where(*matching)).rowcount)
        except DBAPIError as error:
            self._raise_stale(failure_of(error), "that was to be removed")
            raise


def _is_empty(ids: frozenset[int] | Scope | None) -> bool:
    return ids.is_empty if isinstance(ids, Scope) else ids is not None and not ids


_NONE_HELD = "[]"


def secret_context(kind: RecordKind[Any], field: str, row: Mapping[str, Any]) -> str:
    """Return what a secret of a row is sealed for, for example `databases.uri:<uuid>`."""
    return f"{kind.noun}s.{field}:{'/'.join(str(row[name]) for name in kind.named_in)}"


def to_row(kind: RecordKind[Record], record: Record, box: SecretBox) -> dict[str, Any]:
    """Return the values of the record's own row, without id and audit; PayloadSchemaError when one cannot be stored."""
    values = {name: getattr(record, name) for name in kind.field_columns}
    values |= {name: make(record) for name, make in kind.derived.items()}
    for name in kind.blank_for_none:
        values[name] = values[name] or ""
    for name in kind.pairs:
        values[name] = json.dumps([list(pair) for pair in values[name]], ensure_ascii=False)
    for name in kind.texts:
        values[name] = json.dumps(list(values[name]), ensure_ascii=False)
    for name in kind.enums:
        values[name] = values[name].value
    for name in kind.sealed:
        values[name] = _sealed(values[name], context=secret_context(kind, name, values), box=box)
    check_row(kind.noun, kind.table, values)
    return values


def to_record(kind: RecordKind[Record], row: dict[str, Any], box: SecretBox) -> Record:
    """Return the record of a row that holds its parts, too; StoredDataError when a stored value does not decode.

    A secret that does not open is an error where it is revealed: its record can be found, mended and deleted.
    """
    for name in kind.blank_for_none:
        row[name] = row[name] or None
    for name in kind.pairs:
        _decode(kind, row, name, _read_pairs, "the stored attributes of {} do not decode")
    for name in kind.texts:
        _decode(kind, row, name, _read_texts, "a stored list of {} does not decode")
    for name, enum in kind.enums.items():
        _decode(kind, row, name, enum, f"a stored choice of {{}} is none of {', '.join(enum)}")
    for name in kind.sealed:
        row[name] = None if row[name] is None else opened(kind, name, row, box)
    audit = Audit(
        created_on=row.pop("created_on"),
        changed_on=row.pop("changed_on"),
        created_by=row.pop("created_by"),
        changed_by=row.pop("changed_by"),
        version=row.pop("version"),
    )
    return kind.record_type(**row, audit=audit)


def _sealed(secret: Secret | None, *, context: str, box: SecretBox) -> str | None:
    if isinstance(secret, UnopenedSecret):
        return secret.sealed_for(context)
    return None if secret is None else box.seal(secret.reveal(), context=context)


def opened(kind: RecordKind[Any], field: str, row: Mapping[str, Any], box: SecretBox) -> Secret:
    """Return a sealed secret of a row, one that cannot be revealed where no key opens it."""
    sealed, context = row[field], secret_context(kind, field, row)
    try:
        return Secret(box.open(sealed, context=context))
    except StoredDataError as error:
        problem = f"{field} of {kind.noun} {row['id']}: {error}"
    return UnopenedSecret(sealed, context=context, problem=problem)


def _decode(kind: RecordKind[Any], row: dict[str, Any], name: str, read: Callable[[str], object], problem: str) -> None:
    try:
        row[name] = read(row[name])
    except (ValueError, TypeError):
        raise StoredDataError(problem.format(f"{kind.noun} {row['id']}")) from None


def _read_pairs(text: str) -> tuple[tuple[str, str], ...]:
    return () if text == _NONE_HELD else tuple((str(name), str(value)) for name, value in json.loads(text))


def _read_texts(text: str | None) -> tuple[str, ...]:
    """Return a list of texts; a column that came later is NULL in older rows."""
    return () if text in (None, _NONE_HELD) else tuple(map(str, json.loads(text)))
