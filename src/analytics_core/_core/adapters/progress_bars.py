"""The defaults of the port `Progress`: nothing, and bars of tqdm on standard error, where somebody watches."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from importlib.util import find_spec
from typing import Any, Final

from analytics_core.errors import MissingExtraError
from analytics_core.ports import Progress

_DELAY_S: Final = 0.5
"""Work that is over sooner shows no bar."""


class SilentProgress:
    """Shows nothing (port `Progress`)."""

    @contextmanager
    def bar(self, work: str, *, total: int | None, unit: str) -> Iterator[Callable[[int], object]]:  # noqa: ARG002 - the port's
        """Take what is told, and show nothing."""
        yield _nothing


class TqdmProgress:
    """Shows a bar on standard error, for as long as the work lasts (port `Progress`).

    Only work that the main thread waits for has a bar, one at a time: work inside of other work, and in the background,
    is not shown. Nobody watches where standard error is neither a terminal nor a notebook, and in a run of pytest.

    Args:
        is_forced: show bars whether or not somebody watches.
        delay_s: seconds that work takes before its bar is shown.

    Raises:
        MissingExtraError: bars are forced, and tqdm is not installed.
    """

    def __init__(self, *, is_forced: bool = False, delay_s: float = _DELAY_S) -> None:
        self._is_installed = find_spec("tqdm") is not None
        if is_forced and not self._is_installed:
            raise MissingExtraError(needed_for="progress=True", extra_name="notebook")
        self._is_forced = is_forced
        self._delay_s = delay_s
        self._is_busy = False

    def bar(self, work: str, *, total: int | None, unit: str) -> AbstractContextManager[Callable[[int], object]]:
        """Show a bar until the work ends, however it ends; afterwards it is wiped away."""
        bar = self._opened(work, total, unit)
        return nullcontext(_nothing) if bar is None else self._until_closed(bar)

    @contextmanager
    def _until_closed(self, bar: Any) -> Iterator[Callable[[int], object]]:
        self._is_busy = True
        try:
            yield lambda done: _update(bar, done)
        finally:
            self._is_busy = False
            with suppress(Exception):  # a closed terminal must not stop the work
                bar.close()

    def _opened(self, work: str, total: int | None, unit: str) -> Any:
        is_main = threading.current_thread() is threading.main_thread()
        if self._is_busy or not is_main or not self._is_installed or not (self._is_forced or _is_watched()):
            return None
        from tqdm.std import tqdm

        with suppress(Exception):  # as above
            # Only what stands here is set: tqdm would start a thread of its own to watch over its bars.
            kind = type("_Bar", (tqdm,), {"monitor_interval": 0})
            output: Any = _NotebookLine() if _is_notebook() else sys.stderr
            return kind(total=total, desc=work, unit=f" {unit}", delay=self._delay_s, leave=False, file=output)
        return None


class _NotebookLine:
    """One line below a cell, as a file that tqdm writes to: it is replaced, and empty when the work is over.

    What is written to standard error would stay in the stored notebook.
    """

    encoding = "utf-8"

    def __init__(self) -> None:
        self._display: Any = None
        self._text = ""

    def write(self, text: str) -> int:
        """Show the line; nothing is shown before the first one."""
        line = text.strip()
        if line != self._text:
            self._text = line
            self._show({"text/plain": line})
        return len(text)

    def _show(self, bundle: dict[str, str]) -> None:
        if self._display is not None:
            self._display.update(bundle, raw=True)
            return
        display = sys.modules["IPython"].display.display
        self._display = display(bundle, raw=True, display_id=True)

    def flush(self) -> None:
        """Do nothing: each line is shown at once."""


def progress_display(chosen: bool | Progress | None) -> Progress:
    """Return what shows progress: None is bars where somebody watches, true and false are always and never."""
    if chosen is None or chosen is True:
        return TqdmProgress(is_forced=chosen is True)
    return SilentProgress() if chosen is False else chosen


def _update(bar: Any, done: int) -> None:
    with suppress(Exception):  # as above
        bar.update(done)


def _nothing(done: int) -> None:
    """Take what is told of work that is not shown."""


def _is_notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None and getattr(shell, "kernel", None) is not None


def _is_watched() -> bool:
    """Tell whether somebody sees standard error: in a notebook, or in a terminal; never in a run of pytest."""
    if "pytest" in sys.modules:
        return False
    if _is_notebook():
        return True
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):  # there is none, or it is closed
        return False
