"""Questions in one line on four engines: their answers beside SQL written by hand, under the rights of who asks."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import UTC, date, datetime
from typing import Any

import pandas as pd
import pytest
from tests.support.cases import for_each
from tests.support.filtered_dashboard import (
    COLUMNS,
    ENGINES,
    VISITS,
    FilteredDashboard,
    filtered_dashboard,
    url_of,
)

import analytics_core
from analytics_core import AnalyticsCore, DatasetHandle, DatasetQuery
from analytics_core._content.pictures.data import picture_data
from analytics_core._notebook.builder.forms import SHAPES
from analytics_core.errors import (
    AccessError,
    AnalyticsError,
    DatasetAccessError,
    FragmentError,
    GuestAccessError,
    NotFoundError,
    UnknownColumnError,
)

NOW = datetime(2024, 4, 1, tzinfo=UTC)
Question = Callable[[DatasetHandle], DatasetQuery]
MONTH = "strftime('%Y-%m-01', day)"
SPRING = "day >= '2024-01-01' AND day < '2024-04-01'"


@pytest.fixture(scope="module", params=ENGINES)
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FilteredDashboard]:
    with filtered_dashboard(url_of(request, tmp_path_factory.mktemp("asked"))) as made:
        made.world.admin.datasets.update(made.dataset, {"main_dttm_col": "day"})
        yield made


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FilteredDashboard]:
    """The same on SQLite alone, for what no engine decides."""
    with filtered_dashboard(f"sqlite:///{tmp_path_factory.mktemp('one')}/shop.db") as made:
        made.world.admin.datasets.update(made.dataset, {"main_dttm_col": "day"})
        yield made


@pytest.fixture
def core(one: FilteredDashboard) -> AnalyticsCore:
    return one.world.admin.as_of(NOW)


def answered(query: DatasetQuery) -> list[tuple[Any, ...]]:
    """The rows of a query, and a check that no part of its payload is left unread."""
    strict = query._charts.data(query.payload(), strict=True).raise_for_error()
    found = query.run().results[0].rows()
    assert strict.results[0].rows() == found
    return [tuple(map(_plain, row)) for row in found]


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, str):
        return value
    return value.strftime("%Y-%m-%d") if isinstance(value, date) else round(float(value), 6)


def by_hand(statement: str) -> list[tuple[Any, ...]]:
    """The rows that SQL written by hand gives on a copy of the table."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f"CREATE TABLE visits ({', '.join(COLUMNS)})")
        connection.executemany(f"INSERT INTO visits VALUES ({', '.join('?' * len(COLUMNS))})", VISITS)
        return [tuple(map(_plain, row)) for row in connection.execute(statement).fetchall()]


