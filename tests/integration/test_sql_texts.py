"""What a statement tells without running, its parameters, and the pictures of its rows."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import Any

import pandas as pd
import pytest
from tests.support.small_core import SmallCore, small_core

from analytics_core.errors import (
    DatabaseError,
    DatabaseNotFoundError,
    LimitError,
    QueryError,
    StatementError,
    UnknownNameError,
)

TABLES = """
CREATE TABLE visits (id INTEGER PRIMARY KEY, day DATE, page TEXT, people INTEGER);
INSERT INTO visits VALUES (1, '2024-01-01', 'home', 3), (2, '2024-01-02', 'home', 4), (3, '2024-01-02', 'shop''s', 5);
"""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallCore]:
    with small_core(tmp_path_factory.mktemp("shop")) as shop:
        shop.run(TABLES)
        yield shop


BOUND: dict[str, tuple[str, dict[str, Any], list[tuple[Any, ...]]]] = {
    "a text": ("SELECT id FROM visits WHERE page = :p", {"p": "shop's"}, [(3,)]),
    "a text that is SQL": ("SELECT id FROM visits WHERE page = :p", {"p": "x' OR 1=1 --"}, []),
    "a number": ("SELECT id FROM visits WHERE people > :n", {"n": 4}, [(3,)]),
    "a list": ("SELECT id FROM visits WHERE id IN :ids ORDER BY id", {"ids": [1, 3]}, [(1,), (3,)]),
    "a list in parentheses": ("SELECT id FROM visits WHERE id IN (:ids, 2) ORDER BY id", {"ids": {1}}, [(1,), (2,)]),
    "an empty list": ("SELECT id FROM visits WHERE id IN :ids", {"ids": []}, []),
    "not in an empty list": ("SELECT id FROM visits WHERE id NOT IN :ids ORDER BY id", {"ids": ()}, [(1,), (2,), (3,)]),
    "null": ("SELECT COALESCE(:x, 7)", {"x": None}, [(7,)]),
    "a moment of pandas": ("SELECT :t", {"t": pd.Timestamp("2024-01-01 12:00")}, [("2024-01-01 12:00:00",)]),
    "a day": ("SELECT id FROM visits WHERE day = :d", {"d": date(2024, 1, 1)}, [(1,)]),
    "used twice": ("SELECT id FROM visits WHERE id = :i OR people = :i", {"i": 3}, [(1,), (3,)]),
    "a limit": ("SELECT id FROM visits ORDER BY id LIMIT :n", {"n": 2}, [(1,), (2,)]),
    "no parameter in a text or comment": ("SELECT ':p', id FROM visits WHERE id = :i -- :q", {"i": 1}, [(":p", 1)]),
    "an exact number": ("SELECT :d + 0", {"d": Decimal("1.5")}, [(1.5,)]),
}


def test_values_are_bound(shop: SmallCore) -> None:
    for case, (sql, params, rows) in BOUND.items():
        assert shop.core.sql(sql, params=params).rows() == rows, case
        explained = shop.core.sql.explain(sql, params=params)
        flat = [v for value in params.values() for v in (value if isinstance(value, list | set | tuple) else [value])]
        assert all(str(value) not in explained.bound_sql for value in flat if isinstance(value, str)), case


UNBOUND: dict[str, tuple[str, Any, str]] = {
    "no value": ("SELECT :a, :b", {"a": 1, "c": 2}, "parameter :b has no value in params"),
    "the nearest name": ("SELECT :region", {"regoin": 1}, "did you mean 'regoin'?"),
    "a value too many": ("SELECT :a", {"a": 1, "b": 2}, "params names 'b'"),
    "no mapping": ("SELECT :a", [1], "params must map names to values"),
    "no name": ("SELECT :a", {1: 2}, "a parameter cannot be called 1"),
    "no value that is bound": ("SELECT :a", {"a": object()}, "parameter 'a' is object"),
    "a list outside IN": ("SELECT :a", {"a": [1]}, "after IN alone"),
    "a name in its place": ("SELECT id FROM :t", {"t": "visits"}, "no value can be bound"),
    "the mark": ("SELECT '\ue0f7'", None, "U+E0F7"),
    "no text": (7, None, "a statement is text, not int"),
}


def test_what_cannot_be_bound_is_refused(shop: SmallCore) -> None:
    for case, (sql, params, said) in UNBOUND.items():
        with pytest.raises((StatementError, DatabaseError)) as caught:
            shop.core.sql(sql, params=params)  # type: ignore[arg-type]  # the point
        assert said in caught.value.message or isinstance(caught.value, DatabaseError), case


def test_a_limit_of_rows_is_a_whole_number(shop: SmallCore) -> None:
    for limit in (-1, 1.5, "3", True):
        with pytest.raises(LimitError, match="whole number"):
            shop.core.sql("SELECT 1", row_limit=limit)  # type: ignore[arg-type]  # the point


def test_the_database_is_named_or_the_only_one(shop: SmallCore) -> None:
    for database in (None, 1, "shop"):
        assert shop.core.sql("SELECT 1", database=database).rowcount == 1
    with pytest.raises(DatabaseNotFoundError, match="did you mean 'shop'"):
        shop.core.sql("SELECT 1", database="shopp")
    with pytest.raises(QueryError, match="no database that you may read"):
        shop.reader(username="nobody").sql("SELECT 1")


def test_a_schema_stands_before_tables_that_name_none(shop: SmallCore) -> None:
    sql = "WITH visits AS (SELECT 1 AS id) SELECT id FROM visits UNION SELECT MAX(id) FROM (SELECT id FROM visits v) t"
    assert shop.core.sql.explain(sql, schema="main").tables == ()
    assert shop.core.sql.explain("SELECT id FROM visits", schema="main").tables == ("main.visits",)
    with pytest.raises(DatabaseError):
        shop.core.sql("SELECT id FROM visits", schema="nowhere")


PROBLEMS: dict[str, list[tuple[Any, ...]]] = {
    "SELECT id, page FROM visits v WHERE v.people > 1 ORDER BY page": [],
    "SELECT peeple FROM visits": [(1, 8, ("people",))],
    "SELECT id,\n  v.pagee\nFROM visits v": [(2, 5, ("page",))],
    "SELECT id FROM visit": [(1, 16, ("visits",))],
    "SELECT id FROM visits ORDER BY nothing": [(1, 32, ())],
    "SELECT people AS p FROM visits GROUP BY p HAVING p > 1 ORDER BY p": [],
    "WITH c AS (SELECT id AS i FROM visits) SELECT i, id FROM c": [(1, 50, ("i",))],
    "WITH c(a) AS (SELECT id FROM visits) SELECT a, id FROM c": [(1, 48, ())],
    "SELECT 1 FROM visits a WHERE EXISTS (SELECT 1 FROM visits b WHERE b.id = a.idd)": [(1, 76, ("id",))],
    "SELECT * FROM (SELECT * FROM visits) t WHERE t.anything = 1": [],
    "SELECT rowid FROM visits": [],
    "SELECT id FROM visits WHERE page IN :pages AND people > :n": [],
    "SELECT {{ 1 + 1 }} AS two, peeple FROM visits": [(1, 18, ("people",))],
    "SELECT name FROM sqlite_master": [],
    "SELECT id FROM": [(1, 11, ())],
    "DELETE FROM visits": [(None, None, ())],
    "SELECT load_extension('x')": [(None, None, ())],
}


def test_problems_have_their_places_and_the_nearest_names(shop: SmallCore) -> None:
    for sql, places in PROBLEMS.items():
        found = shop.core.sql.check(sql)
        assert [(one.line, one.column, one.suggestions) for one in found] == places, (sql, found)


def test_what_has_no_problem_runs(shop: SmallCore) -> None:
    for sql in (sql for sql, places in PROBLEMS.items() if not places and "anything" not in sql and ":" not in sql):
        assert shop.core.sql(sql).colnames, sql


LINEAGE: dict[str, dict[str, tuple[str, ...]]] = {
    "SELECT page, SUM(people) AS n, 1 AS one FROM visits GROUP BY 1": {
        "page": ("visits.page",),
        "n": ("visits.people",),
        "one": (),
    },
    "WITH c AS (SELECT day, people * id AS x FROM visits) SELECT day, x FROM c": {
        "day": ("visits.day",),
        "x": ("visits.id", "visits.people"),
    },
    "SELECT a.id FROM visits a JOIN orders b ON a.id = b.id": {"id": ("visits.id",)},
}


def test_columns_are_traced_to_those_of_tables(shop: SmallCore) -> None:
    for sql, columns in LINEAGE.items():
        assert {one.column: one.sources for one in shop.core.sql.lineage(sql)} == columns, sql
    with pytest.raises(DatabaseError, match="nowhere"):
        shop.core.sql.lineage("SELECT id FROM nowhere")
    with pytest.raises(StatementError, match="no column 'x'"):
        shop.core.sql.lineage("SELECT x FROM visits")


def test_a_statement_is_laid_out_and_means_the_same(shop: SmallCore) -> None:
    sql = "select page, -- of the site\n count(*) as n from visits where people>1 group by page"
    laid_out = shop.core.sql.format(sql)
    assert laid_out.splitlines()[:3] == ["SELECT", "  page, /* of the site */", "  COUNT(*) AS n"]
    assert shop.core.sql(laid_out).rows() == shop.core.sql(sql).rows()
    with pytest.raises(StatementError):
        shop.core.sql.format("SELECT 'open")


CHARTS = {
    "line": ("SELECT day, SUM(people) AS n FROM visits GROUP BY day", "Line chart of n by day"),
    "bar": ("SELECT page, people AS n FROM visits", "Bar chart of n by page"),
    "area": ("SELECT day, page, people AS n FROM visits", "2 series (home, shop's)"),
    "pie": ("SELECT page, SUM(people) AS n FROM visits GROUP BY page", "Pie"),
    "big_number": ("SELECT SUM(people) AS n FROM visits", "12"),
    "table": ("SELECT * FROM visits", "Table"),
    "heatmap": ("SELECT day, page, people AS n FROM visits", "n"),
    "histogram": ("SELECT people AS n FROM visits", "n"),
}


def test_rows_are_drawn(shop: SmallCore) -> None:
    for kind, (sql, said) in CHARTS.items():
        picture = shop.core.sql(sql).chart(kind, format="svg")
        assert picture.data.startswith(b"<svg"), kind
        assert said in picture.description, (kind, picture.description)
        assert picture.failure is None, kind


def test_columns_of_a_chart_are_chosen_and_no_rows_are_drawn_as_none(shop: SmallCore) -> None:
    two = shop.core.sql("SELECT page, people, id FROM visits")
    assert "2 series" in two.chart("bar", format="svg").description
    assert "Bar chart of people by page" in two.chart("bar", format="svg", metrics="people").description
    assert two.chart("pie", format="svg", metric="id").failure is None
    empty = shop.core.sql("SELECT page, people FROM visits WHERE 1 = 0").chart("bar", format="svg")
    assert (empty.failure, empty.data[:4]) == (None, b"<svg")


def test_an_unknown_name_comes_with_the_nearest(shop: SmallCore) -> None:
    for sql, name in {"SELECT peeple FROM visits": "people", "SELECT id FROM visit": "visits"}.items():
        with pytest.raises(DatabaseError, match=f"did you mean '{name}'"):
            shop.core.sql(sql)


def test_rows_that_a_chart_cannot_show_are_refused(shop: SmallCore) -> None:
    with pytest.raises(QueryError, match="needs a column of numbers"):
        shop.core.sql("SELECT page FROM visits").chart("bar")
    with pytest.raises(QueryError, match="x_axis, metrics, groupby"):
        shop.core.sql("SELECT page, people FROM visits").chart("bar", x="people")
    with pytest.raises(UnknownNameError, match="peeple"):
        shop.core.sql("SELECT page, people FROM visits").chart("bar", metrics=["peeple"])
    with pytest.raises(QueryError, match="needs a column of times or texts"):
        shop.core.sql("SELECT people FROM visits").chart("line")
    with pytest.raises(QueryError, match="nope"):
        shop.core.sql("SELECT page, people FROM visits").chart("nope")


def test_batches_and_frames_hold_the_same_rows(shop: SmallCore) -> None:
    sql = "SELECT id, page FROM visits ORDER BY id"
    found = shop.core.sql(sql)
    with shop.core.sql.batches(sql) as batches:
        rows = [tuple(row.values()) for batch in batches for row in batch.to_pylist()]
    assert rows == found.rows() == [tuple(row) for row in found.pandas().itertuples(index=False)]
    assert found.arrow().num_rows == len(found.polars()) == 3
    assert found.tables == ("visits",)
