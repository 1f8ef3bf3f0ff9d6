"""Turns annotation payloads into records; pure."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from analytics_core._records.chart import Annotation
from analytics_core.errors import PayloadSchemaError, Problem
from analytics_core.models.annotation import AnnotationPost, AnnotationPut

_MOMENTS = ("start_dttm", "end_dttm")


def new_annotation(post: AnnotationPost, *, layer_id: int) -> Annotation:
    """Return the record of a create payload; PayloadSchemaError when it ends before it starts."""
    shape = "AnnotationRestApi.post"
    return _checked(Annotation(layer_id=layer_id, **_with_utc_moments(post.given(), shape)), shape)


def changed_annotation(annotation: Annotation, put: AnnotationPut) -> Annotation:
    """Return the record after an update; PayloadSchemaError when it would end before it starts."""
    shape = "AnnotationRestApi.put"
    return _checked(replace(annotation, **_with_utc_moments(put.given(), shape)), shape)


def _with_utc_moments(given: dict[str, Any], shape: str) -> dict[str, Any]:
    return {name: _utc(value, name, shape) if name in _MOMENTS else value for name, value in given.items()}


def _utc(moment: datetime, name: str, shape: str) -> datetime:
    """Return a moment in UTC; one without a zone is in UTC already."""
    try:
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except OverflowError:
        problem = Problem(path=name, message="must be between the years 1 and 9999 in UTC")
        raise PayloadSchemaError(shape=shape, problems=[problem]) from None


def _checked(annotation: Annotation, shape: str) -> Annotation:
    if annotation.end_dttm < annotation.start_dttm:
        start = annotation.start_dttm.isoformat()
        problem = Problem(path="end_dttm", message=f"must not be before start_dttm, which is {start}")
        raise PayloadSchemaError(shape=shape, problems=[problem])
    return annotation
