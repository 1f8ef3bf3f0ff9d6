"""What differs between two states of content: statements, columns and rows, as text, Markdown and JUnit."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from analytics_core._content.checks.report import UNPRINTABLE, junit_text, one_line, plain
from analytics_core._tools.display.blocks import Blocks, CodeBlock, HeadingBlock, counted, first_of, fold, notes
from analytics_core._tools.display.bundles import mime_bundle

_MOST_LINES: Final = 5_000
_DISPLAYED_ROWS: Final = 3
_LONGEST_ROW: Final = 200


class RecordChange(StrEnum):
    """What became of a chart or a saved query."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"
    EQUAL = "equal"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordDifference:
    """One chart or saved query in two states of content, known by its UUID.

    Attributes:
        uuid: of the record.
        name: in the second state, or in the first where it was removed.
        change: added, removed, changed or equal.
        sql: what differs between the clauses of the statements and the steps of post-processing, as a unified diff; of
            a saved query between its texts.
        columns: what differs between the columns of the answer.
        rows: what differs between the rows of the answers; none where they were not asked for.
        failures: why the chart cannot be asked in one of the states, or in both for different reasons.
    """

    uuid: str
    name: str
    change: RecordChange
    sql: str = ""
    columns: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()

    def lines(self) -> Iterator[str]:
        """Yield what differs, line by line."""
        yield from (*self.failures, *self.columns, *self.rows, *self.sql.splitlines())


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffReport:
    """All charts and saved queries of two states of content, each with what differs; true where nothing does."""

    charts: tuple[RecordDifference, ...]
    saved_queries: tuple[RecordDifference, ...] = ()

    @property
    def changed(self) -> tuple[RecordDifference, ...]:
        """Those that are not equal."""
        return tuple(one for one in (*self.charts, *self.saved_queries) if one.change is not RecordChange.EQUAL)

    def __bool__(self) -> bool:
        return not self.changed

    def __str__(self) -> str:
        lines = [self._headline()]
        for chart in self.changed:
            lines += [
                f"{chart.change}: {chart.name!r} ({chart.uuid})",
                *(f"    {one_line(line)}" for line in chart.lines()),
            ]
        return "\n".join(lines)

    _repr_mimebundle_ = mime_bundle

    def _blocks(self) -> Blocks:
        return _diff_blocks(self)

    def _headline(self) -> str:
        number = len(self.saved_queries)
        saved = f" and {counted(number, 'saved query')}" if number else ""
        return f"{len(self.changed)} of {counted(len(self.charts), 'chart')}{saved} differ"

    def markdown(self) -> str:
        """Return what differs in Markdown, for a comment on a change."""
        lines = [f"**{self._headline()}**", ""]
        if self.changed:
            kind = "Chart or saved query" if self.saved_queries else "Chart"
            lines += [f"| {kind} | Change | What differs |", "|---|---|---|"]
        for chart in self.changed:
            details = "<br>".join(plain(line) for line in (*chart.failures, *chart.columns, *chart.rows))
            details = details or ("its SQL" if chart.sql else "")
            lines.append(f"| {plain(chart.name)} | {chart.change} | {details} |")
        for chart in self.changed:
            if chart.sql:
                fence = "`" * (3 + max((len(run) for run in _fences(chart.sql)), default=0))
                lines += ["", f"{plain(chart.name)}:", "", f"{fence}diff", UNPRINTABLE.sub(" ", chart.sql), fence]
        return "\n".join(lines).rstrip() + "\n"

    def junit(self) -> str:
        """Return a report in JUnit's XML: a test case for each chart and saved query, which fails where it differs."""
        kinds = (("chart", self.charts), ("saved query", self.saved_queries))
        cases = (
            (
                kind,
                f"{chart.name} ({chart.uuid})",
                () if chart.change is RecordChange.EQUAL else (chart.change.value, *chart.lines()),
            )
            for kind, records in kinds
            for chart in records
        )
        return junit_text("diff", cases)


def _fences(text: str) -> Iterator[str]:
    run = ""
    for character in f"{text} ":
        if character == "`":
            run += character
        elif run:
            yield run
            run = ""


def sql_difference(before: str, after: str) -> str:
    """Return what differs between two texts as a unified diff; "" where nothing does.

    Of very long texts it is told that they differ: the time to compare lines grows with the square of their number.
    """
    old, new = before.splitlines(), after.splitlines()
    if max(len(old), len(new)) > _MOST_LINES:
        note = f"too long to compare line by line: {counted(len(old), 'line')} in a, {counted(len(new), 'line')} in b"
        return note if old != new else ""
    return "\n".join(difflib.unified_diff(old, new, "a", "b", lineterm=""))


def column_differences(before: tuple[tuple[str, int], ...], after: tuple[tuple[str, int], ...]) -> Iterator[str]:
    """Yield what differs between two lists of columns: names, the contract's types, order."""
    old, new = dict(before), dict(after)
    yield from (f"column {name!r} is gone" for name in old if name not in new)
    yield from (f"column {name!r} is new" for name in new if name not in old)
    for name, kind in old.items():
        if new.get(name, kind) != kind:
            yield f"column {name!r} is {_TYPE_NAMES.get(new[name])}, and was {_TYPE_NAMES.get(kind)}"
    if old == new and list(old) != list(new):
        yield "the columns have another order"


_TYPE_NAMES: Final = {0: "a number", 1: "a text", 2: "a moment", 3: "a Boolean"}


def row_differences(before: list[tuple[Any, ...]], after: list[tuple[Any, ...]]) -> Iterator[str]:
    """Yield what differs between the rows of two answers with the same columns; the first few rows are shown."""
    old, new = (Counter(tuple(map(repr, row)) for row in rows) for rows in (before, after))
    gone, come = old - new, new - old
    if not gone and not come:
        if list(map(repr, before)) != list(map(repr, after)):
            yield f"the same {counted(len(after), 'row')} in another order"
        return
    yield f"{gone.total()} of {counted(len(before), 'row')} gone, {come.total()} of {counted(len(after), 'row')} new"
    for sign, rows in (("-", gone), ("+", come)):
        yield from (f"{sign} {', '.join(row)[:_LONGEST_ROW]}" for row in list(rows)[:_DISPLAYED_ROWS])


def _diff_blocks(report: DiffReport) -> Blocks:
    """Return what can be seen of a comparison: which charts changed, and what differs folded under each."""
    changed, note = first_of(report.changed, noun="records that differ")
    folds = (fold(f"{chart.change}: {chart.name}", _difference_blocks(chart)) for chart in changed)
    blocks = [block for blocks in folds for block in blocks]
    return [HeadingBlock(text="Comparison", detail=report._headline()), *blocks, *notes([note] if note else [])]


def _difference_blocks(chart: RecordDifference) -> Blocks:
    blocks = notes((*chart.failures, *chart.columns, *chart.rows)) or notes([f"it was {chart.change}"])
    return [*blocks, *([CodeBlock(text=chart.sql)] if chart.sql else [])]
