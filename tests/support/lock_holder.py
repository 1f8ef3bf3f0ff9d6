"""A process that holds a lock of a store, for tests of locks over processes.

    python lock_holder.py STORE_URL JOURNAL take TTL_S     takes the lock, tells its number, and sleeps until killed
    python lock_holder.py STORE_URL JOURNAL contend TIMES  holds the lock so often, as soon as it gets it

What happens while the lock is held is a line of the journal: `number begin` and `number end`.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from analytics_core._content.storage.store import SqlMetadataStore
from analytics_core._content.storage.store_backed import StoreLock
from analytics_core._core.adapters.clock import SystemClock
from analytics_core._core.adapters.secret_box import AesGcmSecretBox
from analytics_core._records.secret import Secret

NAME = "the one printer"


def main(url: str, journal: str, verb: str, argument: str) -> None:
    lock = StoreLock(SqlMetadataStore(url, secret_box=AesGcmSecretBox(Secret("never used")), clock=SystemClock()))
    print("ready", flush=True)
    sys.stdin.readline()
    if verb == "take":
        lease = lock.acquire(NAME, ttl_s=float(argument))
        print(lease and lease.fencing_number, flush=True)
        time.sleep(600)
    done = 0
    while done < int(argument):
        lease = lock.acquire(NAME, ttl_s=30)
        if lease is None:
            time.sleep(0.02)
            continue
        write(Path(journal), f"{lease.fencing_number} begin")
        time.sleep(0.01)
        write(Path(journal), f"{lease.fencing_number} end")
        done += lock.release(lease)


def write(journal: Path, line: str) -> None:
    """Append a line, whole."""
    file = os.open(journal, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(file, f"{line}\n".encode())
    os.close(file)


if __name__ == "__main__":
    main(*sys.argv[1:])
