"""What each scenario counts: tries, errors that are none of ours, answers beyond their limit, writes lost or halved."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from analytics_core.errors import AnalyticsError

BEYOND_S = 2.0
"""How long after its limit an answer may come."""


@dataclass(kw_only=True)
class Tally:
    """The counts of one scenario."""

    name: str
    tries: int = 0
    answered: int = 0
    rejected: int = 0
    raw: int = 0
    late: int = 0
    lost: int = 0
    slowest_s: float = 0.0
    reported: list[str] = field(default_factory=list)

    def attempt(self, work: Callable[[], Any], *, limit_s: float) -> Any:
        """Do some work, whose answer or typed error must come within its limit; return the answer or None."""
        self.tries += 1
        started = time.monotonic()
        answer = None
        try:
            answer = work()
            self.answered += 1
        except AnalyticsError:
            self.rejected += 1
        except Exception as error:  # told and counted: the scenario is not clean
            self.raw += 1
            self.reported.append(f"{self.name}: {type(error).__name__}: {error}")
        took_s = time.monotonic() - started
        self.slowest_s = max(self.slowest_s, took_s)
        if took_s > limit_s + BEYOND_S:
            self.late += 1
            self.reported.append(f"{self.name}: an answer took {took_s:.1f} s, its limit is {limit_s:g} s")
        return answer

    def require(self, condition: object, what: str) -> None:
        """Count a write that is lost or halved, or a promise that was not kept, unless the condition holds."""
        self.tries += 1
        if condition:
            self.answered += 1
        else:
            self.lost += 1
            self.reported.append(f"{self.name}: {what}")

    @property
    def is_clean(self) -> bool:
        """Whether nothing went wrong."""
        return bool(self.tries) and not (self.raw or self.late or self.lost)


def print_table(tallies: Sequence[Tally]) -> None:
    """Print one line a scenario, and below what went wrong."""
    heads = ("scenario", "tries", "answered", "refused", "raw", "late", "lost", "slowest s")
    lines = [(t.name, t.tries, t.answered, t.rejected, t.raw, t.late, t.lost, f"{t.slowest_s:.2f}") for t in tallies]
    width = max(len(str(line[0])) for line in (heads, *lines))
    for line in (heads, *lines):
        print(f"{line[0]!s:<{width}}" + "".join(f"{value!s:>10}" for value in line[1:]))
    for text in (text for tally in tallies for text in tally.reported):
        print("!", text)
