"""What a caller may ask of a list."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from tests.support.cases import for_each

from analytics_core._content.css_templates import LISTS as CSS_TEMPLATES
from analytics_core._content.dashboards.namespace import LISTS as DASHBOARDS
from analytics_core._content.databases.namespace import LISTS as DATABASES
from analytics_core._content.datasets.namespace import LISTS as DATASETS
from analytics_core._content.lists import LARGEST_PAGE, Listing, only
from analytics_core._content.people.users import LISTS as USERS
from analytics_core._content.row_level_security import LISTS as ROW_RULES
from analytics_core._content.tags import LISTS as TAGS
from analytics_core._records.repositories import ListFilter
from analytics_core._reports.namespace import LISTS as REPORTS
from analytics_core.errors import PayloadSchemaError
from analytics_core.models import DatabaseListItem

LISTING = Listing(
    shape="database",
    item=DatabaseListItem,
    is_audited=False,
    integers=("id",),
    texts=("database_name", "backend"),
    booleans=("allow_dml",),
    moments=("changed_on",),
    stored_as={"backend": "engine"},
)


def filter_of(col: str, op: str, val: Any = None) -> ListFilter:
    given = {"col": col, "op": op, "val": val}
    (read,) = LISTING.query(filters=[given], order_by=None, page=0, page_size=25, ids=None).filters
    return read


def rejection(**arguments: Any) -> str:
    defaults: dict[str, Any] = {"filters": (), "order_by": None, "page": 0, "page_size": 25, "ids": None}
    with pytest.raises(PayloadSchemaError) as caught:
        LISTING.query(**{**defaults, **arguments})
    return str(caught.value)


@pytest.mark.parametrize("op", ["eq", "neq", "gt", "lt"])
def test_a_condition_is_handed_to_the_store(op: str) -> None:
    assert filter_of("id", op, 3) == ListFilter(col="id", op=op, val=3)


def test_a_column_goes_by_its_name_in_the_store() -> None:
    assert filter_of("backend", "eq", "sqlite").col == "engine"


@pytest.mark.parametrize(("op", "is_null"), [("eq", True), ("neq", False)])
def test_a_comparison_with_null_asks_for_null(op: str, is_null: bool) -> None:
    assert filter_of("database_name", op, None) == ListFilter(col="database_name", op="is_null", val=is_null)


@pytest.mark.parametrize(("val", "is_null"), [(True, True), (False, False), (None, True)])
def test_is_null_takes_true_or_false(val: bool | None, is_null: bool) -> None:
    assert filter_of("database_name", "is_null", val).val is is_null


def test_a_list_of_values_is_a_membership() -> None:
    assert filter_of("id", "in", [1, 2]).val == (1, 2)


@pytest.mark.parametrize(
    "text", ["2024-01-31T10:00:00+02:00", "2024-01-31T08:00:00", "2024-01-31T08:00:00Z", "2024-01-31 08:00"]
)
def test_moments_are_read_as_utc(text: str) -> None:
    assert filter_of("changed_on", "gt", text).val == datetime(2024, 1, 31, 8, tzinfo=UTC)


@for_each(
    ("col", "op", "val"),
    [
        ("id", "eq", "3"),
        ("id", "eq", True),
        ("id", "in", 3),
        ("id", "in", ["3"]),
        ("id", "contains", 3),
        ("id", "gt", None),
        ("database_name", "eq", 3),
        ("database_name", "contains", None),
        ("allow_dml", "eq", 1),
        ("changed_on", "gt", "yesterday"),
        ("changed_on", "gt", 5),
    ],
)
def test_a_value_of_another_kind_is_refused(col: str, op: str, val: Any) -> None:
    assert "filters.0.val" in rejection(filters=[{"col": col, "op": op, "val": val}])


def test_an_unknown_column_is_refused_with_the_nearest_one() -> None:
    message = rejection(filters=[{"col": "database_nam", "op": "eq", "val": "x"}])
    assert "did you mean 'database_name'?" in message
    assert "did you mean 'changed_on'?" in rejection(order_by="-change_on")


@pytest.mark.parametrize("col", ["uri", "extra", "ssh_tunnel", "engine"])
def test_what_is_not_listed_cannot_be_probed_by_filters_or_order(col: str) -> None:
    assert "there is no column" in rejection(filters=[{"col": col, "op": "starts_with", "val": "postgresql://u:a"}])
    assert "there is no column" in rejection(order_by=col)


def test_an_unknown_operator_is_refused_with_the_nearest_one() -> None:
    assert "did you mean 'contains'?" in rejection(filters=[{"col": "database_name", "op": "contain", "val": "x"}])


def test_a_condition_with_another_key_is_refused() -> None:
    assert "value" in rejection(filters=[{"col": "id", "op": "eq", "value": 1}])


def test_order_takes_one_name_or_several() -> None:
    one = LISTING.query(filters=(), order_by="-backend", page=0, page_size=25, ids=None)
    several = LISTING.query(filters=(), order_by=["backend", "-id"], page=0, page_size=25, ids=None)
    assert one.order_by == (("engine", True),)
    assert several.order_by == (("engine", False), ("id", True))


@pytest.mark.parametrize(("page", "page_size"), [(-1, 25), (0, 0), (0, LARGEST_PAGE + 1)])
def test_pages_have_bounds(page: int, page_size: int) -> None:
    assert "page" in rejection(page=page, page_size=page_size)


def test_fields_that_were_not_asked_for_are_left_out() -> None:
    item = only(DatabaseListItem(id=1, database_name="d"), LISTING.fields(["database_name"]))
    assert item.to_payload() == {"database_name": "d"}


def test_an_unknown_field_is_refused() -> None:
    with pytest.raises(PayloadSchemaError, match="did you mean 'database_name'"):
        LISTING.fields(["database_nam"])


@for_each(
    ("arguments", "message"),
    [
        ({"page": "1"}, "page: must be an integer"),
        ({"page_size": True}, "page_size: must be an integer"),
        ({"filters": 5}, "filters: must be an array"),
        ({"filters": {"col": "id"}}, "filters: must be an array"),
        ({"filters": [{"col": "id", "op": "neq", "val": number} for number in range(101)]}, "filters: may have 100"),
        ({"filters": [{"col": "id", "op": "in", "val": [1] * 1_001}]}, r"filters.0.val: may have 1000 items at most"),
        ({"filters": [{"col": "changed_on", "op": "gt", "val": "0001-01-01T00:00+14:00"}]}, "must be a moment"),
        ({"order_by": 5}, "order_by: must be an array"),
        ({"order_by": [5]}, "order_by: must be the name of a column"),
        ({"order_by": ["id"] * 101}, "order_by: may have 100"),
    ],
)
def test_arguments_that_no_statement_can_take_are_refused_by_name(arguments: dict[str, Any], message: str) -> None:
    assert message in rejection(**arguments)


@pytest.mark.parametrize("columns", [5, "id", [5], [["id"]]])
def test_columns_are_an_array_of_names(columns: Any) -> None:
    with pytest.raises(PayloadSchemaError, match="columns"):
        LISTING.fields(columns)


def test_ordering_twice_by_one_column_orders_once() -> None:
    query = LISTING.query(filters=(), order_by=["id", "id", "-id"], page=0, page_size=25, ids=None)
    assert query.order_by == (("id", False), ("id", True))


def test_only_records_with_an_audit_trail_are_listed_by_it() -> None:
    assert "there is no column 'created_by'" in rejection(filters=[{"col": "created_by", "op": "eq", "val": 1}])
    audited = Listing(shape="database", item=DatabaseListItem)
    assert set(audited.columns) == {"id", "created_by", "changed_by", "created_on", "changed_on"}


@for_each(
    ("resource", "texts", "flags", "numbers"),
    [
        (CSS_TEMPLATES, "template_name css", "", "id created_by"),
        (
            DASHBOARDS,
            "uuid dashboard_title slug certified_by",
            "published is_managed_externally",
            "owners roles charts",
        ),
        (
            DATABASES,
            "uuid database_name backend driver",
            "expose_in_sqllab allow_dml allow_run_async allow_file_upload",
            "id changed_by",
        ),
        (
            DATASETS,
            "uuid table_name catalog schema sql description",
            "is_managed_externally",
            "database database_id owners",
        ),
        (USERS, "username first_name last_name email", "active", "id roles"),
        (
            REPORTS,
            "name type creation_method crontab timezone description last_state",
            "active",
            "chart dashboard database chart_id dashboard_id owners",
        ),
        (ROW_RULES, "name description filter_type group_key", "", "id roles tables"),
        (TAGS, "name description", "", "id type"),
    ],
    ids=["css_templates", "dashboards", "databases", "datasets", "users", "reports", "row_rules", "tags"],
)
def test_a_list_filters_by_the_columns_of_the_contract(resource: Any, texts: str, flags: str, numbers: str) -> None:
    stored = {"backend": "engine", "owners": "owner_ids", "roles": "role_ids", "charts": "chart_ids"}
    stored |= {"tables": "dataset_ids", **{name: f"{name}_id" for name in ("chart", "dashboard", "database")}}
    for columns, value in ((texts, "x"), (flags, True), (numbers, 7)):
        for column in columns.split():
            given = [{"col": column, "op": "eq", "val": value}]
            query = resource.listing.query(filters=given, order_by=None, page=0, page_size=25, ids=None)
            assert query.filters == (ListFilter(col=stored.get(column, column), op="eq", val=value),)
