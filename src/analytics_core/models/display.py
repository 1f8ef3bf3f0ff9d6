"""What notebooks show of records and of pages of them: the fields that people read, the others left out or folded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from pydantic import BaseModel

from analytics_core._tools.display.blocks import (
    Block,
    Blocks,
    Cell,
    CodeBlock,
    FactsBlock,
    HeadingBlock,
    TableBlock,
    counted,
    facts,
    first_of,
    fold,
    table,
)
from analytics_core._tools.display.values import are_numbers, column_texts, value_text

_NAMES: Final = (
    *("slice_name", "dashboard_title", "database_name", "table_name", "metric_name", "column_name", "template_name"),
    *("name", "username", "short_descr", "label", "value", "engine", "text", "key"),
)
"""The field that is a record's name: the first of these that it has."""

_FIRST: Final = ("id", *_NAMES, "type", "viz_type", "kind", "backend", "schema_name", "database", "table", "state")
_FOLDED: Final = ("sql", "select_star", "css", "params", "query", "clause", "markdown", "context_markdown")
_HIDDEN_FIELDS: Final = re.compile(
    "uuid|uid|extra|params|perm|form_data|query_context|template_params|engine_information|css|.*_json|json_metadata"
    "|.*url|.*_humanized|.*_markeddown|.*_utc|changed_on_dttm|.*_choices|.*_orm|verbose_map|.*_formats|stacktrace"
    "|.*ed_by_name|datasource_type|datasource_id"
)
"""Fields that programs read: addresses, long texts in JSON, what says a moment once more. They may hold addresses of
web hooks too, so that no field in JSON is shown."""

_OF_COLUMNS: Final = ("column_name", "type", "is_dttm", "verbose_name", "expression", "description")
_OF_METRICS: Final = ("metric_name", "expression", "verbose_name", "d3format", "description")
_MOST_FIELDS: Final = 8
_MOST_RECORDS: Final = 50
_LAST_MS: Final = 60 * 10**12
"""Before the year 3900: what is beyond is no moment that a calendar shows."""
_SUFFIX: Final = re.compile("(?:Get|ListItem|Details|Response|Entity)+$")
_WORD: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")


def noun_of(shape: type[BaseModel]) -> str:
    """Return what a record of this shape is called: `ReportScheduleGet` is a report schedule."""
    return _WORD.sub(" ", _SUFFIX.sub("", shape.__name__)).lower()


def record_blocks(record: BaseModel) -> Blocks:
    """Return what can be seen of a record: its facts, tables of what it is made of, and long texts folded."""
    values = _values(record)
    name = name_of(record)
    plain = {key: value for key, value in values.items() if not _is_table(value) and key not in _FOLDED}
    other_facts = {key: value for key, value in plain.items() if key != "id" and value != name}
    blocks: list[Block] = [heading(record), *([_facts(other_facts)] if other_facts else [])]
    tables = {field: value for field, value in values.items() if _is_table(value)}
    for number, (field, value) in enumerate(tables.items()):
        title, rows = f"{len(value):,} {_spoken(field)}", records_table(value)
        blocks += fold(title, rows) if number else rows
    for field in _FOLDED:
        if isinstance(text := getattr(record, field, None), str) and text:
            blocks += fold(_spoken(field), [CodeBlock(text=text)])
    return blocks


def heading(record: BaseModel, detail: str = "") -> Block:
    """Return the line above a record: its kind, its number and its name."""
    number = getattr(record, "id", None)
    of_number = f" {number}" if isinstance(number, int) and number else ""
    return HeadingBlock(text=f"{noun_of(type(record)).capitalize()}{of_number}: {name_of(record)}", detail=detail)


def records_table(
    records: Sequence[Any], *, fields: Sequence[str] = (), below: str = "", noun: str = "rows"
) -> tuple[Block, ...]:
    """Return records as a table, a line each: the fields that are named, or those that tell them apart.

    Records are models, or objects of JSON where `fields` are named.
    """
    visible, note = first_of(records, most=_MOST_RECORDS, noun=noun)
    names = [name for name in fields if _has_any(visible, name)] or _telling_fields(visible)
    if not visible or not names:
        return ()
    values = {name: [_named(_field_value(record, name)) for record in visible] for name in names}
    texts = [[text or "" for text in column_texts(column, name=name)] for name, column in values.items()]
    line = "; ".join(filter(None, (note, below)))
    right = tuple(name != "id" and are_numbers(column) for name, column in values.items())
    rows: tuple[tuple[Cell, ...], ...] = tuple(zip(*texts, strict=True))
    heads = tuple(name.removesuffix("_name") if name == "schema_name" else name for name in names)
    return (TableBlock(heads=heads, rows=rows, at_right=right, below=line),)


def page_blocks(records: Sequence[BaseModel], count: int) -> Blocks:
    """Return a page of a list: how many records there are in all, and a table of those of the page."""
    noun = noun_of(type(records[0])) if records else "record"
    summary = counted(count, noun) if len(records) == count else f"{len(records):,} of {counted(count, noun)}"
    return [HeadingBlock(text=summary), *records_table(records)]


