"""An answer as bytes for a cache or a store: typed, versioned, bounded, sealed; none of it is run.

    magic and version   8 bytes
    seal                28 bytes, over all that follows, for the key that it is stored under
    number of parts     8 bytes
    lengths of them     8 bytes each
    facts               a JSON object: the fields of the answer and of its results
    frame, records      for each result: its columns, and the JSON text of its rows, written only once

The columns are an Arrow IPC stream, or JSON where they are few plain values, which is quicker and needs no Arrow.

Numbers are big-endian. Bytes of another version, under another key, of another secret key, cut short or changed are no
answer, and never an error; nothing of them is read before the seal was found whole.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import partial
from itertools import accumulate, pairwise
from math import isfinite
from operator import attrgetter, itemgetter
from typing import Any, Final

from analytics_core._engine.engines.types import ValueKind
from analytics_core._engine.frames.arrow_frames import arrow_bytes, frame_from_bytes, frame_to_bytes
from analytics_core._engine.frames.frame import Frame, FrameColumn
from analytics_core._engine.frames.values import clean_text, value_types
from analytics_core._engine.results.answer import EMPTY_FRAME, ChartData, LimitEntry, QueryResult
from analytics_core._engine.results.rows import AnnotationData, Chunk, PlainRows, ResultRows
from analytics_core._engine.rights.keys import SEAL_BYTES, EntrySeal
from analytics_core._tools.typed_json import error_from_json, error_to_json
from analytics_core.errors import AnalyticsError, ResultTooLargeError, StoredDataError
from analytics_core.models.enums import QueryStatus, ResultFormat, ResultType

MAGIC: Final = b"ACQR\x00\x00\x00\x08"
"""Four letters and the version of the format; a changed format gets another version.

