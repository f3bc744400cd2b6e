"""Run a program on the device: generated source that calls CuPy on planned arrays.

An operation whose inputs are all on the host runs there.  CuPy's calls return before the device is done: while a call is observed,
the device is waited for before the clock is read, so that times are those of the work and not of the launch.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from scanviz.engine.backends.cupy.arrays import index_inputs, read_index
from scanviz.engine.backends.cupy.table import CUPY, is_device
from scanviz.engine.backends.other_tier import OtherTierRunner
from scanviz.engine.backends.source.emitter import Emitter, Library
from scanviz.engine.backends.source.executable import SourceExecutable
from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.types import TensorType, Type
from scanviz.engine.program.instructions import AnyInstruction, Instruction, Program, dtype_of
from scanviz.engine.program.plan import Emits, overwritable
from scanviz.engine.runtime.array_module import ArrayModule
from scanviz.engine.runtime.interpreter import Interpreter, RunContext
from scanviz.engine.runtime.specialised import Tier


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
        # by id: a constant, which this keeps alive, and its array
        self._constants: dict[int, tuple[Any, Any]] = {}

    def empty(self, shape: tuple[int, ...], dtype: str | np.dtype[Any]) -> Any:
        """Return a new array on the device."""
        return self.xp.empty(shape, dtype)

    def copy(self, value: Any) -> Any:
        """Return a copy on the same device."""
        return value.copy() if is_device(value) else np.array(value)

    def to_host(self, value: Any) -> Any:
        """Return a value in the host's memory; waits for the device."""
        return value.get() if is_device(value) else np.asarray(value)

    def from_host(self, value: Any) -> Any:
        """Return an array on the device; a 0-d value stays where it is."""
        return value if is_device(value) or np.ndim(value) == 0 else self.xp.asarray(value)

    @staticmethod
    def as_array(value: Any) -> Any:
        """Return a single number as a 0-d array on the same device."""
        return value if is_device(value) else np.asarray(value)

    def placed(self, value: Any, kind: Type) -> Any:
        """Return a value in the dtype and on the device of its type."""
        if not isinstance(kind, TensorType):
            return self.to_host(value)
        if value.dtype != kind.dtype:
            value = value.astype(kind.dtype)
        return self.from_host(value)

    def taken(self, program: Program, inputs: Sequence[Any]) -> list[Any]:
        """Return a program's inputs on their devices; device arrays of other libraries are not copied."""
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
        """Return the results on the device if an input was there, else on the host; random states stay on the host.

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
        """Wait for the device."""
        self.xp.cuda.get_current_stream().synchronize()

    def clock(self) -> int:
        """Wait for the device and return nanoseconds."""
        self.wait()
        return time.perf_counter_ns()


class DeviceCall:
    """A callable of one instruction, for generated source."""

    __slots__ = ("kinds", "op", "perform")

    def __init__(self, perform: DevicePerform, op: Op, kinds: Sequence[Type]) -> None:
        self.perform, self.op, self.kinds = perform, op, kinds

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        """Return the results on their devices; a scalar taken from an array is copied, since CuPy returns a view."""
        placed, found = self.perform.module.placed, self.perform(self.op, values)
        if self.op.declaration.views is not None and not found[0].ndim:
            found = [self.perform.module.copy(found[0])]
        return [placed(value, kind) for value, kind in zip(found, self.kinds, strict=True)]

    def into(self, values: Sequence[Any], out: Any) -> None:
        """Write the one result into an array."""
        write = CUPY[self.op.declaration].into
        assert write is not None, self.op.name  # the plan asks for it only where it exists
        write(self.perform.xp, self.op, operands(values), out)


def writes(instruction: Instruction, program: Program) -> bool:
    """Return whether CuPy writes the result of an instruction into a given array."""
    dtypes = [dtype_of(program, number) for number in instruction.inputs]
    row = CUPY[instruction.op.declaration]
    return row.writes(instruction.op, dtypes, dtype_of(program, instruction.outputs[0]))


def overwrites(instruction: Instruction, program: Program) -> Sequence[int]:
    """Return the positions of the inputs that an instruction may write over."""
    return overwritable(instruction, program) if writes(instruction, program) else ()


def statements(
    perform: DevicePerform, emitter: Emitter, instruction: Instruction, out: str | None
) -> list[str]:
    """Return the line of an instruction; ``out`` names the array that its result goes to."""
    kinds = [emitter.program.registers[number].type for number in instruction.outputs]
    call = DeviceCall(perform, instruction.op, kinds)
    names, first = list(map(emitter.name, instruction.inputs)), index_inputs(instruction.op)
    for k, number in enumerate(instruction.inputs[first:], first):
        if number in emitter.unchanged:
            names[k] = _read_before(emitter, number)
    values = "".join(f"{name}, " for name in names)
    if out is not None:
        return [f"{emitter.bind(call.into, instruction.op.name)}(({values}), {out})"]
    targets = "".join(f"{emitter.name(number)}, " for number in instruction.outputs)
    return [f"{targets}= {emitter.bind(call, instruction.op.name)}(({values}))"]


def _read_before(emitter: Emitter, number: int) -> str:
    """Return the name of an index that is the same in every step, read before the first."""
    known: dict[int, str] = emitter.notes.setdefault("indices", {})
    if number not in known:
        name = emitter.name(number)
        known[number] = emitter.fresh(f"{name}_index")
        emitter.before.append(f"{known[number]} = {emitter.bind(read_index, 'read_index')}({name})")
    return known[number]


def device_executable(program: Program, xp: Any, name: str) -> SourceExecutable:
    """Return an executable of a program for an array module with CuPy's names."""
    module = DeviceModule(xp)
    perform = DevicePerform(module)

    def interpreted(program: Program) -> DeviceInterpreter:
        return DeviceInterpreter(program, perform, module, name, OtherTierRunner)

    tier = Tier(name, Emits(writes, overwrites), module, interpreted)
    return SourceExecutable(program, Library(tier, partial(statements, perform)))


class DevicePerform:
    """Performs operations on the device, or on the host if all inputs are host scalars.

    Parameters
    ----------
    module : DeviceModule
        The module whose arrays values are.
    """

    def __init__(self, module: DeviceModule) -> None:
        self.module, self.xp = module, module.xp

    def __call__(self, op: Op, values: Sequence[Any]) -> Sequence[Any]:
        """Return the results of an operation."""
        row = CUPY[op.declaration]
        if row.host or (row.scalars_on_host and not any(is_device(value) for value in values)):
            given = [self.module.to_host(value) for value in values]
            return [np.asarray(result) for result in op.perform(given)]
        return row.perform(self.xp, op, operands(values))


def operands(values: Sequence[Any]) -> list[Any]:
    """Return operands for CuPy: host numbers as scalars."""
    return [value if is_device(value) else np.asarray(value)[()] for value in values]


class DeviceInterpreter(Interpreter):
    """Interpreter that keeps arrays on the device."""

    module: DeviceModule

    def run_instruction(
        self, program: Program, instruction: AnyInstruction, values: Sequence[Any], context: RunContext
    ) -> Sequence[Any]:
        """Return the results of one instruction on their devices; waits for the device while observed."""
        results = super().run_instruction(program, instruction, values, context)
        if isinstance(instruction, Instruction):
            results = [
                self.module.placed(value, program.registers[number].type)
                for number, value in zip(instruction.outputs, results, strict=True)
            ]
        if context.probe is not None:
            self.module.wait()
        return results
