"""`python -m analytics_core`: what operators and pipelines do with a store, one verb a call.

Exit codes: 0 all is well, 1 something broke, differs or is left out, 2 the call or the store is wrong, 130 interrupted.
"""

from __future__ import annotations

import argparse
import importlib
import io
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Protocol

from analytics_core import __version__
from analytics_core._content.batches import id_in
from analytics_core._content.checks.report import one_line
from analytics_core._content.storage.migrate import HEAD, migrate_store
from analytics_core._core.adapters.configured_notifiers import notifiers_from_env
from analytics_core._core.facade import AnalyticsCore
from analytics_core._records.environment import PREFIX
from analytics_core._records.report import RunState
from analytics_core._records.settings import Settings
from analytics_core._tools.atomic_files import write_atomically
from analytics_core.errors import AnalyticsError, PayloadSchemaError, SettingsError
from analytics_core.ports import JobRunner

SOUND, FOUND, WRONG, INTERRUPTED = 0, 1, 2, 130
STORE: Final = f"{PREFIX}STORE"
ACTING_AS: Final = f"{PREFIX}ACTING_AS"
BROKER: Final = f"{PREFIX}BROKER"
STORED: Final = "stored"
"""Stands for what the store holds, where a bundle may stand."""

_PAGE: Final = 1_000
_FORMATS: Final = ("text", "markdown", "junit")


class _Report(Protocol):
    """What `check` and `diff` return."""

    def __bool__(self) -> bool: ...

    def markdown(self) -> str: ...

    def junit(self) -> str: ...


def main(arguments: Sequence[str], environ: Mapping[str, str]) -> int:
    """Do what the arguments say and return the exit code; what is wrong is one line on standard error."""
    call = _parser().parse_args(arguments)
    if sys.stdout is None:  # Python's own way to say that it was closed at the start
        return _ended("standard output is closed")
    _escape_unprintable(call)
    if call.verb is serve:
        call.stop = _stop_signal()
    try:
        code = _code(call, environ)
        sys.stdout.flush()
        return code
    except AnalyticsError as error:
        return _ended(*_lines(error))
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python complains when it ends
            return SOUND
        return _ended(f"{error.filename or 'a file'} cannot be written: {error.strerror}")
    except KeyboardInterrupt:
        return _ended("interrupted", code=INTERRUPTED)


def _code(call: argparse.Namespace, environ: Mapping[str, str]) -> int:
    if call.verb == migrate:  # a core would migrate, or need tables
        return migrate(_store_url(call, environ), dry_run=call.dry_run)
    with _opened(call, environ) as host:
        verb: Callable[[AnalyticsCore, argparse.Namespace], int] = call.verb
        return verb(host if call.is_operator else host.as_user(_actor(call, environ)), call)


def _stop_signal() -> threading.Event:
    """Return what is set when the process is told to end, from now on, also while it is still starting."""
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    return stop


def _ended(*lines: str, code: int = WRONG) -> int:
    """Say why a call ended, to whoever still reads it, and return its exit code."""
    with suppress(OSError):
        for line in lines:
            print(f"analytics_core: {one_line(line)}", file=sys.stderr, flush=True)
    return code


def _escape_unprintable(call: argparse.Namespace) -> None:
    """Let letters that the encoding of standard output lacks be escaped, as XML in a report of XML."""
    is_xml = getattr(call, "format", None) == "junit"
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="xmlcharrefreplace" if is_xml else "backslashreplace")


def _lines(error: AnalyticsError) -> Iterator[str]:
    """Yield what an error says; each problem of a payload is a line of its own."""
    if isinstance(error, PayloadSchemaError) and len(error.problems) > 1:
        yield from (f"{problem.path}: {problem.message}" for problem in error.problems)
    else:
        yield error.message


def _store_url(call: argparse.Namespace, environ: Mapping[str, str]) -> str:
    url = call.store or environ.get(STORE)
    if not url:
        raise SettingsError(f"name the metadata store: --store URL, or the variable {STORE}")
    file = url.removeprefix("sqlite:///").partition("?")[0]
    if url.startswith("sqlite:///") and not file.startswith("file:") and not Path(file).is_file():
        raise SettingsError(f"there is no metadata store {file!r}; one is made by AnalyticsCore, with its first people")
    return str(url)


