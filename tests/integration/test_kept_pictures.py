"""Pictures that were drawn are kept with the answers that they show: for how long, for what, and under which key."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from tests.support import reports
from tests.support.cases import for_each
from tests.support.reports import KEY, ReportWorld, report_world

from analytics_core import AnalyticsCore, Settings
from analytics_core._content.pictures.drawing import PictureDrawer, keeping_of
from analytics_core._engine.results.answer import ChartData, QueryResult
from analytics_core.errors import PictureError
from analytics_core.models.enums import PictureFormat
from analytics_core.testing import FakeRenderer, FixedClock

renderer, world = reports.renderer, reports.drawing_world


def test_a_picture_is_kept_for_as_long_as_its_rows(world: ReportWorld, renderer: FakeRenderer) -> None:
    world.admin.charts.update(1, {"cache_timeout": 60})
    first = world.admin.charts.picture(1)
    world.run_sql("INSERT INTO orders VALUES (4, '2026-01-04', 'EU', 1.5);")
    assert world.admin.charts.picture(1).data == first.data
    assert len(renderer.drawn) == 1
    assert world.admin.charts.picture(1, force=True).data != first.data
    world.run_sql("INSERT INTO orders VALUES (5, '2026-01-05', 'EU', 2.5);")
    world.clock.advance(timedelta(seconds=61))
    world.admin.charts.picture(1)
    assert len(renderer.drawn) == 3


def test_pictures_of_other_scales_formats_and_renderers_are_others(tmp_path: Path) -> None:
    with report_world(tmp_path, renderer=FakeRenderer()) as world:
        first = [
            world.admin.charts.picture(1, **options).data
            for options in ({}, {"scale": 2}, {"format": "svg"}, {"scale": 2})
        ]
        assert (len(set(first)), first[1] == first[3]) == (3, True)
        newer = FakeRenderer()
        newer.fingerprint = "FakeRenderer 2"
        drawer = PictureDrawer(replace(world.host._runtime.content, renderer=newer))
        for made in (drawer, drawer):
            made.draw({"mark": "bar"}, PictureFormat.PNG, keep_s=60)
        assert len(newer.drawn) == 1
        PictureDrawer(world.host._runtime.content).draw({"mark": "bar"}, PictureFormat.PNG, keep_s=60)
        assert world.host._runtime.content.renderer.drawn[-1].specification == {"mark": "bar"}  # type: ignore[union-attr]


@pytest.mark.slow
def test_scales_that_differ_by_less_than_a_hundredth_are_one_drawing(tmp_path: Path) -> None:
    renderer = FakeRenderer()
    with report_world(tmp_path, renderer=renderer) as world:
        found = {world.admin.charts.picture(1, scale=2.0 + n * 1e-9).data for n in range(5)}
        for n in range(5):
            world.admin.charts.picture(1, width_px=4_000, height_px=4_000, scale=1.36 + n * 1e-9)
    assert (len(found), [drawn.scale for drawn in renderer.drawn]) == (1, [2.0, 1.36])


def test_a_picture_is_the_same_after_pickling_and_is_saved_in_its_own_format(tmp_path: Path) -> None:
    with report_world(tmp_path, renderer=FakeRenderer()) as world:
        for picture in (world.admin.charts.picture(1), world.admin.charts.picture(1, scale=2)):
            again = pickle.loads(pickle.dumps(picture))
            assert again == picture == copy.deepcopy(picture)
            assert again.save(tmp_path / "again.png").read_bytes() == picture.data
            with pytest.raises(PictureError, match=r"this picture is PNG alone; save it as \.png"):
                again.save(tmp_path / "again.svg")


@for_each(
    ("timeouts", "cached_s"),
    [((60, 30), 30), ((0, 30), 30), ((0, 0), None), ((60, None), -1), ((-1, 60), -1), ((), None)],
)
def test_a_picture_of_several_answers_is_kept_for_as_long_as_the_first_that_goes(
    timeouts: tuple[int | None, ...], cached_s: int | None
) -> None:
    answers = [ChartData(results=(QueryResult(query="", cache_timeout=timeout),)) for timeout in timeouts]
    assert keeping_of(answers) == cached_s


@pytest.mark.parametrize(("most_bytes", "count"), [(10, 2), (10_000, 1)])
def test_a_picture_that_is_larger_than_an_entry_may_be_is_not_kept(
    world: ReportWorld, renderer: FakeRenderer, most_bytes: int, count: int
) -> None:
    runtime = world.host._runtime.content
    drawer = PictureDrawer(replace(runtime, settings=replace(runtime.settings, cache_max_bytes=most_bytes)))
    first, second = (drawer.draw({"mark": "bar"}, PictureFormat.PNG, keep_s=60) for _ in range(2))
    assert (first == second, len(renderer.drawn)) == (True, count)


def test_a_picture_of_rows_that_are_not_kept_is_not_kept(world: ReportWorld, renderer: FakeRenderer) -> None:
    world.admin.charts.update(1, {"cache_timeout": -1})
    for _ in range(2):
        world.admin.charts.picture(1)
    assert len(renderer.drawn) == 2


class OpenCache:
    """A cache of a host that others write to."""

    def __init__(self) -> None:
        self.entries: dict[str, bytes] = {}

    def get(self, key: str) -> bytes | None:
        return self.entries.get(key)

    def set(self, key: str, value: bytes, *, timeout_s: int | None) -> None:
        self.entries[key] = value

    def delete(self, key: str) -> None:
        self.entries.pop(key, None)


def test_a_picture_that_somebody_else_put_into_the_cache_is_not_shown(tmp_path: Path) -> None:
    cache, renderer = OpenCache(), FakeRenderer()
    with report_world(tmp_path, renderer=renderer) as world:
        core = AnalyticsCore(
            Settings(secret_key=KEY),
            store=world.host._runtime.content.store,
            cache=cache,
            renderer=renderer,
            acting_as=1,
            connector=world.host._runtime.parts.connector,
            clock=FixedClock(world.clock.now()),
        )
        first = core.charts.picture(1).data
        (key,) = (key for key in cache.entries if key.startswith("picture-"))
        for wrong in (b"", b"\x89PNG", b"x" * 28 + first, cache.entries[key][:-1]):
            cache.entries[key] = wrong
            assert core.charts.picture(1).data == first
        assert len(renderer.drawn) == 5
