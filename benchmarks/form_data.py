"""What it costs to build the query contexts of recorded charts, beside what their validation by pydantic costs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.acceptance.cases import recorded_cases

from analytics_core._superset.payload import build_payload
from analytics_core._superset.registry import ChartKinds
from analytics_core.models.query import ChartDataQueryContext
from benchmarks.report import Ratio
from benchmarks.timing import paired_ratio

GOAL = 1.5
REPEATS = 5


def compare(folder: Path) -> Iterator[Ratio]:
    """Build all recorded charts in one go, and validate what was built in another."""
    kinds = ChartKinds()
    forms = [case["form_data"] for case in recorded_cases(folder)]
    payloads = [build_payload(form, kinds).payload for form in forms]

    def build() -> None:
        for _ in range(REPEATS):
            for form in forms:
                build_payload(form, kinds)

    def validate() -> None:
        for _ in range(REPEATS):
            for payload in payloads:
                ChartDataQueryContext.model_validate(payload)

    yield Ratio(
        name=f"form data to payload, {len(forms)} charts: over validating the payload",
        value=paired_ratio(lambda: build, validate, rounds=15, by="cpu_s"),
        goal=GOAL,
    )
