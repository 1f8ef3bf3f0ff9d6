"""Resolves other people's packages beside this one and prints the versions, since hosts install them together.

    python tests/dependencies/resolve_beside.py [--python 3.11] [name ...]

A resolver that finds no way takes an old version of the other package and says nothing. So each is resolved alone and
beside this one, and the two versions must be one, and no older than the one that was tried first. Superset must not
resolve, for the reason that docs/how-to/depend-on-it.md gives.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from packaging.version import Version

PROJECT = Path(__file__).resolve().parents[2]
OURS = f"analytics-core[all] @ {PROJECT.as_uri()}"
NEIGHBOURS = {
    "mlflow": "3.17.2",
    "dagster": "1.13.29",
    "apache-airflow": "3.3.2",
    "streamlit": "1.67.0",
    "dbt-core": "1.12.6",
}
"""Each neighbour with the version that resolved when it was tried; later ones may not fall behind it."""
APART = {"apache-superset": ("6.1", "sqlalchemy>=2.0.40")}
"""What cannot stand beside this package, with its least version, and the bound of ours that it does not take."""
DISPLAYED = ("sqlalchemy", "pandas", "numpy", "pydantic", "pyarrow", "cryptography")


class UnresolvedError(Exception):
    """No versions go together."""


def resolve(*requirements: str, python: str) -> dict[str, str]:
    """Return the newest versions that go together, by name; UnresolvedError with the resolver's reason for none."""
    with tempfile.TemporaryDirectory() as folder:
        wanted = Path(folder) / "requirements.in"
        wanted.write_text("\n".join(requirements) + "\n", encoding="utf-8")
        options = ("--quiet", "--no-header", "--no-annotate", "--python-version", python)
        command = [sys.executable, "-m", "uv", "pip", "compile", *options, str(wanted)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    if done.returncode:
        raise UnresolvedError(done.stderr)
    return dict(re.findall(r"^([a-z0-9._-]+)==([^\s;]+)", done.stdout, re.MULTILINE))


def check_neighbour(name: str, *, least: str, python: str) -> str | None:
    """Print the version of a neighbour, alone and beside this package; return what is wrong with it."""
    alone = resolve(name, python=python)[name]
    try:
        together = resolve(OURS, f"{name}>={least}", python=python)
    except UnresolvedError as error:
        return f"{name} {least} or later does not resolve beside this package:\n{error}"
    found = together[name]
    others = ", ".join(f"{other} {together[other]}" for other in DISPLAYED)
    print(f"{name} {found} (alone {alone}), with {others}", flush=True)
    return f"{name}: {found} beside this package, {alone} alone" if Version(found) < Version(alone) else None


def check_apart(name: str, *, least: str, bound: str, python: str) -> str | None:
    """Print why a package cannot stand beside this one; return what is wrong when this bound does not part them."""
    alone = resolve(f"{name}>={least}", python=python)
    other = bound.partition(">=")[0]
    print(
        f"{name} {alone[name]} takes {other} {alone[other]}, this package {bound}: not in one environment", flush=True
    )
    try:
        resolve(f"{name}>={least}", bound, python=python)
    except UnresolvedError:
        return None
    return f"{name} takes {bound} now: the documentation says that it does not"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default="3.11")
    parser.add_argument("names", nargs="*", help="only these neighbours")
    options = parser.parse_args()
    wanted = {name: least for name, least in NEIGHBOURS.items() if not options.names or name in options.names}
    wrong = [check_neighbour(name, least=least, python=options.python) for name, least in wanted.items()]
    if not options.names:
        wrong += [
            check_apart(name, least=least, bound=bound, python=options.python) for name, (least, bound) in APART.items()
        ]
    problems = [text for text in wrong if text]
    print(*problems, sep="\n", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
