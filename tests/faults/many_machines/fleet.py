"""The processes of a service on many machines, which are killed at random and started again."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from urllib.request import urlopen

from tests.faults.servers import DurablePostgres, _children, _restart, _signal, own_server
from tests.support.redis_server import RedisServer, redis_server
from tests.support.servers import _is_alive
from tests.support.ssh_server import free_port

PROJECT = Path(__file__).resolve().parents[3]
WEB, WORKERS, TICKERS, CONCURRENCY = 3, 2, 2, 2
SHORTEST_S, LONGEST_S = 2.0, 6.0
"""Between two kills."""

DOWN_S = 3.0
"""How long at most something is away."""

START_S, TERM_S, ORPHAN_S = 60.0, 60.0, 15.0
LOOK_S = 0.5
STORE_AWAY = "the metadata store cannot be reached"
WARM_S, OLD_S = 30.0, 60.0
"""The memory of a process that lived for so long (`OLD_S`) is compared with what it was at the age of `WARM_S`."""


@dataclass(kw_only=True)
class Process:
    """A process that is started anew whenever it ends; a supervisor of an operating system does so, too."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    log: Path
    popen: subprocess.Popen[bytes] | None = None
    is_away: bool = False
    started_at: float = 0.0

    def start(self) -> None:
        """Start it."""
        with self.log.open("ab") as log:
            self.popen = subprocess.Popen(
                self.command, stdout=log, stderr=log, cwd=PROJECT, env=self.environment, start_new_session=True
            )
        self.started_at = time.monotonic()

    @property
    def pid(self) -> int:
        """Its id; 0: it never ran."""
        return 0 if self.popen is None else self.popen.pid

    @property
    def is_up(self) -> bool:
        """Whether it runs."""
        return self.popen is not None and self.popen.poll() is None

    def kill(self) -> None:
        """End it at once."""
        assert self.popen is not None
        self.popen.kill()
        self.popen.wait(30)

    def end(self) -> bool:
        """Tell it to end; False when it does not."""
        assert self.popen is not None
        self.popen.terminate()
        try:
            self.popen.wait(TERM_S)
        except subprocess.TimeoutExpired:
            self.kill()
            return False
        return True

    def tail(self) -> str:
        """Return the end of what it wrote."""
        lines = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        return " | ".join(lines[-3:])[-600:]


@dataclass(kw_only=True)
class Found:
    """What a fleet noticed: how often what was killed, how processes ended by themselves, and how memory grew."""

    kills: Counter[str] = field(default_factory=Counter)
    course: list[str] = field(default_factory=list)
    own_ends: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    memory: dict[tuple[str, int], list[tuple[float, float]]] = field(default_factory=dict)

    def growths(self) -> Mapping[str, tuple[float, float, float]]:
        """Return for each process that became old: megabytes when it was warm, at its end, and its age."""
        grown = {}
        for (name, pid), samples in self.memory.items():
            (born, _), (last, mb_at_end) = samples[0], samples[-1]
            if last - born >= OLD_S:
                warm_mb = next(mb for moment, mb in samples if moment - born >= WARM_S)
                grown[f"{name}, {pid}"] = (warm_mb, mb_at_end, last - born)
        return grown


Way = tuple[str, Callable[[], object], Callable[[], object]]
"""How something is taken away and comes back."""


