"""Each rule of the contract as something to try: a payload, and whether the shape must take it.

`checks_of` makes the checks of one shape, `failure` tries one against a model and says what is wrong, if anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel
from tests.support.contract_rules import Rule, Shape, Type
from tests.support.contract_samples import completed, full, minimal, sample, text, wrong_values

from analytics_core.errors import PayloadSchemaError
from analytics_core.models.parsing import parse


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A payload to try on a shape, and what must come of it: nothing ("taken") or a problem ("refused")."""

    shape: str
    kind: str
    payload: Mapping[str, Any]
    field: str = ""
    rejected: bool = False

    def __str__(self) -> str:
        where = f"{self.shape}.{self.field}" if self.field else self.shape
        which = f" {self.payload.get(self.field)!r}" if self.kind in ("wrong type", "enum member", "fewest") else ""
        return f"{where}: {self.kind}{which}"


def checks_of(shape: Shape, shapes: Mapping[str, Shape]) -> Iterator[Check]:
    """Yield every check of a shape."""
    least, most = minimal(shape, shapes), full(shape, shapes)
    yield Check(shape=shape.name, kind="required alone", payload=least)
    yield Check(shape=shape.name, kind="round trip", payload=most)
    yield Check(shape=shape.name, kind="unknown field", payload={**least, "frobnicate": 1})
    for rule in shape.rules.values():
        yield from _presence(rule, least)
        for kind, value, rejected in _values(rule, shape, shapes):
            payload = completed({**least, rule.name: value}, shape, shapes)
            yield Check(shape=shape.name, kind=kind, payload=payload, field=rule.name, rejected=rejected)


def _presence(rule: Rule, least: Mapping[str, Any]) -> Iterator[Check]:
    without = {name: value for name, value in least.items() if name != rule.name}
    if rule.required:
        yield Check(shape=rule.shape, kind="missing", payload=without, field=rule.name, rejected=True)
    if rule.required_if:
        name, value = rule.required_if
        payload = {**without, name: value}
        yield Check(shape=rule.shape, kind="required if", payload=payload, field=rule.name, rejected=True)


def _values(rule: Rule, shape: Shape, shapes: Mapping[str, Shape]) -> Iterator[tuple[str, Any, bool]]:
    """Yield values to try in a field: the kind of check, the value, and whether it must be refused."""
    yield "round trip", sample(rule, shapes), False
    if rule.nullable or rule.read_only or rule.type.kind == "any":
        yield "null", None, False
    elif not (shape.is_answer or rule.nullable_open):
        yield "null", None, True
    if rule.type.kind == "enum":
        yield from (("enum member", member, False) for member in rule.type.members)
    if not rule.read_only:
        read_as_text = shape.is_answer and rule.type.kind in ("cron", "tz")  # checked once, when they came in
        wrong = wrong_values(Type(kind="str") if read_as_text else rule.type, shapes)
        yield from (("wrong type", value, True) for value in wrong)
    yield from _lengths(rule)
    yield from _numbers(rule)
    if rule.type.kind == "array":
        yield "fewest", [], bool(rule.fewest)
        yield "fewest", sample(rule, shapes) * max(rule.fewest, 1), False


def _lengths(rule: Rule) -> Iterator[tuple[str, Any, bool]]:
    if rule.longest is None:
        return
    if rule.type.kind != "tz":
        yield "longest", text(rule, rule.longest), False
    yield "longest", text(rule, rule.longest + 1), True
    if rule.shortest:
        yield "shortest", "", True
    elif rule.type.kind == "str":
        yield "shortest", "", False


def _numbers(rule: Rule) -> Iterator[tuple[str, Any, bool]]:
    is_integer = rule.type.kind == "int"
    if rule.least is not None:
        yield "least", int(rule.least) if is_integer else rule.least, False
        yield "least", int(rule.least) - 1 if is_integer else rule.least - 0.5, True
    if rule.most is not None:
        yield "most", int(rule.most) if is_integer else rule.most, False
        yield "most", int(rule.most) + 1 if is_integer else rule.most + 0.5, True


def failure(check: Check, shape: Shape, model: type[BaseModel]) -> str | None:
    """Try a check; return what is wrong, None when nothing is."""
    try:
        read = parse(model, check.payload, shape=check.shape)
    except PayloadSchemaError as error:
        return _judge_refusal(check, shape, error)
    if check.rejected:
        return "is taken"
    if check.kind == "unknown field":
        return _judge_unknown(check, shape, read)
    return _judge_round_trip(check, shape, read) if check.kind == "round trip" else None


def _judge_refusal(check: Check, shape: Shape, error: PayloadSchemaError) -> str | None:
    if check.kind == "unknown field" and shape.kind in ("strict", "answer"):
        return None if "frobnicate" in str(error) else f"the error does not name the field: {error}"
    if not check.rejected:
        return f"is refused: {error}"
    paths = {problem.path.split(".")[0] for problem in error.problems}
    if check.kind != "required if" and paths != {check.field}:
        return f"the error speaks of {sorted(paths)}"
    return None


def _judge_unknown(check: Check, shape: Shape, read: BaseModel) -> str | None:
    if shape.kind in ("strict", "answer"):
        return "is taken"
    is_present = "frobnicate" in (read.model_extra or {})
    return None if is_present is (shape.kind != "ignoring") else "is kept" if is_present else "is lost"


def outcomes(shape: Shape, model: type[BaseModel], shapes: Mapping[str, Shape]) -> Iterator[tuple[str, str | None]]:
    """Try every check of a shape; yield the name of each, and what is wrong, None when nothing is."""
    for check in checks_of(shape, shapes):
        yield str(check), failure(check, shape, model)


def _judge_round_trip(check: Check, shape: Shape, read: BaseModel) -> str | None:
    """Check that what was read is written as it came, but for secrets, and is read again as the same."""
    written = read.model_dump(mode="json", by_alias=True, exclude_unset=True)
    for name, value in check.payload.items():
        if name in written and shape.rules[name].secret:
            if value in str(read) or value in repr(read) or written[name] == value:
                return f"shows the secret {name}"
        elif written.get(name, "nothing") != value and shape.rules[name].type.kind != "uri":
            return f"writes {name} as {written.get(name, 'nothing')!r}, not as {value!r}"
    if any(rule.secret or rule.type.kind == "uri" for rule in shape.rules.values()):
        return None
    return None if parse(type(read), written, shape=check.shape) == read else "reads it back as another"
