"""Shapes of annotation layers and their annotations (contract, sections Annotation layer and Annotation).

The layers inside a chart query are `models.query.AnnotationLayer`.
"""

from __future__ import annotations

from analytics_core.models.base import (
    Answer,
    Integer,
    JsonInput,
    JsonText,
    Moment,
    Omittable,
    ReadOnly,
    StampedAnswer,
    StrictShape,
    Text250,
    Text500,
    Title250,
    Title500,
)
from analytics_core.models.references import UserFirstName, UserNames


class AnnotationLayerPost(StrictShape):
    """An annotation layer to create (contract, `AnnotationLayerRestApi.post`)."""

    name: Title250
    descr: str | None = None


class AnnotationLayerPut(StrictShape):
    """Changes of an annotation layer (contract, `AnnotationLayerRestApi.put`)."""

    name: Omittable[Title250] = None
    descr: Omittable[str] = None


class AnnotationLayerGet(StampedAnswer):
    """One annotation layer (contract, `AnnotationLayerRestApi.get`)."""

    id: Integer = 0
    name: Text250 | None = None
    descr: str | None = None


class AnnotationLayerListItem(Answer):
    """One annotation layer of a list (contract, `AnnotationLayerRestApi.get_list`)."""

    id: Integer = 0
    name: Text250 | None = None
    descr: str | None = None
    created_on: Moment | None = None
    changed_on: Moment | None = None
    created_by: UserNames | None = None
    changed_by: UserNames | None = None
    changed_on_delta_humanized: ReadOnly[str] = None


class AnnotationPost(StrictShape):
    """An annotation to create in a layer; both ends belong to it (contract, `AnnotationRestApi.post`)."""

    start_dttm: Moment
    end_dttm: Moment
    short_descr: Title500
    long_descr: str | None = None
    json_metadata: JsonInput | None = None


class AnnotationPut(StrictShape):
    """Changes of an annotation (contract, `AnnotationRestApi.put`)."""

    start_dttm: Omittable[Moment] = None
    end_dttm: Omittable[Moment] = None
    short_descr: Omittable[Title500] = None
    long_descr: str | None = None
    json_metadata: JsonInput | None = None


class LayerOfAnnotation(Answer):
    """The layer of an annotation (contract, field `layer` of `AnnotationRestApi.get`)."""

    id: Integer = 0
    name: Text250 | None = None


class AnnotationGet(StampedAnswer):
    """One annotation with its layer (contract, `AnnotationRestApi.get`)."""

    id: Integer = 0
    start_dttm: Moment | None = None
    end_dttm: Moment | None = None
    short_descr: Text500 | None = None
    long_descr: str | None = None
    json_metadata: JsonText | None = None
    layer: LayerOfAnnotation


class AnnotationListItem(StampedAnswer):
    """One annotation of a list (contract, `AnnotationRestApi.get_list`)."""

    id: Integer = 0
    start_dttm: Moment | None = None
    end_dttm: Moment | None = None
    short_descr: Text500 | None = None
    long_descr: str | None = None
    created_by: UserFirstName | None = None
    changed_by: UserFirstName | None = None
    changed_on_delta_humanized: ReadOnly[str] = None
