"""A digest of what binds somebody: equal in every process for equal bounds, and another one for any other."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from tests.support.annotated import chart, layer
from tests.support.cases import for_each
from tests.support.tenant_world import TENANT_CLAUSE, TenantWorld, rule, tenant_world

from analytics_core import AnalyticsCore
from analytics_core._content.questions.queries import ChartQueries
from analytics_core._engine.compile.fingerprint import digest_of
from analytics_core._engine.compile.plan import ColumnExpr, SqlSource, TableSource
from analytics_core._engine.engines.types import Collation, ValueKind
from analytics_core.errors import AccessError, QueryError
from analytics_core.models.enums import ResultType

pytestmark = pytest.mark.slow

NOW = datetime(2024, 6, 1, tzinfo=UTC)
OVER = "SELECT s.id, s.region, t.goal FROM sales s JOIN targets t ON t.id = s.id"
TEMPLATED = "SELECT id, '{{ current_username() }}' AS who FROM sales WHERE id > {{ 1 + 1 }}"
DATASETS = {"table": 1, "virtual": 2, "templated": 3}


def bounds(host: AnalyticsCore, user: str, requested: dict[str, Any]) -> Any:
    """Return what binds somebody on a query context."""
    core = host.as_user(user)
    queries = ChartQueries(core._runtime.content, core._actor())
    questions = queries._runtime.engine.questions
    return questions.runner.bound_by(questions.contexts.read(requested, actor=queries.actor, now=NOW))


def driver_options() -> dict[str, dict[str, Any]]:
    """Return a query context on each dataset, one that shows a chart, one of facts, and one that fails."""
    source = {name: {"datasource": {"id": number, "type": "table"}} for name, number in DATASETS.items()}
    annotation = layer(1, "table", "EVENT", name="A chart")
    return {
        **{name: {**fields, "queries": [{"columns": ["id"]}]} for name, fields in source.items()},
        "annotated": {**source["table"], "queries": [{"columns": ["id"], "annotation_layers": [annotation]}]},
        "facts": {**source["virtual"], "queries": [{"columns": ["id"], "result_type": "columns"}]},
        "failed": {**source["table"], "queries": [{"columns": ["nope"]}]},
    }


def digests(host: AnalyticsCore, user: str) -> dict[str, str]:
    return {name: digest_of(bounds(host, user, requested)) for name, requested in driver_options().items()}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[TenantWorld]:
    with tenant_world("sqlite", f"sqlite:///{tmp_path}/shop.db", tmp_path) as made:
        made.admin.row_level_security.create(rule(made))
        made.virtual("over", OVER)
        made.virtual("templated", TEMPLATED)
        chart(made.admin, {"columns": ["id", "goal"]}, dataset=2)
        yield made


def changed(before: dict[str, str], after: dict[str, str]) -> set[str]:
    return {name for name in before if before[name] != after[name]}


def test_digests_follow_what_binds(world: TenantWorld) -> None:
    first, others = digests(world.host, "acme"), digests(world.host, "bolt")
    assert digests(world.host, "acme") == first
    assert changed(first, others) == set(first)
    assert len(set(first.values())) == len(first)
    world.admin.row_level_security.update(1, {"clause": f"{TENANT_CLAUSE} AND amount < 15"})
    assert changed(first, digests(world.host, "acme")) == set(first) - {"facts"}
    world.admin.row_level_security.update(1, {"clause": TENANT_CLAUSE})
    assert digests(world.host, "acme") == first
    world.admin.datasets.update(2, {"sql": f"{OVER} WHERE t.goal > 7"})
    assert changed(first, digests(world.host, "acme")) == {"virtual", "annotated"}
    world.admin.datasets.update(2, {"sql": OVER})
    (acme,) = [user for user in world.admin.users.list() if user.username == "acme"]
    world.admin.users.update(acme.id, {"attributes": {"tenant": "bolt"}})
    assert changed(first, digests(world.host, "acme")) == set(first)


PROGRAM = """
import json, sys
from analytics_core import AnalyticsCore, Settings
from pathlib import Path
from tests.integration.test_digests_of_bounds import VALUES, digest_of, digests
from tests.support.tenant_world import KEY
settings = Settings(secret_key=KEY, data_roots=(Path(sys.argv[2]),))
with AnalyticsCore(settings, metadata_url=sys.argv[1]) as host:
    found = {user: digests(host, user) for user in ("acme", "bolt", "o'hare")}
print(json.dumps([found, [digest_of(value) for value in VALUES], hash("a text")]))
"""


def test_digests_are_the_same_in_every_process(world: TenantWorld, tmp_path: Path) -> None:
    here = {user: digests(world.host, user) for user in ("acme", "bolt", "o'hare")}
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    command = [sys.executable, "-c", PROGRAM, world.metadata_url, str(tmp_path)]
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    found, values, hashed = json.loads(done.stdout)
    assert hashed != hash("a text")  # the seeds differ
    assert found == here
    assert values == [digest_of(value) for value in VALUES]


# ------------------------------------------------------------------------------------------------------- plain values
@dataclass(frozen=True)
class Point:
    """A record like those of plans."""

    x: Any
    y: Any = None
    seen: Any = field(default=None, compare=False)


VALUES: list[Any] = [
    *(None, True, False, 0, 1, -1, 1.0, 0.5, float("nan"), 2**100, "", "1", "None", "a,b", "a", b"a", "\ud800"),
    *(Decimal(1), Decimal("1.5"), UUID(int=1), timedelta(1), date(2024, 1, 1), datetime(2024, 1, 1)),
    *(datetime(2024, 1, 1, tzinfo=UTC), time(1), ResultType.FULL, ResultType.QUERY, Collation.EXACT),
    *((), (1,), (1, 2), ((1,), 2), (1, (2,)), ("a,b",), ("a", "b"), ("str('a')",), (None,), ((),)),
    *(frozenset(), frozenset({1, 2}), frozenset({"a", "b", "c"}), frozenset({("a", 1), ("b", 2)}), frozenset({None})),
    *(int, str, QueryError, AccessError, Point, Point(1), Point(1, 2), Point((1, 2)), Point(Point(1)), [1, 2], []),
    *(TableSource(table="a"), TableSource(table="a", schema="b"), SqlSource(sql="a"), "TableSource(table='a')"),
]


def test_different_values_have_different_digests() -> None:
    assert len({digest_of(value) for value in VALUES}) == len(VALUES)


def test_equal_sets_and_records_have_equal_digests() -> None:
    names = [f"name {number}" for number in range(50)]
    assert digest_of(frozenset(names)) == digest_of(frozenset(reversed(names)))
    assert digest_of(Point(1, seen=object())) == digest_of(Point(1, seen="else"))
    column = ColumnExpr("a", ValueKind.TEXT)
    assert digest_of(column) == digest_of(replace(column, length=7, leads_index=True))
    assert digest_of(column) != digest_of(replace(column, nullable=True))


@dataclass
class Loose:
    """A record that may change."""

    x: int = 1


@dataclass(frozen=True, eq=False)
class NoOne:
    """A record that is equal to itself only."""


class Number(int):
    """A type that may compare as it likes."""


@for_each(
    "value",
    [object(), Loose(), NoOne(), Number(1), len, {"a": 1}, {1}, iter(())],
    ids=lambda value: type(value).__name__,
)
def test_values_of_other_types_have_none(value: Any) -> None:
    for candidate in (value, (1, value), Point(value)):
        with pytest.raises(TypeError, match="there is no digest of a"):
            digest_of(candidate)
