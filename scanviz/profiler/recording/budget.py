"""How much memory a recording may take, by estimate: what does not fit is kept smaller, or only counted."""

from __future__ import annotations

from dataclasses import replace

from scanviz.record.model import FunctionRecord, LoopRecord, OperationRecord

BARE = 2_000  # a loop or function of which only totals are kept
OPERATION = 700  # an operation's record with its labels
VARIABLE = 800  # a loop variable's record
ENTRY = 150  # an entry of a mapping
CELL = 8  # an entry of a connection pattern


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


def affordable_function(record: FunctionRecord, budget: Budget) -> FunctionRecord | None:
    """Return a function's record as it can be kept: whole, without its operations, or not at all."""
    if budget.take(BARE + 2 * OPERATION * len(record.operations)):
        return record
    return replace(record, operations=()) if budget.take(BARE, last=True) else None


def affordable_loop(record: LoopRecord, budget: Budget) -> LoopRecord | None:
    """Return a loop's record as it can be kept: whole, without what describes its step, or not at all."""
    if budget.take(_size(record)):
        return record
    if not budget.take(BARE, last=True):
        return None
    return replace(
        record,
        operations=(),
        variables=(),
        var_mappings={},
        connection_pattern=(),
        inner_connection_pattern=(),
    )


def _size(record: LoopRecord) -> int:
    cells = sum(map(len, (*record.connection_pattern, *record.inner_connection_pattern)))
    entries = sum(map(len, record.var_mappings.values()))
    operations: tuple[OperationRecord, ...] = record.operations
    return (
        BARE + OPERATION * len(operations) + VARIABLE * len(record.variables) + CELL * cells + ENTRY * entries
    )
