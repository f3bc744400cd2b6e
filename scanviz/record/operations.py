"""Operations as records, with their times: outside of loops, in a loop's step, and on the sides of its branches."""

from __future__ import annotations

from typing import Literal

from msgspec import field

from scanviz.engine.strict import Strict
from scanviz.record.values import SourceRecord


class OperationRecord(Strict, frozen=True):
    """One operation of a program, or of a loop's step.

    Attributes
    ----------
    index : int
        Its place in the program.
    label : str
        The operation as printed, with the user's names; ``·`` stands for a value without one.
    kind : str
        ``"operation"``, ``"loop"`` or ``"branch"``.
    output : str
        dtype and known shape of its first result.
    source : SourceRecord or None
        The user's line that built it.
    loop : int or None
        Key of the loop, for an operation that is one.
    samples : int
        Number of timed occurrences.
    typical_ns : float
        Its usual time, robust to a few slow ones.  In a loop's step its part of the typical step: the median of its times with
        the price of stamps taken off, 0 where that is below resolution.  Outside of loops the
        median of its times in the last calls in which all operations were timed; the average where there are none.
    mean_ns : float or None
        The average of all its times, slow ones included; None where unknown.  In a loop's step the average over all
        steps: each timed one stands for those around it, less the price of stamps.
    spread_ns : float
        The range of the middle half of its times, in a loop's step.
    measures : dict of str to float
        Further numbers, as :mod:`scanviz.record.measures` declares them; unmeasured ones are missing.
    moved_from : str
        The loop in whose step it was built where that is no more around it: rules moved it out, or the loop is gone.  Names of
        loops in loops are joined by ``/``.
    rule : str
        The rewrite, or ``gradient``, that made it; empty if the user's line did.
    """

    index: int
    label: str
    kind: Literal["operation", "loop", "branch"]
    output: str
    source: SourceRecord | None
    loop: int | None = None
    samples: int = 0
    typical_ns: float = 0.0
    mean_ns: float | None = None
    spread_ns: float = 0.0
    measures: dict[str, float] = field(default_factory=dict)
    moved_from: str = ""
    rule: str = ""


class SideRecord(Strict, frozen=True):
    """One side of a branch in a loop's step.

    Attributes
    ----------
    operation : int
        Place of the branch in the step.
    side : str
        ``"then"`` where the condition held, or ``"else"``.
    taken : int
        Number of takings, in all runs.
    every : int
        Its period: it is taken in every so many steps; 0 where there is none.
    timed : int
        Number of timed occurrences.
    typical_ns : float
        The median of these times.
    operations : tuple of OperationRecord
        Its operations, each with its part of the typical taking, and its average over the timed ones.
    """

    operation: int
    side: Literal["then", "else"]
    taken: int
    every: int = 0
    timed: int = 0
    typical_ns: float = 0.0
    operations: tuple[OperationRecord, ...] = ()

    @property
    def total_ns(self) -> float:
        """Time of all takings, each estimated at the typical time."""
        return self.typical_ns * self.taken
