"""Results as text for people whose mail program shows no HTML: aligned columns, and below what cut the rows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from analytics_core._engine.results.answer import QueryResult
from analytics_core._engine.results.readable import ledger

_WIDEST: Final = 40
_TURNING: Final = (0x61C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A))
_CONTROLS: Final = dict.fromkeys((*range(32), *range(127, 160), *_TURNING), " ")
"""What would begin a line that is none of the table's, such as a line break, or turn the direction of one."""


def results_text(results: Sequence[QueryResult], written: Sequence[list[list[str]]], *, most_rows: int) -> str:
    """Return one table for each result: its first rows, as `written_columns` gives them, numbers at the right."""
    return "\n\n".join(map(partial(_result_text, most_rows=most_rows), results, written))


def _result_text(result: QueryResult, written: list[list[str]], *, most_rows: int) -> str:
    frame = result.frame
    heads = [_cell(result.verbose_names.get(name) or name) for name in frame.names]
    texts = [list(map(_cell, column)) for column in written]
    widths = [max(map(len, (head, *column))) for head, column in zip(heads, texts, strict=True)]
    at_right = [_are_numbers(column.head(most_rows)) for column in frame.columns]
    rows = zip(*texts, strict=True)
    lines = [_line(line, widths, at_right) for line in (heads, ["-" * width for width in widths], *rows)]
    return "\n".join([*lines, ledger(result, most_rows, names_setter=False), *(f"- {note}" for note in result.notes)])


def _line(cells: Sequence[str], widths: Sequence[int], at_right: Sequence[bool]) -> str:
    placed = [
        cell.rjust(width) if right else cell.ljust(width)
        for cell, width, right in zip(cells, widths, at_right, strict=True)
    ]
    return "  ".join(placed).rstrip()


def _are_numbers(values: Sequence[Any]) -> bool:
    known = [value for value in values if value is not None]
    return bool(known) and not any(isinstance(value, bool | str) or not hasattr(value, "__float__") for value in known)


def _cell(text: str) -> str:
    plain = text.translate(_CONTROLS)
    return plain if len(plain) <= _WIDEST else f"{plain[: _WIDEST - 1]}…"
