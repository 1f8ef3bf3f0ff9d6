"""Arbitrary query contexts for hypothesis: sound ones, and sound ones with something broken or hostile in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

COLUMNS = ("id", "city", "quantity", "price", "weight", "is_paid", "ordered_at", "shipped_on", "note")
METRICS = ("count", "total", "half")

HOSTILE = (
    "1; DROP TABLE orders",
    "1) OR (1=1",
    "1=1) --",
    "1 = 1 OR visible = 0",
    "1 UNION SELECT secret FROM vault",
    "(SELECT secret FROM vault)",
    "(SELECT secret FROM vault LIMIT 1) IS NOT NULL",
    "EXISTS (SELECT 1 FROM vault WHERE secret LIKE 's%')",
    "id IN (SELECT id FROM vault)",
    "vault.secret",
    "sqlite_version()",
    "load_extension('x')",
    "readfile('/etc/passwd')",
    "read_csv('/etc/passwd')",
    "getenv('HOME')",
    "pg_sleep(10)",
    "randomblob(1000000000)",
    "' OR '1'='1",
    '" OR "1"="1',
    "\\' OR 1=1 --",
    "/*",
    "*/ OR 1=1 /*",
    "--",
    "x\x01p0\x01",
    "\x1b[2J",
    "%(p0)s",
    ":p0",
    "$p0",
    "?",
    "{{ 7 * 7 }}",
    "{{ ''.__class__.__mro__ }}",
    "{% for i in range(10**9) %}x{% endfor %}",
    "\ud800",
    "\x00",
    "('" * 40,
    "(" * 600 + "1" + ")" * 600,
    "NOT " * 300 + "TRUE",
    "CASE WHEN 1 = 1 THEN " * 60 + "1" + " END" * 60,
    "1e999",
    "9" * 400,
    "ATTACH DATABASE '/tmp/x' AS y",
    "COPY orders TO '/tmp/x'",
    "PRAGMA writable_schema = 1",
    "COUNT(*) OVER ()",
    "SUM(SUM(quantity))",
    "visible",
    "orders.visible",
    "*",
    "",
)

FRAGMENTS = (
    "quantity > 1",
    "city = 'Bonn' OR quantity IS NULL",
    "UPPER(city)",
    "quantity + 1",
    "price * quantity",
    "city LIKE 'B%'",
    "1 = 1",
    "CASE WHEN quantity > 2 THEN 'many' ELSE 'few' END",
    "COALESCE(note, 'none')",
    "quantity / 2 - 1",
    "NOT is_paid",
    "7",
    "-3",
    "1.5",
    "'x'",
    "NULL",
    "TRUE",
)
AGGREGATES = (
    "COUNT(*)",
    "SUM(quantity)",
    "AVG(price)",
    "MAX(city)",
    "COUNT(DISTINCT city)",
    "SUM(quantity) / COUNT(*)",
)
RANGES = (
    "Last week",
    "2024-01-01 : 2024-07-01",
    "No filter",
    "previous calendar month",
    "2024",
    " : now",
    "Last quarter",
)
GRAINS = ("P1D", "P1W", "P1M", "P3M", "P1Y", "PT1H", "PT10H", "1969-12-28T00:00:00Z/P1W", "P1W/1970-01-03T00:00:00Z")
OPERATORS = (
    *("==", "!=", ">", "<", ">=", "<=", "LIKE", "NOT LIKE", "ILIKE", "NOT ILIKE", "IS NULL", "IS NOT NULL"),
    *("IN", "NOT IN", "IS TRUE", "IS FALSE", "TEMPORAL_RANGE"),
)
NUMBERS = st.one_of(
    st.integers(-5, 5),
    st.sampled_from([2**31, 2**53 + 1, 2**63, -(2**63) - 1, 10**40, 10**400, 0.1, 1e308, -1e-320, 5e-324]),
    st.floats(),
)
TEXTS = st.one_of(
    st.sampled_from(["Bonn", "Köln", "", "<NULL>", "<empty string>", "\tBonn\n", "5", "true"]), st.text(max_size=6)
)
SCALARS = st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS, st.sampled_from(HOSTILE), st.sampled_from(RANGES))
JUNK = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from([*"abc", "label"]), inner, max_size=3)
    ),
    max_leaves=6,
)


def _mostly(common: st.SearchStrategy[Any], rare: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.integers(0, 29).flatmap(lambda dice: rare if dice == 29 else common)


def _optional(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=fields)


NAMES = _mostly(
    st.sampled_from(COLUMNS), st.one_of(st.sampled_from(HOSTILE), st.sampled_from(["nowhere", "Stadt", "count"]))
)
LABELS = _mostly(
    st.text("abcXYZ %?:'\"\n", min_size=1, max_size=5), st.one_of(st.text(max_size=80), st.sampled_from(HOSTILE))
)
SQL = _mostly(st.sampled_from(FRAGMENTS), st.sampled_from(HOSTILE))
CONDITIONS = SQL.map(lambda text: f"({text}) IS NOT NULL" if text in FRAGMENTS else text)
AGGREGATE_SQL = _mostly(st.sampled_from(AGGREGATES), st.sampled_from(HOSTILE))

ADHOC_COLUMNS = st.one_of(
    st.builds(lambda sql, label: {"sqlExpression": sql, "label": label, "expressionType": "SQL"}, SQL, LABELS),
    st.builds(
        lambda name, grain: {"columnType": "BASE_AXIS", "sqlExpression": name, "label": name, "timeGrain": grain},
        st.sampled_from(["ordered_at", "shipped_on", "city"]),
        st.sampled_from([None, *GRAINS]),
    ),
)
ANY_COLUMN = st.one_of(NAMES, ADHOC_COLUMNS)
ANY_METRIC = st.one_of(
    _mostly(st.sampled_from(METRICS), NAMES),
    st.builds(
        lambda sql, label: {"expressionType": "SQL", "sqlExpression": sql, "label": label}, AGGREGATE_SQL, LABELS
    ),
    st.builds(
        lambda aggregate, name: {"expressionType": "SIMPLE", "aggregate": aggregate, "column": {"column_name": name}},
        st.sampled_from(["SUM", "AVG", "MIN", "MAX", "COUNT", "COUNT_DISTINCT"]),
        NAMES,
    ),
)
ANY_VALUE = st.one_of(SCALARS, st.lists(SCALARS, max_size=4))
MOMENTS = st.sampled_from(["2024-01-01", "2024-02-03T11:30:00Z", "2023-12-31 23:59:59", 1_704_103_200_000, 0, None])
NUMBER_VALUES = st.one_of(
    st.integers(-5, 9), st.sampled_from([0.5, "3", "1.5", True, 2**31, 2**53 + 1, -(10**12), None])
)


def _filters(
    columns: tuple[str, ...], operators: tuple[str, ...], values: st.SearchStrategy[Any]
) -> st.SearchStrategy[dict[str, Any]]:
    return st.builds(
        lambda col, op, val: {"col": col, "op": op, "val": val},
        st.sampled_from(columns),
        st.sampled_from(operators),
        values,
    )


_COMPARED, _ORDERED, _LISTED = ("==", "!=", "IN", "NOT IN"), (">", "<", ">=", "<="), ("IN", "NOT IN")
SOUND_FILTERS = st.one_of(
    _filters(("city", "note"), _COMPARED, TEXTS),
    _filters(("city", "note", "quantity"), OPERATORS[6:10], TEXTS.filter(lambda text: "<NULL>" not in text)),
    _filters(("id", "quantity", "price", "weight"), _COMPARED, NUMBER_VALUES),
    _filters(("id", "quantity", "price", "weight"), _ORDERED, NUMBER_VALUES.filter(lambda value: value is not None)),
    _filters(("ordered_at", "shipped_on"), _COMPARED, MOMENTS),
    _filters(("ordered_at", "shipped_on"), _ORDERED, MOMENTS.filter(lambda value: value is not None)),
    _filters(
        ("city", "quantity", "ordered_at"), _LISTED, st.lists(st.sampled_from(["<NULL>", None]), min_size=1, max_size=2)
    ),
    _filters(("quantity", "price"), _LISTED, st.lists(NUMBER_VALUES, min_size=1, max_size=4)),
    _filters(("is_paid", "quantity"), ("IS TRUE", "IS FALSE", "IS NULL", "IS NOT NULL"), st.none()),
    _filters(("is_paid",), ("==", "!="), st.sampled_from([True, False, "true", 0, None])),
    _filters(("ordered_at", "shipped_on"), ("TEMPORAL_RANGE",), st.sampled_from(RANGES)),
)
ANY_FILTER = st.builds(
    lambda col, op, val, more: {"col": col, "op": op, "val": val, **more},
    st.one_of(NAMES, ADHOC_COLUMNS),
    st.sampled_from(OPERATORS),
    ANY_VALUE,
    _optional(grain=st.sampled_from(GRAINS)),
)
FILTERS = st.one_of(SOUND_FILTERS, SOUND_FILTERS, SOUND_FILTERS, ANY_FILTER)
COUNTS = _mostly(st.integers(0, 5), st.sampled_from([-1, 10**6, 2**63, 10**40]))
QUERIES = st.builds(
    lambda base, more: {**base, **more},
    st.fixed_dictionaries(
        {"columns": st.lists(ANY_COLUMN, min_size=1, max_size=3, unique_by=str)},
        optional={"metrics": st.one_of(st.none(), st.lists(ANY_METRIC, max_size=3, unique_by=str))},
    ),
    _optional(
        filters=st.lists(FILTERS, max_size=3),
        granularity=_mostly(st.sampled_from(["ordered_at", "shipped_on"]), NAMES),
        time_range=_mostly(st.sampled_from(RANGES), st.one_of(TEXTS, st.sampled_from(HOSTILE))),
        time_shift=_mostly(st.sampled_from(["1 year", "3 days later"]), st.sampled_from(HOSTILE)),
        time_offsets=st.lists(
            _mostly(st.sampled_from(["1 year ago", "inherit"]), st.sampled_from(HOSTILE)), max_size=1
        ),
        is_timeseries=st.booleans(),
        is_rowcount=st.booleans(),
        series_limit=COUNTS,
        series_limit_metric=ANY_METRIC,
        group_others_when_limit_reached=st.booleans(),
        order_desc=st.one_of(st.none(), st.booleans()),
        orderby=_mostly(st.just([]), st.lists(st.tuples(st.one_of(ANY_COLUMN, ANY_METRIC), st.booleans()), max_size=2)),
        row_limit=COUNTS,
        row_offset=COUNTS,
        apply_fetch_values_predicate=st.booleans(),
        groupby=st.lists(NAMES, min_size=1, max_size=2, unique=True),
        where=CONDITIONS,
        having=AGGREGATE_SQL.map(lambda text: f"{text} IS NOT NULL"),
        extras=_optional(
            where=CONDITIONS,
            having=AGGREGATE_SQL.map(lambda text: f"{text} IS NOT NULL"),
            time_grain_orm=_mostly(st.sampled_from(GRAINS), st.sampled_from(HOSTILE)),
            relative_start=st.sampled_from(["today", "now"]),
            relative_end=st.sampled_from(["today", "now"]),
        ),
        url_params=st.dictionaries(st.sampled_from("ab"), TEXTS, max_size=1),
    ),
)
RESULT_TYPES = ("full", "results", "query", "samples", "columns", "timegrains", "drill_detail", "post_processed")


def _positions(value: Any, road: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [road] if road else []
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in members:
        found += _positions(member, (*road, key))
    return found


def _replaced(value: Any, road: tuple[Any, ...], new: Any) -> Any:
    if not road:
        return new
    head, *rest = road
    changed = dict(value) if isinstance(value, dict) else list(value)
    changed[head] = _replaced(value[head], tuple(rest), new)
    return changed


def _listed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _listed(member) for key, member in value.items()}
    return [_listed(member) for member in value] if isinstance(value, list | tuple) else value


def _make_fit(draw: Callable[[st.SearchStrategy[Any]], Any], query: dict[str, Any]) -> None:
    """Let the parts of a query name what it has, mostly: drawn apart they would hardly ever fit."""
    if draw(st.integers(0, 9)) == 9:
        return
    if query.get("metrics") is None:
        for name in ("having", "time_offsets"):
            query.pop(name, None)
        query.get("extras", {}).pop("having", None)
    if query.get("is_timeseries"):
        query.setdefault("granularity", "ordered_at")
    if draw(st.booleans()):
        query["series_columns"] = draw(st.lists(st.sampled_from(query["columns"]), max_size=2))
    if draw(st.booleans()):
        keys = [*query["columns"], *(query.get("metrics") or ())]
        query["orderby"] = [[key, draw(st.booleans())] for key in draw(st.lists(st.sampled_from(keys), max_size=2))]


@st.composite
def contexts(draw: Callable[[st.SearchStrategy[Any]], Any]) -> dict[str, Any]:
    """Draw a query context; in one of four some places hold anything at all."""
    context: dict[str, Any] = {
        "datasource": draw(_mostly(st.just({"id": 1, "type": "table"}), JUNK)),
        "queries": [_listed(query) for query in draw(st.lists(QUERIES, min_size=1, max_size=2))],
        **draw(_optional(result_type=st.sampled_from(RESULT_TYPES), force=st.booleans())),
    }
    for query in context["queries"]:
        _make_fit(draw, query)
    if draw(st.integers(0, 3)) == 3:
        for _ in range(draw(st.integers(1, 2))):
            roads = [road for road in _positions(context) if road[0] == "queries"] or [("queries",)]
            context = _replaced(context, draw(st.sampled_from(roads)), draw(JUNK))
    return context
