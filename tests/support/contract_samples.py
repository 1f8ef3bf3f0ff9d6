"""Values that a field of the contract takes, and values of other types, which it refuses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.support.contract_rules import Rule, Shape, Type

_PLAIN: Mapping[str, Any] = {
    "str": "x",
    "int": 3,
    "num": 1.5,
    "bool": True,
    "any": "x",
    "obj": {"a": "b"},
    "dt": "2024-01-02T03:04:05Z",
    "pair": ["key", "value"],
    "json": '{"a": 1}',
    "uuid": "7b3f1c9e-2f57-4b7d-9c55-0a4f6a1d2e3f",
    "uri": "sqlite://",
    "cron": "0 9 * * 1-5",
    "tz": "Europe/Berlin",
}
_WRONG: Mapping[str, tuple[Any, ...]] = {
    "str": (1, True, ["x"], {"a": 1}),
    "uri": (1, ["x"]),
    "json": (1, {"a": 1}, "{not json"),
    "uuid": (1, "not a uuid"),
    "cron": (1, "every day", "* * *"),
    "tz": (1, "Mars/Olympus"),
    "dt": (1, 1.5, "yesterday", "1700000000", ["x"]),
    "int": ("3", 1.5, True, [3], {"a": 1}),
    "num": ("1.5", True, [1], {"a": 1}),
    "bool": ("true", 1, 0, [True], {"a": 1}),
    "obj": ("x", 1, ["x"]),
    "pair": ("x", 1, ["x"]),
    "enum": ("frobnicate", 1.5, ["x"]),
    "map": ("x", 1, ["x"]),
    "shape": ("x", 1, ["x"]),
    "array": ("x", 1, {"a": 1}),
    "two": ("x", 1, ["x"]),
}
_SAMPLES: Mapping[str, Any] = {
    "ChartDataFilter.op": "IN",
    "ChartDataFilter.val": ["x"],
    "ChartDataAdhocMetricSchema.expressionType": "SQL",
    "PostProcessing.operation.operation": "pivot",
    "PostProcessing.boxplot.options.percentiles": [10.0, 90.0],
    "PostProcessing.forecast.options.confidence_interval": 0.8,
    "Resource.type": "dashboard",
    "ValidatorConfigJSON.op": ">",
    "DatabaseTablesResponse.type": "table",
    "DatabaseRestApi.post.uuid": _PLAIN["uuid"],  # only a UUID is taken, since the answers show it as one
    "DatabaseRestApi.put.uuid": _PLAIN["uuid"],
    "DatabaseConnectionSchema.uuid": _PLAIN["uuid"],
}
"""Where the plain value of a type breaks a rule that is not of that field alone."""


def sample(rule: Rule, shapes: Mapping[str, Shape]) -> Any:
    """Return a value that the field takes."""
    if rule.read_only:
        return None  # the contract gives no type
    own = "opensesame-71" if rule.secret else _SAMPLES.get(str(rule))
    return sample_of(rule.type, shapes) if own is None else own


def sample_of(kind: Type, shapes: Mapping[str, Shape]) -> Any:
    """Return a value of a type."""
    match kind.kind:
        case "array":
            return [sample_of(kind.of[0], shapes)]
        case "two":
            return [sample_of(part, shapes) for part in kind.of]
        case "map":
            return {"a": sample_of(kind.of[0], shapes)}
        case "either":
            return sample_of(kind.of[0], shapes)
        case "enum":
            return kind.members[-1]
        case "shape":
            return minimal(shapes[kind.shape], shapes)
    return _PLAIN[kind.kind]


def minimal(shape: Shape, shapes: Mapping[str, Shape]) -> dict[str, Any]:
    """Return the smallest payload of a shape: its required fields."""
    return completed({rule.name: sample(rule, shapes) for rule in shape.rules.values() if rule.required}, shape, shapes)


def completed(payload: Mapping[str, Any], shape: Shape, shapes: Mapping[str, Shape]) -> dict[str, Any]:
    """Return the payload with the fields that its other fields call for."""
    called_for = {
        rule.name: sample(rule, shapes)
        for rule in shape.rules.values()
        if rule.required_if and payload.get(rule.required_if[0]) == rule.required_if[1]
    }
    return {**called_for, **payload}


def full(shape: Shape, shapes: Mapping[str, Shape]) -> dict[str, Any]:
    """Return a payload with every field of a shape."""
    return {rule.name: sample(rule, shapes) for rule in shape.rules.values()}


def text(rule: Rule, length: int) -> str:
    """Return a text of this length that breaks no other rule of the field."""
    start = {"uri": "sqlite://", "json": '"', "cron": "0 9 * * 1,"}.get(rule.type.kind, "")
    end = '"' if rule.type.kind == "json" else ""
    return (start + "1" * length)[: length - len(end)] + end if length > len(start) else "x" * length


def wrong_values(kind: Type, shapes: Mapping[str, Shape]) -> tuple[Any, ...]:
    """Return values of other types than this one."""
    match kind.kind:
        case "array":
            return (*_WRONG["array"], *([value] for value in wrong_values(kind.of[0], shapes)))
        case "map":
            return (*_WRONG["map"], *({"a": value} for value in wrong_values(kind.of[0], shapes)))
        case "two":
            return (*_WRONG["two"], [sample_of(kind.of[0], shapes)])
        case "either":
            rejected = [set(map(repr, wrong_values(part, shapes))) for part in kind.of]
            values = {repr(value): value for part in kind.of for value in wrong_values(part, shapes)}
            return tuple(value for key, value in values.items() if all(key in keys for keys in rejected))
    return _WRONG.get(kind.kind, ())
