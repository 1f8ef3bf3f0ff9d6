"""The pairs of `golden_files/forms`: what is built of a form is its payload, and this answers what SQL by hand answers.

After a wanted change run this module with ANALYTICS_CORE_UPDATE_GOLDEN=1: it writes the payloads, never the forms and
the SQL. Read the difference by hand before committing it: the payload must be what Superset's front end asks.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.support.form_controls import CHANGES_NO_PAYLOAD, controls, effective, second_half
from tests.support.form_pairs import (
    KINDS,
    Pair,
    all_pairs,
    as_json,
    built,
    connected,
    expected,
    make_tables,
    pairs_by_file,
    path_of,
    write_payloads,
)
from tests.support.kind_answers import KindCase, Row, comparable

from analytics_core import AnalyticsCore
from analytics_core._superset.layers import LAYERED
from analytics_core._superset.payload import Fidelity

UPDATES = os.environ.get("ANALYTICS_CORE_UPDATE_GOLDEN") == "1"
MIXED = "mixed_timeseries"


@pytest.fixture(scope="module")
def pairs() -> Mapping[str, Pair]:
    if UPDATES:
        write_payloads()
    return all_pairs()


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("forms") / "shop.db"
    make_tables(path)
    return path


@pytest.fixture(scope="module")
def core(file: Path) -> Iterator[AnalyticsCore]:
    with connected(file) as core:
        yield core


@pytest.fixture(scope="module")
def database(file: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(file)) as connection:
        connection.row_factory = sqlite3.Row
        yield connection


def test_each_form_gives_its_payload(pairs: Mapping[str, Pair]) -> None:
    assert len(pairs) >= 40
    for name, pair in pairs.items():
        assert built(pair).payload == expected(pair), name


def test_each_payload_answers_what_its_sql_answers(
    pairs: Mapping[str, Pair], core: AnalyticsCore, database: sqlite3.Connection
) -> None:
    for name, pair in pairs.items():
        if "sql" in pair:
            found = answers(core, pair)
            assert len(found) == len(pair["sql"]) == len(pair["payload"]["queries"]), name
            for place, (lines, rows) in enumerate(zip(pair["sql"], found, strict=True)):
                wanted = in_order(database.execute("\n".join(lines)).fetchall(), lines)
                assert wanted, f"{name}: SQL {place} finds no rows"
                assert in_order(rows, lines) == wanted, f"{name}: result {place}"


def answers(core: AnalyticsCore, pair: Pair) -> list[list[Row]]:
    """Return the rows of each result of the payload that is built of the form of a pair."""
    payload = built(pair).payload
    if pair.get("before_steps"):
        payload = {**payload, "queries": [{**query, "post_processing": []} for query in payload["queries"]]}
    results = core.charts.data(payload).raise_for_error().results
    return [[dict(zip(result.colnames, row, strict=True)) for row in result.rows()] for result in results]


def in_order(rows: Sequence[Any], lines: Sequence[str]) -> list[Row]:
    """Return rows whose values can be compared: in their order where the SQL sorts them."""
    case = KindCase(kind="", dataset="", form={}, sql=lines, is_sorted=lines[-1].startswith("ORDER BY"))
    return comparable([dict(row) for row in rows], case)


def test_a_pair_has_sql_or_says_why_it_has_none(pairs: Mapping[str, Pair]) -> None:
    for name, pair in pairs.items():
        assert ("sql" in pair) is not bool(pair.get("no_sql")), name
    assert sum("no_sql" in pair for pair in pairs.values()) <= 1


def test_a_payload_is_exact_unless_its_pair_says_by_which_fields_it_differs(pairs: Mapping[str, Pair]) -> None:
    for name, pair in pairs.items():
        kind, found = KINDS[pair["form"]["viz_type"]], built(pair)
        note_fields = [note.partition(":")[0] for note in found.notes]
        if kind.name != LAYERED:
            assert [fields for fields in note_fields if fields != kind.name] == pair.get("differs", []), name
        assert (found.fidelity is Fidelity.EXACT) is (kind.is_compared and not note_fields), name


def test_every_kind_of_chart_has_a_pair(pairs: Mapping[str, Pair]) -> None:
    assert {pair["form"]["viz_type"] for pair in pairs.values()} == set(KINDS)


def test_every_control_changes_the_payload_of_a_pair(pairs: Mapping[str, Pair]) -> None:
    changing = {name for pair in pairs.values() for name in effective(pair)}
    assert sorted(controls(pairs.values()) - changing) == sorted(CHANGES_NO_PAYLOAD)


def test_every_control_of_a_mixed_chart_changes_the_payload_of_both_halves(pairs: Mapping[str, Pair]) -> None:
    changing = {name for pair in pairs.values() if pair["form"]["viz_type"] == MIXED for name in effective(pair)}
    assert sorted(second_half(changing) - changing) == []


def test_every_field_of_the_pairs_is_understood(pairs: Mapping[str, Pair]) -> None:
    noted = {name: note for name, pair in pairs.items() for note in built(pair).notes if "not understood" in note}
    assert noted == {}


def test_files_of_pairs_are_written_as_an_update_writes_them(pairs: Mapping[str, Pair]) -> None:
    assert len(pairs) == sum(map(len, pairs_by_file().values())), "two pairs of a file have one name"
    for file, own in pairs_by_file().items():
        assert path_of(file).read_text(encoding="utf-8") == f"{as_json(own)}\n", file
