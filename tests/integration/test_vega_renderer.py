"""The renderer of the extra `charts`: its processes, its limits, and bytes that stay the same."""

from __future__ import annotations

import gc
import hashlib
import json
import os
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, nullcontext
from importlib import metadata
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from pypdf import PdfReader
from tests.support.missing import skip_or_fail

from analytics_core._core.adapters.vega_worker import _drawn, _end_after
from analytics_core.errors import PictureError, SettingsError
from analytics_core.renderers import PictureFormat, VegaRenderer

GRADIENT = {"gradient": "linear", "stops": [{"offset": 0, "color": "#123"}, {"offset": 1, "color": "#89a"}]}
BARS: dict[str, Any] = {
    "title": "Umsätze in € & Ελλάδα, Россия, 中文",
    "data": {"values": [{"x": "a & <b>", "y": 1, "t": 0}, {"x": "ß", "y": 2, "t": 86_400_000}]},
    "mark": {"type": "bar", "clip": True, "color": GRADIENT},
    "encoding": {
        "x": {"field": "x", "type": "nominal"},
        "y": {"field": "y", "type": "quantitative"},
        "tooltip": {"field": "t", "type": "temporal"},
    },
    "config": {"font": "Liberation Sans, Arial"},
}
DIGESTS = {"1.9.0.post1": "860aa474cd13c5d5dbd95ccb497f825821c3baee00bc7e4af6eb7e766f654669"}
MOMENTS: dict[str, Any] = {
    "data": {"values": [{"t": 0}, {"t": 86_400_000}]},
    "mark": "tick",
    "encoding": {"x": {"field": "t", "type": "temporal", "axis": {"format": "%A %H:%M"}}},
}
NEVER_ENDS = {**BARS, "transform": [{"calculate": "length(sequence(0, 1e8))", "as": "z"}] * 50}


FONTS = Path("/usr/share/fonts/truetype/dejavu")
PAGE = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'


@pytest.fixture(scope="module")
def renderer() -> Iterator[VegaRenderer]:
    made = VegaRenderer()
    yield made
    made.close()


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VegaRenderer]:
    """Yield a renderer whose process started with other fonts, another zone and language, and a secret around it."""
    home = tmp_path_factory.mktemp("home")
    fonts = home / "fonts.conf"
    fonts.write_text(f'<?xml version="1.0"?><fontconfig><dir>{FONTS}</dir></fontconfig>')
    changes = {"TZ": "Pacific/Auckland", "LANG": "tr_TR.UTF-8", "ANALYTICS_CORE_SECRET_KEY": "hunter2"}
    changes |= {"HOME": str(home), "FONTCONFIG_FILE": str(fonts), "FONTCONFIG_PATH": str(home)}
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    made = VegaRenderer()
    made.render_pages([PAGE], format=PictureFormat.PNG)
    for name, value in before.items():
        os.environ.pop(name)
        if value is not None:
            os.environ[name] = value
    yield made
    made.close()


@pytest.mark.slow
@pytest.mark.parametrize("format", list(PictureFormat))
def test_other_processes_in_other_zones_give_the_same_bytes(
    renderer: VegaRenderer, elsewhere: VegaRenderer, format: PictureFormat
) -> None:
    for specification in (BARS, MOMENTS):
        here = [renderer.render(specification, format=format) for _ in range(2)]
        assert {elsewhere.render(specification, format=format), *here} == {here[0]}


def test_moments_are_written_in_utc(elsewhere: VegaRenderer) -> None:
    assert ">Thursday 00:00<" in elsewhere.render(MOMENTS, format=PictureFormat.SVG).decode()


def test_a_picture_is_the_same_on_every_machine_with_this_version(renderer: VegaRenderer) -> None:
    """Texts are measured for it: the width of labels decides where the axes of `BARS` stand."""
    version = metadata.version("vl-convert-python")
    assert version in DIGESTS, f"look at what vl-convert {version} draws, and store its digest beside the others"
    assert hashlib.sha256(renderer.render(BARS, format=PictureFormat.SVG)).hexdigest() == DIGESTS[version]


def test_secrets_around_a_process_are_not_in_its_environment(elsewhere: VegaRenderer) -> None:
    (process,) = elsewhere._idle
    variables = Path(f"/proc/{process._process.pid}/environ")
    assert not variables.exists() or b"hunter2" not in variables.read_bytes()


