"""How far forecasts miss: OWA for each frequency, coverage of the intervals, and milliseconds for each series.

    python -m benchmarks.forecast_accuracy ../shared/forecast/series.parquet [--step-back 1]

Our figures are measured in this run; those of the others are the stored ones of the README.md beside the series.
`--step-back 1` forecasts the stretch before the last one instead, which nobody has looked at. The exit code is 1 when
a goal is missed.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from analytics_core._engine.forecast import ForecastResult, Seasonality, forecast_series
from analytics_core._engine.forecast.time_axis import Floats
from analytics_core.models.enums import TimeGrain
from benchmarks.report import Ratio

GRAINS = {
    "Yearly": TimeGrain.YEAR,
    "Quarterly": TimeGrain.QUARTER,
    "Monthly": TimeGrain.MONTH,
    "Weekly": TimeGrain.WEEK,
    "Daily": TimeGrain.DAY,
    "Hourly": TimeGrain.HOUR,
}
STORED_OWA: Mapping[str, tuple[float, ...]] = {
    "Prophet 1.5": (1.053, 1.376, 1.278, 3.336, 1.675, 0.950, 1.611),
    "AutoETS": (0.912, 0.873, 0.868, 0.980, 4.259, 0.781, 1.446),
    "AutoTheta": (0.875, 0.843, 1.020, 0.908, 0.907, 0.994, 0.925),
    "MSTL + AutoETS": (0.912, 0.934, 0.958, 1.175, 0.915, 0.684, 0.930),
}
STORED_COVERAGE = {
    "Prophet 1.5": (48.5, 63.8),
    "AutoETS": (75.4, 88.4),
    "AutoTheta": (73.8, 86.2),
    "MSTL + AutoETS": (75.3, 87.9),
}
STORED_MS: Mapping[str, tuple[float, ...]] = {
    "Prophet 1.5": (210, 520, 200, 540, 470, 340),
    "AutoETS": (6, 79, 147, 81, 1413, 906),
    "AutoTheta": (5, 10, 38, 168, 850, 110),
}
TEST_LAG = {"Yearly": 1, "Quarterly": 4, "Monthly": 12, "Weekly": 1, "Daily": 7, "Hourly": 24}
FEWEST_POINTS = 13


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One series to forecast, and what followed."""

    group: str
    moments: np.ndarray
    history: Floats
    future: Floats
    season: int
    lag: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """How one forecast did; `naive_` figures are those of the seasonally adjusted last value (Naive2)."""

    group: str
    points: int
    smape: float
    naive_smape: float
    mase: float
    naive_mase: float
    covered_80: float
    covered_95: float
    cpu_ms: float


def main() -> int:
    """Measure, print the table, then the goals."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("series", type=Path)
    parser.add_argument("--step-back", type=int, default=0)
    arguments = parser.parse_args()
    scores = measure(arguments.series, step_back=arguments.step_back)
    print(table(scores))
    ratios = [] if arguments.step_back else list(goals(scores))  # the goals are for the stretch of the stored figures
    print("\n".join(ratio.line() for ratio in ratios))
    return 0 if all(ratio.met for ratio in ratios) else 1


def measure(path: Path, *, step_back: int = 0) -> list[Score]:
    """Forecast every series of the file; the first call warms up and is not counted."""
    tasks = list(read_tasks(path, step_back))
    forecast_task(tasks[0], 0.8)
    return [_score(task) for task in tasks]


def goals(scores: list[Score]) -> Iterator[Ratio]:
    """The promised bounds, one line each."""
    owa = owa_by_group(scores)
    mean = statistics.fmean(owa.values())
    yield Ratio(name="forecast: mean OWA over the frequencies", value=mean, goal=0.83, unit="")
    for at, (group, value) in enumerate(owa.items()):
        bound = min(0.92, STORED_OWA["Prophet 1.5"][at])
        yield Ratio(name=f"forecast: OWA, {group.lower()}", value=value, goal=bound, unit="")
    for name, low, high in (("covered_80", 77, 84), ("covered_95", 92, 97)):
        covered = statistics.fmean(_by_group(scores, name).values())
        yield Ratio(
            name=f"forecast: what the {name[-2:]} % interval covers", value=covered, goal=low, at_least=True, unit="%"
        )
        yield Ratio(name=f"forecast: what the {name[-2:]} % interval covers", value=covered, goal=high, unit="%")
    short = [score.cpu_ms for score in scores if score.points <= 1000]
    yield Ratio(name="forecast: CPU of the slowest series up to 1,000 points", value=max(short), goal=20, unit="ms")


def table(scores: list[Score]) -> str:
    """Ours and the stored figures, a column for each frequency."""
    owa, ms = owa_by_group(scores), _by_group(scores, "cpu_ms", median=True)
    lines = [_line("OWA", [*owa, "mean"]), _line("analytics_core", [*owa.values(), statistics.fmean(owa.values())])]
    lines += [_line(f"{name} (stored)", values) for name, values in STORED_OWA.items()]
    lines += ["", _line("CPU ms per series, median", list(ms)), _line("analytics_core", list(ms.values()))]
    lines += [_line(f"{name} (stored)", values) for name, values in STORED_MS.items()]
    for name, at in (("covered_80", 0), ("covered_95", 1)):
        covered = _by_group(scores, name)
        lines += ["", _line(name.replace("_", " by ") + " % interval", [*covered, "mean"])]
        lines += [_line("analytics_core", [*covered.values(), statistics.fmean(covered.values())])]
        lines += [_line(f"{other} (stored)", [*[""] * 6, pair[at]]) for other, pair in STORED_COVERAGE.items()]
    return "\n".join(lines) + "\n"


def _line(name: str, cells: list[object] | tuple[object, ...]) -> str:
    texts = (f"{cell:10.3f}" if isinstance(cell, float) else f"{cell:>10}" for cell in cells)
    return f"{name:28}{''.join(texts)}"


def owa_by_group(scores: list[Score]) -> dict[str, float]:
    """Half the sum of the mean sMAPE and the mean MASE, each beside Naive2's."""
    smape, naive_smape = _by_group(scores, "smape"), _by_group(scores, "naive_smape")
    mase, naive_mase = _by_group(scores, "mase"), _by_group(scores, "naive_mase")
    return {group: (smape[group] / naive_smape[group] + mase[group] / naive_mase[group]) / 2 for group in smape}


