"""Small faults that a source file could have: each is one change of its syntax tree, written into its text."""

from __future__ import annotations

import ast
import copy
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

COMPARISONS: Final = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
}
ARITHMETIC: Final = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
KEY: Final = re.compile(r"[\w.:/%*-]{1,40}")
"""A text that a program reads, not a message: one word without blanks."""
PROSE: Final = {"description", "title", "hint", "message", "reason", "help", "doc", "strict", "stacklevel", "repr"}
"""Keywords whose values are for readers, or guard what types guard, too."""
TYPING_CALLS: Final = {"TypeVar", "ParamSpec", "NewType", "cast", "getLogger", "TypedDict"}
LOGGING: Final = re.compile(r"(_?LOG|_?LOGGER|logging|logger|warnings)\.")
_DEEPEST: Final = 3
"""So many times a value outside of functions may be made of another."""
MESSAGE_CALLS: Final = re.compile(r"\w*(Error|Warning|Exception)|assert_never")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One fault of one place: file, scope, operator and both texts name it; `start`, `end` and `text` make it."""

    file: str
    scope: str
    operator: str
    before: str
    after: str
    line: int
    column: int
    lines: tuple[int, int]
    """First and last line of the statement's part that has to run for the fault to matter."""
    readers: frozenset[int]
    """The lines that read the name which a statement outside of functions gives a value, or one made of it."""
    start: int
    end: int
    text: str

    @property
    def name(self) -> tuple[str, str, str, str, str]:
        """What stays the same when lines move."""
        return (self.file, self.scope, self.operator, self.before, self.after)

    def apply(self, source: bytes) -> bytes:
        """Return the file's text with the fault."""
        return source[: self.start] + self.text.encode() + source[self.end :]


def mutants_of(file: str, source: bytes) -> list[Mutant]:
    """Return each fault that the operators know for a file, in the order of its text."""
    collector = _Collector(file, source)
    collector.collect(ast.parse(source))
    return sorted(collector.found, key=lambda mutant: (mutant.start, mutant.end, mutant.operator))


def _comparison(node: ast.AST) -> Iterator[ast.AST]:
    if not isinstance(node, ast.Compare):
        return
    for number, operator in enumerate(node.ops):
        changed = copy.deepcopy(node)
        changed.ops[number] = COMPARISONS[type(operator)]()
        yield changed


def _boolean(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.BoolOp):
        yield ast.BoolOp(op=ast.Or() if isinstance(node.op, ast.And) else ast.And(), values=node.values)


