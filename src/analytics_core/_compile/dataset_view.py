"""A dataset as the planner sees it: columns and metrics by name, their kinds, and how fragments are read for it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from analytics_core._compile.fragments import FragmentNames
from analytics_core._compile.lowering.binds import MARK
from analytics_core._compile.plan import ColumnExpr, SqlSource, TableSource
from analytics_core._engines.spec import EngineSpec
from analytics_core._engines.types import NumberRange, TimeEncoding, TimeFormat, ValueKind
from analytics_core._records.dataset import Dataset, DatasetColumn, DatasetMetric
from analytics_core.errors import QueryError

_LENGTH = re.compile(r"^\w+\((\d+)\)")
VIRTUAL_ALIAS = "virtual_table"


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetView:
    """A dataset prepared for planning: made once per version of the dataset.

    `columns` and `metrics` are keyed by name; `by_verbose_name` finds a column by the name that people see. `numbers`
    has the physical columns whose type says which exact numbers they hold, `stored` the types of those that the
    database said to store. No two rows are alike in the columns of
    `key`; it is empty where no such columns are known.
    """

    dataset: Dataset
    spec: EngineSpec
    source: TableSource | SqlSource
    alias: str
    columns: Mapping[str, DatasetColumn]
    kinds: Mapping[str, ValueKind]
    times: Mapping[str, TimeFormat]
    numbers: Mapping[str, NumberRange]
    metrics: Mapping[str, DatasetMetric]
    by_verbose_name: Mapping[str, str]
    names: FragmentNames
    stored: Mapping[str, str]
    key: tuple[str, ...] = ()

    def physical(self, name: str) -> ColumnExpr:
        """Return the physical column `name` as an expression; the caller knows that it exists."""
        column = self.columns[name]
        return ColumnExpr(
            name,
            self.kinds[name],
            column.nullable,
            self.times.get(name),
            length=_length(column.type),
            numbers=self.numbers.get(name),
            leads_index=bool(column.leads_index),
            collation=self.spec.collation(column.collation),
            collation_name=column.collation,
            declared=column.type,
        )

    def find_column(self, name: str) -> str | None:
        """Return the column's own name for a name or verbose name, or None."""
        return name if name in self.columns else self.by_verbose_name.get(name)


def make_view(dataset: Dataset, spec: EngineSpec, source: TableSource | SqlSource) -> DatasetView:
    """Return the view of `dataset` on its engine; `source` is its table or its checked SELECT.

    Raises:
        QueryError: a name holds the control character that marks bound values, or the engine takes two for one.
    """
    _check_names(dataset, source, spec)
    columns = {column.column_name: column for column in dataset.columns}
    kinds = {
        name: spec.value_kind(column.type) if column.type else ValueKind.UNKNOWN for name, column in columns.items()
    }
    alias = VIRTUAL_ALIAS if isinstance(source, SqlSource) else source.table
    return DatasetView(
        dataset=dataset,
        spec=spec,
        source=source,
        alias=alias,
        columns=columns,
        kinds=kinds,
        times=_time_formats(columns, kinds),
        numbers=_number_ranges(columns, spec),
        metrics={metric.metric_name: metric for metric in dataset.metrics},
        by_verbose_name={c.verbose_name: name for name, c in columns.items() if c.verbose_name},
        names=FragmentNames(
            alias=alias,
            columns=tuple(name for name, column in columns.items() if not column.expression),
            tables=_table_names(source),
        ),
        stored={
            name: column.stored_type
            for name, column in columns.items()
            if column.stored_type is not None and not column.expression
        },
        key=_key(dataset, columns) if isinstance(source, TableSource) else (),
    )


def _key(dataset: Dataset, columns: Mapping[str, DatasetColumn]) -> tuple[str, ...]:
    """Return the primary key, if the dataset has all of it: a column that may be null (SQLite) makes no row unique."""
    found = [columns.get(name) for name in dataset.primary_key]
    is_whole = all(column and not column.expression and column.nullable is False for column in found)
    return dataset.primary_key if is_whole else ()


def _length(type_text: str | None) -> int | None:
    found = _LENGTH.search(type_text or "")
    return int(found.group(1)) if found else None


def _check_names(dataset: Dataset, source: TableSource | SqlSource, spec: EngineSpec) -> None:
    names = [column.column_name for column in dataset.columns]
    if isinstance(source, TableSource):
        names += [source.table, source.schema or "", source.catalog or ""]
    stored = [column.column_name.casefold() for column in dataset.columns if not column.expression]
    if spec.folds_names and isinstance(source, SqlSource) and len(set(stored)) < len(stored):
        raise QueryError(
            f"dataset {dataset.table_name!r}: columns whose names differ by case alone are one for {spec.label}; "
            "give each an alias of its own in the SQL"
        )
    if any(MARK in name for name in names):
        raise QueryError(f"dataset {dataset.id}: a name of a table or column holds a control character; rename it")


def _table_names(source: TableSource | SqlSource) -> tuple[str, ...]:
    if isinstance(source, SqlSource):
        return (VIRTUAL_ALIAS,)
    qualified = f"{source.schema}.{source.table}" if source.schema else None
    return (source.table, qualified) if qualified else (source.table,)


def _time_formats(columns: Mapping[str, DatasetColumn], kinds: Mapping[str, ValueKind]) -> dict[str, TimeFormat]:
    formats = {name: time_format(column, kinds[name]) for name, column in columns.items()}
    return {name: found for name, found in formats.items() if found is not None}


def _number_ranges(columns: Mapping[str, DatasetColumn], spec: EngineSpec) -> dict[str, NumberRange]:
    typed = {name: column.type for name, column in columns.items() if column.type and not column.expression}
    ranges = {name: spec.number_range(type_text) for name, type_text in typed.items()}
    return {name: found for name, found in ranges.items() if found is not None}


_NATIVE = {
    ValueKind.DATE: TimeEncoding.DATE,
    ValueKind.TIMESTAMP: TimeEncoding.TIMESTAMP,
    ValueKind.TIMESTAMPTZ: TimeEncoding.TIMESTAMPTZ,
    ValueKind.TEXT: TimeEncoding.ISO_TEXT,
    ValueKind.UNKNOWN: TimeEncoding.TIMESTAMP,
}


def time_format(column: DatasetColumn, kind: ValueKind) -> TimeFormat | None:
    """Return how the column stores moments, or None when it is not temporal.

    A column is temporal when its type is, or when `is_dttm` says so and its format is known; numbers flagged
    temporal need a `python_date_format`.
    """
    if not (column.is_dttm or kind.is_temporal):
        return None
    if kind.is_temporal:
        found = native_format(kind)
        return replace(found, strftime=column.python_date_format or None) if found else None
    match column.python_date_format:
        case "epoch_s":
            return TimeFormat(encoding=TimeEncoding.EPOCH_S, value_kind=kind)
        case "epoch_ms":
            return TimeFormat(encoding=TimeEncoding.EPOCH_MS, value_kind=kind)
        case str(text) if text:
            return TimeFormat(encoding=TimeEncoding.TEXT, strftime=text, value_kind=kind)
    return native_format(kind)


def native_format(kind: ValueKind) -> TimeFormat | None:
    """Return how values of a kind are moments without any format of their own; None where they are not."""
    encoding = _NATIVE.get(kind)
    return TimeFormat(encoding=encoding, value_kind=kind) if encoding else None
