"""The query context of a form, with where each of its values comes from and how true it is to the chart."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import Any, Final

from analytics_core._superset.chart_kind import ChartKind
from analytics_core._superset.draft import QueryDraft
from analytics_core._superset.field_names import DRAWN, QUERY_WORDS
from analytics_core._superset.form import Form
from analytics_core._superset.registry import ChartKinds
from analytics_core._tools.display.blocks import Blocks, CodeBlock, HeadingBlock, fold, notes
from analytics_core._tools.display.bundles import mime_bundle
from analytics_core.errors import nearest
from analytics_core.models.parsing import payload_error

_GRIDS: Final = "matrixify_"
"""Fields that repeat a chart for each cell of a grid begin with it."""

_GRID_SWITCHES: Final = (
    *("matrixify_enable", "matrixify_enabled"),
    *("matrixify_enable_horizontal_layout", "matrixify_enable_vertical_layout"),
)
_KNOWN: Final = DRAWN | QUERY_WORDS
_MOST_HINTS: Final = 10
_LONGEST_HINTED: Final = 100
_LEAST_LIKENESS: Final = 0.8
"""Old forms have fields that mean something else: `since` is no misspelled `size`."""
_SOURCE: Final = re.compile(r"(\d{1,18})__(table|dataset|query|saved_query|view)")


class Fidelity(StrEnum):
    """How true a built payload is to the chart that people see."""

    EXACT = "exact"
    APPROXIMATED = "approximated"


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltPayload:
    """The query context that a chart's form asks.

    Attributes:
        payload: the query context (contract, ChartDataQueryContextSchema).
        origins: for the path of each value, such as `queries.0.columns.1`, the fields of the form that it comes from.
        fidelity: `exact` where builders of this kind were compared with a real front end, everything was understood,
            and nothing is asked in another way on purpose.
        notes: what differs from the chart, as sentences without a full stop.
    """

    payload: Mapping[str, Any]
    origins: Mapping[str, tuple[str, ...]] = field(repr=False)
    fidelity: Fidelity
    notes: tuple[str, ...] = ()

    _repr_mimebundle_ = mime_bundle

    def _blocks(self) -> Blocks:
        return _payload_blocks(self)


def _payload_blocks(built: BuiltPayload) -> Blocks:
    """Return what can be seen of a built payload: how true it is, and its JSON."""
    text = json.dumps(built.payload, indent=2, default=str, ensure_ascii=False)
    return [
        HeadingBlock(text="Payload", detail=str(built.fidelity)),
        *notes(built.notes),
        *fold("JSON", [CodeBlock(text=text)]),
    ]


class Origins(Mapping[str, tuple[str, ...]]):
    """The fields of a form by the paths of the values that come from them; put together when they are asked for.

    Args:
        read: puts them together.
    """

    __slots__ = ("_found", "_read")

    def __init__(self, read: Callable[[], Mapping[str, tuple[str, ...]]]) -> None:
        self._read = read
        self._found: Mapping[str, tuple[str, ...]] | None = None

    def __getitem__(self, path: str) -> tuple[str, ...]:
        return self._all()[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def _all(self) -> Mapping[str, tuple[str, ...]]:
        if self._found is None:
            self._found = self._read()
        return self._found


def build_payload(form_data: Mapping[str, Any], kinds: ChartKinds) -> BuiltPayload:
    """Return the query context of the form of a chart.

    Raises:
        PayloadSchemaError: fields that cannot be used, all of them at once.
    """
    name = form_data.get("viz_type")
    if not isinstance(name, str) or not name:
        raise payload_error("form_data", "viz_type", "must name the kind of the chart")
    kind = kinds.kind_of(name)
    form = Form(form_data, defaults=kind.defaults)
    source = _source(form)
    drafts = kind.build(form)
    _leave_to_readers(form)
    form.check()
    notes = (*_notes_of(kind, name), *form.notes, *_unread(form_data, kind))
    return BuiltPayload(
        payload={
            "datasource": source,
            "force": form.flag("force"),
            "queries": [draft.written() for draft in drafts],
            "form_data": dict(form_data),
            "result_format": form.get("result_format") or "json",
            "result_type": form.get("result_type") or "full",
        },
        origins=Origins(partial(_origins, drafts)),
        fidelity=Fidelity.APPROXIMATED if notes else Fidelity.EXACT,
        notes=notes,
    )


def _origins(drafts: Sequence[QueryDraft]) -> dict[str, tuple[str, ...]]:
    return {f"queries.{place}.{path}": origin for place, draft in enumerate(drafts) for path, origin in draft.origins()}


def _source(form: Form) -> dict[str, Any]:
    source = form.get("datasource")
    found = _SOURCE.fullmatch(source) if isinstance(source, str) else None
    if found is None:
        form.reject("datasource", "must be an id and a type, such as 12__table")
        return {}
    return {"id": int(found[1]), "type": found[2]}


def _leave_to_readers(form: Form) -> None:
    """Tell of what changes the values that people see, but only where they are drawn."""
    form.tell("code that only a browser runs", "js_data_mutator")
    if any(form.get(name) is True for name in _GRID_SWITCHES):
        form.tell("only the chart itself is asked, not the cells of the grid", *_GRID_SWITCHES)


def _notes_of(kind: ChartKind, name: str) -> tuple[str, ...]:
    notes = (kind.note,) if kind.note is not None else ()
    if kind.name and not kind.is_compared:
        notes = (*notes, _CHECKED if kind.is_checked else _DOCUMENTED)
    return tuple([f"{name}: {note}" for note in notes])


_DOCUMENTED: Final = "its queries follow the public documentation of the kind"
_CHECKED: Final = f"{_DOCUMENTED}; its answers were compared with SQL written by hand"


def _unread(form_data: Mapping[str, Any], kind: ChartKind) -> tuple[str, ...]:
    if _KNOWN.issuperset(form_data):
        return ()
    remaining = sorted(form_data.keys() - _KNOWN - kind.fields)
    unknown = [name for name in remaining if not name.startswith(_GRIDS)]
    if not unknown:
        return ()
    free = (QUERY_WORDS | kind.fields) - form_data.keys()
    hints = [_suggesting(name, free) if place < _MOST_HINTS else name for place, name in enumerate(unknown)]
    return (f"not understood, and not asked: {', '.join(hints)}",)


def _suggesting(name: str, free: AbstractSet[str]) -> str:
    """Return the name of an unknown field, with the nearest one that the form leaves free."""
    close = nearest(name, sorted(free), cutoff=_LEAST_LIKENESS) if len(name) <= _LONGEST_HINTED else ()
    return f"{name} (did you mean {close[0]}?)" if close else name
