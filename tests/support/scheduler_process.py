"""Scheduler processes of one store, for tests of what they do together when they are killed.

    python scheduler_process.py URL FOLDER INTERVAL_S

It reads lines `start` and `kill PID` and answers each with a line: the id of a new process, or how the killed one
ended. Each process is forked from this one, which has imported everything, and ends with it. They share the clock of
`FOLDER/clock`, and write what they hand over to `FOLDER/journal`, a line for each try at one address:

    WORD KEY ADDRESS PID

`try`: it begins; `failed`: the receiver did not get it; `later`: nor did it, and asks for time; `given`: it did, and
the notifier tells so; `doubt`: it did, and the notifier does not know.
"""

from __future__ import annotations

import logging
import os
import random
import signal
import struct
import sys
import threading
import time
from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from analytics_core import AnalyticsCore, Settings
from analytics_core.errors import NotificationError, StoreUnavailableError
from analytics_core.ports import AddressLookup, Delivery, DeliveryState, Message, Recipient

KEY = "a-test-key-that-is-long-enough-9f3a"
LEASE_S = 2.0
FAILS, HANGS, DOUBTS, LINGERS = 0.10, 0.09, 0.01, 0.05
"""Which share of tries fails, hangs and then fails, ends in doubt, and takes a while after the receiver has it."""

AWAY = "@busy.example"
BUSY_S = 400.0
"""The server of these addresses says later in the first 20 minutes of each hour: for longer than one attempt waits."""

HANG_S, LINGER_S, PAUSE_FACTOR = 0.1, 0.03, 0.05
_MOMENT = struct.Struct("d")


class SharedClock:
    """Tells the time that a file holds, to all processes (port `Clock`)."""

    def __init__(self, file: Path) -> None:
        self._file = os.open(file, os.O_RDWR | os.O_CREAT)

    def now(self) -> datetime:
        return datetime.fromtimestamp(_MOMENT.unpack(os.pread(self._file, _MOMENT.size, 0))[0], tz=UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    def move_to(self, moment: datetime) -> None:
        os.pwrite(self._file, _MOMENT.pack(moment.timestamp()), 0)


class ShortPauses:
    """Sleeps a small part of what it is asked for (port `Sleeper`)."""

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds * PAUSE_FACTOR)


class JournalNotifier:
    """Hands messages of one kind over to a journal, or fails (port `Notifier`)."""

    def __init__(self, kind: str, journal: Path, clock: SharedClock) -> None:
        self._kind = kind
        self._clock = clock
        self._journal = os.open(journal, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self._chance = random.Random(f"{kind} {os.getpid()}")

    def start(self, addresses: AddressLookup) -> None:
        return

    def takes(self, recipient: Recipient) -> bool:
        return recipient.kind == self._kind

    def send(
        self, message: Message, recipient: Recipient, *, only: Collection[str] | None = None
    ) -> Sequence[Delivery]:
        addresses = [address for address in recipient.addresses if only is None or address in only]
        self._write("try", message, addresses)
        chance = self._chance.random()
        if addresses[0].endswith(AWAY) and self._clock.now().minute < 20:
            self._write("later", message, addresses)
            raise NotificationError("the receiver is busy", retryable=True, retry_after_s=BUSY_S)
        if chance < FAILS + HANGS:
            time.sleep(HANG_S if chance < HANGS else 0)
            self._write("failed", message, addresses)
            raise NotificationError("the receiver was told to fail", retryable=True)
        is_known = chance < 1 - DOUBTS
        self._write("given" if is_known else "doubt", message, addresses)
        if self._chance.random() < LINGERS:
            time.sleep(LINGER_S)
        state = DeliveryState.DELIVERED if is_known else DeliveryState.UNKNOWN
        return [Delivery(address=address, state=state, reason="" if is_known else "no answer") for address in addresses]

    def close(self) -> None:
        return

    def _write(self, word: str, message: Message, addresses: Sequence[str]) -> None:
        lines = "".join(f"{word} {message.key} {address} {os.getpid()}\n" for address in addresses)
        os.write(self._journal, lines.encode())


def open_core(url: str, folder: Path, *, store_timeout_s: float = 5.0) -> AnalyticsCore:
    """Return a core with the shared clock and the journal, on which nobody acts."""
    settings = Settings(
        secret_key=KEY,
        data_roots=(folder,),
        job_lease_s=LEASE_S,
        store_timeout_s=store_timeout_s,
        metadata_freshness_s=60.0,
    )
    clock = SharedClock(folder / "clock")
    notifiers = [JournalNotifier(kind, folder / "journal", clock) for kind in ("Email", "Chat")]
    return AnalyticsCore(settings, metadata_url=url, clock=clock, notifiers=notifiers, sleeper=ShortPauses())


def _serve(url: str, folder: Path, interval_s: float) -> None:
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    while True:
        try:
            with open_core(url, folder) as core:
                core.scheduler.serve(interval_s)
        except StoreUnavailableError:  # it is restarted while this process begins
            time.sleep(interval_s)


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.2)
    os._exit(0)


def _started(url: str, folder: Path, interval_s: float) -> int:
    pid = os.fork()
    if pid:
        return pid
    logging.basicConfig(filename=folder / "log", level=logging.WARNING, format="%(process)d %(name)s %(message)s")
    try:
        _serve(url, folder, interval_s)
    except BaseException:
        logging.exception("a scheduler ended by itself")
    finally:
        os._exit(1)


def _ended(pid: int) -> str:
    os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    return "killed" if os.WIFSIGNALED(status) else f"ended by itself with status {status}"


def main(url: str, folder: str, interval_s: str) -> None:
    """Answer one line after the other."""
    for line in sys.stdin:
        verb, *pids = line.split()
        answer = _ended(int(pids[0])) if verb == "kill" else _started(url, Path(folder), float(interval_s))
        print(answer, flush=True)


def journal_lines(folder: Path) -> Iterator[tuple[str, str, str, int]]:
    """Yield what stands in the journal: word, key, address, process."""
    for line in (folder / "journal").read_text().splitlines():
        word, key, address, pid = line.split()
        yield word, key, address, int(pid)


if __name__ == "__main__":
    main(*sys.argv[1:])