class Fleet:
    """PostgreSQL, Redis, web processes, workers and those who call tick."""

    def __init__(self, postgres: DurablePostgres, redis: RedisServer, environment: Mapping[str, str], folder: Path):
        self.postgres, self.redis = postgres, redis
        self.ports = [free_port() for _ in range(WEB)]
        self.found = Found()
        self._away: set[str] = set()
        self._guard = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._is_over = threading.Event()
        service = f"{__package__}.host:make_service"
        core = ("--core", f"{__package__}.host:make_core")
        commands: dict[str, Sequence[str]] = {
            f"web {number}": ("uvicorn", "--factory", service, "--port", str(port), "--log-level", "warning")
            for number, port in enumerate(self.ports)
        }
        for number in range(WORKERS):
            commands[f"worker {number}"] = ("analytics_core", "worker", *core, "--concurrency", str(CONCURRENCY))
        for number in range(TICKERS):
            commands[f"ticker {number}"] = ("analytics_core", "serve", *core, "--interval", "1")
        self.processes = {
            name: Process(
                name=name,
                command=(sys.executable, "-m", *command),
                environment=environment,
                log=folder / f"{name.replace(' ', '-')}.log",
            )
            for name, command in commands.items()
        }

    # ------------------------------------------------------------------------------------------------------ life
    def start(self) -> None:
        """Start all, and look after them until `close`."""
        for process in self.processes.values():
            process.start()
        self._in_thread(self._supervise)

    def close(self) -> None:
        """End all that was started."""
        self._is_over.set()
        for thread in self._threads:
            thread.join(START_S)
        for process in self.processes.values():
            if process.popen is not None:
                with suppress(ProcessLookupError):
                    os.killpg(process.popen.pid, signal.SIGKILL)
                process.popen.wait(30)

    def wait_until_up(self) -> None:
        """Return when nothing is away and each web process answers."""
        end = time.monotonic() + START_S
        while time.monotonic() < end:
            with self._guard:
                is_up = not self._away
            if is_up and all(map(_answers, self.ports)):
                return
            time.sleep(0.2)
        raise RuntimeError(f"not all is up again: {self._away}; " + self.processes["web 0"].tail())

    # ---------------------------------------------------------------------------------------------------- disturbing
    def disturb(self, seconds: float, chance: random.Random) -> None:
        """Take something away at random, again and again; each thing comes back after a while."""
        end = time.monotonic() + seconds
        while (remaining_s := end - time.monotonic()) > 0:
            time.sleep(min(remaining_s, chance.uniform(SHORTEST_S, LONGEST_S)))
            name = chance.choice(["postgresql", "redis", *self.processes])
            with self._guard:
                if name in self._away:
                    continue
                self._away.add(name)
            how, down, up = chance.choice(list(self._ways(name)))
            self.found.kills[f"{name.split()[0]} {how}"] += 1
            self.found.course.append(f"{datetime.now():%H:%M:%S} {name} {how}")
            self._in_thread(self._away_for, name, down, up, chance.uniform(0.0, DOWN_S))
        for thread in self._threads[1:]:
            thread.join(START_S)

    def _away_for(self, name: str, down: Callable[[], object], up: Callable[[], object], seconds: float) -> None:
        try:
            down()
            time.sleep(seconds)
            up()
        except Exception as error:  # counted
            self.found.wrong.append(f"{name} was not taken away and back: {type(error).__name__}: {error}")
        finally:
            with self._guard:
                self._away.discard(name)

    def _ways(self, name: str) -> Iterator[Way]:
        if name == "postgresql":
            yield "killed", lambda: _signal(self.postgres, signal.SIGKILL), lambda: _restart(self.postgres)
            yield "shut down", self._shut_down, lambda: _restart(self.postgres)
        elif name == "redis":
            yield "killed", self.redis.kill, self.redis.start
        else:
            process = self.processes[name]
            yield "killed", lambda: self._kill(process), process.start
            yield "ended", lambda: self._end(process), process.start
            if name.startswith("worker"):
                yield "child killed", lambda: self._kill_child(process), lambda: None

    def _shut_down(self) -> None:
        """Shut PostgreSQL down at once, as an administrator does."""
        os.kill(self.postgres.pid, signal.SIGQUIT)
        _wait(lambda: not _is_alive(self.postgres.pid), 30)

    def _kill(self, process: Process) -> None:
        """Kill a process, whose children must end with it."""
        children = _children(process.pid)
        process.kill()
        if not _wait(lambda: not [pid for pid in children if _is_of(pid, process)], ORPHAN_S):
            self.found.wrong.append(f"{process.name} was killed, and its children went on for {ORPHAN_S:g} s")
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)

    def _end(self, process: Process) -> None:
        if not process.is_up:
            self._note_own_end(process)
        elif not process.end():
            self.found.wrong.append(f"{process.name} did not end {TERM_S:g} s after SIGTERM")
        elif process.popen is not None and process.popen.returncode not in (0, -signal.SIGTERM):
            self.found.wrong.append(
                f"{process.name} ended with {process.popen.returncode} on SIGTERM: {process.tail()}"
            )

    def _kill_child(self, process: Process) -> None:
        for pid in _children(process.pid)[:1]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    # -------------------------------------------------------------------------------------------------- looking after
    def _supervise(self) -> None:
        while not self._is_over.wait(LOOK_S):
            for process in self.processes.values():
                with self._guard:
                    if process.name in self._away:
                        continue
                    if not process.is_up:
                        self._note_own_end(process)
                        process.start()
                self._measure(process)

    def _note_own_end(self, process: Process) -> None:
        """Note that a process ended, as one does whose store is away while it begins."""
        code, tail = process.popen.returncode if process.popen else None, process.tail()
        notes = self.found.own_ends if STORE_AWAY in tail else self.found.wrong
        notes.append(f"{process.name} ended by itself with {code}: {tail}")

    def _measure(self, process: Process) -> None:
        for pid in (process.pid, *_children(process.pid)):
            with suppress(OSError):
                if resident_mb := _resident_mb(pid):  # one that has just ended has none
                    self.found.memory.setdefault((process.name, pid), []).append((time.monotonic(), resident_mb))

    def _in_thread(self, work: Callable[..., object], *arguments: object) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()


@contextmanager
def servers(folder: Path) -> Iterator[tuple[DurablePostgres, RedisServer]]:
    """Run the two servers."""
    with own_server("postgresql") as postgres, redis_server(folder / "redis") as redis:
        assert isinstance(postgres, DurablePostgres)
        yield postgres, redis


def _answers(port: int) -> bool:
    with suppress(OSError), urlopen(f"http://127.0.0.1:{port}/health/ready", timeout=5) as answer:
        return bool(answer.status == 200)
    return False


def _wait(condition: Callable[[], bool], seconds: float) -> bool:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def _is_of(pid: int, process: Process) -> bool:
    """Tell whether a process runs that belongs to the session of another one."""
    with suppress(OSError):
        state, *facts = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        return state != "Z" and int(facts[2]) == process.pid
    return False


def _resident_mb(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
