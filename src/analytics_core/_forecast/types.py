"""What goes into a forecast and what comes out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Moments = NDArray[np.datetime64]
SeasonOption = bool | int | None
"""None detects, True forces, False (or 0) leaves out, a number forces that many harmonics."""

ForecastModel = Literal["auto", "ets", "theta", "mstl", "sarimax"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Seasonality:
    """Which seasons to look for (contract, `weekly_seasonality`, `monthly_seasonality`, `yearly_seasonality`).

    Attributes:
        weekly: None detects the season, True forces it, False leaves it out, a number forces that many harmonics.
        monthly: the same for the month.
        yearly: the same for the year.
    """

    weekly: SeasonOption = None
    monthly: SeasonOption = None
    yearly: SeasonOption = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastResult:
    """A forecast: history rows first, then the future, all arrays of one length.

    Attributes:
        moments: the distinct moments given, in order, then `periods` moments after the last one; datetime64[us].
        yhat: one-step-ahead fits over the history, the forecast over the future; finite where anything was observed.
        lower: lower bound of the interval.
        upper: upper bound of the interval.
        history: how many rows belong to the history.
        notes: what was done otherwise than asked, as sentences.
    """

    moments: Moments
    yhat: Floats
    lower: Floats
    upper: Floats
    history: int
    notes: tuple[str, ...] = ()
