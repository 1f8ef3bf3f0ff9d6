"""A result as bytes for a cache: typed, versioned, bounded, sealed (SECURITY.md 3.14); nothing in it is ever run.

    magic and version   8 bytes
    seal                28 bytes, over all that follows, for the key it is stored under
    three lengths       8 bytes each: facts, frame, records
    facts               a JSON object: the fields of the result
    frame               an Arrow IPC stream
    records             the JSON text of the rows, so that a hit writes nothing anew

Numbers are big-endian. Bytes of another version, under another key, of another secret key, cut short or changed are a
miss, never an error; nothing of them is read before the seal was found whole.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from analytics_core._frames.frame_bytes import frame_from_bytes, frame_to_bytes
from analytics_core._querying.answer import LimitEntry, QueryResult
from analytics_core._querying.result_rows import Chunk, ResultRows
from analytics_core._security.entry_seal import SEAL_BYTES, EntrySeal
from analytics_core.models.enums import QueryStatus, ResultType

MAGIC: Final = b"ACQR\x00\x00\x00\x05"
"""Four letters and the version of the format; a changed format gets another version.

Since version 2, `notes` are those of the steps of post-processing alone: the others belong to the payload. Since
version 3 entries are sealed, since version 4 `label_map` has the parts of joined labels, since version
5 the values of mixed columns keep their types.
"""

MOST_BYTES: Final = 2**31 - 1
"""The largest entry that is written or read."""

MOST_FACTS_BYTES: Final = 16 * 1024 * 1024
_LENGTHS: Final = struct.Struct(">QQQ")
_SEAL_START: Final = len(MAGIC)
_HEAD_START: Final = _SEAL_START + SEAL_BYTES
_TUPLES: Final = ("applied_filters", "rejected_filters", "colnames", "coltypes", "indexnames", "notes")
_PLAIN: Final = (
    *("cache_timeout", "cached_dttm", "query", "annotation_data", "rowcount", "from_dttm", "to_dttm"),
    *("sql_rowcount", "language"),
)


def encode_entry(result: QueryResult, *, key: str, seal: EntrySeal, most_bytes: int = MOST_BYTES) -> bytes | None:
    """Return the bytes that stand for `result`, or None when it cannot be kept: it failed, or is too large.

    The JSON text of the rows is written here; `result` keeps it, so that answering does not write it again.

    Args:
        result: a result; its `cached_dttm` and `cache_timeout` are kept with it.
        key: what the entry will be stored under; it opens under no other.
        seal: seals the entry.
        most_bytes: the largest entry that is worth making.
    """
    if result.error is not None:
        return None
    facts = _facts_bytes(result)
    frame = frame_to_bytes(result.frame)
    if len(facts) > MOST_FACTS_BYTES or len(frame) > most_bytes:
        return None
    records = list(result.held.json_chunks())
    records_length = sum(map(len, records))
    head = _LENGTHS.pack(len(facts), len(frame), records_length)
    if _HEAD_START + len(head) + len(facts) + len(frame) + records_length > min(most_bytes, MOST_BYTES):
        return None
    parts: tuple[Chunk, ...] = (head, facts, frame, *records)
    data = b"".join((MAGIC, seal.made(key, parts), *parts))
    if isinstance(result.held, ResultRows):
        result.held.remember_json(memoryview(data)[len(data) - records_length :])
    return data


def decode_entry(data: object, *, key: str, seal: EntrySeal) -> QueryResult | None:
    """Return the result that `encode_entry` wrote under `key`, or None when `data` is anything else.

    The result says `is_cached`; its frame is decoded when somebody asks for it, its JSON text is the stored one.
    """
    parts = _parts(data, key, seal)
    if parts is None:
        return None
    facts, frame, records = parts
    try:
        return _result(key, facts, frame, records)
    except (AttributeError, KeyError, TypeError, ValueError):  # facts of another shape: somebody else's bytes
        return None


def _parts(data: object, key: str, seal: EntrySeal) -> tuple[memoryview, memoryview, memoryview] | None:
    start = _HEAD_START + _LENGTHS.size
    if not isinstance(data, bytes) or not start <= len(data) <= MOST_BYTES or not data.startswith(MAGIC):
        return None
    view = memoryview(data)
    if not seal.holds(key, view[_SEAL_START:_HEAD_START], view[_HEAD_START:]):
        return None
    facts, frame, records = _LENGTHS.unpack_from(data, _HEAD_START)
    if facts + frame + records != len(data) - start:
        return None
    after_facts, after_frame = start + facts, start + facts + frame
    return view[start:after_facts], view[after_facts:after_frame], view[after_frame:]


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
        held=ResultRows(partial(frame_from_bytes, frame), encoded=records),
    )
