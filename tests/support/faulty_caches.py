"""Caches of a host that raise or do not answer."""

from __future__ import annotations

import threading


class BrokenCache:
    """A cache that raises with its address in the text."""

    def get(self, key: str) -> bytes | None:
        raise ConnectionError("redis://:hunter2@cache:6379 refused")

    def set(self, key: str, value: bytes, *, timeout_s: int | None) -> None:
        self.get(key)

    def delete(self, key: str) -> None:
        self.get(key)


class HangingCache(BrokenCache):
    """A cache that answers when the test is over."""

    def __init__(self) -> None:
        self.over = threading.Event()

    def get(self, key: str) -> bytes | None:
        self.over.wait(30)
        return None
