"""Which mutants of a package are tried: a random choice that a seed repeats, or those of a saved list."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path

from tests.mutants.operators import Mutant, mutants_of

SAVED = ("file", "line", "column", "scope", "operator", "before", "after")


def all_mutants(library: Path, package: str, apart: Iterable[str] = ()) -> list[Mutant]:
    """Return every mutant of a package (a folder or a file of the library) in the order of files and lines.

    `apart` are packages that count for themselves where they lie in this one.
    """
    folder = library / package
    files = sorted(folder.rglob("*.py")) if folder.is_dir() else [folder.with_suffix(".py")]
    others = [library / name for name in apart if name.startswith(f"{package}/")]
    files = [file for file in files if not any(file.is_relative_to(other) for other in others)]
    return [mutant for file in files for mutant in mutants_of(file.relative_to(library).as_posix(), file.read_bytes())]


def choose(mutants: Sequence[Mutant], count: int, seed: str, *, library: Path) -> list[Mutant]:
    """Choose mutants at random, spread over files in proportion to the lines that can be mutated."""
    chance = random.Random(seed)
    places: dict[tuple[str, int], list[Mutant]] = {}
    for mutant in mutants:
        places.setdefault((mutant.file, mutant.line), []).append(mutant)
    lines = sorted(places)
    count = min(count, len(lines))
    bounds = [round(number * len(lines) / count) for number in range(count + 1)] if count else []
    shares = [lines[begin:end] for begin, end in pairwise(bounds)]
    return [_chosen(places, share, chance, library) for share in shares]


def _chosen(
    places: dict[tuple[str, int], list[Mutant]], lines: Sequence[tuple[str, int]], chance: random.Random, library: Path
) -> Mutant:
    while True:
        mutant = chance.choice(places[chance.choice(lines)])
        with suppress(SyntaxError):
            compile(mutant.apply((library / mutant.file).read_bytes()), mutant.file, "exec")
            return mutant


def save(path: Path, mutants: Iterable[Mutant], **facts: object) -> None:
    """Write a list that `replay` finds again on another checkout."""
    rows = [{name: asdict(mutant)[name] for name in SAVED} for mutant in mutants]
    path.write_text(json.dumps({**facts, "mutants": rows}, indent=1) + "\n", encoding="utf-8")


def replay(path: Path, mutants: Iterable[Mutant]) -> tuple[list[Mutant], list[str]]:
    """Return a saved list's mutants as they are in this checkout, nearest line first, and those that are gone."""
    named: dict[tuple[str, ...], list[Mutant]] = {}
    for mutant in mutants:
        named.setdefault(mutant.name, []).append(mutant)
    found, gone = [], []
    for row in json.loads(path.read_text(encoding="utf-8"))["mutants"]:
        name = tuple(row[part] for part in ("file", "scope", "operator", "before", "after"))
        place = (row["line"], row["column"])
        near = sorted(named.get(name, ()), key=lambda m: (abs(m.line - place[0]), abs(m.column - place[1])))
        if near:
            found.append(near[0])
        else:
            gone.append(f"{row['file']}:{row['line']} {row['operator']}: {row['before']} -> {row['after']}")
    return found, gone


def equivalents(path: Path) -> dict[tuple[str, ...], str]:
    """Return the reasons of a list of mutants that no test can tell from the original."""
    rows = [line.split(" | ") for line in path.read_text(encoding="utf-8").splitlines() if line and line[0] != "#"]
    return {(place.partition("::")[0], place.partition("::")[2], *names): reason for place, *names, reason in rows}
