"""`GuestCore`: what `as_guest` returns."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Self

from analytics_core._content.guests.namespaces import GuestCharts, GuestDashboards, reject
from analytics_core._content.questions.queries import ChartQueries
from analytics_core._core.display import core_blocks
from analytics_core._engine.rights.actor import Actor
from analytics_core._records.people import GuestVisit
from analytics_core._tools.display.blocks import Blocks
from analytics_core._tools.display.bundles import mime_bundle

if TYPE_CHECKING:
    from analytics_core._core.facade import AnalyticsCore


class GuestCore:
    """What a guest has of a core: the dashboards of their token, and their charts as they are stored.

    What an `AnalyticsCore` has beyond these is refused, now and later; what both have takes and gives the same types.
    It may be kept: each call asks anew whether the token is over or revoked.
    """

    def __init__(self, core: AnalyticsCore, visit: GuestVisit) -> None:
        self._core = core
        self._runtime = core._runtime
        self._visit = visit

    @property
    def charts(self) -> GuestCharts:
        """The charts of the guest's dashboards, and their answers."""
        return GuestCharts(self._runtime.content, self._visit)

    @property
    def dashboards(self) -> GuestDashboards:
        """The dashboards of the guest's token."""
        return GuestDashboards(self._runtime.content, self._visit)

    def as_of(self, moment: datetime) -> GuestCore:
        """Return the same with `moment` as now for time ranges and templates; errors as in `AnalyticsCore.as_of`."""
        return GuestCore(self._core.as_of(moment), self._visit)

    def close(self) -> None:
        """Close the core that this is a part of."""
        self._core.close()

    def _actor(self) -> Actor:
        """Return the guest who acts, with what their token opens now."""
        return self._runtime.content.guests.actor(self._visit)

    def _questions(self) -> ChartQueries:
        """Return the answers of the guest without their door, for `testing`: all rules bind."""
        return ChartQueries(self._runtime.content, self._actor())

    if not TYPE_CHECKING:  # for type checkers, what is refused is not there

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_") or not hasattr(type(self._core), name):
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            self._actor()  # a token that is over is told first
            reject("this part of the core")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_failure: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return "<GuestCore>"

    _repr_mimebundle_ = mime_bundle

    def _blocks(self) -> Blocks:
        return core_blocks(self, acting="a guest acts", kinds=("dashboards", "charts"))
