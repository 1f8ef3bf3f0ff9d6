"""How a record of each namespace is made, read, changed and deleted through the facade, in the world of `guests`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.support.guests import NOW, QUERY, chart, dashboard

from analytics_core import AnalyticsCore
from analytics_core.errors import (
    AccessError,
    AlreadyExistsError,
    AnalyticsError,
    ChartAccessError,
    DashboardAccessError,
    DatabaseAccessError,
    DatasetAccessError,
    GuestAccessError,
    OwnershipError,
)

Key = tuple[Any, ...]
"""What `get`, `update` and `delete` take to name a record."""
Refusal = type[AnalyticsError] | None
EVENT = {"start_dttm": NOW.isoformat(), "end_dttm": NOW.isoformat(), "short_descr": "first"}
TO_ADA = [{"type": "Email", "recipient_config_json": {"target": "ada@example.com"}}]
RULE = {"name": "first", "clause": "amount > 1", "filter_type": "Regular", "roles": [2], "tables": [1]}


def _same(value: Any) -> Any:
    return value


def _all(core: AnalyticsCore, namespace: str) -> set[Key]:
    return {(item.id,) for item in getattr(core, namespace).list(page_size=100)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """One resource: a new record says `first` in its `field`, which may be changed to any other short word.

    `reader`, `stranger` and `guest` say what reading it raises for them (None: they read it), `maker` who makes it,
    `noun` what errors call it.
    """

    namespace: str
    noun: str
    field: str
    make: Callable[[AnalyticsCore], Key]
    listed: Callable[[AnalyticsCore], set[Key]]
    to_field: Callable[[str], Any] = _same
    to_word: Callable[[Any], str] = _same
    maker: str = "owner"
    reader: Refusal = None
    stranger: Refusal = None
    guest: Refusal = GuestAccessError

    def get(self, core: AnalyticsCore, key: Key) -> Any:
        """Return the record as the actor of a core gets it."""
        return getattr(core, self.namespace).get(*key)

    def read(self, core: AnalyticsCore, key: Key) -> str:
        """Return the word that the record says."""
        return self.word(self.get(core, key))

    def word(self, answer: Any) -> str:
        """Return the word that an answer says."""
        return self.to_word(getattr(answer, self.field))

    def change(self, core: AnalyticsCore, key: Key, word: str = "second", **options: Any) -> Any:
        """Make the record say another word."""
        return getattr(core, self.namespace).update(*key, {self.field: self.to_field(word)}, **options)

    def delete(self, core: AnalyticsCore, key: Key) -> None:
        """Delete the record."""
        getattr(core, self.namespace).delete(*key)


def plain(namespace: str, noun: str, first: dict[str, Any], field: str, **more: Any) -> Life:
    """Return the life of a resource whose records are known by their ids."""
    return Life(
        namespace=namespace,
        noun=noun,
        field=field,
        make=lambda core: (getattr(core, namespace).create(first).id,),
        listed=lambda core: _all(core, namespace),
        **more,
    )


def _annotation(core: AnalyticsCore) -> Key:
    try:
        layer_id = core.annotation_layers.create({"name": "a layer"}).id
    except AlreadyExistsError:
        layer_id = core.annotation_layers.list([{"col": "name", "op": "eq", "val": "a layer"}]).result[0].id
    return layer_id, core.annotations.create(layer_id, EVENT).id


def _annotations(core: AnalyticsCore) -> set[Key]:
    layers = core.annotation_layers.list(page_size=100)
    return {(layer.id, item.id) for layer in layers for item in core.annotations.list(layer.id)}


def _embedded(core: AnalyticsCore) -> Key:
    made = core.dashboards.create(dashboard("embedded", 1))
    core.embedded.create(made.id, {"allowed_domains": ["https://first.example"]})
    return (made.id,)


LIVES = {
    "databases": plain(
        "databases",
        "database",
        {"database_name": "first", "orm_uri": "sqlite://"},
        "database_name",
        maker="admin",
        reader=DatabaseAccessError,
        stranger=DatabaseAccessError,
    ),
    "datasets": plain(
        "datasets",
        "dataset",
        {"database": 1, "table_name": "first", "sql": "SELECT city FROM sales"},
        "table_name",
        stranger=DatasetAccessError,
    ),
    "charts": plain(
        "charts",
        "chart",
        chart("first", 1, QUERY),
        "slice_name",
        stranger=ChartAccessError,
        guest=ChartAccessError,
    ),
    "dashboards": plain(
        "dashboards",
        "dashboard",
        dashboard("first", 1),
        "dashboard_title",
        stranger=DashboardAccessError,
        guest=DashboardAccessError,
    ),
    "annotation_layers": plain("annotation_layers", "annotation layer", {"name": "first"}, "name"),
    "annotations": Life(
        namespace="annotations",
        noun="annotation",
        field="short_descr",
        make=_annotation,
        listed=_annotations,
    ),
    "saved_queries": plain(
        "saved_queries",
        "saved query",
        {"label": "first", "database": 1, "sql": "SELECT 1"},
        "label",
        stranger=DatabaseAccessError,
    ),
    "css_templates": plain("css_templates", "CSS template", {"template_name": "first", "css": "a {}"}, "template_name"),
    "tags": plain("tags", "tag", {"name": "first"}, "name"),
    "row_level_security": plain(
        "row_level_security",
        "row rule",
        RULE,
        "name",
        maker="admin",
        reader=AccessError,
        stranger=AccessError,
    ),
    "embedded": Life(
        namespace="embedded",
        noun="embedded dashboard",
        field="allowed_domains",
        make=_embedded,
        listed=lambda core: {(int(item.dashboard_id or 0),) for item in core.embedded.list(page_size=100)},
        to_field=lambda word: [f"https://{word}.example"],
        to_word=lambda domains: domains[0].removeprefix("https://").split(".")[0],
        reader=OwnershipError,
        stranger=OwnershipError,
    ),
    "reports": plain(
        "reports",
        "report schedule",
        {
            "name": "first",
            "type": "Report",
            "crontab": "0 9 * * *",
            "report_format": "TEXT",
            "chart": 1,
            "recipients": TO_ADA,
        },
        "name",
        reader=OwnershipError,
        stranger=OwnershipError,
    ),
    "users": plain(
        "users",
        "user",
        {"username": "new", "first_name": "first"},
        "first_name",
        maker="admin",
        reader=AccessError,
        stranger=AccessError,
    ),
    "roles": plain(
        "roles",
        "role",
        {"name": "first"},
        "name",
        maker="admin",
        reader=AccessError,
        stranger=AccessError,
    ),
}
