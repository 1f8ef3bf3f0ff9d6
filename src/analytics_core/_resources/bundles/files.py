"""The files of a bundle: a folder or a ZIP file, read within bounds and never unpacked to a disk."""

from __future__ import annotations

import io
import os
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, Final

from analytics_core.errors import PayloadSchemaError
from analytics_core.models.parsing import payload_error

SHAPE: Final = "load_bundle"
MOST_FILES: Final = 20_000
MOST_BYTES: Final = 64 << 20
MOST_BYTES_OF_ONE: Final = 2 << 20
"""At most so many files, bytes of all of them, and bytes of each, unpacked."""

_SUFFIXES: Final = (".yaml", ".yml")


def read_files(source: Any) -> dict[str, bytes]:
    """Return the YAML files of a bundle by their paths in it, sorted; all others are left alone.

    Args:
        source: the path of a folder or a ZIP file, bytes of a ZIP file, or a binary file object of one.

    Raises:
        PayloadSchemaError: it is none, cannot be read, or is more than may be; the message names the file.
    """
    found = _of_folder(Path(source)) if _is_folder(source) else _of_zip(_opened(source))
    files: dict[str, bytes] = {}
    size = 0
    for name, content in found:
        size += len(content)
        if len(files) >= MOST_FILES or size > MOST_BYTES:
            raise _broken("", f"it has more than {MOST_FILES} files, or more than {MOST_BYTES} bytes")
        files[name] = content
    if not files:
        raise _broken("", "it holds no YAML file; give the ZIP file, or the folder, of an export")
    return dict(sorted(files.items()))


def _is_folder(source: Any) -> bool:
    try:
        return isinstance(source, str | os.PathLike) and Path(source).is_dir()
    except (OSError, ValueError):
        return False


def _of_folder(folder: Path) -> Iterator[tuple[str, bytes]]:
    paths = (Path(parent) / name for parent, _, names in os.walk(folder) for name in names)
    for path in paths:
        if path.suffix.lower() in _SUFFIXES:
            inside = path.relative_to(folder).as_posix()
            yield inside, _read(path, inside)


def _read(path: Path, inside: str) -> bytes:
    if path.is_symlink() or not path.is_file():
        raise _broken(inside, "is a link, and no file")
    try:
        with path.open("rb") as file:
            return _bounded(file, inside)
    except OSError:
        raise _broken(inside, "cannot be read") from None


def _opened(source: Any) -> BinaryIO:
    if isinstance(source, bytes | bytearray):
        return io.BytesIO(source)
    if isinstance(source, str | os.PathLike):
        try:
            if not Path(source).is_file():
                raise _broken("", "the path leads to no file and no folder")
            return Path(source).open("rb")
        except (OSError, ValueError):
            raise _broken("", "the path leads to no file that can be read") from None
    if callable(getattr(source, "read", None)) and callable(getattr(source, "seek", None)):
        return source  # type: ignore[no-any-return]  # what is asked of it was looked at
    raise _broken("", "must be the path of a folder or a ZIP file, its bytes, or a binary file object")


def _of_zip(file: BinaryIO) -> Iterator[tuple[str, bytes]]:
    try:
        with file, zipfile.ZipFile(file) as packed:
            yield from _entries(packed)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError, ValueError) as error:
        if isinstance(error, PayloadSchemaError):
            raise
        raise _broken("", "it is no ZIP file, or a damaged one, or one with a password") from None


def _entries(packed: zipfile.ZipFile) -> Iterator[tuple[str, bytes]]:
    seen: set[str] = set()
    for info in packed.infolist():
        if not info.is_dir() and info.filename.lower().endswith(_SUFFIXES):
            _check_name(info, seen)
            with packed.open(info) as content:
                yield info.filename, _bounded(content, info.filename)


def _check_name(info: zipfile.ZipInfo, seen: set[str]) -> None:
    name = info.filename
    parts = PurePosixPath(name).parts
    if name in seen:
        raise _broken(name, "is in the ZIP file twice")
    if "\\" in name or "\x00" in name or name.startswith("/") or ".." in parts or ":" in parts[0]:
        raise _broken(name, "leads out of the ZIP file")
    seen.add(name)


def _bounded(file: Any, name: str) -> bytes:
    content: bytes = file.read(MOST_BYTES_OF_ONE + 1)
    if len(content) > MOST_BYTES_OF_ONE:
        raise _broken(name, f"has more than {MOST_BYTES_OF_ONE} bytes")
    return content


def _broken(path: str, message: str) -> PayloadSchemaError:
    return payload_error(SHAPE, path, message)
