"""MariaDB and MySQL: text compares without case, accents and trailing blanks unless a collation says otherwise.

Measured on MariaDB 10.11. TIMESTAMP columns hold UTC moments because sessions run in
UTC. MySQL 8 has no `utf8mb4_nopad_bin`: give `mysql_spec` its `utf8mb4_0900_bin`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, Final

from sqlglot import exp

from analytics_core._engine.engines import (
    bounds,
    costs,
    grains,
    guards,
    kinds,
    meanings,
    nodes,
    operators,
    partitions,
    tokens,
)
from analytics_core._engine.engines.ansi import ansi_engine
from analytics_core._engine.engines.fences import limited
from analytics_core._engine.engines.nodes import Type, call, int_quotient, interval, minus, number, plus, text, times
from analytics_core._engine.engines.spec import (
    TOKEN_AS_PASSWORD,
    Bind,
    ConnectionParameters,
    EngineSpec,
    Refuse,
    Syntax,
    TrustedAuthorities,
    Undone,
    repairs,
)
from analytics_core._engine.engines.specs.totals.mysql import TOTAL
from analytics_core._engine.engines.types import Collation, TimeEncoding, TimeFormat, ValueKind
from analytics_core.errors import FilterValueError
from analytics_core.models.enums import TimeGrain

MARIADB_COLLATION = "utf8mb4_nopad_bin"
"""Compares by code point, trailing blanks included."""

_DAY = 86_400


# ------------------------------------------------------------------------------------------------------------ moments
def _iso_moment(column: exp.Expr) -> exp.Expr:
    """Apply a UTC offset at the end of the text, which the cast would drop without a word."""
    length = call("CHAR_LENGTH", column.copy())
    sign = call("SUBSTRING", column.copy(), number(-6), number(1))
    has_offset = exp.And(
        this=exp.GT(this=length.copy(), expression=number(10)),
        expression=exp.In(this=sign, expressions=[text("+"), text("-")]),
    )
    offset = call("RIGHT", column.copy(), number(6))
    moved = call("SUBTIME", _as_datetime(_without_end(column, 6)), offset)
    is_utc = nodes.equal(call("RIGHT", column.copy(), number(1)), text("Z"))
    return nodes.when(
        (is_utc, _as_datetime(_without_end(column, 1))), (has_offset, moved), otherwise=_as_datetime(column)
    )


def _without_end(column: exp.Expr, characters: int) -> exp.Expr:
    return call("LEFT", column.copy(), minus(call("CHAR_LENGTH", column.copy()), number(characters)))


def _as_datetime(node: exp.Expr) -> exp.Expr:
    return nodes.cast(node, Type.DATETIME, 6)


def _written_moment(column: exp.Expr, time_format: TimeFormat) -> exp.Expr:
    """Add the month and the day where the text has none: STR_TO_DATE would leave them 0."""
    parsed = bounds.written_format(time_format)
    written, added = tokens.write_tokens(parsed, tokens.STR_TO_DATE), ""
    for letter in parsed.missing_parts():
        written, added = f"{written} %{letter}", f"{added} 01"
    source = nodes.joined(column, text(added)) if added else column
    return call("TIMESTAMP", call("STR_TO_DATE", source, text(written)))


def _epoch_moment(column: exp.Expr, time_format: TimeFormat) -> exp.Expr:
    count = bounds.epoch_count(column, time_format)
    if time_format.encoding is TimeEncoding.EPOCH_S:
        return exp.Paren(this=plus(_epoch(), interval(nodes.operand(count), "SECOND")))
    return exp.Paren(this=plus(_epoch(), interval(times(count, number(1000)), "MICROSECOND")))


def _epoch() -> exp.Expr:
    return call("TIMESTAMP", text(grains.EPOCH))


_unchanged = operators.unchanged
_moment = bounds.moments_by(
    date=_unchanged, timestamptz=_unchanged, iso_text=_iso_moment, text=_written_moment, epoch=_epoch_moment
)


# ------------------------------------------------------------------------------------------------------------ buckets
def _bucket(moment: exp.Expr, grain: TimeGrain) -> exp.Expr:
    seconds = grains.SECONDS.get(grain)
    if seconds is None:
        return _CALENDAR[grain](moment)
    return _seconds_of_day(moment, seconds) if _DAY % seconds == 0 else _seconds_of_all_time(moment, seconds)


def _day(moment: exp.Expr) -> exp.Expr:
    return call("DATE", moment.copy())


def _clock_seconds(moment: exp.Expr) -> exp.Expr:
    return call("TIME_TO_SEC", call("TIME", moment.copy()))


def _seconds_of_day(moment: exp.Expr, seconds: int) -> exp.Expr:
    """Count from midnight, which is the same for grains that divide a day and stays right before 1970."""
    steps = exp.Paren(this=int_quotient(_clock_seconds(moment), number(seconds)))
    return plus(call("TIMESTAMP", _day(moment)), interval(exp.Paren(this=times(steps, number(seconds))), "SECOND"))


def _seconds_of_all_time(moment: exp.Expr, seconds: int) -> exp.Expr:
    since = plus(
        call("TIMESTAMPDIFF", exp.Var(this="SECOND"), text(grains.EPOCH), _day(moment)),
        int_quotient(_clock_seconds(moment), number(1)),
    )
    size = number(seconds)
    past = call("MOD", plus(call("MOD", since, size), size.copy()), size.copy())
    return plus(_epoch(), interval(exp.Paren(this=minus(since.copy(), past)), "SECOND"))


def _days_moved(moment: exp.Expr, days: exp.Expr) -> exp.Expr:
    return call("TIMESTAMP", plus(_day(moment), interval(exp.Paren(this=days), "DAY")))


def _counted_from(place: int, function: str) -> Callable[[exp.Expr], exp.Expr]:
    """Return the move to the day at a place of its week or month, as the function counts them."""
    return lambda moment: _days_moved(moment, minus(number(place), call(function, moment.copy())))


def _week_starting_monday(moment: exp.Expr) -> exp.Expr:
    return _days_moved(moment, exp.Neg(this=call("WEEKDAY", moment.copy())))


def _quarter(moment: exp.Expr) -> exp.Expr:
    quarters = exp.Paren(this=minus(call("QUARTER", moment.copy()), number(1)))
    return call("TIMESTAMP", plus(_first_of_year(moment), interval(quarters, "QUARTER")))


def _first_of_year(moment: exp.Expr) -> exp.Expr:
    return call("MAKEDATE", call("YEAR", moment.copy()), number(1))


_CALENDAR: Mapping[TimeGrain, Callable[[exp.Expr], exp.Expr]] = MappingProxyType(
    {
        TimeGrain.DAY: lambda moment: call("TIMESTAMP", _day(moment)),
        TimeGrain.WEEK: _week_starting_monday,
        TimeGrain.WEEK_STARTING_MONDAY: _week_starting_monday,
        TimeGrain.WEEK_STARTING_SUNDAY: _counted_from(1, "DAYOFWEEK"),
        TimeGrain.WEEK_ENDING_SATURDAY: _counted_from(7, "DAYOFWEEK"),
        TimeGrain.WEEK_ENDING_SUNDAY: _counted_from(6, "WEEKDAY"),
        TimeGrain.MONTH: _counted_from(1, "DAYOFMONTH"),
        TimeGrain.QUARTER: _quarter,
        TimeGrain.YEAR: lambda moment: call("TIMESTAMP", _first_of_year(moment)),
    }
)


# ---------------------------------------------------------------------------------------------------------- operators
def _as_utf8(node: exp.Expr) -> exp.Expr:
    """Return `CONVERT(node USING utf8mb4)`: collations of utf8mb4 cannot be put on text of other character sets."""
    character_set = exp.DataType(this=Type.CHARACTER_SET, kind=exp.Var(this="utf8mb4"))
    return exp.Cast(this=node, to=character_set)


def _as_double(node: exp.Expr) -> exp.Expr:
    """The server writes FLOAT with six digits, and compares it with all that it has."""
    return nodes.cast(node, Type.DOUBLE)


_FOLDED: Final = re.compile(
    "[\\u0041-\\u012f\\u0131-\\u017f\\u0386-\\u03ce\\u0400-\\u045f\\u0490\\u0491\\u0531-\\u0586]"
)
"""Letters whose case MariaDB folds as the other engines do, as measured; later ones it leaves as they are."""


def _reject_unfolded(pattern: str) -> None:
    for letter in pattern:
        if letter.lower() != letter.upper() and not _FOLDED.match(letter):
            raise FilterValueError(
                f"ILIKE: MariaDB does not fold the case of {letter!r}; use LIKE, or leave the letter out"
            )


def _like(left: exp.Expr, pattern: str, fold_case: bool, bind: Bind) -> exp.Expr:
    if fold_case:
        _reject_unfolded(pattern)
    return _plain_like(left, pattern, fold_case, bind)


_plain_like = operators.like_where_case_counts(has_ilike=False, pattern_key=partial(nodes.collate, name="utf8mb4_bin"))


def _tie_keys(node: exp.Expr, kind: ValueKind, length: int | None) -> tuple[exp.Expr, ...]:
    """Sort by a digest too where values are long: the server sorts by their first 1,024 bytes (`max_sort_length`)."""
    is_short = kind not in _LONG_KINDS or (length is not None and length <= _SORTED_CHARACTERS)
    return (node,) if is_short else (node, call("MD5", node.copy()))


_SORTED_CHARACTERS = 256  # of up to four bytes
_LONG_KINDS = (ValueKind.TEXT, ValueKind.BYTES, ValueKind.OTHER, ValueKind.UNKNOWN)


def _collation_by(code_point: str) -> Callable[[str | None], Collation]:
    def collation(name: str | None) -> Collation:
        if name == code_point:
            return Collation.CODE_POINT
        return Collation.UTF8 if name is not None and name.startswith("utf8mb4_") else Collation.UNKNOWN

    return collation


def _key_by(collation: str) -> operators.ToNode:
    return lambda node: nodes.collate(_as_utf8(node), collation)


# ------------------------------------------------------------------------------------------------------------ repairs
@repairs(exp.RegexpLike)
def _regexp(node: exp.Expr, _reject: Refuse) -> exp.Expr | None:
    """Write REGEXP so that MariaDB runs it too: it has no REGEXP_LIKE."""
    if node.args.get("flag"):
        return None
    position = exp.Anonymous(this="REGEXP_INSTR", expressions=[node.this, node.expression])
    return exp.Paren(this=exp.GT(this=position, expression=exp.Literal(this="0", is_string=False)))


@repairs(exp.HexString)
def _hex(node: exp.Expr, _reject: Refuse) -> exp.Expr | None:
    """Keep 0x41, a number beside numbers; x'41', as which it would be written, is text on MariaDB, and 0 there."""
    if node.meta.get("end", 0) - node.meta.get("start", 0) != len(node.name) + 1:
        return None
    return exp.Literal(this=f"0x{node.name}", is_string=False)


@repairs(exp.Chr)
def _chr(node: exp.Expr, _reject: Refuse) -> exp.Expr | None:
    """Keep CHR(65) of MariaDB, which gives text; CHAR(65) gives bytes."""
    plain = not node.args.get("charset") and len(node.expressions) == 1
    return exp.Anonymous(this="CHR", expressions=node.expressions) if plain else None


@repairs(exp.Median)
def _median(node: exp.Expr, _reject: Refuse) -> exp.Expr | None:
    return exp.Anonymous(this="MEDIAN", expressions=[node.this])


@repairs(exp.UtcDate, exp.UtcTime, exp.UtcTimestamp)
def _utc(node: exp.Expr, _reject: Refuse) -> exp.Expr | None:
    precision = node.args.get("this")
    name = node.sql_name() if isinstance(node, exp.Func) else ""
    return exp.Anonymous(this=name, expressions=[precision] if precision else [])


@repairs(exp.Select)
def _without_dual(node: exp.Expr, _reject: Refuse) -> exp.Expr | None:
    """Leave `FROM DUAL` out, which reads no table: in the quotes that a reserved word gets it would name one."""
    source = node.args.get("from_") if not node.args.get("joins") else None
    table = source and source.this
    if isinstance(table, exp.Table) and table.name.upper() == "DUAL" and not (table.db or table.this.quoted):
        node.set("from_", None)
        return node
    return None


@repairs(exp.EQ)
def _sounds_like(node: exp.Expr, _reject: Refuse) -> exp.Expr | None:
    """Close the comparison that SOUNDS LIKE becomes."""
    made = isinstance(node.this, exp.Soundex) and isinstance(node.expression, exp.Soundex)
    beside = isinstance(node.parent, exp.Binary) and not isinstance(node.parent, exp.Connector)
    return exp.Paren(this=node.copy()) if made and beside else None


@repairs(exp.TimestampAdd)
def _timestamp_add(node: exp.Expr, _reject: Refuse) -> exp.Expr | None:
    amount, sign = node.expression, ""
    if isinstance(amount, exp.Neg):
        amount, sign = amount.this, "-"
    if isinstance(amount, exp.Literal) and not amount.is_string:
        amount = exp.Literal(this=sign + amount.name, is_string=True)
    else:
        amount = node.expression
    return exp.DateAdd(this=node.this, expression=amount, unit=node.args.get("unit"))


# ------------------------------------------------------------------------------------------------------------- guards
def _partitions(table: exp.Table, rows: Iterable[partitions.PartitionRow]) -> tuple[partitions.Partition, ...]:
    """Return the partitions of (name, method, description), in order; a range begins where the one before ends."""
    found: list[partitions.Partition] = []
    begins: str | None = None
    for name, method, description in rows:
        kind = (method or "").partition(" ")[0].upper()
        value = begins if kind == "RANGE" else partitions.largest_literal(description or "") if kind == "LIST" else None
        if value is not None:
            selected = table.copy()
            selected.set("partition", exp.Partition(expressions=[nodes.quoted(name or "")]))
            found.append(partitions.Partition(table=selected, value=value))
        begins = partitions.first_literal(description or "")
    return tuple(found)


_PARTITIONS: Final = partitions.PartitionReader(
    sql=(
        "SELECT partition_name AS a, partition_method AS b, partition_description AS c "
        "FROM information_schema.partitions WHERE table_name = {table} "
        "AND table_schema = COALESCE({schema}, DATABASE()) AND partition_name IS NOT NULL "
        "ORDER BY partition_ordinal_position"
    ),
    read=_partitions,
)
# Made from messages that MariaDB gave.
_ERRORS = meanings.patterns(
    (r"^\(1146, .Table '(?:[^'.]+\.)?(?P<table>[^']+)' doesn't exist", meanings.NO_TABLE),
    (r"^\(1109, .Unknown table '(?P<table>[^']+)'", meanings.NO_TABLE),
    (r"^\(1054, .Unknown column '(?P<column>[^']+)'", meanings.NO_COLUMN),
    (r"^\(1305, .\w+ (?:\w+\.)?(?P<function>\w+) does not exist", meanings.NO_FUNCTION),
    (r"^\(1049, .Unknown database '(?P<database>[^']+)'", meanings.NO_DATABASE),
    (r"^\(1052, .Column '(?P<column>[^']+)'", meanings.AMBIGUOUS),
    (r"^\((?:1055|1140|1247),", meanings.NOT_GROUPED),
    (r"^\((?:1056|1111),", meanings.MISPLACED),
    (r"^\(1222,", meanings.UNEQUAL),
    (r"^\((?:1241|1242),", meanings.MANY_ROWS),
    (r"^\((?:1064|1149|1248|1060|1235|1221|1582|1583|4078),", meanings.SYNTAX),
    (r"^\((?:1792|1290|1223|1836|1099),", meanings.READ_ONLY),
    (r"^\(114[23], .* for (?:table|column) (?:`[^`]+`\.)?`?(?P<table>[^\s\"]+?)[`\"]*\)?$", meanings.DENIED),
    (r"^\((?:1142|1143|1227|1370|1044),", meanings.DENIED_ANY),
    (
        r"^\((?:1045|1698), .Access denied for user '(?P<user>[^']*)'",
        meanings.BAD_LOGIN.said("the server does not accept user {user} with this password"),
    ),
    (
        r"^\((?:1129|1130|1040|1203|1226),",
        meanings.CROWDED.said("the server takes no connections from here at present"),
    ),
    (r"^\(2026, .*server doesn't support", meanings.TAKES_NO_ENCRYPTION),
    (r"^\(2003, .*hostname mismatch|^\(2003, .*certificate is not valid for", meanings.OTHER_NAME),
    (r"^\(2003, .*certificate verify failed", meanings.UNTRUSTED),
    (r"^\((?:2026,|2003, .*(?:\[SSL|certificate))", meanings.NO_ENCRYPTION),
    (
        r"^\(2003, .* on '(?P<host>[^']*)' .*(?:name or service|nodename|not known|getaddrinfo|temporary failure)",
        meanings.BAD_HOST,
    ),
    (r"^\(2003, .* on '(?P<host>[^']*)' .*refused", meanings.PORT_CLOSED),
    (r"port must be 0-65535", meanings.BAD_PORT.said("ports are whole numbers from 1 to 65535")),
    (r"^\(2003, .* on '(?P<host>[^']*)'", meanings.HOST_DOWN),
    (r"^\((?:0|2006|2013|2055|1053|1927),", meanings.LOST),
    (r"^\((?:1969|3024),", meanings.TIMEOUT),
    (r"^\((?:1317|1028),", meanings.KILLED),
    (r"^\((?:1205|1213),", meanings.LOCK_WAIT),
    (r"^\((?:1021|1114),|^\((?:3|1026|1030), .*\b28\b", meanings.NO_ROOM),
    (r"^\(1365,", meanings.ZERO),
    (r"^\(1264, .Out of range value for column '(?P<column>[^']+)'", meanings.OVERFLOW),
    (r"^\((?:1264|1690|1916),", meanings.OVERFLOW),
    (r"^\((?:1048|1364), .(?:Column|Field) '(?P<column>[^']+)'", meanings.NO_NULLS),
    (r"^\(1050,", meanings.MADE_MEANWHILE),
    (r"^\(1062,", meanings.NOT_UNIQUE),
    (r"^\((?:3819|4025),", meanings.NOT_CHECKED),
    (r"^\((?:1216|1452),", meanings.NO_REFERENCE),
    (r"^\(1526,", meanings.NOT_CHECKED.said("no partition of the table takes the row")),
    (r"^\(1406, .Data too long for column '(?P<column>[^']+)'", meanings.TOO_LONG),
    (r"^\((?:1292|1366|1411|1525|3140|4038),", meanings.BAD_VALUE),
    (r"^\((?:1436|1153|1390|1118|1117|1116|2027),", meanings.TOO_DEEP),
    (r"^\((?:1037|1038|1041|5),", meanings.NO_MEMORY),
    (r"^\((?:1267|1270|1271),", meanings.UNNAMED.said("texts with different collations are compared")),
)
_REVEALING = """
    column_stats column_statistics processlist events_* general_log slow_log innodb_* global_priv optimizer_trace
    profiling query_cache_info client_statistics index_statistics table_statistics user_statistics user_privileges
