"""Databricks, and Spark (Hive's protocol) with the same functions; sessions run in UTC.

Databricks is not run; written from the documentation. The session `engines` runs Spark 4.3.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from analytics_core._engine.engines import bounds, fences, grains, guards, kinds, literals, meanings, operators, tokens
from analytics_core._engine.engines.ansi import ansi_engine
from analytics_core._engine.engines.nodes import Type, call, minus, number
from analytics_core._engine.engines.spec import ParamStyle, Syntax, TrustedAuthorities, UserToken

_as_timestamp = operators.cast_to(Type.TIMESTAMP)
_moment = bounds.moments_by(
    date=_as_timestamp,
    timestamptz=operators.unchanged,
    iso_text=_as_timestamp,
    text=bounds.parsed_by("TO_TIMESTAMP", tokens.JAVA, Type.TEXT),
    epoch=bounds.timestamp_of_epoch,
)


def _cut_seconds(moment: exp.Expr, seconds: int) -> exp.Expr:
    since = call("UNIX_SECONDS", grains.date_trunc(moment, "second"))
    return call("TIMESTAMP_SECONDS", minus(since, call("PMOD", since.copy(), number(seconds))))


def _is_file(name: str) -> bool:
    """Tell of what may stand after `delta.`, or another format."""
    return "/" in name


_FORMATS = guards.name_set("""
    avro binaryfile cloudfiles csv delta deltasharing excel hudi iceberg image json libsvm orc parquet state-metadata
    statestore text xml *.*
""")
"""What reads files of the name behind its dot: formats, and classes of Java by their names with dots."""

_UNSORTED = meanings.MISPLACED.said(
    "the engine does not sort by an aggregate where HAVING has one that is not selected; select it, or sort otherwise"
)
_NO_RIGHT = r"[^`']{0,80} on (?:Table|View) [`'](?P<table>[^']+)[`']"
_BAD_TOKEN = meanings.BAD_LOGIN.said("the access token is not accepted, or may not use the warehouse")
_STARTS = meanings.LOST.said("the warehouse or cluster starts, is stopped or has too much to do; try again")
_ERRORS = (
    *meanings.patterns(
        (r"TABLE_OR_VIEW_NOT_FOUND(?:.*?view (?:`[^`]+`\.)*`(?P<table>[^`]+)`)?", meanings.NO_TABLE),
        (r"SCHEMA_NOT_FOUND(?:.*schema `(?P<schema>[^`]+)`)?", meanings.NO_SCHEMA),
        (r"(?:CATALOG_NOT_FOUND|NO_SUCH_CATALOG)", meanings.NO_DATABASE.said("the catalog does not exist")),
        (r"UNRESOLVED_COLUMN(?:.*?name (?:`[^`]+`\.)*`(?P<column>[^`]+)`)?", meanings.NO_COLUMN),
        (r"UNRESOLVED_ROUTINE", meanings.NO_NAMED_FUNCTION),
        (r"PARSE_SYNTAX_ERROR", meanings.SYNTAX),
        (r"(?:MISSING_AGGREGATION|MISSING_GROUP_BY)", meanings.NOT_GROUPED),
        (r"UNSUPPORTED_EXPR_FOR_OPERATOR", _UNSORTED),
        (r"(?:PERMISSION_DENIED|INSUFFICIENT_PERMISSIONS)\]" + _NO_RIGHT, meanings.DENIED),
        (r"(?:PERMISSION_DENIED|INSUFFICIENT_PERMISSIONS)", meanings.DENIED_ANY),
        (r"(?:DIVIDE|REMAINDER)_BY_ZERO", meanings.ZERO),
        (r"(?:(?:BINARY_)?ARITHMETIC_OVERFLOW|CAST_OVERFLOW|NUMERIC_VALUE_OUT_OF_RANGE)", meanings.OVERFLOW),
        (r"(?:CAST_INVALID_INPUT|DATATYPE_MISMATCH|CANNOT_PARSE_TIMESTAMP)", meanings.BAD_VALUE),
        (r"QUERY_EXECUTION_TIMEOUT_EXCEEDED", meanings.TIMEOUT),
        (r"OPERATION_CANCELED", meanings.KILLED),
        after=r"\A(?:TExecuteStatementResp\(.{0,60}infoMessages=\[.\*)?[^\['\"]{0,80}\[",
    ),
    *meanings.patterns((r"\A[\w.]+HiveSQLException: Query timed out", meanings.TIMEOUT)),
    *meanings.patterns(
        (r"PERMISSION_DENIED:" + _NO_RIGHT, meanings.DENIED),
        (r"PERMISSION_DENIED:", meanings.DENIED_ANY),
        (r"(?:Statement has timed out|DEADLINE_EXCEEDED)", meanings.TIMEOUT),
        (r"status 40[13]: ", _BAD_TOKEN),
        (r"status 404: ", meanings.NO_DATABASE.said("there is no warehouse or cluster at http_path")),
        (r"status 429: ", meanings.BUSY),
        (r"status 50[234]: ", _STARTS),
        (r"Error during request to server.*Retry request would exceed", _STARTS),
        (r"HTTPS?ConnectionPool\(.*too many \d+ error responses", _STARTS),
        after=r"\A",
    ),
    *meanings.UNREACHABLE,
    *meanings.patterns(  # of the way to the server: in its own errors stand values of rows and traces
        (r"(?:Invalid access token|\b40[13]\b)", meanings.BAD_LOGIN),
        (r"timed out", meanings.TIMEOUT),
        (r"Could not connect to any of \[\('(?P<host>[^']+)'", meanings.HOST_DOWN),
        (r"(?:TSocket read 0 bytes|unexpected exception|Broken pipe|Connection reset)", meanings.LOST),
        after=r"\A(?!TExecuteStatementResp|[\w.]+Exception:)(?:\[Errno \d+\] )?[^\[(]{0,200}?",
    ),
)
# Denied functions: options of those of the last line name files and addresses of schemas; `identifier` names anything.
_GUARDS = guards.Guards(
    uri_options=guards.uri_options("http_path catalog schema access_token"),
    database_files=guards.DatabaseFiles.NONE,
    denied_functions=guards.name_set("""
    reflect try_reflect java_method identifier read_* cloud_files cloud_files_state http_request remote_query secret
    try_secret list_secrets ai_* vector_search event_log list_files input_file_* table_changes python_worker_logs
    from_avro from_avro_registry schema_of_avro from_protobuf to_protobuf from_xml schema_of_xml
