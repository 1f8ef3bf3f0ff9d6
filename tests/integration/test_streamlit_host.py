"""The example page of Streamlit asks what is chosen, and shows the library's errors in words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

testing = pytest.importorskip("streamlit.testing.v1", reason="Streamlit is not installed; nox -s hosts has it")

APP = Path(__file__).parents[2] / "examples" / "streamlit_host" / "app.py"


@pytest.fixture
def page() -> Any:
    page = testing.AppTest.from_file(str(APP), default_timeout=60).run()
    assert not page.exception
    return page


def ask(page: Any, **chosen: str) -> Any:
    """Choose by the labels of the widgets, and run the page anew, as the browser would."""
    widgets = [*page.sidebar.selectbox, *page.sidebar.radio, *page.sidebar.text_input]
    for label, value in chosen.items():
        (widget,) = (widget for widget in widgets if widget.label.startswith(label))
        widget.set_value(value)
    page.run()
    assert not page.exception
    return page


def test_the_page_shows_a_table_a_picture_and_its_statement(page: Any) -> None:
    rows = page.dataframe[0].value
    assert list(rows.columns) == ["country", "count"]
    assert rows["count"].is_monotonic_decreasing
    (picture,) = page.get("image")
    assert picture.captions[0].startswith("Bar chart of")
    assert "COUNT(*)" in page.expander[0].code[0].value


def test_what_is_chosen_is_asked(page: Any) -> None:
    rows = ask(page, Metric="revenue", By="channel", Picture="pie", Only="channel <> 'web'").dataframe[0].value
    assert list(rows.columns) == ["channel", "revenue"]
    assert "web" not in set(rows["channel"])
    rows = ask(ask(page, Dataset="customers", Only=""), Metric="countries").dataframe[0].value
    assert list(rows.columns) == ["country", "countries"]


def test_sql_that_is_no_condition_is_refused_in_words(page: Any) -> None:
    refused = ask(page, Only="country IN (SELECT country FROM customers)")
    assert "sub-quer" in refused.error[0].value
    assert not refused.dataframe
