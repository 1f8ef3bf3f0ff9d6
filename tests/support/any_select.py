"""Any SELECT over any few tables and a view, under any rules; hidden rows hold texts on which some functions fail.

All comes from one `random.Random`: the same seed gives the same tables, rules and statements. Whatever order a window
or a LIMIT counts by names all columns, so that each engine has one answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random

Columns = tuple[tuple[str, str], ...]
"""Names of columns with their kinds: `int`, `text`, `day`, or `digits`, texts that are numbers in permitted rows."""

KINDS = ("int", "text", "digits", "int", "text", "day")
TYPES = {"int": "INTEGER", "text": "VARCHAR(9)", "digits": "VARCHAR(9)", "day": "DATE"}
VALUES = {
    "int": ("1", "2", "3", "4", "NULL", "0"),
    "text": ("'x'", "'y'", "'z'", "'xy'", "NULL", "''"),
    "digits": ("'1'", "'2'", "'30'", "'7'", "NULL"),
    "day": ("'2024-01-01'", "'2024-01-02'", "'2024-02-29'", "NULL"),
}
CONDITIONS = {
    "int": ("{} < 3", "{} IS NULL", "{} IN (1, 2)", "NOT {} <> 2", "{} BETWEEN 1 AND 3", "COALESCE({}, 0) <> 1"),
    "text": ("{} = 'x'", "{} IS NOT NULL", "{} LIKE 'x%'", "LOWER({}) <> 'y'", "{} IN ('x', 'z')"),
    "digits": ("{} IN ('1', '2')", "{} <> '7'", "{} IS NULL"),
    "day": ("{} >= '2024-01-02'", "{} IS NULL"),
}
"""Conditions of rules."""

NUMBER_OF = {
    "sqlite": "json_extract({}, '$')",
    "duckdb": "CAST({} AS INTEGER)",
    "postgresql": "CAST({} AS INTEGER)",
    "mysql": "IF(18446744073709551615 + ({} = '{{C') > 0, CAST({} AS SIGNED), NULL)",
}
"""What fails on the texts of hidden rows."""

MOST_QUERIES = 3
"""Queries stand inside each other that deep."""


@dataclass(frozen=True)
class AnyDatabase:
    """Tables and a view, as `mirrored` takes them, and the columns of each; all tables have `hidden` besides."""

    tables: Mapping[str, str]
    views: Mapping[str, str]
    columns: Mapping[str, Columns]

    def rules(self, random: Random) -> dict[str, str]:
        """Return a rule for each table: all rows whose digits are none are hidden, and any others."""
        return {name: self._rule(random, name) for name in self.tables} | dict.fromkeys(self.views, "hidden = 0")

    def _rule(self, random: Random, name: str) -> str:
        found = [_condition(random, self.columns[name]) for _ in range(2)]
        return random.choice(
            (
                "hidden = 0",
                f"hidden = 0 AND {found[0]}",
                f"hidden = 0 AND ({found[0]} OR {found[1]})",
                f"{found[0]} AND NOT hidden <> 0",
                f"hidden IN (0, -1) AND NOT ({found[0]} AND {found[1]})",
                "hidden = -1",
            )
        )


def _condition(random: Random, columns: Columns) -> str:
    name, kind = random.choice(columns)
    return random.choice(CONDITIONS[kind]).format(name)


def any_database(random: Random) -> AnyDatabase:
    """Return a database of three or four tables and a view of two of them."""
    names = [*random.sample(("t", "u", "v", "ledger"), random.choice((2, 3))), "w x"]
    columns = {name: _columns(random, spaced=name == "w x") for name in names}
    tables = {name: f"{_types(columns[name])} | {_rows(random, columns[name])}" for name in names}
    first, second = names[:2]
    seen = tuple(column for column in columns[first] if column[1] != "digits")
    listed = ", ".join(column for column, _ in seen)
    inside = f"SELECT {columns[second][0][0]} FROM {{all}}{second}"
    views = {"seen": f"SELECT {listed}, hidden FROM {{all}}{first} WHERE a IS NULL OR a IN ({inside})"}
    return AnyDatabase(tables=tables, views=views, columns={**columns, "seen": seen})


def _columns(random: Random, *, spaced: bool) -> Columns:
    kinds = ["int", *random.choices(KINDS, k=random.choice((2, 3, 4)))]
    columns = [(name, kind) for name, kind in zip("abcde", kinds, strict=False)]
    return (*columns, ('"s t"', "text")) if spaced else tuple(columns)


def _types(columns: Columns) -> str:
    return ", ".join(f"{name} {TYPES[kind]}" for name, kind in (*columns, ("hidden", "int")))


def _rows(random: Random, columns: Columns) -> str:
    return ", ".join(_row(random, columns, random.choice(("0", "0", "1"))) for _ in range(random.choice((4, 6, 8))))


def _row(random: Random, columns: Columns, hidden: str) -> str:
    others = {"digits": ("'{C'",)} if hidden == "1" else {}
    values = [random.choice(others.get(kind, VALUES[kind])) for _, kind in columns]
    return f"({', '.join([*values, hidden])})"


@dataclass(frozen=True)
class Scope:
    """The relations that a query may read by name, and the columns that an expression may name, with their kinds."""

    relations: Mapping[str, Columns]
    columns: Columns = ()
    depth: int = 0
    clauses: frozenset[str] = frozenset()

    def deeper(self, by: int = 1) -> Scope:
        """Return the scope of a part: how deep it stands bounds what it may hold."""
        return replace(self, depth=self.depth + by)

    @property
    def takes_queries(self) -> bool:
        """Whether a query may stand in it."""
        return self.depth < MOST_QUERIES


@dataclass
class Writer:
    """Writes SELECTs in the SQL of one engine over one database."""

    random: Random
    engine: str
    database: AnyDatabase
    names: int = field(default=0, init=False)

    def statement(self) -> str:
        """Return any SELECT; `{schema}` stands for the schema of the tables."""
        sql = self.query(Scope(self.database.columns, depth=self.random.choice((0, 0, 1, 1, 2))))[0]
        return sql.replace('"', "`") if self.engine == "mysql" else sql

    def on(self, engines: str) -> bool:
        """Tell whether the engine is one of them, by their first letters."""
        return self.engine[0] in engines

    def pick(self, *items: str) -> str:
        """Return one of the texts."""
        return self.random.choice(items)

    def chance(self, share: int) -> bool:
        """Return true in one of so many cases."""
        return self.random.randrange(share) == 0

    def new_name(self) -> str:
        """Return a name that nothing has."""
        self.names += 1
        return f"q{self.names}"

    # ------------------------------------------------------------------------------------------------------- queries
    def query(self, scope: Scope, kinds: Sequence[str] = (), *, limits: bool = True) -> tuple[str, Columns]:
        """Return a query and its columns; `kinds` are those that it must have."""
        scope, clauses = (
            self.clauses(scope.deeper()) if self.chance(5) and scope.takes_queries else (scope.deeper(), "")
        )
        kinds = kinds or self.random.choices(KINDS, k=self.random.choice((1, 2, 3)))
        sql, columns = self.select(scope, kinds)
        # EXISTS of MariaDB fails on `a EXCEPT (b INTERSECT c)`, as the library writes what has no parentheses.
        most = self.random.choice((0, 0, 0, 0, 0, 1, 1 if self.on("m") else 2)) if scope.takes_queries else 0
        for _ in range(most):
            sql += f" {self.set_operation()} {self.select(scope, kinds)[0]}"
        if self.chance(6) and limits:
            sql += f" ORDER BY {self.order([str(n) for n in range(1, len(columns) + 1)])} LIMIT {self.pick('3', '1')}"
            sql += self.pick("", "", " OFFSET 1")
        return f"{clauses}{sql}", columns

    def set_operation(self) -> str:
        """Return the words between two queries.

        MariaDB has EXCEPT ALL, too, but answers a correlated sub-query with it by the order of the rows in the table.
        """
        more = ("INTERSECT ALL", "EXCEPT ALL") if self.on("dp") else ()
        return self.pick("UNION ALL", "UNION", "EXCEPT", "INTERSECT", *more)

    def order(self, keys: Sequence[str]) -> str:
        """Return what stands after ORDER BY."""
        ends = ("", " DESC", *((" NULLS FIRST", " DESC NULLS LAST") if self.on("sdp") else ()))
        return ", ".join(f"{key}{self.pick(*ends)}" for key in keys)

    def clauses(self, scope: Scope) -> tuple[Scope, str]:
        """Return clauses of WITH, which may be called like tables, and the scope after them."""
        named = [self.pick("q", "t", "u" if self.on("m") else "U"), self.pick("r", "v", "seen")]
        # MariaDB takes the outer of two clauses that are called alike, and may find no fault in what nothing reads.
        named = [self.new_name() if self.on("m") and name in scope.clauses else name for name in named]
        names, recursive = named[: self.random.choice((1, 2))], self.chance(3)
        scope = replace(scope, clauses=scope.clauses.union(names))
        # SQLite sees the names of all clauses in each of them, others those before it; all of them where some recur.
        seen = set(map(str.lower, names)) if recursive or self.on("s") else set()
        inside = self._beyond_with(scope) if self.on("m") else scope.relations
        clauses = []
        for name in names:
            relations = {key: columns for key, columns in inside.items() if key not in seen}
            inner = replace(scope, relations=relations, columns=())
            body, columns = self.recursive(inner, name) if recursive and self.chance(2) else self.body(inner)
            columns = tuple((f"k{n}", kind) for n, (_, kind) in enumerate(columns))
            listed = ", ".join(column for column, _ in columns)
            hint = self.pick("", "MATERIALIZED ", "NOT MATERIALIZED ") if self.on("sdp") else ""
            clauses.append(f"{name}({listed}) AS {hint}({body})")
            inside = {**inside, name.lower(): columns}
            scope = replace(scope, relations={**scope.relations, name.lower(): columns})
        return scope, f"WITH {'RECURSIVE ' if recursive else ''}{', '.join(clauses)} "

    def _beyond_with(self, scope: Scope) -> Mapping[str, Columns]:
        """Return what a clause of MariaDB may read beyond its own WITH: tables, of which no query around has a clause.

        It would see some of those clauses, and for others look for a table, which the library's names lead nowhere.
        """
        return {name: of for name, of in self.database.columns.items() if scope.relations.get(name) is of}

    def body(self, scope: Scope) -> tuple[str, Columns]:
        """Return the query of a clause."""
        values = "SELECT 1, 'x' UNION ALL SELECT 2, 'y'" if self.on("m") else "VALUES (1, 'x'), (2, 'y')"
        return (values, (("", "int"), ("", "text"))) if self.chance(8) else self.query(scope)

    def recursive(self, scope: Scope, name: str) -> tuple[str, Columns]:
        """Return a query that reads itself, from numbers up to five, and maybe a table beside."""
        if not scope.takes_queries:
            return self.query(scope)
        number = "CAST({} AS SIGNED)" if self.on("m") else "CAST({} AS INTEGER)"
        base, columns = self.query(scope.deeper(2), ["int"], limits=False)
        first = f"SELECT {number.format(f'b.{columns[0][0]}')} FROM ({base}) AS b"
        beside, inside = self.relation(scope.deeper(MOST_QUERIES), ())
        join = f" JOIN {beside} ON {self.column(inside, 'int')} = z.k0" if self.chance(2) else ""
        after = number.format("z.k0 + 1")
        return f"{first} UNION SELECT {after} FROM {name} AS z{join} WHERE z.k0 < 5", (("", "int"),)

    def select(self, scope: Scope, kinds: Sequence[str]) -> tuple[str, Columns]:
        """Return one SELECT with columns of these kinds."""
        source, inside = self.source(scope)
        aliases = _aliases(inside)
        outer = [column for column in scope.columns if not _aliases([column]) & aliases]
        names, within = [self.new_name() for _ in kinds], replace(scope, columns=(*inside, *outer))
        groups, windows = self.chance(4), self.chance(4)
        of_groups, keys = replace(scope, columns=inside, depth=MOST_QUERIES), inside[:2]
        values = []
        for kind in kinds:
            if groups:
                values.append(self.aggregate(of_groups, kind, keys))
            elif windows and self.chance(2):
                values.append(self.window(inside, kind))
            else:
                values.append(self.value(within, kind))
        sql = "SELECT DISTINCT " if self.chance(6) else "SELECT "
        sql += ", ".join(f"{value} AS {name}" for value, name in zip(values, names, strict=True)) + f" FROM {source}"
        sql += f" WHERE {self.condition(within)}" if self.chance(2) else ""
        if groups:
            sql += f" GROUP BY {self.groups([column for column, _ in keys])}"
            sql += f" HAVING {self.aggregate(of_groups, 'int')} > {self.pick('0', '2')}" if self.chance(3) else ""
        return sql, tuple(zip(names, kinds, strict=True))

    def groups(self, keys: Sequence[str]) -> str:
        """Return what stands after GROUP BY."""
        listed = ", ".join(keys)
        if self.on("dp"):
            sets = f"GROUPING SETS (({listed}), ({keys[0]}), ())"
            return self.pick(listed, listed, f"ROLLUP ({listed})", f"CUBE ({listed})", sets)
        return self.pick(*[listed] * 5, f"{listed} WITH ROLLUP") if self.on("m") else listed

    # ------------------------------------------------------------------------------------------------------ relations
    def source(self, scope: Scope) -> tuple[str, Columns]:
        """Return what stands after FROM, and its columns."""
        sql, columns = self.relation(scope, ())
        most = self.random.choice((0, 0, 1, 2) if scope.depth < 2 else (0, 0, 1))
        for number in range(most):
            lateral = self.on("dp") and self.chance(4) and scope.takes_queries
            other, more = self.lateral(scope, columns) if lateral else self.relation(scope, columns)
            outer = () if lateral else ("RIGHT JOIN", *(() if self.on("m") else ("FULL JOIN",)))
            join = self.pick("JOIN", "LEFT JOIN", "CROSS JOIN", *outer)
            equal = "TRUE" if lateral else f"{self.column(columns, 'int')} = {self.column(more, 'int')}"
            on = "" if join == "CROSS JOIN" else f" ON {equal}"
            if join == "CROSS JOIN" and number == most - 1 and self.chance(2):
                join = ","
            sql, columns = f"{sql} {join} {other}{on}", (*columns, *more)
            sql = f"({sql})" if join != "," and self.chance(6) else sql
        return sql, columns

    def lateral(self, scope: Scope, beside: Columns) -> tuple[str, Columns]:
        """Return a relation that reads the columns of those beside it."""
        alias = self.new_name()
        sql, columns = self.query(replace(scope, columns=beside))
        return f"LATERAL ({sql}) AS {alias}", _of(alias, columns)

    def relation(self, scope: Scope, beside: Columns) -> tuple[str, Columns]:
        """Return a relation and its columns, which have its alias; it is called like none of those beside it."""
        taken = _aliases(beside)
        alias = self.pick(self.new_name(), *sorted({"t", "u", "v", "seen"} - taken))
        if self.chance(6) and scope.takes_queries:
            sql, columns = self.query(replace(scope, columns=()))
            return f"({sql}) AS {alias}", _of(alias, columns)
        name, tables = self.pick(*scope.relations), self.database.columns
        shouted = [name, name if self.on("m") else name.upper()] if " " not in name else []
        columns, written = scope.relations[name], self.pick(f'"{name}"', *shouted)
        is_hidden = columns is not tables.get(name)
        if name in tables and (not is_hidden or self.chance(2)):
            loud = [f'"MAIN"."{name.upper()}"'] if self.on("sd") else []
            plain = [] if is_hidden else [written]
            columns, written = tables[name], self.pick(*plain, f'{{schema}}."{name}"', *loud)
        if name not in taken and self.chance(4):
            return written, _of(f'"{name}"', columns)
        return f"{written} {self.pick('AS ', '')}{alias}", _of(alias, columns)

    # ---------------------------------------------------------------------------------------------------- expressions
    def column(self, columns: Columns, kind: str) -> str:
        """Return a column of a kind, or something of that kind where there is none."""
        found = [name for name, of in columns if of == kind]
        if found or kind == "int":
            return self.pick(*found, *(() if found else ("1",)))
        value = {"text": "'x'", "digits": "'4'", "day": "'2024-01-02'"}[kind]
        is_cast = self.on("p") or (kind == "day" and self.on("dm"))
        return f"CAST({value} AS {TYPES[kind]})" if is_cast else value

    def aggregate(self, scope: Scope, kind: str, keys: Columns = ()) -> str:
        """Return an aggregate, or one of the columns that make the groups."""
        if found := [name for name, of in keys if of == kind and self.chance(3)]:
            return found[0]
        value = self.value(scope, kind)
        if kind == "int":
            made = self.pick("COUNT(*)", f"SUM({value})", f"MAX({value})", f"COUNT(DISTINCT {value})")
        else:
            made = self.pick(f"MIN({value})", f"MAX({value})")
        return f"{made} FILTER (WHERE {self.condition(scope)})" if self.on("sdp") and self.chance(5) else made

    def window(self, inside: Columns, kind: str) -> str:
        """Return a function over a window: rows that are alike in all columns are alike in any order."""
        value, every = self.column(inside, kind), self.order([name for name, _ in inside])
        parts = f"PARTITION BY {self.pick(*(name for name, _ in inside))} " if self.chance(2) else ""
        frames = ["", "ROWS BETWEEN 1 PRECEDING AND CURRENT ROW", "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING"]
        frames += ["GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW EXCLUDE CURRENT ROW"] if self.on("sp") else []
        framed = self.pick(f"MIN({value})", f"MAX({value})", f"FIRST_VALUE({value})")
        if kind == "int":
            ranked = self.pick("ROW_NUMBER()", "RANK()", "DENSE_RANK()", f"LAG({value})")
            framed = self.pick(f"SUM({value})", f"COUNT({value})", "COUNT(*)", framed)
            if self.chance(2):
                return f"{ranked} OVER ({parts}ORDER BY {every})"
        return f"{framed} OVER ({parts}ORDER BY {every} {self.pick(*frames)})"

    def value(self, scope: Scope, kind: str) -> str:
        """Return an expression of a kind."""
        plain, choice = self.column(scope.columns, kind), self.random.randrange(10)
        if choice == 9 and scope.takes_queries and self.chance(2):
            # MariaDB sees no columns of outer queries in a relation.
            inner, columns = self.query(replace(scope, columns=()) if self.on("m") else scope, [kind])
            return f"(SELECT MAX({columns[0][0]}) FROM ({inner}) AS {self.new_name()})"
        if choice < 6 or scope.depth > MOST_QUERIES + 2:
            return plain
        if choice == 6:
            condition = self.condition(scope.deeper(2))
            return f"CASE WHEN {condition} THEN {plain} ELSE {self.value(scope.deeper(2), kind)} END"
        if kind in ("digits", "day"):
            return f"COALESCE({plain}, {self.column((), kind)})"
        if kind == "text":
            other = self.value(scope.deeper(2), "text")
            joined = f"CONCAT({plain}, {other})" if self.on("m") else f"{plain} || {other}"
            return self.pick(f"REPLACE({plain}, 'x', 'q')", joined)
        number = self.number(scope)
        return self.pick(number, f"{plain} + {self.value(scope.deeper(2), 'int')}", f"COALESCE({plain}, 0)")

    def number(self, scope: Scope) -> str:
        """Return the number that a text of digits is."""
        digits = self.column(scope.columns, "digits")
        return NUMBER_OF[self.engine].format(digits, digits)

    def condition(self, scope: Scope) -> str:
        """Return a condition."""
        kind, choice = self.pick(*KINDS), self.random.randrange(12)
        column = self.column(scope.columns, kind)
        if choice >= 10 and scope.takes_queries:
            return self.condition_on_query(scope, column, kind)
        if choice == 7 and scope.depth <= MOST_QUERIES + 2:
            one, other = self.condition(scope.deeper(2)), self.condition(scope.deeper(2))
            return f"({one} {self.pick('AND', 'OR')} NOT ({other}))"
        if choice == 6:
            return f"{self.number(scope)} > {self.pick('0', '2')}"
        if choice == 5:
            return f"{column} IS {self.pick('', 'NOT ')}NULL"
        return f"{column} {self.pick('=', '<>', '<', '>=')} {self.value(scope.deeper(2), kind)}"

    def condition_on_query(self, scope: Scope, column: str, kind: str) -> str:
        """Return a condition with a query in it, which may read the columns around it."""
        if self.chance(2):
            return f"{self.pick('EXISTS', 'NOT EXISTS')} ({self.query(scope)[0]})"
        inner = self.query(scope, [kind], limits=not self.on("m"))[0]
        quantified = (">= ALL", "< ANY", "= ANY") if self.on("dpm") else ()
        return f"{column} {self.pick('IN', 'NOT IN', *quantified)} ({inner})"


def _aliases(columns: Iterable[tuple[str, str]]) -> set[str]:
    return {name.rpartition(".")[0].strip('"').lower() for name, _ in columns}


def _of(alias: str, columns: Columns) -> Columns:
    return tuple((f"{alias}.{column}", kind) for column, kind in columns)
