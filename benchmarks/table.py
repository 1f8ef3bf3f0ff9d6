"""The table of measured figures in `docs/explanation/limits.md`, which the bench writes and holds its next run to."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Self

from benchmarks.report import Ratio

LIMITS: Final = Path(__file__).resolve().parent.parent / "docs" / "explanation" / "limits.md"
WORSE: Final = 1.15
"""A figure that is worse than the stored one by more than this factor fails, when it is so in two runs."""

_BEGIN, _END = "<!-- written by the bench -->", "<!-- end of what the bench writes -->"
_HEAD = ("| Part | What | Median | Least to most | Goal |", "|---|---|---|---|---|")
_OF_THE_MACHINE = frozenset({"ms", "us", "s"})
"""Units of figures that another machine does not repeat: they are written, and not compared."""

_AT_LEAST = "at least"
_NUMBER = re.compile(r"-?[0-9.]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One figure of the table: its part, what its runs measured, and its goal in words."""

    part: str
    median: float
    least: float
    most: float
    unit: str
    goal: str

    @classmethod
    def of(cls, part: str, runs: Iterable[Ratio]) -> Self:
        """Return the row of one figure, measured in one or more runs."""
        figures = list(runs)
        values = [figure.value for figure in figures]
        first = figures[0]
        middle = replace(first, value=statistics.median(values))
        bound = f"{_AT_LEAST if first.at_least else 'at most'} {first.goal:g}{first.unit}"
        goal = bound if middle.met else f"{bound}, missed"
        return cls(part=part, median=middle.value, least=min(values), most=max(values), unit=first.unit, goal=goal)

    def line(self, name: str) -> str:
        """The row as Markdown."""
        median, least, most = (f"{value:.3g}" if value < 1000 else f"{value:.0f}" for value in self._values())
        return f"| {self.part} | {name} | {median}{self.unit} | {least} to {most} | {self.goal} |"

    def is_worse_than(self, stored: Self) -> bool:
        """Whether this median is worse than each run of the stored row, and than its median by more than `WORSE`."""
        if self.unit in _OF_THE_MACHINE:
            return False
        if self.goal.startswith(_AT_LEAST):
            return self.median < min(stored.median / WORSE, stored.least)
        return self.median > max(stored.median * WORSE, stored.most)

    def _values(self) -> tuple[float, float, float]:
        return self.median, self.least, self.most


@dataclass(slots=True)
class Table:
    """The rows by the name of their figure, as the page has them; empty where nothing was written yet."""

    rows: dict[str, Row] = field(default_factory=dict)

    @classmethod
    def read(cls, page: Path = LIMITS) -> Self:
        """Return the table of the page."""
        _, _, rest = page.read_text(encoding="utf-8").partition(_BEGIN)
        lines = rest.partition(_END)[0].strip().splitlines()[len(_HEAD) :]
        return cls(dict(_parsed(line) for line in lines))

    def write(self, page: Path = LIMITS) -> None:
        """Write the table in its place on the page, which has both marks."""
        before, begin, rest = page.read_text(encoding="utf-8").partition(_BEGIN)
        _, end, after = rest.partition(_END)
        if not begin or not end:
            raise ValueError(f"{page} lacks the marks {_BEGIN} and {_END}")
        lines = "\n".join((*_HEAD, *(row.line(name) for name, row in self.rows.items())))
        page.write_text(f"{before}{begin}\n\n{lines}\n\n{end}{after}", encoding="utf-8")

    def worse(self, measured: Mapping[str, Row]) -> dict[str, str]:
        """Return what is worse than the table, by name, with both figures; what the table lacks is never worse."""
        stored = {name: self.rows[name] for name in measured if name in self.rows}
        return {
            name: f"{measured[name].median:.3g}{row.unit}, in the table {row.median:.3g}{row.unit}"
            for name, row in stored.items()
            if measured[name].is_worse_than(row)
        }

    def renew(self, parts: Iterable[str], measured: Mapping[str, Row]) -> None:
        """Put what was measured in the place of all rows of these parts."""
        renewed = frozenset(parts)
        others = {name: row for name, row in self.rows.items() if row.part not in renewed}
        self.rows = {**others, **measured}


def _parsed(line: str) -> tuple[str, Row]:
    part, name, median, spread, goal = (cell.strip() for cell in line.strip("|").split("|"))
    least, most = spread.split(" to ")
    number = _NUMBER.match(median)
    if number is None:
        raise ValueError(f"no number in {line!r}")
    row = Row(
        part=part,
        median=float(number[0]),
        least=float(least),
        most=float(most),
        unit=median[number.end() :],
        goal=goal,
    )
    return name, row
