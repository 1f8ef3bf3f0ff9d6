"""Turns payloads into databases and databases into answers, and checks parameters before a connection is made.

No secret comes out. `spec` is None for an engine that is not registered any more: its databases can still be seen, and
removed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from analytics_core._content.changes import changes_of
from analytics_core._content.databases.secret_options import masked_options, split_options, stored_options
from analytics_core._content.databases.tunnels import (
    leads_elsewhere,
    masked_tunnel,
    sends_stored_password,
    stored_tunnel,
    takes_tunnels,
)
from analytics_core._content.field_formatter import FieldFormatter, answer_as
from analytics_core._content.stored_json import json_object
from analytics_core._content.user_directory import UserIndex
from analytics_core._engine.engines.registry import EngineRegistry
from analytics_core._engine.engines.spec import EngineSpec
from analytics_core._engine.execution.connection_parameters import (
    Look,
    parameter_faults,
    parameters_of,
    port_number,
    uri_of,
)
from analytics_core._engine.execution.connection_uri import (
    CheckedUri,
    check_engine_params,
    check_metadata_params,
    masked,
    merge_masked,
    parse_uri,
)
from analytics_core._engine.execution.server_authorities import check_authorities, driver_options
from analytics_core._engine.execution.sessions.choice import takes_rows
from analytics_core._engine.gate.metadata import timeout_problems
from analytics_core._records.datasource import Database
from analytics_core._records.secret import Secret
from analytics_core._records.settings import Settings
from analytics_core.errors import ConnectionUriError, PayloadSchemaError, Problem, UnknownEngineError
from analytics_core.models.base import HiddenText
from analytics_core.models.database import (
    DatabaseConnection,
    DatabaseExtra,
    DatabaseGet,
    DatabaseListItem,
    DatabaseParameters,
    DatabasePost,
    DatabasePut,
    DatabaseTestConnection,
    DatabaseValidateParameters,
)
from analytics_core.models.dataset import DatabaseSummary
from analytics_core.models.enums import ConfigurationMethod
from analytics_core.models.parsing import parse, payload_error

_Given = DatabasePost | DatabasePut | DatabaseTestConnection

_EXTRA: Final = "database extra"
_NOT_COPIED = frozenset({"configuration_method", "driver", "engine", "extra", "orm_uri", "parameters", "ssh_tunnel"})
"""Fields of payloads that no record copies: the checked URI says them, they are taken apart, or nothing stores them."""


def new_database(
    post: DatabasePost, *, uri: Secret, checked: CheckedUri, uuid: str, stored: Database | None = None
) -> Database:
    """Return the record of a create payload; `uuid` is used when the payload names none.

    With `stored`, what the payload masks or leaves out of the SSH tunnel is that database's.
    """
    _check_names(post, checked, shape="DatabaseRestApi.post")
    _check_options(post, checked)
    extra, secret_extra = split_options(post.extra, checked, stored=stored)
    if stored is not None and sends_stored_password(post, stored):
        _check_same_options(stored, extra)
    record = Database(
        uuid=uuid,
        database_name=post.database_name,
        uri=uri,
        engine=checked.spec.name,
        driver=_driver(checked),
        configuration_method=post.configuration_method.value,
        extra=extra,
        secret_extra=secret_extra,
        ssh_tunnel=stored_tunnel(post, checked, shape="DatabaseRestApi.post", stored=stored),
    )
    return replace(record, **changes_of(post, Database, without=_NOT_COPIED))


def changed_database(database: Database, put: DatabasePut, *, uri: Secret, checked: CheckedUri) -> Database:
    """Return the record after an update; null clears what may be empty and leaves everything else as it is."""
    _check_names(put, checked, shape="DatabaseRestApi.put")
    _check_options(put, checked)
    if "extra" not in put.model_fields_set and uri != database.uri:
        _check_connection(database.extra, checked)
    changes: dict[str, Any] = {"uri": uri, "engine": checked.spec.name, "driver": _driver(checked)}
    changes["ssh_tunnel"] = stored_tunnel(put, checked, shape="DatabaseRestApi.put", stored=database)
    if "extra" in put.model_fields_set:
        changes["extra"], changes["secret_extra"] = split_options(put.extra, checked, stored=database)
        if sends_stored_password(put, database):
            _check_same_options(database, changes["extra"])
    else:
        changes["secret_extra"] = stored_options(checked, database)
    if "configuration_method" in put.model_fields_set:
        changes["configuration_method"] = put.configuration_method.value
    return replace(database, **changes, **changes_of(put, Database, without=_NOT_COPIED))


def is_led_otherwise(before: Database, after: Database) -> bool:
    """Tell whether a database is reached through another tunnel, or with other options of its driver."""
    return leads_elsewhere(before.ssh_tunnel, after.ssh_tunnel) or _sent_with(before.extra) != _sent_with(after.extra)


def _sent_with(extra: str | None) -> tuple[Any, Any]:
    """Return what of `extra` decides how a password is sent: arguments of the driver, certificates of authorities."""
    options = json_object(extra)
    params = options.get("engine_params")
    return params.get("connect_args") or {} if isinstance(params, dict) else {}, options.get("server_cert")


def _check_same_options(stored: Database, extra: str | None) -> None:
    """Refuse to send the stored password with other options, which might take its encryption away."""
    if _sent_with(stored.extra) != _sent_with(extra):
        raise ConnectionUriError("engine_params.connect_args or server_cert of extra changed: give the password again")


def new_uri(post_uri: Any, *, shape: str, registry: EngineRegistry, stored: Secret | None = None) -> Secret:
    """Return the URI that a payload means; with `stored`, a masked password stands for the stored one.

    Raises:
        PayloadSchemaError: there is no URI.
        ConnectionUriError: the URI is malformed, or masks a password with nothing stored, or with another server.
    """
    text = post_uri.get_secret_value() if post_uri is not None else ""
    if text:
        return merge_masked(text, stored, specs=registry.get)
    if stored is not None:
        return stored
    raise payload_error(shape, "orm_uri", "is required to connect")


def given_uri(payload: _Given, *, shape: str, registry: EngineRegistry, stored: Database | None = None) -> Any:
    """Return the URI of a payload, hidden: the one it gives, or the one that its `parameters` mean; None: neither.

    Without `engine`, and without `driver` for the same engine, the stored ones are meant.

    Raises:
        PayloadSchemaError: both are given, `configuration_method` is not 'dynamic_form', or a parameter is wrong.
    """
    if payload.parameters is None:
        return payload.orm_uri
    stored_method = stored.configuration_method if stored is not None else None
    method = payload.configuration_method if "configuration_method" in payload.model_fields_set else stored_method
    if method != ConfigurationMethod.DYNAMIC_FORM:
        raise payload_error(shape, "configuration_method", "must be 'dynamic_form' where parameters are given")
    if payload.orm_uri is not None:
        raise payload_error(shape, "orm_uri", "must be left out where parameters are given")
    engine = payload.engine or (stored.engine if stored is not None else None)
    if engine is None:
        raise payload_error(shape, "engine", "is required where parameters are given")
    spec = registry.get(engine)
    given = plain_parameters(payload.parameters)
    if faults := parameter_faults(given, spec):
        raise PayloadSchemaError(shape=shape, problems=faults)
    backend = _stored_backend(stored, spec) if payload.driver is None else f"{spec.name}+{payload.driver.casefold()}"
    return HiddenText(uri_of(given, backend or spec.name, spec))


def _stored_backend(stored: Database | None, spec: EngineSpec) -> str | None:
    """Return engine and driver as the stored URI writes them, so that a mask finds its password; None: another."""
    if stored is None or stored.engine != spec.name:
        return None
    return str(parse_uri(stored.uri).drivername)


def plain_parameters(parameters: DatabaseParameters) -> dict[str, Any]:
    """Return the parameters by name, the password plain."""
    given = {name: getattr(parameters, name) for name in DatabaseParameters.model_fields}
    password = parameters.password
    return given | {"password": None if password is None else password.get_secret_value()}


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


def _check_connection(extra: str | None, checked: CheckedUri) -> None:
    """Refuse options that the driver may not have, and certificates that it does not take."""
    requested = driver_options(checked, check_engine_params(extra, checked.spec))
    check_authorities(extra, checked.spec, requested=requested)
    check_metadata_params(extra, checked.spec)


def _check_options(payload: DatabasePost | DatabasePut, checked: CheckedUri) -> None:
    """Refuse options that the driver may not have."""
    _check_connection(payload.extra, checked)
    if problems := _option_problems(payload.extra):
        raise PayloadSchemaError(shape=_EXTRA, problems=problems)


def _option_problems(extra: str | None) -> tuple[Problem, ...]:
    """Return what is wrong with single options of `extra`, an object; null stands for unset."""
    given = {name: value for name, value in json.loads(extra or "{}").items() if value is not None}
    timeouts = timeout_problems(extra)
    try:
        parse(DatabaseExtra, {k: v for k, v in given.items() if k != "metadata_cache_timeout"}, shape=_EXTRA)
    except PayloadSchemaError as error:
        return (*error.problems, *timeouts)
    return timeouts


def parameter_problems(
    given: DatabaseValidateParameters,
    *,
    registry: EngineRegistry,
    settings: Settings,
    name_is_taken: bool,
    look: Look | None,
) -> tuple[Problem, ...]:
    """Return everything that is wrong with the parameters; none when a connection may be tried.

    `look` is asked for the server once its host and port are well formed; None: it is not looked for.
    """
    problems = list(_named_problems(given, name_is_taken=name_is_taken))
    try:
        spec = registry.get(given.engine.casefold())
    except UnknownEngineError as unknown:
        return (Problem(path="engine", message=unknown.message), *problems)
    return (*problems, *_engine_problems(given, spec, settings), *_server_problems(given, spec, look))


def _server_problems(given: DatabaseValidateParameters, spec: EngineSpec, look: Look | None) -> tuple[Problem, ...]:
    """Return what is wrong with the parameters themselves, and with the server that they lead to."""
    if given.configuration_method is not ConfigurationMethod.DYNAMIC_FORM:
        wrong = given.parameters is not None
        return (Problem(path="parameters", message="are for configuration_method 'dynamic_form'"),) * wrong
    parameters = plain_parameters(given.parameters or DatabaseParameters())
    faults = parameter_faults(parameters, spec)
    host, port = parameters["host"], parameters["port"]
    is_unclear = {fault.path for fault in faults} & {"parameters.host", "parameters.port"}
    if look is None or not host or is_unclear or not spec.parameters.has_address:
        return faults
    fault = look(host, spec.usual_port if port is None else port_number(port))
    return faults if fault is None else (*faults, fault)


def _named_problems(given: DatabaseValidateParameters, *, name_is_taken: bool) -> Iterator[Problem]:
    if given.database_name == "":
        yield Problem(path="database_name", message="must not be empty; leave it out until there is one")
    if name_is_taken:
        yield Problem(path="database_name", message=f"a database {given.database_name!r} exists already")
    if given.catalog is not None:
        yield Problem(path="catalog", message="is for spreadsheets, which no engine here reads; leave it out")


def _engine_problems(given: DatabaseValidateParameters, spec: EngineSpec, settings: Settings) -> Iterator[Problem]:
    allowed = sorted({*spec.drivers, *settings.allowed_drivers})
    if given.driver and given.driver.casefold() not in allowed:
        yield Problem(path="driver", message=f"must be one of {', '.join(allowed)}")
    try:
        options = check_engine_params(given.extra, spec)
        check_authorities(given.extra, spec, requested={**_uri_options(given, spec), **options.connect_args})
        check_metadata_params(given.extra, spec)
    except ConnectionUriError as rejection:
        yield Problem(path="extra", message=rejection.message)
    else:
        for problem in _option_problems(given.extra):
            yield replace(problem, path=f"extra.{problem.path}")


def _uri_options(given: DatabaseValidateParameters, spec: EngineSpec) -> dict[str, Any]:
    """Return the options of the URI that the parameters mean."""
    parameters = given.parameters or DatabaseParameters()
    return {**(parameters.query or {}), **(spec.parameters.encryption if parameters.encryption else {})}


def engine_information(spec: EngineSpec | None) -> dict[str, Any]:
    """Return what the library can do with databases of an engine; None is one that is not registered any more."""
    can_tunnel = spec is not None and any(takes_tunnels(driver) for driver in spec.drivers)
    return {
        "supports_file_upload": spec is not None and takes_rows(spec.name),
        "disable_ssh_tunneling": not can_tunnel,
        "supports_oauth2": spec is not None and spec.user_token is not None,
        "supports_dynamic_schema": spec is not None and "host" in spec.parameters.names,
    }


def database_get(database: Database, *, spec: EngineSpec | None) -> DatabaseGet:
    """Return one database (contract, `DatabaseRestApi.get`)."""
    return answer_as(DatabaseGet, database, backend=database.engine, engine_information=engine_information(spec))


def database_item(
    database: Database, *, spec: EngineSpec | None, people: UserIndex, readable: FieldFormatter
) -> DatabaseListItem:
    """Return one database of a list (contract, `DatabaseRestApi.get_list`)."""
    return answer_as(
        DatabaseListItem,
        database,
        extra=masked_options(database, of_clients=False),
        **_explore_options(database),
        created_by=people.names(database.audit.created_by),
        allows_cost_estimate=spec is not None and spec.costs is not None,
        allows_subquery=spec is not None and spec.allows_subqueries,
        backend=database.engine,
        changed_on_delta_humanized=readable.delta(database.audit.changed_on),
        engine_information=engine_information(spec),
    )


def database_connection(database: Database, *, spec: EngineSpec | None) -> DatabaseConnection:
    """Return a database with its URI, secrets masked (contract, `DatabaseConnectionSchema`)."""
    return answer_as(
        DatabaseConnection,
        database,
        orm_uri=masked(database.uri),
        extra=masked_options(database),
        configuration_method=ConfigurationMethod(database.configuration_method),
        ssh_tunnel=masked_tunnel(database),
        parameters=None if spec is None else parameters_of(database.uri, spec),
        backend=database.engine,
        engine_information=engine_information(spec),
    )


def database_summary(database: Database, spec: EngineSpec) -> DatabaseSummary:
    """Return what a page needs to know of the database behind a dataset."""
    return DatabaseSummary(
        id=database.id,
        name=database.database_name,
        backend=database.engine,
        allows_cost_estimate=spec.costs is not None,
        allows_subquery=spec.allows_subqueries,
        disable_drill_to_detail=database.sets("disable_drill_to_detail"),
        **_explore_options(database),
    )


def _explore_options(database: Database) -> dict[str, Any]:
    """Return what the `extra` of a database says of exploring it."""
    options = json_object(database.extra)
    explored = options.get("explore_database_id")
    return {
        "allows_virtual_table_explore": options.get("allows_virtual_table_explore", True) is not False,
        "disable_data_preview": database.sets("disable_data_preview"),
        "explore_database_id": explored if type(explored) is int else database.id,
    }
