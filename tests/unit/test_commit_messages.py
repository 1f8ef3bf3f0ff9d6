"""The hook of commit messages refuses what says neither what changed nor why."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / ".ci" / "check_message.py"
BODY = "\n\nThe store made each table twice, which took 9 ms.\n"
LONGEST = "Make each table of a store once " + "x" * 40

TAKEN = (
    f"Make each table of a store once{BODY}",
    f"{LONGEST}{BODY}",
    f"# a comment of git\nMake each table of a store once{BODY}# On branch main\n",
    "Merge branch 'faster-stores'",
    "Merge branch 'defaced'",
    "fixup! Make each table of a store once",
    f"Find the commit 2d7b201e in the log of a store{BODY}",
)
REFUSED = {
    "# On branch main\n": "is empty",
    f"{LONGEST}x{BODY}": "has 73 characters",
    f"Merge branch '{'x' * 80}'": "at most 72",
    "Merge commit '2d7b201e'": "names the commit 2d7b201e",
    "Merge 2d7b201e0f0c55f1bb3ee6d6cbd8f0a4c0c0ffee into main": "names the commit",
    "Make each table of a store once": "body is missing",
    "Make each table of a store once\n\n# On branch main\n": "body is missing",
    "Make each table of a store once\n\nSigned-off-by: Ada <ada@example.com>": "body is missing",
    f"Make each table of a store once\n# {'-' * 24} >8 {'-' * 24}\n\ndiff": "body is missing",
    "Make each table of a store once\nThe store made each twice.": "empty line",
}


def test_messages_that_say_what_and_why_are_taken_and_others_are_refused() -> None:
    problems = runpy.run_path(str(SCRIPT))["problems"]
    for message in TAKEN:
        assert problems(message) == [], message
    for message, reason in REFUSED.items():
        assert reason in " ".join(problems(message)), message


def test_the_script_of_the_hook_ends_with_what_is_wrong(tmp_path: Path) -> None:
    file = tmp_path / "COMMIT_EDITMSG"
    for message, code, text in ((TAKEN[0], 0, ""), ("Make a store", 1, "The body is missing")):
        file.write_text(message, encoding="utf-8")
        done = subprocess.run([sys.executable, str(SCRIPT), str(file)], capture_output=True, text=True, check=False)
        assert done.returncode == code, message
        assert done.stderr.startswith(text), message
