"""Use one store with this code and with that of a release: `python -m tests.releases.previous_release TAG`.

This code opens what the release stored, and uses it beside the release before it is migrated. The other way about
depends on the revision of the tables: where it is the same, or of the line of a release that knows lines, the release
works on; else its new processes are refused, and its running ones read and are refused when they write.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from tests.support.servers import PrivateServers, ServerMissingError, private_servers

from analytics_core.testing.sample_data import make_shop

PROJECT = Path(__file__).resolve().parents[2]
SCRIPT = Path(__file__).with_name("use_store.py")

Answer = dict[str, Any]


class StoreProcess:
    """A process that uses a store with one code."""

    def __init__(self, source: Path, url: str, shop: Path, settings: str) -> None:
        environ = {**os.environ, "PYTHONPATH": str(source)}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        command = [sys.executable, str(SCRIPT), url, str(shop), settings]
        self._source = source
        self._process = subprocess.Popen(command, env=environ, cwd=shop.parent, **pipes)

    def ask(self, command: str) -> Answer:
        self._process.stdin.write(f"{command}\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline() or '{"error": "the process ended", "message": ""}')
        if "code" in answer and not answer["code"].startswith(str(self._source)):
            sys.exit(f"the code that opened the store is {answer['code']}, not that of {self._source}")
        return answer

    def close(self) -> None:
        self._process.communicate(timeout=60)


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A release beside this code, on stores of one kind."""

    release: Path
    shop: Path
    make_url: Callable[[], str]

    @contextmanager
    def using(self, url: str, *, release: bool, settings: str = "{}") -> Iterator[Callable[[str], Answer]]:
        process = StoreProcess(self.release if release else PROJECT / "src", url, self.shop, settings)
        try:
            yield process.ask
        finally:
            process.close()

    def run(self) -> Iterator[str]:
        """Yield what differs from what the pages promise."""
        yield from self._side_by_side(self.make_url())
        yield from self._upgraded(self.make_url())
        yield from self._made_by_this_code(self.make_url())

    def _takes(self, stored: Answer, made: Answer) -> bool:
        """Tell whether the release works on tables that this code made or migrated."""
        knows_lines = (self.release / "analytics_core" / "_content" / "storage" / "older_tables.py").is_file()
        ours, its = str(made.get("revision")), str(stored.get("revision"))
        return ours == its or (knows_lines and ours[:2] == its[:2])

    def _side_by_side(self, url: str) -> Iterator[str]:
        as_it_is = json.dumps({"migrate_on_open": False})
        with self.using(url, release=True) as its, self.using(url, release=False, settings=as_it_is) as ours:
            opened = [its("open"), its("write first"), ours("open"), ours("write second"), its("write third")]
            yield from (f"side by side: {answer}" for answer in opened if "error" in answer)
            if opened[0].get("revision") != opened[2].get("revision"):
                yield f"this code migrated a store that it was to leave as it is: {opened[2]}"
            if (read := its("read")) != ours("read"):
                yield f"side by side, the release reads {read}, and this code something else"

    def _upgraded(self, url: str) -> Iterator[str]:
        with self.using(url, release=True) as running:
            before = [running("open"), running("write first"), running("read")]
            with self.using(url, release=False) as ours:
                after = [ours("open"), ours("read"), ours("write second")]
            yield from (f"the release on its own store: {answer}" for answer in before if "error" in answer)
            yield from (f"this code on the release's store: {answer}" for answer in after if "error" in answer)
            if after[1] != before[2]:
                yield f"this code reads {after[1]}, and the release had stored {before[2]}"
            is_same = self._takes(before[0], after[0])
            read = running("read")
            if set(read.get("charts", ())) != {"first", "second"}:
                yield f"the running process of the release reads {read}"
            yield from _judge("the running process writes", running("write third"), is_same, "StoreUnavailableError")
        with self.using(url, release=True) as started:
            yield from _judge("a new process opens the store", started("open"), is_same, "SettingsError")

    def _made_by_this_code(self, url: str) -> Iterator[str]:
        with self.using(url, release=False) as ours:
            made = [ours("open"), ours("write first")]
        yield from (f"this code on its own store: {answer}" for answer in made if "error" in answer)
        with self.using(url, release=True) as started:
            opened = started("open")
            is_same = "error" not in opened and self._takes(opened, made[0])
            yield from _judge("the release opens a new store", opened, is_same, "SettingsError")
            if is_same:
                used = [started("write second"), started("read")]
                if set(used[1].get("charts", ())) != {"first", "second"}:
                    yield f"the release on a store of this code: {used}"


def _judge(what: str, answer: Answer, is_same: bool, refusal: str) -> Iterator[str]:
    """Yield what is wrong where an answer is neither the one that works nor the refusal that is due."""
    if answer.get("error") != (None if is_same else refusal):
        yield f"{what}, {'the same' if is_same else 'another'} revision: {answer}"


def _kinds(servers: PrivateServers, folder: Path) -> Iterator[tuple[str, Callable[[], str]]]:
    numbers = count()
    yield "sqlite", lambda: f"sqlite:///{folder}/store{next(numbers)}.db"
    for name, start in (("postgresql", servers.postgres), ("mariadb", servers.mariadb)):
        try:
            yield name, start().make_database
        except ServerMissingError as missing:
            print(f"{name}: skipped, {missing}")


def main(tag: str) -> int:
    """Return how many things differ from what the pages promise."""
    found = 0
    with tempfile.TemporaryDirectory() as name, private_servers() as servers:
        folder = Path(name).resolve()
        archive = subprocess.run(["git", "archive", tag, "src"], cwd=PROJECT, capture_output=True, check=True).stdout
        subprocess.run(["tar", "-x", "-C", str(folder)], input=archive, check=True)
        make_shop(folder / "shop.db")
        for kind, make_url in _kinds(servers, folder):
            trial = Trial(release=folder / "src", shop=folder / "shop.db", make_url=make_url)
            problems = list(trial.run())
            print(f"{kind}: {tag} beside this code", *(problems or ["as promised"]), sep="\n    ")
            found += len(problems)
    return found


if __name__ == "__main__":
    sys.exit(min(main(*sys.argv[1:]), 1))
