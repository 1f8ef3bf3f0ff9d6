"""Connection URIs: read, masked, merged with the stored one, and held to what a connection may ask for.

That are exact drivers, harmless options, and files inside allowed folders.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError

from analytics_core._engine.engines.guards import DatabaseFiles
from analytics_core._engine.engines.spec import EngineSpec
from analytics_core._engine.network import is_host
from analytics_core._records.secret import Secret
from analytics_core._records.settings import Settings
from analytics_core._tools.display.blocks import MASK
from analytics_core.errors import ConnectionUriError, ErrorType, UnknownNameError
from analytics_core.models.strict_json import RepeatedKeyError, read_json_once

LONGEST_URI = 4_096
LARGEST_PORT = 65_535
_SECRET_NAME = re.compile(
    r"pass|pwd|secret|token|key|credential|auth|signature|private|sas|jwt|bearer|cookie", re.IGNORECASE
)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_SHAPE = "engine://user:password@host:port/database"


SpecLookup = Callable[[str], EngineSpec]
"""Finds the spec of an engine by the backend name of a URI; a typed error when there is none."""


def parse_uri(uri: str | Secret) -> sa.URL:
    """Return the parts of a URI.

    Raises:
        ConnectionUriError: it is malformed; the URI is not repeated.
    """
    text = uri.reveal() if isinstance(uri, Secret) else uri
    url = _read(text)
    if isinstance(url, ErrorType):
        raise ConnectionUriError(_UNREAD[url], error_type=url)
    # The rest of a password with a bare '@' or '/' would be shown as part of host or database.
    if url.host and "@" in f"{url.host}{url.database or ''}":
        raise ConnectionUriError(
            "the connection URI has a second '@'; inside user name or password write it as %40, and '/' as %2F"
        )
    return url


_UNREAD: Mapping[ErrorType, str] = MappingProxyType(
    {
        ErrorType.CONNECTION_MISSING_PARAMETERS_ERROR: f"the connection URI cannot be read; it looks like {_SHAPE}",
        ErrorType.CONNECTION_INVALID_PORT_ERROR: (
            f"the connection URI needs a port from 1 to {LARGEST_PORT}, or none; inside user name or password write "
            "'@' as %40, and '/' as %2F"
        ),
    }
)


def _read(text: str) -> sa.URL | ErrorType:
    """Return the parts, or the type of what is wrong; an error here would hold the text of a port, perhaps a secret."""
    if not text or len(text) > LONGEST_URI or _CONTROL.search(text):
        return ErrorType.CONNECTION_MISSING_PARAMETERS_ERROR
    try:
        return sa.make_url(text)
    except ArgumentError:
        return ErrorType.CONNECTION_MISSING_PARAMETERS_ERROR
    except ValueError:  # of the port alone
        return ErrorType.CONNECTION_INVALID_PORT_ERROR


def masked(uri: str | Secret) -> str:
    """Return the URI with its password and secret-looking query values masked; a malformed URI is all mask."""
    try:
        url = parse_uri(uri)
    except ConnectionUriError:
        return MASK
    if url.password is not None:
        url = url.set(password=MASK)
    query = {name: MASK if is_secret_name(name) else value for name, value in url.query.items()}
    return url.set(query=query).render_as_string(hide_password=False)


def is_secret_name(name: str) -> bool:
    """Whether an option of this name holds a secret."""
    return _SECRET_NAME.search(name) is not None


def mask_options(options: Any) -> Any:
    """Return options (JSON values) with the values of secret-looking names masked, at any depth."""
    if isinstance(options, Mapping):
        return {name: MASK if is_secret_name(str(name)) else mask_options(value) for name, value in options.items()}
    return [mask_options(item) for item in options] if isinstance(options, list | tuple) else options


def merge_masked(new_uri: str, stored: Secret | None, *, specs: SpecLookup) -> Secret:
    """Return the URI to store: `new_uri`, with masks in it replaced by what is stored; a mask alone is all of it.

    Stored secrets are used again only for the same engine, driver, user, host, port and options: otherwise whoever
    edits a connection could have the password sent to a server of their own. `specs` tells which driver is meant where
    a URI names none, and which names of an engine are one.

    Raises:
        ConnectionUriError: the URI is malformed, or a mask comes with another server or other options, or where nothing
            is stored that it could stand for.
    """
    if new_uri == MASK:
        return _stored(stored)
    new = parse_uri(new_uri)
    masked_names = [name for name, value in new.query.items() if value == MASK]
    if new.password != MASK and not masked_names:
        return Secret(new_uri)
    old = parse_uri(_stored(stored))
    known_names = all(is_secret_name(name) and name in old.query for name in masked_names)
    same_driver = _engine_and_driver(new, specs) == _engine_and_driver(old, specs)
    if not (known_names and same_driver) or server_of(new)[1:] != server_of(old)[1:]:
        raise ConnectionUriError("the server or its options changed: give the password again")
    if new.password == MASK and old.password is None:
        raise ConnectionUriError("the connection URI masks a password, and none is stored; give the password itself")
    merged = new.set(query={name: old.query[name] if name in masked_names else v for name, v in new.query.items()})
    if new.password == MASK:
        merged = merged.set(password=old.password)
    return Secret(merged.render_as_string(hide_password=False))


def _stored(uri: Secret | None) -> Secret:
    if uri is None:
        raise ConnectionUriError("the connection URI holds a mask and nothing is stored yet; give the password itself")
    return uri


def server_of(url: sa.URL) -> tuple[Any, ...]:
    """Return driver, user, host, port and harmless options of a URL: where its secrets are sent, and as whose."""
    options = frozenset((name, value) for name, value in url.query.items() if not is_secret_name(name))
    return (url.drivername.casefold(), url.username, (url.host or "").casefold(), url.port, options)


def _engine_and_driver(url: sa.URL, specs: SpecLookup) -> tuple[str, str]:
    backend, _, driver = url.drivername.casefold().partition("+")
    try:
        spec = specs(backend)
    except UnknownNameError:  # told when the URI is checked
        return backend, driver
    return spec.name, driver or (spec.drivers[0] if spec.drivers else "")


Scalar = str | int | float | bool

_POOL_BOUNDS: Mapping[str, tuple[int, int]] = MappingProxyType(
    {"pool_size": (1, 100), "max_overflow": (0, 100), "pool_timeout": (1, 600), "pool_recycle": (-1, 86_400)}
)
_METADATA_PARAMS: Mapping[str, type] = MappingProxyType(
    {"schema": str, "quote_schema": bool, "naming_convention": dict, "info": dict}
)
"""What SQLAlchemy's metadata is made from that neither runs code nor reaches a database."""
_KINDS: Mapping[type, str] = MappingProxyType({str: "a text", bool: "true or false", dict: "an object"})
_LONGEST_VERSION = 100
_LONGEST_VALUE = 500
_MEMORY = ":memory:"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedUri:
    """A URI that passed: the driver is written out, `file` is resolved, `memory_name` is "" for a private memory."""

    url: sa.URL
    spec: EngineSpec
    file: Path | None = None
    memory_name: str | None = None

    @property
    def engine_url(self) -> sa.URL:
        """The URL that SQLAlchemy finds the dialect by."""
        driver = self.url.drivername.partition("+")[2]
        return self.url.set(drivername=self.spec.registered_as.get(driver, self.url.drivername))

    @property
    def server(self) -> tuple[str, int | None] | None:
        """Host and port that the driver connects to; None for a file."""
        if self.spec.guards.database_files is not DatabaseFiles.NONE:
            return None
        return self.spec.server(self.url.host or "", self.url.port), self.url.port or self.spec.usual_port


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOptions:
    """What `extra.engine_params` may set: options of the pool, and arguments for the driver."""

    pool: Mapping[str, int]
    connect_args: Mapping[str, Scalar]


