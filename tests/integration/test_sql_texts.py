"""What a statement tells without running, its parameters, and the pictures of its rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import redirect_stderr
from datetime import date
from decimal import Decimal
from io import StringIO
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest
from tests.support.apart import result_apart
from tests.support.small_core import SmallCore, small_core

import analytics_core
from analytics_core.errors import (
    AnalyticsError,
    DatabaseError,
    DatabaseNotFoundError,
    LimitError,
    QueryError,
    StatementError,
    StatementRefusedError,
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
    for wrong in (True, 7, 1.0, "sales"):
        with pytest.raises(DatabaseNotFoundError, match=r"there are: shop|database 7$"):
            shop.core.sql("SELECT 1", database=wrong)  # type: ignore[arg-type]  # the point
    stranger = shop.reader(username="nobody")
    for database, said in ((None, "no database that you may read"), (1, "no access to database 1"), ("shop", "none")):
        with pytest.raises(AnalyticsError, match=said):
            stranger.sql("SELECT 1", database=database)


def test_a_schema_stands_before_tables_that_name_none(shop: SmallCore) -> None:
    sql = "WITH visits AS (SELECT 1 AS id) SELECT id FROM visits UNION SELECT MAX(id) FROM (SELECT id FROM visits v) t"
    assert shop.core.sql.explain(sql, schema="main").tables == ()
    assert shop.core.sql.explain("SELECT id FROM visits", schema="main").tables == ("main.visits",)
    with pytest.raises(DatabaseError):
        shop.core.sql("SELECT id FROM visits", schema="nowhere")


def test_an_explanation_tells_what_runs_and_which_rules_bind(tmp_path: Path) -> None:
    with small_core(tmp_path) as shop:
        dataset, reader = shop.orders(), shop.reader(("database", 1))
        role = next(one.id for one in shop.core.roles.list() if one.name == "role of reader")
        rule = {"name": "french", "clause": "country = 'France'", "filter_type": "Regular", "roles": [role]}
        shop.core.row_level_security.create({**rule, "tables": [dataset.id]})
        sql, options = "SELECT o.id FROM orders o WHERE amount > :n", {"params": {"n": 5}, "row_limit": 1_234}
        found, free = reader.sql.explain(sql, **options), shop.core.sql.explain(sql, **options)
    assert (free.sql, free.rules) == ("SELECT o.id FROM orders AS o WHERE amount > 5 LIMIT 1235", ())
    assert (free.bound_sql, free.parameters) == ("SELECT o.id FROM orders AS o WHERE amount > ? LIMIT 1235", (5,))
    assert (free.tables, free.row_limit) == (("orders",), 1_234)
    condition = """("ruled_table"."country" = 'France')"""
    assert condition in found.sql
    assert condition in found.bound_sql
    assert [(one.part, one.sql, one.origin) for one in found.rules] == [
        ("from orders", condition, "row rule: 1 'french'")
    ]
    first, second, _, last = str(found).split("\n")
    assert (first, last) == (f"from orders  {condition}    <- row rule: 1 'french'", found.sql)
    assert second == "reads: orders; at most 1,234 rows"
    summary = found._repr_mimebundle_()["text/plain"]
    assert all(text in summary for text in (condition, "row rule: 1 'french'", "1,234", found.sql)), summary


PROBLEMS: dict[str, list[tuple[Any, ...]]] = {
    "SELECT id, page FROM visits v WHERE v.people > 1 ORDER BY page": [],
    "SELECT peeple FROM visits": [(1, 8, ("people",))],
    "SELECT id,\n  v.pagee\nFROM visits v": [(2, 5, ("page",))],
    "SELECT id FROM visit": [(1, 16, ("visits",))],
    "SELECT V.PEOPLE FROM visits v": [],
    "SELECT o.people FROM visits v JOIN orders o ON o.idd = v.id": [(1, 10, ()), (1, 50, ("id",))],
    "SELECT peeple, idd FROM visits JOIN order ON 1 = 1": [(1, 37, ("orders",))],
    "SELECT visit.id FROM visits": [(1, 8, ("visits",))],
    "SELECT main.visits.id, (SELECT visits.id) AS same FROM visits": [],
    "SELECT id FROM main.visits WHERE idd = 1": [(1, 34, ("id",))],
    "SELECT id FROM visits UNION SELECT peeple FROM visits": [(1, 36, ("people",))],
    "SELECT (SELECT MAX(people) FROM orders WHERE peeple = 1) AS most FROM visits": [(1, 46, ("people",))],
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
    "DELETE FROM visits": [(1, 1, ())],
    "SELECT load_extension('x')": [(None, None, ())],
}


def test_problems_have_their_places_and_the_nearest_names(shop: SmallCore) -> None:
    for sql, places in PROBLEMS.items():
        found = shop.core.sql.check(sql)
        assert [(one.line, one.column, one.suggestions) for one in found] == places, (sql, found)


def test_what_is_no_single_query_is_sent_to_execute(shop: SmallCore) -> None:
    for sql in ("DELETE FROM visits", "CREATE TABLE x (a INT)", "EXPLAIN SELECT 1", "SELECT 1; SELECT 2"):
        with pytest.raises((StatementError, StatementRefusedError), match=r"core\.sql\.execute takes scripts"):
            shop.core.sql(sql)


def _printed(file: str) -> str:
    """Run a path into JSON that the parser does not know, in a process without any handler of logs."""
    with redirect_stderr(StringIO()) as printed, analytics_core.connect(file) as core:
        core.sql("""SELECT '{"b": [1, 2]}' ->> '$.b[#-1]' AS last""")
    return printed.getvalue()


def test_nothing_is_printed(shop: SmallCore) -> None:
    assert result_apart(_printed, str(shop.file)) == ""


def test_a_problem_lists_the_names_that_there_are(shop: SmallCore) -> None:
    (problem,) = shop.core.sql.check("SELECT x FROM (SELECT id, day FROM visits)")
    assert problem.message.endswith("there are: day, id")


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
    "SELECT id FROM visits UNION ALL SELECT people FROM visits": {"id": ("visits.id", "visits.people")},
    "SELECT * FROM orders": {name: (f"orders.{name}",) for name in ("id", "day", "country", "amount")},
    "SELECT page FROM main.visits WHERE page = :p": {"page": ("main.visits.page",)},
    "SELECT v.page, o.amount FROM main.visits v JOIN orders o ON o.id = v.id": {
        "page": ("main.visits.page",),
        "amount": ("orders.amount",),
    },
    "VALUES (1)": {},
}


def test_columns_are_traced_to_those_of_tables(shop: SmallCore) -> None:
    for sql, columns in LINEAGE.items():
        assert {one.column: one.sources for one in shop.core.sql.lineage(sql)} == columns, sql
    with pytest.raises(DatabaseError, match="nowhere"):
        shop.core.sql.lineage("SELECT id FROM nowhere")
    for sql, said in {
        "SELECT x FROM visits": "no column 'x'",
        "SELECT visit.id FROM visits": "no table or column 'visit'",
        "SELECT name FROM sqlite_master": "a relation of the engine itself",
    }.items():
        with pytest.raises(StatementError, match=said):
            shop.core.sql.lineage(sql)


def test_a_statement_is_laid_out_and_means_the_same(shop: SmallCore) -> None:
    sql = "select page, -- of the site\n count(*) as n from visits where people>1 group by page"
    laid_out = shop.core.sql.format(sql)
    assert laid_out.splitlines()[:3] == ["SELECT", "  page, /* of the site */", "  COUNT(*) AS n"]
    assert shop.core.sql(laid_out).rows() == shop.core.sql(sql).rows()
    assert shop.core.sql.format("select 1; select 2").split() == ["SELECT", "1;", "SELECT", "2"]
    for unreadable in ("SELECT 'open", "", "-- nothing"):
        with pytest.raises(StatementError):
            shop.core.sql.format(unreadable)


EXPANDED: dict[str, tuple[str, list[str]]] = {
    "fields of any row": ("""'{"a": 1}' AS o UNION ALL SELECT ' {"b": 2}'""", ["o", "o.a", "o.b"]),
    "several columns": ("""'{"a": 1}' AS o, 7 AS n, '{"a": 2}' AS p""", ["o", "o.a", "n", "p", "p.a"]),
    "a name that is taken": ("""'{"a": 1, "b": 2}' AS o, 3 AS "o.a\"""", ["o", "o.b", "o.a"]),
    "no object in one row": ("""'{"a": 1}' AS o UNION ALL SELECT 'x'""", ["o"]),
    "a list": ("'[1]' AS o", ["o"]),
    "no JSON": ("'{bad' AS o", ["o"]),
    "empty objects": ("'{}' AS o", ["o"]),
    "nothing": ("NULL AS o", ["o"]),
}


