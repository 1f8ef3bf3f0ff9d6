"""The contract's shapes as pydantic models, one file per resource; each is loaded on first use.

`SHAPES` maps the contract's names of shapes to their models.
"""

# ruff: isort: skip_file
from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from analytics_core.models.annotation import (
        AnnotationGet as AnnotationGet,
        AnnotationLayerGet as AnnotationLayerGet,
        AnnotationLayerListItem as AnnotationLayerListItem,
        AnnotationLayerPost as AnnotationLayerPost,
        AnnotationLayerPut as AnnotationLayerPut,
        AnnotationListItem as AnnotationListItem,
        AnnotationPost as AnnotationPost,
        AnnotationPut as AnnotationPut,
        LayerOfAnnotation as LayerOfAnnotation,
    )
    from analytics_core.models.cache import (
        CacheInvalidationRequest as CacheInvalidationRequest,
        CacheWarmUpResult as CacheWarmUpResult,
        ChartCacheWarmUpRequest as ChartCacheWarmUpRequest,
        ChartCacheWarmUpResponse as ChartCacheWarmUpResponse,
        DatasetCacheWarmUpRequest as DatasetCacheWarmUpRequest,
        DatasetCacheWarmUpResponse as DatasetCacheWarmUpResponse,
        DatasourceName as DatasourceName,
    )
    from analytics_core.models.chart import (
        ChartDatasource as ChartDatasource,
        ChartDatasourceItem as ChartDatasourceItem,
        ChartDatasourceValue as ChartDatasourceValue,
        ChartEntity as ChartEntity,
        ChartGet as ChartGet,
        ChartListItem as ChartListItem,
        ChartPost as ChartPost,
        ChartPut as ChartPut,
        ChartScreenshot as ChartScreenshot,
        FavoriteStatus as FavoriteStatus,
        FavoriteStatuses as FavoriteStatuses,
    )
    from analytics_core.models.dashboard import (
        CssTemplateGet as CssTemplateGet,
        CssTemplateListItem as CssTemplateListItem,
        CssTemplatePost as CssTemplatePost,
        CssTemplatePut as CssTemplatePut,
        DashboardCopy as DashboardCopy,
        DashboardGet as DashboardGet,
        DashboardListItem as DashboardListItem,
        DashboardNativeFiltersUpdate as DashboardNativeFiltersUpdate,
        DashboardPermalinkState as DashboardPermalinkState,
        DashboardPost as DashboardPost,
        DashboardPut as DashboardPut,
        TagGet as TagGet,
        TagPost as TagPost,
        TagPut as TagPut,
        TagTarget as TagTarget,
        TaggedRecord as TaggedRecord,
    )
    from analytics_core.models.database import (
        DatabaseConnection as DatabaseConnection,
        DatabaseExtra as DatabaseExtra,
        DatabaseFunctionNames as DatabaseFunctionNames,
        DatabaseGet as DatabaseGet,
        DatabaseListItem as DatabaseListItem,
        DatabasePost as DatabasePost,
        DatabasePut as DatabasePut,
        DatabaseTable as DatabaseTable,
        DatabaseTestConnection as DatabaseTestConnection,
        DatabaseValidateParameters as DatabaseValidateParameters,
        FileUploadSchemas as FileUploadSchemas,
        MetadataCacheTimeout as MetadataCacheTimeout,
        OAuth2Client as OAuth2Client,
        OAuth2ContentType as OAuth2ContentType,
        OAuth2State as OAuth2State,
        OAuth2Token as OAuth2Token,
        SshTunnel as SshTunnel,
    )
    from analytics_core.models.dataset import (
        ColumnPut as ColumnPut,
        DashboardDataset as DashboardDataset,
        DatabaseNameOnly as DatabaseNameOnly,
        DatabaseOfDataset as DatabaseOfDataset,
        DatabaseOfDatasetItem as DatabaseOfDatasetItem,
        DatabaseSummary as DatabaseSummary,
        DatasetDescription as DatasetDescription,
        DatasetDuplicate as DatasetDuplicate,
        DatasetGet as DatasetGet,
        DatasetListItem as DatasetListItem,
        DatasetPost as DatasetPost,
        DatasetPut as DatasetPut,
        GetOrCreateDataset as GetOrCreateDataset,
        MetricPut as MetricPut,
        SqlMetric as SqlMetric,
        TableColumn as TableColumn,
    )
    from analytics_core.models.embedded import (
        AvailableDomains as AvailableDomains,
        EmbeddedDashboardConfig as EmbeddedDashboardConfig,
        EmbeddedDashboardGet as EmbeddedDashboardGet,
        EmbeddedDashboardUuid as EmbeddedDashboardUuid,
        EmbeddedDashboardUuidPayload as EmbeddedDashboardUuidPayload,
        GuestResource as GuestResource,
        GuestResourceType as GuestResourceType,
        GuestRowRule as GuestRowRule,
        GuestTokenCreate as GuestTokenCreate,
        GuestUser as GuestUser,
    )
    from analytics_core.models.enums import (
        Aggregate as Aggregate,
        ConfigurationMethod as ConfigurationMethod,
        DatasourceType as DatasourceType,
        ExpressionType as ExpressionType,
        FilterOperator as FilterOperator,
        GenericType as GenericType,
        QueryStatus as QueryStatus,
        RelativeTime as RelativeTime,
        ResultFormat as ResultFormat,
        ResultType as ResultType,
        TagType as TagType,
        TimeGrain as TimeGrain,
    )
    from analytics_core.models.explore import (
        AdvancedDataTypeResult as AdvancedDataTypeResult,
        DashboardPermalink as DashboardPermalink,
        ExploreContext as ExploreContext,
        ExplorePermalink as ExplorePermalink,
        ExplorePermalinkState as ExplorePermalinkState,
        ExploreSlice as ExploreSlice,
        FormDataPost as FormDataPost,
        FormDataPut as FormDataPut,
        Permalink as Permalink,
    )
    from analytics_core.models.lists import (
        DistinctItem as DistinctItem,
        DistinctResponse as DistinctResponse,
        FilterItem as FilterItem,
        ListOperator as ListOperator,
        RelatedChart as RelatedChart,
        RelatedCharts as RelatedCharts,
        RelatedDashboard as RelatedDashboard,
        RelatedDashboards as RelatedDashboards,
        RelatedItem as RelatedItem,
        RelatedObjects as RelatedObjects,
        RelatedResponse as RelatedResponse,
    )
    from analytics_core.models.log import (
        LogGet as LogGet,
        LogListItem as LogListItem,
        LogPost as LogPost,
        LogPut as LogPut,
        RecentActivity as RecentActivity,
        RecentActivityList as RecentActivityList,
        UserOfLog as UserOfLog,
    )
    from analytics_core.models.parsing import (
        parse as parse,
        parse_query_context as parse_query_context,
    )
    from analytics_core.models.people import (
        GrantGet as GrantGet,
        RoleGet as RoleGet,
        RolePost as RolePost,
        RolePut as RolePut,
        UserGet as UserGet,
        UserPost as UserPost,
        UserPut as UserPut,
    )
    from analytics_core.models.query import (
        AdhocColumn as AdhocColumn,
        AdhocMetric as AdhocMetric,
        AdhocMetricColumn as AdhocMetricColumn,
        AnnotationOpacity as AnnotationOpacity,
        AnnotationSource as AnnotationSource,
        AnnotationStyle as AnnotationStyle,
        AnnotationType as AnnotationType,
        ChartAnnotationLayer as ChartAnnotationLayer,
        ChartDataDatasource as ChartDataDatasource,
        ChartDataExtras as ChartDataExtras,
        ChartDataFilter as ChartDataFilter,
        ChartDataQueryContext as ChartDataQueryContext,
        ChartDataQueryObject as ChartDataQueryObject,
        PostProcessingOperation as PostProcessingOperation,
    )
    from analytics_core.models.references import (
        DashboardReference as DashboardReference,
        DashboardReferenceWithMetadata as DashboardReferenceWithMetadata,
        DatasetReference as DatasetReference,
        OnlyId as OnlyId,
        OnlyIdPayload as OnlyIdPayload,
        RoleReference as RoleReference,
        TagReference as TagReference,
        UserDetails as UserDetails,
        UserFirstName as UserFirstName,
        UserNames as UserNames,
        UserReference as UserReference,
    )
    from analytics_core.models.report import (
        ChartOfReport as ChartOfReport,
        ComparisonOperator as ComparisonOperator,
        DatabaseOfReport as DatabaseOfReport,
        RecipientConfig as RecipientConfig,
        RecipientOfListItem as RecipientOfListItem,
        RecipientOfReport as RecipientOfReport,
        RecipientType as RecipientType,
        ReportCreationMethod as ReportCreationMethod,
        ReportExecutionLogGet as ReportExecutionLogGet,
        ReportExecutionLogListItem as ReportExecutionLogListItem,
        ReportFormat as ReportFormat,
        ReportRecipient as ReportRecipient,
        ReportScheduleGet as ReportScheduleGet,
        ReportScheduleListItem as ReportScheduleListItem,
        ReportSchedulePost as ReportSchedulePost,
        ReportSchedulePut as ReportSchedulePut,
        ReportType as ReportType,
        ValidatorConfig as ValidatorConfig,
    )
    from analytics_core.models.results import (
        ChartDataAsyncResponse as ChartDataAsyncResponse,
        ChartDataResponse as ChartDataResponse,
        ChartDataResult as ChartDataResult,
        ErrorBody as ErrorBody,
        ErrorBodyWithErrors as ErrorBodyWithErrors,
        ErrorEntry as ErrorEntry,
        JobItem as JobItem,
        JobPage as JobPage,
    )
    from analytics_core.models.row_level_security import (
        RowRuleFilterType as RowRuleFilterType,
        RowRuleGet as RowRuleGet,
        RowRuleListItem as RowRuleListItem,
        RowRulePost as RowRulePost,
        RowRulePut as RowRulePut,
        TableReference as TableReference,
    )
    from analytics_core.models.shapes import (
        SHAPES as SHAPES,
    )
    from analytics_core.models.sql_editor import (
        DatabaseOfQuery as DatabaseOfQuery,
        EstimateQueryCost as EstimateQueryCost,
        ExecutePayload as ExecutePayload,
        QueryExecutionResponse as QueryExecutionResponse,
        QueryGet as QueryGet,
        QueryListItem as QueryListItem,
        SqlQueryResult as SqlQueryResult,
    )

