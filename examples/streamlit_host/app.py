"""A Streamlit page that asks datasets: choose a metric and what it is by, and see a table and a picture.

Run it with `streamlit run examples/streamlit_host/app.py` (it takes `pip install "analytics-core[charts]" streamlit`);
docs/how-to/hosts.md walks through it.
"""

import tempfile
from pathlib import Path

import streamlit as st

from analytics_core import AnalyticsCore, connect
from analytics_core.errors import AnalyticsError
from analytics_core.testing.sample_data import make_shop

ROWS = {"metric_name": "count", "expression": "COUNT(*)"}
METRICS = {
    "orders": [ROWS, {"metric_name": "revenue", "expression": "SUM(amount)"}],
    "customers": [ROWS, {"metric_name": "countries", "expression": "COUNT(DISTINCT country)"}],
}


@st.cache_resource
def shop() -> AnalyticsCore:
    """Return one core for all sessions of the process: it pools connections and caches answers."""
    core = connect(make_shop(Path(tempfile.mkdtemp()) / "shop.db"))
    for table, metrics in METRICS.items():
        made = core.datasets.create({"database": 1, "table_name": table})
        core.datasets.update(made.id, {"metrics": metrics})
    return core


def page(core: AnalyticsCore) -> None:
    """Show the page. A site with people of its own hands `core.as_user(name)` in, and each sees their rows."""
    st.title("Ask the shop")
    names = [dataset.table_name for dataset in core.datasets.list().result]
    dataset = core.dataset(st.sidebar.selectbox("Dataset", names))
    metric = st.sidebar.selectbox("Metric", dataset.metrics)
    column = st.sidebar.selectbox("By", dataset.columns, index=dataset.columns.index("country"))
    condition = st.sidebar.text_input("Only rows where (SQL)")
    kind = st.sidebar.radio("Picture", ["bar", "pie", "table"])
    try:
        question = dataset.query(metric).by(column).top(20)
        if condition:  # read as one expression, in which nothing else of the database is reached
            question = question.where(dataset.sql(condition))
        rows = question.pandas()
        picture = question.chart(kind).picture(format="svg")
    except AnalyticsError as error:  # its message says what would work, and holds no secret
        st.error(error.message)
        return
    st.image(picture.data.decode(), caption=picture.description)
    st.dataframe(rows, hide_index=True)
    with st.expander("Why these rows"):
        st.code(str(question.explain()), language="sql")


page(shop())
