"""One line for each ratio: what was measured, the goal, the verdict."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """A measured figure and the bound it must keep; `note` says how it was measured when that is not the usual way."""

    name: str
    value: float
    goal: float
    at_least: bool = False
    unit: str = "x"
    note: str = ""

    @property
    def met(self) -> bool:
        """Whether the goal is kept."""
        return self.value >= self.goal if self.at_least else self.value <= self.goal

    def line(self) -> str:
        """The figure as people read it."""
        bound = f"{'>=' if self.at_least else '<='} {self.goal:g}{self.unit}"
        verdict = "ok" if self.met else "MISSED"
        note = f"  ({self.note})" if self.note else ""
        return f"{self.name:64} {self.value:10.2f}{self.unit:3} goal {bound:10} {verdict}{note}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unmeasured:
    """A ratio that could not be measured here, and why; `stored` quotes an older figure, marked as such."""

    name: str
    why: str
    stored: str = ""

    def line(self) -> str:
        """The gap as people read it."""
        return f"{self.name:64} not measured: {self.why}{f'; stored figure: {self.stored}' if self.stored else ''}"
