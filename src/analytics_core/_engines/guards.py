"""What the gate must know of an engine before anybody's SQL reaches it; no fact here has a default."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from analytics_core._engines.fences import Fence
from analytics_core._engines.name_sets import NameSet, name_set


def reads_no_files(_name: str) -> bool:
    """Tell of every name that the engine reads no file by it."""
    return False


class DatabaseFiles(StrEnum):
    """Whether a URI of the engine names a file of this machine, and how."""

    NONE = "none"
    PATH = "path"
    PATH_OR_FILE_URI = "path or file URI"


@dataclass(frozen=True, slots=True, kw_only=True)
class RevealingRelations:
    """Relations of the engine's own that show rows of other tables, what others run, or passwords.

    Attributes:
        relations: their names, in lower case.
        schemas: schemas, or `catalog.schema`, in which every relation is of that kind.
        harmless: relations in those schemas that are not.
        functions: functions that stand behind such relations.
    """

    relations: NameSet
    schemas: NameSet
    harmless: NameSet
    functions: NameSet

    @classmethod
    def of(cls, *, relations: str, schemas: str, harmless: str, functions: str) -> RevealingRelations:
        """Return those that the words of the texts name."""
        return cls(
            relations=name_set(relations),
            schemas=name_set(schemas),
            harmless=name_set(harmless),
            functions=name_set(functions),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TableNames:
    """How the engine reads what stands where a table is named.

    Attributes:
        longest: bytes after which it cuts a name off without a word, and so reads another table; None: it does not.
        after_in: whether `a IN t` reads a table; elsewhere it tests membership in a list.
        calls: whether a function that makes rows can be read without parentheses.
        parted: whether dots inside one quoted name part it, so that it may lead into another schema.
        loose: whether the first of two parts may be a catalog as well as a schema.
        is_file: name -> whether the engine would read a file of that name.
    """

    longest: int | None
    after_in: bool
    calls: bool
    parted: bool
    loose: bool
    is_file: Callable[[str], bool]


STANDARD_TABLE_NAMES: Final = TableNames(
    longest=None, after_in=False, calls=False, parted=False, loose=False, is_file=reads_no_files
)
"""A name is one name, whole, of a table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guards:
    """The facts of an engine that keep people to what they may see.

    Attributes:
        uri_options: options that a connection may ask for, each with a harmless worst value: no paths, no code, no
            other hosts, no commands at the start of a session.
        database_files: whether URIs name files, which must then lie in an allowed folder.
        denied_functions: lower-case names that no user's SQL may call (files, network, sleep, locks, session, catalog,
            hidden SQL). A name may also be a package: it denies every function in it. `has_*_privilege` denies a family
            of names, `!pg_typeof` takes one out of its family.
        allowed_functions: lower-case names of the functions and types that fragments of people without the right to
            write SQL may use. All of them compute their answer from their arguments, the clock or a random number.
            `denied_functions` count before these; a host adds its own by `Settings.allowed_functions`.
        row_makers: functions that make rows from values alone on this engine: a query may read them as a table,
            and they are no scalar values.
        revealing: relations that show what others hold or run.
        table_names: how a name of a table is read.
        fence: query of the permitted rows -> the same rows behind a fence.
        by_case: whether `rule AND CASE WHEN rule THEN condition ELSE FALSE END` tests the condition on permitted
            rows only, and what stands in SELECT, GROUP BY and ORDER BY is computed after WHERE.
        casts_columns: whether a column is cast to the type of what it is compared with, which can fail by its values.
    """

    uri_options: frozenset[str]
    database_files: DatabaseFiles
    denied_functions: NameSet
    allowed_functions: NameSet
    row_makers: frozenset[str]
    revealing: RevealingRelations
    table_names: TableNames
    fence: Fence
    by_case: bool
    casts_columns: bool
