"""Jobs on many machines, by Celery: the runner to hand to a core, and the worker that takes its jobs."""

from __future__ import annotations

from analytics_core._core.adapters.celery_jobs import QUEUES, CeleryJobRunner, celery_app, queue_of
from analytics_core._core.worker import run_worker

__all__ = ["QUEUES", "CeleryJobRunner", "celery_app", "queue_of", "run_worker"]
