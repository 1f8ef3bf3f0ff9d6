"""Questions in one line: what each call takes and gives, and what type checkers find before anything runs."""

from datetime import date
from typing import assert_type

from analytics_core import AnalyticsCore, ChartData, DatasetHandle, DatasetQuery, Explanation, QueryChart, models


def a_question(core: AnalyticsCore) -> ChartData:
    sales = core.dataset("sales")
    assert_type(sales, DatasetHandle)
    query = (
        sales.query("revenue", sales.sum.amount.label("Revenue"), sales.c.quantity, sales.count())
        .by("product", sales.c.ordered_on.grain("month"), sales.sql("UPPER(country)", label="country"))
        .during("Last quarter", grain="P1M")
        .where((sales.c.status == "paid") & (sales.c.amount > 3), sales.c["odd name"].isin([1, None]))
        .where(~(sales.c.status == "open") | sales.c.status.isin(["sent"]), sales.sql("a OR b"))
        .having(sales.m.revenue > 1000, sales.sum("amount").between(1, 2))
        .compare("1 year ago", show="percentage")
        .order("-revenue", sales.c.product, sales.m.revenue.desc())
        .top(10, by=sales.avg.amount)
        .others()
    )
    assert_type(query, DatasetQuery)
    assert_type(query.sql, str)
    sales.query(sales.m.revenue / sales.count(), sales.sum(sales.c.amount * sales.c.quantity), 1 - sales.avg.amount)
    sales.query("revenue").where(sales.c.amount > sales.c.quantity).top(3, of="product")
    assert_type(query.explain(), Explanation)
    assert_type(query.run(force=True), ChartData)
    assert_type(query.save_as("Revenue"), models.ChartGet)
    assert_type(query.during((date(2024, 1, 1), date(2024, 4, 1))), DatasetQuery)
    return query.run()


def a_chart(core: AnalyticsCore) -> bytes:
    sales = core.dataset(1)
    chart = (
        sales.query("revenue").during(grain="month").rolling(7).pivot("product", fill=0).chart("line", stack="Stack")
    )
    assert_type(chart, QueryChart)
    assert_type(chart.picture(format="png").data, bytes)
    return chart.picture().data


def what_type_checkers_find(core: AnalyticsCore) -> None:
    sales = core.dataset("sales")
    sales.query("revenue").top("ten")  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
    sales.query("revenue").where("status = 'paid'")  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
    sales.query("revenue").compare("1 year ago", show="percent")  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
    sales.query("revenue").share("rows")  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
    sales.sum.amount / "3"  # type: ignore[operator] # pyright: ignore[reportOperatorIssue, reportUnusedExpression]
    sales.query(3)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
