"""Form data with something wrong somewhere: values of other types, huge, nested, hostile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

NESTED: list[Any] = []
for _ in range(80):
    NESTED = [NESTED]
HOSTILE: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1.5, 10**30, 1e308, "", "x", "a\u0000b", "\ud800", "x" * 100_000),
    *("'; DROP TABLE orders --", "{{ 1 }}", "../../etc/passwd", "__timestamp", "queries.0.columns", "country\n"),
    *([], {}, [[]], [{}], {"": {}}, [None], ["", ""], [["a"]], NESTED, ["a", 1, {"b": 2}], list(range(5_000))),
    *({"label": 5}, {"label": {}}, {"sqlExpression": 5}, {"sqlExpression": "a", "label": [1]}, {"type": "latlong"}),
    *({"expressionType": "SIMPLE", "column": 5}, {"expressionType": "SQL", "sqlExpression": None}),
    {"expressionType": "SIMPLE", "column": {"column_name": [1]}, "aggregate": {}},
    *({"type": "metric", "value": {"x": 1}}, {"filters": 5}, {"filters": "abc"}, {"filters": [5]}),
    *({"adhoc_filters": [5]}, {"adhoc_filters": "ab"}, {"time_grain_sqla": [1]}, {"time_range": {}}),
    *({"custom_form_data": 5}, {"time_compare": [1]}, [{"col": [1], "op": "=="}], [{"col": "__time_range", "val": {}}]),
)
"""What a field of a form should never hold, and what it may but asks for something that is not there."""

Path = tuple[Any, ...]


def places(value: Any, path: Path = ()) -> Iterator[Path]:
    """Yield the path of each value inside a value."""
    inner = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield (*path, key)
        yield from places(item, (*path, key))


def with_value(form: Mapping[str, Any], path: Path, value: Any) -> dict[str, Any]:
    """Return a form with another value at a path."""
    changed: Any = deepcopy(dict(form))
    around = changed
    for key in path[:-1]:
        around = around[key]
    around[path[-1]] = deepcopy(value)
    return dict(changed)
