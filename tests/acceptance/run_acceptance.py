"""Runs the recorded chart queries on SQLite, DuckDB, PostgreSQL and MariaDB and compares the answers.

    python tests/acceptance/run_acceptance.py ../shared/acceptance [--engines sqlite,clickhouse] [--only SUBSTRING]

Beside engines, `parquet` is DuckDB over folders of Parquet files, which `connect` is given, parted by their names.

Two questions, both must be answered with yes: does every engine agree with a recorded answer, `label_map` too
(`compare.py --any-engine --label-map`), and are our rows the same on all engines? Charts whose form data are known are
asked with the payload that we build of them, not with the recorded one.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1]))  # for tests.support, also when started as a script

from tests.acceptance.load_parquet import PREFIX  # noqa: E402 - needs the path above
from tests.acceptance.same_rows import differences_between  # noqa: E402 - needs the path above
from tests.support.cluster_servers import CLUSTERS, cluster_server  # noqa: E402 - needs the path above
from tests.support.servers import PrivateServers, private_servers  # noqa: E402 - needs the path above

from analytics_core._superset.payload import build_payload  # noqa: E402 - after the others
from analytics_core._superset.registry import ChartKinds  # noqa: E402 - after the others

ENGINES = ("sqlite", "duckdb", "postgresql", "mariadb")
LOADERS = {
    "mariadb": "load_mariadb.py",
    "clickhouse": "load_clickhouse.py",
    "spark": "load_spark.py",
    "parquet": "load_parquet.py",
}
RECORDED_AS = {"parquet": "duckdb"}
"""Whose recorded answers come first; for engines that were not recorded, those of PostgreSQL do."""


def main() -> int:
    """Load, compare, print; return the exit code."""
    arguments = _arguments()
    os.environ["ANALYTICS_CORE_ACCEPTANCE"] = str(arguments.cases)
    with tempfile.TemporaryDirectory() as folder, private_servers() as servers, ExitStack() as clusters:
        uris = {name: _empty_database(name, Path(folder), servers, clusters) for name in arguments.engines}
        with ThreadPoolExecutor(max_workers=2) as pool:
            list(pool.map(lambda item: _load(*item, arguments.cases), uris.items()))
        chosen = Path(folder) / "cases"
        choose_cases(arguments, chosen)
        reports = {name: compare_with_recordings(name, uri, arguments, chosen) for name, uri in uris.items()}
        different = _same_on_all(uris, arguments.cases, chosen)
    return _print_outcome(reports, different)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", type=lambda text: Path(text).resolve(), help="the folder of the acceptance cases")
    parser.add_argument("--engines", type=lambda text: tuple(text.split(",")), default=ENGINES)
    parser.add_argument("--only", default="", help="cases whose id holds this text")
    return parser.parse_args()


def _empty_database(name: str, folder: Path, servers: PrivateServers, clusters: ExitStack) -> str:
    if name in CLUSTERS:
        return clusters.enter_context(cluster_server(CLUSTERS[name])).make_database()
    if name == "sqlite":
        return f"sqlite:///{folder / 'examples.db'}"
    if name == "duckdb":
        return f"duckdb:///{folder / 'examples.duckdb'}"
    if name == "parquet":
        return f"{PREFIX}{folder / 'parquet'}"
    return servers.postgres().make_database() if name == "postgresql" else servers.mariadb().make_database()


def _load(name: str, uri: str, cases: Path) -> None:
    script = HERE / LOADERS[name] if name in LOADERS else cases / "load_examples.py"
    command = [sys.executable, str(script), str(cases / "datasets.json"), str(cases), uri]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def choose_cases(arguments: argparse.Namespace, chosen: Path) -> None:
    """Put the cases of this run into a folder of their own, those of known form data with the payload built of them."""
    chosen.mkdir()
    kinds = ChartKinds()
    compare = _module(arguments.cases / "compare.py")
    for path in sorted((arguments.cases / "cases").glob("*.case.json*")):
        case = compare.load_case(str(path))
        if arguments.only not in case["id"]:
            continue
        if "form_data" not in case:
            (chosen / path.name).symlink_to(path)
            continue
        built = {**case, "payload": build_payload(case["form_data"], kinds).payload}
        (chosen / path.name.removesuffix(".gz")).write_text(json.dumps(built))


def compare_with_recordings(name: str, uri: str, arguments: argparse.Namespace, chosen: Path) -> dict[str, Any]:
    """Run `compare.py` for one engine and return its report."""
    report = chosen.parent / f"{name}.json"
    command = [sys.executable, str(arguments.cases / "compare.py"), str(chosen), "--any-engine", "--label-map"]
    recorded = RECORDED_AS.get(name, name)
    command += ["--engine", recorded if recorded in ENGINES else "postgresql", "--uri", uri]
    command += ["--adapter", str(HERE / "adapter.py"), "--except", str(_exceptions_of(name, chosen.parent))]
    done = subprocess.run([*command, "--json", str(report)], check=False, capture_output=True, text=True)
    print(f"\n---- {name}: against the recorded answers\n{done.stdout.partition('by kind:')[0].strip()}", flush=True)
    if not report.exists():
        raise SystemExit(f"compare.py did not finish:\n{done.stderr}")
    outcome: dict[str, Any] = json.loads(report.read_text())
    return {**outcome, "passed": done.returncode == 0}


def _exceptions_of(name: str, folder: Path) -> Path:
    """Return a file of the cases that may differ on an engine, as `compare.py` reads it."""
    path = folder / f"{name}.exceptions.txt"
    own = [f"{case_id} # {reason}" for case_id, reason in exceptions_of(name).items()]
    path.write_text("\n".join([(HERE / "exceptions.txt").read_text(encoding="utf-8"), *own]), encoding="utf-8")
    return path


def exceptions_of(name: str) -> dict[str, str]:
    """Return the cases in which one engine may differ from all others, and why."""
    lines = (HERE / "engine_exceptions.txt").read_text(encoding="utf-8").splitlines()
    parts = [(line.partition("#")[0].split(), line.partition("#")[2].strip()) for line in lines]
    return {words[1]: reason for words, reason in parts if words[:1] == [f"{name}:"]}


def _same_on_all(uris: Mapping[str, str], cases: Path, chosen: Path) -> dict[str, list[str]]:
    """Return, for each case whose rows are not the same on all engines, what differs."""
    compare, adapter = _module(cases / "compare.py"), _module(HERE / "adapter.py")
    own_sql, excused = _cases_of_users_own_sql(), _excused_engines(uris)
    found: dict[str, list[str]] = {}
    for case in compare.load_cases(str(chosen)):
        answers = {name: _answer(adapter, case, uri) for name, uri in uris.items()}
        for name in excused.get(case["id"], ()):
            answers.pop(name)
        if case["id"] in own_sql or not answers:  # with one engine alone, its exceptions leave none
            continue
        if notes := differences_between(case["payload"]["queries"], answers, compare):
            found[case["id"]] = notes
    return found


def _excused_engines(names: Iterable[str]) -> dict[str, list[str]]:
    """Return, by case, the engines whose answer is another one, with a reason."""
    found: dict[str, list[str]] = {}
    for name in names:
        for case_id in exceptions_of(name):
            found.setdefault(case_id, []).append(name)
    return found


def _cases_of_users_own_sql() -> set[str]:
    """The exceptions in which a user's own SQL means something else on each engine, so that rows may differ."""
    lines = (HERE / "exceptions.txt").read_text(encoding="utf-8").splitlines()
    return {line.partition("#")[0].strip() for line in lines if "own SQL" in line}


def _answer(adapter: ModuleType, case: Mapping[str, Any], uri: str) -> list[dict[str, Any]] | Exception:
    try:
        results: list[dict[str, Any]] = adapter.run(json.loads(json.dumps(case["payload"])), case["dataset"], uri)
    except Exception as rejection:
        return rejection
    return results


def _module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _print_outcome(reports: Mapping[str, dict[str, Any]], different: Mapping[str, Sequence[str]]) -> int:
    print("\n---- the same rows on all engines")
    for case_id, notes in different.items():
        print(f"differ  {case_id}: {'; '.join(notes)[:400]}")
    print(f"\n{'engine':12}{'agree':>7}{'open':>7}{'excused':>9}{'failed':>8}{'cases':>7}")
    for name, report in reports.items():
        tally = report["tally"]
        failed = report["total"] - sum(tally.get(verdict, 0) for verdict in ("agree", "open", "excused"))
        counts = f"{tally.get('agree', 0):7}{tally.get('open', 0):7}{tally.get('excused', 0):9}{failed:8}"
        print(f"{name:12}{counts}{report['total']:7}")
    passed = all(report["passed"] for report in reports.values()) and not different
    print(f"same rows on all engines: {'yes' if not different else f'no, {len(different)} cases differ'}")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
