"""`core.scheduler`: finds what is due, has it run, and takes up what processes that died left behind."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Final

from analytics_core._content.namespace import Namespace
from analytics_core._records.report import ReportProgress
from analytics_core._reports.claims import MOST_AT_A_TIME, Claims, DueRuns
from analytics_core._reports.runtime import ReportsRuntime
from analytics_core._tools.display.blocks import Blocks
from analytics_core._tools.display.bundles import mime_bundle
from analytics_core._tools.display.objects import object_blocks
from analytics_core._tools.log import line_log
from analytics_core._tools.once import Once
from analytics_core.errors import AccessError, ActorRequiredError, AnalyticsError, StoredDataError
from analytics_core.models.parsing import payload_error

if TYPE_CHECKING:
    from analytics_core._reports.dispatcher import RunDispatcher

_LOG = line_log(__name__)
_SHORTEST_INTERVAL_S: Final = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """What came of one look for due runs.

    Attributes:
        due: schedules that were due.
        claimed: runs that this process claimed, begun or to be begun after others of their schedules.
        taken_up: runs that somebody claimed before and did not end.
        missed: due times that were logged as missed.
        finished: runs that were over when the call returned, well or not.
    """

    due: int
    claimed: int
    taken_up: int
    missed: int
    finished: int

    _repr_mimebundle_ = mime_bundle

    def _blocks(self) -> Blocks:
        return object_blocks(self)


class Scheduler(Namespace):
    """Runs alerts and reports when they are due; call it from as many processes as there are."""

    def __init__(self, runtime: ReportsRuntime) -> None:
        self._reports = runtime
        settings = runtime.content.settings
        self._due = DueRuns(
            runtime.content.store,
            on_time_s=settings.report_on_time_s,
            lease_s=settings.job_lease_s,
            is_claimed=runtime.content.job_registry.is_claimed,
        )

    def tick(self, now: datetime | None = None, *, wait: bool = True) -> Tick:
        """Claim what is due, have it run, and take up what a process that died left behind.

        It may be called by anybody, anywhere, as often as they like: a due time is run once. With nothing to do it
        costs two statements. Where jobs run in this process it returns when they are over; where others run them, jobs
        of every kind that wait for long are handed over again, since a queue may have lost them.

        Args:
            now: what is due by then; None: by now. A naive moment is UTC.
            wait: whether runs that this process does are waited for.

        Raises:
            PayloadSchemaError: `now` is no moment.
            StoreUnavailableError: nothing can be claimed; call it again.

        Examples:
            >>> core.scheduler.tick()
            Tick(due=0, claimed=0, taken_up=0, missed=0, finished=0)
        """
        moment = self._moment(now)
        dispatcher = Once(partial(self._dispatcher, waits=wait))
        due = claimed = taken_up = missed = 0
        first_runs, first_due = self._due.look(moment)
        # before what died is taken up: it did not work at their times
        for claims in self._claimed(first_due, moment, dispatcher):
            due, claimed, missed = due + claims.schedules, claimed + claims.claimed, missed + claims.missed
        for run in dispatcher().abandoned_runs(first_runs) if first_runs else ():
            dispatcher().begin(run)
            taken_up += 1
        self._reports.content.job_registry.hand_over_again(self._reports.content.wall_clock.now())
        finished = sum(made.finish() for made in dispatcher.made)
        return Tick(due=due, claimed=claimed, taken_up=taken_up, missed=missed, finished=finished)

    def serve(self, interval_s: float = 30.0, *, stop: threading.Event | None = None) -> None:
        """Look for due runs every `interval_s` seconds until `stop` is set: for a thread or a process of its own.

        A store that is away, or a look that fails, is logged and tried again. When it returns, what runs in this
        process goes on; `core.close()` waits for it.

        Raises:
            AccessError, ActorRequiredError: whoever acts is no administrator any more.
            PayloadSchemaError: `interval_s` is no number of at least 0.05.

        Examples:
            >>> import threading
            >>> stop = threading.Event()
            >>> stop.set()
            >>> core.scheduler.serve(stop=stop)
        """
        if not interval_s >= _SHORTEST_INTERVAL_S:
            raise payload_error("serve", "interval_s", f"must be a number of at least {_SHORTEST_INTERVAL_S} seconds")
        ended = threading.Event() if stop is None else stop
        while not ended.is_set():
            try:
                self._anew().tick(wait=False)
            except (AccessError, ActorRequiredError):
                raise
            except AnalyticsError as error:
                _LOG.error("a look for due reports failed, and comes again: %s", error.message)
            except Exception as error:  # the border of a thread: nobody above could be told
                _LOG.error("a look for due reports ended by an unexpected %s, and comes again", type(error).__name__)
            ended.wait(interval_s)

    def _dispatcher(self, *, waits: bool) -> RunDispatcher:
        from analytics_core._reports.dispatcher import RunDispatcher

        return RunDispatcher(self._reports, waits=waits)

    def _claimed(
        self, due: Sequence[ReportProgress], moment: datetime, dispatcher: Once[RunDispatcher]
    ) -> Iterator[Claims]:
        """Claim what is due and have it done, schedule by schedule; who cannot be claimed keeps nobody from theirs."""
        later = set[int]()
        while due:
            is_more = len(due) >= MOST_AT_A_TIME
            for progress in due:
                try:
                    claims = dispatcher().claim(self._due, progress, moment)
                except StoredDataError as error:
                    _LOG.error("a report schedule is passed over: %s", error.message)
                    later.add(progress.schedule_id)
                    continue
                if claims.is_put_off:
                    later.add(progress.schedule_id)
                is_more = is_more or claims.has_more
                yield claims
            due = self._due.due(moment, but=later) if is_more else ()

    def _moment(self, now: datetime | None) -> datetime:
        if now is None:
            return self._reports.content.clock.now()
        if not isinstance(now, datetime):
            raise payload_error("tick", "now", "must be a datetime")
        return now.replace(tzinfo=UTC) if now.utcoffset() is None else now.astimezone(UTC)
