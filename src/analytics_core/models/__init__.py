"""The contract's shapes as pydantic models, one file per resource; each is loaded on first use.

`SHAPES` maps the contract's names of shapes to their models.
"""

# ruff: noqa: F403 - for type checkers; a test holds the public names of each module to the table below
from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from analytics_core.models.administrator import *
    from analytics_core.models.annotation import *
    from analytics_core.models.cache import *
    from analytics_core.models.chart import *
    from analytics_core.models.dashboard import *
    from analytics_core.models.database import *
    from analytics_core.models.dataset import *
    from analytics_core.models.embedded import *
    from analytics_core.models.enums import *
    from analytics_core.models.explore import *
    from analytics_core.models.lists import *
    from analytics_core.models.log import *
    from analytics_core.models.parsing import parse as parse
    from analytics_core.models.parsing.query_context import parse_query_context as parse_query_context
    from analytics_core.models.people import *
    from analytics_core.models.query import *
    from analytics_core.models.references import *
    from analytics_core.models.report import *
    from analytics_core.models.results import *
    from analytics_core.models.shapes import SHAPES as SHAPES
    from analytics_core.models.sql_editor import *
    from analytics_core.models.table import *

_NAMES = {
    "administrator": "FirstAdministrator",
    "annotation": (
        "AnnotationGet AnnotationLayerGet AnnotationLayerListItem AnnotationLayerPost AnnotationLayerPut "
        "AnnotationListItem AnnotationPost AnnotationPut LayerOfAnnotation"
    ),
    "cache": (
        "CacheInvalidationRequest CacheWarmUpResult ChartCacheWarmUpRequest ChartCacheWarmUpResponse "
        "DatasetCacheWarmUpRequest DatasetCacheWarmUpResponse DatasourceName"
    ),
    "chart": (
        "ChartDatasource ChartDatasourceItem ChartDatasourceValue ChartEntity ChartGet ChartListItem ChartPost "
        "ChartPut ChartScreenshot FavoriteStatus FavoriteStatuses"
    ),
    "dashboard": (
        "CssTemplateGet CssTemplateListItem CssTemplatePost CssTemplatePut DashboardCopy DashboardGet "
        "DashboardListItem DashboardNativeFiltersUpdate DashboardPermalinkState DashboardPost DashboardPut "
        "RecordIds TagGet TagNames TagPost TagPut TagTarget TaggedRecord"
    ),
    "table": (
        "DatabaseEngine DatabaseTableDetails FilePartMetadata FileUploadOptions TableColumnDetails TableForeignKey "
        "TableIndexDetails TableSample UploadFileMetadata UploadedColumn UploadedTable"
    ),
    "database": (
        "DatabaseConnection DatabaseExtra DatabaseFunctionNames DatabaseGet DatabaseListItem "
        "DatabaseParameters DatabasePost DatabasePut DatabaseTable DatabaseTestConnection DatabaseValidateParameters "
        "FileUploadSchemas "
        "MetadataCacheTimeout OAuth2Client OAuth2ContentType OAuth2State OAuth2Token SshTunnel"
    ),
    "dataset": (
        "ColumnPut DashboardDataset DatabaseNameOnly DatabaseOfDataset DatabaseOfDatasetItem DatabaseSummary "
        "DatasetDescription DatasetDuplicate DatasetGet DatasetListItem DatasetPost DatasetPut GetOrCreateDataset "
        "MetricPut SqlMetric TableColumn"
    ),
    "embedded": (
        "AvailableDomains EmbeddedDashboardConfig EmbeddedDashboardGet EmbeddedDashboardUuid "
        "EmbeddedDashboardUuidPayload GuestClaims GuestResource GuestResourceType GuestRowRule GuestTokenCreate "
        "GuestUser"
    ),
    "enums": (
        "Aggregate ConfigurationMethod DatasourceType ExpressionType FileKind FilterOperator GenericType JobState "
        "PictureFormat QueryStatus RelativeTime ReportType ResultFormat ResultType TableExists TagType TimeGrain"
    ),
    "explore": (
        "AdvancedDataTypeResult DashboardPermalink ExploreContext ExplorePermalink ExplorePermalinkState "
        "ExploreSlice FormDataPost FormDataPut Permalink"
    ),
    "lists": (
        "DistinctItem DistinctResponse FilterItem ListOperator RelatedChart RelatedCharts RelatedDashboard "
        "RelatedDashboards RelatedItem RelatedObjects RelatedResponse"
    ),
    "log": "LogGet LogListItem LogPost LogPut RecentActivity RecentActivityList UserOfLog",
    "parsing": "parse",
    "people": (
        "GrantGet RoleGet RolePost RolePut RowRuleFilterType RowRuleGet RowRuleListItem RowRulePost "
        "RowRulePut TableReference UserGet UserPost UserPut"
    ),
    "query": (
        "AdhocColumn AdhocMetric AdhocMetricColumn AnnotationOpacity AnnotationSource AnnotationStyle "
        "AnnotationType ChartAnnotationLayer ChartDataDatasource ChartDataExtras ChartDataFilter "
        "ChartDataQueryContext ChartDataQueryObject FilterValue OrderKey PostProcessingOperation QueryColumn "
        "QueryMetric SavedMetric"
    ),
    "parsing.query_context": "parse_query_context",
    "references": (
        "DashboardReference DashboardReferenceWithMetadata DatasetReference OnlyId OnlyIdPayload RoleReference "
        "TagReference UserDetails UserFirstName UserNames UserReference"
    ),
    "report": (
        "ChartOfReport ComparisonOperator DatabaseOfReport DeliveryOfRun RecipientConfig RecipientOfListItem "
        "RecipientOfReport RecipientType ReportCreationMethod ReportExecutionLogGet ReportExecutionLogListItem "
        "ReportFormat ReportRecipient ReportScheduleGet ReportScheduleListItem ReportSchedulePost ReportSchedulePut "
        "ValidatorConfig"
    ),
    "results": (
        "ChartDataAsyncResponse ChartDataResponse ChartDataResult ErrorBody ErrorBodyWithErrors ErrorEntry JobItem "
        "JobPage"
    ),
    "shapes": "SHAPES",
    "sql_editor": (
        "DatabaseOfQuery EstimateQueryCost ExecutePayload QueryExecutionResponse QueryGet QueryListItem SavedQueryGet "
        "SavedQueryListItem SavedQueryPost SavedQueryPut SqlQueryResult"
    ),
}
"""The public names of each module of this package."""

_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = sorted(_HOME)  # noqa: PLE0605 - a sorted list of the names above


if not TYPE_CHECKING:  # type checkers read the imports above

    def __getattr__(name: str) -> Any:
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *_HOME]
