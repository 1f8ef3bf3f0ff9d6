"""Reads query contexts: one that was read before, to the byte, is not validated again, one of its shape in part."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from analytics_core._engine.querying.chart_request import ChartRequest, RequestedQuery, requested_queries, unread_keys
from analytics_core._engine.rights.actor import Actor
from analytics_core._tools.memo import Memo
from analytics_core.errors import LimitError, PayloadSchemaError, Problem
from analytics_core.models.parsing import Payload, check_text, content_of
from analytics_core.models.parsing.query_context import parse_query_context
from analytics_core.models.parsing.query_shapes import shape_of, with_values
from analytics_core.models.query import ChartDataQueryContext, ChartDataQueryObject
from analytics_core.models.strict_json import holds_numpy, json_text, plain_values

_SHAPE = "ChartDataQueryContextSchema"
_LISTS = (
    *("annotation_layers", "columns", "filters", "groupby", "metrics", "orderby", "post_processing", "series_columns"),
)
_ITEMS_OF_OPTIONS: Final = 5
LISTS_OF_VALUES: Final = 4
"""How many lists of the greatest length the filters of one context may hold."""
_SHALLOW = 60
"""So few brackets cannot nest too deeply."""
_STRICT: Final = json.JSONEncoder(allow_nan=False, check_circular=False)

_LONGEST: Final = 100_000
"""Bytes of the JSON of a payload that is remembered for others of its shape."""

_Known = tuple[ChartDataQueryContext, tuple[RequestedQuery, ...], bytes, bool]
"""What is remembered of a payload: its context, the queries of it, its digest, and whether its shape was known."""


class ContextReader:
    """Reads payloads to requests.

    Args:
        most_queries: queries that one context may hold.
        most_items: items that each list of a query may hold: columns, metrics, filters, steps and so on.
        most_values: values that the filters of a context may compare with, all together.
    """

    def __init__(self, *, most_queries: int, most_items: int = 1_000, most_values: int = 200_000) -> None:
        self._most_queries = most_queries
        self._most_items = most_items
        self._most_values = most_values
        self._known: Memo[tuple[bytes, bool], _Known] = Memo()
        self._shapes: Memo[bytes, ChartDataQueryContext] = Memo()

    def read(
        self, payload: ChartDataQueryContext | Payload, *, actor: Actor, now: datetime, strict: bool = False
    ) -> ChartRequest:
        """Return what an actor requests at a moment with a payload.

        Raises:
            PayloadError: it is none, asks nothing, or holds keys that nobody reads and is `strict`.
            LimitError: it asks too much.
        """
        digest, is_of_known_shape = None, False
        if isinstance(payload, ChartDataQueryContext) or (encoded := _encoded(payload)) is None:
            context, queries = self._checked(_parsed(payload), strict=strict)
        else:
            context, queries, digest, is_of_known_shape = self._known_or_read(payload, encoded, strict=strict)
        return ChartRequest(
            actor=actor,
            now=now,
            context=context,
            queries=queries,
            digest=digest,
            force=context.force,
            strict=strict,
            is_of_known_shape=is_of_known_shape,
        )

    def _known_or_read(self, payload: Payload, encoded: bytes, *, strict: bool) -> _Known:
        is_plain = _is_plain(payload, encoded)
        if not is_plain and isinstance(payload, Mapping):
            check_text(payload, shape=_SHAPE)  # before the look-up: NaN is encoded as null is
        digest = _digest(encoded)
        known = self._known.get((digest, strict))
        if known is None:
            if not isinstance(payload, Mapping):
                payload = content_of(payload, None, shape=_SHAPE)
                check_text(payload, shape=_SHAPE)
            if len(encoded) > _LONGEST:
                context, is_of_known_shape = parse_query_context(payload, text_is_checked=True), False
            else:
                context, is_of_known_shape = self._of_shape(payload)
            known = (*self._checked(context, strict=strict), digest, is_of_known_shape)
            self._known.put((digest, strict), known)
        return known

    def _of_shape(self, payload: Mapping[str, Any]) -> tuple[ChartDataQueryContext, bool]:
        """Return the context of a payload whose text was checked, and whether it was read by one of its shape."""
        shape = shape_of(payload)
        encoded = None if shape is None else _encoded(shape)
        if encoded is None:
            return parse_query_context(payload, text_is_checked=True), False
        digest = _digest(encoded)
        like = self._shapes.get(digest)
        context = None if like is None else with_values(like, payload)
        if context is not None:
            return context, True
        context = parse_query_context(payload, text_is_checked=True)
        self._shapes.put(digest, context)
        return context, False

    def _checked(
        self, context: ChartDataQueryContext, *, strict: bool
    ) -> tuple[ChartDataQueryContext, tuple[RequestedQuery, ...]]:
        """Return a context and its queries, once both are found to be within their bounds."""
        if strict and (unread := unread_keys(context)):
            raise PayloadSchemaError(shape=_SHAPE, problems=unread)
        self._check_size(context)
        return context, requested_queries(context)

    def _check_size(self, context: ChartDataQueryContext) -> None:
        if len(context.queries) > self._most_queries:
            raise LimitError(
                f"queries: a query context may hold {self._most_queries} queries at most "
                f"(Settings.max_queries_per_context), not {len(context.queries)}"
            )
        if not context.queries:
            raise PayloadSchemaError(shape=_SHAPE, problems=[_nothing_requested(context)])
        for position, query in enumerate(context.queries):
            self._check_lists(query, position)
            self._check_options(query, position)
        values = sum(_length(item.val) for query in context.queries for item in query.filters)
        if values > self._most_values:
            raise LimitError(
                f"the filters of the query context list {values:,} values; at most {self._most_values:,} are allowed "
                f"in all, {LISTS_OF_VALUES} times Settings.max_in_values"
            )

    def _check_lists(self, query: ChartDataQueryObject, position: int) -> None:
        for name in _LISTS:
            count = len(getattr(query, name) or ())
            if count > self._most_items:
                raise LimitError(
                    f"queries.{position}.{name} has {count} items; at most {self._most_items} are allowed "
                    "(Settings.max_items_per_list)"
                )

    def _check_options(self, query: ChartDataQueryObject, position: int) -> None:
        """Bound the members of the lists and maps in the options of all steps: what steps do grows with them."""
        most, count = self._most_items * _ITEMS_OF_OPTIONS, 0
        waiting: list[Any] = [step.options for step in query.post_processing]
        while waiting and count <= most:
            item = waiting.pop()
            if isinstance(item, Mapping):
                item = list(item.values())
            if isinstance(item, list | tuple):
                count += len(item)
                waiting.extend(item)
        if count > most:
            raise LimitError(
                f"queries.{position}.post_processing: the options of all steps hold more than {most:,} items, "
                f"{_ITEMS_OF_OPTIONS} times Settings.max_items_per_list"
            )


def _length(value: Any) -> int:
    return len(value) if isinstance(value, list | tuple) else 1


def _nothing_requested(context: ChartDataQueryContext) -> Problem:
    if context.form_data:
        return Problem(path="queries", message="form data alone cannot be answered yet; name at least one query")
    return Problem(path="queries", message='name at least one query, for example {"metrics": ["count"]}')


def context_text(payload: ChartDataQueryContext | Payload, context: ChartDataQueryContext) -> str:
    """Return a payload, which was read to `context`, as JSON text that is read as the same question again.

    Dates and decimals become texts.

    Raises:
        PayloadFormatError: it holds a value that JSON cannot say.
    """
    encoded = None if isinstance(payload, ChartDataQueryContext) else _encoded(payload)
    if encoded is None:
        return json_text(context.model_dump(by_alias=True, exclude_unset=True), shape=_SHAPE)
    return encoded.decode("utf-8", "surrogatepass")


def _parsed(payload: ChartDataQueryContext | Payload) -> ChartDataQueryContext:
    """Return the context of a payload that holds more than JSON knows, or is a model."""
    if isinstance(payload, ChartDataQueryContext):
        content = payload.model_dump(by_alias=True, exclude_unset=True, warnings=False)
        if not holds_numpy(content):
            return parse_query_context(payload)
        payload = content
    check_text(payload, shape=_SHAPE)  # bounds how deep it nests, too
    return parse_query_context(plain_values(payload, shape=_SHAPE))


def _encoded(payload: Payload) -> bytes | None:
    """Return the payload's JSON bytes, keys sorted, or None for values that JSON does not know."""
    import orjson

    if isinstance(payload, str):
        return payload.encode("utf-8", "surrogatepass")
    if isinstance(payload, bytes | bytearray):
        return bytes(payload)
    try:
        return orjson.dumps(payload, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        return None


def _digest(encoded: bytes) -> bytes:
    return hashlib.blake2b(encoded, digest_size=32).digest()


def _is_plain(payload: Payload, encoded: bytes) -> bool:
    """Tell from the JSON of a mapping that its texts and numbers need no further look, as most do not.

    The encoder refuses half surrogate pairs, and writes NaN and infinity as null, NUL as an escape.
    """
    if isinstance(payload, str | bytes | bytearray) or b"\\u0000" in encoded:
        return False
    if encoded.count(b"{") + encoded.count(b"[") > _SHALLOW:
        return False
    return b"null" not in encoded or _is_finite(payload)


def _is_finite(payload: Payload) -> bool:
    """Tell whether the nulls of a payload are no NaN or infinity; false also where another encoder cannot write it."""
    try:
        _STRICT.encode(payload)
    except (TypeError, ValueError):
        return False
    return True