QUESTIONS: list[tuple[Question, str]] = [
    (
        lambda v: v.query("revenue").by("city").top(3),
        "SELECT city, SUM(amount) FROM visits GROUP BY city ORDER BY 2 DESC LIMIT 3",
    ),
    (
        lambda v: v.query("amount", v.count(), v.avg.amount).by("region").where(v.c.region.not_null()).order("region"),
        "SELECT region, SUM(amount), COUNT(*), AVG(amount) FROM visits WHERE region IS NOT NULL GROUP BY 1 ORDER BY 1",
    ),
    (
        lambda v: v.query(v.count_distinct.city, v.max.day).where((v.c.region == "north") | (v.c.region == None)),  # noqa: E711
        "SELECT COUNT(DISTINCT city), MAX(day) FROM visits WHERE region = 'north' OR region IS NULL",
    ),
    (
        lambda v: (
            v.query("revenue").by("city").where((v.c.amount >= 30) & ~v.c.city.like("U%")).order("-revenue", "city")
        ),
        "SELECT city, SUM(amount) FROM visits WHERE amount >= 30 AND city NOT LIKE 'U%' GROUP BY 1 ORDER BY 2 DESC, 1",
    ),
    (
        lambda v: v.query("revenue").by("tenant").having(v.sum.amount > 200, v.m.revenue < 1000),
        "SELECT tenant, SUM(amount) FROM visits GROUP BY 1 HAVING SUM(amount) > 200 AND SUM(amount) < 1000",
    ),
    (
        lambda v: v.query("revenue").during("2024-01-01 : 2024-04-01", grain="month"),
        f"SELECT {MONTH}, SUM(amount) FROM visits WHERE {SPRING} GROUP BY 1 ORDER BY 1",
    ),
    (
        lambda v: v.query("revenue").during("Last quarter", grain="P1M").cumulative(),
        f"SELECT month, SUM(total) OVER (ORDER BY month) FROM (SELECT {MONTH} AS month, SUM(amount) AS total "
        f"FROM visits WHERE {SPRING} GROUP BY 1) ORDER BY 1",
    ),
    (
        lambda v: v.query("revenue").by("tenant").during("Last quarter", grain="month").pivot("tenant", fill=0),
        f"""SELECT {MONTH}, SUM(CASE WHEN tenant = 'acme' THEN amount ELSE 0 END),
                   SUM(CASE WHEN tenant = 'globex' THEN amount ELSE 0 END)
            FROM visits WHERE {SPRING} GROUP BY 1 ORDER BY 1""",
    ),
    (
        lambda v: v.query("revenue").during("2024-02-01 : 2024-03-01").compare("1 month ago"),
        """SELECT SUM(CASE WHEN day >= '2024-02-01' THEN amount END), SUM(CASE WHEN day < '2024-02-01' THEN amount END)
           FROM visits WHERE day >= '2024-01-01' AND day < '2024-03-01'""",
    ),
    (
        lambda v: v.query("revenue").by("tenant").share(),
        "SELECT tenant, 1.0 * SUM(amount) / (SELECT SUM(amount) FROM visits) FROM visits GROUP BY 1 ORDER BY 1",
    ),
    (
        lambda v: v.query("revenue").by("city").top(2).others(),
        """SELECT CASE WHEN city IN ('Pisa', 'Rome') THEN city ELSE 'Others' END AS shown, SUM(amount) FROM visits
           GROUP BY 1 ORDER BY 2 DESC, 1""",
    ),
    (
        lambda v: v.query("revenue").by("city").during("Last quarter", grain="month").top(2).order("day", "city"),
        f"SELECT {MONTH}, city, SUM(amount) FROM visits WHERE {SPRING} AND city IN ('Oslo', 'Rome') GROUP BY 1, 2 "
        "ORDER BY 1, 2",
    ),
    (
        lambda v: v.query().raw("id", "city").where(v.c.paid.during("2024-04-01 : 2024-06-01")).order("-id").limit(2),
        """SELECT id, city FROM visits WHERE paid >= '2024-04-01' AND paid < '2024-06-01' ORDER BY id DESC LIMIT 2""",
    ),
    (
        lambda v: v.query("revenue").by(v.c.paid.grain("month")).as_time("paid").during("2024-05-01 : 2024-07-01"),
        """SELECT strftime('%Y-%m-01', paid), SUM(amount) FROM visits WHERE paid >= '2024-05-01' AND paid < '2024-07-01'
           GROUP BY 1 ORDER BY 1""",
    ),
    (
        lambda v: (
            v.query(v.sql("SUM(amount) * 2", label="twice"))
            .by(v.sql("UPPER(tenant)", label="who"))
            .where(v.sql("id > 1 OR amount > 10"), v.c.day >= date(2024, 2, 12))
        ),
        """SELECT UPPER(tenant), SUM(amount) * 2 FROM visits WHERE (id > 1 OR amount > 10) AND day >= '2024-02-12'
           GROUP BY 1 ORDER BY 1""",
    ),
    (
        lambda v: v.query(v.sum.amount / v.count(), v.m.revenue - 3 * v.count(), v.sum(v.c.amount * v.c.id)).by(
            "tenant"
        ),
        """SELECT tenant, 1.0 * SUM(amount) / COUNT(*), SUM(amount) - 3 * COUNT(*), SUM(amount * id) FROM visits
           GROUP BY 1 ORDER BY 1""",
    ),
    (
        lambda v: v.query(v.count() / 3, v.count() / (v.count() - 5)).by("tenant").having(v.count() / 2 >= 1.5),
        """SELECT tenant, COUNT(*) / 3.0, 1.0 * COUNT(*) / NULLIF(COUNT(*) - 5, 0) FROM visits
           GROUP BY 1 HAVING COUNT(*) >= 3 ORDER BY 1""",
    ),
    (
        lambda v: v.query("revenue").by("city").where(v.c.paid > v.c.day, v.c.amount - 10 * v.c.id < 30).order("city"),
        """SELECT city, SUM(amount) FROM visits WHERE paid > day AND amount - 10 * id < 30 GROUP BY 1
           ORDER BY city IS NULL, city""",
    ),
    (
        lambda v: (
            v.query("revenue").by("region", "tenant").where(v.c.region.not_null()).top(1, of="region").order("tenant")
        ),
        """SELECT region, tenant, SUM(amount) FROM visits WHERE region = 'south' GROUP BY 1, 2 ORDER BY 2""",
    ),
]


