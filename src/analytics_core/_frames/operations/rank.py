"""`rank`: where each value stands among all, as a share from above 0 to 1."""

from __future__ import annotations

import pandas as pd

from analytics_core._frames.operations.base import Operation
from analytics_core._frames.operations.checks import numbers, require_columns, require_flat, require_numeric
from analytics_core._frames.operations.grouping import group_rows
from analytics_core.models.postprocessing import RankOptions

NEW_COLUMN = "rank"


def apply(frame: pd.DataFrame, options: RankOptions) -> pd.DataFrame:
    """Return the frame with the column `rank`: the percentile rank of `metric`, in all or within its group.

    Equal values share the mean of their ranks, a null has none; null is a group like others.

    Raises:
        PostProcessingError: a column is missing, or `metric` holds no numbers.
    """
    require_flat(frame)
    require_numeric(frame, [options.metric], option="metric")
    require_columns(frame, options.group_by, option="group_by")
    values = pd.Series(numbers(frame[options.metric]), index=frame.index)
    if options.group_by:
        groups = group_rows([frame[name] for name in options.group_by], length=len(frame))
        ranks = values.groupby(groups.codes).rank(pct=True)
    else:
        ranks = values.rank(pct=True)
    result = frame.copy(deep=False)
    result[NEW_COLUMN] = ranks.to_numpy()
    return result


OPERATION = Operation(name="rank", options=RankOptions, apply=apply)
