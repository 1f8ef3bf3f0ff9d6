"""Number formats as forms name them (those of d3, and a few of their own): texts in pictures, and axes of Vega."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal, localcontext
from types import MappingProxyType
from typing import Any, Final

SMART: Final = "SMART_NUMBER"
_SPEC: Final = re.compile(
    r"(?:(?P<fill>[^{}])?(?P<align>[<>=^]))?(?P<sign>[-+( ])?(?P<symbol>[$#])?(?P<zero>0)?(?P<width>\d{1,2})?"
    r"(?P<comma>,)?(?P<precision>\.\d{1,2})?(?P<trim>~)?(?P<type>[a-zA-Z%])?"
)
_TYPES: Final = frozenset("efgrsp%bodxXcn")
_PREFIXES: Final = "yzafpnµm kMGTPEZY"
_MOST_DIGITS: Final = 20
_MINUS: Final = "\u2212"
_CURRENCIES: Final[Mapping[str, str]] = {
    "USD": "$",
    "EUR": "€",
    "GBP": "£",
    "JPY": "¥",
    "CNY": "CN¥",
    "INR": "₹",
    "KRW": "₩",
    "BRL": "R$",
    "ILS": "₪",
    "MXN": "MX$",
    "CAD": "CA$",
    "AUD": "A$",
    "NZD": "NZ$",
    "VND": "₫",
    "PHP": "₱",
    "XAF": "FCFA",
    "XOF": "F\u202fCFA",
}
_NAMED: Final[Mapping[str, str]] = {"SMART_NUMBER": "smart", "SMART_NUMBER_SIGNED": "signed", "~g": ""}
_SPANS: Final[Mapping[str, float]] = {"DURATION": 1, "DURATION_SUB": 1, "DURATION_COL": 1}
_BYTES: Final[Mapping[str, int]] = {"MEMORY_DECIMAL": 1000, "MEMORY_BINARY": 1024}
_RATES: Final[Mapping[str, int]] = {"MEMORY_TRANSFER_RATE_DECIMAL": 1000, "MEMORY_TRANSFER_RATE_BINARY": 1024}


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberFormat:
    """How numbers are written.

    Args:
        kind: `d3`, `smart`, `signed`, `duration`, `memory` or `rate`.
        spec: the d3 format; for sizes of memory the step between two units.
        before: what stands before the number, such as a currency.
        after: what stands after it.
    """

    kind: str = "smart"
    spec: str = ""
    before: str = ""
    after: str = ""

    def text(self, value: float | None) -> str:
        """Return a number as text; empty where there is none."""
        if value is None or not math.isfinite(value):
            return ""
        written = self._written(value)
        if self.before and written.startswith((_MINUS, "-")):
            return f"{written[0]}{self.before}{written[1:]}{self.after}"
        return f"{self.before}{written}{self.after}"

    def _written(self, value: float) -> str:
        if self.kind in ("smart", "signed"):
            return f"{'+' if self.kind == 'signed' and value > 0 else ''}{smart(value)}"
        if self.kind == "duration":
            return duration(value, colons=self.spec == "colons")
        if self.kind in ("memory", "rate"):
            return f"{memory(value, int(self.spec))}{'/s' if self.kind == 'rate' else ''}"
        return d3_number(value, self.spec)

    def axis(self) -> dict[str, Any]:
        """Return what an axis or legend of Vega-Lite needs to write its labels so; all its texts are literals.

        It is an expression, since the format of an axis would take its digits from the ticks.
        """
        if self.kind == "d3" and not self.spec and not (self.before or self.after):
            return {}
        written = {
            "smart": _SMART_EXPRESSION,
            "signed": f"(datum.value > 0 ? '+' : '') + ({_SMART_EXPRESSION})",
            "d3": f"format(datum.value, {json.dumps(self.spec)})",
            "duration": _DURATION_EXPRESSION,
            "memory": _MEMORY_EXPRESSION,
            "rate": f"{_MEMORY_EXPRESSION} + '/s'",
        }[self.kind]
        if not (self.before or self.after):
            return {"labelExpr": written}
        return {"labelExpr": f"{json.dumps(self.before)} + ({written}) + {json.dumps(self.after)}"}


_SMART_EXPRESSION: Final = (
    "datum.value === 0 ? '0' : abs(datum.value) >= 1000 || abs(datum.value) < 0.001 "
    "? replace(format(datum.value, '.3~s'), 'G', 'B') : format(datum.value, '.3~r')"
)
_DURATION_EXPRESSION: Final = (
    "abs(datum.value) >= 86400000 ? format(datum.value / 86400000, '.3~r') + 'd' : "
    "abs(datum.value) >= 3600000 ? format(datum.value / 3600000, '.3~r') + 'h' : "
    "abs(datum.value) >= 60000 ? format(datum.value / 60000, '.3~r') + 'm' : "
    "abs(datum.value) >= 1000 ? format(datum.value / 1000, '.3~r') + 's' : format(datum.value, '.3~r') + 'ms'"
)
_MEMORY_EXPRESSION: Final = "format(datum.value, '.3~s') + 'B'"


def number_format(spec: Any, currency: Any = None) -> NumberFormat | None:
    """Return the format of a form's field; None where the field names no format.

    Args:
        spec: the field; absent is the smart one.
        currency: an object of `symbol` (ISO 4217) and `symbolPosition` (prefix or suffix).
    """
    found = _named(spec)
    if found is None:
        return None
    before, after = _currency(currency)
    return NumberFormat(kind=found[0], spec=found[1], before=before, after=after)


def _named(spec: Any) -> tuple[str, str] | None:
    if spec is None or spec == "":
        return "smart", ""
    if not isinstance(spec, str):
        return None
    if spec in _SPANS:
        return "duration", "colons" if spec == "DURATION_COL" else ""
    if spec in _NAMED:
        return (_NAMED[spec], "") if _NAMED[spec] else ("d3", "~g")
    if spec in _BYTES or spec in _RATES:
        return ("memory", str(_BYTES[spec])) if spec in _BYTES else ("rate", str(_RATES[spec]))
    match = _SPEC.fullmatch(spec)
    is_known = match is not None and (match["type"] is None or match["type"] in _TYPES)
    return ("d3", spec) if is_known else None


def _currency(told: Any) -> tuple[str, str]:
    if not isinstance(told, Mapping):
        return "", ""
    code, place = told.get("symbol"), told.get("symbolPosition")
    if not isinstance(code, str) or not 1 <= len(code) <= 8 or not code.isprintable():
        return "", ""
    sign = _CURRENCIES.get(code, code)
    if place == "suffix":
        return "", f" {sign}"
    return (sign if not sign[-1].isalpha() else f"{sign} "), ""


def smart(value: float) -> str:
    """Return a number with three digits and a letter for its thousands (B for billions)."""
    if value == 0:
        return "0"
    if abs(value) >= 1_000 or abs(value) < 0.001:
        return d3_number(value, ".3~s").replace("G", "B")
    return d3_number(value, ".3~r")


def duration(value_ms: float, *, colons: bool = False) -> str:
    """Return a span of milliseconds in its two largest units."""
    sign, left = (_MINUS if value_ms < 0 else ""), abs(value_ms)
    if colons:
        seconds = int(left // 1000)
        hours, minutes = seconds // 3600, seconds // 60 % 60
        return f"{sign}{f'{hours}:{minutes:02d}' if hours else minutes}:{seconds % 60:02d}"
    if left < 1_000:
        return f"{sign}{d3_number(left, '.3~r')}ms"
    parts = []
    for unit, size in (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000)):
        count, left = divmod(left, size)
        if count:
            parts.append(f"{int(count)}{unit}")
    return sign + " ".join(parts[:2])


def memory(value: float, step: int) -> str:
    """Return a number of bytes; a step of 1024 has units such as KiB."""
    power = 0
    while abs(value) >= step and power < 8:
        value, power = value / step, power + 1
    unit = ("", *"KMGTPEZY")[power]
    if power and step == 1000:
        unit = unit.replace("K", "k")
    return f"{d3_number(value, '.4~r')}{unit}{'i' if power and step == 1024 else ''}B"


def d3_number(value: float, spec: str) -> str:
    """Return a number in a format of d3; one that is no format is written plainly."""
    match = _SPEC.fullmatch(spec)
    if match is None:
        return repr(value)
    kind, precision = match["type"], int(match["precision"][1:]) if match["precision"] else None
    trim, comma = bool(match["trim"]), bool(match["comma"])
    if kind == "n":
        kind, comma = "g", True
    elif kind is None:
        kind, trim, precision = "g", True, 12 if precision is None else precision
    body, tail = _digits(abs(value), kind, 6 if precision is None else precision)
    if trim:
        body = _trimmed(body)
    is_negative = value < 0 and any(digit in "123456789abcdefABCDEF" for digit in body)
    if comma:
        whole, dot, fraction = body.partition(".")
        body = f"{int(whole):,}{dot}{fraction}" if whole.isdigit() else body
    return _placed(match, body + tail, is_negative=is_negative)


def _placed(match: re.Match[str], body: str, *, is_negative: bool) -> str:
    sign = match["sign"] or "-"
    before = {"(": "(" if is_negative else ""}.get(sign, _MINUS if is_negative else {"+": "+", " ": " "}.get(sign, ""))
    after = ")" if sign == "(" and is_negative else ""
    symbol = "$" if match["symbol"] == "$" else ""
    width, written = int(match["width"] or 0), f"{before}{symbol}{body}{after}"
    fill = "0" if match["zero"] else match["fill"] or " "
    missing = fill * max(width - len(written), 0)
    if match["zero"] or match["align"] == "=":
        return f"{before}{symbol}{missing}{body}{after}"
    if match["align"] == "<":
        return written + missing
    if match["align"] == "^":
        half = len(missing) // 2
        return missing[:half] + written + missing[half:]
    return missing + written


def _digits(value: float, kind: str, precision: int) -> tuple[str, str]:
    """Return the digits of a number that is not negative, and what follows them."""
    if kind == "s":
        return _prefixed(value, max(precision, 1))
    if kind in "bodxX":
        return format(int(Decimal(value).to_integral_value(ROUND_HALF_UP)), kind), ""
    if kind in "%p":
        return _DIGITS["f" if kind == "%" else "r"](value * 100, precision), "%"
    return _DIGITS.get(kind, _general)(value, precision), ""


def _fixed(value: float, precision: int) -> str:
    precision = min(precision, _MOST_DIGITS)
    if value >= 1e20:
        return f"{value:.{precision}f}"
    with localcontext(prec=60):
        return f"{Decimal(value).quantize(Decimal(1).scaleb(-precision), ROUND_HALF_UP):f}"


def _exponent(value: float, precision: int) -> str:
    mantissa, power = f"{value:.{precision}e}".split("e")
    return f"{mantissa}e{'+' if int(power) >= 0 else '-'}{abs(int(power))}"


def _general(value: float, precision: int) -> str:
    precision = max(precision, 1)
    if value and not 1e-6 <= value < 10.0**precision:
        return _exponent(value, precision - 1)
    return _rounded(value, precision)


def _rounded(value: float, precision: int) -> str:
    """Return a number with some significant digits, without an exponent."""
    precision = max(precision, 1)
    if value == 0:
        return "0" if precision <= 1 else "0." + "0" * (precision - 1)
    power = int(f"{value:.{precision - 1}e}".split("e")[1])
    if precision - 1 - power >= 0:
        return f"{value:.{precision - 1 - power}f}"
    unit = 10 ** (power - precision + 1)
    return str(round(value / unit) * unit)


_DIGITS: Final[Mapping[str, Callable[[float, int], str]]] = MappingProxyType(
    {"f": _fixed, "e": _exponent, "r": _rounded, "g": _general}
)


def _prefixed(value: float, precision: int) -> tuple[str, str]:
    if value == 0:
        return _rounded(0.0, precision), ""
    power = int(f"{value:.{precision - 1}e}".split("e")[1])
    step = max(-8, min(8, power // 3))
    return _rounded(value / 10.0 ** (3 * step), precision), _PREFIXES[step + 8].strip()


def _trimmed(body: str) -> str:
    mantissa, e, power = body.partition("e")
    return (mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa) + e + power
