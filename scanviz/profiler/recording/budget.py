"""How much memory a recording may take, by estimate: what does not fit is kept smaller, or only counted."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from msgspec.structs import replace

if TYPE_CHECKING:
    from scanviz.engine.program.instructions import LoopInstruction, Program
    from scanviz.record.model import LoopRecord

BARE = 2_000  # a loop or function of which only totals are kept
OPERATION = 700  # an operation's record with its labels
VARIABLE = 800  # a loop variable's record
ENTRY = 150  # an entry of a mapping
CELL = 8  # an entry of a connection pattern
MAPPINGS = 6  # entries of mappings that a loop variable has


class Kept(Enum):
    """How much is kept of a function or a loop."""

    WHOLE = "whole"
    TOTALS = "totals"


class Budget:
    """Bytes that may still be used; the last eighth is for totals alone.

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
        """Return whether so many bytes were there, and use them; ``last`` allows the last eighth."""
        limit = self._limit if last else self._limit * 7 // 8
        if self._used + count > limit:
            return False
        self._used += count
        return True


def function_size(program: Program) -> int:
    """Return about how many bytes the description of a program takes, beyond its totals."""
    return 2 * OPERATION * len(program.instructions)


def loop_size(loop: LoopInstruction) -> int:
    """Return about how many bytes the description of a loop takes, beyond its totals."""
    slots = (*loop.sequences, *loop.states, *loop.step_outputs, *loop.carries, *loop.non_sequences)
    cells = 2 * len(loop.inputs) * max(1, len(loop.outputs))
    entries = MAPPINGS * len(slots)
    return OPERATION * len(loop.body.instructions) + VARIABLE * len(slots) + CELL * cells + ENTRY * entries


def affordable(size: int, budget: Budget) -> Kept | None:
    """Return how much of a function or loop can be kept whose description takes ``size`` bytes, None for nothing at all.

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
    """Return a loop's record without what describes its step."""
    return replace(
        record,
        operations=(),
        variables=(),
        var_mappings={},
        connection_pattern=(),
        inner_connection_pattern=(),
    )
