"""From a database to a chart's rows: run with `python examples/first_chart.py`."""

import tempfile
from pathlib import Path

import analytics_core
from analytics_core.testing.sample_data import make_shop

QUERY = {
    # One row per quarter and country ...
    "columns": [
        {
            "expressionType": "SQL",
            "sqlExpression": "order_date",
            "label": "quarter",
            "columnType": "BASE_AXIS",
            "timeGrain": "P3M",
        },
        "country",
    ],
    # ... with the revenue of 2024, and beside it the revenue of the year before,
    "metrics": ["revenue"],
    "granularity": "order_date",
    "time_range": "2024-01-01 : 2025-01-01",
    "time_offsets": ["1 year ago"],
    # without returned orders, for the three countries that bring most.
    "filters": [{"col": "returned", "op": "IS FALSE"}],
    "series_columns": ["country"],
    "series_limit": 3,
    "series_limit_metric": "revenue",
    "orderby": [["quarter", True], ["revenue", False]],
}


def main() -> None:
    """Make a shop, register it, ask a question, and show how the answer came to be."""
    with tempfile.TemporaryDirectory() as folder:
        url = make_shop(Path(folder) / "shop.db")
        with analytics_core.connect(url) as core:
            orders = core.datasets.create({"database": 1, "table_name": "orders"})
            revenue = {"metric_name": "revenue", "expression": "SUM(amount)", "verbose_name": "Revenue"}
            core.datasets.update(orders.id, {"main_dttm_col": "order_date", "metrics": [revenue]})
            payload = {"datasource": {"id": orders.id, "type": "table"}, "queries": [QUERY]}

            result = core.charts.data(payload).raise_for_error().results[0]
            print("-- SQL\n" + result.query)
            print("\n-- Rows\n" + result.pandas().to_string(index=False))
            print("\n-- How this query came to be\n" + str(core.charts.explain(payload)))


if __name__ == "__main__":
    main()
