"""The query context of a form, with where each of its values comes from and how true it is to the chart."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from analytics_core._formdata.field_names import ASKED, DRAWN
from analytics_core._formdata.form import Form
from analytics_core._formdata.registry import ChartKinds
from analytics_core.models.parsing import payload_error

_GRIDS: Final = "matrixify_"
"""Fields that repeat a chart for each cell of a grid begin with it."""

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
        fidelity: `exact` where builders of this kind were compared with a real front end and everything was understood.
        notes: what differs from the chart, as sentences without a full stop.
    """

    payload: Mapping[str, Any]
    origins: Mapping[str, tuple[str, ...]] = field(repr=False)
    fidelity: Fidelity
    notes: tuple[str, ...] = ()


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
    form.check()
    notes = (*_told(kind.note, name, is_compared=kind.is_compared), *_unread(form))
    return BuiltPayload(
        payload={
            "datasource": source,
            "force": form.flag("force"),
            "queries": [draft.written() for draft in drafts],
            "form_data": dict(form_data),
            "result_format": form.get("result_format") or "json",
            "result_type": form.get("result_type") or "full",
        },
        origins={
            f"queries.{place}.{path}": origin for place, draft in enumerate(drafts) for path, origin in draft.origins()
        },
        fidelity=Fidelity.APPROXIMATED if notes else Fidelity.EXACT,
        notes=notes,
    )


def _source(form: Form) -> dict[str, Any]:
    told = form.get("datasource")
    found = _SOURCE.fullmatch(told) if isinstance(told, str) else None
    if found is None:
        form.reject("datasource", "must be an id and a type, such as 12__table")
        return {}
    return {"id": int(found[1]), "type": found[2]}


def _told(note: str | None, name: str, *, is_compared: bool) -> tuple[str, ...]:
    if note is not None:
        return (f"{name}: {note}",)
    return () if is_compared else (f"{name}: its queries follow the public documentation of the kind",)


def _unread(form: Form) -> tuple[str, ...]:
    unknown = sorted(name for name in form.unread - DRAWN - ASKED if not name.startswith(_GRIDS))
    return (f"not understood, and not asked: {', '.join(unknown)}",) if unknown else ()
