"""What every planning step is given: the dataset as it sees it, how to read fragments, the moment, and the limits."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, TypeVar

from analytics_core._engine.compile.advanced_types import AdvancedDataType
from analytics_core._engine.compile.fragments.parser import FragmentNames, FragmentParser, FragmentSlot
from analytics_core._engine.compile.lowering.expressions import MARK, KnownTexts
from analytics_core._engine.compile.plan import ColumnExpr, FragmentExpr, Output, SqlSource, TableSource
from analytics_core._engine.compile.time_range import TimeRange
from analytics_core._engine.engines.spec import EngineSpec
from analytics_core._engine.engines.types import TimeEncoding, TimeFormat, ValueKind
from analytics_core._records.datasource import Dataset, DatasetColumn, DatasetMetric
from analytics_core._tools.memo import IdentityMemo, Memo
from analytics_core.errors import LimitError, QueryError
from analytics_core.models.enums import RelativeTime

_LENGTH = re.compile(r"^\w+\((\d+)\)")
VIRTUAL_ALIAS = "virtual_table"


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetView:
    """A dataset prepared for planning: made once per version of the dataset.

    `columns` and `metrics` are keyed by name; `by_verbose_name` finds a column by the name that people see. `physical`
    has those columns that are no expressions, `stored` the types of those that the database said to store. No two rows
    are alike in the columns of `key`; it is empty where no such columns are known. `known` and `outputs` remember what
    was made of columns and metrics before, `parts` what was made of the parts of queries that have no values of theirs.
    `has_templates`: an expression of the dataset may mean something else in each query.
    """

    dataset: Dataset
    spec: EngineSpec
    source: TableSource | SqlSource
    alias: str
    columns: Mapping[str, DatasetColumn]
    kinds: Mapping[str, ValueKind]
    times: Mapping[str, TimeFormat]
    physical: Mapping[str, ColumnExpr]
    metrics: Mapping[str, DatasetMetric]
    by_verbose_name: Mapping[str, str]
    names: FragmentNames
    stored: Mapping[str, str]
    key: tuple[str, ...] = ()
    known: KnownTexts = field(default_factory=KnownTexts, compare=False, repr=False)
    outputs: Memo[Hashable, Output] = field(default_factory=lambda: Memo(2_000), compare=False, repr=False)
    parts: IdentityMemo[Any] = field(default_factory=lambda: IdentityMemo(200), compare=False, repr=False)
    has_templates: bool = False

    def find_column(self, name: str) -> str | None:
        """Return the column's own name for a name or verbose name, or None."""
        return name if name in self.columns else self.by_verbose_name.get(name)


def table_of(dataset: Dataset) -> TableSource:
    """Return the table of a physical dataset; an empty schema or catalog is none."""
    return TableSource(table=dataset.table_name, schema=dataset.schema or None, catalog=dataset.catalog or None)


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
    times = _time_formats(columns, kinds)
    physical = {name: column for name, column in columns.items() if not column.expression}
    alias = VIRTUAL_ALIAS if isinstance(source, SqlSource) else source.table
    return DatasetView(
        dataset=dataset,
        spec=spec,
        source=source,
        alias=alias,
        columns=columns,
        kinds=kinds,
        times=times,
        physical={name: _physical(column, kinds[name], times.get(name), spec) for name, column in physical.items()},
        metrics={metric.metric_name: metric for metric in dataset.metrics},
        by_verbose_name={c.verbose_name: name for name, c in columns.items() if c.verbose_name},
        names=FragmentNames(
            alias=alias,
            columns=tuple(physical),
            tables=_table_names(source),
        ),
        stored={name: column.stored_type for name, column in physical.items() if column.stored_type is not None},
        key=_key(dataset, columns) if isinstance(source, TableSource) else (),
        has_templates=any("{" in (column.expression or "") for column in dataset.columns)
        or any("{" in metric.expression for metric in dataset.metrics),
    )


def _key(dataset: Dataset, columns: Mapping[str, DatasetColumn]) -> tuple[str, ...]:
    """Return the primary key, if the dataset has all of it: a column that may be null (SQLite) makes no row unique."""
    found = [columns.get(name) for name in dataset.primary_key]
    is_complete = all(column and not column.expression and column.nullable is False for column in found)
    return dataset.primary_key if is_complete else ()


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
        what = "a name of a table or column holds a control character; rename it"
        raise QueryError(f"dataset {dataset.table_name!r}: {what}")


