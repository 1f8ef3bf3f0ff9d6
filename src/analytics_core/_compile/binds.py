"""Collects bound values while a tree is built, and marks their places in it."""

from __future__ import annotations

from sqlglot import exp

from analytics_core._engines.spec import BindValue

MARK = "\x01"
"""Stands around the name of a bound value in generated text; no text of a user may hold it."""


class Binds:
    """The bound values of one statement: name -> value, in the order of their first use."""

    __slots__ = ("values",)

    def __init__(self) -> None:
        self.values: dict[str, BindValue] = {}

    def __call__(self, value: BindValue) -> exp.Expr:
        """Register a value and return the node that stands for it."""
        name = f"p{len(self.values)}"
        self.values[name] = value
        return exp.Var(this=f"{MARK}{name}{MARK}")
