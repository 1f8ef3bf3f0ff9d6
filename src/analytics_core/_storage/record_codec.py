"""Records to rows and back; secrets are sealed here and nowhere else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from sqlalchemy import RowMapping

from analytics_core._records.audit import Audit
from analytics_core._records.secret import Secret, UnopenedSecret
from analytics_core._storage.record_kinds import AUDIT_COLUMNS, Record, RecordKind
from analytics_core._storage.row_checks import check_row
from analytics_core.errors import StoredDataError
from analytics_core.ports import SecretBox

_NONE_HELD = "[]"


def secret_context(kind: RecordKind[Any], field: str, identity: str) -> str:
    """Return what a secret is sealed for, for example `databases.uri:<uuid>`."""
    return f"{kind.noun}s.{field}:{identity}"


def to_row(kind: RecordKind[Record], record: Record, box: SecretBox) -> dict[str, Any]:
    """Return the values of the record's own row, without id and audit; PayloadSchemaError when one cannot be stored."""
    values = {name: getattr(record, name) for name in kind.read_columns if name != "id"}
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
        values[name] = _sealed(values[name], context=secret_context(kind, name, values["uuid"]), box=box)
    check_row(kind.noun, kind.table, values)
    return values


def to_record(kind: RecordKind[Record], row: RowMapping, parts: Mapping[str, Any], box: SecretBox) -> Record:
    """Return the record of a row and its parts; StoredDataError when a stored value does not decode.

    A secret that does not open is an error where it is revealed: its record can be found, mended and deleted.
    """
    values = {name: row[name] for name in kind.read_columns}
    for name in kind.blank_for_none:
        values[name] = values[name] or None
    for name in kind.pairs:
        values[name] = _read_pairs(values[name], place=f"{kind.noun} {row['id']}")
    for name in kind.texts:
        values[name] = _read_texts(values[name], place=f"{kind.noun} {row['id']}")
    for name, enum in kind.enums.items():
        values[name] = _read_enum(enum, values[name], place=f"{kind.noun} {row['id']}")
    for name in kind.sealed:
        values[name] = opened(kind, name, row, box)
    audit = Audit(**{name: row[name] for name in AUDIT_COLUMNS})
    return kind.record_type(**values, **parts, audit=audit)


def _sealed(secret: Secret | None, *, context: str, box: SecretBox) -> str | None:
    if isinstance(secret, UnopenedSecret):
        return secret.sealed_for(context)
    return None if secret is None else box.seal(secret.reveal(), context=context)


def opened(kind: RecordKind[Any], field: str, row: Any, box: SecretBox) -> Secret | None:
    """Return a secret of a row, one that cannot be revealed where no key opens it."""
    sealed, context = row[field], secret_context(kind, field, row["uuid"])
    if sealed is None:
        return None
    try:
        return Secret(box.open(sealed, context=context))
    except StoredDataError as error:
        problem = f"{field} of {kind.noun} {row['id']}: {error}"
    return UnopenedSecret(sealed, context=context, problem=problem)


def _read_pairs(text: str, *, place: str) -> tuple[tuple[str, str], ...]:
    if text == _NONE_HELD:  # most often
        return ()
    try:
        return tuple((str(name), str(value)) for name, value in json.loads(text))
    except (ValueError, TypeError):
        raise StoredDataError(f"the stored attributes of {place} do not decode") from None


def _read_texts(text: str | None, *, place: str) -> tuple[str, ...]:
    if text is None or text == _NONE_HELD:  # most often; a column that came later is NULL in older rows
        return ()
    try:
        return tuple(map(str, json.loads(text)))
    except (ValueError, TypeError):
        raise StoredDataError(f"a stored list of {place} does not decode") from None


def _read_enum(enum: type[StrEnum], text: str, *, place: str) -> StrEnum:
    try:
        return enum(text)
    except ValueError:
        raise StoredDataError(f"a stored choice of {place} is none of {', '.join(enum)}") from None
