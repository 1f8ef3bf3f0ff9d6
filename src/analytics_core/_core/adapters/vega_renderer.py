"""The renderer of the extra `charts`: vl-convert in processes of its own, which are ended when they take too long."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from html import escape
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, Final

from analytics_core._core.adapters.vega_worker import VEGA_LITE
from analytics_core._tools.bounded_calls import BoundedCalls
from analytics_core._tools.forks import forkable_rlock, tell_of_forks
from analytics_core.errors import AnalyticsError, MissingExtraError, PictureError, SettingsError, ThreadLimitError
from analytics_core.models.enums import PictureFormat

if sys.platform != "win32":
    import resource

_PROGRAM: Final = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from analytics_core._core.adapters.vega_worker import main; main(json.loads(sys.argv[2]), sys.argv[3])"
)
_PASSED_VARIABLES: Final = ("PATH", "LD_LIBRARY_PATH", "SYSTEMROOT", "TEMP", "TMPDIR")
_SCALES: Final = (0.1, 10.0)
_END_S: Final = 5.0


def can_draw() -> bool:
    """Tell whether the package that `VegaRenderer` draws with is installed."""
    return find_spec("vl_convert") is not None


class VegaRenderer:
    r"""Draws with vl-convert, without a browser and without a network (port `Renderer`).

    Pictures are drawn in processes of their own, which start with the first picture, end when nothing is drawn for five
    minutes, and are killed when one takes too long; on Unix they end then by themselves, too, should nobody be left to
    kill them. Letters that the bundled fonts lack (Liberation Sans: Latin, Greek, Cyrillic, Hebrew) are boxes, unless a
    folder of fonts has them.

    Args:
        processes: how many pictures are drawn at a time; each process takes 150 to 500 MB.
        timeout_s: the longest time for one picture, and for its turn to come, in seconds each.
        font_directories: folders of fonts beside the bundled ones, for example those of Chinese.
        python: the interpreter of the processes; None: the one of this process. A program that embeds Python names one.

    Raises:
        MissingExtraError: vl-convert is not installed; the extra `charts` brings it.
        SettingsError: a number or a folder that cannot be.

    Examples:
        >>> renderer = VegaRenderer()
        >>> bars = {"data": {"values": [{"x": "a", "y": 1}]}, "mark": "bar",
        ...         "encoding": {"x": {"field": "x"}, "y": {"field": "y", "type": "quantitative"}}}
        >>> renderer.render(bars, format=PictureFormat.PNG)[:4]
        b'\x89PNG'
        >>> renderer.close()
    """

    def __init__(
        self,
        *,
        processes: int = 1,
        timeout_s: float = 30.0,
        font_directories: Sequence[str | os.PathLike[str]] = (),
        python: str | None = None,
    ) -> None:
        if not can_draw():
            raise MissingExtraError(needed_for="a picture", extra_name="charts")
        folders = list(map(_font_folder, font_directories))
        if processes < 1 or timeout_s <= 0:
            raise SettingsError("a renderer has one process or more, and a time limit above 0")
        paths = json.dumps([os.fsdecode(path) for path in sys.path])
        self._command = [python or sys.executable or "", "-I", "-c", _PROGRAM, paths, json.dumps(folders)]
        self._fonts: Sequence[str] = folders
        self._most = processes
        self._timeout_s = timeout_s
        self._guard = forkable_rlock()  # a handler of a signal may close while its own thread closes
        self._calls = BoundedCalls("pictures")
        self._all: set[_Process] = set()
        self._begin()
        weakref.finalize(self, _end_all, self._all)
        tell_of_forks(self)

    def _begin(self) -> None:
        self._turns = threading.BoundedSemaphore(self._most)
        self._idle: list[_Process] = []
        self._is_closed = False

    @property
    def fingerprint(self) -> str:
        """The versions and the fonts."""
        return f"vl-convert {metadata.version('vl-convert-python')}, Vega-Lite {VEGA_LITE}, {self._fonts}"

    def render(self, specification: Mapping[str, Any], *, format: PictureFormat, scale: float = 1.0) -> bytes:
        """Return the picture of a Vega-Lite specification.

        Raises:
            PictureError: it cannot be drawn, or not in time.
        """
        try:
            text = json.dumps(specification, allow_nan=False)
        except (TypeError, ValueError, RecursionError):
            raise PictureError("the specification of a picture holds something that is no JSON value") from None
        return self._render("specification", [text], format, scale)

    def render_pages(self, pages: Sequence[str], *, format: PictureFormat, scale: float = 1.0) -> bytes:
        """Return SVG pages as one picture.

        Raises:
            PictureError: they cannot be drawn, or not in time; several pages that shall be no PDF.
        """
        if not pages or (len(pages) > 1 and format is not PictureFormat.PDF):
            raise PictureError(f"{len(pages)} pages do not make one {PictureFormat(format).name}; PDF takes several")
        return self._render("pages", list(pages), format, scale)

    def close(self) -> None:
        """End the processes; whoever waits for one gets a PictureError. A handler of a signal may call it."""
        with self._guard:
            self._is_closed, self._idle = True, []
        _end_all(self._all)
        self._all.clear()
        self._calls.close()

    def before_fork(self) -> None:
        """Go on: the processes stay the parent's."""

    def after_fork(self) -> None:
        """Forget the processes of the parent."""
        was_closed = self._is_closed
        for process in self._all:
            process.forget()
        self._all.clear()
        self._begin()
        self._is_closed = was_closed

    # -------------------------------------------------------------------------------------------------------- inside
    def _render(self, kind: str, texts: Sequence[str], format: PictureFormat, scale: float) -> bytes:
        least, most = _SCALES
        if not least <= scale <= most:
            raise PictureError(f"the scale of a picture must lie between {least:g} and {most:g}")
        try:
            contents = [text.encode() for text in texts]
        except UnicodeError:
            raise PictureError("a text of a picture holds half a character, which nothing can draw") from None
        head = {
            "kind": kind,
            "format": PictureFormat(format).value,
            "scale": float(scale),
            "limit_s": self._timeout_s + _END_S,
            "lengths": list(map(len, contents)),
        }
        request = b"".join((json.dumps(head).encode(), b"\n", *contents))
        drawing = _Drawing()
        return self._calls.run(lambda: self._in_turn(request, drawing), stop=drawing.stop)

    def _in_turn(self, request: bytes, drawing: _Drawing) -> bytes:
        turns = self._turns
        if not turns.acquire(timeout=self._timeout_s):
            raise PictureError(
                f"other pictures were drawn for {self._timeout_s:g} s; ask again later, or give VegaRenderer more "
                "processes",
                retryable=True,
            )
        try:
            return self._drawn(request, drawing)
        finally:
            turns.release()

    def _drawn(self, request: bytes, drawing: _Drawing) -> bytes:
        for is_last in (False, True):
            process = self._taken()
            try:
                answer = process.answer(request, self._timeout_s) if drawing.begin(process) else None
            except AnalyticsError:  # its whole answer
                self._give_back(process)
                raise
            except BaseException:  # half an answer may wait in its pipe
                self._drop(process)
                raise
            if answer is not None:
                self._give_back(process)
                return answer
            self._drop(process)
            if process.is_late or is_last or drawing.is_stopped:
                break
        if self._is_closed:
            raise _closed()
        if process.is_late:
            raise PictureError(
                f"a picture was not drawn in {self._timeout_s:g} s; ask for fewer rows, or a later limit"
            )
        why = _limit_of_addresses() or "; the picture may need too much memory"
        raise PictureError(f"the process that draws pictures ended by itself{why}")

    def _taken(self) -> _Process:
        """Return a process that waits for work, a new one where none does."""
        with self._guard:
            if self._is_closed:
                raise _closed()
            while self._idle:
                process = self._idle.pop()
                if not process.is_over:
                    return process
                self._drop(process)
            process = _Process(self._command, self._fonts)
            self._all.add(process)
            return process

    def _give_back(self, process: _Process) -> None:
        with self._guard:
            if not self._is_closed:
                self._idle.append(process)

    def _drop(self, process: _Process) -> None:
        process.end()
        self._all.discard(process)


