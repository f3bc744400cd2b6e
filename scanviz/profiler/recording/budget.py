"""Limit the memory of a recording by estimate: what does not fit is reduced to totals, or only counted."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from msgspec.structs import replace

if TYPE_CHECKING:
    from scanviz.engine.program.instructions import LoopInstruction, Program
    from scanviz.record.model import LoopRecord

BARE = 2_000  # a loop or function with only totals
OPERATION = 700  # an operation's record with its labels
VARIABLE = 800  # a loop variable's record
ENTRY = 150  # an entry of a mapping
CELL = 8  # an entry of a connection pattern
MAPPINGS = 6  # entries of mappings per loop variable


class Kept(Enum):
    """The level of detail that is kept of a function or a loop."""

    WHOLE = "whole"
    TOTALS = "totals"


class Budget:
    """A byte budget whose last eighth is reserved for totals.

    Examples
    --------
    >>> budget = Budget(80_000)
    >>> budget.take(60_000), budget.take(60_000), budget.take(5_000, last=True)
    (True, False, True)
    """

    __slots__ = ("_limit", "_used")

    def __init__(self, limit: int) -> None:
        self._limit, self._used = limit, 0

    def take(self, count: int, last: bool = False) -> bool:
        """Use bytes if available and return whether they were; ``last`` allows the last eighth."""
        limit = self._limit if last else self._limit * 7 // 8
        if self._used + count > limit:
            return False
        self._used += count
        return True


def function_size(program: Program) -> int:
    """Estimate the bytes of a program's description, beyond its totals."""
    return 2 * OPERATION * len(program.instructions)


def loop_size(loop: LoopInstruction) -> int:
    """Estimate the bytes of a loop's description, beyond its totals."""
    slots = (*loop.sequences, *loop.states, *loop.step_outputs, *loop.carries, *loop.non_sequences)
    cells = 2 * len(loop.inputs) * max(1, len(loop.outputs))
    entries = MAPPINGS * len(slots)
    return OPERATION * len(loop.body.instructions) + VARIABLE * len(slots) + CELL * cells + ENTRY * entries


def affordable(size: int, budget: Budget) -> Kept | None:
    """Return the affordable level of detail for a description of ``size`` bytes, or None.

    Examples
    --------
    >>> budget = Budget(2 * BARE + 4_000)
    >>> [affordable(4_000, budget) for _ in range(3)]
    [<Kept.WHOLE: 'whole'>, <Kept.TOTALS: 'totals'>, None]
    """
    if budget.take(BARE + size):
        return Kept.WHOLE
    return Kept.TOTALS if budget.take(BARE, last=True) else None


def totals_alone(record: LoopRecord) -> LoopRecord:
    """Return a loop's record without the description of its step."""
    return replace(
        record,
        operations=(),
        variables=(),
        var_mappings={},
        connection_pattern=(),
        inner_connection_pattern=(),
    )
