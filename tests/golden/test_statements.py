"""The statements of representative payloads on every engine, kept in `golden_files/statements/<engine>.sql`.

After a wanted change run this module with ANALYTICS_CORE_UPDATE_GOLDEN=1 and read the difference before committing it.
"""

from __future__ import annotations

import os
from pathlib import Path

from tests.support.cases import for_each
from tests.support.golden_payloads import PAYLOADS, rules_for, view_for
from tests.support.planning import ENGINES, statement

from analytics_core.errors import AnalyticsError

FOLDER = Path(__file__).parent / "golden_files" / "statements"
UPDATES = os.environ.get("ANALYTICS_CORE_UPDATE_GOLDEN") == "1"


def written(name: str, engine: str) -> str:
    """Return the statement of a payload as the golden files hold it."""
    try:
        made = statement(PAYLOADS[name], view=view_for(name, engine), row_filters=rules_for(name))
    except AnalyticsError as error:
        return f"-- refused: {error.message}\n"
    return f"-- bound\n{made.sql}\n-- parameters\n-- {made.parameters!r}\n-- display\n{made.display_sql}\n"


def retained(engine: str) -> dict[str, str]:
    """Return the golden statements of an engine by the names of their payloads."""
    text = (FOLDER / f"{engine}.sql").read_text(encoding="utf-8")
    parts = text.split("-- ==== ")[1:]
    return {name: body.rstrip("\n") + "\n" for name, _, body in (part.partition(" ====\n") for part in parts)}


@for_each("engine", ENGINES.names())
def test_statements_are_as_kept(engine: str) -> None:
    made = {name: written(name, engine) for name in PAYLOADS}
    if UPDATES:
        FOLDER.mkdir(parents=True, exist_ok=True)
        text = "\n".join(f"-- ==== {name} ====\n{body}" for name, body in made.items())
        (FOLDER / f"{engine}.sql").write_text(text, encoding="utf-8")
    golden = retained(engine)
    assert list(made) == list(golden)
    for name, body in made.items():
        assert body == golden[name], name


def test_every_engine_has_its_file_and_no_other_file_is_kept() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*")) == sorted(ENGINES.names())