def test_letters_of_the_system_s_fonts_are_boxes_unless_a_folder_has_them(
    renderer: VegaRenderer,
) -> None:
    def drawn(letter: str, by: VegaRenderer) -> bytes:
        text = f'<text y="20" font-family="Liberation Sans">{letter}</text>'
        page = f'<svg xmlns="http://www.w3.org/2000/svg" width="30" height="30">{text}</svg>'
        return by.render_pages([page], format=PictureFormat.PNG)

    assert drawn("Ա", renderer) == drawn("中", renderer) != drawn("a", renderer)
    if not FONTS.is_dir():
        skip_or_fail("the fonts of DejaVu, which Debian's package `fonts-dejavu-core` has")
    with_fonts = VegaRenderer(font_directories=[FONTS])
    try:
        assert drawn("Ա", with_fonts) != drawn("Ա", renderer)
        assert drawn("a", with_fonts) == drawn("a", renderer)
        assert drawn("\u2600", with_fonts) != drawn("", with_fonts) == drawn("\u2600", renderer)  # a sun
        assert with_fonts.fingerprint != renderer.fingerprint
    finally:
        with_fonts.close()


def test_a_folder_of_fonts_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="no folder"):
        VegaRenderer(font_directories=[tmp_path / "none"])
    for name in ("\udcff", "\0"):
        with pytest.raises(SettingsError, match="is no name in UTF-8"):
            VegaRenderer(font_directories=[tmp_path / name])


def test_emoji_are_left_out_of_pixels_and_documents_and_stay_in_svg(renderer: VegaRenderer) -> None:
    def drawn(text: str, format: PictureFormat) -> bytes:
        page = '<svg xmlns="http://www.w3.org/2000/svg" width="90" height="30"><text y="20">{}</text></svg>'
        return renderer.render_pages([page.format(text)], format=format)

    assert drawn("\U0001f3ce\ufe0f Sales", PictureFormat.PNG) == drawn("Sales", PictureFormat.PNG)
    assert "\U0001f3ce" not in PdfReader(BytesIO(drawn("\U0001f3ce Sales", PictureFormat.PDF))).pages[0].extract_text()
    assert "\U0001f3ce" in drawn("\U0001f3ce Sales", PictureFormat.SVG).decode()


def test_thousands_of_shapes_that_shine_through_are_no_drawings_of_their_own_in_a_document(
    renderer: VegaRenderer,
) -> None:
    inner = (
        '<path d="M0,0h9v9z" fill="#123456" opacity="0.5"/><path d="M0,0h9" fill="none" stroke="red" opacity="0.5"/>'
    )
    page = f'<svg xmlns="http://www.w3.org/2000/svg" width="90" height="30">{inner * 50}</svg>'
    (made,) = PdfReader(BytesIO(renderer.render_pages([page], format=PictureFormat.PDF))).pages
    assert len(made["/Resources"].get("/XObject", {})) == 0
    painted = made.get_contents().get_data().split()
    assert b"f" in painted
    assert b"S" in painted
    opacities = [state.get_object() for state in made["/Resources"]["/ExtGState"].values()]
    assert {(state.get("/ca"), state.get("/CA")) for state in opacities} & {(0.5, 0.5)} == set()
    # where both paints of one shape would shine through one another it stays a drawing of its own
    both = page.replace('stroke="red"', "").replace('fill="none"', 'stroke="red"')
    (made,) = PdfReader(BytesIO(renderer.render_pages([both], format=PictureFormat.PDF))).pages
    assert len(made["/Resources"]["/XObject"]) == 50


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="a script that counts is a program there")
def test_a_picture_that_takes_too_long_is_given_up_at_once_and_the_next_one_is_drawn(tmp_path: Path) -> None:
    counting, starts = tmp_path / "python", tmp_path / "starts"
    counting.write_text(f'#!/bin/sh\necho >> "{starts}"\nexec "{sys.executable}" "$@"\n')
    counting.chmod(0o755)
    renderer = VegaRenderer(timeout_s=60, python=str(counting))
    try:
        before = renderer.render_pages([PAGE], format=PictureFormat.PNG)
        renderer._timeout_s = 0.5
        began = time.monotonic()
        with pytest.raises(PictureError, match=r"not drawn in 0.5 s"):
            renderer.render(NEVER_ENDS, format=PictureFormat.SVG)
        assert time.monotonic() - began < 20
        assert starts.read_text() == "\n"  # no other process tried the same again
        renderer._timeout_s = 60
        assert renderer.render_pages([PAGE], format=PictureFormat.PNG) == before
    finally:
        renderer.close()


