"""A program that uploads a file and tells how much memory that took: its arguments are URL, file and `if_exists`."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from tests.support.uploading import upload_target


def most_mb() -> float:
    """Return the most memory this process has held; Linux counts it anew for each program, unlike `ru_maxrss`."""
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def write_csv(file: Path, rows: int) -> None:
    """Write rows of a number, a text, a moment, a decimal and an empty cell."""
    with file.open("w", encoding="ascii") as out:
        out.write("id,text,at,price,nothing\n")
        for number in range(rows):
            at = f"2024-01-{number % 28 + 1:02} {number % 24:02}:{number % 60:02}:00"
            out.write(f"{number},text of row {number},{at},{number % 1000}.{number % 100:02},\n")


def main(url: str, file: str, if_exists: str) -> None:
    with upload_target(url) as target:
        target.upload(b"id,text,at,price\n1,a,2024-01-01 00:00:00,1.5\n", table="warm", if_exists="replace")
        before = most_mb()
        print("begun", flush=True)
        began = time.monotonic()
        rows = target.upload(file, if_exists=if_exists).rows
        print(json.dumps({"rows": rows, "mb": most_mb() - before, "s": time.monotonic() - began}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
