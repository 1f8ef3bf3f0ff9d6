"""DuckDB: microsecond timestamps, text by code point, LIKE minds case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from sqlglot import exp
from sqlglot.errors import SqlglotError

from analytics_core._engine.engines import bounds, costs, grains, guards, kinds, literals, meanings, nodes, operators
from analytics_core._engine.engines.ansi import ansi_engine
from analytics_core._engine.engines.fences import materialised
from analytics_core._engine.engines.nodes import Type
from analytics_core._engine.engines.spec import (
    FILE_PARAMETERS,
    BindScalar,
    ParamStyle,
    Refuse,
    Syntax,
    Undone,
    nulls_are_last,
    repairs,
)
from analytics_core._engine.engines.specs.totals.duckdb import TOTAL
from analytics_core._engine.engines.types import TimeEncoding, TimeFormat, ValueKind


def _written_moment(column: exp.Expr, time_format: TimeFormat) -> exp.Expr:
    written = bounds.written_format(time_format).source
    text = bounds.written_text(column, time_format, Type.TEXT)
    return nodes.call("TRY_STRPTIME", text, nodes.text(written))


def _epoch_moment(column: exp.Expr, time_format: TimeFormat) -> exp.Expr:
    """Count in microseconds; MAKE_TIMESTAMP takes whole numbers only, so fractions are cut downwards."""
    factor = 1_000_000 if time_format.encoding is TimeEncoding.EPOCH_S else 1_000
    kind = time_format.value_kind
    epoch = nodes.try_cast(column, Type.BIGINT) if kind is ValueKind.TEXT else column
    micros = nodes.times(epoch, nodes.number(factor))
    if kind in (ValueKind.FLOAT, ValueKind.DECIMAL):
        micros = nodes.cast(nodes.call("FLOOR", micros), Type.BIGINT)
    return nodes.call("MAKE_TIMESTAMP", micros)


_OF_A_TYPE = (exp.DataType, exp.DataTypeParam, exp.Literal)


def _as_declared(column: exp.Expr, type_text: str) -> exp.Expr | None:
    """Return the column behind TRY_CAST, which DuckDB leaves out where the type is the column's own."""
    try:
        declared = exp.DataType.build(type_text, dialect="duckdb")
    except SqlglotError:
        return None
    if not all(isinstance(node, _OF_A_TYPE) for node in declared.walk()):
        return None
    return exp.TryCast(this=column, to=declared)


def _cut_seconds(moment: exp.Expr, seconds: int) -> exp.Expr:
    """Give the origin always: without it TIME_BUCKET begins in the year 2000."""
    amount, unit = grains.amount_and_unit(seconds)
    width = nodes.interval(nodes.text(str(amount)), unit)
    return nodes.call("TIME_BUCKET", width, moment, nodes.timestamp(grains.EPOCH))


def _number(number: int | Decimal) -> BindScalar:
    """Whole numbers beyond 128 bits have no type."""
    return float(number) if isinstance(number, int) and not -(2**127) <= number < 2**128 else number


@repairs(exp.DateAdd, exp.DateSub)
def _date_add(node: exp.Expr, _reject: Refuse) -> exp.Expr | None:
    """Close the sum that DATE_ADD becomes: `b - date_add(a, i)` is not `b - a + i`."""
    if not isinstance(node.expression, exp.Interval):
        return None
    sum_or_difference = exp.Add if isinstance(node, exp.DateAdd) else exp.Sub
    return exp.Paren(this=sum_or_difference(this=node.this.copy(), expression=node.expression.copy()))


@repairs(exp.RegexpLike, exp.RegexpFullMatch, exp.RegexpILike)
def _tilde(node: exp.Expr, reject: Refuse) -> exp.Expr | None:
    """Refuse `a ~ 'x'`, which DuckDB 1 and 2 read unlike each other; only nodes of calls have a place in the text."""
    if not node.meta:
        raise reject(
            "the operators ~ and !~ match the whole text on DuckDB 1 and a part of it on DuckDB 2, and ~*, REGEXP and "
            "RLIKE are not DuckDB's; write regexp_full_match(a, 'x') for the whole text, or regexp_matches(a, 'x') or "
            "regexp_matches(a, 'x', 'i') for a part"
        )
    return None


