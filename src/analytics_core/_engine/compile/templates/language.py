"""The template language itself: jinja2 cut down to what SQL templates need, and the filters that they may use."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from analytics_core._engine.compile.templates.macros import OWN_NAMES
from analytics_core._engine.compile.templates.sandbox import (
    Macro,
    RenderState,
    bounded,
    check_format,
    find_attribute,
    flat,
    join,
    like,
    operate,
    piece,
    replace_text,
    where_in,
)
from analytics_core._engine.compile.templates.text import (
    CONTROL_CHARACTERS,
    MomentLiteral,
    MomentText,
    UserText,
    placeholder_piece,
    raw_text,
)
from analytics_core.errors import TemplateError

if TYPE_CHECKING:
    from jinja2.sandbox import SandboxedEnvironment


def _textual(method: str) -> Callable[..., Any]:
    def run(state: RenderState, value: object) -> Any:
        text = value if isinstance(value, str) else piece(value)
        state.text(len(text))
        return like(text, getattr(str(raw_text(text)), method)())

    return run


def _number(make: Callable[[str], float]) -> Callable[..., float]:
    def run(_state: RenderState, value: object, default: float = 0) -> float:
        raw = str(raw_text(value))
        try:
            return make(raw) if len(raw) <= 40 else default
        except ValueError:
            return default

    return run


def _to_datetime(
    _state: RenderState,
    value: object,
    format: str = "%Y-%m-%d %H:%M:%S",
) -> datetime | None:
    if value is None or isinstance(value, MomentText | MomentLiteral):
        return None if value is None else value.moment
    text, pattern = str(raw_text(value)), check_format(str(raw_text(format)))
    try:
        return datetime.strptime(text[:100], pattern)  # noqa: DTZ007 - times without zone are UTC throughout
    except (ValueError, re.error):  # re.error: a format that names something twice
        raise TemplateError("to_datetime: a value does not fit its format") from None


def _sorted(state: RenderState, value: object, reverse: bool = False) -> list[Any]:
    items = bounded(state, value)
    state.spend(8 * len(items))
    return sorted(items, key=lambda item: str(raw_text(item)), reverse=reverse)


def _unique(state: RenderState, value: object) -> list[Any]:
    return list(dict.fromkeys(bounded(state, value)))


def _edge(index: int) -> Callable[..., Any]:
    def run(_state: RenderState, value: Any) -> Any:
        return value[index] if isinstance(value, list | tuple) and value else None

    return run


def _extreme(choose: Callable[[list[Any]], Any]) -> Callable[..., Any]:
    def run(state: RenderState, value: object) -> Any:
        items = bounded(state, value)
        return choose(items) if items else None

    return run


def _rounded(_state: RenderState, value: float, precision: int = 0) -> float:
    return round(float(value), max(-15, min(15, int(precision))))


def _length(state: RenderState, value: Any) -> int:
    state.spend(1)
    return len(value)


def _absolute(_state: RenderState, value: float) -> float:
    return abs(value)


def _string(state: RenderState, value: object) -> str:
    text = piece(value)
    state.text(len(text))
    return text


def _each(state: RenderState, value: object, weight: int) -> list[Any]:
    items = bounded(state, value)
    state.spend(len(items) * weight)
    return items


def _weigh(state: RenderState, value: Any) -> Any:
    if isinstance(value, list | tuple | dict):
        state.spend(1 + len(value))
    return value


LANGUAGE_FILTERS: Final[Mapping[str, Callable[..., Any]]] = {
    "upper": _textual("upper"),
    "lower": _textual("lower"),
    "trim": _textual("strip"),
    "title": _textual("title"),
    "capitalize": _textual("capitalize"),
    "string": _string,
    "replace": replace_text,
    "join": lambda state, value, d="": join(state, d, value),
    "length": _length,
    "count": _length,
    "first": _edge(0),
    "last": _edge(-1),
    "int": _number(int),
    "float": _number(float),
    "round": _rounded,
    "abs": _absolute,
    "min": _extreme(min),
    "max": _extreme(max),
    "sum": _extreme(sum),
    "sort": _sorted,
    "unique": _unique,
    "list": bounded,
    "where_in": where_in,
    "to_datetime": _to_datetime,
    "_flat": flat,
    "_each": _each,
    "_concat": lambda state, value: join(state, "", value),
    "_weigh": _weigh,
}
"""The filters; those with a leading underscore are put in by the sandbox and cannot be written."""


MAX_NODES: Final = 5_000
MAX_DEPTH: Final = 60
STATE: Final = "_state"
"""The name under which a rendering's state travels; templates cannot write names with a leading underscore."""

