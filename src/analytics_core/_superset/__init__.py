"""From the form data of charts to query contexts, one small builder per chart kind.

In comes what a front end stores of a chart; out goes the query context that it asks, with the fields behind each value.
Nothing is looked up.
"""

from typing import Final

ENTRY_POINTS: Final = "analytics_core.chart_kinds"
"""The group of entry points by which a package adds chart kinds: each names one `ChartKind`."""
