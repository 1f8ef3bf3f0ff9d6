"""A result as bytes for a cache: an answer of this one result (`answer_bytes`); what is none is a miss."""

from __future__ import annotations

from analytics_core._querying.answer import ChartData, QueryResult
from analytics_core._querying.answer_bytes import MOST_BYTES, decode_answer, encode_answer
from analytics_core._security.keys import EntrySeal
from analytics_core.errors import ResultTooLargeError


def encode_entry(result: QueryResult, *, key: str, seal: EntrySeal, most_bytes: int = MOST_BYTES) -> bytes | None:
    """Return the bytes that stand for `result` under `key`, or None when it cannot be kept: it failed, or is too large.

    Its `cached_dttm` and `cache_timeout` are kept with it.
    """
    if result.error is not None:
        return None
    try:
        return encode_answer(ChartData(results=(result,)), key=key, seal=seal, most_bytes=most_bytes)
    except ResultTooLargeError:
        return None


def decode_entry(data: object, *, key: str, seal: EntrySeal) -> QueryResult | None:
    """Return the result that `encode_entry` wrote under `key`, marked as cached; None when `data` is anything else."""
    answer = decode_answer(data, key=key, seal=seal, cache_key=key, is_cached=True)
    if answer is None or len(answer.results) != 1 or answer.results[0].error is not None:
        return None
    return answer.results[0]
