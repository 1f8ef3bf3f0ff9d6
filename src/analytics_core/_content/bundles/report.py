"""What became of a bundle: its records here, and how true its charts are."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final

from analytics_core._tools.display.blocks import Blocks, HeadingBlock, counted, fold
from analytics_core._tools.display.bundles import mime_bundle
from analytics_core._tools.display.objects import objects_table
from analytics_core.errors import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedRecord:
    """One record of a bundle.

    Attributes:
        kind: `database`, `dataset`, `chart`, `dashboard`, `saved query`, `annotation layer`, `CSS template`, `tag`,
            `role` or `row rule`.
        name: of the record.
        uuid: by which it is found again; None for the kinds that are found by their names.
        id: here; None where the bundle was only tried.
        is_new: whether it was made; else the record that was found was changed.
        fidelity: of charts, as `charts.payload` tells it: `exact`, `approximated`, or `unsupported`.
        notes: what does not come along, and why a chart is not exact.
    """

    kind: str
    name: str
    uuid: str | None
    id: int | None
    is_new: bool
    fidelity: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedFile:
    """A file of a bundle that made no record here, and why."""

    path: str
    reason: str


_ALWAYS: Final = ("dataset", "chart", "dashboard")


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleReport:
    """What a bundle held.

    Attributes:
        records: what is here of it now.
        skipped: files that make no record here.
        left_out: with `on_problem="leave_out"` what is not here, by file and field, and why.
        is_dry_run: whether it was only tried.
    """

    records: tuple[LoadedRecord, ...]
    skipped: tuple[SkippedFile, ...] = ()
    left_out: tuple[Problem, ...] = ()
    is_dry_run: bool = False

    def __str__(self) -> str:
        counts = dict.fromkeys(_ALWAYS, 0) | Counter(record.kind for record in self.records)
        summary = ", ".join(counted(count, kind) for kind, count in counts.items())
        omissions = f"; {counted(len(self.left_out), 'part')} left out" if self.left_out else ""
        return f"{summary}{omissions}{' (tried, nothing stored)' if self.is_dry_run else ''}"

    def of(self, kind: str) -> tuple[LoadedRecord, ...]:
        """Return the records of one kind, such as `chart`."""
        return tuple(record for record in self.records if record.kind == kind)

    _repr_mimebundle_ = mime_bundle

    def _blocks(self) -> Blocks:
        return _report_blocks(self)


def _report_blocks(report: BundleReport) -> Blocks:
    """Return what can be seen of a load: how many records of each kind, the records, and the files left out."""
    return [
        HeadingBlock(text="Bundle", detail=str(report)),
        *objects_table(report.records, ("kind", "id", "name", "is_new", "fidelity", "notes")),
        *fold(f"{counted(len(report.left_out), 'part')} left out", objects_table(report.left_out, ("path", "message"))),
        *fold(f"{counted(len(report.skipped), 'file')} skipped", objects_table(report.skipped)),
    ]