def _opened(call: argparse.Namespace, environ: Mapping[str, str]) -> AnalyticsCore:
    if call.is_operator and call.core:
        return _made_by(call.core)
    url, settings = _store_url(call, environ), Settings.from_env(environ)
    if not call.is_operator:
        return AnalyticsCore(settings, metadata_url=url)
    jobs = _runner(call.broker or environ.get(BROKER))
    return AnalyticsCore(settings, metadata_url=url, notifiers=notifiers_from_env(environ), jobs=jobs)


def _made_by(path: str) -> AnalyticsCore:
    """Return the core that a function of the host's makes; its errors are its own."""
    module_name, _, name = path.partition(":")
    try:
        make: Callable[[], object] = getattr(importlib.import_module(module_name), name)
    except (AttributeError, TypeError, ValueError, ModuleNotFoundError) as error:  # `.x:y` is a TypeError
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing is not None and not f"{module_name}.".startswith(f"{missing}."):
            raise
        where = f"; there is no module {missing!r} in the working folder or on PYTHONPATH" if missing else ""
        raise SettingsError(f"--core {path!r} must name a function: myapp.core:make_core{where}") from None
    core = make()
    if not isinstance(core, AnalyticsCore):
        raise SettingsError(f"--core {path!r} returned no AnalyticsCore")
    return core


def _runner(broker: str | None) -> JobRunner | None:
    """Return what hands jobs to a broker; None: they run in this process."""
    if not broker:
        return None
    from analytics_core._core.adapters.celery_jobs import CeleryJobRunner

    return CeleryJobRunner(broker)


def _actor(call: argparse.Namespace, environ: Mapping[str, str]) -> int | str:
    name = call.acting_as or environ.get(ACTING_AS)
    if not name:
        raise SettingsError(f"say who acts: --as USER (a name or an id), or the variable {ACTING_AS}")
    number = id_in(name)
    return str(name) if number is None else number


# -------------------------------------------------------------------------------------------------------------- verbs
def load(core: AnalyticsCore, call: argparse.Namespace) -> int:
    """Store what a bundle holds."""
    how: Any = {"dry_run": call.dry_run, "on_problem": "leave_out" if call.leave_out else "refuse"}
    report = core.load_bundle(call.bundle, **_stand_ins(call), **how)
    print(report)
    for record in report.records:
        line = f"{record.kind} {record.name!r}: {'new' if record.is_new else 'changed'}"
        print(line, *map(one_line, record.notes), sep="\n    ")
    for problem in report.left_out:
        print(f"left out: {one_line(problem.path)}: {one_line(problem.message)}")
    return FOUND if report.left_out else SOUND


def export(core: AnalyticsCore, call: argparse.Namespace) -> int:
    """Write a bundle of what is named, or of everything that the actor may read."""
    names = {
        "dashboards": call.dashboard,
        "charts": call.chart,
        "datasets": call.dataset,
        "saved_queries": call.saved_query,
    }
    if not any(names.values()):
        names = {name: list(_ids(getattr(core, name))) for name in names}
    _write(call.file, core.export_bundle(**names))
    return SOUND


def check(core: AnalyticsCore, call: argparse.Namespace) -> int:
    """Tell what broke since it was stored."""
    return _print_report(core.check(answers=call.answers), call)


def diff(core: AnalyticsCore, call: argparse.Namespace) -> int:
    """Tell which charts differ between two states of content."""
    a, b = (None if source == STORED else source for source in (call.a, call.b))
    return _print_report(core.diff(a, b, answers=not call.no_answers, **_stand_ins(call)), call)


def tick(core: AnalyticsCore, call: argparse.Namespace) -> int:
    """Run the alerts and reports that are due, once; for cron."""
    done = core.scheduler.tick()
    if call.verbose:
        print(f"{done.due} due, {done.claimed} claimed, {done.taken_up} taken up, {done.missed} missed")
    return SOUND


