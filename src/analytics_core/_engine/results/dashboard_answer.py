"""What a dashboard is answered with: `DashboardData`, with one `DashboardChart` for each of its charts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from analytics_core._engine.results.answer import ChartData
from analytics_core._engine.results.display import answer_blocks
from analytics_core._tools.display.blocks import Block, Blocks, ErrorBlock, HeadingBlock, facts, notes
from analytics_core._tools.display.bundles import mime_bundle
from analytics_core._tools.display.text import visible
from analytics_core._tools.display.values import value_text
from analytics_core.errors import AnalyticsError, UnknownNameError

_MOST_CHARTS: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterState:
    """What a filter of a dashboard is set to.

    `kind` is its `filterType`; `value` None: nothing is set, or a data mask that shows no value. `set_by` is `default`,
    `first item` (of what it offers), `permalink` or `caller`; None: nobody. `chart_ids` are the charts that it acts on.
    """

    filter_id: str
    name: str
    kind: str
    value: Any
    set_by: str | None
    chart_ids: tuple[int, ...]

    def to_payload(self) -> dict[str, Any]:
        """Return the state as a JSON object."""
        facts = {"filter_id": self.filter_id, "name": self.name, "kind": self.kind, "value": self.value}
        return {**facts, "set_by": self.set_by, "chart_ids": list(self.chart_ids)}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class DashboardChart:
    """One chart of a dashboard with its answer; without one, `failure` is the error that the whole chart ended with.

    `name` is None where the actor may not read the chart; `tabs` are the titles of the tabs around it, the outermost
    first.
    """

    chart_id: int
    name: str | None
    tabs: tuple[str, ...]
    answer: ChartData | None = None
    failure: AnalyticsError | None = None

    _repr_mimebundle_ = mime_bundle

    def _blocks(self) -> Blocks:
        return _chart_blocks(self)

    def __repr__(self) -> str:
        return f"<DashboardChart {self.chart_id} {self.name!r}: {self.answer or visible(self.error or '')}>"

    @property
    def error(self) -> str | None:
        """What the chart, or the first of its queries that failed, ended with; None where all is well."""
        if self.failure is not None:
            return self.failure.message
        results = () if self.answer is None else self.answer.results
        return next((result.error for result in results if result.error is not None), None)

    def raise_for_error(self) -> ChartData:
        """Return the answer, or raise the typed error of the chart or of the first of its queries that failed."""
        if self.answer is None:
            raise self.failure or AnalyticsError(f"chart {self.chart_id} was not answered")
        return self.answer.raise_for_error()

    def to_payload(self) -> dict[str, Any]:
        """Return the chart as a JSON object; `result` is that of `ChartData.to_payload`, empty where there is none."""
        result = [] if self.answer is None else self.answer.to_payload()["result"]
        facts = {"chart_id": self.chart_id, "slice_name": self.name, "tabs": list(self.tabs)}
        return {**facts, "error": self.error, "result": result}


def _chart_blocks(chart: DashboardChart) -> Blocks:
    """Return what can be seen of a chart of a dashboard: its name, and its answer or what it ended with."""
    heading = HeadingBlock(text=chart.name or f"chart {chart.chart_id}", detail=" / ".join(chart.tabs))
    if chart.answer is None:
        kind = type(chart.failure).__name__ if chart.failure is not None else "failed"
        return [heading, ErrorBlock(kind=kind, message=chart.error or "it was not answered")]
    return [heading, *answer_blocks(chart.answer.results)]


def _dashboard_blocks(data: DashboardData) -> Blocks:
    """Return what can be seen of a dashboard: what its filters are set to, its charts."""
    failed = sum(chart.error is not None for chart in data.charts)
    summary = f"{len(data.charts)} charts{f', {failed} failed' if failed else ''}"
    blocks: list[Block] = [HeadingBlock(text=f"Dashboard {data.dashboard_id}", detail=summary)]
    blocks += facts({state.name: value_text(state.value) for state in data.filters if state.value is not None})
    blocks += notes(data.notes)
    for chart in data.charts[:_MOST_CHARTS]:
        blocks += _chart_blocks(chart)
    remaining = len(data.charts) - _MOST_CHARTS
    return [*blocks, *notes([f"{remaining} more charts: data.charts[{_MOST_CHARTS}:]"] if remaining > 0 else [])]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class DashboardData:
    """The answers to the charts of a dashboard, in the order of the page, and what its filters are set to.

    `notes` tell what was given and has no effect.
    """

    dashboard_id: int
    charts: tuple[DashboardChart, ...]
    filters: tuple[FilterState, ...] = ()
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        failed = sum(chart.error is not None for chart in self.charts)
        suffix = f", {failed} failed" if failed else ""
        return f"<DashboardData of {self.dashboard_id}: {len(self.charts)} charts{suffix}>"

    def __iter__(self) -> Iterator[DashboardChart]:
        return iter(self.charts)

    def __len__(self) -> int:
        return len(self.charts)

    def chart(self, named: int | str) -> ChartData:
        """Return the answer to one chart, by its id or its name; errors are those of `DashboardChart.raise_for_error`.

        Raises:
            UnknownNameError: there is no such chart among those that were asked, or several have the name.
        """
        found = [chart for chart in self.charts if named in (chart.chart_id, chart.name)]
        if len(found) != 1:
            known = [chart.name or str(chart.chart_id) for chart in self.charts]
            hint = f"name one of them by its id: {[chart.chart_id for chart in found]}" if found else ""
            raise UnknownNameError(str(named), place="the dashboard", known=known, hint=hint)
        return found[0].raise_for_error()

    def raise_for_error(self) -> DashboardData:
        """Raise the typed error of the first chart that failed; return this answer when none did."""
        for chart in self.charts:
            chart.raise_for_error()
        return self

    def to_payload(self) -> dict[str, Any]:
        """Return the answer as a JSON object."""
        charts, filters = ([item.to_payload() for item in items] for items in (self.charts, self.filters))
        return {"dashboard_id": self.dashboard_id, "charts": charts, "filters": filters, "notes": list(self.notes)}

    _repr_mimebundle_ = mime_bundle

    def _blocks(self) -> Blocks:
        return _dashboard_blocks(self)
