"""SQL Server: no Booleans, no truncation before 2022, and weeks that follow the session's DATEFIRST unless counted.

Not run here; written from its documentation. Days are counted from 0001-01-01, which was a Monday, so that nothing
depends on DATEFIRST. Trailing blanks never count in its comparisons; that cannot be changed by a collation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from sqlglot import exp

from analytics_core._engine.engines import bounds, grains, guards, kinds, literals, meanings, nodes, operators, tokens
from analytics_core._engine.engines.ansi import ansi_engine
from analytics_core._engine.engines.fences import limited_by_bigint
from analytics_core._engine.engines.nodes import Type, call, minus, number, remainder, text, times, verbatim
from analytics_core._engine.engines.spec import Bind, BindValue, ConnectionParameters, ParamStyle, Syntax
from analytics_core._engine.engines.types import TimeEncoding, TimeFormat, ValueKind, fixed_width_format

_MONDAY = "0001-01-01"
_datetime, _date = operators.cast_to(Type.TIMESTAMP), operators.cast_to(Type.DATE)
_by_code_point = partial(nodes.collate, name="Latin1_General_100_BIN2")


def _in_utc(instant: exp.Expr) -> exp.Expr:
    return _datetime(call("SWITCHOFFSET", instant, text("+00:00")))


def _written_moment(column: exp.Expr, time_format: TimeFormat) -> exp.Expr:
    parsed = bounds.written_format(time_format, parse=lambda source: fixed_width_format(source, engine="SQL Server"))
    return _datetime(tokens.iso_text(bounds.written_text(column, time_format, Type.VARCHAR), parsed, "SUBSTRING"))


def _epoch_moment(column: exp.Expr, time_format: TimeFormat) -> exp.Expr:
    """Add days and their rest apart: DATEADD takes 32-bit numbers. Both have the sign of the whole."""
    is_seconds = time_format.encoding is TimeEncoding.EPOCH_S
    unit, per_day = ("SECOND", 86_400) if is_seconds else ("MILLISECOND", 86_400_000)
    count = bounds.epoch_count(column, time_format)
    if time_format.value_kind in (ValueKind.FLOAT, ValueKind.DECIMAL):
        millis = times(column, number(1000)) if is_seconds else column
        unit, per_day, count = "MILLISECOND", 86_400_000, nodes.cast(call("FLOOR", millis), Type.BIGINT)
    days = exp.Div(this=nodes.operand(count.copy()), expression=number(per_day), typed=True)
    day = _added("DAY", days, _datetime(text(grains.EPOCH)))
    return _added(unit, remainder(count, number(per_day)), day)


def _added(unit: str, count: exp.Expr, moment: exp.Expr) -> exp.Expr:
    return call("DATEADD", verbatim(unit), count, moment)


def _truncate(moment: exp.Expr, unit: str) -> exp.Expr:
    day = _first_day(moment, unit)
    return _truncate_clock(moment, unit.upper()) if day is None else _datetime(day)


def _truncate_clock(moment: exp.Expr, unit: str) -> exp.Expr:
    """Count whole units since midnight: since 1970 they would not fit into 32 bits."""
    midnight = _datetime(_date(moment.copy()))
    return _added(unit, call("DATEDIFF", verbatim(unit), midnight.copy(), moment), midnight)


def _first_day(moment: exp.Expr, unit: str) -> exp.Expr | None:
    """Return the day that a calendar unit begins with; None: the unit is one of the clock."""
    month = number(1)
    if unit == "day":
        return _date(moment)
    if unit == "week":
        days = call("DATEDIFF", verbatim("DAY"), _date(text(_MONDAY)), moment.copy())
        return _added("DAY", exp.Neg(this=exp.Paren(this=remainder(days, number(7)))), _date(moment))
    if unit == "month":
        month = call("MONTH", moment.copy())
    if unit == "quarter":
        month = minus(times(call("DATEPART", verbatim("QUARTER"), moment.copy()), number(3)), number(2))
    is_calendar = unit in ("month", "quarter", "year")
    return call("DATEFROMPARTS", call("YEAR", moment), month, number(1)) if is_calendar else None


def _as_text(node: exp.Expr) -> exp.Expr:
    length = exp.DataTypeParam(this=exp.Var(this="MAX"))
    return exp.Cast(this=node, to=exp.DataType(this=Type.NVARCHAR, expressions=[length]))


def _text_key(node: exp.Expr) -> exp.Expr:
    """Return the text as Unicode first: a collation on VARCHAR would change its code page."""
    return _by_code_point(_as_text(node))


def _in_list(left: exp.Expr, values: Sequence[BindValue], kind: ValueKind, bind: Bind) -> exp.Expr:
    """Put the collation on the left: each member is compared with it apart."""
    side = _text_key(left) if isinstance(values[0], str) and kind is ValueKind.TEXT else nodes.operand(left)
    return exp.In(this=side, expressions=[bind(value) for value in values])


def _sum(node: exp.Expr, kind: ValueKind) -> exp.Expr:
    """Add as 64-bit numbers: the sum of 32-bit ones would have to fit into 32 bits."""
    is_integer = kind in (ValueKind.BOOLEAN, ValueKind.INTEGER)
    return exp.Sum(this=nodes.cast(node, Type.BIGINT) if is_integer else node)


_moment = bounds.moments_by(
    date=_datetime,
    timestamptz=_in_utc,
    iso_text=lambda column: _in_utc(nodes.cast(column, Type.TIMESTAMPTZ)),
    text=_written_moment,
    epoch=_epoch_moment,
)
_bucket = grains.buckets_by_truncation(
    truncate=_truncate,
    add_days=lambda moment, days: _added("DAY", number(days), moment),
    cut_seconds=grains.cut_by_remainder(
        truncate=_truncate,
        seconds_since_epoch=lambda second: call(
            "DATEDIFF_BIG", verbatim("SECOND"), _datetime(text(grains.EPOCH)), second
        ),
        subtract_seconds=lambda second, past: _added("SECOND", exp.Neg(this=exp.Paren(this=past)), second),
        modulo=remainder,
    ),
)
_PAUSED = meanings.LOST.said("the database is paused, starts or moves at present; try again")
_ERRORS = (
    *meanings.patterns(
        (r"Invalid object name '(?P<table>[^']+)'", meanings.NO_TABLE),
        (r"Invalid column name '(?P<column>[^']+)'", meanings.NO_COLUMN),
        (r"'(?P<function>[^']+)' is not a recognized .*function name", meanings.NO_FUNCTION),
        (r"Cannot open database \\?\"(?P<database>[^\"\\]+)", meanings.NO_DATABASE),
        (r"Login failed for user '(?P<user>[^']*)'", meanings.BAD_LOGIN),
        (r"(?:Incorrect syntax near|Unclosed quotation mark)", meanings.SYNTAX),
        (r"Column '[^']*' is invalid in the select list because", meanings.NOT_GROUPED),
        (r"The \w+ permission was denied on the object '(?P<table>[^']+)'", meanings.DENIED),
        (r"Divide by zero", meanings.ZERO),
        (r"Arithmetic overflow", meanings.OVERFLOW),
        (
            r"(?:Conversion failed|Error converting data type|Operand type clash|The conversion of a)",
            meanings.BAD_VALUE,
        ),
        (r"Operation cancell?ed", meanings.KILLED),
        (r"Query timeout expired", meanings.TIMEOUT),
        (r"(?:TCP|Named Pipes) Provider: [^;]*\((?:11001|53)\)", meanings.UNKNOWN_HOST),
        (r"(?:TCP|Named Pipes) Provider: [^;]*\((?:10061|2)\)", meanings.REFUSED_PORT),
        (r"(?:Login timeout expired|(?:TCP|Named Pipes) Provider: )", meanings.SILENT),
        (r"Resource ID ?: \d+\.|The service is currently (?:too )?busy", meanings.BUSY),
        (r"Could not connect because the maximum number of", meanings.CROWDED),
        (r"Database '[^']*' on server '[^']*' is not currently available", _PAUSED),
        (r"Communication link failure", meanings.LOST),
        (r"Transaction \(Process ID \d+\) was deadlocked|Snapshot isolation transaction aborted", meanings.UNDONE),
        (r"Lock request time out", meanings.LOCK_WAIT),
        after=r"\A(?:\('\w{5}', )?[\"']?(?:\(\d+, b?[\"'])?(?:\[[^\]]*\]\s*)*",
    ),
    *meanings.patterns(
        (r"(?:Adaptive|TDS) Server is unavailable|server was not found", meanings.SILENT),
    ),
)
_HARMLESS = "tables columns schemas objects views types databases indexes index_columns all_columns"
_ENCRYPT = "yes no optional mandatory strict true false"
_GUARDS = guards.Guards(
    uri_options=guards.uri_options(
        "charset",
        numbers="timeout login_timeout",
        Encrypt=_ENCRYPT,
        encrypt=_ENCRYPT,
        TrustServerCertificate="yes no",
    ),
    database_files=guards.DatabaseFiles.NONE,
    denied_functions=guards.name_set("""
    openrowset openquery opendatasource openxml xp_cmdshell xp_dirtree xp_fileexist xp_subdirs xp_regread xp_regwrite
    fn_xe_file_target_read_file fn_trace_gettable fn_trace_getinfo fn_dblog fn_dump_dblog fn_get_sql fn_virtualfilestats
    ai_generate_embeddings predict session_context context_info object_definition has_perms_by_name fn_my_permissions
    fn_builtin_permissions serverproperty connectionproperty sessionproperty databasepropertyex dm_* fn_get_audit_*
    has_dbaccess stats_date loginproperty pwdencrypt pwdcompare
