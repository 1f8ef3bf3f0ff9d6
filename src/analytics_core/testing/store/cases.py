"""Many cases of one promise inside one test: a store for each costs more than what is tried on it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar

import pytest

Test = TypeVar("Test", bound=Callable[..., Any])

_LONGEST_NAME: Final = 60


def for_each(names: str, values: Iterable[Any]) -> Callable[[Test], Test]:
    """Run the test once for each of the values, on the same fixtures; `test.cases` lists what the cases are called.

    All cases are tried. The first that fails is raised, with a note that names every one that failed.

    Args:
        names: the arguments of the test that a case fills, as of `pytest.mark.parametrize`.
        values: of each case its one value, or a tuple of as many as there are names.
    """
    listed = names.split(", ")
    filled = [dict(zip(listed, [one] if len(listed) == 1 else one, strict=True)) for one in values]
    cases = [(repr(tuple(arguments.values()))[1:_LONGEST_NAME], arguments) for arguments in filled]

    def decorate(test: Test) -> Test:
        signature = inspect.signature(test)
        fixtures = [one for one in signature.parameters.values() if one.name not in listed]

        @functools.wraps(test)
        def run(*positional: Any, **named: Any) -> None:
            failed: list[tuple[str, BaseException]] = []
            for name, arguments in cases:
                try:
                    test(*positional, **named, **arguments)
                except (Exception, pytest.fail.Exception) as error:  # the first is raised below, once all were tried
                    failed.append((name, error))
            if failed:
                names = "; ".join(name for name, _ in failed)
                failed[0][1].add_note(f"{len(failed)} of {len(cases)} cases failed; this is the first: {names}")
                raise failed[0][1]

        run.cases = [name for name, _ in cases]  # type: ignore[attr-defined]
        run.__signature__ = signature.replace(parameters=fixtures)  # type: ignore[attr-defined]
        return run  # type: ignore[return-value]

    return decorate
