"""The names of time grains as people say them."""

from __future__ import annotations

from collections.abc import Mapping

from analytics_core.models.enums import TimeGrain

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