def _closed() -> PictureError:
    return PictureError("the renderer is closed")


class _Drawing:
    """One picture on its way in another thread, which whoever asked for it may stop."""

    def __init__(self) -> None:
        self.is_stopped = False
        self._process: _Process | None = None

    def begin(self, process: _Process) -> bool:
        """Say which process draws it; False where nobody wants it any more."""
        self._process = process  # before it looks: `stop` does both the other way round
        return not self.is_stopped

    def stop(self) -> None:
        """Kill the process; where it draws for somebody else by now, another one draws that once more."""
        self.is_stopped = True
        if self._process is not None:
            self._process.kill()


class _Process:
    """One process that draws; `is_late` when it was killed for taking too long.

    Its folder is made and removed here: who is killed removes nothing.
    """

    def __init__(self, command: Sequence[str], fonts: Sequence[str]) -> None:
        environment = {name: os.environ[name] for name in _PASSED_VARIABLES if name in os.environ}
        if not command[0]:
            raise PictureError("this program has no interpreter of its own; name one: VegaRenderer(python=...)")
        self._folder = ""
        try:
            self._folder = tempfile.mkdtemp(prefix="analytics_core-")
            fonts_file = _fonts_file(self._folder, fonts)
        except OSError as error:
            self._remove_folder()
            raise PictureError(
                f"drawing needs a folder for temporary files, and nothing can be written into {_place_of(error)}: "
                f"{error.strerror}; TMPDIR names another one"
            ) from None
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own program
                [*command, self._folder],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**environment, "TZ": "UTC", "FONTCONFIG_FILE": fonts_file},
                process_group=0,  # Ctrl-C in a terminal or notebook is for the parent, which decides
            )
        except (OSError, MemoryError) as error:
            self._remove_folder()
            why = getattr(error, "strerror", None) or "there is not enough memory"
            raise PictureError(
                f"the process that draws pictures does not start: {why}{_limit_of_addresses()}"
            ) from None
        self.is_late = False

    @property
    def is_over(self) -> bool:
        """Whether it has ended, by whatever hand."""
        return self._process.poll() is not None

    def answer(self, request: bytes, timeout_s: float) -> bytes | None:
        """Return a picture; None where the process is over.

        Raises:
            PictureError, MissingExtraError: what the process says.
        """
        limit = threading.Timer(timeout_s, self._stop)
        limit.daemon = True
        try:
            limit.start()
        except RuntimeError:
            raise ThreadLimitError from None
        try:
            head, picture = self._exchanged(request)
        except (OSError, ValueError):  # it is gone, or was
            return None
        finally:
            limit.cancel()
            limit.join()
        if (missing := head.get("extra")) is not None:
            raise MissingExtraError(needed_for="a picture as PDF", extra_name=missing)
        if "error" in head:
            raise PictureError(f"the picture cannot be drawn: {head['error']}")
        return picture

    def _exchanged(self, request: bytes) -> tuple[dict[str, Any], bytes]:
        into, out = _pipes(self._process)
        into.write(request)
        into.flush()
        head = json.loads(out.readline())
        length = head.get("length", 0)
        picture = out.read(length)
        if len(picture) != length:
            raise ValueError(length)
        return head, picture

    def _stop(self) -> None:
        self.is_late = True
        self.kill()

    def kill(self) -> None:
        """Kill it: who reads its pipe finds the end."""
        self._process.kill()

    def end(self) -> None:
        """Kill it, wait until it is over, and remove its folder; may be called again, by several threads at a time."""
        self.kill()
        for pipe in _pipes(self._process):
            with suppress(OSError):
                pipe.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_S)
        self._remove_folder()

    def _remove_folder(self) -> None:
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)

    def forget(self) -> None:
        """Let go of a process that is the parent's."""
        for pipe in _pipes(self._process):
            with suppress(OSError):
                os.close(pipe.fileno())
        self._process.returncode = 0  # nobody here waits for it