def check_uri(
    uri: str | Secret, *, settings: Settings, specs: SpecLookup, allowed_files: Iterable[Path] = ()
) -> CheckedUri:
    """Return the checked URI.

    Args:
        uri: what a user gave.
        settings: `data_roots` and `allowed_drivers`.
        specs: the known engines.
        allowed_files: single files that may be opened although no data root holds them.

    Raises:
        ConnectionUriError: malformed, or a driver, option or file that is not allowed; the URI is not repeated.
    """
    parsed = parse_uri(uri)
    spec = _known_spec(parsed, specs)
    url = parsed.set(drivername=_checked_driver(parsed, spec, settings))
    _check_options(url.query, spec)
    if url.port is not None and not 1 <= url.port <= LARGEST_PORT:
        message = f"needs a port from 1 to {LARGEST_PORT}"
        raise _error(spec, message, error_type=ErrorType.CONNECTION_INVALID_PORT_ERROR)
    if spec.guards.database_files is DatabaseFiles.NONE:
        if url.host and not is_host(url.host):
            raise _error(spec, "needs one host, by its name or its address; no list, path or escaped character")
        return CheckedUri(url=url, spec=spec)
    if url.host or url.username or url.password:
        raise _error(spec, f"needs no host or user; write {spec.name}:///path/to/file")
    return _checked_file(url, spec, [root.resolve() for root in settings.data_roots], allowed_files)


