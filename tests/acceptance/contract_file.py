"""Reads the contract's `shapes.json` into the rules that the tests know (`tests/support/contract_rules.py`)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.contract_rules import Rule, Shape, Type

_FORMATS = {"json_text": "json", "uuid": "uuid", "uri": "uri", "cron": "cron", "iana_timezone": "tz"}
_TYPES = {"string": "str", "integer": "int", "number": "num", "boolean": "bool", "datetime": "dt", "any": "any"}
_ANSWERS = ("get", "get_list", "response")


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractFile:
    """The shapes of the contract, the names it does not show, and sample values by field."""

    shapes: Mapping[str, Shape]
    not_displayed: frozenset[str]
    samples: Mapping[tuple[str, str], Any]


def read_contract(path: Path, ours: Mapping[str, Shape]) -> ContractFile:
    """Return the contract; what it does not say, what becomes of unknown fields, is taken from `ours`."""
    content = json.loads(path.read_text(encoding="utf-8"))
    shapes, samples = {}, {}
    for name, given in content["shapes"].items():
        rules = {field: _rule(name, field, facts) for field, facts in given["fields"].items()}
        answers = given["kind"] in _ANSWERS
        kind = ours[name].kind if name in ours else "answer"
        if given["kind"] != "object" and answers is not kind.endswith("answer"):
            kind = "answer" if answers else "strict"
        shapes[name] = Shape(name=name, kind=kind, rules=rules)
        samples |= {(name, field): facts["sample"] for field, facts in given["fields"].items() if "sample" in facts}
    return ContractFile(shapes=shapes, not_displayed=frozenset(content["not_shown"]), samples=samples)


def _rule(shape: str, name: str, facts: Mapping[str, Any]) -> Rule:
    condition = next(iter(facts.get("required_if", {}).items()), None)
    return Rule(
        shape=shape,
        name=name,
        type=_type(facts),
        required=facts["required"],
        nullable=facts["nullable"] and not facts["read_only"],
        nullable_open=facts.get("nullable_unstated", False),
        read_only=facts["read_only"],
        secret=facts.get("secret", False),
        shortest=facts.get("min_length", 0),
        longest=facts.get("max_length"),
        least=facts.get("minimum"),
        most=facts.get("maximum"),
        fewest=facts.get("min_items", 0),
        default=facts.get("default"),
        required_if=condition,
    )


def _type(facts: Mapping[str, Any]) -> Type:
    is_open = facts.get("type_unstated", False) or facts.get("array_unstated", False)
    kind = facts["type"]
    if facts.get("pair"):
        return Type(kind="pair", open=True)
    if "one_of" in facts:
        return Type(kind="either", of=tuple(_type(each) for each in facts["one_of"] if each["type"] != "null"))
    if "tuple" in facts:
        return Type(kind="two", of=tuple(_type({"type": each}) for each in facts["tuple"]))
    if kind == "enum":
        return Type(kind="enum", members=tuple(facts["enum"]), open=is_open)
    if kind == "array":
        return Type(kind="array", of=(_type(facts.get("items") or {"type": "any"}),), open=is_open)
    if kind == "object":
        return _object_type(facts, is_open=is_open)
    return Type(kind=_FORMATS.get(facts.get("format", ""), _TYPES[kind]), open=is_open)


def _object_type(facts: Mapping[str, Any], *, is_open: bool) -> Type:
    if "ref" in facts:
        return Type(kind="shape", shape=facts["ref"], open=is_open)
    values = facts.get("values", {"type": "any"})
    if values["type"] == "any":
        return Type(kind="obj", open=is_open)
    return Type(kind="map", of=(_type(values),), open=is_open)
