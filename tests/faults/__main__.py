"""Tries the library under faults: `python -m tests.faults [PART OF A NAME]`; prints a table, fails unless all is clean.

Ends only servers and children that it started itself.
"""

from __future__ import annotations

import logging
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.faults import oauth, processes, reports, servers, shared_memory, tunnels, uploads
from tests.faults.many_machines.scenario import many_machines
from tests.faults.tally import Tally, print_table

Scenario = Callable[[Path], Tally]


def on(kind: str) -> dict[str, Scenario]:
    """Return the scenarios of one kind of server."""
    return {
        f"hung {kind}": lambda _folder: servers.hung_databases(kind),
        f"killed {kind}": lambda _folder: servers.stopped_and_killed_databases(kind),
        f"store {kind}": lambda folder: servers.stores(kind, folder),
    }


SCENARIOS: dict[str, Scenario] = {
    "cache": processes.caches,
    "fork": processes.forks,
    "interrupt": processes.interrupts,
    "disk": processes.full_disk,
    "clock": processes.clock_put_back,
    "jobs": servers.jobs,
    "machines": many_machines,
    "redis": shared_memory.shared_memory,
    "tunnel": tunnels.cut_tunnels,
    "oauth": oauth.renewed_tokens,
    **{f"reports {kind}": partial(reports.reports, kind) for kind in ("postgresql", "sqlite")},
    "reports looks": reports.looks,
    "reports rows": reports.rows,
    **{f"uploads {engine}": partial(uploads.uploads, engine) for engine in ("sqlite", "duckdb", "postgresql", "mysql")},
    **on("postgresql"),
    **on("mysql"),
}


def main(chosen: str = "") -> int:
    """Run the scenarios whose names hold `chosen`; 0 when all are clean."""
    logging.disable(logging.CRITICAL)
    tallies = []
    for name, scenario in SCENARIOS.items():
        if chosen in name:
            tallies.append(_tally(name, scenario))
            print_table(tallies[-1:])
    print_table(tallies)
    return 0 if tallies and all(tally.is_clean for tally in tallies) else 1


def _tally(name: str, scenario: Scenario) -> Tally:
    """Return the tally of a scenario; one that does not come to its end counts as lost, and the others go on."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            return scenario(Path(folder))
        except Exception as error:  # told and counted as lost
            failed = Tally(name=name)
            failed.require(False, f"the scenario ended by {type(error).__name__}: {error}")
            return failed


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
