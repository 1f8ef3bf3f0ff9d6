"""A question in one line, as a table and as a picture: run with `python examples/quickstart.py`."""

import sys
import tempfile
from pathlib import Path

import analytics_core
from analytics_core.testing.sample_data import make_shop


def main(picture: str = "revenue.png") -> None:
    """Make a small shop, ask what it sold by month, print some of it and draw all of it."""
    with tempfile.TemporaryDirectory() as folder:
        make_shop(Path(folder) / "shop.db")
        with analytics_core.connect(Path(folder) / "shop.db") as core:
            orders = core.dataset("orders")
            print(orders.query("amount").by("category").top(3).pandas().to_string(index=False))

            months = orders.query("amount").by("category").during(grain="month").chart("line").picture(scale=2)
            months.save(picture)
            print(f"\n{picture}: {months.description}")


if __name__ == "__main__":
    main(*sys.argv[1:])
