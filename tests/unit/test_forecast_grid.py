"""Rows laid on a grid: order, duplicates, gaps, ends without values."""

from __future__ import annotations

import numpy as np

from analytics_core._engine.forecast.time_axis import fill_gaps, lay_on_grid
from analytics_core.models.enums import TimeGrain

NAT = np.datetime64("NaT", "us")


def _days(*days: int) -> np.ndarray:
    return np.datetime64("2024-01-01", "us") + np.array(days) * np.timedelta64(1, "D")


def test_rows_are_put_in_order() -> None:
    grid = lay_on_grid(np.array([3.0, 1.0, 2.0]), _days(2, 0, 1), TimeGrain.DAY)
    assert grid.values.tolist() == [1.0, 2.0, 3.0]
    assert (grid.moments == _days(0, 1, 2)).all()


def test_the_last_of_equal_moments_counts_unless_it_is_null() -> None:
    grid = lay_on_grid(np.array([1.0, 5.0, 7.0, np.nan]), _days(0, 0, 1, 1), TimeGrain.DAY)
    assert grid.values.tolist() == [5.0, 7.0]
    assert grid.positions.tolist() == [0, 1]


def test_missing_steps_are_marked_and_ends_without_values_are_cut() -> None:
    grid = lay_on_grid(np.array([np.nan, 1.0, 4.0, np.inf]), _days(0, 1, 4, 6), TimeGrain.DAY)
    np.testing.assert_array_equal(grid.values, [1.0, np.nan, np.nan, 4.0])
    assert grid.positions.tolist() == [-1, 0, 3, 5]


def test_rows_without_a_moment_are_left_out() -> None:
    grid = lay_on_grid(np.array([1.0, 9.0, 2.0]), np.array([_days(0)[0], NAT, _days(1)[0]]), TimeGrain.DAY)
    assert grid.values.tolist() == [1.0, 2.0]


def test_rows_centuries_apart_at_a_grain_of_seconds_are_taken_one_after_the_other() -> None:
    moments = np.array(["1700-01-01", "1900-01-01", "2000-01-01"], dtype="datetime64[us]")
    grid = lay_on_grid(np.array([1.0, 2.0, 3.0]), moments, TimeGrain.SECOND)
    assert not grid.is_regular
    assert grid.values.tolist() == [1.0, 2.0, 3.0]


def test_gaps_are_filled_on_the_line_between_neighbours() -> None:
    assert fill_gaps(np.array([1.0, np.nan, np.nan, 4.0, np.nan])).tolist() == [1.0, 2.0, 3.0, 4.0, 4.0]
