"""What a query context is answered with: `ChartData` and its `QueryResult`s (contract, ChartDataResponseSchema)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Literal, NoReturn, SupportsIndex, cast, overload

from analytics_core._engine.engines.types import ValueKind
from analytics_core._engine.frames.arrow_frames import to_arrow
from analytics_core._engine.frames.frame import Frame, FrameColumn
from analytics_core._engine.results.display import answer_blocks, result_blocks
from analytics_core._engine.results.rows import AnnotationData, Chunk, PlainRows, ResultRows
from analytics_core._engine.results.spreadsheets import Sheet, csv_chunks, xlsx_bytes
from analytics_core._tools.atomic_files import write_requested
from analytics_core._tools.display.blocks import Blocks
from analytics_core._tools.display.bundles import Bundle, bundle_of, mime_bundle, own_mime_bundle
from analytics_core._tools.display.text import visible
from analytics_core.errors import (
    AnalyticsError,
    MissingExtraError,
    QueryError,
    StatementStoppedError,
    StatementTimeoutError,
    UnknownNameError,
)
from analytics_core.errors.base import short_repr
from analytics_core.models.enums import QueryStatus, ResultFormat, ResultType

if TYPE_CHECKING:
    import os

    import pandas as pd
    import polars as pl
    import pyarrow as pa


EMPTY_FRAME: Final = Frame(columns=())
_DECIMALS: Final = ("float", "exact")

_SHORT_KEYS: Final[Mapping[ResultType, tuple[str, ...]]] = {
    ResultType.QUERY: ("query", "language"),
    ResultType.RESULTS: ("colnames", "coltypes", "data", "rowcount", "sql_rowcount"),
    ResultType.COLUMNS: ("data",),
    ResultType.TIMEGRAINS: ("data",),
}
"""The keys of the result types that show less than everything."""

_OF_EACH_RESULT: Final = frozenset({"pandas", "polars", "arrow", "rows", "data", "frame", "notes", "limits", "query"})
_OF_THE_ANSWER: Final = frozenset({"to_csv", "to_xlsx", "to_json"})
_DISPLAYED_NAMES: Final = 8


def _reject_attribute(owner: object, name: str) -> NoReturn:
    """Say which of an answer and its results has what the other was asked for (their `__getattr__`)."""
    hint = ""
    if name in _OF_EACH_RESULT:
        hint = f"; each of its results has: results[0].{name}"
    elif name in _OF_THE_ANSWER:
        hint = f"; the answer that it is a part of has: answer.{name}()"
    raise AttributeError(f"{type(owner).__name__!r} has no attribute {name!r}{hint}")


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitEntry:
    """One limit that bounds a result: its name, how many rows it lets through, who set it, and whether it cut.

    `rows` is None for limits that do not count rows (bytes). `cut` is None when nobody can tell (a series limit).
    """

    limit: str
    rows: int | None
    set_by: str
    cut: bool | None

    def to_payload(self) -> dict[str, Any]:
        """Return the entry as a JSON object."""
        return {"limit": self.limit, "rows": self.rows, "set_by": self.set_by, "cut": self.cut}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class QueryResult:
    """The answer to one query: the contract's fields (ChartDataResponseResult), then ours.

    `from_dttm` and `to_dttm` are milliseconds since 1970 in UTC, `cache_timeout` is in seconds, `cached_dttm` is
    ISO 8601 text. `data` holds JSON values (moments as milliseconds); `frame` and `pandas()` hold typed ones. A query
    that failed, or asked for its statement alone, has none of them: reading them raises its error. `len(result)`,
    `result[0]` and iteration go over the rows as `rows()` has them.

    Ours: `sql_rowcount` (rows of the statement, before post-processing), `label_map` (what each label stands for:
    the parts of a label that post-processing joined, the stored name of a column or metric, the text of ad-hoc SQL),
    `indexnames` (row labels of `post_processed`), `language` of `query`, `notes` (what was kept but not used, or
    assumed), `caveats` (those of the notes that stand under pictures, too: what the numbers are not), `limits` (the
    ledger), `verbose_names` (headers for CSV and XLSX), `failure` (the error behind `error`), `annotations` (the layers
    of `annotation_data` as typed values).
    """

    cache_key: str | None = None
    cache_timeout: int | None = None
    cached_dttm: str | None = None
    is_cached: bool = False
    query: str = ""
    annotation_data: Any = None
    applied_filters: tuple[Mapping[str, Any], ...] = ()
    rejected_filters: tuple[Mapping[str, Any], ...] = ()
    colnames: tuple[str, ...] = ()
    coltypes: tuple[int, ...] = ()
    rowcount: int = 0
    from_dttm: int | None = None
    to_dttm: int | None = None
    status: QueryStatus = QueryStatus.SUCCESS
    error: str | None = None
    sql_rowcount: int | None = None
    label_map: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    indexnames: tuple[str, ...] = ()
    language: str | None = "sql"
    notes: tuple[str, ...] = ()
    caveats: tuple[str, ...] = ()
    limits: tuple[LimitEntry, ...] = ()
    result_type: ResultType = ResultType.FULL
    verbose_names: Mapping[str, str] = field(default_factory=dict, repr=False)
    row_set: ResultRows | PlainRows = field(default_factory=lambda: ResultRows(EMPTY_FRAME), repr=False, compare=False)
    failure: AnalyticsError | None = field(default=None, compare=False)
    annotations: tuple[AnnotationData, ...] = ()

    def __repr__(self) -> str:
        """Say what came, not every row's details: a notebook shows it, and a log line."""
        if self.error is not None:
            return f"<QueryResult, {self.status.value}: {visible(self.error)}>"
        names = [*self.colnames[:_DISPLAYED_NAMES], *(["..."] if len(self.colnames) > _DISPLAYED_NAMES else [])]
        notes = f"; {len(self.notes)} notes" if self.notes else ""
        return f"<QueryResult, {self.status.value}: {self.rowcount} rows of {visible(', '.join(names))}{notes}>"

    if not TYPE_CHECKING:  # for the checker there are no further attributes
        __getattr__ = _reject_attribute

    @property
    def stacktrace(self) -> None:
        """Always None: the contract has the field, and a stack trace is nobody's business."""
        return

    @property
    def data(self) -> Any:
        """The rows as dicts of JSON values; a map of columns for `post_processed`."""
        return self._rows_to_read().data()

    @property
    def frame(self) -> Frame:
        """The rows as typed columns."""
        return self._rows_to_read().frame

    def __len__(self) -> int:
        return len(self.frame)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return self.frame.rows()

    @overload
    def __getitem__(self, row: SupportsIndex) -> tuple[Any, ...]: ...
    @overload
    def __getitem__(self, row: slice) -> list[tuple[Any, ...]]: ...
    def __getitem__(self, row: SupportsIndex | slice) -> tuple[Any, ...] | list[tuple[Any, ...]]:
        return self.frame.row(row) if isinstance(row, SupportsIndex) else self.frame.part(row)

    _repr_mimebundle_ = mime_bundle

    def _blocks(self) -> Blocks:
        return result_blocks(self)

    def rows(self) -> list[tuple[Any, ...]]:
        """Return the rows as tuples of Python values, in the order of `colnames`; decimals are exact."""
        return list(self.frame.rows())

    def pandas(self, *, decimals: Literal["float", "exact"] = "float") -> pd.DataFrame:
        """Return the rows as a pandas DataFrame.

        Args:
            decimals: "float" makes columns of decimals the nearest floats, which pandas adds up and plots; "exact"
                leaves them `Decimal` objects.

        Raises:
            AnalyticsError: the query failed; it is its own error.
            UnknownNameError: `decimals` is neither.
        """
        if decimals not in _DECIMALS:
            raise UnknownNameError(decimals, place="decimals", known=_DECIMALS)
        from analytics_core._engine.frames.pandas_frames import to_pandas

        return to_pandas(self.frame, decimals_as_floats=decimals == "float")

    def arrow(self) -> pa.Table:
        """Return the rows as an Arrow table; decimals, and integers beyond 64 bits, are exact."""
        return to_arrow(self.frame)

    def polars(self) -> pl.DataFrame:
        """Return the rows as a polars DataFrame, as exact as `arrow()`.

        Raises:
            AnalyticsError: the query failed; it is its own error.
            MissingExtraError: polars is not installed; the extra `polars` brings it.
        """
        table = self.arrow()
        try:
            import polars as pl
        except ImportError:
            raise MissingExtraError(needed_for="polars()", extra_name="polars") from None
        return pl.DataFrame(table)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Hand the rows to a library that reads Arrow streams: `polars.DataFrame(result)`, `pyarrow.table(result)`."""
        return self.arrow().__arrow_c_stream__(requested_schema)

    def raise_for_error(self) -> None:
        """Raise the typed error that this query failed with; do nothing when it did not."""
        if self.failure is not None:
            raise self.failure
        if self.error is not None:
            raise QueryError(self.error)

    def _rows_to_read(self) -> ResultRows | PlainRows:
        """Return the rows for somebody who takes them for an answer.

        Raises:
            AnalyticsError: the query failed; it is its own error.
            QueryError: it asked for its statement alone.
        """
        self.raise_for_error()
        if self.result_type is ResultType.QUERY:
            raise QueryError("the query asked for its statement only (result_type 'query'); ask for 'full' to get rows")
        return self.row_set

    def to_payload(self) -> dict[str, Any]:
        """Return the result as the contract writes it, ours behind it."""
        return {key: self.row_set.data() if key == "data" else self._fact(key) for key in self._keys()}

    def json_chunks(self) -> Iterator[Chunk]:
        """Yield the JSON text of `to_payload()` in parts, without making the records."""
        import orjson

        keys = self._keys()
        if "data" not in keys:
            yield orjson.dumps(self.to_payload())
            return
        place = keys.index("data")
        before, after = ({key: self._fact(key) for key in part} for part in (keys[:place], keys[place + 1 :]))
        yield orjson.dumps(before)[:-1] + (b',"data":' if before else b'"data":')
        yield from self.row_set.json_chunks()
        yield b"," + orjson.dumps(after)[1:]

    def _keys(self) -> tuple[str, ...]:
        """Return the keys of the payload in order."""
        short = _SHORT_KEYS.get(self.result_type)
        if short is None:
            return _ALL_KEYS
        return (*short, *(("error", "status") if self.error is not None else ()), *_LEDGER_KEYS)

    def _fact(self, key: str) -> Any:
        value = getattr(self, key)
        if key == "limits":
            return [limit.to_payload() for limit in value]
        if key == "status":
            return value.value
        if key == "label_map":
            return {label: list(names) for label, names in value.items()}
        if key in _FILTERS:
            return list(map(dict, value))
        return list(value) if isinstance(value, tuple) else value


_CONTRACT_KEYS: Final = (
    *("cache_key", "cache_timeout", "cached_dttm", "is_cached", "query", "annotation_data"),
    *("applied_filters", "rejected_filters", "colnames", "coltypes", "data", "rowcount"),
    *("from_dttm", "to_dttm", "status", "error", "stacktrace"),
)
_FILTERS: Final = ("applied_filters", "rejected_filters")
_LEDGER_KEYS: Final = ("notes", "limits")
_ALL_KEYS: Final = (*_CONTRACT_KEYS, "sql_rowcount", "label_map", "indexnames", *_LEDGER_KEYS)


def failed_result(error: AnalyticsError, **known: Any) -> QueryResult:
    """Return the result of a query that failed with `error`; `known` are further fields (`query` ...)."""
    status = QueryStatus.FAILED
    if isinstance(error, StatementTimeoutError):
        status = QueryStatus.TIMED_OUT
    elif isinstance(error, StatementStoppedError):
        status = QueryStatus.STOPPED
    return QueryResult(status=status, error=error.message, failure=error, **known)


def listed_result(result_type: ResultType, items: list[dict[str, Any]], **known: Any) -> QueryResult:
    """Return the result of a query that asks for facts (`columns`, `timegrains`): `data` is `items`."""
    names = tuple(items[0]) if items else ()
    columns = tuple(
        FrameColumn(name=name, kind=ValueKind.UNKNOWN, values=[item.get(name) for item in items]) for name in names
    )
    rows = PlainRows(items, frame=Frame(columns=columns))
    return QueryResult(result_type=result_type, colnames=names, rowcount=len(items), row_set=rows, **known)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ChartData:
    """The answer to a query context: one `QueryResult` for each of its queries, in their order.

    `len(answer)`, `answer[0]` and iteration go over the results. `form` are the form data a chart is drawn by; None
    where there are none.
    """

    results: tuple[QueryResult, ...]
    result_type: ResultType = ResultType.FULL
    result_format: ResultFormat = ResultFormat.JSON
    form: Mapping[str, Any] | None = field(default=None, compare=False)
    extra_bundle: Callable[[ChartData], Bundle] | None = field(default=None, compare=False)
    """Gives what notebooks show of it beside its rows, by media types; None: nothing."""

    def __repr__(self) -> str:
        return f"<ChartData: {', '.join(map(repr, self.results))}>"

    if not TYPE_CHECKING:  # for the checker there are no further attributes
        __getattr__ = _reject_attribute

    def raise_for_error(self) -> ChartData:
        """Raise the typed error of the first query that failed; return this answer when none did."""
        for result in self.results:
            result.raise_for_error()
        return self

    def to_payload(self) -> dict[str, Any]:
        """Return `{"result": [...]}` (contract, ChartDataResponseSchema)."""
        return {"result": [result.to_payload() for result in self.results]}

    def to_json(self) -> bytes:
        """Return `to_payload()` as JSON in UTF-8."""
        return b"".join(self._json_chunks())

    def iter_json(self) -> Iterator[bytes]:
        """Yield the bytes of `to_json()` in parts of some megabytes, for a web framework's stream.

        Rows are written when their part is asked for: the text of a large answer never lies in memory at once.
        """
        return map(bytes, self._json_chunks())

    def write_json(self, file: str | os.PathLike[str] | BinaryIO) -> None:
        """Write `to_json()` to a file, part by part.

        Args:
            file: a path, where what is there is replaced, or a file that is open for bytes, which stays open.

        Raises:
            FileWriteError: there is no such path to write to. What an open file raises is its own.
        """
        _write_parts(file, self.iter_json())

    def _json_chunks(self) -> Iterator[Chunk]:
        yield b'{"result":['
        for position, result in enumerate(self.results):
            if position:
                yield b","
            yield from result.json_chunks()
        yield b"]}"

    @overload
    def to_csv(self, path: None = None, *, query: int = 0) -> bytes: ...
    @overload
    def to_csv(self, path: str | os.PathLike[str], *, query: int = 0) -> None: ...
    def to_csv(self, path: str | os.PathLike[str] | None = None, *, query: int = 0) -> bytes | None:
        """Return the rows of one query as CSV, or write them to a file (rules: `_engine/results/spreadsheets.py`).

        Args:
            path: the file to write; what is there is replaced. None returns the bytes.
            query: which query of the context, counted from 0.

        Raises:
            AnalyticsError: the query failed; it is its own error.
            QueryError: there is no such query, or it asked for no rows.
            FileWriteError: the file cannot be written.
        """
        if path is None:
            return b"".join(self.iter_csv(query=query))
        self.write_csv(path, query=query)
        return None

    def iter_csv(self, *, query: int = 0) -> Iterator[bytes]:
        """Yield the bytes of `to_csv()` in parts of some megabytes, for a web framework's stream.

        Args:
            query: which query of the context, counted from 0.

        Raises:
            AnalyticsError: the query failed; it is its own error.
            QueryError: there is no such query, or it asked for no rows.
        """
        result = self._result(query)
        return csv_chunks(result.frame, headers=result.verbose_names)

    def write_csv(self, file: str | os.PathLike[str] | BinaryIO, *, query: int = 0) -> None:
        """Write `to_csv()` to a file, part by part.

        Args:
            file: a path, where what is there is replaced, or a file that is open for bytes, which stays open.
            query: which query of the context, counted from 0.

        Raises:
            AnalyticsError: the query failed; it is its own error.
            QueryError: there is no such query, or it asked for no rows.
            FileWriteError: there is no such path to write to. What an open file raises is its own.
        """
        _write_parts(file, self.iter_csv(query=query))

    @overload
    def to_xlsx(self, path: None = None) -> bytes: ...
    @overload
    def to_xlsx(self, path: str | os.PathLike[str]) -> None: ...
    def to_xlsx(self, path: str | os.PathLike[str] | None = None) -> bytes | None:
        """Return a workbook with a sheet for each query, or write it (rules: `_engine/results/spreadsheets.py`).

        Args:
            path: the file to write; what is there is replaced. None returns the bytes.

        Raises:
            AnalyticsError: a query failed; it is its own error.
            QueryError: a query asked for no rows.
            ResultTooLargeError: a result has more rows or columns than a sheet holds.
            FileWriteError: the file cannot be written.
        """
        results = [self._result(position) for position in range(len(self.results))]
        sheets = [
            Sheet(name=f"Sheet{number}", frame=result.frame, headers=result.verbose_names)
            for number, result in enumerate(results, start=1)
        ]
        return _written(xlsx_bytes(sheets), path)

    def _result(self, query: int) -> QueryResult:
        if type(query) is not int or not 0 <= query < len(self.results):
            count, named = len(self.results), short_repr(query)
            raise QueryError(f"this answer has {count} queries, counted from 0; there is no query {named}")
        return self.results[query]

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[QueryResult]:
        return iter(self.results)

    @overload
    def __getitem__(self, query: SupportsIndex) -> QueryResult: ...
    @overload
    def __getitem__(self, query: slice) -> tuple[QueryResult, ...]: ...
    def __getitem__(self, query: SupportsIndex | slice) -> QueryResult | tuple[QueryResult, ...]:
        return self.results[query]

    _repr_mimebundle_ = own_mime_bundle

    def _bundle(self) -> Bundle:
        return {
            **bundle_of(answer_blocks(self.results)),
            **({} if self.extra_bundle is None else self.extra_bundle(self)),
        }


def _write_parts(file: str | os.PathLike[str] | BinaryIO, parts: Iterator[bytes]) -> None:
    write = getattr(file, "writelines", None)
    if write is None:
        write_requested(cast("str", file), parts)
    else:
        write(parts)


def _written(content: bytes, path: str | os.PathLike[str] | None) -> bytes | None:
    """Write `content` to the file, or return it where there is none."""
    if path is None:
        return content
    write_requested(path, content)
    return None
