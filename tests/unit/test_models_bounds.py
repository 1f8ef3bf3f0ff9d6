"""What the error says when a payload breaks a rule of the contract, for every payload and every rule."""

from __future__ import annotations

import pytest
from tests.support.cases import for_each
from tests.support.contract_checks import Check, checks_of
from tests.support.contract_rules import Rule, transcription
from tests.support.contract_samples import minimal

from analytics_core.errors import PayloadSchemaError
from analytics_core.models import SHAPES
from analytics_core.models.parsing import parse

CONTRACT = transcription()
PAYLOADS = {name: shape for name, shape in CONTRACT.items() if not shape.is_answer}
STRICT = [name for name, shape in PAYLOADS.items() if shape.kind == "strict"]


def refusals(kind: str) -> list[tuple[Rule, str]]:
    """The rules that a kind of check breaks on purpose, and what the error says; what is taken beyond the contract is
    left out.
    """
    checks = (check for shape in PAYLOADS.values() for check in checks_of(shape, CONTRACT) if check.rejected)
    tried = ((CONTRACT[check.shape].rules[check.field], _rejection(check)) for check in checks if check.kind == kind)
    return [(rule, message) for rule, message in tried if message]


def _rejection(check: Check) -> str | None:
    try:
        parse(SHAPES[check.shape], check.payload, shape=check.shape)
    except PayloadSchemaError as error:
        return str(error) if error.status == 422 else f"status {error.status}"
    return None


def test_a_missing_field_is_required() -> None:
    found = refusals("missing")
    assert len(found) > 70
    assert [str(rule) for rule, message in found if f"{rule.name}: is required" not in message] == []


def test_a_field_that_refuses_null_says_so() -> None:
    found = refusals("null")
    assert len(found) > 200
    assert [str(rule) for rule, message in found if "null" not in message] == []


def test_a_text_that_is_too_long_hears_how_long_it_may_be() -> None:
    found = refusals("longest")
    assert len(found) > 50
    assert [str(rule) for rule, message in found if f"{rule.longest} characters" not in message] == []


def test_an_empty_text_or_array_hears_that_it_must_not_be_empty() -> None:
    found = [*refusals("shortest"), *refusals("fewest")]
    assert len(found) > 20
    assert [str(rule) for rule, message in found if "must not be empty" not in message and rule.fewest] == []
    assert [str(rule) for rule, message in found if "must not be empty" not in message and rule.shortest] == []


def test_a_number_that_is_too_small_hears_the_least_one() -> None:
    found = [(rule, message) for rule, message in refusals("least") if rule.type.kind == "int"]
    assert {rule.name for rule, _ in found} == {"row_limit", "row_offset", "grace_period", "log_retention"}
    assert [str(rule) for rule, message in found if f"must be {rule.least:g} or more" not in message] == []


def test_a_value_of_an_enum_hears_the_others() -> None:
    door = "PostProcessing.operation.operation"  # an unknown operation is refused later, where it is looked up
    found = [(rule, message) for rule, message in refusals("wrong type") if rule.type.kind == "enum"]
    found = [(rule, message) for rule, message in found if str(rule) != door]
    assert len(found) > 60
    assert [str(rule) for rule, message in found if str(rule.type.members[0]) not in message] == []


@for_each("name", STRICT)
def test_a_strict_shape_names_the_nearest_field_for_an_unknown_one(name: str) -> None:
    known = next(iter(CONTRACT[name].rules))
    with pytest.raises(PayloadSchemaError) as caught:
        parse(SHAPES[name], {**minimal(CONTRACT[name], CONTRACT), f"{known}s": 1}, shape=name)
    assert f"did you mean '{known}'?" in str(caught.value)


@for_each("name", [name for name, shape in PAYLOADS.items() if shape.kind == "lenient"])
def test_a_chart_query_shape_keeps_keys_beyond_the_contract(name: str) -> None:
    read = parse(SHAPES[name], {**minimal(CONTRACT[name], CONTRACT), "custom_key": [1]}, shape=name)
    assert (read.model_extra or {})["custom_key"] == [1]
