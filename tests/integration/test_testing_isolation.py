"""`assert_isolated` passes where tenants are apart, and fails with a clear message where anything of another shows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.support.cases import for_each
from tests.support.guests import QUERY, GuestWorld, chart, dashboard, guest_world
from tests.support.guests import context as guest_context
from tests.support.shop import AMOUNT, add_reader, context, hosted_core, shop_url

from analytics_core import AnalyticsCore
from analytics_core._records.datasource import Dataset
from analytics_core._records.people import RowFilter, User
from analytics_core.testing import assert_isolated

PLACES = {"anna": "France", "bert": "Brazil"}
OWNED = {name: {"country": place} for name, place in PLACES.items()}
QUESTION = context({"columns": ["country", "channel"], "metrics": [AMOUNT], "row_limit": 5_000})


class Places:
    """Everybody sees their place; at one call, the number `forgets`, the source forgets the rule."""

    def __init__(self) -> None:
        self.calls = 0
        self.forgets: int | None = None
        self.off = False

    def row_filters(self, user: User, dataset: Dataset) -> Sequence[RowFilter]:
        """Return the rule of the user."""
        self.calls += 1
        place = PLACES.get(user.username)
        if place is None or self.off or self.calls == self.forgets:
            return ()
        return (RowFilter(name="place", clause=f"country = '{place}'"),)


@pytest.fixture
def places() -> Places:
    return Places()


@pytest.fixture
def host(places: Places, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AnalyticsCore]:
    url = shop_url(tmp_path_factory.mktemp("places"))
    with hosted_core(url, row_filters=[places], settings={"cache_timeout_s": -1}) as core:
        for name in PLACES:
            add_reader(core, name)
        yield core


@pytest.fixture
def guests(tmp_path: Path) -> Iterator[GuestWorld]:
    with guest_world(f"sqlite:///{tmp_path}/shop.db") as world:
        yield world


FORMS: list[Any] = [
    OWNED,
    ["anna", "bert"],
    {"anna": lambda row: row["country"] == "France", 3: {"country": ["Brazil"]}},
]


@pytest.mark.slow
@for_each("tenants", FORMS)
@for_each("key", ["id", None])
def test_tenants_who_are_apart_pass(host: AnalyticsCore, tenants: Any, key: str | None) -> None:
    assert_isolated(host, QUESTION, tenants=tenants, key=key)
    compared = {
        "columns": ["channel"],
        "metrics": ["count", AMOUNT],
        "granularity": "order_date",
        "time_range": "2024-01-01 : 2025-01-01",
        "time_offsets": ["1 year ago"],
        "series_columns": ["channel"],
        "series_limit": 2,
        "group_others_when_limit_reached": True,
        "filters": [{"col": "quantity", "op": ">", "val": 1}],
        "post_processing": [{"operation": "contribution", "options": {"columns": ["count"]}}],
    }
    assert_isolated(host, context(compared, QUESTION["queries"][0]), tenants=tenants, key=key)


def passes(host: AnalyticsCore, question: dict[str, Any] = QUESTION) -> bool:
    try:
        assert_isolated(host, question, tenants=OWNED, key="id")
    except AssertionError:
        return False
    return True


@pytest.mark.slow
def test_a_leak_at_any_call_is_found(host: AnalyticsCore, places: Places) -> None:
    places.calls = 0
    assert_isolated(host, QUESTION, tenants=OWNED, key="id")
    calls, unnoticed = places.calls, []
    for number in range(1, calls + 1):
        places.calls, places.forgets = 0, number
        if passes(host):
            unnoticed.append(number)
    # Each tenant and round has four calls that show nothing foreign without the rule: the channels, which both tenants
    # have, and the query that is narrowed to the tenant's own rows, on three roads.
    assert len(unnoticed) == 16
    assert calls > 40


@pytest.mark.slow
def test_a_leak_in_a_metric_alone_is_found_however_the_tenants_are_told_apart(
    host: AnalyticsCore, places: Places
) -> None:
    shared = context({"columns": ["channel"], "metrics": [AMOUNT]})
    predicates = {name: (lambda row, place=place: row["country"] == place) for name, place in PLACES.items()}
    for tenants in (OWNED, predicates, list(PLACES)):
        places.calls, places.forgets = 0, None
        assert_isolated(host, shared, tenants=tenants)
        last = places.calls - 1  # the query whose answer is compared with that of the narrowed one
        places.calls, places.forgets = 0, last
        with pytest.raises(AssertionError, match="foreign rows are counted"):
            assert_isolated(host, shared, tenants=tenants)


DISPLAYED = [
    {"viz_type": "table"},
    {"viz_type": "pivot_table_v2", "groupbyColumns": ["country"], "groupbyRows": ["channel"], "metrics": ["amount"]},
]


@pytest.mark.slow
@pytest.mark.parametrize("form_data", DISPLAYED)
def test_a_leak_in_what_charts_make_of_their_rows_is_found(
    host: AnalyticsCore, places: Places, form_data: dict[str, Any]
) -> None:
    question = context({"columns": ["country", "channel"], "metrics": [{**AMOUNT, "label": "amount"}]})
    question["form_data"] = form_data
    places.calls, places.forgets, unnoticed = 0, None, []
    assert_isolated(host, question, tenants=OWNED, key="id")
    last = places.calls
    for number in range(last - 5, last + 1):
        places.calls, places.forgets = 0, number
        if passes(host, question):
            unnoticed.append(number)
    assert unnoticed == [last - 4, last - 2, last]  # on three roads the query that is narrowed


@pytest.mark.slow
def test_a_leak_in_an_annotation_layer_alone_is_found(host: AnalyticsCore, places: Places) -> None:
    drawn = context({"columns": ["country", "id"], "row_limit": 5_000})
    chart = host.as_user(1).charts.create(
        {"slice_name": "layer", "datasource_id": 1, "datasource_type": "table", "query_context": json.dumps(drawn)}
    )
    layer = {
        "name": "sold",
        "annotationType": "EVENT",
        "sourceType": "table",
        "value": chart.id,
        "titleColumn": "country",
        "descriptionColumns": ["id"],
        "timeColumn": "id",
        "show": True,
        "showMarkers": False,
        "style": "solid",
    }
    question = context({"columns": ["channel"], "metrics": [AMOUNT], "annotation_layers": [layer]})
    places.calls, places.forgets = 0, None
    assert_isolated(host, question, tenants=OWNED, key="id")
    last = places.calls - 2  # the layer of the last answer; behind it the narrowed one with its layer
    places.calls, places.forgets = 0, last
    with pytest.raises(AssertionError, match="not theirs on the road 'post_processed, annotation layer sold'"):
        assert_isolated(host, question, tenants=OWNED, key="id")


@pytest.mark.slow
def test_rows_that_no_column_tells_apart_need_a_key(guests: GuestWorld) -> None:
    admin = guests.admin
    halves = admin.datasets.create(
        {"database": 1, "table_name": "halves", "sql": "SELECT amount + 0.5 AS half FROM sales"}
    )
    admin.charts.create(chart("halves", halves.id, {"columns": ["half"]}))
    admin.dashboards.update(1, {"position_json": dashboard("x", 1, 5)["position_json"]})
    rules = [{"clause": clause, "dataset": halves.id} for clause in ("half < 100", "half > 100")]
    tokens = [admin.embedded.guest_token(guests.request(rule), all_rows=[1]) for rule in rules]
    tenants = [guests.host.as_guest(token) for token in tokens]
    query = guest_context({"columns": ["half"], "metrics": ["count"]}, dataset=halves.id)
    with pytest.raises(AssertionError, match=r"no column of texts or whole numbers .* name the `key`"):
        assert_isolated(admin, query, tenants=tenants)
    assert_isolated(admin, query, tenants=tenants, key="half")


@pytest.mark.slow
@pytest.mark.parametrize(
    "owned",
    [None, [{"tenant": "acme"}, {"city": ["Oslo", "Rome"]}], [lambda row: row["id"] < 4, lambda row: row["id"] > 3]],
)
def test_guests_are_tenants_too(guests: GuestWorld, owned: list[Any] | None) -> None:
    tenants = [guests.guest("acme"), guests.guest("globex")]
    for query in (QUERY, {"columns": ["city"], "row_limit": 3}):
        for key in (None, "id"):
            named = tenants if owned is None else dict(zip(tenants, owned, strict=True))
            assert_isolated(guests.admin, guest_context(query), tenants=named, key=key)


def test_a_guest_who_sees_rows_of_another_is_found(guests: GuestWorld) -> None:
    acme, everything = guests.guest("acme", username="anna"), guests.guest(None, username="bert")
    with pytest.raises(AssertionError, match="tenants 'anna' and 'bert' both see"):
        assert_isolated(guests.admin, guest_context(QUERY), tenants=[acme, everything])
    with pytest.raises(AssertionError, match=r"tenant 'bert' sees what is not theirs.*the rules of their token"):
        assert_isolated(
            guests.admin, guest_context(QUERY), tenants={acme: {"tenant": "acme"}, everything: {"tenant": "globex"}}
        )


@pytest.mark.slow
def test_a_user_and_a_guest_can_be_told_apart(guests: GuestWorld) -> None:
    rule = {"name": "own", "filter_type": "Base", "roles": [], "tables": [1], "clause": "tenant <> 'acme'"}
    role = guests.admin.roles.create({"name": "readers"})
    guests.admin.roles.grant(role, on=("dataset", 1))
    guests.admin.users.create({"username": "anna", "roles": [role.id]})
    with pytest.raises(AssertionError, match="both see"):
        assert_isolated(guests.admin, guest_context(QUERY), tenants=["anna", guests.guest("acme")])
    guests.admin.row_level_security.create({**rule, "filter_type": "Regular", "roles": [role.id]})
    assert_isolated(guests.admin, guest_context(QUERY), tenants=["anna", guests.guest("acme")])


@pytest.mark.parametrize(
    ("tenants", "says"),
    [
        (OWNED, r"tenant 'anna' sees what is not theirs on the road 'drill_detail': .*simulate\('anna', 1\)"),
        (["anna", "bert"], "tenants 'anna' and 'bert' both see"),
    ],
)
def test_without_rules_the_foreign_row_is_shown(host: AnalyticsCore, places: Places, tenants: Any, says: str) -> None:
    places.off = True
    with pytest.raises(AssertionError, match=says):
        assert_isolated(host, QUESTION, tenants=tenants, key="id")


def test_what_would_prove_nothing_fails(host: AnalyticsCore) -> None:
    nothing = context({"columns": ["country"], "filters": [{"col": "id", "op": "<", "val": 0}]})
    with pytest.raises(AssertionError, match="sees no row at all"):
        assert_isolated(host, nothing, tenants=OWNED)
    with pytest.raises(AssertionError, match="two tenants"):
        assert_isolated(host, QUESTION, tenants=["anna"])
    with pytest.raises(AssertionError, match="no column 'land'"):
        assert_isolated(host, QUESTION, tenants={"anna": {"land": 1}, "bert": {"land": 2}})
    with pytest.raises(AssertionError, match="no column 'nr'"):
        assert_isolated(host, QUESTION, tenants=["anna", "bert"], key="nr")
    with pytest.raises(AssertionError, match="cannot ask"):
        assert_isolated(host, context({"columns": ["land"]}), tenants=OWNED)
