"""One small core per engine with something to hide, and every road on which SQL of a person reaches a database."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from tests.support.servers import LOOPBACK

from analytics_core import AnalyticsCore, Settings
from analytics_core._records.datasource import Dataset
from analytics_core._records.people import RowFilter, User
from analytics_core.errors import AnalyticsError
from analytics_core.testing import FakeRenderer

KEY = "k3y-of-the-audited-core-0123456789"
SECRET = "w0rd-of-the-vault"
FILE_SECRET = "w0rd-of-the-file"
HIDDEN = "hidden-row-77"
HIDDEN_NUMBER = 987_654_321
STATEMENTS = (
    "CREATE TABLE orders (id INTEGER NOT NULL, city VARCHAR(20), quantity INTEGER, visible INTEGER)",
    f"INSERT INTO orders VALUES (1, 'Bonn', 3, 1), (2, NULL, 5, 1), ({HIDDEN_NUMBER}, '{HIDDEN}', {HIDDEN_NUMBER}, 0)",
    "CREATE TABLE vault (id INTEGER, secret VARCHAR(40))",
    f"INSERT INTO vault VALUES (1, '{SECRET}')",
)


class Rules:
    """The row rules of the host, which a test may change: they are SQL of a person too."""

    def __init__(self) -> None:
        self.clause = "visible = 1"

    def row_filters(self, user: User, dataset: Dataset) -> Sequence[RowFilter]:
        """Return the one rule of every dataset that has the column."""
        return (RowFilter(name="rule", clause=self.clause),)


@dataclass(frozen=True, kw_only=True)
class World:
    """A core over one database, its administrator acting; dataset 1 is `orders`.

    An attack sends it one of `step` texts.
    """

    engine: str
    core: AnalyticsCore
    rules: Rules
    folder: Path
    url: str
    step: int = 1
    made: list[str] = field(default_factory=list)
    stored: list[str] = field(default_factory=list)

    def contents(self) -> dict[str, list[Any]]:
        """Return all rows and all tables of a server's database, as its owner sees them; for files see `files`."""
        if self.engine in ("sqlite", "duckdb"):
            return {}
        admin = sa.create_engine(self.url, poolclass=sa.NullPool)
        with admin.connect() as connection:
            if self.engine == "spark":  # its driver takes the schema of a table for its name
                tables = sorted(row[1] for row in connection.exec_driver_sql("SHOW TABLES"))
            else:
                tables = sorted(sa.inspect(connection).get_table_names())
            return {
                name: sorted(map(repr, connection.exec_driver_sql(f"SELECT * FROM {name}").all())) for name in tables
            }

    def files(self) -> dict[str, bytes]:
        """Return every file of the world's folder."""
        return {str(path): path.read_bytes() for path in sorted(self.folder.rglob("*")) if path.is_file()}

    def ask(self, query: Mapping[str, Any], *, dataset: int = 1) -> str:
        """Return all that the answer says, or raise the error of its query."""
        data = self.core.charts.data({"datasource": {"id": dataset, "type": "table"}, "queries": [dict(query)]})
        data.raise_for_error()
        return data.to_json().decode()

    def change_dataset(self, changes: Mapping[str, Any]) -> None:
        """Change dataset 1; `reset` undoes it."""
        self.stored.append("dataset")
        self.core.datasets.update(1, changes)

    def change_rule(self, clause: str) -> None:
        """Change the row rule; `reset` undoes it."""
        self.stored.append("rule")
        self.rules.clause = clause

    def new_name(self) -> str:
        """Return a name for one more dataset."""
        self.made.append(f"dataset_{len(self.made)}")
        return self.made[-1]


def _written_for(engine: str, statement: str) -> str:
    """Return a statement as an engine takes it whose columns hold no NULL unless they say so."""
    if engine != "clickhouse" or not statement.startswith("CREATE"):
        return statement
    return f"{statement.replace('VARCHAR(20)', 'VARCHAR(20) NULL')} ENGINE = MergeTree ORDER BY id"


@contextmanager
def security_world(engine: str, url: str, folder: Path, *, timeout_s: float = 5.0) -> Iterator[World]:
    """Fill the database of `url`, and give the world over it; a file of the database lies in `folder`."""
    admin = sa.create_engine(url, poolclass=sa.NullPool)
    with admin.begin() as connection:
        for statement in STATEMENTS:
            connection.exec_driver_sql(_written_for(engine, statement))
    admin.dispose()
    (folder / "secret.csv").write_text(f"a,b\n1,{FILE_SECRET}\n")
    rules = Rules()
    settings = Settings(
        secret_key=KEY,
        data_roots=(folder,),
        allowed_networks=LOOPBACK,
        metadata_freshness_s=0,
        statement_timeout_s=timeout_s,
    )
    with AnalyticsCore(settings, row_filters=[rules], renderer=FakeRenderer()) as host:
        core = host.as_user(host.create_first_administrator("admin").id)
        core.databases.create({"database_name": "shop", "orm_uri": url})
        core.datasets.create({"database": 1, "table_name": "orders"})
        yield World(engine=engine, core=core, rules=rules, folder=folder, url=url)


# --------------------------------------------------------------------------------------------------------------- roads
def _adhoc(text: str) -> dict[str, Any]:
    return {"label": "x", "sqlExpression": text, "expressionType": "SQL"}