_FILE_ENDINGS = (
    ".csv", ".tsv", ".txt", ".parquet", ".json", ".jsonl", ".ndjson", ".xlsx", ".arrow", ".feather", ".avro", ".db",
    ".duckdb", ".sqlite", ".gz", ".zst",
)  # fmt: skip


def _is_file(name: str) -> bool:
    return "/" in name or "\\" in name or "*" in name or name.lower().endswith(_FILE_ENDINGS)


_moment = bounds.moments_by(
    date=operators.cast_to(Type.TIMESTAMP),
    timestamptz=nodes.utc,
    iso_text=lambda column: nodes.utc(nodes.try_cast(column, Type.TIMESTAMPTZ)),
    text=_written_moment,
    epoch=_epoch_moment,
)
_LITERALS = literals.LiteralStyle(
    dialect="duckdb", timestamp_tz="TIMESTAMPTZ {}", binary="'{}'::BLOB", byte_prefix="\\x", members="[{}]"
)
_SIGNED = {"TINYINT": 8, "SMALLINT": 16, "INTEGER": 32, "BIGINT": 64, "HUGEINT": 128}
_UNSIGNED = {"UTINYINT": -8, "USMALLINT": -16, "UINTEGER": -32, "UBIGINT": -64, "UHUGEINT": -128}

