"""The watch over the log records of every test: it sees each record, and it bites."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from tests.support.cases import for_each
from tests.support.guests import guest_world
from tests.support.secret_watch import WATCH, SecretWatch

PROJECT = Path(__file__).parents[2]
TEST = """
import logging, pytest
@pytest.fixture
def told():
    {setup}
    yield
    {teardown}
{mark}
def test_it(told):
    {body}
"""

HEARS = "@pytest.mark.hears_sqlalchemy"


@pytest.fixture
def watch() -> Iterator[tuple[SecretWatch, logging.Logger]]:
    """A watch of its own behind a logger that nobody else hears."""
    made, logger = SecretWatch(), logging.Logger("alone", logging.DEBUG)
    logger.addHandler(made)
    yield made, logger
    logger.removeHandler(made)


@pytest.mark.parametrize(
    ("message", "arguments"),
    [
        ("password s3cr3t", ()),
        ("password %s", ("hunter2",)),
        ("%(url)s", ({"url": "postgresql://ann:some-word@db/shop"},)),
        ("mysql+pymysql://:word@db", ()),
        ("postgresql://ann:p%%40ss@db", ()),
        ("a token eyJhbGciOiJIUzI1NiJ9.eyJ0eXBlIjoiZ3Vlc3QifQ.c2lnbmF0dXJl", ()),
        ("the key is k3y-of-the-embedding-host-0123456789", ()),
    ],
)
def test_a_record_with_a_secret_is_found_and_the_secret_is_not_repeated(
    watch: tuple[SecretWatch, logging.Logger], message: str, arguments: tuple[object, ...]
) -> None:
    made, logger = watch
    logger.debug(message, *arguments)
    assert len(made.found) == 1
    assert not any(word in made.found[0] for word in ("s3cr3t", "hunter2", "word@", "eyJ", "k3y"))


def test_a_secret_in_an_exception_that_is_logged_is_found(watch: tuple[SecretWatch, logging.Logger]) -> None:
    made, logger = watch
    try:
        raise ValueError("no connection as s3cr3t")
    except ValueError:
        logger.exception("it failed")
    assert made.found


@pytest.mark.parametrize(
    "message",
    [
        "postgresql://ann:***@db/shop",
        "postgresql://ann:XXXXXXXXXX@db/shop",
        "postgresql://ann@db:5432/shop",
        "sqlite:////data/shop.db",
        "https://shop.example:443/x",
        "'https://a.example', 'b@c.example'",
        "SELECT secret, token FROM keys",
    ],
)
def test_what_only_looks_like_a_secret_is_left_alone(watch: tuple[SecretWatch, logging.Logger], message: str) -> None:
    made, logger = watch
    logger.debug("%s", message)
    assert made.found == []
    assert made.seen == 1


@pytest.mark.hears_sqlalchemy
def test_the_watch_of_this_run_hears_the_library_and_what_it_stands_on(pytestconfig: pytest.Config) -> None:
    watch = pytestconfig.stash[WATCH]
    for name in (
        "analytics_core._content.jobs.registry",
        "sqlalchemy.engine.Engine",
        "sqlalchemy.pool",
        "alembic",
        "psycopg",
    ):
        before = watch.seen
        logging.getLogger(name).debug("nothing special")
        assert watch.seen == before + 1, name


@pytest.mark.hears_sqlalchemy
def test_the_watch_of_this_run_hears_the_statements_of_a_core(pytestconfig: pytest.Config, tmp_path: Path) -> None:
    watch = pytestconfig.stash[WATCH]
    before = watch.seen
    with guest_world(f"sqlite:///{tmp_path}/shop.db") as world:
        world.guest().charts.data(1)
    assert watch.seen > before + 50


@pytest.mark.hears_sqlalchemy
@pytest.mark.logs_secrets("this test wants to see that a statement with a value in it would be found")
def test_a_value_of_a_statement_that_is_not_hidden_would_be_found(pytestconfig: pytest.Config) -> None:
    watch = pytestconfig.stash[WATCH]
    for hides in (True, False):
        engine = sa.create_engine("sqlite://", hide_parameters=hides)
        with engine.connect() as connection:
            connection.execute(sa.text("SELECT 1 WHERE :word = 'x'"), {"word": "hunter2"})
        engine.dispose()
        assert bool(watch.found) is not hides


@pytest.mark.slow
@for_each(
    ("phases", "fails"),
    [
        ({"body": "logging.getLogger('any.name').debug('word %s', 'hunter2')"}, True),
        (
            {
                "setup": "logging.getLogger('sqlalchemy.engine').debug('hunter2')",
                "mark": "@pytest.mark.hears_sqlalchemy",
            },
            True,
        ),
        ({"teardown": "logging.info('hunter2')"}, True),
        ({"body": "logging.info('hunter')"}, False),
        ({"body": "logging.info('hunter2')", "mark": "@pytest.mark.logs_secrets('wanted')"}, False),
    ],
)
def test_a_run_of_pytest_fails_when_a_secret_is_logged(tmp_path: Path, phases: dict[str, str], fails: bool) -> None:
    parts = {"setup": "pass", "teardown": "pass", "body": "pass", "mark": ""}
    (tmp_path / "test_inner.py").write_text(TEST.format(**{**parts, **phases}), encoding="utf-8")
    options = ["-q", "-p", "tests.support.secret_watch", "-p", "no:cacheprovider", f"--rootdir={tmp_path}"]
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "-c", "/dev/null", str(tmp_path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(PROJECT), os.environ.get("PYTHONPATH", "")))},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == (1 if fails else 0), run.stdout + run.stderr
    assert ("a log record holds a secret" in run.stdout) is fails
