"""Real answers as bytes: what charts were answered with comes back as a reader sees it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.annotated import BY_MONTH, HOST, chart, layer, releases
from tests.support.answers import seen
from tests.support.cases import for_each
from tests.support.shop import AMOUNT, axis, context, orders_core, shop_url

from analytics_core import AnalyticsCore
from analytics_core._engine.results.answer import ChartData
from analytics_core._engine.results.answer_bytes import decode_answer, encode_answer
from analytics_core._engine.rights.keys import EntrySeal
from analytics_core._records.secret import Secret
from analytics_core.models.enums import QueryStatus, ResultType

SEAL = EntrySeal(Secret("k3y-of-the-jobs-0123456789"))
MONTHS: Mapping[str, Any] = {**HOST, "columns": [axis("P1M")], "metrics": ["count", AMOUNT]}
QUERIES: Mapping[str, Mapping[str, Any]] = {
    "months": MONTHS,
    "time offsets": {**MONTHS, "time_offsets": ["1 month ago", "1 year ago"]},
    "a forecast": {
        **MONTHS,
        "post_processing": [
            {
                "operation": "prophet",
                "options": {"time_grain": "P1M", "periods": 3, "confidence_interval": 0.8, "index": "when"},
            }
        ],
    },
    "lists of outliers": {
        "columns": ["country", "channel"],
        "metrics": [AMOUNT],
        "post_processing": [
            {
                "operation": "boxplot",
                "options": {"groupby": ["country"], "metrics": ["amount"], "whisker_type": "tukey"},
            }
        ],
    },
    "rows": {"columns": ["id", "order_date", "country", "returned", "amount"], "row_limit": 1_500},
    "no row": {"columns": ["id", "order_date"], "filters": [{"col": "id", "op": "==", "val": -1}]},
    "a pivot": {"columns": ["country", "channel"], "metrics": [AMOUNT, "count"]},
    "a name that is not there": {"columns": ["contry"]},
    "a time range that is none": {"columns": ["id"], "granularity": "order_date", "time_range": "soonish : never"},
    "a step that cannot run": {**MONTHS, "post_processing": [{"operation": "sort", "options": {"by": "nope"}}]},
}
FORMS: Mapping[str, Mapping[str, Any]] = {
    "table": {"viz_type": "table"},
    "pivot": {
        "viz_type": "pivot_table_v2",
        "groupbyRows": ["country"],
        "groupbyColumns": ["channel"],
        "metrics": ["count"],
        "rowTotals": True,
    },
}


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AnalyticsCore]:
    folder: Path = tmp_path_factory.mktemp("shop")
    with orders_core(shop_url(folder)) as made:
        yield made


@pytest.fixture(scope="module")
def layers(core: AnalyticsCore) -> list[dict[str, Any]]:
    return [
        layer(releases(core, "2024-03-01", "2024-06-01/2024-06-09")),
        layer(chart(core, BY_MONTH), "line", "TIME_SERIES", name="Months"),
        layer(chart(core, {"columns": ["id", "order_date"], "row_limit": 2}), "table", name="Orders"),
    ]


def assert_same(answer: ChartData) -> None:
    """Raise unless the answer comes back, also as another process finds it: by its bytes alone."""
    before = seen(answer)
    found = decode_answer(encode_answer(answer, key="a job", seal=SEAL), key="a job", seal=SEAL)
    assert found is not None
    assert seen(replace(found, extra_bundle=answer.extra_bundle)) == before


@pytest.mark.slow
@for_each("result_type", ResultType)
def test_answers_of_every_result_type_come_back(core: AnalyticsCore, result_type: ResultType) -> None:
    limit = 300 if result_type is ResultType.FULL else 20
    queries = {**QUERIES, "rows": {**QUERIES["rows"], "row_limit": limit}}
    if result_type in (ResultType.SAMPLES, ResultType.DRILL_DETAIL):  # a thousand rows, whatever a query computes
        queries = {name: queries[name] for name in ("rows", "no row", "a time range that is none")}
    requested = context(*queries.values(), result_type=result_type.value, form_data=FORMS["table"])
    for _ in range(2):  # the second answer comes from the cache
        answer = core.charts.data(requested)
        if result_type not in (ResultType.COLUMNS, ResultType.TIMEGRAINS, ResultType.SAMPLES):
            assert {result.status for result in answer.results} == {QueryStatus.SUCCESS, QueryStatus.FAILED}
        assert_same(answer)


def test_good_answers_are_good(core: AnalyticsCore) -> None:
    """What the others compare are answers and not nine errors."""
    statuses = {name: core.charts.data(context(query)).results[0].error for name, query in QUERIES.items()}
    failed = {name for name, error in statuses.items() if error is not None}
    assert failed == {name for name in QUERIES if name.startswith(("a name", "a time", "a step"))}, statuses


@pytest.mark.parametrize("form", FORMS)
def test_processed_answers_come_back(core: AnalyticsCore, form: str) -> None:
    answer = core.charts.data(context(QUERIES["a pivot"], result_type="post_processed", form_data=FORMS[form]))
    assert isinstance(answer.raise_for_error().results[0].data, dict)
    assert_same(answer)


@pytest.mark.parametrize("result_type", ["full", "post_processed"])
def test_answers_with_annotations_come_back(
    core: AnalyticsCore, layers: list[dict[str, Any]], result_type: str
) -> None:
    annotated = {**MONTHS, "annotation_layers": layers}
    lost = {**MONTHS, "annotation_layers": [layer(9_999)]}
    for _ in range(2):
        answer = core.charts.data(context(annotated, lost, result_type=result_type))
        assert [len(result.annotations) for result in answer.results] == [3, 0]
        assert answer.results[1].failure is not None
        assert_same(answer)
