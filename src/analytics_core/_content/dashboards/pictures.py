"""Dashboards as pictures and pages: answered, laid out, and each of their charts drawn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Final, TypedDict

from analytics_core._content.dashboards.answers import AnsweredDashboard, DashboardRequest
from analytics_core._content.field_formatter import MarkdownToHtml
from analytics_core._content.lookups.chart_contexts import form_of_chart
from analytics_core._content.pictures.data import picture_data
from analytics_core._content.pictures.drawing import (
    Look,
    PictureDrawer,
    checked_look,
    keeping_of,
    largest_scale,
)
from analytics_core._content.pictures.picture import Picture
from analytics_core._content.stored_json import json_object
from analytics_core._engine.results.dashboard_answer import DashboardChart, FilterState
from analytics_core._pictures import cells
from analytics_core._pictures.data import PictureData, Size, Theme
from analytics_core._pictures.pages.dashboard_page import MARGIN_PX, ChartImage, DashboardPage, ImageKey, image_key
from analytics_core._pictures.pages.markdown_lines import lines_height, markdown_lines
from analytics_core._pictures.pages.page_layout import BoxKind, PageLayout, page_layouts
from analytics_core._pictures.specification import chart_specification
from analytics_core.errors import AnalyticsError, PictureError, QueryError, UnknownNameError
from analytics_core.models.enums import PictureFormat

USUAL: Final = Size(width_px=1_200, height_px=800)
_MOST_DRAWINGS: Final = 300
"""Of charts for one picture or page, each chart in each of its sizes: they keep the renderer from everybody else."""

_LONGEST_FACTS: Final = 300
_LEAST_PX: Final = 600
_RANGE: Final = "filter_range"


class DashboardView(TypedDict, total=False):
    """What of a dashboard is shown, and how: `filters`, `tabs`, `permalink` and `force` are those of its `data`."""

    theme: str
    width_px: int | None
    filters: Mapping[str, Any] | None
    tabs: Sequence[str] | None
    permalink: str | None
    force: bool


def viewed(dashboard_id: int, options: DashboardView) -> DashboardRequest:
    """Return what is asked of a dashboard for its picture."""
    return DashboardRequest(
        dashboard_id=dashboard_id,
        filters=options.get("filters"),
        tabs=options.get("tabs"),
        permalink=options.get("permalink"),
        force=options.get("force", False),
    )


def dashboard_look(*, format: str, scale: float, options: DashboardView) -> Look:
    """Return what a caller asks of the picture of a dashboard; the errors are those of `checked_look`."""
    unknown = [name for name in options if name not in DashboardView.__annotations__]
    if unknown:
        raise UnknownNameError(
            unknown[0], place="the picture of a dashboard", known=tuple(DashboardView.__annotations__)
        )
    look = checked_look(
        format=format,
        theme=options.get("theme", Theme.LIGHT),
        width_px=options.get("width_px"),
        height_px=None,
        scale=scale,
        usual=USUAL,
    )
    if look.width_px < _LEAST_PX:
        raise QueryError(f"width_px of a dashboard must be at least {_LEAST_PX}")
    return look


class DashboardDrawer:
    """Draws one dashboard as it was answered.

    Args:
        drawer: draws the charts and the whole.
        answered: the dashboard with its answers.
        draws_errors: whether a chart that cannot be drawn becomes a box that says so, in place of an error.
    """

    def __init__(self, drawer: PictureDrawer, answered: AnsweredDashboard, *, draws_errors: bool = True) -> None:
        self._drawer = drawer
        self._dashboard = answered.dashboard
        self._data = answered.data
        self._find_chart = answered.find_chart
        self._visible_tabs = answered.visible_tabs
        self._draws_errors = draws_errors

    def html(self, look: Look) -> str:
        """Return the dashboard as one page of HTML."""
        markdown = MarkdownToHtml(loads_images=False)
        return self._page(look).html(lambda text: markdown(text) or "")

    def picture(self, look: Look) -> Picture:
        """Return the dashboard as a picture: a PDF has a page for each tab, a PNG or an SVG one below the other."""
        page = self._page(look)
        return Picture(
            data=self._page_picture(page, look, look.format),
            format=look.format,
            description=self._description(),
            width_px=look.width_px,
            height_px=page.height_px,
            redraw=lambda other: self._page_picture(page, look, other),
        )

    def _page_picture(self, page: DashboardPage, look: Look, format: PictureFormat) -> bytes:
        pages = page.svg_pages() if format is PictureFormat.PDF else (page.svg(),)
        scale = min(look.scale, largest_scale(look.width_px, page.height_px))
        return self._drawer.draw(pages, format, scale=scale, keep_s=self._keep_s())

    def _keep_s(self) -> int | None:
        return keeping_of([chart.answer for chart in self._data if chart.answer is not None])

    def _description(self) -> str:
        names = [chart.name or f"chart {chart.chart_id}" for chart in self._data]
        return f"{self._title()}: dashboard of {len(names)} charts ({', '.join(names[:10])})"[:1_000]

    def _title(self) -> str:
        return self._dashboard.dashboard_title or f"dashboard {self._dashboard.id}"

    def _page(self, look: Look) -> DashboardPage:
        lines = cache(markdown_lines)
        pages = page_layouts(
            json_object(self._dashboard.position_json),
            [chart.chart_id for chart in self._data],
            width_px=look.width_px - 2 * MARGIN_PX,
            visible_tabs=self._visible_tabs,
            markdown_px=lambda text, width: lines_height(lines(text, width)),
        )
        return DashboardPage(
            title=self._title(),
            facts=filter_facts(self._data.filters, tuple(self._data)),
            pages=pages,
            charts=dict(self._images(pages, look)),
            theme=look.theme,
            css=self._dashboard.css or "",
            lines=lines,
        )

    def _images(self, pages: Sequence[PageLayout], look: Look) -> Iterator[tuple[ImageKey, ChartImage]]:
        """Yield each chart in each of its sizes.

        Raises:
            PictureError: there are more than `_MOST_DRAWINGS`.
        """
        by_id = {chart.chart_id: chart for chart in self._data}
        boxes = (box for page in pages for box in page.boxes if box.kind is BoxKind.CHART)
        keys = dict.fromkeys(map(image_key, boxes))
        if len(keys) > _MOST_DRAWINGS:
            raise PictureError(
                f"the dashboard shows {len(keys):,} charts and sizes of charts, and the most of one picture is "
                f"{_MOST_DRAWINGS}; ask for some of its tabs, or take charts from its layout"
            )
        for key in keys:
            chart_id, width_px, height_px = key
            yield key, self._image(by_id[chart_id], replace(look, width_px=width_px, height_px=height_px))

    def _image(self, chart: DashboardChart, look: Look) -> ChartImage:
        title, size = chart.name or f"chart {chart.chart_id}", Size(width_px=look.width_px, height_px=look.height_px)
        form, data = self._form_and_data(chart)
        try:
            return self._drawn(form, data, title, size, look, keep_s=keeping_of([chart.answer] if chart.answer else []))
        except PictureError as error:
            if not self._draws_errors:
                raise error.at(title) from None
            return self._drawn({}, (PictureData(error=error.message),), title, size, look, keep_s=-1)

    def _form_and_data(self, chart: DashboardChart) -> tuple[Mapping[str, Any], Sequence[PictureData]]:
        """Return the form and the data of a chart; of one without an answer, what is wrong with it."""
        if chart.answer is None:
            return {}, (PictureData(error=chart.error or "it was not answered"),)
        try:
            form = form_of_chart(self._find_chart(chart.chart_id))
            return form, picture_data(chart.answer, form)
        except AnalyticsError as error:  # the chart went, or its rights did, since it was answered
            return {}, (PictureData(error=error.message),)

    def _drawn(
        self,
        form: Mapping[str, Any],
        data: Sequence[PictureData],
        title: str,
        size: Size,
        look: Look,
        *,
        keep_s: int | None,
    ) -> ChartImage:
        specification = chart_specification(form, data, title=title, size=size, theme=look.theme)
        svg = self._drawer.draw(specification, PictureFormat.SVG, keep_s=keep_s).decode()
        return ChartImage(svg=svg, description=str(specification.get("description", "")))


def filter_facts(filters: Sequence[FilterState], charts: Sequence[DashboardChart]) -> str:
    """Return in one line what the filters are set to, and of which tabs where they do not act on all that is shown."""
    set_ones = [one for one in filters if one.value not in (None, [], (), {}, "")]
    texts = [f"{one.name}: {_value_text(one)}{_tabs_text(one, charts)}" for one in set_ones]
    text = " · ".join(texts)
    return text if len(text) <= _LONGEST_FACTS else f"{text[: _LONGEST_FACTS - 1]}…"


def _value_text(state: FilterState) -> str:
    value: Any = state.value
    if not isinstance(value, list | tuple):
        return str(value)
    if state.kind == _RANGE and len(value) == 2:
        return _range_text(*value)
    return ", ".join(cells.text(one) for one in value)


def _range_text(low: Any, high: Any) -> str:
    if low is None or high is None:
        return f"at most {high}" if low is None else f"at least {low}"
    return f"{low} – {high}"


def _tabs_text(state: FilterState, charts: Sequence[DashboardChart]) -> str:
    """Return on which of the outermost tabs a filter acts; nothing where it acts on all of them."""
    every = dict.fromkeys(chart.tabs[0] for chart in charts if chart.tabs)
    own = dict.fromkeys(chart.tabs[0] for chart in charts if chart.tabs and chart.chart_id in state.chart_ids)
    if not own or len(own) == len(every):
        return ""
    return f" (tab{'' if len(own) == 1 else 's'} {', '.join(own)})"
