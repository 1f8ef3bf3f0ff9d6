"""Looks up the columns that a fragment names, and writes each qualified and quoted as the dataset spells it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from analytics_core._compile.fragments.own_dialect import is_bare_call
from analytics_core._engines.spec import EngineSpec
from analytics_core.errors import UnknownColumnError


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FragmentNames:
    """The names a fragment may use: physical columns, under the alias by which the statement knows the source.

    It is compared by identity, which makes it a quick part of keys: a dataset view has one.

    Attributes:
        alias: with which each column is qualified.
        columns: physical column names.
        tables: names by which a user may have qualified a column: `orders`, `shop.orders`.
    """

    alias: str
    columns: tuple[str, ...]
    tables: tuple[str, ...] = ()


def qualify_columns(tree: exp.Expr, names: FragmentNames, *, spec: EngineSpec, place: str) -> exp.Expr:
    """Return the tree with each column as `alias."Exact Name"`; columns inside sub-queries stay as they are.

    Raises:
        UnknownColumnError: a name that the dataset does not have.
    """
    for column in list(_own_columns(tree)):
        replacement = _resolved(column, names, spec=spec, place=place)
        if column is tree:
            tree = replacement
        elif type(replacement) is exp.Column:
            _become(column, replacement)
        else:
            column.replace(replacement)
    return tree


def _become(column: exp.Column, other: exp.Column) -> None:
    """Change a column in its place: replacing thousands in one list would walk through the list for each."""
    for key in {**column.args, **other.args}:
        column.set(key, other.args.get(key))


def _own_columns(tree: exp.Expr) -> Iterator[exp.Column]:
    for node in tree.walk(prune=lambda one: isinstance(one, exp.Query)):
        if isinstance(node, exp.Column):
            yield node


def _resolved(column: exp.Column, names: FragmentNames, *, spec: EngineSpec, place: str) -> exp.Expr:
    parts = [part for part in column.parts if isinstance(part, exp.Identifier)]
    own = _own_parts(parts, names, spec)
    found = _find(own[0], names.columns) if own else None
    if found is None and len(parts) == 1 and is_bare_call(column, spec.syntax):
        return exp.Anonymous(this=column.name, expressions=[])
    if found is None or (len(own) > 1 and not spec.syntax.reads_fields):
        raise _unknown(column, own or parts, names, place)
    node: exp.Expr = exp.Column(
        this=exp.Identifier(this=found, quoted=True), table=exp.Identifier(this=names.alias, quoted=True)
    )
    for field in own[1:]:
        node = exp.Dot(this=node, expression=field.copy())
    return node


def _own_parts(parts: Sequence[exp.Identifier], names: FragmentNames, spec: EngineSpec) -> Sequence[exp.Identifier]:
    """Return the parts without the table's name; nothing when they are qualified by another table."""
    qualifiers = {name.casefold() for name in (names.alias, *names.tables)}
    for length in range(len(parts) - 1, 0, -1):
        if ".".join(part.name for part in parts[:length]).casefold() in qualifiers:
            return parts[length:]
    return parts if len(parts) == 1 or spec.syntax.reads_fields else ()


def _find(name: exp.Identifier, columns: Sequence[str]) -> str | None:
    """Return the column by its exact name, else by its name without case when that is clear."""
    text = name.name
    if text in columns:
        return text
    alike = [column for column in columns if column.casefold() == text.casefold()]
    return alike[0] if len(alike) == 1 else None


def _unknown(
    column: exp.Column, parts: Sequence[exp.Identifier], names: FragmentNames, place: str
) -> UnknownColumnError:
    quoted = len(column.parts) == 1 and isinstance(column.this, exp.Identifier) and column.this.quoted
    hint = f"write text in single quotes: '{column.name}'" if quoted else ""
    written = ".".join(part.name for part in (column.parts if len(parts) > 1 else parts))
    return UnknownColumnError(written, dataset=names.alias, known=names.columns, place=place, hint=hint)
