"""Real servers that ask for passwords and for encryption: who gets in, and the type of what keeps the others out."""

from __future__ import annotations

import gc
import json
import os
import re
import socket
import stat
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.support.execution import MARIADB_ENDLESS, POSTGRES_ENDLESS, target
from tests.support.oauth_provider import make_authority
from tests.support.servers import LOOPBACK, TlsMariadb, TlsPostgres
from tests.support.small_core import small_core

from analytics_core import AnalyticsCore, connect
from analytics_core._engine.execution.cancel import CancelToken
from analytics_core._engine.execution.server_authorities import AuthoritiesFile
from analytics_core.errors import ConnectionUriError, DatabaseError, ErrorType, StatementStoppedError

pytestmark = pytest.mark.server

E = ErrorType
PASSWORD = "r1ght:p@ss/w%rd"
ENDLESS = {"postgresql": POSTGRES_ENDLESS, "mysql": MARIADB_ENDLESS}
SETUP = {
    "postgresql": (
        "DROP ROLE IF EXISTS guarded",
        "DROP ROLE IF EXISTS secured",
        f"CREATE ROLE guarded LOGIN PASSWORD '{PASSWORD}'",
        "CREATE ROLE secured LOGIN",
    ),
    "mysql": (
        f"CREATE OR REPLACE USER guarded@'%' IDENTIFIED BY '{PASSWORD}'",
        "CREATE OR REPLACE USER secured@'%' REQUIRE SSL",
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarded:
    """A server, a database on it, and the certificates of its authority."""

    engine: str
    server: TlsPostgres | TlsMariadb
    database: str

    @property
    def bundle(self) -> str:
        return (self.server.folder / "authority.pem").read_text()

    def form(self, *, username: str, extra: dict[str, Any] | None = None, **parameters: Any) -> dict[str, Any]:
        """Return a payload that connects, as a form would send it."""
        given = {"host": "127.0.0.1", "port": self.server.port, "database": self.database, "username": username}
        form = {"engine": self.engine, "configuration_method": "dynamic_form", "parameters": given | parameters}
        return form if extra is None else form | {"extra": json.dumps(extra)}


@pytest.fixture(scope="module")
def guarded(tls_server: TlsPostgres | TlsMariadb) -> Guarded:
    engine = "postgresql" if isinstance(tls_server, TlsPostgres) else "mysql"
    database = str(sa.make_url(tls_server.make_database()).database)
    tls_server.execute(*SETUP[engine])
    if engine == "mysql":
        tls_server.execute(f"GRANT ALL ON {database}.* TO secured@'%'")
    return Guarded(engine=engine, server=tls_server, database=database)


@pytest.fixture
def core(tmp_path: Path) -> Iterator[AnalyticsCore]:
    with small_core(tmp_path, allowed_networks=(*LOOPBACK, "::1")) as made:
        yield made.core


def refusal(core: AnalyticsCore, form: dict[str, Any]) -> DatabaseError:
    with pytest.raises(DatabaseError) as caught:
        core.databases.test_connection(form)
    assert caught.value.__cause__ is caught.value.__context__ is None
    assert PASSWORD not in f"{caught.value!r} {caught.value.to_payload()}"
    return caught.value


# ------------------------------------------------------------------------------------------------------------- logins
@pytest.mark.parametrize(
    ("parameters", "types"),
    [
        (
            {"username": "guarded", "password": "wr0ng"},
            (E.CONNECTION_INVALID_PASSWORD_ERROR, E.CONNECTION_ACCESS_DENIED_ERROR),
        ),
        ({"username": "guarded"}, (E.CONNECTION_ACCESS_DENIED_ERROR, E.CONNECTION_ACCESS_DENIED_ERROR)),
        (
            {"username": "nosuch", "password": PASSWORD},
            (E.CONNECTION_INVALID_PASSWORD_ERROR, E.CONNECTION_ACCESS_DENIED_ERROR),
        ),
        (
            {"username": "guarded", "password": PASSWORD, "database": "nosuch"},
            (E.CONNECTION_UNKNOWN_DATABASE_ERROR, E.CONNECTION_DATABASE_PERMISSIONS_ERROR),
        ),
    ],
)
def test_a_login_that_fails_has_the_type_that_the_server_tells(
    core: AnalyticsCore, guarded: Guarded, parameters: dict[str, Any], types: tuple[ErrorType, ErrorType]
) -> None:
    error = refusal(core, guarded.form(**parameters))
    assert error.error_type is types[guarded.engine == "mysql"]
    assert not error.retryable


def test_a_right_password_lets_in_where_the_user_may_go(core: AnalyticsCore, guarded: Guarded) -> None:
    form = guarded.form(username="guarded", password=PASSWORD)
    if guarded.engine == "mysql":  # nothing was granted yet
        assert refusal(core, form).error_type is E.CONNECTION_DATABASE_PERMISSIONS_ERROR
        form = guarded.form(username="guarded", password=PASSWORD, database="information_schema")
    core.databases.test_connection(form)


def test_a_database_that_the_server_does_not_know(core: AnalyticsCore, guarded: Guarded) -> None:
    form = guarded.form(username="postgres" if guarded.engine == "postgresql" else "root", database="nosuch")
    assert refusal(core, form).error_type is E.CONNECTION_UNKNOWN_DATABASE_ERROR


def test_a_server_that_takes_connections_and_says_nothing_is_down(core: AnalyticsCore, guarded: Guarded) -> None:
    patience = {"connect_timeout": "2"} if guarded.engine == "postgresql" else {"read_timeout": "1"}
    with socket.create_server(("127.0.0.1", 0)) as silent:
        form = guarded.form(username="guarded", port=silent.getsockname()[1], query=patience)
        began = time.monotonic()
        error = refusal(core, form)
    assert (error.error_type, error.retryable) == (E.CONNECTION_HOST_DOWN_ERROR, True)
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("tls_server", ["postgresql"], indirect=True)  # PyMySQL reads no passwords of a process
@pytest.mark.parametrize("stored", ["variable", "file"])
def test_passwords_of_the_process_go_to_no_server_that_people_name(
    tmp_path: Path, guarded: Guarded, monkeypatch: pytest.MonkeyPatch, stored: str
) -> None:
    if stored == "variable":
        monkeypatch.setenv("PGPASSWORD", PASSWORD)
    else:
        escaped = re.sub(r"([\\:])", r"\\\1", PASSWORD)
        (tmp_path / "pgpass").write_text(f"*:*:*:*:{escaped}\n")
        (tmp_path / "pgpass").chmod(0o600)
        monkeypatch.setenv("PGPASSFILE", str(tmp_path / "pgpass"))
    form = guarded.form(username="guarded")
    with small_core(tmp_path, allowed_networks=LOOPBACK) as small:
        assert refusal(small.core, form).error_type is E.CONNECTION_ACCESS_DENIED_ERROR
        small.core.databases.test_connection(guarded.form(username="guarded", password=PASSWORD))
    (trusting := tmp_path / "trusting").mkdir()
    with small_core(trusting, allowed_networks=LOOPBACK, environment_passwords=True) as small:
        small.core.databases.test_connection(form)
    place = f"guarded@127.0.0.1:{guarded.server.port}/{guarded.database}"
    connect(f"postgresql://{place}").close()


# ----------------------------------------------------------------------------------------------------------- encryption
def test_encryption_reaches_a_server_that_an_own_authority_vouches_for(core: AnalyticsCore, guarded: Guarded) -> None:
    trusting = {"server_cert": guarded.bundle}
    form = guarded.form(username="secured", encryption=True, extra=trusting)
    core.databases.test_connection(form)
    core.databases.test_connection(guarded.form(username="secured", extra=trusting))  # the certificates say it too
    core.databases.validate_parameters(form | {"database_name": "encrypted"})
    made = core.databases.create(form | {"database_name": "encrypted"})
    assert core.databases.schemas(made.id)


def test_unencrypted_connections_are_what_that_user_may_not_make(core: AnalyticsCore, guarded: Guarded) -> None:
    plain = {"sslmode": "disable"} if guarded.engine == "postgresql" else {"ssl_disabled": "true"}
    assert refusal(core, guarded.form(username="secured", query=plain)).error_type is E.CONNECTION_ACCESS_DENIED_ERROR


def test_options_that_say_false_do_not_turn_encryption_off(core: AnalyticsCore, guarded: Guarded) -> None:
    if guarded.engine == "postgresql":
        pytest.skip("libpq's options are words")
    for query in ({"ssl_disabled": "false"}, {"ssl_verify_cert": "false"}, {"ssl_verify_identity": "false"}):
        core.databases.test_connection(guarded.form(username="secured", query=query))


def test_without_its_authority_a_server_is_taken_or_refused_as_the_engine_asks(
    core: AnalyticsCore, guarded: Guarded
) -> None:
    form = guarded.form(username="secured", encryption=True)
    if guarded.engine == "postgresql":  # `sslmode=require` verifies nothing
        core.databases.test_connection(form)
    else:
        error = refusal(core, form)
        assert error.error_type is E.CONNECTION_ACCESS_DENIED_ERROR
        assert "no trusted authority vouches" in error.message


def test_a_server_of_another_authority_is_refused(core: AnalyticsCore, guarded: Guarded, tmp_path: Path) -> None:
    other = make_authority(tmp_path, "127.0.0.1").read_text()
    error = refusal(core, guarded.form(username="secured", encryption=True, extra={"server_cert": other}))
    assert error.error_type is E.CONNECTION_ACCESS_DENIED_ERROR
    assert "no trusted authority vouches" in error.message
    core.databases.test_connection(
        guarded.form(username="secured", extra={"server_cert": f"# two of them\n{other}\n{guarded.bundle}"})
    )


def test_a_server_of_another_name_is_refused_unless_names_are_not_verified(
    core: AnalyticsCore, guarded: Guarded
) -> None:
    trusting = {"server_cert": guarded.bundle}
    form = guarded.form(username="secured", host="localhost", encryption=True, extra=trusting)
    error = refusal(core, form)
    assert error.error_type is E.CONNECTION_ACCESS_DENIED_ERROR
    assert "for another name" in error.message
    query = {"sslmode": "verify-ca"} if guarded.engine == "postgresql" else {"ssl_verify_identity": "false"}
    core.databases.test_connection(guarded.form(username="secured", host="localhost", query=query, extra=trusting))


@pytest.mark.parametrize("trusts", [True, False])
def test_a_server_without_encryption_is_refused_when_it_is_asked_for(
    core: AnalyticsCore, guarded: Guarded, request: pytest.FixtureRequest, *, trusts: bool
) -> None:
    url = sa.make_url(request.getfixturevalue("postgres_url" if guarded.engine == "postgresql" else "mariadb_url"))
    extra = {"server_cert": guarded.bundle} if trusts else None
    form = guarded.form(username=str(url.username), port=url.port, database=url.database, encryption=True, extra=extra)
    error = refusal(core, form)
    assert error.error_type is E.CONNECTION_ACCESS_DENIED_ERROR
    assert "takes no encrypted connections" in error.message


@pytest.mark.parametrize(
    "query",
    [
        {"postgresql": {"sslmode": "disable"}, "mysql": {"ssl_disabled": "true"}},
        {"postgresql": {"sslmode": "prefer"}, "mysql": {"ssl_verify_cert": "false"}},
        {"postgresql": {"gssencmode": "require"}, "mysql": {"ssl_verify_cert": "0"}},
    ],
)
def test_a_connection_that_asks_for_less_than_its_certificates_mean_is_refused(
    core: AnalyticsCore, guarded: Guarded, query: dict[str, dict[str, str]]
) -> None:
    form = guarded.form(username="secured", query=query[guarded.engine], extra={"server_cert": guarded.bundle})
    with pytest.raises(ConnectionUriError, match=r"with extra\.server_cert, connection option"):
        core.databases.create(form | {"database_name": "x"})


# ------------------------------------------------------------------------------------------------------ the file of it
def private_files() -> set[Path]:
    return set(Path(tempfile.gettempdir()).glob("analytics_core-*.pem"))


def test_the_certificates_stand_in_a_private_file_as_long_as_the_connections(
    core: AnalyticsCore, guarded: Guarded
) -> None:
    before = private_files()
    form = guarded.form(username="secured", extra={"server_cert": guarded.bundle})
    core.databases.test_connection(form)
    assert private_files() == before
    made = core.databases.create(form | {"database_name": "kept"})
    core.databases.schemas(made.id)
    (file,) = private_files() - before
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert file.stat().st_uid == os.geteuid()
    core.databases.update(made.id, {"cache_timeout": 5})
    assert not file.exists()
    core.databases.schemas(made.id)
    (file,) = private_files() - before
    file.unlink()  # somebody tidies up; the next connection writes it again
    core.databases.schemas(made.id)
    core.databases.delete(made.id)
    assert private_files() == before


def test_a_statement_over_an_encrypted_connection_is_stopped_on_the_server(guarded: Guarded) -> None:
    form = guarded.form(username="secured")["parameters"]
    url = sa.URL.create(guarded.engine, **form)
    with target(url.render_as_string(hide_password=False), engine=guarded.engine) as opened:
        shop = replace(opened, record=replace(opened.record, extra=json.dumps({"server_cert": guarded.bundle})))
        token = CancelToken()
        threading.Timer(0.3, token.cancel).start()
        began = time.monotonic()
        with pytest.raises(StatementStoppedError):
            shop.run(ENDLESS[guarded.engine], cancel=token)
        assert time.monotonic() - began < 3
        assert shop.is_returned()
        assert shop.rows("SELECT 1") == [(1,)]


def test_a_folder_that_takes_no_files_is_a_typed_error(tmp_path: Path) -> None:
    with pytest.raises(DatabaseError, match="cannot be written to the folder for temporary files") as caught:
        AuthoritiesFile("text", folder=tmp_path / "nosuch").path()
    assert str(tmp_path) not in str(caught.value.to_payload())


def test_the_file_goes_with_its_object_and_not_with_a_forked_child() -> None:
    authorities = AuthoritiesFile("text")
    path = Path(authorities.path())
    assert authorities.path() == str(path)
    child = os.fork()
    if child == 0:
        del authorities
        gc.collect()
        os._exit(0 if path.exists() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert path.read_text() == "text"
    del authorities
    gc.collect()
    assert not path.exists()
