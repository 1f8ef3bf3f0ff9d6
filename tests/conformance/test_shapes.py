"""The shapes keep every rule of the contract: `tests/support/contract_shapes.txt` is our transcription of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from jsonschema import Draft202012Validator
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from tests.support.beyond_the_contract import Excuses
from tests.support.cases import for_each
from tests.support.contract_checks import Check, checks_of, failure, outcomes
from tests.support.contract_rules import Shape, transcription
from tests.support.contract_samples import full, minimal
from tests.support.contract_schemas import schema_outcomes

from analytics_core import models
from analytics_core.models import SHAPES
from analytics_core.models.base import Answer, DescribedShape
from analytics_core.models.meanings import MEANINGS

CONTRACT = transcription()
every_shape = for_each("shape", CONTRACT.values(), ids=lambda shape: shape.name)
MODELS = [
    model
    for model in (getattr(models, name) for name in models.__all__)
    if isinstance(model, type) and issubclass(model, BaseModel)
]


def test_every_shape_of_the_contract_has_a_model_and_no_other_name_is_offered() -> None:
    assert set(SHAPES) == set(CONTRACT)


@every_shape
def test_a_shape_takes_what_the_contract_takes_and_refuses_what_it_refuses(shape: Shape) -> None:
    found = [(check, wrong) for check, wrong in outcomes(shape, SHAPES[shape.name], CONTRACT) if wrong]
    assert Excuses().remaining(found) == []


@every_shape
def test_the_json_schema_of_a_shape_tells_the_rules_of_the_contract(shape: Shape) -> None:
    found = [(check, wrong) for check, wrong in schema_outcomes(shape, SHAPES[shape.name]) if wrong]
    assert Excuses().remaining(found) == []


@for_each("resource", sorted({name.rpartition(".")[0] for name in CONTRACT if name.endswith(".post")}))
def test_payloads_refuse_what_answers_compute(resource: str) -> None:
    answers = (CONTRACT[name] for name in (f"{resource}.get", f"{resource}.get_list") if name in CONTRACT)
    computed = {rule.name for answer in answers for rule in answer.rules.values() if rule.read_only}
    for payload in (CONTRACT[f"{resource}.post"], CONTRACT[f"{resource}.put"]):
        for name in computed - set(payload.rules):
            sent = {**minimal(payload, CONTRACT), name: None}
            check = Check(shape=payload.name, kind="read-only", payload=sent, field=name, rejected=True)
            assert failure(check, payload, SHAPES[payload.name]) is None


def test_each_place_where_the_shapes_part_from_the_contract_still_does() -> None:
    excuses = Excuses()
    for shape in CONTRACT.values():
        model = SHAPES[shape.name]
        both = (*outcomes(shape, model, CONTRACT), *schema_outcomes(shape, model))
        excuses.remaining([(check, wrong) for check, wrong in both if wrong])
    assert excuses.unused() == []


def test_the_checks_try_every_kind_of_rule() -> None:
    tried = Counter((check.kind, check.rejected) for shape in CONTRACT.values() for check in checks_of(shape, CONTRACT))
    rejected = {"missing", "null", "wrong type", "longest", "shortest", "least", "most", "fewest", "required if"}
    taken = {"required alone", "round trip", "null", "enum member", "longest", "shortest", "least", "fewest"}
    assert {kind for kind, is_refused in tried if is_refused} == rejected
    assert {kind for kind, is_refused in tried if not is_refused} == taken | {"unknown field", "most"}


# ------------------------------------------------------------------------------------------------------ JSON schemas
def test_every_model_and_each_of_its_fields_is_described_in_a_valid_json_schema() -> None:
    both = [(model, mode) for model in MODELS for mode in ("validation", "serialization")]
    places, schema = models_json_schema(both)
    Draft202012Validator.check_schema(schema)
    assert len(places) == len(both)
    for name, part in schema["$defs"].items():
        assert part.get("description"), name
        assert [field for field, rule in part.get("properties", {}).items() if not rule.get("description")] == []


def test_every_meaning_is_that_of_a_field() -> None:
    fields = [(shape.__name__, name) for shape in derived(DescribedShape) for name in shape.model_fields]
    assert MEANINGS.keys() - {name for _, name in fields} - {".".join(field) for field in fields} == set()


def derived(shape: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for kind in shape.__subclasses__():
        yield kind
        yield from derived(kind)


@every_shape
def test_the_json_schema_takes_the_payloads_that_the_shape_takes(shape: Shape) -> None:
    validator = Draft202012Validator(SHAPES[shape.name].model_json_schema())
    for payload in (minimal(shape, CONTRACT), full(shape, CONTRACT)):
        assert [error.message for error in validator.iter_errors(payload)] == []


@every_shape
def test_the_json_schema_refuses_missing_nulls_long_texts_and_unknown_values(shape: Shape) -> None:
    model = SHAPES[shape.name]
    validator = Draft202012Validator(model.model_json_schema())
    kinds = {"missing", "null", "longest", "shortest", "least", "most", "fewest"}
    rejected = [check for check in checks_of(shape, CONTRACT) if check.rejected and check.kind in kinds]
    really = [check for check in rejected if failure(check, shape, model) is None]
    assert [str(check) for check in really if validator.is_valid(check.payload)] == []


@for_each("shape", [shape for shape in CONTRACT.values() if shape.is_answer], ids=lambda each: each.name)
def test_an_answer_is_written_as_its_json_schema_says(shape: Shape) -> None:
    answer = SHAPES[shape.name].model_validate(full(shape, CONTRACT))
    assert isinstance(answer, Answer)
    validator = Draft202012Validator(type(answer).model_json_schema(mode="serialization"))
    written = answer.to_payload()
    assert written == full(shape, CONTRACT)
    assert [error.message for error in validator.iter_errors(written)] == []
