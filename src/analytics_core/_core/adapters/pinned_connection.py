"""A connection to an address that was checked, encrypted for the name that was meant, which another thread may end."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Sequence
from contextlib import suppress


class PinnedConnection:
    """A connection to the first of a host's addresses that takes one.

    Args:
        host: whose certificate the other side must have where it is encrypted.
        port: of the host.
        timeout_s: seconds that each wait may take; whoever bounds all of them together calls `abort`.
    """

    def __init__(self, host: str, port: int, *, timeout_s: float) -> None:
        self.host = host
        self.port = port
        self._timeout_s = timeout_s
        self._guard = threading.Lock()
        self._is_aborted = False
        self._socket: socket.socket | None = None
        self._handle: socket.socket | None = None

    def open(self, addresses: Sequence[str], *, tls: ssl.SSLContext | None) -> socket.socket:
        """Return a connection to one of the addresses, encrypted where `tls` is given.

        Raises:
            OSError: none takes one, or it is no encrypted one to this host.
        """
        failure: OSError = OSError("no address")
        for address in addresses:
            try:
                plain = socket.create_connection((address, self.port), self._timeout_s)
            except OSError as error:
                failure = error
                continue
            self._hold(plain)
            return plain if tls is None else self.encrypt(tls)
        raise failure

    def encrypt(self, tls: ssl.SSLContext) -> socket.socket:
        """Return the connection as an encrypted one to the host; it is closed where that cannot be.

        Raises:
            OSError: the other side does not encrypt, or is another host.
        """
        if self._socket is None:
            raise OSError("no connection")
        try:
            # The handshake comes after, so that `abort` reaches a connection whose other side drips it.
            self._socket = made = tls.wrap_socket(
                self._socket, server_hostname=self.host, do_handshake_on_connect=False
            )
            made.do_handshake()
        except BaseException:  # whatever it is goes on upwards; the connection must not stay open
            self.close()
            raise
        return made

    def abort(self) -> None:
        """End the connection, wherever its thread is; nothing that is sent afterwards leaves this machine."""
        with self._guard:
            self._is_aborted = True
            if self._handle is not None:
                with suppress(OSError):
                    self._handle.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection."""
        with self._guard:
            for one in (self._socket, self._handle):
                if one is not None:
                    one.close()
            self._handle = None

    def _hold(self, plain: socket.socket) -> None:
        """Keep a connection, and a handle of it: what encrypts is not made for two threads."""
        with self._guard:
            if self._is_aborted:
                plain.close()
                raise OSError("aborted")
            self._socket, self._handle = plain, plain.dup()
