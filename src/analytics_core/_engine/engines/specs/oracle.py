"""Oracle from 12.2: DATE holds a clock, '' is NULL, Booleans are numbers. Not run here; written from its documentation.

Buckets are DATE values. The driver binds datetimes as DATE, so bounds inside a second are cut to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType

from sqlglot import exp

from analytics_core._engine.engines import bounds, grains, guards, kinds, literals, meanings, nodes, operators, tokens
from analytics_core._engine.engines.ansi import ansi_engine
from analytics_core._engine.engines.fences import limited_by_bigint
from analytics_core._engine.engines.nodes import call, minus, number, plus, text, times, verbatim
from analytics_core._engine.engines.spec import Bind, BindValue, ParamStyle, Syntax, nulls_are_large
from analytics_core._engine.engines.types import TimeEncoding, TimeFormat, ValueKind

_TOKENS = tokens.TO_TIMESTAMP.but(f="FF6")
_LONGEST_LIST = 1000
_COMPLETE_TEXT = "0000-00-00 00:00:00.000000"
_OFFSET_AT_END = "[+-][0-9]{2}:[0-9]{2}$"
_ZONED_FORMAT = "YYYY-MM-DD HH24:MI:SS.FF6TZH:TZM"
_UNITS = MappingProxyType(
    {"minute": "MI", "hour": "HH24", "day": "DD", "week": "IW", "month": "MM", "quarter": "Q", "year": "YYYY"}
)


def _iso_moment(column: exp.Expr) -> exp.Expr:
    """Fill the text up to microseconds and an offset; NULL would become text by `||` and is kept apart."""
    blank = call("REPLACE", column.copy(), text("T"), text(" "))
    base = call("REGEXP_REPLACE", blank, text(f"(Z|{_OFFSET_AT_END[:-1]})$"))
    missing = call("SUBSTR", text(_COMPLETE_TEXT), plus(call("LENGTH", base.copy()), number(1)))
    offset = call("COALESCE", call("REGEXP_SUBSTR", column.copy(), text(_OFFSET_AT_END)), text("+00:00"))
    parsed = call("TO_TIMESTAMP_TZ", nodes.joined(base, missing, offset), text(_ZONED_FORMAT))
    return _where_not_null(column, call("SYS_EXTRACT_UTC", parsed))


def _where_not_null(column: exp.Expr, value: exp.Expr) -> exp.Expr:
    not_null = exp.Not(this=exp.Is(this=nodes.operand(column), expression=exp.Null()))
    return nodes.when((not_null, value))


def _written_moment(column: exp.Expr, time_format: TimeFormat) -> exp.Expr:
    """Add the month and the day where the text has none: Oracle would take the present month."""
    parsed = bounds.written_format(time_format)
    source, written = call("TO_CHAR", column), tokens.write_tokens(parsed, _TOKENS)
    for letter in parsed.missing_parts():
        source, written = nodes.joined(source, text(" 01")), f"{written} {_TOKENS.tokens[letter]}"
    arguments = [source, text(written)]
    if {"b", "B"} & set(parsed.directives):
        arguments.append(text("NLS_DATE_LANGUAGE=ENGLISH"))
    return _where_not_null(column.copy(), call("TO_TIMESTAMP", *arguments))


def _epoch_moment(column: exp.Expr, time_format: TimeFormat) -> exp.Expr:
    count = call("TO_NUMBER", column) if time_format.value_kind is ValueKind.TEXT else column
    seconds = count
    if time_format.encoding is TimeEncoding.EPOCH_MS:
        seconds = exp.Div(this=nodes.operand(count), expression=number(1000), typed=False)
    return exp.Paren(this=plus(verbatim(f"TIMESTAMP '{grains.EPOCH}'"), _interval(seconds, "SECOND")))


def _interval(count: exp.Expr, unit: str) -> exp.Expr:
    return call("NUMTODSINTERVAL", count, text(unit))


def _truncate(moment: exp.Expr, unit: str) -> exp.Expr:
    """Truncate to a DATE; IW is the ISO week whatever the session's territory."""
    if unit == "second":
        return _cut_seconds(moment, 1)
    return call("TRUNC", moment, text(_UNITS[unit]))


