"""A real browser (Debian's chromium) that shows pages, uses them, and tells whether anything ran or was loaded."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import threading
import time
from base64 import b64decode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
CALL = "executed"
"""What a page must never call: a function that reports to the test."""

FLAGS = (
    *("--headless", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--disable-extensions", "--remote-debugging-pipe"),
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
LIMIT_S = 30.0
SETTLE_S = 0.12
POINTER_STEPS = 7
USE = """
(() => {
  const parts = [...document.querySelectorAll('*')].slice(0, 50000);
  addEventListener('click', event => {
    const link = event.target.closest && event.target.closest('a');
    const target = link && (link.href.baseVal || link.href) || '';
    if (target && !/^(javascript|data|vbscript):/i.test(target)) event.preventDefault();
  }, true);
  addEventListener('submit', event => {
    const to = event.submitter && event.submitter.getAttribute('formaction') || event.target.action;
    if (/^https?:/.test(to)) event.preventDefault(); }, true);
  for (const part of parts) {
    for (const kind of ['mouseover', 'mouseenter', 'mousemove', 'mouseout', 'pointerover', 'pointermove', 'focus',
                        'pointerrawupdate', 'focusin', 'animationstart', 'transitionend', 'toggle', 'beforetoggle']) {
      const made = kind.startsWith('pointer') ? PointerEvent : kind.startsWith('mouse') ? MouseEvent : Event;
      part.dispatchEvent(new made(kind, {bubbles: true, clientX: 5, clientY: 5}));
    }
    part.dispatchEvent(new MouseEvent('click', {bubbles: true, cancelable: true}));
  }
  return parts.length;
})()
"""
"""Every element is pointed at and clicked; links that lead to another page are not followed."""


class BrowserMissingError(Exception):
    """There is no chromium on this machine; the words say how to get one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Displayed:
    """What became of a page: `executed` are the calls of `executed(...)`, and dialogs; `loaded` what it asked for."""

    executed: tuple[str, ...]
    loaded: tuple[str, ...]
    elements: int
    title: str

    @property
    def is_calm(self) -> bool:
        """Whether nothing ran and nothing was loaded."""
        return not self.executed and not self.loaded


