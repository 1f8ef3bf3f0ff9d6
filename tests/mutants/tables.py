"""What is printed and written of the verdicts on a package's mutants."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from tests.mutants.mutant_lists import SAVED
from tests.mutants.packages import floor_of
from tests.mutants.trials import Verdict

HEADINGS = ("package", "made", "caught", "%", "floor", "by servers", "CPU s")


def share_of(verdicts: Sequence[Verdict]) -> float:
    """Return how many per cent of the mutants are caught; equivalent ones do not count."""
    made, caught = _counts(verdicts)
    return 100 * caught / made if made else 100.0


def print_verdicts(package: str, verdicts: Sequence[Verdict], by_servers: Sequence[Verdict], *, cpu_s: float) -> None:
    """Print the survivors, then a table of one row."""
    print()
    further = {verdict.mutant for verdict in by_servers if verdict.is_caught}
    for verdict in verdicts:
        if verdict.is_missed:
            mutant = verdict.mutant
            servers = ", caught with servers" if mutant in further else ""
            print(f"{mutant.file}:{mutant.line} {mutant.scope}: {mutant.operator} ({verdict.outcome}{servers})")
            print(f"    {mutant.before} -> {mutant.after}")
    row = (package, *_counts(verdicts), f"{share_of(verdicts):.1f}", floor_of(package), len(further), f"{cpu_s:.0f}")
    for cells in (HEADINGS, row):
        print("".join(f"{cell!s:<15}" if number == 0 else f"{cell!s:>11}" for number, cell in enumerate(cells)))
    sys.stdout.flush()


def save_verdicts(
    path: Path, package: str, verdicts: Sequence[Verdict], by_servers: Sequence[Verdict], *, cpu_s: float
) -> None:
    """Write the figures and what became of each mutant."""
    made, caught = _counts(verdicts)
    further = {verdict.mutant: verdict.test for verdict in by_servers if verdict.is_caught}
    rows = [
        {name: asdict(verdict.mutant)[name] for name in SAVED}
        | {"outcome": verdict.outcome, "test": verdict.test, "cpu_s": verdict.cpu_s}
        | {"server_test": further.get(verdict.mutant)}
        for verdict in verdicts
    ]
    facts = {"package": package, "made": made, "caught": caught, "by_servers": len(further), "cpu_s": round(cpu_s)}
    facts["share"] = round(share_of(verdicts), 1)
    path.write_text(json.dumps({**facts, "mutants": rows}, indent=1) + "\n", encoding="utf-8")


def _counts(verdicts: Sequence[Verdict]) -> tuple[int, int]:
    made = sum(verdict.outcome != "equivalent" for verdict in verdicts)
    return made, sum(verdict.is_caught for verdict in verdicts)
