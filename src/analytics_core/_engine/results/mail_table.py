"""Results as HTML for a mail, whose style sheet knows the classes of the columns."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from html import escape
from typing import Final

from analytics_core._engine.frames.frame import FrameColumn
from analytics_core._engine.results.answer import QueryResult
from analytics_core._engine.results.readable import is_long, ledger

_DISPLAYED_CHARACTERS: Final = 200


def results_html(results: Sequence[QueryResult], written: Sequence[list[list[str]]], *, most_rows: int) -> str:
    """Return one table for each result: its first rows, and below how many there are, what cut them, and notes.

    Columns of numbers have the class `n`, those of long texts `t`; the rows are as `written_columns` gives them.
    """
    return "".join(map(partial(_result_html, most_rows=most_rows), results, written))


def _result_html(result: QueryResult, written: list[list[str]], *, most_rows: int) -> str:
    if result.error is not None:
        return f"<p><b>{escape(result.status.value)}</b>: {escape(result.error)}</p>"
    frame = result.row_set.frame
    if not frame.columns:
        return f"<pre>{escape(result.query)}</pre>"
    columns = [_column_html(column, texts, result) for column, texts in zip(frame.columns, written, strict=True)]
    head, *body = map("".join, zip(*columns, strict=True))
    rows = "".join([f"<tr>{row}</tr>" for row in body])
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    notes = "".join(f"<li>{_cell(note)}</li>" for note in result.notes)
    return (
        f"{table}<p>{escape(ledger(result, most_rows, names_setter=False))}</p>{f'<ul>{notes}</ul>' if notes else ''}"
    )


def _column_html(column: FrameColumn, texts: Sequence[str], result: QueryResult) -> list[str]:
    """Return the head of a column and its cells."""
    name = "n" if column.kind.is_numeric else "t" if is_long(texts) else ""
    mark = f' class="{name}"' if name else ""
    head = _cell(result.verbose_names.get(column.name) or column.name)
    return [f"<th{mark}>{head}</th>", *[f"<td{mark}>{_cell(text)}</td>" for text in texts]]


def _cell(text: str) -> str:
    label = text if len(text) <= _DISPLAYED_CHARACTERS else text[: _DISPLAYED_CHARACTERS - 1] + "…"
    return escape(label)
