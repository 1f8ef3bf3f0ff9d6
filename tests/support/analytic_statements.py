"""Statements that analysts write over five small tables and a view, and the rules that hide rows of each of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

TABLES: Mapping[str, str] = {
    "orders": "id INTEGER NOT NULL, customer INTEGER, region VARCHAR(20), amount INTEGER, price DECIMAL(10, 2), "
    "placed DATE, doc VARCHAR(60), owner VARCHAR(9) | "
    "(1, 1, 'north', 10, 1.50, '2024-01-05', '{\"a\": 1, \"b\": [1, 2]}', 'us'), "
    "(2, 1, 'south', 20, 2.25, '2024-01-06', '{\"a\": 2, \"b\": []}', 'us'), "
    "(3, 2, 'north', 30, NULL, '2024-02-07', '{\"a\": 3, \"b\": [3]}', NULL), "
    "(4, 2, 'east', 1000, 4.00, '2024-02-08', '{\"a\": 4, \"b\": [9]}', 'them'), "
    "(5, 3, 'west', 2000, 5.00, '2024-03-09', '{\"a\": 5, \"b\": [9]}', 'them'), "
    "(6, 4, 'north', 60, 6.75, '2024-03-10', '{\"a\": 6, \"b\": [6, 6]}', 'us'), "
    "(7, NULL, NULL, 70, 7.00, NULL, '{\"a\": 7, \"b\": [7]}', 'us'), "
    "(8, 9, 'south', NULL, 8.00, '2023-12-31', '{\"a\": 8, \"b\": [8]}', 'us'), "
    "(9, 5, 'south', 90, 9.00, '2023-01-05', '{\"a\": 9, \"b\": [9]}', 'them'), "
    "(10, 5, 'west', 20, 2.25, '2024-01-06', '{\"a\": 2, \"b\": []}', NULL)",
    "customers": "id INTEGER NOT NULL, name VARCHAR(20), region VARCHAR(20), boss INTEGER, level INTEGER | "
    "(1, 'Ann', 'north', NULL, 1), (2, 'Bob', 'south', 1, 2), (3, 'Cyd', 'west', 1, 9), (4, 'Dan', 'north', 2, 2), "
    "(5, 'Eve', 'south', 3, 1), (6, 'Fay', NULL, 4, 9)",
    "items": "order_id INTEGER, product VARCHAR(20), quantity INTEGER, seen INTEGER | "
    "(1, 'pen', 1, 1), (1, 'ink', 2, 1), (2, 'pen', 3, 1), (2, 'cap', 4, 0), (3, 'ink', 5, 1), (4, 'pen', 6, 1), "
    "(5, 'jar', 7, 0), (6, 'jar', 8, 1), (7, 'cap', 9, 0), (9, 'cap', 10, 1), (NULL, 'pen', 11, 1)",
    "events": "id INTEGER NOT NULL, person INTEGER, kind VARCHAR(9), moment TIMESTAMP, spent INTEGER, site VARCHAR(9), "
    "test INTEGER | "
    "(1, 1, 'visit', '2024-01-01 09:00:00', NULL, 'web', 0), (2, 1, 'cart', '2024-01-01 09:05:00', NULL, 'web', 0), "
    "(3, 1, 'buy', '2024-01-01 09:20:00', 30, 'web', 0), (4, 2, 'visit', '2024-01-01 10:00:00', NULL, 'app', 0), "
    "(5, 2, 'visit', '2024-01-02 08:00:00', NULL, 'app', 1), (6, 2, 'cart', '2024-01-03 08:10:00', NULL, 'app', 0), "
    "(7, 3, 'visit', '2024-01-03 12:00:00', NULL, 'web', 0), (8, 3, 'buy', '2024-01-08 12:30:00', 55, 'app', 1), "
    "(9, 1, 'visit', '2024-01-09 07:00:00', NULL, 'app', 0), (10, 1, 'buy', '2024-02-02 07:15:00', 12, 'app', 0), "
    "(11, 4, 'visit', '2024-02-10 23:59:59', NULL, NULL, 0), (12, 4, 'cart', '2024-02-11 00:10:00', NULL, 'web', 1), "
    "(13, 4, 'buy', '2024-02-11 00:20:00', 99, 'web', 1), (14, 2, 'buy', '2024-02-20 18:00:00', 20, 'web', 0), "
    "(15, NULL, 'visit', '2024-02-29 00:00:00', NULL, 'web', 0), "
    "(16, 3, 'visit', '2024-03-01 06:00:00', NULL, 'web', 0)",
    "Odd Name": 'id INTEGER, "a b" VARCHAR(20), visible INTEGER | '
    "(1, 'x', 1), (2, 'y', 0), (3, 'it''s', 1), (4, NULL, 0), (5, '%', 1)",
}
VIEWS: Mapping[str, str] = {"large_orders": "SELECT id, region, amount FROM {all}orders WHERE amount >= 50"}
RULES: Mapping[str, str] = {
    "orders": "owner = 'us' OR owner IS NULL",
    "customers": "level < 3",
    "items": "seen = 1",
    "events": "test = 0",
    "Odd Name": "visible = 1",
    "large_orders": "id <> 9 AND id <> 4",
}


_LETTERS: Mapping[str, str] = {"sqlite": "s", "duckdb": "d", "postgresql": "p", "mysql": "m"}


def in_dialect(engine: str, text: str) -> str:
    """Return SQL with names in the quotes of the engine."""
    return re.sub(r'"(\w+ \w+)"', r"`\1`", text) if engine == "mysql" else text


def statements(engine: str, *, refused: bool = False) -> list[str]:
    """Return the statements of an engine, those that its guard takes or those that it refuses.

    `{schema}` stands for the schema of the tables.
    """
    return list(_texts(engine, "analytic_statements.txt", refused=refused))


def scripts(engine: str, *, refused: bool = False) -> list[str]:
    """Return the scripts of an engine; `; ` parts their statements."""
    return list(_texts(engine, "analytic_scripts.txt", refused=refused))


def _texts(engine: str, file: str, *, refused: bool) -> Iterator[str]:
    for line in Path(__file__).with_name(file).read_text(encoding="utf-8").splitlines():
        engines, _, text = line.partition(" ")
        of_engine = "*" in engines or _LETTERS[engine] in engines
        if of_engine and not line.startswith("#") and engines.startswith("!") is refused:
            yield in_dialect(engine, text)
