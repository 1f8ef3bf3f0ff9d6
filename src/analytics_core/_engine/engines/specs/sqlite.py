"""SQLite: moments are text, dates are read by position, LIKE minds no case, columns may fold it too.

Measured on 3.40 and 3.54. Moments become `YYYY-MM-DD HH:MM:SS` text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, time, timedelta
from decimal import Decimal
from functools import partial
from types import MappingProxyType
from typing import Concatenate, ParamSpec, TypeVar

from sqlglot import exp

from analytics_core._engine.engines import bounds, grains, guards, kinds, literals, meanings, nodes, operators, tokens
from analytics_core._engine.engines.fences import limited
from analytics_core._engine.engines.spec import (
    FILE_PARAMETERS,
    Bind,
    BindScalar,
    BindValue,
    EngineSpec,
    ParamStyle,
    Refuse,
    Syntax,
    TimeBound,
    Undone,
    repairs,
)
from analytics_core._engine.engines.totals import UNTYPED
from analytics_core._engine.engines.types import (
    Collation,
    TextFormat,
    TimeEncoding,
    TimeFormat,
    ValueKind,
    fixed_width_format,
)
from analytics_core.models.enums import TimeGrain

UNICODE_LOWER = "AC_LOWER"
"""A function of one argument that the connector registers: Python's `str.lower`, deterministic."""


# ------------------------------------------------------------------------------------------------------------ moments
_More = ParamSpec("_More")
_Answer = TypeVar("_Answer")


def _by_encoding(
    native: Callable[Concatenate[exp.Expr, TimeFormat, _More], _Answer],
    written: Callable[Concatenate[exp.Expr, TimeFormat, _More], _Answer],
    epoch: Callable[Concatenate[exp.Expr, TimeFormat, _More], _Answer],
) -> Callable[Concatenate[exp.Expr, TimeFormat, _More], _Answer]:
    """Return the function of these three: moments, dates and ISO texts are texts alike, others are read by position."""

    def chosen(column: exp.Expr, time_format: TimeFormat, /, *arguments: _More.args, **named: _More.kwargs) -> _Answer:
        others = {TimeEncoding.TEXT: written, TimeEncoding.EPOCH_S: epoch, TimeEncoding.EPOCH_MS: epoch}
        return others.get(time_format.encoding, native)(column, time_format, *arguments, **named)

    return chosen


_COMPLETE_ISO = ("%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S")
"""The formats that SQLite reads itself, without a fraction."""

_PLAIN_ISO = (*_COMPLETE_ISO, "%Y-%m-%d %H:%M:%S.%f", "%Y-%m-%dT%H:%M:%S.%f")
"""The formats of ISO texts without a zone: where the dataset says one of a column, its texts sort as their moments."""


def _text_moment(column: exp.Expr, time_format: TimeFormat) -> exp.Expr:
    """Return whole seconds in UTC; the fraction is cut first: strftime rounds it, before 1970 into the next year."""
    if time_format.strftime in _COMPLETE_ISO:
        return column
    second = _part(column, 1, 19)
    if time_format.strftime in _PLAIN_ISO:
        return second
    if time_format.encoding is TimeEncoding.ISO_TEXT:  # a `T` sorts after the blank of those that had an offset
        second = nodes.call("REPLACE", second, nodes.text("T"), nodes.text(" "))
    return nodes.when((_has_offset(column), _second_in_utc(column)), otherwise=second)


def _sorted_moment(column: exp.Expr, time_format: TimeFormat) -> exp.Expr:
    """Any text may hold an offset, unless the dataset says a format without."""
    if time_format.is_native or time_format.encoding is TimeEncoding.ISO_TEXT:
        return column if time_format.strftime in _PLAIN_ISO else _text_in_utc(column, blank=True)
    return column if time_format.sorts_as_time else _moment(column, time_format)


def _text_in_utc(column: exp.Expr, *, blank: bool) -> exp.Expr:
    """Return the text of a moment in UTC with its fraction; `blank`: with a blank for a `T`, and without `Z`."""
    fraction = _part(column.copy(), 20, nodes.minus(nodes.call("LENGTH", column.copy()), nodes.number(25)))
    zoned = nodes.joined(_second_in_utc(column), fraction)
    if not blank:
        return nodes.when((_has_offset(column), zoned), otherwise=column)
    plain = nodes.call("REPLACE", column.copy(), nodes.text("T"), nodes.text(" "))
    return nodes.when((_has_offset(column), zoned), otherwise=nodes.call("RTRIM", plain, nodes.text("Zz")))


