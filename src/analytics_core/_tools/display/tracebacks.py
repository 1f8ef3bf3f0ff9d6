"""A traceback of a typed error for a notebook: what went wrong, and where in the user's own code."""

from __future__ import annotations

import linecache
import traceback
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import Final

_NOT_THE_USERS: Final = ("analytics_core", "IPython", "ipykernel", "concurrent", "threading")
_MOST_FRAMES: Final = 10


def short_traceback(error: BaseException, told: Sequence[str]) -> list[str]:
    """Return the lines that a notebook shows for an error.

    The library's own frames say nothing to whoever wrote the call; `traceback.print_exception(error)` has them.

    Args:
        error: what was raised.
        told: what went wrong, a line each.
    """
    first, *others = told
    frames = list(_users_frames(error))[-_MOST_FRAMES:]
    return [*frames, f"{type(error).__name__}: {first}", *(f"    {line}" for line in others)]


def _users_frames(error: BaseException) -> Iterator[str]:
    for frame, line in traceback.walk_tb(error.__traceback__):
        module = str(frame.f_globals.get("__name__", ""))
        if module.partition(".")[0] in _NOT_THE_USERS:
            continue
        source = linecache.getline(frame.f_code.co_filename, line).strip()
        yield f"{_place(frame.f_code.co_filename)}, line {line}: {source}".rstrip(": ")


def _place(filename: str) -> str:
    is_cell = "ipykernel_" in filename or filename.startswith("<ipython-input")
    return "cell" if is_cell else PurePath(filename).name
