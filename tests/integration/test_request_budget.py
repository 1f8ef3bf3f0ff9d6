"""What one request may take in all: statements, cells, templates, over its queries, comparisons and layers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.support.small_core import SmallCore, small_core

from analytics_core import Settings, errors
from analytics_core.models.enums import QueryStatus

MONTHS = {
    "metrics": ["count"],
    "columns": [{"columnType": "BASE_AXIS", "sqlExpression": "day", "label": "day", "timeGrain": "P1M"}],
    "time_range": "2024-01-01 : 2024-02-01",
    "filters": [{"col": "day", "op": "TEMPORAL_RANGE", "val": "2024-01-01 : 2024-02-01"}],
}
RAW: dict[str, Any] = {"columns": ["id", "country"], "metrics": []}
WORK = "{% for a in range(600) %}{% for b in range(100) %}{% endfor %}{% endfor %}"


@contextmanager
def world(folder: Path, **settings: Any) -> Iterator[SmallCore]:
    with small_core(folder, **settings) as small:
        small.orders()
        yield small


def ask(small: SmallCore, *queries: dict[str, Any], **fields: Any) -> list[Any]:
    payload = {"datasource": {"id": 1, "type": "table"}, "queries": [*queries], **fields}
    return [*small.core.charts.data(payload).results]


def failures(results: list[Any]) -> list[type[errors.AnalyticsError] | None]:
    return [type(result.failure) if result.failure else None for result in results]


def test_statements_of_all_queries_and_comparisons_count_together(tmp_path: Path) -> None:
    compared = {**MONTHS, "time_offsets": ["1 year ago"]}
    other = {**MONTHS, "time_offsets": ["2 years ago"]}
    with world(tmp_path, max_statements_per_request=3) as small:
        first, second = ask(small, compared, other)
        assert failures([first, second]) == [None, errors.RequestLimitError]
        assert "more than 3 statements (Settings.max_statements_per_request)" in second.failure.message
        assert second.failure.to_payload()["errors"][0]["extra"]["max_statements"] == 3
        # What is in the cache costs no statement, so the same request has room for the second query now.
        assert failures(ask(small, compared, other)) == [None, None]


def test_statements_of_annotation_layers_count_with_those_of_their_query(tmp_path: Path) -> None:
    layer = {
        "name": "inner",
        "annotationType": "EVENT",
        "sourceType": "table",
        "value": 1,
        "show": True,
        "showMarkers": False,
        "style": "solid",
    }
    annotation = {**layer, "timeColumn": "day", "descriptionColumns": []}
    question = {"datasource": {"id": 1, "type": "table"}, "queries": [{"columns": ["day"], "metrics": ["count"]}]}
    for most, expected in ((1, errors.RequestLimitError), (2, None)):
        folder = tmp_path / str(most)
        folder.mkdir()
        with world(folder, max_statements_per_request=most) as small:
            small.core.charts.create(
                {
                    "slice_name": "inner",
                    "viz_type": "table",
                    "datasource_id": 1,
                    "datasource_type": "table",
                    "query_context": json.dumps(question),
                }
            )
            (result,) = ask(small, {**MONTHS, "annotation_layers": [annotation]})
            assert failures([result]) == [expected]


def test_cells_of_all_queries_count_together_and_say_so(tmp_path: Path) -> None:
    with world(tmp_path, max_cells_per_request=7) as small:
        first, second = ask(small, RAW, {**RAW, "row_limit": 2})
        assert failures([first, second]) == [None, errors.RequestLimitError]
        assert "more than 7 cells in all (Settings.max_cells_per_request)" in second.failure.message
        assert second.status is QueryStatus.FAILED


def test_cells_that_post_processing_makes_count(tmp_path: Path) -> None:
    aggregates = {"n": {"column": "id", "operator": "sum"}}
    pivot = {"operation": "pivot", "options": {"index": ["id"], "columns": ["country"], "aggregates": aggregates}}
    query = {**RAW, "post_processing": [pivot]}
    with world(tmp_path, max_cells_per_request=5) as small:
        assert failures(ask(small, query)) == [errors.RequestLimitError]


def test_templates_of_a_request_share_their_steps(tmp_path: Path) -> None:
    columns = [
        {"label": f"c{place}", "sqlExpression": f"id + {place}{WORK}", "expressionType": "SQL"} for place in range(3)
    ]
    with world(tmp_path) as small:
        assert failures(ask(small, {"columns": columns[:1], "metrics": []})) == [None]
        (result,) = ask(small, {"columns": columns, "metrics": []})
        assert failures([result]) == [errors.TemplateError]
        assert "the templates of the request do too much work" in result.failure.message
        queries = [{"columns": [column], "metrics": []} for column in columns]
        assert failures(ask(small, *queries, force=True))[-1] is errors.TemplateError


def test_the_time_of_a_request_ends_between_two_steps_too(tmp_path: Path) -> None:
    """All of the steps take seconds; no one of them does."""
    step = {"operation": "rolling", "options": {"columns": {"id": "id"}, "rolling_type": "mean", "window": 1}}
    with world(tmp_path, request_timeout_s=0.1) as small:
        assert failures(ask(small, {**RAW, "post_processing": [step] * 1_000})) == [errors.RequestTimeoutError]


def test_each_expression_costs_some_of_the_sql_that_a_request_may_bring(tmp_path: Path) -> None:
    columns = [{"label": f"c{place}", "sqlExpression": f"id + {place}"} for place in range(10)]
    with world(tmp_path, max_sql_length_per_request=200) as small:
        assert sum(len(column["sqlExpression"]) for column in columns) < 100
        assert failures(ask(small, {"columns": columns, "metrics": []})) == [errors.RequestLimitError]


@pytest.mark.parametrize("name", ["request_timeout_s", "max_statements_per_request", "max_cells_per_request"])
def test_a_request_must_be_allowed_something(name: str) -> None:
    with pytest.raises(errors.SettingsError, match=name):
        Settings(secret_key="a-test-key-that-is-long-enough-9f3a", **{name: 0})
