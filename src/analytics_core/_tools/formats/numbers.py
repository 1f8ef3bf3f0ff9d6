"""Numbers as the formats of a chart write them: d3 formats (`,.2f`, `.1%`, `$,.0f`, `.3~s`) and named ones; pure.

A minus sign is `-`, so that what is copied into a spreadsheet stays a number.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Context, Decimal
from numbers import Integral
from typing import Any, Final

_FORMAT: Final = re.compile(
    r"(?:(?P<fill>.)?(?P<align>[<>=^]))?(?P<sign>[-+( ])?(?P<symbol>[$#])?(?P<zero>0)?(?P<width>\d{1,3})?"
    r"(?P<comma>,)?(?:\.(?P<precision>\d{1,3}))?(?P<trim>~)?(?P<type>[bcdefgnoprsxX%])?"
)
_EXACT: Final = Context(prec=800, rounding=ROUND_HALF_UP, Emax=999_999, Emin=-999_999)
"""Holds every double with all its digits, and twenty more."""

_MOST_DIGITS: Final = 21
_DOUBLES: Final = range(-324, 309)
"""Exponents of ten that doubles have."""

_PREFIXES: Final = dict(zip(range(-8, 9), "yzafpnµm kMGTPEZY", strict=True)) | {0: ""}
_BASES: Final = {"b": "b", "o": "o", "x": "x", "X": "X"}
_SIGNS_OF_CURRENCIES: Final = {
    "USD": "$",
    "EUR": "€",
    "GBP": "£",
    "JPY": "¥",
    "CNY": "CN¥",
    "INR": "₹",
    "KRW": "₩",
    "ILS": "₪",
    "VND": "₫",
    "PHP": "₱",
    "BRL": "R$",
    "MXN": "MX$",
    "CAD": "CA$",
    "AUD": "A$",
    "NZD": "NZ$",
    "XAF": "FCFA",
    "XOF": "F\u202fCFA",
}
_WRONG: Final = "is no number format; give one of d3, such as ',.2f', '.1%' or '.3~s', or one of"


@dataclass(frozen=True, slots=True, kw_only=True)
class Currency:
    """What stands beside an amount: the sign or code of a currency, before it or behind."""

    symbol: str
    is_behind: bool = False

    def beside(self, amount: str) -> str:
        """Return an amount, which is text already, with the sign beside it."""
        return f"{amount} {self.symbol}" if self.is_behind else f"{self.symbol} {amount}"


def parse_currency(given: Any) -> Currency | None:
    """Return the currency of a `currency_format` or of a metric, as a mapping or its JSON text; None for none.

    Codes of common currencies become their signs: `{"symbol": "EUR", "symbolPosition": "suffix"}` is `€`, behind.
    """
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            return None
    symbol = given.get("symbol") if isinstance(given, Mapping) else None
    if not isinstance(symbol, str) or not symbol.strip() or symbol == "AUTO":
        return None
    sign = _SIGNS_OF_CURRENCIES.get(symbol.strip(), symbol.strip())
    return Currency(symbol=sign, is_behind=given.get("symbolPosition") == "suffix")


def format_number(value: Any, d3_format: str, *, currency: Currency | None = None) -> str:
    """Return a number as a d3 format, or a named one, writes it.

    None is empty; what is no number, Booleans included, is its text. Decimals and whole numbers keep all their digits.
    With a currency the format's own `$` and `%` are left out.

    Raises:
        ValueError: there is no such format; the message says what would work.

    Examples:
        >>> format_number(1234.5, ",.2f"), format_number(0.256, ".1%"), format_number(42_000_000, "SMART_NUMBER")
        ('1,234.50', '25.6%', '42M')
    """
    write = NAMED_FORMATS.get(d3_format) or _d3_writer(d3_format, currency)
    if value is None:
        return ""
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        return str(value)
    number = _decimal(value)
    text = write(number) if number.is_finite() else str(number)
    return text if currency is None else currency.beside(text)


def _decimal(value: Any) -> Decimal:
    """Return a number with all its digits; beyond the range of doubles it is infinite, or 0."""
    number = (
        value if isinstance(value, Decimal) else Decimal(int(value) if isinstance(value, Integral) else float(value))
    )
    if not number.is_finite() or not number:
        return Decimal("NaN") if number.is_nan() else number
    if number.adjusted() in _DOUBLES:
        return number
    return Decimal(0 if number.adjusted() < 0 else "Infinity").copy_sign(number)


# ----------------------------------------------------------------------------------------------------- d3's numbers
@dataclass(frozen=True, slots=True, kw_only=True)
class _Format:
    """The parts of a d3 format: `[[fill]align][sign][symbol][0][width][,][.precision][~][type]`."""

    fill: str = " "
    align: str = ">"
    sign: str = "-"
    symbol: str = ""
    width: int = 0
    comma: bool = False
    precision: int = 6
    trim: bool = False
    type: str = "g"


def _d3_writer(text: str, currency: Currency | None) -> Callable[[Decimal], str]:
    found = _parsed(text)
    if currency is not None:
        kind = "f" if found.type == "%" else "r" if found.type == "p" else found.type
        found = replace(found, symbol=found.symbol.replace("$", ""), type=kind)
    return lambda number: _d3_text(number, found)


def _parsed(text: str) -> _Format:
    found = _FORMAT.fullmatch(text)
    if found is None:
        raise ValueError(f"{text[:50]!r} {_WRONG} {', '.join(NAMED_FORMATS)}")
    kind, precision = found["type"] or "", found["precision"]
    trim, comma = bool(found["trim"]), bool(found["comma"])
    if kind == "n":
        kind, comma = "g", True
    elif not kind:
        kind, trim, precision = "g", True, "12" if precision is None else precision
    least, most = (1, _MOST_DIGITS) if kind in "gprs" else (0, _MOST_DIGITS - 1)
    fill, align = found["fill"] or " ", found["align"] or ">"
    if found["zero"] or (fill == "0" and align == "="):
        fill, align = "0", "="
    return _Format(
        fill=fill,
        align=align,
        sign=found["sign"] or "-",
        symbol=found["symbol"] or "",
        width=int(found["width"] or 0),
        comma=comma,
        precision=6 if precision is None else max(least, min(most, int(precision))),
        trim=trim,
        type=kind,
    )


def _d3_text(number: Decimal, form: _Format) -> str:
    digits, behind = _unsigned(number, form)
    is_negative = number.is_signed()
    if is_negative and form.sign != "+" and not re.search(r"[1-9a-df-zA-Z]", digits):
        is_negative = False
    symbol = {"$": "$", "#": f"0{_BASES[form.type].lower()}" if form.type in _BASES else ""}.get(form.symbol, "")
    sign = ("(" if form.sign == "(" else "-") if is_negative else form.sign if form.sign in "+ " else ""
    before, behind = sign + symbol, behind + (")" if is_negative and form.sign == "(" else "")
    integer, rest = _split(digits) if form.type in "defgprs%" else (digits, "")
    return _placed(before, integer, rest + behind, form)


def _placed(before: str, integer: str, behind: str, form: _Format) -> str:
    """Return the parts of a number with commas between its thousands, in the width of the format."""
    is_zero_filled = form.fill == "0" and form.align == "="
    if form.comma and not is_zero_filled:
        integer = _grouped(integer, None)
    missing = form.width - len(before) - len(integer) - len(behind)
    padding = form.fill * missing
    if form.comma and is_zero_filled:
        integer = _grouped(padding + integer, form.width - len(behind) if padding else None)
        padding = ""
    if form.align == "<":
        return before + integer + behind + padding
    if form.align == "=":
        return before + padding + integer + behind
    middle = len(padding) // 2 if form.align == "^" else len(padding)
    return padding[:middle] + before + integer + behind + padding[middle:]


def _split(digits: str) -> tuple[str, str]:
    found = re.match(r"\d*", digits)
    end = found.end() if found else 0
    return digits[:end], digits[end:]


def _grouped(digits: str, width: int | None) -> str:
    """Return digits with commas between their thousands, at most `width` characters of them; None is no bound."""
    groups: list[str] = []
    end, length = len(digits), 0
    while end > 0:
        size = 3 if width is None or length + 4 <= width else max(1, width - length)
        groups.append(digits[max(0, end - size) : end])
        end, length = end - size, length + size + 1
        if width is not None and length > width:
            break
    return ",".join(reversed(groups))


def _unsigned(number: Decimal, form: _Format) -> tuple[str, str]:
    """Return a number without its sign, and what stands behind it."""
    behind = "%" if form.type in "%p" else ""
    size = number.copy_abs()
    if form.type in "%p":
        size = _EXACT.multiply(size, Decimal(100))
    if form.type == "s":
        digits, prefix = _with_prefix(size, form.precision)
        return (_trimmed(digits) if form.trim else digits), prefix
    digits = _WRITERS[form.type](size, form.precision)
    return (_trimmed(digits) if form.trim else digits), behind


def _trimmed(digits: str) -> str:
    """Return a number without the zeros at the end of its fraction."""
    return re.sub(r"(\.\d*?)0+(?=$|e)", r"\1", digits).replace(".e", "e").removesuffix(".")


def _fixed(size: Decimal, digits: int) -> str:
    if size.adjusted() >= _MOST_DIGITS:
        return _shortest(size)
    return f"{size.quantize(Decimal(1).scaleb(-digits), context=_EXACT):f}"


def _integer_text(size: Decimal, _digits: int = 0) -> str:
    return f"{size.quantize(Decimal(1), context=_EXACT):f}"


def _shortest(size: Decimal) -> str:
    digits = _trimmed(_exponential(size, min(16, len(size.as_tuple().digits) - 1)))
    near = float(size)
    return repr(near).removesuffix(".0") if Decimal(near) == size else digits


def _rounded(size: Decimal, digits: int) -> Decimal:
    """Return a number rounded to so many digits that count."""
    return size if not size else Context(prec=digits, rounding=ROUND_HALF_UP).plus(size)


def _exponential(size: Decimal, digits: int) -> str:
    rounded = _rounded(size, digits + 1)
    exponent = rounded.adjusted() if rounded else 0
    figures = f"{rounded.scaleb(-exponent, context=_EXACT).quantize(Decimal(1).scaleb(-digits), context=_EXACT):f}"
    return f"{figures}e{exponent:+d}"


def _general(size: Decimal, digits: int) -> str:
    rounded = _rounded(size, digits)
    exponent = rounded.adjusted() if rounded else 0
    if exponent < -6 or exponent >= digits:
        return _exponential(size, digits - 1)
    return _fixed(rounded, digits - 1 - exponent)


def _significant(size: Decimal, digits: int) -> str:
    """Return a number rounded to so many digits that count, without an exponent."""
    rounded = _rounded(size, digits)
    exponent = rounded.adjusted() if rounded else 0
    return f"{rounded.quantize(Decimal(1).scaleb(-max(0, digits - 1 - exponent)), context=_EXACT):f}"


def _with_prefix(size: Decimal, digits: int) -> tuple[str, str]:
    """Return a number rounded to so many digits that count, in thousands of the prefix that is returned beside it."""
    rounded = _rounded(size, digits)
    exponent = rounded.adjusted() if rounded else 0
    thousands = max(-8, min(8, exponent // 3))
    scaled = size.scaleb(-3 * thousands, context=_EXACT)
    if exponent // 3 < thousands:  # less than the smallest prefix tells
        return _fixed(scaled, digits - 1), _PREFIXES[thousands]
    return _significant(scaled, digits), _PREFIXES[thousands]


def _base(base: str) -> Callable[[Decimal, int], str]:
    return lambda size, _digits: format(int(_integer_text(size)), base)


_WRITERS: Final[Mapping[str, Callable[[Decimal, int], str]]] = {
    "c": lambda size, _digits: _shortest(size),
    "d": _integer_text,
    "e": _exponential,
    "f": _fixed,
    "g": _general,
    "p": _significant,
    "r": _significant,
    "%": _fixed,
    **{name: _base(base) for name, base in _BASES.items()},
}


# ---------------------------------------------------------------------------------------------------- named numbers
def _smart(number: Decimal) -> str:
    """Return a number as short as it is still told from others of its size."""
    size = number.copy_abs()
    if not size:
        return "0"
    if size >= 1000:
        return format_number(number, ".3~s").replace("G", "B")
    if size >= 1:
        return format_number(number, ".2~f")
    return format_number(number, ".4~f" if size >= Decimal("0.001") else ".3~s")


def _smart_signed(number: Decimal) -> str:
    return f"+{_smart(number)}" if number > 0 else _smart(number)


_UNITS: Final = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "m"))


def _duration(number: Decimal) -> str:
    """Return milliseconds as days, hours, minutes and seconds: `1m 6s`."""
    if number.copy_abs() < 1000:
        return f"{format_number(number, '.0f')}ms"
    rest_ms, parts = Decimal(_integer_text(number.copy_abs() / 100)) * 100, []
    for size, unit in _UNITS:
        count, rest_ms = divmod(rest_ms, size)
        parts += [f"{count}{unit}"] if count else []
    seconds = _trimmed(_fixed(rest_ms / 1000, 1))
    parts += [f"{seconds}s"] if seconds != "0" else []
    return ("-" if number < 0 else "") + " ".join(parts)


def _small_duration(number: Decimal) -> str:
    """Return milliseconds as those, microseconds and nanoseconds: `1ms 400µs 80ns`."""
    millis, nanos = divmod(int(_integer_text(number.copy_abs() * 1_000_000)), 1_000_000)
    parts = ((millis, "ms"), (nanos // 1000, "µs"), (nanos % 1000, "ns"))
    text = " ".join(f"{count}{unit}" for count, unit in parts if count)
    return f"-{text}" if number < 0 and text else text or "0ms"


def _clock_duration(number: Decimal) -> str:
    """Return milliseconds as a clock counts them: `1:02:03`, `0:10.5`."""
    in_all, seconds = divmod(Decimal(_fixed(number.copy_abs() / 1000, 1)), 60)
    hours, minutes = divmod(int(in_all), 60)
    second = f"{'0' if seconds < 10 else ''}{_trimmed(str(seconds))}"
    clock = f"{hours}:{minutes:02d}:{second}" if hours else f"{minutes}:{second}"
    return f"-{clock}" if number < 0 and re.search("[1-9]", clock) else clock


def _if_short(write: Callable[[Decimal], str]) -> Callable[[Decimal], str]:
    """Return what writes durations, but for those of millions of years, which stay numbers."""
    return lambda number: format_number(number, "~g") if number.adjusted() >= _MOST_DIGITS else write(number)


def _bytes(step: int, suffix: str) -> Callable[[Decimal], str]:
    """Return what writes bytes in multiples of `step`: `1.02kB`, `1KiB/s`."""
    middle = "i" if step == 1024 else ""

    def write(number: Decimal) -> str:
        size, steps = number, 0
        while size.copy_abs() >= step and steps < 8:
            size, steps = size / step, steps + 1
        prefix = f"{(' kMGTPEZY' if step == 1000 else ' KMGTPEZY')[steps]}{middle}" if steps else ""
        return f"{format_number(size, '.2~f')}{prefix}B{suffix}"

    return write


NAMED_FORMATS: Final[Mapping[str, Callable[[Decimal], str]]] = {
    "SMART_NUMBER": _smart,
    "SMART_NUMBER_SIGNED": _smart_signed,
    "DURATION": _if_short(_duration),
    "DURATION_SUB": _if_short(_small_duration),
    "DURATION_COL": _if_short(_clock_duration),
    "MEMORY_DECIMAL": _bytes(1000, ""),
    "MEMORY_BINARY": _bytes(1024, ""),
    "MEMORY_TRANSFER_RATE_DECIMAL": _bytes(1000, "/s"),
    "MEMORY_TRANSFER_RATE_BINARY": _bytes(1024, "/s"),
}
"""Number formats of form data that have a name: what each writes. Durations are in milliseconds, memory in bytes."""
