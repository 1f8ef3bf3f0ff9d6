"""`python -m analytics_core`: what it writes, where, and how it ends."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import chdir
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest
from tests.support.bundles import bundle, packed
from tests.support.cases import for_each
from tests.support.older_stores import LATER, OLDER, set_revision, stay_at
from tests.support.reports import KEY as REPORT_KEY
from tests.support.reports import chat, mail, report_world
from tests.support.small_core import KEY, small_core

from analytics_core import __version__
from analytics_core._content.storage.migrate import HEAD, VERSION_TABLE
from analytics_core._content.storage.store_engine import make_store_engine
from analytics_core._core.command_line import main
from analytics_core.ports import DeliveryState
from analytics_core.testing import InlineJobRunner

SHOP = ("--database", "shop=1")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with small_core(tmp_path, metadata_url=f"sqlite:///{tmp_path}/meta.db"):
        (tmp_path / "bundle.zip").write_bytes(packed(bundle()))
    return tmp_path


def environment(folder: Path, **changes: str | None) -> dict[str, str]:
    given = {
        **os.environ,
        "ANALYTICS_CORE_SECRET_KEY": KEY,
        "ANALYTICS_CORE_STORE": f"sqlite:///{folder}/meta.db",
        "ANALYTICS_CORE_ACTING_AS": "admin",
        "ANALYTICS_CORE_DATA_ROOTS": str(folder),
        **changes,
    }
    return {name: text for name, text in given.items() if text is not None}


@dataclass(frozen=True, kw_only=True)
class Done:
    returncode: int
    stdout: str
    stderr: str


Call = Callable[..., Done]


@pytest.fixture
def call(folder: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Call]:
    """Return what calls the command line in this process, in the folder."""

    def called(*arguments: str, **changes: str | None) -> Done:
        capsys.readouterr()
        code = main(arguments, environment(folder, **changes))
        return Done(returncode=code, stdout=(written := capsys.readouterr()).out, stderr=written.err)

    with chdir(folder):
        yield called


@pytest.mark.parametrize("verb", [("check",), ("export", "x.zip"), ("load", "bundle.zip"), ("diff", "bundle.zip")])
def test_a_store_that_is_not_there_is_not_made(call: Call, folder: Path, verb: tuple[str, ...]) -> None:
    done = call(*verb, ANALYTICS_CORE_STORE=f"sqlite:///{folder}/mata.db")
    assert (done.returncode, "there is no metadata store" in done.stderr) == (2, True)
    assert not (folder / "mata.db").exists()


def test_the_store_is_migrated_when_somebody_says_so(call: Call, folder: Path, tmp_path: Path) -> None:
    url = f"sqlite:///{folder}/older.db"
    engine = make_store_engine(url)
    stay_at(engine, OLDER, tmp_path)
    engine.dispose()
    alone = {"ANALYTICS_CORE_STORE": url, "ANALYTICS_CORE_SECRET_KEY": None, "ANALYTICS_CORE_ACTING_AS": None}
    before = (folder / "older.db").read_bytes()
    tried = call("migrate", "--dry-run", **alone)
    assert (tried.returncode, tried.stderr) == (0, "")
    assert tried.stdout.startswith(f"-- {LATER[0]}: ")
    assert f"UPDATE {VERSION_TABLE} SET version_num='{HEAD}'" in tried.stdout
    assert (folder / "older.db").read_bytes() == before
    ticked = call("tick", ANALYTICS_CORE_STORE=url, ANALYTICS_CORE_MIGRATE_ON_OPEN="false")
    assert (ticked.returncode, call("migrate", "--dry-run", **alone).stdout) == (0, tried.stdout)
    done, again, nothing = (call("migrate", *more, **alone) for more in ([], [], ["--dry-run"]))
    assert [(one.returncode, one.stderr) for one in (done, again, nothing)] == [(0, "")] * 3
    assert [line[:4] for line in done.stdout.splitlines()] == LATER
    assert again.stdout == f"nothing to do: the tables have all that this version knows (revision {HEAD})\n"
    assert nothing.stdout == f"-- {again.stdout}"


def test_a_store_that_cannot_be_migrated_ends_with_two(call: Call, folder: Path) -> None:
    for how in ([], ["--dry-run"]):
        missing = call("migrate", *how, ANALYTICS_CORE_STORE=f"sqlite:///{folder}/mata.db")
        assert (missing.returncode, "there is no metadata store" in missing.stderr) == (2, True)
        engine = make_store_engine(f"sqlite:///{folder}/meta.db")
        set_revision(engine, "9999")
        engine.dispose()
        newer = call("migrate", *how)
        assert (newer.returncode, "a newer version wrote it" in newer.stderr, newer.stdout) == (2, True, "")


@pytest.mark.slow
def test_content_is_loaded_exported_checked_and_compared(call: Call, folder: Path) -> None:
    tried = call("load", "bundle.zip", "--dry-run", *SHOP)
    assert (tried.returncode, tried.stdout.splitlines()[0]) == (
        0,
        "2 datasets, 4 charts, 1 dashboard (tried, nothing stored)",
    )
    assert call("check").stdout == "0 of 0 records broken\n"
    loaded = call("load", "bundle.zip", *SHOP)
    assert (loaded.returncode, loaded.stderr) == (0, "")
    assert "chart 'in all': new" in loaded.stdout
    assert call("export", "out.zip").returncode == 0
    assert len(zipfile.ZipFile(folder / "out.zip").namelist()) == 9
    assert call("check", "--answers").returncode == 0
    same = call("diff", "out.zip")
    assert (same.returncode, same.stdout) == (0, "0 of 4 charts differ\n")


@pytest.mark.slow
def test_what_is_left_out_is_told_and_a_dataset_takes_the_place_of_one(call: Call, folder: Path) -> None:
    changed = bundle()
    changed["export/datasets/shop/people.yaml"]["metrics"].append({"metric_name": "lost", "expression": "SUM(x)"})
    (folder / "changed.zip").write_bytes(packed(changed))
    assert call("load", "changed.zip", *SHOP).returncode == 2
    for done in (call("load", "changed.zip", "--leave-out", *SHOP, *more) for more in (["--dry-run"], [])):
        assert done.returncode == 1
        assert done.stdout.startswith("2 datasets, 4 charts, 1 dashboard; 1 part left out")
        assert done.stdout.splitlines()[-1].startswith("left out: export/datasets/shop/people.yaml: metrics.'lost'")
    placed = call("load", "changed.zip", *SHOP, "--dataset", "people=2")
    assert (placed.returncode, placed.stdout.splitlines()[0]) == (0, "1 dataset, 4 charts, 1 dashboard")


def test_what_broke_and_what_differs_end_with_one_and_are_written_as_asked(call: Call, folder: Path) -> None:
    call("load", "bundle.zip", *SHOP)
    changed = bundle()
    changed["export/charts/names.yaml"]["params"]["row_limit"] = 1
    (folder / "changed.zip").write_bytes(packed(changed))
    differs = call("diff", "stored", "changed.zip", "--format", "markdown", *SHOP)
    assert (differs.returncode, differs.stdout.splitlines()[0]) == (1, "**1 of 4 charts differ**")
    (folder / "shop.db").write_bytes(b"")
    broken = call("check", "--format", "junit", "--output", "report.xml")
    assert (broken.returncode, broken.stdout, broken.stderr) == (1, "", "")
    assert (folder / "report.xml").read_text().startswith("<?xml")


@pytest.mark.slow
@for_each(
    ("arguments", "changes", "message"),
    [
        (("check",), {"ANALYTICS_CORE_STORE": None}, "--store URL"),
        (("check",), {"ANALYTICS_CORE_ACTING_AS": None}, "--as USER"),
        (("check",), {"ANALYTICS_CORE_SECRET_KEY": None}, "secret_key is required"),
        (("--as", "nobody", "check"), {}, "nobody"),
        (("load", "no.zip"), {}, "the path 'no.zip' leads to no file"),
        (("diff", "stored", "no.zip"), {}, "'no.zip'"),
        (("check", "--as", "nobody"), {}, "nobody"),
        (("--as", "admin", "check", "--as", "nobody"), {}, "nobody"),
        (("check", "--store", "sqlite:///no.db"), {}, "'no.db'"),
        (("load", "bundle.zip", "--database", "shp=1"), {}, "databases={'shop': 1}; 'shp' is given"),
        (("load", "bundle.zip"), {}, "has no id for the database 'shop'"),
        (("load", "bundle.zip", "--database", "shop"), {}, "examples=1"),
        (("export", "nowhere/out.zip"), {}, "names nothing"),
        (("export", "out.zip", "--chart", "77"), {}, "77"),
        (("load", "bundle.zip", "--database", "shop=١"), {}, "examples=1"),
        (
            ("load", "bundle.zip", "--dataset", "people"),
            {},
            "--dataset 'people' must be the bundle's name of a dataset",
        ),
        (("load", "bundle.zip", "--database", f"shop={'9' * 5_000}"), {}, "examples=1"),
        (("--as", "١", "check"), {}, "١"),
        (("--as", "9" * 5_000, "check"), {}, "999"),
        (("check",), {"ANALYTICS_CORE_MAX_ROW_LIMIT": "many"}, "ANALYTICS_CORE_MAX_ROW_LIMIT must be a whole number"),
    ],
)
def test_what_is_wrong_is_told_without_a_traceback(
    call: Call, arguments: tuple[str, ...], changes: dict[str, str | None], message: str
) -> None:
    done = call(*arguments, **changes)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert KEY not in done.stderr


def test_a_secret_key_of_another_store_is_no_broken_content(call: Call, folder: Path) -> None:
    assert call("load", "bundle.zip", *SHOP).returncode == 0
    done = call("check", ANALYTICS_CORE_SECRET_KEY=f"{KEY}-of-another")
    assert (done.returncode, done.stdout) == (2, "")
    assert "secret" in done.stderr


def test_reports_that_are_due_are_run_without_anybody_to_act(call: Call, folder: Path) -> None:
    no_user = {"ANALYTICS_CORE_ACTING_AS": None}
    assert call("tick", "--verbose", **no_user).stdout == "0 due, 0 claimed, 0 taken up, 0 missed\n"
    done = call("tick", ANALYTICS_CORE_SMTP_HOST="mail.example.com", **no_user)
    assert (done.returncode, done.stderr) == (
        2,
        "analytics_core: a mail server needs ANALYTICS_CORE_SMTP_HOST and ANALYTICS_CORE_SMTP_SENDER\n",
    )
    smtp = {"ANALYTICS_CORE_SMTP_HOST": "mail.example.com", "ANALYTICS_CORE_SMTP_SENDER": "a@example.com"}
    assert call("tick", ANALYTICS_CORE_SMTP_SECURITY="tls", **smtp, **no_user).returncode == 0
    wrong = call("tick", ANALYTICS_CORE_SMTP_PORT="many", **smtp, **no_user)
    assert (wrong.returncode, "SMTP_PORT must be a whole number" in wrong.stderr) == (2, True)


@pytest.mark.slow
def test_the_latest_runs_are_told_with_what_became_of_their_messages(call: Call, folder: Path) -> None:
    (folder / "reports").mkdir()
    store, hook = f"sqlite:///{folder}/reports/meta.db", "https://hooks.example.com/services/secret"
    with report_world(folder / "reports", url=store, jobs=InlineJobRunner()) as world:
        made = world.report(report_format="CSV", recipients=[mail("bob@example.com"), chat(hook)])
        idle = world.report(name="idle")
        world.pass_time(timedelta(hours=3))
        world.outbox.fail_next(state=DeliveryState.REFUSED)
        world.admin.reports.run_now(made.id)
    env = {"ANALYTICS_CORE_STORE": store, "ANALYTICS_CORE_SECRET_KEY": REPORT_KEY, "ANALYTICS_CORE_ACTING_AS": "ada"}
    failed = "the outbox was told to fail"
    done = call("runs", str(made.id), "--last", "3", **env)
    assert done.stdout.splitlines() == [
        f"Report 1 'orders', due 2026-05-01 15:00:00 UTC: Error (bob@example.com was not reached: {failed})",
        f"    bob@example.com: refused ({failed}); '[Report] orders: By region', with By_region.csv",
        "    https://hooks.example.com/XXXXXXXXXX: delivered; '[Report] orders: By region', with By_region.csv",
        "Report 1 'orders', due 2026-05-01 15:00:00 UTC: Success",
        "    bob@example.com: delivered; '[Report] orders: By region', with By_region.csv",
        "    https://hooks.example.com/XXXXXXXXXX: delivered; '[Report] orders: By region', with By_region.csv",
        "Report 1 'orders', due 2026-05-01 14:00:00 UTC: Missed (missed: nobody looked for due runs at its time)",
    ]
    assert (done.returncode, call("runs", str(idle.id), **env).returncode) == (1, 0)
    every = call("runs", **env)
    assert (every.returncode, "'idle'" in every.stdout, "secret" in every.stdout) == (1, True, False)


@pytest.mark.slow
def test_a_look_without_a_pause_is_refused(folder: Path) -> None:
    command = [sys.executable, "-m", "analytics_core", "serve", "--interval", "0"]  # it would take our signals
    done = subprocess.run(command, env=environment(folder), capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, "interval_s" in done.stderr) == (2, True)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_serving_process_ends_when_it_is_told_to(folder: Path, number: signal.Signals) -> None:
    command = [sys.executable, "-m", "analytics_core", "serve", "--interval", "0.1"]
    with subprocess.Popen(
        command, env=environment(folder), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "looks for due alerts and reports every 0.1 s\n"
        process.send_signal(number)
        _, stderr = process.communicate(timeout=60)
    assert (process.returncode, stderr) == (0, "")


@pytest.mark.slow
def test_the_store_and_the_actor_may_be_said_before_and_after_the_verb(call: Call, folder: Path) -> None:
    said = ("--store", f"sqlite:///{folder}/meta.db", "--as", "admin")
    unset = {"ANALYTICS_CORE_STORE": None, "ANALYTICS_CORE_ACTING_AS": None}
    assert (
        call(*said, "check", **unset) == call("check", *said, **unset) == call(*said[:2], "check", *said[2:], **unset)
    )
    assert call("check", *said, **unset).returncode == 0


def test_the_version_is_printed_beside_other_options(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--as", "ada", "--version"], {})
    assert (ended.value.code, capsys.readouterr().out) == (0, f"analytics_core {__version__}\n")


@for_each("text", ["1_0", "١", "+1", " 1", "9" * 5_000])
def test_what_only_python_reads_as_a_number_is_no_id(call: Call, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        call("export", "out.zip", "--chart", text)
    assert (ended.value.code, "is no id" in capsys.readouterr().err) == (2, True)


@for_each("text", ["0", "1001", "-1", "some"])
def test_how_many_runs_are_told_is_checked_where_it_is_said(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["runs", "--last", text], {})
    assert (ended.value.code, "--last" in capsys.readouterr().err) == (2, True)


def test_a_file_that_cannot_be_written_leaves_none(call: Call, folder: Path) -> None:
    call("load", "bundle.zip", *SHOP)
    done = call("export", "nowhere/out.zip")
    assert (done.returncode, "cannot be written" in done.stderr) == (2, True)
    assert [path.name for path in folder.glob(".out*")] == []


@pytest.mark.slow
def test_a_reader_of_the_output_may_leave(call: Call, folder: Path) -> None:
    call("load", "bundle.zip", *SHOP)
    command = f"{sys.executable} -m analytics_core export - | head -c 10 >/dev/null"
    done = subprocess.run(
        ["sh", "-c", command], env=environment(folder), capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_an_interrupted_call_says_so(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(30)
        store = f"postgresql+psycopg://me@127.0.0.1:{silent.getsockname()[1]}/meta?sslmode=disable"
        handler = signal.signal(signal.SIGINT, signal.SIG_DFL)  # tests in the background inherit that it is ignored
        waiting = subprocess.Popen(
            [sys.executable, "-m", "analytics_core", "--store", store, "check"],
            env=environment(folder), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        signal.signal(signal.SIGINT, handler)
        with silent.accept()[0] as connection:
            connection.recv(1)  # the call waits for an answer
            waiting.send_signal(signal.SIGINT)
            _, stderr = waiting.communicate(timeout=30)
    assert (waiting.returncode, stderr) == (130, "analytics_core: interrupted\n")


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("load", "named.zip", *SHOP), 0, r"Z\xfcrich \u2713"),
        (("check",), 1, r"Z\xfcrich \u2713"),
        (("check", "--format", "markdown"), 1, r"Z\xfcrich \u2713"),
        (("check", "--format", "junit"), 1, "Z&#252;rich &#10003;"),
    ],
)
def test_an_output_without_unicode_gets_other_letters_escaped(
    call: Call, folder: Path, arguments: tuple[str, ...], code: int, message: str
) -> None:
    named = bundle()
    named["export/charts/names.yaml"]["slice_name"] = "Z\u00fcrich \u2713"
    (folder / "named.zip").write_bytes(packed(named))
    if arguments[0] == "check":
        call("load", "named.zip", *SHOP)
        (folder / "shop.db").write_bytes(b"")
    done = subprocess.run(
        [sys.executable, "-m", "analytics_core", *arguments],
        env=environment(folder, PYTHONIOENCODING="ascii"), cwd=folder,
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (code, "")
    assert message in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ("load", "bundle.zip", *SHOP),
        *(pytest.param(said, marks=pytest.mark.long) for said in (("export", "-"), ("check",))),
    ],
)
def test_a_closed_output_is_told_before_anything_is_done(call: Call, folder: Path, arguments: tuple[str, ...]) -> None:
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", sys.executable, "-m", "analytics_core", *arguments],
        env=environment(folder), cwd=folder, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (2, "analytics_core: standard output is closed\n")
    assert call("check").stdout == "0 of 0 records broken\n"


@pytest.mark.slow
def test_an_error_that_nobody_reads_keeps_its_exit_code(folder: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "analytics_core", "load", "no.zip"],
            env=environment(folder), cwd=folder, stdout=subprocess.DEVNULL, stderr=write, timeout=60, check=False,
        )  # fmt: skip
    finally:
        os.close(write)
    assert done.returncode == 2