_NAMES = {
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
        "DashboardListItem DashboardNativeFiltersUpdate DashboardPermalinkState DashboardPost DashboardPut TagGet "
        "TagPost TagPut TagTarget TaggedRecord"
    ),
    "database": (
        "DatabaseConnection DatabaseExtra DatabaseFunctionNames DatabaseGet DatabaseListItem DatabasePost "
        "DatabasePut DatabaseTable DatabaseTestConnection DatabaseValidateParameters FileUploadSchemas "
        "MetadataCacheTimeout OAuth2Client OAuth2ContentType OAuth2State OAuth2Token SshTunnel"
    ),
    "dataset": (
        "ColumnPut DashboardDataset DatabaseNameOnly DatabaseOfDataset DatabaseOfDatasetItem DatabaseSummary "
        "DatasetDescription DatasetDuplicate DatasetGet DatasetListItem DatasetPost DatasetPut GetOrCreateDataset "
        "MetricPut SqlMetric TableColumn"
    ),
    "embedded": (
        "AvailableDomains EmbeddedDashboardConfig EmbeddedDashboardGet EmbeddedDashboardUuid "
        "EmbeddedDashboardUuidPayload GuestResource GuestResourceType GuestRowRule GuestTokenCreate GuestUser"
    ),
    "enums": (
        "Aggregate ConfigurationMethod DatasourceType ExpressionType FilterOperator GenericType QueryStatus "
        "RelativeTime ResultFormat ResultType TagType TimeGrain"
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
    "parsing": "parse parse_query_context",
    "people": "GrantGet RoleGet RolePost RolePut UserGet UserPost UserPut",
    "query": (
        "AdhocColumn AdhocMetric AdhocMetricColumn AnnotationOpacity AnnotationSource AnnotationStyle "
        "AnnotationType ChartAnnotationLayer ChartDataDatasource ChartDataExtras ChartDataFilter "
        "ChartDataQueryContext ChartDataQueryObject PostProcessingOperation"
    ),
    "references": (
        "DashboardReference DashboardReferenceWithMetadata DatasetReference OnlyId OnlyIdPayload RoleReference "
        "TagReference UserDetails UserFirstName UserNames UserReference"
    ),
    "report": (
        "ChartOfReport ComparisonOperator DatabaseOfReport RecipientConfig RecipientOfListItem RecipientOfReport "
        "RecipientType ReportCreationMethod ReportExecutionLogGet ReportExecutionLogListItem ReportFormat "
        "ReportRecipient ReportScheduleGet ReportScheduleListItem ReportSchedulePost ReportSchedulePut ReportType "
        "ValidatorConfig"
    ),
    "results": (
        "ChartDataAsyncResponse ChartDataResponse ChartDataResult ErrorBody ErrorBodyWithErrors ErrorEntry JobItem "
        "JobPage"
    ),
    "row_level_security": "RowRuleFilterType RowRuleGet RowRuleListItem RowRulePost RowRulePut TableReference",
    "shapes": "SHAPES",
    "sql_editor": (
        "DatabaseOfQuery EstimateQueryCost ExecutePayload QueryExecutionResponse QueryGet QueryListItem SqlQueryResult"
    ),
}
"""The public names of each module of this package, as above: a test holds both equal."""

_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = sorted(_HOME)  # noqa: PLE0605 - a sorted list of the names above


if not TYPE_CHECKING:  # type checkers read the imports above

    def __getattr__(name: str) -> Any:
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *_HOME]
