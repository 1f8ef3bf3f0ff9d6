"""Hostile texts, every road on which a text of a person reaches a database, and what came of it."""

from __future__ import annotations

import base64
import json
import os
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.support.revealing import FRAGMENTS
from tests.support.security_world import FILE_SECRET, FRAGMENT_ROADS, HIDDEN, HIDDEN_NUMBER, World, reset

from analytics_core import AnalyticsCore
from analytics_core.errors import AnalyticsError

FOREIGN = (
    HIDDEN,
    str(HIDDEN_NUMBER),
    HIDDEN.upper(),
    HIDDEN[::-1],
    HIDDEN.encode().hex(),
    base64.b64encode(HIDDEN.encode()).decode().rstrip("="),
    FILE_SECRET,
)
"""What no answer and no error may hold, in the forms that functions give it."""

STRUCTURES = (
    "1) OR (1=1",
    "1=1 OR 1=1 --",
    "1=1; SELECT * FROM orders",
    "id > 0 UNION SELECT city FROM orders",
    "(SELECT MAX(city) FROM orders)",
    "EXISTS (SELECT 1 FROM orders o2 WHERE o2.visible = 0)",
    "id IN (SELECT id FROM orders)",
    "(SELECT secret FROM vault)",
    "id = ANY(SELECT id FROM orders)",
    "orders.*",
    "orders",
    "CAST(orders AS text)",
    "row_to_json(orders)",
    "ROW(orders.*)",
    "*",
    "COUNT(*) OVER ()",
    "MAX(city) OVER ()",
    "FIRST_VALUE(city) OVER (ORDER BY id DESC)",
    "LEAD(city) OVER (ORDER BY id)",
    "MAX(id)",
    "MAX(city)",
    "SUM(id)",
    "city || id",
    "vault.secret",
    "main.orders.city",
    "id /* ) OR 1=1 -- */ > 0",
    "id /*!50000 OR 1=1 */",
    "{{ 1 }}",
    "{% if 1 %}1{% endif %}",
    "@@version",
    "@x := 1",
    ":p",
    "?",
    "%s",
    "$1",
    "CASE WHEN city LIKE 'h%' THEN 1/(id-id) ELSE 1 END = 1",
    "NULLIF(city, '') IS NOT NULL OR visible = 0",
    "visible = 0",
    "visible = 0 OR 1 = 1",
    "NOT (visible = 1)",
    "id = 987654321",
    "\\",
    "'",
    '"',
    "`",
    "--",
    "/*",
    ";",
    "(",
    ")",
    "((((((((((",
    "",
    "\x00",
    "\u0000id",
    "id\u2028",
    "😀",
    "SELECT",
    "NULL",
    "DEFAULT",
    "current_user",
    "user",
    "version()",
    "database()",
    "VALUES (1)",
    "TABLE orders",
    'id COLLATE "nosuch"',
    "INTERVAL '1 day'",
    "CAST(city AS nosuch)",
    "nosuch(city)",
    "public.nosuch(city)",
    "LOAD_FILE('/etc/passwd')",
    "pg_read_file('/etc/passwd')",
    "read_text('/etc/passwd')",
    "readfile('/etc/passwd')",
)
HARMLESS = (
    "id > 0",
    "city = 'hidden rows; DROP TABLE orders --'",
    "city = '1) OR (1=1'",
    "city LIKE '%pg_read_file(%'",
    "UPPER(city) = 'CANARY'",
    "COALESCE(city, 'none') <> 'has_schema_privilege(x)'",
    "id BETWEEN 1 AND 10",
    "CASE WHEN id > 1 THEN 1 ELSE 0 END = 1",
    "id IN (1, 2, 3) OR city IS NULL",
    "city <> 'x::regclass'",
)


