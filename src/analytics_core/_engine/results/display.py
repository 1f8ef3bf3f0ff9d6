"""What notebooks show of answers: the first rows, what cut them, the notes, and the statement when it is unfolded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from analytics_core._engine.results.readable import ledger
from analytics_core._tools.display.blocks import (
    MOST_COLUMNS,
    MOST_ROWS,
    Block,
    Blocks,
    CodeBlock,
    ErrorBlock,
    HeadingBlock,
    TableBlock,
    fold,
    notes,
)
from analytics_core._tools.display.values import are_numbers, column_texts

if TYPE_CHECKING:
    from analytics_core._engine.results.answer import QueryResult

_MOST_RESULTS: Final = 20


def answer_blocks(results: Sequence[QueryResult]) -> Blocks:
    """Return what can be seen of an answer: its results, numbered where there are several."""
    if len(results) == 1:
        return result_blocks(results[0])
    blocks: list[Block] = []
    for number, result in enumerate(results[:_MOST_RESULTS]):
        blocks += [HeadingBlock(text=f"results[{number}]"), *result_blocks(result)]
    remaining = len(results) - _MOST_RESULTS
    return [*blocks, *notes([f"{remaining} more results"] if remaining > 0 else [])]


def result_blocks(result: QueryResult) -> Blocks:
    """Return what can be seen of a result; no more than its first rows is looked at."""
    return list(_blocks(result))


def _blocks(result: QueryResult) -> Iterator[Block]:
    if result.error is not None:
        yield ErrorBlock(kind=result.status.value, message=result.error)
        yield from _statement(result)
        return
    frame = result.row_set.frame
    if not frame.columns:
        yield CodeBlock(text=result.query or "no rows were asked for")
        return
    yield _rows_table(result)
    yield from notes(result.notes)
    yield from _statement(result)


def _rows_table(result: QueryResult) -> TableBlock:
    columns = result.row_set.frame.columns
    visible = columns[:MOST_COLUMNS]
    values = [column.head(MOST_ROWS) for column in visible]
    texts = [column_texts(cells, name=column.name) for column, cells in zip(visible, values, strict=True)]
    right = tuple(column.kind.is_numeric or are_numbers(cells) for column, cells in zip(visible, values, strict=True))
    hidden = len(columns) - len(visible)
    below = [ledger(result, MOST_ROWS, names_setter=True), f"{hidden} more columns" if hidden else ""]
    if result.is_cached:
        below.append("from the cache")
    heads = tuple(str(result.verbose_names.get(column.name) or column.name) for column in visible)
    rows = tuple(zip(*texts, strict=True))
    return TableBlock(heads=heads, rows=rows, at_right=right, below="; ".join(filter(None, below)))


def _statement(result: QueryResult) -> Iterator[Block]:
    yield from fold("SQL", [CodeBlock(text=result.query)] if result.query and result.language == "sql" else [])
