"""Runs of pytest in forked processes: third-party packages are imported once, the library in each child anew."""

from __future__ import annotations

import gc
import importlib
import os
import resource
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import hypothesis
import pytest

HEAVY: Final = (
    *("alembic.command", "alembic.autogenerate", "coverage", "croniter", "cron_descriptor", "fastapi"),
    *("holidays", "humanize", "jinja2.sandbox", "jsonschema", "jwt", "markdown_it", "nh3"),
    *("numpy", "orjson", "pandas", "pandas.testing", "paramiko", "psycopg", "pyarrow.parquet", "pydantic"),
    *("pymysql", "scipy.signal", "scipy.optimize", "scipy.stats", "sqlalchemy.dialects.postgresql", "sqlglot"),
    *("sqlalchemy.dialects.mysql", "sqlalchemy.dialects.sqlite", "sqlalchemy.orm", "sqlglot.optimizer.qualify"),
    *("sqlglot.optimizer.scope", "statsmodels.tsa.api", "xlsxwriter", "yaml", "cryptography.fernet", "aiosmtpd.smtp"),
    *("cryptography.hazmat.primitives.ciphers.aead", "hypothesis.strategies", "hypothesis.extra.pandas", "pypdf"),
    *("python_calamine", "xml.etree.ElementTree", "email.mime.multipart", "IPython", "requests"),
)
"""What the library and its tests import, but for packages that start threads; a missing one costs time only."""
OPTIONS: Final = ("-q", "--no-header", "--tb=line", "-W", "ignore::pytest.PytestAssertRewriteWarning")
MEMORY_BYTES: Final = 6 * 2**30
TIMED_OUT: Final = -1


def cpu_seconds() -> float:
    """Return the processor time of the children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def import_heavy(library: str, *, names: Iterable[str] = HEAVY) -> None:
    """Import what children share.

    Raises:
        RuntimeError: The library itself was imported, so no child could import a mutant of it.
    """
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    for name in names:
        with suppress(ImportError):
            importlib.import_module(name)
    if library in sys.modules:
        raise RuntimeError(f"{library} is imported before its mutants are made")
    gc.collect()
    gc.freeze()


class SameEachTime:
    """A plug-in: hypothesis tries the same examples each time, and one folder has the servers of all children."""

    def __init__(self, server_folder: Path) -> None:
        self._server_folder = server_folder

    def pytest_cmdline_main(self, config: pytest.Config) -> None:
        """Name the folder as pytest-xdist names it to its workers: who got it does not stop its servers."""
        config.workerinput = {"server_folder": str(self._server_folder)}  # type: ignore[attr-defined]

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self) -> None:
        """Load a profile of the same number of examples, none of them at random."""
        hypothesis.settings.register_profile("mutants", hypothesis.settings(), derandomize=True, database=None)
        hypothesis.settings.load_profile("mutants")


class Selection:
    """A plug-in: the named tests, in their order; it writes the names of those that fail into a file."""

    def __init__(self, names: Iterable[str], failures: Path) -> None:
        self._order = {name: number for number, name in enumerate(names)}
        self._failures = failures

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Drop the other tests."""
        items[:] = sorted(
            (item for item in items if item.nodeid in self._order), key=lambda item: self._order[item.nodeid]
        )

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write down a failure."""
        if report.failed:
            with self._failures.open("a", encoding="utf-8") as file:
                file.write(report.nodeid + "\n")


class Library:
    """A copy of the library in which one file at a time has a fault; children import it from there."""

    def __init__(self, root: Path, name: str, folder: Path, *, server_folder: Path) -> None:
        self.root, self.name, self.folder = root, name, folder
        self._always = SameEachTime(server_folder)
        self._source = root / "src" / name
        self._changes = 0
        shutil.copytree(self._source, folder / "library" / name)

    @contextmanager
    def changed(self, file: str, text: bytes) -> Iterator[None]:
        """Give a file another text for one `with` block."""
        copied = self.folder / "library" / self.name / file
        copied.write_bytes(text)
        self._changes += 1  # compiled files are found by size and second: no two texts share both
        os.utime(copied, (1_000_000_000 + self._changes,) * 2)
        try:
            yield
        finally:
            shutil.copy2(self._source / file, copied)

    def run_tests(self, arguments: Sequence[str], plugins: Sequence[object], *, cpu_s: float, wall_s: float) -> int:
        """Run pytest in a child and return its exit code; `TIMED_OUT` when a limit ended it."""
        return self.run(lambda: self.pytest(arguments, plugins), cpu_s=cpu_s, wall_s=wall_s)

    def pytest(self, arguments: Sequence[str], plugins: Sequence[object]) -> int:
        """Run pytest in this process, which has to be a child."""
        return int(pytest.main([*OPTIONS, f"--basetemp={self.folder / 'tests'}", *arguments], [self._always, *plugins]))

    def run(self, work: Callable[[], int], *, cpu_s: float, wall_s: float) -> int:
        """Return what some work in a child, where the library is the copy, returned; `TIMED_OUT` when it was ended."""
        child = os.fork()
        if child == 0:
            self._become_child(work, cpu_s)
        return _exit_code(child, time.monotonic() + wall_s)

    def _become_child(self, work: Callable[[], int], cpu_s: float) -> None:
        code = 99
        try:
            os.setsid()
            log = os.open(self.folder / "log.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(log, 1)
            os.dup2(log, 2)
            resource.setrlimit(resource.RLIMIT_CPU, (int(cpu_s) + 1, int(cpu_s) + 2))
            resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
            os.chdir(self.root)
            sys.path.insert(0, str(self.folder / "library"))
            os.environ["PYTHONPATH"] = str(self.folder / "library")
            code = work()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)


def _exit_code(child: int, end: float) -> int:
    """Wait for a child, end its processes, and return its exit code."""
    pause = 0.005
    status = None
    while status is None and time.monotonic() < end:
        ended, found = os.waitpid(child, os.WNOHANG)
        if ended:
            status = found
        else:
            time.sleep(pause)
            pause = min(0.05, pause * 1.2)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    if status is None:
        os.waitpid(child, 0)
        return TIMED_OUT
    return TIMED_OUT if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