def test_columns_of_objects_alone_are_expanded(shop: SmallCore) -> None:
    for case, (columns, names) in EXPANDED.items():
        payload = {"database_id": 1, "sql": f"SELECT {columns}", "expand_data": True}
        assert [one["name"] for one in shop.core.sql.execute(payload).columns] == names, case
    sql = """SELECT '{"a": 1, "b": {"c": 2}}' AS o, 7 AS n UNION ALL SELECT NULL, 8"""
    plain, wide = (shop.core.sql.execute({"database_id": 1, "sql": sql, "expand_data": on}) for on in (False, True))
    assert [one["name"] for one in plain.columns] == ["o", "n"]
    assert [one["name"] for one in wide.columns] == ["o", "o.a", "o.b", "n"]
    assert [one["name"] for one in wide.expanded_columns] == ["o.a", "o.b"]
    assert [(row["o.a"], row["n"]) for row in wide.data] == [(1, 7), (None, 8)]


def test_twins_and_columns_without_a_name_get_names_of_their_own(shop: SmallCore) -> None:
    assert shop.core.sql('SELECT 1 AS a, 2 AS a, 3 AS "a__1", 4 AS a, 5 AS ""').colnames == (
        *("a", "a__2", "a__1", "a__3", "_col_0"),
    )