def _end_all(processes: set[_Process]) -> None:
    for process in tuple(processes):
        process.end()


def _pipes(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes]]:
    if process.stdin is None or process.stdout is None:  # never: both were asked for
        raise PictureError("the process that draws pictures has no pipes")
    return process.stdin, process.stdout


def _font_folder(directory: str | os.PathLike[str]) -> str:
    """Return a folder of fonts as a configuration of fonts names it: in UTF-8."""
    try:
        folder = Path(directory).resolve()
        str(folder).encode()
    except ValueError:  # UnicodeEncodeError, or it has a NUL
        raise SettingsError(f"font_directories: {os.fspath(directory)!r} is no name in UTF-8; rename it") from None
    if not folder.is_dir():
        raise SettingsError(f"font_directories: there is no folder {folder}")
    return str(folder)


def _fonts_file(folder: str, directories: Sequence[str]) -> str:
    """Write what leaves no fonts but the bundled ones and those of these folders, wherever fontconfig decides.

    An empty list of folders would mean those of the system.
    """
    named = "".join(f"<dir>{escape(directory)}</dir>" for directory in (folder, *directories))
    configuration = Path(folder, "fonts.conf")
    head = '<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd">'
    configuration.write_text(f"{head}<fontconfig>{named}</fontconfig>", encoding="utf-8")
    return str(configuration)


def _place_of(error: OSError) -> str:
    """Return the folder for temporary files in which an error came up."""
    return tempfile.tempdir or str(error.filename or "any")


def _limit_of_addresses() -> str:
    """Return what to say where the addresses of processes are limited, under which nothing is drawn."""
    if sys.platform == "win32":
        return ""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return ""
    return (
        f"; addresses are limited to {limit // 2**20:,} MB (ulimit -v, LimitAS), which drawing reserves more of than "
        "it uses: limit the memory of the container or cgroup instead"
    )
