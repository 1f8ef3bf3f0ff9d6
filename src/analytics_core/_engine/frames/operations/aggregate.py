"""`aggregate`: one row for each group of rows, with the aggregates asked for."""

from __future__ import annotations

from typing import Any

import pandas as pd

from analytics_core._engine.frames.aggregators import aggregated, require_sources
from analytics_core._engine.frames.columns import require_columns, require_flat
from analytics_core._engine.frames.grouping import group_rows
from analytics_core.errors import PostProcessingError
from analytics_core.models.postprocessing import AggregateOptions


def apply(frame: pd.DataFrame, options: AggregateOptions) -> pd.DataFrame:
    """Return the groups in the order of their keys, keys first; without `groupby` one row.

    Null is a key like others and comes last.

    Raises:
        PostProcessingError: a column is missing, a name is used twice, or an operator needs numbers.
    """
    _check(frame, options)
    keys = {name: frame[name] for name in options.groupby}
    groups = group_rows(list(keys.values()), length=len(frame))
    made: dict[str, Any] = {name: groups.key_array(key) for name, key in keys.items()}
    for name, spec in options.aggregates.items():
        source = frame[spec.column or name]
        made[name] = aggregated(source, spec, groups.codes, groups.size, option=f"aggregates.{name}")
    return pd.DataFrame(made, index=pd.RangeIndex(groups.size), copy=False)


def _check(frame: pd.DataFrame, options: AggregateOptions) -> None:
    require_flat(frame)
    require_columns(frame, options.groupby, option="groupby")
    require_sources(frame, options.aggregates)
    taken = [name for name in options.aggregates if name in options.groupby]
    if taken:
        raise PostProcessingError(f"aggregates: {taken[0]!r} is the name of a group column too; choose another")
