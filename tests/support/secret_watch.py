"""A plug-in of pytest: every log record of the run, at DEBUG level, is searched for secrets.

SQLAlchemy tells each statement and row, which costs a fifth of the suite's time: one test in twelve hears it, always
the same ones, and those marked `hears_sqlalchemy`; all of them where ANALYTICS_CORE_HEAR_ALL is set (`nox -s night`).

A test fails in whose time a record was written that holds a seeded word, a guest token, or a URI with its password.
`@pytest.mark.logs_secrets("why")` leaves a test out whose own code, not the library's, writes such a record.
"""

from __future__ import annotations

import logging
import os
import re
import zlib
from collections.abc import Generator
from typing import Final

import pytest

SEEDED: Final = (
    *("s3cr3t", "hunter2", "pa55:w@rd", "pa55%3A", "extra-pa55word", "t0ken-in-the-query"),
    # the secret keys that cores of the tests are given
    *(
        "a key for tests only",
        "a-key-for-tests",
        "a-test-key-that-is",
        "a key of the tests",
        "k3y-of-",
        "0lder-key-of-",
    ),
    *("an0ther-k3y", "a-key-of-the-dev", "another-key-of-the-prod", "another key, also long"),
)
PATTERNS: Final = {
    "a guest token": r"eyJ[\w-]{8,}\.eyJ[\w-]{8,}",
    "a URI with its password": r"(?<![a-z0-9+])[a-z0-9+]{1,40}://[^\s:/@'\"]*:(?!\*{3}@|XXXXXXXXXX@)[^\s/@'\"]+@",
}
LOUD: Final = ("", "analytics_core", "alembic", "psycopg", "pymysql", "asyncio")
"""Loggers that are told to tell all."""
HEAR_ALL: Final = "ANALYTICS_CORE_HEAR_ALL"

_ANY: Final = re.compile("|".join((*map(re.escape, SEEDED), *PATTERNS.values())))
_SIGNS: Final = (*SEEDED, "eyJ", "://")
"""Whatever `_ANY` finds holds one of these, which are found much faster."""


class SecretWatch(logging.Handler):
    """Searches each record; remembers where a secret was, never the secret."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.found: list[str] = []
        self.seen = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Search what any handler could write of a record: message, arguments, exception and extras."""
        self.seen += 1
        text = self._text(record)
        hit = _ANY.search(text) if any(sign in text for sign in _SIGNS) else None
        if hit is not None:
            at = hit.start()
            self.found.append(f"{record.name} at {record.levelname}, after {text[max(0, at - 60) : at]!r}")

    def _text(self, record: logging.LogRecord) -> str:
        raised = logging.Formatter().formatException(record.exc_info) if record.exc_info else ""
        return f"{record.getMessage()} {record.args!r} {raised} {record.stack_info or ''}"


WATCH = pytest.StashKey[SecretWatch]()


def pytest_configure(config: pytest.Config) -> None:
    """Listen to everything."""
    config.addinivalue_line("markers", "logs_secrets(why): the test's own code logs what looks like a secret")
    config.addinivalue_line("markers", "hears_sqlalchemy: the watch hears each statement and row of this test")
    config.stash[WATCH] = watch = SecretWatch()
    logging.getLogger().addHandler(watch)
    for name in LOUD:
        logging.getLogger(name).setLevel(logging.DEBUG)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Listen no more."""
    logging.getLogger().removeHandler(config.stash[WATCH])


def _hears_sqlalchemy(item: pytest.Item) -> bool:
    chosen = zlib.crc32(item.nodeid.encode()) % 12 == 0
    return chosen or HEAR_ALL in os.environ or item.get_closest_marker("hears_sqlalchemy") is not None


def _searched(item: pytest.Item) -> Generator[None]:
    """Fail a phase of a test in which a secret was logged; an error of the phase itself comes first."""
    watch = item.config.stash[WATCH]
    watch.found.clear()
    result = yield
    found, watch.found = watch.found, []
    if found and item.get_closest_marker("logs_secrets") is None:
        pytest.fail("a log record holds a secret: " + "; ".join(dict.fromkeys(found)), pytrace=False)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None]:
    """Search what fixtures log as they begin."""
    logging.getLogger("sqlalchemy").setLevel(logging.DEBUG if _hears_sqlalchemy(item) else logging.WARNING)
    return (yield from _searched(item))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Search what the test logs."""
    return (yield from _searched(item))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None]:
    """Search what fixtures log as they end."""
    return (yield from _searched(item))
