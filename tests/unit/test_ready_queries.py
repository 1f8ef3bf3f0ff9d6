"""What is made ready for a query is taken again while all that it was made of is the same, in one minute."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

from tests.support.cases import for_each
from tests.support.planning import dataset, plan, query_of, spec_of, view_of

from analytics_core._engine.compile.planning_context import PlanLimits
from analytics_core._engine.compile.templates import TemplateRenderer
from analytics_core._engine.engines.types import ValueKind
from analytics_core._engine.querying.chart_request import ChartRequest, RequestedQuery
from analytics_core._engine.querying.ready_query import ReadyQueries
from analytics_core._engine.querying.result_cache import cache_timeout
from analytics_core._engine.querying.shaping import declared_kinds
from analytics_core._engine.querying.templating import QueryTemplates
from analytics_core._engine.rights.actor import Actor
from analytics_core._records.people import User
from analytics_core.models.enums import ResultType

NOW = datetime(2024, 7, 1, 12, 30, 20, tzinfo=UTC)
REQUEST = ChartRequest(actor=Actor(user=User(id=2, username="anna")), now=NOW, digest=b"one")
REQUESTED = RequestedQuery(position=0, query=query_of({"columns": ["city"]}), result_type=ResultType.FULL)


class World(ReadyQueries):
    """Counts what is made anew, and says what it is made of."""

    def __init__(self) -> None:
        parts: Any = SimpleNamespace(rules_on=lambda *_: self.rules, still_ruled=lambda *_: self.is_settled)
        super().__init__(gate=parts, preparer=parts, templates=parts, settings=parts, operations={})
        self.rules, self.is_settled, self.moves, self.tables, self.made = "none", True, False, frozenset[Any](), 0

    def make(self, *_: Any, **__: Any) -> Any:
        self.made += 1
        return SimpleNamespace(number=self.made, rules=self.rules, moves=self.moves, tables=self.tables, sources=())

    def queried(self, request: ChartRequest = REQUEST, key: str | None = "anna", **changes: Any) -> int:
        """Return the number of what is given for a request."""
        admission: Any = SimpleNamespace(recall_key=key)
        return int(self.get(request, replace(REQUESTED, **changes), admission).number)  # type: ignore[attr-defined]


def test_the_same_payload_of_the_same_actor_is_made_ready_once_a_minute() -> None:
    world = World()
    assert [world.queried(), world.queried(replace(REQUEST, now=NOW + timedelta(seconds=39)))] == [1, 1]
    assert world.queried(replace(REQUEST, now=NOW + timedelta(seconds=40))) == 2
    assert world.queried() == 1


def test_whatever_else_it_depends_on_makes_it_anew() -> None:
    world = World()
    seconds, digests = replace(REQUEST, chart_cache_timeout=60), replace(REQUEST, digest=b"two")
    made = [world.queried(), world.queried(seconds), world.queried(digests), world.queried(key="ben")]
    made += [world.queried(position=1), world.queried(totals=(("count", 1.0),))]
    assert made == [1, 2, 3, 4, 5, 6]
    assert (world.queried(seconds), world.queried(digests), world.queried(key="ben")) == (2, 3, 4)
    assert (world.queried(position=1), world.queried(totals=(("count", 1.0),))) == (5, 6)


@for_each(("request_", "key"), [(replace(REQUEST, digest=None), "anna"), (REQUEST, None)])
def test_a_payload_or_admission_without_a_key_is_made_ready_each_time(request_: ChartRequest, key: str | None) -> None:
    world = World()
    assert [world.queried(request_, key), world.queried(request_, key), world.queried()] == [1, 2, 3]


def test_other_rules_on_the_tables_inside_make_it_anew() -> None:
    world = World()
    world.tables = frozenset({"orders"})
    assert [world.queried(), world.queried()] == [1, 1]
    world.rules = "one"
    assert [world.queried(), world.queried()] == [2, 2]


@for_each("changes", [{"moves": True}, {"is_settled": False}])
def test_what_moves_or_was_made_while_rules_changed_is_not_taken_again(changes: dict[str, bool]) -> None:
    world = World()
    vars(world).update(changes)
    assert [world.queried(), world.queried()] == [1, 2]


@for_each(
    ("template", "seconds"),
    [
        ("{{ get_time_filter('x', default='Last 90 seconds').to_expr }}", True),
        ("{{ get_time_filter('x', default='Last 90 days').to_expr }}", False),
        ("city", False),
    ],
)
def test_the_templates_of_a_query_tell_whether_they_move_with_every_second(template: str, seconds: bool) -> None:
    templates = QueryTemplates(TemplateRenderer(), PlanLimits()).for_query(
        REQUESTED.query, dataset(), spec_of("duckdb"), REQUEST
    )
    assert templates.counts_seconds is False
    templates.render(template)
    assert templates.counts_seconds is seconds


def test_kinds_are_those_of_the_plan_and_else_of_the_dataset() -> None:
    view = view_of("duckdb")
    made = plan({"columns": ["city", "ordered_at", "revenue"], "metrics": ["orders"]}, view=view)
    assert declared_kinds(made, view) == {
        "city": ValueKind.TEXT,
        "ordered_at": ValueKind.TIMESTAMP,
        "revenue": ValueKind.FLOAT,
        "orders": ValueKind.INTEGER,
    }


@for_each(
    ("custom", "seconds"), [(-5, -1), (0, 0), (10, 10), (2**31 - 1, 2**31 - 1), (2**31, 2**31 - 1), (2**40, 2**31 - 1)]
)
def test_no_answer_is_kept_for_longer_than_caches_take(custom: int, seconds: int) -> None:
    loaded: Any = SimpleNamespace(dataset=dataset(), database=SimpleNamespace(cache_timeout=None))
    assert cache_timeout(custom=custom, chart=None, loaded=loaded, default=60).seconds == seconds
