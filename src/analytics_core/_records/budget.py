"""What statements on users' data may spend."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from analytics_core.errors import SettingsError


class BudgetUnit(StrEnum):
    """What is counted: rows that are read or changed, seconds on the database, the cost that its engine estimates."""

    ROWS = "rows"
    SECONDS = "seconds"
    COST = "cost"


class BudgetSpan(StrEnum):
    """What an amount is for: each statement, or all statements of a day in UTC together."""

    STATEMENT = "statement"
    DAY = "day"


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What statements on users' data may spend: those on a database, of a role, of a person, or all.

    Where `database`, `role` and `user` are named together, it is for what fits all of them. Administrators are bound as
    others are.

    Args:
        database: its id, or its name, which ends the budget when it changes; None: every database.
        role: the name of a role; None: of whatever roles.
        user: their id or user name; None: whoever asks.
        each_person: whether each person has the amounts of a day for themselves; else all whom it is for share them.
            All guests are one person.
        rows_per_statement: rows that a statement may read or change.
        seconds_per_statement: seconds that a statement may take.
        cost_per_statement: the cost that the engine may estimate for a statement (`core.sql.estimate`), in its unit, so
            that a database must be named.
        rows_per_day: rows of all statements of a day, which begins at 00:00 in UTC.
        seconds_per_day: their seconds.
        cost_per_day: their estimated cost.

    Raises:
        SettingsError: it bounds nothing, or an amount is no number above 0.
    """

    database: int | str | None = None
    role: str | None = None
    user: int | str | None = None
    each_person: bool = False
    rows_per_statement: int | None = None
    seconds_per_statement: float | None = None
    cost_per_statement: float | None = None
    rows_per_day: int | None = None
    seconds_per_day: float | None = None
    cost_per_day: float | None = None

    def __post_init__(self) -> None:
        for name, given in {"database": self.database, "role": self.role, "user": self.user}.items():
            types: tuple[type, ...] = (str, type(None)) if name == "role" else (str, int, type(None))
            if not isinstance(given, types) or isinstance(given, bool):
                raise SettingsError(f"Budget.{name} must be a name{'' if name == 'role' else ' or an id'}, or None")
        amounts = {f"{unit}_per_{span}": self.amount(unit, span) for unit in BudgetUnit for span in BudgetSpan}
        named = {name: amount for name, amount in amounts.items() if amount is not None}
        for name, amount in named.items():
            types = (int,) if name.startswith(BudgetUnit.ROWS) else (int, float)
            if not isinstance(amount, types) or isinstance(amount, bool) or not 0 < amount < math.inf:
                raise SettingsError(f"Budget.{name} must be a {'whole ' if types == (int,) else ''}number above 0")
        if not named:
            raise SettingsError(f"this Budget bounds nothing; name one of {', '.join(amounts)}")
        if self.database is None and (self.cost_per_statement or self.cost_per_day):
            raise SettingsError("a Budget of cost must name its database: each engine estimates in a unit of its own")

    def amount(self, unit: BudgetUnit, span: BudgetSpan) -> float | None:
        """Return what it lets a statement or a day spend; None: as much as there is."""
        amount: float | None = getattr(self, f"{unit}_per_{span}")
        return amount

    def __str__(self) -> str:
        parts = {"database": self.database, "role": self.role, "user": self.user}
        named = " and ".join(f"{what} {name!r}" for what, name in parts.items() if name is not None) or "everyone"
        return f"{named}, each person" if self.each_person else named