class Browser:
    """One page of a browser without a window, told what to do through a pipe.

    `address` is that of a server on the loopback, which has the page that is shown and counts whatever else it is
    asked for.
    """

    def __init__(self, folder: Path) -> None:
        program = next((found for name in PROGRAMS if (found := shutil.which(name))), None)
        if program is None:
            raise BrowserMissingError("there is no chromium here; Debian's package `chromium` has it")
        self._page = (b"", "text/html")
        self._requested: list[str] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        self._process, self._into, self._out = _started(program, folder)
        self._number = 0
        self._session: str | None = None
        self._events: list[Mapping[str, Any]] = []
        self._received = b""
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime"):
            self._call(f"{domain}.enable")
        self._call("Runtime.addBinding", name=CALL)
        self.pages = 0

    def close(self) -> None:
        """End the browser and the server."""
        self._process.kill()
        self._process.wait()
        self._into.close()
        os.close(self._out)
        self._server.shutdown()
        self._server.server_close()

    def show(self, page: str | bytes, content_type: str = "text/html", *, until: str = "true") -> Displayed:
        """Show a page, move the pointer over it, point at and click all its elements, and tell what happened.

        `until` is an expression of JavaScript that is true when the page is ready.
        """
        self._page = (page.encode() if isinstance(page, str) else page, f"{content_type}; charset=utf-8")
        self._requested.clear()
        self._events.clear()
        self.pages += 1
        self._call("Page.navigate", url=f"{self.address}/page/{self.pages}")
        self._await("Page.loadEventFired")
        end = time.monotonic() + LIMIT_S
        while not self.evaluate(f"Boolean({until})"):
            if time.monotonic() > end:
                raise TimeoutError(f"the page is not ready: {until}")
            self._read(0.05)
        self._move_pointer()
        elements = self.evaluate(USE)
        self._settle()
        title = self.evaluate("document.title || ''")
        return Displayed(
            executed=tuple(self._executed()), loaded=tuple(self._loaded()), elements=elements or 0, title=str(title)
        )

    def screenshot(self, *, width_px: int, height_px: int) -> bytes:
        """Return what is shown as PNG."""
        self._call(
            "Emulation.setDeviceMetricsOverride", width=width_px, height=height_px, deviceScaleFactor=1, mobile=False
        )
        return b64decode(self._call("Page.captureScreenshot", format="png")["data"])

    # ---------------------------------------------------------------------------------------------------------- inside
    def _handler(self) -> type[BaseHTTPRequestHandler]:
        browser = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if not self.path.startswith("/page/"):
                    if self.path != "/favicon.ico":
                        browser._requested.append(self.path)
                    self.send_error(404)
                    return
                content, kind = browser._page
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_POST = do_GET

            def log_message(self, *_words: object) -> None:
                pass

        return Handler

    def _move_pointer(self) -> None:
        for step in range(POINTER_STEPS * POINTER_STEPS):
            row, column = divmod(step, POINTER_STEPS)
            self._send("Input.dispatchMouseEvent", type="mouseMoved", x=30 + column * 100, y=30 + row * 70)
        self._call("Input.dispatchMouseEvent", type="mouseMoved", x=1, y=1)

    def _executed(self) -> Iterator[str]:
        for event in self._events:
            params = event["params"]
            if event["method"] == "Runtime.bindingCalled":
                yield str(params["payload"])
            elif event["method"] == "Page.javascriptDialogOpening":
                yield f"dialog: {params['message']}"

    def _loaded(self) -> Iterator[str]:
        yield from self._requested
        for event in self._events:
            if event["method"] == "Network.requestWillBeSent":
                url = event["params"]["request"]["url"]
                is_ours = url.startswith((f"{self.address}/page/", f"{self.address}/favicon.ico", "data:", "blob:"))
                if not is_ours and not any(url == self.address + path for path in self._requested):
                    yield url

    def _settle(self) -> None:
        end = time.monotonic() + SETTLE_S
        while (remaining_s := end - time.monotonic()) > 0:
            self._read(remaining_s)

    def evaluate(self, expression: str) -> Any:
        """Return what an expression of JavaScript gives in the page that is shown."""
        answer = self._call("Runtime.evaluate", expression=expression, userGesture=True, returnByValue=True)
        return answer.get("result", {}).get("value")

    def _await(self, method: str) -> None:
        end = time.monotonic() + LIMIT_S
        while not any(event["method"] == method for event in self._events):
            self._read(end - time.monotonic(), must=method)

    def _call(self, method: str, **params: Any) -> dict[str, Any]:
        number = self._send(method, **params)
        end = time.monotonic() + LIMIT_S
        while True:
            message = self._read(end - time.monotonic(), must=method)
            if message is not None and message.get("id") == number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return dict(message["result"])

    def _send(self, method: str, **params: Any) -> int:
        self._number += 1
        command: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session is not None:
            command["sessionId"] = self._session
        self._into.write(json.dumps(command).encode() + b"\0")
        self._into.flush()
        return self._number

    def _read(self, limit_s: float, must: str = "") -> dict[str, Any] | None:
        """Return the next message, None where there is none in time; events are kept."""
        while b"\0" not in self._received:
            if not select.select([self._out], [], [], max(limit_s, 0))[0]:
                if must:
                    raise TimeoutError(f"the browser did not answer: {must}")
                return None
            read = os.read(self._out, 1 << 16)
            if not read:
                raise RuntimeError("the browser is over")
            self._received += read
        line, _, self._received = self._received.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        if "method" in message:
            self._events.append(message)
        if message.get("method") == "Page.javascriptDialogOpening":  # nothing goes on before it is answered
            self._send("Page.handleJavaScriptDialog", accept=True)
        return message


def _started(program: str, folder: Path) -> tuple[subprocess.Popen[bytes], Any, int]:
    """Start a browser whose pipes for commands are its files 3 and 4."""
    command_out, command_in = os.pipe()
    answer_out, answer_in = os.pipe()
    flags = [*FLAGS, f"--user-data-dir={folder}"]
    if os.getuid() == 0:
        flags.append("--no-sandbox")
    shell = 'exec "$0" "$@" 3<&"$IN" 4>&"$OUT"'
    process = subprocess.Popen(
        ["bash", "-c", shell, program, *flags, "about:blank"],
        env={**os.environ, "IN": str(command_out), "OUT": str(answer_in), "HOME": str(folder)},
        pass_fds=(command_out, answer_in),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(command_out)
    os.close(answer_in)
    return process, os.fdopen(command_in, "wb"), answer_out


@contextmanager
def opened_browser(folder: Path) -> Iterator[Browser]:
    """Give a browser whose profile is in a folder; BrowserMissingError where there is none."""
    browser = Browser(folder)
    try:
        yield browser
    finally:
        browser.close()
