"""A table of extreme values of every type, and expressions over it that its engine is said to compute without error."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from types import MappingProxyType

import sqlalchemy as sa
from tests.support.planning import NOW, PARSER, spec_of, stored

from analytics_core._engine.compile.fragments.parser import FragmentSlot
from analytics_core._engine.compile.plan import TableSource
from analytics_core._engine.compile.planning_context import PlanLimits, PlanningContext, make_view
from analytics_core._engine.compile.totality import Totality, typed_sql
from analytics_core._engine.engines.types import ValueKind
from analytics_core._engine.execution.sessions import mysql
from analytics_core._records.datasource import Dataset, DatasetColumn

Column = tuple[str, str, Sequence[str]]
_NEAR_ZERO = ("0", "1", "-1", "7", "NULL")
_TEXTS = ("''", "' '", "'abc'", "'ß'", "'İI'", "'%'", r"'\'", "'12'", "'-1e400'", "'0000-00-00'", "'nan'", "'é😀'")
_LONG = "REPEAT('aB%_ ', 500)"
_DAYS = ("'1970-01-01'", "'2024-02-29'", "'0001-01-01'", "'9999-12-31'", "NULL")
_MOMENTS = ("'1970-01-01 00:00:00'", "'2024-02-29 23:59:59.999999'", "'9999-12-31 23:59:59'", "NULL")


def _of_bits(bits: int) -> tuple[str, ...]:
    return (f"-{2 ** (bits - 1) - 1} - 1", str(2 ** (bits - 1) - 1), *_NEAR_ZERO)


def _decimal(digits: int, scale: int) -> tuple[str, ...]:
    largest = "9" * (digits - scale) + "." + "9" * scale
    return (largest, f"-{largest}", "0." + "0" * (scale - 1) + "1", "0", "-1", "NULL")


_NUMBERS: tuple[Column, ...] = (
    ("small", "SMALLINT", _of_bits(16)),
    ("n", "INTEGER", _of_bits(32)),
    ("m", "INTEGER", _of_bits(32)),
    ("big", "BIGINT", _of_bits(64)),
    ("price", "DECIMAL(10, 2)", _decimal(10, 2)),
    ("rate", "DECIMAL(5, 4)", _decimal(5, 4)),
    ("vast", "DECIMAL(18, 2)", _decimal(18, 2)),
    ("wide", "DECIMAL(38, 10)", _decimal(38, 10)),
    ("total", "DECIMAL(38, 0)", ("9" * 38, "-" + "9" * 38, "0", "1", "NULL")),
)
_DOUBLES = ("1.7976931348623157e308", "-1.7976931348623157e308", "2.3e-308", "0", "-1", "0.1", "NULL")
_ENDLESS = ("'Infinity'", "'-Infinity'", "'NaN'", "4.9e-324")
_TEMPLATES = Path(__file__).with_name("total_operations.txt").read_text().splitlines()
_PLACES = {"n": "number", "t": "text", "d": "moment", "b": "truth"}


class Expressions:
    """Makes expressions over `extremes`: each operation on each column, and trees of any operations."""

    def __init__(self, engine: str) -> None:
        self._templates: dict[str, list[str]] = {}
        for line in _TEMPLATES:
            whose, kind, template = line.split(" ", 2)
            if whose in ("all", engine):
                self._templates.setdefault(kind, []).append(template)
        value_kind = spec_of(engine).value_kind
        self._columns: dict[str, list[str]] = {"number": [], "text": [], "moment": [], "truth": []}
        for name, declared, _ in _COLUMNS[engine]:
            kind = value_kind(declared)
            group = "number" if kind.is_numeric else "moment" if kind.is_temporal else "text"
            self._columns["truth" if kind is ValueKind.BOOLEAN else group].append(name)

    def of_columns(self) -> Iterator[str]:
        """Yield each operation on each column, and each pair of columns that it takes."""
        for templates in self._templates.values():
            for template in templates:
                places = re.findall(r"{(\w)}", template)
                for chosen in product(*(self._columns[_PLACES[place]] for place in places[:2])):
                    rest = [self._columns[_PLACES[place]][0] for place in places[2:]]
                    yield _filled(template, [*chosen, *rest])

    def at_random(self, number: int) -> Iterator[str]:
        """Yield trees of operations."""
        chosen = random.Random(11)
        for _ in range(number):
            yield self._tree(chosen, chosen.choice(list(self._templates)), depth=chosen.randint(1, 3))

    def _tree(self, chosen: random.Random, kind: str, *, depth: int) -> str:
        if depth == 0 or chosen.random() < 0.15:
            return chosen.choice(self._columns[kind])
        template = chosen.choice(self._templates[kind])
        parts = [self._tree(chosen, _PLACES[place], depth=depth - 1) for place in re.findall(r"{(\w)}", template)]
        return "(" + _filled(template, parts) + ")"


def _filled(template: str, parts: Sequence[str]) -> str:
    more = iter(parts)
    return re.sub(r"{\w}", lambda _: next(more), template)


_MANY = (*_MOMENTS, "'infinity'")
_AT = "'4714-11-24 00:00:00{} BC'", "'294276-12-31 23:59:59.999999{}'"
_DUCK_AT = "'290309-12-22 (BC) 00:00:00{}'", "'294247-01-10 04:00:54.775806{}'"
_REALS = ("3.4028235e38", "-3.4028235e38", "1e-45", "'NaN'", "0", "NULL")
_LOOSE = "CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
_TRUTHS = ("TRUE", "FALSE", "NULL")
_ZERO_DAYS = ("'0000-00-00'", "'2024-00-31'", "'2024-02-00'")
_UNSIGNED = ("0", "1", "NULL")
_ESCAPED = tuple(text.replace("\\", "\\\\") for text in _TEXTS)
_ANYTHING = (
    *("-9223372036854775807 - 1", "9223372036854775807", "0", "-1", "9e999", "-9e999", "4.9e-324", "x'00ff'", "'abc'"),
    *("''", "'-'", "'0000-00-00'", "'2024-02-29 23:59:59'", "'now'", "'%'", "NULL"),
    "replace(hex(zeroblob(1000)), '0', 'aB%')",
)
_UNTYPED = "n INTEGER, m INTEGER, price DECIMAL(10,2), x DOUBLE, t TEXT, b BOOLEAN, d DATE, made TIMESTAMP"
_COLUMNS: Mapping[str, tuple[Column, ...]] = MappingProxyType(
    {
        "postgresql": (
            *_NUMBERS,
            ("num", "NUMERIC", ("1e131000", "-1e131000", "1e-16000", "'NaN'", "'Infinity'", "0", "NULL")),
            ("x", "DOUBLE PRECISION", (*_DOUBLES, *_ENDLESS)),
            ("r", "REAL", _REALS),
            ("t", "TEXT", (*_TEXTS, _LONG, "NULL")),
            ("u", "VARCHAR(50)", (*_TEXTS, "NULL")),
            ("loose", "TEXT COLLATE loose", (*_TEXTS, "NULL")),
            ("v", 'TEXT COLLATE "C"', (*_TEXTS, "NULL")),
            ("b", "BOOLEAN", _TRUTHS),
            ("d", "DATE", (*_DAYS, "'4713-01-01 BC'", "'5874897-12-31'", "'infinity'", "'-infinity'")),
            ("made", "TIMESTAMP", (*_MANY, "'-infinity'", *(text.format("") for text in _AT))),
            ("z", "TIMESTAMPTZ", (*_MANY, "'-infinity'", *(text.format("+00") for text in _AT))),
        ),
        "mysql": (
            *_NUMBERS,
            ("un", "INT UNSIGNED", (*_UNSIGNED, "4294967295")),
            ("ub", "BIGINT UNSIGNED", (*_UNSIGNED, "18446744073709551615")),
            ("x", "DOUBLE", _DOUBLES),
            ("r", "FLOAT", ("3.4e38", "-3.4e38", "1.2e-38", "0", "NULL")),
            ("t", "LONGTEXT", (*_ESCAPED, _LONG, "NULL")),
            ("u", "VARCHAR(50)", (*_ESCAPED, "'9999-99-99'", "NULL")),
            ("b", "TINYINT(1)", ("0", "1", "-128", "127", "NULL")),
            ("d", "DATE", (*_DAYS, *_ZERO_DAYS)),
            ("made", "DATETIME", (*_MOMENTS, "'0000-01-01 00:00:00'", *_ZERO_DAYS)),
            ("z", "TIMESTAMP NULL", ("'1970-01-01 00:00:01'", "'0000-00-00'", "'2038-01-19 03:14:07'", "NULL")),
        ),
        "duckdb": (
            *_NUMBERS,
            ("tiny", "TINYINT", _of_bits(8)),
            ("ui", "UINTEGER", (*_UNSIGNED, "4294967295")),
            ("ub", "UBIGINT", (*_UNSIGNED, "18446744073709551615")),
            ("huge", "HUGEINT", _of_bits(128)),
            ("x", "DOUBLE", (*_DOUBLES, *_ENDLESS)),
            ("r", "FLOAT", _REALS),
            ("t", "VARCHAR", (*_TEXTS, _LONG, "NULL")),
            ("u", "VARCHAR(50)", (*_TEXTS, "NULL")),
            ("b", "BOOLEAN", _TRUTHS),
            ("d", "DATE", (*_DAYS, "'5877642-06-25 (BC)'", "'5881580-07-10'", "'infinity'", "'-infinity'")),
            ("made", "TIMESTAMP", (*_MANY, "'-infinity'", *(text.format("") for text in _DUCK_AT))),
            ("z", "TIMESTAMPTZ", (*_MANY, "'-infinity'", *(text.format("+00") for text in _DUCK_AT))),
        ),
        "sqlite": tuple((*one.split(" ", 1), _ANYTHING) for one in _UNTYPED.split(", ")),
    }
)


def fill(connection: sa.Connection, engine: str, *, rows: int) -> None:
    """Make `extremes`: rows of one extreme value after the other, and such of values taken at random."""
    columns, chosen = _COLUMNS[engine], random.Random(7)
    definition = ", ".join(f"{name} {kind}" for name, kind, _ in columns)
    most = max(len(values) for _, _, values in columns)
    picked = [[values[at % len(values)] for _, _, values in columns] for at in range(most)]
    picked += [[chosen.choice(values) for _, _, values in columns] for _ in range(rows)]
    if engine == "mysql":
        connection.exec_driver_sql("SET sql_mode = ''")
    if engine == "postgresql":
        connection.exec_driver_sql(_LOOSE)
    connection.exec_driver_sql(f"CREATE TABLE extremes (id INTEGER, {definition})")
    for at, values in enumerate(picked):
        connection.exec_driver_sql(f"INSERT INTO extremes VALUES ({at}, {', '.join(values)})".replace("%", "%%"))
    if engine == "mysql":
        connection.exec_driver_sql(f"SET {mysql._PINNED}")


def scope_of(engine: str) -> PlanningContext:
    """Return the surroundings of fragments over `extremes`."""
    columns = tuple(DatasetColumn(column_name=name, type=kind) for name, kind, _ in _COLUMNS[engine])
    dataset = Dataset(id=7, uuid="u-7", database_id=1, columns=stored(columns), table_name="extremes")
    view = make_view(dataset, spec_of(engine), TableSource(table="extremes"))
    return PlanningContext(view=view, parser=PARSER, now=NOW, limits=PlanLimits(), render=lambda text: text)


def total_sql(text: str, scope: PlanningContext) -> str | None:
    """Return a fragment as the engine is sent it beside row rules without a fence; None where it needs one."""
    fragment, view = scope.read(text, FragmentSlot.COLUMN, "a trial"), scope.view
    if Totality(view.spec, view.stored).of_rows(fragment.tree) is None:
        return None
    return typed_sql(fragment.tree, view.spec, view.stored) or fragment.sql if fragment.tree else None
