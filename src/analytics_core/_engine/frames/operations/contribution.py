"""`contribution`: what share of a total each value is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence

import numpy as np
import pandas as pd

from analytics_core._engine.frames.columns import (
    Array,
    labels,
    listed,
    nulls_as_0,
    numbers,
    numeric_places,
    places_by_name,
    require_numeric,
    require_unique_columns,
)
from analytics_core.errors import PostProcessingError
from analytics_core.models.postprocessing import ContributionOptions, Orientation


def apply(frame: pd.DataFrame, options: ContributionOptions) -> pd.DataFrame:
    """Return the frame with shares in place of the values of `columns` (all numeric ones without it).

    With `rename_columns` the shares are new columns on the right. A null counts 0 in totals; its own share is 0 of a
    column and null of a row. Shares of a total of 0 are null, given or added up. Rows add up by time shift: a column
    belongs to the longest shift that its name ends with.

    Raises:
        PostProcessingError: a column is missing or holds no numbers, or the lists differ in length.
    """
    require_unique_columns(frame)
    places = _places(frame, options.columns)
    names = _names(frame, places, options.rename_columns)
    values = {place: numbers(frame.iloc[:, place]).astype(np.float64, copy=False) for place in places}
    with np.errstate(all="ignore"):
        if options.orientation is Orientation.COLUMN:
            shares = _of_columns(frame, values, options.contribution_totals)
        else:
            shares = _of_rows(frame, values, options.time_shifts)
    return _with_shares(frame, shares, names)


def _places(frame: pd.DataFrame, columns: Sequence[str]) -> list[int]:
    if not columns:
        return numeric_places(frame)
    require_numeric(frame, columns, option="columns")
    _require_once(columns, option="columns")
    places = places_by_name(frame)
    return [place for name in columns for place in places[name]]


def _require_once(names: Sequence[str], *, option: str) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise PostProcessingError(f"{option}: {listed(twice)} is named twice; name each once")


def _names(frame: pd.DataFrame, places: Sequence[int], renames: Sequence[str]) -> list[Hashable]:
    if not renames:
        return [frame.columns[place] for place in places]
    if len(renames) != len(places):
        raise PostProcessingError(
            f"rename_columns: give one name for each column, {len(places)} and not {len(renames)}"
        )
    _require_once(renames, option="rename_columns")
    if frame.columns.nlevels > 1:
        rest = [frame.columns[place][1:] for place in places]
        return [(name, *levels) for name, levels in zip(renames, rest, strict=True)]
    return list(renames)


def _of_columns(
    frame: pd.DataFrame, values: Mapping[int, Array], totals: Mapping[str, float | None] | None
) -> list[Array]:
    """Return shares of the given totals; of a column without one, of its own sum."""
    present = labels(frame)
    shares = []
    for place, column in values.items():
        filled = nulls_as_0(column)
        given = (totals or {}).get(str(present[place]))
        shares.append(_shares(filled, np.asarray(filled.sum() if given is None else given)))
    return shares


def _of_rows(frame: pd.DataFrame, values: Mapping[int, Array], shifts: Sequence[str]) -> list[Array]:
    present = labels(frame)
    shift_of = {place: _shift(str(present[place]), shifts) for place in values}
    totals: dict[str | None, Array] = {}
    for place, column in values.items():
        total = totals.setdefault(shift_of[place], np.zeros(len(frame)))
        total += nulls_as_0(column)
    return [_shares(column, totals[shift_of[place]]) for place, column in values.items()]


def _shares(values: Array, totals: Array) -> Array:
    """Return the values as shares of totals; of nothing there are none."""
    return np.where(totals == 0, np.nan, values / totals)


def _shift(label: str, shifts: Sequence[str]) -> str | None:
    """Return the longest shift that the label ends with: `28 days ago` ends with `8 days ago` too."""
    return max((shift for shift in shifts if label.endswith(shift)), key=len, default=None)


def _with_shares(frame: pd.DataFrame, shares: Sequence[Array], names: Sequence[Hashable]) -> pd.DataFrame:
    """Return the frame with the shares under their names: in place of columns that are there, else on the right."""
    series = [pd.Series(values, index=frame.index, copy=False) for values in shares]
    made = dict(zip(names, series, strict=True))
    retained = {place: frame.iloc[:, place] for place, label in enumerate(frame.columns) if label not in made}
    at = {label: place for place, label in enumerate(frame.columns)}
    added = [label for label in made if label not in at]
    columns = [retained[place] if place in retained else made[label] for label, place in at.items()]
    columns += [made[label] for label in added]
    result = pd.DataFrame(dict(enumerate(columns)), index=frame.index, copy=False)
    result.columns = frame.columns.append(pd.Index(added)) if added else frame.columns
    return result
