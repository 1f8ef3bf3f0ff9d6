"""Errors as JSON: the same class and facts in another process; what is none is a JobError, and nothing is run."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal
from types import MappingProxyType
from typing import Any
from uuid import UUID

from tests.support.cases import for_each

from analytics_core._tools.typed_json import error_from_json, error_to_json
from analytics_core.errors import (
    AccessError,
    AnalyticsError,
    DatabaseError,
    ErrorLevel,
    ErrorType,
    JobError,
    NotFoundError,
    PayloadSchemaError,
    Problem,
    QueryError,
    RowRuleError,
    TableAccessError,
    TemplateError,
    UnknownColumnError,
)
from analytics_core.models.enums import ResultType


def again(error: AnalyticsError) -> AnalyticsError:
    """Return the error that comes back, by way of JSON in UTF-8."""
    return error_from_json(json.loads(json.dumps(error_to_json(error), ensure_ascii=False, allow_nan=False).encode()))


def template_error() -> TemplateError:
    error = TemplateError("the template does not render")
    error.detail = "for administrators"
    return error


@for_each(
    "error",
    [
        UnknownColumnError("contry", dataset="orders", known=("country", "city")).at("queries[1]").at("chart 7"),
        PayloadSchemaError(shape="Query", problems=[Problem(path=f"a.{n}", message="é \ud800") for n in range(200)]),
        DatabaseError("no", error_type=ErrorType.SYNTAX_ERROR, engine="sqlite", extra={"line": 3, "near": None}),
        QueryError("no", level=ErrorLevel.WARNING, extra={"rows": [1, (2.5, {"a": b"x"})], "day": date(2024, 2, 29)}),
        QueryError("no", extra={"nan": [float("inf")], "big": 2**80, "n": Decimal("1.10"), "id": UUID(int=7)}),
        QueryError("lone \ud800, NUL \0", extra={"\ud800": "\udfff", 7: {1, 2}}),
        RowRuleError("3 'EU only'", detail="no such column"),
        template_error(),
        *(NotFoundError("chart", key, place="of a dashboard") for key in (7, "x", None, ("a", 1), 2**70, True)),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_comes_back_with_its_class_and_all_its_facts(error: AnalyticsError) -> None:
    found = again(error)
    assert type(found) is type(error)
    assert (found.args, found.__dict__) == (error.args, error.__dict__)
    assert {name: repr(field) for name, field in found.__dict__.items()} == {
        name: repr(field) for name, field in error.__dict__.items()
    }
    assert (str(found), found.status, found.to_payload()) == (str(error), error.status, error.to_payload())


class Strange:
    """A key that no JSON has."""

    def __repr__(self) -> str:
        return "<strange>"


def test_facts_of_other_types_become_their_text() -> None:
    error = QueryError("no", extra={"a": Strange(), "b": [ResultType.FULL], "c": MappingProxyType({"d": Strange})})
    assert again(error).extra["a"] == "<strange>"
    assert again(error).extra["b"] == ["full"]
    assert again(NotFoundError("chart", Strange())).message == "there is no chart <strange>"


def test_causes_notes_and_places_stay_behind() -> None:
    error = DatabaseError("no")
    error.__cause__ = ValueError("postgresql://me:secret@host")
    error.add_note("secret")
    assert "secret" not in json.dumps(error_to_json(error))
    assert again(error).__cause__ is None


def test_an_error_of_a_host_becomes_its_nearest_class_of_the_package() -> None:
    class OfAHost(TableAccessError):
        """What a host's own policy raises."""

    found = again(OfAHost("not yours"))
    assert (type(found), found.message, found.status) == (TableAccessError, "not yours", AccessError.status)
    assert type(error_from_json({**error_to_json(found), "class": "OfAHost"})) is JobError


GOOD: dict[str, Any] = error_to_json(QueryError("no"))


@for_each(
    "change",
    [
        {"class": "FutureError"},
        {"class": "os.system"},
        {"class": "ValueError"},
        {"class": ["QueryError"]},
        {"facts": {}},
        {"facts": []},
        {"facts": None},
        {"facts": {**GOOD["facts"], "error_type": ["ErrorType", "FUTURE_ERROR"]}},
        {"facts": {**GOOD["facts"], "error_type": "SYNTAX_ERROR"}},
        {"facts": {**GOOD["facts"], "extra": ["tuple"]}},
        {"facts": {**GOOD["facts"], "level": ["os.system", "touch loot"]}},
        {"facts": {**GOOD["facts"], "n": ["Decimal", "x"]}},
        {"facts": {**GOOD["facts"], "n": ["timedelta", 10**20]}},
        {"facts": {**GOOD["facts"], "n": ["Problem", "a"]}},
        {"facts": {**GOOD["facts"], "n": []}},
        {"facts": {**GOOD["facts"], "n": [["list"]]}},
        {"facts": {**GOOD["facts"], "to_payload": "no"}},
    ],
    ids=repr,
)
def test_what_this_version_does_not_know_is_a_job_error_with_the_message(change: dict[str, Any]) -> None:
    found = error_from_json({**GOOD, **change})
    assert (type(found), found.message) == (JobError, "no")
    assert type(error_from_json(GOOD)) is QueryError


DEEP: Any = "x"
for _ in range(5_000):
    DEEP = ["list", DEEP]


@for_each("value", [None, 7, "text", [], {}, {"message": 7}, {**GOOD, "message": ["str", "zz"]}, DEEP])
def test_what_is_no_error_at_all_is_a_job_error(value: object) -> None:
    found = error_from_json(value)
    assert type(found) is JobError
    assert "does not know" in found.message


def test_facts_that_are_too_deep_are_a_job_error() -> None:
    found = error_from_json({**GOOD, "facts": {**GOOD["facts"], "n": DEEP}})
    assert (type(found), found.message) == (JobError, "no")
