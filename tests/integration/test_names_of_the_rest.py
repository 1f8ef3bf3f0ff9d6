"""What a series limit leaves out is called alike on every page, and whatever HAVING hides; a reference tells how."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest
import sqlalchemy as sa
from tests.support.cases import for_each

import analytics_core

REST = object()
POOL = ("Others", "Others (rest)", "others", "a", "b", "z", "", None)
TOTAL = {"expressionType": "SIMPLE", "aggregate": "SUM", "column": {"column_name": "n"}, "label": "total"}
Key = tuple[Any, ...]
SEEDS = range(3)
FEW = [("Others", 9), ("a", 7), ("b", 5), ("c", 3)]


def drawn_rows(seed: int) -> list[dict[str, Any]]:
    source = random.Random(seed)
    return [{"g": source.choice(POOL), "h": source.choice(POOL), "n": source.randint(1, 60)} for _ in range(60)]


@pytest.fixture(scope="module", params=["sqlite", "duckdb"])
def core(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    url = f"{request.param}:///{tmp_path_factory.mktemp('rest') / 'rest.db'}"
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        for seed in SEEDS:
            columns = (sa.Column("g", sa.String(20)), sa.Column("h", sa.String(20)), sa.Column("n", sa.Integer))
            table = sa.Table(f"t{seed}", sa.MetaData(), *columns)
            table.create(connection)
            connection.execute(table.insert(), drawn_rows(seed))
        connection.execute(sa.text("CREATE TABLE few (g VARCHAR(20), n INTEGER)"))
        connection.execute(sa.text("INSERT INTO few VALUES (:g, :n)"), [{"g": name, "n": n} for name, n in FEW])
    engine.dispose()
    with analytics_core.connect(url) as made:
        yield made


def totals(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> Counter[Key]:
    found: Counter[Key] = Counter()
    for row in rows:
        found[tuple(row[name] for name in columns)] += row["n"]
    return found


def reference(seed: int, columns: Sequence[str], series: Sequence[str], *, limit: int, least: int) -> list[Key]:
    """Return all rows: the series that stay and what is left, by total, then by name, nulls and the rest last."""
    rows = drawn_rows(seed)
    own = totals(rows, series)
    best = sorted(own, key=lambda key: (-own[key], *_sorted_last(key)))[:limit]
    name = "Others"
    while any(name in key for key in best):
        name += " (rest)"

    def with_rest(row: Mapping[str, Any]) -> dict[str, Any]:
        is_rest = tuple(row[one] for one in series) not in best
        return {**row, **(dict.fromkeys(series, REST) if is_rest else {})}

    found = totals([with_rest(row) for row in rows], columns)
    keys = sorted((key for key in found if found[key] >= least), key=lambda key: (-found[key], *_sorted_last(key)))
    return [(*(name if part is REST else part for part in key), found[key]) for key in keys]


def _sorted_last(key: Key) -> list[Any]:
    texts = [("" if part in (None, REST) else part) for part in key]
    return [(part is REST, part is None, text) for part, text in zip(key, texts, strict=True)]


def test_a_page_and_a_condition_that_hide_a_series_called_others_leave_the_rest_its_name(core: Any) -> None:
    table = core.datasets.create({"database": 1, "table_name": "few"}).id
    query = {"columns": ["g"], "metrics": [TOTAL], "series_columns": ["g"], "series_limit": 2}
    query |= {"group_others_when_limit_reached": True}
    expected = [("Others", 9), ("a", 7), ("Others (rest)", 8)]
    assert page(core, table, query, 10, 0) == expected
    assert [row for offset in range(3) for row in page(core, table, query, 1, offset)] == expected
    assert page(core, table, {**query, "extras": {"having": "SUM(n) < 9"}}, 10, 0) == expected[1:]
    assert page(core, table, {**query, "series_limit": 1, "filters": [NOT_OTHERS]}, 1, 1) == [("Others", 8)]


NOT_OTHERS = {"col": "g", "op": "!=", "val": "Others"}


@pytest.mark.slow
@for_each("seed", SEEDS)
def test_the_rest_has_one_name_on_all_pages_and_behind_every_condition(core: Any, seed: int) -> None:
    source, table = random.Random(f"questions {seed}"), core.datasets.create({"database": 1, "table_name": f"t{seed}"})
    for _ in range(6):
        columns = source.choice((["g"], ["g", "h"]))
        series = columns if source.random() < 0.5 else ["g"]
        limit, least, size = source.randint(1, 6), source.choice((0, 0, 150, 400)), source.randint(1, 4)
        wanted = reference(seed, columns, series, limit=limit, least=least)
        query = {"columns": columns, "metrics": [TOTAL], "series_columns": series, "series_limit": limit}
        query |= {"group_others_when_limit_reached": True, "orderby": [["total", False]]}
        query |= {"extras": {"having": f"SUM(n) >= {least}"}} if least else {}
        found = [row for offset in range(0, len(wanted), size) for row in page(core, table.id, query, size, offset)]
        assert found == wanted, (columns, series, limit, least, size)


def page(core: Any, dataset: int, query: Mapping[str, Any], size: int, offset: int) -> list[Key]:
    page_query = {**query, "row_limit": size, "row_offset": offset}
    context = {"datasource": {"id": dataset, "type": "table"}, "queries": [page_query]}
    result = core.charts.data(context).raise_for_error().results[0]
    is_renamed = any(str(part).startswith("Others (rest)") for row in result.rows() for part in row[:-1])
    assert is_renamed or not any("the rest is called" in note for note in result.notes)
    return list(result.rows())
