"""Build the wheel and the sdist and try both in an environment of their own: `python tests/releases/try_package.py`.

The environment that runs this has uv. What is tried is what people get who install the release: the files, the quick
start, the command line, a store that follows the migrations.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
SOURCE = PROJECT / "src"
NEEDED = ("py.typed", "_content/storage/newest_tables.sql", "_content/storage/migrations/versions/r0101_sql_editor.py")
FOLLOW_THE_MIGRATIONS = """
import sqlite3
from analytics_core import AnalyticsCore, Settings, __file__

with sqlite3.connect("host.db") as host:  # a file with a table of its own is no new store
    host.execute("CREATE TABLE notes (word TEXT)")
with AnalyticsCore(Settings(secret_key="a key of this trial, long enough"), metadata_url="sqlite:///host.db") as core:
    core.create_first_administrator("ada")
    print(core.health().revision, __file__)
"""


def run(*command: str | Path, cwd: Path) -> str:
    """Run a command without this process's paths of Python, and return what it printed."""
    environ = {name: text for name, text in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    done = subprocess.run([*map(str, command)], cwd=cwd, env=environ, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def uv(*arguments: str | Path, cwd: Path) -> None:
    run(sys.executable, "-m", "uv", *arguments, cwd=cwd)


def require(holds: bool, message: str) -> None:
    if not holds:
        sys.exit(message)


# -------------------------------------------------------------------------------------------------------------- files
def wheel_files(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def sdist_files(sdist: Path) -> dict[str, bytes]:
    """Return what the sdist holds, by the paths below its one folder."""
    with tarfile.open(sdist) as archive:
        files = [member for member in archive.getmembers() if member.isfile()]
        return {member.name.partition("/")[2]: archive.extractfile(member).read() for member in files}


def source_files() -> set[str]:
    paths = (path for path in SOURCE.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(SOURCE).as_posix() for path in paths if ".egg-info" not in str(path)}


def check_files(wheel: Mapping[str, bytes], sdist: Mapping[str, bytes]) -> None:
    """Both hold all of the source; the wheel nothing else, and neither a path of this machine."""
    packaged = {name for name in wheel if ".dist-info/" not in name}
    require(packaged == source_files(), f"the wheel differs from the source: {sorted(packaged ^ source_files())}")
    missing = {f"src/{name}" for name in packaged} - set(sdist)
    require(not missing, f"the sdist lacks {sorted(missing)}")
    for name in NEEDED:
        require(f"analytics_core/{name}" in packaged, f"the wheel lacks {name}")
    require(any(name.endswith("/LICENSE") for name in wheel), "the wheel lacks the license")
    paths = {str(PROJECT).encode(), str(Path.home() / "").encode(), sys.prefix.encode()}
    for name, content in (*wheel.items(), *sdist.items()):
        found = [path.decode() for path in paths if len(path) > 6 and path in content]
        require(not found, f"{name} names a path of this machine: {found}")


def version_in(wheel: Mapping[str, bytes]) -> str:
    metadata = next(content for name, content in wheel.items() if name.endswith(".dist-info/METADATA"))
    return next(line[9:] for line in metadata.decode().splitlines() if line.startswith("Version: "))


# -------------------------------------------------------------------------------------------------------------- trial
def try_installed(package: Path, python: Path, version: str) -> None:
    """Install a package in the place of the one before and do what a newcomer does."""
    folder = python.parents[2] / package.suffix[1:]
    folder.mkdir()
    again = ("--reinstall-package", "analytics-core")
    uv("pip", "install", "--python", python, *again, f"{package}[charts]", cwd=folder)
    printed = run(python, "-I", "-m", "analytics_core", "--version", cwd=folder)
    require(printed == f"analytics_core {version}\n", f"the version is {version}, and what was printed is {printed!r}")
    (folder / "quickstart.py").write_bytes((PROJECT / "examples" / "quickstart.py").read_bytes())
    printed = run(python, "-I", "-W", "error", "quickstart.py", cwd=folder)
    require("garden" in printed and (folder / "revenue.png").stat().st_size > 10_000, f"the quick start: {printed}")
    revision, _, path = run(python, "-I", "-c", FOLLOW_THE_MIGRATIONS, cwd=folder).strip().partition(" ")
    require(revision.isdecimal() and path.startswith(str(python.parents[2])), f"the store: {revision} by {path}")


def main() -> None:
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        uv("build", "--out-dir", folder / "dist", PROJECT, cwd=folder)
        (wheel,), (sdist,) = (folder / "dist").glob("*.whl"), (folder / "dist").glob("*.tar.gz")
        files = wheel_files(wheel)
        check_files(files, sdist_files(sdist))
        version = version_in(files)
        uv("venv", "--python", sys.executable, folder / "env", cwd=folder)
        python = folder / "env" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
        for package in (wheel, sdist):
            try_installed(package, python, version)
            print(
                f"{package.name}: {package.stat().st_size:,} bytes, works ({time.monotonic() - started:.0f} s so far)"
            )


if __name__ == "__main__":
    main()
