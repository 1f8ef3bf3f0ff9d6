"""Pictures of charts: what answers are to those who draw them, drawn by the renderer of the core, and kept.

A picture is known by all that it shows: its key in the cache is a digest of its specification, whose data the actor was
answered with. So nobody is ever shown a picture of rows that are not theirs, or that are no longer so.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, TypeVar

from analytics_core._content.pictures.data import failure_of, picture_data
from analytics_core._content.pictures.picture import Picture
from analytics_core._content.runtime import ContentRuntime
from analytics_core._engine.results.answer import ChartData
from analytics_core._engine.rights.keys import SEAL_BYTES, EntrySeal
from analytics_core._pictures.data import PictureData, Size, Theme
from analytics_core._pictures.specification import chart_specification
from analytics_core.errors import AnalyticsError, PictureError, QueryError, UnknownNameError
from analytics_core.errors.base import short_repr
from analytics_core.models.enums import PictureFormat
from analytics_core.ports import Renderer

WIDTHS: Final = range(60, 4_001)
"""Pixels of a picture, each way."""

SCALES: Final = (0.5, 4.0)
MOST_PIXELS: Final = 30_000_000
"""Of a PNG: each takes 4 bytes of the process that draws, or more."""

NO_CACHE: Final = -1

_LINE, _BAR, _TABLE = "echarts_timeseries_line", "echarts_timeseries_bar", "table"
_MOST_BARS: Final = 50
Choice = TypeVar("Choice", bound=StrEnum)


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """How a picture shall be: `width_px` and `height_px` of its layout, and how many pixels of a PNG each becomes.

    `fits_rows` tells that a table is as tall as its rows.
    """

    format: PictureFormat
    theme: Theme
    width_px: int
    height_px: int
    scale: float
    fits_rows: bool = False


def checked_look(
    *, format: str, theme: str, width_px: int | None, height_px: int | None, scale: float, usual: Size
) -> Look:
    """Return what a caller asks of a picture.

    Raises:
        UnknownNameError: a format or a theme that there is not.
        QueryError: a number that cannot be.
    """
    return Look(
        format=_chosen(PictureFormat, format, "format"),
        theme=_chosen(Theme, theme, "theme"),
        width_px=_pixels(width_px, "width_px", usual.width_px),
        height_px=_pixels(height_px, "height_px", usual.height_px),
        scale=_scale(scale),
        fits_rows=height_px is None,
    )


def chart_look(*, format: str, theme: str, width_px: int | None, height_px: int | None, scale: float) -> Look:
    """Return what a caller asks of the picture of a chart.

    Raises:
        UnknownNameError: a format or a theme that there is not.
        QueryError: a number that cannot be; a PNG of more pixels than `MOST_PIXELS`.
    """
    look = checked_look(format=format, theme=theme, width_px=width_px, height_px=height_px, scale=scale, usual=Size())
    largest = largest_scale(look.width_px, look.height_px)
    if look.format is PictureFormat.PNG and look.scale > largest:
        pixels = round(look.width_px * look.height_px * look.scale**2)
        raise QueryError(
            f"a PNG of {look.width_px} x {look.height_px} at scale {look.scale:g} has {pixels:,} pixels, and the most "
            f"is {MOST_PIXELS:,}: take scale {largest:g} or less, a smaller size, or SVG"
        )
    return look


def largest_scale(width_px: int, height_px: int) -> float:
    """Return the scale at which a PNG of a size has `MOST_PIXELS`."""
    return float(max(math.floor((MOST_PIXELS / (width_px * height_px)) ** 0.5 * 100) / 100, 0.1))


def _chosen(choices: type[Choice], given: object, place: str) -> Choice:
    if isinstance(given, str) and given.lower() in tuple(choices):
        return choices(given.lower())
    name = given if isinstance(given, str) else short_repr(given)
    raise UnknownNameError(name, place=f"the {place} of a picture", known=tuple(choices))


def _pixels(given: Any, name: str, usual: int) -> int:
    if given is None:
        return usual
    if type(given) is not int or given not in WIDTHS:
        raise QueryError(f"{name} must be a whole number from {WIDTHS.start} to {WIDTHS.stop - 1}")
    return given


def _scale(given: Any) -> float:
    """Return a scale with two digits: each other one is drawn anew, and kept."""
    least, most = SCALES
    if isinstance(given, bool) or not isinstance(given, int | float) or not least <= given <= most:
        raise QueryError(f"scale must be a number from {least:g} to {most:g}")
    return round(float(given), 2)


# ------------------------------------------------------------------------------------------------------------- answers
def form_of_answer(given: Mapping[str, Any] | None, data: Sequence[PictureData]) -> dict[str, Any]:
    """Return the form data that an answer to a bare query context is drawn with.

    Those of the context (`form_data`) count where they name a `viz_type`. Else a column of times and numbers are a line
    chart, one column of texts and numbers, of at most 50 rows, are bars, and everything else is a table.
    """
    form = dict(given or {})
    return form if form.get("viz_type") else {**form, "viz_type": _kind_of(data)}


def _kind_of(data: Sequence[PictureData]) -> str:
    if len(data) != 1 or data[0].error is not None:
        return _TABLE
    columns = data[0].columns
    numeric = [name for name, values in columns.items() if name not in data[0].temporal and _is_numeric(values)]
    others = [name for name in columns if name not in data[0].temporal and name not in numeric]
    if not numeric:
        return _TABLE
    if len(data[0].temporal) == 1 and len(others) <= 1:
        return _LINE
    rows = max(map(len, columns.values()))
    return _BAR if not data[0].temporal and len(others) == 1 and rows <= _MOST_BARS else _TABLE


def _is_numeric(values: Sequence[Any]) -> bool:
    found = [value for value in values if value is not None]
    return bool(found) and all(
        hasattr(value, "__float__") and not isinstance(value, bool | str | bytes) for value in found
    )


# ------------------------------------------------------------------------------------------------------------- drawing
class PictureDrawer:
    """Draws pictures for one core, and keeps them for as long as the answers that they show.

    Args:
        runtime: of the core; MissingExtraError where it has no renderer.
        keeps: whether a picture that was drawn before is taken, and one that is drawn is kept.
    """

    def __init__(self, runtime: ContentRuntime, *, keeps: bool = True) -> None:
        self._renderer = runtime.needed_renderer()
        self._store = runtime.store
        self._cache = runtime.cache
        self._keeps = keeps
        self._most_bytes = runtime.settings.cache_max_bytes
        self._seal = EntrySeal(runtime.settings.key)

    def of_answer(self, answer: ChartData, form: Mapping[str, Any] | None, look: Look, *, title: str) -> Picture:
        """Return the picture of an answer; `form` are form data, with a `viz_type` or none."""
        data = picture_data(answer, form)
        size = Size(width_px=look.width_px, height_px=look.height_px, fits_rows=look.fits_rows)
        specification = chart_specification(form_of_answer(form, data), data, title=title, size=size, theme=look.theme)
        scale = min(look.scale, largest_scale(look.width_px, int(specification["height"])))
        return Picture(
            data=self.draw(specification, look.format, scale=scale, keep_s=keeping_of([answer])),
            format=look.format,
            description=str(specification.get("description", "")),
            width_px=look.width_px,
            height_px=int(specification["height"]),
            specification=specification,
            failure=failure_of(answer),
            redraw=lambda other: self.draw(specification, other, scale=scale),
        )

    def draw(
        self,
        content: Mapping[str, Any] | Sequence[str],
        format: PictureFormat,
        *,
        scale: float = 1.0,
        keep_s: int | None = NO_CACHE,
    ) -> bytes:
        """Return a specification of Vega-Lite, or pages that are SVG, as a picture.

        Args:
            content: the specification, or the pages.
            format: which file is made.
            scale: pixels of a PNG for each of the layout's.
            keep_s: for how many seconds the picture may be kept; None: for as long as there is room.

        Raises:
            PictureError: it cannot be drawn.
            MissingExtraError: a package is not installed.
            StoreUnavailableError: the core is closed.
        """
        self._store.revision()

        def drawn() -> bytes:
            return _rendered(self._renderer, content, format, scale)

        if keep_s == NO_CACHE or not self._keeps:
            return drawn()
        text = json.dumps([self._renderer.fingerprint, format.value, scale, content])
        key = f"picture-{hashlib.sha256(text.encode()).hexdigest()}"
        entry = self._cache.get(key)
        if entry is not None and len(entry) > SEAL_BYTES:
            seal, cached = entry[:SEAL_BYTES], entry[SEAL_BYTES:]
            if self._seal.holds(key, seal, cached):
                return cached
        picture = drawn()
        if len(picture) <= self._most_bytes:
            self._cache.set(key, self._seal.made(key, [picture]) + picture, timeout_s=keep_s)
        return picture


def _rendered(
    renderer: Renderer, content: Mapping[str, Any] | Sequence[str], format: PictureFormat, scale: float
) -> bytes:
    """Return what a renderer makes; one of a host's may raise what it likes."""
    try:
        if isinstance(content, Mapping):
            return renderer.render(content, format=format, scale=scale)
        return renderer.render_pages(content, format=format, scale=scale)
    except AnalyticsError:
        raise
    except Exception as error:  # border: a host's own code
        failed = type(error).__name__
    raise PictureError(f"the renderer failed ({failed})")  # out here nothing is chained: texts of a host may hold rows


def keeping_of(answers: Sequence[ChartData]) -> int | None:
    """Return for how many seconds a picture of answers may be kept: no longer than any of them."""
    timeouts = [result.cache_timeout for answer in answers for result in answer.results]
    if any(timeout is None or timeout < 0 for timeout in timeouts):
        return NO_CACHE
    return min((timeout for timeout in timeouts if timeout), default=None)
