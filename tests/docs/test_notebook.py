"""The example notebook runs from top to bottom, and shows what is stored in it."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[2] / "examples"
BYTES = re.compile(r"\d+ bytes")


def runner() -> Any:
    spec = importlib.util.spec_from_file_location("run_notebook", EXAMPLES / "run_notebook.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def displayed(cell: Any) -> list[Any]:
    """Return what a cell shows as text, and in which forms; how large a picture is may change.

    On a slow machine there is a line of progress as well, which is empty when the work is over.
    """
    return [
        (sorted(output.data), BYTES.sub("bytes", output.data.get("text/plain", "")))
        if "data" in output
        else (output.get("name"), output.get("text"), output.get("ename"), output.get("traceback"))
        for output in cell.get("outputs", [])
        if output.get("data") != {"text/plain": ""}
    ]


@pytest.fixture
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give Jupyter folders of its own, so that settings of whoever runs the tests do not count."""
    for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))


@pytest.mark.filterwarnings("default")  # what packages of Jupyter say of each other
@pytest.mark.usefixtures("own_folders")
def test_the_notebook_runs_and_shows_what_is_stored_in_it() -> None:
    run = runner()
    stored = nbformat.read(run.NOTEBOOK, as_version=4)
    assert [displayed(cell) for cell in run.run(run.NOTEBOOK).cells] == [displayed(cell) for cell in stored.cells]


def test_the_notebook_is_small() -> None:
    assert (EXAMPLES / "notebook.ipynb").stat().st_size < 100_000
