"""Errors of six vendors' drivers, as their documentation and the drivers themselves have them, become typed errors.

`tests/golden/golden_files/driver_errors` has a file for each vendor. A case says what happened, where its text is from
(`unread:` marks a page with which it was not compared), how the driver's exception is made (`raised`), what that says
(`text`, `args`, `attributes`) and what becomes of it. The suite has no such drivers: it reads stand-ins made of the
recorded text. `nox -s drivers` has them, and holds each stand-in to the driver's own exception.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.support.cases import for_each

from analytics_core._engine.engines.registry import installed_engines
from analytics_core._engine.execution.diagnosis import SentStatement, diagnose
from analytics_core.errors import DatabaseError, ErrorType, StatementTimeoutError

FILES = Path(__file__).parents[1] / "golden" / "golden_files" / "driver_errors"
VENDORS = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(FILES.glob("*.json"))}
CASES = [
    pytest.param(vendor, case, id=f"{vendor}-{case['situation']}-{place}")
    for vendor, recorded in VENDORS.items()
    for place, case in enumerate(recorded["cases"])
]
SITUATIONS = {
    *("wrong password", "unknown host", "unknown table", "unknown column", "syntax error", "permission denied"),
    *("division by zero", "invalid cast", "statement timeout", "statement cancelled", "too many requests"),
    "session suspended",
}
REGISTRY = installed_engines(())


class RecordedError(Exception):
    """An exception of a driver as it was recorded; SQLAlchemy hands it on as `orig`."""

    def __init__(self, case: dict[str, Any]) -> None:
        super().__init__(*case.get("args", [case["text"]]))
        self.text = case["text"]
        vars(self).update(case.get("attributes", {}))

    def __str__(self) -> str:
        return str(self.text)


def of_the_driver(recorded: Any) -> Any:
    """Return the driver's own object of a record of how it is made; anything else as it is."""
    if not isinstance(recorded, dict) or "class" not in recorded:
        return recorded
    module, _, name = recorded["class"].rpartition(".")
    package = pytest.importorskip(module, reason="the driver is not installed", exc_type=ImportError)
    arguments = [of_the_driver(argument) for argument in recorded.get("args", [])]
    made = getattr(package, name)(*arguments, **recorded.get("options", {}))
    if "state" in recorded:  # what no constructor takes
        made.__setstate__(recorded["state"])
    return made


def diagnosed(vendor: str, case: dict[str, Any], original: BaseException) -> DatabaseError:
    sent = SentStatement(sql=VENDORS[vendor]["sent"]["sql"], url=sa.make_url(VENDORS[vendor]["sent"]["url"]))
    wrapped = sa.exc.DBAPIError(sent.sql, {"password": "s3cr3t"}, original)
    return diagnose(wrapped, REGISTRY.get(vendor), sent=sent, is_connected=case.get("connected", True))


def test_every_vendor_has_every_situation_with_its_source() -> None:
    assert set(VENDORS) == {"bigquery", "databricks", "mssql", "oracle", "redshift", "snowflake"}
    assert {vendor: {case["situation"] for case in recorded["cases"]} for vendor, recorded in VENDORS.items()} == (
        dict.fromkeys(VENDORS, SITUATIONS)
    )
    assert all(case["source"] for recorded in VENDORS.values() for case in recorded["cases"])


@for_each(("vendor", "case"), CASES)
def test_an_error_of_a_vendor_becomes_its_type_and_says_what_it_may(vendor: str, case: dict[str, Any]) -> None:
    error = diagnosed(vendor, case, RecordedError(case))
    becomes = case["becomes"]
    assert (error.error_type, error.retryable) == (ErrorType(becomes["error_type"]), becomes["retryable"])
    assert isinstance(error, StatementTimeoutError) is (error.error_type is ErrorType.CONNECTION_DATABASE_TIMEOUT)
    assert becomes["says"] in error.message
    names = {kind: name for kind, name in error.extra.items() if kind not in ("engine_name", "code", "port", "host")}
    expected = {kind: name for kind, name in becomes.get("names", {}).items() if kind != "host"}
    assert names == expected


@for_each(("vendor", "case"), CASES)
def test_nothing_else_of_a_vendors_error_is_repeated(vendor: str, case: dict[str, Any]) -> None:
    """Neither what the texts have of secrets, values and names of others, nor a URL that a driver would append."""
    leaking = {**case, "text": f"{case['text']} ({VENDORS[vendor]['sent']['url']}, token s3cr3t)"}
    for one in (case, leaking):
        written = str(diagnosed(vendor, case, RecordedError(one)).to_payload()).casefold()
        assert [word for word in ("s3cr3t", "hidden") if word in written] == []


@pytest.mark.parametrize("vendor", VENDORS)
def test_the_recorded_errors_are_those_of_the_installed_driver(vendor: str) -> None:
    """Texts, arguments and attributes of the driver's own exceptions, and what becomes of them."""
    for case in VENDORS[vendor]["cases"]:
        original, recorded = of_the_driver(case["raised"]), RecordedError(case)
        assert str(original) == case["text"]
        assert list(original.args[:1]) == case["args"][:1] if "args" in case else True
        attributes = {name: getattr(original, name) for name in case.get("attributes", {})}
        assert attributes == case.get("attributes", {})
        assert diagnosed(vendor, case, original).to_payload() == diagnosed(vendor, case, recorded).to_payload()


@pytest.mark.parametrize("vendor", ["mssql", "oracle", "redshift", "snowflake"])
def test_connections_that_are_said_to_be_closed_leave_the_pool_of_the_installed_dialect(vendor: str) -> None:
    """Else whoever tries again, as `retryable` says, gets the dead connection from the pool once more."""
    try:
        kind = sa.make_url(VENDORS[vendor]["sent"]["url"]).get_dialect()
        dialect = kind()
        dialect.dbapi = kind.import_dbapi()
    except (ImportError, sa.exc.NoSuchModuleError):
        pytest.skip("the driver or its dialect is not installed")
    lost = [case for case in VENDORS[vendor]["cases"] if "closed the connection" in case["becomes"]["says"]]
    staying = [case["text"] for case in lost if not dialect.is_disconnect(of_the_driver(case["raised"]), None, None)]
    assert (staying, lost == []) == ([], False)
