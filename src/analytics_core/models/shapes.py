"""SHAPES: the contract's names of shapes, and their models."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from pydantic import BaseModel

from analytics_core.models import chart, database, dataset, postprocessing, query
from analytics_core.models.annotation_layer import AnnotationLayer

SHAPES: Mapping[str, type[BaseModel]] = MappingProxyType(
    {
        "AnnotationLayer": AnnotationLayer,
        "ChartDataAdhocMetricSchema": query.AdhocMetric,
        "ChartDataExtras": query.ChartDataExtras,
        "ChartDataFilter": query.ChartDataFilter,
        "ChartDataQueryContextSchema": query.ChartDataQueryContext,
        "ChartDataQueryObject": query.ChartDataQueryObject,
        "ChartDataRestApi.get": chart.ChartGet,
        "ChartDataRestApi.get_list": chart.ChartListItem,
        "ChartDataRestApi.post": chart.ChartPost,
        "ChartDataRestApi.put": chart.ChartPut,
        "ChartRestApi.get": chart.ChartGet,
        "ChartRestApi.get_list": chart.ChartListItem,
        "ChartRestApi.post": chart.ChartPost,
        "ChartRestApi.put": chart.ChartPut,
        "DatabaseConnectionSchema": database.DatabaseConnection,
        "DatabaseRestApi.get": database.DatabaseGet,
        "DatabaseRestApi.get_list": database.DatabaseListItem,
        "DatabaseRestApi.post": database.DatabasePost,
        "DatabaseRestApi.put": database.DatabasePut,
        "DatabaseSSHTunnel": database.SshTunnel,
        "DatabaseTestConnectionSchema": database.DatabaseTestConnection,
        "DatasetColumnsPut": dataset.ColumnPut,
        "DatasetMetricsPut": dataset.MetricPut,
        "DatasetRestApi.get": dataset.DatasetGet,
        "DatasetRestApi.get.SqlMetric": dataset.SqlMetric,
        "DatasetRestApi.get.TableColumn": dataset.TableColumn,
        "DatasetRestApi.get_list": dataset.DatasetListItem,
        "DatasetRestApi.post": dataset.DatasetPost,
        "DatasetRestApi.put": dataset.DatasetPut,
        "PostProcessing.aggregate.options": postprocessing.AggregateOptions,
        "PostProcessing.aggregates.item": postprocessing.AggregateSpec,
        "PostProcessing.boxplot.options": postprocessing.BoxplotOptions,
        "PostProcessing.contribution.options": postprocessing.ContributionOptions,
        "PostProcessing.forecast.options": postprocessing.ForecastOptions,
        "PostProcessing.geodetic_parse.options": postprocessing.GeodeticParseOptions,
        "PostProcessing.geohash_decode.options": postprocessing.GeohashDecodeOptions,
        "PostProcessing.geohash_encode.options": postprocessing.GeohashEncodeOptions,
        "PostProcessing.operation": query.PostProcessingOperation,
        "PostProcessing.pivot.options": postprocessing.PivotOptions,
        "PostProcessing.rolling.options": postprocessing.RollingOptions,
        "PostProcessing.select.options": postprocessing.SelectOptions,
        "PostProcessing.sort.options": postprocessing.SortOptions,
    }
)
"""Each shape of the contract that a model exists for."""