@dataclass(kw_only=True)
class Figures:
    """What was tried on one target, and what came of it."""

    tried: Counter[str] = field(default_factory=Counter)
    foreign: tuple[str, ...] = FOREIGN
    through: list[str] = field(default_factory=list)
    raw: list[str] = field(default_factory=list)

    def add(self, road: str, text: str, ask: Callable[[], str]) -> None:
        """Ask once, and look at all that comes back."""
        try:
            output = ask()
            self.tried["answered"] += 1
        except AnalyticsError as error:
            output = f"{error} {error.to_payload()} {error.__cause__!r} {error.__context__!r}"
            self.tried["refused"] += 1
        except Exception as error:
            output = repr(error)
            self.raw.append(f"{road}: {text!r}: {type(error).__name__}")
        if any(foreign in output.replace(text, "") for foreign in self.foreign) and str(HIDDEN_NUMBER) not in text:
            self.through.append(f"{road}: {text!r}")


# --------------------------------------------------------------------------------------------------------------- roads
def context(query: Mapping[str, Any], **options: Any) -> dict[str, Any]:
    return {"datasource": {"id": 1, "type": "table"}, "queries": [dict(query)], **options}


def adhoc(text: str) -> dict[str, Any]:
    return {"label": "x", "sqlExpression": text, "expressionType": "SQL"}


def _answer(core: AnalyticsCore, payload: Mapping[str, Any]) -> str:
    data = core.charts.data(payload)
    data.raise_for_error()
    return data.to_json().decode()


def _typed(result_type: str, **options: Any) -> Callable[[World, str], str]:
    def ask(world: World, text: str) -> str:
        where = context({"columns": ["id", "city"], "extras": {"where": text}}, result_type=result_type, **options)
        column = context({"columns": [adhoc(text)]}, result_type=result_type, **options)
        return _answer(world.core, where) + _answer(world.core, column)

    return ask


def _explained(world: World, text: str) -> str:
    found = [world.core.charts.explain(context({"columns": [adhoc(text)], "extras": {"where": text}}))]
    return "".join(map(str, found)).replace(text, "")


def _job(world: World, text: str) -> str:
    job = world.core.charts.submit(context({"columns": ["id", adhoc(text)]}))
    data = job.result(timeout_s=20)
    data.raise_for_error()
    return str(data.to_json().decode())


def _dashboard_job(world: World, text: str) -> str:
    """A chart that asks the text, on a dashboard whose readers add it as a value, in the background."""
    core, stored = world.core, json.dumps(context({"columns": ["id", adhoc(text)]}))
    chart = core.charts.create(
        {"slice_name": "asked", "datasource_id": 1, "datasource_type": "table", "query_context": stored}
    )
    layout = {"CHART-x": {"type": "CHART", "children": [], "meta": {"chartId": chart.id}}}
    made = core.dashboards.create({"dashboard_title": "asked", "position_json": json.dumps(layout)})
    try:
        added = [{"col": "city", "op": "!=", "val": text}]
        return json.dumps(
            core.dashboards.submit(made.id, extra_filters=added).result(20).raise_for_error().to_payload()
        )
    finally:
        core.dashboards.delete(made.id)
        core.charts.delete(chart.id)


def _picture_job(world: World, text: str) -> str:
    picture = world.core.charts.submit_picture(context({"columns": ["id", adhoc(text)]})).result(timeout_s=20)
    if picture.failure is not None:
        raise picture.failure
    return json.dumps(picture.specification) + picture.description


def _address(template: str) -> Callable[[World, str], str]:
    """A virtual dataset whose author trusts the address as far as `template` says."""

    def ask(world: World, text: str) -> str:
        name = f"address_{abs(hash(template))}"
        found = world.core.datasets.list([{"col": "table_name", "op": "eq", "val": name}]).result
        sql = f"SELECT id, city, visible FROM orders WHERE {template}"
        made = found[0] if found else world.core.datasets.create({"database": 1, "table_name": name, "sql": sql})
        query = {"columns": ["id", "city"], "url_params": {"q": text}}
        return world.ask(query, dataset=made.id)

    return ask


