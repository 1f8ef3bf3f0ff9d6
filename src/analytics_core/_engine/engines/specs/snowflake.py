"""Snowflake: weeks are counted by ISO day numbers, since DATE_TRUNC obeys the session's WEEK_START.

Not run here; written from its documentation. Sessions run in UTC, for text without a zone.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from analytics_core._engine.engines import bounds, costs, fences, grains, guards, literals, meanings, operators, tokens
from analytics_core._engine.engines.ansi import ansi_engine
from analytics_core._engine.engines.nodes import Type, call, minus, number, text, times
from analytics_core._engine.engines.spec import ConnectionParameters, UserToken, nulls_are_large
from analytics_core._engine.engines.types import TimeEncoding, TimeFormat, ValueKind

_naive = operators.cast_to(Type.TIMESTAMPNTZ)


def _in_utc(instant: exp.Expr) -> exp.Expr:
    return _naive(call("CONVERT_TIMEZONE", text("UTC"), instant))


def _epoch_moment(column: exp.Expr, time_format: TimeFormat) -> exp.Expr:
    is_seconds = time_format.encoding is TimeEncoding.EPOCH_S
    unit, count = ("second" if is_seconds else "millisecond"), bounds.epoch_count(column, time_format)
    if time_format.value_kind in (ValueKind.FLOAT, ValueKind.DECIMAL):
        unit, count = "microsecond", call("FLOOR", times(column, number(1_000_000 if is_seconds else 1000)))
    return call("DATEADD", text(unit), count, _naive(text(grains.EPOCH)))


def _truncate(moment: exp.Expr, unit: str) -> exp.Expr:
    if unit == "week":
        back = minus(number(1), call("DAYOFWEEKISO", moment.copy()))
        return call("DATEADD", text("day"), back, grains.date_trunc(moment, "day"))
    return grains.date_trunc(moment, unit)


_moment = bounds.moments_by(
    date=_naive,
    timestamptz=_in_utc,
    iso_text=lambda column: _in_utc(call("TO_TIMESTAMP_TZ", column)),
    text=bounds.parsed_by("TO_TIMESTAMP_NTZ", tokens.TO_TIMESTAMP.but(f="FF6", b="MON", B="MMMM"), Type.VARCHAR),
    epoch=_epoch_moment,
)
_bucket = grains.buckets_by_truncation(
    truncate=_truncate,
    add_days=lambda moment, days: call("DATEADD", text("day"), number(days), moment),
    cut_seconds=grains.cut_by_remainder(
        truncate=_truncate,
        seconds_since_epoch=lambda second: call("DATEDIFF", text("second"), _naive(text(grains.EPOCH)), second),
        subtract_seconds=lambda second, past: call("DATEADD", text("second"), exp.Neg(this=past), second),
    ),
)
_NO_ACCOUNT = meanings.UNKNOWN_HOST.said("there is no account of this name; check the account in the URL")
_NO_CREDITS = meanings.USED_UP.said(
    "a resource monitor says that the warehouse has used up its credits; wait until its quota renews, or raise it"
)
_NO_WAREHOUSE = meanings.UNNAMED.said(
    "no warehouse runs the statement; name one in the URL (warehouse) that the role may use and that resumes by itself"
)
_ERRORS = (
    *meanings.patterns(
        (r"Object '(?P<table>[^']+)' does not exist or not authorized", meanings.NO_TABLE),
        (r"Schema '(?P<schema>[^']+)' does not exist", meanings.NO_SCHEMA),
        (r"Database '(?P<database>[^']+)' does not exist", meanings.NO_DATABASE),
        (r"invalid identifier '(?P<column>[^']+)'", meanings.NO_COLUMN),
        (r"Unknown function (?P<function>\w+)", meanings.NO_FUNCTION),
        (r"syntax error", meanings.SYNTAX),
        (r"'[^']*' .*is not a valid group by", meanings.NOT_GROUPED),
        (r"Insufficient privileges to operate on (?:table|view) '(?P<table>[^']+)'", meanings.DENIED),
        (r"Insufficient privileges", meanings.DENIED_ANY),
        (r"(?:(?:Numeric|Boolean) value|Date|Time|Timestamp) '.*' is not recognized", meanings.BAD_VALUE),
        (r"(?:Can ?not convert|Failed to cast)", meanings.BAD_VALUE),
        (r"Division by zero", meanings.ZERO),
        (r"Statement reached its .*timeout", meanings.TIMEOUT),
        (r"SQL execution canceled", meanings.KILLED),
        (r"Number out of representable range", meanings.OVERFLOW),
        (r"Warehouse '[^']*' cannot be resumed because resource monitor", _NO_CREDITS),
        (r"No active warehouse", _NO_WAREHOUSE),
        (r"(?:Failed to connect to DB: \S+ )?Incorrect username or password", meanings.BAD_LOGIN),
        (r"Failed to login: Login error", meanings.BAD_LOGIN),
        (r"Failed to login: .*(?:failed to lookup address|Name or service not known)", meanings.UNKNOWN_HOST),
        (r"Failed to login: .* error status: 40[34]|40[34] (?:Not Found|Forbidden): ", _NO_ACCOUNT),
        (r"Failed to connect to DB\. Verify the account name", _NO_ACCOUNT),
        (r"(?:Failed to login: HTTP request failed|Could not connect to Snowflake backend)", meanings.SILENT),
        (
            r"(?:Session no longer exists|Authentication token has expired|Master token can never be renewed)",
            meanings.LOST,
        ),
        (r"HTTP request failed after retries: .* 429", meanings.BUSY),
        (r"HTTP request failed after retries: ", meanings.SILENT),
        after=r"\A(?:\d{6}(?: \(\w{5}\))?: )?(?:[\w-]{8,}: |None: )?"
        r"(?:SQL (?:compilation|access control|execution) error:\s*(?:error line \d+ at position \d+\s*)?)?",
    ),
)
_REVEALING = "query_history access_history login_history sessions_history copy_history"
_REVEALING_SCHEMAS = """
    account_usage organization_usage reader_account_usage data_sharing_usage snowflake.* !snowflake.information_schema
