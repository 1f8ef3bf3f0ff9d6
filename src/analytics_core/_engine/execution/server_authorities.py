"""The authorities that vouch for the server of a database: their certificates as text, `server_cert` of `extra`.

Drivers take the path of a file: a private one of ours, which lives as long as the connections that it is for. What
users give is never a path.
"""

from __future__ import annotations

import os
import ssl
import tempfile
import weakref
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from analytics_core._engine.engines.spec import EngineSpec, TrustedAuthorities
from analytics_core._engine.execution.connection_uri import CheckedUri, EngineOptions
from analytics_core._tools.forks import forkable_lock
from analytics_core.errors import ConnectionUriError, DatabaseError
from analytics_core.models.strict_json import RepeatedKeyError, read_json_once

OPTION: Final = "server_cert"
"""The key of `extra`."""

LONGEST_BUNDLE: Final = 300_000
"""Characters; the authorities that a system trusts are fewer than 250,000."""


def check_authorities(extra: str | None, spec: EngineSpec, *, requested: Mapping[str, Any]) -> str | None:
    """Return the certificates that `extra` of a database names; None for none. `requested` is what the connection asks.

    Raises:
        ConnectionUriError: they cannot be read, the engine takes none, or the connection asks for less than they mean.
    """
    bundle = _given(extra)
    if bundle is None:
        return None
    if spec.authorities is None:
        raise _error(spec, f"takes no certificates; leave extra.{OPTION} out")
    if problem := _problem(bundle):
        raise _error(spec, f"extra.{OPTION} {problem}")
    arguments(spec, spec.authorities, "", requested=requested)
    return str(bundle)


def driver_options(checked: CheckedUri, options: EngineOptions) -> Mapping[str, Any]:
    """Return what a connection asks of its driver, by option."""
    return {**checked.url.query, **options.connect_args}


def arguments(
    spec: EngineSpec, authorities: TrustedAuthorities, path: str, *, requested: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what the driver is told for the certificates in the file `path`, and for what the connection asks.

    Raises:
        ConnectionUriError: it asks for less.
    """
    driver_args: dict[str, Any] = {}
    for option, meant in authorities.settings.items():
        said = str(requested.get(option, "")).casefold()
        if said not in meant:
            known = " or ".join(sorted(filter(None, meant))) or "nothing"
            raise _error(spec, f"with extra.{OPTION}, connection option {option!r} must be {known}, or be left out")
        driver_args[option] = meant[said]
    return driver_args | dict(authorities.file(path))


def _given(extra: str | None) -> Any:
    try:
        options = read_json_once(extra) if extra else {}
    except (RepeatedKeyError, ValueError, RecursionError):  # told by whoever reads the options of the engine
        return None
    return options.get(OPTION) if isinstance(options, dict) else None


def _problem(bundle: Any) -> str | None:
    """Return what is wrong with certificates as text; None for nothing."""
    shape = "must be certificates in PEM text, -----BEGIN CERTIFICATE----- and on"
    if not isinstance(bundle, str):
        return shape
    if len(bundle) > LONGEST_BUNDLE:
        return f"must be at most {LONGEST_BUNDLE:,} characters long"
    if "PRIVATE KEY" in bundle:
        return "holds a private key, which nobody needs to trust a server; give its certificates alone"
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=bundle)
    except (ssl.SSLError, TypeError, ValueError):
        return shape
    return None


def _error(spec: EngineSpec, message: str) -> ConnectionUriError:
    return ConnectionUriError(f"{spec.label}: {message}", engine=spec.name)


class AuthoritiesFile:
    """The certificates of a database's authorities in a file of this process; any thread may use it.

    It is written when a connection is first made, and again should somebody have tidied it away. It goes with `remove`,
    or with this object, or with the process; not with a forked child.

    Args:
        bundle: the certificates.
        folder: where the file is made; None: the system's folder for temporary files.
    """

    def __init__(self, bundle: str, *, folder: Path | None = None) -> None:
        self._bundle = bundle
        self._folder = folder
        self._lock = forkable_lock()
        self._finish: weakref.finalize[..., AuthoritiesFile] | None = None
        self._path: Path | None = None

    def path(self) -> str:
        """Return the path of the file.

        Raises:
            DatabaseError: it cannot be written.
        """
        with self._lock:
            if self._path is None or not self._path.is_file():
                self._path = self._written()
            return str(self._path)

    def remove(self) -> None:
        """Remove the file; it is written again when it is needed."""
        with self._lock:
            if self._finish is not None:
                self._finish()
            self._finish = self._path = None

    def _written(self) -> Path:
        written: Path | None = None
        with suppress(OSError):  # told below, without the path
            number, name = tempfile.mkstemp(prefix="analytics_core-", suffix=".pem", dir=self._folder)  # 0600
            self._finish = weakref.finalize(self, _remove, Path(name), os.getpid())
            with os.fdopen(number, "w", encoding="ascii") as file:
                file.write(self._bundle)
            written = Path(name)
        if written is None:
            raise DatabaseError(f"extra.{OPTION} cannot be written to the folder for temporary files")
        return written


def _remove(path: Path, maker: int) -> None:
    if os.getpid() == maker:
        with suppress(OSError):
            path.unlink()
