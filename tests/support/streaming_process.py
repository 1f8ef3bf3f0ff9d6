"""Streams a large result and tells how the process grew: `python streaming_process.py ROAD URL WARM-UP-SQL SQL`.

ROAD is `datasets`, where each statement is a virtual dataset, or `sql`.

Prints rows, batches, and by how many bytes the highest memory of the process rose above that of the warm-up.
"""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import analytics_core
from analytics_core._engine.results.batch_stream import BatchStream


def highest_bytes() -> int:
    """Return the most memory that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main(road: str, url: str, *statements: str) -> None:
    """Stream each statement."""
    report = {}
    with analytics_core.connect(url, stream_row_limit=10**9) as core:
        for number, sql in enumerate(statements):
            before, rows, batches = highest_bytes(), 0, 0
            with _stream(core, road, f"many{number}", sql) as stream:
                for batch in stream:
                    rows, batches = rows + batch.num_rows, batches + 1
            report = {"rows": rows, "batches": batches, "grown": highest_bytes() - before}
    print(json.dumps(report))


def _stream(core: analytics_core.AnalyticsCore, road: str, name: str, sql: str) -> BatchStream:
    if road == "sql":
        return core.sql.batches(sql)
    return core.datasets.batches(core.datasets.create({"database": 1, "table_name": name, "sql": sql}).id)


if __name__ == "__main__":
    main(*sys.argv[1:])
