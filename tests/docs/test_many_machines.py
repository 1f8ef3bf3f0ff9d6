"""What the page on many machines hands to shells, Kubernetes and Airflow is what those, and the command line, read."""

from __future__ import annotations

import ast
import re
import shlex
from pathlib import Path

import yaml
from tests.support.cases import for_each

from analytics_core._core.command_line import _parser
from analytics_core.celery import QUEUES
from analytics_core.models.enums import JobState

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "many-machines.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"python -m analytics_core (\w+(?: --[\w-]+ [^\s\"`]+)+)", PAGE)


def _block(language: str) -> str:
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return str(found)


@for_each("command", sorted(set(COMMANDS)))
def test_the_commands_of_the_page_are_those_of_the_command_line(command: str) -> None:
    call = _parser().parse_args(shlex.split(command))
    assert call.core == "myapp.core:make_core" or call.broker == "redis://broker:6379/0"


def test_every_kind_of_caller_is_shown() -> None:
    assert {command.split()[0] for command in COMMANDS} == {"worker", "tick", "serve"}
    assert JobState.LOST.value in PAGE


def test_the_cron_job_calls_tick() -> None:
    job = yaml.safe_load(_block("yaml"))
    assert (job["apiVersion"], job["kind"], job["spec"]["schedule"]) == ("batch/v1", "CronJob", "* * * * *")
    (container,) = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    assert container["command"][:3] == ["python", "-m", "analytics_core"]
    assert _parser().parse_args(container["command"][3:]).core == "myapp.core:make_core"


def test_the_dag_is_python() -> None:
    assert {node.id for node in ast.walk(ast.parse(_block("py"))) if isinstance(node, ast.Name)} == {
        "BashOperator",
        "DAG",
        "datetime",
        "timedelta",
    }


def test_the_page_names_the_queue_of_each_kind() -> None:
    assert [queue for queue in QUEUES.values() if f"`{queue}`" not in PAGE] == []
