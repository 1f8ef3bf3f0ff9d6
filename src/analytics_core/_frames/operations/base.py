"""What an operation is: a name, the shape of its options, and a pure function from frame to frame."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from analytics_core.models.postprocessing import OperationOptions

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Apply", "Noted", "Operation", "OperationOptions"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """A frame with notes: what was done otherwise than asked, as sentences without a full stop."""

    frame: pd.DataFrame
    notes: tuple[str, ...]


Apply = Callable[["pd.DataFrame", Any], "pd.DataFrame | Noted"]
"""A frame and its checked options in, a new frame out, with notes or without; the input is never changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One operation of post-processing.

    Args:
        name: what `operation` says in a payload.
        options: the shape of its options.
        apply: the function; it raises PostProcessingError for what the frame cannot serve.
    """

    name: str
    options: type[OperationOptions]
    apply: Apply
