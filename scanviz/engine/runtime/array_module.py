"""The array library that steps of a loop run on: NumPy here, CuPy in its backend."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from scanviz.engine.program.instructions import Program

_ARRAY, _asarray = np.ndarray, np.asarray  # asked for in every call


class ArrayModule:
    """An array library: where arrays come from, how values get in and out.

    Attributes
    ----------
    clock : callable
        Gives nanoseconds, when all is done that was asked before.
    takes_device_arrays : bool
        Whether arrays of a device may be given to a program.
    lays_backwards : bool
        Whether rows of an output may lie from the last to the first.
    """

    __slots__ = ()
    clock = staticmethod(perf_counter_ns)
    takes_device_arrays = False
    lays_backwards = True

    def empty(self, shape: tuple[int, ...], dtype: str | np.dtype[Any]) -> Any:
        """Return a new array."""
        return np.empty(shape, dtype)

    def copy(self, value: Any) -> Any:
        """Return a copy of an array that nothing else holds."""
        return np.array(value)

    def to_host(self, value: Any) -> Any:
        """Return an array or scalar in the host's memory."""
        return value

    def from_host(self, value: Any) -> Any:
        """Return an array in this library's memory."""
        return value

    @staticmethod
    def as_array(value: Any) -> Any:
        """Return a single number as an array of no dimensions."""
        return np.asarray(value)

    def number(self, value: Any) -> Any:
        """Return a single number that goes into a step, in the form that its code takes."""
        return value

    def constant(self, program: Program, number: int) -> Any:
        """Return a constant of a program in the form that its code takes."""
        return program.constants[number]

    def taken(self, program: Program, inputs: Sequence[Any]) -> Sequence[Any]:
        """Return what a program is given as its code takes it."""
        return inputs

    def given(self, program: Program, inputs: Sequence[Any], results: Sequence[Any]) -> list[Any]:
        """Return what a program gives as the caller gets it, who gave ``inputs``."""
        return [result if type(result) is _ARRAY else _asarray(result) for result in results]
