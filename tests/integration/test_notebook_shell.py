"""What IPython itself shows of our objects and errors, and how it completes their names."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.html_texts import texts_of
from tests.support.templates import sample_shop

import analytics_core
from analytics_core import AnalyticsCore, Settings

Cell = Callable[[str], dict[str, Any]]
TABLE_FORM = {"viz_type": "table", "groupby": ["country"], "metrics": ["count"]}


@pytest.fixture
def core(tmp_path: Path) -> Iterator[AnalyticsCore]:
    sample_shop(tmp_path / "shop.db", days=60)
    with analytics_core.connect(tmp_path / "shop.db") as made:
        yield made


@pytest.fixture
def cell(core: AnalyticsCore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cell:
    """Run a cell, and return all forms of its value by their MIME types."""
    from IPython.core.displayhook import DisplayHook
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    output: dict[str, Any] = {}

    class Recorder(DisplayHook):
        def write_format_data(self, format_dict: dict[str, Any], md_dict: Any = None) -> None:
            output.update(format_dict)

    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    config = Config()
    config.HistoryManager.enabled = False
    names = {"core": core, "analytics_core": analytics_core, "json": json}
    shell = InteractiveShell(config=config, user_ns=names, displayhook_class=Recorder)

    def run(code: str) -> dict[str, Any]:
        output.clear()
        done = shell.run_cell(code, store_history=False)
        if done.error_in_exec is not None:
            raise done.error_in_exec
        return dict(output)

    return run


EVERY_OBJECT = (
    "core",
    "core.datasets",
    "core.charts",
    "core.jobs",
    "core.scheduler",
    "core.datasets.list()",
    "core.datasets.list()[0]",
    "core.datasets.get(2)",
    "core.databases.get(1)",
    "core.databases.connection(1)",
    "core.databases.table(1, 'orders')",
    "core.databases.samples(1, 'orders', rows=3)",
    "core.users.list()",
    "core.charts.get(1)",
    "core.charts.data(1)",
    "core.charts.data(1)[0]",
    "core.charts.explain(1)",
    "core.charts.payload(1)",
    "core.charts.submit(1)",
    "core.charts.batches(1)",
    "core.dashboards.get(1)",
    "core.dashboards.data(1)",
    "core.dashboards.data(1).charts[0]",
    "core.dataset('orders')",
    "core.dataset('orders').query('amount').by('country')",
    "core.dataset('orders').query('amount').by('country').chart('bar')",
    "core.charts.picture(1)",
    "core.check()",
    "core.diff(None)",
    "core.health()",
    "core.prune()",
    "core.scheduler.tick()",
    "core.cache.warm_up_chart({'chart_id': 1})",
    "analytics_core.resolve_time_range('Last week', now=__import__('datetime').datetime(2025, 3, 3))",
)


def fill(core: AnalyticsCore) -> None:
    board = core.dashboards.create({"dashboard_title": "<b>Shop</b>"}).id
    source = {"datasource_id": 2, "datasource_type": "table", "params": json.dumps(TABLE_FORM)}
    core.charts.create({"slice_name": "<i>Orders</i>", "viz_type": "table", "dashboards": [board], **source})


@pytest.mark.slow
def test_every_object_shows_itself_and_nothing_acts(core: AnalyticsCore, cell: Cell) -> None:
    fill(core)
    for code in EVERY_OBJECT:
        output = cell(code)
        assert len(output["text/plain"]) < 20_000, code
        assert not output["text/plain"].startswith("<analytics_core"), code
        assert "cannot be shown" not in output["text/plain"], code
        assert "text/html" in output or "image/svg+xml" in output, code
        texts = texts_of(output.get("text/html", ""))
        assert not any(text.startswith("Error") for text in texts), code
        assert len(json.dumps(output)) < 20_000, code


def test_a_core_shows_what_there_is_and_what_to_type_first(core: AnalyticsCore, cell: Cell) -> None:
    lines = cell("core")["text/plain"].splitlines()
    assert lines[0] == "AnalyticsCore  user 1 acts"
    assert "3 datasets" in lines
    assert not any(" more: " in line for line in lines)
    cell(lines[-1])
    fill(core)
    assert cell("core")["text/plain"].splitlines()[-1] == "core.charts.data(1)"
    core.charts.delete(1)
    first = core.datasets.list(page_size=1)[0].table_name
    assert cell("core")["text/plain"].splitlines()[-1] == f"{first} = core.dataset({first!r})"
    for dataset in core.datasets.list():
        core.datasets.delete(dataset.id)
    assert cell("core")["text/plain"].splitlines()[-1] == "core.databases.tables(1)"
    core.databases.delete(1)
    assert cell("core")["text/plain"].splitlines()[-1].startswith("core.databases.create(")


def test_a_closed_core_and_one_that_nobody_acts_on_can_be_looked_at(core: AnalyticsCore, cell: Cell) -> None:
    core.close()
    assert "StoreUnavailableError" in cell("core")["text/plain"]
    with AnalyticsCore(Settings(secret_key="b1C2d3E4f5G6h7" * 2)) as unbound:
        text = unbound._repr_mimebundle_()["text/plain"]
        assert "nobody acts" in text
        assert "core.as_user(user)" in text


def test_looking_runs_nothing_unless_it_is_a_query_to_look_at(
    core: AnalyticsCore, cell: Cell, caplog: pytest.LogCaptureFixture
) -> None:
    fill(core)
    caplog.set_level("INFO", "analytics_core.questions")

    def question_count(code: str) -> int:
        caplog.clear()
        cell(code)
        return sum(record.name == "analytics_core.questions" for record in caplog.records)

    for code in ("core", "core.datasets", "core.dataset('orders')", "core.charts.get(1)", "core.charts.explain(1)"):
        assert question_count(code) == 0, code
    cell("query = core.dataset('orders').query('amount').by('country'); None")
    assert question_count("query") == 1


def test_a_stored_chart_that_can_be_drawn_is_vega_lite_too(core: AnalyticsCore, cell: Cell) -> None:
    cell("chart = core.dataset('orders').query('amount').by('country').chart('bar').save_as('Bars')")
    output = cell("core.charts.data(chart.id)")
    specification = output["application/vnd.vegalite.v5+json"]
    assert "url" not in json.dumps(specification.get("data", specification))
    assert "Germany" in json.dumps(specification)


@pytest.mark.slow
def test_a_notebook_with_fifty_charts_stays_under_a_megabyte(core: AnalyticsCore, cell: Cell) -> None:
    kinds = ("line", "bar", "area", "pie", "table")
    cell("orders = core.dataset('orders')")
    codes = [f"orders.query('amount').by('category').during(grain='day').chart({kind!r})" for kind in kinds[:3]]
    codes += [f"orders.query('amount').by('country').chart({kind!r}).picture()" for kind in kinds]
    sizes = [len(json.dumps(cell(code))) for code in codes]
    assert 50 * max(sizes) < 1_500_000
    assert 50 * sum(sizes) / len(sizes) < 1_000_000


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        ("core.datasets.get(77)", ["{place}: core.datasets.get(77)", "NotFoundError: there is no dataset 77"]),
        (
            "def ask():\n    return core.charts.create({'slice': 1})\nask()",
            [
                "{place}: ask()",
                "{place}: return core.charts.create({'slice': 1})",
                "PayloadSchemaError: ChartRestApi.post is not valid",
                "    slice_name: is required",
            ],
        ),
    ],
)
def test_an_error_is_told_in_a_few_lines(
    cell: Cell, code: str, lines: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    with pytest.raises(analytics_core.errors.AnalyticsError):
        cell(code)
    output = capsys.readouterr().out.splitlines()
    assert len(lines) <= len(output) < 12
    for line, expected in zip(output, lines, strict=False):
        place, _, message = line.partition(": ") if expected.startswith("{place}") else ("", "", line)
        assert (f"{{place}}: {message}" if place else message) == expected
        assert not place or place.startswith("cell, line ")


def test_an_error_as_a_value_is_shown_as_text(cell: Cell) -> None:
    cell("try:\n    core.datasets.get(77)\nexcept analytics_core.errors.NotFoundError as error:\n    held = error")
    output = cell("held")
    assert output["text/plain"].splitlines()[0] == "NotFoundError: there is no dataset 77"
    assert "404" in output["text/html"]
