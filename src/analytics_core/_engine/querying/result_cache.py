"""Results in the cache: how long one is kept, and under which key (contract, cache_timeout).

Who asks the same at the same time waits for one run instead of asking the database again.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Generic, TypeVar

from analytics_core._engine.compile.fingerprint import fingerprint
from analytics_core._engine.compile.plan import QueryPlan
from analytics_core._engine.execution.cancel import CancelToken
from analytics_core._engine.execution.request_budget import RequestBudget
from analytics_core._engine.gate.loaded_datasets import LoadedDataset
from analytics_core._engine.querying.process_runs import ProcessRuns
from analytics_core._engine.results.answer import QueryResult
from analytics_core._engine.results.answer_bytes import decode_entry, encode_entry
from analytics_core._engine.rights.keys import EntrySeal
from analytics_core._records.datasource import Database, Dataset, Identity
from analytics_core._records.secret import Secret
from analytics_core._tools.forks import forkable_lock, tell_of_forks
from analytics_core.errors import AnalyticsError, RequestLimitError, RequestTimeoutError, StatementStoppedError
from analytics_core.ports import Cache, Clock


class StoredResults:
    """Results by key; one that takes more than `most_bytes` is not kept.

    Entries are sealed with a key derived from `secret`: a cache that others can write to gives no answers of theirs.
    """

    def __init__(self, cache: Cache, clock: Clock, *, secret: Secret, most_bytes: int) -> None:
        self._cache = cache
        self._seal = EntrySeal(secret)
        self._most_bytes = most_bytes
        self._clock = clock

    def find(self, key: CacheKey, timeout: CacheTimeout) -> QueryResult | None:
        """Return the kept result, marked as cached, or None."""
        entry = self._cache.get(key.text)
        if entry is None:
            return None
        return decode_entry(entry, key=key.text, seal=self._seal, cache_timeout=timeout.seconds)

    def keep(self, key: CacheKey, timeout: CacheTimeout, result: QueryResult) -> None:
        """Keep a fresh result; errors are never kept."""
        moment = self._clock.now().replace(tzinfo=None, microsecond=0).isoformat()
        entry = encode_entry(result, key=key.text, seal=self._seal, most_bytes=self._most_bytes, cached_dttm=moment)
        if entry is not None:
            self._cache.set(key.text, entry, timeout_s=timeout.timeout_s)


NO_CACHE = -1
_LONGEST_S: Final = 2**31 - 1
"""Caches take no longer times: 68 years."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheTimeout:
    """Seconds, and who set them; 0 never expires, -1 keeps nothing."""

    seconds: int
    set_by: str

    @property
    def keeps(self) -> bool:
        """Whether results are kept at all."""
        return self.seconds >= 0

    @property
    def timeout_s(self) -> int | None:
        """What a cache is told: None for entries that never expire."""
        return self.seconds or None

    def __str__(self) -> str:
        if not self.keeps:
            return f"nothing is kept ({self.set_by})"
        return f"kept for {self.seconds} s ({self.set_by})" if self.seconds else f"kept for ever ({self.set_by})"


def cache_timeout(*, custom: int | None, chart: int | None, loaded: LoadedDataset, default: int) -> CacheTimeout:
    """Return the timeout that counts: custom, else the chart's, the dataset's, the database's, the setting's."""
    candidates = (
        (custom, "custom_cache_timeout"),
        (chart, "chart"),
        (loaded.dataset.cache_timeout, "dataset"),
        (loaded.database.cache_timeout, "database"),
        (default, "Settings.cache_timeout_s"),
    )
    seconds, set_by = next((value, name) for value, name in candidates if value is not None)
    return CacheTimeout(seconds=min(max(seconds, NO_CACHE), _LONGEST_S), set_by=set_by)


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheKey:
    """A key with the parts that it was made of; equal parts give equal keys, any difference another key."""

    text: str
    parts: Mapping[str, Any]


def cache_key(
    plans: Sequence[QueryPlan], loaded: LoadedDataset, *, identity: Identity | None, options: Mapping[str, str]
) -> CacheKey:
    """Return the key of a result: its plans (rules, resolved bounds and limits are in them), versions and options."""
    parts = {
        "plan": fingerprint(plans[0], *(fingerprint(plan) for plan in plans[1:])),
        # The uuids keep stores that share a cache apart: their ids are alike.
        "dataset": _version(loaded.dataset),
        "generation": loaded.generation,
        "database": _version(loaded.database),
        "identity": None if identity is None else identity.key,
        "rules": [str(clause.origin) for clause in plans[0].row_rules],
        **options,
    }
    digest = hashlib.sha256(repr(sorted(parts.items())).encode()).hexdigest()
    return CacheKey(text=f"chart-data-{digest}", parts=parts)


