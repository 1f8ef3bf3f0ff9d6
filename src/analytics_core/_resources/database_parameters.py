"""Checks the parameters of a connection before it is made (contract, `DatabaseValidateParametersSchema`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from analytics_core._engines.registry import EngineRegistry
from analytics_core._engines.spec import EngineSpec
from analytics_core._execution.uri_policy import check_engine_params
from analytics_core._gate.cached_names import timeout_problems
from analytics_core._settings import Settings
from analytics_core.errors import ConnectionUriError, Problem, UnknownEngineError
from analytics_core.models.database_answers import DatabaseValidateParameters


def parameter_problems(
    given: DatabaseValidateParameters, *, registry: EngineRegistry, settings: Settings, name_is_taken: bool
) -> tuple[Problem, ...]:
    """Return everything that is wrong with the parameters; none when a connection may be tried."""
    problems = list(_named_problems(given, name_is_taken=name_is_taken))
    try:
        spec = registry.get(given.engine.casefold())
    except UnknownEngineError as unknown:
        return (Problem(path="engine", message=unknown.message), *problems)
    return (*problems, *_engine_problems(given, spec, settings))


def _named_problems(given: DatabaseValidateParameters, *, name_is_taken: bool) -> Iterator[Problem]:
    if not given.database_name:
        yield Problem(path="database_name", message="is required to store the connection")
    if name_is_taken:
        yield Problem(path="database_name", message=f"a database {given.database_name!r} exists already")
    if given.catalog is not None:
        yield Problem(path="catalog", message="is for spreadsheets, which no engine here reads; leave it out")


def _engine_problems(given: DatabaseValidateParameters, spec: EngineSpec, settings: Settings) -> Iterator[Problem]:
    allowed = sorted({*spec.drivers, *settings.allowed_drivers})
    if given.driver and given.driver.casefold() not in allowed:
        yield Problem(path="driver", message=f"must be one of {', '.join(allowed)}")
    try:
        check_engine_params(given.extra, spec)
    except ConnectionUriError as refusal:
        yield Problem(path="extra", message=refusal.message)
    for problem in timeout_problems(given.extra):
        yield replace(problem, path=f"extra.{problem.path}")
