"""One page of a list."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from analytics_core.models.base import Answer

Item = TypeVar("Item", bound=Answer)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[Item]):
    """The records of one page; `count` is how many match in all."""

    count: int
    result: tuple[Item, ...]

    def __iter__(self) -> Iterator[Item]:
        return iter(self.result)

    def __len__(self) -> int:
        return len(self.result)

    def to_payload(self) -> dict[str, Any]:
        """Return `{count, result}` as the contract's lists are written."""
        return {"count": self.count, "result": [item.to_payload() for item in self.result]}
