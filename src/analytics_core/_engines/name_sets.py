"""Sets of names, an entry of which may stand for a family, and those that fragments may use on every engine.

What people without the right to write SQL may use everywhere computes its answer from its arguments, the clock or a
random number: none reads the catalog, the session, files or the network. What one engine adds stands in its spec.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import translate
from typing import Final

_FAMILY: Final = "*"
_EXCEPT: Final = "!"


@dataclass(frozen=True, slots=True)
class NameSet:
    """Lower-case names, and families of them: `has_*_privilege` holds each name with this beginning and end.

    `without` are names that belong to no family all the same.
    """

    names: frozenset[str] = frozenset()
    families: tuple[re.Pattern[str], ...] = ()
    without: frozenset[str] = frozenset()

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str) or name in self.without:
            return name in self.names
        return name in self.names or any(family.fullmatch(name) for family in self.families)

    def __bool__(self) -> bool:
        return bool(self.names or self.families)

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self.names))

    def __or__(self, more: Iterable[str]) -> NameSet:
        other = name_set(" ".join(more))
        return NameSet(self.names | other.names, (*self.families, *other.families), self.without | other.without)


def name_set(*groups: str) -> NameSet:
    """Return the set of the words in the texts; a word with `*` is a family, one with `!` before it is in none."""
    words = [word.lower() for group in groups for word in group.split()]
    return NameSet(
        names=frozenset(word for word in words if _FAMILY not in word and not word.startswith(_EXCEPT)),
        families=tuple(re.compile(translate(word)) for word in words if _FAMILY in word),
        without=frozenset(word[1:] for word in words if word.startswith(_EXCEPT)),
    )


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