_CALL_EXTRAS: Final = ("_loop_vars", "_block_vars")
"""What jinja adds to calls inside loops."""

_ALLOWED: Final = frozenset(
    {
        "Template", "Output", "TemplateData", "For", "If", "Assign", "Name", "Const", "List", "Tuple", "Dict", "Pair",
        "CondExpr", "Compare", "Operand", "And", "Or", "Not", "Neg", "Pos", "Add", "Sub", "Mul", "Div", "FloorDiv",
        "Mod", "Pow", "Concat", "Filter", "Test", "Getattr", "Getitem", "Slice", "Call", "Keyword",
    }
)  # fmt: skip
_TESTS: Final = frozenset(
    {"defined", "undefined", "none", "string", "number", "odd", "even", "true", "false", "boolean"}
)


def make_environment() -> SandboxedEnvironment:
    """Return the sandbox; one serves many threads, the state of a rendering is in its context."""
    from jinja2 import StrictUndefined, pass_context
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Sandbox(ImmutableSandboxedEnvironment):
        intercepted_binops = frozenset({"+", "-", "*", "/", "//", "%", "**"})

        def _parse(self, source: str, name: str | None, filename: str | None) -> Any:
            return restricted(super()._parse(source, name, filename))

        def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
            return operate(context.parent[STATE], operator, left, right)

        def getattr(self, obj: Any, attribute: str) -> Any:
            return _attribute(self, obj, attribute)

        def getitem(self, obj: Any, argument: Any) -> Any:
            return _item(self, obj, argument)

        def call(__self, __context: Any, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805 - as in the parent
            return _called(__context.parent[STATE], __obj, args, kwargs)

    env = Sandbox(undefined=StrictUndefined, optimized=False, cache_size=0, keep_trailing_newline=True)
    env.finalize = pass_context(lambda context, value: _finalized(context.parent[STATE], value))
    env.globals.clear()
    env.filters = {name: pass_context(_with_state(run)) for name, run in LANGUAGE_FILTERS.items()}
    env.filters["default"] = env.filters["d"] = _default
    env.tests = {name: test for name, test in env.tests.items() if name in _TESTS}
    return env


def _with_state(run: Callable[..., Any]) -> Callable[..., Any]:
    def apply(context: Any, *args: Any, **kwargs: Any) -> Any:
        state: RenderState = context.parent[STATE]
        state.spend(1)
        return run(state, *args, **kwargs)

    return apply


def _default(value: Any, default: Any = "", _boolean: bool = False) -> Any:
    from jinja2 import Undefined

    missing = value is None or isinstance(value, Undefined) or (_boolean and not value)
    return default if missing else value


def _finalized(state: RenderState, value: Any) -> str:
    placeholder = placeholder_piece(value) if state.holds else None
    text = piece(value) if placeholder is None else placeholder
    state.text(str.__len__(text))
    return text


def _attribute(env: SandboxedEnvironment, obj: Any, attribute: str) -> Any:
    _require(obj)
    try:
        return find_attribute(obj, attribute)
    except LookupError:
        if isinstance(obj, Mapping):
            return env.undefined(f"there is no {attribute!r} in it", name=attribute)
        raise TemplateError(f"templates cannot read {attribute!r} there") from None


def _item(env: SandboxedEnvironment, obj: Any, argument: Any) -> Any:
    _require(obj)
    try:
        if isinstance(obj, UserText):
            return UserText(obj.raw[argument])
        if isinstance(obj, str | list | tuple | dict):
            return obj[argument]
    except (LookupError, TypeError):
        return env.undefined("there is no such item", name=str(raw_text(argument)))
    raise TemplateError("templates cannot read items of that")


def _called(state: RenderState, obj: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    _require(obj)
    if not isinstance(obj, Macro):
        raise TemplateError("templates can call their macros only")
    state.spend(1)
    return obj.run(state, *args, **{name: value for name, value in kwargs.items() if name not in _CALL_EXTRAS})


def _require(obj: Any) -> None:
    from jinja2 import Undefined

    if isinstance(obj, Undefined):
        str(obj)  # raises, and names what is missing


# ---------------------------------------------------------------------------------------------------------- the tree
def restricted(tree: Any) -> Any:
    """Return the parsed template after checking every node, with the budget's own filters put in."""
    for count, (node, depth) in enumerate(_walk(tree)):
        if count > MAX_NODES or depth > MAX_DEPTH:
            raise TemplateError("a template is too long or nested too deeply")
        _reject(node)
    return _with_budget(tree)


def _walk(tree: Any) -> Iterator[tuple[Any, int]]:
    waiting = [(tree, 0)]
    while waiting:
        node, depth = waiting.pop()
        yield node, depth
        waiting.extend((child, depth + 1) for child in node.iter_child_nodes())


def names_in(tree: Any) -> set[str]:
    """Return the names that a parsed template uses."""
    return {node.name for node, _ in _walk(tree) if type(node).__name__ == "Name"}


def _reject(node: Any) -> None:
    kind = type(node).__name__
    where = f"(line {node.lineno})"
    if kind not in _ALLOWED:
        raise TemplateError(f"templates cannot use {kind.lower()} {where}")
    if kind == "For" and node.recursive:
        raise TemplateError(f"templates cannot use recursive loops {where}")
    if kind in ("Name", "Filter", "Test") and node.name.startswith("_"):
        raise TemplateError(f"templates know no name {node.name!r} {where}")
    if kind == "Name" and node.ctx == "store" and node.name in OWN_NAMES:
        raise TemplateError(f"templates cannot give {node.name!r} another meaning {where}")
    if kind == "Const" and isinstance(node.value, str) and CONTROL_CHARACTERS.search(node.value):
        raise TemplateError(f"a text in a template holds control characters {where}")


def _with_budget(tree: Any) -> Any:
    """Let loops, comparisons and whatever grows pay: each is led through a filter that knows the rendering's state."""
    from jinja2 import nodes
    from jinja2.visitor import NodeTransformer

    def through(node: Any, name: str, *args: nodes.Expr) -> nodes.Filter:
        return nodes.Filter(node, name, list(args), [], None, None, lineno=node.lineno)

    class StepBudget(NodeTransformer):
        def visit_For(self, node: nodes.For) -> nodes.Node:  # noqa: N802 - jinja calls it so
            written = sum(len(data.data) for data in node.find_all(nodes.TemplateData))
            weight = 1 + sum(1 for _ in node.find_all(nodes.Node)) + written // 4
            self.generic_visit(node)
            node.iter = through(node.iter, "_each", nodes.Const(weight))
            return node

        def visit_Operand(self, node: nodes.Operand) -> nodes.Node:  # noqa: N802 - jinja2 finds visitors by the names of nodes
            self.generic_visit(node)
            node.expr = through(node.expr, "_weigh")
            return node

        def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802 - jinja2 finds visitors by the names of nodes
            self.generic_visit(node)
            return through(nodes.List(node.nodes, lineno=node.lineno), "_concat")

        def visit_List(self, node: nodes.List) -> nodes.Node:  # noqa: N802 - jinja2 finds visitors by the names of nodes
            self.generic_visit(node)
            return through(node, "_flat")

        def visit_Dict(self, node: nodes.Dict) -> nodes.Node:  # noqa: N802 - jinja2 finds visitors by the names of nodes
            self.generic_visit(node)
            return through(node, "_flat")

        def visit_Tuple(self, node: nodes.Tuple) -> nodes.Node:  # noqa: N802 - jinja2 finds visitors by the names of nodes
            self.generic_visit(node)
            return node if node.ctx == "store" else through(node, "_flat")

    return StepBudget().visit(tree)
