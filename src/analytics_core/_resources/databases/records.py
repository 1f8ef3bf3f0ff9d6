"""Turns database payloads into records, and checks the parameters of a connection before it is made."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from analytics_core._engines.registry import EngineRegistry
from analytics_core._engines.spec import EngineSpec
from analytics_core._execution.connection_uri import CheckedUri, check_engine_params, mask_options, merge_masked
from analytics_core._gate.metadata import timeout_problems
from analytics_core._records.datasource import Database
from analytics_core._records.secret import MASK, Secret
from analytics_core._settings import Settings
from analytics_core.errors import ConnectionUriError, PayloadSchemaError, Problem, UnknownEngineError
from analytics_core.models.database import DatabasePost, DatabasePut, DatabaseValidateParameters

_CLEARED_BY_NULL = frozenset({"cache_timeout", "extra", "external_url", "force_ctas_schema"})
_COPIED = _CLEARED_BY_NULL | {
    "allow_ctas",
    "allow_cvas",
    "allow_dml",
    "allow_file_upload",
    "allow_run_async",
    "database_name",
    "expose_in_sqllab",
    "impersonate_user",
    "is_managed_externally",
    "uuid",
}


def new_database(post: DatabasePost, *, uri: Secret, checked: CheckedUri, uuid: str) -> Database:
    """Return the record of a create payload; `uuid` is used when the payload names none."""
    _check_names(post, checked, shape="DatabaseRestApi.post")
    _check_options(post, checked)
    record = Database(
        uuid=uuid,
        database_name=post.database_name,
        uri=uri,
        engine=checked.spec.name,
        driver=_driver(checked),
        configuration_method=post.configuration_method.value,
    )
    return replace(record, **_copied(post))


def changed_database(database: Database, put: DatabasePut, *, uri: Secret, checked: CheckedUri) -> Database:
    """Return the record after an update; null clears what may be empty and leaves everything else as it is."""
    _check_names(put, checked, shape="DatabaseRestApi.put")
    _check_options(put, checked)
    changes: dict[str, Any] = {"uri": uri, "engine": checked.spec.name, "driver": _driver(checked)}
    if "configuration_method" in put.model_fields_set:
        changes["configuration_method"] = put.configuration_method.value
    return replace(database, **changes, **_copied(put))


def new_uri(post_uri: Any, *, shape: str, stored: Secret | None = None) -> Secret:
    """Return the URI that a payload means; with `stored`, a masked password stands for the stored one.

    Raises:
        PayloadSchemaError: there is no URI.
        ConnectionUriError: a masked password with nothing stored, or with another server.
    """
    text = post_uri.get_secret_value() if post_uri is not None else ""
    if text and stored is not None:
        return merge_masked(text, stored)
    if MASK in text:
        raise ConnectionUriError("the connection URI holds a mask and nothing is stored yet; give the password itself")
    if text:
        return Secret(text)
    if stored is not None:
        return stored
    raise PayloadSchemaError(shape=shape, problems=[Problem(path="orm_uri", message="is required to connect")])


def _copied(payload: DatabasePost | DatabasePut) -> dict[str, Any]:
    return {
        name: value
        for name, value in payload.given().items()
        if name in _COPIED and (value is not None or name in _CLEARED_BY_NULL)
    }


def _driver(checked: CheckedUri) -> str | None:
    return str(checked.url.drivername).partition("+")[2] or None


def _check_names(payload: DatabasePost | DatabasePut, checked: CheckedUri, *, shape: str) -> None:
    """Refuse an engine or driver named beside the URI that is not the URI's."""
    problems = []
    names = {checked.spec.name, checked.spec.dialect, *checked.spec.aliases}
    if payload.engine and payload.engine.casefold() not in names:
        problems.append(Problem(path="engine", message=f"the URI's engine is {checked.spec.name!r}"))
    driver = _driver(checked)
    if payload.driver and driver and payload.driver.casefold() != driver:
        problems.append(Problem(path="driver", message=f"the URI's driver is {driver!r}"))
    if problems:
        raise PayloadSchemaError(shape=shape, problems=problems)


def _check_options(payload: DatabasePost | DatabasePut, checked: CheckedUri) -> None:
    """Refuse options that the driver may not have, secrets outside the URI, and tunnels, which nothing here opens."""
    check_engine_params(payload.extra, checked.spec)
    options = json.loads(payload.extra or "{}")
    if problems := timeout_problems(payload.extra):
        raise PayloadSchemaError(shape="database extra", problems=problems)
    if mask_options(options) != options:
        raise ConnectionUriError("extra holds what looks like a secret; secrets belong into the connection URI")
    if payload.ssh_tunnel is not None:
        raise ConnectionUriError("SSH tunnels are not available; give an address that this host can reach")


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
    except ConnectionUriError as rejection:
        yield Problem(path="extra", message=rejection.message)
    for problem in timeout_problems(given.extra):
        yield replace(problem, path=f"extra.{problem.path}")
