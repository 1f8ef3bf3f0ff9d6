"""Trino, and what Presto shares with it. Not run here; written from the documentation."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from analytics_core._engine.engines import bounds, costs, fences, grains, guards, meanings, nodes, operators, tokens
from analytics_core._engine.engines.ansi import ansi_engine
from analytics_core._engine.engines.nodes import Type, call, equal, number, text, times
from analytics_core._engine.engines.spec import (
    ConnectionParameters,
    EngineSpec,
    ParamStyle,
    Syntax,
    TrustedAuthorities,
    UserToken,
    nulls_are_last,
)
from analytics_core._engine.engines.types import TimeEncoding, TimeFormat, ValueKind


def moment_with(precision: tuple[int, ...], from_iso: str) -> bounds.Moment:
    """Return `moment` for timestamps of a precision; `from_iso` parses ISO text to a zoned timestamp."""
    as_timestamp = operators.cast_to(Type.TIMESTAMP, *precision)

    def in_utc(node: exp.Expr) -> exp.Expr:
        return as_timestamp(call("AT_TIMEZONE", node, text("UTC")))

    def epoch_moment(column: exp.Expr, time_format: TimeFormat) -> exp.Expr:
        """Count in whole milliseconds what may have fractions."""
        is_seconds = time_format.encoding is TimeEncoding.EPOCH_S
        unit, count = ("second" if is_seconds else "millisecond"), bounds.epoch_count(column, time_format)
        if time_format.value_kind in (ValueKind.FLOAT, ValueKind.DECIMAL):
            millis = times(column, number(1000)) if is_seconds else column
            unit, count = "millisecond", nodes.cast(call("FLOOR", millis), Type.BIGINT)
        return call("DATE_ADD", text(unit), count, as_timestamp(text(grains.EPOCH)))

    return bounds.moments_by(
        date=as_timestamp,
        timestamptz=in_utc,
        iso_text=lambda column: in_utc(call(from_iso, _zoned_iso(column))),
        text=bounds.parsed_by("DATE_PARSE", tokens.STR_TO_DATE, Type.VARCHAR),
        epoch=epoch_moment,
    )


def _zoned_iso(column: exp.Expr) -> exp.Expr:
    """Return ISO text with a `T` and a zone, UTC where none is written: the parser would take the session's."""
    iso = call("REPLACE", column, text(" "), text("T"))
    is_day = equal(call("LENGTH", iso.copy()), number(10))
    has_zone = call("REGEXP_LIKE", iso.copy(), text("(Z|[+-][0-9]{2}:[0-9]{2})$"))
    return nodes.when(
        (is_day, call("CONCAT", iso.copy(), text("T00:00:00Z"))),
        (has_zone, iso.copy()),
        otherwise=call("CONCAT", iso, text("Z")),
    )


