"""Reads `rolling_type_options`: what a rolling type and a window type take, and in which bounds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from analytics_core._frames.operations.checks import listed
from analytics_core._frames.operations.window_weights import parameter_names
from analytics_core.errors import PostProcessingError
from analytics_core.models.postprocessing import RollingOptions, RollingType, WindowType

INTERPOLATIONS: Final = ("linear", "lower", "higher", "midpoint", "nearest")

_SAME: Final[Mapping[RollingType, RollingType]] = MappingProxyType(
    {
        RollingType.AVERAGE: RollingType.MEAN,
        RollingType.CUMSUM: RollingType.SUM,
        RollingType.CUMPROD: RollingType.PROD,
        RollingType.PRODUCT: RollingType.PROD,
        RollingType.NANSUM: RollingType.SUM,
        RollingType.NANMIN: RollingType.MIN,
        RollingType.NANMAX: RollingType.MAX,
        RollingType.NANMEAN: RollingType.MEAN,
        RollingType.NANMEDIAN: RollingType.MEDIAN,
        RollingType.NANPERCENTILE: RollingType.PERCENTILE,
    }
)
"""Types that are another one by a second name: nulls are left out of every window, and the last of the running sums
of a window is its sum."""

_OWN_OPTIONS: Final[Mapping[RollingType, tuple[str, ...]]] = MappingProxyType(
    {
        RollingType.STD: ("ddof",),
        RollingType.VAR: ("ddof",),
        RollingType.PERCENTILE: ("q", "interpolation"),
        RollingType.QUANTILE: ("quantile", "q", "interpolation"),
        RollingType.CORR: ("other",),
        RollingType.COV: ("other", "ddof"),
    }
)
_WEIGHTED: Final = frozenset({RollingType.SUM, RollingType.MEAN, RollingType.STD, RollingType.VAR})


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeOptions:
    """What is made of a window.

    Args:
        kind: the rolling type, each by one name.
        ddof: what is taken off the number of values in a variance.
        share: which quantile is taken, 0 to 1.
        interpolation: how, between two values.
        other: the column of the second variable.
    """

    kind: RollingType
    ddof: int = 1
    share: float = 0.5
    interpolation: str = "linear"
    other: str = ""


def read_type_options(options: RollingOptions) -> TypeOptions:
    """Return the options of the rolling type, checked.

    Raises:
        PostProcessingError: an option is missing, unknown or out of bounds, or the type knows no weights.
    """
    kind = _SAME.get(options.rolling_type, options.rolling_type)
    given = options.rolling_type_options
    _require_weights_fit(kind, options.win_type)
    _require_known(options, kind)
    return TypeOptions(
        kind=kind,
        ddof=_ddof(given),
        share=_share(kind, given),
        interpolation=_interpolation(given),
        other=_other(kind, given),
    )


def _require_weights_fit(kind: RollingType, win_type: WindowType | None) -> None:
    if win_type is not None and kind not in _WEIGHTED:
        fitting = [name.value for name in RollingType if _SAME.get(name, name) in _WEIGHTED]
        raise PostProcessingError(f"win_type: {kind.value} knows no weights; with a win_type use: {listed(fitting)}")


def _require_known(options: RollingOptions, kind: RollingType) -> None:
    known = _OWN_OPTIONS.get(kind, ()) + (parameter_names(options.win_type) if options.win_type else ())
    unknown = [name for name in options.rolling_type_options if name not in known]
    if unknown:
        with_window = f" with win_type {options.win_type.value}" if options.win_type else ""
        raise PostProcessingError(
            f"rolling_type_options: Invalid options for {options.rolling_type.value}{with_window}: {listed(unknown)}; "
            f"it takes: {listed(known)}"
        )


def _ddof(given: Mapping[str, Any]) -> int:
    ddof = given.get("ddof", 1)
    if isinstance(ddof, bool) or not isinstance(ddof, int) or ddof < 0:
        raise PostProcessingError("rolling_type_options: ddof must be a whole number, 0 or more")
    return ddof


def _share(kind: RollingType, given: Mapping[str, Any]) -> float:
    if kind is RollingType.PERCENTILE:
        return _number_up_to(100, given.get("q"), "percentile needs q") / 100
    if kind is RollingType.QUANTILE:
        return _number_up_to(1, given.get("quantile", given.get("q")), "quantile needs quantile")
    return 0.5


def _number_up_to(most: int, value: Any, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value) or not 0 <= value <= most:
        raise PostProcessingError(f"rolling_type_options: {what}, a number from 0 to {most}")
    return value


def _interpolation(given: Mapping[str, Any]) -> str:
    name = given.get("interpolation", "linear")
    if name not in INTERPOLATIONS:
        raise PostProcessingError(f"rolling_type_options: interpolation must be one of: {listed(INTERPOLATIONS)}")
    return str(name)


def _other(kind: RollingType, given: Mapping[str, Any]) -> str:
    if kind not in (RollingType.CORR, RollingType.COV):
        return ""
    other = given.get("other")
    if not isinstance(other, str):
        raise PostProcessingError(f"rolling_type_options: {kind.value} needs other, the name of the second column")
    return other
