"""Many cases inside one test: what would be a test each costs more to collect and to report than to try."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeVar

import pytest
from _pytest.mark.structures import ParameterSet

Test = TypeVar("Test", bound=Callable[..., Any])

LONGEST_NAME = 60

MOST_NAMED = 20
"""As many failed cases are named; their number is always said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One case: its name in messages, and the arguments that it gives to the test."""

    name: str
    arguments: dict[str, Any]


def for_each(
    names: str | tuple[str, ...], values: Iterable[Any], *, ids: Iterable[str] | Callable[[Any], Any] | None = None
) -> Callable[[Test], Test]:
    """Run the test once for each of the values, as `pytest.mark.parametrize` does, but as one test.

    All cases are tried. The first that fails is raised, with a note that names every one that failed. When all cases
    skip, the test skips; when some do, it fails, since nobody would see what was left out. Fixtures are made once:
    those of a function serve all its cases.
    `test.cases` lists the names, which `python -m tests.inventory` prints.

    Args:
        names: the arguments of the test that a case fills, as of `parametrize`.
        values: a value, a tuple of them or `pytest.param(..., id=)` a case; marks are refused.
        ids: the names of the cases, or a function that names one value.
    """
    listed = [part.strip() for part in names.split(",")] if isinstance(names, str) else list(names)
    cases = _cases(listed, values, ids)

    def decorate(test: Test) -> Test:
        signature = inspect.signature(test)
        missing = [name for name in listed if name not in signature.parameters]
        if missing:
            raise TypeError(f"{test.__name__} has no argument {missing[0]!r}")
        rest = [each for each in signature.parameters.values() if each.name not in listed]

        @functools.wraps(test)
        def run(*positional: Any, **fixtures: Any) -> None:
            _run_all(cases, lambda case: test(*positional, **fixtures, **case.arguments))

        inner = getattr(test, "cases", [""])
        run.cases = [f"{case.name}-{name}".strip("-") for name in inner for case in cases]  # type: ignore[attr-defined]
        run.__signature__ = signature.replace(parameters=rest)  # type: ignore[attr-defined]
        return run  # type: ignore[return-value]

    return decorate


def _cases(names: list[str], values: Iterable[Any], ids: Iterable[str] | Callable[[Any], Any] | None) -> list[Case]:
    sets = [ParameterSet.extract_from(value, force_tuple=len(names) == 1) for value in values]
    if any(each.marks for each in sets):
        raise TypeError("a case with marks is a test of its own: use pytest.mark.parametrize")
    if not sets:
        raise TypeError(f"there is no case of {', '.join(names)}")
    labels = [None] * len(sets) if ids is None or callable(ids) else list(ids)
    if len(labels) != len(sets):
        raise TypeError(f"{len(labels)} ids for {len(sets)} cases")
    name_value = ids if callable(ids) else None
    cases = []
    for number, (each, label) in enumerate(zip(sets, labels, strict=True)):
        arguments = dict(zip(names, each.values, strict=True))
        parts = (_label(f"{name}{number}", value, name_value) for name, value in arguments.items())
        cases.append(Case(name=str(each.id or label or "-".join(parts)), arguments=arguments))
    return cases


def _label(place: str, value: Any, name_value: Callable[[Any], Any] | None) -> str:
    """Return what names a value: its text where that is short to make, else the argument with the case's number."""
    label = name_value(value) if name_value else None
    if label is not None:
        return str(label)
    if isinstance(value, str | bytes):
        return repr(value[:LONGEST_NAME])
    if value is None or isinstance(value, bool | float | Enum) or (isinstance(value, int) and value.bit_length() < 64):
        return str(value)
    return getattr(value, "__name__", place)


def _run_all(cases: list[Case], run: Callable[[Case], None]) -> None:
    """Try all cases; raise the first failure with a note that names all, or skip when every case did."""
    failed: list[tuple[str, BaseException]] = []
    skipped: list[tuple[str, BaseException]] = []
    for case in cases:
        try:
            run(case)
        except pytest.skip.Exception as reason:
            skipped.append((case.name, reason))
        except (Exception, pytest.fail.Exception) as error:
            failed.append((case.name, error))
    if failed:
        named = ", ".join(name for name, _ in failed[:MOST_NAMED])
        failed[0][1].add_note(f"{len(failed)} of {len(cases)} cases failed; this is the first: {named}")
        raise failed[0][1]
    if len(skipped) == len(cases):
        raise skipped[0][1]
    if skipped:
        pytest.fail(f"cases of a test skip together or not at all; {skipped[0][0]} skipped: {skipped[0][1]}")