"""
_GUARDS = guards.Guards(
    uri_options=guards.uri_options(
        "charset program_name",
        numbers="connect_timeout read_timeout write_timeout",
        ssl_disabled=guards.SWITCH,
        ssl_verify_cert=guards.SWITCH,
        ssl_verify_identity=guards.SWITCH,
    ),
    database_files=guards.DatabaseFiles.NONE,
    denied_functions=guards.name_set("""
    load_file sleep benchmark get_lock release_lock release_all_locks is_free_lock is_used_lock source_pos_wait
    wait_for_executed_gtid_set wait_until_sql_thread_after_gtids nextval setval lastval last_insert_id found_rows
    row_count sys_exec sys_eval sys_get sys_set lib_mysqludf_sys_info spider_direct_sql spider_bg_direct_sql
    spider_copy_tables spider_flush_table_mon_cache wsrep_* master_* binlog_gtid_pos gtid_* mysql performance_schema
    http_get http_post sys
"""),
    allowed_functions=guards.allowed_with("""
    adddate addtime bin bin_to_uuid bit_count conv convert_tz crc32 crc32c elt export_set field find_in_set format
    from_days get_format insert makedate maketime make_set natural_sort_key oct ord period_add period_diff quote
    sec_to_time sformat strcmp str_to_date subdate subtime time_format time_to_sec timediff to_days to_seconds
    weight_string uuid uuid_to_bin is_uuid inet_aton inet_ntoa inet6_aton inet6_ntoa is_ipv4 is_ipv4_compat
    is_ipv4_mapped is_ipv6 json_array json_array_append json_array_insert json_arrayagg json_compact json_contains
    json_contains_path json_depth json_detailed json_equals json_exists json_insert json_keys json_loose json_merge
    json_merge_patch json_merge_preserve json_normalize json_object json_objectagg json_overlaps json_pretty json_quote
    json_remove json_replace json_search json_set json_unquote values st_area st_astext st_contains st_distance
    st_distance_sphere st_intersects st_length st_within st_x st_y point