def serve(core: AnalyticsCore, call: argparse.Namespace) -> int:
    """Run alerts and reports when they are due, until it is stopped (SIGTERM, Ctrl-C); for a container."""
    print(f"looks for due alerts and reports every {call.interval:g} s", flush=True)
    core.scheduler.serve(call.interval, stop=call.stop)
    return SOUND


def worker(core: AnalyticsCore, call: argparse.Namespace) -> int:
    """Run jobs that others submit to the broker, until it is stopped (SIGTERM, Ctrl-C); for as many machines as are."""
    from analytics_core._core.worker import run_worker

    queues = [name for name in call.queues.split(",") if name]
    return run_worker(core, queues=queues, concurrency=call.concurrency)


def runs(core: AnalyticsCore, call: argparse.Namespace) -> int:
    """Tell the latest runs of alerts and reports, and what became of their messages."""
    latest = []
    for schedule_id in call.schedule or list(_ids(core.reports)):
        schedule = core.reports.get(schedule_id)
        found = core.reports.executions(schedule_id, page_size=call.last).result
        latest += [run.state for run in found[:1]]
        for run in (core.reports.execution(schedule_id, one.id) for one in found):
            due, why = f"{run.scheduled_dttm:%Y-%m-%d %H:%M:%S}", run.error_message
            print(one_line(f"{schedule.type} {schedule_id} {schedule.name!r}, due {due} UTC: {_state(run.state, why)}"))
            for sent in run.deliveries:
                files = f", with {', '.join(sent.files)}" if sent.files else ""
                tried = "" if sent.attempts == 1 else f" at attempt {sent.attempts}"
                print(
                    one_line(
                        f"    {sent.recipient}: {_state(sent.state + tried, sent.reason)}; {sent.subject!r}{files}"
                    )
                )
    return FOUND if RunState.ERROR in latest else SOUND


def migrate(url: str, *, dry_run: bool) -> int:
    """Bring the tables of the store up to date; needs no secret key, and nobody to act."""
    revisions, script = migrate_store(url, dry_run=dry_run)
    lines = revisions or (f"nothing to do: the tables have all that this version knows (revision {HEAD})",)
    for line in lines:
        print(f"-- {line}" if dry_run else line)
    print(script, end="")
    return SOUND


def _state(state: str, reason: str | None) -> str:
    return f"{state} ({reason})" if reason else state


def _print_report(report: _Report, call: argparse.Namespace) -> int:
    text = report.markdown() if call.format == "markdown" else report.junit() if call.format == "junit" else str(report)
    if call.output:
        _write(call.output, f"{text.rstrip()}\n".encode())
    else:
        print(text.rstrip())
    return SOUND if report else FOUND


def _ids(namespace: Any) -> Iterator[int]:
    page = 0
    while found := [record.id for record in namespace.list(page=page, page_size=_PAGE)]:
        yield from found
        page += 1


def _stand_ins(call: argparse.Namespace) -> dict[str, Any]:
    return {"databases": _by_name("database", call.database), "datasets": _by_name("dataset", call.dataset)}


def _by_name(kind: str, given: Sequence[str]) -> dict[str, int]:
    """Return the ids of databases or datasets by the names of `NAME=ID`."""
    found = {}
    for text in given:
        name, _, number = text.rpartition("=")
        key = id_in(number)
        if not name or key is None:
            raise SettingsError(f"--{kind} {text!r} must be the bundle's name of a {kind} and an id: examples=1")
        found[name] = key
    return found


def _id(text: str) -> int:
    key = id_in(text)
    if key is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no id")
    return key


def _count(text: str) -> int:
    count = id_in(text)
    if count is None or not 1 <= count <= _PAGE:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1 to {_PAGE}")
    return count


def _write(path: str, content: bytes) -> None:
    """Write a file whole or not at all; `-` is standard output."""
    if path == "-":
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return
    write_atomically(path, content, mode=0o644)


_OF_OPERATORS: Final = (tick, serve, worker)
"""Verbs that need nobody to act."""


