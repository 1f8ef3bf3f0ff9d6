"""The contract's shapes as pydantic models, one file per resource; each is loaded on first use.

`SHAPES` maps the contract's names of shapes to their models.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_NAMES: dict[str, tuple[str, ...]] = {
    "adhoc": (
        "AdhocColumn",
        "AdhocMetric",
        "AdhocMetricColumn",
    ),
    "annotation": (
        "AnnotationGet",
        "AnnotationLayerGet",
        "AnnotationLayerListItem",
        "AnnotationLayerPost",
        "AnnotationLayerPut",
        "AnnotationListItem",
        "AnnotationPost",
        "AnnotationPut",
        "LayerOfAnnotation",
    ),
    "annotation_layer": (
        "AnnotationLayer",
        "AnnotationOpacity",
        "AnnotationSource",
        "AnnotationStyle",
        "AnnotationType",
    ),
    "cache": (
        "CacheInvalidationRequest",
        "CacheWarmUpResult",
        "ChartCacheWarmUpRequest",
        "ChartCacheWarmUpResponse",
        "DatasetCacheWarmUpRequest",
        "DatasetCacheWarmUpResponse",
        "DatasourceName",
    ),
    "chart": (
        "ChartGet",
        "ChartListItem",
        "ChartPost",
        "ChartPut",
    ),
    "chart_answers": (
        "ChartDatasource",
        "ChartDatasourceItem",
        "ChartDatasourceValue",
        "ChartEntity",
        "ChartScreenshot",
        "FavoriteStatus",
        "FavoriteStatuses",
    ),
    "css_template": (
        "CssTemplateGet",
        "CssTemplateListItem",
        "CssTemplatePost",
        "CssTemplatePut",
    ),
    "dashboard": (
        "DashboardCopy",
        "DashboardGet",
        "DashboardListItem",
        "DashboardNativeFiltersUpdate",
        "DashboardPermalinkState",
        "DashboardPost",
        "DashboardPut",
    ),
    "database": (
        "DatabaseConnection",
        "DatabaseGet",
        "DatabaseListItem",
        "DatabasePost",
        "DatabasePut",
        "DatabaseTestConnection",
        "SshTunnel",
    ),
    "database_answers": (
        "DatabaseExtra",
        "DatabaseFunctionNames",
        "DatabaseTable",
        "DatabaseValidateParameters",
        "FileUploadSchemas",
        "MetadataCacheTimeout",
    ),
    "dataset": (
        "ColumnPut",
        "DatabaseOfDataset",
        "DatabaseOfDatasetItem",
        "DatasetGet",
        "DatasetListItem",
        "DatasetPost",
        "DatasetPut",
        "MetricPut",
        "SqlMetric",
        "TableColumn",
    ),
    "dataset_description": (
        "DashboardDataset",
        "DatabaseName",
        "DatabaseSummary",
        "DatasetDescription",
    ),
    "dataset_payloads": (
        "DatasetDuplicate",
        "GetOrCreateDataset",
    ),
    "embedded": (
        "AvailableDomains",
        "EmbeddedDashboardConfig",
        "EmbeddedDashboardGet",
        "EmbeddedDashboardUuid",
        "EmbeddedDashboardUuidPayload",
        "GuestResource",
        "GuestResourceType",
        "GuestRowRule",
        "GuestTokenCreate",
        "GuestUser",
    ),
    "error_bodies": (
        "ErrorBody",
        "ErrorBodyWithErrors",
        "ErrorEntry",
    ),
    "explore": (
        "AdvancedDataType",
        "DashboardPermalink",
        "ExploreContext",
        "ExplorePermalink",
        "ExplorePermalinkState",
        "ExploreSlice",
        "FormDataPost",
        "FormDataPut",
        "Permalink",
    ),
    "log": (
        "LogGet",
        "LogListItem",
        "LogPost",
        "LogPut",
        "RecentActivity",
        "RecentActivityList",
        "UserOfLog",
    ),
    "oauth2": (
        "OAuth2Client",
        "OAuth2ContentType",
        "OAuth2State",
        "OAuth2Token",
    ),
    "parsing": (
        "parse",
        "parse_query_context",
    ),
    "people": (
        "GrantGet",
        "RoleGet",
        "RolePost",
        "RolePut",
        "UserGet",
        "UserPost",
        "UserPut",
    ),
    "query": (
        "ChartDataDatasource",
        "ChartDataExtras",
        "ChartDataFilter",
        "ChartDataQueryContext",
        "ChartDataQueryObject",
        "PostProcessingOperation",
    ),
    "references": (
        "DashboardReference",
        "DashboardReferenceWithMetadata",
        "DatasetReference",
        "OnlyId",
        "OnlyIdPayload",
        "RoleReference",
        "TagReference",
        "UserDetails",
        "UserFirstName",
        "UserNames",
        "UserReference",
    ),
    "related": (
        "DistinctItem",
        "DistinctResponse",
        "RelatedChart",
        "RelatedCharts",
        "RelatedDashboard",
        "RelatedDashboards",
        "RelatedItem",
        "RelatedObjects",
        "RelatedResponse",
    ),
    "report": (
        "ChartOfReport",
        "ComparisonOperator",
        "DatabaseOfReport",
        "RecipientConfig",
        "RecipientOfListItem",
        "RecipientOfReport",
        "RecipientType",
        "ReportCreationMethod",
        "ReportExecutionLogGet",
        "ReportExecutionLogListItem",
        "ReportFormat",
        "ReportRecipient",
        "ReportScheduleGet",
        "ReportScheduleListItem",
        "ReportSchedulePost",
        "ReportSchedulePut",
        "ReportType",
        "ValidatorConfig",
    ),
    "results": (
        "ChartDataAsyncResponse",
        "ChartDataResponse",
        "ChartDataResult",
    ),
    "row_level_security": (
        "RowRuleGet",
        "RowRuleListItem",
        "RowRulePost",
        "RowRulePut",
        "RowRuleType",
        "TableReference",
    ),
    "shapes": ("SHAPES",),
    "sql_editor": (
        "DatabaseOfQuery",
        "EstimateQueryCost",
        "ExecutePayload",
        "QueryExecutionResponse",
        "QueryGet",
        "QueryListItem",
        "QueryResult",
    ),
    "tag": (
        "TagGet",
        "TagPost",
        "TagPut",
        "TagTarget",
        "TaggedRecord",
    ),
}
"""The public names of each module of this package."""

_HOME = {name: module for module, names in _NAMES.items() for name in names}

__all__ = sorted(_HOME)  # noqa: PLE0605 - a sorted list of the names above


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *_HOME]
