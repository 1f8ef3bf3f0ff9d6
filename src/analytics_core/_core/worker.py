"""The worker of a core whose jobs go to a broker."""

from __future__ import annotations

from collections.abc import Sequence

from analytics_core._core.adapters.celery_jobs import CeleryJobRunner
from analytics_core._core.facade import AnalyticsCore
from analytics_core.errors import SettingsError


def run_worker(core: AnalyticsCore, *, queues: Sequence[str] = (), concurrency: int | None = None) -> int:
    """Take jobs from the broker of a core until the process is told to end, and return its exit code.

    Call it in the main thread, and close the core afterwards. Jobs run in processes of their own, one each at a time,
    which are forked from this one and end with it. SIGTERM and Ctrl-C let what runs end, SIGQUIT does not.

    Args:
        core: one whose job runner is a `CeleryJobRunner`.
        queues: which ones; none: those of every kind of job, by `QUEUES`.
        concurrency: how many jobs at a time; None: as many as there are processors.

    Raises:
        SettingsError: jobs of the core go elsewhere.
    """
    runner = core._runtime.parts.jobs
    if not isinstance(runner, CeleryJobRunner):
        hint = "jobs=CeleryJobRunner(...), or --broker URL"
        raise SettingsError(f"a worker needs a broker: {hint}; the core hands its jobs to a {type(runner).__name__}")
    return runner.work(queues=queues, concurrency=concurrency, end=core.close)
