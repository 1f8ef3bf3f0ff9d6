"""Nothing that is stored is revived; what does not decode is a miss or an error of ours."""

from __future__ import annotations

import ast
import json
import pickle
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import sqlalchemy as sa
from tests.architecture.source import source_files
from tests.support.guests import GuestWorld, guest_world

from analytics_core import errors
from analytics_core._content.storage.tables import METADATA
from analytics_core._engine.frames.arrow_frames import frame_from_bytes

REVIVERS = {"pickle", "cPickle", "_pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "jsonpickle"}
READERS = {"read_pickle", "to_pickle", "allow_pickle", "PickleType", "UnknownExtensionType"}
SAFE_YAML = {"SafeLoader", "SafeDumper", "dump", "load", "parse", "constructor", "YAMLError", "ScalarNode"}
"""What the source may name of PyYAML besides events; `load` is given a loader, which is a safe one."""


@pytest.mark.slow
def test_the_source_imports_nothing_that_revives_objects() -> None:
    found = [
        f"{file.at(node)} {name}"
        for file in source_files()
        for node in file.nodes
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([alias.name for alias in node.names] + [getattr(node, "module", None) or ""])
        if name.partition(".")[0] in REVIVERS
    ]
    assert found == []
    assert any(alias.name == "json" for file in source_files() for node in file.nodes
               if isinstance(node, ast.Import) for alias in node.names)  # fmt: skip


def test_the_source_calls_nothing_that_revives_objects_or_runs_text() -> None:
    found = []
    for file in source_files():
        for node in file.nodes:
            if isinstance(node, ast.Attribute | ast.keyword) and (getattr(node, "attr", None) or node.arg) in READERS:  # type: ignore[union-attr]
                found.append(f"{file.path} {ast.unparse(node)}")
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("eval", "exec", "compile", "__import__"):
                found.append(f"{file.at(node)} {ast.unparse(node.func)}")
    assert found == []


def test_yaml_is_read_by_the_safe_loader_alone() -> None:
    named = {
        node.attr
        for file in source_files()
        for node in file.nodes
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "yaml" and not node.attr.endswith("Event")
    }
    assert "SafeLoader" in named
    assert named - SAFE_YAML == set()


def test_no_column_of_the_store_is_pickled() -> None:
    kinds = {type(column.type) for table in METADATA.tables.values() for column in table.columns}
    assert kinds
    assert not any(issubclass(kind, sa.PickleType) for kind in kinds)


# ------------------------------------------------------------------------------------------------------------- frames
class Trap:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return (Path.touch, (self._file,))


def stream(metadata: dict[bytes, bytes]) -> bytes:
    """Return an Arrow stream with one column whose field has this metadata."""
    field = pa.field("x", pa.large_binary(), metadata={b"kind": b"text", b"form": b"arrow", **metadata})
    sink = pa.BufferOutputStream()
    table = pa.table([pa.array([b"a"], pa.large_binary())], schema=pa.schema([field]))
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize("name", [b"arrow.py_extension_type", b"pandas", b"arrow.opaque", b"evil"])
def test_a_frame_that_names_a_python_type_runs_nothing(tmp_path: Path, name: bytes) -> None:
    trap = tmp_path / "loot"
    pickled = pickle.dumps(Trap(trap))
    with suppress(errors.StoredDataError):
        list(frame_from_bytes(stream({b"ARROW:extension:name": name, b"ARROW:extension:metadata": pickled})).rows())
    assert not trap.exists()
    pickle.loads(pickled)
    assert trap.exists()  # the trap itself works


# ------------------------------------------------------------------------------------------------- the key-value store
@pytest.fixture
def world(tmp_path: Path) -> Iterator[GuestWorld]:
    with guest_world(f"sqlite:///{tmp_path}/shop.db") as made:
        yield made


def poisoned(world: GuestWorld, kind: str, key: str, value: str) -> None:
    """Write other bytes under a key, as somebody could who reaches the store."""
    with world.host._runtime.content.store.unit_of_work() as unit:
        record = unit.key_values.find(kind=kind, key=key)
        assert record is not None
        unit.key_values.update(replace(record, value=value), actor_id=None)


POISONS = [
    *("", "null", "[]", "{}", "7", '"text"', "not json", "[" * 100_000, '{"py/object": "os.system"}'),
    "!!python/object/apply:os.system [touch loot]",
    "gASVKgAAAAAAAACMBXBvc2l4lIwGc3lzdGVt",
]


def test_values_that_do_not_decode_are_errors_of_ours(world: GuestWorld) -> None:
    admin = world.admin
    chart = admin.permalinks.create_for_chart({"formData": {"datasource": "1__table"}}).key
    board = admin.permalinks.create_for_dashboard(1, {"urlParams": []}).key
    form = admin.explore.create_form_data({"datasource_id": 1, "datasource_type": "table", "form_data": "{}"})
    reads: list[tuple[str, str, Callable[[], Any]]] = [
        ("chart_permalink", chart, lambda: admin.permalinks.get_for_chart(chart)),
        ("chart_permalink", chart, lambda: admin.explore.context(permalink_key=chart)),
        ("dashboard_permalink", board, lambda: admin.permalinks.get_for_dashboard(board)),
        ("form_data", form, lambda: admin.explore.get_form_data(form)),
        ("form_data", form, lambda: admin.explore.context(form_data_key=form)),
    ]
    for _, _, read in reads:
        read()
    for poison in POISONS:
        for kind, key in ((kind, key) for kind, key, _ in reads):
            poisoned(world, kind, key, poison)
        for _, key, read in (*reads, ("form_data", form, lambda: admin.explore.delete_form_data(form))):
            with pytest.raises(errors.StoredDataError) as rejection:
                read()
            assert key not in str(rejection.value)


def test_a_stored_permalink_of_another_shape_is_an_error_of_ours(world: GuestWorld) -> None:
    changes: list[dict[str, Any]] = [
        *({"chart_id": "1"}, {"chart_id": True}, {"chart_id": [1]}, {"datasource": 1}, {"state": []}, {"state": None}),
        *({"state": {"formData": "text"}}, {"state": {"formData": {}, "unknown": 1}}, {"more": 1}),
    ]
    key = world.admin.permalinks.create_for_chart({"formData": {"datasource": "1__table", "slice_id": 1}}).key
    good = {"chart_id": 1, "datasource": "1__table", "state": {"formData": {"datasource": "1__table"}}}
    poisoned(world, "chart_permalink", key, json.dumps(good))
    assert world.admin.permalinks.get_for_chart(key).chart_id == 1
    for change in changes:
        poisoned(world, "chart_permalink", key, json.dumps({**good, **change}))
        with pytest.raises(errors.StoredDataError):
            world.admin.permalinks.get_for_chart(key)


def test_stored_form_data_of_another_shape_is_an_error_of_ours(world: GuestWorld) -> None:
    changes: list[dict[str, Any]] = [{"id": "1"}, {"id": 1.0}, {"type": 7}, {"form_data": {}}, {"chart_id": "1"}]
    key = world.admin.explore.create_form_data({"datasource_id": 1, "datasource_type": "table", "form_data": "{}"})
    good = {"id": 1, "type": "table", "chart_id": None, "form_data": '{"a": 1}'}
    poisoned(world, "form_data", key, json.dumps(good))
    assert world.admin.explore.get_form_data(key) == '{"a": 1}'
    for change in changes:
        poisoned(world, "form_data", key, json.dumps({**good, **change}))
        with pytest.raises(errors.StoredDataError):
            world.admin.explore.get_form_data(key)


def test_a_value_stored_for_another_thing_opens_only_what_the_actor_may_read(world: GuestWorld) -> None:
    """Who moves a stored value under another key gains nothing: access is asked for what it names."""
    world.admin.users.create({"username": "reader", "roles": []})
    key = world.admin.explore.create_form_data({"datasource_id": 1, "datasource_type": "table", "form_data": "{}"})
    moved = json.dumps({"id": 2, "type": "table", "chart_id": None, "form_data": "{}"})
    poisoned(world, "form_data", key, moved)
    with pytest.raises(errors.AccessError):
        world.host.as_user("reader").explore.get_form_data(key)
    assert world.admin.explore.get_form_data(key) == "{}"