def _negation(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node.operand


def _constant(node: ast.AST) -> Iterator[ast.AST]:
    value = node.value if isinstance(node, ast.Constant) else None
    if isinstance(value, bool):
        yield ast.Constant(not value)
    elif isinstance(value, int | float):
        yield ast.Constant(value + 1)
    elif isinstance(value, str) and (not value or KEY.fullmatch(value)):
        yield ast.Constant(value + "_x")


def _arithmetic(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
        yield ast.BinOp(left=node.left, op=ARITHMETIC[type(node.op)](), right=node.right)


def _returned(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Return) and node.value is not None and ast.unparse(node.value) != "None":
        yield ast.Return(ast.Constant(None))


def _deletion(node: ast.AST) -> Iterator[ast.AST]:
    call = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call | ast.Await)
    if call or isinstance(node, ast.Continue | ast.Raise | ast.AugAssign):
        yield ast.Pass()


OPERATORS: Final[dict[str, Callable[[ast.AST], Iterator[ast.AST]]]] = {
    "comparison": _comparison,
    "boolean": _boolean,
    "negation": _negation,
    "constant": _constant,
    "arithmetic": _arithmetic,
    "return": _returned,
    "deletion": _deletion,
}


class _Collector(ast.NodeVisitor):
    """Walks through what a test could notice: no annotations, docstrings, messages, logs or `__repr__`."""

    def __init__(self, file: str, source: bytes) -> None:
        self.found: list[Mutant] = []
        self._file = file
        self._starts = [0]
        for line in source.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))
        self._scope: tuple[str, ...] = ()
        self._lines = (1, 1)
        self._readers: dict[str, set[int]] = defaultdict(set)
        self._target = ""

    def collect(self, module: ast.Module) -> None:
        """Collect the faults of a module."""
        reads = [
            (node.id, node.lineno, _assigned_name(statement))
            for statement in module.body
            for node in ast.walk(statement)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        ]
        for _ in range(_DEEPEST):
            for name, line, target in reads:
                self._readers[name] |= {line, *self._readers[target]}
        self.visit(module)

    def visit(self, node: ast.AST) -> None:
        """Collect the faults of a node, then those of its parts."""
        if _is_skipped(node):
            return
        outside = self._scope, self._lines
        if isinstance(node, ast.stmt):
            self._lines = _own_lines(node)
            self._target = "" if self._scope else _assigned_name(node)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            self._scope = (*self._scope, node.name)
        for operator, changes in OPERATORS.items():
            for changed in changes(node):
                self._add(node, operator, changed)
        for test in _negatable(node):
            self._add(test, "negation", ast.UnaryOp(op=ast.Not(), operand=test))
        for part in self._parts(node):
            self.visit(part)
        self._scope, self._lines = outside

    def _parts(self, node: ast.AST) -> Iterator[ast.AST]:
        if isinstance(node, ast.Raise | ast.JoinedStr):
            return
        if isinstance(node, ast.Call) and MESSAGE_CALLS.fullmatch(_called(node)):
            return
        types = isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr) and not self._scope
        hidden = {"annotation", "returns", "decorator_list", "keywords"} if isinstance(node, ast.ClassDef) else set()
        for name, value in ast.iter_fields(node):
            if types or name in hidden | {"annotation", "returns", "decorator_list"}:
                continue
            yield from (part for part in (value if isinstance(value, list) else [value]) if isinstance(part, ast.AST))

    def _add(self, node: Any, operator: str, changed: ast.AST) -> None:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr) and not self._scope:
            return  # a name for a union of types
        after = ast.unparse(ast.fix_missing_locations(changed))
        bare = isinstance(changed, ast.stmt | ast.Constant)
        mutant = Mutant(
            file=self._file,
            scope=".".join(self._scope),
            operator=operator,
            before=_shortened(ast.unparse(node)),
            after=_shortened(after),
            line=node.lineno,
            column=node.col_offset,
            lines=self._lines,
            readers=frozenset(self._readers.get(self._target, ())),
            start=self._starts[node.lineno - 1] + node.col_offset,
            end=self._starts[node.end_lineno - 1] + node.end_col_offset,
            text=after if bare else f"({after})",
        )
        self.found.append(mutant)


def _negatable(node: ast.AST) -> list[ast.expr]:
    """Return the conditions whose opposite no other operator makes."""
    tests = [node.test] if isinstance(node, ast.If | ast.IfExp) else []
    tests += node.ifs if isinstance(node, ast.comprehension) else []
    exact = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot, ast.In, ast.NotIn)
    return [
        test
        for test in tests
        if not (isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not))
        and not (isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], exact))
    ]


def _is_skipped(node: ast.AST) -> bool:
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant) or bool(LOGGING.match(ast.unparse(node)))
    if isinstance(node, ast.FunctionDef):
        return node.name in {"__repr__", "__str__"} or any("overload" in ast.unparse(d) for d in node.decorator_list)
    if isinstance(node, ast.If):
        return "TYPE_CHECKING" in ast.unparse(node.test)
    if isinstance(node, ast.Assign):
        return ast.unparse(node.targets[0]) in {"__all__", "__slots__"}
    if isinstance(node, ast.Call):
        return _called(node) in TYPING_CALLS
    if isinstance(node, ast.Subscript):
        return ast.unparse(node.value).rpartition(".")[2] in {"Literal", "Annotated"}
    if isinstance(node, ast.keyword):
        return node.arg in PROSE
    return isinstance(node, ast.Import | ast.ImportFrom | ast.Assert)


def _called(node: ast.Call) -> str:
    return ast.unparse(node.func).rpartition(".")[2]


def _assigned_name(node: ast.stmt) -> str:
    target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
    return target.id if isinstance(target, ast.Name) else ""


def _own_lines(node: ast.stmt) -> tuple[int, int]:
    """Return the lines of a statement without those of its body."""
    body = getattr(node, "body", None) or getattr(node, "cases", None)
    if not body:
        return (node.lineno, node.end_lineno or node.lineno)
    first = body[0].pattern if isinstance(body[0], ast.match_case) else body[0]
    return (node.lineno, max(node.lineno, first.lineno - 1))


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 100 else line[:97] + "..."
