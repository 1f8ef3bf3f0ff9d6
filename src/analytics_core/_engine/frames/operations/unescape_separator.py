"""`unescape_separator`: labels without the backslashes that `escape_separator` and `flatten` wrote."""

from __future__ import annotations

import pandas as pd

from analytics_core._engine.frames.columns import unescaped, with_labels
from analytics_core.models.postprocessing import SeparatorOptions


def apply(frame: pd.DataFrame, options: SeparatorOptions) -> pd.DataFrame:  # noqa: ARG001 - there are no options
    """Return the frame with unescaped labels; its values stay as they are."""
    return with_labels(frame, unescaped)