def _by_group(scores: list[Score], name: str, *, median: bool = False) -> dict[str, float]:
    middle = statistics.median if median else statistics.fmean
    return {group: middle([getattr(s, name) for s in scores if s.group == group]) for group in GRAINS}


def read_tasks(path: Path, step_back: int = 0) -> Iterator[Task]:
    """The series; `step_back` horizons cut off their ends, those left too short or without values left out."""
    for _, rows in pd.read_parquet(path).groupby("id", sort=False):
        group, season, horizon = rows["group"].iloc[0], int(rows["m"].iloc[0]), int(rows["h"].iloc[0])
        cut = len(rows) - step_back * horizon
        y = rows["y"].to_numpy()[:cut]
        if np.isnan(y[-horizon:]).any() or (step_back and y.size - horizon < max(FEWEST_POINTS, 2 * season + 1)):
            continue
        yield Task(
            group=group,
            moments=rows["ds"].to_numpy()[: cut - horizon].astype("datetime64[us]"),
            history=y[:-horizon],
            future=y[-horizon:],
            season=1 if group == "Weekly" else season,
            lag=1 if rows["source"].iloc[0] == "M4" and group == "Daily" else TEST_LAG[group],
        )


def forecast_task(task: Task, confidence: float) -> ForecastResult:
    """What the library forecasts for a series, everything on automatic."""
    return forecast_series(
        task.history,
        moments=task.moments,
        grain=GRAINS[task.group],
        periods=task.future.size,
        confidence=confidence,
        seasonality=Seasonality(),
    )


def _score(task: Task) -> Score:
    begin = time.process_time()
    narrow = forecast_task(task, 0.8)
    cpu_ms = (time.process_time() - begin) * 1000
    at = np.arange(task.history.size)
    known = np.isfinite(task.history)
    history = np.interp(at, at[known], task.history[known])
    scale = float(np.abs(history[task.lag :] - history[: -task.lag]).mean())
    forecast, naive = narrow.yhat[narrow.history :], naive2(history, task.season, task.future.size)
    return Score(
        group=task.group,
        points=task.history.size,
        smape=_smape(task.future, forecast),
        naive_smape=_smape(task.future, naive),
        mase=float(np.abs(task.future - forecast).mean()) / scale,
        naive_mase=float(np.abs(task.future - naive).mean()) / scale,
        covered_80=_covered(task, narrow),
        covered_95=_covered(task, forecast_task(task, 0.95)),
        cpu_ms=cpu_ms,
    )


def _smape(actual: Floats, forecast: Floats) -> float:
    size = np.abs(actual) + np.abs(forecast)
    return float((200 * np.abs(actual - forecast) / np.where(size == 0, 1, size)).mean())


def _covered(task: Task, result: ForecastResult) -> float:
    lower, upper = result.lower[result.history :], result.upper[result.history :]
    return float(100 * ((lower <= task.future) & (task.future <= upper)).mean())


def naive2(y: Floats, season: int, horizon: int) -> Floats:
    """The last value of the series adjusted by classical decomposition, with the season put back."""
    if not _looks_seasonal(y, season):
        return np.full(horizon, y[-1])
    is_factor = bool((y > 0).all())
    window = np.ones(season) / season if season % 2 else np.r_[0.5, np.ones(season - 1), 0.5] / season
    trend = np.full(y.size, np.nan)
    half = season // 2
    trend[half : y.size - half] = np.convolve(y, window, "valid")
    detrended = y / trend if is_factor else y - trend
    means = np.array([np.nanmean(detrended[phase::season]) for phase in range(season)])
    means = means / means.mean() if is_factor else means - means.mean()
    coming = means[(y.size + np.arange(horizon)) % season]
    last = means[(y.size - 1) % season]
    forecast: Floats = y[-1] / last * coming if is_factor else y[-1] - last + coming
    return forecast


def _looks_seasonal(y: Floats, season: int) -> bool:
    if season < 2 or y.size < 3 * season:
        return False
    centred = y - y.mean()
    r = np.array([centred[lag:] @ centred[:-lag] for lag in range(1, season + 1)]) / (centred @ centred)
    return bool(abs(r[-1]) > 1.645 * np.sqrt((1 + 2 * np.square(r[:-1]).sum()) / y.size))


if __name__ == "__main__":
    raise SystemExit(main())
