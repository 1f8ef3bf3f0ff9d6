"""The textbook models, asked for by name."""

from __future__ import annotations

import subprocess
import sys
from typing import get_args

import numpy as np
import pytest
from tests.support.cases import for_each
from tests.support.forecasting import forecast, is_finite_and_ordered, noisy_week

from analytics_core._engine.forecast import ForecastModel

NAMED = [name for name in get_args(ForecastModel) if name != "auto"]


@pytest.mark.slow
@pytest.mark.parametrize("model", NAMED)
def test_a_named_model_finds_the_week_and_keeps_in_its_bounds(model: ForecastModel) -> None:
    y = noisy_week(98)
    result = forecast(y[:84], periods=14, model=model)
    assert result.notes == ()
    assert is_finite_and_ordered(result)
    assert np.abs(result.yhat[-14:] - y[84:]).mean() < 5
    assert np.abs(result.yhat[30:84] - y[30:84]).mean() < 5
    assert not np.array_equal(result.yhat, forecast(y[:84], periods=14).yhat)


@pytest.mark.slow
@pytest.mark.parametrize("model", NAMED)
def test_a_named_model_without_a_future_gives_its_fits(model: ForecastModel) -> None:
    assert is_finite_and_ordered(forecast(noisy_week(60), periods=0, model=model))


@for_each("model", NAMED)
@for_each(
    ("y", "further"),
    [([1.0, 2.0, 4.0], ["3 values were observed, of which the last is repeated; a trend needs 5"]), ([3.0] * 40, [])],
)
def test_too_little_for_a_named_model_is_forecast_by_the_default_with_a_note(
    model: ForecastModel, y: list[float], further: list[str]
) -> None:
    result = forecast(y, model=model)
    assert is_finite_and_ordered(result)
    assert result.notes == (*further, f"model '{model}' was replaced by 'auto': there is too little of this series")


@pytest.mark.slow
def test_the_default_model_does_not_load_statsmodels_or_pandas() -> None:
    code = (
        "import sys, numpy as np\n"
        "from analytics_core._engine.forecast import Seasonality, forecast_series\n"
        "from analytics_core.models.enums import TimeGrain\n"
        "days = np.datetime64('2024-01-01', 'us') + np.arange(60) * np.timedelta64(1, 'D')\n"
        "forecast_series(np.arange(60.0) ** 1.1, moments=days, grain=TimeGrain.DAY, periods=3, confidence=0.8,"
        " seasonality=Seasonality())\n"
        "print('statsmodels' in sys.modules, 'pandas' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
