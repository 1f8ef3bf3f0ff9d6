"""Groups with a number each, as the charts of parts, flows and hierarchies read them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from analytics_core._pictures import cells
from analytics_core._pictures.drawing import CannotDrawError, ChartView
from analytics_core._pictures.table import Table
from analytics_core._pictures.time_formats import moment_text
from analytics_core._tools.display.blocks import counted

_PARTIAL_SUMS: Final = "There are more groups: sums and shares are those of the groups that are shown."


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One group: the texts of its columns, and its number."""

    keys: tuple[str, ...]
    value: float

    @property
    def label(self) -> str:
        """The texts of all its columns in one."""
        return cells.shortened(", ".join(self.keys)) if self.keys else "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The groups of an answer.

    Args:
        measure: what the numbers are.
        dimensions: what tells the groups apart.
        parts: in the order of the answer, each with another label.
        notes: what was left out.
        is_cut: whether there are more groups than the answer has.
    """

    measure: str
    dimensions: tuple[str, ...]
    parts: tuple[Part, ...]
    notes: tuple[str, ...] = ()
    is_cut: bool = False

    @property
    def total(self) -> float:
        """The sum of all numbers."""
        return cells.total(part.value for part in self.parts)

    def total_text(self, noun: str, total: str) -> str:
        """Return in words how many groups there are, and of how much: of all, or of those that were answered."""
        count = counted(len(self.parts), noun)
        return f"{count} of {total} together, and there are more" if self.is_cut else f"{count} of {total} in all"

    @property
    def by(self) -> str:
        """The dimensions as a phrase."""
        return f" by {', '.join(self.dimensions)}" if self.dimensions else ""


def metric_column(view: ChartView, table: Table, *fields: str) -> str:
    """Return the column of the first metric that fields of the form name; else the last column of numbers.

    Raises:
        CannotDrawError: there is none.
    """
    for name in view.form.metrics(*fields):
        if name in table.names:
            return name
    found = [name for name in table.names if table.is_numeric(name)]
    if not found:
        raise CannotDrawError("the answer has no column of numbers.")
    return found[-1]


def text_columns(view: ChartView, table: Table, *fields: str) -> list[str]:
    """Return the columns that fields of the form name; where they name none, all that hold no numbers."""
    form_names = [name for name in view.form.columns(*fields) if name in table.names]
    return form_names or [name for name in table.names if not table.is_numeric(name)]


def texts_of(view: ChartView, table: Table, name: str, *formats: str) -> list[str]:
    """Return the values of a column as texts, moments in the format of the form."""
    if not table.is_temporal(name):
        return table.texts(name)
    spec, grain = view.time_format(*formats), view.form.text("time_grain_sqla")
    return [moment_text(ms, spec, grain=grain) for ms in table.moments(name)]


def below_zero(values: Iterable[float | None], how: str) -> list[str]:
    """Return a note of how values below zero are drawn, where there are any and no shape can be that small."""
    found = [value for value in values if value is not None]
    count = sum(value < 0 for value in found)
    return [f"Below zero: {count:,} of {counted(len(found), 'value')}, {how}."] if count else []


def read_parts(
    view: ChartView,
    dimensions: Sequence[str],
    metric: str,
    *,
    positive: bool = True,
    table: Table | None = None,
) -> Parts:
    """Return the groups of an answer; those without a number are left out, and told.

    Args:
        view: the chart.
        dimensions: the names of the columns that tell the groups apart.
        metric: the name of the column of numbers.
        positive: whether only numbers above zero can be drawn.
        table: the answer; the first one where it is None.
    """
    table = table or view.table
    columns = [texts_of(view, table, name, "date_format") for name in dimensions]
    keys = list(zip(*columns, strict=True)) if columns else [()] * table.rows
    found = [
        Part(keys=key, value=value)
        for key, value in zip(keys, table.numbers(metric), strict=True)
        if value is not None and (value > 0 or not positive)
    ]
    measure = table.label(metric)
    if not found:
        raise CannotDrawError(f"{measure} has no value{' above zero' if positive else ''}.")
    remaining = table.rows - len(found)
    why = "without a value above zero" if positive else "without a value"
    notes: tuple[str, ...] = (f"Left out: {remaining:,} of {counted(table.rows, 'group')} {why}.",) if remaining else ()
    notes += (_PARTIAL_SUMS,) if table.data.is_cut else ()
    names = tuple(table.label(name) for name in dimensions)
    return Parts(measure=measure, dimensions=names, parts=tuple(found), notes=notes, is_cut=table.data.is_cut)