def _version(record: Dataset | Database) -> str:
    return f"{record.id} ({record.uuid}), version {record.audit.version}"


Result = TypeVar("Result")

_LOOK_S: Final = 0.05
"""How often who waits looks whether they were cancelled."""


@dataclass(slots=True)
class _Run(Generic[Result]):
    """A run under way; without result and error it was given up by whoever began it."""

    is_over: threading.Event = field(default_factory=threading.Event)
    result: Result | None = None
    error: AnalyticsError | None = None


class SharedRuns(Generic[Result]):
    """Runs by what they answer; any thread may use it.

    An error of the run is an error for all who wait; but a run that was cancelled or interrupted, or that was over the
    budget of its own request, is begun anew by one of those who wait. Nobody waits longer than their own request may.

    Args:
        processes: where other processes share the cache: one of all of them runs.
    """

    def __init__(self, processes: ProcessRuns[Result] | None = None) -> None:
        self._processes = processes
        self._guard = forkable_lock()
        self._runs: dict[str, _Run[Result]] = {}
        self._ended = 0
        tell_of_forks(self)

    def answer(
        self,
        key: str,
        *,
        find: Callable[[], Result | None],
        run: Callable[[], Result],
        cancel: CancelToken | None = None,
        budget: RequestBudget | None = None,
    ) -> Result:
        """Return what `find` finds, or what one caller's `run` returns for all who ask for `key` meanwhile.

        Args:
            key: names the answer; equal keys mean equal answers.
            find: looks for a kept answer.
            run: makes the answer and keeps it.
            cancel: ends this caller's wait; the run goes on for the others.
            budget: what is left of this caller's request, which ends the wait too.

        Raises:
            StatementStoppedError: `cancel` was used.
            RequestTimeoutError: the time of this caller's request is over.
            AnalyticsError: the run failed.
        """
        ended: int | None = self._ended
        while True:
            if (cached := find()) is not None:
                return cached
            mine, current = self._lead_or_join(key, ended)
            if current is None:
                ended = None  # looked again; once is enough
                continue
            if mine:
                if self._processes is not None:
                    run = partial(self._processes.answer, key, find=find, run=run, cancel=cancel, budget=budget)
                return self._lead(key, current, run)
            _wait(current, cancel, budget)
            if current.error is not None:
                raise current.error
            if current.result is not None:
                cached = find()  # an answer of one's own, where it was kept
                return current.result if cached is None else cached

    def close(self) -> None:
        """End the wait for other processes."""
        if self._processes is not None:
            self._processes.close()

    def before_fork(self) -> None:
        """Go on: runs end in the process that began them."""

    def after_fork(self) -> None:
        """Forget the runs of the parent."""
        self._runs = {}

    def _lead_or_join(self, key: str, ended: int | None) -> tuple[bool, _Run[Result] | None]:
        """Return the run to join, or a new one to lead; None when one ended since the look for a kept answer."""
        with self._guard:
            current = self._runs.get(key)
            if current is not None:
                return False, current
            if ended is not None and self._ended != ended:
                return False, None
            self._runs[key] = _Run()
            return True, self._runs[key]

    def _lead(self, key: str, current: _Run[Result], run: Callable[[], Result]) -> Result:
        try:
            current.result = run()
        except (StatementStoppedError, RequestTimeoutError, RequestLimitError):
            raise  # this caller's wish, or budget, alone
        except AnalyticsError as error:
            current.error = error
            raise
        else:
            return current.result
        finally:
            with self._guard:
                self._runs.pop(key, None)
                self._ended += 1
            current.is_over.set()


def _wait(current: _Run[Result], cancel: CancelToken | None, budget: RequestBudget | None) -> None:
    while not current.is_over.wait(_LOOK_S if cancel or budget else None):
        if cancel is not None and cancel.cancelled:
            raise StatementStoppedError("the question was cancelled while another caller's statement answered it")
        if budget is not None:
            budget.check_time()
