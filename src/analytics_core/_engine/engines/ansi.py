"""The facts of an engine that follows the SQL standard; a spec changes by `replace` what its engine does otherwise."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from analytics_core._engine.engines import operators
from analytics_core._engine.engines.bounds import MomentComparison
from analytics_core._engine.engines.grains import Bucket
from analytics_core._engine.engines.guards import Guards
from analytics_core._engine.engines.kinds import kind_reader
from analytics_core._engine.engines.literals import LiteralStyle
from analytics_core._engine.engines.nodes import Type
from analytics_core._engine.engines.spec import EngineSpec, ErrorPattern


def ansi_engine(
    *,
    name: str,
    label: str,
    dialect: str,
    drivers: tuple[str, ...],
    extra_name: str | None,
    guards: Guards,
    error_patterns: tuple[ErrorPattern, ...],
    comparison: MomentComparison,
    bucket: Bucket,
    shift: Callable[[exp.Expr, int], exp.Expr],
    text_key: operators.ToNode = operators.unchanged,
) -> EngineSpec:
    """Return the facts of an engine whose texts compare by code point, unless `text_key` makes them do so.

    What is asked for differs on every engine, or must be said by whoever adds one.
    """
    return EngineSpec(
        name=name,
        label=label,
        dialect=dialect,
        drivers=drivers,
        extra_name=extra_name,
        guards=guards,
        error_patterns=error_patterns,
        moment=comparison.moment,
        bucket=bucket,
        shift=shift,
        time_bound=comparison.bound,
        time_equal=comparison.equal,
        text_key=text_key,
        text_equal=operators.unchanged,
        text_order=text_key,
        like=operators.like_where_case_counts(has_ilike=False),
        as_text=operators.cast_to(Type.VARCHAR),
        average=operators.average_of_cast(),
        sum_=operators.sum_,
        extreme=operators.extreme_by(text_key),
        count_distinct=operators.count_distinct_by(text_key),
        is_true=operators.is_true,
        in_list=operators.in_list_of(),
        literal=LiteralStyle(dialect=dialect).write,
        value_kind=kind_reader(),
        null_safe_equal=operators.null_safe_equal,
    )
