"""Draws each recorded chart whose form data are known, light and dark, of the answer that DuckDB gives.

    python tests/acceptance/check_pictures.py ../shared/acceptance [--into FOLDER]

A picture that tells an error, that shows a table in place of its kind, or that holds no marks is a problem. With
`--into` the pictures are kept as PNG, for people to look at.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from tests.acceptance.cases import recorded_cases

from analytics_core._content.pictures.picture import Picture
from analytics_core._superset.payload import build_payload
from analytics_core._superset.registry import ChartKinds
from analytics_core.errors import AnalyticsError

NOT_DRAWN = "are not drawn; this table shows their data"


def main() -> int:
    """Draw, print what is wrong; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", type=lambda text: Path(text).resolve(), help="the folder of the acceptance cases")
    parser.add_argument("--into", type=Path, help="a folder for the pictures")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        return _drawn(arguments.cases, f"duckdb:///{folder}/examples.duckdb", arguments.into)


def _drawn(folder: Path, uri: str, into: Path | None) -> int:
    os.environ["ANALYTICS_CORE_ACCEPTANCE"] = str(folder)
    from tests.acceptance.adapter import LoadedDatabase

    described = folder / "datasets.json"
    loading = [sys.executable, str(folder / "load_examples.py"), str(described), str(folder), uri]
    subprocess.run(loading, check=True, stdout=subprocess.DEVNULL)
    database = LoadedDatabase(uri, json.loads(described.read_text(encoding="utf-8")))
    kinds, problems, count = Counter[str](), list[str](), 0
    for case in recorded_cases(folder):
        kinds[case["viz_type"]] += 1
        for theme in ("light", "dark"):
            count += 1
            try:
                picture = database.picture(_payload(case), case["dataset"], theme=theme)
            except AnalyticsError as error:
                problems.append(f"{case['id']}, {theme}: {error.message}")
                continue
            problems += [f"{case['id']}, {theme}: {fault}" for fault in _faults(picture)]
            if into is not None:
                picture.save(into / f"{case['id']}-{theme}.png")
    print("\n".join(problems))
    print(f"pictures: {count} of {kinds.total()} charts of {len(kinds)} kinds, {len(problems)} problems")
    return 1 if problems or not count else 0


def _payload(case: Mapping[str, Any]) -> dict[str, Any]:
    payload: dict[str, Any] = build_payload(case["form_data"], ChartKinds()).payload
    return payload


def _faults(picture: Picture) -> Iterator[str]:
    if picture.failure is not None:
        yield f"it tells an error: {picture.failure.message}"
    if NOT_DRAWN in picture.description:
        yield "it is a table in place of its kind"
    if not any(_has_data(layer) for layer in _layers(picture.specification)):
        yield "it holds no marks"


def _layers(specification: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    layers: Sequence[Mapping[str, Any]] = specification.get("layer", [specification])
    return layers


def _has_data(layer: Mapping[str, Any]) -> bool:
    return bool(layer.get("data", {}).get("values"))


if __name__ == "__main__":
    sys.exit(main())
