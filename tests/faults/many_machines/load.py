"""Clients of the web processes: they know the right answers, try again what may be tried again, and note the rest."""

from __future__ import annotations

import http.client
import json
import random
import re
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

ROWS = 5_000
REGIONS = ("EU", "US", "APAC")
QUESTIONS = 60
LONGEST_CALL_S, PATIENCE_S, PAUSE_S = 60.0, 180.0, 0.2
ORDERS = [(number, REGIONS[number * 7 % 3], number * 31 % 97) for number in range(ROWS)]
"""Number, region and amount of each order."""

CHARTS, JOBS, SCRIPTS = 3, 2, 1
"""How many threads ask what."""


def question(number: int, *, force: bool = False) -> dict[str, Any]:
    """Return the query context of a question."""
    total = {"expressionType": "SIMPLE", "column": {"column_name": "amount"}, "aggregate": "SUM", "label": "total"}
    query = {
        "columns": ["region"],
        "metrics": [total, "count"],
        "filters": [{"col": "id", "op": ">=", "val": number * 50}],
    }
    return {"datasource": {"id": 1, "type": "table"}, "queries": [query], "force": force}


def right_answer(number: int) -> list[tuple[str, int, int]]:
    """Return what the question must be answered, worked out from the rows."""
    chosen = [(region, amount) for order, region, amount in ORDERS if order >= number * 50]
    regions = sorted({region for region, _ in chosen})
    return [
        (one, sum(amount for region, amount in chosen if region == one), sum(region == one for region, _ in chosen))
        for one in regions
    ]


@dataclass(kw_only=True)
class Noted:
    """What clients got: how many answers of each kind, and what was none of the kinds that may be."""

    counts: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    raw: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    late: list[str] = field(default_factory=list)
    slowest_s: float = 0.0
    ends: Counter[str] = field(default_factory=Counter)
    marks: dict[str, str] = field(default_factory=dict)


class Client:
    """Asks the web processes one after the other, until one answers."""

    def __init__(self, ports: Sequence[int], noted: Noted, chance: random.Random) -> None:
        self._ports, self._noted, self.chance = ports, noted, chance

    def ask(self, method: str, path: str, body: Any = None) -> Mapping[str, Any] | None:
        """Return the answer of the first process that has one; None: there was none that could be tried again."""
        end = time.monotonic() + PATIENCE_S
        port = self.chance.choice(self._ports)
        while time.monotonic() < end:
            status, answer, may_repeat = self._call(port, method, path, body)
            if status in (200, 202):
                self._noted.counts["answered"] += 1
                return answer
            if status == 0:
                self._noted.counts["cut"] += 1
                port = self.chance.choice([one for one in self._ports if one != port])
            elif not self._is_typed(status, answer, f"{method} {path}", may_repeat=may_repeat):
                return None
            time.sleep(PAUSE_S * self.chance.uniform(0.5, 2))
        self._noted.late.append(f"{method} {path} had no answer in {PATIENCE_S:g} s")
        return None

    def look_at_error(self, path: str) -> None:
        """Note how what failed is told to its owner: it may be tried again."""
        for port in self._ports:
            status, answer, may_repeat = self._call(port, "GET", path, None)
            if status:
                self._is_typed(status, answer, path, may_repeat=may_repeat)
                return

    def _call(self, port: int, method: str, path: str, body: Any) -> tuple[int, Any, bool]:
        """Return status, JSON, and whether the same call may succeed later; 0: the process went away."""
        began = time.monotonic()
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LONGEST_CALL_S)
        try:
            connection.request(method, path, json.dumps(body) if body else None, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read()), "Retry-After" in answer.headers
        except TimeoutError:
            self._noted.late.append(f"{method} {path} had no answer in {LONGEST_CALL_S:g} s")
            return 0, None, True
        except (OSError, http.client.HTTPException):
            return 0, None, True
        except ValueError:
            return answer.status, None, False
        finally:
            connection.close()
            self._noted.slowest_s = max(self._noted.slowest_s, time.monotonic() - began)

    def _is_typed(self, status: int, answer: Any, what: str, *, may_repeat: bool) -> bool:
        """Note an error, and return whether it is one of ours that may be tried again."""
        with suppress(KeyError, TypeError, IndexError):
            kind, message = answer["errors"][0]["error_type"], answer["message"]
            if may_repeat:
                self._noted.counts["rejected"] += 1
                self._noted.refusals[f"{status} {kind}: {without_ids(message)}"] += 1
                return True
        self._noted.raw.append(f"{what}: {status}, to be tried again: {may_repeat}; {answer}")
        return False


