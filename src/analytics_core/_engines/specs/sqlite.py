"""SQLite: moments are text, dates are read by position, LIKE minds no case, columns may fold it too.

Measured on 3.40 and 3.54 (SQL_TRAPS.md, sections 2 to 5). Moments become `YYYY-MM-DD HH:MM:SS` text.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from types import MappingProxyType

from sqlglot import exp

from analytics_core._engines import fences, meanings, nodes, operators
from analytics_core._engines.guards import STANDARD_TABLE_NAMES, DatabaseFiles, Guards, RevealingRelations
from analytics_core._engines.kinds import kind_reader
from analytics_core._engines.literals import LiteralStyle
from analytics_core._engines.name_sets import allowed_with, name_set
from analytics_core._engines.operators import glob
from analytics_core._engines.spec import Bind, BindScalar, BindValue, EngineSpec, ParamStyle, Refuse, Syntax
from analytics_core._engines.specs.sqlite_time import (
    sqlite_bucket,
    sqlite_moment,
    sqlite_shift,
    sqlite_sorted_moment,
    sqlite_time_bound,
    sqlite_time_equal,
)
from analytics_core._engines.types import Collation, ValueKind

UNICODE_LOWER = "AC_LOWER"
"""A function of one argument that the connector registers: Python's `str.lower`, deterministic."""


def _like(left: exp.Expr, pattern: str, fold_case: bool, bind: Bind) -> exp.Expr:
    """GLOB minds case, LIKE folds ASCII letters; for others Python folds both sides."""
    if not fold_case:
        return exp.Glob(this=nodes.operand(left), expression=bind(glob(pattern)))
    is_ascii = pattern.isascii()
    folded = nodes.operand(left) if is_ascii else nodes.call(UNICODE_LOWER, left)
    return operators.matching(
        lambda value: exp.Like(this=folded, expression=value), pattern if is_ascii else pattern.lower(), bind
    )


def _by_code_point(node: exp.Expr) -> exp.Expr:
    """Say it always: a column may be declared NOCASE or RTRIM. Indexes of other columns stay of use."""
    return nodes.collate(node, "BINARY")


def _collation(name: str | None) -> Collation:
    return Collation.CODE_POINT if name == "BINARY" else Collation.UNKNOWN


def _number(number: int | Decimal) -> BindScalar:
    """Return what SQLite has, in columns of any type: a whole number of 64 bits, else the nearest double."""
    is_whole = isinstance(number, int) or number == number.to_integral_value()
    return int(number) if is_whole and -(2**63) <= number < 2**63 else float(number)


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


def _cast(node: exp.Expr, _reject: Refuse) -> exp.Expr | None:
    """Keep the name of a cast's type: SQLite casts to DATE or DECIMAL as to NUMERIC, no date function, no REAL."""
    target = node.args.get("to") if isinstance(node, exp.Cast) else None
    if isinstance(target, exp.DataType) and target.this in _NUMERIC:
        target.set("kind", target.this.value)
        target.set("this", exp.DataType.Type.USERDEFINED)
        target.set("expressions", None)
    return None


_NUMERIC = frozenset(
    {
        exp.DataType.Type.DATE, exp.DataType.Type.DATETIME, exp.DataType.Type.TIMESTAMP, exp.DataType.Type.TIMESTAMPTZ,
        exp.DataType.Type.TIME, exp.DataType.Type.BOOLEAN, exp.DataType.Type.DECIMAL, exp.DataType.Type.JSON,
    }
)  # fmt: skip


def _mod(node: exp.Expr, _reject: Refuse) -> exp.Expr | None:
    """Keep SQLite's MOD(a, b), which gives fractions; its % does not. Both in one text become MOD."""
    if not isinstance(node, exp.Mod):
        return None
    return exp.Anonymous(this="MOD", expressions=[node.this.unnest().copy(), node.expression.unnest().copy()])


_in_members = operators.in_list_of()
_LITERALS = LiteralStyle(dialect="sqlite", day="{}", timestamp="{}", timestamp_tz="{}")

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
)
_GUARDS = Guards(
    uri_options=frozenset({"mode", "cache", "uri", "timeout", "immutable"}),
    database_files=DatabaseFiles.PATH_OR_FILE_URI,
    denied_functions=name_set("""
    load_extension readfile writefile edit fts3_tokenizer lsdir fsdir zipfile sqlar_compress sqlar_uncompress zeroblob
    randomblob sqlite_log pragma_database_list pragma_table_list pragma_table_info pragma_table_xinfo pragma_index_list
    pragma_index_info pragma_index_xinfo pragma_foreign_key_list pragma_function_list pragma_module_list
    pragma_pragma_list pragma_compile_options pragma_collation_list pragma_integrity_check pragma_quick_check
    pragma_foreign_key_check pragma_optimize pragma_user_version pragma_schema_version pragma_data_version
    pragma_journal_mode pragma_temp_store_directory pragma_wal_checkpoint pragma_cache_size pragma_page_count
    pragma_freelist_count pragma_* dbstat sqlite_* bytecode tables_used completion carray csv rtreecheck rtreenode
    rtreedepth optimize fts3tokenize fts5vocab
"""),
    allowed_functions=allowed_with("""
    glob like match julianday strftime total typeof unixepoch timediff format printf quote likely unlikely likelihood
    json json_array json_array_insert json_error_position json_group_array json_group_object json_insert json_object
    json_patch json_quote json_remove json_replace json_set json_pretty jsonb jsonb_extract subtype unistr
"""),
    row_makers=frozenset(),
    revealing=RevealingRelations.of(
        relations="sqlite_stat3 sqlite_stat4 pragma_* dbstat sqlite_dbpage sqlite_stmt bytecode tables_used",
        schemas="",
        harmless="",
        functions="",
    ),
    table_names=replace(STANDARD_TABLE_NAMES, after_in=True, calls=True),
    fence=fences.limited(-1),
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
        drivers=("pysqlite",),
        paramstyle=ParamStyle.QMARK,
        moment=sqlite_moment,
        bucket=sqlite_bucket,
        shift=sqlite_shift,
        time_bound=sqlite_time_bound,
        time_equal=sqlite_time_equal,
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
        value_kind=kind_reader(),
        unsortable_kinds=frozenset(),
        tie_keys=_tie_keys,
        collation=_collation,
        joins_as_written=True,
        null_safe_equal=operators.null_safe_equal,
        number=_number,
        compares_moments_as_text=True,
        sorted_moment=sqlite_sorted_moment,
    ),
)
