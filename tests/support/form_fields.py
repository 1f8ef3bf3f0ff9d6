"""The table in how-to/pictures.md: which fields of a form the picture of each kind of `.chart` reads, found by drawing.

Run as a module (`python -m tests.support.form_fields`), it prints the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from analytics_core._notebook.builder.forms import SHAPES, TABLE, ChartLayout
from analytics_core._pictures.data import PictureData
from analytics_core._pictures.specification import chart_specification

QUERY_WORDS = frozenset(
    {"viz_type", "x_axis", "groupby", "metrics", "metric", "columns", "column", "groupbyRows", "groupbyColumns"}
    | {"all_columns", "query_mode", "bins", "annotation_layers", "time_compare", "granularity_sqla"}
    | {"resample_rule"}
)
"""What `.chart` itself writes of what is asked."""
TRIED: tuple[Any, ...] = (True, False, 2, "Stack", "Expand", "value", "bottom", [1, 5], ["amount"], {"amount": {}})
"""Values of fields, behind which a kind may read further ones."""

DAYS = ["2024-01-01", "2024-02-01", "2024-03-01"]
SERIES = PictureData(columns={"day": DAYS, "North": [1, 2, 4], "South": [2, 3, 1]}, temporal=frozenset({"day"}))
PARTS = PictureData(columns={"region": ["North", "South", "East"], "amount": [1, 5, 3]})
GRID = PictureData(
    columns={"region": ["North", "South", "North"], "channel": ["web", "web", "shop"], "amount": [1, 5, 3]}
)
NUMBER = PictureData(columns={"day": DAYS, "amount": [1, 2, 4]}, temporal=frozenset({"day"}))
BINS = PictureData(columns={"0 - 1": [3], "1 - 2": [5]})

Case = tuple[dict[str, Any], PictureData]


class RecordedForm(Mapping[str, Any]):
    """A form that knows which of its fields were read."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self._fields = fields
        self.read: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        self.read.add(name)
        return self._fields[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)


def cases_of(kind: str) -> list[Case]:
    """Return forms of a kind, as `.chart` writes them, with an answer to each."""
    if kind == TABLE:
        return [({"viz_type": TABLE, "query_mode": "aggregate", "groupby": ["region"], "metrics": ["amount"]}, PARTS)]
    shape = SHAPES[kind]
    form: dict[str, Any] = {"viz_type": shape.viz_type}
    match shape.layout:
        case ChartLayout.SERIES:
            bars = {**form, "x_axis": "region", "metrics": ["amount"], "groupby": []}
            return [({**form, "x_axis": "day", "metrics": ["amount"], "groupby": ["region"]}, SERIES), (bars, PARTS)]
        case ChartLayout.PARTS:
            metrics = ["amount"] if shape.metrics == "metric" else ["amount", "units", "price"]
            metric = metrics[0] if shape.metrics == "metric" else metrics
            columns = {**PARTS.columns, **{name: [3, 2, 1] for name in metrics[1:]}}
            return [({**form, shape.dimensions: ["region"], shape.metrics: metric}, PictureData(columns=columns))]
        case ChartLayout.GRID:
            return [({**form, "x_axis": "region", "groupby": "channel", "metric": "amount"}, GRID)]
        case ChartLayout.NUMBER:
            total = PictureData(columns={"amount": [7]})
            with_trend = {**form, "x_axis": "day", "metric": "amount"}
            return [(with_trend, NUMBER), ({"viz_type": "big_number_total", "metric": "amount"}, total)]
        case ChartLayout.PIVOT:
            rows = {**form, "groupbyRows": ["region"], "groupbyColumns": ["channel"], "metrics": ["amount"]}
            return [(rows, GRID)]
        case ChartLayout.DISTRIBUTION:
            return [({**form, "column": "amount", "bins": 2}, BINS)]


def fields_read_by(kind: str) -> list[str]:
    """Return the fields that the picture of a kind reads, in order; those behind other fields are found by trying."""
    return sorted({name for case in cases_of(kind) for name in _read(*case)} - QUERY_WORDS, key=str.casefold)


def _read(form: Mapping[str, Any], data: PictureData) -> set[str]:
    found = _drawn(form, data)
    tried: set[str] = set()
    while untried := found - tried - QUERY_WORDS:
        tried |= untried
        found |= {one for name in untried for value in TRIED for one in _drawn({**form, name: value}, data)}
    return found


def _drawn(form: Mapping[str, Any], data: PictureData) -> set[str]:
    recorded = RecordedForm(form)
    chart_specification(recorded, [data])
    return recorded.read


def table() -> str:
    """Return the table of the page."""
    fields = {kind: fields_read_by(kind) for kind in (*SHAPES, TABLE)}
    same: dict[tuple[str, ...], list[str]] = {}
    for kind, names in fields.items():
        same.setdefault(tuple(names), []).append(kind)
    rows = [
        f"| {', '.join(f'`{kind}`' for kind in kinds)} | {', '.join(f'`{name}`' for name in names) or 'none'} |"
        for names, kinds in same.items()
    ]
    return "\n".join(["| Kind | Fields |", "|---|---|", *rows])


if __name__ == "__main__":
    print(table())
