"""Post-processing on the whole road: labels, types, counts, notes, totals of other queries, the cache, errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.support.cases import for_each
from tests.support.shop import AMOUNT, ORDERS, ask, axis, context, count, orders_core, shop_url, total

from analytics_core import errors
from analytics_core.models.enums import GenericType


@pytest.fixture(scope="module", params=["sqlite", "duckdb"])
def core(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with orders_core(shop_url(tmp_path_factory.mktemp("steps"), request.param)) as core:
        yield core


def step(operation: str, **options: Any) -> dict[str, Any]:
    return {"operation": operation, "options": options}


BY_YEAR_AND_CHANNEL = {
    "columns": [axis("P1Y"), "channel"],
    "metrics": ["count"],
    "time_range": "No filter",
    "orderby": [["count", False]],
}
PIVOT = step("pivot", index=["when"], columns=["channel"], aggregates={"count": {"operator": "mean"}})


def test_a_series_chart_gets_a_column_for_each_value(core: Any) -> None:
    result = ask(core, {**BY_YEAR_AND_CHANNEL, "post_processing": [PIVOT, step("flatten")]})
    channels = sorted({row["channel"] for row in ORDERS if row["channel"] is not None})
    nulls = any(row["channel"] is None for row in ORDERS)
    assert list(result.colnames) == [
        "when",
        *(f"count, {name}" for name in [*(["<NULL>"] if nulls else []), *channels]),
    ]
    years = sorted({row["order_date"].year for row in ORDERS})
    assert result.rowcount == len(years)
    assert result.coltypes[0] == GenericType.TEMPORAL
    assert set(result.coltypes[1:]) == {GenericType.NUMERIC}
    wanted = count(lambda row: row["channel"] == channels[0] and row["order_date"].year == years[0])
    assert result.data[0][f"count, {channels[0]}"] == wanted


def test_the_rows_of_the_statement_are_still_told(core: Any) -> None:
    result = ask(core, {**BY_YEAR_AND_CHANNEL, "post_processing": [PIVOT]})
    assert result.sql_rowcount > result.rowcount


def test_the_cache_gives_the_same_answer(core: Any) -> None:
    query = {
        **BY_YEAR_AND_CHANNEL,
        "post_processing": [PIVOT, step("flatten"), step("sort", by="when", ascending=False)],
    }
    fresh = ask(core, query)
    again = ask(core, query)
    assert again.is_cached
    assert (again.colnames, again.coltypes, again.data) == (fresh.colnames, fresh.coltypes, fresh.data)


def test_other_options_are_another_result(core: Any) -> None:
    up = ask(core, {**BY_YEAR_AND_CHANNEL, "post_processing": [step("sort", by="count")]})
    down = ask(core, {**BY_YEAR_AND_CHANNEL, "post_processing": [step("sort", by="count", ascending=False)]})
    assert not down.is_cached
    assert [row["count"] for row in up.data] == [row["count"] for row in down.data][::-1]


SHARES = {
    "columns": ["channel"],
    "metrics": [AMOUNT],
    "orderby": [["amount", False]],
    "row_limit": 1,
    "post_processing": [step("contribution", columns=["amount"], rename_columns=["%amount"])],
}


def test_a_query_of_metrics_alone_gives_the_totals_of_shares(core: Any) -> None:
    data = core.charts.data(context(SHARES, {"metrics": [AMOUNT]}))
    data.raise_for_error()
    first = data.results[0].data[0]
    assert first["%amount"] == pytest.approx(first["amount"] / total())
    assert first["%amount"] < 1


def test_a_row_of_totals_with_a_share_of_itself_gives_them_too(core: Any) -> None:
    data = core.charts.data(context(SHARES, {"metrics": [AMOUNT], "post_processing": SHARES["post_processing"]}))
    rows = [result.data[0] for result in data.raise_for_error().results]
    assert rows[0]["%amount"] == pytest.approx(rows[0]["amount"] / total())
    assert rows[1] == {"amount": pytest.approx(total()), "%amount": 1}


def test_shares_in_the_place_of_totals_are_none(core: Any) -> None:
    replaced = {"metrics": [AMOUNT], "post_processing": [step("contribution", columns=["amount"])]}
    data = core.charts.data(context(SHARES, replaced)).raise_for_error()
    assert [result.data[0].get("%amount", result.data[0]["amount"]) for result in data.results] == [1, 1]


def test_without_such_a_query_shares_are_of_the_rows_there_are(core: Any) -> None:
    assert ask(core, SHARES).data[0]["%amount"] == 1


def test_shares_of_everything_and_of_the_rows_are_not_mixed_up_in_the_cache(core: Any) -> None:
    alone = ask(core, SHARES).data[0]["%amount"]
    beside = core.charts.data(context(SHARES, {"metrics": [AMOUNT]})).results[0].data[0]["%amount"]
    assert alone == ask(core, SHARES).data[0]["%amount"] != beside


def test_given_totals_go_before_those_of_another_query(core: Any) -> None:
    given = step("contribution", columns=["amount"], contribution_totals={"amount": 1})
    data = core.charts.data(context({**SHARES, "post_processing": [given]}, {"metrics": [AMOUNT]}))
    assert data.results[0].data[0]["amount"] > 1


def test_options_that_nobody_reads_are_noted(core: Any) -> None:
    result = ask(core, {**BY_YEAR_AND_CHANNEL, "post_processing": [step("flatten", colour="red")]})
    assert "post_processing[0] (flatten): kept but not read: colour" in result.notes


def test_a_forecast_on_the_road(core: Any) -> None:
    query = {
        "columns": [axis("P1M")],
        "metrics": ["count"],
        "time_range": "No filter",
        "post_processing": [step("forecast", time_grain="P1M", periods=3, confidence_interval=0.8)],
    }
    plain = ask(core, {**query, "post_processing": []})
    result = ask(core, query)
    assert list(result.colnames) == ["when", "count__yhat", "count__yhat_lower", "count__yhat_upper", "count"]
    assert result.rowcount == plain.rowcount + 3
    assert [row["count"] for row in result.data][-3:] == [None, None, None]
    assert all(row["count__yhat_lower"] <= row["count__yhat"] <= row["count__yhat_upper"] for row in result.data)


def test_what_a_forecast_did_otherwise_is_in_the_notes(core: Any) -> None:
    query = {
        "columns": [axis("P1M")],
        "metrics": ["count", {"expressionType": "SQL", "sqlExpression": "MIN(channel)", "label": "first"}],
        "time_range": "No filter",
        "post_processing": [
            step("forecast", time_grain="P1M", periods=3, confidence_interval=0.8, weekly_seasonality=True)
        ],
        "colour": "red",
    }
    for _ in range(2):  # the second answer may come from the cache
        assert ask(core, query).notes == (
            "kept but not read: colour",
            "post_processing[0] (forecast): count: weekly_seasonality is left out: the grain is too long to show it",
            "post_processing[0] (forecast): left out, since they hold no numbers: first",
        )


def test_rows_that_are_not_there_are_not_processed(core: Any) -> None:
    nothing = {"filters": [{"col": "channel", "op": "==", "val": "no such channel"}]}
    result = ask(core, {**BY_YEAR_AND_CHANNEL, **nothing, "post_processing": [step("sort", by="not a column")]})
    assert result.rowcount == 0


@for_each(
    ("steps", "error", "message"),
    [
        ([step("frobnicate")], errors.UnknownOperationError, r"post_processing\[0\] has no operation 'frobnicate'"),
        (
            [step("flatten"), step("sort", by="cuont")],
            errors.PostProcessingError,
            r"\[1\] \(sort\): .*mean 'count'",
        ),
        ([step("rank")], errors.PostProcessingError, r"post_processing\[0\] \(rank\): metric: is required"),
    ],
)
def test_a_step_that_cannot_run_is_told_in_the_result(
    core: Any, steps: list[Any], error: type[errors.AnalyticsError], message: str
) -> None:
    with pytest.raises(error, match=message):
        ask(core, {**BY_YEAR_AND_CHANNEL, "post_processing": steps})
    data = core.charts.data(context({**BY_YEAR_AND_CHANNEL, "post_processing": steps}))
    assert data.results[0].status == "failed"
