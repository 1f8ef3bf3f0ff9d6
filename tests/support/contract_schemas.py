"""Compares the JSON schema of a model with the rules of the contract, rule by rule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from tests.support.contract_rules import Rule, Shape

_JSON_TYPES: Mapping[str, str] = {
    **dict.fromkeys(("str", "dt", "json", "uuid", "uri", "cron", "tz"), "string"),
    **dict.fromkeys(("obj", "map", "shape"), "object"),
    **dict.fromkeys(("array", "two", "pair"), "array"),
    "int": "integer",
    "num": "number",
    "bool": "boolean",
}
Outcome = tuple[str, str | None]
"""The name of a check, and what is wrong, None when nothing is."""


def schema_outcomes(shape: Shape, model: type[BaseModel]) -> Iterator[Outcome]:
    """Yield every comparison of a shape with the JSON schema of its model."""
    schema = model.model_json_schema()
    fields: Mapping[str, Any] = schema.get("properties", {})
    yield f"{shape.name}: description", None if schema.get("description") else "has none"
    for name in fields:
        known = name in shape.rules
        yield f"{shape.name}.{name}: in the contract", None if known else "is a field of ours"
    unknown = False if shape.kind in ("strict", "answer") else None if shape.kind == "ignoring" else True
    found = schema.get("additionalProperties")
    yield f"{shape.name}: unknown fields", None if found is unknown else f"schema says {found}"
    for rule in shape.rules.values():
        yield f"{rule}: in the schema", None if rule.name in fields else "is missing"
        if rule.name in fields:
            required = rule.name in schema.get("required", ())
            yield from _field_outcomes(rule, shape, fields[rule.name], required, schema.get("$defs", {}))
            yield from _default_outcome(rule, model)


def _field_outcomes(
    rule: Rule, shape: Shape, field: Mapping[str, Any], required: bool, definitions: Mapping[str, Any]
) -> Iterator[Outcome]:
    kinds = [each for each in _alternatives(field, definitions) if each.get("type") != "null"]
    facts = {name: value for each in (field, *kinds) for name, value in each.items()}
    yield f"{rule}: schema, required", _differ(required, rule.required)
    yield f"{rule}: schema, description", None if field.get("description") else "has none"
    yield f"{rule}: schema, read-only", _differ(bool(field.get("readOnly")), rule.read_only)
    if rule.read_only:
        return
    yield f"{rule}: schema, type", _type_difference(rule, kinds)
    yield f"{rule}: schema, longest", _differ(facts.get("maxLength"), rule.longest)
    yield f"{rule}: schema, shortest", _differ(facts.get("minLength", 0), rule.shortest)
    if rule.type.kind in ("int", "num"):
        yield f"{rule}: schema, least", _differ(facts.get("minimum", facts.get("exclusiveMinimum")), rule.least)
        yield f"{rule}: schema, most", _differ(facts.get("maximum", facts.get("exclusiveMaximum")), rule.most)
    yield f"{rule}: schema, fewest", _differ(facts.get("minItems", 0) if rule.type.kind == "array" else 0, rule.fewest)
    if not shape.is_answer and not rule.nullable_open and rule.type.kind != "any":
        nullable = any(each.get("type") == "null" for each in _alternatives(field, definitions))
        yield f"{rule}: schema, null", _differ(nullable, rule.nullable)


def _default_outcome(rule: Rule, model: type[BaseModel]) -> Iterator[Outcome]:
    if rule.default is not None:
        found = next(field for name, field in model.model_fields.items() if rule.name in _names_of(name, field))
        yield f"{rule}: default", _differ(found.get_default(), rule.default)


def _names_of(name: str, field: FieldInfo) -> set[str | None]:
    return {name, field.alias, field.serialization_alias}


def _differ(found: Any, expected: Any) -> str | None:
    return None if found == expected else f"is {found!r}, not {expected!r}"


def _type_difference(rule: Rule, kinds: list[Mapping[str, Any]]) -> str | None:
    if rule.type.kind == "any":
        return None
    if rule.type.kind == "enum":
        members = [member for each in kinds for member in each.get("enum", [each["const"]] if "const" in each else ())]
        more, less = set(members) - set(rule.type.members), set(rule.type.members) - set(members)
        return f"has {sorted(more)} too and lacks {sorted(less)}" if more or less else None
    parts = rule.type.of if rule.type.kind == "either" else (rule.type,)
    expected = {_JSON_TYPES[part.kind] for part in parts}
    found = {each.get("type", "any") for each in kinds}
    return None if found == expected else f"is {sorted(found)}, not {sorted(expected)}"


def _alternatives(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the schemas of which a value must meet one, references followed."""
    if "$ref" in schema:
        return _alternatives(definitions[schema["$ref"].rsplit("/", 1)[1]], definitions)
    several = schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf")
    if several:
        return [found for each in several for found in _alternatives(each, definitions)]
    return [schema]