Since version 2, `notes` in a cache are those of the steps of post-processing alone: the others belong to the payload.
Since version 3 entries are sealed, since version 4 `label_map` has the parts of joined labels, since version 5 the
values of mixed columns keep their types, since version 6 those inside lists and objects too, and there may be several
results, also failed ones and those with annotations. Since version 7 few rows are JSON, since version 8 the form that
an answer is drawn by is kept.
"""

MOST_BYTES: Final = 2**31 - 1
"""The largest answer that is written or read."""

_NUMBER: Final = struct.Struct(">Q")
_SEAL_START: Final = len(MAGIC)
_HEAD_START: Final = _SEAL_START + SEAL_BYTES
_TUPLES: Final = ("applied_filters", "rejected_filters", "colnames", "coltypes", "indexnames", "notes")
_PLAIN: Final = (
    *("cache_key", "cache_timeout", "cached_dttm", "is_cached", "query", "annotation_data", "rowcount", "from_dttm"),
    *("to_dttm", "error", "sql_rowcount", "language", "verbose_names"),
)
_COPIED: Final = (*_PLAIN, *_TUPLES)
_GET_COPIED: Final = attrgetter(*_COPIED)


def encode_answer(answer: ChartData, *, key: str, seal: EntrySeal, most_bytes: int = MOST_BYTES, **known: Any) -> bytes:
    """Return the bytes that stand for `answer`.

    The JSON text of the rows is written here; the results keep it, so that answering does not write it again.

    Args:
        answer: an answer; its results may have failed.
        key: what the bytes will be stored under; they open under no other.
        seal: seals them.
        most_bytes: the largest answer that is worth making.
        known: fields of the results that the reader will find to be others (`cached_dttm` ...).

    Raises:
        ResultTooLargeError: it takes more bytes.
    """
    most = min(most_bytes, MOST_BYTES)
    facts = _facts_bytes(answer, known)
    row_sets = [result.row_set for result in answer.results]
    frames = _frames_bytes(row_sets, most)
    texts = _json_texts(row_sets, most - sum(map(len, frames)))
    rows = [part for frame, text in zip(frames, texts, strict=True) for part in (len(frame), sum(map(len, text)))]
    lengths = (len(facts), *rows)
    head = b"".join(map(_NUMBER.pack, (len(lengths), *lengths)))
    if _HEAD_START + len(head) + sum(lengths) > most:
        raise _too_large(most)
    parts: list[Chunk] = [head, facts]
    for frame, text in zip(frames, texts, strict=True):
        parts += (frame, *text)
    data = b"".join((MAGIC, seal.made(key, parts), *parts))
    for row_set, written in zip(row_sets, _cut(memoryview(data), _HEAD_START + len(head), lengths)[2::2], strict=True):
        if isinstance(row_set, ResultRows):
            row_set.remember_json(written)
    return data


def decode_answer(data: object, *, key: str, seal: EntrySeal, **known: Any) -> ChartData | None:
    """Return the answer that `encode_answer` wrote under `key`, or None when `data` is anything else.

    The frames are decoded when somebody asks for them, the JSON text of the rows is the stored one. `known` are fields
    of the results that are other ones by now (`is_cached` ...).
    """
    parts = _parts(data, key, seal)
    if parts is None:
        return None
    try:
        return _answer(parts[0], parts[1::2], parts[2::2], known)
    except (AttributeError, KeyError, TypeError, ValueError):  # facts of another shape: somebody else's bytes
        return None


def decode_job_answer(data: object, *, job_id: str, seal: EntrySeal) -> ChartData:
    """Return the answer that was stored for a job.

    Raises:
        StoredDataError: another version wrote it, or it was sealed with another key.
    """
    answer = decode_answer(data, key=job_id, seal=seal)
    if answer is None:
        raise StoredDataError(
            f"the metadata store holds no answer of job {job_id!r} that this version of analytics_core made with the "
            "secret key that it has now; submit the question again"
        )
    return answer


def encode_entry(
    result: QueryResult, *, key: str, seal: EntrySeal, most_bytes: int = MOST_BYTES, **known: Any
) -> bytes | None:
    """Return the bytes that stand for `result` under `key`, or None when it cannot be kept: it failed, or is too large.

    Its `cached_dttm` and `cache_timeout` are kept with it; `known` as in `encode_answer`.
    """
    if result.error is not None:
        return None
    try:
        return encode_answer(ChartData(results=(result,)), key=key, seal=seal, most_bytes=most_bytes, **known)
    except ResultTooLargeError:
        return None


def decode_entry(data: object, *, key: str, seal: EntrySeal, **known: Any) -> QueryResult | None:
    """Return the result that `encode_entry` wrote under `key`, marked as cached; None when `data` is anything else."""
    answer = decode_answer(data, key=key, seal=seal, cache_key=key, is_cached=True, **known)
    if answer is None or len(answer.results) != 1 or answer.results[0].error is not None:
        return None
    return answer.results[0]


# ------------------------------------------------------------------------------------------------------------ writing
def _frame_bytes(rows: ResultRows | PlainRows) -> Chunk:
    """Return the frame as bytes; none for a frame of nothing, which failed queries have."""
    frame = rows.frame
    if not frame.columns:
        return b""
    return (_few_rows_json(frame) if len(frame) <= _FEW_ROWS else None) or frame_to_bytes(frame)


_FEW_ROWS: Final = 1_000
_JSON_START: Final = b"["
"""Arrow streams begin otherwise."""


def _few_rows_json(frame: Frame) -> bytes | None:
    """Return `[[name, kind, type, values], ...]`, or None where a column has values that JSON does not hold exactly."""
    import orjson

    columns = []
    for column in frame.columns:
        values = column.values
        types = value_types(values) if isinstance(values, list) else frozenset({type(values)})
        name = types and next(iter(types)).__name__
        if len(types) > 1 or (name and name not in _READERS) or not _are_exact(types, values):
            return None
        plain = [None if value is None else str(value) for value in values] if types == {Decimal} else values
        columns.append((clean_text(column.name), column.kind.value, name or None, plain))
    try:
        return orjson.dumps(columns)
    except TypeError:  # whole numbers beyond 64 bits, text that UTF-8 cannot write
        return None


def _are_exact(types: AbstractSet[type], values: Sequence[Any]) -> bool:
    """Tell whether JSON has a form for each value: it has none for NaN, and one zone is read back as UTC."""
    if types == {float}:
        return all(map(isfinite, filter(None, values)))
    zones = {value.tzinfo for value in values if value is not None} if types == {datetime} else set()
    return zones <= {None} or zones == {UTC}


def _frames_bytes(results: Iterable[ResultRows | PlainRows], most_bytes: int) -> list[Chunk]:
    """Return the frames as bytes, of which none is made that would come after too many of them."""
    made: list[Chunk] = []
    for rows in results:
        if _least_bytes(rows.frame) > most_bytes:
            raise _too_large(most_bytes)
        made.append(_frame_bytes(rows))
        if sum(map(len, made)) > most_bytes:
            raise _too_large(most_bytes)
    return made


def _least_bytes(frame: Frame) -> int:
    """Return what a frame and the text of its rows take at least: names, quotes, colons, commas, a digit a value."""
    return arrow_bytes(frame) + len(frame) * sum(len(name) + 5 for name in frame.names)


def _json_texts(results: Iterable[ResultRows | PlainRows], most_bytes: int) -> list[list[Chunk]]:
    """Return the JSON text of each result in parts, of which no more are made once there are too many bytes."""
    texts, size = [], 0
    for rows in results:
        texts.append(list[Chunk]())
        for part in rows.json_chunks():
            texts[-1].append(part)
            size += len(part)
            if size > most_bytes:
                raise _too_large(most_bytes)
    return texts


def _too_large(most_bytes: int) -> ResultTooLargeError:
    return ResultTooLargeError(f"the answer takes more than {most_bytes} bytes to keep; ask for fewer rows or queries")


def _facts_bytes(answer: ChartData, known: Mapping[str, Any]) -> bytes:
    import orjson

    facts = {
        "result_type": answer.result_type.value,
        "result_format": answer.result_format.value,
        "form": answer.form,
        "results": [{**_facts(result), **known} for result in answer.results],
    }
    return orjson.dumps(facts, default=_as_json)


def _facts(result: QueryResult) -> dict[str, Any]:
    facts: dict[str, Any] = dict(zip(_COPIED, _GET_COPIED(result), strict=True))
    facts["status"] = result.status.value
    facts["result_type"] = result.result_type.value
    facts["label_map"] = result.label_map
    facts["limits"] = list(map(LimitEntry.to_payload, result.limits))
    facts["annotations"] = result.annotations
    facts["failure"] = result.failure
    return facts


def _as_json(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, AnalyticsError):
        return error_to_json(value)
    raise TypeError(f"a fact of an answer is a {type(value).__name__}")


# ------------------------------------------------------------------------------------------------------------ reading
def _parts(data: object, key: str, seal: EntrySeal) -> list[memoryview] | None:
    """Return the facts, then the frame and the records of each result; None where the bytes are not whole."""
    start = _HEAD_START + _NUMBER.size
    if not isinstance(data, bytes) or not start <= len(data) <= MOST_BYTES or not data.startswith(MAGIC):
        return None
    view = memoryview(data)
    if not seal.holds(key, view[_SEAL_START:_HEAD_START], view[_HEAD_START:]):
        return None
    (count,) = _NUMBER.unpack_from(data, _HEAD_START)
    if not count % 2 or count * _NUMBER.size > len(data) - start:
        return None
    lengths = struct.unpack_from(f">{count}Q", data, start)
    start += count * _NUMBER.size
    return _cut(view, start, lengths) if sum(lengths) == len(data) - start else None


def _cut(view: memoryview, start: int, lengths: Sequence[int]) -> list[memoryview]:
    """Return the parts of these lengths that lie one behind the other."""
    return [view[first:end] for first, end in pairwise(accumulate(lengths, initial=start))]


def _answer(
    facts_bytes: memoryview, frames: list[memoryview], records: list[memoryview], known: Mapping[str, Any]
) -> ChartData:
    import orjson

    facts = orjson.loads(facts_bytes)
    parts = zip(facts["results"], frames, records, strict=True)
    return ChartData(
        results=tuple([_result({**result, **known}, frame, texts) for result, frame, texts in parts]),
        result_type=ResultType(facts["result_type"]),
        result_format=ResultFormat(facts["result_format"]),
        form=facts["form"],
    )


def _result(facts: dict[str, Any], frame: memoryview, records: memoryview) -> QueryResult:
    fields: dict[str, Any] = dict(zip(_PLAIN, itemgetter(*_PLAIN)(facts), strict=True))
    fields.update(zip(_TUPLES, map(tuple, itemgetter(*_TUPLES)(facts)), strict=True))
    labels = facts["label_map"]
    return QueryResult(
        **fields,
        status=QueryStatus(facts["status"]),
        result_type=ResultType(facts["result_type"]),
        label_map=dict(zip(labels, map(tuple, labels.values()), strict=True)),
        limits=tuple([LimitEntry(**limit) for limit in facts["limits"]]),
        annotations=tuple(map(_annotation, facts["annotations"])),
        failure=None if facts["failure"] is None else error_from_json(facts["failure"]),
        row_set=ResultRows(partial(_frame, frame) if frame else EMPTY_FRAME, encoded=records),
    )


_READERS: Final[Mapping[str, Callable[[str], Any] | None]] = {
    **dict.fromkeys(("bool", "int", "float", "str")),
    "Decimal": Decimal,
    "date": date.fromisoformat,
    "datetime": datetime.fromisoformat,
}
"""What reads the values of columns of one type; None: JSON has them."""


def _frame(data: memoryview) -> Frame:
    """Return the frame; StoredDataError when the bytes are none."""
    if bytes(data[:1]) != _JSON_START:
        return frame_from_bytes(data)
    import orjson

    try:
        return Frame(columns=tuple([_column(*item) for item in orjson.loads(data)]))
    except (ArithmeticError, KeyError, TypeError, ValueError):
        raise StoredDataError("the stored bytes of a result hold no frame; ask again with force") from None


def _column(name: str, kind: str, type_name: str | None, values: list[Any]) -> FrameColumn:
    read = _READERS[type_name] if type_name else None
    if read is not None:
        values = [None if value is None else read(value) for value in values]
    return FrameColumn(name=name, kind=ValueKind(kind), values=values)


def _annotation(facts: dict[str, Any]) -> AnnotationData:
    return AnnotationData(**{**facts, "columns": tuple(facts["columns"]), "records": tuple(facts["records"])})
