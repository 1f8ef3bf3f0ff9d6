"""The same payload gives the same rows on every engine, and they are the rows of a plain-Python evaluation.

The seed changes from run to run and is printed; `nox -s differential` asks many more.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from tests.differential import world
from tests.differential.check import differences
from tests.differential.share import open_cores
from tests.support.cases import for_each

SEED = os.environ.get("ANALYTICS_CORE_SEED") or os.urandom(4).hex()
QUERIES = 500
PARTS = 10


@pytest.fixture(scope="module")
def cores(
    tmp_path_factory: pytest.TempPathFactory, postgres_url: str, make_mariadb_database: Any
) -> Iterator[dict[str, Any]]:
    """A core for each of the four engines over the same rows."""
    urls = {"postgresql": postgres_url, "mysql": make_mariadb_database()}
    with ExitStack() as stack:
        yield open_cores(tmp_path_factory.mktemp("differential"), urls, stack)


@pytest.mark.long
@pytest.mark.server
@for_each("part", range(PARTS))
def test_engines_answer_as_plain_python_does(cores: dict[str, Any], part: int) -> None:
    numbers = [f"{SEED}-{n}" for n in range(part, QUERIES, PARTS)]
    found = [str(difference) for difference in differences(cores, world.rows(), numbers)]
    assert not found, f"ANALYTICS_CORE_SEED={SEED}: {len(found)} differences\n" + "\n".join(found[:5])


OTHERS = {"columns": ["grp"], "metrics": ["rows"], "series_columns": ["grp"], "group_others_when_limit_reached": True}


@pytest.mark.server
def test_a_series_called_others_keeps_its_name_and_a_note_tells_that_of_the_rest(cores: dict[str, Any]) -> None:
    for core in cores.values():
        only = [{"col": "grp", "op": "==", "val": "Others"}]
        result = _requested(core, OTHERS | {"series_limit": 1, "filters": only})
        assert ([row["grp"] for row in result.data], result.notes) == (["Others"], ())
        assert set(result.label_map) == {"grp", "rows"}
        result = _requested(core, OTHERS | {"series_limit": len(world.GROUPS)})
        assert {"Others", "Others (rest)"} <= {row["grp"] for row in result.data}
        assert result.notes == ("a series is called 'Others', so the rest is called 'Others (rest)'",)


@pytest.mark.server
@pytest.mark.parametrize(("column", "limit", "rows"), [("price", 12, 7), ("flag", 1, 100), ("qty", 3, 100)])
def test_series_of_numbers_and_booleans_have_the_labels_of_python_on_every_engine(
    cores: dict[str, Any], column: str, limit: int, rows: int
) -> None:
    numbers: Counter[Any] = Counter(row[column] for row in world.rows())
    best = sorted(numbers, key=lambda value: (-numbers[value], value is None, value or 0))[:limit]
    labels = sorted(value for value in best if value is not None)
    wanted = [(str(value), numbers[value]) for value in labels]
    wanted += [(None, numbers[None])] if None in best else []
    wanted += [("Others", sum(count for value, count in numbers.items() if value not in best))]
    query = {**OTHERS, "columns": [column], "series_columns": [column], "series_limit": limit, "row_limit": rows}
    for core in cores.values():
        assert _requested(core, query).rows() == wanted[:rows]


@pytest.mark.server
def test_a_bucket_that_is_not_a_moment_without_label_has_a_moment(cores: dict[str, Any]) -> None:
    no_label = {"col": "ts", "op": "!=", "val": "2023-07-28T21:27:29", "grain": "P1D"}
    present = sum(row["ts"] is not None for row in world.rows())
    for core in cores.values():
        assert _requested(core, {"metrics": ["rows"], "filters": [no_label]}).data == [{"rows": present}]


def _requested(core: Any, query: dict[str, Any]) -> Any:
    return core.charts.data({"datasource": {"id": 1, "type": "table"}, "queries": [query]}).raise_for_error().results[0]
