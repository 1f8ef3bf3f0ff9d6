"""What notebooks show of a core: who acts, what there is for them, and what to type first."""

from __future__ import annotations

from collections.abc import Sequence
from keyword import iskeyword
from typing import Any, Final

from analytics_core._tools.display.blocks import Block, Blocks, HeadingBlock, next_line
from analytics_core._tools.display.bundles import error_block
from analytics_core.errors import AnalyticsError
from analytics_core.models.display import records_table

_FIRST_RECORDS: Final = 8
_FIELDS: Final = {
    "databases": ("id", "database_name", "backend"),
    "datasets": ("id", "table_name", "schema_name", "database", "kind"),
    "charts": ("id", "slice_name", "viz_type", "table"),
    "dashboards": ("id", "dashboard_title", "published"),
}


def core_blocks(core: object, *, acting: str, kinds: Sequence[str] = tuple(_FIELDS)) -> Blocks:
    """Return what can be seen of a core: its records for whoever acts, as the metadata store has them.

    No database is asked. Where the store does not answer, or nobody acts, the error stands in place of the records.
    """
    blocks: list[Block] = [HeadingBlock(text=type(core).__name__, detail=acting)]
    found: dict[str, Any] = {}
    try:
        for kind in kinds:
            found[kind] = page = getattr(core, kind).list(page_size=_FIRST_RECORDS)
            blocks += _page(kind, page)
    except AnalyticsError as error:
        return [*blocks, error_block(error)]
    return [*blocks, *next_line(_first_line(found))]


def _page(kind: str, page: Any) -> Blocks:
    remaining = page.count - len(page.result)
    below = f"{remaining:,} more: core.{kind}.list()" if remaining else ""
    heading = HeadingBlock(text=f"{page.count:,} {kind if page.count != 1 else kind[:-1]}")
    return [heading, *records_table(page.result, fields=_FIELDS[kind], below=below)] if page.count else []


def _first_line(found: dict[str, Any]) -> str:
    """Return the call that brings somebody on who sees the core for the first time."""
    databases, datasets, charts = (found.get(kind) for kind in ("databases", "datasets", "charts"))
    if charts is not None and charts.count:
        return f"core.charts.data({charts.result[0].id})"
    if datasets is not None and datasets.count:
        return f"{_variable(name := datasets.result[0].table_name)} = core.dataset({name!r})"
    if databases is not None and databases.count:
        return f"core.databases.tables({databases.result[0].id})"
    if databases is not None:
        return 'core.databases.create({"database_name": "shop", "sqlalchemy_uri": "sqlite:///shop.db"})'
    return ""


def _variable(name: str) -> str:
    return name if name.isidentifier() and not iskeyword(name) else "dataset"
