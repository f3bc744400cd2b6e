"""Running a program on the device: where values live, and what each operation is.

Numbers that are known on the host (sizes, step numbers, constants of no dimensions) and random states stay there; arrays
live on the device.  An operation whose inputs are all on the host is done there by its NumPy meaning.  CuPy's calls return
before the device is done: while someone watches, the device is waited for after each instruction, so that times are those
of the work and not of the launch; nobody else pays for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from scanviz.engine.backends.cupy.table import CUPY
from scanviz.engine.backends.other_tier import OtherTierLoop
from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.types import TensorType, Type
from scanviz.engine.program.instructions import AnyInstruction, Instruction, Program
from scanviz.engine.runtime.context import RunContext
from scanviz.engine.runtime.events import Watch
from scanviz.engine.runtime.interpreter import Interpreter
from scanviz.engine.runtime.rows import ArrayModule


def is_device(value: Any) -> bool:
    """Return whether a value lies in a GPU's memory; asks its class, for an array makes its description anew when asked."""
    return type(value) is not np.ndarray and hasattr(type(value), "__cuda_array_interface__")


class DeviceModule(ArrayModule):
    """CuPy as the array library of the interpreter.

    Parameters
    ----------
    xp : module
        CuPy, or a stand-in with its names.
    """

    __slots__ = ("xp",)

    def __init__(self, xp: Any) -> None:
        self.xp = xp

    def empty(self, shape: tuple[int, ...], dtype: str) -> Any:
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

    def placed(self, value: Any, kind: Type) -> Any:
        """Return a value of a type in the dtype promised and where values of the type live."""
        if not isinstance(kind, TensorType):
            return self.to_host(value)
        if value.dtype != kind.dtype:
            value = value.astype(kind.dtype)
        return self.from_host(value)

    def on_device(self, value: Any, kind: Type) -> Any:
        """Return a result for a caller who works on the device; random states stay on the host."""
        return self.xp.asarray(value) if isinstance(kind, TensorType) else self.to_host(value)

    def wait(self) -> None:
        """Wait until the device has done all that was asked."""
        self.xp.cuda.get_current_stream().synchronize()


class DevicePerform:
    """Performs operations on the device, or on the host where all inputs are numbers of the host.

    Parameters
    ----------
    module : DeviceModule
        Where values live.
    """

    def __init__(self, module: DeviceModule) -> None:
        self.module, self.xp = module, module.xp

    def __call__(self, op: Op, values: Sequence[Any]) -> Sequence[Any]:
        """Return the results of an operation."""
        row = CUPY[op.declaration]
        if row.host or (row.scalars_on_host and not any(is_device(each) for each in values)):
            given = [self.module.to_host(each) for each in values]
            return [np.asarray(each) for each in op.perform(given)]
        return row.perform(
            self.xp, op, [each if is_device(each) else np.asarray(each)[()] for each in values]
        )


class DeviceInterpreter(Interpreter):
    """An interpreter whose values live where their types say, and whose results stay there."""

    module: DeviceModule

    def run(self, inputs: Sequence[Any], watch: Watch | None) -> list[Any]:
        """Return the outputs where they are."""
        with np.errstate(all="ignore"):
            take = self.module.xp.asarray  # arrays of other libraries on the device are taken without a copy
            given = [
                self.module.placed(
                    take(each) if is_device(each) else each, self.program.registers[number].type
                )
                for number, each in zip(self.program.inputs, inputs, strict=True)
            ]
            return self.run_whole(self.program, given, RunContext(watch, notify=watch is not None))

    def constants(self, program: Program) -> dict[int, Any]:
        """Return a program's constants where they live, moved there once."""
        known = self._constants.get(id(program))
        if known is None:
            known = {
                number: self.module.placed(value, program.registers[number].type)
                for number, value in program.constants.items()
            }
            self._constants[id(program)] = known
        return known

    def run_instruction(
        self, program: Program, instruction: AnyInstruction, values: Sequence[Any], context: RunContext
    ) -> Sequence[Any]:
        """Return the results of one instruction, where they belong; waits for the device while someone observes."""
        results = super().run_instruction(program, instruction, values, context)
        if isinstance(instruction, Instruction):
            results = [
                self.module.placed(value, program.registers[number].type)
                for number, value in zip(instruction.outputs, results, strict=True)
            ]
        if context.watch is not None:
            self.module.wait()
        return results


class DeviceExecutable:
    """A program interpreted on the device.

    Attributes
    ----------
    takes_device_arrays : bool
        True: arrays of the device may be given to :meth:`run`.
    """

    takes_device_arrays = True

    def __init__(self, program: Program, xp: Any, name: str) -> None:
        self.program, self.module = program, DeviceModule(xp)
        perform = DevicePerform(self.module)
        self.interpreter = DeviceInterpreter(program, perform, self.module, name, OtherTierLoop)

    def run(self, inputs: Sequence[Any], watch: Watch | None) -> list[Any]:
        """Return the outputs: all on the device if an input was, else on the host.

        On the device they may share memory with inputs and with one another, never with constants.
        """
        results = self.interpreter.run(inputs, watch)
        if not any(is_device(each) for each in inputs):
            return [self.module.to_host(each) for each in results]
        kept = self.interpreter.constants(self.program).values()
        constants = [each for each in kept if is_device(each)]
        found = []
        for number, value in zip(self.program.outputs, results, strict=True):
            value = self.module.on_device(value, self.program.registers[number].type)
            if is_device(value) and any(self.module.xp.may_share_memory(value, each) for each in constants):
                value = value.copy()
            found.append(value)
        return found
