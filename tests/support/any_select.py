"""Any SELECT over four small tables, and any rules on them; hidden rows hold texts on which some functions fail."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st

Columns = tuple[tuple[str, str], ...]
"""Names of columns, each with its kind: `int`, `text`, or `digits`, a text that is a number in permitted rows."""

TABLES: Mapping[str, str] = {
    "t": "a INTEGER, b INTEGER, s VARCHAR(9), n VARCHAR(9), hidden INTEGER | "
    "(1, 1, 'x', '1', 0), (2, 1, 'y', '2', 0), "
    "(3, NULL, NULL, NULL, 0), (3, 2, 'x', '30', 0), (1, 1, 'x', '{C', 1), (4, 2, 'z', '{C', 1), (2, 3, 'x', '2', 0)",
    "u": "a INTEGER, c INTEGER, s VARCHAR(9), n VARCHAR(9), hidden INTEGER | "
    "(1, 5, 'x', '7', 0), (NULL, 6, 'y', '8', 0), "
    "(2, 5, 'w', '{C', 1), (2, 6, 'x', '9', 0), (4, NULL, NULL, NULL, 0), (3, 5, 'y', '{C', 1)",
    "v": "b INTEGER, n VARCHAR(9), hidden INTEGER | "
    "(1, '1', 0), (2, '{C', 1), (3, '3', 0), (NULL, NULL, 0), (1, '{C', 1)",
    "w x": "a INTEGER, \"s t\" VARCHAR(9), hidden INTEGER | (1, 'x', 0), (2, '%', 0), (3, NULL, 1), (2, 'x', 1)",
}
COLUMNS: Mapping[str, Columns] = {
    "t": (("a", "int"), ("b", "int"), ("s", "text"), ("n", "digits")),
    "u": (("a", "int"), ("c", "int"), ("s", "text"), ("n", "digits")),
    "v": (("b", "int"), ("n", "digits")),
    "w x": (("a", "int"), ('"s t"', "text")),
}
MORE_RULES: Mapping[str, tuple[str, ...]] = {
    "t": ("hidden = 0 AND a < 3", "hidden = 0 AND (b = 1 OR b IS NULL)", "LOWER(s) = 'x' AND NOT hidden <> 0"),
    "u": ("hidden = 0 AND c <> 6", "hidden = 0 AND (s = 'x' OR a = 4)", "hidden = -1 OR n IN ('7', '9')"),
    "v": ("hidden IN (0, -1)", "hidden = 0 AND b > 1"),
    "w x": ("a <> 2", "hidden = 1"),
}
NUMBER_OF = {"sqlite": "json_extract({}, '$')", "duckdb": "CAST({} AS INTEGER)"}
"""What fails on the texts of hidden rows."""

MOST_QUERIES = 4
"""Queries stand inside each other that deep."""


@dataclass(frozen=True)
class Scope:
    """The relations that a query may read by name, and the columns that an expression may name, with their kinds."""

    relations: Mapping[str, Columns]
    columns: Columns = ()
    depth: int = 0

    def deeper(self, by: int = 1) -> Scope:
        """Return the scope of a part: how deep it stands bounds what it may hold."""
        return replace(self, depth=self.depth + by)

    @property
    def takes_queries(self) -> bool:
        """Whether a query may stand in it."""
        return self.depth < MOST_QUERIES


@dataclass
class Writer:
    """Writes a SELECT; each choice is one of hypothesis."""

    draw: Callable[[st.SearchStrategy[Any]], Any]
    engine: str
    names: int = 0

    def pick(self, *items: str) -> str:
        """Return one of the texts; the first is the simplest."""
        found: str = self.draw(st.sampled_from(items))
        return found

    def chance(self, share: int) -> bool:
        """Return true in one of so many cases."""
        return bool(self.draw(st.integers(0, share - 1)) == share - 1)

    def new_name(self) -> str:
        """Return a name that nothing has."""
        self.names += 1
        return f"q{self.names}"

    def query(self, scope: Scope, kinds: Sequence[str] = ()) -> tuple[str, Columns]:
        """Return a query and its columns; `kinds` are those that it must have."""
        scope, clauses = (
            self.clauses(scope.deeper()) if self.chance(4) and scope.takes_queries else (scope.deeper(), [])
        )
        kinds = kinds or [self.pick("int", "text", "digits") for _ in range(self.draw(st.integers(1, 3)))]
        sql, columns = self.select(scope, kinds)
        if self.chance(5) and scope.takes_queries:
            sql += f" {self.pick('UNION ALL', 'UNION', 'EXCEPT', 'INTERSECT')} {self.select(scope, kinds)[0]}"
        if self.chance(6):
            sql += f" ORDER BY {', '.join(str(n) for n in range(1, len(columns) + 1))} LIMIT {self.pick('3', '1')}"
        return f"WITH {', '.join(clauses)} {sql}" if clauses else sql, columns

    def clauses(self, scope: Scope) -> tuple[Scope, list[str]]:
        """Return clauses of WITH, which may be called like tables, and the scope after them."""
        clauses = []
        names = [self.pick("q", "t", "U"), self.pick("r", "v")][: self.draw(st.integers(1, 2))]
        seen = {} if self.engine == "duckdb" else dict.fromkeys(map(str.lower, names))
        for name in names:
            # SQLite sees the names of all clauses in each of them, DuckDB those before it.
            relations = {key: columns for key, columns in scope.relations.items() if key not in seen}
            sql, columns = self.query(replace(scope, relations=relations, columns=()))
            columns = tuple((f"k{n}", kind) for n, (_, kind) in enumerate(columns))
            listed = ", ".join(column for column, _ in columns)
            clauses.append(f"{name}({listed}) AS {self.pick('', 'MATERIALIZED ', 'NOT MATERIALIZED ')}({sql})")
            scope = replace(scope, relations={**scope.relations, name.lower(): columns})
        return scope, clauses

    def select(self, scope: Scope, kinds: Sequence[str]) -> tuple[str, Columns]:
        """Return one SELECT with columns of these kinds."""
        source, inside = self.source(scope)
        aliases = {column.rpartition(".")[0].lower() for column, _ in inside}
        outer = [(name, kind) for name, kind in scope.columns if name.rpartition(".")[0].lower() not in aliases]
        names, within = [self.new_name() for _ in kinds], replace(scope, columns=(*inside, *outer))
        groups = self.chance(4)
        of_groups = replace(scope, columns=inside, depth=MOST_QUERIES)
        values = [self.aggregate(of_groups, kind) if groups else self.value(within, kind) for kind in kinds]
        sql = "SELECT DISTINCT " if self.chance(6) else "SELECT "
        sql += ", ".join(f"{value} AS {name}" for value, name in zip(values, names, strict=True)) + f" FROM {source}"
        sql += f" WHERE {self.condition(within)}" if self.chance(2) else ""
        if groups:
            sql += f" GROUP BY {', '.join(column for column, _ in inside[:2])}"
            sql += f" HAVING {self.aggregate(of_groups, 'int')} > {self.pick('0', '2')}" if self.chance(3) else ""
        return sql, tuple(zip(names, kinds, strict=True))

    def aggregate(self, scope: Scope, kind: str) -> str:
        """Return an aggregate."""
        value = self.value(scope, kind)
        if kind == "int":
            return self.pick("COUNT(*)", f"SUM({value})", f"MAX({value})", f"COUNT(DISTINCT {value})")
        return self.pick(f"MIN({value})", f"MAX({value})")

    def source(self, scope: Scope) -> tuple[str, Columns]:
        """Return what stands after FROM, and its columns."""
        sql, columns = self.relation(scope, ())
        for _ in range(self.draw(st.integers(0, 2))):
            other, more = self.relation(scope, columns)
            join = self.pick("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN")
            on = "" if join == "CROSS JOIN" else f" ON {self.column(columns, 'int')} = {self.column(more, 'int')}"
            sql, columns = f"{sql} {join} {other}{on}", (*columns, *more)
        return sql, columns

    def relation(self, scope: Scope, beside: Columns) -> tuple[str, Columns]:
        """Return a relation and its columns, which have its alias; it is called like none of those beside it."""
        taken = {name.rpartition(".")[0].strip('"').lower() for name, _ in beside}
        alias = self.pick(self.new_name(), *sorted({"t", "u", "v"} - taken))
        if self.chance(4) and scope.takes_queries:
            sql, columns = self.query(replace(scope, columns=()))
            return f"({sql}) AS {alias}", _of(alias, columns)
        name = self.pick(*scope.relations)
        columns, written = (
            scope.relations[name],
            self.pick(f'"{name}"', *([name, name.upper()] if " " not in name else [])),
        )
        if name in COLUMNS and (columns is COLUMNS[name] or self.chance(2)):
            columns, written = COLUMNS[name], self.pick(written, f'main."{name}"', f'"MAIN"."{name.upper()}"')
        if name not in taken and self.chance(4):
            return written, _of(f'"{name}"', columns)
        return f"{written} {self.pick('AS ', '')}{alias}", _of(alias, columns)

    def column(self, columns: Columns, kind: str) -> str:
        """Return a column of a kind, or something of that kind where there is none."""
        found = [name for name, of in columns if of == kind]
        return self.pick(*found) if found else {"int": "1", "text": "'x'", "digits": "'4'"}[kind]

    def value(self, scope: Scope, kind: str) -> str:
        """Return an expression of a kind."""
        plain, choice = self.column(scope.columns, kind), self.draw(st.integers(0, 9))
        if choice == 9 and scope.takes_queries:
            inner, columns = self.query(scope, [kind])
            return f"(SELECT MAX({columns[0][0]}) FROM ({inner}) AS {self.new_name()})"
        if choice < 6 or scope.depth > MOST_QUERIES + 2:
            return plain
        if choice == 6:
            condition = self.condition(scope.deeper(2))
            return f"CASE WHEN {condition} THEN {plain} ELSE {self.value(scope.deeper(2), kind)} END"
        if kind == "digits":
            return f"COALESCE({plain}, '5')"
        if kind == "text":
            return self.pick(f"UPPER({plain})", f"{plain} || {self.value(scope.deeper(2), 'text')}")
        number = NUMBER_OF[self.engine].format(self.column(scope.columns, "digits"))
        return self.pick(number, f"{plain} + {self.value(scope.deeper(2), 'int')}", f"COALESCE({plain}, 0)")

    def condition(self, scope: Scope) -> str:
        """Return a condition."""
        kind, choice = self.pick("int", "text", "digits"), self.draw(st.integers(0, 9))
        column = self.column(scope.columns, kind)
        if choice == 9 and scope.takes_queries:
            return f"{column} {self.pick('IN', 'NOT IN')} ({self.query(scope, [kind])[0]})"
        if choice == 8 and scope.takes_queries:
            return f"{self.pick('EXISTS', 'NOT EXISTS')} ({self.query(scope)[0]})"
        if choice == 7 and scope.depth <= MOST_QUERIES + 2:
            one, other = self.condition(scope.deeper(2)), self.condition(scope.deeper(2))
            return f"({one} {self.pick('AND', 'OR')} NOT ({other}))"
        if choice == 6:
            return f"{NUMBER_OF[self.engine].format(self.column(scope.columns, 'digits'))} > {self.pick('0', '2')}"
        if choice == 5:
            return f"{column} IS {self.pick('', 'NOT ')}NULL"
        return f"{column} {self.pick('=', '<>', '<', '>=')} {self.value(scope.deeper(2), kind)}"


def _of(alias: str, columns: Columns) -> Columns:
    return tuple((f"{alias}.{column}", kind) for column, kind in columns)


@st.composite
def selects(draw: Callable[[st.SearchStrategy[Any]], Any], engine: str) -> str:
    """Return any SELECT."""
    return Writer(draw, engine).query(Scope(COLUMNS))[0]


RULES = st.fixed_dictionaries({name: st.sampled_from(["hidden = 0", *more]) for name, more in MORE_RULES.items()})
"""The rule of each table."""
