"""Makes the texts of a copied chart speak of the copy, and of the other charts that were copied with it; pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from analytics_core._records.chart import Chart
from analytics_core._resources.chart_texts import CHART, with_layers_moved, with_objects_changed
from analytics_core._resources.stored_json import json_object

NewIds = Mapping[int, int]
_OF_THE_SOURCE: Final = frozenset({"dashboards", "dashboardId"})


def with_texts_of_its_own(copy: Chart, new_ids: NewIds) -> Chart:
    """Return the copy with parameters and query context that name it instead of its original; `new_ids` are all copies.

    Guests ask a stored query context, and a chart is found by the `slice_id` of its form data.
    """
    return replace(
        copy,
        params=_remapped(copy.params, copy.id, new_ids),
        query_context=_remapped(copy.query_context, copy.id, new_ids),
    )


def _remapped(text: str | None, chart_id: int, new_ids: NewIds) -> str | None:
    """Return a JSON text that speaks of the copies; the same text where it speaks of no chart."""
    before = json_object(text)
    after = _form_data(before, chart_id)
    if isinstance(after.get("form_data"), dict):
        after["form_data"] = _form_data(after["form_data"], chart_id)

    def of_copies(part: dict[str, Any]) -> dict[str, Any]:
        return with_layers_moved(part, lambda kind, old: new_ids.get(old) if kind == CHART else None)

    after = with_objects_changed(after, of_copies)
    return text if after == before else json.dumps(after, ensure_ascii=False)


def _form_data(content: Mapping[str, Any], chart_id: int) -> dict[str, Any]:
    kept = {name: value for name, value in content.items() if name not in _OF_THE_SOURCE}
    return {**kept, "slice_id": chart_id} if "slice_id" in kept else kept
