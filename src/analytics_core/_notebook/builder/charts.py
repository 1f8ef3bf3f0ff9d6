"""A query as a chart: the form data that say it, its answer, its picture, and the chart that it is stored as."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from analytics_core._notebook.builder.forms import TABLE, chart_form, chart_query, table_form
from analytics_core._notebook.builder.payload import QueryAxes
from analytics_core._notebook.builder.runnable import ChartNamespace, RunnableQuery, copied
from analytics_core._notebook.builder.specification import QuerySpecification
from analytics_core._superset.field_names import DRAWN, QUERY_WORDS
from analytics_core._tools.display.blocks import notes
from analytics_core._tools.display.bundles import Bundle, bundle_of, own_mime_bundle
from analytics_core.errors import MissingExtraError, QueryError, UnknownNameError, nearest
from analytics_core.models.chart import ChartGet

if TYPE_CHECKING:
    from analytics_core._content.pictures.picture import Picture

CompletedQuery = Callable[[Mapping[str, Any]], dict[str, Any]]
"""Makes the query of a chart of the one that its form asks."""

_PICTURE_OPTIONS: Final = ("format", "theme", "width_px", "height_px", "scale")
_FIELDS: Final = sorted(QUERY_WORDS | DRAWN)
_GRIDS: Final = "matrixify_"


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
        completed: makes its first query of the one that its form asks.
    """

    __slots__ = ("_completed", "_form_data", "_payload")

    def __init__(
        self,
        form_data: Mapping[str, Any],
        charts: ChartNamespace,
        payload: Mapping[str, Any] | None = None,
        *,
        completed: CompletedQuery = dict,
    ) -> None:
        super().__init__(charts)
        self._form_data = dict(form_data)
        self._payload = payload
        self._completed = completed

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
            payload = self._charts.payload_of(self.form_data).payload
            first, *rest = payload["queries"]
            return {**payload, "queries": [self._completed(first), *rest]}
        return {**self._payload, "form_data": self.form_data}

    def picture(self, **options: Any) -> Picture:
        """Return the picture of the chart; the options are those of `charts.picture`: `format`, `theme`, `width_px` ...

        A query that fails raises nothing here: its error is drawn, and stands in the `description`. `run` raises it.

        Raises:
            UnknownNameError, QueryError: options that cannot be.
            PayloadSchemaError: fields of the form that cannot be used.
            MissingExtraError, PictureError: nothing here draws it.

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
            from analytics_core._content.pictures.display import picture_bundle

            return picture_bundle(self._drawn(format="svg"))
        except MissingExtraError as error:  # nobody here draws; the notebook may know Vega-Lite
            bundle, notice = self.run()._repr_mimebundle_(), bundle_of(notes([f"Shown as a table: {error.message}"]))
            return {**bundle, **{kind: f"{bundle.get(kind, '')}\n{text}" for kind, text in notice.items()}}


def query_chart(
    kind: str,
    spec: QuerySpecification,
    axes: QueryAxes,
    *,
    dataset_id: int,
    form: Mapping[str, Any],
    charts: ChartNamespace,
) -> QueryChart:
    """Return a chart that asks what a query asks.

    Raises:
        UnknownNameError: no such kind, or no such field of a form.
        QueryError: the kind has no field for a step, or a field belongs elsewhere.
    """
    made = chart_form(kind, spec, axes, dataset_id=dataset_id)
    check_fields(kind, form)
    completed = partial(chart_query, kind=kind, spec=spec, axes=axes, form=form)
    return QueryChart({**made, **form}, charts, completed=completed)


def table_chart(
    spec: QuerySpecification,
    axes: QueryAxes,
    payload: Mapping[str, Any],
    *,
    dataset_id: int,
    form: Mapping[str, Any],
    charts: ChartNamespace,
) -> QueryChart:
    """Return a table of what a query answers; UnknownNameError, QueryError as in `query_chart`.

    With fields that ask for more, such as totals, it asks what its form asks, which has no steps.
    """
    check_fields(TABLE, form)
    made = {**table_form(spec, axes, dataset_id=dataset_id), **form}
    field = next((name for name in form if name in QUERY_WORDS), None)
    if field is None:
        return QueryChart(made, charts, payload)
    if spec.steps:
        raise QueryError(
            f"a table after .{spec.steps[0].verb} shows what that gives, and has no field for {field}; leave out either"
        )
    completed = partial(chart_query, kind=TABLE, spec=spec, axes=axes, form=form)
    return QueryChart(made, charts, completed=completed)


def check_fields(kind: str, form: Mapping[str, Any]) -> None:
    """Raise an error for a field that no form has: UnknownNameError, or QueryError where `picture` takes it."""
    for name in form:
        if name in _PICTURE_OPTIONS:
            raise QueryError(f".chart has no {name}, which is of the picture: .chart({kind!r}).picture({name}=...)")
        if name not in QUERY_WORDS and name not in DRAWN and not name.startswith(_GRIDS):
            close = nearest(name, _FIELDS, most=5)
            raise UnknownNameError(name, place=f"the form of .chart({kind!r})", known=close)
