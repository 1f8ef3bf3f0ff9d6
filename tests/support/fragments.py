"""Parses fragments for the tests, on each engine's own spec, over one small table."""

from __future__ import annotations

from analytics_core._engine.compile.fragments.parser import FragmentNames, FragmentParser, FragmentSlot
from analytics_core._engine.compile.plan import FragmentExpr
from analytics_core._engine.engines.registry import installed_engines
from analytics_core._engine.engines.spec import EngineSpec

ENGINES = ("sqlite", "duckdb", "postgresql", "mysql")
NAMES = FragmentNames(
    alias="t", columns=("a", "b", "ts", "Name", "order", "date", "doc"), tables=("orders", "shop.orders")
)


def engine(name: str) -> EngineSpec:
    """The spec of an engine."""
    return installed_engines(()).get(name)


def parse(
    text: str,
    on: str = "sqlite",
    *,
    slot: FragmentSlot = FragmentSlot.METRIC,
    names: FragmentNames = NAMES,
    allow_subqueries: bool = False,
) -> FragmentExpr:
    """The parsed fragment; its place is called `metric 'm'`."""
    return FragmentParser().parse(
        text, spec=engine(on), slot=slot, place="metric 'm'", names=names, allow_subqueries=allow_subqueries
    )