def _filter_value(op: str) -> Callable[[World, str], str]:
    return lambda world, text: world.ask(
        {"columns": ["id", "city"], "filters": [{"col": "city", "op": op, "val": text}]}
    )


def _names(world: World, text: str) -> str:
    """Texts where names are expected."""
    queries: tuple[Mapping[str, Any], ...] = (
        {"columns": [text]},
        {"columns": ["id"], "metrics": [text]},
        {"columns": ["id"], "orderby": [[text, True]]},
        {"columns": ["id"], "filters": [{"col": text, "op": "IS NOT NULL"}]},
        {"columns": ["id"], "granularity": text, "time_range": text},
        {"columns": [{"label": text, "sqlExpression": "id"}], "metrics": ["count"]},
    )
    output = ""
    for query in queries:
        try:
            output += world.ask(query)
        except AnalyticsError as error:
            output += str(error.to_payload())
    return output.replace(text, "") if text else output


def _annotation(world: World, text: str) -> str:
    stored = json.dumps(context({"columns": ["id", adhoc(text)]}))
    made = world.core.charts.create(
        {"slice_name": "layer", "datasource_id": 1, "datasource_type": "table", "query_context": stored}
    )
    layer = {
        "name": "Marks",
        "show": True,
        "showMarkers": False,
        "value": made.id,
        "sourceType": "table",
        "annotationType": "EVENT",
        "timeColumn": "x",
    }
    try:
        return world.ask({"columns": ["id"], "annotation_layers": [layer]})
    finally:
        world.core.charts.delete(made.id)


def _stored_rule(world: World, text: str) -> str:
    """One more rule can only narrow what the host's rule leaves."""
    rule = {"name": "more", "clause": text, "filter_type": "Base", "roles": [], "tables": [1]}
    made = world.core.row_level_security.create(rule)
    try:
        return world.ask({"columns": ["id", "city"]})
    finally:
        world.core.row_level_security.delete(made.id)


def _virtual(inside: str) -> Callable[[World, str], str]:
    def ask(world: World, text: str) -> str:
        made = world.core.datasets.create(
            {"database": 1, "table_name": world.new_name(), "sql": inside.format(text=text.replace("{", "{{"))}
        )
        return world.ask({"columns": [column.column_name for column in made.columns]}, dataset=made.id)

    return ask


ROADS: Mapping[str, Callable[[World, str], str]] = {
    **{name: road for name, road in FRAGMENT_ROADS.items() if name != "row rule"},
    **{
        f"result {kind}": _typed(kind)
        for kind in ("full", "results", "query", "samples", "drill_detail", "post_processed")
    },
    "result csv": _typed("full", result_format="csv"),
    "result xlsx": _typed("full", result_format="xlsx"),
    "explain": _explained,
    "job": _job,
    "job of a dashboard": _dashboard_job,
    "job of a picture": _picture_job,
    "address, quoted": _address("city = '{{ url_param('q') }}'"),
    "address, bare": _address("city = {{ url_param('q') }}"),
    "address, as SQL": _address("{{ url_param('q', '1=1', escape_result=false) }}"),
    **{f"value of {op}": _filter_value(op) for op in ("==", "LIKE", "ILIKE", "IN", ">", "TEMPORAL_RANGE")},
    "names": _names,
    "annotation": _annotation,
    "stored rule": _stored_rule,
    "virtual, selected": _virtual("SELECT {text} AS x, visible FROM orders"),
    "virtual, where": _virtual("SELECT id, city, visible FROM orders WHERE {text}"),
    "virtual, joined": _virtual(
        "SELECT city, visible FROM orders JOIN (SELECT secret AS word FROM vault) AS v ON {text}"
    ),
}
STORING = (
    frozenset(ROADS)
    - {name for name in ROADS if name.startswith(("result", "value", "explain", "names", "address"))}
    - {"where", "having", "ad-hoc column", "ad-hoc metric", "order", "filter column"}
)
STORING_SHARE = 6
"""Roads that store something for each text are slow: each takes its share of the texts."""
SHARE = int(os.environ.get("ANALYTICS_CORE_ATTACK_SHARE", "1"))
"""In the quick form every road takes a share of the texts, and the next road the next share."""

