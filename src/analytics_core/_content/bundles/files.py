"""The files of a bundle: a folder or a ZIP file, read within bounds and never unpacked to a disk."""

from __future__ import annotations

import io
import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, Final

from analytics_core.errors import PayloadSchemaError
from analytics_core.errors.base import short_repr
from analytics_core.models.parsing import payload_error

SHAPE: Final = "load_bundle"
MOST_FILES: Final = 20_000
MOST_BYTES: Final = 64 << 20
MOST_BYTES_OF_ONE: Final = 2 << 20
"""At most so many files, bytes of all of them, and bytes of each, unpacked."""

_MOST_DIRECTORY: Final = 4 << 20
"""Bytes of the directory of a ZIP file, which is read as a whole."""

_END: Final = b"PK\x05\x06"
_END_OF_ZIP64: Final = b"PK\x06\x07"
_LENGTH_OF_END: Final = 22
_LONGEST_COMMENT: Final = 65_535
_LONGEST_NAME: Final = 500
_METHODS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Others may ask for gigabytes before they give a byte."""

_UNREADABLE: Final = (
    *(zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError, ValueError, TypeError),
)
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
            _check_text(inside)
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
                raise _broken("", f"the path {short_repr(str(source))} leads to no file and no folder")
            return Path(source).open("rb")
        except (OSError, ValueError):
            raise _broken("", "the path leads to no file that can be read") from None
    if callable(getattr(source, "read", None)) and callable(getattr(source, "seek", None)):
        return source  # type: ignore[no-any-return]  # what is asked of it was looked at
    raise _broken("", "must be the path of a folder or a ZIP file, its bytes, or a binary file object")


def _of_zip(file: BinaryIO) -> Iterator[tuple[str, bytes]]:
    try:
        with file:
            _check_directory(file)
            with zipfile.ZipFile(file) as packed:
                yield from _entries(packed)
    except _UNREADABLE as error:
        if isinstance(error, PayloadSchemaError):
            raise
        raise _broken("", "it is no ZIP file, or a damaged one") from None


def _check_directory(file: BinaryIO) -> None:
    """Refuse a ZIP file with a large directory before it is read; there are two places where its size may stand."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _LENGTH_OF_END - _LONGEST_COMMENT - _LENGTH_OF_END))
    tail = file.read(_LONGEST_COMMENT + 2 * _LENGTH_OF_END)
    for place in (len(tail) - _LENGTH_OF_END, tail.rfind(_END)):
        end = tail[max(place, 0) :][:_LENGTH_OF_END]
        if not end.startswith(_END) or len(end) < _LENGTH_OF_END:
            continue
        (bytes_of_directory,) = struct.unpack_from("<L", end, 12)
        if bytes_of_directory > _MOST_DIRECTORY or _END_OF_ZIP64 in tail[max(place - 20, 0) : place]:
            raise _broken("", f"its directory has more than {_MOST_DIRECTORY} bytes")
    file.seek(0)


def _entries(packed: zipfile.ZipFile) -> Iterator[tuple[str, bytes]]:
    seen: set[str] = set()
    for info in packed.infolist():
        if not info.is_dir() and info.filename.lower().endswith(_SUFFIXES):
            _check_name(info, seen)
            yield info.filename, _unpacked(packed, info)


def _unpacked(packed: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    try:
        with packed.open(info) as file:
            return _bounded(file, info.filename)
    except _UNREADABLE as error:
        if isinstance(error, PayloadSchemaError):
            raise
        raise _broken(info.filename, "is damaged") from None


def _check_text(name: str) -> None:
    """Refuse a name that no message can hold."""
    if len(name) > _LONGEST_NAME or not name.isprintable():
        raise _broken(short_repr(name), f"must be a printable name of at most {_LONGEST_NAME} characters")


def _check_name(info: zipfile.ZipInfo, seen: set[str]) -> None:
    name = info.filename
    _check_text(info.orig_filename)
    parts = PurePosixPath(name).parts
    if name in seen:
        raise _broken(name, "is in the ZIP file twice")
    if stat.S_ISLNK(info.external_attr >> 16):
        raise _broken(name, "is a link, and no file")
    if info.flag_bits & 1 or info.compress_type not in _METHODS:
        raise _broken(name, "is encrypted, or packed by another method than deflate")
    if "\\" in name or name.startswith("/") or ".." in parts or ":" in parts[0]:
        raise _broken(name, "leads out of the ZIP file")
    seen.add(name)


def _bounded(file: Any, name: str) -> bytes:
    content: bytes = file.read(MOST_BYTES_OF_ONE + 1)
    if len(content) > MOST_BYTES_OF_ONE:
        raise _broken(name, f"has more than {MOST_BYTES_OF_ONE} bytes")
    return content


def _broken(path: str, message: str) -> PayloadSchemaError:
    return payload_error(SHAPE, path, message)