"""),
    allowed_functions=guards.allowed_with("""
    any array_* arrays_overlap arrays_zip base64 bin bit_count bit_get bround collect_list collect_set
    contains conv crc32 date_from_unix_date element_at elt encode endswith equal_null exists expm1 factorial filter
    find_in_set flatten forall format_number format_string from_json from_utc_timestamp get get_json_object getbit hash
    hypot isnan isnotnull json_object_keys json_tuple levenshtein log1p make_dt_interval make_interval make_ym_interval
    map_* mean nanvl negative named_struct nullifzero parse_json parse_url pmod positive printf regexp
    regexp_extract_all rint rlike schema_of_json sec sentences sequence shiftleft shiftright shiftrightunsigned shuffle
    signum size slice some sort_array split startswith str_to_map timestamp_micros timestamp_millis timestamp_seconds
    to_csv to_json to_unix_timestamp to_utc_timestamp to_varchar transform transform_keys transform_values try_add
    try_avg try_divide try_element_at try_multiply try_subtract try_sum try_to_number try_to_timestamp typeof unbase64
    unix_date unix_micros unix_millis unix_seconds url_decode url_encode uuid xpath* xxhash64 zeroifnull zip_with h3_*
    timestamp_ltz timestamp_ntz long short byte
"""),
    row_makers=frozenset(),
    revealing=guards.RevealingRelations.of(
        relations="", schemas="system.* !system.information_schema", harmless="", functions=""
    ),
    table_names=replace(guards.STANDARD_TABLE_NAMES, is_file=_is_file, of_files=_FORMATS),
    fence=fences.limited(2**31 - 1),  # LIMIT takes a 32-bit number there
    by_case=False,
    casts_columns=True,
)
_DATABRICKS = replace(
    ansi_engine(
        name="databricks",
        label="Databricks",
        dialect="databricks",
        drivers=("databricks",),
        extra_name="databricks",
        guards=_GUARDS,
        error_patterns=_ERRORS,
        comparison=bounds.MomentComparison(moment=_moment, zoned=bounds.ZonedComparison.NAIVE),
        bucket=grains.buckets_by_truncation(cut_seconds=_cut_seconds),
        shift=grains.hours_by_interval,
    ),
    syntax=Syntax(reads_fields=True),
    registered_as={"databricks": "databricks", "thrift": "hive", "http": "hive+http", "https": "hive+https"},
    paramstyle=ParamStyle.NAMED,
    max_identifier_bytes=255,
    as_text=operators.cast_to(Type.TEXT),
    value_kind=kinds.kind_reader(),
)
_SPARK = replace(
    _DATABRICKS,
    name="spark",
    label="Spark",
    dialect="spark",
    aliases=("hive",),
    drivers=("thrift", "http", "https"),
    extra_name="spark",
    paramstyle=ParamStyle.PYFORMAT,
    literal=literals.LiteralStyle(dialect="spark").write,
    guards=replace(
        _GUARDS,
        uri_options=guards.uri_options("auth"),
        revealing=guards.RevealingRelations.of(
            relations="", schemas="sys", harmless="", functions=""
        ),  # of Hive's metastore
        table_names=replace(_GUARDS.table_names, of_files=guards.NameSet()),  # sessions switch it off
    ),
)

_USER_TOKEN = UserToken(argument="access_token", is_sent_each_time=True)
_TRUSTED = TrustedAuthorities.given_by("_tls_trusted_ca_file", _tls_no_verify=False, _tls_verify_hostname=True)

ENGINES = (replace(_DATABRICKS, user_token=_USER_TOKEN, authorities=_TRUSTED), _SPARK)
