"""How the columns of a chart's answer are written for people: the formats of its form and of its metrics; pure."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Final

from analytics_core._records.chart_form import metric_label
from analytics_core._tools.formats import Currency, format_number, format_time, parse_currency

_METRICS: Final = (
    "metrics",
    "metrics_b",
    "metric",
    "metric_2",
    "secondary_metric",
    "percent_metrics",
    "size",
    "x",
    "y",
)
_DIMENSIONS: Final = (
    *("groupby", "groupby_b", "columns", "all_columns", "groupbyRows", "groupbyColumns", "x_axis", "series", "entity"),
    *("source", "target", "granularity_sqla", "granularity"),
)
_NUMBERS: Final = ("number_format", "y_axis_format", "valueFormat", "numberFormat")
_CURRENCIES: Final = ("currency_format", "currencyFormat")
_TIMES: Final = ("table_timestamp_format", "x_axis_time_format", "time_format", "date_format", "dateFormat")
_AS_SUITS: Final = frozenset({"SMART_NUMBER", "smart_date", ""})
"""What forms have where nobody chose a format. In a table of text people want all digits, and whole moments."""

_PLAIN: Final = re.compile(r"(-?)(\d+)((?:\.\d+)?)")
_CONTRIBUTION: Final = "__contribution"
_SHARE: Final = ".3%"


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnFormat:
    """How one column is written: by d3 formats, each None where nobody chose one.

    `small` is for numbers between -1 and 1. `is_amount`: what has no format has commas between its thousands.
    """

    number: str | None = None
    small: str | None = None
    time: str | None = None
    currency: Currency | None = None
    is_amount: bool = False

    def texts(self, values: Sequence[Any], plain: Callable[[Sequence[Any]], list[str]]) -> list[str]:
        """Return the text of each value; `plain` writes those for which there is no format."""
        known = [value for value in values if value is not None]
        if self.time is not None and known and all(isinstance(value, date) for value in known):
            return [format_time(value, self.time) for value in values]
        if not known or not all(map(_is_number, known)):
            return plain(values)
        unformatted = plain(values)
        return [self._text(value, text) for value, text in zip(values, unformatted, strict=True)]

    def _text(self, value: Any, plain: str) -> str:
        if value is None:
            return ""
        is_finite = isinstance(value, int) or math.isfinite(value)
        is_small = self.small is not None and is_finite and abs(value) < 1
        chosen = self.small if is_small else self.number
        if chosen is not None:
            return format_number(value, chosen, currency=self.currency)
        text = _PLAIN.sub(_with_commas, plain) if self.is_amount and _PLAIN.fullmatch(plain) else plain
        return text if self.currency is None else self.currency.beside(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricFormat:
    """What a metric of a dataset says of how it is written, as it is stored."""

    number: str | None = None
    currency: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartFormats:
    """The formats of a chart: its form as it is stored, and those of the metrics of its dataset by their names."""

    form: Mapping[str, Any] = field(default_factory=dict)
    metrics: Mapping[str, MetricFormat] = field(default_factory=dict)

    def of(self, name: str, parts: Sequence[str] = ()) -> ColumnFormat:
        """Return how a column is written; `parts` are those of a label that post-processing joined.

        First come what the form says of the column (`column_config`), then of all numbers or times, then what the
        dataset says of the metric. A format that nobody can read counts as none.
        """
        config = self._config(name)
        time = _chosen(config.get("d3TimeFormat")) or self._first(_TIMES, _chosen)
        metric = self._metric(name, parts)
        own = ColumnFormat(
            number=_number(config.get("d3NumberFormat"), by_hand=True),
            small=_number(config.get("d3SmallNumberFormat"), by_hand=True),
            currency=parse_currency(config.get("currencyFormat")),
            time=time,
        )
        if metric is None:
            return own
        stored = self.metrics.get(metric, MetricFormat())
        number = own.number or self._first(_NUMBERS, _number) or _number(stored.number)
        if (name.startswith("%") or name.endswith(_CONTRIBUTION)) and own.number is None:
            return ColumnFormat(number=_SHARE, is_amount=True)
        currency = own.currency or self._first(_CURRENCIES, parse_currency) or parse_currency(stored.currency)
        return ColumnFormat(number=number, small=own.small, time=time, currency=currency, is_amount=True)

    def _config(self, name: str) -> Mapping[str, Any]:
        configs = self.form.get("column_config")
        config = configs.get(name) if isinstance(configs, Mapping) else None
        return config if isinstance(config, Mapping) else {}

    def _first(self, names: Sequence[str], read: Callable[[Any], Any]) -> Any:
        for name in names:
            given = self.form.get(name)
            if given is not None and (found := read(given)) is not None:
                return found
        return None

    def _metric(self, name: str, parts: Sequence[str]) -> str | None:
        """Return of which metric a column has values; empty where nobody can tell, None for one that is grouped by.

        A label of a metric may have a sign before it (shares), a period behind (`total__1 year ago`), or be joined.
        """
        metrics, dimensions = self._labels(_METRICS), self._labels(_DIMENSIONS)
        for label in (name, *parts, name.removeprefix("%"), name.partition("__")[0]):
            if label in metrics:
                return label
        if name in dimensions or not metrics:
            return None
        return next(iter(metrics)) if len(metrics) == 1 else ""

    def _labels(self, names: Sequence[str]) -> set[str]:
        found = set()
        for name in names:
            given = self.form.get(name)
            for item in given if isinstance(given, list) else [given]:
                if isinstance(item, str | Mapping):
                    found.add(metric_label(item))
        return found


def _chosen(given: Any) -> str | None:
    return given if isinstance(given, str) and given not in _AS_SUITS else None


def _number(given: Any, *, by_hand: bool = False) -> str | None:
    """Return a number format that can be read; `by_hand`: of one column, where somebody chose it in any case."""
    chosen = given if by_hand and isinstance(given, str) and given else _chosen(given)
    if chosen is None:
        return None
    try:
        format_number(1, chosen)
    except ValueError:
        return None
    return chosen


def _is_number(value: Any) -> bool:
    return not isinstance(value, bool | str) and hasattr(value, "__float__")


def _with_commas(found: re.Match[str]) -> str:
    return f"{found[1]}{int(found[2]):,}{found[3]}"
