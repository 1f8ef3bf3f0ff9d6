"""Shapes of the explore view and of stored form data (contract, section Explore and stored form data)."""

from __future__ import annotations

from pydantic import ConfigDict, Field

from analytics_core.models.base import (
    Answer,
    Bool,
    Ids,
    Integer,
    JsonInput,
    JsonObject,
    KeyValue,
    Omittable,
    StrictShape,
    Texts,
)
from analytics_core.models.chart import ChartEntity
from analytics_core.models.dashboard import DashboardPermalinkState
from analytics_core.models.dataset import DatasetDescription
from analytics_core.models.enums import DatasourceType


class ExploreSlice(ChartEntity):
    """The chart of an explore view. The contract names this shape, `Slice`, and does not show it: a chart's fields."""

    model_config = ConfigDict(extra="allow")

    slice_id: Integer | None = None
    datasource: str | None = None
    is_managed_externally: Bool = False
    owners: Ids = ()
    query_context: JsonObject | None = None


class ExploreContext(Answer):
    """What an explore view starts from (contract, `ExploreContextSchema`)."""

    dataset: DatasetDescription | None = None
    slice: ExploreSlice | None = None
    form_data: JsonObject | None = None
    message: str | None = None


class ExplorePermalinkState(StrictShape):
    """What a permalink to a chart remembers (contract, `ExplorePermalinkStateSchema`)."""

    form_data: JsonObject = Field(alias="formData")
    url_params: tuple[KeyValue, ...] | None = Field(default=None, alias="urlParams")


class Permalink(Answer):
    """A permalink that was made: its key, and its address where the host has one. The contract does not show it."""

    key: str
    url: str | None = None


class ExplorePermalink(Answer):
    """What a permalink to a chart's state holds; `chart_id` is None when the state is of no stored chart."""

    chart_id: Integer | None = Field(default=None, alias="chartId")
    datasource_id: Integer = Field(alias="datasourceId")
    datasource_type: DatasourceType = Field(alias="datasourceType")
    state: ExplorePermalinkState


class DashboardPermalink(Answer):
    """What a permalink to a dashboard's state holds."""

    dashboard_id: Integer = Field(alias="dashboardId")
    state: DashboardPermalinkState


class FormDataPost(StrictShape):
    """Form data to store for a datasource, and for a chart of it (contract, `FormDataPostSchema`)."""

    datasource_id: Integer
    datasource_type: DatasourceType
    form_data: JsonInput
    chart_id: Omittable[Integer] = None


class FormDataPut(FormDataPost):
    """Form data to store in place of another (contract, `FormDataPutSchema`)."""


class AdvancedDataTypeResult(Answer):
    """How values read as an advanced data type (contract, `AdvancedDataTypeSchema`)."""

    display_value: str | None = None
    error_message: str | None = None
    valid_filter_operators: Texts = ()
    values: Texts = ()