_as_text_in_utc = partial(_text_in_utc, blank=False)
_as_plain_text_in_utc = partial(_text_in_utc, blank=True)


def _has_offset(column: exp.Expr) -> exp.Expr:
    """Tell texts that end with a UTC offset; most are too short for one, which is cheaper to see."""
    long = exp.GT(this=nodes.call("LENGTH", column.copy()), expression=nodes.number(24))
    return exp.And(
        this=long, expression=exp.Glob(this=column.copy(), expression=nodes.text("*[-+][0-9][0-9]:[0-9][0-9]"))
    )


def _second_in_utc(column: exp.Expr) -> exp.Expr:
    return nodes.call("DATETIME", nodes.joined(_part(column.copy(), 1, 19), _part(column.copy(), -6, 6)))


def _written_moment(column: exp.Expr, time_format: TimeFormat) -> exp.Expr:
    """Return ISO text from a text column of fixed width: the day alone when its format has no clock."""
    if time_format.strftime in _COMPLETE_ISO:
        return column
    return tokens.iso_text(column, _parsed(time_format), "SUBSTR")


def _epoch_moment(column: exp.Expr, time_format: TimeFormat) -> exp.Expr:
    """Take the milliseconds off downwards; SQLite divides towards zero."""
    count = _floored(column, time_format)
    if time_format.encoding is TimeEncoding.EPOCH_S:
        return _from_epoch(count)
    seconds = exp.Paren(this=nodes.minus(count.copy(), _floor_remainder(count, 1000)))
    return _from_epoch(exp.Div(this=seconds, expression=nodes.number(1000), typed=True))


def _floored(column: exp.Expr, time_format: TimeFormat) -> exp.Expr:
    """Cut fractions downwards; SQLite's cast cuts towards zero."""
    if time_format.value_kind not in (ValueKind.FLOAT, ValueKind.DECIMAL):
        return column
    cut = nodes.cast(column.copy(), nodes.Type.INT)
    is_above = exp.Paren(this=exp.LT(this=nodes.operand(column.copy()), expression=cut.copy()))
    return exp.Paren(this=nodes.minus(cut, is_above))


def _part(node: exp.Expr, start: int, length: int | exp.Expr) -> exp.Expr:
    """Places count from 1, negative ones from the end."""
    size = nodes.number(length) if isinstance(length, int) else length
    return nodes.call("SUBSTR", node, nodes.number(start), size)


def _floor_remainder(node: exp.Expr, divisor: int) -> exp.Expr:
    """Return the remainder of a division that rounds down; SQLite's own has the sign of the dividend."""
    positive = exp.Paren(this=nodes.plus(nodes.remainder(node, nodes.number(divisor)), nodes.number(divisor)))
    return nodes.remainder(positive, nodes.number(divisor))


def _from_epoch(seconds: exp.Expr) -> exp.Expr:
    return nodes.call("DATETIME", seconds, nodes.text("unixepoch"))


# ------------------------------------------------------------------------------------------------------------ buckets
def _bucket(moment: exp.Expr, grain: TimeGrain) -> exp.Expr:
    if grain in _PATTERNS:
        return nodes.call("STRFTIME", nodes.text(_PATTERNS[grain]), moment)
    if grain in grains.SECONDS:
        return _seconds_bucket(moment, grains.SECONDS[grain])
    if grain is TimeGrain.QUARTER:
        return _quarter(moment)
    return nodes.call("DATETIME", moment, *(nodes.text(modifier) for modifier in _MODIFIERS[grain]))


def _seconds_bucket(moment: exp.Expr, size: int) -> exp.Expr:
    seconds = nodes.cast(nodes.call("STRFTIME", nodes.text("%s"), moment), nodes.Type.INT)
    return _from_epoch(nodes.minus(seconds.copy(), _floor_remainder(seconds, size)))