def _payload(query: Callable[[str], Mapping[str, Any]]) -> Callable[[World, str], str]:
    return lambda world, text: world.ask(query(text))


def _calculated(world: World, text: str) -> str:
    columns = [{"column_name": name} for name in _COLUMNS]
    world.change_dataset({"columns": [*columns, {"column_name": "made", "expression": text}]})
    return world.ask({"columns": ["id", "made"]}) + world.ask({"columns": ["made"], "metrics": ["count"]})


def _saved_metric(world: World, text: str) -> str:
    world.change_dataset({"metrics": [{"metric_name": "count", "expression": "COUNT(*)"}, _made(text)]})
    return world.ask({"metrics": ["made"]}) + world.ask({"columns": ["id"], "metrics": ["count"], "orderby": _BY_MADE})


_COLUMNS = ("id", "city", "quantity", "visible")
_BY_MADE = [["made", True]]


def _made(text: str) -> dict[str, str]:
    return {"metric_name": "made", "expression": text}


def _predicate(world: World, text: str) -> str:
    world.change_dataset({"fetch_values_predicate": text})
    return world.ask({"columns": ["id"], "apply_fetch_values_predicate": True})


def _row_rule(world: World, text: str) -> str:
    world.change_rule(text)
    return world.ask({"metrics": ["count"]})


def _virtual(world: World, text: str) -> str:
    created = world.core.datasets.create({"database": 1, "table_name": world.new_name(), "sql": text})
    return world.ask({"columns": ["id"]}, dataset=created.id)


def _template(world: World, text: str) -> str:
    """A template that its author wrote to give `text`, from the outside of a value too."""
    return _virtual(world, "{% set part = " + repr(text) + " %}{{ part }}")


def _requested(world: World, text: str) -> str:
    found = world.core.sql(text)
    return f"{found.rows()} {found.to_payload()}"


def _in_batches(world: World, text: str) -> str:
    with world.core.sql.batches(text) as batches:
        return "".join(str(batch.to_pylist()) for batch in batches)


def _plan_of(world: World, text: str) -> str:
    """Nothing runs: whatever is in the explanation was in the text, or is a name."""
    return str(world.core.sql.explain(text)).replace(text, "")


def _executed(world: World, text: str) -> str:
    done = world.core.sql.execute({"database_id": 1, "sql": text})
    return f"{done.data} {done.columns} {done.status}"


CONDITION_ROADS: Mapping[str, Callable[[World, str], str]] = {
    "where": _payload(lambda text: {"columns": ["id"], "extras": {"where": text}}),
    "fetch values predicate": _predicate,
    "row rule": _row_rule,
}
GROUP_ROADS: Mapping[str, Callable[[World, str], str]] = {
    "having": _payload(lambda text: {"columns": ["id"], "metrics": ["count"], "extras": {"having": text}}),
}
VALUE_ROADS: Mapping[str, Callable[[World, str], str]] = {
    "ad-hoc column": _payload(lambda text: {"columns": [_adhoc(text)], "metrics": ["count"]}),
    "raw ad-hoc column": _payload(lambda text: {"columns": ["id", _adhoc(text)]}),
    "order": _payload(lambda text: {"columns": ["id", _adhoc(text)], "orderby": [[_adhoc(text), False]]}),
    "filter column": _payload(lambda t: {"columns": ["id"], "filters": [{"col": _adhoc(t), "op": "IS NOT NULL"}]}),
    "series column": _payload(
        lambda t: {"columns": [_adhoc(t)], "metrics": ["count"], "series_columns": [_adhoc(t)], "series_limit": 3}
    ),
    "calculated column": _calculated,
}
AGGREGATE_ROADS: Mapping[str, Callable[[World, str], str]] = {
    "ad-hoc metric": _payload(lambda text: {"columns": ["id"], "metrics": [_adhoc(text)]}),
    "series limit metric": _payload(
        lambda t: {
            "columns": ["id"],
            "metrics": ["count"],
            "series_columns": ["id"],
            "series_limit": 3,
            "series_limit_metric": _adhoc(t),
        }
    ),
    "saved metric": _saved_metric,
}
FRAGMENT_ROADS = {**CONDITION_ROADS, **GROUP_ROADS, **VALUE_ROADS, **AGGREGATE_ROADS}
EDITOR_ROADS: Mapping[str, Callable[[World, str], str]] = {
    "sql": _requested,
    "sql batches": _in_batches,
    "sql explain": _plan_of,
    "sql execute": _executed,
}
STATEMENT_ROADS: Mapping[str, Callable[[World, str], str]] = {
    "virtual dataset": _virtual,
    "template": _template,
    **EDITOR_ROADS,
}


def reset(world: World) -> None:
    """Undo what a road stored; the roads of payloads store nothing."""
    if not world.stored:
        return
    world.stored.clear()
    world.rules.clause = "visible = 1"
    world.core.datasets.update(
        1,
        {
            "columns": [{"column_name": name} for name in _COLUMNS],
            "metrics": [{"metric_name": "count", "expression": "COUNT(*)"}],
            "fetch_values_predicate": None,
        },
    )


def rejection(world: World, road: Callable[[World, str], str], text: str) -> AnalyticsError | None:
    """Return the typed error that a text meets on a road, or None when it was answered."""
    try:
        road(world, text)
    except AnalyticsError as error:
        return error
    finally:
        reset(world)
    return None
