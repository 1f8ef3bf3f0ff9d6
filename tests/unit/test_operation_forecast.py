"""The operation forecast: which columns, which rows, every option, and what it refuses."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tests.support.cases import for_each

from analytics_core import postprocessing
from analytics_core.errors import LimitError, PostProcessingError

WEEKLY = np.tile([10.0, 12, 15, 14, 13, 30, 40], 12)


@pytest.fixture
def daily() -> pd.DataFrame:
    days = pd.date_range("2024-01-01", periods=len(WEEKLY))
    return pd.DataFrame({"day": days, "a": WEEKLY, "b": np.arange(len(WEEKLY)), "k": "text"})


def forecast(frame: pd.DataFrame, **options: Any) -> pd.DataFrame:
    return postprocessing.forecast(frame, **{"time_grain": "P1D", "periods": 7, "confidence_interval": 0.8, **options})


def test_each_numeric_column_gets_its_forecast_and_stands_behind_it(daily: pd.DataFrame) -> None:
    result = forecast(daily)
    assert list(result.columns) == [
        *("day", "a__yhat", "a__yhat_lower", "a__yhat_upper", "a"),
        *("b__yhat", "b__yhat_lower", "b__yhat_upper", "b"),
    ]
    assert result["a"].tolist()[: len(daily)] == daily["a"].tolist()
    assert result["a"].tail(7).isna().all()


def test_periods_are_steps_of_the_grain(daily: pd.DataFrame) -> None:
    for grain, last in (("P1D", "2024-03-26"), ("P1W", "2024-04-07"), ("PT1H", "2024-03-24 02:00")):
        assert forecast(daily, periods=2, time_grain=grain)["day"].iloc[-1] == pd.Timestamp(last)
    assert len(forecast(daily, periods=0)) == len(daily)


def test_a_season_is_found_forced_or_left_out(daily: pd.DataFrame) -> None:
    future = forecast(daily)["a__yhat"].tail(7).to_numpy()
    assert np.abs(future - WEEKLY[:7]).max() < 5
    flat = forecast(daily, weekly_seasonality=False)["a__yhat"].tail(7)
    assert np.ptp(flat.to_numpy()) < np.ptp(future) / 2
    one_wave = forecast(daily, weekly_seasonality=1)["a__yhat"].tail(7).to_numpy()
    assert not np.allclose(one_wave, future)


@pytest.mark.parametrize("option", ["monthly_seasonality", "yearly_seasonality"])
def test_longer_seasons_are_options_too(option: str) -> None:
    days = pd.date_range("2021-01-01", periods=1100)
    wave = np.sin(np.arange(1100) * 2 * np.pi / (365.25 if option.startswith("yearly") else 30.4375))
    frame = pd.DataFrame({"day": days, "a": 100 + 10 * wave})
    with_season = forecast(frame, periods=30, **{option: True})["a__yhat"].tail(30).to_numpy()
    without = forecast(frame, periods=30, **{option: False})["a__yhat"].tail(30).to_numpy()
    assert not np.allclose(with_season, without)


@pytest.mark.parametrize(
    ("option", "steps"), [("weekly_seasonality", 7), ("monthly_seasonality", 30.4375), ("yearly_seasonality", 365.25)]
)
def test_every_value_of_a_seasonality_has_its_own_effect(option: str, steps: float) -> None:
    """A clear season is detected; one that noise does not show is there when forced, in full or by its first waves."""
    others = {f"{name}_seasonality": False for name in ("weekly", "monthly", "yearly")}
    ahead = max(30, round(0.7 * steps))
    at, noise = np.arange(1100), np.random.default_rng(3).normal(size=1100)
    clear = pd.DataFrame({"day": pd.date_range("2021-01-01", periods=1100), "a": 20 * np.sin(at * 2 * np.pi / steps)})

    def future(values: np.ndarray, value: bool | int | None) -> np.ndarray:
        frame = clear.assign(a=values)
        return forecast(frame, periods=ahead, **{**others, option: value})["a__yhat"].tail(ahead).to_numpy()

    season = clear["a"].to_numpy() + noise
    truth = 20 * np.sin(np.arange(1100, 1100 + ahead) * 2 * np.pi / steps)
    assert np.abs(future(season, None) - truth).mean() < np.abs(future(season, False) - truth).mean() / 2
    np.testing.assert_array_equal(future(season, 0), future(season, False))
    forced = [future(noise, value) for value in (None, True, 1, 2)]
    for place, one in enumerate(forced):
        for other in forced[place + 1 :]:
            assert np.abs(one - other).max() > 1e-3


def test_an_interval_of_0_is_the_forecast_and_one_of_1_has_no_ends(daily: pd.DataFrame) -> None:
    nothing, usual, everything = (forecast(daily, confidence_interval=level) for level in (0, 0.8, 1))
    assert nothing["a__yhat"].tolist() == everything["a__yhat"].tolist() == usual["a__yhat"].tolist()
    assert nothing["a__yhat_lower"].tolist() == nothing["a__yhat_upper"].tolist() == usual["a__yhat"].tolist()
    assert everything[["a__yhat_lower", "a__yhat_upper"]].isna().all().all()


def test_a_wider_interval_holds_a_narrower_one(daily: pd.DataFrame) -> None:
    noisy = daily.assign(a=daily["a"] + np.sin(np.arange(len(daily)) * 7919))
    narrow, wide = (forecast(noisy, confidence_interval=level).tail(7) for level in (0.5, 0.95))
    assert (wide["a__yhat_lower"] < narrow["a__yhat_lower"]).all()
    assert (wide["a__yhat_upper"] > narrow["a__yhat_upper"]).all()


def test_the_model_may_be_named(daily: pd.DataFrame) -> None:
    theta, auto = forecast(daily, model="theta"), forecast(daily)
    assert not np.allclose(theta["b__yhat"].tail(7), auto["b__yhat"].tail(7))


def test_index_names_the_column_of_moments(daily: pd.DataFrame) -> None:
    frame = daily.assign(other=daily["day"] + pd.Timedelta(days=100))
    assert forecast(frame).columns[0] == "day"
    assert forecast(frame, index="other").columns[0] == "other"
    assert forecast(frame.rename(columns={"other": "__timestamp"})).columns[0] == "__timestamp"


def test_rows_come_in_order_and_the_last_of_a_moment_counts(daily: pd.DataFrame) -> None:
    numbers = daily[["day", "b"]]
    doubled = pd.concat([numbers.assign(b=-1), numbers.iloc[::-1]], ignore_index=True)
    result = forecast(doubled, periods=0)
    assert result["day"].tolist() == daily["day"].tolist()
    assert result["b"].tolist() == daily["b"].tolist()


def test_rows_without_a_moment_and_nulls_do_no_harm(daily: pd.DataFrame) -> None:
    daily.loc[3, "day"] = None
    daily.loc[5, "a"] = None
    result = forecast(daily)
    assert len(result) == len(daily) - 1 + 7
    assert result[["a__yhat", "b__yhat"]].notna().all(axis=None)


@for_each("zone", ["UTC", "Europe/Oslo", "America/New_York"])
@for_each("grain", ["P1D", "PT1H"])
def test_moments_keep_their_zone_across_a_clock_change(daily: pd.DataFrame, zone: str, grain: str) -> None:
    frame = daily.assign(day=daily["day"].dt.tz_localize(zone))
    result = forecast(frame, periods=24, time_grain=grain)
    assert result["day"].dtype == frame["day"].dtype
    assert result["day"].is_monotonic_increasing
    if grain == "P1D":
        assert (result["day"].dt.hour == 0).all()


@for_each("values", [[5.0] * 9, [None] * 9, [0, 0, 0, 7, 0, 0, 0, 0, 0], [-1e300, 1e300] * 4 + [0], [1.0]])
def test_awkward_series_are_forecast_without_an_error(values: list[Any]) -> None:
    days = pd.date_range("2024-01-01", periods=len(values))
    result = forecast(pd.DataFrame({"day": days, "a": pd.Series(values, dtype="float64")}))
    assert len(result) == len(values) + 7


def test_columns_without_numbers_are_left_out_and_named(daily: pd.DataFrame) -> None:
    result = forecast(daily.assign(done=True, later=daily["day"]))
    assert not {"k", "done", "later"} & set(result.columns)
    assert result.attrs["notes"] == ("forecast: left out, since they hold no numbers: k, done, later",)
    assert "notes" not in forecast(daily[["day", "a"]]).attrs


def test_an_option_that_does_not_fit_is_noted_with_the_columns(daily: pd.DataFrame) -> None:
    result = forecast(daily[["day", "a", "b"]], yearly_seasonality=True)
    (note,) = result.attrs["notes"]
    assert note.startswith("forecast: a, b: yearly_seasonality is left out: it needs more than two cycles of 365.25")


def test_a_column_of_nulls_has_no_forecast_and_a_note(daily: pd.DataFrame) -> None:
    result = forecast(daily[["day", "a"]].assign(empty=np.nan))
    assert result[["empty__yhat", "empty__yhat_lower", "empty__yhat_upper"]].isna().all(axis=None)
    assert result["a__yhat"].notna().all()
    assert result.attrs["notes"] == ("forecast: empty: no value was observed",)


@pytest.mark.parametrize(("change", "repeated"), [("2024-03-31", []), ("2024-10-27", [2])])
def test_hours_of_a_zone_are_answered_in_it_with_the_profile_of_its_clock(change: str, repeated: list[int]) -> None:
    begin = pd.Timestamp(change, tz="Europe/Oslo") - pd.Timedelta(days=28)
    hours = pd.date_range(begin, pd.Timestamp(change, tz="Europe/Oslo"), freq="h", inclusive="left")
    frame = pd.DataFrame({"hour": hours, "a": np.where(hours.hour == 8, 100.0, 10.0)})
    result = forecast(frame, time_grain="PT1H", periods=48)
    future = result.tail(48)
    assert result["hour"].dt.tz == hours.tz
    assert (result["hour"].diff().dropna() == pd.Timedelta(hours=1)).all()
    assert future["hour"].head(23).dt.hour[lambda hour: hour.duplicated()].tolist() == repeated
    assert future.loc[future["a__yhat"] > 80, "hour"].dt.hour.tolist() == [8, 8]


def test_an_empty_frame_gives_an_empty_forecast(daily: pd.DataFrame) -> None:
    assert len(forecast(daily.iloc[:0])) == 0


def test_the_frame_given_stays_as_it_is(daily: pd.DataFrame) -> None:
    before = daily.copy(deep=True)
    forecast(daily)
    pd.testing.assert_frame_equal(daily, before)


@for_each(
    ("options", "message"),
    [
        ({"time_grain": "P2D"}, "time_grain: 'P2D' is not one of"),
        ({"periods": -1}, "periods: must be 0 or more"),
        ({"periods": 1.5}, "periods: must be an integer"),
        ({"confidence_interval": -0.1}, "confidence_interval: must be 0"),
        ({"confidence_interval": 1.1}, "confidence_interval: must be 1"),
        ({"index": "a"}, "index: column 'a' holds no moments; those that do: day"),
        ({"index": "dya"}, "index: there is no column 'dya'; did you mean 'day'"),
        ({"model": "oracle"}, "model: 'oracle' is not one of auto, ets"),
        ({"weekly_seasonality": "often"}, "weekly_seasonality"),
        ({"weekly_seasonality": 1.5}, "weekly_seasonality"),
        ({"monthly_seasonality": -1}, "monthly_seasonality: must be true, false, a Fourier order .*0 or more"),
        ({"confidence_interval": "most"}, "confidence_interval: "),
        ({"time_grain": None}, "time_grain: must be one of PT1S, PT5S"),
        ({"index": ["day"]}, "index: must be text"),
    ],
)
def test_what_cannot_be_honoured_is_told(daily: pd.DataFrame, options: dict[str, Any], message: str) -> None:
    with pytest.raises(PostProcessingError, match=f"^forecast: .*{message}"):
        forecast(daily, **options)


def test_frames_without_moments_or_numbers_are_refused(daily: pd.DataFrame) -> None:
    with pytest.raises(PostProcessingError, match="there is no column of moments; the columns are: a, b, k"):
        forecast(daily[["a", "b", "k"]])
    with pytest.raises(PostProcessingError, match="there is no numeric column to forecast"):
        forecast(daily[["day", "k"]])


@pytest.mark.parametrize(
    "moments",
    [pd.period_range("2024", periods=84), range(84), [f"2024-01-{day % 28 + 1:02}" for day in range(84)], [None] * 84],
    ids=["periods", "numbers", "text", "nulls"],
)
def test_what_holds_no_moments_is_not_taken_for_moments(daily: pd.DataFrame, moments: Any) -> None:
    frame = daily[["a"]].assign(day=pd.Series(moments))
    with pytest.raises(PostProcessingError, match="there is no column of moments; the columns are: a, day"):
        forecast(frame)


@pytest.mark.parametrize(
    "values", [[1 + 2j] * 84, ["x", 1] * 42, pd.Categorical(["x"] * 84), pd.to_timedelta(range(84), unit="D")]
)
def test_what_is_no_number_is_not_forecast(daily: pd.DataFrame, values: Any) -> None:
    with pytest.raises(PostProcessingError, match="there is no numeric column to forecast; the columns are: day, a"):
        forecast(daily[["day"]].assign(a=values))


def test_decimals_and_whole_numbers_with_nulls_are_numbers(daily: pd.DataFrame) -> None:
    integers = pd.array([None, *range(83)], dtype="Int64")
    frame = daily[["day"]].assign(exact=[Decimal("1.5"), None] * 42, integers=integers)
    assert forecast(frame)[["exact__yhat", "integers__yhat"]].notna().all(axis=None)


def test_columns_that_a_forecast_would_write_over_are_refused(daily: pd.DataFrame) -> None:
    for name in ("a__yhat", "a__yhat_lower", "a__yhat_upper"):
        with pytest.raises(PostProcessingError, match=f"makes columns called {name}, and the frame has such"):
            forecast(daily.rename(columns={"b": name}))
    with pytest.raises(PostProcessingError, match="makes columns called a__yhat"):
        forecast(daily.rename(columns={"day": "a__yhat"}))


def test_whole_numbers_beyond_floats_are_refused_without_their_values(daily: pd.DataFrame) -> None:
    with pytest.raises(PostProcessingError, match="does not work on this frame") as caught:
        forecast(daily[["day"]].assign(a=pd.Series([10**400] + [1] * 83, dtype=object)))
    assert "000" not in str(caught.value)


@pytest.mark.parametrize("frame", [None, [1, 2], pd.Series([1.0])])
def test_what_is_no_frame_is_refused(frame: Any) -> None:
    with pytest.raises(PostProcessingError, match=r"^forecast: the first argument must be a DataFrame, not "):
        forecast(frame)


def test_several_series_below_each_other_are_refused(daily: pd.DataFrame) -> None:
    long = pd.concat([daily.assign(k="x"), daily.assign(k="y")])
    with pytest.raises(PostProcessingError, match="column 'k' holds no numbers and moments occur more than once"):
        forecast(long)


def test_a_future_without_end_is_refused(daily: pd.DataFrame) -> None:
    with pytest.raises(LimitError, match="at most 100,000"):
        forecast(daily, periods=100_001)
    with pytest.raises(LimitError):
        forecast(daily, periods=50_000, time_grain="P1Y")


def test_days_of_arrow_are_a_time_axis_like_any_other():
    moments = pd.Series(pd.date_range("2024-01-01", periods=12, freq="D", unit="us"))
    days = moments.astype(pd.ArrowDtype(pa.timestamp("us"))).astype(pd.ArrowDtype(pa.date32()))
    values = pd.Series(range(12), dtype=float)
    options = {"time_grain": "P1D", "periods": 2, "confidence_interval": 0.8}
    expected = postprocessing.forecast(pd.DataFrame({"day": moments, "y": values}), **options)
    pd.testing.assert_frame_equal(
        postprocessing.forecast(pd.DataFrame({"day": days, "y": values}), **options), expected
    )


def test_a_model_with_one_season_notes_the_others_that_were_asked_for() -> None:
    weeks = pd.DataFrame({"day": pd.date_range("2024-01-01", periods=100), "x": np.arange(100.0) % 7})
    requested = {"model": "theta", "weekly_seasonality": True, "monthly_seasonality": 2}
    result = postprocessing.forecast(weeks, time_grain="P1D", periods=1, confidence_interval=0.8, **requested)
    assert result.attrs["notes"] == (
        "forecast: monthly_seasonality: model 'theta' reads no Fourier order, only true",
        "forecast: x: model 'theta' has one season at most: left out is that of 30.4375 steps",
    )


def test_days_of_python_are_moments() -> None:
    days = pd.DataFrame({"day": [date(2024, 1, 1), date(2024, 1, 2), None], "x": [1.0, 2.0, 9.0]})
    result = postprocessing.forecast(days, time_grain="P1D", periods=1, confidence_interval=0.8)
    assert result["day"].tolist() == list(pd.date_range("2024-01-01", periods=3))
    assert result["x"].tolist()[:2] == [1.0, 2.0]


def test_rows_of_one_moment_are_told_and_the_last_value_of_them_is_shown() -> None:
    rows = pd.DataFrame({"day": pd.to_datetime(["2024-01-01", "2024-01-01", "2024-01-01", "2024-01-02"])})
    rows["x"] = [1.0, 2.0, None, 3.0]
    result = postprocessing.forecast(rows, time_grain="P1D", periods=1, confidence_interval=0.8)
    assert result.attrs["notes"] == (
        "forecast: rows that share the moment of an earlier one: 2; of these the last value counts",
        "forecast: x: 2 values were observed, of which the last is repeated; a trend needs 5",
    )
    assert result["x"].tolist()[:2] == [2.0, 3.0]


def test_fourier_orders_of_every_season_are_noted_together_where_the_model_reads_none() -> None:
    days = pd.DataFrame({"day": pd.date_range("2024-01-01", periods=10), "x": np.arange(10.0)})
    requested = {"weekly_seasonality": 3, "monthly_seasonality": 2, "yearly_seasonality": 4}
    (message,) = (
        note for note in forecast(days, periods=1, model="theta", **requested).attrs["notes"] if "Fourier" in note
    )
    assert message == (
        "forecast: weekly_seasonality, monthly_seasonality, yearly_seasonality: "
        "model 'theta' reads no Fourier order, only true"
    )