def check_engine_params(extra: str | None, spec: EngineSpec) -> EngineOptions:
    """Return the allowed part of `extra.engine_params` (contract, Databases).

    Raises:
        ConnectionUriError: `extra` is no JSON object, or an option is not allowed.
    """
    params = _engine_params(extra, spec)
    connect_args = params.pop("connect_args", {})
    if not isinstance(connect_args, dict):
        raise _error(spec, "extra.engine_params.connect_args must be an object")
    _check_options(connect_args, spec)
    pool = {}
    for name, value in params.items():
        low, high = _POOL_BOUNDS.get(name, (0, -1))
        if low > high:
            raise _error(spec, f"engine parameter {name[:60]!r} is not allowed; allowed: {', '.join(_POOL_BOUNDS)}")
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise _error(spec, f"engine parameter {name!r} must be a whole number from {low} to {high}")
        pool[name] = value
    return EngineOptions(pool=pool, connect_args=connect_args)


def check_metadata_params(extra: str | None, spec: EngineSpec) -> None:
    """Refuse what `extra.metadata_params` may not hold, and a `version` that is no text; nothing here reads either.

    Raises:
        ConnectionUriError: which of them, and what would work.
    """
    for name, value in _object_of(extra, "metadata_params", spec).items():
        kind = _METADATA_PARAMS.get(name)
        if kind is None:
            allowed = ", ".join(_METADATA_PARAMS)
            raise _error(spec, f"metadata parameter {name[:60]!r} is not allowed; allowed: {allowed}")
        if not isinstance(value, kind):
            raise _error(spec, f"metadata parameter {name!r} must be {_KINDS[kind]}")
    version = read_json_once(extra).get("version") if extra else None
    if version is not None and not (isinstance(version, str) and len(version) <= _LONGEST_VERSION):
        raise _error(spec, f"extra.version must be a text of at most {_LONGEST_VERSION} characters, such as '16'")


def _engine_params(extra: str | None, spec: EngineSpec) -> dict[str, Any]:
    return _object_of(extra, "engine_params", spec)


def _object_of(extra: str | None, name: str, spec: EngineSpec) -> dict[str, Any]:
    try:
        options = read_json_once(extra) if extra else {}
    except RepeatedKeyError as error:
        raise _error(spec, f"extra {error}; save it with one of them") from None
    except (ValueError, RecursionError):
        options = None
    found = options.get(name, {}) if isinstance(options, dict) else None
    if not isinstance(found, dict):
        raise _error(spec, f"extra and extra.{name} must be JSON objects")
    return dict(found)


