"""Every bound of the payload shapes, tried one by one."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.shape_rules import LENIENT, STRICT, Rule, minimal, rules_of

from analytics_core.errors import PayloadSchemaError
from analytics_core.models import SHAPES
from analytics_core.models.parsing import parse

RULES = rules_of(STRICT | LENIENT)


def accepts(shape: str, payload: dict[str, Any]) -> None:
    parse(SHAPES[shape], payload, shape=shape)


def refuses(rule: Rule, payload: dict[str, Any]) -> str:
    with pytest.raises(PayloadSchemaError) as caught:
        parse(SHAPES[rule.shape], payload, shape=rule.shape)
    assert all(problem.path.split(".")[0] == rule.name for problem in caught.value.problems), caught.value
    assert caught.value.status == 422
    return str(caught.value)


def with_value(rule: Rule, value: Any) -> dict[str, Any]:
    return {**minimal(rule.shape), rule.name: value}


@pytest.mark.parametrize("shape", STRICT | LENIENT)
def test_the_required_fields_alone_are_accepted(shape: str) -> None:
    accepts(shape, minimal(shape))


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_a_field_takes_a_value_of_its_type(rule: Rule) -> None:
    accepts(rule.shape, with_value(rule, rule.sample()))


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.members()], ids=str)
def test_an_enum_takes_each_of_its_members(rule: Rule) -> None:
    for member in rule.members():
        accepts(rule.shape, with_value(rule, member))


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.wrong_values()], ids=str)
def test_a_field_refuses_values_of_another_type(rule: Rule) -> None:
    for value in rule.wrong_values():
        refuses(rule, with_value(rule, value))


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.required], ids=str)
def test_a_required_field_must_be_there(rule: Rule) -> None:
    payload = {name: value for name, value in minimal(rule.shape).items() if name != rule.name}
    assert "is required" in refuses(rule, payload)


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.nullable or rule.type == "any"], ids=str)
def test_a_nullable_field_takes_null(rule: Rule) -> None:
    accepts(rule.shape, with_value(rule, None))


@pytest.mark.parametrize("rule", [rule for rule in RULES if not rule.nullable and rule.type != "any"], ids=str)
def test_a_field_that_is_not_nullable_refuses_null(rule: Rule) -> None:
    assert "null" in refuses(rule, with_value(rule, None))


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.longest], ids=str)
def test_a_text_may_be_as_long_as_its_bound_and_no_longer(rule: Rule) -> None:
    assert rule.longest is not None
    accepts(rule.shape, with_value(rule, rule.text(rule.longest)))
    assert f"{rule.longest} characters" in refuses(rule, with_value(rule, rule.text(rule.longest + 1)))


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.shortest is not None], ids=str)
def test_an_empty_text_is_refused_where_the_bound_starts_at_one(rule: Rule) -> None:
    if rule.shortest:
        refuses(rule, with_value(rule, ""))
    else:
        accepts(rule.shape, with_value(rule, ""))


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.minimum is not None], ids=str)
def test_a_number_may_be_as_small_as_its_bound_and_no_smaller(rule: Rule) -> None:
    assert rule.minimum is not None
    accepts(rule.shape, with_value(rule, rule.minimum))
    refuses(rule, with_value(rule, rule.minimum - 1))


@pytest.mark.parametrize("shape", STRICT)
def test_a_strict_shape_names_the_nearest_field_for_an_unknown_one(shape: str) -> None:
    known = rules_of({shape: STRICT[shape]})[0].name
    with pytest.raises(PayloadSchemaError) as caught:
        accepts(shape, {**minimal(shape), f"{known}s": 1})
    assert f"did you mean '{known}'?" in str(caught.value)


@pytest.mark.parametrize("shape", LENIENT)
def test_a_chart_query_shape_keeps_keys_beyond_the_contract(shape: str) -> None:
    read = parse(SHAPES[shape], {**minimal(shape), "custom_key": [1]}, shape=shape)
    assert (read.model_extra or {})["custom_key"] == [1]
