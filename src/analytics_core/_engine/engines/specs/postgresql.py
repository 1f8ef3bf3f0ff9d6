"""PostgreSQL from version 14: zoned and naive timestamps apart, collations given always."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from sqlglot import exp

from analytics_core._engine.engines import (
    bounds,
    costs,
    grains,
    guards,
    kinds,
    literals,
    meanings,
    nodes,
    operators,
    partitions,
    tokens,
)
from analytics_core._engine.engines.ansi import ansi_engine
from analytics_core._engine.engines.fences import joined_with_nothing
from analytics_core._engine.engines.nodes import Type, interval
from analytics_core._engine.engines.spec import (
    TOKEN_AS_PASSWORD,
    Bind,
    ConnectionParameters,
    Refuse,
    Syntax,
    TrustedAuthorities,
    Undone,
    nulls_are_large,
    repairs,
)
from analytics_core._engine.engines.specs.totals.postgresql import TOTAL
from analytics_core._engine.engines.types import Collation, TimeEncoding, TimeFormat, ValueKind


def moments(text_type: exp.DType) -> bounds.Moment:
    """Return `EngineSpec.moment`, where numbers are read as dates by way of a text of this type."""

    def written_moment(column: exp.Expr, time_format: TimeFormat) -> exp.Expr:
        parsed = bounds.written_format(time_format)
        text = bounds.written_text(column, time_format, text_type)
        function = "TO_TIMESTAMP" if parsed.has_clock() else "TO_DATE"
        return nodes.cast(
            nodes.call(function, text, nodes.text(tokens.write_tokens(parsed, tokens.TO_TIMESTAMP))), Type.TIMESTAMP
        )

    return bounds.moments_by(
        date=operators.cast_to(Type.TIMESTAMP),
        timestamptz=nodes.utc,
        iso_text=lambda column: nodes.utc(nodes.cast(column, Type.TIMESTAMPTZ)),
        text=written_moment,
        epoch=_epoch_moment,
    )


def _epoch_moment(column: exp.Expr, time_format: TimeFormat) -> exp.Expr:
    unit = "SECOND" if time_format.encoding is TimeEncoding.EPOCH_S else "MILLISECOND"
    since = nodes.times(bounds.epoch_count(column, time_format), interval(nodes.text("1"), unit))
    return exp.Paren(this=exp.Add(this=nodes.timestamp(grains.EPOCH), expression=since))


def _cut_seconds(moment: exp.Expr, seconds: int) -> exp.Expr:
    amount, unit = grains.amount_and_unit(seconds)
    return nodes.call("DATE_BIN", interval(nodes.text(str(amount)), unit), moment, nodes.timestamp(grains.EPOCH))


def _by_code_point(node: exp.Expr) -> exp.Expr:
    return nodes.collate(node, "C", quoted=True)


def _like(left: exp.Expr, pattern: str, fold_case: bool, bind: Bind) -> exp.Expr:
    """Fold case by ICU always: a database of locale C would fold ASCII letters only."""

    def match(value: exp.Expr) -> exp.Expr:
        if not fold_case:
            return exp.Like(this=nodes.operand(left), expression=value)
        return exp.ILike(this=nodes.operand(left), expression=nodes.collate(value, "und-x-icu", quoted=True))

    return operators.matching(match, pattern, bind)


def _hashed_equal(left: exp.Expr, right: exp.Expr, kind: ValueKind) -> exp.Expr:
    """Give NULL a value of the type; where the type is not known, compare arrays, in which NULLs are equal."""
    if kind not in _STAND_INS:
        return nodes.equal(exp.Array(expressions=[left]), exp.Array(expressions=[right]))
    sides = [exp.Coalesce(this=side, expressions=[nodes.text(_STAND_INS[kind])]) for side in (left, right)]
    return nodes.equal(*sides)


_STAND_INS: Mapping[ValueKind, str] = MappingProxyType(
    {
        **dict.fromkeys((ValueKind.INTEGER, ValueKind.FLOAT, ValueKind.DECIMAL, ValueKind.BOOLEAN), "0"),
        **dict.fromkeys((ValueKind.DATE, ValueKind.TIMESTAMP, ValueKind.TIMESTAMPTZ), "1970-01-01"),
        ValueKind.TEXT: "",
    }
)
"""A literal without a type takes that of the column."""


def _tie_keys(node: exp.Expr, kind: ValueKind, _length: int | None) -> tuple[exp.Expr, ...]:
    """Sort as text what may have no order of its own: json, xml, point; every type can be written as text."""
    if kind not in (ValueKind.OTHER, ValueKind.UNKNOWN):
        return (node,)
    return (_by_code_point(nodes.cast(nodes.operand(node), Type.TEXT)),)


def _collation(name: str | None) -> Collation:
    if name is None:
        return Collation.UNKNOWN
    if name in ("C", "POSIX"):
        return Collation.CODE_POINT
    return Collation.FOLDED if name.endswith(NOT_DETERMINISTIC) else Collation.EXACT


@repairs(exp.Extract)
def _date_part(node: exp.Expr, _reject: Refuse) -> exp.Expr | None:
    """Keep the type of DATE_PART, which gives doubles; the parser makes EXTRACT of it, which gives decimals."""
    if isinstance(node.parent, exp.Cast):
        return None
    return exp.Cast(this=node.copy(), to=exp.DataType(this=exp.DataType.Type.DOUBLE))


@repairs(exp.Log)
def _log10(node: exp.Expr, _reject: Refuse) -> exp.Expr | None:
    """Keep LOG10(x), which takes doubles; LOG(10, x) takes decimals alone."""
    is_call = node.expression and node.meta.get("end", 0) - node.meta.get("start", 0) == 4
    return exp.Anonymous(this="LOG10", expressions=[node.expression]) if is_call else None


@repairs(exp.Hex)
def _to_hex(node: exp.Expr, _reject: Refuse) -> exp.Expr | None:
    return exp.Anonymous(this="TO_HEX", expressions=[node.this])


def _partitions(table: exp.Table, rows: Iterable[partitions.PartitionRow]) -> tuple[partitions.Partition, ...]:
    """Return the partitions of (schema, name, bounds); one of a range is found by where it begins."""
    found = []
    for schema, name, values in rows:
        relation = exp.Table(
            this=nodes.quoted(name or ""), db=nodes.quoted(schema or ""), catalog=table.args.get("catalog")
        )
        if (value := _partition_value(values or "")) is not None:
            found.append(partitions.Partition(table=relation, value=value))
    return tuple(found)


def _partition_value(values: str) -> str | None:
    begins = _RANGE.fullmatch(values)
    if begins:
        return partitions.first_literal(begins[1])
    listed = _LIST.fullmatch(values)
    return partitions.largest_literal(listed[1]) if listed else None


_RANGE: Final = re.compile(r"FOR VALUES FROM \((.*)\) TO \((.*)\)", re.DOTALL)
_LIST: Final = re.compile(r"FOR VALUES IN \((.*)\)", re.DOTALL)
_PARTITIONS: Final = partitions.PartitionReader(
    sql=(
        "SELECT n.nspname::text AS a, c.relname::text AS b, pg_catalog.pg_get_expr(c.relpartbound, c.oid) AS c "
        "FROM pg_catalog.pg_class t JOIN pg_catalog.pg_namespace s ON s.oid = t.relnamespace "
        "JOIN pg_catalog.pg_inherits i ON i.inhparent = t.oid JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid "
        "JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE t.relkind = 'p' AND t.relname = {table} "
        "AND s.nspname = COALESCE({schema}, CURRENT_SCHEMA()) ORDER BY 2"
    ),
    read=_partitions,
)
NOT_DETERMINISTIC = " (not deterministic)"
"""Stands behind the name of a collation that takes texts for equal which are not the same."""

_LITERALS = literals.LiteralStyle(
    dialect="postgres", timestamp_tz="TIMESTAMPTZ {}", binary="'\\x{}'::BYTEA", members="ARRAY[{}]"
)

# Made from messages that the server gave.
ERRORS = (
    *meanings.coded(
        ("42P01", r"^relation \"(?P<table>[^\"]+)\" does not exist", meanings.NO_TABLE),
        ("42P01", r"^missing from-clause entry for table \"(?P<table>[^\"]+)\"|", meanings.NO_TABLE),
        (
            "42703",
            r"^column \"?(?P<column>[^\"\n]+?)\"?(?: of relation \"[^\"]+\")? does not exist|",
            meanings.NO_COLUMN,
        ),
        ("3F000", r"^schema \"(?P<schema>[^\"]+)\" does not exist|", meanings.NO_SCHEMA),
        (
            "3D000",
            r"^database \"(?P<database>[^\"]+)\" does not exist|",
            meanings.NO_OBJECT.said(meanings.NO_DATABASE.template),
        ),
        ("42883 42725", r"^function (?P<function>[^(]+)\(.*(?:does not exist|is not unique)", meanings.NO_FUNCTION),
        (
            "42883 42725",
            r"^(?:function|operator) .*does not exist|^function .*is not unique|",
            meanings.NO_OBJECT.said("there is no function or operator for values of these types"),
        ),
        ("42704", r"", meanings.NO_OBJECT),
        ("42702", r"^column reference \"(?P<column>[^\"]+)\" is ambiguous|", meanings.AMBIGUOUS),
        ("42803", r"^aggregate function(?:s are not allowed| calls cannot be nested)", meanings.MISPLACED),
        ("42P10", r"^(?:ORDER|GROUP) BY position \d+ is not in select list", meanings.NO_POSITION),
        (
            "42803",
            r"^column .* must appear in the group by|",
            meanings.NOT_GROUPED,
        ),
        (
            "21000 42601",
            r"^(?:subquery must return only one|more than one row returned by a subquery)",
            meanings.MANY_ROWS,
        ),
        ("42601", r"^cannot insert multiple commands", meanings.ONE_ONLY),
        ("42601", r"^each \w+ query must have the same number", meanings.UNEQUAL),
        ("42601", r"^(?:syntax error|unterminated)|", meanings.SYNTAX),
        (
            "25006 25001",
            r"^cannot execute .* in a read-only transaction|^transaction read-write mode must be set|",
            meanings.READ_ONLY,
        ),
        ("42501", r"^permission denied for (?:table|relation|view|schema|sequence) (?P<table>\S+)", meanings.DENIED),
        ("42501", r"^permission denied for \w+ |^must be |", meanings.DENIED_ANY),
        ("57014", r"^canceling statement due to statement timeout", meanings.TIMEOUT),
        ("57014", r"^canceling statement|", meanings.KILLED),
        ("22012", r"^division by zero|", meanings.ZERO),
        (
            "22008",
            r"^date/time field value out of range|^(?:timestamp|date|year|interval).* out of range"
            r"|^timestamp too (?:large|small)|",
            meanings.BAD_TIME,
        ),
        ("22003 2201E 2201F 2201G", r"^[\w ]+ out of range|^numeric field overflow|^cannot take|", meanings.OVERFLOW),
        ("42P07", r"", meanings.MADE_MEANWHILE),
        ("23505", r"^duplicate key value violates unique constraint \"pg_(?:type|class)_", meanings.MADE_MEANWHILE),
        ("2BP01", r"", meanings.NEEDED),
        ("23502", r"^null value in column \"(?P<column>[^\"]+)\"|", meanings.NO_NULLS),
        ("23505 23P01", r"", meanings.NOT_UNIQUE),
        ("23514", r"^no partition of relation", meanings.NOT_CHECKED.said("no partition of the table takes the row")),
        ("23514", r"^new row for relation|", meanings.NOT_CHECKED),
        ("23503", r"", meanings.NO_REFERENCE),
        ("22001", r"^value too long|", meanings.TOO_LONG),
        (
            "22 42602 42804 42846 42P18",
            r"^invalid input syntax|^invalid byte sequence|^[\w ]+ cannot be (?:cast|matched)|^could not determine|",
            meanings.BAD_VALUE,
        ),
        ("54", r"^stack depth limit|^too many|^target lists can have|", meanings.TOO_DEEP),
        ("53200 XX000", r"^out of memory|^invalid memory alloc", meanings.NO_MEMORY),
        ("40", r"", meanings.UNDONE),
        ("55P03", r"", meanings.LOCK_WAIT),
        ("53100", r"", meanings.NO_ROOM),
        ("53300", r"", meanings.CROWDED),
        ("08 57P01 57P02 57P03", r"^terminating connection|", meanings.LOST),
    ),
    *meanings.patterns(
        (
            r"^copy cannot be used|^the last operation didn't (?:return|produce)|^no result available",
            meanings.READ_ONLY,
        ),
        (r"role \"(?P<user>[^\"]+)\" does not exist", meanings.BAD_USER),
        (r"password authentication failed for user \"(?P<user>[^\"]+)\"", meanings.BAD_PASSWORD),
        (
            r"no password supplied|no pg_hba.conf entry|pg_hba.conf rejects|is not permitted to log in",
            meanings.BAD_LOGIN,
        ),
        (r"database \"(?P<database>[^\"]+)\" does not exist", meanings.NO_DATABASE),
        (
            r"permission denied for database \"?(?P<database>[^\"\n]+)",
            meanings.DENIED_ANY.said("the database user may not connect to {database}"),
        ),
        (r"failed to resolve host '(?P<host>[^']*)'|could not translate host name", meanings.BAD_HOST),
        (r"invalid port number: \"(?P<port>[^\"]*)\"", meanings.BAD_PORT),
        (
            r"connection to server at \"(?P<host>[^\"]+)\".* port (?P<port>\d+) failed: connection refused",
            meanings.PORT_CLOSED,
        ),
        (
            r"connection to server at \"(?P<host>[^\"]+)\""
            r".*(?:timeout|timed out|no route|unreachable|closed the connection)",
            meanings.HOST_DOWN,
        ),
        (r"connection timeout expired|timeout expired", meanings.HOST_DOWN.said("the server did not answer in time")),
        (r"server does not support ssl", meanings.TAKES_NO_ENCRYPTION),
        (r"server certificate for .* does not match host name", meanings.OTHER_NAME),
        (r"certificate verify failed|root certificate file", meanings.UNTRUSTED),
        (r"ssl (?:error|required)(?!.*certificate verify failed)|certificate", meanings.NO_ENCRYPTION),
        (
            r"the database system is (?:starting up|shutting down|in recovery|not (?:yet )?accepting)",
            meanings.LOST.said("the server starts or stops at present and takes no connections"),
        ),
        (
            r"too many clients|remaining connection slots",
            meanings.CROWDED,
        ),
        (
            r"server closed the connection|terminating connection|connection (?:is lost|is closed|was closed)",
            meanings.LOST,
        ),
    ),
)
DENIED = """
    loread lowrite aws_s3 set_config nextval setval lastval currval autoprewarm_start_worker currtid currtid2
    query_to_xml cursor_to_xml table_to_xml schema_to_xml database_to_xml xpath_table ts_stat ts_rewrite crosstab
    crosstab2 crosstab3 crosstab4 crosstabn connectby dblink dblink_connect dblink_connect_u dblink_disconnect
    dblink_open dblink_fetch dblink_close dblink_exec dblink_send_query dblink_get_result dblink_get_connections
    dblink_is_busy dblink_cancel_query dblink_error_message dblink_get_notify dblink_get_pkey dblink_build_sql_insert
    dblink_build_sql_update dblink_build_sql_delete postgres_fdw_get_connections postgres_fdw_disconnect
    postgres_fdw_disconnect_all http http_get http_post http_put http_delete http_patch http_head pg_* !pg_catalog
    !pg_typeof !pg_column_size !pg_column_compression !pg_size_pretty !pg_size_bytes !pg_client_encoding
    !pg_char_to_encoding !pg_encoding_to_char !pg_input_is_valid !pg_wal_lsn_diff !pg_backend_pid !pg_my_temp_schema
    !pg_is_in_recovery !pg_postmaster_start_time !pg_conf_load_time has_*_privilege row_security_active current_setting
    current_query getpgusername to_regclass to_regcollation to_regnamespace to_regoper to_regoperator to_regproc
    to_regprocedure to_regrole to_regtype regclass regcollation regconfig regdictionary regnamespace regoper regoperator
    regproc regprocedure regrole regtype obj_description col_description shobj_description inet_client_addr
    inet_client_port inet_server_addr inet_server_port txid_* aclexplode acldefault makeaclitem aclinsert aclremove
    aclcontains *_to_xml_and_xmlschema *_to_xmlschema binary_upgrade_* amvalidate lo_* gin_clean_* brin_* stv_* aclitem*
    reg*in reg*out reg*recv reg*send _reg* _aclitem _pg_* array_in array_recv record_in record_recv domain_in
    domain_recv enum_in enum_recv range_in range_recv multirange_in multirange_recv any*_in any*_recv format_type
    oidvectortypes current_schemas get_current_ts_config ts_parse ts_token_type *_validator *_call_handler
