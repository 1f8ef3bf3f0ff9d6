"""Asks layers of maps, for which no payload was recorded, and compares the rows with SQL written by hand.

    python tests/acceptance/check_maps.py ../shared/acceptance

The example data are read by DuckDB; `tests/integration/test_kinds_of_charts.py` does so for the other kinds.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from tests.support.kind_answers import KindCase, Row, answers_of, comparable

import analytics_core
from analytics_core._superset.registry import ChartKinds

AIRPORT = {"type": "latlong", "latCol": "LATITUDE", "lonCol": "LONGITUDE"}
MILES = {"expressionType": "SIMPLE", "aggregate": "SUM", "column": {"column_name": "DISTANCE"}, "label": "miles"}
PEOPLE = {"expressionType": "SIMPLE", "aggregate": "SUM", "column": {"column_name": "population"}, "label": "people"}
LATE = {
    "expressionType": "SIMPLE",
    "clause": "WHERE",
    "subject": "DEPARTURE_DELAY",
    "operator": ">",
    "comparator": "60",
}
IS_LATE = 'DEPARTURE_DELAY > 60 AND "LATITUDE" IS NOT NULL AND "LONGITUDE" IS NOT NULL'
WEIGHTED = {"spatial": AIRPORT, "size": MILES, "adhoc_filters": [LATE], "row_limit": 10_000}
BY_PLACE = f"""SELECT "LONGITUDE", "LATITUDE", SUM("DISTANCE") AS miles FROM flights WHERE {IS_LATE} GROUP BY 1, 2"""
AREAS = "sf_population_polygons"

CASES: Sequence[KindCase] = (
    *(
        KindCase(kind=kind, dataset="flights", form=WEIGHTED, sql=[BY_PLACE], is_sorted=False)
        for kind in ("deck_grid", "deck_hex", "deck_screengrid", "deck_heatmap", "deck_contour")
    ),
    KindCase(
        kind="deck_hex",
        dataset="flights",
        form={**WEIGHTED, "js_columns": ["AIRLINE"], "tooltip_contents": ["STATE"], "row_limit": 5},
        sql=[
            f"""SELECT "LONGITUDE", "LATITUDE", "AIRLINE", "STATE", SUM("DISTANCE") AS miles FROM flights
                WHERE {IS_LATE} GROUP BY 1, 2, 3, 4 ORDER BY miles DESC LIMIT 5"""
        ],
    ),
    KindCase(
        kind="deck_scatter",
        dataset="flights",
        form={
            "spatial": AIRPORT,
            "dimension": "AIRLINE",
            "point_radius_fixed": {"type": "metric", "value": MILES},
            "adhoc_filters": [LATE],
            "row_limit": 20,
        },
        sql=[
            f"""SELECT "LONGITUDE", "LATITUDE", "AIRLINE", SUM("DISTANCE") AS miles FROM flights
                WHERE {IS_LATE} GROUP BY 1, 2, 3 ORDER BY miles DESC LIMIT 20"""
        ],
    ),
    KindCase(
        kind="deck_path",
        dataset=AREAS,
        form={"line_column": "contour", "metric": PEOPLE, "dimension": "zipcode", "row_limit": 10_000},
        sql=[
            f"SELECT contour, zipcode, SUM(population) AS people FROM {AREAS} WHERE contour IS NOT NULL GROUP BY 1, 2"
        ],
        is_sorted=False,
    ),
    KindCase(
        kind="deck_path",
        dataset=AREAS,
        form={"line_column": "contour", "line_width": {"type": "metric", "value": PEOPLE}},
        sql=[f"SELECT contour, SUM(population) AS people FROM {AREAS} WHERE contour IS NOT NULL GROUP BY 1"],
        is_sorted=False,
    ),
    KindCase(
        kind="deck_geojson",
        dataset=AREAS,
        form={"geojson": "contour", "cross_filter_column": "zipcode", "filter_nulls": True},
        sql=[f"SELECT DISTINCT contour, zipcode FROM {AREAS} WHERE contour IS NOT NULL"],
        is_sorted=False,
    ),
)


def main() -> int:
    """Load, ask, compare, print; return the exit code."""
    shared = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "maps.duckdb"
        tables = sorted({case.dataset for case in CASES})
        load = [
            str(shared / "load_examples.py"),
            str(shared / "datasets.json"),
            str(shared),
            f"duckdb:///{file}",
            *tables,
        ]
        subprocess.run([sys.executable, *load], check=True, stdout=subprocess.DEVNULL)
        wanted = _by_hand(file)
        with analytics_core.connect(f"duckdb:///{file}") as core:
            ids = {name: core.datasets.create({"database": 1, "table_name": name}).id for name in tables}
            found = [answers_of(core, case, ids[case.dataset]) for case in CASES]
    different = [case.kind for case, one, other in zip(CASES, wanted, found, strict=True) if one != other]
    empty = [case.kind for case, one in zip(CASES, wanted, strict=True) if not all(one)]
    kinds = ChartKinds()
    unasked = {name for name in kinds if name.startswith("deck_") and kinds[name].is_checked}
    unasked -= {case.kind for case in CASES} | {"deck_multi"}
    problems = [f"{kind}: other rows than the SQL" for kind in different] + [f"{kind}: no rows" for kind in empty]
    problems += [f"{kind}: no case asks it" for kind in sorted(unasked)]
    print("\n".join(problems))
    print(
        f"maps: {len(CASES)} charts, {sum(len(rows) for one in wanted for rows in one)} rows, {len(problems)} problems"
    )
    return 1 if problems else 0


def _by_hand(file: Path) -> list[list[list[Row]]]:
    with duckdb.connect(str(file), read_only=True) as connection:
        return [[comparable(_records(connection.execute(sql)), case) for sql in case.sql] for case in CASES]


def _records(cursor: Any) -> list[Row]:
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


if __name__ == "__main__":
    sys.exit(main())
