"""The default `Connector`: one pooled SQLAlchemy engine per database, record version, identity and access."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

import sqlalchemy as sa
from sqlalchemy.exc import NoSuchModuleError

from analytics_core._core.adapters.network import PublicNetworkPolicy
from analytics_core._core.adapters.pooled_engine import EngineKey, PooledEngine, close_returned, file_id_of, is_older
from analytics_core._engine.engines.spec import EngineSpec
from analytics_core._engine.execution.connection_uri import (
    CheckedUri,
    EngineOptions,
    SpecLookup,
    check_engine_params,
    check_uri,
)
from analytics_core._engine.execution.diagnosis import SentStatement, diagnose
from analytics_core._engine.execution.driver_limits import LOGGING_NAME, without_driver_logs
from analytics_core._engine.execution.handed_over import (
    HandedEngine,
    HandedOver,
    HandedTable,
    HandedTables,
    elsewhere,
    is_marked,
)
from analytics_core._engine.execution.server_authorities import (
    AuthoritiesFile,
    arguments,
    check_authorities,
    driver_options,
)
from analytics_core._engine.execution.sessions.base import ANSWER_GRACE_S, STREAM_OPTION, OpenRequest, Session
from analytics_core._engine.execution.sessions.choice import SESSION_OPTION, make_session
from analytics_core._engine.execution.sessions.opening import ADDRESSED_DRIVERS, ADDRESSES, PEER, BeforeConnect
from analytics_core._engine.execution.token_arguments import giving_token, required_token, secret_arguments
from analytics_core._engine.network import AddressFinder
from analytics_core._records.datasource import Access, Database, Identity
from analytics_core._records.network import DestinationPurpose
from analytics_core._records.settings import Settings
from analytics_core._records.ssh_tunnel import StoredTunnel
from analytics_core._tools.forks import forkable_rlock, tell_of_forks
from analytics_core.errors import (
    AnalyticsError,
    ConnectionUriError,
    DatabaseAccessError,
    DatabaseError,
    MissingExtraError,
    SettingsError,
)

if TYPE_CHECKING:
    from analytics_core._engine.execution.tunnels import Tunnel

_POOL_TIMEOUT_S = 30
_POOL_RECYCLE_S = 1_800
_MOST_POOLS_OF_USERS = 200
_IDLE_S = 600.0
"""How long connections to a server are kept that nobody asks for: another process may have removed their database."""


_DRIVERS_OF_LIBPQ: Final = frozenset({"psycopg", "psycopg2"})


class SqlAlchemyConnector:
    """Reaches users' databases; any thread may use it.

    A database in memory (`sqlite://`, `duckdb://`) lives until it is disposed; a host fills it through
    `memory_connection`.

    Args:
        settings: `data_roots`, `allowed_drivers` and `pool_size`.
        specs: finds the spec of an engine by the backend name of a URI.
        allowed_files: single database files that may be opened although no data root holds them.
        addresses: finds those of servers that may be reached; None: by `Settings.allowed_networks`.
        idle_s: connections to a server that nobody asked for so long are closed when any database is asked.
    """

    def __init__(
        self,
        *,
        settings: Settings,
        specs: SpecLookup,
        allowed_files: Iterable[Path | str] = (),
        addresses: AddressFinder | None = None,
        idle_s: float = _IDLE_S,
    ) -> None:
        self._settings = settings
        self._specs = specs
        self._allowed_files = tuple(Path(file).resolve() for file in allowed_files)
        if addresses is None:
            addresses = AddressFinder(PublicNetworkPolicy(settings.allowed_networks))
        self._addresses = addresses
        self._idle_s = idle_s
        self._name = uuid4().hex
        self._lock = forkable_rlock()
        self._opened: dict[EngineKey, PooledEngine] = {}
        self._sessions: dict[str, Session] = {}
        self._tunnels: dict[tuple[int, str, int], Tunnel] = {}
        self._handed_over: dict[str, HandedOver] = {}
        self._lost_memories: set[str] = set()
        self._of_the_parent: list[object] = []
        tell_of_forks(self)

    def engine(
        self, database: Database, *, identity: Identity | None = None, access: Access = Access.READ
    ) -> sa.Engine:
        """Return the pooled engine of this version of `database`, read-only by default; the same one each time.

        With `identity`, on a database that impersonates, connections are made as that user.

        Raises:
            ConnectionUriError: the stored URI or its options are not allowed.
            DatabaseAccessError: write access, where the database allows neither SQL that writes nor uploads.
            MissingExtraError: the driver is not installed.
            DatabaseError: the database was in the memory of the process that this one is a fork of.
        """
        return self._open(database, identity, access).engine

    def hand_over(self, uuid: str, source: HandedOver) -> None:
        """Read the database of this uuid, from now on, from what a host hands over; its URI only names the engine."""
        with self._lock:
            self._drop([key for key in self._opened if key.uuid == uuid], release=True)
            self._handed_over[uuid] = source

    def put_table(self, uuid: str, name: str, table: HandedTable | None) -> HandedTable | None:
        """Put a frame or files into the database of this uuid, or take them out (None); return what was there."""
        with self._lock:
            source = self._handed_over.get(uuid)
            tables = dict(source.tables) if isinstance(source, HandedTables) else {}
            before = tables.pop(name, None)
            if table is not None:
                tables[name] = table
            self.hand_over(uuid, HandedTables(tables=tables))
            return before

    def handed_tables(self) -> Mapping[str, HandedTables]:
        """Return the tables that were handed over, by the uuids of their databases."""
        found = dict(self._handed_over)
        return {uuid: source for uuid, source in found.items() if isinstance(source, HandedTables)}

    def take_back(self, uuid: str) -> None:
        """Forget what was handed over for the database of this uuid."""
        with self._lock:
            self._drop([key for key in self._opened if key.uuid == uuid], release=True)
            self._handed_over.pop(uuid, None)

    def dispose(self, database_id: int) -> None:
        """Close the pools of this database, and what it alone holds open: its file, or its memory with all in it."""
        with self._lock:
            keys = [key for key in self._opened if key.database_id == database_id]
            self._drop(keys, release=True)

    def close(self) -> None:
        """Close all pools, files and memories, and forget what was handed over; the connector may be used again."""
        with self._lock:
            self._drop(list(self._opened), release=True)
            self._handed_over = {}
        self._addresses.close()

    @contextmanager
    def memory_connection(self, database: Database) -> Iterator[Any]:
        """Give the host's own code a writable DBAPI connection to a database in memory, to fill it.

        Raises:
            ConnectionUriError: the database is not in memory.
        """
        opened = self._open(database, None, Access.READ)
        if opened.request.memory_name is None:
            raise ConnectionUriError("only a database in memory is filled this way; write to the file or server itself")
        with opened.session.writer(opened.request) as connection:
            yield connection

    def before_fork(self) -> None:
        """Close files: a child that inherits an open one of SQLite or DuckDB shares its locks and its threads."""
        with self._lock:
            on_files = [opened for opened in self._opened.values() if opened.request.file is not None]
            for opened in on_files:
                was_in_use = opened.is_in_use
                opened.engine.dispose()
                if not was_in_use:
                    opened.session.release(opened.request)

    def after_fork(self) -> None:
        """Start pools anew; connections of the parent are neither used nor closed, memories are lost."""
        for opened in self._opened.values():
            self._of_the_parent.append((opened.engine.pool, opened.session, opened.engine))
            if opened.request.memory_name is not None:
                self._lost_memories.add(opened.request.memory_name)
            opened.engine.dispose(close=False)
        self._of_the_parent += [self._tunnels, self._handed_over]
        self._opened, self._sessions, self._tunnels, self._handed_over = {}, {}, {}, {}

    def _open(self, database: Database, identity: Identity | None, access: Access) -> PooledEngine:
        if access is Access.WRITE and not database.may_change:
            raise DatabaseAccessError(
                f"database {database.database_name!r} may only be read; set allow_dml or allow_file_upload to change it"
            )
        acting = identity if database.impersonate_user or (identity is not None and identity.token) else None
        key = EngineKey(database.id, database.uuid, database.audit.version, acting, access)
        with self._lock:
            if key in self._opened:
                self._drop_replaced(self._opened[key])
            if key not in self._opened:
                self._opened[key] = self._make(database, key)
            self._opened[key].requested_at = time.monotonic()
            self._drop([older for older in self._opened if is_older(older, key)], release=False)
            self._drop_unused()
            self._drop_otherwise_opened(self._opened[key])
            return self._opened[key]

    def _drop_unused(self) -> None:
        """Close the connections to servers that nobody has asked for of late, and those of too many users."""
        latest = time.monotonic() - self._idle_s
        idle = {key for key, entry in self._opened.items() if entry.requested_at < latest and entry.is_of_server}
        of_users = sorted((key for key in self._opened if key.identity is not None), key=self._requested_at)
        idle.update(of_users[: max(len(of_users) - _MOST_POOLS_OF_USERS, 0)])
        self._drop([key for key in idle if not self._opened[key].is_in_use], release=True)

    def _requested_at(self, key: EngineKey) -> float:
        return self._opened[key].requested_at

    def _drop_replaced(self, opened: PooledEngine) -> None:
        """Close what is open on a file in whose place there is another one, or none: it would be read for ever.

        A statement that runs on it goes on; where a process opens a file once, the file is left open until then.
        """
        if file_id_of(opened.request) == opened.file_id:
            return
        on_it = {key: entry for key, entry in self._opened.items() if entry.request.file == opened.request.file}
        if not (opened.session.opens_files_once and any(entry.is_in_use for entry in on_it.values())):
            self._drop(list(on_it), release=True)

    def _drop_otherwise_opened(self, opened: PooledEngine) -> None:
        """Close a file that a process opens once, where it is open for reading only and may change now, or the reverse.

        While a statement runs on it, it stays as it is.
        """
        request, session = opened.request, opened.session
        if request.file is None or not session.opens_files_once:
            return
        on_it = {key: entry for key, entry in self._opened.items() if entry.request.file == request.file}
        may_change = any(entry.request.may_change for entry in on_it.values())
        if session.is_open_to_change(request) in (None, may_change) or any(entry.is_in_use for entry in on_it.values()):
            return
        self._drop([key for key, entry in on_it.items() if entry is not opened], release=False)
        opened.engine.dispose()
        session.release(request)

    def _make(self, database: Database, key: EngineKey) -> PooledEngine:
        checked = check_uri(database.uri, settings=self._settings, specs=self._specs, allowed_files=self._allowed_files)
        handed_over = self._handed_over.get(database.uuid)
        if handed_over is None and is_marked(database.extra):
            raise elsewhere(database.database_name, database.engine)
        if handed_over is not None and (key.identity is not None or key.access is Access.WRITE):
            raise _only_read(database)
        options = check_engine_params(database.extra, checked.spec)
        bundle = check_authorities(database.extra, checked.spec, requested=driver_options(checked, options))
        authorities = None if bundle is None else AuthoritiesFile(bundle)
        request = self._request(database, checked, key, options)
        if authorities is not None:
            request = replace(request, before_connect=(*request.before_connect, _trust(authorities, checked, options)))
        if request.memory_name in self._lost_memories:
            raise DatabaseError(
                f"database {database.database_name!r} is in the memory of the process that this one was forked from; "
                "fill it after the fork, or keep it in a file",
                engine=database.engine,
            )
        failure: AnalyticsError | None = None
        try:
            session = self._session(checked.spec)
            engine = session.make_engine(request)
            if isinstance(handed_over, HandedEngine):
                engine = _stopped_by(engine, handed_over)
        except (ImportError, NoSuchModuleError):  # the dialect or its driver is not installed
            failure = _missing_driver(checked)
        except AnalyticsError:
            raise
        except Exception as error:  # the border to drivers: they look for credentials here, and fail in their words
            failure = diagnose(error, checked.spec, sent=SentStatement(url=checked.url), is_connected=False)
        if failure is not None:
            raise failure
        return PooledEngine(
            engine.execution_options(**{SESSION_OPTION: session}), session, request, file_id_of(request), authorities
        )

    def _request(self, database: Database, checked: CheckedUri, key: EngineKey, options: EngineOptions) -> OpenRequest:
        pool: dict[str, Any] = {
            "pool_size": self._settings.pool_size,
            "pool_timeout": min(_POOL_TIMEOUT_S, self._settings.statement_timeout_s),
            "pool_recycle": _POOL_RECYCLE_S,
            **without_driver_logs(LOGGING_NAME),
        }
        memory_name = checked.memory_name
        if memory_name == "":  # private: nobody else can know the name
            memory_name = f"{self._name}-{database.id}-{database.uuid}"
        if checked.file is not None or memory_name is not None:
            pool["pool_recycle"] = -1
        handed_over = self._handed_over.get(database.uuid)
        if isinstance(handed_over, HandedEngine):
            pool["creator"] = handed_over.open_connection
        request = OpenRequest(
            url=handed_over.engine.url if isinstance(handed_over, HandedEngine) else checked.engine_url,
            file=checked.file,
            memory_name=memory_name,
            access=key.access,
            may_change=database.may_change,
            connect_args={
                **_handed_over(checked),
                **({} if self._settings.environment_passwords else _without_passwords_of_process(checked)),
                **options.connect_args,
            },
            pool_options={**pool, **options.pool, **secret_arguments(database, checked.spec)},
            answer_s=self._settings.statement_timeout_s + ANSWER_GRACE_S,
            before_connect=() if handed_over is not None else self._first_steps(database, checked, key),
            handed_over=handed_over,
        )
        return request if key.identity is None else _acting(request, database, checked, key.identity)

    def _first_steps(self, database: Database, checked: CheckedUri, key: EngineKey) -> tuple[BeforeConnect, ...]:
        return self._steps(checked) if database.ssh_tunnel is None else (self._tunnel(database, checked, key),)

    def _tunnel(self, database: Database, checked: CheckedUri, key: EngineKey) -> BeforeConnect:
        """Return what leads each connection through the database's tunnel, to where its SSH server finds the name."""
        if key.of_database not in self._tunnels and database.ssh_tunnel is not None:
            from analytics_core._engine.execution.tunnels import Tunnel

            url = checked.url
            self._tunnels[key.of_database] = Tunnel(
                StoredTunnel.from_secret(database.ssh_tunnel),
                (url.host or "localhost", url.port or checked.spec.usual_port or 0),
                addresses=partial(self._addresses.find, purpose=DestinationPurpose.TUNNEL),
            )
        return self._tunnels[key.of_database].lead

    def _steps(self, checked: CheckedUri) -> tuple[BeforeConnect, ...]:
        """Return what is done before each connection: the network policy is asked, and its answer is where it leads.

        A tunnel's step belongs in place of this one, since it asks about its own server, and a token's after either.
        """
        if checked.server is None:
            return ()
        host, port = checked.server
        # A URL without a host may mean a socket of this machine, of which the policy is asked as `localhost`.
        is_pinned = bool(checked.url.host) and checked.url.get_driver_name() in ADDRESSED_DRIVERS

        def lead_to_allowed_addresses(named: dict[str, Any]) -> None:
            if is_pinned and PEER in named:
                named[ADDRESSES] = named[PEER]
                return
            found = self._addresses.find(host, port, purpose=DestinationPurpose.DATABASE, must_allow_all=not is_pinned)
            if is_pinned:
                named[ADDRESSES] = ",".join(found)

        return (lead_to_allowed_addresses,)

    def _session(self, spec: EngineSpec) -> Session:
        if spec.name not in self._sessions:
            self._sessions[spec.name] = make_session(spec.name)
        return self._sessions[spec.name]

    def _drop(self, keys: list[EngineKey], *, release: bool) -> None:
        """Close engines; with `release` also the files and memories that no other engine uses."""
        if not keys and not self._tunnels:
            return
        dropped = [self._opened.pop(key) for key in keys]
        in_use = {(opened.request.file, opened.request.memory_name) for opened in self._opened.values()}
        for opened in dropped:
            sa.event.listen(opened.engine.pool, "checkin", close_returned)
            opened.engine.dispose()
            if opened.authorities is not None:
                opened.authorities.remove()
            if release and (opened.request.file, opened.request.memory_name) not in in_use:
                opened.session.release(opened.request)
        used = {key.of_database for key in self._opened}
        for unused in self._tunnels.keys() - used:
            self._tunnels.pop(unused).close()


