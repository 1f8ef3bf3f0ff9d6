"""`AnalyticsCore.export_bundle`: content as files that another store loads."""

from __future__ import annotations

import io
import json
import os
import re
import zipfile
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any, Final

from analytics_core._content.batches import is_id, read_once
from analytics_core._content.bundles.fields import (
    CHART_FIELDS,
    COLUMN_FIELDS,
    DASHBOARD_FIELDS,
    DATASET_FIELDS,
    METRIC_FIELDS,
    document_fields,
)
from analytics_core._content.bundles.files import MOST_FILES
from analytics_core._content.bundles.identities import (
    context_of,
    form_of,
    layout_there,
    metadata_there,
    value_there,
)
from analytics_core._content.bundles.labels import ANNOTATION_FIELDS
from analytics_core._content.bundles.selection import KINDS, SHAPE, ExportedIds, Selection, selected
from analytics_core._content.questions.dashboard_content import charts_in, without_places_of_others
from analytics_core._content.reader import Reader
from analytics_core._content.runtime import ContentRuntime
from analytics_core._content.stored_json import json_object
from analytics_core._engine.rights.actor import Actor
from analytics_core._records.chart import Annotation, Chart
from analytics_core._records.dashboard import Dashboard
from analytics_core._records.datasource import Dataset
from analytics_core._records.people import Grant, GrantTarget, Role, RowRule
from analytics_core._records.sql_query import SavedQuery
from analytics_core._tools.atomic_files import write_atomically
from analytics_core.errors import PayloadSchemaError, Problem
from analytics_core.models.parsing import payload_error
from analytics_core.models.strict_json import repeated_key

_VERSION: Final = {"version": "1.0.0"}
_ROOT: Final = "export"
_BREAKS: Final = frozenset("\x85\u2028\u2029")
"""Line breaks of YAML that are none in JSON."""

_NO_ID: Final = 0
"""Stands for the id of a dataset, which every store has its own of."""


class BundleWriter:
    """Writes bundles for one actor: what they may read, without connections and people."""

    def __init__(self, runtime: ContentRuntime, actor: Actor) -> None:
        self._runtime = runtime
        self._actor = actor

    def write(self, path: str | os.PathLike[str] | None, named: ExportedIds) -> bytes:
        """Return a ZIP file of what is named by ids, and of what it needs; with a path, write it there too."""
        wanted: dict[str, tuple[int, ...]] = dict.fromkeys(KINDS, ())
        for kind, given in named.items():
            ids = read_once(given, most=MOST_FILES)
            if kind not in wanted or not isinstance(ids, tuple) or not all(map(is_id, ids)) or len(ids) > MOST_FILES:
                message = f"must be a list of at most {MOST_FILES} ids; {', '.join(KINDS)} are exported"
                raise payload_error(SHAPE, kind, message)
            wanted[kind] = tuple(dict.fromkeys(ids))
        if not any(wanted.values()):
            raise payload_error(SHAPE, "", f"names nothing: give ids of {', '.join(KINDS)}")
        with self._runtime.store.unit_of_work() as unit:
            found = selected(Reader(unit, self._runtime.policy, self._actor), wanted)
        packed = _zipped(dict(_files(found)))
        if path is not None:
            _write(path, packed)
        return packed