_LOCKED = meanings.LOCKED.said(
    "the database file is locked by another program: DuckDB lets several processes read a file, or one write to it; "
    "try again when the other has closed it"
)
_UNREADABLE = meanings.BAD_VALUE.said(
    "a file behind this table cannot be read: it is damaged, or was replaced while it was read; try again, and if this "
    "stays, mend the file and connect again"
)._replace(retryable=True)
# Made from messages that the engine gave; its reader of Parquet has no kind before some of its own.
_ERRORS = meanings.patterns(
    (
        r"^invalid input error: (?:failed to read file|file .* too small to be a parquet file)"
        r"|^(?:parquet file is likely corrupted|prefetch registered for bytes|don't know what type|failed to decompress"
        r"|input is invalid/unsupported gzip|payload value bigger than allowed|out of buffer|decode bit width"
        r"|varint-decoding found)",
        _UNREADABLE,
    ),
    (
        r"^(?:conversion|invalid input) error: (?:csv error|malformed json|json transform error|no magic bytes)"
        r"|^invalid input error: error when sniffing file"
        r"|^binder error: (?:contents of view were altered|column_types error)"
        r"|^io error: (?:.*mismatch between (?:schemas|the schema)|input is not a gzip stream)"
        r"|^invalid input error: arrow_scan: .*: invalid: could not open",
        meanings.BAD_VALUE.said(
            "a file behind this table cannot be read as it was when it was connected: rows of it have other columns or "
            "values now; connect again, or mend the file"
        ),
    ),
    (
        r"^permission error: cannot access file|^io error: no files found"
        r"|^invalid input error: arrow_scan: .*: failed to open local file",
        meanings.NO_DATABASE.said(
            "a file cannot be read: only those that were handed over are, and they must still be there"
        ),
    ),
    (
        r"^connection error: connection already closed",
        meanings.NO_DATABASE.said(
            "the DuckDB connection that was handed over is closed; keep it open as long as the core, or connect again"
        ),
    ),
    (
        r"^connection error: .*different configuration",
        meanings.UNNAMED.said(
            "the database file is open in this process with other settings; close that connection first"
        ),
    ),
    (r"^(?:io|connection) error: .*(?:could not set lock|conflicting lock|used by another process)", _LOCKED),
    (
        r"^io error: .*database file with version number",
        meanings.NO_DATABASE.said(
            "the database file was written by another version of DuckDB; install the version of the package duckdb "
            "that wrote it, or a newer one"
        ),
    ),
    (r"^(?:io|fatal|transactioncontext|out of memory) error: .*(?:no space left|max_temp_directory)", meanings.NO_ROOM),
    (r"^io error: corrupt|^io error: .*checksum", meanings.NO_DATABASE.said("the database file is damaged")),
    (
        r"^io error: .*(?:does not exist|not a valid duckdb|cannot open)",
        meanings.NO_DATABASE.said("the database file cannot be opened, or is no DuckDB database"),
    ),
    (
        r"^(?:permission|missing extension) error: .*extension",
        meanings.NO_DATABASE.said(
            "this is no DuckDB database, but a file or function that needs an extension of DuckDB; extensions are not "
            "loaded here"
        ),
    ),
    (r"^catalog error: table with name .* because schema \"(?P<schema>[^\"]+)\" does not exist", meanings.NO_SCHEMA),
    (r"^catalog error: (?:table|view) with name (?P<table>.+?) does not", meanings.NO_TABLE),
    (r"^catalog error: \w* ?function with name \"?(?P<function>\w+)", meanings.NO_FUNCTION),
    (r"^binder error: no function matches .*?'(?P<function>[^'(]+)\(", meanings.NO_FUNCTION),
    (r"^binder error: referenced column \"(?P<column>[^\"]+)\"", meanings.NO_COLUMN),
    (r"^binder error: table \"[^\"]+\" does not have a column named \"(?P<column>[^\"]+)\"", meanings.NO_COLUMN),
    (r"^binder error: referenced table \"(?P<table>[^\"]+)\"", meanings.NO_TABLE),
    (r"^binder error: ambiguous reference to column name \"(?P<column>[^\"]+)\"", meanings.AMBIGUOUS),
    (r"^binder error: .*must appear in the group by", meanings.NOT_GROUPED),
    (r"^binder error: (?:.*cannot contain aggregates|aggregate function calls cannot be nested)", meanings.MISPLACED),
    (r"^binder error: set operations can only apply", meanings.UNEQUAL),
    (r"^binder error: (?:order|group by) term out of range", meanings.NO_POSITION),
    (
        r"^binder error: catalog \"(?P<database>[^\"]+)\" does not exist",
        meanings.NO_OBJECT.said(meanings.NO_DATABASE.template),
    ),
    (
        r"^binder error: subquery returns \d+ columns|^invalid input error: more than one row returned",
        meanings.MANY_ROWS,
    ),
    (
        r"^invalid input error: (?:cannot execute statement of type|attempting to execute) .*read-only"
        r"|^transactioncontext error: .*read-only|^invalid configuration error: .*locked|^permission error",
        meanings.READ_ONLY,
    ),
    (r"^parser error: .*(memory exhausted|depth)", meanings.TOO_DEEP),
    (r"^(parser|binder) error", meanings.SYNTAX),
    (
        r"^out of range error"
        r"|^conversion error: type \S+ with value \S+ can't be cast because the value is out of range",
        meanings.OVERFLOW,
    ),
    (r"^conversion error: \w+ field value out of range", meanings.BAD_TIME),
    (r"^(conversion|mismatch type) error|^invalid input error: could not parse string", meanings.BAD_VALUE),
    (r"^out of memory error", meanings.NO_MEMORY),
    (r"^\w[\w ]* error: division by zero!?$", meanings.ZERO),
    (r"^interrupt error", meanings.KILLED),
    (r"^catalog error: (?:table|view) with name .* already exists", meanings.MADE_MEANWHILE),
    (r"^transactioncontext error: (?:catalog write-write )?conflict|^catalog error: .*write-write", meanings.UNDONE),
    (r"^catalog error: could not drop the table|^dependency error", meanings.NEEDED),
    (r"^constraint error: not null constraint failed: (?:\w+\.)?(?P<column>.+)", meanings.NO_NULLS),
    (r"^constraint error: (?:duplicate key|primary key or unique)", meanings.NOT_UNIQUE),
    (r"^constraint error: check constraint failed", meanings.NOT_CHECKED),
    (r"^constraint error: violates foreign key", meanings.NO_REFERENCE),
)
_GUARDS = guards.Guards(
    uri_options=guards.uri_options("memory_limit max_memory", threads=range(1, 257)),  # it starts them all
    database_files=guards.DatabaseFiles.PATH,
    denied_functions=guards.name_set("""
    read_csv read_csv_auto sniff_csv read_json read_json_auto read_json_objects read_json_objects_auto read_ndjson
    read_ndjson_auto read_ndjson_objects read_parquet parquet_scan parquet_metadata parquet_schema parquet_file_metadata
    parquet_kv_metadata parquet_bloom_probe parquet_full_metadata read_text read_blob read_xlsx read_avro read_duckdb
    st_read st_read_meta st_readosm st_readshp st_drivers arrow_scan arrow_scan_dumb pandas_scan python_map_function
    sqlite_scan sqlite_query sqlite_attach postgres_scan postgres_scan_pushdown postgres_query postgres_execute
    postgres_attach mysql_scan mysql_query mysql_execute mysql_attach mssql_scan odbc_scan odbc_query iceberg_scan
    iceberg_metadata iceberg_snapshots delta_scan ducklake_snapshots http_get http_post http_post_form read_gsheet
    read_lines open_prompt load_aws_credentials json_serialize_plan query query_table json_execute_serialized_sql
    from_substrait from_substrait_json get_substrait get_substrait_json getenv getvariable current_setting which_secret
    duckdb_secrets duckdb_settings duckdb_variables duckdb_external_file_cache duckdb_temporary_files
    duckdb_log_contexts duckdb_logs duckdb_logs_parsed pragma_database_size pragma_storage_info pragma_user_agent
    pragma_version pragma_platform nextval currval checkpoint force_checkpoint enable_logging disable_logging
    truncate_duckdb_logs write_log sleep_ms pg_sleep repeat_row add_parquet_key enable_profiling disable_profiling
    enable_profile disable_profile duckdb_* pragma_* pg_* !pg_typeof !pg_size_pretty !pg_catalog has_*_privilege read_*
    *_scan current_query current_query_id current_connection_id current_transaction_id txid_current obj_description
    col_description shobj_description inet_client_addr inet_client_port inet_server_addr inet_server_port
"""),
    allowed_functions=guards.allowed_with("""
    add age aggregate alias apply approx_top_k arg_max_nulls_last arg_min_nulls_last editdist3 from_json rank_dense
    reservoir_quantile substring_grapheme arg_max arg_max_null arg_min arg_min_null argmax argmin array_* !array_resize
    bar base64 bin bit_count bit_position bitstring century combine constant_or_null contains damerau_levenshtein
    datesub datetrunc days_in_month decade divide element_at encode ends_with entropy enum_code enum_first enum_last
    enum_range enum_range_boundary epoch epoch_ms epoch_ns epoch_us equi_width_bins era even factorial favg fdiv filter
    flatten fmod format formatreadabledecimalsize formatreadablesize format_bytes from_binary from_hex fsum gamma gcd
    geomean geometric_mean get_bit greatest_common_divisor hamming hash histogram histogram_exact isfinite isinf isnan
    isodow isoyear jaccard jaro_similarity jaro_winkler_similarity json json_array json_contains json_exists
    json_extract_path json_extract_path_text json_extract_string json_group_array json_group_object
    json_group_structure json_keys json_merge_patch json_object json_pretty json_quote json_structure json_transform
    julian kahan_sum kurtosis_pop lcm left_grapheme length_grapheme levenshtein lgamma list_* !list_resize !list_reduce
    !array_reduce least_common_multiple mad make_timestamp_ms make_timestamp_ns make_timestamptz map_* mean millennium
    millisecond mismatches multiply nanosecond nextafter nfc_normalize normalized_interval ord parse_dirname
    parse_filename parse_formatted_bytes parse_path pg_typeof prefix printf product quantile_cont quantile_disc
    regexp_escape regexp_extract_all regexp_full_match regexp_matches regexp_split_to_array right_grapheme round_even
    roundbankers row_to_json sem set_bit signbit split str_split str_split_regex strftime string_split
    string_split_regex string_to_array strip_accents strlen strptime struct_* sub subtract suffix sum_no_overflow
    sumkahan switch time_bucket timezone timezone_hour timezone_minute to_base to_binary to_centuries to_days
    to_decades to_hex to_hours to_json to_microseconds to_millennia to_milliseconds to_minutes to_months to_quarters
    to_seconds to_weeks to_years transaction_timestamp try_strptime typeof unbin union_extract union_tag union_value
    url_decode url_encode uuid gen_random_uuid weighted_avg wavg xor hugeint uhugeint ubigint uinteger usmallint
    utinyint union bytea timestamp_s timestamp_ms timestamp_ns current_localtime current_localtimestamp
    get_current_timestamp st_area st_asgeojson st_astext st_contains st_distance st_intersects st_point st_within st_x
    st_y
"""),
    row_makers=frozenset(),
    revealing=guards.RevealingRelations.of(
        relations="duckdb_logs duckdb_settings duckdb_secrets duckdb_variables pg_stats",
        schemas="",
        harmless="",
        functions="stats",  # the smallest and largest value of a column, row rules or not
    ),
    table_names=replace(
        guards.STANDARD_TABLE_NAMES,
        calls=True,
        loose=True,
        is_file=_is_file,
        own=guards.name_set("information_schema duckdb_* pg_* sqlite_*"),
        row_ids=frozenset({"rowid"}),
    ),
    fence=materialised,
    by_case=False,
    casts_columns=True,
)
_SIZE_ARGUMENTS: Mapping[str, int | None] = {
    **dict.fromkeys(("max", "min", "approx_top_k"), 1),
    **dict.fromkeys(("arg_max", "arg_min", "argmax", "argmin", "max_by", "min_by"), 2),
    **dict.fromkeys(("arg_max_null", "arg_min_null", "arg_max_nulls_last", "arg_min_nulls_last"), 2),
    **dict.fromkeys(("equi_width_bins", "reservoir_quantile"), 2),
    "bar": 3,
}

