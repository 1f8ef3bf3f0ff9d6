"""What fields mean, a sentence each: of queries, and of records; JSON schemas of a host's pages show them."""

from __future__ import annotations

from collections.abc import Mapping

from analytics_core.models.meanings.queries import QUERY_MEANINGS
from analytics_core.models.meanings.records import RECORD_MEANINGS

MEANINGS: Mapping[str, str] = {**RECORD_MEANINGS, **QUERY_MEANINGS}