VISITS = "SELECT day, page, people AS n FROM visits"
CHARTS = [
    ("line", "SELECT day, SUM(people) AS n FROM visits GROUP BY day", "Line chart of n by day"),
    ("line", "SELECT people AS n, id FROM visits", "Line chart of id by n"),
    ("bar", "SELECT page, people AS n FROM visits", "Bar chart of n by page"),
    ("bar", "SELECT page, NULL AS n FROM visits", "All values are null"),
    ("area", VISITS, "2 series (home, shop's) by day"),
    ("pie", VISITS, "Pie chart of n by day, page: 3 parts of 12 in all"),
    ("sunburst", VISITS, "Sunburst of n by day, page"),
    ("radar", "SELECT page, id, people, id + 1 AS more FROM visits", "Radar of id, people, more for 3 groups"),
    ("big_number", "SELECT SUM(people) AS n FROM visits", "Big number: n is 12"),
    ("table", "SELECT * FROM visits", "Table of 3 rows: id, day, page, people"),
    ("heatmap", VISITS, "Heatmap of n by day (2) and page (2)"),
    ("histogram", VISITS, "Histogram of n in 20 bins"),
    ("pivot_table", VISITS, "Pivot table of n (Sum): 3 rows by 1 column"),
]


def test_rows_are_drawn(shop: SmallCore) -> None:
    for kind, sql, said in CHARTS:
        picture = shop.core.sql(sql).chart(kind, format="svg")
        assert picture.data.startswith(b"<svg"), kind
        assert said in picture.description, (kind, picture.description)
        assert picture.failure is None, kind
    assert b">home<" in shop.core.sql(VISITS).chart("histogram", format="svg").data  # bins of each page


CHOSEN: list[tuple[dict[str, Any], str]] = [
    ({}, "Bar chart of 4 series (id, home, id, shop's, n, home, n, shop's) by day"),
    ({"metrics": "n"}, "Bar chart of 2 series (home, shop's) by day"),
    ({"metric": "id", "groupby": []}, "Bar chart of id by day"),
    ({"metrics": ["n"], "x_axis": "page"}, "Bar chart of 2 series (2024-01-01, 2024-01-02) by page"),
    ({"metrics": "n", "groupby": "day"}, "Bar chart of 2 series (2024-01-01, 2024-01-02) by page"),
    ({"metrics": "n", "x_axis": "id", "groupby": ["page"]}, "Bar chart of 2 series (home, shop's) by id"),
    ({"x_axis": "id", "groupby": []}, "Bar chart of n by id"),
]


def test_columns_of_a_chart_are_chosen_and_the_others_are_what_is_left(shop: SmallCore) -> None:
    found = shop.core.sql("SELECT day, page, id, people AS n FROM visits")
    for chosen, said in CHOSEN:
        assert found.chart("bar", format="svg", **chosen).description.startswith(said), chosen
    two = shop.core.sql("SELECT id, people FROM visits")
    assert two.chart("bar", format="svg", metric="id").description.startswith("Bar chart of id by people")
    assert two.chart("bar", format="svg", x_axis="people").description.startswith("Bar chart of id by people")


def test_a_picture_has_the_look_that_was_asked_for_and_no_rows_are_drawn_as_none(shop: SmallCore) -> None:
    found = shop.core.sql("SELECT page, people FROM visits")
    picture = found.chart("bar", format="svg", title="Visits", width_px=400, height_px=300, show_legend=False)
    assert (picture.format, picture.width_px, picture.height_px) == ("svg", 400, 300)
    assert picture.description.startswith("Visits. Bar chart")
    assert found.chart().format == "png"
    empty = shop.core.sql("SELECT page, people FROM visits WHERE 1 = 0").chart("bar", format="svg")
    assert (empty.failure, empty.description) == (None, "No data: The answer has no rows.")


