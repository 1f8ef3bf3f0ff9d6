"""A query as a chart: the form data that say it, its answer, its picture, and the chart that it is stored as."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Protocol, cast

from analytics_core._builder.runnable import ChartNamespace, RunnableQuery, copied
from analytics_core._display.blocks import notes
from analytics_core._display.bundles import Bundle, bundle_of, own_mime_bundle
from analytics_core._results.picture import Picture
from analytics_core._results.picture_display import picture_bundle
from analytics_core.errors import MissingExtraError
from analytics_core.models.chart import ChartGet


class DrawingNamespace(Protocol):
    """What a chart asks of `core.charts` for its picture."""

    def picture(self, question: Mapping[str, Any], **options: Any) -> Picture:
        """Return the picture of a query context whose `form_data` say how it is drawn."""


class QueryChart(RunnableQuery):
    """A query as a chart: form data that front ends draw, their query context, its answer and its picture.

    Args:
        form_data: what front ends draw the chart by.
        charts: what answers it.
        payload: its query context; None: the one that its form asks.
    """

    __slots__ = ("_form_data", "_payload")

    def __init__(
        self, form_data: Mapping[str, Any], charts: ChartNamespace, payload: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(charts)
        self._form_data = dict(form_data)
        self._payload = payload

    @property
    def form_data(self) -> dict[str, Any]:
        """What front ends draw the chart by, a plain dict of its own.

        Examples:
            >>> orders.query("revenue").by("country").chart("pie").form_data["metric"]
            'revenue'
        """
        own: dict[str, Any] = copied(self._form_data)
        return own

    def _context(self) -> dict[str, Any]:
        if self._payload is None:
            return dict(self._charts.payload_of(self.form_data).payload)
        return {**self._payload, "form_data": self.form_data}

    def picture(self, **options: Any) -> Picture:
        """Return the picture of the chart; the options are those of `charts.picture`: `format`, `theme`, `width_px` ...

        Raises:
            AnalyticsError: what the query fails with.

        Examples:
            >>> orders.query("revenue").by("country").chart("pie").picture(format="svg").data[:4]
            b'<svg'
        """
        found = self._drawn(**options)
        if found.failure is not None:
            raise found.failure
        return found

    def _drawn(self, **options: Any) -> Picture:
        return cast("DrawingNamespace", self._charts).picture(self._context(), **options)

    def save_as(self, name: str) -> ChartGet:
        """Store the chart and return it: `core.charts.data` answers it as `run` does.

        Raises:
            PayloadError: a name that no chart may have.
            AccessError: the actor may not store charts on this dataset.

        Examples:
            >>> orders.query("revenue").by("country").chart("pie").save_as("By country").viz_type
            'pie'
        """
        payload = self._context()
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
        """Run the query, and return its picture; an error is shown as one."""
        try:
            return picture_bundle(self._drawn(format="svg"))
        except MissingExtraError as error:  # nobody here draws; the notebook may know Vega-Lite
            bundle, told = self.run()._repr_mimebundle_(), bundle_of(notes([f"Shown as a table: {error.message}"]))
            return {**bundle, **{kind: f"{bundle.get(kind, '')}\n{text}" for kind, text in told.items()}}
