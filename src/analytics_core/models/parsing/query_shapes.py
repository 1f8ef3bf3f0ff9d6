"""Query contexts by the shape of their payloads: what another payload of one shape says is not validated again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic import ValidationError, create_model

from analytics_core.models.base import LenientShape
from analytics_core.models.query import ChartDataQueryContext, ChartDataQueryObject

_VALUES: Final = ("filters", "row_limit", "row_offset", "time_range")
"""The fields of a query that are its values: each is validated by itself, whatever the others say."""
_FORM: Final = "form_data"
"""The field of a context that nothing validates."""

_FIELDS: Final = {name: ChartDataQueryObject.model_fields[name] for name in _VALUES}
_GIVEN: Final[dict[str, Any]] = {name: (field.annotation, field) for name, field in _FIELDS.items()}
_QueryValues: Final = create_model("_QueryValues", __base__=LenientShape, **_GIVEN)
"""The fields of a query that are its values, read as the query reads them."""


def shape_of(payload: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a payload without its values, of which it tells that they are there; None: it has no such shape."""
    queries = payload.get("queries")
    if not isinstance(queries, list) or not all(isinstance(query, dict) for query in queries):
        return None
    shape: dict[str, Any] = {**payload, "queries": [dict(query) for query in queries]}
    if _FORM in shape:
        shape[_FORM] = None
    for query in shape["queries"]:
        for name in _VALUES:
            if name in query:
                query[name] = None
    return shape


def with_values(context: ChartDataQueryContext, payload: Mapping[str, Any]) -> ChartDataQueryContext | None:
    """Return the context of a payload, from the context of another one of the same shape; None: a value is at fault."""
    try:
        queries = tuple(
            query.model_copy(update=_values(given))
            for query, given in zip(context.queries, payload["queries"], strict=True)
        )
    except ValidationError:
        return None
    form = {_FORM: payload[_FORM]} if _FORM in payload else {}
    return context.model_copy(update={"queries": queries, **form})


def _values(query: Mapping[str, Any]) -> dict[str, Any]:
    given = {name: query[name] for name in _VALUES if name in query}
    read = _QueryValues.model_validate(given)
    return {name: getattr(read, name) for name in given}