def _quarter(moment: exp.Expr) -> exp.Expr:
    month = nodes.call("STRFTIME", nodes.text("%m"), moment.copy())
    past = nodes.remainder(exp.Paren(this=nodes.minus(month, nodes.number(1))), nodes.number(3))
    back = nodes.joined(nodes.text("-"), exp.Paren(this=past), nodes.text(" months"))
    return nodes.call("DATETIME", moment, nodes.text("start of month"), back)


_PATTERNS: Mapping[TimeGrain, str] = MappingProxyType(
    {TimeGrain.MINUTE: "%Y-%m-%d %H:%M:00", TimeGrain.HOUR: "%Y-%m-%d %H:00:00", TimeGrain.SECOND: "%Y-%m-%d %H:%M:%S"}
)
_MODIFIERS: Mapping[TimeGrain, tuple[str, ...]] = MappingProxyType(
    {
        TimeGrain.DAY: ("start of day",),
        TimeGrain.WEEK: ("start of day", "-6 days", "weekday 1"),
        TimeGrain.WEEK_STARTING_MONDAY: ("start of day", "-6 days", "weekday 1"),
        TimeGrain.WEEK_STARTING_SUNDAY: ("start of day", "-6 days", "weekday 0"),
        TimeGrain.WEEK_ENDING_SATURDAY: ("start of day", "weekday 6"),
        TimeGrain.WEEK_ENDING_SUNDAY: ("start of day", "weekday 0"),
        TimeGrain.MONTH: ("start of month",),
        TimeGrain.YEAR: ("start of year",),
    }
)


def _parsed(time_format: TimeFormat) -> TextFormat:
    return bounds.written_format(time_format, parse=lambda source: fixed_width_format(source, engine="SQLite"))


_COMPLETE_TEXT = "0000-00-00 00:00:00.000000"
_AFTER_EVERY_DATE = ":"  # the character after '9'


def _text_bound(column: exp.Expr, time_format: TimeFormat, moment: datetime) -> TimeBound:
    """Bind the shortest text: right for days, minutes, seconds and fractions alike, and at midnight for a `T`."""
    if _is_label(column):
        return TimeBound(column=column, value=_shortest(moment))
    if time_format.strftime in _PLAIN_ISO:
        separator = "T" if "T" in time_format.strftime else " "
        return TimeBound(column=column, value=_shortest(moment).replace(" ", separator))
    decode = _as_text_in_utc if moment.time() == time.min else _as_plain_text_in_utc
    return TimeBound(column=column, value=_shortest(moment), near=_near(moment), decode=decode)


def _is_label(column: exp.Expr) -> bool:
    """Tell a bucket, whose text has seconds and no zone."""
    return isinstance(column, exp.Anonymous) and column.name in ("DATETIME", "STRFTIME")


def _near(moment: datetime) -> tuple[str, str] | None:
    """Return the days before and after which any text is decided, whatever its zone; None where there are none.

    An offset is less than a day: no text of the day after a midnight means a moment before it.
    """
    day = timedelta(days=1)
    try:
        first, last = moment.date() - day, (moment + day - timedelta(microseconds=1)).date() + day
    except OverflowError:
        return None
    return first.isoformat(), last.isoformat()


def _shortest(moment: datetime) -> str:
    if moment.time() == time.min:
        return moment.date().isoformat()
    if moment.second or moment.microsecond:
        text = moment.isoformat(sep=" ")
        return text.rstrip("0") if moment.microsecond else text
    return moment.isoformat(sep=" ", timespec="minutes")


def _text_equal(column: exp.Expr, time_format: TimeFormat, moment: datetime) -> TimeBound:
    """Fill the text up to microseconds, so that a date alone equals its midnight, and cut what is finer."""
    if _is_label(column):
        return TimeBound(column=column, value=moment.isoformat(sep=" "))
    if time_format.strftime in _PLAIN_ISO:
        parsed = _parsed(time_format)
        return TimeBound(column=column, value=parsed.write(moment) if parsed.floor(moment) == moment else None)
    known = _text_in_utc(column, blank=True)
    missing = nodes.call(
        "SUBSTR", nodes.text(_COMPLETE_TEXT), nodes.plus(nodes.call("LENGTH", known.copy()), nodes.number(1))
    )
    full_text = _part(nodes.joined(known, missing), 1, len(_COMPLETE_TEXT))
    return TimeBound(column=full_text, value=moment.isoformat(sep=" ", timespec="microseconds"), near=_near(moment))


