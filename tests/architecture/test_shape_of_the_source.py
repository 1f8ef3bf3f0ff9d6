"""The house rules that no linter knows: sizes, nesting, state, clocks, where heavy packages may be imported."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.architecture.source import PACKAGE, Function, SourceFile, house_rules, source_files

LONGEST_FUNCTION = 50
LONGEST_FILE = 500
DEEPEST_NESTING = 3
BLOCKS = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.Match)


def test_no_function_is_longer_than_fifty_lines() -> None:
    long = [
        f"{file.at(function)} {function.name}: {length} lines"
        for file in source_files()
        for function in file.functions()
        if (length := (function.end_lineno or 0) - function.lineno + 1) > LONGEST_FUNCTION
    ]
    assert long == []


def test_no_file_is_longer_than_five_hundred_lines() -> None:
    assert [f"{file.path}: {len(file.lines)} lines" for file in source_files() if len(file.lines) > LONGEST_FILE] == []


def test_no_function_nests_deeper_than_three_blocks() -> None:
    deep = [
        f"{file.at(function)} {function.name}: {depth} levels"
        for file in source_files()
        for function in file.functions()
        if (depth := _depth(function.body)) > DEEPEST_NESTING
    ]
    assert deep == []


def _depth(body: list[ast.stmt]) -> int:
    return max((_depth_of(statement) for statement in body), default=0)


def _depth_of(statement: ast.stmt) -> int:
    if not isinstance(statement, BLOCKS):
        return 0
    if isinstance(statement, ast.If) and len(statement.orelse) == 1 and isinstance(statement.orelse[0], ast.If):
        return max(1 + _depth(statement.body), _depth_of(statement.orelse[0]))  # an elif is no deeper than its if
    return 1 + max(_depth(body) for body in _bodies(statement))


def _bodies(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        yield getattr(statement, name, [])
    for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        yield part.body


def test_a_reason_stands_beside_each_ignore_of_a_lint_rule() -> None:
    bare = re.compile(r"# noqa(?!: [A-Z]+[0-9]+(, [A-Z]+[0-9]+)* - \w)")
    found = [
        f"{file.path}:{number}"
        for file in source_files()
        for number, line in enumerate(file.lines, start=1)
        if bare.search(line)
    ]
    assert found == []


def test_modules_keep_no_state() -> None:
    """No container to be filled later, no cache, no thread local, no `global`."""
    found = [
        f"{file.at(node)} {ast.unparse(node).splitlines()[0]}" for file in source_files() for node in _state(file.tree)
    ]
    assert found == []


STATEFUL_CALL = re.compile(
    r"\b(lru_cache|functools\.cache|ContextVar|threading\.local|WeakKeyDictionary|defaultdict)\b"
)


def _state(tree: ast.Module) -> Iterator[ast.stmt]:
    for node in tree.body:
        value = getattr(node, "value", None) if isinstance(node, ast.Assign | ast.AnnAssign) else None
        if isinstance(value, ast.Call) and (STATEFUL_CALL.search(ast.unparse(value)) or _makes_empty(value)):
            yield node
        if (isinstance(value, ast.Dict) and not value.keys) or (isinstance(value, ast.List) and not value.elts):
            yield node
    for node in ast.walk(tree):
        if isinstance(node, ast.Global):
            yield node
        if isinstance(node, Function) and any(
            re.search(r"\b(lru_cache|cache)\b", ast.unparse(one)) for one in node.decorator_list
        ):
            yield node


def _makes_empty(call: ast.Call) -> bool:
    return ast.unparse(call) in ("dict()", "list()", "set()")


def test_imports_inside_functions_are_of_the_packages_listed_for_the_module() -> None:
    allowed: dict[str, list[str]] = house_rules()["imports_inside_functions"]
    found = [
        f"{file.at(node)} {ast.unparse(node)}"
        for file in source_files()
        for function in file.functions()
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for package in _packages(node)
        if not any(_is_inside(file.module, place) and package in packages for place, packages in allowed.items())
    ]
    assert sorted(set(found)) == []


def test_the_list_of_imports_inside_functions_names_nothing_that_is_gone() -> None:
    allowed: dict[str, list[str]] = house_rules()["imports_inside_functions"]
    used = {
        (file.module, package)
        for file in source_files()
        for function in file.functions()
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for package in _packages(node)
    }
    stale = [
        f"{place}: {package}"
        for place, packages in allowed.items()
        for package in packages
        if not any(_is_inside(module, place) and package == name for module, name in used)
    ]
    assert stale == []


def _is_inside(module: str, place: str) -> bool:
    return module == place or module.startswith(f"{place}.")


def _packages(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or "."]
    return (name.split(".")[0] for name in names)


def test_only_the_clock_adapter_reads_the_time_of_day() -> None:
    reading = re.compile(r"^(datetime|dt\.datetime|datetime\.datetime|date|time)\.(now|utcnow|today|time|time_ns)$")
    found = [
        file.at(node)
        for file in source_files()
        if file.module != "analytics_core._core.adapters.clock"
        for node in file.nodes
        if isinstance(node, ast.Call) and reading.match(ast.unparse(node.func))
    ]
    assert found == []


def test_nothing_but_the_command_line_and_what_draws_pictures_reads_the_environment() -> None:
    """A process that draws is given the variables that an interpreter starts with, and no other."""
    readers = ("__main__", "_core.adapters.vega_renderer", "_core.adapters.vega_worker")
    found = [
        file.at(node)
        for file in source_files()
        if file.module.removeprefix("analytics_core.") not in readers
        for node in file.nodes
        if isinstance(node, ast.Attribute) and ast.unparse(node) in ("os.environ", "os.getenv")
    ]
    assert found == []


def test_every_broad_except_gives_its_reason_beside_it() -> None:
    found = [
        file.at(node)
        for file in source_files()
        for node in file.nodes
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or re.search(r"\b(Base)?Exception\b", ast.unparse(node.type)))
        and not re.search(r"#.*\w{3,}.*\s\w{3,}", file.lines[node.lineno - 1])
    ]
    assert found == []


def test_every_public_class_and_function_has_a_docstring() -> None:
    missing = [
        f"{file.at(node)} {name}" for file in source_files() for name, node in _public(file) if not _documented(node)
    ]
    assert missing == []


def _public(file: SourceFile) -> Iterator[tuple[str, ast.ClassDef | Function]]:
    for node in file.tree.body:
        if isinstance(node, ast.ClassDef | Function) and not node.name.startswith("_"):
            yield node.name, node
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from ((f"{node.name}.{part.name}", part) for part in node.body if _is_public_method(part))


def _is_public_method(node: ast.stmt) -> bool:
    if not isinstance(node, Function) or node.name.startswith("_"):
        return False
    return not {"override", "overload"} & {ast.unparse(decorator) for decorator in node.decorator_list}


def _documented(node: ast.ClassDef | Function) -> bool:
    return ast.get_docstring(node) is not None


def test_every_module_says_what_it_is() -> None:
    assert [file.path for file in source_files() if not ast.get_docstring(file.tree)] == []


def test_the_package_ships_its_types() -> None:
    assert (PACKAGE / "py.typed").exists()


MAKERS = {
    "Admission": "analytics_core._engine.gate.gate",
    "DatasetAdmission": "analytics_core._engine.gate.gate",
    "AdmittedStatement": "analytics_core._engine.execution.connections",
}
ROADS_TO_DATABASES = {"engine": "analytics_core._engine.execution.connections"}
"""Methods of a connector that give connections, and the module that may call them."""


def test_nothing_reaches_a_database_without_an_admission_of_the_gate() -> None:
    elsewhere = [
        file.at(node)
        for file in source_files()
        if ".testing." not in file.module
        for node in file.nodes
        if isinstance(node, ast.Call) and _may_be_called_in(node.func) not in (None, file.module)
    ]
    assert elsewhere == []


def test_every_maker_and_every_road_to_a_database_is_used_where_it_may_be() -> None:
    """A class or a method that is called otherwise now would be free to use."""
    used = {
        (module, ast.unparse(node.func).rpartition(".")[2])
        for file in source_files()
        for node in file.nodes
        if isinstance(node, ast.Call) and (module := _may_be_called_in(node.func)) == file.module
    }
    assert used == {(module, name) for name, module in {**MAKERS, **ROADS_TO_DATABASES}.items()}


def _may_be_called_in(called: ast.expr) -> str | None:
    """Return the module that alone may make this call; None: any may."""
    if isinstance(called, ast.Attribute):
        owner = called.value
        name = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")
        return ROADS_TO_DATABASES.get(called.attr) if name.endswith("connector") else MAKERS.get(called.attr)
    return MAKERS.get(called.id) if isinstance(called, ast.Name) else None
