"""Looks at a workbook's container before anything unpacks it: sizes as they are, cells by area, no entities."""

from __future__ import annotations

import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final

from analytics_core._engine.files.limits import FileLimits, broken
from analytics_core.errors import FileUploadError

_MOST_PARTS: Final = 2_000
_DIRECTORY_BYTES: Final = 1_000_000
_MOST_CELLS: Final = 10_000_000
"""The reader holds the whole rectangle of a sheet that has cells, some 40 bytes each."""

_LONGEST_TAG: Final = 2_000_000
_CHUNK: Final = 1 << 18
_RELATIONS: Final = "xl/_rels/workbook.xml.rels"
_END = struct.Struct("<4s4H2LH")
_LOCAL = struct.Struct("<4s5H3L2H")
_PREFIXED = re.compile(rb":(?:c|si)(?=[\s/>])")
_TARGET = re.compile(rb"\bTarget\s*=\s*[\"']([^\"']*)[\"']")
_ENTITIES = re.compile(rb"<!\s*(?:DOCTYPE|ENTITY)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Tags:
    """What finds cells, those with a place and texts; without prefixes of namespaces it takes a third of the time."""

    cell: re.Pattern[bytes]
    placed: re.Pattern[bytes]
    text: re.Pattern[bytes]


_NO_OTHER_PLACE: Final = rb"""(?:\s+(?!r[\s=])[\w.:-]+=(?:"[^"<>]*"|'[^'<>]*'))*\s*/?>"""
"""The rest of a cell's tag: of two places in it, the reader takes the second."""

_QUOTED_NAME = re.compile(rb"<[^ \t\r\n>:]*[\"']")
"""The start of a tag with a quote in its name, in which `>` ends no tag; the reader takes any name up to a blank."""


def _tags(start: bytes) -> _Tags:
    return _Tags(
        cell=re.compile(start + rb"c(?=[\s/>])"),
        placed=re.compile(start + rb"c\s+r=[\"']([A-Z]{1,3})([0-9]{1,7})[\"']" + _NO_OTHER_PLACE),
        text=re.compile(start + rb"si(?=[\s/>])"),
    )


_PLAIN: Final = _tags(rb"<")
_ANY: Final = _tags(rb"<(?!/)(?:[^ \t\r\n<>:]*:)?")


def check_workbook(file: BinaryIO, limits: FileLimits) -> None:
    """Refuse an container that is no plain workbook, or would be too large unpacked.

    Each part is unpacked once, in pieces that are thrown away, whatever size it claims.

    Raises:
        FileUploadError: what is wrong with it.
    """
    _check_directory(file)
    try:
        with zipfile.ZipFile(file) as container:
            parts = container.infolist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, UnicodeError) as error:
        raise _no_workbook() from error
    names = {part.filename.casefold() for part in parts}
    if names and not any(name.startswith(("xl/", "content.xml")) for name in names):
        raise broken("it is a ZIP file without a workbook; unpack it, and upload what is inside")
    if "xl/workbook.xml" not in names or len(names) != len(parts):
        raise _no_workbook()
    if any(name == "content.xml" or name.endswith("workbook.bin") for name in names):
        raise broken("it is a spreadsheet of another format; save it as .xlsx")
    remaining = limits.max_unpacked_bytes
    for part in parts:
        remaining -= _check_part(file, part, remaining, limits)


def _no_workbook() -> FileUploadError:
    return broken("it is no .xlsx workbook, or its container is damaged")


def _check_directory(file: BinaryIO) -> None:
    """Check the end of the container: a short directory, one place to look for it, and so one way to read the file."""
    file.seek(0)
    if file.read(4) != b"PK\x03\x04":
        raise broken("it is no .xlsx workbook: it does not begin as they do")
    size = file.seek(0, 2)
    if size < _END.size + 20:
        raise _no_workbook()
    file.seek(size - _END.size - 20)
    tail = file.read()
    mark, disk, first_disk, here, count, length, start, comment = _END.unpack(tail[20:])
    if mark != b"PK\x05\x06":
        raise broken("its end is missing: a workbook that was cut off, or has something behind it; save it anew")
    is_plain = mark == b"PK\x05\x06" and comment == 0 and disk == first_disk == 0 and here == count
    if not is_plain or tail[:4] == b"PK\x06\x07" or start + length != size - _END.size:
        raise _no_workbook()
    if count > _MOST_PARTS or length > _DIRECTORY_BYTES:
        raise broken(f"its container has more than {_MOST_PARTS} parts")


