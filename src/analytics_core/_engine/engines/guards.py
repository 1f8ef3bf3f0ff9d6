"""What the gate must know of an engine before anybody's SQL reaches it, and the sets of names that say it.

No fact of the guards has a default. What fragments may use on every engine computes its answer from its arguments, the
clock or a random number: none reads the catalog, the session, files or the network. What one engine adds stands in its
spec.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import translate
from typing import Final

from analytics_core._engine.engines.fences import Fence

_FAMILY: Final = "*"
_EXCEPT: Final = "!"


@dataclass(frozen=True, slots=True)
class NameSet:
    """Lower-case names, and families of them: `has_*_privilege` holds each name with this beginning and end.

    `without` are names that belong to no family all the same.
    """

    names: frozenset[str] = frozenset()
    families: re.Pattern[str] | None = None
    without: frozenset[str] = frozenset()

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str) or name in self.without:
            return name in self.names
        return name in self.names or (self.families is not None and self.families.fullmatch(name) is not None)

    def __bool__(self) -> bool:
        return bool(self.names or self.families)

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self.names))

    def __or__(self, more: Iterable[str]) -> NameSet:
        other = name_set(" ".join(more))
        patterns = [one.pattern for one in (self.families, other.families) if one is not None]
        return NameSet(self.names | other.names, _any_of(patterns), self.without | other.without)


def _any_of(patterns: Sequence[str]) -> re.Pattern[str] | None:
    return re.compile("|".join(patterns)) if patterns else None


def name_set(*groups: str) -> NameSet:
    """Return the set of the words in the texts; a word with `*` is a family, one with `!` before it is in none."""
    words = [word.lower() for group in groups for word in group.split()]
    return NameSet(
        names=frozenset(word for word in words if _FAMILY not in word and not word.startswith(_EXCEPT)),
        families=_any_of([translate(word) for word in words if _FAMILY in word]),
        without=frozenset(word[1:] for word in words if word.startswith(_EXCEPT)),
    )


UriOptions = Mapping[str, frozenset[str] | range | None]
"""Option of a connection -> the words that it takes; an empty set: a whole number; None: any short text.

A range: a whole number in it.
"""

SWITCH: Final = "true false yes no on off 1 0"
"""The words of an option that is on or off; JSON has the first two."""


def uri_options(texts: str = "", *, numbers: str = "", **words: str | range) -> UriOptions:
    """Return options: those that take any text, any whole number, and the words or the numbers that others take."""
    return {
        **dict.fromkeys(texts.split()),
        **dict.fromkeys(numbers.split(), frozenset()),
        **{name: frozenset(taken.split()) if isinstance(taken, str) else taken for name, taken in words.items()},
    }


_EVERYWHERE: Final = """
    abs acos acosh asin asinh atan atan2 atanh cbrt ceil ceiling cos cosh cot degrees div exp floor greatest least
    ln log log10 log2 mod pi pow power radians round sign sin sinh sqrt square tan tanh trunc truncate width_bucket
    rand random case cast coalesce convert decode if ifnull iff iif isnull nullif nvl nvl2 try_cast try_convert
    ascii bit_length btrim char char_length character_length charindex chr concat concat_ws initcap instr lcase left
    len length locate lower lpad ltrim mid octet_length overlay position replace reverse right rpad rtrim soundex
    split_part starts_with strpos substr substring substring_index translate trim ucase unicode upper hex unhex md5
    sha sha1 sha2 sha256 sha512 to_base64 from_base64 regexp_count regexp_extract regexp_instr regexp_like
    regexp_replace regexp_substr add_months curdate current_date current_datetime current_time current_timestamp
    curtime date date_add date_diff date_format date_part date_sub date_trunc dateadd datediff datename datepart
    datetime day dayname dayofmonth dayofweek dayofyear extract from_unixtime getdate getutcdate hour last_day
    localtime localtimestamp make_date make_time make_timestamp microsecond minute month monthname months_between
    next_day now quarter second sysdate systimestamp time timestamp timestampadd timestampdiff today unix_timestamp
    utc_date utc_time utc_timestamp week weekday weekofyear year yearweek to_char to_date to_number to_timestamp
    any_value approx_count_distinct approx_distinct approx_percentile approx_quantile arbitrary array_agg avg
    bit_and bit_or bit_xor bool_and bool_or corr count count_if countif covar_pop covar_samp every group_concat
    grouping kurtosis listagg max max_by median min min_by mode percentile percentile_approx percentile_cont
    percentile_disc quantile regr_* skewness std stddev stddev_pop stddev_samp stdev string_agg sum var var_pop
    var_samp variance cume_dist dense_rank first first_value lag last last_value lead nth_value ntile percent_rank
    rank row_number json_array_length json_extract json_extract_scalar json_length json_query json_type json_valid
    json_value array binary bit bigint blob boolean character dec decimal double enum float int integer interval
    list map nchar nullable number numeric nvarchar raw real row signed smallint string struct text timestamptz
    timetz tinyint tuple unsigned varbinary varbit varchar bpchar array_length cardinality
"""


def allowed_with(*names: str) -> NameSet:
    """Return those names with further ones."""
    return name_set(_EVERYWHERE, *names)


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
        after_in_alone: whether `a IN (t)` does so too, where no column has that name.
        calls: whether a function that makes rows can be read without parentheses.
        parted: whether dots inside one quoted name part it, so that it may lead into another schema.
        loose: whether the first of two parts may be a catalog as well as a schema.
        is_file: name -> whether the engine would read a file of that name.
        of_files: schemas, in lower case, in which names are those of files: ``csv.`name` ``.
        own: relations and schemas of the engine itself, in lower case, of which its lists of tables do not tell.
        types: of an engine on which each table is a type, too, those that are none; None: no table is a type.
        row_ids: columns, in lower case, that the tables of the engine have without a place in its catalog; a sub-query
            of their rows lacks them, or has NULL for them without a word.
        nested_ctes: whether a clause of WITH sees the clauses of the queries around the query of its own WITH; where it
            may look for a table of that name, clauses are sent by names that no table has.
    """

    longest: int | None
    after_in: bool
    after_in_alone: bool
    calls: bool
    parted: bool
    loose: bool
    is_file: Callable[[str], bool]
    of_files: NameSet
    own: NameSet
    types: NameSet | None
    row_ids: frozenset[str]
    nested_ctes: bool


STANDARD_TABLE_NAMES: Final = TableNames(
    longest=None,
    after_in=False,
    after_in_alone=False,
    calls=False,
    parted=False,
    loose=False,
    is_file=reads_no_files,
    of_files=NameSet(),
    own=name_set("information_schema"),
    types=None,
    row_ids=frozenset(),
    nested_ctes=True,
)
"""A name is one name, whole, of a table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guards:
    """The facts of an engine that keep people to what they may see.

    Attributes:
        uri_options: options that a connection may ask for, each with a harmless worst value: no paths, no code, no
            other hosts, no commands at the start of a session. Drivers take a word that they do not know for another
            one, and encrypt nothing.
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

    uri_options: UriOptions
    database_files: DatabaseFiles
    denied_functions: NameSet
    allowed_functions: NameSet
    row_makers: frozenset[str]
    revealing: RevealingRelations
    table_names: TableNames
    fence: Fence
    by_case: bool
    casts_columns: bool