_bucket = grains.buckets_by_truncation(
    add_days=lambda moment, days: call("DATE_ADD", text("day"), number(days), moment),
    cut_seconds=grains.cut_by_remainder(
        seconds_since_epoch=lambda second: call("DATE_DIFF", text("second"), nodes.timestamp(grains.EPOCH), second),
        subtract_seconds=lambda second, past: call("DATE_ADD", text("second"), exp.Neg(this=past), second),
    ),
)
_ERRORS = (
    *meanings.patterns(
        (r"TABLE_NOT_FOUND(?:.*Table '(?P<table>[^']+)')?", meanings.NO_TABLE),
        (r"SCHEMA_NOT_FOUND(?:.*Schema '(?P<schema>[^']+)')?", meanings.NO_SCHEMA),
        (r"CATALOG_NOT_FOUND", meanings.NO_DATABASE.said("the catalog does not exist on this server")),
        (r"COLUMN_NOT_FOUND(?:.*Column '(?P<column>[^']+)')?", meanings.NO_COLUMN),
        (r"FUNCTION_NOT_FOUND", meanings.NO_NAMED_FUNCTION),
        (r"SYNTAX_ERROR", meanings.SYNTAX),
        (r"EXPRESSION_NOT_AGGREGATE", meanings.NOT_GROUPED),
        (r"PERMISSION_DENIED", meanings.DENIED_ANY),
        (r"READ_ONLY_VIOLATION", meanings.READ_ONLY),
        (r"EXCEEDED_TIME_LIMIT", meanings.TIMEOUT),
        (r"(?:USER_CANCELED|ADMINISTRATIVELY_KILLED)", meanings.KILLED),
        (r"DIVISION_BY_ZERO", meanings.ZERO),
        (r"NUMERIC_VALUE_OUT_OF_RANGE", meanings.OVERFLOW),
        (r"(?:INVALID_CAST_ARGUMENT|TYPE_MISMATCH)", meanings.BAD_VALUE),
        (r"EXCEEDED_.*MEMORY", meanings.NO_MEMORY),
        after=r"\A(?:(?!name=).)*name=",
    ),
    *meanings.patterns(
        (r"error 401|Invalid credentials|Unauthorized", meanings.BAD_LOGIN),
        (r"Failed to resolve|Name or service", meanings.UNKNOWN_HOST),
        (r"Connection refused", meanings.REFUSED_PORT),
    ),
)
GUARDS = guards.Guards(
    uri_options=guards.uri_options("catalog schema source", http_scheme="http https", verify="true false"),
    database_files=guards.DatabaseFiles.NONE,
    denied_functions=guards.name_set(
        "query raw_query procedure execute sleep table_changes ai_gen ai_classify ai_extract"
    ),
    allowed_functions=guards.allowed_with("""
    all_match any_match approx_most_frequent array_* at_timezone bar beta_cdf bitwise_* checksum codepoint combinations
    contains cosine_similarity current_timezone date_parse day_of_month day_of_week day_of_year dow doy e element_at
    ends_with features filter flatten format format_datetime format_number from_base from_big_endian_64 from_hex
    from_iso8601_date from_iso8601_timestamp from_iso8601_timestamp_nanos from_unixtime_nanos from_utf8 geometric_mean
    hamming_distance hash_counts histogram hmac_md5 hmac_sha1 hmac_sha256 hmac_sha512 human_readable_seconds index
    infinity is_finite is_infinite is_json_scalar is_nan json_array json_array_contains json_array_get json_exists
    json_format json_object json_parse json_size last_day_of_month levenshtein_distance line_* map_* merge millisecond
    nan ngrams none_match normal_cdf normalize numeric_histogram parse_data_size parse_datetime parse_duration pos
    regexp_extract_all regexp_position regexp_split rgb sequence shuffle slice split split_to_map split_to_multimap
    spooky_hash_v2_64 st_* timezone_hour timezone_minute to_base to_big_endian_64 to_hex to_iso8601 to_milliseconds
    to_unixtime to_utf8 transform transform_keys transform_values try typeof url_decode url_encode url_extract_* uuid
    week_of_year wilson_interval_lower wilson_interval_upper with_timezone word_stem xxhash64 year_of_week yow zip
    zip_with set_agg murmur3 ipaddress hyperloglog tdigest qdigest luhn_check
"""),
    row_makers=frozenset(),
    revealing=guards.RevealingRelations.of(relations="", schemas="system.runtime", harmless="", functions=""),
    table_names=guards.STANDARD_TABLE_NAMES,
    fence=fences.limited_by_bigint,
    by_case=False,
    casts_columns=True,
)


def engine(name: str, label: str, moment: bounds.Moment) -> EngineSpec:
    """Return the facts that Trino and Presto share."""
    return replace(
        ansi_engine(
            name=name,
            label=label,
            dialect=name,
            drivers=("rest",),
            extra_name=name,
            guards=GUARDS,
            error_patterns=_ERRORS,
            comparison=bounds.MomentComparison(moment=moment),
            bucket=_bucket,
            shift=grains.shift_by("DATE_ADD", text("hour")),
        ),
        syntax=Syntax(reads_fields=True),
        registered_as={"rest": name},
        parameters=ConnectionParameters.encrypted_by("http_scheme", "https"),
        is_true=operators.equals_truth,
        nulls_first_by_default=nulls_are_last,
    )


_TRUSTED = TrustedAuthorities.given_by("verify", http_scheme="https")
_COSTS = costs.by_json_plan(
    "EXPLAIN (TYPE IO, FORMAT JSON)",
    lambda plan: plan["estimate"],
    {"rows": "outputRowCount", "bytes": "outputSizeInBytes", "cpu_cost": "cpuCost"},
    counted="cpu_cost",
)
_OMITTED = frozenset({"http_scheme", "catalog", "schema"})
_TRINO = engine("trino", "Trino", moment_with((6,), "FROM_ISO8601_TIMESTAMP_NANOS"))
_JWT = UserToken.wrapped_by("trino.auth:JWTAuthentication", argument="auth")
ENGINES = (
    replace(
        _TRINO, paramstyle=ParamStyle.QMARK, authorities=_TRUSTED, handed_over=_OMITTED, user_token=_JWT, costs=_COSTS
    ),
)
