"""A real HTTPS server on the loopback that stands for web hooks and for the API of a chat, and misbehaves on demand."""

from __future__ import annotations

import json
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from tests.support.oauth_provider import make_authority

TOKEN = "xoxb-hunter2-of-the-bot"


@dataclass(frozen=True, slots=True)
class ArrivedPost:
    """One request as the server has it."""

    path: str
    headers: dict[str, str]
    body: bytes

    def json(self) -> dict[str, Any]:
        """Return its object."""
        found: dict[str, Any] = json.loads(self.body)
        return found


@dataclass
class ChatServer:
    """What arrived, and how the server behaves; tests read and set it.

    Attributes:
        answers: by path: status, headers and body; or `hang`, `drip`, `break`, `half`; else what is usual.
    """

    url: str = ""
    port: int = 0
    ca_file: Path | None = None
    posts: list[ArrivedPost] = field(default_factory=list)
    answers: dict[str, Any] = field(default_factory=dict)
    stop: threading.Event = field(default_factory=threading.Event)

    def paths(self) -> list[str]:
        """Return where the requests went."""
        return [post.path for post in self.posts]

    def usual(self, post: ArrivedPost) -> tuple[int, dict[str, str], bytes]:
        """Answer as the chat does."""
        name = post.path.rpartition("/")[2]
        reply: dict[str, Any] = {"ok": True}
        if name == "chat.postMessage":
            reply |= {"channel": "C0123456789", "ts": "17.5"}
        elif name == "files.getUploadURLExternal":
            (named,) = parse_qs(post.body.decode())["filename"]
            reply |= {"upload_url": f"{self.url}/upload/{len(self.posts)}?sig=s3cr3t", "file_id": f"F-{named}"}
        elif "/upload/" in post.path or "/hook/" in post.path:
            return 200, {}, b"ok"
        return 200, {"Content-Type": "application/json"}, json.dumps(reply).encode()


class _Handler(BaseHTTPRequestHandler):
    chat: ChatServer

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        """Keep the request and answer it."""
        path = self.path.partition("?")[0]
        answer = self.chat.answers.get(path.rpartition("/")[2], self.chat.answers.get(path))
        if answer == "half":
            self.rfile.read(10)
            self.connection.close()
            return
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        post = ArrivedPost(path, {name.lower(): value for name, value in self.headers.items()}, body)
        self.chat.posts.append(post)
        with suppress(OSError):
            self._answer(answer or self.chat.usual(post))

    def _answer(self, answer: Any) -> None:
        if answer == "hang":
            self.chat.stop.wait(20)
        elif answer == "drip":
            self.send_response(200)
            self.end_headers()
            while not self.chat.stop.wait(0.05):
                self.wfile.write(b" ")
        elif answer == "break":
            self.close_connection = True
        else:
            status, headers, body = answer
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)


@contextmanager
def chat_server(folder: Path, *, named: str = "127.0.0.1") -> Iterator[ChatServer]:
    """Run a server with a certificate of an authority whose file is in the folder."""
    made = ChatServer()

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128

        def handle_error(self, *_: object) -> None:
            """Clients that go away are no news."""

    server = Server(("127.0.0.1", 0), type("Handler", (_Handler,), {"chat": made}))
    made.ca_file = make_authority(folder, named)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    made.port = server.server_address[1]
    made.url = f"https://{named}:{made.port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        made.stop.set()
        time.sleep(0.05)
        server.shutdown()
        server.server_close()
