"""A model serves wherever a mapping does: it is checked as what it writes, and methods say which model they take."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, get_args

import pytest
from pydantic import BaseModel
from tests.support.cases import for_each
from tests.support.contract_checks import checks_of
from tests.support.contract_rules import transcription
from tests.support.doors import NAMESPACES, hints_of, kind_of
from tests.support.shop import make_shop

import analytics_core
from analytics_core import AnalyticsCore, models
from analytics_core.errors import PayloadError, PayloadFormatError, PayloadSchemaError
from analytics_core.models.enums import DatasourceType
from analytics_core.models.parsing import parse

CONTRACT = transcription()


@for_each("name", models.SHAPES)
def test_a_model_is_read_as_the_payload_that_it_was_made_of(name: str) -> None:
    model = models.SHAPES[name]
    for check in checks_of(CONTRACT[name], CONTRACT):
        try:
            read = parse(model, check.payload, shape=name)
        except PayloadError:
            continue
        again = parse(model, read, shape=name)
        assert (again, again.model_fields_set) == (read, read.model_fields_set), check


@for_each(
    ("made", "refused"),
    [
        (models.ChartPut(slice_name="a\0b"), PayloadFormatError),
        (models.ChartPut.model_construct(slice_name=["no text"]), PayloadSchemaError),
        (models.ChartPut().model_copy(update={"cache_timeout": "soon"}), PayloadSchemaError),
        (models.TagPut(name="a"), PayloadFormatError),
        ({"tags": [models.TagPut(name="a\0")]}, PayloadFormatError),
        (7, PayloadFormatError),
    ],
    ids=repr,
)
def test_a_model_is_checked_as_a_mapping_is(made: Any, refused: type[PayloadError]) -> None:
    with pytest.raises(refused):
        parse(models.ChartPut, made, shape="ChartRestApi.put")


def test_text_is_checked_inside_secrets_and_an_error_names_the_model_that_is_taken() -> None:
    post = models.DatabasePost.model_validate({"database_name": "a", "orm_uri": "sqlite:///a\0b"})
    with pytest.raises(PayloadFormatError, match="NUL"):
        parse(models.DatabasePost, post, shape="DatabaseRestApi.post")
    with pytest.raises(PayloadFormatError, match="a mapping, JSON text or a ChartPut, not TagPut"):
        parse(models.ChartPut, models.TagPut(name="a"), shape="ChartRestApi.put")  # type: ignore[type-var]


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AnalyticsCore]:
    with analytics_core.connect(make_shop(tmp_path_factory.mktemp("models") / "shop.db")) as core:
        core.datasets.create(models.DatasetPost.model_validate({"database": 1, "table_name": "orders"}))
        yield core


def test_a_chart_is_made_changed_and_asked_with_models(core: AnalyticsCore) -> None:
    made = core.charts.create(
        models.ChartPost(slice_name="a", datasource_id=1, datasource_type=DatasourceType.TABLE, viz_type="table")
    )
    assert core.charts.update(made.id, models.ChartPut(slice_name="b")).slice_name == "b"
    assert core.charts.get(made.id).viz_type == "table"
    payload = {"datasource": {"id": 1, "type": "table"}, "queries": [{"metrics": ["count"]}]}
    context = models.ChartDataQueryContext.model_validate(payload)
    assert core.charts.data(context).results[0].data == core.charts.data(payload).results[0].data


def test_the_text_of_a_query_context_that_is_a_model_is_checked(core: AnalyticsCore) -> None:
    for value in ("a\0b", "\ud800"):
        query = {"metrics": ["count"], "filters": [{"col": "country", "op": "==", "val": value}]}
        context = models.ChartDataQueryContext.model_validate(
            {"datasource": {"id": 1, "type": "table"}, "queries": [query]}
        )
        with pytest.raises(PayloadFormatError):
            core.charts.data(context)


def methods() -> Iterator[tuple[str, Callable[..., Any]]]:
    for namespace in NAMESPACES:
        kind = kind_of(namespace)
        for name, member in inspect.getmembers(kind, inspect.isfunction):
            if not name.startswith("_"):
                yield f"{namespace}.{name}", inspect.unwrap(member)


def test_every_payload_names_its_model_beside_mappings_and_json() -> None:
    taken = {name: hints_of(method)["payload"] for name, method in methods() if _takes_payload(method)}
    assert len(taken) > 30
    for name, hint in taken.items():
        kinds = get_args(hint)
        assert any(isinstance(kind, type) and issubclass(kind, BaseModel) for kind in kinds), name
        assert {str, bytes, Mapping[str, Any]} <= set(kinds), name


def _takes_payload(method: Callable[..., Any]) -> bool:
    return "payload" in inspect.signature(method).parameters


def test_no_argument_of_a_public_method_is_untyped() -> None:
    loose = [
        f"{name}({argument})"
        for name, method in methods()
        for argument, kind in hints_of(method).items()
        if argument != "return" and _says_any(kind)
    ]
    assert loose == []


def _says_any(kind: Any) -> bool:
    """Tell whether a type is Any, or has parts that are; the values of mappings may be anything."""
    return kind is Any or (kind != Mapping[str, Any] and any(map(_says_any, get_args(kind))))
