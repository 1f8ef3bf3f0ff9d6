"""Further answers about charts (contract, Other chart shapes)."""

from __future__ import annotations

from analytics_core.models.base import Answer, Bool, JsonObject, Moment, Whole


class ChartEntity(Answer):
    """A chart as a dashboard shows it (contract, `ChartEntityResponseSchema`)."""

    id: Whole = 0
    slice_name: str | None = None
    slice_url: str | None = None
    description: str | None = None
    description_markeddown: str | None = None
    cache_timeout: Whole | None = None
    certified_by: str | None = None
    certification_details: str | None = None
    changed_on: Moment | None = None
    form_data: JsonObject | None = None


class FavoriteStatus(Answer):
    """Whether a chart is a favorite of the caller (contract, `ChartFavStarResponseResult`)."""

    id: Whole = 0
    value: Bool = False


class FavoriteStatuses(Answer):
    """Which charts are favorites of the caller (contract, `GetFavStarIdsSchema`)."""

    result: tuple[FavoriteStatus, ...] = ()


class ChartDatasourceValue(Answer):
    """The source of a chart by id (contract, field `value`; the type is a number here)."""

    datasource_id: Whole | None = None
    datasource_type: Whole | None = None


class ChartDatasourceItem(Answer):
    """The source of a chart under its label."""

    label: str | None = None
    value: ChartDatasourceValue | None = None


class ChartDatasource(Answer):
    """The source of a chart (contract, `ChartGetDatasourceResponseSchema`)."""

    count: Whole = 0
    result: ChartDatasourceItem | None = None


class ChartScreenshot(Answer):
    """Where the picture of a chart is (contract, `ChartCacheScreenshotResponseSchema`)."""

    cache_key: str | None = None
    chart_url: str | None = None
    image_url: str | None = None
