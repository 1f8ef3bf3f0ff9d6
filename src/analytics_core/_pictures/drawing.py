"""What a kind of chart is given, and what it makes of it: the layers of a picture."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from analytics_core._pictures import cells
from analytics_core._pictures.data import Size
from analytics_core._pictures.form_fields import FormFields
from analytics_core._pictures.number_formats import NumberFormat, number_format
from analytics_core._pictures.table import Table
from analytics_core._pictures.theme import Colours, series_colours
from analytics_core._pictures.time_formats import time_format

MOST_MARKS: Final = 5_000
"""A renderer needs seconds for more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartView:
    """What a chart is drawn of.

    Args:
        form: the fields of the chart.
        tables: the answers to its queries, at least one.
        size: the pixels of the whole picture.
        colours: those of the theme.
        title: the name of the chart; may be empty.
    """

    form: FormFields
    tables: tuple[Table, ...]
    size: Size
    colours: Colours
    title: str = ""

    @property
    def table(self) -> Table:
        """The answer to the first query."""
        return self.tables[0]

    def notes(self, further: Iterable[str] = ()) -> list[str]:
        """Return what stands at the foot: limits of the answers, of the drawing, and fields that were not used."""
        table_notes = [note for table in self.tables for note in table.data.notes]
        notes = (cells.shortened(str(note), 300) for note in (*table_notes, *further, *self.form.notes))
        return list(dict.fromkeys(notes))

    def series_colours(self, labels: Sequence[str]) -> list[str]:
        """Return the colour of each label, by the scheme and the own colours of the form."""
        own = {cells.shortened(str(label)): colour for label, colour in self.form.mapping("label_colors").items()}
        return series_colours(labels, self.colours, scheme=self.form.text("color_scheme"), own=own)

    def number_format(self, *names: str, currency: str = "currency_format") -> NumberFormat:
        """Return the format of the first of the fields that is set; the smart one where none is."""
        for name in names:
            if self.form.get(name):
                found = number_format(self.form.get(name), self.form.get(currency))
                if found is not None:
                    return found
                self.form.reject(name, "is no number format")
        return number_format(None, self.form.get(currency)) or NumberFormat()

    def time_format(self, *names: str) -> str:
        """Return the format of the first of the fields that is set; empty for the one that suits the axis."""
        for name in names:
            if self.form.get(name):
                found = time_format(self.form.get(name))
                if found is not None:
                    return found
                self.form.reject(name, "is no time format")
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """The layers of a picture.

    Args:
        layers: views of Vega-Lite, drawn one on the other.
        description: what the picture shows, for people who do not see it.
        notes: what the picture leaves out, as sentences; of a canvas all that stand at its foot.
        is_canvas: whether the layers set each pixel themselves, the title and the notes among them.
        height_px: how tall the picture is; None: as the view says.
        further: other parts of the specification, such as `resolve`.
    """

    layers: tuple[Mapping[str, Any], ...]
    description: str
    notes: tuple[str, ...] = ()
    is_canvas: bool = False
    height_px: int | None = None
    further: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureKind:
    """One kind of chart.

    Args:
        name: what `viz_type` says.
        noun: how the kind is called in descriptions, such as `line chart`.
        draw: makes the layers.
    """

    name: str
    noun: str
    draw: Callable[[ChartView], Drawing]


class CannotDrawError(Exception):
    """A kind lacks what it draws; a table takes its place, and tells the reason."""
