"""The shapes of resources: aliases, secrets, lazy names and what answers look like."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from typing import Any

import pytest
from tests.support.cases import for_each

from analytics_core import models
from analytics_core.errors import PayloadSchemaError
from analytics_core.models import SHAPES, ChartPut, DatabaseGet, DatabasePost, DatasetListItem, DatasetPut
from analytics_core.models.parsing import parse


def rejection(shape: str, payload: dict[str, Any]) -> str:
    with pytest.raises(PayloadSchemaError) as caught:
        parse(SHAPES[shape], payload, shape=shape)
    return str(caught.value)


def test_the_older_name_of_the_uri_is_taken() -> None:
    post = DatabasePost.model_validate({"database_name": "a", "sqlalchemy_uri": "sqlite://"})
    assert post.orm_uri is not None
    assert post.orm_uri.get_secret_value() == "sqlite://"


def test_a_uri_shows_in_no_text_of_its_payload() -> None:
    post = parse(
        DatabasePost,
        {"database_name": "a", "orm_uri": "postgresql://u:sesame@h/d", "ssh_tunnel": {"password": "sesame"}},
        shape="DatabaseRestApi.post",
    )
    for text in (repr(post), str(post), post.model_dump_json(), repr(copy.copy(post)), f"{post}"):
        assert "sesame" not in text


def test_a_problem_does_not_repeat_a_secret() -> None:
    payload = {"database_name": "a", "orm_uri": "postgresql://u:sesame@h/d" + "x" * 1_100}
    assert "sesame" not in rejection("DatabaseRestApi.post", payload)
    assert "sesame" not in rejection("DatabaseRestApi.post", {"database_name": "a", "orm_uri": ["sesame"]})


def test_an_unknown_field_inside_a_list_names_the_nearest_of_that_shape() -> None:
    message = rejection("DatasetRestApi.put", {"columns": [{"column_name": "a", "is_dtm": True}]})
    assert "columns.0.is_dtm: is not a field here; did you mean 'is_dttm'?" in message


def test_an_unknown_field_like_no_other_lists_the_fields() -> None:
    assert "the fields are metric_name, expression, id" in rejection(
        "DatasetMetricsPut", {"metric_name": "m", "expression": "1", "zzzzzz": 1}
    )


def test_the_attribute_behind_a_contract_name_is_no_second_name() -> None:
    assert "schema_name: is not a field here" in rejection(
        "DatasetRestApi.post", {"database": 1, "table_name": "t", "schema_name": "s"}
    )


def test_a_payload_tells_null_from_left_out() -> None:
    put = DatasetPut.model_validate({"description": None, "schema": "sales"})
    assert put.given() == {"description": None, "schema_name": "sales"}


def test_a_uuid_comes_out_in_one_form() -> None:
    text = "7B3F1C9E2F574B7D9C550A4F6A1D2E3F"
    assert (
        DatabasePost.model_validate({"database_name": "a", "uuid": text}).uuid == "7b3f1c9e-2f57-4b7d-9c55-0a4f6a1d2e3f"
    )


@for_each("text", ["", "{}", "[1]", "null", '"x"'])
def test_json_texts_may_hold_any_json(text: str) -> None:
    assert ChartPut.model_validate({"params": text}).params == text


def test_tags_of_a_chart_are_tag_objects() -> None:
    assert ChartPut.model_validate({"tags": [{"id": 1, "name": None, "type": 2}]}).tags is not None
    assert "tags.0.type" in rejection("ChartRestApi.put", {"tags": [{"type": 5}]})
    assert "tags.0.name" in rejection("ChartRestApi.put", {"tags": [{"name": "x" * 251}]})


def test_an_answer_has_the_contract_names_as_attributes_and_in_its_payload() -> None:
    item = DatasetListItem.model_validate({"table_name": "t", "schema": "s", "database": {"database_name": "d"}})
    assert item.schema == "s"
    assert item.to_payload() == {"table_name": "t", "schema": "s", "database": {"database_name": "d"}}


def test_an_answer_becomes_plain_json() -> None:
    answer = DatabaseGet(id=1, uuid=None, database_name="d", engine_information={"a": True})
    assert json.loads(json.dumps(answer.to_payload())) == answer.to_payload()


def test_every_name_of_the_package_can_be_reached_and_is_listed() -> None:
    assert set(models.__all__) <= set(dir(models))
    for name in models.__all__:
        assert getattr(models, name) is not None
    with pytest.raises(AttributeError, match="Frobnicate"):
        models.Frobnicate  # noqa: B018


def test_importing_the_package_of_shapes_does_not_load_pydantic() -> None:
    code = "import sys, analytics_core.models; print('pydantic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
