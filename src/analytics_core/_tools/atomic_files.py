"""Files that a call writes: whole or not at all (`write_atomically`), or as any program would (`write_requested`)."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from analytics_core.errors import FileWriteError
from analytics_core.errors.base import short_repr


def write_atomically(path: str | os.PathLike[str], content: bytes, *, mode: int = 0o600) -> None:
    """Write a file as a whole: whoever reads the path meanwhile finds the one before, or this one.

    A link stays, and what it leads to is written. Pipes and devices are written into, never replaced.

    Raises:
        OSError: it cannot be written; nothing is left, and the error names the path.
        TypeError: it is no path; a number would be an open file of the process.
    """
    path = os.fspath(path)
    try:
        if _is_plain(path):
            _replace(Path(os.path.realpath(path)), content, mode)
        else:
            with open(path, "wb") as stream:
                stream.write(content)
    except OSError as error:
        error.filename, error.filename2 = path, None
        raise


def write_requested(path: str | os.PathLike[str], content: bytes | Iterable[bytes]) -> Path:
    """Write a file that a caller named, with the rights of all files that they make, and return its path.

    `content` may come in parts, which are written as they come.

    Raises:
        FileWriteError: it cannot be written; the message says why and what would work.
    """
    file = requested_path(path)
    try:
        with file.open("wb") as opened:
            opened.writelines([content] if isinstance(content, bytes) else content)
    except (OSError, ValueError) as error:
        raise FileWriteError(f"{short_repr(str(file))} cannot be written: {_reason(file, error)}") from error
    return file


def requested_path(path: object) -> Path:
    """Return the path that a caller gave; FileWriteError when it is none."""
    if not isinstance(path, str | os.PathLike):
        raise FileWriteError(f"a file has a path such as 'sales.png', not {short_repr(path)}")
    return Path(path)


def _reason(file: Path, error: OSError | ValueError) -> str:
    """Say why a file cannot be written, and what would work."""
    if isinstance(error, ValueError):
        return "no file can be called so; leave out characters such as \\0"
    if isinstance(error, IsADirectoryError):
        return "it is a folder; name a file in it"
    if isinstance(error, FileNotFoundError | NotADirectoryError) and not file.parent.is_dir():
        return f"there is no folder {short_repr(str(file.parent))}; make it first, or name one that there is"
    if isinstance(error, PermissionError):
        return "this process may not write there; name another folder"
    return f"{error.strerror}; name another place"


def _is_plain(path: str | os.PathLike[str]) -> bool:
    """Tell whether a path leads to a plain file or to none yet; a folder is refused."""
    try:
        kind = os.stat(path).st_mode
    except FileNotFoundError:
        if not os.path.basename(path):  # it ends with a separator, which the path of no file does
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR)) from None
        return True
    if stat.S_ISDIR(kind):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    return stat.S_ISREG(kind)


def _replace(target: Path, content: bytes, mode: int) -> None:
    number, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(number, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(number)
        os.chmod(name, mode)
        os.replace(name, target)
    except BaseException:  # whatever happens, an interruption too: nothing is left
        with suppress(OSError):
            os.unlink(name)
        raise