_ESTIMATED = {"rows": "Estimated Cardinality"}


def _costs(rows: Sequence[Sequence[Any]]) -> costs.Costs:
    """Return the rows of the result, and those of all steps together."""
    steps, waiting = list[float](), list(costs.document(rows))
    while waiting:
        step = waiting.pop(0)
        steps += costs.numbers_of(step["extra_info"], _ESTIMATED).values()
        waiting += step["children"]
    return {"rows": steps[0], "rows_of_steps": sum(steps)} if steps else {}


ENGINES = (
    replace(
        ansi_engine(
            name="duckdb",
            label="DuckDB",
            dialect="duckdb",
            drivers=("duckdb_sqlalchemy", "duckdb_engine"),
            extra_name="duckdb",
            guards=_GUARDS,
            error_patterns=_ERRORS,
            comparison=bounds.MomentComparison(moment=_moment, tries_casts=True),
            bucket=grains.buckets_by_truncation(cut_seconds=_cut_seconds),
            shift=grains.hours_by_interval,
        ),
        syntax=Syntax(repairs=(_date_add, _tilde), reads_fields=True, size_arguments=_SIZE_ARGUMENTS),
        total=TOTAL,
        paramstyle=ParamStyle.NUMERIC_DOLLAR,
        folds_names=True,
        like=operators.like_where_case_counts(has_ilike=True),
        as_text=operators.cast_to(Type.TEXT),
        in_list=operators.in_array(),
        literal=_LITERALS.write,
        number_range=kinds.range_reader({**_SIGNED, **_UNSIGNED}),
        number=_number,
        unsortable_kinds=frozenset(),
        nulls_first_by_default=nulls_are_last,
        as_declared=_as_declared,
        undone=Undone.ALL,
        costs=costs.by_plan("EXPLAIN (FORMAT JSON)", _costs, counted="rows_of_steps"),
        parameters=FILE_PARAMETERS,
    ),
)
