"""Compares the shapes of the library, and our transcription of the contract, with the contract's `shapes.json`.

    python tests/acceptance/check_shapes.py ../shared/spec/shapes.json

Three questions, all must be answered with yes: does the transcription say what the contract says, do the models do it,
and do their JSON schemas tell it? Differences that are meant stand in `tests/support/beyond_the_contract.txt`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1]))  # for tests.support, also when started as a script

from tests.acceptance.contract_file import ContractFile, read_contract  # noqa: E402 - needs the path above
from tests.support.beyond_the_contract import Excuses  # noqa: E402 - needs the path above
from tests.support.contract_checks import Check, failure, outcomes  # noqa: E402 - needs the path above
from tests.support.contract_rules import Rule, Shape, Type, transcription  # noqa: E402 - needs the path above
from tests.support.contract_samples import completed, minimal  # noqa: E402 - needs the path above
from tests.support.contract_schemas import Outcome, schema_outcomes  # noqa: E402 - needs the path above

from analytics_core.models import SHAPES  # noqa: E402 - needs the path above

FACTS = [fact.name for fact in fields(Rule) if fact.name not in ("shape", "name", "type")]


def main() -> int:
    """Compare, print; return the exit code."""
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    ours = transcription()
    contract = read_contract(Path(sys.argv[1]), ours)
    excuses = Excuses()
    shapes, rules = len(contract.shapes), sum(len(shape.rules) for shape in contract.shapes.values())
    print(
        f"the contract: {shapes} shapes with {rules} fields, {len(contract.not_displayed)} shapes named and not shown"
    )
    differences = [
        *_report("the transcription says what the contract says", _compare(ours, contract), excuses),
        *_report("the models do what the contract says", _behaviour(ours, contract), excuses),
        *_report("the JSON schemas tell what the contract says", _schemas(ours, contract), excuses),
    ]
    stale = [f"excuses nothing: {line}" for line in excuses.unused()]
    for line in (*differences, *stale):
        print(f"differ  {line}")
    print(f"differences from the contract: {len(differences) + len(stale)}")
    return 1 if differences or stale else 0


def _report(question: str, found: Iterator[Outcome], excuses: Excuses) -> list[str]:
    tried = list(found)
    wrong = [(check, what) for check, what in tried if what]
    remaining = excuses.remaining(wrong)
    print(f"{question}: {len(tried)} rules checked, {len(remaining)} differ, {len(wrong) - len(remaining)} excused")
    return remaining


# ------------------------------------------------------------------------------------------- the transcription itself
def _compare(ours: Mapping[str, Shape], contract: ContractFile) -> Iterator[Outcome]:
    yield "the names of shapes", _other_names(set(ours), {*contract.shapes, *contract.not_displayed})
    yield "the names of models", _other_names(set(SHAPES), {*contract.shapes, *contract.not_displayed})
    for name, shape in contract.shapes.items():
        if name not in ours:
            continue
        yield f"{name}: the names of fields", _other_names(set(ours[name].rules), set(shape.rules))
        yield f"{name}: what it is", _differ(ours[name].kind, shape.kind)
        for field, rule in shape.rules.items():
            if field in ours[name].rules:
                yield from _compare_rules(ours[name].rules[field], rule, contract)


def _compare_rules(mine: Rule, theirs: Rule, contract: ContractFile) -> Iterator[Outcome]:
    same = _same_type(mine.type, theirs.type, contract)
    yield f"{mine}: transcribed, type", None if same else f"is {mine.type}, not {theirs.type}"
    for fact in FACTS:
        if fact == "nullable" and theirs.nullable_open:
            continue
        if fact == "secret" and mine.secret:  # of credentials, the text says more than the file
            continue
        yield f"{mine}: transcribed, {fact}", _differ(getattr(mine, fact), getattr(theirs, fact))


def _same_type(mine: Type, theirs: Type, contract: ContractFile) -> bool:
    if mine == theirs or (theirs.open and theirs.kind == "any"):
        return True
    if mine.kind == "shape" and mine.shape in contract.not_displayed:
        return theirs.kind == "obj"
    if mine.kind != theirs.kind or len(mine.of) != len(theirs.of):
        return False
    if mine.kind == "enum":
        return set(mine.members) == set(theirs.members)
    inner = all(_same_type(one, other, contract) for one, other in zip(mine.of, theirs.of, strict=True))
    return inner and mine.shape == theirs.shape


def _other_names(found: set[str], expected: set[str]) -> str | None:
    return f"{sorted(found - expected)} too, {sorted(expected - found)} missing" if found != expected else None


def _differ(found: object, expected: object) -> str | None:
    return None if found == expected else f"is {found!r}, not {expected!r}"


# ------------------------------------------------------------------------------------------------------- the library
def _behaviour(ours: Mapping[str, Shape], contract: ContractFile) -> Iterator[Outcome]:
    shapes = {**ours, **{name: _filled(shape, ours, contract) for name, shape in contract.shapes.items()}}
    for name in contract.shapes:
        if name in SHAPES:
            yield from outcomes(shapes[name], SHAPES[name], shapes)
    for name in sorted(contract.not_displayed & set(ours)):
        yield from outcomes(ours[name], SHAPES[name], shapes)
    for (name, field), value in contract.samples.items():
        payload = completed({**minimal(shapes[name], shapes), field: value}, shapes[name], shapes)
        check = Check(shape=name, kind="sample", payload=payload, field=field)
        yield str(check), failure(check, shapes[name], SHAPES[name])


def _filled(shape: Shape, ours: Mapping[str, Shape], contract: ContractFile) -> Shape:
    """Return the shape with our reading of what the contract names and does not show, and of what is secret."""
    mine = ours[shape.name].rules if shape.name in ours else {}
    rules = {
        name: replace(
            rule,
            type=mine[name].type if name in mine and _holds(mine[name].type, contract.not_displayed) else rule.type,
            secret=rule.secret or (name in mine and mine[name].secret),
        )
        for name, rule in shape.rules.items()
    }
    return replace(shape, rules=rules)


def _holds(kind: Type, names: frozenset[str]) -> bool:
    return kind.shape in names or any(_holds(part, names) for part in kind.of)


def _schemas(ours: Mapping[str, Shape], contract: ContractFile) -> Iterator[Outcome]:
    for name, shape in contract.shapes.items():
        if name in SHAPES:
            yield from schema_outcomes(shape, SHAPES[name])
    for name in sorted(contract.not_displayed & set(ours)):
        yield from schema_outcomes(ours[name], SHAPES[name])


if __name__ == "__main__":
    sys.exit(main())
