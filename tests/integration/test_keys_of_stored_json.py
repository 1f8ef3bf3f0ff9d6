"""JSON texts of payloads name each key once; what was stored before the rule stays readable."""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError
from tests.support.cases import for_each
from tests.support.small_core import SmallCore, small_core

from analytics_core import errors, models
from analytics_core.models.base import Answer
from analytics_core.models.strict_json import RepeatedKeyError, read_json_once

TWICE = '{"kept": {"list": [0, {"key": 1, "key": 2}]}}'
REPORTED = "names the key 'key' twice in kept.list.1"
CONTEXT = '{"datasource": {"id": 1, "type": "table"}, "queries": [{"metrics": ["count"], "metrics": []}]}'


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallCore]:
    with small_core(tmp_path_factory.mktemp("keys")) as world:
        world.orders()
        world.core.charts.create({"slice_name": "c", "datasource_id": 1, "datasource_type": "table"})
        world.core.dashboards.create({"dashboard_title": "d"})
        world.core.annotation_layers.create({"name": "l"})
        yield world


@for_each(
    ("text", "key", "place"),
    [
        ('{"a": 1, "a": 2}', "a", ""),
        ('{"a": {"b": 1, "c": 0, "b": 1}}', "b", " in a"),
        ('[[], [{"x": 1}, {"x": 1, "x": 1}]]', "x", " in 1.1"),
        ('{"a": {"b": 1, "b": 2}, "a": 3}', "a", ""),  # the outer one first: it hides the other
        ('{"": 1, "": 2}', "", ""),
        (r'{"a": 1, "\u0061": 2}', "a", ""),
    ],
)
def test_the_error_says_which_key_and_where(text: str, key: str, place: str) -> None:
    with pytest.raises(RepeatedKeyError) as rejected:
        read_json_once(text)
    assert str(rejected.value) == f"names the key {key!r} twice{place}"


def test_a_key_may_come_again_in_another_object() -> None:
    text = '{"a": {"b": 1, "c": 0}, "b": [{"x": 1}, {"x": 1}]}'
    assert read_json_once(text) == json.loads(text)


def json_fields() -> Iterator[tuple[type[BaseModel], str, bool]]:
    """Yield each field of each shape that is JSON text, and whether the shape is an answer."""
    for module in pkgutil.iter_modules(models.__path__):
        found = vars(importlib.import_module(f"analytics_core.models.{module.name}")).values()
        for shape in {s for s in found if isinstance(s, type) and issubclass(s, BaseModel)}:
            if shape.__module__.endswith(f".{module.name}"):
                for name, schema in shape.model_json_schema(by_alias=False)["properties"].items():
                    if "application/json" in json.dumps(schema):
                        yield shape, name, issubclass(shape, Answer)


def test_json_of_payloads_names_each_key_once_and_json_of_answers_may_not() -> None:
    """The fields are found here, since the schemas of all shapes would take every run of the tests a second."""
    answers, payloads = list[str](), list[str]()
    for shape, name, is_answer in json_fields():
        field, place = TypeAdapter(shape.model_fields[name].rebuild_annotation()), f"{shape.__name__}.{name}"
        assert field.validate_python('{"a": 1}') == '{"a": 1}', place
        if is_answer:
            answers.append(place)
            assert field.validate_python(TWICE) == TWICE, place
        else:
            payloads.append(place)
            with pytest.raises(ValidationError, match=REPORTED):
                field.validate_python(TWICE)
    assert len(answers) >= 10
    assert len(payloads) >= 20


def with_metric(name: str) -> dict[str, Any]:
    return {"metrics": [{"metric_name": "m", "expression": "COUNT(*)", name: TWICE}]}


WRITES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "chart params": (lambda core: core.charts.update(1, {"params": TWICE}), "params"),
    "chart query_context": (lambda core: core.charts.update(1, {"query_context": TWICE}), "query_context"),
    "dashboard metadata": (lambda core: core.dashboards.update(1, {"json_metadata": TWICE}), "json_metadata"),
    "dashboard layout": (lambda core: core.dashboards.create({"position_json": TWICE}), "position_json"),
    "dashboard copy": (
        lambda core: core.dashboards.copy(1, {"json_metadata": TWICE, "dashboard_title": "x"}),
        "json_metadata",
    ),
    "dataset extra": (lambda core: core.datasets.update(1, {"extra": TWICE}), "extra"),
    "dataset template_params": (lambda core: core.datasets.update(1, {"template_params": TWICE}), "template_params"),
    "metric extra": (lambda core: core.datasets.update(1, with_metric("extra")), r"metrics\.0\.extra"),
    "metric currency": (lambda core: core.datasets.update(1, with_metric("currency")), r"metrics\.0\.currency"),
    "database extra": (lambda core: core.databases.update(1, {"extra": TWICE}), "extra"),
    "test of a connection": (
        lambda core: core.databases.test_connection({"orm_uri": "sqlite://", "extra": TWICE}),
        "extra",
    ),
    "log": (lambda core: core.logs.create({"action": "a", "json": TWICE}), "json"),
    "annotation": (
        lambda core: core.annotations.create(
            1, {"start_dttm": "2024-01-01", "end_dttm": "2024-01-02", "short_descr": "a", "json_metadata": TWICE}
        ),
        "json_metadata",
    ),
    "form data": (
        lambda core: core.explore.create_form_data(
            {"datasource_id": 1, "datasource_type": "table", "form_data": TWICE}
        ),
        "form_data",
    ),
    "extra_filters": (lambda core: core.charts.question(1, extra_filters=f"[{TWICE}]"), "extra_filters"),
    "warm-up": (lambda core: core.cache.warm_up_chart({"chart_id": 1, "extra_filters": f"[{TWICE}]"}), "extra_filters"),
}


