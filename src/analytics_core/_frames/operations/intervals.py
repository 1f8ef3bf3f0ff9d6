"""The intervals that `resample` reads: pandas' own names, and the older ones that clients still send."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import pandas as pd
from pandas.tseries.frequencies import to_offset

from analytics_core.errors import PostProcessingError

_RULE: Final = re.compile(r"\s*(?:\d+(?:\.\d+)?)?\s*[A-Za-z]+(?:-[A-Za-z0-9]+)?(?:\s*\d+(?:\.\d+)?\s*[A-Za-z]+)*\s*")
_UNIT: Final = re.compile(r"(?P<unit>[A-Za-z]+)(?P<anchor>-[A-Za-z0-9]+)?")
_SMALL: Final = frozenset({"h", "min", "s", "ms", "us", "ns", "bh", "cbh"})
"""Units that pandas writes in small letters; all others are capitals."""

_OLDER: Final[Mapping[str, str]] = MappingProxyType(
    {"M": "ME", "Q": "QE", "Y": "YE", "A": "YE", "AS": "YS", "SM": "SME"}
    | {"BM": "BME", "BQ": "BQE", "BY": "BYE", "BA": "BYE", "BAS": "BYS", "CBM": "CBME"}
    | {"H": "h", "BH": "bh", "CBH": "cbh", "T": "min", "MIN": "min", "S": "s"}
    | {"L": "ms", "U": "us", "US": "us", "N": "ns", "NS": "ns"}
)
"""Older names, in capitals, and those of today."""

_EXAMPLES: Final = "15min, 1h, 1D, 1W, 1MS (months by their first day), 1ME (by their last), 1QS, 1YS"


def parse_interval(rule: str) -> pd.offsets.BaseOffset:
    """Return the interval that a rule names, such as `15D`, `1min`, `1QS`, or in older words `1T`, `1M`, `1AS`.

    Capitals and small letters are alike, but for `ms` (milliseconds) and `MS` (months by their first day).

    Raises:
        PostProcessingError: the rule names no interval, or one that does not go forward.
    """
    try:
        offset = to_offset(_in_todays_words(rule)) if _RULE.fullmatch(rule) else None
    except (ValueError, OverflowError):
        offset = None
    if offset is None or offset.n < 1:
        raise PostProcessingError(f"rule: {rule!r} is no interval; use a count and a unit, such as {_EXAMPLES}")
    return offset


def _in_todays_words(rule: str) -> str:
    return _UNIT.sub(_unit_of_today, rule.strip())


def _unit_of_today(found: re.Match[str]) -> str:
    unit, anchor = found["unit"], found["anchor"] or ""
    if unit not in _SMALL:
        unit = _OLDER.get(unit.upper(), unit.upper())
    return f"{unit}{anchor.upper()}"
