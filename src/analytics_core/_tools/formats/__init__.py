"""Numbers and moments as the formats of a chart write them; pure."""

from analytics_core._tools.formats.numbers import Currency, format_number, parse_currency
from analytics_core._tools.formats.times import format_time

__all__ = ["Currency", "format_number", "format_time", "parse_currency"]
