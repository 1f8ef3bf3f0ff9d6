"""A query as a chart: the form data that say it, its answer, its picture, and the chart that it is stored as."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Protocol, cast

from analytics_core._display.bundles import Bundle, own_mime_bundle
from analytics_core._formdata.payload import BuiltPayload
from analytics_core._querying.explain import Explanation
from analytics_core._results.answer import ChartData
from analytics_core._results.picture import Picture
from analytics_core._results.picture_display import picture_bundle
from analytics_core.errors import MissingExtraError
from analytics_core.models.chart import ChartGet


class ChartNamespace(Protocol):
    """What the builder asks of `core.charts`."""

    def data(self, question: Mapping[str, Any], *, force: bool = False) -> ChartData:
        """Return the answer to a query context."""

    def explain(self, question: Mapping[str, Any]) -> Explanation:
        """Return why the answer would be what it is."""

    def payload_of(self, form_data: Mapping[str, Any]) -> BuiltPayload:
        """Return the query context that form data ask."""

    def create(self, payload: Mapping[str, Any]) -> ChartGet:
        """Store a chart."""


class Drawing(Protocol):
    """What `core.charts.picture` gives, as far as a chart needs it."""

    @property
    def data(self) -> bytes:
        """The bytes of the picture."""

    def save(self, path: str) -> object:
        """Write the picture to a file."""


class DrawingNamespace(Protocol):
    """What a chart asks of `core.charts` for its picture."""

    def picture(self, question: Mapping[str, Any], **options: Any) -> Drawing:
        """Return the picture of a query context whose `form_data` say how it is drawn."""


class QueryChart:
    """A query as a chart. Nothing runs before `run`, `picture` or a display.

    Args:
        form_data: what front ends draw the chart by.
        charts: what answers it.
        payload: its query context; None: the one that its form asks.
    """

    __slots__ = ("_charts", "_form_data", "_payload")

    def __init__(
        self, form_data: Mapping[str, Any], charts: ChartNamespace, payload: Mapping[str, Any] | None = None
    ) -> None:
        self._form_data = dict(form_data)
        self._charts = charts
        self._payload = payload

    @property
    def form_data(self) -> dict[str, Any]:
        """What front ends draw the chart by, a plain dict of its own."""
        copied: dict[str, Any] = json.loads(json.dumps(self._form_data))
        return copied

    def payload(self) -> dict[str, Any]:
        """Return the query context of the chart, with its form data in it.

        Raises:
            PayloadSchemaError: fields of the form that cannot be used.
        """
        if self._payload is None:
            return dict(self._charts.payload_of(self.form_data).payload)
        return {**self._payload, "form_data": self.form_data}

    def run(self, *, force: bool = False) -> ChartData:
        """Return the answer that the chart is drawn of; arguments and errors are those of `DatasetQuery.run`."""
        return self._charts.data(self.payload(), force=force).raise_for_error()

    def explain(self) -> Explanation:
        """Return why the answer would be what it is; nothing runs."""
        return self._charts.explain(self.payload())

    def picture(self, **options: Any) -> Drawing:
        """Return the picture of the chart; the options are those of `charts.picture`: `format`, `theme`, `width_px` ...

        Raises:
            AnalyticsError: what the query fails with.
        """
        return cast("DrawingNamespace", self._charts).picture(self.payload(), **options)

    def save_as(self, name: str) -> ChartGet:
        """Store the chart and return it: `core.charts.data` answers it as `run` does.

        Raises:
            PayloadError: a name that no chart may have.
            AccessError: the actor may not store charts on this dataset.
        """
        payload = self.payload()
        return self._charts.create(
            {
                "slice_name": name,
                "viz_type": self._form_data["viz_type"],
                "datasource_id": payload["datasource"]["id"],
                "datasource_type": payload["datasource"]["type"],
                "params": json.dumps(self._form_data),
                "query_context": json.dumps(payload),
            }
        )

    def __repr__(self) -> str:
        return f"<QueryChart, {self._form_data['viz_type']}>"

    _repr_mimebundle_ = own_mime_bundle

    def _bundle(self) -> Bundle:
        """Run the query, and return its picture."""
        try:
            return picture_bundle(cast("Picture", self.picture(format="svg")))
        except MissingExtraError:  # nobody here draws; the notebook may know Vega-Lite
            return self.run()._repr_mimebundle_()
