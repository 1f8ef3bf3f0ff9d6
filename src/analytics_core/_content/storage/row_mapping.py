"""Records to rows of their table and back; secrets are sealed here and nowhere else."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection

from analytics_core._content.storage.record_kinds import Record, RecordKind
from analytics_core._records.audit import Audit
from analytics_core._records.secret import Secret, UnopenedSecret
from analytics_core.errors import PayloadSchemaError, Problem, StoredDataError
from analytics_core.ports import SecretBox

_EMPTY_LIST = "[]"


def secret_context(kind: RecordKind[Any], field: str, row: Mapping[str, Any]) -> str:
    """Return what a secret of a row is sealed for, for example `databases.uri:<uuid>`."""
    return f"{kind.noun}s.{field}:{'/'.join(map(str, map(row.__getitem__, kind.named_in)))}"


def to_row(kind: RecordKind[Record], record: Record, box: SecretBox) -> dict[str, Any]:
    """Return the values of the record's own row, without id and audit; PayloadSchemaError when one cannot be stored.

    Moments go under the names of `kind.bound_moments`.
    """
    values = dict(zip(kind.fields, kind.getter(record), strict=False))
    for name, make in kind.derived.items():
        values[name] = make(record)
    for name in kind.blank_for_none:
        values[name] = values[name] or ""
    for name in kind.pairs:
        pairs = values[name]
        values[name] = json.dumps([list(pair) for pair in pairs], ensure_ascii=False) if pairs else _EMPTY_LIST
    for name in kind.texts:
        texts = values[name]
        values[name] = json.dumps(list(texts), ensure_ascii=False) if texts else _EMPTY_LIST
    for name in kind.enums:
        values[name] = values[name].value
    for name in kind.sealed:
        if (secret := values[name]) is not None:
            values[name] = _sealed(secret, context=secret_context(kind, name, values), box=box)
    kind.check(kind.noun, values)
    for name, bound in kind.bound_moments.items():
        moment = values.pop(name)
        if moment is not None and moment.tzinfo is not None:  # a naive one is in UTC already
            moment = moment.replace(tzinfo=None) if moment.tzinfo is UTC else _in_utc(kind, name, moment)
        values[bound] = moment
    return values


def _in_utc(kind: RecordKind[Any], name: str, moment: datetime) -> datetime:
    try:
        return moment.astimezone(UTC).replace(tzinfo=None)
    except OverflowError:
        problem = Problem(path=name, message="must be a moment of the years 1 to 9999, also in UTC")
        raise PayloadSchemaError(shape=kind.noun, problems=[problem]) from None


def as_stored(kind: RecordKind[Record], record: Record, row: Mapping[str, Any], audit: Audit) -> Record:
    """Return a record as it would be read from the row that was just written; for kinds that are `read_as_written`."""
    changes: dict[str, Any] = {"audit": audit}
    for name, bound in kind.bound_moments.items():
        if name not in kind.derived and (moment := row[bound]) is not None:
            changes[name] = moment.replace(tzinfo=UTC)
    return replace(record, **changes)


def to_records(
    kind: RecordKind[Record],
    rows: Sequence[dict[str, Any]],
    connection: Connection,
    box: SecretBox,
    *,
    without: frozenset[str] = frozenset(),
) -> tuple[Record, ...]:
    """Return the records of rows with their parts, which are read but for those that are left unread.

    A secret that does not open is an error where it is revealed: its record can be found, mended and deleted.

    Raises:
        StoredDataError: a stored value does not decode.
    """
    if kind.parts and rows:
        kind.record_parts.add(connection, rows, without=without)
    found = []
    for row in rows:
        if kind.is_encoded:
            _decode(kind, row, box)
        audit = Audit(
            created_on=row.pop("created_on"),
            changed_on=row.pop("changed_on"),
            created_by=row.pop("created_by"),
            changed_by=row.pop("changed_by"),
            version=row.pop("version"),
        )
        found.append(kind.record_type(**row, audit=audit))
    return tuple(found)


def _decode(kind: RecordKind[Any], row: dict[str, Any], box: SecretBox) -> None:
    """Make the values of a record of those of its row."""
    for name in kind.blank_for_none:
        row[name] = row[name] or None
    for name in kind.pairs:
        row[name] = () if row[name] == _EMPTY_LIST else _read(kind, row, name, _read_pairs)
    for name in kind.texts:  # a column that came later is NULL in older rows
        row[name] = () if row[name] in (None, _EMPTY_LIST) else _read(kind, row, name, _read_texts)
    for name, members in kind.members.items():
        member = members.get(row[name])
        if member is None:
            problem = f"a stored choice of {kind.noun} {row['id']} is none of {', '.join(members)}"
            raise StoredDataError(problem)
        row[name] = member
    for name in kind.sealed:
        if row[name] is not None:
            row[name] = opened(kind, name, row, box)


def _sealed(secret: Secret, *, context: str, box: SecretBox) -> str:
    if isinstance(secret, UnopenedSecret):
        return secret.sealed_for(context)
    return box.seal(secret.reveal(), context=context)


def opened(kind: RecordKind[Any], field: str, row: Mapping[str, Any], box: SecretBox) -> Secret:
    """Return a sealed secret of a row, one that cannot be revealed where no key opens it."""
    sealed, context = row[field], secret_context(kind, field, row)
    try:
        return Secret(box.open(sealed, context=context))
    except StoredDataError as error:
        problem = f"{field} of {kind.noun} {row['id']}: {error}"
    return UnopenedSecret(sealed, context=context, problem=problem)


def _read(kind: RecordKind[Any], row: Mapping[str, Any], name: str, read: Callable[[str], object]) -> object:
    try:
        return read(row[name])
    except (ValueError, TypeError):
        which = f"{kind.noun} {row['id']}"
        problem = f"the stored attributes of {which} do" if name in kind.pairs else f"a stored list of {which} does"
        raise StoredDataError(f"{problem} not decode") from None


def _read_pairs(text: str) -> tuple[tuple[str, str], ...]:
    return tuple((str(name), str(value)) for name, value in json.loads(text))


def _read_texts(text: str) -> tuple[str, ...]:
    return tuple(map(str, json.loads(text)))
