"""Names the rows of a result that stand for all series beyond a series limit. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import compress
from typing import Any

from analytics_core._compile.plan import InOthersExpr, QueryPlan
from analytics_core._compile.series_limit import OTHERS
from analytics_core._engines.types import ValueKind
from analytics_core._frames.frame import Frame, FrameColumn
from analytics_core._frames.pipeline import Processed
from analytics_core._frames.values import text_value


def with_others_named(frame: Frame, plan: QueryPlan) -> Processed:
    """Return the frame of a plan with its series as text and the rest as 'Others', without the column that tells them.

    A series that is called so itself keeps its name: the rest then gets another one, and a note tells it.
    """
    limit = plan.series_limit
    if limit is None or not limit.group_others or plan.count_rows:
        return Processed(frame=frame)
    place = next(i for i, output in enumerate(plan.outputs) if isinstance(output.expr, InOthersExpr))
    in_others = frame.columns[place].to_list()
    texts = {i: list(map(_text, frame.columns[i].to_list())) for i in limit.columns}
    name = _free_name([set(compress(column, map(_not, in_others))) for column in texts.values()])
    columns = [
        _named(column, texts[i], in_others, name) if i in texts else column
        for i, column in enumerate(frame.columns)
        if i != place
    ]
    told = (f"a series is called {OTHERS!r}, so the rest is called {name!r}",)
    notes = told if name != OTHERS and any(in_others) else ()
    return Processed(frame=Frame(columns=tuple(columns)), notes=notes)


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return text_value(value + 0.0 if isinstance(value, float) else value)  # engines differ in the sign of zero


def _not(flag: int) -> bool:
    return not flag


def _free_name(taken: Sequence[set[str | None]]) -> str:
    name = OTHERS
    while any(name in texts for texts in taken):
        name += " (rest)"
    return name


def _named(column: FrameColumn, texts: Sequence[str | None], in_others: Sequence[int], name: str) -> FrameColumn:
    values = [name if other else text for text, other in zip(texts, in_others, strict=True)]
    return replace(column, kind=ValueKind.TEXT, values=values)