def _written_bound(column: exp.Expr, time_format: TimeFormat, moment: datetime) -> TimeBound:
    parsed = _parsed(time_format)
    return bounds.text_bound(column, time_format, parsed, moment) or TimeBound(
        column=_written_moment(column, time_format), value=_ceiled(parsed, moment)
    )


def _written_equal(column: exp.Expr, time_format: TimeFormat, moment: datetime) -> TimeBound:
    parsed = _parsed(time_format)
    found = bounds.text_equal(column, time_format, parsed, moment)
    if found:
        return found
    value = _moment_text(parsed, moment) if parsed.floor(moment) == moment else None
    return TimeBound(column=_written_moment(column, time_format), value=value)


def _ceiled(parsed: TextFormat, moment: datetime) -> str:
    """Round up to the text's resolution: moments of a text column are whole seconds or whole days."""
    step = timedelta(seconds=1) if parsed.has_clock() else timedelta(days=1)
    floor = moment.replace(microsecond=0) if parsed.has_clock() else datetime.combine(moment.date(), time.min)
    try:
        return _moment_text(parsed, floor if floor == moment else floor + step)
    except OverflowError:
        return _AFTER_EVERY_DATE


def _moment_text(parsed: TextFormat, moment: datetime) -> str:
    return moment.isoformat(sep=" ") if parsed.has_clock() else moment.date().isoformat()


_moment = _by_encoding(_text_moment, _written_moment, _epoch_moment)


# ---------------------------------------------------------------------------------------------------------- operators
def _like(left: exp.Expr, pattern: str, fold_case: bool, bind: Bind) -> exp.Expr:
    """GLOB minds case, LIKE folds ASCII letters; for others Python folds both sides."""
    if not fold_case:
        return exp.Glob(this=nodes.operand(left), expression=bind(operators.glob(pattern)))
    is_ascii = pattern.isascii()
    folded = nodes.operand(left) if is_ascii else nodes.call(UNICODE_LOWER, left)
    return operators.matching(
        lambda value: exp.Like(this=folded, expression=value), pattern if is_ascii else pattern.lower(), bind
    )


def _by_code_point(node: exp.Expr) -> exp.Expr:
    """Say it always: a column may be declared NOCASE or RTRIM. Indexes of other columns stay of use."""
    return nodes.collate(node, "BINARY")


def _number(number: int | Decimal) -> BindScalar:
    """Return what SQLite has, in columns of any type: a whole number of 64 bits, else the nearest double."""
    is_integer = isinstance(number, int) or number == number.to_integral_value()
    return int(number) if is_integer and -(2**63) <= number < 2**63 else float(number)


def _tie_keys(node: exp.Expr, kind: ValueKind, _length: int | None) -> tuple[exp.Expr, ...]:
    """Any column may hold text and be declared NOCASE; the columns that are known as text say BINARY already."""
    return (_by_code_point(node),) if kind in (ValueKind.OTHER, ValueKind.UNKNOWN) else (node,)


def _in_list(left: exp.Expr, values: Sequence[BindValue], kind: ValueKind, bind: Bind) -> exp.Expr:
    """Long lists travel as one JSON text: builds of SQLite allow 32,766 parameters or fewer."""
    if kind is ValueKind.TEXT:
        left = _by_code_point(left)
    plain = [_number(value) if isinstance(value, int | Decimal) else value for value in values]
    if len(values) <= operators.LONG_LIST or not all(isinstance(value, str | int | float) for value in plain):
        return _in_members(left, plain, kind, bind)
    table = exp.Table(this=nodes.call("JSON_EACH", bind(json.dumps(plain))))
    members = exp.Select(
        expressions=[exp.Column(this=exp.Identifier(this="value", quoted=False))], from_=exp.From(this=table)
    )
    return exp.In(this=nodes.operand(left), query=exp.Subquery(this=members))


