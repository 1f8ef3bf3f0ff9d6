"""A TCP proxy before a server that stops forwarding when it is told to: connections stay open, and nothing comes."""

from __future__ import annotations

import contextlib
import select
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class StallingProxy:
    """Forwards what clients and a server on this machine send each other, until `stall`.

    A stalled proxy still takes connections, as the kernel of a hung machine does.
    """

    def __init__(self, port: int) -> None:
        self._target = ("127.0.0.1", port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(0.1)
        self._open = threading.Event()
        self._open.set()
        self._is_closed = False
        self._delay_s = 0.0
        self._cut: tuple[bytes, bool] | None = None
        self._dropped = 0
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    @property
    def port(self) -> int:
        """Where clients connect."""
        return int(self._listener.getsockname()[1])

    def stall(self) -> None:
        """Forward nothing any more."""
        self._open.clear()

    def resume(self) -> None:
        """Forward again, also what came meanwhile."""
        self._open.set()

    def delay(self, seconds: float) -> None:
        """Have each answer of the server come so much later."""
        self._delay_s = seconds

    def cut_at(self, word: bytes, *, forwards: bool) -> None:
        """End a connection whose client sends this word; its server hears of it, or not."""
        self._cut = (word, forwards)

    def drop(self) -> None:
        """End the connections that there are; new ones are forwarded."""
        self._dropped += 1

    def close(self) -> None:
        """End all connections."""
        self._is_closed = True
        self._open.set()
        self._listener.close()
        for thread in self._threads:
            thread.join(5)

    def _accept(self) -> None:
        while not self._is_closed:
            try:
                client, _ = self._listener.accept()
            except TimeoutError:
                continue
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(client,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError):
            while not self._open.wait(0.1):
                if self._is_closed:
                    return
            with socket.create_connection(self._target) as server:
                self._pump(client, server)

    def _pump(self, client: socket.socket, server: socket.socket) -> None:
        other, dropped = {client: server, server: client}, self._dropped
        while not self._is_closed and dropped == self._dropped:
            ready, _, _ = select.select([client, server], [], [], 0.05)
            for source in ready:
                data = source.recv(65_536)
                while not self._open.wait(0.05):
                    if self._is_closed:
                        return
                if not data:
                    return
                if self._cut is not None and source is client and self._cut[0] in data:
                    if self._cut[1]:
                        server.sendall(data)
                        select.select([server], [], [], 5)  # its answer, which nobody gets
                    return
                if self._delay_s and source is server:
                    time.sleep(self._delay_s)
                other[source].sendall(data)


@contextmanager
def stalling_proxy(port: int) -> Iterator[StallingProxy]:
    """Give a proxy before this port of the loopback for one `with` block."""
    proxy = StallingProxy(port)
    try:
        yield proxy
    finally:
        proxy.close()


def through(url: str, proxy: StallingProxy) -> str:
    """Return a server's URL with the proxy's port in place of its own."""
    before, _, rest = url.rpartition("@127.0.0.1:")
    return f"{before}@127.0.0.1:{proxy.port}{rest[rest.index('/') :]}"
