"""Reads query contexts; one that was read before, to the byte, is not validated again."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from analytics_core._querying.memo import Memo
from analytics_core.models.parsing import parse_query_context
from analytics_core.models.query import ChartDataQueryContext

Payload = Mapping[str, Any] | str | bytes | ChartDataQueryContext


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadContext:
    """A query context and a digest of the payload that it came from; None when the payload has no canonical bytes."""

    context: ChartDataQueryContext
    digest: bytes | None


class ContextReader:
    """Reads payloads to query contexts."""

    def __init__(self) -> None:
        self._known: Memo[bytes, ReadContext] = Memo()

    def read(self, payload: Payload) -> ReadContext:
        """Return the context of a payload; PayloadError when it is none."""
        if isinstance(payload, ChartDataQueryContext):
            return ReadContext(context=payload, digest=None)
        digest = _digest(payload)
        if digest is None:
            return ReadContext(context=parse_query_context(payload), digest=None)
        known = self._known.get(digest)
        if known is not None:
            return known
        read = ReadContext(context=parse_query_context(payload), digest=digest)
        self._known.put(digest, read)
        return read


def _digest(payload: Mapping[str, Any] | str | bytes) -> bytes | None:
    """Return a hash of the payload's JSON bytes with sorted keys, or None for values that JSON does not know."""
    import orjson

    if isinstance(payload, str):
        payload = payload.encode("utf-8", "surrogatepass")
    if not isinstance(payload, bytes):
        try:
            payload = orjson.dumps(payload, option=orjson.OPT_SORT_KEYS)
        except TypeError:
            return None
    return hashlib.blake2b(payload, digest_size=32).digest()
