"""Files written whole or not at all, beside what is no plain file."""

from __future__ import annotations

import os
import resource
import signal
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from analytics_core._tools.atomic_files import write_atomically, write_requested
from analytics_core.errors import FileWriteError


@pytest.fixture
def full_disk() -> Iterator[None]:
    """Let no file of this process grow beyond 4 KiB, as a full disk does."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    signal.signal(signal.SIGXFSZ, handler)


def test_a_file_is_replaced_and_has_the_mode_asked_for(tmp_path: Path) -> None:
    target = tmp_path / "out.zip"
    target.write_bytes(b"before")
    write_atomically(target, b"after", mode=0o640)
    assert (target.read_bytes(), stat.S_IMODE(target.stat().st_mode)) == (b"after", 0o640)


@pytest.mark.usefixtures("full_disk")
def test_a_full_disk_leaves_the_file_of_before_and_nothing_beside_it(tmp_path: Path) -> None:
    target = tmp_path / "out.zip"
    target.write_bytes(b"before")
    with pytest.raises(OSError, match="too large") as failed:
        write_atomically(target, b"x" * 100_000)
    assert failed.value.filename == str(target)
    assert (os.listdir(tmp_path), target.read_bytes()) == (["out.zip"], b"before")


def test_a_pipe_is_written_and_stays_a_pipe(tmp_path: Path) -> None:
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()), daemon=True)
    reader.start()
    write_atomically(pipe, b"content")
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    reader.join(10)
    assert read == [b"content"]


def test_a_link_stays_and_its_target_is_written(tmp_path: Path) -> None:
    target, link = tmp_path / "target.zip", tmp_path / "link.zip"
    target.write_bytes(b"before")
    link.symlink_to(target)
    write_atomically(link, b"after")
    assert (link.is_symlink(), target.read_bytes()) == (True, b"after")


def test_a_path_that_ends_like_a_folder_makes_no_file(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        write_atomically(f"{tmp_path}/bundle/", b"x")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["", "folder"])
def test_a_folder_is_refused_by_its_name(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError) as failed:
        write_atomically(tmp_path / name, b"content")
    assert failed.value.filename == str(tmp_path / name)
    assert os.listdir(tmp_path) == ["folder"]


NOT_WRITTEN: list[tuple[str, str]] = [
    ("missing/a.csv", r"there is no folder '[^']*missing'; make it first"),
    ("file/a.csv", r"there is no folder '[^']*file'; make it first"),
    ("folder", "it is a folder; name a file in it"),
    ("a\0.csv", "no file can be called so"),
    ("x" * 300, "name too long; name another place"),
]


@pytest.mark.parametrize(("name", "message"), NOT_WRITTEN)
def test_a_file_that_a_caller_named_and_cannot_be_written_is_told_with_its_path(
    tmp_path: Path, name: str, message: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(FileWriteError, match=f"(?i){message}") as failed:
        write_requested(tmp_path / name, b"rows")
    assert str(tmp_path) in str(failed.value)
    assert failed.value.status == 400


@pytest.mark.parametrize("path", [5, None, b"a.csv"])
def test_a_file_needs_a_path(path: object) -> None:
    with pytest.raises(FileWriteError, match=r"a file has a path such as 'sales\.png', not"):
        write_requested(path, b"rows")  # type: ignore[arg-type]  # what a caller may write
