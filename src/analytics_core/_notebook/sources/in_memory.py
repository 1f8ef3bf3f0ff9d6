"""Work in an empty DuckDB in memory, and what it raises where there is not enough of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from analytics_core._engine.execution.cancel import Stopper, StopReason
from analytics_core._tools.bounded_calls import BoundedCalls
from analytics_core.errors import MissingExtraError, SourceError

Result = TypeVar("Result")


def in_duckdb(work: Callable[[Any], Result]) -> Result:
    """Return what `work` makes of an empty DuckDB in memory, in another thread.

    In this one DuckDB would wrap what the handler of a signal raises, such as Ctrl-C, into an error of its own.

    Raises:
        MissingExtraError: DuckDB is not installed.
        MemoryError: there is not enough of it.
    """
    try:
        import duckdb
    except ImportError:
        raise MissingExtraError(needed_for="reading files and frames", extra_name="duckdb") from None
    calls, stopper = BoundedCalls("files"), Stopper()

    def worked() -> Result:
        with duckdb.connect(":memory:") as root:
            stopper.arm(root.interrupt, after_s=None)
            try:
                return work(root)
            finally:
                stopper.finish()

    try:
        return calls.run(worked, stop=lambda: stopper.stop(StopReason.CANCELLED))
    except duckdb.OutOfMemoryException:
        raise MemoryError from None
    finally:
        calls.close()


def memory_errors() -> tuple[type[Exception], ...]:
    """Return what is raised where there is not enough memory."""
    import duckdb

    return MemoryError, duckdb.OutOfMemoryException


@contextmanager
def enough_memory() -> Iterator[None]:
    """Raise SourceError where the block has not enough memory."""
    try:
        yield
    except MemoryError:
        what = "there is not enough memory to connect it; give this process more, or connect fewer rows"
        raise SourceError(what) from None
