"""Every check that a page names can be run by its name."""

from __future__ import annotations

import ast
import re

from tests.architecture.source import PROJECT


def test_every_session_that_a_page_names_is_one() -> None:
    pages = [PROJECT / "CONTRIBUTING.md", PROJECT / ".ci" / "run", PROJECT / ".pre-commit-config.yaml"]
    pages += [*(PROJECT / "docs").rglob("*.md"), *(PROJECT / ".github").rglob("*.yml")]
    named = {name for page in pages for name in re.findall(r"nox -s ([a-z_]+)", page.read_text(encoding="utf-8"))}
    tree = ast.parse((PROJECT / "noxfile.py").read_text(encoding="utf-8"))
    sessions = {
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
        and any(ast.unparse(decorator).startswith("nox.session") for decorator in node.decorator_list)
    }
    assert named - sessions == set()
    assert len(sessions) > 5
