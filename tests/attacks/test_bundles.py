"""Hostile bundles at `load_bundle`: refused with the file and what is wrong, in bounded time and memory, whole or not.

Large ones are tried in processes of their own, whose peak memory is measured.
"""

from __future__ import annotations

import io
import json
import resource
import sqlite3
import struct
import time
import warnings
import zipfile
from collections.abc import Callable
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.support.apart import result_apart
from tests.support.attacks import SHARE
from tests.support.bundles import (
    ASKING,
    BOARD,
    BY_COUNTRY,
    IN_ALL,
    NAMES,
    PEOPLE,
    bundle,
    chart,
    column,
    packed,
    texts,
)
from tests.support.small_core import small_core

from analytics_core import errors

MOST_SECONDS = 90.0
MOST_MEGABYTES = 700
HERE = {"shop": 1}
MEGABYTE = 1 << 20


def with_file(content: str | bytes, name: str = "export/evil.yaml") -> bytes:
    return packed({**bundle(), name: content})


def changed(path: str, change: Callable[[Any], object]) -> bytes:
    documents = bundle()
    change(documents[path])
    return packed(documents)


def zipped(*entries: tuple[str | zipfile.ZipInfo, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(file, "w", method) as made:
        warnings.simplefilter("ignore")  # of names that stand there twice
        for name, content in entries:
            made.writestr(name, content)
    return file.getvalue()


def link(name: str, target: str) -> bytes:
    info = zipfile.ZipInfo(name)
    info.external_attr = 0o120777 << 16
    return zipped((info, target.encode()))


def patched(made: bytes, at: int, kind: str, value: int) -> bytes:
    """Return a ZIP file with a field changed in the headers of all its files; `at` is where the directory has it."""
    found = bytearray(made)
    for signature, offset in ((b"PK\x01\x02", at), (b"PK\x03\x04", at - 2)):
        start = 0
        while (start := found.find(signature, start)) >= 0:
            struct.pack_into(kind, found, start + offset, value)
            start += 4
    return bytes(found)


def many_entries(count: int) -> bytes:
    """Return a ZIP file whose directory names one file very often."""
    made = zipped(("a.yaml", b"a: 1"))
    start, end = made.find(b"PK\x01\x02"), made.find(b"PK\x05\x06")
    tail = bytearray(made[end:])
    struct.pack_into("<HHL", tail, 8, 65_535, 65_535, (end - start) * count)
    return made[:start] + made[start:end] * count + bytes(tail)


def keys(count: int, first: int = 0) -> str:
    return "".join(f"k{number}: 1\n" for number in range(first, first + count))


def laughs(levels: int) -> str:
    names = [f"a{number}" for number in range(levels)]
    lines = [f"{name}: &{name} [{','.join([f'*{last}'] * 10)}]\n" for last, name in pairwise(names)]
    return f"a0: &a0 [{','.join('x' * 10)}]\n{''.join(lines)}"


BOARD_FILE = "export/dashboards/board.yaml"
CHART_FILE = "export/charts/in_all.yaml"
BUNDLES: dict[str, tuple[Callable[[], Any], str]] = {
    "aliases of aliases": (lambda: with_file(laughs(9)), "evil.yaml: has more than 250000 values"),
    "an alias of itself": (lambda: with_file("a: &a [*a]"), "evil.yaml: has more than 64 levels"),
    "a key that is an alias of itself": (lambda: with_file("&a {*a : 1}"), "evil.yaml: is no YAML"),
    "many aliases": (lambda: with_file("a: [&a 1" + ",*a" * 2_000 + "]"), "evil.yaml: has more than 64 levels, or"),
    "many anchors": (lambda: with_file("a: [" + ",".join(f"&a{n} 1" for n in range(150_000)) + "]"), ""),
    "deep lists": (lambda: with_file("[" * MEGABYTE), "evil.yaml: is no YAML"),
    "deep blocks": (lambda: with_file("- " * MEGABYTE), "evil.yaml: has more than 64 levels"),
    "deep objects": (lambda: with_file("{a: " * 400_000), "evil.yaml: has more than 64 levels"),
    "a file that is too large": (lambda: with_file("#" * (2 * MEGABYTE + 1)), "evil.yaml: has more than 2097152 bytes"),
    "a million keys": (
        lambda: packed({f"{n}.yaml": keys(120_000, n * 120_000) for n in range(0, 9, SHARE)}),
        "",
    ),
    "a million values in a file": (lambda: with_file("a: [" + "1," * 1_000_000 + "]"), "evil.yaml: has more than 25"),
    "more values than a bundle may have": (
        lambda: packed({f"{n:02}.yaml": "a: [" + "1," * 240_000 + "]" for n in range(9)}),
        "the bundle more than 2000000",
    ),
    "many files that are wrong at their ends": (
        lambda: packed({f"{n:02}.yaml": "a: [" + "1," * 240_000 + "!x 1]" for n in range(12)}),
        "11.yaml: has a tag in line 1",
    ),
    "many documents": (lambda: with_file("--- a\n" * 300_000), "evil.yaml: "),
    "a key very often": (lambda: with_file("a: 1\n" * 120_000), "evil.yaml: is no YAML"),
    "a long number of base 60": (lambda: with_file("a: 1" + ":1" * 900_000), "evil.yaml: is no YAML"),
    "a long number of base 16": (lambda: with_file("a: 0x" + "f" * 2_000_000), "evil.yaml: is no YAML"),
    "a long number": (lambda: with_file("a: " + "9" * 2_000_000), "evil.yaml: is no YAML"),
    "a date that is none": (lambda: with_file("a: 2024-99-99"), "evil.yaml: is no YAML"),
    "a Python object": (lambda: with_file("!!python/object/apply:os.system ['echo']"), "evil.yaml: has a tag in line"),
    "a Python name": (lambda: with_file("a: !!python/name:os.system"), "evil.yaml: has a tag in line 1"),
    "a tag by its handle": (lambda: with_file("%TAG ! tag:yaml.org,2002:\n---\na: !name:os 1"), "has a tag in line 3"),
    "an own tag": (lambda: with_file("a: !Ref x"), "evil.yaml: has a tag in line 1"),
    "a merge key": (lambda: with_file("a: &a {x: 1}\nb: {<<: *a}"), "evil.yaml: has a merge key in line 2"),
    "a hostile metadata.yaml": (lambda: with_file("a: !x 1", "export/metadata.yaml"), "metadata.yaml: has a tag"),
    "another version of all": (lambda: with_file("version: 2.0.0", "export/metadata.yaml"), "metadata.yaml: version"),
    "another version": (lambda: changed(CHART_FILE, lambda d: d.update(version="0.9")), "in_all.yaml: version: is '0."),
    "a version that is none": (lambda: changed(CHART_FILE, lambda d: d.update(version=[1])), "in_all.yaml: version"),
    "a UUID that is none": (lambda: changed(CHART_FILE, lambda d: d.update(uuid="x")), "in_all.yaml: uuid: must be"),
    "no UUID": (lambda: changed(CHART_FILE, lambda d: d.pop("uuid")), "in_all.yaml: uuid: must be"),
    "a UUID of something else": (lambda: changed(CHART_FILE, lambda d: d.update(dataset_uuid=BOARD)), "in_all.yaml: "),
    "a path upwards": (lambda: zipped(("../evil.yaml", b"a: 1")), "evil.yaml: leads out of the ZIP file"),
    "a path through a folder upwards": (lambda: zipped(("a/../../evil.yaml", b"a: 1")), "leads out of the ZIP file"),
    "an absolute path": (lambda: zipped(("/etc/evil.yaml", b"a: 1")), "leads out of the ZIP file"),
    "a path with a drive": (lambda: zipped(("C:/evil.yaml", b"a: 1")), "leads out of the ZIP file"),
    "a path behind a drive": (lambda: zipped(("C:evil.yaml", b"a: 1")), "leads out of the ZIP file"),
    "a path with backslashes": (lambda: zipped(("..\\evil.yaml", b"a: 1")), "leads out of the ZIP file"),
    "a server's path": (lambda: zipped(("\\\\host\\evil.yaml", b"a: 1")), "leads out of the ZIP file"),
    "a path with a null byte": (
        lambda: zipped(("evil_yaml.yaml", b"a: 1")).replace(b"evil_yaml.yaml", b"evil.yaml\0.yml"),
        "must be a printable name",
    ),
    "a name with a line end": (lambda: zipped(("a\nOK: all is well.yaml", b"a: 1")), "must be a printable name"),
    "a very long name": (lambda: zipped(("x" * 60_000 + ".yaml", b"a: 1")), "must be a printable name"),
    "a link": (lambda: link("evil.yaml", "/etc/passwd"), "evil.yaml: is a link"),
    "a bomb": (lambda: zipped(("evil.yaml", b" " * 300 * MEGABYTE)), "evil.yaml: has more than 2097152 bytes"),
    "a bomb of many files": (
        lambda: zipped(*((f"{n}.yaml", b"#" * 2 * MEGABYTE) for n in range(40))),
        "it has more than 20000 files, or more than",
    ),
    "a bomb that is no YAML": (lambda: zipped(("x.png", b" " * 300 * MEGABYTE)), "it holds no YAML file"),
    "a name twice": (lambda: zipped(("evil.yaml", b"a: 1"), ("evil.yaml", b"a: 2")), "evil.yaml: is in the ZIP file"),
    "an encrypted file": (lambda: patched(zipped(("evil.yaml", b"a: 1")), 8, "<H", 1), "evil.yaml: is encrypted"),
    "another method": (lambda: zipped(("evil.yaml", b"a: 1"), method=zipfile.ZIP_LZMA), "evil.yaml: is encrypted, or"),
    "an unknown method": (lambda: patched(zipped(("evil.yaml", b"a: 1")), 10, "<H", 99), "evil.yaml: is encrypted, or"),
    "a damaged file": (lambda: zipped(("evil.yaml", b"a: 1" * 99)).replace(b"K\xb4", b"\xff\xff", 1), "is damaged"),
    "a million files": (lambda: many_entries(1_000_000), "its directory has more than"),
    "thirty thousand files": (lambda: packed({f"{n}.yaml": "a: 1" for n in range(30_000)}), "more than 20000 files"),
    "half a bundle": (lambda: packed(bundle())[:-100], "it is no ZIP file"),
    "text in place of bytes": (lambda: io.StringIO("PK"), "it is no ZIP file"),
    "a device": (lambda: "/dev/zero", "leads to no file"),
    "a chart in very many places": (
        lambda: changed(BOARD_FILE, lambda d: d.update(charts=[BY_COUNTRY] * 40_000)),
        "",
    ),
    "a cycle of charts": (
        lambda: packed(
            {
                **bundle(),
                "export/charts/in_all.yaml": chart("in all", IN_ALL, deck_slices=[{"uuid": ASKING}, {"uuid": IN_ALL}]),
                "export/charts/asked.yaml": chart("asked", ASKING, deck_slices=[{"uuid": IN_ALL}]),
            }
        ),
        "",
    ),
    "a cycle in a layout": (
        lambda: changed(
            BOARD_FILE,
            lambda d: d["position"].update(
                {
                    name: {"type": "TABS", "id": name, "children": [child], "parents": [child]}
                    for name, child in (("T-1", "T-2"), ("T-2", "T-1"), ("ROOT_ID", "T-1"), ("T-3", "T-3"))
                }
            ),
        ),
        "",
    ),
    "a cycle of filters": (
        lambda: changed(
            BOARD_FILE,
            lambda d: d["metadata"].update(
                native_filter_configuration=[
                    {"id": name, "name": name, "filterType": "filter_select", "targets": [{}],
                     "cascadeParentIds": [parent]}
                    for name, parent in (("a", "b"), ("b", "a"), ("c", "c"))
                ]
            ),
        ),
        "",
    ),
}  # fmt: skip
"""Each with what the refusal says; "" for one that is loaded, and then answers."""

_LARGE_ONES = ("a million", "many", "more", "a bomb", "a long", "deep", "aliases")
LARGE = {name for name in BUNDLES if name.startswith(_LARGE_ONES)}
LARGEST = "more values than a bundle may have"
"""Takes as long as all others together: the quick form leaves it out."""


def _try(name: str, folder: str) -> tuple[Any, float, int, int]:
    """Load one bundle, and return what came of it, in which time, and the megabytes that were used for it."""
    with small_core(Path(folder), metadata_url=f"sqlite:///{folder}/meta.db") as shop:
        source = BUNDLES[name][0]()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        started = time.process_time()
        try:
            report = shop.core.load_bundle(source, databases=HERE)
            for record in report.of("dashboard"):
                shop.core.dashboards.data(record.id or 0)
            for record in report.of("chart"):
                shop.core.charts.data(record.id or 0)
            answer: Any = ("loaded", "")
        except errors.AnalyticsError as error:
            answer = (type(error).__name__, str(error))
        except BaseException as error:  # told, and a failure
            answer = ("UNTYPED", repr(error))
        seconds = time.process_time() - started
        used = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024
        return answer, seconds, used, shop.core.charts.list().count


@pytest.mark.parametrize("name", [name for name in BUNDLES if SHARE == 1 or name != LARGEST])
def test_a_hostile_bundle_is_refused_in_bounded_time_and_memory(name: str, tmp_path: Path) -> None:
    tried = (name, str(tmp_path))
    answer, seconds, megabytes, charts = result_apart(_try, *tried) if name in LARGE else _try(*tried)
    print(f"{name}: {answer[0]} {answer[1][-150:]} in {seconds:.1f} s, {megabytes} MB")
    message = BUNDLES[name][1]
    assert answer[0] == ("PayloadSchemaError" if message else "loaded"), answer
    assert message in answer[1]
    assert len(answer[1]) < 20_000
    assert seconds < MOST_SECONDS
    assert megabytes < MOST_MEGABYTES
    assert not (message and charts)
    assert "/etc/passwd" not in answer[1].replace("/etc/evil", "")


def test_all_faults_of_all_files_are_told_at_once(tmp_path: Path) -> None:
    faults: dict[str, Any] = {
        "a.yaml": "a: !x 1",
        "b.yaml": "a: [",
        "c.yaml": "- 1",
        "d.yaml": {"slice_name": "d", "params": {}, "uuid": "x"},
        "e.yaml": {"slice_name": "e", "params": {}, "uuid": BOARD, "version": "3"},
        "f.yaml": 'a: "\\0"',
        "g.yaml": {"name": "", "annotations": []},
    }
    with small_core(tmp_path) as shop, pytest.raises(errors.PayloadSchemaError) as refused:
        shop.core.load_bundle(packed({**bundle(), **faults}), databases=HERE)
    assert [problem.path for problem in refused.value.problems] == sorted(faults)
    wrong = bundle()
    wrong["export/datasets/shop/people.yaml"]["table_name"] = "nowhere"
    wrong["export/charts/in_all.yaml"]["cache_timeout"] = "soon"
    wrong["export/charts/asked.yaml"].update(dataset_uuid=BOARD, viz_type=5)
    wrong["export/tags.yaml"] = {"tags": [{"tag_name": 5}]}
    (tmp_path / "other").mkdir()
    with small_core(tmp_path / "other") as shop:
        with pytest.raises(errors.PayloadSchemaError) as refused:
            shop.core.load_bundle(packed(wrong), databases=HERE)
        files = {problem.path.partition(":")[0].rpartition("/")[2] for problem in refused.value.problems}
        assert files == {"people.yaml", "in_all.yaml", "asked.yaml", "tags.yaml"}
        assert shop.core.charts.list().count == 0


def test_a_folder_leads_nowhere_else(tmp_path: Path) -> None:
    folder = tmp_path / "bundle"
    for path, content in texts(bundle()).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "evil.yaml").write_text(json.dumps(chart("evil", BOARD[:-1] + "9")))
    (folder / "linked").symlink_to(outside)
    (folder / "round").symlink_to(folder)
    with small_core(tmp_path) as shop:
        report = shop.core.load_bundle(folder, databases=HERE)
        assert "evil" not in {record.name for record in report.records}
        (folder / "evil.yaml").symlink_to(outside / "evil.yaml")
        with pytest.raises(errors.PayloadSchemaError, match=r"evil\.yaml: is a link"):
            shop.core.load_bundle(folder, databases=HERE)
        (folder / "evil.yaml").unlink()
        (folder / "a\nb.yaml").write_text("a: 1")
        with pytest.raises(errors.PayloadSchemaError, match="must be a printable name"):
            shop.core.load_bundle(folder, databases=HERE)


@pytest.mark.parametrize("sql", [None, "SELECT word FROM words"])
@pytest.mark.parametrize("uuid", ["of a new dataset", "of the dataset", "of another database's dataset"])
def test_no_uuid_in_a_compared_bundle_takes_row_rules_away(tmp_path: Path, uuid: str, sql: str | None) -> None:
    with small_core(tmp_path) as shop, closing(sqlite3.connect(tmp_path / "words.db")) as other:
        other.executescript("CREATE TABLE words (word TEXT); INSERT INTO words VALUES ('hidden-word'), ('shown');")
        shop.core.databases.create({"database_name": "words", "orm_uri": f"sqlite:///{tmp_path}/words.db"})
        free = shop.orders().id
        ruled = shop.core.datasets.create({"database": 2, "table_name": "words"}).id
        reader = shop.reader(("database", 2), ("dataset", free))
        role = shop.core.users.get(reader._actor().id).roles[0].id
        rule = {"name": "shown", "filter_type": "Regular", "clause": "word = 'shown'"}
        shop.core.row_level_security.create({**rule, "tables": [ruled], "roles": [role]})
        known = {record.id: record.uuid for record in shop.core.check().records}
        chosen = {"of a new dataset": PEOPLE, "of the dataset": known[ruled]}.get(uuid, known[free])
        first, second = bundle(), bundle()
        for documents in (first, second):
            del documents["export/datasets/shop/orders.yaml"], documents["export/dashboards/board.yaml"]
            for name in ("by_country", "in_all", "asked"):
                del documents[f"export/charts/{name}.yaml"]
            read = {"uuid": chosen, "table_name": "words", "sql": sql, "columns": [column("word")]}
            documents["export/datasets/shop/people.yaml"].update(read)
            documents["export/charts/names.yaml"] = chart("names", NAMES, chosen, groupby=["word"])
        more = {"expressionType": "SQL", "sqlExpression": "COUNT(*) + 1", "label": "count"}
        second["export/charts/names.yaml"]["params"]["metrics"] = [more]
        try:
            text = str(reader.diff(packed(first), packed(second), databases={"shop": 2}))
        except errors.PayloadSchemaError as error:
            text = str(error)
            assert "a dataset here has this UUID, and reads another table" in text
        else:
            assert "'shown', 1" in text
        assert "hidden-word" not in text
