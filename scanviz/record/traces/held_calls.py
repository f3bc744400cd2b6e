"""Inputs of calls as data: together with a function's Program, they determine every value of the call.

A loop's states are kept at some of its steps (checkpoints), so that a step is computed from the nearest of them.  Results of
loops are kept where there is room, so that a loop which reads them need not wait for another one.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np
from msgspec import field

from scanviz.engine.errors import ScanvizValueError
from scanviz.engine.graph.types import DTYPES
from scanviz.engine.strict import Strict
from scanviz.record.loops import LoopRecord

Array = np.ndarray[Any, np.dtype[Any]]


class ArrayRecord(Strict, frozen=True):
    """An array of any dtype and shape.

    Attributes
    ----------
    dtype : str
        As NumPy names it.
    shape : tuple of int
        Its shape.
    content : bytes
        Its elements in C order, little-endian.

    Examples
    --------
    >>> ArrayRecord.of(np.arange(3)).array()
    array([0, 1, 2])
    """

    dtype: str
    shape: tuple[int, ...] = ()
    content: bytes = b""

    @staticmethod
    def of(array: Array) -> ArrayRecord:
        """Return an array as a record."""
        dtype = array.dtype
        content = np.ascontiguousarray(array, dtype.newbyteorder("<")).tobytes()
        return ArrayRecord(dtype.name, tuple(map(int, array.shape)), content)

    @property
    def expected_bytes(self) -> int:
        """Size in bytes by dtype and shape; 0 if these are invalid."""
        if self.dtype not in DTYPES or min(self.shape, default=0) < 0:
            return 0
        return prod(self.shape) * np.dtype(self.dtype).itemsize

    def array(self) -> Array:
        """Return the array; nothing else refers to it."""
        dtype = np.dtype(self.dtype)
        found = np.frombuffer(self.content, dtype.newbyteorder("<"))
        return found.astype(dtype).reshape(self.shape)


class RunsRecord(Strict, frozen=True):
    """The runs of a loop in a call.

    Attributes
    ----------
    loop : int
        Key of the loop.
    first : int
        Number of the first of them, among all runs of the loop.
    count : int
        Number of runs that began.
    """

    loop: int
    first: int = 0
    count: int = 0


class CheckpointRecord(Strict, frozen=True):
    """The states of a loop before one of its steps.

    Attributes
    ----------
    loop : int
        Key of the loop, which is no part of another one.
    step : int
        The step that comes next.
    begun : tuple of int
        For each of the call's ``runs`` in order, how many had begun.
    states : tuple of int
        Places in the call's ``arrays``: of each state the rows that earlier steps may have written and later ones may read, then
        of each carry its value.
    """

    loop: int
    step: int
    begun: tuple[int, ...] = ()
    states: tuple[int, ...] = ()


class HeldCallRecord(Strict, frozen=True):
    """Inputs of a call of a function, and states of its loops at some steps.

    Attributes
    ----------
    function : int
        Key of the function.
    call : int
        Number of the call, from 0.
    inputs : tuple of int
        Places in ``arrays`` of the inputs of the function's Program, shared variables included.
    input_names : tuple of str
        The user's names of these inputs; empty for one without.
    runs : tuple of RunsRecord
        The runs of the function's loops in this call.
    checkpoints : tuple of CheckpointRecord
        By loop and step.
    results : dict of str to int
        Places in ``arrays`` of registers of the Program that loops filled, by the register's number.
    arrays : tuple of ArrayRecord
        The arrays themselves.
    """

    function: int
    call: int
    inputs: tuple[int, ...] = ()
    input_names: tuple[str, ...] = ()
    runs: tuple[RunsRecord, ...] = ()
    checkpoints: tuple[CheckpointRecord, ...] = ()
    results: dict[str, int] = field(default_factory=dict)
    arrays: tuple[ArrayRecord, ...] = ()

    def has_run(self, loop: int, run: int) -> bool:
        """Return whether a run of a loop was part of this call."""
        return any(runs.loop == loop and 0 <= run - runs.first < runs.count for runs in self.runs)


def check_held_calls(
    calls: tuple[HeldCallRecord, ...], functions: Mapping[int, object], loops: Mapping[int, LoopRecord]
) -> None:
    """Refuse calls of unknown functions, of loops of other functions, or with damaged arrays.

    Raises
    ------
    ScanvizValueError
        Naming the function and the call.

    Examples
    --------
    >>> check_held_calls((), {}, {})
    """
    for call in calls:
        if call.function not in functions:
            raise _refused(call, "belongs to a function that is not in the record")
        for array in call.arrays:
            _check_array(call, array)
        places = [
            *call.inputs, *call.results.values(), *(k for checkpoint in call.checkpoints for k in checkpoint.states)
        ]  # fmt: skip
        if any(not 0 <= place < len(call.arrays) for place in places):
            raise _refused(call, "names an array which is not there")
        keys = {runs.loop for runs in call.runs} | {checkpoint.loop for checkpoint in call.checkpoints}
        if any(key not in loops or loops[key].function != call.function for key in keys):
            raise _refused(call, "has runs of a loop which is not of its function")
        if any(len(checkpoint.begun) != len(call.runs) for checkpoint in call.checkpoints):
            raise _refused(call, "has a checkpoint that does not count the runs of each loop")
        if any(not name.isdecimal() or len(name) > 9 for name in call.results):
            raise _refused(call, "has a result of no register")


def _check_array(call: HeldCallRecord, array: ArrayRecord) -> None:
    known = array.dtype in DTYPES and len(array.shape) <= 32 and min(array.shape, default=0) >= 0
    if not known or array.expected_bytes != len(array.content):
        raise _refused(call, f"has an array which is no {array.dtype[:20]!a} of shape {array.shape[:32]}")


def _refused(call: HeldCallRecord, what: str) -> ScanvizValueError:
    return ScanvizValueError(
        f"the profile is inconsistent: call {call.call} of function {call.function} {what}"
    )
