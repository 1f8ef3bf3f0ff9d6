"""Keeps the names of schemas and tables for as long as a database's `metadata_cache_timeout` says."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any, Final

from analytics_core._execution.admission import Admission
from analytics_core._execution.connection_uri import masked
from analytics_core._execution.reflection import ReflectedTable, Reflector
from analytics_core._records.database import Database
from analytics_core._security.keys import SEAL_BYTES, EntrySeal
from analytics_core.errors import Problem
from analytics_core.ports import Cache

Rows = list[list[Any]]
_OPTION: Final = "metadata_cache_timeout"
_TIMEOUTS: Final = ("schema_cache_timeout", "table_cache_timeout")
_LONGEST_S: Final = 2**31 - 1


class CachedNames:
    """Asks databases for their schemas and tables, or the cache where `extra` of the database lets it keep them.

    A list belongs to one version of a database, one schema and, where the database impersonates, one user: a changed
    database is asked anew. Errors are never kept. Which of the names somebody may see is for the caller to decide.
    Entries are sealed: a cache that others can write to gives no names of theirs.
    """

    def __init__(self, reflector: Reflector, cache: Cache, seal: EntrySeal) -> None:
        self._reflector = reflector
        self._cache = cache
        self._seal = seal

    def schemas(self, admission: Admission, *, force: bool) -> tuple[str, ...]:
        """Return the schema names, sorted; `force` asks the database and keeps its answer."""

        def ask() -> Rows:
            return [[name] for name in self._reflector.schemas(admission)]

        timeout_s = _timeout(admission.database, "schema_cache_timeout")
        rows = self._rows(_key("schemas", admission), timeout_s, ask, force=force)
        return tuple(row[0] for row in rows)

    def tables(self, admission: Admission, schema: str | None, *, force: bool) -> tuple[ReflectedTable, ...]:
        """Return tables and views of a schema, sorted by name; `force` asks the database and keeps its answer."""

        def ask() -> Rows:
            return [[table.name, table.is_view] for table in self._reflector.tables(admission, schema)]

        timeout_s = _timeout(admission.database, "table_cache_timeout")
        rows = self._rows(_key("tables", admission, schema), timeout_s, ask, force=force)
        return tuple(ReflectedTable(name=name, is_view=is_view) for name, is_view in rows)

    def _rows(self, key: str, timeout_s: int | None, ask: Callable[[], Rows], *, force: bool) -> Rows:
        """Return the rows of a list; a `timeout_s` of None keeps nothing, 0 keeps for ever."""
        if timeout_s is None:
            return ask()
        kept = None if force else self._read(key)
        if kept is not None:
            return kept
        rows = ask()
        content = json.dumps(rows).encode()
        self._cache.set(key, self._seal.made(key, (content,)) + content, timeout_s=timeout_s or None)
        return rows

    def _read(self, key: str) -> Rows | None:
        """Return the rows of an entry; what was not sealed for this key is a miss."""
        entry = self._cache.get(key) or b""
        seal, content = entry[:SEAL_BYTES], entry[SEAL_BYTES:]
        if len(seal) < SEAL_BYTES or not self._seal.holds(key, seal, content):
            return None
        rows: Rows = json.loads(content)
        return rows


def timeout_problems(extra: str | None) -> tuple[Problem, ...]:
    """Return what is wrong with `metadata_cache_timeout` in the JSON text `extra`; null stands for unset."""
    found = _timeouts(extra)
    if found is not None and not isinstance(found, dict):
        return (Problem(path=_OPTION, message=f"must be an object with {' and '.join(_TIMEOUTS)}"),)
    message = "must be a whole number of seconds, 0 for names that are kept for ever"
    return tuple(
        Problem(path=f"{_OPTION}.{name}", message=message)
        for name in _TIMEOUTS
        if found and found.get(name) is not None and _seconds(found[name]) is None
    )


def _timeouts(extra: str | None) -> Any:
    try:
        options = json.loads(extra or "{}")
    except (ValueError, RecursionError):
        return None
    return options.get(_OPTION) if isinstance(options, dict) else None


def _timeout(database: Database, name: str) -> int | None:
    """Return seconds; None where nothing is kept: unset, or not what may be set (older hosts may have stored it)."""
    found = _timeouts(database.extra)
    return _seconds(found.get(name)) if isinstance(found, dict) else None


def _seconds(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value <= _LONGEST_S else None


def _key(kind: str, admission: Admission, schema: str | None = None) -> str:
    """Return the key of a list; the address, without its secrets, keeps stores apart that share uuids and a cache."""
    database, identity = admission.database, admission.identity
    acting = None if identity is None else identity.username
    parts = (kind, database.id, database.uuid, database.audit.version, masked(database.uri), acting, schema)
    return f"database-names-{hashlib.sha256(repr(parts).encode()).hexdigest()}"