@pytest.mark.slow
@for_each(("question", "statement"), QUESTIONS)
def test_a_question_is_answered_as_sql_by_hand_is(world: FilteredDashboard, question: Question, statement: str) -> None:
    visits = world.world.admin.as_of(NOW).dataset("visits")
    assert answered(question(visits)) == by_hand(statement)


@pytest.mark.slow
def test_the_statement_of_a_query_is_the_one_that_runs(core: AnalyticsCore) -> None:
    query = core.dataset("visits").query("revenue").by("city").top(3)
    assert query.sql == query.run().results[0].query
    assert str(query.explain().queries[0].clauses[0].origin) == "payload: columns[0]"


@pytest.mark.slow
def test_a_saved_query_is_answered_as_the_query_is(core: AnalyticsCore) -> None:
    for number, (question, _) in enumerate(QUESTIONS):
        query = question(core.dataset("visits"))
        stored = query.save_as(f"question {number}")
        assert core.charts.data(stored.id).results[0].rows() == query.run().results[0].rows()


MONTHS: Question = lambda v: v.query("revenue").during("Last quarter", grain="month")  # noqa: E731
DRAWN_AS = {"smooth": "Line chart"}
CHARTS: Sequence[tuple[str, Question]] = (
    ("line", lambda v: v.query("revenue").by("tenant").during("Last quarter", grain="month").compare("1 month ago")),
    ("bar", lambda v: v.query("revenue").by("city").top(3)),
    ("pie", lambda v: v.query("revenue").by("tenant").where(v.c.amount > 10).having(v.sum.amount > 5)),
    ("heatmap", lambda v: v.query("revenue").by("tenant", "region")),
    ("pivot_table", lambda v: v.query("revenue").by("tenant", "region").pivot("region")),
    ("big_number", lambda v: v.query("revenue").during("Last quarter", grain="month")),
    ("histogram", lambda v: v.query().raw("amount")),
    ("table", lambda v: v.query().raw("id", "city").order("-id")),
    *((kind, lambda v: MONTHS(v).by("tenant")) for kind in ("area", "smooth", "step", "scatter")),
    *((kind, lambda v: v.query("revenue").by("tenant")) for kind in ("funnel", "gauge")),
    *((kind, lambda v: v.query("revenue").by("tenant", "city")) for kind in ("treemap", "sunburst")),
    ("radar", lambda v: v.query("revenue", v.count(), v.max.amount).by("tenant")),
)


@pytest.mark.slow
@for_each(("kind", "question"), CHARTS)
def test_a_chart_is_stored_and_answered_as_it_is_asked(core: AnalyticsCore, kind: str, question: Question) -> None:
    chart = question(core.dataset("visits")).chart(kind)
    found = chart.run().results[0]
    assert found.rowcount > 0
    assert found.notes == ()
    stored = chart.save_as(f"a {kind}")
    assert core.charts.data(stored.id).results[0].rows() == found.rows()
    assert stored.viz_type == chart.form_data["viz_type"]
    bundle = chart._repr_mimebundle_()
    assert {"image/svg+xml", "image/png"} & bundle.keys()
    assert chart.picture(format="svg").description.startswith(DRAWN_AS.get(kind, kind.replace("_", " ").capitalize()))


def test_every_kind_is_drawn() -> None:
    assert {kind for kind, _ in CHARTS} == {*SHAPES, "table"}


def test_a_bar_chart_has_its_bars_in_the_order_of_the_question(core: AnalyticsCore) -> None:
    visits = core.dataset("visits")
    query = visits.query("revenue").by("city").top(3)
    assert query.chart("bar").run().results[0].rows() == query.run().results[0].rows()


ROWS_OF_CHARTS: Sequence[tuple[str, Question]] = (
    *((kind, lambda v: v.query("revenue").by("city").top(2).others()) for kind in ("bar", "line", "area", "scatter")),
    *((kind, lambda v: v.query("revenue").by("city").order("-revenue").top(2)) for kind in ("smooth", "step", "bar")),
    *(
        (kind, lambda v: v.query("revenue").by("city").order("revenue").limit(2))
        for kind in ("bar", "radar", "treemap")
    ),
    *((kind, lambda v: v.query("revenue").by("city").top(2)) for kind in ("treemap", "sunburst", "gauge", "funnel")),
    ("pivot_table", lambda v: v.query("revenue").by("city").order("revenue").limit(2).offset(1)),
)


