"""Number formats as forms name them: texts in pictures, and what an axis of Vega-Lite needs to write the same."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from analytics_core._pictures.cells import exact
from analytics_core._tools.formats import Currency, format_number, parse_currency

SMART: Final = "SMART_NUMBER"
_LONGEST: Final = 40
_LONGEST_CURRENCY: Final = 8
_MINUS: Final = re.compile(r"(?<!e)-(?=[$\d.])")
"""Vega writes the sign U+2212 on axes; so do the texts beside them."""

_SMART_EXPRESSION: Final = (
    "datum.value === 0 ? '0' : abs(datum.value) >= 1000 ? replace(format(datum.value, '.3~s'), 'G', 'B') : "
    "abs(datum.value) >= 1 ? format(datum.value, '.2~f') : "
    "format(datum.value, abs(datum.value) >= 0.001 ? '.4~f' : '.3~s')"
)
_DURATION_EXPRESSION: Final = (
    "abs(datum.value) >= 86400000 ? format(datum.value / 86400000, '.3~r') + 'd' : "
    "abs(datum.value) >= 3600000 ? format(datum.value / 3600000, '.3~r') + 'h' : "
    "abs(datum.value) >= 60000 ? format(datum.value / 60000, '.3~r') + 'm' : "
    "abs(datum.value) >= 1000 ? format(datum.value / 1000, '.3~r') + 's' : format(datum.value, '.3~r') + 'ms'"
)


def _memory_expression(step: int, after: str) -> str:
    power = f"(abs(datum.value) < {step} ? 0 : min(8, floor(log(abs(datum.value)) / log({step}) + 1e-9)))"
    units = [unit + ("i" if unit and step == 1024 else "") for unit in ("", *"kMGTPEZY")]
    if step == 1024:
        units[1] = "Ki"
    return f"format(datum.value / pow({step}, {power}), '.2~f') + {json.dumps(units)}[{power}] + 'B{after}'"


_EXPRESSIONS: Final[Mapping[str, str]] = {
    SMART: _SMART_EXPRESSION,
    "SMART_NUMBER_SIGNED": f"(datum.value > 0 ? '+' : '') + ({_SMART_EXPRESSION})",
    **dict.fromkeys(("DURATION", "DURATION_SUB", "DURATION_COL"), _DURATION_EXPRESSION),
    "MEMORY_DECIMAL": _memory_expression(1000, ""),
    "MEMORY_BINARY": _memory_expression(1024, ""),
    "MEMORY_TRANSFER_RATE_DECIMAL": _memory_expression(1000, "/s"),
    "MEMORY_TRANSFER_RATE_BINARY": _memory_expression(1024, "/s"),
}
"""How an axis writes the formats that have a name; a duration there is in one unit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberFormat:
    """How numbers are written.

    Args:
        spec: a format of d3, or one that has a name.
        currency: what stands beside each number; None for none.
    """

    spec: str = SMART
    currency: Currency | None = None

    def text(self, value: float | None) -> str:
        """Return a number as text; empty where there is none."""
        if value is None or not math.isfinite(value):
            return ""
        return with_minus(format_number(exact(value), self.spec, currency=self.currency))

    def axis(self) -> dict[str, Any]:
        """Return what an axis or legend of Vega-Lite needs to write its labels so; all its texts are literals.

        It is an expression, since the format of an axis would take its digits from the ticks.
        """
        written = _EXPRESSIONS.get(self.spec) or f"format(datum.value, {json.dumps(self._d3_spec())})"
        if self.currency is None:
            return {"labelExpr": written}
        before, _, after = self.currency.beside("\0").partition("\0")
        return {"labelExpr": f"{json.dumps(before)} + ({written}) + {json.dumps(after)}"}

    def _d3_spec(self) -> str:
        if self.currency is None:
            return self.spec
        plain = self.spec.replace("$", "")
        return plain[:-1] + {"%": "f", "p": "r"}.get(plain[-1:], plain[-1:])


def with_minus(text: str) -> str:
    """Return the text of a number with the minus sign of pictures."""
    return _MINUS.sub("\u2212", text)


def number_format(spec: Any, currency: Any = None) -> NumberFormat | None:
    """Return the format of a form's field; None where the field names no format.

    Args:
        spec: the field; absent is the smart one.
        currency: an object of `symbol` (ISO 4217) and `symbolPosition` (prefix or suffix); ignored where it is none.
    """
    beside = parse_currency(currency)
    if beside is not None and not (len(beside.symbol) <= _LONGEST_CURRENCY and beside.symbol.isprintable()):
        beside = None
    if spec is None or spec == "":
        return NumberFormat(currency=beside)
    if not isinstance(spec, str) or len(spec) > _LONGEST:
        return None
    try:
        written = format_number(1.0, spec)
    except ValueError:
        return None
    return NumberFormat(spec=spec, currency=beside) if len(written) <= _LONGEST else None
