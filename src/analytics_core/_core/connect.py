"""`connect`: the short door to a core, for notebooks."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

from analytics_core._core.arguments import check_setting_names
from analytics_core._core.facade import AnalyticsCore
from analytics_core._settings import Settings
from analytics_core.errors import ConnectionUriError


def connect(url: str, *, lazy: bool = False, **settings: Any) -> AnalyticsCore:
    """Return a core for notebooks: records in memory, a random key, the database of `url` registered as number 1.

    User 1, an administrator, acts and owns everything; the file of the URL may be opened, no other. The database is
    asked once, so that a wrong URL shows here; nothing stays open when that fails.

    Args:
        url: a SQLAlchemy URL, for example `sqlite:///shop.db` or `duckdb:///shop.duckdb`.
        lazy: do not open the database before the first question.
        settings: fields of `Settings`.

    Raises:
        ConnectionUriError: the URL is malformed or not allowed.
        MissingExtraError: the driver is not installed; the message names the extra.
        DatabaseError: the database does not answer, or refuses: what is wrong, diagnosed.
        SettingsError: a setting is unknown or must not be.
    """
    if not isinstance(url, str):
        raise ConnectionUriError("the URL of a database is a text, for example 'sqlite:///shop.db'")
    check_setting_names(settings)
    choices = Settings(**{"secret_key": secrets.token_urlsafe(32), **settings})
    core = AnalyticsCore(choices, allowed_files=_file_of(url))
    try:
        admin = core.create_first_administrator("admin", first_name="Admin")
        acting = core.as_user(admin.id)
        acting.databases.create({"database_name": "main", "orm_uri": url})
        if not lazy:
            acting.databases.test_connection({"database_name": "main", "orm_uri": url})
    except BaseException:  # whatever happens, an interruption too, what was opened here is closed
        core.close()
        raise
    return acting


def _file_of(url: str) -> tuple[Path, ...]:
    """Return the file that a `scheme:///path` URL names, if it names one."""
    _, separator, rest = url.partition(":///")
    path = rest.partition("?")[0]
    return (Path(path),) if separator and path and path != ":memory:" else ()
