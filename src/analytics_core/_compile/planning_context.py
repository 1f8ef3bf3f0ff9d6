"""What every planning step is given: the dataset, how to read fragments, the moment, and the limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from analytics_core._compile.advanced_types.base import AdvancedDataType
from analytics_core._compile.dataset_view import DatasetView
from analytics_core._compile.fragments import FragmentParser, FragmentSlot
from analytics_core._compile.plan import FragmentExpr
from analytics_core._compile.time_range import TimeRange
from analytics_core.errors import LimitError
from analytics_core.models.enums import RelativeTime

_LARGEST_COUNT = 10**15

RenderTemplate = Callable[[str], str]
"""Renders the template text of a fragment; the identity where templates are off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanLimits:
    """The limits and defaults of a plan, from the settings; rows unless said otherwise."""

    default_row_limit: int = 50_000
    max_row_limit: int = 100_000
    samples_row_limit: int = 1_000
    stream_row_limit: int | None = None
    max_in_values: int = 50_000
    relative_start: RelativeTime = RelativeTime.TODAY
    relative_end: RelativeTime = RelativeTime.TODAY


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanningContext:
    """The surroundings of one query while it is planned; `now` is aware UTC.

    `template_range` gives the query's range once a template that reads it was rendered, before that None.
    `only_listed` says that who asks may not write SQL: fragments of the query use listed functions only. `charge` is
    told of each fragment of the query that is parsed anew.
    """

    view: DatasetView
    parser: FragmentParser
    now: datetime
    limits: PlanLimits
    render: RenderTemplate
    template_range: Callable[[], TimeRange | None] = lambda: None
    advanced_types: Mapping[str, AdvancedDataType] = field(default_factory=dict)
    only_listed: bool = False
    charge: Callable[[str], None] | None = None

    def read(self, text: str, slot: FragmentSlot, place: str) -> FragmentExpr:
        """Return SQL of the query as one checked expression; `place` names it in errors and origins."""
        return self._parse(text, slot, place, only_listed=self.only_listed, charge=self.charge)

    def read_stored(self, text: str, slot: FragmentSlot, place: str) -> FragmentExpr:
        """Return SQL of the dataset, which people with the right to write it stored, as one checked expression."""
        return self._parse(text, slot, place, only_listed=False, charge=None)

    def _parse(
        self,
        text: str,
        slot: FragmentSlot,
        place: str,
        *,
        only_listed: bool,
        charge: Callable[[str], None] | None,
    ) -> FragmentExpr:
        return self.parser.parse(
            self.render(text),
            spec=self.view.spec,
            slot=slot,
            place=place,
            names=self.view.names,
            only_listed=only_listed,
            charge=charge,
        )


def check_count(count: int, *, field: str) -> None:
    """Refuse a number of rows or series that is below 0 or beyond what every engine can count.

    Raises:
        LimitError: the count is out of bounds.
    """
    if not 0 <= count <= _LARGEST_COUNT:
        raise LimitError(f"{field} must be between 0 and {_LARGEST_COUNT}")
