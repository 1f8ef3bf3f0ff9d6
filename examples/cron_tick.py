"""Runs the alerts and reports that are due, once: what cron calls each minute.

    * * * * * cd /srv/reports && python cron_tick.py

Any number of machines may do so at once: each due time is run by one of them.
"""

from __future__ import annotations

import os

from analytics_core import AnalyticsCore, Settings
from analytics_core.notifiers import notifiers_from_env


def main() -> None:
    """Look once for what is due, and say what came of it."""
    settings, url = Settings.from_env(os.environ), os.environ["ANALYTICS_CORE_STORE"]
    with AnalyticsCore(settings, metadata_url=url, notifiers=notifiers_from_env(os.environ)) as core:
        print(core.scheduler.tick())


if __name__ == "__main__":
    main()