def test_a_scale_gives_more_pixels_of_the_same_layout(renderer: VegaRenderer) -> None:
    made = [renderer.render_pages([PAGE], format=PictureFormat.PNG, scale=scale) for scale in (1.0, 3.0)]
    assert [struct.unpack(">II", png[16:24]) for png in made] == [(9, 9), (27, 27)]


def test_half_a_character_is_told_and_costs_no_process(renderer: VegaRenderer) -> None:
    with pytest.raises(PictureError, match="half a character"):
        renderer.render_pages([PAGE.replace("/>", ">\ud83c</svg>")], format=PictureFormat.SVG)
    assert renderer.render_pages([PAGE], format=PictureFormat.SVG).startswith(b"<svg")


def test_who_waits_for_their_turn_waits_no_longer_than_the_limit(renderer: VegaRenderer) -> None:
    waiting = VegaRenderer(timeout_s=0.2)
    assert waiting._turns.acquire(timeout=1)
    with pytest.raises(PictureError, match="other pictures") as caught:
        waiting.render(BARS, format=PictureFormat.SVG)
    assert caught.value.retryable
    waiting.close()


def test_two_processes_draw_at_a_time() -> None:
    both = VegaRenderer(processes=2)
    try:
        assert both._turns.acquire(timeout=1)  # one of them draws something else
        assert both.render_pages([PAGE], format=PictureFormat.SVG).startswith(b"<svg")
        assert both._turns.acquire(timeout=1)
        assert not both._turns.acquire(timeout=0)
    finally:
        both.close()


@pytest.mark.slow
def test_a_process_that_was_killed_is_replaced(renderer: VegaRenderer) -> None:
    before = renderer.render_pages([PAGE], format=PictureFormat.PNG)
    for process in renderer._idle:
        process._process.kill()
        process._process.wait()
    assert renderer.render_pages([PAGE], format=PictureFormat.PNG) == before


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="a script that ends its own process is a program there")
def test_a_picture_whose_process_is_killed_is_tried_once_more_however_new_it_is(tmp_path: Path) -> None:
    for kills, reason in ((1, None), (2, "ended by itself")):
        folder = tmp_path / str(kills)
        folder.mkdir()
        dying, starts = folder / "python", folder / "starts"
        dying.write_text(
            f'#!/bin/sh\necho >> "{starts}"\n[ $(wc -l < "{starts}") -gt {kills} ] || kill -9 $$\n'
            f'exec "{sys.executable}" "$@"\n'
        )
        dying.chmod(0o755)
        renderer = VegaRenderer(python=str(dying))
        with closing(renderer), pytest.raises(PictureError, match=reason) if reason else nullcontext():
            assert renderer.render_pages([PAGE], format=PictureFormat.SVG).startswith(b"<svg")
        assert starts.read_text() == "\n\n", kills


@pytest.mark.slow
def test_processes_that_were_killed_while_they_waited_cost_no_picture() -> None:
    with closing(VegaRenderer(processes=3)) as renderer:
        for process in [renderer._taken() for _ in range(3)]:
            renderer._give_back(process)
            process._process.kill()
            process._process.wait()
        assert renderer.render_pages([PAGE], format=PictureFormat.SVG).startswith(b"<svg")
        assert len(renderer._all) == 1


def test_what_cannot_be_drawn_costs_no_process(renderer: VegaRenderer) -> None:
    renderer.render_pages([PAGE], format=PictureFormat.PNG)
    before = list(renderer._idle)
    for wrong in ({"mark": "nothing"}, {**BARS, "transform": [{"calculate": "no_function()", "as": "z"}]}):
        with pytest.raises(PictureError):
            renderer.render(wrong, format=PictureFormat.SVG)
    assert renderer._idle == before
    assert before[0]._process.poll() is None


def test_ctrl_c_in_a_terminal_does_not_reach_the_processes(renderer: VegaRenderer) -> None:
    renderer.render_pages([PAGE], format=PictureFormat.PNG)
    assert os.getpgid(renderer._idle[0]._process.pid) != os.getpgrp()


EMBEDDED = """
import sys; from pathlib import Path
from analytics_core.renderers import PictureFormat, VegaRenderer
sys.path.append(Path("objects")); sys.executable = ""
VegaRenderer().render({}, format=PictureFormat.SVG)
"""


def test_imports_may_have_paths_that_are_objects_and_a_program_may_have_no_interpreter() -> None:
    done = subprocess.run([sys.executable, "-c", EMBEDDED], capture_output=True, text=True, check=False)
    assert done.stderr.endswith("name one: VegaRenderer(python=...)\n")


