"""The steps of a chain on the rows of its answer, as post-processing operations (contract, Post-processing)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from analytics_core._notebook.builder.specification import VerbStep
from analytics_core.errors import QueryError

Operation = dict[str, Any]
_SEPARATOR: Final = "__"


class StepWriter:
    """Writes the operations of a chain; it knows which columns hold values after each of them.

    Args:
        axis: the label of the time axis, if there is one.
        groups: the labels of all columns that rows are grouped by, the axis among them.
        metrics: the labels of the metrics.
        offsets: the times that they are compared with.
        grain: the grain of the axis.
        extremes: `min` or `max` for the label of each metric that is one; the total of any other one is a sum.
    """

    def __init__(
        self,
        *,
        axis: str | None,
        groups: Sequence[str],
        metrics: Sequence[str],
        offsets: Sequence[str],
        grain: str | None,
        extremes: Mapping[str, str],
    ) -> None:
        self._axis = axis
        self._groups = tuple(groups)
        self._compared = [(metric, offset, f"{metric}{_SEPARATOR}{offset}") for metric in metrics for offset in offsets]
        self._values = [*metrics, *(label for *_, label in self._compared)]
        self._grain = grain
        self._total_of = {
            **extremes,
            **{label: extremes[name] for name, _, label in self._compared if name in extremes},
        }
        self._pivot: tuple[str, ...] | None = None
        self._names_values = len(self._values) == 1
        self._is_flat = True

    def operations(self, steps: Sequence[VerbStep]) -> list[Operation]:
        """Return the operations; those that a pivot needs at its end come last.

        Raises:
            QueryError: a step cannot be made of the rows as they are then; the message says what to do.
        """
        found = [operation for step in steps for operation in _WRITERS[step.verb](self, step.options)]
        return [*found, *self._headings()]

    def pivot(self, options: Mapping[str, Any]) -> Iterator[Operation]:
        """Yield a column for each value of some columns, a row for each value of the others."""
        if self._pivot is not None:
            raise QueryError("a query is pivoted once; name all columns that go across: .pivot('country', 'channel')")
        across = options["columns"]
        missing = [name for name in across if name not in self._groups]
        if missing:
            raise QueryError(f".pivot({missing[0]!r}): rows are not grouped by it; add .by({missing[0]!r})")
        if not self._values:
            raise QueryError(".pivot needs a metric for the cells; name one: query('revenue')")
        down = [name for name in self._groups if name not in across]
        if not down:
            raise QueryError(".pivot leaves nothing for the rows; add another .by(...), or .during(grain='month')")
        totals = options["totals"]
        extras = {"metric_fill_value": options["fill"], **({"marginal_distributions": True} if totals else {})}
        totals_of = {label: self._total_of.get(label, "sum") for label in self._values} if totals else {}
        yield _operation(
            "pivot",
            index=down,
            columns=list(across),
            aggregates={label: {"operator": totals_of.get(label, "max")} for label in self._values},
            **{name: value for name, value in extras.items() if value is not None},
        )
        self._pivot, self._is_flat = tuple(across), False

    def compare(self, options: Mapping[str, Any]) -> Iterator[Operation]:
        """Yield differences, percentages or ratios in place of both values."""
        kind = options["show"]
        yield _operation(
            "compare",
            source_columns=[metric for metric, *_ in self._compared],
            compare_columns=[label for *_, label in self._compared],
            compare_type=kind,
            drop_original_columns=True,
        )
        self._values = [_SEPARATOR.join((kind, metric, label)) for metric, _, label in self._compared]

    def rolling(self, options: Mapping[str, Any]) -> Iterator[Operation]:
        """Yield an aggregate over a moving window in place of each value."""
        self._require_one_series("rolling")
        yield _operation("rolling", **options, columns={label: label for label in self._values})

    def cumulative(self, options: Mapping[str, Any]) -> Iterator[Operation]:
        """Yield running results in place of each value."""
        self._require_one_series("cumulative")
        yield _operation("cum", **options, columns={label: label for label in self._values})

    def share(self, options: Mapping[str, Any]) -> Iterator[Operation]:
        """Yield shares in place of values; a pivoted frame holds nothing but values in its columns."""
        shifts = {"time_shifts": [offset for _, offset, _ in self._compared]} if self._compared else {}
        columns = {} if self._pivot is not None else {"columns": list(self._values)}
        yield _operation("contribution", **options, **columns, **shifts)

    def resample(self, options: Mapping[str, Any]) -> Iterator[Operation]:
        """Yield rows at an even pace along the time axis, which becomes the index."""
        self._require_axis("resample")
        if self._pivot is None:
            self._require_one_series("resample")
            aggregates = {label: {"operator": "max"} for label in self._values}
            yield _operation("pivot", index=[self._axis], columns=[], aggregates=aggregates)
            self._pivot, self._is_flat = (), False
        elif self._groups != (self._axis, *self._pivot) and set(self._groups) != {self._axis, *self._pivot}:
            raise QueryError(".resample needs rows of the time axis alone; pivot all other columns across")
        yield _operation("resample", **options)

    def forecast(self, options: Mapping[str, Any]) -> Iterator[Operation]:
        """Yield the series with its forecast."""
        self._require_axis("forecast")
        self._require_one_series("forecast")
        yield from self._headings()
        yield _operation("forecast", **options, time_grain=self._grain, index=self._axis)

    def _headings(self) -> Iterator[Operation]:
        """Yield what makes plain columns of a pivot: headings of a single metric are the values alone."""
        if self._is_flat:
            return
        if self._pivot and self._names_values:
            yield _operation("rename", columns={self._values[0]: None}, level=0)
        yield {"operation": "flatten"}
        self._is_flat = True

    def _require_axis(self, verb: str) -> None:
        if self._axis is None or self._grain is None:
            raise QueryError(f".{verb} needs a time axis; add .during('Last year', grain='P1M')")

    def _require_one_series(self, verb: str) -> None:
        """Check that rows follow each other in time: those of several series would be mixed up."""
        pivoted = self._pivot or ()
        rest = [name for name in self._groups if name != self._axis and name not in pivoted]
        if self._axis is not None and rest:
            raise QueryError(
                f".{verb} would mix the rows of several series ({', '.join(rest)}); make columns of them before it: "
                f".pivot({', '.join(map(repr, rest))})"
            )


def _operation(name: str, **options: Any) -> Operation:
    return {"operation": name, "options": options}


_WRITERS: Final[Mapping[str, Callable[[StepWriter, Mapping[str, Any]], Iterator[Operation]]]] = MappingProxyType(
    {
        verb: getattr(StepWriter, verb)
        for verb in ("pivot", "compare", "rolling", "cumulative", "share", "resample", "forecast")
    }
)
