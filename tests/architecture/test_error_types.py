"""The error types are the contract's 47, copied here by hand, and five of ours."""

from __future__ import annotations

import ast
import copy
import inspect
import json
import pickle
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

from tests.architecture.source import PROJECT, source_files
from tests.support.cases import for_each

from analytics_core import errors
from analytics_core._tools.typed_json import error_from_json, error_to_json
from analytics_core.errors import AnalyticsError, DatabaseError, ErrorType, PayloadSchemaError, Problem

CONTRACT_TEXT = """
FRONTEND_CSRF_ERROR FRONTEND_NETWORK_ERROR FRONTEND_TIMEOUT_ERROR GENERIC_DB_ENGINE_ERROR COLUMN_DOES_NOT_EXIST_ERROR
TABLE_DOES_NOT_EXIST_ERROR SCHEMA_DOES_NOT_EXIST_ERROR CONNECTION_INVALID_USERNAME_ERROR
CONNECTION_INVALID_PASSWORD_ERROR CONNECTION_INVALID_HOSTNAME_ERROR CONNECTION_PORT_CLOSED_ERROR
CONNECTION_INVALID_PORT_ERROR CONNECTION_HOST_DOWN_ERROR CONNECTION_ACCESS_DENIED_ERROR
CONNECTION_UNKNOWN_DATABASE_ERROR CONNECTION_DATABASE_PERMISSIONS_ERROR CONNECTION_MISSING_PARAMETERS_ERROR
OBJECT_DOES_NOT_EXIST_ERROR SYNTAX_ERROR CONNECTION_DATABASE_TIMEOUT VIZ_GET_DF_ERROR UNKNOWN_DATASOURCE_TYPE_ERROR
FAILED_FETCHING_DATASOURCE_INFO_ERROR TABLE_SECURITY_ACCESS_ERROR DATASOURCE_SECURITY_ACCESS_ERROR
DATABASE_SECURITY_ACCESS_ERROR QUERY_SECURITY_ACCESS_ERROR MISSING_OWNERSHIP_ERROR USER_ACTIVITY_SECURITY_ACCESS_ERROR
BACKEND_TIMEOUT_ERROR DATABASE_NOT_FOUND_ERROR MISSING_TEMPLATE_PARAMS_ERROR INVALID_TEMPLATE_PARAMS_ERROR
RESULTS_BACKEND_NOT_CONFIGURED_ERROR DML_NOT_ALLOWED_ERROR INVALID_CTAS_QUERY_ERROR INVALID_CVAS_QUERY_ERROR
SQLLAB_TIMEOUT_ERROR RESULTS_BACKEND_ERROR ASYNC_WORKERS_ERROR ADHOC_SUBQUERY_NOT_ALLOWED_ERROR GENERIC_COMMAND_ERROR
GENERIC_BACKEND_ERROR INVALID_PAYLOAD_FORMAT_ERROR INVALID_PAYLOAD_SCHEMA_ERROR REPORT_NOTIFICATION_ERROR
RESULT_TOO_LARGE_ERROR
"""
CONTRACT = CONTRACT_TEXT.split()
OURS = {
    "OAUTH2_REDIRECT",
    "OAUTH2_REDIRECT_ERROR",
    "INVALID_SQL_ERROR",
    "DASHBOARD_SECURITY_ACCESS_ERROR",
    "CHART_SECURITY_ACCESS_ERROR",
}


def test_the_contract_has_forty_seven_types_and_all_are_here() -> None:
    assert len(CONTRACT) == len(set(CONTRACT)) == 47
    assert {kind.value for kind in ErrorType} == {*CONTRACT, *OURS}


def test_every_type_is_written_as_it_is_named() -> None:
    assert [kind for kind in ErrorType if kind.name != kind.value] == []


for file in source_files():
    if re.search(r"^class \w+Error\b", file.text, re.MULTILINE):
        import_module(file.module)  # most are loaded with their first use


def every_class(root: type[AnalyticsError] = AnalyticsError) -> Iterator[type[AnalyticsError]]:
    yield root
    for kind in root.__subclasses__():
        yield from every_class(kind)


