"""The names of fields of forms: which of them only draw, and which of them some builder asks."""

from __future__ import annotations

from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


DRAWN: Final = _words(
    """
    aggregateFunction align_pn allow_rearrange_columns allow_render_html animation area auto_zoom autozoom
    axis_label_distance bar_stacked base_node_size baseEdgeWidth baseNodeSize border_color border_width
    bottom_margin breakpoint_color bubble_size cache_timeout cell_padding cell_radius cell_size cellSize
    certification_details certified_by child_label_position clustering_radius color_breakpoints color_by
    color_by_primary_axis color_picker color_pn color_scheme color_scheme_type colOrder colSubtotalPosition
    colSubTotals colTotals column_config combineMetric comma_separator compare_lag compare_suffix
    comparison_color_enabled comparison_color_scheme conditional_formatting connect_nulls country_fieldtype
    currency_format currency_format_secondary curve_type dashboardId dashboards date_format date_time_format
    deck_slices_labels decrease_color default_breakpoint_color defaultSort description domain_granularity
    donut draggable dynamic_title echart_options edge_length edgeLength edgeSymbol emphasis end_angle
    equal_date_size extra_buttons extruded fill_color_picker filled font_size force_max_interval
    force_timestamp_formatting forecastModel friction global_opacity granularityB graph_layout graphLayout
    gravity grid_opacity grid_size header_font_size header_timestamp_format horizon_color_scale
    human_readable include_search include_series include_time increase_color initial_entities
    initialTreeDepth innerRadius interval_color_indices interval_colors intervals is_circle isDonut
    js_agg_function js_onclick_href js_tooltip label_colors label_line label_position label_template
    label_type labels_outside layout left_margin legend_format legend_position legend_type legendMargin
    legendOrientation legendPadding legendSort legendType line_charts line_charts_2 line_interpolation
    line_type line_width_multiplier line_width_unit linear_color_scheme link_length log_scale logAxis
    logAxisSecondary logXAxis logYAxis lower_label_type map_renderer map_style mapbox_label mapbox_style
    maplibre_style markerEnabled markerEnabledB markerSize markerSizeB markup_type max_bubble_size
    max_radius max_val max_width metric_color_formatters metric_name_font_size metricsLayout min_max
    min_radius min_val min_width minorSplitLine minorTicks multiplier node_label_position node_select
    nodeLabelPosition normalized num_buckets number_format number_of_colors only_total opacity opacity_field
    opacityB order_bars orient orientation outerRadius overlap page_length pandas_aggfunc partition_limit
    partition_threshold percent_calculation percent_calculation_type percentage_threshold
    percentDifferenceFormat point_radius point_radius_unit point_unit queries queryFields
    render_while_dragging repulsion reverse_long_lat rich_tooltip roam root_node_id rose_area_proportion
    rotation roseType round_cap rowOrder rowSubtotalPosition rowSubTotals rowTotals select_country selectedMode
    series_height series_line_width seriesType seriesTypeB server_pagination_note show_axis_tick
    show_bar_value show_bounds show_brush show_bubbles show_cell_bars show_controls show_dataset_name
    show_datatable show_empty_cells show_extra_controls show_labels show_labels_threshold show_last_updated
    show_legend show_lower_labels show_markers show_metric_name show_metrics_values show_null_links
    show_perc show_percentage show_pointer show_progress show_query_identifiers show_range_filter
    show_series_name show_split_line show_symbol_threshold show_timestamp show_tooltip_labels show_total
    show_trend_line show_upper_labels show_value show_valueB show_values show_x_axis
    show_x_axis_min_max_labels show_y_axis show_y_axis_label_line show_y_axis_min_max_labels
    showSymbolThreshold showTooltipPercentage showTooltipTotal showValue showValueB size_from size_to
    slice_id slice_name sort_csv sort_series_ascending sort_series_type sortSeriesAscending sortSeriesType
    split_number stack stackB stackDimension stacked_style start_angle start_y_axis_at_zero steps
    stroke_color_picker stroke_width stroked subcategories subDomain subheader subheader_font_size subtitle
    subtitle_font_size symbol symbolSize table_filter table_timestamp_format target_color_picker template
    threshold_for_other time_format time_range_fixed time_shift_color title toggle_polygons
    tooltip_label_type tooltip_template tooltipSizeFormat tooltipSortByMetric tooltipTimeFormat
    tooltipValuesFormat total_color transposePivot treemap_ratio truncateXAxis truncateYAxis
    truncateYAxisSecondary use_as_default value_bounds value_format value_formatter valueFormat
    viewport viewport_latitude viewport_longitude viewport_zoom viz_type x_axis_bounds x_axis_forma x_axis_format
    x_axis_label x_axis_number_format x_axis_showminmax x_axis_sort_series x_axis_sort_series_ascending
    x_axis_time_bounds x_axis_time_format x_axis_title x_axis_title_margin x_log_scale x_ticks_layout
    x_ticks_wrap_length xAxisBounds xAxisForceCategorical xAxisFormat xAxisLabelInterval xAxisLabelRotation
    xscale_interval y_axis_bounds y_axis_bounds_secondary y_axis_format y_axis_format_secondary y_axis_label
    y_axis_showminmax y_axis_title y_axis_title_margin y_axis_title_position y_axis_title_secondary
    y_log_scale yAxisBounds yAxisFormat yAxisIndex yAxisIndexB yAxisLabelRotation yAxisTitle
    yAxisTitleSecondary yscale_interval zoomable
    """
)
"""Fields that change no query, so that nobody need be told that they are not read."""

QUERY_WORDS: Final = _words(
    """
    adhoc_filters aggregation all_columns annotation_layers bins breakpoint_metric cols column columns
    comparison_type contribution contributionMode cross_filter_column cumulative custom_params datasource
    deck_slices dimension end_spatial end_time entity extra_filters extra_form_data filter_nulls force
    forecastEnabled forecastInterval forecastPeriods forecastSeasonalityDaily forecastSeasonalityWeekly
    forecastSeasonalityYearly geojson granularity granularity_sqla group_others_when_limit_reached groupby
    groupbyColumns groupbyRows id js_columns js_data_mutator limit line_column line_width metric metric_2
    metrics min_periods name normalize normalize_across order_by_cols order_desc parent
    percent_metric_calculation percent_metrics point_radius_fixed query_mode resample_method resample_rule
    result_format result_type rolling_periods rolling_type row_limit row_offset secondary_metric series
    series_columns series_limit series_limit_metric server_page_length server_pagination show_empty_columns
    show_totals size sort_by_metric sort_by_series sort_x_axis sort_y_axis source source_category spatial
    start_date_offset start_spatial start_time subdomain_granularity target target_category
    temporal_columns_lookup time_compare time_grain_sqla time_range time_series_option
    timeseries_limit_metric tooltip_columns tooltip_contents tooltip_metrics truncate_metric url_params
    where whiskerOptions x x_axis x_axis_sort x_axis_sort_asc y y_axis
    """
)
"""Fields that the builder of some kind asks or tells of; charts keep those of the kinds that they were before."""
