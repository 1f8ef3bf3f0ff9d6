"""What an operator may know of a question: who asked what kind of thing, how long it took, and how it ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One question and its answer, without a value: neither of rows, nor of filters, nor a name or a secret.

    Attributes:
        actor_id: who asked; None for a guest.
        dataset_id: what was asked; None where the question named none.
        database_id, engine: of the dataset; None where it could not be read.
        result_type: as the contract calls it: `full`, `samples`, `drill_detail` ...
        is_cached: whether the answer was there already.
        rows: how many were answered; None when the question failed.
        steps_ms: milliseconds of each step that was taken: `prepare` (plan and compile), `database` (all statements),
            `results` (cache, post-processing, shaping) and `annotations`.
        error_type: the contract's name of the error, such as `GENERIC_DB_ENGINE_ERROR`; None when there is none.
        fingerprint: the same for questions whose statement differs in bound values alone; None without a statement.
    """

    actor_id: int | None
    dataset_id: int | None
    database_id: int | None = None
    engine: str | None = None
    result_type: str
    is_cached: bool = False
    rows: int | None = None
    steps_ms: Mapping[str, float]
    error_type: str | None = None
    fingerprint: str | None = None

    @property
    def total_ms(self) -> float:
        """Milliseconds of all steps."""
        return sum(self.steps_ms.values())
