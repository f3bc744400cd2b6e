"""Where values live: numbers known on the host and random states stay there, arrays live on the device."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from scanviz.engine.graph.types import TensorType, Type
from scanviz.engine.program.instructions import Program
from scanviz.engine.runtime.array_module import ArrayModule


def is_device(value: Any) -> bool:
    """Return whether a value lies in a GPU's memory; asks its class, for an array makes its description anew when asked."""
    return type(value) is not np.ndarray and hasattr(type(value), "__cuda_array_interface__")


class DeviceModule(ArrayModule):
    """CuPy as an array library.

    Parameters
    ----------
    xp : module
        CuPy, or a stand-in with its names.
    """

    __slots__ = ("_constants", "xp")
    takes_device_arrays = True
    lays_backwards = False  # kernels count rows from the first

    def __init__(self, xp: Any) -> None:
        self.xp = xp
        # by id: a constant, which so stays alive, and where it lives
        self._constants: dict[int, tuple[Any, Any]] = {}

    def empty(self, shape: tuple[int, ...], dtype: str | np.dtype[Any]) -> Any:
        """Return a new array on the device."""
        return self.xp.empty(shape, dtype)

    def copy(self, value: Any) -> Any:
        """Return a copy that nothing else holds, where the value is."""
        return value.copy() if is_device(value) else np.array(value)

    def to_host(self, value: Any) -> Any:
        """Return a value in the host's memory; waits for the device."""
        return value.get() if is_device(value) else np.asarray(value)

    def from_host(self, value: Any) -> Any:
        """Return an array on the device; a value of no dimensions stays where it is."""
        return value if is_device(value) or np.ndim(value) == 0 else self.xp.asarray(value)

    @staticmethod
    def as_array(value: Any) -> Any:
        """Return a single number as an array of no dimensions, where it is."""
        return value if is_device(value) else np.asarray(value)

    def placed(self, value: Any, kind: Type) -> Any:
        """Return a value of a type in the dtype promised and where values of the type live."""
        if not isinstance(kind, TensorType):
            return self.to_host(value)
        if value.dtype != kind.dtype:
            value = value.astype(kind.dtype)
        return self.from_host(value)

    def taken(self, program: Program, inputs: Sequence[Any]) -> list[Any]:
        """Return the inputs of a program where they live; other libraries' arrays on the device are taken without a copy."""
        given = [self.xp.asarray(array) if is_device(array) else array for array in inputs]
        kinds = [program.registers[number].type for number in program.inputs]
        return [self.placed(array, kind) for array, kind in zip(given, kinds, strict=True)]

    def constant(self, program: Program, number: int) -> Any:
        """Return a constant where it lives, moved there once."""
        value = program.constants[number]
        if id(value) not in self._constants:
            self._constants[id(value)] = (value, self.placed(value, program.registers[number].type))
        return self._constants[id(value)][1]

    def given(self, program: Program, inputs: Sequence[Any], results: Sequence[Any]) -> list[Any]:
        """Return results all on the device if an input was, else on the host; random states stay on the host.

        On the device they may share memory with inputs and with one another, never with constants.
        """
        if not any(is_device(array) for array in inputs):
            return [self.to_host(result) for result in results]
        constants, found = [array for _, array in list(self._constants.values()) if is_device(array)], []
        for number, value in zip(program.outputs, results, strict=True):
            tensor = isinstance(program.registers[number].type, TensorType)
            value = self.xp.asarray(value) if tensor else self.to_host(value)
            if is_device(value) and any(self.xp.may_share_memory(value, constant) for constant in constants):
                value = value.copy()
            found.append(value)
        return found

    def wait(self) -> None:
        """Wait until the device has done all that was asked."""
        self.xp.cuda.get_current_stream().synchronize()

    def clock(self) -> int:
        """Return nanoseconds, when the device has done all that was asked."""
        self.wait()
        return time.perf_counter_ns()
