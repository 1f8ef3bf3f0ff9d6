"""Runs inside Prophet's own environment: one JSON line in (a series), one out (CPU milliseconds of fit and forecast).

Prophet runs as a BI tool calls it: every seasonality on automatic, rows without a value left out.
"""

from __future__ import annotations

import json
import logging
import resource
import sys


def main() -> None:
    """Answer lines until there are none; the first says that the worker is ready."""
    import pandas as pd
    from prophet import Prophet

    logging.disable(logging.WARNING)
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        task = json.loads(line)
        frame = pd.DataFrame({"ds": pd.to_datetime(task["ds"], unit="us"), "y": task["y"]}).dropna()
        begin = _cpu_s()
        model = Prophet(interval_width=0.8)
        model.fit(frame)
        step = frame["ds"].diff().median()
        ahead = pd.DataFrame({"ds": frame["ds"].iloc[-1] + step * pd.RangeIndex(1, task["h"] + 1).to_series()})
        model.predict(pd.concat([frame[["ds"]], ahead], ignore_index=True))
        print(json.dumps({"cpu_ms": (_cpu_s() - begin) * 1000}), flush=True)


def _cpu_s() -> float:
    """CPU seconds of this process and of the children that it waited for (the fit runs in one)."""
    times = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(used.ru_utime + used.ru_stime for used in times)


if __name__ == "__main__":
    main()