def without_ids(message: str) -> str:
    """Return the beginning of a message, without the ids of jobs."""
    return re.sub(r"'[\w-]{20,}'", "...", message)[:110]


class Load:
    """The clients, as threads."""

    def __init__(self, ports: Sequence[int], *, seed: int) -> None:
        self.noted = Noted()
        self._ports, self._seed = ports, seed
        self._is_over = threading.Event()
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Let all begin."""
        for work, count in ((self._chart, CHARTS), (self._job, JOBS), (self._script, SCRIPTS)):
            for number in range(count):
                client = Client(self._ports, self.noted, random.Random(f"{self._seed} {work.__name__} {number}"))
                thread = threading.Thread(target=self._repeat, args=(work, client), daemon=True)
                self._threads.append(thread)
                thread.start()

    def stop(self) -> None:
        """Let each end what it has begun, and return then."""
        self._is_over.set()
        for thread in self._threads:
            thread.join(2 * PATIENCE_S)

    def _repeat(self, work: Callable[[Client], None], client: Client) -> None:
        while not self._is_over.wait(client.chance.uniform(0.02, 0.2)):
            try:
                work(client)
            except Exception as error:  # counted
                self.noted.raw.append(f"{work.__name__}: {type(error).__name__}: {error}")

    def _chart(self, client: Client) -> None:
        number = client.chance.randrange(QUESTIONS)
        answer = client.ask("POST", "/charts/data", question(number, force=client.chance.random() < 0.3))
        self._compare(number, answer)

    def _job(self, client: Client) -> None:
        """Submit some jobs, and read all of them; one that is lost is submitted again."""
        waiting = [client.chance.randrange(QUESTIONS) for _ in range(3)]
        while waiting:
            jobs = {}
            for number in waiting:
                made = client.ask("POST", "/charts/jobs", question(number, force=client.chance.random() < 0.5))
                if made is not None:
                    jobs[made["job_id"]] = number
            waiting = [number for job, number in jobs.items() if not self._is_read(client, job, number)]

    def _is_read(self, client: Client, job: str, number: int) -> bool:
        state = self._ended(client, f"/jobs/{job}")
        self.noted.ends[f"chart {state}"] += 1
        if state == "success":
            self._compare(number, client.ask("GET", f"/jobs/{job}/result"))
        else:
            client.look_at_error(f"/jobs/{job}/result")
        return state not in ("lost", "failed", "timed_out", "stopped")

    def _script(self, client: Client) -> None:
        """Insert a row, and note how that ended."""
        mark = secrets.token_hex(8)
        self.noted.marks[mark] = "asked"
        payload = {"database_id": 1, "sql": f"INSERT INTO marks VALUES ('{mark}')", "client_id": mark[:11]}
        made = client.ask("POST", "/sql", {**payload, "runAsync": True})
        if made is not None:
            state = self._ended(client, f"/sql/{made['query_id']}")
            self.noted.ends[f"script {state}"] += 1
            self.noted.marks[mark] = state

    def _ended(self, client: Client, path: str) -> str:
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            found = client.ask("GET", path)
            if found is None:
                return "unknown"
            if found["state"] not in ("pending", "running"):
                return str(found["state"])
            time.sleep(PAUSE_S)
        self.noted.late.append(f"{path} is not over after {PATIENCE_S:g} s")
        return "endless"

    def _compare(self, number: int, answer: Mapping[str, Any] | None) -> None:
        if answer is None:
            return
        rows = sorted((row["region"], row["total"], row["count"]) for row in answer["result"][0]["data"])
        if rows != right_answer(number):
            self.noted.wrong.append(f"question {number}: {rows}, not {right_answer(number)}")