@repairs(exp.Cast)
def _cast(node: exp.Expr, reject: Refuse) -> exp.Expr | None:
    """Keep the name of a cast's type, as SQLite casts to DECIMAL as to NUMERIC, and refuse casts to moments.

    They leave the year alone, and are what `DATE '2024-12-01'` and `x::date` are read as, which SQLite itself refuses.
    """
    target = node.args.get("to")
    if isinstance(target, exp.DataType) and target.this in exp.DataType.TEMPORAL_TYPES:
        raise reject(
            "SQLite has no types of moments: its cast to one leaves the number that the text begins with; "
            "write date(x), datetime(x) or time(x), or the text itself, as '2024-12-01'"
        )
    if isinstance(target, exp.DataType) and target.this in _NUMERIC:
        target.set("kind", target.this.value)
        target.set("this", exp.DataType.Type.USERDEFINED)
        target.set("expressions", None)
        return node
    return None


_NUMERIC = frozenset({exp.DataType.Type.BOOLEAN, exp.DataType.Type.DECIMAL, exp.DataType.Type.JSON})


@repairs(exp.Mod)
def _mod(node: exp.Expr, _reject: Refuse) -> exp.Expr | None:
    """Keep SQLite's MOD(a, b), which gives fractions; its % does not. Both in one text become MOD."""
    return exp.Anonymous(this="MOD", expressions=[node.this.unnest().copy(), node.expression.unnest().copy()])


_in_members = operators.in_list_of()
_LITERALS = literals.LiteralStyle(dialect="sqlite", day="{}", timestamp="{}", timestamp_tz="{}")

# Made from messages that the engine gave.
_ERRORS = meanings.patterns(
    (r"^no such table: (?P<table>.+)", meanings.NO_TABLE),
    (r"^no such column: (?P<column>.+)", meanings.NO_COLUMN),
    (r"^no such function: (?P<function>.+)", meanings.NO_FUNCTION),
    (r"^unknown database (?P<schema>.+)", meanings.NO_SCHEMA),
    (r"^ambiguous column name: (?P<column>.+)", meanings.AMBIGUOUS),
    (r"^wrong number of arguments to function (?P<function>\w+)", meanings.NO_FUNCTION),
    (r"^(attempt to write a readonly|not authorized|access to .* is prohibited)", meanings.READ_ONLY),
    (r"^you can (?:only|execute) .*one statement", meanings.ONE_ONLY),
    (r"^misuse of aggregate|^aggregate functions are not allowed", meanings.MISPLACED),
    (r"^selects to the left and right of", meanings.UNEQUAL),
    (r"^\w+ (?:order|group) by term out of range", meanings.NO_POSITION),
    (r"^near .*: syntax error$|^unrecognized token|^incomplete input|^misuse of", meanings.SYNTAX),
    (r"^sub-select returns|^row value misused", meanings.MANY_ROWS),
    (
        r"^unable to open database file",
        meanings.NO_DATABASE.said(
            "the database file cannot be opened; this process must be allowed to read it and its folder"
        ),
    ),
    (
        r"^file is not a database|^database disk image is malformed$",
        meanings.NO_DATABASE.said("the file is no SQLite database, or is damaged"),
    ),
    (r"^database (?:table )?is locked|^database schema is locked", meanings.LOCKED),
    (r"^database or disk is full", meanings.NO_ROOM),
    (r"^integer overflow|^python int too large", meanings.OVERFLOW),
    (
        r"^string or blob too big|^[\w ]+ too large$",
        meanings.UNNAMED.said("a value is longer than this engine may make it"),
    ),
    (
        r"^too many|^expression tree is too large|^parser stack overflow|^like or glob pattern too complex",
        meanings.TOO_DEEP,
    ),
    (r"^malformed json|^bad json path", meanings.BAD_VALUE),
    (r"^interrupted", meanings.KILLED),
    (r"^(?:table|view) \S+ already exists", meanings.MADE_MEANWHILE),
    (r"^not null constraint failed: (?:\w+\.)?(?P<column>.+)", meanings.NO_NULLS),
    (r"^unique constraint failed: (?:\w+\.)?(?P<column>[^,]+)$", meanings.NOT_UNIQUE),
    (r"^unique constraint failed", meanings.NOT_UNIQUE),
    (r"^check constraint failed", meanings.NOT_CHECKED),
    (r"^foreign key constraint failed", meanings.NO_REFERENCE),
    (r"^datatype mismatch|^cannot store \w+ value in", meanings.BAD_VALUE),
)
_GUARDS = guards.Guards(
    uri_options=guards.uri_options(
        numbers="timeout", uri=guards.SWITCH, immutable=guards.SWITCH, mode="ro rw rwc memory", cache="shared private"
    ),
    database_files=guards.DatabaseFiles.PATH_OR_FILE_URI,
    denied_functions=guards.name_set("""
    load_extension readfile writefile edit fts3_tokenizer lsdir fsdir zipfile sqlar_compress sqlar_uncompress zeroblob
    randomblob sqlite_log pragma_database_list pragma_table_list pragma_table_info pragma_table_xinfo pragma_index_list
    pragma_index_info pragma_index_xinfo pragma_foreign_key_list pragma_function_list pragma_module_list
    pragma_pragma_list pragma_compile_options pragma_collation_list pragma_integrity_check pragma_quick_check
    pragma_foreign_key_check pragma_optimize pragma_user_version pragma_schema_version pragma_data_version
    pragma_journal_mode pragma_temp_store_directory pragma_wal_checkpoint pragma_cache_size pragma_page_count
    pragma_freelist_count pragma_* dbstat sqlite_* bytecode tables_used completion carray csv rtreecheck rtreenode
    rtreedepth optimize fts3tokenize fts5vocab
"""),
    allowed_functions=guards.allowed_with("""
    glob like match julianday strftime total typeof unixepoch timediff format printf quote likely unlikely likelihood
    json json_array json_array_insert json_error_position json_group_array json_group_object json_insert json_object
    json_patch json_quote json_remove json_replace json_set json_pretty jsonb jsonb_extract subtype unistr
"""),
    row_makers=frozenset(),
    revealing=guards.RevealingRelations.of(
        relations="sqlite_stat3 sqlite_stat4 pragma_* dbstat sqlite_dbpage sqlite_stmt bytecode tables_used",
        **dict.fromkeys(("schemas", "harmless", "functions"), ""),
    ),
    table_names=replace(
        guards.STANDARD_TABLE_NAMES,
        after_in=True,
        calls=True,
        own=guards.name_set("sqlite_*"),
        row_ids=frozenset({"rowid", "oid", "_rowid_"}),
    ),
    fence=limited(-1),
    by_case=False,
    casts_columns=False,
)