"""
_DOMAIN = ".snowflakecomputing.com"
"""What the dialect adds to an account, where a URL names no whole host."""
_GUARDS = guards.Guards(
    uri_options=guards.uri_options("warehouse role application", numbers="login_timeout network_timeout"),
    database_files=guards.DatabaseFiles.NONE,
    denied_functions=guards.name_set("""
    system$* *_history *_history_by_* last_query_id current_statement current_session get_ddl get_presigned_url
    build_stage_file_url build_scoped_file_url get_stage_location result_scan infer_schema directory cortex
    cortex_complete ai_complete ai_classify ai_extract ai_parse_document
"""),
    allowed_functions=guards.allowed_with("""
    approx_top_k array_* arrays_overlap arrays_to_object as_* bitand bitand_agg bitnot bitor bitor_agg bitshiftleft
    bitshiftright bitxor bitxor_agg booland booland_agg boolnot boolor boolor_agg boolxor boolxor_agg check_json collate
    conditional_change_event conditional_true_event contains convert_timezone date_from_parts datefromparts dayofweekiso
    div0 div0null editdistance endswith equal_null factorial get get_ignore_case get_path greatest_ignore_nulls
    grouping_id h3_* hash hash_agg haversine hex_decode_string hex_encode hll ilike insert is_* jarowinkler_similarity
    json_extract_path_text least_ignore_nulls like like_all like_any md5_hex md5_number_lower64 minhash nullifzero
    object_agg object_construct object_construct_keep_null object_delete object_insert object_keys object_pick parse_ip
    parse_json parse_url parse_xml previous_day ratio_to_report regexp regexp_substr_all rlike rtrimmed_length sha1_hex
    sha2_hex skew split st_* startswith strip_null_value strtok strtok_to_array time_from_parts time_slice timeadd
    timediff timestamp_from_parts timestamp_ltz_from_parts timestamp_ntz_from_parts timestamp_tz_from_parts
    timestamp_ntz timestamp_ltz timestamp_tz to_array to_binary to_boolean to_decimal to_double to_geography to_geometry
    to_json to_numeric to_object to_time to_timestamp_ltz to_timestamp_ntz to_timestamp_tz to_varchar to_variant to_xml
    try_hex_decode_string try_parse_json try_to_* typeof uniform uuid_string variant object weekiso xmlget yearofweek
    yearofweekiso zeroifnull zipf seq1 seq2 seq4 seq8 variance_pop variance_samp
"""),
    row_makers=frozenset(),
    revealing=guards.RevealingRelations.of(relations=_REVEALING, schemas=_REVEALING_SCHEMAS, harmless="", functions=""),
    table_names=guards.STANDARD_TABLE_NAMES,
    fence=fences.limited_by_bigint,
    by_case=False,
    casts_columns=True,
)
_LITERALS = literals.LiteralStyle(dialect="snowflake", timestamp="{}::TIMESTAMP_NTZ", timestamp_tz="{}::TIMESTAMP_TZ")

_COSTS = costs.by_json_plan(
    "EXPLAIN USING JSON",
    lambda plan: plan["GlobalStats"],
    {"bytes": "bytesAssigned", "partitions": "partitionsAssigned"},
    counted="bytes",
)

ENGINES = (
    replace(
        ansi_engine(
            name="snowflake",
            label="Snowflake",
            dialect="snowflake",
            drivers=("snowflake",),
            extra_name="snowflake",
            guards=_GUARDS,
            error_patterns=_ERRORS,
            comparison=bounds.MomentComparison(moment=_moment),
            bucket=_bucket,
            shift=grains.shift_by("DATEADD", text("hour")),
        ),
        registered_as={"snowflake": "snowflake"},
        server=lambda host, port: host if port or _DOMAIN in host else f"{host}{_DOMAIN}",
        max_identifier_bytes=255,
        like=operators.like_where_case_counts(has_ilike=True),
        is_true=operators.equals_truth,
        literal=_LITERALS.write,
        nulls_first_by_default=nulls_are_large,
        costs=_COSTS,
        parameters=ConnectionParameters(names=("host", "database", "username", "password", "query"), has_address=False),
        user_token=UserToken(
            argument="token", beside={"authenticator": "oauth"}, replaces=("password",), is_sent_each_time=True
        ),
    ),
)
