"""Which seasonal periods a grain may have, and what the caller's options make of them."""

from __future__ import annotations

from dataclasses import dataclass

from analytics_core._engine.forecast.time_axis import DAY_S, STEP_MONTHS, STEP_SECONDS, WEEK_S
from analytics_core.models.enums import TimeGrain

YEAR_S = 365.25 * DAY_S
MONTH_S = YEAR_S / 12

ENOUGH_EVIDENCE = 1.5
STRONG_EVIDENCE = 3.0
"""What the variance ratio of a detected season must exceed; the month needs more, since paydays do not keep to it."""

MOST_PHASES = 400
MOST_HARMONICS = 24
"""Longer periods are described by harmonics: a mean for each of 1440 minutes of the day would be mostly noise."""

LONGEST_LAG = 28
"""An autoregression looks back four weeks of days, two years of months, a day of hours at most."""


SeasonOption = bool | int | None
"""None detects, True forces, False (or 0) leaves out, a number forces that many harmonics."""


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
class Period:
    """One season to fit.

    Attributes:
        steps: its length in steps of the grain; not always whole.
        harmonics: how many harmonics describe it; None takes a mean for each phase.
        is_forced: whether it stays whatever the evidence.
        evidence: the variance ratio below which a detected season is dropped.
    """

    steps: float
    harmonics: int | None
    is_forced: bool = False
    evidence: float = ENOUGH_EVIDENCE


@dataclass(frozen=True, slots=True, kw_only=True)
class _Season:
    """A season of the calendar, the caller's option for it, and the harmonics it has where forced or detected."""

    name: str
    option: SeasonOption
    seconds: float
    forced: int | None = None
    detected: int | None = None
    evidence: float = ENOUGH_EVIDENCE


def longest_lag(grain: TimeGrain, seasonality: Seasonality) -> int:
    """Return how far back an autoregression may look: less than half a season switched off.

    With as many lags as a season has waves, an autoregression would draw the season by itself.
    """
    step = _step_seconds(grain)
    off = [season.seconds / step for season in _seasons(grain, seasonality) if _is_off(season)]
    return min([LONGEST_LAG, *(max(int(steps / 2) - 1, 1) for steps in off if steps >= 2)])


def choose_periods(
    grain: TimeGrain, seasonality: Seasonality, *, points: int
) -> tuple[tuple[Period, ...], tuple[str, ...]]:
    """Return the periods to try on `points` points, shortest first, and a note for each option not honoured."""
    step = _step_seconds(grain)
    periods: list[Period] = []
    notes: list[str] = []
    for season in _seasons(grain, seasonality):
        steps = season.seconds / step
        misfit = _misfit(steps, points)
        if misfit and season.option:
            notes.append(f"{season.name}_seasonality is left out: {misfit}")
        if not misfit and not _is_off(season) and _may_have(grain, season):
            periods.append(_period(season, steps))
    return tuple(periods), tuple(notes)


def _seasons(grain: TimeGrain, requested: Seasonality) -> tuple[_Season, ...]:
    of_the_year = 6 if STEP_SECONDS.get(grain, 0) <= DAY_S and grain not in STEP_MONTHS else 8
    full_year = None if grain in STEP_MONTHS else of_the_year
    return (
        _Season(name="daily", option=None, seconds=DAY_S),
        _Season(name="weekly", option=requested.weekly, seconds=WEEK_S),
        _Season(
            name="monthly", option=requested.monthly, seconds=MONTH_S, forced=5, detected=5, evidence=STRONG_EVIDENCE
        ),
        _Season(name="yearly", option=requested.yearly, seconds=YEAR_S, forced=10, detected=full_year),
    )


def _step_seconds(grain: TimeGrain) -> float:
    return STEP_SECONDS.get(grain) or STEP_MONTHS[grain] * MONTH_S


def _is_off(season: _Season) -> bool:
    return season.option is not None and not season.option


def _misfit(steps: float, points: int) -> str:
    if steps < 2:
        return "the grain is too long to show it"
    if points < 2 * steps + 1:
        return f"it needs more than two cycles of {steps:g} steps, and the series has {points}"
    return ""


def _may_have(grain: TimeGrain, season: _Season) -> bool:
    """Whether this grain shows this season unasked: weeks do not show months."""
    return bool(season.option) or season.name != "monthly" or STEP_SECONDS.get(grain, WEEK_S) <= DAY_S


def _period(season: _Season, steps: float) -> Period:
    """The season as a period; one too long for a mean of each phase is described by harmonics."""
    forced = season.option is not None
    wanted = season.forced if forced else season.detected
    if forced and season.option is not True:
        wanted = int(season.option or 0)
    has_phases = abs(steps - round(steps)) < 1e-9 and steps <= MOST_PHASES
    if wanted is None and not has_phases:
        wanted = MOST_HARMONICS
    harmonics = None if wanted is None else min(wanted, int(steps // 2))
    return Period(steps=steps, harmonics=harmonics, is_forced=forced, evidence=season.evidence)