FACTS: dict[str, Any] = {
    "problems": [Problem(path="queries.0", message="is wrong")],
    "known": ("country", "city"),
    "labels": ("a", "b"),
}


def an_error(kind: type[AnalyticsError]) -> AnalyticsError:
    """Return an error of a class, with a text for every argument that it needs."""
    needed = [
        parameter
        for parameter in inspect.signature(kind).parameters.values()
        if parameter.default is inspect.Parameter.empty or parameter.name in FACTS
    ]
    named = {p.name: FACTS.get(p.name, p.name) for p in needed if p.kind is inspect.Parameter.KEYWORD_ONLY}
    return kind(*(FACTS.get(p.name, p.name) for p in needed if p.name not in named), **named)


COPIES: list[Callable[[AnalyticsError], AnalyticsError]] = [
    copy.copy,
    copy.deepcopy,
    lambda error: error_from_json(json.loads(json.dumps(error_to_json(error)))),
    *(lambda error, p=p: pickle.loads(pickle.dumps(error, p)) for p in range(pickle.HIGHEST_PROTOCOL + 1)),
]


@for_each("kind", dict.fromkeys(every_class()), ids=lambda kind: kind.__name__)
def test_every_error_can_be_copied_pickled_and_written_as_json(kind: type[AnalyticsError]) -> None:
    error = an_error(kind).at("chart 7")
    for make in COPIES:
        same = make(error)
        assert type(same) is kind
        assert (same.args, same.__dict__) == (error.args, error.__dict__)
        assert (str(same), same.to_payload()) == (str(error), error.to_payload())


def test_no_two_classes_share_a_name() -> None:
    kinds = {kind for kind in every_class() if kind.__module__.startswith("analytics_core.")}
    assert len({kind.__name__ for kind in kinds}) == len(kinds)


def test_a_copied_error_keeps_its_facts_apart_from_the_first_one() -> None:
    error = PayloadSchemaError(shape="DatabasePost", problems=[Problem(path="a", message="b")])
    same = copy.deepcopy(error)
    same.extra["more"] = 1
    assert "more" not in error.extra
    assert same.problems == error.problems


def test_a_copy_leaves_behind_what_caused_an_error() -> None:
    error = DatabaseError("no")
    error.__cause__ = ValueError("postgresql://me:secret@host")
    for make in COPIES:
        assert make(error).__cause__ is None


def test_the_tree_of_errors_names_every_class_and_no_other() -> None:
    modules = {kind.__module__ for kind in (errors.GoneError, AnalyticsError, DatabaseError, errors.ReportError)}
    ours = {kind.__name__ for kind in every_class() if kind.__module__ in modules}
    assert set(re.findall(r"\b[A-Z]\w+Error\b", errors.__doc__ or "")) == ours


# ----------------------------------------------------------------------------------------------- codes, and what passes
PUBLIC = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, AnalyticsError)]
PAGE = PROJECT / "docs" / "reference" / "errors.md"


def test_every_public_class_has_a_code_of_its_own() -> None:
    codes = [kind.code for kind in PUBLIC]
    assert len(set(codes)) == len(codes)
    assert [code for code in codes if not re.fullmatch(r"[A-Z][A-Z0-9_]*[A-Z0-9]", code)] == []


def test_a_code_that_is_a_type_of_the_contract_is_the_type_of_its_class() -> None:
    types = {kind.value for kind in ErrorType}
    assert [kind for kind in PUBLIC if kind.code in types and kind.code != kind.default_type.value] == []


