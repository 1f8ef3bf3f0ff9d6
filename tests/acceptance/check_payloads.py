"""Compares the payloads that we build of charts' form data with those that the peer's front end built of them.

    python tests/acceptance/check_payloads.py ../shared/acceptance

All fields of `queries` must be equal, and all others but those that `payload_differences.txt` lists with a reason.
Then something wrong is put into the same forms: a query context or a typed error comes of each, nothing else.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from random import Random
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from tests.acceptance.cases import recorded_cases
from tests.support.any_form import HOSTILE, places, with_value

from analytics_core._content.lookups.chart_contexts import ChartContexts
from analytics_core._superset.payload import build_payload
from analytics_core._superset.registry import ChartKinds
from analytics_core.errors import AnalyticsError

WRONG_FORMS = 5_000
_MISSING = "<absent>"
_DIFFERENCES = Path(__file__).with_name("payload_differences.txt")


def main() -> int:
    """Compare, print; return the exit code."""
    kinds, reasons = ChartKinds(), _reasons()
    compared, problems, used = set(), [], set()
    forms: list[Mapping[str, Any]] = []
    for case in recorded_cases(Path(sys.argv[1])):
        forms.append(case["form_data"])
        compared.add(case["viz_type"])
        built = build_payload(case["form_data"], kinds)
        for path, wanted, found in _differences(case["payload"], built.payload):
            reason = next((pattern for pattern in reasons if fnmatchcase(path, pattern)), None)
            if reason is None:
                problems.append(f"{case['id']}: {path}: {wanted!r} wanted, {found!r} found")
            else:
                used.add(reason)
    unmarked = {name for name in kinds if kinds[name].is_compared} - compared
    problems += [f"{name}: marked as compared, but no case holds one" for name in sorted(unmarked)]
    problems += [f"payload_differences.txt: {pattern} differs nowhere" for pattern in reasons.keys() - used]
    problems += _problems_of_wrong_forms(forms)
    print("\n".join(problems))
    counted = f"{len(forms)} charts of {len(compared)} kinds, {WRONG_FORMS} wrong forms"
    print(f"payloads: {counted}, {len(problems)} problems")
    return 1 if problems or not forms else 0


def _problems_of_wrong_forms(forms: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what comes of wrong forms, where it is neither a query context nor a typed error."""
    chance, contexts = Random(7), ChartContexts(ChartKinds())
    problems = []
    for number in range(WRONG_FORMS):
        form = forms[number % len(forms)]
        for _ in range(chance.randint(1, 3)):
            form = with_value(form, chance.choice([*places(form)]), chance.choice(HOSTILE))
        try:
            contexts.of_form(form)
        except AnalyticsError:
            continue
        except Exception as fault:  # what is looked for
            problems.append(f"wrong form {number}: {type(fault).__name__}: {str(fault)[:200]}")
    return problems


def _reasons() -> Mapping[str, str]:
    lines = (line.strip() for line in _DIFFERENCES.read_text(encoding="utf-8").splitlines())
    entries = [line.partition(": ") for line in lines if line and not line.startswith("#")]
    for pattern, _, reason in entries:
        if pattern.startswith("queries") or fnmatchcase("queries.0.columns", pattern) or not reason:
            raise SystemExit(f"payload_differences.txt: {pattern} needs a reason, and may be no field of queries")
    return {pattern: reason for pattern, _, reason in entries}


def _differences(wanted: Mapping[str, Any], found: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Yield path and both values of what differs: the fields of the context, of its queries and of its form."""
    pairs = [("", _without(wanted), _without(found)), ("form_data.", wanted.get("form_data"), found.get("form_data"))]
    queries = wanted["queries"], found["queries"]
    if len(queries[0]) != len(queries[1]):
        yield "queries", len(queries[0]), len(queries[1])
    pairs += [(f"queries.{place}.", *both) for place, both in enumerate(zip(*queries, strict=False))]
    for prefix, one, other in pairs:
        sides = (one or {}, other or {})
        for name in sorted(sides[0].keys() | sides[1].keys()):
            values = [side.get(name, _MISSING) for side in sides]
            if values[0] != values[1]:
                yield f"{prefix}{name}", *values


def _without(context: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in context.items() if name not in ("queries", "form_data")}


if __name__ == "__main__":
    sys.exit(main())
