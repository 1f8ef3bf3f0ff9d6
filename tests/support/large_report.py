"""A program that sends a report of a million rows as CSV, and tells how much memory that took."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.support.large_upload import most_mb
from tests.support.reports import form, mail, report_world

from analytics_core.testing import InlineJobRunner

ROWS = 1_000_000
_FILL = (
    f"WITH RECURSIVE n(i) AS (SELECT 4 UNION ALL SELECT i + 1 FROM n WHERE i < {ROWS}) "
    "INSERT INTO orders SELECT i, '2026-01-01', 'region ' || i, i * 1.5 FROM n;"
)


def main(folder: Path) -> None:
    """Print the MB above what there was before the run, the bytes of the file, and its rows."""
    limits = {"max_row_limit": 2 * ROWS}
    with report_world(folder, jobs=InlineJobRunner(), settings=limits) as world:
        world.run_sql(_FILL)
        columns = {"all_columns": ["id", "day", "region", "amount"], "groupby": [], "metrics": []}
        world.admin.charts.update(1, {"params": form(1, query_mode="raw", row_limit=2 * ROWS, **columns)})
        world.report(report_format="CSV", recipients=[mail("bob@example.com")])
        before = most_mb()
        world.pass_time()
        grown = most_mb() - before
        (file,) = world.outbox.sent[-1].message.attachments
        rows = sum(part.count(b"\n") for part in file.chunks()) - 1
        print(grown, file.size_bytes, rows)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