"""
"""Files, the session, hidden SQL, and the catalog: what it looks up at run time, what others may and do."""

ALLOWED = """
    pg_catalog acosd asind atand atan2d cosd cotd sind tand erf erfc factorial gcd lcm scale min_scale trim_scale
    num_nonnulls num_nulls random_normal age clock_timestamp date_bin isfinite justify_days justify_hours
    justify_interval make_interval make_timestamptz statement_timestamp timezone transaction_timestamp date_subtract
    bit_count encode format normalize quote_ident quote_literal quote_nullable regexp_match regexp_split_to_array sha224
    sha384 similarity word_similarity strict_word_similarity unistr to_hex to_ascii get_bit get_byte parse_ident
    string_to_array levenshtein metaphone dmetaphone casefold crc32 crc32c array_append array_cat array_dims array_lower
    array_ndims array_position array_positions array_prepend array_remove array_replace array_to_json array_to_string
    array_upper trim_array json_agg json_build_array json_build_object json_extract_path json_extract_path_text
    json_object json_object_agg json_strip_nulls json_typeof row_to_json to_json to_jsonb json_array json_arrayagg
    json_objectagg json_exists json_scalar json_serialize json jsonb_agg jsonb_array_length jsonb_build_array
    jsonb_build_object jsonb_exists jsonb_exists_all jsonb_exists_any jsonb_extract_path jsonb_extract_path_text
    jsonb_object jsonb_object_agg jsonb_path_exists jsonb_path_match jsonb_path_query_array jsonb_path_query_first
    jsonb_pretty jsonb_set jsonb_strip_nulls jsonb_typeof jsonb_insert jsonb_contains abbrev broadcast family host
    hostmask inet_merge inet_same_family masklen netmask network isempty lower_inc lower_inf upper_inc upper_inf
    range_merge int4range int8range numrange tsrange tstzrange daterange range_agg range_intersect_agg plainto_tsquery
    phraseto_tsquery websearch_to_tsquery to_tsquery to_tsvector ts_rank ts_rank_cd numnode querytree area center
    diameter height radius gen_random_uuid pg_typeof pg_column_size hashtext int2 int4 int8 float4 float8 bool tsquery
    tsvector citext hstore ltree geometry geography inet cidr macaddr macaddr8 box point circle line lseg path polygon
    uuid jsonb jsonpath bytea money xml st_area st_asgeojson st_astext st_centroid st_contains st_distance st_dwithin
    st_intersects st_length st_makepoint st_point st_setsrid st_transform st_within st_x st_y time_bucket