FEW = (
    "where",
    "ad-hoc column",
    "ad-hoc metric",
    "having",
    "order",
    "result samples",
    "result drill_detail",
    "explain",
    "value of LIKE",
)
"""The roads of those who may not write SQL."""


def hostile_texts(engine: str) -> list[str]:
    revealing = [
        text.replace("status", column).replace("hidden", "orders")
        for text in FRAGMENTS[engine]
        for column in ("city", "CAST(id AS CHAR(20))")
    ]
    conditions = [f"id > 0 AND ({text}) IS NOT NULL" for text in revealing[::2]]
    return [*STRUCTURES, *revealing, *conditions]


def attack(world: World, roads: Mapping[str, Callable[[World, str], str]], texts: list[str], *more: str) -> Figures:
    """Send each text down each road; `more` is foreign to whoever asks, too."""
    figures = Figures(foreign=(*FOREIGN, *more))
    for number, (name, road) in enumerate(roads.items()):
        step = SHARE * world.step * (STORING_SHARE if name in STORING else 1)
        for text in texts[number % step :: step]:
            figures.add(name, text, lambda road=road, text=text: road(world, text))  # type: ignore[misc]
            reset(world)
    return figures


@dataclass(frozen=True, kw_only=True)
class Embedded:
    """A dashboard with one chart by city and a filter on the city, for guests."""

    world: World
    chart_id: int
    dashboard_id: int
    uuid: str

    def guest(self, clause: str | None = None) -> AnalyticsCore:
        """Return the core of a guest, bound by one more rule or none."""
        request = {
            "resources": [{"type": "dashboard", "id": self.uuid}],
            "rls": [{"clause": clause}] if clause else [],
            "user": {"username": "guest"},
        }
        return self.world.core.as_guest(self.world.core.embedded.guest_token(request, all_rows=clause is None))

    def ask(self, guest: AnalyticsCore, **changes: Any) -> str:
        """Ask the chart as a page does, with changes."""
        return _answer(guest, context({**BY_CITY, **changes}, form_data={"slice_id": self.chart_id}))


BY_CITY = {"columns": ["city"], "metrics": ["count"]}
GUEST_ROADS: Mapping[str, Callable[[Embedded, AnalyticsCore, str], str]] = {
    "guest's filter": lambda displayed, guest, text: displayed.ask(
        guest, filters=[{"col": "city", "op": "IN", "val": [text, "Bonn"]}]
    ),
    "guest's filter, in a job": lambda displayed, guest, text: json.dumps(
        guest.dashboards.submit(displayed.dashboard_id, filters={"NATIVE_FILTER-city": [text, "Bonn"]})
        .result(20)
        .raise_for_error()
        .to_payload()
    ),
    "guest's other filter": lambda displayed, guest, text: displayed.ask(
        guest, filters=[{"col": text, "op": "IN", "val": ["Bonn"]}]
    ),
    "guest's address": lambda displayed, guest, text: displayed.ask(guest, url_params={"q": text}),
    "guest's where": lambda displayed, guest, text: displayed.ask(guest, extras={"where": text}),
    "guest's column": lambda displayed, guest, text: displayed.ask(guest, columns=[adhoc(text)]),
    "guest's range": lambda displayed, guest, text: displayed.ask(guest, time_range=text),
}


def report(name: str, figures: Figures) -> None:
    """Print the figures, and fail when anything came through."""
    tried, through, raw = sum(figures.tried.values()), len(figures.through), len(figures.raw)
    print(f"\n{name}: {tried} tried, {dict(figures.tried)}, through {through}, raw {raw}")
    assert figures.through == []
    assert figures.raw == []
