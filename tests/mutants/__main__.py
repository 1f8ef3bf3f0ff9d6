"""Tries small faults of a package, at random, on the package's tests, and prints how many of them are caught.

    python -m tests.mutants [_engine/compile ...] [--mutants 40] [--seed 1] [--save FILE] [--replay FILE]

Exits with 1 when a package is below its floor. Neither mutmut nor cosmic-ray fits: mutmut 3 leaves out what is outside
of functions (tables of engines, options), writes all mutants of 106,000 lines into one copy and has no seeded choice
to repeat on another checkout; cosmic-ray starts one test command, the same for every mutant, in a new process.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.mutants.children import HEAVY, Library, cpu_seconds, import_heavy
from tests.mutants.mutant_lists import all_mutants, choose, replay, save
from tests.mutants.operators import Mutant
from tests.mutants.packages import TESTS, floor_of, modules_of
from tests.mutants.reach import ReachMap
from tests.mutants.tables import print_verdicts, save_verdicts, share_of
from tests.mutants.trials import Trials, Verdict
from tests.support.servers import private_servers

PROJECT = Path(__file__).resolve().parents[2]
QUICK, SERVERS = "not server and not long", "server and not long"
"""Which tests carry the measure, and which are tried on the survivors where `--servers` asks for it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Try each package's mutants and return the exit code."""
    options = _parser().parse_args(arguments)
    import_heavy(options.library, names=() if options.light else HEAVY)
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder, private_servers() as servers:
        library = Library(options.project, options.library, Path(folder), server_folder=servers.folder)
        below = [package for package in options.packages if not _measure(package, library, options)]
    return 1 if below else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("packages", nargs="*", default=sorted(TESTS), help="such as _engine/gate; without one all")
    parser.add_argument("--mutants", type=int, default=40, help="how many of each package")
    parser.add_argument("--seed", default="1", help="what the choice is made from")
    parser.add_argument("--budget", type=float, default=10.0, help="CPU seconds of tests for each mutant")
    parser.add_argument("--save", type=Path, help="write the list of mutants into a file")
    parser.add_argument("--replay", type=Path, help="try the mutants of such a file")
    parser.add_argument("--results", type=Path, help="write what became of each mutant into a file")
    parser.add_argument("--cache", type=Path, default=PROJECT / ".mutants", help="where records of tests are")
    parser.add_argument("--servers", action="store_true", help="try the survivors on the tests with servers, too")
    parser.add_argument("--light", action="store_true", help="import nothing for all children together")
    parser.add_argument("--project", type=Path, default=PROJECT, help=argparse.SUPPRESS)
    parser.add_argument("--library", default="analytics_core", help=argparse.SUPPRESS)
    return parser


def _measure(package: str, library: Library, options: argparse.Namespace) -> bool:
    """Try the mutants of a package, print what was found, and return whether its floor is reached."""
    mutants = _chosen(package, options)
    modules = modules_of(package, options.project)
    records = ReachMap(library, options.cache, markers=QUICK).records(modules)
    began = cpu_seconds()
    verdicts = Trials(library, records, budget_s=options.budget).verdicts(mutants)
    cpu_s = cpu_seconds() - began
    by_servers: list[Verdict] = []
    if options.servers:
        records = ReachMap(library, options.cache, markers=SERVERS).records(modules)
        survivors = [verdict.mutant for verdict in verdicts if verdict.is_missed]
        by_servers = Trials(library, records, budget_s=options.budget).verdicts(survivors)
    print_verdicts(package, verdicts, by_servers, cpu_s=cpu_s)
    if options.results:
        save_verdicts(options.results, package, verdicts, by_servers, cpu_s=cpu_s)
    return share_of(verdicts) >= floor_of(package)


def _chosen(package: str, options: argparse.Namespace) -> list[Mutant]:
    library = options.project / "src" / options.library
    mutants = all_mutants(library, package, TESTS)
    if options.replay:
        chosen, gone = replay(options.replay, mutants)
        print(*(f"gone: {mutant}" for mutant in gone), sep="\n", end="\n" if gone else "")
    else:
        chosen = choose(mutants, options.mutants, f"{options.seed} {package}", library=library)
    if options.save:
        save(options.save, chosen, package=package, seed=options.seed)
    return chosen


if __name__ == "__main__":
    sys.exit(main())