@for_each(("kind", "question"), ROWS_OF_CHARTS)
def test_a_chart_shows_the_rows_of_its_question(core: AnalyticsCore, kind: str, question: Question) -> None:
    query = question(core.dataset("visits"))
    assert query.chart(kind).run().results[0].rows() == query.run().results[0].rows()


def test_the_least_parts_of_a_question_are_those_of_its_pie(core: AnalyticsCore) -> None:
    query = core.dataset("visits").query("revenue").by("city").order("revenue").limit(2)
    parts = [row[:2] for row in query.chart("pie").run().results[0].rows()]
    assert parts == query.run().results[0].rows()


def test_values_of_an_axis_are_chosen_with_all_of_their_series(core: AnalyticsCore) -> None:
    query = core.dataset("visits").query("revenue").by("city", "tenant").top(2, of="city")
    cells = query.pivot("tenant").pandas().set_index("city").sum(axis=1)
    bars = query.chart("bar").pandas().set_index("city").sum(axis=1)
    assert bars.to_dict() == pytest.approx(cells.to_dict())


def test_a_line_of_more_than_ten_thousand_points_has_all_of_them_in_order_of_time() -> None:
    hours = pd.DataFrame({"hour": pd.date_range("2023-01-01", periods=10_050, freq="h"), "value": range(10_050, 0, -1)})
    with analytics_core.connect(hours) as core:
        query = core.dataset().query("value").during(grain="hour")
        assert query.chart("line").run().results[0].rows() == query.run().results[0].rows()


NOT_ADDED_UP: Sequence[tuple[str, Question]] = (
    ("AVG(amount)", lambda v: v.query(v.avg.amount)),
    ("COUNT_DISTINCT(city)", lambda v: v.query(v.count_distinct.city)),
    ("revenue / count", lambda v: v.query(v.m.revenue / v.count())),
)


@pytest.mark.parametrize(("label", "question"), NOT_ADDED_UP)
def test_sums_of_what_does_not_add_up_are_told(core: AnalyticsCore, label: str, question: Question) -> None:
    cells = question(core.dataset("visits")).by("tenant", "region").pivot("region", totals=True)
    running = question(core.dataset("visits")).by("tenant").cumulative()
    for query, place in ((cells, "the totals"), (cells.chart("pivot_table"), "the totals"), (running, "the running")):
        (note,) = query.run().results[0].notes
        assert place in note
        assert repr(label) in note
        (picture_note,) = picture_data(query.run())[0].notes
        assert picture_note.casefold() == f"{note.casefold()}."


def test_sums_of_what_adds_up_are_not_told(core: AnalyticsCore) -> None:
    visits = core.dataset("visits")
    query = visits.query("revenue", visits.count()).by("tenant", "region")
    assert query.pivot("region", totals=True).run().results[0].notes == ()
    assert query.pivot("region", totals=True).chart("pivot_table").run().results[0].notes == ()


def test_the_total_of_greatest_values_is_the_greatest(core: AnalyticsCore) -> None:
    visits = core.dataset("visits")
    greatest = visits.query(visits.max.amount).run().results[0].rows()[0][0]
    found = visits.query(visits.max.amount).by("tenant", "region").pivot("region", totals=True).run().results[0]
    assert found.rows()[-1][-1] == greatest
    assert found.notes == ()


# ------------------------------------------------------------------------------------------------ rights of who asks
def test_a_reader_gets_the_rows_that_their_rules_leave(one: FilteredDashboard) -> None:
    visits = one.reader.dataset("visits")
    assert answered(visits.query("revenue").by("tenant")) == by_hand(
        "SELECT tenant, SUM(amount) FROM visits WHERE tenant = 'acme' GROUP BY 1"
    )


def test_a_reader_learns_nothing_of_datasets_that_are_not_theirs(one: FilteredDashboard) -> None:
    with pytest.raises(NotFoundError) as refused:
        one.reader.dataset("secret")
    assert str(refused.value).startswith("there is no dataset 'secret' (there are: visits; a frame")
    with pytest.raises(NotFoundError, match="did you mean 'secrets'"):
        one.world.admin.dataset("secret")
    with pytest.raises(DatasetAccessError):
        one.reader.dataset(2)


