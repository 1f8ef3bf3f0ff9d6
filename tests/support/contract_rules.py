"""The contract's rules, field by field, read from our transcription: `contract_shapes.txt` explains its notation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

TEXT = Path(__file__).parent / "contract_shapes.txt"
_HEADER = re.compile(r"(?P<name>\S+) (?P<kind>answer|strict|lenient|lenient-answer|ignoring)(?: = (?P<base>\S+))?$")
_PLAIN = frozenset(["str", "int", "num", "bool", "any", "obj", "dt", "pair", "json", "uuid", "uri", "cron", "tz"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Type:
    """The type of a field: a plain one, or `array`, `two`, `map`, `either` of others, a `shape` or an `enum`."""

    kind: str
    of: tuple[Type, ...] = ()
    shape: str = ""
    members: tuple[Any, ...] = ()
    open: bool = field(default=False, compare=False)

    def __str__(self) -> str:
        inner = self.shape or "|".join(map(str, self.members)) or ",".join(map(str, self.of))
        return f"{self.kind}({inner})" if inner else self.kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """All that the contract says of one field."""

    shape: str
    name: str
    type: Type
    required: bool = False
    nullable: bool = False
    nullable_open: bool = field(default=False, compare=False)
    read_only: bool = False
    secret: bool = False
    shortest: int = 0
    longest: int | None = None
    least: float | None = None
    most: float | None = None
    fewest: int = 0
    default: Any = None
    required_if: tuple[str, Any] | None = None

    def __str__(self) -> str:
        return f"{self.shape}.{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A shape: what becomes of unknown fields, and its fields."""

    name: str
    kind: str
    rules: Mapping[str, Rule]

    @property
    def is_answer(self) -> bool:
        """Whether the library gives it and no caller sends it."""
        return self.kind.endswith("answer")


def transcription() -> dict[str, Shape]:
    """Return the shapes of our transcription by name."""
    enums: dict[str, tuple[Any, ...]] = {}
    shapes: dict[str, Shape] = {}
    for head, body in _blocks(TEXT.read_text(encoding="utf-8")):
        if head.startswith("enum "):
            name, _, members = f"{head} {' '.join(body)}".removeprefix("enum ").partition(":")
            enums[name] = tuple(_member(text.strip()) for text in members.split(" | "))
            continue
        found = _HEADER.match(head)
        assert found, head
        base = shapes[found["base"]].rules if found["base"] else {}
        rules = {name: replace(rule, shape=found["name"]) for name, rule in base.items()}
        rules |= {rule.name: rule for line in body for rule in _rules(found["name"], line, enums)}
        shapes[found["name"]] = Shape(name=found["name"], kind=found["kind"], rules=rules)
    return shapes


def _blocks(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each line that starts at the margin, with the indented lines that follow it."""
    head, body = "", []
    for line in (*text.splitlines(), "end"):
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith(" "):
            body.append(line.strip())
            continue
        if head:
            yield head, body
        head, body = line, []


def _member(text: str) -> Any:
    return int(text) if text.isdigit() else "" if text == "''" else text


def _rules(shape: str, line: str, enums: Mapping[str, tuple[Any, ...]]) -> Iterator[Rule]:
    for entry in line.split("; "):
        *others, last = entry.split(", ")
        name, kind, *facts = last.split()
        for each in (*others, name):
            facts_read = _facts(facts)
            yield Rule(shape=shape, name=each, type=_type(kind, enums), **facts_read)


def _facts(facts: list[str]) -> dict[str, Any]:
    read: dict[str, Any] = {}
    words = {"R": "required", "N": "nullable", "ro": "read_only", "secret": "secret"}
    for fact in facts:
        if fact in words:
            read[words[fact]] = True
        elif fact == "N?":
            read["nullable_open"] = True
        elif fact.startswith("R:"):
            name, _, value = fact[2:].partition("=")
            read["required_if"] = (name, _value(value))
        elif fact.startswith("items>="):
            read["fewest"] = int(fact.removeprefix("items>="))
        elif fact.startswith(">="):
            read["least"] = float(fact[2:])
        elif fact.startswith("="):
            read["default"] = _value(fact[1:])
        else:
            low, _, high = fact.removeprefix("in:").partition("..")
            names = ("least", "most") if fact.startswith("in:") else ("shortest", "longest")
            read |= dict(zip(names, (int(low), int(high)), strict=True))
    return read


def _value(text: str) -> Any:
    return {"true": True, "false": False, "0": 0}.get(text, text)


def _type(text: str, enums: Mapping[str, tuple[Any, ...]]) -> Type:
    if text.endswith("?"):
        return replace(_type(text[:-1], enums), open=True)
    if text in _PLAIN:
        return Type(kind=text)
    if text.startswith("#"):
        return Type(kind="enum", members=enums[text[1:]])
    inner = text[1:-1]
    match text[0]:
        case "[":
            return Type(kind="array", of=tuple(_type(part, enums) for part in [inner]))
        case "{":
            return Type(kind="map", of=(_type(inner, enums),))
        case "(":
            return Type(kind="two", of=tuple(_type(part, enums) for part in inner.split(",")))
    if "/" in text:
        return Type(kind="either", of=tuple(_type(part, enums) for part in text.split("/")))
    assert text.startswith("@"), text
    return Type(kind="shape", shape=text[1:])
