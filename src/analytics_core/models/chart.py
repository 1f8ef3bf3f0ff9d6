"""Shapes of charts and further answers about them (contract, sections Chart and Other chart shapes).

`ChartRestApi` and `ChartDataRestApi` are alike.
"""

from __future__ import annotations

from typing import Any

from analytics_core.models.base import (
    Answer,
    Bool,
    Ids,
    Integer,
    JsonInput,
    JsonObject,
    JsonText,
    ListAnswer,
    Moment,
    Omittable,
    ReadOnly,
    StampedAnswer,
    StrictShape,
    Text200,
    Text250,
    Title250,
)
from analytics_core.models.enums import DatasourceType
from analytics_core.models.references import (
    DashboardReference,
    DashboardReferenceWithMetadata,
    DatasetReference,
    TagReference,
    UserNames,
    UserReference,
)


class _ChartPayload(StrictShape):
    """What a create and an update payload share."""

    datasource_name: str | None = None
    description: str | None = None
    cache_timeout: Integer | None = None
    certified_by: str | None = None
    certification_details: str | None = None
    params: JsonInput | None = None
    query_context: JsonInput | None = None
    query_context_generation: Bool | None = None
    external_url: str | None = None
    is_managed_externally: Bool | None = None


class ChartPost(_ChartPayload):
    """A chart to create; without `owners` the creator owns it (contract, `ChartRestApi.post`).

    `cache_timeout` is in seconds; None: the dataset's.
    """

    slice_name: Title250
    datasource_id: Integer
    datasource_type: DatasourceType
    viz_type: Omittable[Text250] = None
    dashboards: Omittable[Ids] = None
    owners: Omittable[Ids] = None


class ChartPut(_ChartPayload):
    """Changes of a chart (contract, `ChartRestApi.put`)."""

    slice_name: Text250 | None = None
    datasource_id: Integer | None = None
    datasource_type: DatasourceType | None = None
    viz_type: Text250 | None = None
    dashboards: Ids | None = None
    owners: Ids | None = None
    tags: tuple[TagReference, ...] | None = None


class _ChartAnswer(Answer):
    """What a chart and an item of a list of charts share."""

    id: Integer = 0
    slice_name: Text250 | None = None
    viz_type: Text250 | None = None
    description: str | None = None
    cache_timeout: Integer | None = None
    certified_by: str | None = None
    certification_details: str | None = None
    params: JsonText | None = None
    is_managed_externally: Bool = False
    owners: tuple[UserReference, ...] = ()
    tags: tuple[TagReference, ...] = ()
    changed_on_delta_humanized: ReadOnly[str] = None
    thumbnail_url: ReadOnly[str] = None
    url: ReadOnly[str] = None


class ChartGet(_ChartAnswer, StampedAnswer):
    """One chart (contract, `ChartRestApi.get`)."""

    query_context: JsonText | None = None
    dashboards: tuple[DashboardReferenceWithMetadata, ...] = ()


class ChartListItem(_ChartAnswer):
    """One chart of a list (contract, `ChartRestApi.get_list`)."""

    datasource_id: Integer | None = None
    datasource_type: Text200 | None = None
    last_saved_at: Moment | None = None
    last_saved_by: UserReference | None = None
    created_by: UserReference | None = None
    changed_by: UserNames | None = None
    dashboards: tuple[DashboardReference, ...] = ()
    table: DatasetReference | None = None
    changed_by_name: ReadOnly[str] = None
    changed_on_dttm: ReadOnly[float] = None
    changed_on_utc: ReadOnly[str] = None
    created_by_name: ReadOnly[str] = None
    created_on_delta_humanized: ReadOnly[str] = None
    datasource_name_text: ReadOnly[str] = None
    datasource_url: ReadOnly[str] = None
    description_markeddown: ReadOnly[str] = None
    edit_url: ReadOnly[str] = None
    form_data: ReadOnly[Any] = None
    slice_url: ReadOnly[str] = None


class ChartEntity(Answer):
    """A chart as a dashboard shows it (contract, `ChartEntityResponseSchema`)."""

    id: Integer = 0
    slice_name: str | None = None
    slice_url: str | None = None
    description: str | None = None
    description_markeddown: str | None = None
    cache_timeout: Integer | None = None
    certified_by: str | None = None
    certification_details: str | None = None
    changed_on: Moment | None = None
    form_data: JsonObject | None = None


class FavoriteStatus(Answer):
    """Whether a chart is a favorite of the caller (contract, `ChartFavStarResponseResult`)."""

    id: Integer = 0
    value: Bool = False


class FavoriteStatuses(ListAnswer):
    """Which charts are favorites of the caller (contract, `GetFavStarIdsSchema`)."""

    result: tuple[FavoriteStatus, ...] = ()


class ChartDatasourceValue(Answer):
    """The source of a chart by id (contract, field `value`; the type is a number here)."""

    datasource_id: Integer | None = None
    datasource_type: Integer | None = None


class ChartDatasourceItem(Answer):
    """The source of a chart under its label."""

    label: str | None = None
    value: ChartDatasourceValue | None = None


class ChartDatasource(Answer):
    """The source of a chart (contract, `ChartGetDatasourceResponseSchema`)."""

    count: Integer = 0
    result: ChartDatasourceItem | None = None


class ChartScreenshot(Answer):
    """Where the picture of a chart is (contract, `ChartCacheScreenshotResponseSchema`)."""

    cache_key: str | None = None
    chart_url: str | None = None
    image_url: str | None = None
