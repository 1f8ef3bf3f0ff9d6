"""What whoever operates a core asks of it: its health, its jobs, its schedules, its store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from analytics_core._content.namespace import live
from analytics_core._core.actors import HostUser, UserKey
from analytics_core._core.first_administrator import PersonNames, create_first_administrator
from analytics_core._core.namespaces import Namespaces
from analytics_core._records.people import User
from analytics_core.errors import AccessError

if TYPE_CHECKING:
    from analytics_core._core.operating import Health, PruneCounts
    from analytics_core._reports.scheduler import Scheduler


class OperatorCalls(Namespaces):
    """What whoever operates a core asks of it."""

    _acting_as: UserKey | HostUser | None

    def create_first_administrator(self, username: str, **names: Unpack[PersonNames]) -> User:
        """Create user 1, an administrator, in a store without people, and return them.

        Args:
            username: at most 64 characters.
            names: `first_name`, `last_name`, `email`.

        Raises:
            PayloadError: a name that no user may have.
            AlreadyExistsError: the store has people already; an administrator creates the others with `core.users`.

        Examples:
            >>> import analytics_core
            >>> settings = analytics_core.Settings(secret_key="an-example-key-that-keeps-nothing-secret-9f3a")
            >>> with analytics_core.AnalyticsCore(settings) as empty:
            ...     print(empty.create_first_administrator("ada", first_name="Ada").id)
            1
        """
        return create_first_administrator(self._runtime, username, names)

    def reseal_secrets(self) -> int:
        """Seal all stored secrets anew with `Settings.secret_key`, and return how many there are.

        Afterwards `previous_secret_keys` may be dropped, as soon as what else they signed (guest tokens) is over. It
        needs no actor; who acts must be an administrator.

        Raises:
            AccessError: somebody else acts.
            StoredDataError: a secret does not open with any of the keys; the message names its record.

        Examples:
            >>> core.reseal_secrets()
            3
        """
        self._require_operator("seal secrets anew")
        return self._runtime.content.store.reseal_secrets()

    def run_job(self, job_id: str) -> None:
        """Run a job that was submitted to a runner of a host: what a worker calls, in any process on any machine.

        It returns when the job is over, and raises nothing for one that fails: its state tells. One that runs
        elsewhere, or is over, is left alone. It needs no actor; who acts must be an administrator.

        Raises:
            AccessError: somebody else acts.

        Examples:
            >>> job = core.charts.submit(1)
            >>> core.run_job(job.job_id)
            >>> job.is_over
            True
        """
        self._require_operator("run jobs")
        self._runtime.content.job_registry.run(job_id)

    @property
    def scheduler(self) -> Scheduler:
        """Runs alerts and reports when they are due.

        It needs no actor; who acts must be an administrator.

        Raises:
            AccessError: somebody else acts.

        Examples:
            >>> core.scheduler.tick().due
            0
        """
        from analytics_core._reports.scheduler import Scheduler

        def scheduler() -> Scheduler:
            self._require_operator("run what is due")
            return Scheduler(self._runtime.reports)

        return live(scheduler)

    def health(self) -> Health:
        """Return how store, cache and jobs are; databases are not asked, and a part that is away is told, not raised.

        It needs no actor; who acts must be an administrator, which takes a store that answers.

        Raises:
            AccessError: somebody else acts.
            StoreUnavailableError: somebody acts, and the store does not say who.

        Examples:
            >>> core.health().is_ready
            True
        """
        from analytics_core._core.operating import health

        self._require_operator("ask how a core is")
        return health(self._runtime)

    def prune(self, *, logs_older_than_days: int | None = None) -> PruneCounts:
        """Remove what is over: jobs with their results, workers, locks, form data, old revocations, OAuth 2.0 tokens.

        Runs of alerts and reports go when their `log_retention` is over. At most 10,000 records of a kind go in one
        call, in small transactions; one process at a time prunes. It needs no actor; who acts must be an administrator.

        Args:
            logs_older_than_days: also log entries of more than so many days ago; None: none.

        Raises:
            AccessError: somebody else acts.
            PayloadSchemaError: days that are no whole number above 0.

        Examples:
            >>> core.prune(logs_older_than_days=90).is_complete
            True
        """
        from analytics_core._core.operating import prune

        self._require_operator("prune")
        return prune(self._runtime, logs_older_than_days=logs_older_than_days)

    def _require_operator(self, what: str) -> None:
        if self._acting_as is not None and not self._actor().is_admin:
            raise AccessError(f"only an administrator may {what}")
