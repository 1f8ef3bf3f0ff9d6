"""Every namespace takes its steps in one order, repeats its changes alike, and asks one reader who sees what."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator

import pytest
from tests.architecture.source import Function, SourceFile, source_files

from analytics_core.policy import Permission

STEPS = ("permission", "parse", "act", "unit of work", "conflict", "log")
CALLS = {
    "parse": ("parse",),
    "begin_act": ("act",),
    "self._acting": ("act", "unit of work"),
    "self._runtime.store.unit_of_work": ("unit of work",),
    "reject_later_change": ("conflict",),
    "act.add": ("log",),
    "act.delete": ("log",),
    "act.log": ("log",),
}


IS_NAMESPACE = re.compile(
    r"(Namespace|ListedNamespace|NamespaceWithDistinct|ChartQuestions|DashboardQueries|DatabaseContents|ScheduleRuns)\b"
)


def _methods() -> Iterator[tuple[SourceFile, Function]]:
    """Every public method of a namespace."""
    for file in source_files():
        for node in file.tree.body:
            if isinstance(node, ast.ClassDef) and any(map(IS_NAMESPACE.match, map(ast.unparse, node.bases))):
                public = (one for one in node.body if isinstance(one, Function) and not one.name.startswith("_"))
                yield from ((file, method) for method in public)


def _steps(method: Function) -> Iterator[tuple[int, str]]:
    """The steps of a method by line. Only a permission that no record decides comes before all else."""
    for statement in method.body:
        call = statement.value if isinstance(statement, ast.Expr) else None
        if isinstance(call, ast.Call) and _needs_no_record(call):
            yield statement.lineno, "permission"
    for node in ast.walk(method):
        if isinstance(node, ast.Call) and (name := ast.unparse(node.func)) in CALLS:
            yield from ((node.lineno, step) for step in CALLS[name])


def _needs_no_record(call: ast.Call) -> bool:
    is_required = ast.unparse(call.func).startswith("self._runtime.policy.require")
    return is_required and all(
        ast.unparse(argument).startswith((f"{Permission.__name__}.", "self._actor")) for argument in call.args
    )


def _in_order(steps: list[str]) -> bool:
    """Tell whether no step comes after a later one; several units of work may follow each other."""
    places = [STEPS.index(step) for step in steps]
    unit = STEPS.index("unit of work")
    before, inside = [place for place in places if place < unit], [place for place in places if place > unit]
    starts = next((place for place in places if place >= unit), unit)
    return places[: len(before)] == sorted(before) and inside == sorted(inside) and starts == unit


def test_every_step_is_taken_by_some_methods() -> None:
    """A step that is called otherwise now would be looked for in vain."""
    taken = Counter(step for _, method in _methods() for _, step in _steps(method))
    assert {step: taken[step] > 8 for step in STEPS} == dict.fromkeys(STEPS, True)


def test_every_method_of_a_namespace_takes_its_steps_in_one_order() -> None:
    wrong = [
        f"{file.at(method)} {method.name}: {', '.join(steps)}"
        for file, method in _methods()
        if not _in_order(steps := [step for _, step in sorted(_steps(method))])
    ]
    assert wrong == []


@pytest.mark.parametrize(
    "steps",
    [
        ["parse", "permission", "act"],
        ["act", "parse", "unit of work"],
        ["unit of work", "act"],
        ["permission", "unit of work", "parse", "log"],
    ],
)
def test_another_order_is_seen(steps: list[str]) -> None:
    assert not _in_order(steps)


def test_changes_of_records_are_repeated_alike_in_every_namespace() -> None:
    """What a caller changes without telling what they read is repeated when others were faster, in one place."""
    changes = [
        (f"{file.path} {method.name}", method, _with_helpers(file, method))
        for file, method in _methods()
        if method.name.partition("_")[0] in ("update", "delete", "refresh", "set", "duplicate", "tag", "untag", "grant")
    ]
    assert len(changes) > 30
    repeats = {place: text.count("@repeated") + text.count("until_accepted(") for place, _, text in changes}
    assert {place: count for place, count in repeats.items() if count != 1} == {}
    updates = [(place, method) for place, method, _ in changes if method.name == "update"]
    deaf = [place for place, method in updates if "unchanged_since" not in [one.arg for one in method.args.kwonlyargs]]
    assert deaf == []


def _with_helpers(file: SourceFile, method: Function) -> str:
    """Return the source of a method with that of the private methods that it calls on itself."""
    text = ast.unparse(method)
    return "\n".join(
        [text, *(ast.unparse(one) for one in file.functions() if f"self.{one.name}(" in text and one.name[0] == "_")]
    )


WITHOUT_A_UNIT = {"questions.queries"}
"""It asks about a chart that the road of a question has loaded, outside of a unit of work."""


def test_only_the_reader_asks_the_policy_who_may_read_which_record() -> None:
    asking = re.compile(r"\b(can_read_|require_read_)(database|dataset|chart|dashboard)\b|\bscope_of\(")
    found = {
        file.module.removeprefix("analytics_core._content.")
        for file in source_files()
        if file.module.startswith("analytics_core._content.") and any(map(asking.search, file.lines))
    }
    assert found - WITHOUT_A_UNIT == {"reader"}
    assert found >= WITHOUT_A_UNIT
