"""Applies post-processing operations to a frame, in order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from analytics_core._frames.frame import Frame
from analytics_core.errors import UnknownOperationError

Operation = Callable[[Frame, Mapping[str, Any]], Frame]
"""One operation: a frame and its options in, a new frame out."""


class Step(Protocol):
    """One step of a query's post-processing."""

    @property
    def operation(self) -> str:
        """The name of the operation."""

    @property
    def options(self) -> Mapping[str, Any]:
        """Its options."""


def run_operations(frame: Frame, steps: Sequence[Step], operations: Mapping[str, Operation]) -> Frame:
    """Return the frame after all steps.

    Raises:
        UnknownOperationError: a step names an operation that is not registered.
    """
    check_operations(steps, operations)
    for step in steps:
        frame = operations[step.operation](frame, step.options)
    return frame


def check_operations(steps: Sequence[Step], operations: Mapping[str, Operation]) -> None:
    """Refuse steps whose operation is not registered; done before any statement runs."""
    for position, step in enumerate(steps):
        if step.operation not in operations:
            raise UnknownOperationError(step.operation, place=f"post_processing[{position}]", known=operations)
