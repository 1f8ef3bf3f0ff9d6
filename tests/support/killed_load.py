"""A program that loads a bundle, stops on its way and waits: its arguments are the store, a folder and a share."""

from __future__ import annotations

import sys
import time
from datetime import datetime
from pathlib import Path

from tests.support.bundles import bundle, packed
from tests.support.small_core import KEY

from analytics_core import AnalyticsCore, Settings
from analytics_core._core.adapters.clock import SystemClock


class StoppingClock(SystemClock):
    """Counts how often it is asked, and stops the one who asks for the `last` time."""

    queried = 0
    last = 0

    def now(self) -> datetime:
        """Return the time, or never."""
        self.queried += 1
        if self.queried == self.last:
            print("half", flush=True)
            time.sleep(60)
        return super().now()


def main(store: str, folder: str, share: str) -> None:
    """Try the bundle and count; then load it until killed."""
    clock = StoppingClock()
    settings = Settings(secret_key=KEY, data_roots=(Path(folder),))
    with AnalyticsCore(settings, metadata_url=store, acting_as=1, clock=clock) as core:
        source = packed(bundle())
        core.load_bundle(source, databases={"shop": 1}, dry_run=True)
        before = clock.queried
        core.load_bundle(source, databases={"shop": 1}, dry_run=True)
        clock.last = clock.queried + round((clock.queried - before) * float(share))
        core.load_bundle(source, databases={"shop": 1})


if __name__ == "__main__":
    main(*sys.argv[1:])
