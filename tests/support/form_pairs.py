"""The pairs in tests/golden/golden_files/forms: a form, the payload it must give, and SQL that gives the same rows.

A file holds a list of pairs. A pair has these parts:

- `name`: what is special about it; `form`: the form data, as a chart stores it.
- `payload`: the query context. Parts of it, and of its queries, that are as in `EVERY_PAYLOAD` and `EVERY_QUERY` are
  not written; one that a query lacks is null there. The `form_data` of a payload is the form.
- `sql`: for each query one statement, as a list of lines, over the tables of `make_tables`. Its rows must be those of
  the chart; in their order where the last line begins with ORDER BY.
- `differs`: the fields by which the payload is another than Superset's front end makes of the form, as its notes tell.
- `before_steps`: true where these are the rows before the post-processing.
- `no_sql`: in place of `sql`, why SQL cannot give the rows.
- `layers`: for maps of several layers, the forms of the charts by their ids.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from itertools import zip_longest
from pathlib import Path
from typing import Any

import analytics_core
from analytics_core import AnalyticsCore
from analytics_core._superset.layers import LAYERED, Layer, build_map, layer_ids
from analytics_core._superset.payload import BuiltPayload, build_payload
from analytics_core._superset.registry import ChartKinds
from analytics_core.testing.sample_data import make_shop

FOLDER = Path(__file__).parent.parent / "golden" / "golden_files" / "forms"
KINDS = ChartKinds()
TABLES = ("orders", "places", "branches")
"""The tables that the forms name by their place: `1__table` is `orders`."""

EVERY_PAYLOAD: Mapping[str, Any] = {
    "datasource": {"id": 1, "type": "table"},
    "force": False,
    "result_format": "json",
    "result_type": "full",
}
EVERY_QUERY: Mapping[str, Any] = {
    "annotation_layers": [],
    "applied_time_extras": {},
    "custom_form_data": {},
    "custom_params": {},
    "url_params": {},
    "filters": [],
    "extras": {"having": "", "where": ""},
    "series_limit": 0,
    "group_others_when_limit_reached": False,
    "order_desc": True,
}
"""What a query says where the form says nothing of it."""

_WIDTH = 118
_PLACES = """
CREATE TABLE places (id INTEGER PRIMARY KEY, order_date TIMESTAMP, country VARCHAR(80), channel VARCHAR(80),
  quantity INTEGER, amount DOUBLE, latitude DOUBLE, longitude DOUBLE, shop_latitude DOUBLE, shop_longitude DOUBLE,
  lonlat VARCHAR(80), geohash VARCHAR(80), route VARCHAR(80));
INSERT INTO places SELECT id, order_date, country, channel, quantity, amount,
  40.0 + customer_id % 5, CASE WHEN customer_id % 11 > 0 THEN 5.0 + customer_id % 3 END,
  50.0 + product_id % 3, 8.0 + product_id % 2,
  CASE WHEN customer_id % 7 > 0 THEN (5 + customer_id % 3) || ',' || (40 + customer_id % 5) END,
  CASE WHEN customer_id % 7 > 0 THEN 'u' || (customer_id % 9) END,
  CASE WHEN product_id % 5 > 0 THEN '[[8,50],[' || (product_id % 4) || ',51]]' END
FROM orders;
CREATE TABLE branches (id VARCHAR(80) PRIMARY KEY, parent VARCHAR(80), name VARCHAR(80), stock INTEGER);
INSERT INTO branches SELECT DISTINCT category, 'shop', upper(category), 0 FROM products;
INSERT INTO branches SELECT category || id, category, name, id * 3 FROM products;
"""

Pair = dict[str, Any]


def pairs_by_file() -> dict[str, list[Pair]]:
    """Return the pairs by the names of their files."""
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json"))}


def all_pairs() -> dict[str, Pair]:
    """Return the pairs by names that say where they stand."""
    return {f"{file}.json: {pair['name']}": pair for file, pairs in pairs_by_file().items() for pair in pairs}


def built(pair: Pair, form: Mapping[str, Any] | None = None) -> BuiltPayload:
    """Return what we build of the form of a pair, or of another form in its place."""
    fields = pair["form"] if form is None else form
    if fields.get("viz_type") != LAYERED:
        return build_payload(fields, KINDS)
    layers = [
        Layer(place=place, chart_id=chart_id, name=f"layer {chart_id}", form=pair["layers"][str(chart_id)])
        for place, chart_id in enumerate(layer_ids(fields))
    ]
    return build_map(fields, KINDS, layers)


def expected(pair: Pair) -> dict[str, Any]:
    """Return the payload of a pair with the parts that are not written."""
    queries = [_completed(query) for query in pair["payload"]["queries"]]
    return {**EVERY_PAYLOAD, **pair["payload"], "queries": queries, "form_data": pair["form"]}


def _completed(query: Mapping[str, Any]) -> dict[str, Any]:
    lacking = {name for name in EVERY_QUERY if name in query and query[name] is None}
    return {name: value for name, value in {**EVERY_QUERY, **query}.items() if name not in lacking}


def shortened(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return a payload without the parts that are not written."""
    nulls = dict.fromkeys(EVERY_QUERY)
    queries = [_without({**nulls, **query}, EVERY_QUERY) for query in payload["queries"]]
    own = {name: part for name, part in payload.items() if name not in ("queries", "form_data")}
    return {**_without(own, EVERY_PAYLOAD), "queries": queries}


def _without(fields: Mapping[str, Any], common: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name not in common or value != common[name]}


def write_payloads() -> None:
    """Write the payloads that we build now into the files, where they changed; forms and SQL stay as they are."""
    for file, pairs in pairs_by_file().items():
        path_of(file).write_text(f"{as_json([_updated(pair) for pair in pairs])}\n", encoding="utf-8")


def _updated(pair: Pair) -> Pair:
    payload = built(pair).payload
    if payload == expected(pair):
        return pair
    short, before = shortened(payload), pair["payload"]["queries"]
    short["queries"] = [
        {name: query[name] for name in (*(name for name in old if name in query), *query)}
        for query, old in zip_longest(short["queries"], before[: len(short["queries"])], fillvalue={})
    ]
    return {**pair, "payload": short}


def path_of(file: str) -> Path:
    """Return where the pairs of a file stand."""
    return FOLDER / f"{file}.json"


def as_json(value: Any, *, indent: int = 0, lead: int = 0) -> str:
    """Return JSON in which what fits into a line stands in one; `lead` is what stands before it in its line."""
    text = json.dumps(value, ensure_ascii=False)
    if indent + lead + len(text) <= _WIDTH or not isinstance(value, dict | list):
        return text
    inner = indent + 2
    if isinstance(value, dict):
        items = [f"{json.dumps(key)}: {as_json(part, indent=inner, lead=len(key) + 4)}" for key, part in value.items()]
    else:
        items = [as_json(item, indent=inner) for item in value]
    first, last = "{}" if isinstance(value, dict) else "[]"
    body = f",\n{' ' * inner}".join(items)
    return f"{first}\n{' ' * inner}{body}\n{' ' * indent}{last}"


def make_tables(path: Path) -> None:
    """Make the tables of the pairs as an SQLite file: the shop, its orders on a map, its products as a tree."""
    make_shop(path, days=200, orders_per_day=3)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(_PLACES)


def connected(path: Path) -> AnalyticsCore:
    """Return a core over the tables of the pairs."""
    core = analytics_core.connect(f"sqlite:///{path.as_posix()}")
    for table in TABLES:
        core.datasets.create({"database": 1, "table_name": table})
    return core