def _cut_seconds(moment: exp.Expr, size: int) -> exp.Expr:
    """Count from midnight with the days since 1970 before it; SSSSS cuts fractions, where casts may round."""
    day = call("TRUNC", moment.copy())
    clock = call("TO_NUMBER", call("TO_CHAR", moment, text("SSSSS")))
    days = exp.Paren(this=minus(day.copy(), verbatim("DATE '1970-01-01'")))
    since = plus(clock.copy(), times(days, number(86_400)))
    past = nodes.mod(plus(nodes.mod(since, number(size)), number(size)), number(size))
    return plus(day, _interval(minus(clock, past), "SECOND"))


def _is_true(node: exp.Expr, kind: ValueKind, truth: bool) -> exp.Expr:
    """Booleans of version 23 are compared as numbers, as those of older ones are."""
    return operators.is_true_of_bit(operators.as_number(node) if kind is ValueKind.BOOLEAN else node, kind, truth)


def _in_list(left: exp.Expr, values: Sequence[BindValue], kind: ValueKind, bind: Bind) -> exp.Expr:
    """A list takes 1,000 members; longer ones are several."""
    chunks = [values[start : start + _LONGEST_LIST] for start in range(0, len(values), _LONGEST_LIST)]
    parts = [_in_chunk(left.copy(), chunk, kind, bind) for chunk in chunks]
    found = parts[0]
    for part in parts[1:]:
        found = exp.Or(this=found, expression=part)
    return exp.Paren(this=found) if len(parts) > 1 else found


_by_code_point = partial(nodes.collate, name="BINARY")
_in_chunk = operators.in_list_of(_by_code_point)
_moment = bounds.moments_by(
    date=operators.unchanged,
    timestamptz=operators.calling("SYS_EXTRACT_UTC"),
    iso_text=_iso_moment,
    text=_written_moment,
    epoch=_epoch_moment,
)
_bucket = grains.buckets_by_truncation(
    truncate=_truncate,
    add_days=lambda moment, days: plus(moment, _interval(number(days), "DAY")),
    cut_seconds=_cut_seconds,
)
_STARTS = meanings.LOST.said("the database starts or stops at present and takes no connections")
_LISTENER = r"(?:DPY-6005[^\n]*\n)?(?:DPY-6000[^\n]*)?"
"""What the driver may say before the code of the listener."""
_SERVICE = meanings.NO_DATABASE.said("the server does not know this service or database")
_UNREADABLE = meanings.NO_TABLE.said("there is no table {table}, or it may not be read")
_ERRORS = meanings.patterns(
    (r"ORA-00942: table or view (?:\"[^\"]+\"\.)?\"(?P<table>[^\"]+)\" does not exist", _UNREADABLE),
    (r"ORA-00942", _UNREADABLE.said("a table of this statement does not exist, or may not be read")),
    (r"ORA-00904(?:: (?:\"[^\"]+\"\.)*\"(?P<column>[^\"]+)\": )?", meanings.NO_COLUMN),
    (r"ORA-009(?:79|37)", meanings.NOT_GROUPED),
    (r"ORA-00934", meanings.MISPLACED),
    (r"ORA-00918(?:: (?:(?:\"[^\"]+\"|[^\"\s.:]+)\.)*\"?(?P<column>[^\".:\s]+)\"?: )?", meanings.AMBIGUOUS),
    (r"ORA-(?:00932|01722|018\d\d)", meanings.BAD_VALUE),
    (r"ORA-(?:009[0-3]\d|01756)", meanings.SYNTAX),
    (r"ORA-01427", meanings.MANY_ROWS),
    (r"ORA-01789", meanings.UNEQUAL),
    (r"ORA-2800[01]", meanings.BAD_LOGIN.said("the account of the user is locked, or its password has expired")),
    (r"ORA-01017", meanings.BAD_LOGIN),
    (r"ORA-41900: missing \w+ privilege on (?:\"[^\"]+\"\.)?\"(?P<table>[^\"]+)\"", meanings.DENIED),
    (r"ORA-(?:01031|41900)", meanings.DENIED_ANY),
    (r"ORA-01456", meanings.READ_ONLY),
    (r"ORA-01476", meanings.ZERO),
    (r"ORA-01426", meanings.OVERFLOW),
    (r"ORA-01013", meanings.KILLED),
    (r"(?:DPY-4024|DPI-1067|ORA-00040|ORA-03156|ORA-56735)", meanings.TIMEOUT),
    (r"ORA-(?:00018|00020|02391)|" + _LISTENER + r"ORA-125(?:16|19|20)\b", meanings.CROWDED),
    (r"(?:DPY-6005[^\n]*\n)?DPY-600[13]|" + _LISTENER + r"ORA-1251[45]\b", _SERVICE),
    (r"ORA-(?:0103[34]|01089|01090)|" + _LISTENER + r"ORA-12528\b", _STARTS),
    (r"(?:DPY-40(?:11|33)|ORA-(?:00028|01012|02396|03113|03114|03135))", meanings.LOST),
    (r"ORA-(?:00060|08177)", meanings.UNDONE),
    (r"ORA-00054", meanings.LOCK_WAIT),
    (r"(?:DPY-6005[^\n]*\n)?\[Errno (?:-\d+|11001)\]", meanings.UNKNOWN_HOST),
    (r"ORA-1254[15]|DPY-6005[^\n]*\n\[(?:Errno 111|Errno 61|WinError 10061)\]", meanings.REFUSED_PORT),
    (r"DPY-6005|ORA-12170", meanings.SILENT),
    after=r"\A(?:\w+: )?",
)
_REVEALING = """
    v$* gv$* v_$* gv_$* x$* dba_* *_tab_histograms *_part_histograms *_subpart_histograms *_col_statistics
    *_tab_columns *_tab_cols user$ link$ wri$* wrh$* *_sqlset_* *_audit_trail unified_audit_trail
"""
_GUARDS = guards.Guards(
    uri_options=guards.uri_options("service_name encoding"),
    database_files=guards.DatabaseFiles.NONE,
    denied_functions=guards.name_set("""
    ctxsys ordsys dbms_* !dbms_random utl_* !utl_raw !utl_i18n !utl_match owa_* httpuritype dburitype xdburitype uritype
    urifactory bfilename sys_context userenv sleep
"""),
    allowed_functions=guards.allowed_with("""
    approx_count approx_median approx_rank approx_sum asciistr bin_to_num bitand chartorowid compose corr_k corr_s
    dbms_random value decompose dump empty_blob empty_clob from_tz hextoraw json_array json_arrayagg json_exists
    json_object json_objectagg lnnvl nanvl new_time nls_initcap nls_lower nls_upper nlssort numtodsinterval
    numtoyminterval ora_hash ratio_to_report rawtohex remainder rowidtochar sessiontimezone dbtimezone standard_hash
    stats_* substrb substrc sys_extract_utc sys_guid to_binary_double to_binary_float to_clob to_dsinterval
    to_multi_byte to_nchar to_single_byte to_timestamp_tz to_yminterval tz_offset unistr utl_match edit_distance
    edit_distance_similarity jaro_winkler jaro_winkler_similarity utl_raw cast_to_varchar2 vsize varchar2 nvarchar2
    binary_double binary_float clob long
"""),
    row_makers=frozenset(),
    revealing=guards.RevealingRelations.of(relations=_REVEALING, schemas="", harmless="", functions=""),
    table_names=guards.STANDARD_TABLE_NAMES,
    fence=limited_by_bigint,
    by_case=False,
    casts_columns=True,
)

