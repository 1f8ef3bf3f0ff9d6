"""Opens a metadata store in a process of its own: `python open_store_process.py URL [HISTORY HEAD]`."""

from __future__ import annotations

import sys
from pathlib import Path

from analytics_core._content.storage.migrate import HEAD, MIGRATIONS, migrate
from analytics_core._content.storage.store_engine import make_store_engine


def main(url: str, history: str = str(MIGRATIONS), head: str = HEAD) -> None:
    engine = make_store_engine(url)
    sys.stdin.readline()  # all processes wait for the same signal
    migrate(engine, history=Path(history), head=head)
    engine.dispose()


if __name__ == "__main__":
    main(*sys.argv[1:])
