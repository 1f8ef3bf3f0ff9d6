"""What a reader sees of an answer, so that two of them can be compared."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from io import BytesIO
from typing import Any

from analytics_core._engine.results.answer import ChartData, QueryResult
from analytics_core.errors import AnalyticsError


def seen(answer: ChartData) -> dict[str, Any]:
    """Return all that the answer and its results say, in every form; an error is its class and what it holds."""
    forms: dict[str, Any] = {
        "payload": answer.to_payload(),
        "json": answer.to_json(),
        "xlsx": outcome(lambda: sheets(answer.to_xlsx())),
        "raises": outcome(lambda: answer.raise_for_error() and None),
        "repr": repr(answer),
        "shown": answer._repr_mimebundle_(),
        "type": (answer.result_type, answer.result_format),
    }
    for number, result in enumerate(answer.results):
        forms[f"{number}: csv"] = outcome(lambda n=number: answer.to_csv(query=n))
        forms |= {f"{number}: {name}": form for name, form in _seen(result).items()}
    return forms


def _seen(result: QueryResult) -> dict[str, Any]:
    return {
        "fields": result,
        "raises": outcome(result.raise_for_error),
        "data": outcome(lambda: result.data),
        # Arrow has a name for UTC where Python has an object.
        "rows": outcome(lambda: repr(result.rows()).replace("zoneinfo.ZoneInfo(key='UTC')", "datetime.timezone.utc")),
        "kinds": outcome(lambda: [(column.name, column.kind) for column in result.frame.columns]),
        "pandas": outcome(lambda: table(result.pandas())),
        "exact pandas": outcome(lambda: table(result.pandas(decimals="exact"))),
        "arrow": outcome(lambda: (result.arrow().schema.to_string(), result.arrow().to_pylist())),
        "annotations": [(item, item.to_payload()) for item in result.annotations],
    }


def table(frame: Any) -> Any:
    """Return the types and the values of a DataFrame."""
    plain = frame.astype(object)
    return (
        [str(kind) for kind in frame.dtypes],
        frame.columns.to_list(),
        plain.where(frame.notna(), None).values.tolist(),
    )


def sheets(book: bytes) -> Any:
    """Return the sheets of a workbook."""
    with zipfile.ZipFile(BytesIO(book)) as parts:
        return {name: parts.read(name) for name in parts.namelist() if "worksheets" in name}


def outcome(read: Callable[[], Any]) -> Any:
    """Return what a reading gives, or the class and content of the error that it raises."""
    try:
        return read()
    except AnalyticsError as error:
        return type(error), str(error), {name: field for name, field in error.__dict__.items() if name != "__notes__"}
