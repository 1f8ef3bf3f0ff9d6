"""Files of a million rows, uploaded in bounded memory, and uploads that are killed at any moment."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.faults.servers import KINDS, own_server
from tests.faults.tally import Tally
from tests.support.large_upload import write_csv
from tests.support.uploading import UploadTarget, driver_url, empty_file, upload_target

from analytics_core._engine.files.names import RESERVED_PREFIX

ROWS, MOST_MB, LIMIT_S = 1_000_000, 150, 300.0
KILLS = 6
FIRST = b"id,text,at,price,nothing\n-1,first,2024-01-01 00:00:00,999.99,\n"


def uploads(engine: str, folder: Path) -> Tally:
    """Upload a million rows, then kill uploads: the table holds what it held, or all rows, and nothing else is left."""
    tally = Tally(name=f"uploads {engine}")
    file = folder / "large.csv"
    write_csv(file, ROWS)
    with _database(engine, folder) as url:
        report = tally.attempt(lambda: _uploaded(url, file), limit_s=LIMIT_S) or {"rows": 0, "mb": 0, "s": 0}
        tally.reported.append(f"{tally.name}: {report['rows']} rows in {report['s']:.1f} s and {report['mb']:.0f} MB")
        tally.require(report["rows"] == ROWS, f"wrote {report['rows']} rows")
        tally.require(report["mb"] <= MOST_MB, f"took {report['mb']:.0f} MB")
        chance = random.Random(engine)
        for if_exists in ("replace", "append", "fail") * (KILLS // 3):
            _kill(tally, url, file, if_exists, after_s=chance.uniform(0, report["s"]))
    return tally


@contextmanager
def _database(engine: str, folder: Path) -> Iterator[str]:
    if engine not in KINDS:
        yield empty_file(engine, folder)
        return
    with own_server(engine) as server:
        yield driver_url(server.make_database())  # type: ignore[attr-defined]


def _program(url: str, file: Path, if_exists: str) -> subprocess.Popen[str]:
    program = [sys.executable, "-m", "tests.support.large_upload", url, str(file), if_exists]
    return subprocess.Popen(program, stdout=subprocess.PIPE, text=True)


def _uploaded(url: str, file: Path) -> dict[str, Any]:
    with _program(url, file, "replace") as process:
        output, _ = process.communicate(timeout=LIMIT_S)
    found: dict[str, Any] = json.loads(output.splitlines()[-1])
    return found


def _kill(tally: Tally, url: str, file: Path, if_exists: str, *, after_s: float) -> None:
    before = 0
    with upload_target(url) as target:
        if if_exists == "fail":
            target.own("DROP TABLE uploaded")
        else:
            before = target.upload(FIRST, if_exists="replace").rows
    with _program(url, file, if_exists) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(after_s)
        process.kill()
    total = before + ROWS if if_exists == "append" else ROWS
    with upload_target(url) as target:
        found = _count(target)
        tally.require(found in (before, total), f"{if_exists}: {found} rows after a kill, before it {before}")
        again = tally.attempt(lambda: target.upload(FIRST, if_exists="replace"), limit_s=LIMIT_S)
        tally.require(again is not None and _count(target) == 1, f"{if_exists}: no upload after a kill")
        tally.require(_is_clean(target), f"{if_exists}: tables are left: {target.tables()}")


def _count(target: UploadTarget) -> int:
    if "uploaded" not in target.tables():
        return 0
    ((count,),) = target.own("SELECT COUNT(*) FROM uploaded")
    return int(count)


def _is_clean(target: UploadTarget) -> bool:
    """Tell whether nothing is left but the two tables, once MariaDB has rolled the dead upload's rows back."""
    latest = time.monotonic() + 60
    while _unfinished(target) and time.monotonic() < latest:
        target.upload(FIRST, if_exists="replace")
    return not _unfinished(target) and set(target.tables()) == {"uploaded", "warm"}


def _unfinished(target: UploadTarget) -> list[str]:
    if not target.url.startswith("mysql"):
        return []
    return [name for (name,) in target.own("SHOW TABLES") if name.startswith(RESERVED_PREFIX)]