def _known_spec(url: sa.URL, specs: SpecLookup) -> EngineSpec:
    try:
        return specs(url.drivername.partition("+")[0].casefold())
    except UnknownNameError as error:
        known = ", ".join(error.known)
    raise ConnectionUriError(f"the connection URI names an engine that is not known; known: {known}")


def _checked_driver(url: sa.URL, spec: EngineSpec, settings: Settings) -> str:
    """Return `backend+driver` with the backend name that SQLAlchemy's dialect has; no driver means the spec's first."""
    _, _, given = url.drivername.casefold().partition("+")
    allowed = (*spec.drivers, *settings.allowed_drivers)
    driver = given or (spec.drivers[0] if spec.drivers else "")
    if given and not {given, f"{spec.name}+{given}"} & set(allowed):
        raise _error(spec, f"this driver is not allowed; allowed: {', '.join(spec.drivers) or 'none'}")
    return f"{spec.name}+{driver}" if driver else spec.name


def _check_options(options: Mapping[str, Any], spec: EngineSpec) -> None:
    allowed = spec.guards.uri_options
    for name, value in options.items():
        if name not in allowed:
            listed = ", ".join(sorted(allowed)) or "none"
            as_text = spec.authorities is not None and name in spec.authorities.file("")
            instead = "; give certificates as text, by extra.server_cert" if as_text else ""
            raise _error(spec, f"connection option {name[:60]!r} is not allowed; allowed: {listed}{instead}")
        if not isinstance(value, str | int | float | bool) or len(str(value)) > _LONGEST_VALUE:
            raise _error(spec, f"connection option {name!r} must be one short value")
        if not _takes(allowed[name], value):
            raise _error(
                spec, f"connection option {name!r} must be {_expectation(allowed[name])}, not {str(value)[:60]!r}"
            )


def _takes(words: frozenset[str] | range | None, value: Scalar) -> bool:
    """Tell whether an option of these words (none: a whole number; None: any) takes a value; JSON has Booleans."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    is_integer = text.isascii() and text.isdigit()
    if isinstance(words, range):
        return is_integer and int(text) in words
    return words is None or text in words or (not words and is_integer)


def _expectation(words: frozenset[str] | range | None) -> str:
    if isinstance(words, range):
        return f"a whole number from {words[0]} to {words[-1]}"
    return " or ".join(sorted(words or ())) or "a whole number"


def _checked_file(url: sa.URL, spec: EngineSpec, roots: list[Path], allowed_files: Iterable[Path]) -> CheckedUri:
    database = url.database or _MEMORY
    takes_file_uris = spec.guards.database_files is DatabaseFiles.PATH_OR_FILE_URI
    named_memory = takes_file_uris and url.query.get("mode") == "memory"
    if database == _MEMORY or named_memory:
        name = database.removeprefix("file:") if named_memory and database != _MEMORY else ""
        return CheckedUri(url=url, spec=spec, memory_name=name)
    if takes_file_uris:
        database = database.removeprefix("file:")
    elif ":" in database:  # `md:`, `s3://`, `:memory:name` are no files
        raise _error(spec, "only a file or a database in memory may be opened")
    try:
        file = Path(database).resolve()
    except (OSError, RuntimeError, ValueError):  # links in a circle; a NUL character
        raise _error(spec, "the path of this file leads nowhere") from None
    if file not in {allowed.resolve() for allowed in allowed_files} and not any(map(file.is_relative_to, roots)):
        raise _error(spec, "this file is not allowed; it must lie inside one of Settings.data_roots")
    return CheckedUri(url=url, spec=spec, file=file)


def _error(spec: EngineSpec, message: str, *, error_type: ErrorType | None = None) -> ConnectionUriError:
    return ConnectionUriError(f"{spec.label}: {message}", engine=spec.name, error_type=error_type)
