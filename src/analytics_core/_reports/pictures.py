"""What reports draw: the chart or dashboard of a schedule, as a picture in the mail or as a document beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from analytics_core._content.dashboards.answers import AnsweredDashboard
from analytics_core._content.dashboards.pictures import USUAL, DashboardDrawer
from analytics_core._content.lookups.chart_contexts import form_of_chart
from analytics_core._content.pictures.drawing import Look, PictureDrawer, checked_look, largest_scale
from analytics_core._content.pictures.picture import Picture
from analytics_core._engine.execution.cancel import CancelToken
from analytics_core._engine.results.answer import ChartData, QueryResult
from analytics_core._pictures.data import Size
from analytics_core._records.chart import Chart
from analytics_core._records.message import Attachment
from analytics_core._records.report import ReportSchedule
from analytics_core._reports.options import FurtherFormat
from analytics_core._reports.runtime import ReportsRuntime
from analytics_core.errors import PictureError, ReportError, StatementStoppedError
from analytics_core.models.enums import PictureFormat
from analytics_core.models.report import ReportFormat
from analytics_core.ports import Renderer

_FORMATS: Final = {ReportFormat.PNG.value: PictureFormat.PNG, FurtherFormat.PDF.value: PictureFormat.PDF}
_CHART: Final = Size(width_px=800, height_px=480)
_SCALE: Final = 2.0
"""Pixels of a PNG for each of the layout's: mails are read on fine screens."""


_ATTEMPTS: Final = 10
"""How often a renderer is asked that has no room: each time it makes a run wait as long as it likes."""

_PAUSE_S: Final = 1.0


class _PatientRenderer:
    """A renderer for runs (port `Renderer`): it asks again where that may help, and stops when the run is stopped."""

    def __init__(self, runtime: ReportsRuntime, renderer: Renderer, cancel: CancelToken) -> None:
        self._renderer = renderer
        self._sleeper = runtime.sleeper
        self._cancel = cancel
        self.fingerprint = renderer.fingerprint

    def render(self, specification: Mapping[str, Any], *, format: PictureFormat, scale: float = 1.0) -> bytes:
        return self._drawn(lambda: self._renderer.render(specification, format=format, scale=scale))

    def render_pages(self, pages: Sequence[str], *, format: PictureFormat, scale: float = 1.0) -> bytes:
        return self._drawn(lambda: self._renderer.render_pages(pages, format=format, scale=scale))

    def close(self) -> None:
        """Do nothing: the renderer is the core's."""

    def _drawn(self, draw: Callable[[], bytes]) -> bytes:
        for _ in range(_ATTEMPTS - 1):
            try:
                return self._once(draw)
            except PictureError as error:
                if not error.retryable:
                    raise
            self._sleeper.sleep(_PAUSE_S)
        return self._once(draw)

    def _once(self, draw: Callable[[], bytes]) -> bytes:
        if self._cancel.cancelled:
            raise StatementStoppedError("the run was stopped before all of its pictures were drawn")
        return draw()


class ReportPictures:
    """Draws what one schedule sends; nothing where its format is no picture.

    Args:
        runtime: of the run.
        schedule: what is sent.
        asked: in which format.
        cancel: stops the run.

    Raises:
        ReportError: it is one, and no renderer is wired any more.
    """

    def __init__(self, runtime: ReportsRuntime, schedule: ReportSchedule, kind: str, cancel: CancelToken) -> None:
        self._schedule = schedule
        self._format = _FORMATS.get(kind)
        self._runtime = runtime.content
        if self._format is None:
            return
        if runtime.content.renderer is None:
            raise ReportError(
                f"report schedule {schedule.id} asks for {kind}, and the process that runs it draws no pictures: "
                'pip install "analytics-core[charts]" there, or choose another format'
            )
        patient = _PatientRenderer(runtime, runtime.content.renderer, cancel)
        self._runtime = replace(runtime.content, renderer=patient)

    def of_chart(self, chart: Chart | None, results: Sequence[QueryResult]) -> Picture | None:
        """Return the picture of a chart that was answered."""
        if self._format is None or chart is None:
            return None
        drawer = PictureDrawer(self._runtime, keeps=not self._schedule.force_screenshot)
        answer = ChartData(results=tuple(results))
        form, look = form_of_chart(chart), self._look(_CHART)
        try:
            return drawer.of_answer(answer, form, replace(look, fits_rows=True), title=chart.slice_name)
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
        height = usual.height_px * width // usual.width_px
        return checked_look(
            format=str(self._format),
            theme="light",
            width_px=width,
            height_px=height,
            scale=min(_SCALE, largest_scale(width, height)),
            usual=usual,
        )