"""
TYPES = """
    array bigint bit bool boolean box bpchar bytea char cidr circle citext date daterange datemultirange decimal double
    float float4 float8 geometry hstore inet int int2 int4 int4multirange int4range int8 int8multirange int8range
    integer interval json jsonb jsonpath line lseg ltree macaddr macaddr8 money name numeric nummultirange numrange oid
    path pg_lsn pg_snapshot point polygon real smallint text time timestamp timestamptz timetz tsmultirange tsquery
    tsrange tstzmultirange tstzrange tsvector uuid varbit varchar xid8 xml
"""
REVEALING = """
    pg_stat* pg_authid pg_shadow pg_user_mapping pg_user_mappings pg_subscription pg_prepared_statements pg_cursors
    pg_largeobject pg_hba_file_rules pg_ident_file_mappings pg_file_settings pg_db_role_setting pg_shmem_allocations
    pg_backend_memory_contexts
"""
REVEALING_SCHEMAS = "pg_toast pg_toast_temp_*"
GUARDS = guards.Guards(
    uri_options=guards.uri_options(
        "application_name client_encoding",
        numbers="connect_timeout keepalives keepalives_idle keepalives_interval keepalives_count tcp_user_timeout",
        sslmode="disable allow prefer require verify-ca verify-full",
        channel_binding="disable prefer require",
        gssencmode="disable prefer require",
        target_session_attrs="any read-write read-only primary standby prefer-standby",
    ),
    database_files=guards.DatabaseFiles.NONE,
    denied_functions=guards.name_set(DENIED),
    allowed_functions=guards.allowed_with(ALLOWED),
    row_makers=frozenset({"regexp_matches"}),
    revealing=guards.RevealingRelations.of(relations=REVEALING, schemas=REVEALING_SCHEMAS, harmless="", functions=""),
    table_names=replace(
        guards.STANDARD_TABLE_NAMES,
        longest=63,
        own=guards.name_set("information_schema pg_*"),
        types=guards.name_set(TYPES),
        row_ids=frozenset({"ctid", "tableoid", "xmin", "xmax", "cmin", "cmax"}),
    ),
    fence=joined_with_nothing,
    by_case=True,
    casts_columns=False,
)
AUTHORITIES = TrustedAuthorities(
    file=lambda path: {"sslrootcert": path},
    settings={
        "sslmode": {
            "": "verify-full",
            "require": "verify-full",
            "verify-full": "verify-full",
            "verify-ca": "verify-ca",
        },
        "gssencmode": {"": "disable", "disable": "disable"},
    },
)
"""For libpq; alone, `require` would not look at the name of the server."""

_COSTS = costs.by_json_plan(
    "EXPLAIN (FORMAT JSON)",
    lambda plan: plan[0]["Plan"],
    {"startup_cost": "Startup Cost", "total_cost": "Total Cost", "rows": "Plan Rows"},
    counted="total_cost",
)

ENGINES = (
    replace(
        ansi_engine(
            name="postgresql",
            label="PostgreSQL",
            dialect="postgres",
            drivers=("psycopg",),
            extra_name="postgres",
            guards=GUARDS,
            error_patterns=ERRORS,
            comparison=bounds.MomentComparison(moment=moments(Type.TEXT)),
            bucket=grains.buckets_by_truncation(cut_seconds=_cut_seconds),
            shift=grains.hours_by_interval,
            text_key=_by_code_point,
        ),
        syntax=Syntax(repairs_by_call=MappingProxyType({"date_part": _date_part, "log10": _log10, "to_hex": _to_hex})),
        total=TOTAL,
        aliases=("postgres",),
        usual_port=5432,
        max_identifier_bytes=63,
        like=_like,
        as_text=operators.cast_to(Type.TEXT),
        average=lambda node: nodes.cast(exp.Avg(this=node), Type.DOUBLE),
        in_list=operators.in_array(),
        literal=_LITERALS.write,
        value_kind=kinds.kind_reader({"MONEY": ValueKind.OTHER, "OID": ValueKind.INTEGER, "BYTEA": ValueKind.BYTES}),
        number_range=kinds.range_reader({"SMALLINT": 16, "INTEGER": 32, "BIGINT": 64}),
        unsortable_kinds=frozenset(),
        hashed_equal=_hashed_equal,
        tie_keys=_tie_keys,
        collation=_collation,
        splits_nulls=True,
        nulls_first_by_default=nulls_are_large,
        partitions=_PARTITIONS,
        undone=Undone.ALL,
        costs=_COSTS,
        parameters=ConnectionParameters.encrypted_by("sslmode", "require"),
        user_token=TOKEN_AS_PASSWORD,
        authorities=AUTHORITIES,
    ),
)
