"""How time grains are shown to people: by a name, and by the SQL that an engine cuts moments with."""

from __future__ import annotations

import re
from collections.abc import Mapping

from sqlglot import exp

from analytics_core._engines.spec import EngineSpec
from analytics_core.models.enums import TimeGrain

_COLUMN = re.compile(r"\bcol\b")
_NAMES: Mapping[TimeGrain, str] = {
    TimeGrain.SECOND: "Second",
    TimeGrain.FIVE_SECONDS: "5 second",
    TimeGrain.THIRTY_SECONDS: "30 second",
    TimeGrain.MINUTE: "Minute",
    TimeGrain.FIVE_MINUTES: "5 minute",
    TimeGrain.TEN_MINUTES: "10 minute",
    TimeGrain.FIFTEEN_MINUTES: "15 minute",
    TimeGrain.THIRTY_MINUTES: "30 minute",
    TimeGrain.HOUR: "Hour",
    TimeGrain.TWO_HOURS: "2 hour",
    TimeGrain.FOUR_HOURS: "4 hour",
    TimeGrain.SIX_HOURS: "6 hour",
    TimeGrain.EIGHT_HOURS: "8 hour",
    TimeGrain.TEN_HOURS: "10 hour",
    TimeGrain.TWELVE_HOURS: "12 hour",
    TimeGrain.DAY: "Day",
    TimeGrain.WEEK: "Week",
    TimeGrain.MONTH: "Month",
    TimeGrain.QUARTER: "Quarter",
    TimeGrain.YEAR: "Year",
    TimeGrain.WEEK_STARTING_SUNDAY: "Week starting Sunday",
    TimeGrain.WEEK_STARTING_MONDAY: "Week starting Monday",
    TimeGrain.WEEK_ENDING_SATURDAY: "Week ending Saturday",
    TimeGrain.WEEK_ENDING_SUNDAY: "Week ending Sunday",
}


def grain_name(grain: TimeGrain) -> str:
    """Return the grain's name for people."""
    return _NAMES[grain]


def grain_function(spec: EngineSpec, grain: TimeGrain) -> str:
    """Return the engine's SQL for the grain, with `{col}` in the place of the moment."""
    column = exp.Column(this=exp.Identifier(this="col", quoted=False))
    text: str = spec.bucket(column, grain).sql(spec.dialect, comments=False)
    return _COLUMN.sub("{col}", text)
