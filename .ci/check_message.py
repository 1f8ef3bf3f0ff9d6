"""Refuse a commit message that does not say what changed and why: `python .ci/check_message.py FILE`.

`.pre-commit-config.yaml` calls it on each message; CONTRIBUTING.md says what a message is.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

LONGEST_TITLE = 72
SCISSORS = "# ------------------------ >8 ------------------------"
"""What git writes above the changes that `git commit --verbose` shows."""

TRAILER = re.compile(r"[A-Z][A-Za-z-]+: \S.*")
HASH = re.compile(r"\b(?=[a-f]*[0-9])[0-9a-f]{7,40}\b")


def problems(message: str) -> list[str]:
    """Return what is wrong with a message, as sentences."""
    lines = [line.rstrip() for line in message.partition(SCISSORS)[0].strip().splitlines() if not line.startswith("#")]
    if not lines:
        return ["The message is empty."]
    title, *rest = lines
    found = []
    if len(title) > LONGEST_TITLE:
        found.append(f"The title has {len(title)} characters; at most {LONGEST_TITLE} are taken.")
    if title.startswith("Merge "):
        named = HASH.search(title)
        return [*found, f"The title names the commit {named[0]}; say which work is merged."] if named else found
    if rest and rest[0]:
        found.append("An empty line belongs between the title and the body.")
    if not title.startswith(("fixup! ", "squash! ")) and not _has_body(rest):
        found.append("The body is missing: one to three sentences say why, what was measured, what was left.")
    return found


def _has_body(lines: Sequence[str]) -> bool:
    return any(line and not TRAILER.fullmatch(line) for line in lines)


if __name__ == "__main__":
    sys.exit("\n".join(problems(Path(sys.argv[1]).read_text(encoding="utf-8"))) or None)