def test_the_page_lists_every_class_with_code_type_status_and_whether_it_passes() -> None:
    row = r"^\| `(\w+)` \| `(\w+)` \| (?:`(\w+)`|as code) \| (\d+) \| (yes|no) \|$"
    listed = re.findall(row, PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert {
        name: (code, kind or code, int(status), passes == "yes") for name, code, kind, status, passes in listed
    } == {kind.__name__: (kind.code, kind.default_type.value, kind.status, kind.retryable) for kind in PUBLIC}
    assert len(listed) == len(PUBLIC)


@for_each("kind", PUBLIC, ids=lambda kind: kind.__name__)
def test_an_error_has_what_its_class_tells_unless_it_was_diagnosed(kind: type[AnalyticsError]) -> None:
    error = an_error(kind)
    assert (error.code, error.retryable) == (kind.code, kind.retryable)


@for_each(
    ("error_type", "passes"),
    [
        (ErrorType.SYNTAX_ERROR, False),
        (ErrorType.CONNECTION_INVALID_PASSWORD_ERROR, False),
        (ErrorType.CONNECTION_HOST_DOWN_ERROR, True),
        (ErrorType.CONNECTION_PORT_CLOSED_ERROR, True),
        (ErrorType.CONNECTION_DATABASE_TIMEOUT, True),
    ],
)
def test_a_diagnosed_error_has_the_code_of_its_diagnosis(error_type: ErrorType, passes: bool) -> None:
    for make in (lambda error: error, *COPIES):
        error = make(DatabaseError("no", error_type=error_type))
        assert (error.code, error.retryable) == (error_type.value, passes)


def test_a_class_of_a_host_has_the_code_of_its_base_or_one_of_its_own_and_keeps_it_as_json() -> None:
    class OfAHost(errors.AccessError):
        """What a host's policy raises."""

    class WithACode(errors.AccessError, code="NOT_ON_SUNDAYS_ERROR"):
        """What a host's policy raises on some days."""

        retryable = True

    assert OfAHost.code == errors.AccessError.code
    read = error_from_json(json.loads(json.dumps(error_to_json(WithACode("closed")))))
    assert (type(read), read.code, read.retryable) == (errors.AccessError, "NOT_ON_SUNDAYS_ERROR", True)


def test_an_error_that_an_older_version_wrote_has_the_code_of_its_class() -> None:
    written = error_to_json(errors.StoreUnavailableError("gone"))
    old = {name: fact for name, fact in written["facts"].items() if name not in ("code", "retryable")}
    read = error_from_json({**written, "facts": old})
    assert (read.code, read.retryable) == ("STORE_UNAVAILABLE_ERROR", True)


# -------------------------------------------------------------------------------- what raises the types of the contract
ROW = r"^\| `([A-Z0-9_]+)` \| ([^|`]+) \| (?:`([\w/]+\.py)::(\w+)`)? ?\|$"
NOT_RAISED = "not raised"


def rows_of_types() -> dict[str, tuple[str, str, str]]:
    """Return type -> when it is raised, and the file and name of its test, from the page."""
    found = re.findall(ROW, PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len({row[0] for row in found}) == len(found)
    return {kind: (reason, path, test) for kind, reason, path, test in found}


def raised_types() -> set[str]:
    """Return the types that code names, or that are those of a class that it makes."""
    classes = {kind.__name__: kind for kind in PUBLIC}
    found = set()
    for file in source_files():
        parts = file.path.split("/")
        if parts[-1] in ("errors/base.py", "errors.py") or "testing" in parts:
            continue
        for node in file.nodes:
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in classes:
                found.add(classes[node.func.id].default_type.value)
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                found |= {node.attr} if node.value.id in ("ErrorType", "_E") else set()
    return found


def test_the_page_has_a_row_for_each_type_of_the_contract() -> None:
    assert list(rows_of_types()) == CONTRACT


def test_the_types_that_the_page_says_are_raised_are_raised_and_no_others() -> None:
    kinds = {kind for kind, (reason, _, _) in rows_of_types().items() if not reason.startswith(NOT_RAISED)}
    assert kinds == raised_types() & set(CONTRACT)


@for_each("kind", CONTRACT)
def test_each_type_that_is_raised_names_a_test_that_knows_it(kind: str) -> None:
    reason, path, name = rows_of_types()[kind]
    if reason.startswith(NOT_RAISED):
        assert (path, name) == ("", "")
        return
    text = (PROJECT / path).read_text(encoding="utf-8")
    assert name in {node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}
    of_this_type = [error.__name__ for error in PUBLIC if error.default_type.value == kind]
    assert re.search(rf"\b(?:{'|'.join([kind, *of_this_type])})\b", text)
