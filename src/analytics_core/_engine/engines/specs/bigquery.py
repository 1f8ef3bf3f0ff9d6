"""BigQuery: DATETIME is the naive moment, TIMESTAMP the instant. Not run here; written from its documentation."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from analytics_core._engine.engines import bounds, grains, guards, kinds, literals, meanings, nodes, operators, tokens
from analytics_core._engine.engines.ansi import ansi_engine
from analytics_core._engine.engines.costs import DRY_RUN
from analytics_core._engine.engines.fences import limited_by_bigint
from analytics_core._engine.engines.nodes import Type, call, interval, number, text, verbatim
from analytics_core._engine.engines.spec import Bind, ConnectionParameters, Syntax, TokenWrapper, UserToken
from analytics_core._engine.engines.types import TimeFormat, ValueKind

_TOKENS = tokens.FormatLanguage(tokens={letter: f"%{letter}" for letter in "YmdHMSbBIp"}, plain=tokens.doubled_percent)
"""It reads no fractions apart from their seconds."""


def _in_utc(instant: exp.Expr) -> exp.Expr:
    return call("DATETIME", instant, text("UTC"))


def _written_moment(column: exp.Expr, time_format: TimeFormat) -> exp.Expr:
    source = bounds.written_text(column, time_format, Type.TEXT)
    return call("PARSE_DATETIME", text(tokens.write_tokens(bounds.written_format(time_format), _TOKENS)), source)


def _truncate(moment: exp.Expr, unit: str) -> exp.Expr:
    """Name the week's first day: plain WEEK would be Sunday's."""
    return call("DATETIME_TRUNC", moment, verbatim("WEEK(MONDAY)" if unit == "week" else unit.upper()))


def _like(left: exp.Expr, pattern: str, fold_case: bool, bind: Bind) -> exp.Expr:
    """LIKE takes a backslash and no ESCAPE clause; there is no ILIKE."""
    value = bind(operators.backslashed_like(pattern))
    if fold_case:
        return exp.Like(this=call("LOWER", left), expression=call("LOWER", value))
    return exp.Like(this=nodes.operand(left), expression=value)


_moment = bounds.moments_by(
    date=operators.calling("DATETIME"),
    timestamptz=_in_utc,
    iso_text=lambda column: _in_utc(call("TIMESTAMP", column)),
    text=_written_moment,
    epoch=lambda column, time_format: _in_utc(bounds.timestamp_of_epoch(column, time_format)),
)
_bucket = grains.buckets_by_truncation(
    truncate=_truncate,
    add_days=lambda moment, days: call("DATETIME_ADD", moment, interval(number(days), "DAY")),
    cut_seconds=grains.cut_by_remainder(
        truncate=_truncate,
        seconds_since_epoch=lambda second: call(
            "DATETIME_DIFF", second, verbatim(f"DATETIME '{grains.EPOCH}'"), verbatim("SECOND")
        ),
        subtract_seconds=lambda second, past: call("DATETIME_SUB", second, interval(past, "SECOND")),
    ),
)
_BAD_CREDENTIALS = meanings.BAD_LOGIN.said(
    "the credentials of the connection are missing, or the service does not accept them"
)
_NOT_AVAILABLE = meanings.LOST.said("the service is not available at present; try again")
_TOO_DEAR = meanings.UNNAMED.said(
    "the statement would read more bytes than maximum_bytes_billed of the connection allows; ask for less, or raise it"
)
_ERRORS = (
    *meanings.patterns(
        (r"Not found: Table (?P<table>[\w.:\-]+)", meanings.NO_TABLE),
        (r"Not found: Dataset (?P<schema>[\w.:\-]+)", meanings.NO_SCHEMA),
        (r"Not found: Project", meanings.NO_DATABASE.said("the project does not exist")),
        (r"Unrecognized name: (?P<column>\w+)", meanings.NO_COLUMN),
        (r"Function not found: (?P<function>\w+)", meanings.NO_FUNCTION),
        (r"Syntax error", meanings.SYNTAX),
        (r"[\w ]+ references column .* neither grouped nor aggregated", meanings.NOT_GROUPED),
        (
            r"(?:Access Denied: Table [\w.:\-]+: )?User does not have .{0,40} table (?P<table>[\w.:\-]*\w)",
            meanings.DENIED,
        ),
        (r"Access Denied", meanings.DENIED_ANY),
        (r"division by zero", meanings.ZERO),
        (r"\w+ overflow", meanings.OVERFLOW),
        (r"No matching signature for (?:aggregate |analytic )?function (?P<function>\w+)", meanings.NO_FUNCTION),
        (r"No matching signature", meanings.NO_OBJECT.said("there is no operator for values of these types")),
        (
            r"(?:Bad \w+ value|Could not (?:cast|parse)|Failed to parse|Invalid (?:cast|date|time|numeric))",
            meanings.BAD_VALUE,
        ),
        (r"(?:Operation|Job) (?:timed out|timeout)|Job execution was cancelled: Job timed out", meanings.TIMEOUT),
        (r"Job execution was cancelled", meanings.KILLED),
        (r"Exceeded rate limits", meanings.BUSY),
        (r"(?:Quota exceeded|Exceeded quota|Custom quota exceeded)", meanings.USED_UP),
        (r"Query exceeded limit for bytes billed", _TOO_DEAR),
        (r"Resources exceeded during query execution", meanings.NO_MEMORY),
        (r"(?:Request had invalid authentication credentials|Invalid Credentials)", _BAD_CREDENTIALS),
        (r"Error encountered during execution\. Retrying may solve", _NOT_AVAILABLE),
        after=r"\A(?:\d{3} )?(?:(?:GET|POST) \S+ )?",
    ),
    *meanings.patterns(
        (r"\A50[234] ", _NOT_AVAILABLE),
        (r"\A\W{0,2}invalid_grant", _BAD_CREDENTIALS),
        (
            r"\A(?:Your default credentials were not found|could not automatically determine credentials)",
            _BAD_CREDENTIALS,
        ),
    ),
    *meanings.UNREACHABLE,
)
_REVEALING = "jobs jobs_* sessions sessions_* streaming_timeline* partitions table_storage* __tables__"
_GUARDS = guards.Guards(
    uri_options=guards.uri_options("location", numbers="maximum_bytes_billed", priority="INTERACTIVE BATCH"),
    database_files=guards.DatabaseFiles.NONE,
    denied_functions=guards.name_set("external_query appends changes external_object_transform ml ai keys obj"),
    allowed_functions=guards.allowed_with("""
    approx_quantiles approx_top_count approx_top_sum array_* bit_count bytes byte_length code_points_to_bytes
    code_points_to_string contains_substr date_from_unix_date datetime_add datetime_diff datetime_sub datetime_trunc
    edit_distance ends_with farm_fingerprint format format_date format_datetime format_time format_timestamp from_base32
    from_hex generate_array generate_date_array generate_timestamp_array generate_uuid ieee_divide int64 float64 bool
    is_inf is_nan json_array json_extract_array json_extract_string_array json_keys json_object json_query_array
    json_remove json_set json_strip_nulls json_value_array lax_bool lax_float64 lax_int64 lax_string logical_and
    logical_or net normalize normalize_and_casefold offset ordinal parse_bignumeric parse_date parse_datetime parse_json
    parse_numeric parse_time parse_timestamp range range_bucket range_contains range_end range_overlaps range_start
    regexp_contains regexp_extract_all safe safe_add safe_cast safe_divide safe_multiply safe_negate safe_offset
    safe_ordinal safe_subtract split st_* time_add time_diff time_sub time_trunc timestamp_add timestamp_diff
    timestamp_micros timestamp_millis timestamp_seconds timestamp_sub timestamp_trunc to_base32 to_code_points to_hex
    to_json to_json_string unix_date unix_micros unix_millis unix_seconds host reg_domain public_suffix ip_from_string
    safe_ip_from_string ip_to_string ip_trunc ipv4_from_int64 ipv4_to_int64 bignumeric hll_count init merge
    merge_partial hll_count_extract
