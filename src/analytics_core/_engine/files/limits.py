"""What a file may hold at the most, what is asked of it, and the error that tells where it breaks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Self

from analytics_core._records.settings import Settings
from analytics_core.errors import FileUploadError

ROWS_PER_BATCH: Final = 10_000
LONGEST_ROW: Final = 8_000_000
"""Characters of one row of a text file, line ends inside quotes included."""

UTF_8: Final = "utf-8"
ENCODINGS: Final[Mapping[str, str]] = {
    UTF_8: "utf-8-sig",
    "utf-16": "utf-16",
    **{name: name for name in ("ascii", "iso-8859-1", "iso-8859-2", "iso-8859-15", "windows-1250", "windows-1251")},
    **{name: name for name in ("windows-1252", "shift_jis", "gb18030", "big5", "euc-jp", "euc-kr")},
}
"""Encodings of files, and the codec of each: none that runs or unpacks anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileLimits:
    """What a file may hold; `check` is called between batches and raises when the time is over.

    Attributes:
        max_bytes: of the file.
        max_unpacked_bytes: of a workbook's or a Parquet file's parts together, unpacked.
        max_rows: below the header.
        max_columns: of one table.
        max_cell_length: characters of one text.
        check: raises when nobody waits any more.
    """

    max_bytes: int
    max_unpacked_bytes: int
    max_rows: int
    max_columns: int
    max_cell_length: int
    check: Callable[[], None] = lambda: None

    @classmethod
    def of(cls, settings: Settings, check: Callable[[], None] = lambda: None) -> Self:
        """Return the limits that the settings name."""
        return cls(
            max_bytes=settings.upload_max_bytes,
            max_unpacked_bytes=settings.upload_max_unpacked_bytes,
            max_rows=settings.upload_max_rows,
            max_columns=settings.upload_max_columns,
            max_cell_length=settings.upload_max_cell_length,
            check=check,
        )


def broken(what: str, *, row: int | None = None, column: str | None = None) -> FileUploadError:
    """Return the error for a file that cannot be taken; rows count from 1, the header and skipped rows included."""
    place = ", ".join([*([f"row {row}"] if row is not None else []), *([f"column {column!r}"] if column else [])])
    facts = {name: value for name, value in (("row", row), ("column", column)) if value is not None}
    return FileUploadError(f"{place}: {what}" if place else f"the file cannot be uploaded: {what}", extra=facts)


def check_count(rows: int, limits: FileLimits) -> None:
    """Raise FileUploadError when there are more rows than may be."""
    if rows > limits.max_rows:
        raise broken(f"it has more than {limits.max_rows} rows; upload it in parts (Settings.upload_max_rows)")
