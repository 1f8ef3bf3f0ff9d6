"""Every grain of every encoding gives plain Python's bucket, on each engine with a driver."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.support.cases import for_each
from tests.support.engine_bench import BENCHES, Bench, column, open_time_bench
from tests.support.time_reference import COLUMNS, EncodedColumn, as_datetime, awkward_moments, reference_bucket

from analytics_core.models.enums import TimeGrain

MOMENTS = [None, *awkward_moments()]


@pytest.fixture(scope="module", params=BENCHES)
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    with open_time_bench(request.param, request, MOMENTS) as opened:
        yield opened


@for_each("encoded", COLUMNS, ids=lambda one: one.name)
def test_every_grain_of_an_encoding_gives_the_reference_bucket(bench: Bench, encoded: EncodedColumn) -> None:
    grains = list(TimeGrain)
    buckets = [bench.spec.bucket(bench.spec.moment(column(encoded.name), encoded.time), grain) for grain in grains]
    rows = bench.select("v", buckets, order=column("id"))
    wrong = [
        (moment, grain.value, value)
        for moment, row in zip(MOMENTS, rows, strict=True)
        for grain, value in zip(grains, row, strict=True)
        if as_datetime(value) != (reference_bucket(encoded.keep(moment), grain) if moment else None)
    ]
    assert wrong == []


@for_each("hours", [3, -11, 30])
def test_an_offset_in_hours_moves_the_moment_before_the_bucket_is_taken(bench: Bench, hours: int) -> None:
    from datetime import timedelta

    nodes = [
        bench.spec.bucket(bench.spec.shift(bench.spec.moment(column(one.name), one.time), hours), TimeGrain.DAY)
        for one in COLUMNS
    ]
    rows = bench.select("v", nodes, order=column("id"))
    wrong = [
        (moment, one.name, value)
        for moment, row in zip(MOMENTS, rows, strict=True)
        for one, value in zip(COLUMNS, row, strict=True)
        if moment and as_datetime(value) != reference_bucket(one.keep(moment) + timedelta(hours=hours), TimeGrain.DAY)
    ]
    assert wrong == []
