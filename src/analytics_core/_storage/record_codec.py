"""Records to rows and back; secrets are sealed here and nowhere else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from analytics_core._records.audit import Audit
from analytics_core._records.secret import Secret, UnopenedSecret
from analytics_core._storage.record_kinds import Record, RecordKind
from analytics_core._storage.row_checks import check_row
from analytics_core.errors import StoredDataError
from analytics_core.ports import SecretBox

_NONE_HELD = "[]"
_NO_TEXTS = (None, _NONE_HELD)


def secret_context(kind: RecordKind[Any], field: str, identity: str) -> str:
    """Return what a secret is sealed for, for example `databases.uri:<uuid>`."""
    return f"{kind.noun}s.{field}:{identity}"


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
        values[name] = _sealed(values[name], context=secret_context(kind, name, values["uuid"]), box=box)
    check_row(kind.noun, kind.table, values)
    return values


def to_record(kind: RecordKind[Record], row: dict[str, Any], box: SecretBox) -> Record:
    """Return the record of a row that holds its parts, too; StoredDataError when a stored value does not decode.

    A secret that does not open is an error where it is revealed: its record can be found, mended and deleted.
    """
    for name in kind.blank_for_none:
        row[name] = row[name] or None
    for name in kind.pairs:
        row[name] = () if row[name] == _NONE_HELD else _read_pairs(row[name], place=f"{kind.noun} {row['id']}")
    for name in kind.texts:  # a column that came later is NULL in older rows
        row[name] = () if row[name] in _NO_TEXTS else _read_texts(row[name], place=f"{kind.noun} {row['id']}")
    for name, enum in kind.enums.items():
        row[name] = _read_enum(enum, row[name], place=f"{kind.noun} {row['id']}")
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
    sealed, context = row[field], secret_context(kind, field, row["uuid"])
    try:
        return Secret(box.open(sealed, context=context))
    except StoredDataError as error:
        problem = f"{field} of {kind.noun} {row['id']}: {error}"
    return UnopenedSecret(sealed, context=context, problem=problem)


def _read_pairs(text: str, *, place: str) -> tuple[tuple[str, str], ...]:
    try:
        return tuple((str(name), str(value)) for name, value in json.loads(text))
    except (ValueError, TypeError):
        raise StoredDataError(f"the stored attributes of {place} do not decode") from None


def _read_texts(text: str, *, place: str) -> tuple[str, ...]:
    try:
        return tuple(map(str, json.loads(text)))
    except (ValueError, TypeError):
        raise StoredDataError(f"a stored list of {place} does not decode") from None


def _read_enum(enum: type[StrEnum], text: str, *, place: str) -> StrEnum:
    try:
        return enum(text)
    except ValueError:
        raise StoredDataError(f"a stored choice of {place} is none of {', '.join(enum)}") from None
