"""The contract's rules for payloads, written down once more by hand, so that tests can try each bound.

One line a field: its name, its type, then `1..250` for lengths, `>=0` for a minimum, R (required), N (null accepted).
Types: str, col (a column's name), int, bool, num, json (text that is JSON), uuid, uri, ints, strs, any, obj, one of
a|b|c, shape:<name>, list:<name>.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_SOURCE = "sl_table|table|dataset|query|saved_query|view"
_RESULT_TYPE = "columns|full|query|results|samples|timegrains|post_processed|drill_detail"

_TIME_GRAINS = (
    "PT1S|PT5S|PT30S|PT1M|PT5M|PT10M|PT15M|PT30M|PT1H|PT6H|P1D|P1W|P1M|P3M|P1Y|PT2H|PT4H|PT8H|PT10H|PT12H"
    "|1969-12-28T00:00:00Z/P1W|1969-12-29T00:00:00Z/P1W|P1W/1970-01-03T00:00:00Z|P1W/1970-01-04T00:00:00Z"
)

_DATABASE = """
    engine str N
    driver str N
    configuration_method orm_form|dynamic_form
    expose_in_sqllab bool
    allow_ctas bool
    allow_cvas bool
    allow_dml bool
    allow_file_upload bool
    allow_run_async bool
    cache_timeout int N
    extra json N
    ssh_tunnel shape:DatabaseSSHTunnel N
    uuid uuid
    external_url str N
