"""Time texts of the contract (`time_range`): a closed grammar, and what its texts mean at a given moment.

`tokens` cuts the text, `parser` reads the grammar into the ranges of `moments`, `resolution` asks one for its bounds.
Accepted forms: docs/explanation/time.md.
"""

from analytics_core._engine.compile.time_range.moments import RangeNode
from analytics_core._engine.compile.time_range.parser import parse_moment, parse_time_range
from analytics_core._engine.compile.time_range.resolution import TimeRange, render_time_range, resolve_time_range

__all__ = ["RangeNode", "TimeRange", "parse_moment", "parse_time_range", "render_time_range", "resolve_time_range"]