def test_the_first_column_of_times_is_the_axis(tmp_path: Path) -> None:
    times = "(VALUES ('home', TIMESTAMP '2024-01-01', 3), ('shop', TIMESTAMP '2024-01-02', 4)) AS v(page, day, n)"
    duckdb.connect(tmp_path / "ducks.db").close()
    with small_core(tmp_path) as shop:
        shop.core.databases.create({"database_name": "ducks", "orm_uri": f"duckdb:///{tmp_path / 'ducks.db'}"})
        for kind, columns, said in (
            ("line", "page, day, n", "Line chart of 2 series (home, shop) by day from 2024-01-01 to 2024-01-02"),
            ("big_number", "day, n", "Big number with a trend: n is 4 (2024-01-02)"),
        ):
            picture = shop.core.sql(f"SELECT {columns} FROM {times}", database="ducks").chart(kind, format="svg")
            assert picture.description.startswith(said), picture.description
        with pytest.raises(QueryError, match="name the one that is meant by database=: ducks, shop"):
            shop.core.sql("SELECT 1")


def test_an_unknown_name_comes_with_the_nearest(shop: SmallCore) -> None:
    for sql, name in {"SELECT peeple FROM visits": "people", "SELECT id FROM visit": "visits"}.items():
        with pytest.raises(DatabaseError, match=f"did you mean '{name}'"):
            shop.core.sql(sql)


UNSHOWN: list[tuple[str, str, dict[str, Any], str]] = [
    ("bar", "SELECT page FROM visits", {}, "needs a column of numbers"),
    ("bar", VISITS, {"x": "people"}, "x_axis, metrics, groupby"),
    ("bar", VISITS, {"row_limit": 5}, "row_limit would ask for others"),
    ("bar", VISITS, {"metrics": ["peeple"]}, "peeple"),
    ("line", "SELECT people FROM visits", {}, "needs a column of times or texts"),
    (
        "pie",
        "SELECT page, id, people FROM visits",
        {},
        "one column of numbers, and the statement gave id, people",
    ),
    ("heatmap", "SELECT page, people FROM visits", {}, "needs two columns beside the number"),
    ("heatmap", "SELECT page, day, 'x' AS x, people FROM visits", {}, "needs two columns beside the number"),
    ("big_number", "SELECT page, people FROM visits", {}, "shows one number, or one along time"),
    ("nope", VISITS, {}, "nope"),
    ("bar", VISITS, {"format": "gif"}, "gif"),
]


def test_rows_that_a_chart_cannot_show_are_refused(shop: SmallCore) -> None:
    for kind, sql, options, said in UNSHOWN:
        with pytest.raises(QueryError, match=said):
            shop.core.sql(sql).chart(kind, **options)


def test_a_stream_has_a_cap_of_its_own() -> None:
    rows = [{"id": number} for number in range(5)]
    with analytics_core.connect(rows, max_row_limit=2, default_row_limit=1, stream_row_limit=4) as core:
        counts = []
        for most in (None, 3, 9):
            with core.sql.batches("SELECT id FROM data", row_limit=most) as batches:
                counts.append(sum(batch.num_rows for batch in batches))
        assert counts == [4, 3, 4]
        assert len(core.sql("SELECT id FROM data", row_limit=9).rows()) == 2


def test_batches_frames_and_files_hold_the_same_rows(shop: SmallCore, tmp_path: Path) -> None:
    sql = "SELECT id, page FROM visits ORDER BY id"
    found = shop.core.sql(sql)
    with shop.core.sql.batches(sql) as batches:
        rows = [tuple(row.values()) for batch in batches for row in batch.to_pylist()]
    assert rows == found.rows() == [tuple(row) for row in found.pandas().itertuples(index=False)]
    assert found.arrow().num_rows == len(found.polars()) == 3
    assert found.tables == ("visits",)
    csv = b"\xef\xbb\xbfid,page\n1,home\n2,home\n3,shop's\n"
    assert (found.to_csv(), found.to_csv(tmp_path / "visits.csv")) == (csv, None)
    assert (tmp_path / "visits.csv").read_bytes() == csv


NESTED: dict[str, Any] = {
    "ROW(1, 'x')": "(1, x)",
    "[ROW(1.5::DECIMAL(5, 2), NULL)]": "[(1.50, NULL)]",
    "{'a': ROW([1])}": "{'a': ([1])}",
    "{'a b': 1, 'c': {'d': [2]}}": {"a b": 1, "c": {"d": [2]}},
    "[DATE '2024-01-01']": "[2024-01-01]",
}


def test_rows_without_names_of_fields_come_as_text_of_duckdb() -> None:
    with analytics_core.connect("duckdb://") as core:
        assert {sql: core.sql(f"SELECT {sql} AS v").rows()[0][0] for sql in NESTED} == NESTED
