"""The 24 time grains: their names, how long the short ones are, and how buckets follow from truncation and days."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from sqlglot import exp

from analytics_core._engine.engines import nodes
from analytics_core._engine.engines.spec import EngineSpec
from analytics_core.models.enums import TimeGrain

EPOCH = "1970-01-01 00:00:00"
"""The anchor of all grains shorter than a day."""

SECONDS: Mapping[TimeGrain, int] = MappingProxyType(
    {
        grain: int(grain.value[2:-1]) * {"S": 1, "M": 60, "H": 3600}[grain.value[-1]]  # PT5S, PT1M, PT12H
        for grain in TimeGrain
        if grain.value.startswith("PT")
    }
)
"""Length in seconds of the grains shorter than a day."""

UNITS: Mapping[TimeGrain, str] = MappingProxyType(
    {TimeGrain[unit]: unit.lower() for unit in ("SECOND", "MINUTE", "HOUR", "DAY", "MONTH", "QUARTER", "YEAR")}
)
"""Grains that are one unit of a `date_trunc`; the weeks are apart."""

WEEK_SHIFTS: Mapping[TimeGrain, tuple[int, int]] = MappingProxyType(
    {
        TimeGrain.WEEK: (0, 0),
        TimeGrain.WEEK_STARTING_MONDAY: (0, 0),
        TimeGrain.WEEK_STARTING_SUNDAY: (1, -1),
        TimeGrain.WEEK_ENDING_SATURDAY: (1, 5),
        TimeGrain.WEEK_ENDING_SUNDAY: (0, 6),
    }
)
"""Days added before the cut to a Monday, and after it."""

Bucket = Callable[[exp.Expr, TimeGrain], exp.Expr]
Truncate = Callable[[exp.Expr, str], exp.Expr]
AddDays = Callable[[exp.Expr, int], exp.Expr]
CutSeconds = Callable[[exp.Expr, int], exp.Expr]


def amount_and_unit(seconds: int) -> tuple[int, str]:
    """Return a length in the largest unit that counts it whole: 7200 -> (2, 'HOUR')."""
    for size, unit in ((3600, "HOUR"), (60, "MINUTE")):
        if seconds % size == 0:
            return seconds // size, unit
    return seconds, "SECOND"


def date_trunc(moment: exp.Expr, unit: str) -> exp.Expr:
    """Return `DATE_TRUNC('unit', moment)`."""
    return nodes.call("DATE_TRUNC", nodes.text(unit), moment)


def moved_by_interval(moment: exp.Expr, amount: int, unit: str) -> exp.Expr:
    """Return `moment + INTERVAL '2' DAY`; amounts below 0 are taken off."""
    operation = nodes.plus if amount > 0 else nodes.minus
    return operation(moment, nodes.interval(nodes.text(str(abs(amount))), unit))


def days_by_interval(moment: exp.Expr, days: int) -> exp.Expr:
    """Return `add_days` of engines with intervals."""
    return moved_by_interval(moment, days, "DAY")


def hours_by_interval(moment: exp.Expr, hours: int) -> exp.Expr:
    """Return `EngineSpec.shift` of engines with intervals."""
    return exp.Paren(this=moved_by_interval(moment, hours, "HOUR")) if hours else moment


def shift_by(function: str, unit: exp.Expr) -> Callable[[exp.Expr, int], exp.Expr]:
    """Return `EngineSpec.shift` by `function(unit, hours, moment)`."""

    def shift(moment: exp.Expr, hours: int) -> exp.Expr:
        return nodes.call(function, unit.copy(), nodes.number(hours), moment) if hours else moment

    return shift


def cut_by_remainder(
    *,
    seconds_since_epoch: Callable[[exp.Expr], exp.Expr],
    subtract_seconds: Callable[[exp.Expr, exp.Expr], exp.Expr],
    truncate: Truncate = date_trunc,
    modulo: Callable[[exp.Expr, exp.Expr], exp.Expr] = nodes.mod,
) -> CutSeconds:
    """Return a `cut_seconds` for engines without one: take off what the whole seconds leave over.

    The remainder is made positive, so that moments before 1970 are cut downwards too.
    """

    def cut_seconds(moment: exp.Expr, size: int) -> exp.Expr:
        second = truncate(moment, "second")
        step = nodes.number(size)
        signed = modulo(seconds_since_epoch(second.copy()), step)
        past = modulo(exp.Paren(this=nodes.plus(signed, step.copy())), step.copy())
        return subtract_seconds(second, past)

    return cut_seconds


def buckets_by_truncation(
    *, cut_seconds: CutSeconds, truncate: Truncate = date_trunc, add_days: AddDays = days_by_interval
) -> Bucket:
    """Return the `bucket` of an engine that truncates to units and to Mondays.

    Args:
        cut_seconds: node and a length in seconds that is no unit -> node, counted from `EPOCH`.
        truncate: node and unit (those of `UNITS`, and `week` for Monday) -> node.
        add_days: node and whole days, never 0 -> node.
    """

    def moved(node: exp.Expr, days: int) -> exp.Expr:
        return add_days(node, days) if days else node

    def bucket(moment: exp.Expr, grain: TimeGrain) -> exp.Expr:
        unit = UNITS.get(grain)
        if unit is not None:
            return truncate(moment, unit)
        if grain in SECONDS:
            return cut_seconds(moment, SECONDS[grain])
        before, after = WEEK_SHIFTS[grain]
        return moved(truncate(moved(moment, before), "week"), after)

    return bucket


def grain_name(grain: TimeGrain) -> str:
    """Return the grain's name for people: `Day`, `15 minute`, `Week starting Monday`."""
    if grain in SECONDS:
        amount, unit = amount_and_unit(SECONDS[grain])
        return unit.capitalize() if amount == 1 else f"{amount} {unit.lower()}"
    words = grain.name.lower().split("_")
    words[0], words[-1] = words[0].capitalize(), words[-1].capitalize()
    return " ".join(words)


def grain_function(spec: EngineSpec, grain: TimeGrain) -> str:
    """Return the engine's SQL of a grain, with `{col}` where the column stands (contract, result type timegrains)."""
    return spec.bucket(exp.Var(this="{col}"), grain).sql(spec.dialect)
