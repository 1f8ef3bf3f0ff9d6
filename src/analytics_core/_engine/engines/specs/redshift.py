"""Redshift: PostgreSQL's syntax without its newer functions. Its buckets run on PostgreSQL too and are tested there."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from analytics_core._engine.engines import bounds, fences, grains, guards, kinds, literals, meanings, nodes, operators
from analytics_core._engine.engines.ansi import ansi_engine
from analytics_core._engine.engines.nodes import Type, interval, text, times
from analytics_core._engine.engines.spec import ConnectionParameters, nulls_are_large
from analytics_core._engine.engines.specs import postgresql
from analytics_core._engine.engines.types import ValueKind

_bucket = grains.buckets_by_truncation(
    cut_seconds=grains.cut_by_remainder(
        seconds_since_epoch=lambda second: nodes.cast(
            exp.Extract(this=exp.Var(this="EPOCH"), expression=second), Type.BIGINT
        ),
        subtract_seconds=lambda second, past: exp.Sub(
            this=second, expression=times(past, interval(text("1"), "SECOND"))
        ),
    )
)
_STOPPED = meanings.KILLED.said("the statement was stopped on the server: by somebody, or by its statement_timeout")
"""It says `canceled on user's request` of both."""
_ERRORS = (
    *meanings.coded(
        (
            "57014",
            r"^Query \S* ?cancell?ed by WLM",
            meanings.KILLED.said("a rule of the workload management stopped it"),
        ),
        ("57014", r"^Query \S* ?cancell?ed|^abort query", _STOPPED),
        ("22012 XX000", r"^divide by (?:zero|0)", meanings.ZERO),
        ("22 XX000", r"^invalid (?:digit|date|timestamp|boolean)|^overflow for", meanings.BAD_VALUE),
        ("40 XX000", r"^1023\b|^serializable isolation violation", meanings.UNDONE),
    ),
    *meanings.patterns(
        (r"^password authentication failed|^IAM authentication", meanings.BAD_LOGIN),
        (r"could not translate host name \"(?P<host>[^\"]+)\"", meanings.BAD_HOST),
        (r"connection limit \"?\d+\"? exceeded", meanings.CROWDED),
    ),
    *postgresql.ERRORS,
)
_REVEALING = "stl_* stv_* svl_* svcs_* sys_* svv_query_* svv_transactions svv_diskusage"
_GUARDS = replace(
    postgresql.GUARDS,
    denied_functions=guards.name_set(postgresql.DENIED, "explain_model"),
    allowed_functions=guards.allowed_with(
        postgresql.ALLOWED,
        """
    bpcharcmp convert_timezone date_cmp date_cmp_timestamp date_part_year dexp dlog1 dlog10 func_sha1 interval_cmp
    is_valid_json is_valid_json_array json_extract_array_element_text json_parse json_serialize can_json_parse
    ratio_to_report strtol timeofday timestamp_cmp to_hex textlen trim_scale bttext_pattern_cmp charindex crc32 nvl
    isnull get_array_length split_to_array subarray approximate
""",
    ),
    row_makers=frozenset({"generate_series"}),
    revealing=guards.RevealingRelations.of(
        relations=f"{postgresql.REVEALING} {_REVEALING}",
        schemas=postgresql.REVEALING_SCHEMAS,
        harmless="",
        functions="",
    ),
    table_names=replace(
        guards.STANDARD_TABLE_NAMES, longest=127, own=guards.name_set("information_schema pg_* stl_* stv_* svv_*")
    ),
    fence=fences.limited_by_bigint,
    by_case=False,
    casts_columns=True,
)
_LITERALS = literals.LiteralStyle(dialect="redshift", timestamp_tz="TIMESTAMPTZ {}", binary="FROM_HEX('{}')")

ENGINES = (
    replace(
        ansi_engine(
            name="redshift",
            label="Amazon Redshift",
            dialect="redshift",
            drivers=("psycopg2",),
            extra_name="redshift",
            guards=_GUARDS,
            error_patterns=_ERRORS,
            comparison=bounds.MomentComparison(moment=postgresql.moments(Type.VARCHAR)),
            bucket=_bucket,
            shift=grains.hours_by_interval,
        ),
        usual_port=5439,
        parameters=ConnectionParameters.encrypted_by("sslmode", "require"),
        authorities=postgresql.AUTHORITIES,
        max_identifier_bytes=127,
        like=operators.like_where_case_counts(has_ilike=True),
        literal=_LITERALS.write,
        value_kind=kinds.kind_reader({"VARBYTE": ValueKind.BYTES, "OID": ValueKind.INTEGER}),
        null_safe_equal=operators.null_safe_equal_spelled,
        nulls_first_by_default=nulls_are_large,
    ),
)
