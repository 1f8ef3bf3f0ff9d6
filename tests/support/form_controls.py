"""The controls of the forms of pairs: those that some builder reads, and those that change the payload of a pair."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tests.support.form_fields import RecordedForm
from tests.support.form_pairs import Pair, built

from analytics_core._superset.base_query import _EXTRA_TIME
from analytics_core._superset.field_names import QUERY_WORDS
from analytics_core.errors import PayloadSchemaError

MASK, OLD_FILTERS, SECOND = "extra_form_data", "extra_filters", "_b"
CHANGES_NO_PAYLOAD = {"js_data_mutator": "code of a browser: the notes of a payload name it"}
OF_BOTH_HALVES = {"datasource", "x_axis", "time_grain_sqla"}
"""The controls that a mixed chart has once."""


def controls(pairs: Iterable[Pair]) -> set[str]:
    """Return the names of all controls: fields of forms, parts of a dashboard's data mask, columns of old filters.

    The parts of a mask are those that builders read of the masks of pairs.
    """
    read = {f"{MASK}.{name}" for pair in pairs for name in _read_of_mask(pair)}
    return QUERY_WORDS | read | {f"{OLD_FILTERS}.{column}" for column in _EXTRA_TIME}


def effective(pair: Pair) -> set[str]:
    """Return the controls of a pair without which its payload is another, or is none."""
    payload = _payload(pair, pair["form"])
    return {name for name, form in _forms_without(pair["form"]) if _payload(pair, form) != payload}


def second_half(names: Iterable[str]) -> set[str]:
    """Return the controls of the second half of a mixed chart that stand beside these of its first."""
    return {f"{name}{SECOND}" for name in names if name in QUERY_WORDS - OF_BOTH_HALVES}


def _read_of_mask(pair: Pair) -> set[str]:
    if MASK not in pair["form"]:
        return set()
    mask = RecordedForm(pair["form"][MASK])
    built(pair, {**pair["form"], MASK: mask})
    return mask.read


def _forms_without(form: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the form without each of its controls, with the name of it."""
    for name in form:
        yield name, {key: value for key, value in form.items() if key != name}
    mask = form.get(MASK, {})
    for name in mask:
        yield f"{MASK}.{name}", {**form, MASK: {key: value for key, value in mask.items() if key != name}}
    filters = form.get(OLD_FILTERS, [])
    for one in filters:
        yield f"{OLD_FILTERS}.{one['col']}", {**form, OLD_FILTERS: [item for item in filters if item != one]}


def _payload(pair: Pair, form: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what is built of a form, without the form itself; None where it is rejected."""
    try:
        payload = built(pair, form).payload
    except PayloadSchemaError:
        return None
    return {name: part for name, part in payload.items() if name != "form_data"}