def _acting(request: OpenRequest, database: Database, checked: CheckedUri, identity: Identity) -> OpenRequest:
    """Return a request for connections of a user: under their name, with their token, or with both."""
    url, pool, steps = request.url, request.pool_options, request.before_connect
    if database.impersonate_user:
        url = url.set(username=identity.username)
    if identity.token is not None:
        how = required_token(checked.spec)
        url = url.update_query_dict(how.options)
        steps = (*steps, giving_token(checked.spec, checked.url, identity.token))
        if how.is_sent_each_time:
            pool = {**pool, "pool_recycle": 0}  # no connection is lent twice
    return replace(request, url=url, pool_options=pool, before_connect=steps)


def _stopped_by(engine: sa.Engine, handed_over: HandedEngine) -> sa.Engine:
    """Return our engine such that connections that stop a statement are opened by a host's engine too."""
    return engine.execution_options(**{STREAM_OPTION: handed_over.open_connection})


def _only_read(database: Database) -> DatabaseAccessError:
    return DatabaseAccessError(
        f"database {database.database_name!r} was handed over, and is only read, by the connections that it came with: "
        "no files are uploaded to it, and nobody is impersonated"
    )


def _trust(authorities: AuthoritiesFile, checked: CheckedUri, options: EngineOptions) -> BeforeConnect:
    """Return the step that tells a driver to take no server but one that these authorities vouch for."""
    trusted, spec = checked.spec.authorities, checked.spec
    requested = driver_options(checked, options)

    def name_authorities(named: dict[str, Any]) -> None:
        if trusted is not None:
            named.update(arguments(spec, trusted, authorities.path(), requested=requested))

    return name_authorities


def _handed_over(checked: CheckedUri) -> dict[str, Any]:
    return {name: value for name, value in checked.url.query.items() if name in checked.spec.handed_over}


def _without_passwords_of_process(checked: CheckedUri) -> dict[str, Any]:
    """Return what keeps libpq from sending a password of this process to a server that somebody else has named."""
    if checked.url.password is not None or checked.url.get_driver_name() not in _DRIVERS_OF_LIBPQ:
        return {}
    return {"password": "", "passfile": f"{os.devnull}/none"}


def _missing_driver(checked: CheckedUri) -> SettingsError:
    label, extra_name = checked.spec.label, checked.spec.extra_name
    if extra_name is not None:
        return MissingExtraError(needed_for=f"connecting to {label}", extra_name=extra_name)
    dialect = checked.engine_url.drivername
    return SettingsError(f"connecting to {label} needs the package of SQLAlchemy's dialect {dialect!r}; install it")
