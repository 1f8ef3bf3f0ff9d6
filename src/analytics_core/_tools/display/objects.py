"""Dataclasses as blocks: what reports of work (a load, a check, a look for due runs) have in common."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import Any, Final

from analytics_core._tools.display.blocks import Block, Blocks, FactsBlock, HeadingBlock, TableBlock, first_of, fold
from analytics_core._tools.display.values import are_numbers, column_texts, value_text

_WORD: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
_MOST_ITEMS: Final = 50


def object_blocks(seen: Any) -> Blocks:
    """Return what can be seen of a dataclass: its fields, and a table for each field that holds several dataclasses."""
    values = {field.name: getattr(seen, field.name) for field in fields(seen) if field.repr}
    plain = {name: value for name, value in values.items() if not _is_many(value)}
    blocks: list[Block] = [HeadingBlock(text=_WORD.sub(" ", type(seen).__name__).capitalize())]
    if plain:
        blocks.append(FactsBlock(facts=tuple((_spoken(name), _fact(value)) for name, value in plain.items())))
    for name, value in values.items():
        if _is_many(value):
            blocks += fold(f"{len(value):,} {_spoken(name)}", objects_table(value))
    return blocks


def objects_table(seen: Sequence[Any], names: Sequence[str] = ()) -> tuple[Block, ...]:
    """Return dataclasses of one kind as a table, a line each; `names` are the fields to show, none for all."""
    visible, note = first_of(seen, most=_MOST_ITEMS)
    if not visible:
        return ()
    chosen = names or [field.name for field in fields(visible[0]) if field.repr]
    columns = [[_cell_value(getattr(one, name)) for one in visible] for name in chosen]
    texts = [column_texts(column, name=name) for name, column in zip(chosen, columns, strict=True)]
    right = tuple(name != "id" and are_numbers(column) for name, column in zip(chosen, columns, strict=True))
    heads = tuple(map(_spoken, chosen))
    return (TableBlock(heads=heads, rows=tuple(zip(*texts, strict=True)), at_right=right, below=note),)


def _is_many(value: Any) -> bool:
    return isinstance(value, tuple | list) and bool(value) and is_dataclass(value[0])


def _cell_value(value: Any) -> Any:
    """Return a value for a table: of several texts, one for each line of the cell."""
    if isinstance(value, tuple | list) and all(isinstance(item, str) for item in value):
        return "; ".join(value) or None
    return value


def _fact(value: Any) -> str | None:
    if value is None:
        return None
    if is_dataclass(value) and not isinstance(value, type):
        return ", ".join(f"{_spoken(field.name)} {value_text(getattr(value, field.name))}" for field in fields(value))
    return value_text(_cell_value(value))


def _spoken(name: str) -> str:
    return name.replace("_", " ")
