"""Three questions to one Parquet file, as five libraries are asked: how many lines and characters each takes.

Run it: `python examples/compare_lines.py`. It makes the file, runs what is installed (or the libraries that are named),
checks that all give the same figures, and prints the table of `docs/how-to/ask-in-one-line.md`. As in a notebook, the
last line of each is shown.
"""

from __future__ import annotations

import ast
import contextlib
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

SNIPPETS: Mapping[str, Mapping[str, str]] = {
    "The ten products with the most revenue": {
        "analytics_core": """
import analytics_core
core = analytics_core.connect("sales.parquet")
core.dataset("sales").query("revenue").by("product").top(10)
""",
        "duckdb": """
import duckdb
duckdb.sql("SELECT product, SUM(revenue) AS revenue FROM 'sales.parquet' GROUP BY 1 ORDER BY 2 DESC LIMIT 10")
""",
        "ibis": """
import ibis
sales = ibis.read_parquet("sales.parquet")
sales.group_by("product").agg(revenue=sales.revenue.sum()).order_by(ibis.desc("revenue")).limit(10)
""",
        "pandas": """
import pandas as pd
sales = pd.read_parquet("sales.parquet")
sales.groupby("product")["revenue"].sum().nlargest(10)
""",
        "polars": """
import polars as pl
sales = pl.read_parquet("sales.parquet")
sales.group_by("product").agg(pl.sum("revenue")).top_k(10, by="revenue")
""",
    },
    "Paid revenue by month of 2024, beside the year before": {
        "analytics_core": """
import analytics_core
sales = analytics_core.connect("sales.parquet").dataset("sales")
paid = sales.query("revenue").where(sales.c.status == "paid")
paid.during("2024-01-01 : 2025-01-01", grain="month").compare("1 year ago")
""",
        "duckdb": """
import duckdb
duckdb.sql(\"\"\"
    WITH months AS (SELECT date_trunc('month', ordered_on) AS month, SUM(revenue) AS revenue
                    FROM 'sales.parquet' WHERE status = 'paid' GROUP BY 1)
    SELECT now.month, now.revenue, ago.revenue AS "1 year ago"
    FROM months AS now LEFT JOIN months AS ago ON ago.month = now.month - INTERVAL 1 YEAR
    WHERE now.month >= '2024-01-01' AND now.month < '2025-01-01' ORDER BY 1
\"\"\")
""",
        "ibis": """
import ibis
sales = ibis.read_parquet("sales.parquet").filter(ibis._.status == "paid")
months = sales.group_by(month=sales.ordered_on.truncate("M")).agg(revenue=ibis._.revenue.sum())
ago = months.mutate(month=months.month + ibis.interval(years=1)).rename(ago="revenue")
both = months.left_join(ago, "month")[["month", "revenue", "ago"]]
both.filter(both.month.year() == 2024).order_by("month")
""",
        "pandas": """
import pandas as pd
sales = pd.read_parquet("sales.parquet").query("status == 'paid'")
months = sales.resample("MS", on="ordered_on")["revenue"].sum().to_frame()
months["1 year ago"] = months["revenue"].shift(12)
months.loc["2024"]
""",
        "polars": """
import polars as pl
sales = pl.read_parquet("sales.parquet").filter(pl.col("status") == "paid").sort("ordered_on")
months = sales.group_by_dynamic("ordered_on", every="1mo").agg(pl.sum("revenue"))
ago = months.with_columns(pl.col("ordered_on").dt.offset_by("1y"))
both = months.join(ago, on="ordered_on", how="left", suffix=", 1 year ago")
both.filter(pl.col("ordered_on").dt.year() == 2024).sort("ordered_on")
""",
    },
    "The share of each country in the revenue of each month of 2024": {
        "analytics_core": """
import analytics_core
sales = analytics_core.connect("sales.parquet").dataset("sales")
months = sales.query("revenue").by("country").during("2024-01-01 : 2025-01-01", grain="month")
months.pivot("country").share("row")
""",
        "duckdb": """
import duckdb
duckdb.sql(\"\"\"
    PIVOT (SELECT date_trunc('month', ordered_on) AS month, country,
                  SUM(revenue) / SUM(SUM(revenue)) OVER (PARTITION BY date_trunc('month', ordered_on)) AS share
           FROM 'sales.parquet' WHERE year(ordered_on) = 2024 GROUP BY 1, 2)
    ON country USING SUM(share) ORDER BY month
\"\"\")
""",
        "ibis": """
import ibis
sales = ibis.read_parquet("sales.parquet").filter(ibis._.ordered_on.year() == 2024)
months = sales.group_by("country", month=sales.ordered_on.truncate("M")).agg(revenue=ibis._.revenue.sum())
shares = months.group_by("month").mutate(share=ibis._.revenue / ibis._.revenue.sum()).drop("revenue")
shares.pivot_wider(names_from="country", values_from="share").order_by("month")
""",
        "pandas": """
import pandas as pd
sales = pd.read_parquet("sales.parquet").query("ordered_on.dt.year == 2024")
months = sales.pivot_table("revenue", sales["ordered_on"].dt.to_period("M"), "country", "sum")
months.div(months.sum(axis=1), axis=0)
""",
        "polars": """
import polars as pl
sales = pl.read_parquet("sales.parquet").filter(pl.col("ordered_on").dt.year() == 2024)
sales = sales.with_columns(pl.col("ordered_on").dt.truncate("1mo")).sort("ordered_on")
months = sales.pivot("country", index="ordered_on", values="revenue", aggregate_function="sum")
countries = pl.exclude("ordered_on")
months.with_columns(countries / pl.sum_horizontal(countries))
""",
    },
}

