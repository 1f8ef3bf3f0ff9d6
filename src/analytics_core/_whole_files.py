"""Files that are written whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path


def write_whole(path: str | os.PathLike[str], content: bytes, *, mode: int = 0o600) -> None:
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
