"""Reads a Dockerfile and a compose file as far as those of the examples go, so that commands run without Docker."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

_VARIABLE = re.compile(r"\$(?:\$|\{(?P<name>\w+)(?P<rule>:\?|:-)?(?P<default>[^}]*)\})")
"""`$$` is a dollar sign; `${NAME:?}` must be there, `${NAME:-text}` has a default."""


def instructions(dockerfile: Path) -> list[tuple[str, str]]:
    """Return the instructions of a Dockerfile, in order: a name in capitals, and what stands behind it."""
    text = re.sub(r"\\\n", " ", dockerfile.read_text(encoding="utf-8"))
    lines = [line.strip() for line in text.splitlines()]
    found = [line.split(maxsplit=1) for line in lines if line and not line.startswith("#")]
    return [(name.upper(), rest) for name, rest in found]


def command_of(dockerfile: Path) -> list[str]:
    """Return the command of an image, which is a JSON list."""
    (command,) = [json.loads(rest) for name, rest in instructions(dockerfile) if name == "CMD"]
    return [str(part) for part in command]


def services(compose: Path, environ: Mapping[str, str]) -> dict[str, Any]:
    """Return the services of a compose file, with the variables of an environment in place.

    Raises:
        KeyError: a variable that must be there is not, or is empty.
    """

    def value(match: re.Match[str]) -> str:
        name, given = match["name"], environ.get(match["name"] or "")
        if name is None:
            return "$"
        if match["rule"] == ":?" and not given:
            raise KeyError(name)
        return given or match["default"]

    def filled(part: Any) -> Any:
        if isinstance(part, str):
            return _VARIABLE.sub(value, part)
        if isinstance(part, list):
            return [filled(item) for item in part]
        return {key: filled(item) for key, item in part.items()} if isinstance(part, dict) else part

    content = filled(yaml.safe_load(compose.read_text(encoding="utf-8")))
    return dict(content["services"])


def probe_of(service: Mapping[str, Any]) -> Sequence[str]:
    """Return the command by which a service's health is looked at."""
    kind, *rest = service["healthcheck"]["test"]
    return {"CMD": rest, "CMD-SHELL": ["sh", "-c", *rest]}[kind]


def commands_of_page(page: Path, *beginning: str) -> list[list[str]]:
    """Return the commands in the text of a page that begin with these words, without them."""
    text = page.read_text(encoding="utf-8")
    lines = [line.removeprefix("$ ") for line in text.splitlines()] + re.findall(r"`(docker compose [^`]+)`", text)
    found = [shlex.split(line) for line in lines if line.startswith("docker compose ")]
    return [words[len(beginning) :] for words in found if tuple(words[: len(beginning)]) == beginning]