# ---------------------------------------------------------------------------------------------------------- arguments
def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m analytics_core",
        description="Work with the content of a metadata store. The secret key and all other settings come from "
        f"variables such as {PREFIX}SECRET_KEY.",
        epilog="Exit codes: 0 all is well, 1 something broke, differs or is left out, 2 the call or store is wrong.",
    )
    parser.add_argument("--version", action="version", version=f"analytics_core {__version__}")
    _take_store_and_actor(parser, default=None)
    verbs = parser.add_subparsers(title="verbs", required=True, metavar="VERB")

    loading = _verb(verbs, "load", load)
    loading.add_argument("bundle", help="a ZIP file or a folder")
    loading.add_argument("--dry-run", action="store_true", help="try it, and store nothing")
    loading.add_argument("--leave-out", action="store_true", help="store the rest without what is wrong, and list that")
    exporting = _verb(verbs, "export", export)
    exporting.add_argument("file", help="the ZIP file to write; - for standard output")
    for kind in ("dashboard", "chart", "dataset", "saved-query"):
        exporting.add_argument(f"--{kind}", type=_id, action="append", default=[], metavar="ID", help="repeatable")
    checking = _verb(verbs, "check", check)
    checking.add_argument("--answers", action="store_true", help="ask the charts, too")
    comparing = _verb(verbs, "diff", diff)
    comparing.add_argument("a", help=f"a bundle, or the word {STORED!r} for what the store holds")
    comparing.add_argument("b", nargs="?", default=STORED, help=f"likewise; the default is {STORED!r}")
    _take_operators(verbs)
    telling = _verb(verbs, "runs", runs)
    telling.add_argument(
        "schedule", type=_id, nargs="*", metavar="ID", help="of which schedules; all where none is named"
    )
    telling.add_argument("--last", type=_count, default=5, metavar="N", help="so many of each; the default is 5")
    migrating = _verb(verbs, "migrate", migrate)
    migrating.add_argument("--dry-run", action="store_true", help="print what would run, as SQL, and change nothing")
    comparing.add_argument("--no-answers", action="store_true", help="compare statements, and ask no database")
    for reporting in (checking, comparing):
        reporting.add_argument("--format", choices=_FORMATS, default="text")
        reporting.add_argument("--output", metavar="FILE", help="write the report to a file")
    for reading in (loading, comparing):
        for kind in ("database", "dataset"):
            text = f"the id of the {kind} that takes the place of the bundle's; repeatable"
            reading.add_argument(f"--{kind}", action="append", default=[], metavar="NAME=ID", help=text)
    return parser


def _take_operators(verbs: Any) -> None:
    """Take what runs alerts, reports and jobs."""
    ticking = _verb(verbs, "tick", tick)
    ticking.add_argument("--verbose", action="store_true", help="say what came of it")
    serving = _verb(verbs, "serve", serve)
    serving.add_argument("--interval", type=float, default=30.0, metavar="SECONDS", help="between two looks")
    working = _verb(verbs, "worker", worker)
    working.add_argument(
        "--queues", default="", metavar="NAMES", help="with commas between; those of all kinds of jobs"
    )
    working.add_argument("--concurrency", type=_count, metavar="N", help="so many jobs at a time; one a processor")
    for operating in (ticking, serving, working):
        operating.add_argument("--broker", metavar="URL", help=f"where jobs go, such as redis://host (or {BROKER})")
        operating.add_argument("--core", metavar="MODULE:FUNCTION", help="what makes the core, in place of variables")


def _verb(verbs: Any, name: str, function: Callable[..., int]) -> argparse.ArgumentParser:
    purpose = (function.__doc__ or "").strip()
    parser: argparse.ArgumentParser = verbs.add_parser(name, help=purpose, description=purpose)
    parser.set_defaults(verb=function, is_operator=function in _OF_OPERATORS)
    _take_store_and_actor(parser, default=argparse.SUPPRESS)  # what stands before the verb counts unless repeated
    return parser


def _take_store_and_actor(parser: argparse.ArgumentParser, *, default: str | None) -> None:
    store, actor = (
        f"the metadata store, such as sqlite:///meta.db (or {STORE})",
        f"who acts, by name or id (or {ACTING_AS})",
    )
    parser.add_argument("--store", metavar="URL", default=default, help=store)
    parser.add_argument("--as", dest="acting_as", metavar="USER", default=default, help=actor)
