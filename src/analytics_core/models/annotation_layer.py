"""The annotation layers of a chart query (contract, Annotation layer configuration inside a chart query)."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field

from analytics_core.models.base import Bool, LenientShape, Name, Omittable


class AnnotationType(StrEnum):
    """What a layer shows."""

    FORMULA = "FORMULA"
    INTERVAL = "INTERVAL"
    EVENT = "EVENT"
    TIME_SERIES = "TIME_SERIES"


class AnnotationSource(StrEnum):
    """Where the data of a layer comes from."""

    NONE = ""
    LINE = "line"
    NATIVE = "NATIVE"
    TABLE = "table"


class AnnotationOpacity(StrEnum):
    """How opaque a layer is drawn."""

    NONE = ""
    LOW = "opacityLow"
    MEDIUM = "opacityMedium"
    HIGH = "opacityHigh"


class AnnotationStyle(StrEnum):
    """The line of a time-series layer."""

    DASHED = "dashed"
    DOTTED = "dotted"
    SOLID = "solid"
    LONG_DASHED = "longDashed"


class AnnotationLayer(LenientShape):
    """One layer over a chart; `value` is a formula, or the id of the source (contract, `AnnotationLayer`)."""

    name: Name
    show: Bool
    show_markers: Bool = Field(alias="showMarkers")
    value: Any
    annotation_type: Omittable[AnnotationType] = Field(default=None, alias="annotationType")
    source_type: Omittable[AnnotationSource] = Field(default=None, alias="sourceType")
    color: Name | None = None
    opacity: AnnotationOpacity | None = None
    style: Omittable[AnnotationStyle] = None
    width: Omittable[Annotated[float, Field(ge=0, strict=True)]] = None
    hide_line: Bool | None = Field(default=None, alias="hideLine")
    show_label: Bool | None = Field(default=None, alias="showLabel")
    description_columns: Omittable[tuple[Name, ...]] = Field(default=None, alias="descriptionColumns")
    interval_end_column: Name | None = Field(default=None, alias="intervalEndColumn")
    time_column: Name | None = Field(default=None, alias="timeColumn")
    title_column: Name | None = Field(default=None, alias="titleColumn")
    overrides: dict[str, Any] | None = None
