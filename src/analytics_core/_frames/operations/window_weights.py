"""The weights inside a rolling window, by the window types of the contract."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from analytics_core._frames.operations.checks import Array
from analytics_core.errors import PostProcessingError
from analytics_core.models.postprocessing import WindowType


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """How the weights of a window type are made.

    Args:
        function: the name of SciPy's function.
        needed: the parameters it needs, each above 0.
        optional: further parameters and what they are by default.
    """

    function: str
    needed: tuple[str, ...] = ()
    optional: Mapping[str, float | None] = field(default_factory=lambda: MappingProxyType({}))


_SHAPES: Final[Mapping[WindowType, Shape]] = MappingProxyType(
    {kind: Shape(function=kind.value) for kind in WindowType}
    | {
        WindowType.KAISER: Shape(function="kaiser", needed=("beta",)),
        WindowType.GAUSSIAN: Shape(function="gaussian", needed=("std",)),
        WindowType.GENERAL_GAUSSIAN: Shape(function="general_gaussian", needed=("p", "sig")),
        WindowType.SLEPIAN: Shape(function="dpss", needed=("width",)),
        WindowType.EXPONENTIAL: Shape(function="exponential", optional=MappingProxyType({"center": None, "tau": 1.0})),
    }
)
_WIDEST_SLEPIAN: Final = 2.0


def parameter_names(kind: WindowType) -> tuple[str, ...]:
    """Return the parameters of a window type as `rolling_type_options` names them."""
    shape = _SHAPES[kind]
    return (*shape.needed, *shape.optional, "sym")


def window_weights(kind: WindowType, window: int, options: Mapping[str, Any]) -> Array:
    """Return one weight for each row of a window, the oldest row first.

    Args:
        kind: the window type.
        window: how many rows the window has.
        options: parameters by name. `sym` false makes a window one longer and drops its last weight. `center` of
            exponential counts rows from the oldest one; by default the middle of the window.

    Raises:
        PostProcessingError: a parameter is missing, no number or out of bounds.
    """
    from scipy.signal import windows

    shape = _SHAPES[kind]
    needed = [_number(kind, name, options.get(name), above=0) for name in shape.needed]
    optional = [
        default
        if options.get(name) is None
        else _number(kind, name, options[name], above=None if default is None else 0)
        for name, default in shape.optional.items()
    ]
    symmetric = _symmetric(kind, options)
    if kind is WindowType.SLEPIAN:
        return _slepian(window, needed[0], symmetric=symmetric)
    make = getattr(windows, shape.function)
    weights: Array = make(window, *needed, *optional, sym=symmetric)
    return weights


def _slepian(window: int, width: float, *, symmetric: bool) -> Array:
    """Return the Slepian window of a full bandwidth, as SciPy's former function of that name gave it.

    That function took the half of `width`, halved once more, as the bandwidth W of the first discrete prolate
    spheroidal sequence; `dpss` takes NW, the number of weights times W: so NW = window * width / 4. The former scaled
    the greatest weight to 1. The dpss of today scales that of an even number of weights otherwise.
    """
    from scipy.signal import windows

    if not width < _WIDEST_SLEPIAN:
        raise PostProcessingError(f"rolling_type_options: the width of slepian must be below 2, not {width:g}")
    sequence: Array = windows.dpss(window, window * width / 4, sym=symmetric)
    weights: Array = sequence / sequence.max()
    return weights


def _symmetric(kind: WindowType, options: Mapping[str, Any]) -> bool:
    """Return whether the weights mirror each other; with a `center` of exponential they do not."""
    given = options.get("sym")
    if given is not None and not isinstance(given, bool):
        raise PostProcessingError(f"rolling_type_options: sym of {kind.value} must be true or false")
    return options.get("center") is None if given is None else given and options.get("center") is None


def _number(kind: WindowType, name: str, value: Any, *, above: float | None) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise PostProcessingError(
            f"rolling_type_options: a {kind.value} window needs {name}, a number"
            f"{f' above {above:g}' if above is not None else ''}"
        )
    if above is not None and not value > above:
        raise PostProcessingError(
            f"rolling_type_options: {name} of a {kind.value} window must be above {above:g}, not {value:g}"
        )
    return float(np.float64(value))
