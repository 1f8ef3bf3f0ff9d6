"""What Spark and Databricks have beside SQL: files by names, code by names, scripts, and variables of the server."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from tests.support.cases import for_each
from tests.support.hostile_spark import FILES_BY_NAMES, HOSTILE

from analytics_core._engine.engines.registry import installed_engines
from analytics_core._engine.execution.sessions.base import OpenRequest
from analytics_core._engine.execution.sessions.choice import make_session
from analytics_core._engine.gate.guard import check_select, check_statement
from analytics_core._engine.gate.relations import reject_revealing_table
from analytics_core._records.datasource import Dataset
from analytics_core.errors import QueryError, StatementRefusedError

REGISTRY = installed_engines(())


@for_each("on", ["spark", "databricks"])
@for_each("sql", HOSTILE)
def test_no_statement_reaches_files_code_or_other_statements(sql: str, on: str) -> None:
    spec = REGISTRY.get(on)
    with pytest.raises(QueryError):
        check_select(sql, spec=spec, place="d")
    with pytest.raises(QueryError):
        check_statement(sql, spec=spec, allow_dml=True)


@for_each("name", FILES_BY_NAMES)
def test_no_file_is_read_by_a_name_on_databricks(name: str) -> None:
    """No setting of a session switches it off there, as one does on Spark."""
    spec = REGISTRY.get("databricks")
    for sql in (f"SELECT * FROM {name}", f"SELECT 1 FROM a JOIN {name} AS b ON true"):
        with pytest.raises(StatementRefusedError, match="reads files by such a name"):
            check_select(sql, spec=spec, place="d")
    with pytest.raises(StatementRefusedError, match="reads files by such a name"):
        check_statement(f"INSERT INTO {name} SELECT 'a'", spec=spec, allow_dml=True)


def test_no_dataset_is_a_file_on_databricks() -> None:
    spec, file = REGISTRY.get("databricks"), Dataset(uuid="", database_id=1, table_name="*", schema="Text")
    with pytest.raises(StatementRefusedError, match="name its catalog, too"):
        reject_revealing_table(file, spec)
    reject_revealing_table(Dataset(uuid="", database_id=1, table_name="t", schema="text", catalog="main"), spec)


def test_a_schema_called_as_a_format_is_read_with_its_catalog() -> None:
    spec = REGISTRY.get("databricks")
    assert check_select("SELECT a FROM main.json.t", spec=spec, place="d").sql == "SELECT a FROM main.json.t"
    assert check_select("SELECT json.a FROM t AS json", spec=spec, place="d").sql == "SELECT json.a FROM t AS json"


def test_no_variable_of_the_server_is_written_into_a_statement_on_databricks() -> None:
    """The server writes them before it reads a statement, into names too; what is bound is no part of the text."""
    engine = make_session("databricks").make_engine(OpenRequest(url=sa.make_url("sqlite://")))
    with engine.connect() as connection:
        for sql in ("SELECT '${env:PATH}' AS a", "SELECT 1 AS `${env:PATH}`"):
            with pytest.raises(StatementRefusedError, match="writes a variable of its own"):
                connection.exec_driver_sql(sql)
        assert connection.exec_driver_sql("SELECT '$' AS a, ?", ("${env:PATH}",)).all() == [("$", "${env:PATH}")]
    engine.dispose()
