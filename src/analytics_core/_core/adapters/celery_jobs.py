"""Jobs on many machines: a runner that hands their ids to a broker by Celery, and the worker that takes them from it.

Nothing but the id of a job travels. Whoever takes it claims the job in the metadata store, so that a message that comes
twice, late or for a job that is over does nothing.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from analytics_core._content.jobs.handlers import JobKind
from analytics_core.errors import JobError, MissingExtraError, SettingsError

if TYPE_CHECKING:
    from celery import Celery

Route = Callable[[str, str], str]

TASK: Final = "analytics_core.run_job"
"""The name of the task; its one argument is the id of a job."""

OTHER_JOBS: Final = "analytics.jobs"
QUEUES: Final[Mapping[str, str]] = {
    JobKind.CHART_DATA.value: "analytics.charts",
    JobKind.DASHBOARD_DATA.value: "analytics.dashboards",
    JobKind.PICTURE.value: "analytics.pictures",
    JobKind.WARM_UP.value: "analytics.warm_ups",
    JobKind.REPORT.value: "analytics.reports",
    JobKind.SQL.value: "analytics.sql_editor",
}
"""The queue of each kind of job, where no `route` says otherwise."""

VISIBILITY_TIMEOUT_S: Final = 300.0
_SOCKET_TIMEOUT_S: Final = 5.0
_CONNECT_TIMEOUT_S: Final = 4.0
_RETRIES: Final = {"max_retries": 2, "interval_start": 0.0, "interval_step": 0.2, "interval_max": 0.5}
_GRACE_S: Final = 60.0
"""How long a job may go on after its time limit, at which it ends by itself, before its process is killed."""

_LONGEST_S: Final = 86_400.0
"""After how many seconds a process is killed that runs a job without a time limit of its own."""

_TRANSPORTS: Final = {
    "redis": "analytics_core._core.adapters.celery_redis:RedisTransport",
    "rediss": "analytics_core._core.adapters.celery_redis:RedisTransport",
    "sentinel": "analytics_core._core.adapters.celery_redis:SentinelTransport",
}
"""Ours by the scheme of a broker's URL; kombu's own for all others."""

_PICKLE: Final = frozenset({"pickle", "application/x-python-serialize"})


def queue_of(kind: str, waits_for: str) -> str:  # noqa: ARG001 - what `route` may also look at
    """Return the Celery queue of a job by its kind alone; what is no kind of ours has `analytics.jobs`."""
    return QUEUES.get(kind, OTHER_JOBS)


def celery_app(broker: str, *, visibility_timeout_s: float = VISIBILITY_TIMEOUT_S) -> Celery:
    """Return a Celery app that speaks JSON alone, takes one message at a time and gives back what died.

    Args:
        broker: the URL of a broker, such as `redis://host:6379/0`.
        visibility_timeout_s: after how many seconds a message that no worker has acknowledged is handed out again, by
            Redis alone. A job that takes longer is handed out while it runs, which costs a look into the store.

    Raises:
        MissingExtraError: Celery is not installed; the extra `celery` brings it.
        SettingsError: the URL is none of a broker.
    """
    try:
        from celery import Celery
    except ImportError:
        raise MissingExtraError(needed_for="a job runner on Celery", extra_name="celery") from None
    app = Celery("analytics_core", broker=broker, set_as_current=False)
    app.conf.update(
        task_serializer="json",
        event_serializer="json",
        result_serializer="json",
        accept_content=["json"],
        result_accept_content=["json"],
        task_ignore_result=True,
        task_default_queue=OTHER_JOBS,
        worker_prefetch_multiplier=1,
        worker_enable_remote_control=False,  # a broker is no place from which workers are told to stop
        worker_redirect_stdouts=False,
        worker_cancel_long_running_tasks_on_connection_loss=False,  # a job goes on without the broker
        broker_transport=_TRANSPORTS.get(broker.partition("://")[0]),
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_connection_timeout=_CONNECT_TIMEOUT_S,
        broker_transport_options={
            "visibility_timeout": visibility_timeout_s,
            "unacked_restore_throttle": 1,  # looks for such messages every ten seconds
            "socket_timeout": _SOCKET_TIMEOUT_S,
            "socket_connect_timeout": _CONNECT_TIMEOUT_S,
            "socket_keepalive": True,
        },
    )
    try:
        if "://" not in broker:
            raise ValueError("no scheme")
        app.connection_for_write().transport  # noqa: B018 - it reads the URL and loads what it names
    except ImportError:
        raise MissingExtraError(needed_for="this broker", extra_name="celery") from None
    except (KeyError, TypeError, ValueError):  # a TypeError: an option that nothing takes, or that the URL has already
        raise SettingsError("the URL of the broker is none, such as redis://host:6379/0") from None
    return app


class CeleryJobRunner:
    """Has jobs run by Celery's workers, on as many machines as there are (port `RoutedJobRunner`).

    `python -m analytics_core worker`, or `run_worker`, takes them. A broker that is away is a JobError to try again;
    what a broker loses is handed to it again by `core.scheduler.tick()`.

    Args:
        broker: the URL of a broker, or a Celery app of the host's own, which must not accept pickle.
        route: names the queue of a job by its kind and what it waits for: the uuid of its database, those of a
            dashboard with ` + ` between, or the receivers of a report; the default is a queue for each kind (`QUEUES`).

    Raises:
        MissingExtraError: Celery is not installed; the extra `celery` brings it.
        SettingsError: the URL is none of a broker, or the app accepts pickle.
    """

    is_local = False

    def __init__(self, broker: str | Celery, *, route: Route = queue_of) -> None:
        self._owns_app = isinstance(broker, str)
        self.app: Celery = celery_app(broker) if isinstance(broker, str) else broker
        if _PICKLE.intersection(self.app.conf.accept_content):
            raise SettingsError("the Celery app accepts pickle, by which who writes to its broker runs code here")
        self._route = route
        self._is_started = self._is_closed = False

    def start(self, run_job: Callable[[str], None]) -> None:
        """Make what runs a job the task of the app; JobError when the runner serves another core already."""
        if self._is_started or TASK in self.app.tasks:
            raise JobError(
                "this job runner, or its Celery app, serves another core already; give each core one of its own"
            )
        self._is_started = True

        def run(job_id: str) -> None:
            run_job(job_id)

        self.app.task(
            name=TASK,
            shared=False,
            lazy=False,
            ignore_result=True,
            acks_late=True,
            reject_on_worker_lost=True,  # the next one finds the job running, or waiting and runs it
            time_limit=_LONGEST_S,
            max_retries=0,
        )(run)

    def submit(self, job_id: str, *, queue: str = "") -> None:
        """Do as `submit_routed`, for a job of no kind."""
        self.submit_routed(job_id, kind="", queue=queue)

    def submit_routed(self, job_id: str, *, kind: str, queue: str = "", time_limit_s: float | None = None) -> None:
        """Hand the id to the broker.

        Raises:
            JobError: the broker does not take it within about twenty seconds, or the runner is closed.
        """
        if self._is_closed:
            raise JobError(f"job {job_id!r} was not taken: the runner is closed")
        name = self._route(kind, queue)
        try:
            self.app.send_task(
                TASK,
                (job_id,),
                task_id=job_id,
                queue=name,
                serializer="json",
                ignore_result=True,
                time_limit=None if time_limit_s is None else time_limit_s + _GRACE_S,
                retry=True,
                retry_policy=_RETRIES,
            )
        except Exception:  # border to Celery: each transport has errors of its own, and their texts name hosts
            raise JobError(
                f"job {job_id!r} was not taken: the broker cannot be reached; try again later", retryable=True
            ) from None

    def work(self, *, queues: Sequence[str], concurrency: int | None, end: Callable[[], None]) -> int:
        """Take jobs from the broker until the process is told to end, and return its exit code.

        Args:
            queues: which ones; none: those of every kind of job, by `QUEUES`.
            concurrency: how many jobs at a time; None: as many as there are processors.
            end: is called in each process that ran jobs, before it ends.
        """
        from celery import signals

        def on_end(**_: Any) -> None:
            end()

        signals.worker_process_shutdown.connect(on_end)
        signals.worker_ready.connect(_end_on_hang_up)
        worker = self.app.Worker(
            queues=list(queues) or [*QUEUES.values(), OTHER_JOBS],
            concurrency=concurrency,
            loglevel="INFO",
            without_gossip=True,
            without_mingle=True,
            without_heartbeat=True,
        )
        worker.start()
        return int(worker.exitcode or 0)

    def close(self) -> None:
        """Take no more work; what was handed to the broker goes on."""
        if self._owns_app and not self._is_closed:
            self.app.close()
        self._is_closed = True


def _end_on_hang_up(**_: Any) -> None:
    """Take SIGHUP for SIGTERM: Celery would start the program anew, by a command line that is not the caller's."""
    if sys.platform != "win32":
        signal.signal(signal.SIGHUP, signal.getsignal(signal.SIGTERM))
