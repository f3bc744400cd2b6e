"""The array library of a tier: NumPy here, CuPy in its backend."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from scanviz.engine.program.instructions import Program

_ARRAY, _asarray = np.ndarray, np.asarray  # for each call


class ArrayModule:
    """An array library: makes arrays, and converts values on the way in and out.

    Attributes
    ----------
    clock : callable
        Returns nanoseconds once all earlier work is done.
    takes_device_arrays : bool
        Whether a program takes arrays in device memory.
    truth : callable or None
        Returns a condition as a bool; None if it can be tested as it is.
    lays_backwards : bool
        Whether rows of an output may be stored in reverse order.
    keeps_buffers : bool
        Whether buffers of loops may be kept for other runs; not if the work on them may still be waiting in a queue.
    """

    __slots__ = ()
    clock = staticmethod(perf_counter_ns)
    takes_device_arrays = False
    truth: Callable[[Any], bool] | None = None
    lays_backwards = True
    keeps_buffers = True

    def empty(self, shape: tuple[int, ...], dtype: str | np.dtype[Any]) -> Any:
        """Return a new array."""
        return np.empty(shape, dtype)

    def copy(self, value: Any) -> Any:
        """Return an independent copy of an array."""
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
        """Return a number in the form that the code of a step takes."""
        return value

    def constant(self, program: Program, number: int) -> Any:
        """Return a constant in the form that the program's code takes."""
        return program.constants[number]

    def taken(self, program: Program, inputs: Sequence[Any]) -> Sequence[Any]:
        """Return the inputs in the form that the program's code takes."""
        return inputs

    def given(self, program: Program, inputs: Sequence[Any], results: Sequence[Any]) -> list[Any]:
        """Return the results in the form that the caller of ``inputs`` gets."""
        return [result if type(result) is _ARRAY else _asarray(result) for result in results]