"""

STRICT: dict[str, str] = {
    "DatabaseRestApi.post": "database_name str 1..250 R\norm_uri uri 1..1024" + _DATABASE,
    "DatabaseRestApi.put": "database_name str 1..250 N\norm_uri uri 0..1024" + _DATABASE,
    "DatabaseSSHTunnel": """
        id int N
        username str
        password str
        private_key str
        private_key_password str
        server_address str
        server_port int
    """,
    "DatabaseTestConnectionSchema": """
        database_name str 1..250 N
        orm_uri uri 1..1024
        engine str N
        driver str N
        configuration_method orm_form|dynamic_form
        extra json N
        ssh_tunnel shape:DatabaseSSHTunnel N
    """,
    "DatasetRestApi.post": """
        database int R
        table_name str 1..250 R
        schema str 0..250 N
        sql str N
        owners ints
        external_url str N
        is_managed_externally bool N
    """,
    "DatasetRestApi.put": """
        table_name str 1..250 N
        database_id int
        schema str 0..255 N
        sql str N
        description str N
        default_endpoint str N
        main_dttm_col str N
        offset int N
        cache_timeout int N
        fetch_values_predicate str 0..1000 N
        filter_select_enabled bool N
        is_sqllab_view bool N
        is_managed_externally bool N
        external_url str N
        extra json N
        template_params json N
        owners ints
        columns list:DatasetColumnsPut
        metrics list:DatasetMetricsPut
    """,
    "DatasetColumnsPut": """
        column_name str 1..255 R
        id int
        verbose_name str 0..1024 N
        description str N
        expression str N
        extra json N
        type str N
        advanced_data_type str 1..255 N
        python_date_format str 1..255 N
        filterable bool
        groupby bool
        is_active bool N
        is_dttm bool N
        uuid uuid N
    """,
    "DatasetMetricsPut": """
        metric_name str 1..255 R
        expression str R
        id int
        verbose_name str 0..1024 N
        description str N
        metric_type str 1..32 N
        d3format str 1..128 N
        currency str 1..128 N
        warning_text str N
        extra json N
        uuid uuid N
    """,
    "ChartRestApi.post": f"""
        slice_name str 1..250 R
        datasource_id int R
        datasource_type {_SOURCE} R
        datasource_name str N
        viz_type str 0..250
        description str N
        cache_timeout int N
        certified_by str N
        certification_details str N
        dashboards ints
        owners ints
        params json N
        query_context json N
        query_context_generation bool N
        external_url str N
        is_managed_externally bool N
    """,
    "ChartRestApi.put": f"""
        slice_name str 0..250 N
        datasource_id int N
        datasource_type {_SOURCE} N
        datasource_name str N
        viz_type str 0..250 N
        description str N
        cache_timeout int N
        certified_by str N
        certification_details str N
        dashboards ints N
        owners ints N
        params json N
        query_context json N
        query_context_generation bool N
        external_url str N
        is_managed_externally bool N
    """,
}

LENIENT: dict[str, str] = {
    "ChartDataQueryContextSchema": f"""
        datasource shape:ChartDataDatasource
        queries list:ChartDataQueryObject
        force bool N
        custom_cache_timeout int N
        form_data any N
        result_format csv|json|xlsx
        result_type {_RESULT_TYPE}
    """,
    "ChartDataQueryObject": f"""
        annotation_layers list:AnnotationLayer N
        applied_time_extras obj N
        apply_fetch_values_predicate bool N
        columns strs N
        datasource shape:ChartDataDatasource N
        extras shape:ChartDataExtras N
        filters list:ChartDataFilter N
        granularity str N
        granularity_orm str N
        groupby strs N
        having str N
        where str N
        is_rowcount bool N
        is_timeseries bool N
        metrics strs N
        order_desc bool N
        post_processing list:PostProcessing.operation N
        result_type {_RESULT_TYPE} N
        row_limit int >=0 N
        row_offset int >=0 N
        series_columns strs N
        series_limit int N
        series_limit_metric str N
        time_offsets strs N
        time_range str N
        time_shift str N
        timeseries_limit int N
        timeseries_limit_metric str N
        url_params obj N
    """,
    "ChartDataExtras": f"""
        having str
        where str
        relative_start today|now
        relative_end today|now
        time_grain_orm {_TIME_GRAINS} N
    """,
    "ChartDataFilter": """
        col col R
        op ==|!=|>|<|>=|<=|LIKE|ILIKE|IN R
        val any N
        grain str
        isExtra bool
    """,
    "AnnotationLayer": """
        name str R
        show bool R
        showMarkers bool R
        value any R
        annotationType FORMULA|INTERVAL|EVENT|TIME_SERIES
        sourceType line|NATIVE|table
        color str N
        opacity opacityLow|opacityMedium|opacityHigh N
        style dashed|dotted|solid|longDashed
        width num >=0
        hideLine bool N
        showLabel bool N
        descriptionColumns strs
        intervalEndColumn str N
        timeColumn str N
        titleColumn str N
        overrides obj N
    """,
}
"""Shapes that also take keys beyond the contract."""

_SAMPLES: dict[str, Any] = {
    "str": "x",
    "col": "x",
    "int": 3,
    "num": 1.5,
    "bool": True,
    "json": '{"a": 1}',
    "uuid": "7b3f1c9e-2f57-4b7d-9c55-0a4f6a1d2e3f",
    "uri": "sqlite://",
    "ints": [1, 2],
    "strs": ["x"],
    "any": "x",
    "obj": {"a": "b"},
}
_SHAPE_SAMPLES: dict[str, Any] = {
    "AnnotationLayer": {"name": "x", "show": True, "showMarkers": False, "value": 1},
    "ChartDataDatasource": {"id": 1, "type": "table"},
    "ChartDataExtras": {"where": "a = 1"},
    "ChartDataFilter": {"col": "a", "op": "==", "val": 1},
    "ChartDataQueryObject": {"columns": ["a"]},
    "DatabaseSSHTunnel": {"server_address": "gate"},
    "DatasetColumnsPut": {"column_name": "a"},
    "DatasetMetricsPut": {"metric_name": "m", "expression": "SUM(a)"},
    "PostProcessing.operation": {"operation": "pivot"},
}
_WRONG: dict[str, tuple[Any, ...]] = {
    "str": (1, True, ["x"], {"a": 1}),
    "col": (1, True, ["x"]),
    "uri": (1, ["x"]),
    "json": (1, {"a": 1}, "{not json"),
    "uuid": (1, "not a uuid"),
    "int": ("3", 1.5, True, [3]),
    "num": ("1.5", [1]),
    "bool": ("true", 1, 0, [True]),
    "ints": (3, "1,2", ["1"], [None]),
    "strs": (3, "x", [3]),
    "obj": ("x", ["x"]),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """The rule of one field of one shape."""

    shape: str
    name: str
    type: str
    shortest: int | None = None
    longest: int | None = None
    minimum: int | None = None
    required: bool = False
    nullable: bool = False

    def __str__(self) -> str:
        return f"{self.shape}.{self.name}"

    def sample(self) -> Any:
        """A value that the field takes."""
        if self.type.startswith("shape:"):
            return _SHAPE_SAMPLES[self.type.removeprefix("shape:")]
        if self.type.startswith("list:"):
            return [_SHAPE_SAMPLES[self.type.removeprefix("list:")]]
        return self.members()[0] if "|" in self.type else _SAMPLES[self.type]

    def members(self) -> list[str]:
        """The members of an enum, none for other types."""
        return self.type.split("|") if "|" in self.type else []

    def wrong_values(self) -> tuple[Any, ...]:
        """Values of another type."""
        if self.type.startswith("shape:"):
            return ("x", 1, ["x"])
        if self.type.startswith("list:"):
            return ("x", 1, ["x"], {"a": 1})
        return ("frobnicate", 1, ["x"]) if "|" in self.type else _WRONG.get(self.type, ())

    def text(self, length: int) -> str:
        """A text of this length that the field takes otherwise."""
        start = "sqlite://" if self.type == "uri" else ""
        return start[:length] + "x" * (length - len(start[:length]))


def rules_of(shapes: dict[str, str]) -> list[Rule]:
    """The rules of all fields of these shapes."""
    return [rule for shape, text in shapes.items() for rule in _rules(shape, text)]


def minimal(shape: str) -> dict[str, Any]:
    """The smallest payload of a shape: its required fields."""
    text = (STRICT | LENIENT)[shape]
    return {rule.name: rule.sample() for rule in _rules(shape, text) if rule.required}


def _rules(shape: str, text: str) -> Iterator[Rule]:
    for line in filter(None, map(str.strip, text.splitlines())):
        name, kind, *facts = line.split()
        lengths = next((fact.split("..") for fact in facts if ".." in fact), None)
        minimum = next((int(fact.removeprefix(">=")) for fact in facts if fact.startswith(">=")), None)
        yield Rule(
            shape=shape,
            name=name,
            type=kind,
            shortest=int(lengths[0]) if lengths else None,
            longest=int(lengths[1]) if lengths else None,
            minimum=minimum,
            required="R" in facts,
            nullable="N" in facts,
        )
