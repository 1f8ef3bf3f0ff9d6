"""A call in a process of its own, whose time and peak memory are those of the call."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import TypeVar

Result = TypeVar("Result")


def result_apart(call: Callable[..., Result], *arguments: str) -> Result:
    """Return what a function of a module gives in a new process; EOFError when that dies.

    The processes are forked by one that has imported the module already, which takes two seconds.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([call.__module__, "duckdb", "pyarrow.csv", "alembic.command", "sqlalchemy"])
    ours, theirs = context.Pipe()
    process = context.Process(target=_tell, args=(call, arguments, theirs))
    process.start()
    theirs.close()
    try:
        result: Result = ours.recv()
        return result
    finally:
        ours.close()
        process.join(timeout=120)


def _tell(call: Callable[..., object], arguments: tuple[str, ...], answers: Connection) -> None:
    answers.send(call(*arguments))
