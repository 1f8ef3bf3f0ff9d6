"""The newest partition with rows: how it is asked for, whose rules bind, and what is said where there is none."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from sqlglot import exp
from tests.support.execution import REGISTRY, database

from analytics_core._engine.compile.fragments.parser import FragmentParser
from analytics_core._engine.compile.templates import TemplateRenderer
from analytics_core._engine.engines.partitions import (
    Partition,
    PartitionReader,
    first_literal,
    in_order,
    largest_literal,
)
from analytics_core._engine.engines.types import ValueKind
from analytics_core._engine.gate.partitions import Partitions
from analytics_core._engine.gate.row_security import RowSecurity
from analytics_core._engine.rights.actor import Actor
from analytics_core._engine.rights.row_rules import RuleSet, TableName, make_rule_set
from analytics_core._records.datasource import Dataset, DatasetColumn
from analytics_core._records.people import Role, RowRule, User
from analytics_core.errors import QueryError, StatementRefusedError, UnsupportedByEngineError

SHOP = database("postgresql://u:pw@h/shop")
ORDERS = Dataset(
    id=1,
    uuid="u",
    table_name="orders",
    database_id=SHOP.id,
    columns=(DatasetColumn(column_name="price", type="INTEGER"),),
)
ANN = Actor(user=User(id=5, username="ann"), roles=(Role(id=1, name="r"),))


def read(table: exp.Table, rows: Iterable[Sequence[str | None]]) -> tuple[Partition, ...]:
    """Return a partition for each row, which reads a table of its own."""
    return tuple(
        Partition(
            table=exp.Table(this=exp.to_identifier(f"p{row[0]}", quoted=True), db=table.args.get("db")),
            value=str(row[0]),
        )
        for row in rows
    )


SPEC = replace(
    REGISTRY.get("postgresql"),
    partitions=PartitionReader(sql="LIST {table} OF {schema} LIKE 'a%'", read=read),
)


class World:
    """A database that lists partitions; `with_rows` are those that have some."""

    def __init__(self, values: Iterable[str], with_rows: Iterable[str] = (), *rules: RowRule) -> None:
        self.values, self.with_rows, self.rules = list(values), set(with_rows), rules
        self.spec = SPEC
        self.ran: list[Any] = []
        self.admitted: list[Any] = []
        self.statements = self
        books: Any = self
        parser = FragmentParser(max_length=1_000)
        security = RowSecurity(books=books, sources=(), renderer=TemplateRenderer(), parser=parser)
        gate: Any = self
        self.partitions = Partitions(gate=gate, row_security=security, timeout_s=7.0)

    def admit(self, actor: Actor, _database: Any, *, on: TableName) -> Any:
        self.admitted.append((actor, on))
        return SimpleNamespace(spec=self.spec, to_run=lambda statement: statement)

    def book(self, *_: Any, **__: Any) -> RuleSet:
        return make_rule_set(self.rules, [ORDERS])

    def tables(self, *_: Any) -> tuple[Dataset, ...]:
        return ()

    def run(self, statement: Any, *, limits: Any, budget: Any) -> Any:
        self.ran.append((statement, limits, budget))
        if len(self.ran) == 1:
            rows: list[tuple[Any, ...]] = [(value, "b", "c") for value in self.values]
        else:
            tried = re.findall(r'FROM (?:"\w+"\.)?"p([^"]+)"', statement.sql)
            rows = [(next((place for place, value in enumerate(tried) if value in self.with_rows), None),)]
        return SimpleNamespace(frame=SimpleNamespace(rows=lambda: rows))

    def latest(self, name: str = "orders", **options: Any) -> str:
        return self.partitions.latest(ANN, ORDERS, SHOP, name, **options)


def test_the_newest_partition_that_has_rows_is_found_by_number_or_text() -> None:
    assert World(["9", "10", "8"], ["9", "8", "10"]).latest() == "10"
    assert World(["9", "10", "8"], ["9", "8"]).latest() == "9"
    assert World(["b", "10", "a"], ["a", "b", "10"]).latest() == "b"


def test_partitions_are_asked_for_in_portions_of_two_hundred_from_the_newest_on() -> None:
    for oldest, statements in ((301, 2), (300, 3), (100, 4)):
        w = World([str(number) for number in range(1, 501)], [str(oldest)])
        assert w.latest() == str(oldest)
        assert len(w.ran) == statements, oldest
    w = World([str(number) for number in range(1, 202)])
    with pytest.raises(QueryError, match="no partition of 'orders' has rows"):
        w.latest()
    assert len(w.ran) == 3


def test_the_listing_names_table_and_schema_as_values_and_has_limits() -> None:
    w = World(["1"], ["1"])
    budget: Any = object()
    assert w.latest("sales.or'ders", budget=budget) == "1"
    (listing, limits, spent), (first, *_) = w.ran
    assert listing.sql == "LIST 'or''ders' OF 'sales' LIKE 'a%%'"
    assert listing.display_sql == "LIST 'or''ders' OF 'sales' LIKE 'a%'"
    assert (listing.labels, listing.kinds) == (("a", "b", "c"), (ValueKind.TEXT,) * 3)
    assert (limits.max_rows, limits.max_bytes, limits.timeout_s) == (2_000, 4_000_000, 7.0)
    assert spent is budget
    assert (first.labels, first.kinds) == (("a",), (ValueKind.INTEGER,))
    assert w.admitted == [(ANN, TableName(table="or'ders", schema="sales"))]
    w = World(["1"], ["1"])
    w.latest()
    assert w.ran[0][0].sql == "LIST 'orders' OF NULL LIKE 'a%%'"
    assert w.admitted == [(ANN, TableName(table="orders"))]
    assert 'CASE WHEN EXISTS(SELECT 1 FROM "p1"' in " ".join(w.ran[1][0].sql.split())
    assert "WHERE" not in w.ran[1][0].sql


def test_rows_that_a_rule_forbids_do_not_count() -> None:
    rule = RowRule(id=1, name="r", clause="price > 3", role_ids=(1,), dataset_ids=(1,))
    w = World(["1"], ["1"], rule)
    assert w.latest() == "1"
    (where,) = re.findall(r"WHERE ([^)]+\)?)", w.ran[1][0].sql)
    assert re.search(r'"price"\)? > ', where), where


def test_what_has_no_partitions_is_told_as_what_it_is() -> None:
    with pytest.raises(QueryError, match="latest_partition: 'orders' has no partitions by range or list"):
        World([]).latest()
    w = World(["1"])
    w.spec = replace(SPEC, partitions=None)
    with pytest.raises(UnsupportedByEngineError, match=r"partitions of PostgreSQL are not known; write a MAX"):
        w.latest()
    w = World(["1"])
    for name in ("pg_catalog.pg_stats", "ac_users"):
        with pytest.raises(StatementRefusedError):
            w.latest(name)
    assert w.ran == []


def test_literals_of_partitions_are_read_as_values() -> None:
    for listed, largest, first in (
        ("'2024-01-01', '2024-02-01'", "2024-02-01", "2024-01-01"),
        ("9, 10", "10", "9"),
        ("'9', '10', 'x'", "x", "9"),
        ("'it''s'", "it's", "it's"),
        ("MINVALUE, 5", "5", None),
        ("MAXVALUE", None, None),
        ("null", None, None),
        ("", None, None),
    ):
        assert (largest_literal(listed), first_literal(listed)) == (largest, first), listed
    table = exp.Table(this=exp.to_identifier("t"))

    def ordered(*values: str) -> list[str]:
        return [one.value for one in in_order(Partition(table=table, value=value) for value in values)]

    assert ordered("9", "10", "-1", "2.5") == ["10", "9", "2.5", "-1"]
    assert ordered("9", "10", "x") == ["x", "9", "10"]
    assert ordered("9", "10", "NaN") == ["NaN", "9", "10"]
