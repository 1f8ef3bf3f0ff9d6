"""A hostile bundle at the command line: terminals obey nothing of what is printed, and no line looks like ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.bundles import bundle, column, packed
from tests.support.small_core import KEY, small_core

from analytics_core._core.command_line import main

SHOP = ("--database", "shop=1")
HOSTILE = {
    "escape codes": "\x1b[2J\x1b]0;x\x07",
    "escape codes in one character": "\x9b2J",
    "another direction": "\u202e\u2066",
    "a line of its own": "\nFAKE: 0 charts differ",
    "a line over another": "\rFAKE: 0 charts differ",
}


def hostile(text: str, *, in_sql: bool = False) -> dict[str, Any]:
    """Return a bundle that has a text in the names and fields that are told, and on request in SQL."""
    documents = bundle()
    country, names = (documents[f"export/charts/{name}.yaml"] for name in ("by_country", "names"))
    names["viz_type"] = names["params"]["viz_type"] = f"kind{text}"
    names["params"][f"field{text}"] = 1
    country["slice_name"] = f"chart{text}"
    country["params"]["annotation_layers"] = [
        {"name": f"layer{text}", "annotationType": "EVENT", "sourceType": "line", "value": 7}
    ]
    documents["export/dashboards/board.yaml"]["dashboard_title"] = f"board{text}"
    documents["export/datasets/shop/people.yaml"]["columns"].append(column(f"gone{text}"))
    if in_sql:
        own = {"expressionType": "SQL", "sqlExpression": f"MAX('{text}')", "label": f"label{text}"}
        country["params"]["metrics"] = [own]
    return documents


def obeyed(text: str) -> list[str]:
    return [letter for letter in text if letter != "\n" and not letter.isprintable()]


@pytest.mark.parametrize("name", HOSTILE)
def test_terminals_obey_nothing_that_a_bundle_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    text = HOSTILE[name]
    with small_core(tmp_path, metadata_url=f"sqlite:///{tmp_path}/meta.db"):
        pass
    environ = {"ANALYTICS_CORE_SECRET_KEY": KEY, "ANALYTICS_CORE_DATA_ROOTS": str(tmp_path)}
    paths = {
        "plain": bundle(),
        "hostile": hostile(text),
        "in SQL": hostile(text, in_sql=True),
        "wrong": {**bundle(), "export/charts/x.yaml": {"slice_name": "x", "params": {}, "uuid": f"x{text}"}},
    }
    for path, documents in paths.items():
        (tmp_path / f"{path}.zip").write_bytes(packed(documents))
    plain, hostile_zip, in_sql, wrong = (str(tmp_path / f"{path}.zip") for path in paths)
    calls = (
        ("load", "--dry-run", hostile_zip, *SHOP),
        ("diff", plain, hostile_zip, *SHOP),
        ("diff", plain, in_sql, *SHOP),
        ("load", wrong, *SHOP),
        ("load", hostile_zip, *SHOP),
        ("check", "--answers"),
        ("check", "--output", f"/nowhere{text}/report"),
        ("load", hostile_zip, "--database", f"x{text}=1x"),
    )
    for call in calls:
        code = main(["--store", f"sqlite:///{tmp_path}/meta.db", "--as", "admin", *call], environ)
        output = "\n".join(capsys.readouterr())
        assert obeyed(output) == [], call
        assert not [line for line in output.splitlines() if line.startswith("FAKE")], call
        assert code in {0, 1, 2}
