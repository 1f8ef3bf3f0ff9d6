"""What was made for another payload of one shape gives the very plan and statement that are made anew, or their error.

`--hypothesis-profile night` searches longer than the usual run does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.properties.test_plan_laws import COLUMNS, RULE, SAVED
from tests.support.any_payload import (
    ANY_VALUE,
    COUNTS,
    MOMENTS,
    NUMBER_VALUES,
    RANGES,
    SOUND_FILTERS,
    TEXTS,
    contexts,
)
from tests.support.planning import ENGINES, NOW, scope_of, stored, view_of

from analytics_core._engine.compile.planner import PlanRequest, plan_query
from analytics_core._engine.compile.planning_context import DatasetView
from analytics_core._engine.compile.render import compile_plan
from analytics_core._engine.compile.statement_shapes import StatementShapes
from analytics_core._engine.querying.reading import ContextReader
from analytics_core._engine.rights.actor import Actor
from analytics_core._records.people import RowFilter, User
from analytics_core.errors import AnalyticsError
from analytics_core.models.query import ChartDataQueryContext

search = settings(
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.large_base_example, HealthCheck.filter_too_much],
)
ANNA = Actor(user=User(id=2, username="anna"))
OTHER_RANGES = st.one_of(st.sampled_from(RANGES), st.sampled_from(["2023-05-06 : 2024-01-01 12:30:00", "now : "]))


DECIDING = st.sampled_from(
    [None, [None], [1, None], ["Bonn", None], ["Bonn", "Köln"], [1, 2], 5, "5", 0.5, 2**63, "2024-01-01", "50%\\", "é"]
)
"""Values whose kind, number or letters may decide how a condition is written, and what is known of its column."""


def _other(draw: Callable[[st.SearchStrategy[Any]], Any], value: Any) -> Any:
    """Draw another value, mostly of the same type: one that filters of the same column take."""
    dice = draw(st.integers(0, 9))
    if dice > 7:
        return draw(DECIDING if dice == 8 else ANY_VALUE)
    if isinstance(value, list):
        return [_other(draw, member) for member in value]
    if isinstance(value, str):
        return draw(st.one_of(TEXTS, MOMENTS, OTHER_RANGES))
    return value if value is None or isinstance(value, bool) else draw(NUMBER_VALUES)


SOUND = st.builds(
    lambda query, filters: {"queries": [{**query, "filters": filters}]},
    st.fixed_dictionaries(
        {
            "columns": st.lists(st.sampled_from(["city", "quantity", "price", "ordered_at"]), min_size=1, unique=True),
            "metrics": st.sampled_from([None, [], ["count"], ["total", "half"]]),
        },
        optional={
            "orderby": st.lists(st.tuples(st.sampled_from(["city", "quantity"]), st.booleans()), max_size=1),
            "row_limit": st.integers(0, 20_000),
            "row_offset": st.integers(0, 2),
            "series_columns": st.sampled_from([["city"], ["quantity"]]),
            "series_limit": st.integers(1, 3),
        },
    ),
    st.lists(
        st.builds(
            lambda item, more: {**item, **more}, SOUND_FILTERS, st.fixed_dictionaries({}, optional={"val": DECIDING})
        ),
        min_size=1,
        max_size=2,
    ),
)
"""Contexts that are mostly sound, with values that are not always."""


@st.composite
def payloads_of_one_shape(draw: Callable[[st.SearchStrategy[Any]], Any]) -> list[dict[str, Any]]:
    """Draw payloads that differ in values alone."""
    first = draw(contexts() | SOUND)
    found = [first]
    for _ in range(3):
        queries = first.get("queries")
        if not isinstance(queries, list):
            return found
        found.append({**first, "queries": [_with_other_values(draw, query) for query in queries]})
    return found


def _with_other_values(draw: Callable[[st.SearchStrategy[Any]], Any], query: Any) -> Any:
    if not isinstance(query, dict):
        return query
    changed = dict(query)
    for name in {"row_limit", "row_offset"} & query.keys():
        changed[name] = draw(COUNTS | st.sampled_from([0, 1, 9_999, 20_000]))
    if "time_range" in query:
        changed["time_range"] = draw(OTHER_RANGES)
    if isinstance(query.get("filters"), list):
        changed["filters"] = [
            {**item, "val": _other(draw, item["val"])} if isinstance(item, dict) and "val" in item else item
            for item in query["filters"]
        ]
    return changed


class Road:
    """Payloads to statements on one engine, by what was made before."""

    def __init__(self, engine: str, rules: Sequence[RowFilter]) -> None:
        self._view = _view(engine)
        self._reader = ContextReader(most_queries=5)
        self._shapes = StatementShapes()
        self._request = PlanRequest(row_filters=tuple(rules), writes_sql=True)

    def outcomes(self, payload: dict[str, Any]) -> list[str]:
        """Return what a payload gives by what was made before."""
        return self._outcomes(
            lambda: _read(self._reader, payload),
            self._view,
            lambda plan: self._shapes.compile(plan, self._view.spec, self._view.known),
        )

    def fresh_outcomes(self, payload: dict[str, Any]) -> list[str]:
        """Return what a payload gives where nothing was made before."""
        view = _view(self._view.spec.name)
        return self._outcomes(
            lambda: _read(ContextReader(most_queries=5), payload), view, lambda plan: compile_plan(plan, view.spec)
        )

    def _outcomes(
        self, read: Callable[[], ChartDataQueryContext], view: DatasetView, compiled: Callable[[Any], Any]
    ) -> list[str]:
        try:
            context = read()
        except AnalyticsError as error:
            return [f"{type(error).__name__}: {error}"]
        found = []
        for query in context.queries:
            found.append(f"{query!r} {sorted(query.model_fields_set)} {query.written('columns')}")
            try:
                plan = plan_query(query, replace(scope_of(view), recalls=view is self._view), self._request)
                found.append(f"{plan!r}\n{compiled(plan)!r}")
            except AnalyticsError as error:
                found.append(f"{type(error).__name__}: {error}")
        return found


def _read(reader: ContextReader, payload: dict[str, Any]) -> ChartDataQueryContext:
    return reader.read(payload, actor=ANNA, now=NOW).context


def _view(engine: str) -> DatasetView:
    return view_of(engine, columns=stored(COLUMNS), metrics=SAVED)


@pytest.mark.slow
@search
@given(payloads=payloads_of_one_shape(), engine=st.sampled_from(ENGINES.names()), rules=st.sampled_from([(), RULE]))
def test_other_values_of_a_shape_give_what_they_give_anew(
    payloads: list[dict[str, Any]], engine: str, rules: Sequence[RowFilter]
) -> None:
    road = Road(engine, rules)
    for payload in payloads:
        assert road.outcomes(payload) == road.fresh_outcomes(payload)


@pytest.mark.parametrize("engine", ENGINES.names())
def test_values_that_decide_where_a_condition_stands_are_of_another_shape(engine: str) -> None:
    """A pattern that ends in a lone escape may fail on some rows: it stands behind the fence of the rules."""
    road = Road(engine, RULE)
    texts = set()
    for number, pattern in enumerate(("B%", "K%", "B\\", "K%", "K\\")):
        filters = [{"col": "city", "op": "LIKE", "val": pattern}]
        payload = {"queries": [{"metrics": ["count"], "filters": filters, "row_limit": 10 + number}]}
        found = road.outcomes(payload)
        assert found == road.fresh_outcomes(payload)
        texts.add(len(found[1]))
    assert len(texts) > 1
