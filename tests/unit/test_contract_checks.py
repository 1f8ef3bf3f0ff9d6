"""The checks of the shapes notice each kind of broken rule; a checker that finds nothing must be right about it."""

from __future__ import annotations

from typing import Any

from pydantic import Field
from tests.support.contract_checks import outcomes
from tests.support.contract_rules import transcription
from tests.support.contract_schemas import schema_outcomes

from analytics_core.models.base import Answer, Integer, LenientShape, Omittable, StrictShape, Text250

CONTRACT = transcription()


class BrokenRule(StrictShape):
    """Breaks what `RLSRestApi.post` says: no least number of tables, any type, a shorter name, no clause."""

    name: Text250
    filter_type: str
    roles: tuple[Any, ...]
    tables: tuple[Integer, ...] | None = None
    description: Omittable[str] = None
    group_key: str | None = None
    frobnicate: int | None = None


class BrokenLog(LenientShape):
    """Breaks what `LogRestApi.put` says: keeps unknown fields, renames one, changes another."""

    action: str | None = None
    dttm: str | None = Field(default=None, serialization_alias="when")
    json_text: str | None = Field(default=None, alias="json")


class BrokenTunnel(StrictShape):
    """Breaks what `DatabaseSSHTunnel` says: shows a password."""

    password: str


class BrokenItem(Answer):
    """Breaks what `RLSRestApi.get_list` says: does not mark what is computed."""

    changed_on_delta_humanized: str = ""


def wrong(name: str, model: type) -> set[str]:
    """The checks of a shape that fail on a model."""
    shape = CONTRACT[name]
    found = [*outcomes(shape, model, CONTRACT), *schema_outcomes(shape, model)]
    return {check.removeprefix(f"{name}.") for check, what in found if what}


def test_a_missing_field_is_noticed() -> None:
    found = wrong("RLSRestApi.post", BrokenRule)
    assert {"clause: round trip", "clause: in the schema"} <= found


def test_a_bound_that_is_gone_or_moved_is_noticed() -> None:
    class Shorter(BrokenRule):
        clause: str

    found = wrong("RLSRestApi.post", Shorter)
    assert {"name: longest", "name: shortest", "name: schema, longest", "name: schema, shortest"} <= found
    assert {"tables: fewest []", "tables: schema, fewest", "tables: missing", "tables: null"} <= found
    assert {"tables: schema, required", "tables: schema, null", "description: null"} <= found


def test_a_wider_type_or_another_enum_is_noticed() -> None:
    class Wider(BrokenRule):
        clause: str

    found = wrong("RLSRestApi.post", Wider)
    assert {"filter_type: wrong type 'frobnicate'", "filter_type: schema, type", "roles: wrong type ['3']"} <= found


def test_unknown_fields_and_fields_of_ours_are_noticed() -> None:
    found = wrong("LogRestApi.put", BrokenLog)
    assert {"LogRestApi.put: unknown field", "LogRestApi.put: unknown fields"} <= found
    assert "frobnicate: in the contract" in wrong("RLSRestApi.post", BrokenRule)


def test_a_field_that_is_written_under_another_name_is_noticed() -> None:
    found = wrong("LogRestApi.put", BrokenLog)
    assert {"dttm: round trip", "dttm: wrong type 'yesterday'", "json: wrong type '{not json'"} <= found


def test_a_secret_that_shows_is_noticed() -> None:
    assert "password: round trip" in wrong("DatabaseSSHTunnel", BrokenTunnel)


def test_what_is_computed_must_be_marked_and_may_be_null() -> None:
    found = wrong("RLSRestApi.get_list", BrokenItem)
    assert {"changed_on_delta_humanized: null", "changed_on_delta_humanized: schema, read-only"} <= found
