"""The columns of an answer as pictures read them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final

from analytics_core._pictures import cells
from analytics_core._pictures.data import PictureData

_TIME: Final = "__timestamp"


class Table:
    """The columns of one answer, each of the same length.

    Args:
        data: what the answer holds.
    """

    def __init__(self, data: PictureData) -> None:
        self.data = data
        self.names: tuple[str, ...] = tuple(data.columns)
        self.rows = max((len(values) for values in data.columns.values()), default=0)

    @cached_property
    def labels(self) -> Mapping[str, str]:
        """What people read of each column."""
        return {name: self._label(name) for name in self.names}

    def label(self, name: str) -> str:
        """Return what people read in place of a name, which need not be that of a column."""
        return self.labels[name] if name in self.labels else self._label(name)

    def _label(self, name: str) -> str:
        label = self.data.labels.get(name)
        if label is None and name == _TIME:
            return "time"
        return cells.shortened(str(label or name)) or cells.EMPTY

    def values(self, name: str) -> list[Any]:
        """Return the values of a column."""
        found = list(self.data.columns[name])
        return found + [None] * (self.rows - len(found))

    def numbers(self, name: str) -> list[float | None]:
        """Return the values of a column as numbers; None where a value is none."""
        return [cells.number(value) for value in self.values(name)]

    def moments(self, name: str) -> list[int | None]:
        """Return the values of a column as milliseconds since 1970."""
        return [cells.moment_ms(value) for value in self.values(name)]

    def texts(self, name: str) -> list[str]:
        """Return the values of a column as short texts; moments as dates."""
        if name not in self.data.temporal:
            known: dict[str, str] = {}
            return [
                known.setdefault(value, known.get(value) or cells.text(value))
                if type(value) is str
                else cells.text(value)
                for value in self.values(name)
            ]
        found = []
        for value in self.values(name):
            ms = cells.moment_ms(value)
            when = cells.moment(ms) if ms is not None else None
            found.append(cells.text(value if when is None else when))
        return found

    def is_numeric(self, name: str) -> bool:
        """Tell whether a column holds numbers and nothing else; one without any value is not numeric."""
        if name in self.data.temporal:
            return False
        found = [plain for plain in map(cells.plain, self.values(name)) if plain is not None]
        return bool(found) and all(
            (not isinstance(one, bool | str) and cells.number(one) is not None) or _is_infinite(one) for one in found
        )

    def is_temporal(self, name: str) -> bool:
        """Tell whether a column holds moments."""
        found = [value for value in self.values(name) if cells.plain(value) is not None]
        if not found or any(cells.moment_ms(value) is None for value in found):
            return False
        return name in self.data.temporal or all(hasattr(value, "isoformat") for value in found)


def _is_infinite(value: Any) -> bool:
    return isinstance(value, float) and value in (float("inf"), float("-inf"))
