"""A copy of the source with what the page that extends the library adds, step by step."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from analytics_core._content.storage.migrate import HEAD

PROJECT = Path(__file__).parents[2]
PAGE = (PROJECT / "docs" / "how-to" / "extend.md").read_text(encoding="utf-8")
BLOCK = re.compile(r'^(`{3,})(\w+) title="(.*?)"\n(.*?)^\1$', re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepOfThePage:
    """One titled block: what is done to one file."""

    language: str
    path: str
    text: str


def steps(heading: str) -> list[StepOfThePage]:
    section = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return [StepOfThePage(language=found[2], path=found[3], text=found[4]) for found in BLOCK.finditer(section)]


def steps_of_a_field() -> list[StepOfThePage]:
    """Return what gives charts a headline, with the number of the revision that is next today."""
    newest = {"0103": HEAD, "0104": f"{int(HEAD) + 1:04}"}

    def today(text: str) -> str:
        return re.sub("010[34]", lambda found: newest[found[0]], text)

    taken = steps("A field that charts store")
    return [StepOfThePage(language=step.language, path=today(step.path), text=today(step.text)) for step in taken]


def copy_of_the_source(folder: Path) -> Path:
    """Copy what the steps touch; compiled modules come along, as of an installed package."""
    for part in ("src", "docs/reference", "tests/support"):
        shutil.copytree(PROJECT / part, folder / part)
    (folder / "tests" / "__init__.py").touch()
    return folder


def take(step: StepOfThePage, copy: Path) -> None:
    file = copy / step.path
    if step.language == "diff":
        file.write_text(patched(file.read_text(encoding="utf-8"), step), encoding="utf-8")
    elif step.language == "sh":
        before = file.read_text(encoding="utf-8")
        assert run(copy, *step.text.split()[1:]) == ""
        assert file.read_text(encoding="utf-8") != before
    else:
        assert not file.exists()
        file.write_text(step.text, encoding="utf-8")


def patched(text: str, step: StepOfThePage) -> str:
    """Return a text with the changes of a diff; `@@ WORDS` says behind which words the next ones are."""
    for hunk in re.split(r"^(?=@@ )", step.text, flags=re.MULTILINE):
        heading, lines = re.fullmatch(r"(?:@@ ([^\n]*)\n)?(.*)", hunk, re.DOTALL).groups()
        changed = [line or " " for line in lines.splitlines()]
        before = "".join(f"{line[1:]}\n" for line in changed if line[0] != "+")
        after = "".join(f"{line[1:]}\n" for line in changed if line[0] != "-")
        start = text.index(heading) if heading else 0
        place = text.index(before, start)
        text = text[:place] + after + text[place + len(before) :]
    return text


def run(copy: Path, *arguments: str) -> str:
    path = f"{copy / 'src'}:{copy}"
    command = [sys.executable, "-W", "error", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=copy, env={"PYTHONPATH": path})
    assert done.returncode == 0, done.stderr
    return done.stdout
