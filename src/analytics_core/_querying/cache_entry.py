"""A result as bytes for a cache: typed, versioned, bounded, checked (SECURITY.md 3.14); nothing in it is ever run.

    magic and version   8 bytes
    checksum            4 bytes, CRC-32 of all that follows
    four lengths        8 bytes each: key, facts, frame, records
    key                 the key it was stored under, in UTF-8
    facts               a JSON object: the fields of the result
    frame               an Arrow IPC stream
    records             the JSON text of the rows, so that a hit writes nothing anew

Numbers are big-endian. Bytes of another version, under another key, cut short or changed are a miss, never an error.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from analytics_core._frames.frame_bytes import frame_from_bytes, frame_to_bytes
from analytics_core._querying.answer import LimitEntry, QueryResult
from analytics_core._querying.result_rows import Chunk, ResultRows
from analytics_core.models.enums import QueryStatus, ResultType

MAGIC: Final = b"ACQR\x00\x00\x00\x02"
"""Four letters and the version of the format; a changed format gets another version.

Since version 2, `notes` are those of the steps of post-processing alone: the others belong to the payload.
"""

MOST_BYTES: Final = 2**31 - 1
"""The largest entry that is written or read."""

MOST_KEY_BYTES: Final = 1_024
MOST_FACTS_BYTES: Final = 16 * 1024 * 1024
_LENGTHS: Final = struct.Struct(">IQQQQ")
_TUPLES: Final = ("applied_filters", "rejected_filters", "colnames", "coltypes", "indexnames", "notes")
_PLAIN: Final = (
    *("cache_timeout", "cached_dttm", "query", "annotation_data", "rowcount", "from_dttm", "to_dttm"),
    *("sql_rowcount", "language"),
)


def encode_entry(result: QueryResult, *, key: str, most_bytes: int = MOST_BYTES) -> bytes | None:
    """Return the bytes that stand for `result`, or None when it cannot be kept: it failed, or is too large.

    The JSON text of the rows is written here; `result` keeps it, so that answering does not write it again.

    Args:
        result: a result; its `cached_dttm` and `cache_timeout` are kept with it.
        key: what the entry will be stored under; it opens under no other.
        most_bytes: the largest entry that is worth making.
    """
    if result.error is not None:
        return None
    facts = _facts_bytes(result)
    frame = frame_to_bytes(result.frame)
    key_bytes = key.encode()
    if len(key_bytes) > MOST_KEY_BYTES or len(facts) > MOST_FACTS_BYTES or len(frame) > most_bytes:
        return None
    records = list(result.rows.json_chunks())
    records_length = sum(map(len, records))
    data = _joined((len(key_bytes), len(facts), len(frame), records_length), (key_bytes, facts, frame, *records))
    if len(data) > min(most_bytes, MOST_BYTES):
        return None
    if isinstance(result.rows, ResultRows):
        result.rows.remember_json(memoryview(data)[len(data) - records_length :])
    return data


def _joined(lengths: tuple[int, ...], parts: tuple[Chunk, ...]) -> bytes:
    head = _LENGTHS.pack(0, *lengths)[4:]
    checksum = zlib.crc32(head)
    for part in parts:
        checksum = zlib.crc32(part, checksum)
    return b"".join((MAGIC, checksum.to_bytes(4, "big"), head, *parts))


def decode_entry(data: bytes, *, key: str) -> QueryResult | None:
    """Return the result that `encode_entry` wrote under `key`, or None when `data` is anything else.

    The result says `is_cached`; its frame is decoded when somebody asks for it, its JSON text is the stored one.
    """
    parts = _parts(data, key)
    if parts is None:
        return None
    facts, frame, records = parts
    try:
        return _result(key, facts, frame, records)
    except (KeyError, TypeError, ValueError):  # facts of another shape: somebody else's bytes
        return None


def _parts(data: bytes, key: str) -> tuple[memoryview, memoryview, memoryview] | None:
    start = len(MAGIC) + _LENGTHS.size
    if len(data) < start or len(data) > MOST_BYTES or not data.startswith(MAGIC):
        return None
    checksum, *lengths = _LENGTHS.unpack_from(data, len(MAGIC))
    view = memoryview(data)
    if sum(lengths) != len(data) - start or zlib.crc32(view[len(MAGIC) + 4 :]) != checksum:
        return None
    pieces = []
    for length in lengths:
        pieces.append(view[start : start + length])
        start += length
    stored_key, facts, frame, records = pieces
    return (facts, frame, records) if stored_key == key.encode() else None


def _facts_bytes(result: QueryResult) -> bytes:
    import orjson

    facts: dict[str, Any] = {name: getattr(result, name) for name in (*_PLAIN, *_TUPLES)}
    facts["status"] = result.status.value
    facts["result_type"] = result.result_type.value
    facts["label_map"] = result.label_map
    facts["verbose_names"] = result.verbose_names
    facts["limits"] = [limit.to_payload() for limit in result.limits]
    return orjson.dumps(facts, default=_as_json)


def _as_json(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a fact of a result is a {type(value).__name__}")


def _result(key: str, facts_bytes: memoryview, frame: memoryview, records: memoryview) -> QueryResult:
    import orjson

    facts = orjson.loads(facts_bytes)
    fields: dict[str, Any] = {name: facts[name] for name in _PLAIN}
    fields.update({name: tuple(facts[name]) for name in _TUPLES})
    return QueryResult(
        **fields,
        cache_key=key,
        is_cached=True,
        status=QueryStatus(facts["status"]),
        result_type=ResultType(facts["result_type"]),
        label_map={label: tuple(names) for label, names in facts["label_map"].items()},
        verbose_names=facts["verbose_names"],
        limits=tuple(LimitEntry(**limit) for limit in facts["limits"]),
        rows=ResultRows(partial(frame_from_bytes, frame), encoded=records),
    )