def test_a_right_that_is_taken_away_counts_for_what_was_made_before(one: FilteredDashboard) -> None:
    admin = one.world.admin
    role = admin.roles.create({"name": "passing"})
    admin.roles.grant(role, on=("dataset", one.dataset))
    person = admin.users.create({"username": "passing", "roles": [role.id]})
    query = one.world.host.as_user(person.id).dataset("visits").query("revenue")
    query.run()
    admin.users.update(person.id, {"roles": []})
    with pytest.raises(AccessError):
        query.run()


BEYOND_THE_RULE = (
    ("1 = 1 OR 1 = 1", True, True),
    ("1 = 1) OR (1 = 1", True, False),
    ("1 = 1) OR (1 = 1 --", True, False),
    ("tenant = 'globex' OR TRUE", True, True),
    ("1 = 1 UNION SELECT 1", False, False),
    ("EXISTS (SELECT 1 FROM secrets)", False, False),
    ("1 = 1; DROP TABLE visits", False, False),
    ("'{{ dataset(2) }}' <> ''", False, False),
)
"""Texts, and whether each is answered as a condition, and inside of a metric; all else is refused."""


@for_each(("text", "as_condition", "in_metric"), BEYOND_THE_RULE)
def test_sql_of_a_reader_leads_to_no_rows_that_are_not_theirs(
    one: FilteredDashboard, text: str, as_condition: bool, in_metric: bool
) -> None:
    visits = one.reader.dataset("visits")
    total = visits.sum(visits.sql(f"CASE WHEN {text} THEN amount ELSE 0 END")).label("total")
    condition = visits.query("revenue").by("tenant").where(visits.sql(text))
    for query, is_answered in ((condition, as_condition), (visits.query(total).by("tenant"), in_metric)):
        if is_answered:
            assert answered(query) == [("acme", 150)]
            continue
        with pytest.raises((AccessError, FragmentError)):
            answered(query)


@pytest.mark.parametrize("label", ['a" FROM secrets --', "x'); DROP TABLE visits; --", "`a` [b] %s :c {{ 1 }}"])
def test_a_label_is_a_name_whatever_it_holds(one: FilteredDashboard, label: str) -> None:
    visits = one.reader.dataset("visits")
    query = visits.query(visits.sum.amount.label(label)).by("tenant").order(f"-{label}")
    assert query.run().results[0].colnames == ("tenant", label)
    assert answered(query) == [("acme", 150)]


def test_guests_ask_no_questions_of_their_own(one: FilteredDashboard) -> None:
    guest = one.world.guest("acme")
    with pytest.raises(GuestAccessError):
        guest.dataset("visits")  # type: ignore[attr-defined]
    handed = DatasetHandle(one.world.admin.datasets.get(one.dataset), guest.charts)  # type: ignore[arg-type]
    query = handed.query("revenue").where(handed.sql("1 = 1"))
    for attempt in (query.run, query.explain, lambda: query.save_as("own"), query.chart("pie").payload):
        with pytest.raises(GuestAccessError):
            attempt()


def test_a_core_with_one_dataset_needs_no_name(one: FilteredDashboard) -> None:
    assert one.reader.dataset().name == "visits"


@pytest.mark.slow
def test_a_column_that_is_gone_is_told_when_an_older_object_asks(one: FilteredDashboard) -> None:
    admin = one.world.admin
    copy = admin.datasets.create({"database": 1, "table_name": "copies", "sql": "SELECT id, city FROM visits"})
    query = admin.dataset("copies").query(admin.dataset("copies").count()).by("city")
    query.run()
    columns = [{"id": c.id, "column_name": c.column_name} for c in copy.columns if c.column_name != "city"]
    admin.datasets.update(copy.id, {"columns": columns})
    with pytest.raises(UnknownColumnError):
        query.run()
    admin.datasets.delete(copy.id)


@pytest.mark.slow
def test_the_picture_of_a_question_that_fails_is_its_error_and_a_display_shows_it(core: AnalyticsCore) -> None:
    visits = core.dataset("visits")
    chart = visits.query(visits.sql("SUM(nothing_of_the_kind)", label="x")).by("tenant").chart("pie")
    with pytest.raises(AnalyticsError):
        chart.picture(format="svg")
    assert "no answer" in str(chart._repr_mimebundle_())