"""),
    row_makers=frozenset(),
    revealing=guards.RevealingRelations.of(relations=_REVEALING, schemas="", harmless="", functions=""),
    table_names=replace(guards.STANDARD_TABLE_NAMES, parted=True),
    fence=limited_by_bigint,
    by_case=False,
    casts_columns=True,
)
_LITERALS = literals.LiteralStyle(
    dialect="bigquery", timestamp="DATETIME {}", binary="b'{}'", byte_prefix="\\x", members="[{}]"
)

ENGINES = (
    replace(
        ansi_engine(
            name="bigquery",
            label="BigQuery",
            dialect="bigquery",
            drivers=("bigquery",),
            extra_name="bigquery",
            guards=_GUARDS,
            error_patterns=_ERRORS,
            comparison=bounds.MomentComparison(moment=_moment),
            bucket=_bucket,
            shift=lambda moment, hours: (
                call("DATETIME_ADD", moment, interval(number(hours), "HOUR")) if hours else moment
            ),
        ),
        syntax=Syntax(reads_fields=True),
        registered_as={"bigquery": "bigquery"},
        server=lambda _project, _port: "bigquery.googleapis.com",
        max_identifier_bytes=300,
        like=_like,
        as_text=operators.cast_to(Type.TEXT),
        literal=_LITERALS.write,
        value_kind=kinds.kind_reader({"TIMESTAMP": ValueKind.TIMESTAMPTZ, "RANGE": ValueKind.OTHER}),
        closes_group_keys=True,
        parameters=ConnectionParameters(names=("host", "database", "query"), required=("host",), has_address=False),
        secret_options=("credentials_info",),
        costs=DRY_RUN,
        user_token=UserToken(
            argument="client",
            wrappers=(
                TokenWrapper(path="google.oauth2.credentials:Credentials"),
                TokenWrapper(path="google.cloud.bigquery:Client", argument="credentials", host_as="project"),
            ),
            options={"user_supplied_client": "true"},
            is_sent_each_time=True,
        ),
    ),
)
