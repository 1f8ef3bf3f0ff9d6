"""Whatever a layer says, the answer is annotations as the contract has them, or a typed error; never a hidden row.

`--hypothesis-profile night` searches longer than the usual run does.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.annotated import BY_MONTH, HOST, chart, layer, releases
from tests.support.any_payload import GRAINS, HOSTILE, JUNK, RANGES
from tests.support.shop import ORDERS, add_reader, context, hosted_core, shop_url

from analytics_core import AnalyticsCore
from analytics_core._records.datasource import Dataset
from analytics_core._records.people import RowFilter, User
from analytics_core.errors import AnalyticsError, PayloadError

search = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.large_base_example])
HIDDEN = sorted({row["country"] for row in ORDERS} - {"Brazil"})
EDGES = ("0001-01-01 : 0001-01-02", "9999-12-31 : ", "0001-01-01T00:00:00 : 9999-12-31T23:59:59", " : ")
COLUMNS = ("id", "order_date", "country", "month", "amount", "order_dat")
TEXTS = st.one_of(st.sampled_from([*COLUMNS, *RANGES, *GRAINS, *EDGES]), st.sampled_from(HOSTILE))
OVERRIDES = st.dictionaries(
    st.sampled_from(
        ["time_range", "since", "until", "granularity", "granularity_sqla", "time_grain_sqla", "time_shift", "color"]
    ),
    st.one_of(st.none(), TEXTS, JUNK),
    max_size=3,
)
IDS = st.sampled_from([1, 1, 1, 2, 2, 3, 3, "1", "2", 99, 2**63, "9" * 19])
LAYERS = st.builds(
    lambda value, source, kind, fields: layer(value, source, kind, **fields),
    st.integers(0, 9).flatmap(lambda dice: JUNK if dice == 9 else IDS),
    st.sampled_from(["NATIVE", "line", "table", "", None]),
    st.sampled_from(["EVENT", "INTERVAL", "TIME_SERIES", "FORMULA", None]),
    st.fixed_dictionaries(
        {},
        optional={
            "name": TEXTS,
            "overrides": st.one_of(st.none(), OVERRIDES),
            "timeColumn": TEXTS,
            "titleColumn": TEXTS,
            "intervalEndColumn": TEXTS,
            "descriptionColumns": st.lists(TEXTS, max_size=3),
        },
    ),
)


class OnlyBrazil:
    """The row rule of these tests."""

    def row_filters(self, user: User, dataset: Dataset) -> Sequence[RowFilter]:
        """Return the one rule of the orders."""
        return (RowFilter(name="Brazil only", clause="country = 'Brazil'"),) if dataset.table_name == "orders" else ()


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AnalyticsCore]:
    with hosted_core(shop_url(tmp_path_factory.mktemp("shop")), row_filters=[OnlyBrazil()]) as host:
        admin = host.as_user("admin")
        admin.datasets.create({"database": 1, "table_name": "customers"})
        releases(admin, "2024-03-01", "2023-01-01/2025-01-01")
        gone = releases(admin, name="gone")
        admin.annotation_layers.delete(gone)
        chart(admin, {**BY_MONTH, "granularity": "order_date"})
        chart(admin, {"columns": ["id", "order_date", "country"], "row_limit": 5, "annotation_layers": [layer(99)]})
        chart(admin, {"columns": ["name", "country"]}, dataset=2)
        yield add_reader(host, "anna", ("dataset", 1))


@pytest.mark.slow
@search
@given(layers=st.lists(LAYERS, min_size=1, max_size=3), time_range=st.sampled_from([*RANGES, *EDGES, None]))
def test_any_layer_gives_annotations_or_a_typed_error(
    reader: AnalyticsCore, layers: list[dict[str, Any]], time_range: str | None
) -> None:
    query = {**HOST, "time_range": time_range, "annotation_layers": layers}
    try:
        result = reader.charts.data(context(query)).results[0]
    except PayloadError:
        return
    if result.error is not None:
        assert isinstance(result.failure, AnalyticsError)
        assert result.failure.status < 500
        assert result.annotations == ()
        return
    data = json.loads(reader.charts.data(context(query)).to_json())["result"][0]["annotation_data"]
    assert [list(item) for item in data] == [[item.name] for item in result.annotations]
    contents = [json.loads(text) for item in data for text in item.values()]
    assert all(set(record) == set(part["columns"]) for part in contents for record in part["records"])
    assert not any(country in json.dumps(contents, ensure_ascii=False) for country in HIDDEN)