ENGINES = (
    EngineSpec(
        name="sqlite",
        label="SQLite",
        dialect="sqlite",
        guards=_GUARDS,
        error_patterns=_ERRORS,
        syntax=Syntax(
            repairs=(_cast,),
            repairs_by_call=MappingProxyType({"mod": _mod}),
            groups_comparisons=True,
            extremes_of_values=True,
        ),
        total=UNTYPED,
        drivers=("pysqlite",),
        paramstyle=ParamStyle.QMARK,
        moment=_moment,
        bucket=_bucket,
        shift=lambda moment, hours: (
            nodes.call("DATETIME", moment, nodes.text(f"{hours:+d} hours")) if hours else moment
        ),
        time_bound=_by_encoding(_text_bound, _written_bound, bounds.epoch_bound),
        time_equal=_by_encoding(_text_equal, _written_equal, bounds.epoch_equal),
        text_key=_by_code_point,
        text_equal=_by_code_point,
        text_order=_by_code_point,
        like=_like,
        as_text=operators.cast_to(nodes.Type.TEXT),
        average=operators.average_of_cast(),
        sum_=operators.sum_,
        extreme=operators.extreme_by(_by_code_point),
        count_distinct=operators.count_distinct_by(_by_code_point),
        is_true=operators.is_true,
        in_list=_in_list,
        literal=_LITERALS.write,
        value_kind=kinds.kind_reader(),
        unsortable_kinds=frozenset(),
        tie_keys=_tie_keys,
        collation=lambda name: Collation.CODE_POINT if name == "BINARY" else Collation.UNKNOWN,
        joins_as_written=True,
        undone=Undone.ALL,
        parameters=FILE_PARAMETERS,
        null_safe_equal=operators.null_safe_equal,
        number=_number,
        compares_moments_as_text=True,
        sorted_moment=_sorted_moment,
    ),
)
