"""The default `Observer`: a log record for each question."""

from __future__ import annotations

import logging
from typing import Final

from analytics_core._records.audit import Observation

_LOG: Final = logging.getLogger("analytics_core.questions")


class LogObserver:
    """Logs each question at level INFO of `analytics_core.questions`; the record's `observation` has it whole."""

    def observe(self, observation: Observation) -> None:
        """Log one line, where somebody wants it."""
        if not _LOG.isEnabledFor(logging.INFO):
            return
        steps = ", ".join(f"{step} {ms:.1f} ms" for step, ms in observation.steps_ms.items())
        _LOG.info(
            "%s of dataset %s (%s) for %s: %s; %s; fingerprint %s",
            observation.result_type,
            observation.dataset_id,
            observation.engine,
            "a guest" if observation.actor_id is None else f"user {observation.actor_id}",
            observation.error_type or f"{observation.rows} rows{', cached' if observation.is_cached else ''}",
            steps or "no step taken",
            observation.fingerprint,
            extra={"observation": observation},
        )

    def close(self) -> None:
        """Do nothing: nothing is left to tell."""
