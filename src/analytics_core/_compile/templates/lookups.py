"""Macros that look beyond the query: metrics and rows of other datasets, row rules, partitions of tables.

SQL of those who may write it stands in the text as it is, and is checked with the rest; a value is a literal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from analytics_core._compile.templates.sandbox import Macro, RenderState
from analytics_core._compile.templates.text import CONTROL_CHARACTERS, UserText, raw_text
from analytics_core.errors import TemplateError

LOOKUP_NAMES: Final = frozenset({"metric", "dataset", "current_user_rls_rules", "latest_partition"})
"""The macros of this module."""


class Lookups(Protocol):
    """What stands behind these macros; each call stays within what the actor may read, or raises."""

    def metric(self, name: str, dataset_id: int | None) -> str:
        """Return the SQL of a saved metric; `dataset_id` None: of the dataset that is asked."""

    def relation(self, dataset_id: int, columns: Sequence[str] | None, *, with_metrics: bool) -> str:
        """Return the query of another dataset's rows that the actor may see; `columns` None: all of them."""

    def row_rules(self) -> tuple[str, ...]:
        """Return the conditions that bind the actor on the dataset, sorted."""

    def latest_partition(self, table: str) -> str:
        """Return the value by which the newest partition of a table that has rows is found."""


def lookup_macros(lookups: Lookups | None) -> dict[str, Any]:
    """Return the macros over what `lookups` knows; without it each refuses."""

    def macro(name: str, run: Callable[..., Any]) -> Macro:
        def call(state: RenderState, *args: Any, **options: Any) -> Any:
            if lookups is None:
                raise TemplateError(f"{name}() cannot be used here")
            return run(lookups, state, *args, **options)

        return Macro(call)

    return {
        "metric": macro("metric", _metric),
        "dataset": macro("dataset", _dataset),
        "current_user_rls_rules": macro("current_user_rls_rules", _row_rules),
        "latest_partition": macro("latest_partition", _latest_partition),
    }


def _metric(lookups: Lookups, state: RenderState, metric_key: str, dataset_id: int | None = None) -> str:
    found = lookups.metric(str(raw_text(metric_key)), None if dataset_id is None else _id(dataset_id))
    return _written(state, f"({found}\n)")  # a comment at its end ends with its line


def _dataset(
    lookups: Lookups,
    state: RenderState,
    dataset_id: int,
    include_metrics: bool = False,
    columns: Sequence[str] | None = None,
) -> str:
    wanted = _id(dataset_id)
    if columns is not None and not isinstance(columns, list | tuple):
        raise TemplateError("dataset(): columns must be a list of names")
    names = None if not columns else [str(raw_text(name)) for name in columns]
    found = lookups.relation(wanted, names, with_metrics=bool(include_metrics))
    return _written(state, f"(\n{found}\n) AS dataset_{wanted}")


def _row_rules(lookups: Lookups, state: RenderState) -> list[str] | None:
    return [_written(state, rule) for rule in lookups.row_rules()] or None


def _latest_partition(lookups: Lookups, state: RenderState, table_name: str) -> UserText:
    value = lookups.latest_partition(str(raw_text(table_name)))
    state.text(len(value))
    return UserText(value)


def _id(value: object) -> int:
    text = str(raw_text(value))
    if isinstance(value, bool) or not (text.isascii() and text.isdigit() and len(text) < 19):
        raise TemplateError("the id of a dataset is a whole number")
    return int(text)


def _written(state: RenderState, text: str) -> str:
    if CONTROL_CHARACTERS.search(text):
        raise TemplateError("SQL that a macro takes in holds control characters")
    state.text(len(text))
    return text