ENGINES = (
    replace(
        ansi_engine(
            name="oracle",
            label="Oracle",
            dialect="oracle",
            drivers=("oracledb",),
            extra_name="oracle",
            guards=_GUARDS,
            error_patterns=_ERRORS,
            comparison=bounds.MomentComparison(moment=_moment, zoned=bounds.ZonedComparison.DECODED),
            bucket=_bucket,
            shift=lambda moment, hours: (
                exp.Paren(this=plus(moment, _interval(number(hours), "HOUR"))) if hours else moment
            ),
            text_key=_by_code_point,
        ),
        syntax=Syntax(bare_calls=frozenset({"sysdate", "systimestamp"})),
        paramstyle=ParamStyle.NAMED,
        max_identifier_bytes=128,
        text_equal=_by_code_point,
        as_text=operators.calling("TO_CHAR"),
        average=lambda node: exp.Avg(this=call("TO_BINARY_DOUBLE", node)),
        is_true=_is_true,
        in_list=_in_list,
        literal=literals.LiteralStyle(dialect="oracle", binary="HEXTORAW('{}')", true="1", false="0").write,
        value_kind=kinds.kind_reader(
            {"DATE": ValueKind.TIMESTAMP, **dict.fromkeys(("LONG", "ROWID", "UROWID"), ValueKind.TEXT)}
        ),
        null_safe_equal=operators.null_safe_equal_spelled,
        nulls_first_by_default=nulls_are_large,
    ),
)