LIBRARIES = ("analytics_core", "duckdb", "pandas", "polars", "ibis")
_AS_PANDAS: Mapping[str, Callable[[Any], Any]] = {
    "analytics_core": lambda query: query.pandas(),
    "duckdb": lambda relation: relation.df(),
    "ibis": lambda table: table.execute(),
    "pandas": lambda frame: frame,
    "polars": lambda frame: frame.to_pandas(),
}
"""What showing the last line does, as a frame of pandas."""


def make_sales(path: Path) -> None:
    """Write two years of sales to a Parquet file."""
    import numpy as np
    import pandas as pd

    chance, rows = np.random.default_rng(7), 20_000
    days = pd.Timestamp("2023-01-01") + pd.to_timedelta(chance.integers(0, 731, rows), unit="D")
    sales = {
        "product": chance.choice([f"product {number}" for number in range(30)], rows),
        "country": chance.choice(["France", "Germany", "Spain"], rows),
        "status": chance.choice(["paid", "open"], rows, p=[0.9, 0.1]),
        "ordered_on": days.astype("datetime64[us]"),
        "revenue": chance.uniform(1, 500, rows).round(2),
    }
    pd.DataFrame(sales).to_parquet(path)


def installed() -> tuple[str, ...]:
    """Return the libraries that are installed here."""
    return tuple(library for library in LIBRARIES if find_spec(library) is not None)


def figures(library: str, snippet: str) -> list[float]:
    """Run a snippet in the current folder and return the numbers of its last line, sorted."""
    import pandas as pd

    tree, names = ast.parse(snippet), {}
    last = tree.body.pop()
    assert isinstance(last, ast.Expr)
    exec(compile(tree, library, "exec"), names)
    frame = _AS_PANDAS[library](eval(compile(ast.Expression(last.value), library, "eval"), names))
    frame = frame.to_frame() if isinstance(frame, pd.Series) else frame
    numbers = frame.select_dtypes("number").to_numpy().ravel()
    return sorted(round(float(number), 6) for number in numbers)


def table() -> str:
    """Return how many lines and characters each question takes, as the page shows it."""
    lines = [f"| | {' | '.join(LIBRARIES)} |", f"|---|{'---|' * len(LIBRARIES)}"]
    for question, snippets in SNIPPETS.items():
        counted = [snippets[library].strip() for library in LIBRARIES]
        cells = " | ".join(f"{len(text.splitlines())} / {len(text)}" for text in counted)
        lines.append(f"| {question} | {cells} |")
    return "\n".join(lines)


def main(libraries: Sequence[str]) -> None:
    """Run these libraries, compare the figures, print the table."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        make_sales(Path("sales.parquet"))
        for question, snippets in SNIPPETS.items():
            found = {library: figures(library, snippets[library]) for library in libraries}
            first = next(iter(found.values()))
            assert first
            assert all(numbers == first for numbers in found.values()), (question, found)
            print(f"{question}: {len(first)} figures, the same from {', '.join(found)}")
    print(table())


if __name__ == "__main__":
    main(sys.argv[1:] or installed())
