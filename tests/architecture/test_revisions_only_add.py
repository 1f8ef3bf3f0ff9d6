"""Within a line, which the first two digits of a revision are, each adds what code of the others can leave out."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import Any

import sqlalchemy as sa
from alembic.migration import MigrationContext
from alembic.operations import Operations, ops
from alembic.script import ScriptDirectory
from tests.support.cases import for_each

from analytics_core._content.storage import record_kinds
from analytics_core._content.storage.migrate import HEAD, MIGRATIONS
from analytics_core._content.storage.older_tables import TABLES_SINCE
from analytics_core._content.storage.record_kinds import RecordKind
from analytics_core._content.storage.tables import METADATA

Upgrade = Callable[[Operations], None]


class Recorder(Operations):
    """Writes SQL, and collects what a revision does."""

    def __init__(self) -> None:
        opts = {"as_sql": True, "output_buffer": io.StringIO()}
        super().__init__(MigrationContext.configure(dialect_name="postgresql", opts=opts))
        self.done: list[ops.MigrateOperation] = []

    def invoke(self, operation: Any) -> Any:
        self.done.append(operation)
        return super().invoke(operation)


def more_than_additions(upgrade: Upgrade) -> Iterator[str]:
    """Yield what a revision does that code of an older revision of the line would trip over."""
    recorder = Recorder()
    upgrade(recorder)
    made = {done.table_name for done in recorder.done if isinstance(done, ops.CreateTableOp)}
    for done in recorder.done:
        if isinstance(done, ops.CreateTableOp):
            keys = [
                key for item in done.columns for key in getattr(item, "foreign_keys", getattr(item, "elements", ()))
            ]
            of_others = [key for key in keys if key.target_fullname.split(".")[0] not in made]
            yield from (f"{done.table_name} keeps {key.target_fullname}" for key in of_others if not key.ondelete)
        elif isinstance(done, ops.AddColumnOp):
            column = done.column
            if not column.nullable or column.server_default is not None or column.unique or column.foreign_keys:
                yield f"{done.table_name}.{column.name} is more than a column that may be NULL"
            elif column.name in must_be_written(done.table_name):
                yield f"{done.table_name}.{column.name} must be written by all code"
        elif not isinstance(done, ops.CreateIndexOp):
            yield f"{type(done).__name__} is no addition"
        elif done.unique and done.table_name not in made:
            yield f"{done.index_name} refuses rows"


def must_be_written(table: str) -> set[str]:
    """Return the columns that the code finds records by, or does not read NULL from."""
    kinds = [kind for kind in vars(record_kinds).values() if isinstance(kind, RecordKind) and kind.table.name == table]
    return {name for kind in kinds for name in (*kind.derived, *kind.pairs, *kind.enums, *kind.blank_for_none)}


def test_each_revision_of_a_line_only_adds() -> None:
    found = [script for script in ScriptDirectory(MIGRATIONS).walk_revisions() if script.down_revision]
    assert found
    later = [script for script in found if script.revision[:2] == str(script.down_revision)[:2]]
    assert {script.revision: list(more_than_additions(script.module.upgrade)) for script in later} == {
        script.revision: [] for script in later
    }


def test_tables_are_known_by_the_revisions_that_make_them() -> None:
    """What an older store may lack; all else is there, or the store is not used."""
    made = {}
    for script in ScriptDirectory(MIGRATIONS).walk_revisions():
        recorder = Recorder()
        script.module.upgrade(recorder)
        tables = {done.table_name for done in recorder.done if isinstance(done, ops.CreateTableOp)}
        made |= dict.fromkeys(tables, script.revision)
    assert made.keys() == METADATA.tables.keys()
    assert {table: revision for table, revision in made.items() if revision[2:] != "00"} == TABLES_SINCE


def test_revisions_are_counted_up_by_four_digits() -> None:
    """Code takes what begins as its own for its line, and what is greater for later."""
    scripts = list(ScriptDirectory(MIGRATIONS).walk_revisions())
    assert [script.revision for script in scripts] == sorted((one.revision for one in scripts), reverse=True)
    assert all(len(script.revision) == 4 and script.revision.isdecimal() for script in scripts)
    assert scripts[0].revision == HEAD


MORE: dict[str, Upgrade] = {
    "DropColumnOp": lambda op: op.drop_column("ac_charts", "params"),
    "DropTableOp": lambda op: op.drop_table("ac_charts"),
    "AlterColumnOp": lambda op: op.alter_column("ac_charts", "params", type_=sa.Text()),
    "RenameTableOp": lambda op: op.rename_table("ac_charts", "ac_pictures"),
    "ExecuteSQLOp": lambda op: op.execute("UPDATE ac_charts SET params = NULL"),
    "CreateUniqueConstraintOp": lambda op: op.create_unique_constraint("uq", "ac_charts", ["slice_name"]),
    "ac_charts.later is more": lambda op: op.add_column("ac_charts", sa.Column("later", sa.Integer(), nullable=False)),
    "ac_charts.with_default is more": lambda op: op.add_column(
        "ac_charts", sa.Column("with_default", sa.Integer(), server_default="7")
    ),
    "ac_charts.of_tag is more": lambda op: op.add_column(
        "ac_charts", sa.Column("of_tag", sa.Integer(), sa.ForeignKey("ac_tags.id"))
    ),
    "ac_datasets.table_key must be written": lambda op: op.add_column("ac_datasets", sa.Column("table_key", sa.Text())),
    "ix_later refuses rows": lambda op: op.create_index("ix_later", "ac_charts", ["slice_name"], unique=True),
    "ac_later keeps ac_tags.id": lambda op: op.create_table(
        "ac_later", sa.Column("tag_id", sa.Integer(), sa.ForeignKey("ac_tags.id"))
    ),
}


@for_each(("starts", "upgrade"), MORE.items())
def test_what_is_more_than_an_addition_is_found(starts: str, upgrade: Upgrade) -> None:
    found = list(more_than_additions(upgrade))
    assert len(found) == 1
    assert found[0].startswith(starts)
