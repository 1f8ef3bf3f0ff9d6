"""What reports draw: the chart or dashboard of a schedule, as a picture in the mail or as a document beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from analytics_core._pictures.data import Size
from analytics_core._records.chart import Chart
from analytics_core._records.message import Attachment
from analytics_core._records.report import ReportSchedule
from analytics_core._reporting.options import FurtherFormat
from analytics_core._resources.dashboards.answers import AnsweredDashboard
from analytics_core._resources.dashboards.pictures import USUAL, DashboardDrawer
from analytics_core._resources.pictures import Look, PictureDrawer, checked_look, form_of_chart
from analytics_core._results.answer import ChartData, QueryResult
from analytics_core._results.picture import Picture
from analytics_core._runtime import Runtime
from analytics_core.errors import PictureError, ReportError
from analytics_core.models.enums import PictureFormat
from analytics_core.models.report import ReportFormat

_FORMATS: Final = {ReportFormat.PNG.value: PictureFormat.PNG, FurtherFormat.PDF.value: PictureFormat.PDF}
_CHART: Final = Size(width_px=800, height_px=480)
_TABLE_PX: Final = 140
_ROW_PX: Final = 22
_TALLEST_TABLE_PX: Final = 1_240
"""A table has room for its rows, fifty at most, and is no taller."""

_SCALE: Final = 2.0
"""Pixels of a PNG for each of the layout's: mails are read on fine screens."""


class ReportPictures:
    """Draws what one schedule sends; nothing where its format is no picture.

    Raises:
        ReportError: it is one, and no renderer is wired any more.
    """

    def __init__(self, runtime: Runtime, schedule: ReportSchedule, asked: str) -> None:
        self._schedule = schedule
        self._format = _FORMATS.get(asked)
        if self._format is not None and not runtime.draws_pictures:
            raise ReportError(f"report schedule {schedule.id} asks for {asked}, and this core draws no pictures")
        self._runtime = runtime

    def of_chart(self, chart: Chart | None, results: Sequence[QueryResult]) -> Picture | None:
        """Return the picture of a chart that was answered."""
        if self._format is None or chart is None:
            return None
        drawer = PictureDrawer(self._runtime, keeps=not self._schedule.force_screenshot)
        answer = ChartData(results=tuple(results))
        form, look = form_of_chart(chart), self._look(_CHART)
        if form.get("viz_type") == "table" and results:
            rows = _TABLE_PX + _ROW_PX * results[0].rowcount
            look = replace(look, height_px=min(rows, _TALLEST_TABLE_PX))
        try:
            return drawer.of_answer(answer, form, look, title=chart.slice_name)
        except PictureError as error:
            raise error.at(chart.slice_name) from None

    def of_dashboard(self, answered: AnsweredDashboard) -> Picture | None:
        """Return the picture of a dashboard whose charts were answered."""
        if self._format is None:
            return None
        drawer = PictureDrawer(self._runtime, keeps=not self._schedule.force_screenshot)
        return DashboardDrawer(drawer, answered, draws_errors=False).picture(self._look(USUAL))

    def images(self, picture: Picture | None, *, name: str) -> tuple[Attachment, ...]:
        """Return what stands inside a mail."""
        if picture is None or picture.format is not PictureFormat.PNG:
            return ()
        return (
            Attachment(
                name=f"{name}.png", content_type=picture.content_type, content=picture.data, content_id="picture-1"
            ),
        )

    def files(self, picture: Picture | None, *, name: str) -> tuple[Attachment, ...]:
        """Return what stands beside a mail."""
        if picture is None or picture.format is not PictureFormat.PDF:
            return ()
        return (Attachment(name=f"{name}.pdf", content_type=picture.content_type, content=picture.data),)

    def _look(self, usual: Size) -> Look:
        width = self._schedule.custom_width or usual.width_px
        return checked_look(
            format=str(self._format),
            theme="light",
            width_px=width,
            height_px=usual.height_px * width // usual.width_px,
            scale=_SCALE,
            usual=usual,
        )
