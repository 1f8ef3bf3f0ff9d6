"""What the example's container files and the page on deploying it run does run, on a private PostgreSQL and Redis."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import jwt
import psycopg
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from examples.fastapi_host.core import make_core
from jwt.algorithms import RSAAlgorithm
from packaging.requirements import Requirement
from starlette.requests import Request
from tests.support.cases import for_each
from tests.support.celery_world import until
from tests.support.container_files import command_of, commands_of_page, instructions, probe_of, services
from tests.support.servers import PostgresServer
from tests.support.ssh_server import free_port

from analytics_core import __version__

PROJECT = Path(__file__).parents[2]
HOST = PROJECT / "examples" / "fastapi_host"
DOCKERFILE, COMPOSE = HOST / "Dockerfile", HOST / "compose.yaml"
PAGE = PROJECT / "docs" / "how-to" / "deploy.md"
SECRETS = {
    "ANALYTICS_CORE_SECRET_KEY": "0f3a7c1d9b5e2468ace013579bdf8642",
    "POSTGRES_PASSWORD": "5d1e8f",
    "REDIS_PASSWORD": "c0ffee77",
}
OF_HOST = ("migrate", "web", "worker", "scheduler")
COUNT = {"queries": [{"metrics": ["count"]}]}
SOME_NUMBERS = "SELECT g AS id, 'France' AS country FROM generate_series(1, 15000000) AS g"
MANY_NUMBERS = "SELECT g AS id, 'France' AS country FROM generate_series(1, 400000000) AS g"


# ------------------------------------------------------------------------------------------------------------ the files
@for_each("name", SECRETS)
def test_nothing_starts_without_its_secrets(name: str) -> None:
    with pytest.raises(KeyError, match=name):
        services(COMPOSE, {**SECRETS, name: ""})


def test_the_image_has_no_secret_and_its_processes_are_not_root() -> None:
    image = instructions(DOCKERFILE)
    users = [rest for name, rest in image if name == "USER"]
    assert users
    assert int(users[-1]) > 0
    assert [
        rest for name, rest in image if name in ("ARG", "ENV") and re.search("KEY|PASSWORD|SECRET|TOKEN", rest)
    ] == []
    assert [rest for name, rest in image if name in ("COPY", "ADD")] == ["*.py /srv/fastapi_host/"]


def test_the_image_installs_what_there_is() -> None:
    (install,) = [rest for name, rest in instructions(DOCKERFILE) if name == "RUN" and rest.startswith("pip install")]
    project, *others = [Requirement(text) for text in re.findall(r'"([^"]+)"', install)]
    extras = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert project.name == "analytics-core"
    assert project.extras <= set(extras)
    assert project.specifier.contains(__version__)
    tested = {Requirement(text).name: str(Requirement(text).specifier) for text in extras["test"]}
    assert {other.name: str(other.specifier) for other in others} == {
        name: tested[name] for name in ("fastapi", "uvicorn")
    }


def test_servers_are_reached_from_inside_alone_and_the_service_by_a_proxy() -> None:
    found = services(COMPOSE, SECRETS)
    for name in ("postgres", "redis"):
        assert found[name]["networks"] == ["inside"]
        assert "ports" not in found[name]
    assert found["web"]["ports"] == ["127.0.0.1:8000:8000"]
    assert all(found[name]["read_only"] and found[name]["cap_drop"] == ["ALL"] for name in OF_HOST)


class Keys:
    """The keys of a provider, as `jwt.PyJWKClient` gives them."""

    def __init__(self, key: rsa.RSAPrivateKey) -> None:
        self._jwk = jwt.PyJWK.from_dict({**RSAAlgorithm.to_jwk(key.public_key(), as_dict=True), "alg": "RS256"})

    def get_signing_key_from_jwt(self, token: str) -> jwt.PyJWK:
        return self._jwk


def signed_in_by_the_page(key: rsa.RSAPrivateKey) -> Callable[[str], str | None]:
    """Return who is signed in by a token, as the sign-in that the page shows says."""
    (code,) = re.findall(r"^```py\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {"__package__": "examples.fastapi_host", "__name__": "examples.fastapi_host.sign_in"}
    exec(compile(code, str(PAGE), "exec"), names)
    names["KEYS"] = Keys(key)

    def signed_in(token: str) -> str | None:
        headers = [(b"authorization", f"Bearer {token}".encode())]
        name: str | None = names["who_is_this"](Request({"type": "http", "headers": headers}))
        return name

    return signed_in


def test_the_sign_in_of_the_page_takes_tokens_of_its_provider_alone() -> None:
    ours, other = (rsa.generate_private_key(public_exponent=65537, key_size=2048) for _ in range(2))
    signed_in = signed_in_by_the_page(ours)
    claims = {
        "preferred_username": "ada",
        "iss": "https://login.example",
        "aud": "analytics",
        "exp": datetime.now(UTC) + timedelta(minutes=1),
    }
    assert signed_in(jwt.encode(claims, ours, algorithm="RS256")) == "ada"
    wrong = {
        "another key": jwt.encode(claims, other, algorithm="RS256"),
        "of a guest": jwt.encode(claims, "a key of some thirty-two characters", algorithm="HS256"),
        "unsigned": jwt.encode(claims, None, algorithm="none"),
        "over": jwt.encode({**claims, "exp": datetime.now(UTC) - timedelta(minutes=1)}, ours, algorithm="RS256"),
        "for another audience": jwt.encode({**claims, "aud": "mail"}, ours, algorithm="RS256"),
        "of another issuer": jwt.encode({**claims, "iss": "https://evil.example"}, ours, algorithm="RS256"),
        "endless": jwt.encode({key: claims[key] for key in claims if key != "exp"}, ours, algorithm="RS256"),
        "none": "",
    }
    assert {case: signed_in(token) for case, token in wrong.items()} == dict.fromkeys(wrong)


# -------------------------------------------------------------------------------------------------------- the processes
class Host:
    """The containers of the example as processes of this machine, with ports of their own."""

    def __init__(self, folder: Path, server: PostgresServer) -> None:
        database = server.make_database().rpartition("/")[2]
        known = "EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL"
        role = f"DO $$ BEGIN CREATE ROLE analytics LOGIN; {known}; END $$"
        server.execute(role, f"ALTER DATABASE {database} OWNER TO analytics")
        self.shop = server.make_database()
        self.port, self._redis = free_port(), free_port()
        self._moved = {
            "@postgres:5432/analytics": f"@127.0.0.1:{server.port}/{database}",
            "--dbname analytics": f"--dbname {database}",
            "@redis:6379": f"@127.0.0.1:{self._redis}",
            "redis-server": f"redis-server --port {self._redis} --bind 127.0.0.1 --dir {folder}",
            "redis-cli": f"redis-cli -p {self._redis}",
            "0.0.0.0": "127.0.0.1",
        }
        binaries = Path(PostgresServer.find_binaries()["postgres"]).parent
        self.environ = {
            **os.environ,
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), str(binaries), os.environ["PATH"]]),
            "PYTHONPATH": str(HOST.parent),
            "PGHOST": "127.0.0.1",
            "PGPORT": str(server.port),
        }
        self.services = services(
            COMPOSE, {**SECRETS, "ANALYTICS_CORE_ALLOWED_NETWORKS": "127.0.0.1", "HOST_DRAIN_S": "1.5"}
        )
        self.services["web"]["command"] = command_of(DOCKERFILE)
        self._folder, self.processes = folder, dict[str, subprocess.Popen[bytes]]()

    def environment(self, name: str) -> dict[str, str]:
        """Return the variables of a container."""
        given = self.services[name].get("environment", {})
        return {**self.environ, **{key: self._here(str(value)) for key, value in given.items()}}

    def _here(self, text: str) -> str:
        for there, here in self._moved.items():
            text = text.replace(there, here)
        return re.sub(r"\b8000\b", str(self.port), text)

    def start(self, name: str) -> None:
        """Run the command of a container in the background."""
        with (self._folder / f"{name}.log").open("ab") as log:
            command = [self._here(part) for part in self.services[name]["command"]]
            self.processes[name] = subprocess.Popen(
                command, stdout=log, stderr=log, cwd=self._folder, env=self.environment(name), start_new_session=True
            )

    def run(
        self, name: str, command: Sequence[str], *, given: bytes | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a command to its end, as one of a container."""
        here = [self._here(part) for part in command]
        return subprocess.run(
            here, capture_output=True, env=self.environment(name), cwd=self._folder, input=given, check=False
        )

    def run_line(self, name: str, words: Sequence[str]) -> None:
        """Run a line of a shell, as in a container; it must succeed."""
        done = self.run(name, ["sh", "-c", " ".join(words)])
        assert done.returncode == 0, done.stderr.decode()

    def is_healthy(self, name: str) -> bool:
        assert self.processes.get(name) is None or self.processes[name].poll() is None, self.log(name)
        return self.run(name, probe_of(self.services[name])).returncode == 0

    def log(self, name: str) -> str:
        return (self._folder / f"{name}.log").read_text()

    def ask(
        self, method: str, path: str, headers: Mapping[str, str] = {}, *, port: int | None = None
    ) -> tuple[int, dict[str, Any]]:
        """Return the status and the body of an answer."""
        connection = HTTPConnection("127.0.0.1", port or self.port, timeout=60)
        try:
            connection.request(method, path, headers=headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()

    def end(self) -> None:
        for process in self.processes.values():
            process.kill()
            process.wait(10)


def fill(host: Host) -> None:
    """Store what guests see: rows of a table, a question that takes a second and one that takes a minute."""
    shop = psycopg.connect(host.shop.replace("+psycopg", ""), autocommit=True)
    shop.execute("CREATE TABLE orders AS SELECT g AS id, 'France' AS country FROM generate_series(1, 3) AS g")
    shop.close()
    with make_core(host.environment("worker")) as core:
        ada = core.as_user("ada")
        ada.databases.create({"database_name": "shop", "orm_uri": host.shop})
        ada.datasets.create({"database": 1, "table_name": "orders"})
        ada.datasets.create({"database": 1, "table_name": "some", "sql": SOME_NUMBERS})
        ada.datasets.create({"database": 1, "table_name": "many", "sql": MANY_NUMBERS})
        layout = {}
        for number in (1, 2, 3):
            question = {**COUNT, "datasource": {"id": number, "type": "table"}}
            chart = {"slice_name": f"chart {number}", "datasource_id": number, "datasource_type": "table"}
            ada.charts.create({**chart, "query_context": json.dumps(question)})
            layout[f"CHART-{number}"] = {"type": "CHART", "children": [], "meta": {"chartId": number}}
        ada.dashboards.create({"dashboard_title": "Sales", "position_json": json.dumps(layout)})
        ada.embedded.create(1, {"allowed_domains": []})
        rules = [{"clause": "country = 'France'"}]
        token = ada.embedded.guest_token({"resources": [{"type": "dashboard", "id": "1"}], "rls": rules})
    host.environ["TOKEN"] = token


@pytest.fixture(scope="module")
def host(postgres_server: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """The host as the page has it started, with its first person and a dashboard."""
    host = Host(tmp_path_factory.mktemp("host"), postgres_server)
    try:
        host.start("redis")
        migrated = host.run("migrate", host.services["migrate"]["command"])
        assert (migrated.returncode, b"0100: " in migrated.stdout) == (0, True), migrated.stderr.decode()
        assert until(lambda: host.is_healthy("redis"))
        for name in ("web", "worker", "scheduler"):
            host.start(name)
        first, _ = commands_of_page(PAGE, "docker", "compose", "run", "--rm", "worker")
        made = host.run("worker", first)
        assert made.returncode == 0, made.stderr.decode()
        fill(host)
        assert until(lambda: host.is_healthy("web"))
        yield host
    finally:
        host.end()


@pytest.mark.slow
@pytest.mark.server
def test_every_container_runs(host: Host) -> None:
    assert host.is_healthy("postgres")
    assert until(lambda: " ready." in host.log("worker"))
    assert until(lambda: "looks for due" in host.log("scheduler"))
    ticked = host.run("worker", ["python", "-m", "analytics_core", "tick", "--core", "fastapi_host.core:make_core"])
    assert ticked.returncode == 0, ticked.stderr.decode()


@pytest.mark.slow
@pytest.mark.server
def test_workers_answer_guests_and_no_one_else_is_let_in(host: Host) -> None:
    guest = {"Authorization": f"Bearer {host.environ['TOKEN']}"}
    status, job = host.ask("POST", "/charts/1/jobs", guest)
    assert status == 202, job
    assert until(lambda: host.ask("GET", job["result_url"], guest)[0] != 202)
    status, answer = host.ask("GET", job["result_url"], guest)
    assert (status, answer["result"][0]["data"]) == (200, [{"count": 3}])
    assert job["job_id"] in host.log("worker")
    assert host.ask("POST", "/charts/1/jobs")[0] == 401


@pytest.mark.slow
@pytest.mark.server
def test_secrets_are_sealed_anew_by_the_command_of_the_page(host: Host) -> None:
    _, reseal = commands_of_page(PAGE, "docker", "compose", "run", "--rm", "worker")
    assert host.run("worker", reseal).stdout.decode().strip().isdigit()


@pytest.mark.slow
@pytest.mark.server
def test_sigterm_ends_everything_in_order_and_loses_no_answer(host: Host) -> None:
    guest = {"Authorization": f"Bearer {host.environ['TOKEN']}"}
    with ThreadPoolExecutor(max_workers=4) as pool:
        answers = [pool.submit(host.ask, "POST", "/charts/2/data", guest) for _ in range(2)]
        until(lambda: host.ask("GET", "/health/ready")[0] == 200)
        for name in ("web", "worker", "scheduler"):
            host.processes[name].send_signal(signal.SIGTERM)
        assert until(
            lambda: host.ask("GET", "/health/ready") == (503, {"status": "unavailable", "problem": "it stops"})
        )
        assert {answer.result()[0] for answer in answers} == {200}
    codes = {name: host.processes[name].wait(60) for name in ("web", "worker", "scheduler")}
    assert codes == dict.fromkeys(codes, 0), host.log("web")


@pytest.mark.slow
@pytest.mark.server
def test_a_dump_is_restored_by_the_commands_of_the_page(host: Host) -> None:
    dump, restore = commands_of_page(PAGE, "docker", "compose", "exec", "-T", "postgres")
    (forget,) = commands_of_page(PAGE, "docker", "compose", "exec", "redis")
    host.run_line("postgres", dump)
    with make_core(host.environment("worker")) as core:
        core.as_user("ada").dashboards.delete(1)
    host.run_line("postgres", restore)
    host.run_line("redis", forget)
    with make_core(host.environment("worker")) as core:
        assert core.as_user("ada").dashboards.get(1).dashboard_title == "Sales"


@pytest.mark.slow
@pytest.mark.server
def test_what_takes_too_long_at_the_end_is_a_typed_error(host: Host) -> None:
    port, web = free_port(), host.services["web"]
    command = [str(port) if part == "8000" else "1" if part == "2" else part for part in web["command"]]
    host.services["late"] = {"command": command, "environment": {**web["environment"], "HOST_GRACE_S": "0.1"}}
    host.services["late"]["environment"]["HOST_DRAIN_S"] = ""
    host.start("late")
    assert until(lambda: "startup complete" in host.log("late"))
    guest = {"Authorization": f"Bearer {host.environ['TOKEN']}"}
    with ThreadPoolExecutor(max_workers=1) as pool:
        answer = pool.submit(host.ask, "POST", "/charts/3/data", guest, port=port)
        assert until(lambda: asks_numbers(host))
        host.processes["late"].send_signal(signal.SIGTERM)
        status, body = answer.result()
    assert (status, body["errors"][0]["level"]) == (503, "error"), (body, host.log("late"))
    assert host.processes["late"].wait(60) == 0


def asks_numbers(host: Host) -> bool:
    """Return whether somebody else asks for many numbers."""
    running = """
        SELECT count(*) FROM pg_stat_activity
        WHERE state = 'active' AND query ILIKE '%generate_series(1, 4%' AND pid <> pg_backend_pid()
    """
    with psycopg.connect(host.shop.replace("+psycopg", "")) as shop:
        (count,) = shop.execute(running).fetchone() or (0,)
    return int(count) > 0


def test_the_page_names_containers_that_there_are() -> None:
    named = {
        word.partition("=")[0]
        for verb in ("up", "stop")
        for words in commands_of_page(PAGE, "docker", "compose", verb)
        for word in words
        if not word.startswith("-")
    }
    assert named == {"web", "worker", "scheduler"}
