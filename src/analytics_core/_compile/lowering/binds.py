"""Bound values and their places in the tree, and what else the lowering of one plan carries from step to step."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from analytics_core._engines.spec import BindValue, EngineSpec

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Lowering:
    """The engine, the values bound so far, and the alias of the source with which columns are qualified.

    `fences_relations`: row rules inside the SQL of a virtual dataset stand behind fences of their own. `holds_types`:
    columns are compared as their declared types; what somebody said of a type must not decide about an error.
    """

    spec: EngineSpec
    binds: Binds
    alias: str
    fences_relations: bool = True
    holds_types: bool = False

    @property
    def series_alias(self) -> str:
        """The name under which the best series are joined; never the source's own."""
        return "series_limit" if self.alias.casefold() != "series_limit" else "series_limit_"