@for_each("road", sorted(WRITES))
def test_no_road_takes_json_that_names_a_key_twice(shop: SmallCore, road: str) -> None:
    write, field = WRITES[road]
    with pytest.raises(errors.PayloadSchemaError, match=rf"{field}: names the key 'key' twice in \w*\.?kept\.list\.1"):
        write(shop.core)


def test_a_payload_says_which_key_it_names_twice(shop: SmallCore) -> None:
    with pytest.raises(errors.PayloadFormatError, match=r"the payload names the key 'metrics' twice in queries\.0"):
        shop.core.charts.data(CONTEXT)
    with pytest.raises(errors.PayloadFormatError, match="the payload names the key 'slice_name' twice"):
        shop.core.charts.create('{"slice_name": "a", "slice_name": "b"}')


@pytest.fixture
def stored_before(tmp_path: Path) -> Iterator[SmallCore]:
    """A store with JSON texts that were stored before the rule."""
    with small_core(tmp_path) as world:
        world.orders()
        world.core.charts.create({"slice_name": "c", "datasource_id": 1, "datasource_type": "table"})
        world.core.dashboards.create({"dashboard_title": "d"})
        with world.core._runtime.content.store.unit_of_work() as unit:
            chart = replace(unit.charts.get(1), params=TWICE, query_context=CONTEXT)
            unit.charts.update(chart, actor_id=1)
            board = replace(unit.dashboards.get(1), json_metadata=TWICE, position_json=TWICE)
            unit.dashboards.update(board, actor_id=1)
            unit.datasets.update(replace(unit.datasets.get(1), extra=TWICE, template_params=TWICE), actor_id=1)
            unit.databases.update(replace(unit.databases.get(1), extra=TWICE), actor_id=1)
        yield world


def test_what_was_stored_before_stays_readable(stored_before: SmallCore) -> None:
    core = stored_before.core
    assert (core.charts.get(1).params, core.charts.get(1).query_context) == (TWICE, CONTEXT)
    assert core.charts.list().count == core.dashboards.list().count == core.datasets.list().count == 1
    assert (core.dashboards.get(1).json_metadata, core.dashboards.get(1).position_json) == (TWICE, TWICE)
    assert (core.datasets.get(1).extra, core.datasets.get(1).template_params) == (TWICE, TWICE)
    assert core.databases.list().result[0].extra == core.databases.get(1).to_payload().get("extra", TWICE) == TWICE
    assert core.charts.update(1, {"slice_name": "new", "params": "{}"}).params == "{}"
    assert core.dashboards.update(1, {"dashboard_title": "new"}).dashboard_title == "new"


def test_what_was_stored_before_is_used_nowhere_without_a_word(stored_before: SmallCore) -> None:
    core = stored_before.core
    with pytest.raises(errors.PayloadFormatError, match="'metrics' twice"):
        core.charts.data(1)
    with pytest.raises(
        errors.QueryError, match=r"query_context of chart 1 names the key 'metrics' twice in queries\.0"
    ):
        core.charts.question(1)
    with pytest.raises(errors.PayloadSchemaError, match="chart 1: params: names the key 'key' twice"):
        core.export_bundle(charts=[1])
    with pytest.raises(errors.PayloadSchemaError, match="dashboard 1: json_metadata: names the key 'key' twice"):
        core.export_bundle(dashboards=[1])
    templated = {"expressionType": "SQL", "sqlExpression": "COUNT({{ kept.list[0] }})", "label": "n"}
    metrics: list[Any] = ["count", templated]
    queries = [{"metrics": [metric]} for metric in metrics]
    plain, of_template = core.charts.data({"datasource": {"id": 1, "type": "table"}, "queries": queries}).results
    with pytest.raises(errors.ConnectionUriError, match="extra names the key 'key' twice"):
        plain.raise_for_error()
    with pytest.raises(errors.TemplateError, match="template_params names the key 'key' twice"):
        of_template.raise_for_error()


def test_a_stored_value_that_no_answer_may_have_is_a_typed_error(stored_before: SmallCore) -> None:
    core = stored_before.core
    with core._runtime.content.store.unit_of_work() as unit:
        unit.charts.update(replace(unit.charts.get(1), params="{"), actor_id=1)
        before = unit.datasets.get(1)
        first, *others = before.columns
        unit.datasets.update(replace(before, columns=(replace(first, id=0, uuid="none"), *others)), actor_id=1)
    for ask in (lambda: core.charts.get(1), core.charts.list):
        with pytest.raises(errors.StoredDataError, match=r"holds a value that Chart.* cannot have, in params; mend"):
            ask()
    with pytest.raises(errors.StoredDataError, match="in uuid; mend the record"):
        core.datasets.get(1)