def _check_part(file: BinaryIO, part: zipfile.ZipInfo, most: int, limits: FileLimits) -> int:
    """Return the bytes of one part, unpacked."""
    if part.flag_bits & 1:
        raise broken("it is protected by a password; save it without")
    if part.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise _no_workbook()
    name, markup, size = part.filename.casefold(), _Markup(), 0
    relations = bytearray()
    for piece in _unpacked(file, part):
        limits.check()
        size += len(piece)
        if size > most:
            raise broken(
                f"it has more than {limits.max_unpacked_bytes} bytes unpacked (Settings.upload_max_unpacked_bytes)"
            )
        if name.endswith((".xml", ".rels")):
            markup.look_at(piece)
        if name == _RELATIONS:
            relations += piece
    markup.finish()
    if size != part.file_size:
        raise _no_workbook()
    _check_targets(bytes(relations))
    return size


def _unpacked(file: BinaryIO, part: zipfile.ZipInfo) -> Iterator[bytes]:
    file.seek(part.header_offset)
    header = file.read(_LOCAL.size)
    if len(header) < _LOCAL.size or header[:4] != b"PK\x03\x04":
        raise _no_workbook()
    *_, name_length, extra_length = _LOCAL.unpack(header)
    file.seek(name_length + extra_length, 1)
    remaining = part.compress_size
    unpacker = zlib.decompressobj(-15) if part.compress_type == zipfile.ZIP_DEFLATED else None
    while remaining > 0:
        packed = file.read(min(_CHUNK, remaining))
        if not packed:
            raise _no_workbook()
        remaining -= len(packed)
        if unpacker is None:
            yield packed
            continue
        yield from _inflated(unpacker, packed)
    if unpacker is not None:
        yield unpacker.flush(_CHUNK)
    if unpacker is not None and not unpacker.eof:
        raise _no_workbook()


def _inflated(unpacker: zlib._Decompress, packed: bytes) -> Iterator[bytes]:
    while packed:
        try:
            piece = unpacker.decompress(packed, _CHUNK)
        except zlib.error as error:
            raise _no_workbook() from error
        packed = unpacker.unconsumed_tail
        if unpacker.unused_data:
            raise _no_workbook()
        yield piece
        if not piece and not packed:
            return


class _Markup:
    """What one part of markup holds so far; a piece is looked at up to its last tag, the rest with the next piece."""

    def __init__(self) -> None:
        self._rest = b""
        self._rows = self._columns = self._texts = 0

    def look_at(self, piece: bytes) -> None:
        """Refuse entities, odd tags, cells without one place, and more cells or texts than may be."""
        data = self._rest + piece
        cut = max(data.rfind(b"<"), 0)
        data, self._rest = data[:cut], data[cut:]
        if len(self._rest) > _LONGEST_TAG:
            raise broken(f"it has a text of more than {_LONGEST_TAG} bytes")
        self._check(data)

    def finish(self) -> None:
        """Look at what comes last."""
        self._check(self._rest)

    def _check(self, data: bytes) -> None:
        if _ENTITIES.search(data) or b"\x00" in data:
            raise broken("it declares entities or has another encoding, as no spreadsheet program writes it")
        tags = _ANY if _PREFIXED.search(data) else _PLAIN
        if _QUOTED_NAME.search(data if tags is _ANY else data[data.rfind(b" ") + 1 :]):  # it may end in the next piece
            raise broken("it has tags that are none in XML; save it with a spreadsheet program")
        self._texts += len(tags.text.findall(data))
        places = tags.placed.findall(data)
        if len(places) != len(tags.cell.findall(data)):
            raise broken("it has cells without a place; save it with a spreadsheet program")
        self._rows = max([self._rows, *(int(row) for row in {row for _, row in places})])
        self._columns = max([self._columns, *(_column(letters) for letters in {column for column, _ in places})])
        if self._rows * self._columns > _MOST_CELLS or self._texts > _MOST_CELLS:
            raise broken(f"a sheet has more than {_MOST_CELLS} cells; upload it as CSV or Parquet")


def _column(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + letter - 64
    return number


def _check_targets(relations: bytes) -> None:
    """Refuse a workbook whose sheets are not parts that were looked at."""
    for target in _TARGET.findall(relations):
        is_known = target.lower().endswith(b".xml") or target.lower() == b"vbaproject.bin"
        if not is_known or b"&" in target:
            raise _no_workbook()
