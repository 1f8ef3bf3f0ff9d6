"""The columnar result of a statement: named, typed columns of equal length, and no pandas unless asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final, SupportsIndex

from analytics_core._engine.engines.types import ValueKind


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameColumn:
    """One column: `values` is a list of Python values or a pyarrow ChunkedArray; None stands for null in lists.

    Python values by kind: INTEGER int, FLOAT float (never NaN or infinite: null), DECIMAL Decimal, TEXT str,
    BOOLEAN bool, DATE date, TIMESTAMP naive UTC datetime, TIMESTAMPTZ aware UTC datetime, BYTES bytes, else any.
    """

    name: str
    kind: ValueKind
    values: Sequence[Any] | Any

    def to_list(self) -> list[Any]:
        """Return the values as a list of Python values."""
        values = self.values
        if isinstance(values, list):
            return values
        return list(values.to_pylist()) if hasattr(values, "to_pylist") else list(values)

    def head(self, rows: int) -> list[Any]:
        """Return the first values as a list of Python values; what comes behind them is not looked at."""
        return self.part(slice(rows))

    def part(self, rows: slice) -> list[Any]:
        """Return some values as a list of Python values; the others are not looked at."""
        if (rows.step or 1) != 1:
            return self.to_list()[rows]
        some = self.values[rows]
        return list(some.to_pylist()) if hasattr(some, "to_pylist") else list(some)

    @property
    def null_count(self) -> int:
        """How many values are null."""
        values: Any = self.values
        return int(values.null_count) if hasattr(values, "null_count") else int(values.count(None))

    def __len__(self) -> int:
        return len(self.values)


_NAME: Final = attrgetter("name")


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """Columns of equal length, in the order of the result."""

    columns: tuple[FrameColumn, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The column names, in order."""
        return tuple(map(_NAME, self.columns))

    def __len__(self) -> int:
        return len(self.columns[0].values) if self.columns else 0

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield the rows as tuples of Python values."""
        return zip(*(column.to_list() for column in self.columns), strict=True)

    def part(self, rows: slice) -> list[tuple[Any, ...]]:
        """Return some of the rows as tuples of Python values; the others are not looked at."""
        return list(zip(*(column.part(rows) for column in self.columns), strict=True))

    def row(self, position: SupportsIndex) -> tuple[Any, ...]:
        """Return one row; a negative position counts from the end, IndexError where there is none."""
        number = range(len(self))[position]
        return self.part(slice(number, number + 1))[0]
