"""A small table of a result, for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import islice
from typing import TYPE_CHECKING, Final

from analytics_core._frames.values import text_value

if TYPE_CHECKING:
    from analytics_core._querying.answer import QueryResult

SHOWN_ROWS: Final = 20
_SHOWN_CHARACTERS: Final = 200


def results_html(results: Sequence[QueryResult]) -> str:
    """Return one table for each result: its first rows, and below how many there are, what cut them, and notes."""
    return "".join(_result_html(result) for result in results)


def _result_html(result: QueryResult) -> str:
    if result.error is not None:
        return f"<p><b>{escape(result.status.value)}</b>: {escape(result.error)}</p>"
    frame = result.held.frame
    if not frame.columns:
        return f"<pre>{escape(result.query)}</pre>"
    head = "".join(f"<th>{_cell(result.verbose_names.get(name) or name)}</th>" for name in frame.names)
    body = "".join(
        f"<tr>{''.join(f'<td>{_cell(text_value(value))}</td>' for value in row)}</tr>"
        for row in islice(frame.rows(), SHOWN_ROWS)
    )
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    notes = "".join(f"<li>{_cell(note)}</li>" for note in result.notes)
    return f"{table}<p>{escape(_below(result))}</p>{f'<ul>{notes}</ul>' if notes else ''}"


def _cell(text: str) -> str:
    shown = text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 1] + "…"
    return escape(shown)


def _below(result: QueryResult) -> str:
    rows = len(result.held.frame)
    counted = f"{rows} rows" if rows <= SHOWN_ROWS else f"first {SHOWN_ROWS} of {rows} rows"
    cuts = [f"cut at {limit.rows} rows by {limit.limit} ({limit.set_by})" for limit in result.limits if limit.cut]
    return "; ".join([counted, *cuts])
