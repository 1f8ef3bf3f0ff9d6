"""Scripts of several statements, and which of those that change data may run: by allow-lists of kinds, parts and nodes.

A relation that stands in a query of such a statement is read there; one that stands outside of every query is changed,
renamed, referred to or joined with what is changed, and a row rule on it cannot be kept: whoever it binds is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from sqlglot import TokenType, exp

from analytics_core._engine.compile.fragments.sql_nodes import NodeIndex, reject_unknown_nodes, table_nodes
from analytics_core._engine.compile.fragments.sql_text import check_characters, read_tokens
from analytics_core._engine.engines.spec import EngineSpec, Refuse
from analytics_core._engine.gate.relations import is_cte
from analytics_core.errors import nearest

MOST_STATEMENTS: Final = 200
MOST_EXPLAINED: Final = 20
"""Of a script: what follows each EXPLAIN is read again, to its end."""

MOST_CHARACTERS: Final = 200_000

QUERY_STARTS: Final = frozenset({"SELECT", "WITH", "(", "VALUES", "FROM", "TABLE", "PIVOT", "UNPIVOT"})
_CHANGE_STARTS: Final = frozenset({"INSERT", "UPDATE", "DELETE", "MERGE", "CREATE", "DROP", "ALTER", "TRUNCATE"})
_SHOWING: Final = frozenset({"SHOW", "DESCRIBE", "DESC", "PRAGMA", "SUMMARIZE"})
_EXPLAIN: Final = re.compile(r"(EXPLAIN)\b(\s+QUERY\s+PLAN\b)?", re.IGNORECASE)
_NO_WORD: Final = (TokenType.IDENTIFIER, TokenType.STRING)

CHANGES: Final[tuple[type[exp.Expr], ...]] = (
    exp.Insert, exp.Update, exp.Delete, exp.Merge, exp.Create, exp.Drop, exp.Alter, exp.TruncateTable,
)  # fmt: skip
"""The statements that may change data."""

DEFINING: Final[tuple[type[exp.Expr], ...]] = (exp.Create, exp.Drop, exp.Alter, exp.TruncateTable)
"""Those of them that some engines commit at once."""

_KINDS: Final = frozenset({"TABLE", "VIEW", "INDEX", "SCHEMA"})
_PARTS_OF: Final[Mapping[type[exp.Expr], frozenset[str]]] = {
    exp.Insert: frozenset(
        {"this", "expression", "with_", "returning", "conflict", "alternative", "ignore", "default", "by_name"}
    ),
    exp.Update: frozenset({"this", "expressions", "from_", "where", "with_", "returning", "order", "limit"}),
    exp.Delete: frozenset({"this", "tables", "using", "where", "with_", "returning", "order", "limit"}),
    exp.Merge: frozenset({"this", "using", "on", "whens", "with_", "returning"}),
    exp.Create: frozenset({"this", "kind", "expression", "replace", "unique", "exists", "properties"}),
    exp.Drop: frozenset({"tables", "kind", "exists", "restrict", "cluster"}),
    exp.Alter: frozenset({"this", "kind", "exists", "actions"}),
    exp.TruncateTable: frozenset({"expressions", "exists"}),
}
_NODES: Final[tuple[type[exp.Expr], ...]] = (
    exp.Schema, exp.Returning, exp.OnConflict, exp.Whens, exp.When, exp.ColumnConstraint, exp.ColumnConstraintKind,
    exp.Constraint, exp.PrimaryKey, exp.ForeignKey, exp.Reference, exp.Index, exp.IndexParameters, exp.AddConstraint,
    exp.AlterRename, exp.RenameColumn, exp.AlterColumn, exp.ModifyColumn, exp.ColumnPosition, exp.Properties,
    exp.TemporaryProperty, exp.OnCommitProperty, exp.OnProperty, *CHANGES,
)  # fmt: skip
"""What such statements are made of besides queries: no engine, place, owner or module of a table, no copy of one."""


@dataclass(frozen=True, slots=True)
class ScriptPart:
    """One statement of a script, and where it begins in that.

    `explains` are the words that ask for its plan alone, empty where it is to run.
    """

    sql: str
    explains: str = ""
    start: int = 0


def split_script(sql: str, *, spec: EngineSpec, invalid: Refuse, rejected: Refuse) -> tuple[ScriptPart, ...]:
    """Return the statements of a script, split by its tokens; each begins with a word that may begin one."""
    check_characters(sql, max_length=MOST_CHARACTERS, reject=invalid)
    parts = tuple(islice(_parts(sql, "", spec, invalid, rejected), MOST_STATEMENTS + 1))
    if not parts:
        raise invalid("it is empty")
    if len(parts) > MOST_STATEMENTS:
        raise invalid(f"it has more than {MOST_STATEMENTS} statements, and no more run in one script")
    return parts


def _parts(
    sql: str, explains: str, spec: EngineSpec, invalid: Refuse, rejected: Refuse, *, explained: int = 0
) -> Iterator[ScriptPart]:
    """Yield statements; what follows EXPLAIN, of which some tokenizers make one token, is read anew."""
    if explained > MOST_EXPLAINED:
        raise invalid(f"it explains more than {MOST_EXPLAINED} statements; send the others apart")
    start, end = -1, -1
    for token in read_tokens(sql, spec.dialect, invalid):
        if token.token_type is TokenType.SEMICOLON:
            if start >= 0:
                yield ScriptPart(sql[start:end], explains, start)
            elif explains:
                break
            start, explains = -1, ""
            continue
        if start < 0:
            word = "" if token.token_type in _NO_WORD else token.text.upper()
            if word == "EXPLAIN" and not explains and (found := _explain_at(sql, token.start)):
                words, skipped = " ".join(found.group().upper().split()), found.end()
                after = _parts(sql[skipped:], words, spec, invalid, rejected, explained=explained + 1)
                yield from (replace(part, start=part.start + skipped) for part in after)
                return
            _reject_part(word, explains, invalid, rejected)
            if not sql.startswith(token.text, token.start):  # as is the first one, where it is the name of a command
                raise rejected(f"{word} cannot be told apart here")
            start = token.start
        end = token.end + 1
    if start >= 0:
        yield ScriptPart(sql[start:end], explains, start)
    elif explains:
        raise invalid("EXPLAIN takes a query")


_BEFORE_COMMANDS: Final = len("SELECT ")
"""By how much `read_tokens` moves the first token of a text where that is the name of a command."""


def _explain_at(sql: str, start: int) -> re.Match[str] | None:
    return _EXPLAIN.match(sql, start) or _EXPLAIN.match(sql, max(start - _BEFORE_COMMANDS, 0))


def reject_start(word: str, invalid: Refuse, rejected: Refuse) -> None:
    """Refuse a first word of a statement that shows what there is, or is none, but near one."""
    if word in _SHOWING:
        raise rejected(f"{word} is not allowed; databases.tables and databases.table_metadata tell what there is")
    starts = QUERY_STARTS | _CHANGE_STARTS
    if word not in starts and (meant := nearest(word, starts, cutoff=0.7)):
        raise invalid(f"no statement begins with {word}; did you mean {meant[0]}?")


def _reject_part(word: str, explains: str, invalid: Refuse, rejected: Refuse) -> None:
    reject_start(word, invalid, rejected)
    if explains and word not in QUERY_STARTS - {"("}:  # which begins options, too
        raise rejected("EXPLAIN takes a query alone, and no options")
    if word not in QUERY_STARTS | _CHANGE_STARTS:
        raise rejected(
            "only queries may run, and INSERT, UPDATE, DELETE, MERGE, TRUNCATE and CREATE, ALTER and DROP of tables, "
            "views, indexes and schemas"
        )


def without_hints(index: NodeIndex) -> NodeIndex:
    """Return the nodes of a tree whose hints are dropped."""
    hints = index.of(exp.Hint)
    for hint in hints:
        hint.pop()
    return NodeIndex(index.tree) if hints else index


def check_change(index: NodeIndex, *, rejected: Refuse) -> NodeIndex:
    """Drop the hints of a statement that changes data and check every part and node of it."""
    index, tree = without_hints(index), index.tree
    for name, part in tree.args.items():
        if part and name not in _PARTS_OF[type(tree)]:
            raise rejected(f"{name.rstrip('_').upper()} is not allowed in {tree.key.upper()}")
    kind = str(tree.args.get("kind") or "TABLE").upper()
    if isinstance(tree, exp.Create | exp.Drop | exp.Alter) and kind not in _KINDS:
        raise rejected("only tables, views, indexes and schemas may be created, altered or dropped")
    reject_unknown_nodes(index, rejected, queries=True, besides=_NODES)
    for node in index.of(*CHANGES):
        if node is not tree and not _is_part(node):
            raise rejected(f"{node.key.upper()} inside another statement is not allowed; write it as one of its own")
    if not all(select.expressions for select in index.of(exp.Select)):
        raise rejected("a SELECT in it names no column")
    if is_of_schema(tree):
        if any(table.name for table in index.of(exp.Table)):
            raise rejected("a schema is made or dropped alone")
        if isinstance(tree, exp.Drop):
            tree.set("restrict", True)  # one that is not empty stays: its tables may have row rules
    return index


def _is_part(node: exp.Expr) -> bool:
    """Tell whether a change is a branch of MERGE, or drops a part of the table that is altered, and nothing with it."""
    if isinstance(node, exp.Drop):
        is_plain = not node.args.get("cascade") and node.args.get("kind") in ("COLUMN", "CONSTRAINT", "INDEX")
        return is_plain and isinstance(node.parent, exp.Alter)
    return isinstance(node, exp.Insert | exp.Update) and isinstance(node.parent, exp.When)


def is_of_schema(tree: exp.Expr) -> bool:
    """Tell whether a statement makes or drops a schema: it names no table."""
    return isinstance(tree, exp.Create | exp.Drop) and str(tree.args.get("kind")).upper() == "SCHEMA"


def changed_places(tree: exp.Expr) -> frozenset[int]:
    """Return the places, as `Relation.position` counts them, at which a statement reads no rows by a query."""
    tables = enumerate(table_nodes(tree))
    return frozenset(place for place, node in tables if node.find_ancestor(exp.Query) is None)


def reject_hidden_targets(tree: exp.Expr, spec: EngineSpec, rejected: Refuse) -> None:
    """Refuse a change of a table whose name a WITH clause has, too: engines change the table."""
    targets = [tree.args.get("this"), *(tree.args.get("tables") or ())]
    tables = (table for one in targets if isinstance(one, exp.Expr) for table in one.find_all(exp.Table))
    for table in tables:
        if is_cte(table, spec):
            raise rejected(f"{table.name} is the name of a WITH clause and of what is changed; rename the one")


def only_adds_rows(tree: exp.Expr) -> bool:
    """Tell whether a statement adds rows to a table and neither tells nor changes anything of the others."""
    others = ("returning", "conflict", "alternative", "ignore")
    return isinstance(tree, exp.Insert) and not any(tree.args.get(part) for part in others)