# -------------------------------------------------------------------------------------------------------- documents
def _files(found: Selection) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the documents of an export by their paths."""
    yield "metadata.yaml", {"type": "assets"}
    for database in found.databases.values():
        uri = f"{database.engine}://"  # the connection belongs to its own store
        content = {**document_fields(database, "database_name", "uuid"), "sqlalchemy_uri": uri}
        yield _path("databases", database.database_name, database.uuid), content
    for dataset in found.datasets.values():
        yield _path("datasets", dataset.table_name, dataset.uuid), _dataset(dataset, found)
    for chart in found.charts.values():
        yield _path("charts", chart.slice_name, chart.uuid), _chart(chart, found)
    for dashboard in found.dashboards.values():
        yield _path("dashboards", dashboard.dashboard_title or "", dashboard.uuid), _dashboard(dashboard, found)
    for query in found.saved_queries.values():
        database = found.databases[query.database_id]
        places = filter(None, map(_plain, (database.database_name, query.schema or "")))
        yield _path("/".join(("queries", *places)), query.label, query.uuid), _saved_query(query, database.uuid, found)
    for key, layer in found.layers.items():
        annotations = sorted((_annotation(one) for one in found.annotations[key]), key=json.dumps)
        yield (
            _named_path("annotation_layers", layer.name),
            {**document_fields(layer, "name", "descr"), "annotations": annotations},
        )
    for template in found.css_templates.values():
        yield (
            _named_path("css_templates", template.template_name or ""),
            document_fields(template, "template_name", "css"),
        )
    if found.tags:
        tags = sorted((tag.name, tag.description or None) for tag in found.tags.values())
        yield "tags.yaml", {"tags": [{"tag_name": name, "description": text} for name, text in tags]}
    for role in found.roles.values():
        yield _named_path("roles", role.name), _role(role, found)
    for rule in found.row_rules.values():
        yield _named_path("row_rules", rule.name), _row_rule(rule, found)


def _dataset(dataset: Dataset, found: Selection) -> dict[str, Any]:
    return {
        **document_fields(dataset, "table_name", "schema", "sql", "uuid", *DATASET_FIELDS),
        "database_uuid": found.databases[dataset.database_id].uuid,
        "columns": [document_fields(column, *COLUMN_FIELDS) for column in dataset.columns],
        "metrics": [document_fields(metric, *METRIC_FIELDS) for metric in dataset.metrics],
    }


def _chart(chart: Chart, found: Selection) -> dict[str, Any]:
    _reject_repeated_keys(f"chart {chart.id}", params=chart.params, query_context=chart.query_context)
    charts = {key: one.uuid for key, one in found.charts.items()}
    new_value = value_there(charts, {key: layer.name for key, layer in found.layers.items()})
    return {
        **document_fields(chart, "uuid", *CHART_FIELDS),
        "params": form_of(json_object(chart.params), new_value),
        "query_context": context_of(chart.query_context, new_value, dataset_id=_NO_ID),
        "dataset_uuid": found.datasets[chart.dataset_id or 0].uuid,
        "tags": _tags(chart, found),
    }


def _dashboard(dashboard: Dashboard, found: Selection) -> dict[str, Any]:
    metadata, layout = dashboard.json_metadata, dashboard.position_json
    _reject_repeated_keys(f"dashboard {dashboard.id}", json_metadata=metadata, position_json=layout)
    own = {key: found.charts[key].uuid for key in dashboard.chart_ids}
    position = json_object(without_places_of_others(layout, own))
    datasets = {key: dataset.uuid for key, dataset in found.datasets.items()}
    return {
        **document_fields(dashboard, "uuid", *DASHBOARD_FIELDS),
        "position": layout_there(position, own),
        "metadata": metadata_there(json_object(metadata), own, datasets),
        "charts": sorted(uuid for key, uuid in own.items() if key not in charts_in(position)),
        "tags": _tags(dashboard, found),
        "roles": sorted(found.role_names[key] for key in dashboard.role_ids if key in found.role_names),
    }


def _saved_query(query: SavedQuery, database_uuid: str, found: Selection) -> dict[str, Any]:
    """Return a saved query; what Superset's documents have no field for is there where it says something alone."""
    fields = {**document_fields(query, "template_params"), "tags": _tags(query, found)}
    ours = {name: value for name, value in fields.items() if value}
    return {
        **document_fields(query, "label", "description", "schema", "sql", "uuid"),
        "database_uuid": database_uuid,
        **ours,
    }