def _table_names(source: TableSource | SqlSource) -> tuple[str, ...]:
    if isinstance(source, SqlSource):
        return (VIRTUAL_ALIAS,)
    qualified = f"{source.schema}.{source.table}" if source.schema else None
    return (source.table, qualified) if qualified else (source.table,)


def _time_formats(columns: Mapping[str, DatasetColumn], kinds: Mapping[str, ValueKind]) -> dict[str, TimeFormat]:
    formats = {name: time_format(column, kinds[name]) for name, column in columns.items()}
    return {name: found for name, found in formats.items() if found is not None}


def _physical(column: DatasetColumn, kind: ValueKind, time: TimeFormat | None, spec: EngineSpec) -> ColumnExpr:
    return ColumnExpr(
        column.column_name,
        kind,
        column.nullable,
        time,
        length=_length(column.type),
        numbers=spec.number_range(column.type) if column.type else None,
        leads_index=bool(column.leads_index),
        collation=spec.collation(column.collation),
        collation_name=column.collation,
        declared=column.type,
    )


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


_LARGEST_COUNT = 10**15
Made = TypeVar("Made")

RenderTemplate = Callable[[str], str]
"""Renders the template text of a fragment; the identity where templates are off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanLimits:
    """The limits and defaults of a plan, from the settings; rows unless said otherwise."""

    default_row_limit: int = 50_000
    max_row_limit: int = 100_000
    samples_row_limit: int = 1_000
    stream_row_limit: int | None = None
    max_in_values: int = 50_000
    relative_start: RelativeTime = RelativeTime.TODAY
    relative_end: RelativeTime = RelativeTime.TODAY


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanningContext:
    """The surroundings of one query while it is planned; `now` is aware UTC.

    `template_range` gives the query's range once a template that reads it was rendered, before that None.
    `only_listed` says that who asks may not write SQL: fragments of the query use listed functions only. `charge` is
    told of each fragment of the query that is parsed anew. `recalls`: parts of the query may have been planned before.
    """

    view: DatasetView
    parser: FragmentParser
    now: datetime
    limits: PlanLimits
    render: RenderTemplate
    template_range: Callable[[], TimeRange | None] = lambda: None
    advanced_types: Mapping[str, AdvancedDataType] = field(default_factory=dict)
    only_listed: bool = False
    charge: Callable[[str], None] | None = None
    recalls: bool = False

    def recalled(self, parts: tuple[Any, ...], more: Hashable, make: Callable[[], Made]) -> Made:
        """Return what is made of parts of a query that are no values of its filters, or was made of the very same.

        A template may give something else each time: of parts that may hold one it is made anew.
        """
        if not self.recalls:
            return make()
        key = (more, self.only_listed)
        recalled: Made | None = self.view.parts.get(parts, key)
        if recalled is not None:
            return recalled
        made = make()
        if not self.view.has_templates and not any(map(_may_hold_template, parts)):
            self.view.parts.put(parts, key, made)
        return made

    def read(self, text: str, slot: FragmentSlot, place: str) -> FragmentExpr:
        """Return SQL of the query as one checked expression; `place` names it in errors and origins."""
        return self._parse(text, slot, place, only_listed=self.only_listed, charge=self.charge)

    def read_stored(self, text: str, slot: FragmentSlot, place: str) -> FragmentExpr:
        """Return SQL of the dataset, which people with the right to write it stored, as one checked expression."""
        return self._parse(text, slot, place, only_listed=False, charge=None)

    def _parse(
        self,
        text: str,
        slot: FragmentSlot,
        place: str,
        *,
        only_listed: bool,
        charge: Callable[[str], None] | None,
    ) -> FragmentExpr:
        return self.parser.parse(
            self.render(text),
            spec=self.view.spec,
            slot=slot,
            place=place,
            names=self.view.names,
            only_listed=only_listed,
            charge=charge,
        )


def _may_hold_template(part: Any) -> bool:
    """Tell whether SQL that a part of a query brings may be a template; a name is none, nor is what was made."""
    if isinstance(part, tuple):
        return not (part and isinstance(part[0], Output)) and any(map(_may_hold_template, part))
    return "{" in (getattr(part, "sql_expression", None) or "")


def check_count(count: int, *, field: str) -> None:
    """Refuse a number of rows or series that is below 0 or beyond what every engine can count.

    Raises:
        LimitError: the count is out of bounds.
    """
    if not 0 <= count <= _LARGEST_COUNT:
        raise LimitError(f"{field} must be between 0 and {_LARGEST_COUNT}")