"""),
    row_makers=frozenset(),
    revealing=guards.RevealingRelations.of(
        relations=_REVEALING, schemas="mysql performance_schema sys", harmless="", functions=""
    ),
    table_names=replace(
        guards.STANDARD_TABLE_NAMES,
        own=guards.name_set("dual information_schema mysql performance_schema sys"),
        nested_ctes=False,  # MariaDB; MySQL sees them
    ),
    fence=limited(2**64 - 1),
    by_case=False,
    casts_columns=False,
)
_AUTHORITIES = TrustedAuthorities(
    file=lambda path: {"ssl_ca": path},
    settings={
        "ssl": {"": None},
        "ssl_disabled": {"": False, "false": False},
        "ssl_verify_cert": {"": True, "true": True},
        "ssl_verify_identity": {"": True, "true": True, "false": False},
    },
)
_SYNTAX = Syntax(
    repairs=(_without_dual, _sounds_like, _regexp, _median, _utc, _timestamp_add, _hex),
    repairs_by_call=MappingProxyType({"chr": _chr}),
    bare_calls=frozenset({"utc_date", "utc_time", "utc_timestamp", "localtime", "localtimestamp"}),
    groups_comparisons=True,
    size_arguments={"format": None},
)
_BITS = {"TINYINT": 8, "SMALLINT": 16, "MEDIUMINT": 24, "INT": 32, "INTEGER": 32, "BIGINT": 64}
_KINDS = {"TINYINT(1)": ValueKind.BOOLEAN, "BIT(1)": ValueKind.BOOLEAN, "BIT": ValueKind.INTEGER}
_ROWS_OF_PLAN = {10: -2, 12: -3}  # MariaDB's plan has ten columns, MySQL's twelve: where the examined rows stand


def _costs(plan: Sequence[Sequence[Any]]) -> costs.Costs:
    return {"rows": costs.rows_joined((step[0], step[_ROWS_OF_PLAN[len(step)]]) for step in plan)}


def mysql_spec(*, collation: str = MARIADB_COLLATION) -> EngineSpec:
    """Return the facts of MariaDB and MySQL; `collation` compares utf8mb4 text by code point."""
    text_key, text_value = _key_by(collation), partial(nodes.collate, name=collation)
    return replace(
        ansi_engine(
            name="mysql",
            label="MariaDB or MySQL",
            dialect="mysql",
            drivers=("pymysql",),
            extra_name="mysql",
            guards=_GUARDS,
            error_patterns=_ERRORS,
            comparison=bounds.MomentComparison(moment=_moment, zoned=bounds.ZonedComparison.NAIVE),
            bucket=_bucket,
            shift=lambda moment, hours: (
                exp.Paren(this=plus(moment, interval(number(hours), "HOUR"))) if hours else moment
            ),
            text_key=text_key,
        ),
        syntax=_SYNTAX,
        total=TOTAL,
        aliases=("mariadb",),
        usual_port=3306,
        folds_names=True,
        max_identifier_bytes=256,
        largest_identifier_character="\uffff",
        all_digits=_as_double,
        text_equal=text_value,
        text_order=text_value,
        like=_like,
        as_text=_as_utf8,
        extreme=operators.extreme_by(text_key, all_digits=_as_double),
        in_list=operators.in_list_of(text_value),
        value_kind=kinds.kind_reader(MappingProxyType(_KINDS)),
        number_range=kinds.range_reader(_BITS, bit_fields=True),
        unsortable_kinds=frozenset(),
        tie_keys=_tie_keys,
        collation=_collation_by(collation),
        splits_nulls=True,
        searches_by_own_collation=True,
        partitions=_PARTITIONS,
        undone=Undone.ROWS,
        costs=costs.by_plan("EXPLAIN", _costs, counted="rows", plans_create=False),
        parameters=ConnectionParameters.encrypted_by("ssl_verify_cert", "true"),
        user_token=TOKEN_AS_PASSWORD,
        authorities=_AUTHORITIES,
    )


ENGINES = (mysql_spec(),)