def _tags(record: Chart | Dashboard | SavedQuery, found: Selection) -> list[str]:
    return sorted(found.tags[key].name for key in record.tag_ids if key in found.tags)


def _annotation(annotation: Annotation) -> dict[str, Any]:
    content = document_fields(annotation, *ANNOTATION_FIELDS)
    return {**content, **{name: content[name].isoformat() for name in ("start_dttm", "end_dttm")}}


def _role(role: Role, found: Selection) -> dict[str, Any]:
    grants = sorted((_grant(grant, found) for grant in role.grants), key=json.dumps)
    return {**document_fields(role, "name", "is_admin"), "grants": grants}


def _grant(grant: Grant, found: Selection) -> dict[str, Any]:
    if grant.target is GrantTarget.DATASET:
        return {"on": grant.target.value, "dataset_uuid": found.datasets[grant.target_id].uuid}
    content = {"on": grant.target.value, "database_uuid": found.databases[grant.target_id].uuid}
    return content if grant.schema is None else {**content, "schema": grant.schema}


def _row_rule(rule: RowRule, found: Selection) -> dict[str, Any]:
    return {
        **document_fields(rule, "name", "clause", "group_key", "description"),
        "filter_type": rule.filter_type.value,
        "roles": sorted(found.role_names[key] for key in rule.role_ids if key in found.role_names),
        "tables": sorted(found.datasets[key].uuid for key in rule.dataset_ids),
    }


def _reject_repeated_keys(record: str, **texts: str | None) -> None:
    """Raise PayloadSchemaError for stored JSON that names a key twice: what would move is not what was written."""
    errors = ((field, repeated_key(text)) for field, text in texts.items())
    problems = [Problem(path=f"{record}: {field}", message=str(error)) for field, error in errors if error is not None]
    if problems:
        raise PayloadSchemaError(shape=SHAPE, problems=problems)


# ------------------------------------------------------------------------------------------------------------ files
def _path(folder: str, name: str, uuid: str) -> str:
    return f"{folder}/{_plain(name)}_{uuid}.yaml"


def _plain(name: str) -> str:
    return re.sub(r"[^\w-]+", "_", name)[:60].strip("_")


def _named_path(folder: str, name: str) -> str:
    """Return the path of a record that has no UUID: names that differ in what paths lack have paths of their own."""
    return _path(folder, name, sha256(name.encode()).hexdigest()[:12])


def _zipped(files: Mapping[str, Mapping[str, Any]]) -> bytes:
    """Return a ZIP file whose bytes depend on nothing but what the files say."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as zipped:
        for path in sorted(files):
            info = zipfile.ZipInfo(f"{_ROOT}/{path}")  # of the first day that ZIP files know
            info.compress_type = zipfile.ZIP_DEFLATED
            zipped.writestr(info, _yaml({**files[path], **_VERSION}))
    return packed.getvalue()


def _yaml(document: Mapping[str, Any]) -> bytes:
    import yaml

    class WithoutAliases(yaml.SafeDumper):  # type: ignore[misc]  # PyYAML has no types
        def ignore_aliases(self, _data: Any) -> bool:
            return True

        def represent_str(self, data: str) -> Any:
            style = '"' if _BREAKS.intersection(data) else None  # in other styles readers take them for line breaks
            return self.represent_scalar("tag:yaml.org,2002:str", data, style=style)

    WithoutAliases.add_representer(str, WithoutAliases.represent_str)
    plain = json.loads(json.dumps(document))  # tuples are lists, enums are their values
    text: str = yaml.dump(plain, Dumper=WithoutAliases, sort_keys=True, allow_unicode=True, width=100)
    return text.encode()


def _write(path: str | os.PathLike[str], packed: bytes) -> None:
    try:
        write_atomically(path, packed)
    except (OSError, TypeError, ValueError):
        raise payload_error(SHAPE, "path", "leads to no file that can be written") from None