def test_drawing_starts_no_thread_and_no_process_that_stays() -> None:
    threads = threading.active_count()
    renderer = VegaRenderer()
    renderer.render_pages([PAGE], format=PictureFormat.PNG)
    (process,) = renderer._idle
    deadline = time.monotonic() + 10
    while not renderer._calls._idle and time.monotonic() < deadline:  # its thread begins to wait for the next picture
        time.sleep(0.001)
    assert os.path.isdir(process._folder)
    renderer.close()
    assert process._process.poll() is not None
    assert (renderer._calls._idle, os.path.exists(process._folder)) == ([], False)
    while threading.active_count() > threads and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() <= threads
    with pytest.raises(PictureError, match="closed"):
        renderer.render(BARS, format=PictureFormat.SVG)


@pytest.mark.slow
def test_a_renderer_that_nobody_closes_takes_its_process_along() -> None:
    renderer = VegaRenderer()
    renderer.render_pages([PAGE], format=PictureFormat.PNG)
    (process,) = renderer._idle
    del renderer
    gc.collect()
    assert process._process.wait(10) is not None


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no such clock here")
def test_a_process_whose_parent_was_killed_ends_at_the_limit_of_its_picture(tmp_path: Path) -> None:
    text = json.dumps(NEVER_ENDS).encode()
    head = {"kind": "specification", "format": "svg", "scale": 1.0, "limit_s": 1.0, "lengths": [len(text)]}
    program = "import sys; from analytics_core._core.adapters.vega_worker import main; main([], sys.argv[1])"
    request = json.dumps(head).encode() + b"\n" + text
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], input=request, capture_output=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (-signal.SIGALRM, b"")


def test_each_format_begins_as_its_files_do() -> None:
    for named, begins in (("svg", b"<svg"), ("png", b"\x89PNG\r\n"), ("pdf", b"%PDF-")):
        request = {"kind": "pages", "format": named, "scale": 1.0}
        assert _drawn(request, [PAGE], has_fonts=False).startswith(begins), named


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no such clock here")
def test_a_process_asks_the_system_to_end_it_at_the_limit_of_its_picture() -> None:
    handler, (remaining_s, _) = signal.getsignal(signal.SIGALRM), signal.getitimer(signal.ITIMER_REAL)
    try:
        _end_after(60.0)
        assert signal.getsignal(signal.SIGALRM) is signal.SIG_DFL
        assert 50 < signal.getitimer(signal.ITIMER_REAL)[0] <= 60
        _end_after(0)
        assert signal.getitimer(signal.ITIMER_REAL)[0] == 0
    finally:
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, remaining_s)


@pytest.mark.slow
def test_processes_leave_no_folder_however_they_end(tmp_path: Path) -> None:
    script = """
import os, sys
from analytics_core.renderers import PictureFormat, VegaRenderer
page = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'
renderer, found = VegaRenderer(), []
for is_killed in (True, False):
    renderer.render_pages([page], format=PictureFormat.PNG)
    found.append(len(os.listdir(sys.argv[1])))
    if is_killed:
        renderer._idle[0]._process.kill()
renderer.close()
print(*found, len(os.listdir(sys.argv[1])))
renderer = VegaRenderer()
renderer.render_pages([page], format=PictureFormat.PNG)
"""
    command, around = [sys.executable, "-c", script, str(tmp_path)], {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(command, env=around, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "1 1 0\n"
    assert list(tmp_path.iterdir()) == []  # nor does one that nobody closed


def test_a_process_without_a_parent_removes_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    program = "import sys; from analytics_core._core.adapters.vega_worker import main; main([], sys.argv[1])"
    subprocess.run([sys.executable, "-c", program, str(folder)], input=b"", timeout=60, check=True)
    assert not folder.exists()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")
def test_a_forked_child_draws_with_a_process_of_its_own() -> None:
    script = """
import os, sys
from analytics_core.renderers import PictureFormat, VegaRenderer
renderer = VegaRenderer()
page = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'
first = renderer.render_pages([page], format=PictureFormat.PNG)
child = os.fork()
same = renderer.render_pages([page], format=PictureFormat.PNG) == first
renderer.close()
if child == 0:
    os._exit(0 if same else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) or not same)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
@pytest.mark.parametrize("scale", [0, -1, 100, float("nan")])
def test_a_scale_beyond_reason_is_an_error(renderer: VegaRenderer, scale: float) -> None:
    with pytest.raises(PictureError, match="scale"):
        renderer.render(BARS, format=PictureFormat.PNG, scale=scale)
