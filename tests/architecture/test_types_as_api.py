"""What type checkers read beside the code says the same as the code."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import get_args, get_type_hints

import pytest
from pydantic import BaseModel
from tests.support.doors import NAMESPACES, hints_of, imported_for_checkers, kind_of

import analytics_core
from analytics_core import Settings, models
from analytics_core._core.connect import SettingsFields
from analytics_core._core.first_administrator import PersonNames
from analytics_core.models.administrator import FirstAdministrator

PACKAGE = Path(analytics_core.__file__).parent


def defined_names(module: Path) -> Iterator[str]:
    """Yield the public names that a module defines: what `import *` of it means to type checkers."""
    for node in ast.parse(module.read_text(encoding="utf-8")).body:
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AnnAssign(target=ast.Name(id=name)):
                names = [name]
            case ast.Assign(targets=targets):
                names = [target.id for target in targets if isinstance(target, ast.Name)]
            case _:
                names = []
        yield from (name for name in names if not name.startswith("_"))


def test_the_names_of_the_models_are_those_that_type_checkers_see() -> None:
    seen: list[tuple[str, str]] = []
    for home, name in imported_for_checkers(PACKAGE / "models" / "__init__.py"):
        path = PACKAGE.parent.joinpath(*home.split(".")).with_suffix(".py")
        seen += ((home, known) for known in (defined_names(path) if name == "*" else [name]))
    assert sorted(seen) == sorted((f"analytics_core.models.{home}", name) for name, home in models._HOME.items())
    assert [name for _, name in seen if not hasattr(models, name)] == []


def test_the_names_of_the_package_are_those_that_type_checkers_see() -> None:
    seen = [name for _, name in imported_for_checkers(PACKAGE / "__init__.py")]
    assert sorted(seen) == sorted(analytics_core.__all__)


def test_every_model_that_a_method_takes_or_gives_is_named() -> None:
    for name in NAMESPACES:
        kind = kind_of(name)
        lists = [one for base in getattr(kind, "__orig_bases__", ()) for one in models_in(base)]
        assert [item.__name__ for item in lists if getattr(models, item.__name__, None) != item] == [], name
        for method, member in inspect.getmembers(kind, inspect.isfunction):
            for hint in () if method.startswith("_") else hints_of(member).values():
                unnamed = [
                    found.__name__ for found in models_in(hint) if getattr(models, found.__name__, None) != found
                ]
                assert unnamed == [], f"{name}.{method}"


def models_in(hint: object) -> Iterator[type[BaseModel]]:
    if isinstance(hint, type) and issubclass(hint, BaseModel):
        yield hint
    for part in get_args(hint):
        yield from models_in(part)


def test_the_keywords_of_connect_are_the_fields_of_the_settings() -> None:
    assert get_type_hints(SettingsFields) == get_type_hints(Settings)
    assert SettingsFields.__required_keys__ == frozenset()


def test_the_names_of_the_first_administrator_are_those_of_the_model() -> None:
    assert set(PersonNames.__annotations__) == set(FirstAdministrator.model_fields) - {"username"}


@pytest.mark.parametrize("module", [analytics_core, models])
def test_an_unknown_name_is_an_attribute_error(module: object) -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        module.no_such_name  # type: ignore[attr-defined]  # noqa: B018 - reading it is the act


def test_the_package_says_that_it_is_typed() -> None:
    assert (PACKAGE / "py.typed").exists()
