"""The colours behind cells that a form sets by conditions on their numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from analytics_core._pictures import cells
from analytics_core._pictures.drawing import ChartView
from analytics_core._pictures.theme import is_colour, mixed

_ABOVE: Final = frozenset({">", "≥", ">="})
_BELOW: Final = frozenset({"<", "≤", "<="})
_BETWEEN: Final = {"< x <": (False, False), "≤ x ≤": (True, True), "≤ x <": (True, False), "< x ≤": (False, True)}
_ALL: Final = frozenset({"None", ""})
_OF_TEXTS: Final = ("begins with", "ends with", "containing", "not containing")
_OPERATORS: Final = _ALL | _ABOVE | _BELOW | _BETWEEN.keys() | {"=", "≠", "!=", *_OF_TEXTS}
_FIELD: Final = "conditional_formatting"
_LEAST_SHARE: Final = 0.15
_NAMED: Final = {"Green": "good", "Red": "bad"}


def conditional_fills(view: ChartView, name: str, values: Sequence[Any]) -> list[str | None]:
    """Return the colour behind each cell of a column; None where no condition of the form holds. A later one wins."""
    conditions = _conditions(view, name)
    found: list[str | None] = [None] * len(values)
    numbers = [cells.number(value) for value in values]
    for condition in conditions:
        colour = _colour(view, condition)
        for place, share in enumerate(_shares(condition, numbers, values)):
            if share is not None:
                found[place] = mixed(view.colours.background, colour, _LEAST_SHARE + (0.85 - _LEAST_SHARE) * share)
    return found


def has_conditions(view: ChartView, name: str) -> bool:
    """Tell whether the form colours cells of a column."""
    return bool(_conditions(view, name))


def _conditions(view: ChartView, name: str) -> list[Mapping[str, Any]]:
    """Return the conditions on a column; those that never hold are told."""
    found = []
    for one in view.form.items(_FIELD):
        fault = _fault(view, one)
        if fault:
            view.form.reject_part(_FIELD, *fault)
        elif one.get("column") == name:
            found.append(one)
    return found


def _fault(view: ChartView, condition: Any) -> tuple[Any, str] | None:
    """Return the part of a condition that nothing can be made of, and why; None where it can hold."""
    if not isinstance(condition, Mapping):
        return condition, "is no condition"
    column, operator = condition.get("column"), str(condition.get("operator"))
    if column not in (*view.table.names, *map(view.table.label, view.table.names)):
        return column, "is no column of the answer"
    if operator not in _OPERATORS:
        return condition.get("operator"), "is no operator"
    ends = ("targetValueLeft", "targetValueRight") if operator in _BETWEEN else ("targetValue",)
    missing = [end for end in ends if condition.get(end) is None]
    return (None, f"is no {missing[0]} for {operator}") if missing and operator not in _ALL else None


def _colour(view: ChartView, condition: Mapping[str, Any]) -> str:
    scheme = condition.get("colorScheme")
    if is_colour(scheme):
        return str(scheme)
    return str(getattr(view.colours, _NAMED.get(str(scheme), "accent")))


def _shares(condition: Mapping[str, Any], numbers: Sequence[float | None], values: Sequence[Any]) -> list[float | None]:
    """Return how strong the colour of each cell is, from 0 to 1; None where the condition does not hold."""
    operator = str(condition.get("operator"))
    target = cells.number(condition.get("targetValue"))
    left, right = (cells.number(condition.get(f"targetValue{side}")) for side in ("Left", "Right"))
    known = [value for value in numbers if value is not None]
    if not known:
        return _of_texts(operator, condition.get("targetValue"), values)
    low, high = min(known), max(known)
    return [None if value is None else _share(value, operator, (target, left, right), (low, high)) for value in numbers]


def _share(
    value: float, operator: str, targets: tuple[float | None, float | None, float | None], ends: tuple[float, float]
) -> float | None:
    target, left, right = targets
    low, high = ends
    if operator in _ALL:
        return _part(value, low, high)
    if operator in _BETWEEN and left is not None and right is not None:
        with_left, with_right = _BETWEEN[operator]
        is_in = (value >= left if with_left else value > left) and (value <= right if with_right else value < right)
        return _part(value, left, right) if is_in else None
    return None if target is None else _share_beside(value, operator, target, ends)


def _share_beside(value: float, operator: str, target: float, ends: tuple[float, float]) -> float | None:
    if operator in ("=", "≠", "!="):
        return 1.0 if (value == target) is (operator == "=") else None
    if operator in _ABOVE:
        holds, end = value > target or (operator != ">" and value == target), ends[1]
    else:
        holds, end = operator in _BELOW and (value < target or (operator != "<" and value == target)), ends[0]
    return _part(value, target, end) if holds else None


def _part(value: float, start: float, end: float) -> float:
    return min(max((value - start) / (end - start), 0.0), 1.0) if end != start else 1.0


def _of_texts(operator: str, target: Any, values: Sequence[Any]) -> list[float | None]:
    tests: dict[str, Callable[[str], bool]] = {
        "=": lambda text: text == target,
        "begins with": lambda text: text.startswith(target),
        "ends with": lambda text: text.endswith(target),
        "containing": lambda text: target in text,
        "not containing": lambda text: target not in text,
    }
    test = tests.get(operator)
    if test is None or not isinstance(target, str):
        return [None] * len(values)
    return [1.0 if isinstance(value, str) and test(value) else None for value in values]