"""),
    allowed_functions=guards.allowed_with("""
    atn2 binary_checksum bit_count checksum checksum_agg choose compress count_big date_bucket datediff_big
    datefromparts datetime2 datetime2fromparts datetimefromparts datetimeoffset datetimeoffsetfromparts datetrunc
    decompress difference eomonth format formatmessage get_bit hashbytes isdate isjson isnumeric json_array json_modify
    json_object json_path_exists left_shift money newid parse parsename patindex quotename right_shift rowversion
    set_bit smalldatetime smalldatetimefromparts smallmoney str string_escape stuff switchoffset sysdatetime
    sysdatetimeoffset sysutcdatetime timefromparts todatetimeoffset try_parse uniqueidentifier varp stdevp xml
"""),
    row_makers=frozenset(),
    revealing=guards.RevealingRelations.of(
        relations="sysprocesses syslogins syscacheobjects syscomments", schemas="sys", harmless=_HARMLESS, functions=""
    ),
    table_names=guards.STANDARD_TABLE_NAMES,
    fence=limited_by_bigint,
    by_case=False,
    casts_columns=True,
)
_LITERALS = literals.LiteralStyle(
    dialect="tsql",
    text="N{}",
    day="CAST({} AS DATE)",
    timestamp="CAST({} AS DATETIME2)",
    timestamp_tz="CAST({} AS DATETIMEOFFSET)",
    separator="T",
    binary="0x{}",
    true="1",
    false="0",
)

ENGINES = (
    replace(
        ansi_engine(
            name="mssql",
            label="Microsoft SQL Server",
            dialect="tsql",
            drivers=("pyodbc",),
            extra_name="mssql",
            guards=_GUARDS,
            error_patterns=_ERRORS,
            comparison=bounds.MomentComparison(moment=_moment),
            bucket=_bucket,
            shift=grains.shift_by("DATEADD", verbatim("HOUR")),
            text_key=_text_key,
        ),
        syntax=Syntax(size_arguments={"format": None}),
        paramstyle=ParamStyle.QMARK,
        max_identifier_bytes=128,
        text_equal=_by_code_point,
        text_order=_by_code_point,
        like=operators.like_where_case_counts(has_ilike=False, also_wild="[", pattern_key=_by_code_point),
        as_text=_as_text,
        sum_=_sum,
        is_true=operators.is_true_of_bit,
        in_list=_in_list,
        literal=_LITERALS.write,
        value_kind=kinds.kind_reader({"BIT": ValueKind.BOOLEAN, "TIMESTAMP": ValueKind.BYTES}),
        null_safe_equal=operators.null_safe_equal_spelled,
        allows_cte_in_subquery=False,
        parameters=ConnectionParameters.encrypted_by("Encrypt", "yes"),
    ),
)