def dataset_blocks(dataset: BaseModel, *, source: str, columns: Sequence[Any], metrics: Sequence[Any]) -> Blocks:
    """Return what can be seen of a dataset: its columns and metrics, and nothing of its rows, which cost a query."""
    details = {name: getattr(dataset, name, None) for name in ("description", "main_dttm_col", "owners")}
    return [
        heading(dataset, source),
        *facts({name: _named(value) for name, value in details.items()}),
        *records_table(columns, fields=_OF_COLUMNS, noun="columns", below=counted(len(columns), "column")),
        *records_table(metrics, fields=_OF_METRICS, noun="metrics", below=counted(len(metrics), "metric")),
        *fold("SQL", [CodeBlock(text=sql)] if (sql := getattr(dataset, "sql", None)) else []),
    ]


def name_of(record: BaseModel) -> str:
    """Return the name by which people know a record; the words of its kind where it has none."""
    known = type(record).model_fields
    found = (getattr(record, name) for name in _NAMES if name in known)
    full_name = " ".join(filter(None, (getattr(record, part, None) for part in ("first_name", "last_name"))))
    return next((str(name) for name in found if name), full_name or f"one {noun_of(type(record))}")


def rows_blocks(rows: Sequence[Mapping[str, Any]], types: Mapping[str, str]) -> tuple[Block, ...]:
    """Return rows of JSON values as a table; milliseconds are shown as the moments that they are by their types."""
    visible, note = first_of(rows)
    moments = {name for name, kind in types.items() if re.search("DATE|TIME", kind, re.IGNORECASE)}
    columns = {name: [row.get(name) for row in visible] for name in types}
    body = {name: [_moment(value) if name in moments else value for value in cells] for name, cells in columns.items()}
    texts = {name: column_texts(cells, name=name) for name, cells in body.items()}
    return table(texts, right=[name for name, cells in body.items() if are_numbers(cells)], below=note)


def _moment(value: Any) -> Any:
    is_milliseconds = isinstance(value, int) and abs(value) < _LAST_MS
    return datetime.fromtimestamp(value / 1_000, UTC).replace(tzinfo=None) if is_milliseconds else value


def _facts(values: Mapping[str, Any]) -> Block:
    return FactsBlock(facts=tuple((key, value_text(_named(value))) for key, value in values.items()))


def _values(record: BaseModel) -> dict[str, Any]:
    """Return the fields that there are, without those for programs, the telling ones first."""
    pairs = ((name, getattr(record, name)) for name in _in_order(type(record).model_fields))
    return {name: value for name, value in pairs if not _is_nothing(value) and not _HIDDEN_FIELDS.fullmatch(name)}


def _in_order(names: Iterable[str]) -> list[str]:
    known = list(names)
    return [*(name for name in _FIRST if name in known), *(name for name in known if name not in _FIRST)]


def _telling_fields(records: Sequence[BaseModel]) -> list[str]:
    """Return the fields of a table of records: short ones, that some of them have."""
    names = _in_order(type(records[0]).model_fields) if records else []
    excluded = {name for name in names if _HIDDEN_FIELDS.fullmatch(name) or name in _FOLDED}
    found = [name for name in names if name not in excluded and _has_any(records, name)]
    plain_fields = [name for name in found if not any(_is_table(getattr(record, name, None)) for record in records)]
    return plain_fields[:_MOST_FIELDS]


def _has_any(records: Sequence[BaseModel], name: str) -> bool:
    return any(not _is_nothing(_field_value(record, name)) for record in records)


def _field_value(record: Any, name: str) -> Any:
    return record.get(name) if isinstance(record, dict) else getattr(record, name, None)


def _is_nothing(value: Any) -> bool:
    return value is None or value is False or (isinstance(value, str | tuple | dict) and not value)


def _is_table(value: Any) -> bool:
    """Tell whether a value is several records that are more than names."""
    is_many = isinstance(value, tuple) and bool(value) and isinstance(value[0], BaseModel)
    return is_many and len(type(value[0]).model_fields) > 4


def _named(value: Any) -> Any:
    """Return a value as a table shows it: records by their names."""
    if isinstance(value, BaseModel):
        return name_of(value)
    if isinstance(value, tuple):
        return ", ".join(_names(value)) or None
    if isinstance(value, datetime):
        return value.replace(microsecond=0)
    return value or None if isinstance(value, bool | str) else value


def _names(values: tuple[Any, ...]) -> Iterator[str]:
    yield from (name_of(value) if isinstance(value, BaseModel) else value_text(value) for value in values[:20])
    if len(values) > 20:
        yield f"{len(values) - 20:,} more"


def _spoken(field: str) -> str:
    return {"sql": "SQL", "select_star": "SELECT of its rows", "css": "CSS"}.get(field, field.replace("_", " "))
