"""Running a program on the device: generated source that calls CuPy, on arrays that the plan places.

An operation whose inputs are all on the host is done there by its NumPy meaning.  CuPy's calls return before the device is
done: while someone observes, the device is waited for before the clock is read, so that times are those of the work and not
of the launch; nobody else pays for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from scanviz.engine.backends.cupy.module import DeviceModule, is_device
from scanviz.engine.backends.cupy.table import CUPY
from scanviz.engine.backends.other_tier import OtherTierLoop
from scanviz.engine.backends.source.emitter import Emitter
from scanviz.engine.backends.source.executable import SourceExecutable
from scanviz.engine.backends.source.library import Library
from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.types import Type
from scanviz.engine.program.instructions import AnyInstruction, Instruction, Program, dtype_of
from scanviz.engine.program.plan import Emits, overwritable
from scanviz.engine.runtime.interpreter import Interpreter, RunContext
from scanviz.engine.runtime.specialised import Tier


class DeviceCall:
    """One instruction as generated source calls it."""

    __slots__ = ("kinds", "op", "perform")

    def __init__(self, perform: DevicePerform, op: Op, kinds: Sequence[Type]) -> None:
        self.perform, self.op, self.kinds = perform, op, kinds

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        """Return the results, where they belong; a number of an array is copied, for CuPy gives a view of it."""
        placed, found = self.perform.module.placed, self.perform(self.op, values)
        if self.op.declaration.views is not None and not found[0].ndim:
            found = [self.perform.module.copy(found[0])]
        return [placed(value, kind) for value, kind in zip(found, self.kinds, strict=True)]

    def into(self, values: Sequence[Any], out: Any) -> None:
        """Write the one result into an array."""
        write = CUPY[self.op.declaration].into
        assert write is not None, self.op.name  # the plan asks for it only where it is there
        write(self.perform.xp, self.op, operands(values), out)


def writes(instruction: Instruction, program: Program) -> bool:
    """Return whether CuPy writes the result of an instruction into a given array."""
    dtypes = [dtype_of(program, number) for number in instruction.inputs]
    row = CUPY[instruction.op.declaration]
    return row.writes(instruction.op, dtypes, dtype_of(program, instruction.outputs[0]))


def overwrites(instruction: Instruction, program: Program) -> Sequence[int]:
    """Return the positions of the inputs that this array may be."""
    return overwritable(instruction, program) if writes(instruction, program) else ()


def statements(
    perform: DevicePerform, emitter: Emitter, instruction: Instruction, out: str | None
) -> list[str]:
    """Return the line of an instruction; ``out`` names the array that its result goes to."""
    kinds = [emitter.program.registers[number].type for number in instruction.outputs]
    call = DeviceCall(perform, instruction.op, kinds)
    values = "".join(f"{emitter.name(number)}, " for number in instruction.inputs)
    if out is not None:
        return [f"{emitter.bind(call.into, instruction.op.name)}(({values}), {out})"]
    targets = "".join(f"{emitter.name(number)}, " for number in instruction.outputs)
    return [f"{targets}= {emitter.bind(call, instruction.op.name)}(({values}))"]


def device_executable(program: Program, xp: Any, name: str) -> SourceExecutable:
    """Return an executable of a program for an array module with CuPy's names."""
    module = DeviceModule(xp)
    perform = DevicePerform(module)

    def interpreted(program: Program) -> DeviceInterpreter:
        return DeviceInterpreter(program, perform, module, name, OtherTierLoop)

    tier = Tier(name, Emits(writes, overwrites), module, interpreted)
    return SourceExecutable(program, Library(tier, partial(statements, perform)))


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
        if row.host or (row.scalars_on_host and not any(is_device(value) for value in values)):
            given = [self.module.to_host(value) for value in values]
            return [np.asarray(result) for result in op.perform(given)]
        return row.perform(self.xp, op, operands(values))


def operands(values: Sequence[Any]) -> list[Any]:
    """Return values as CuPy takes them: numbers of the host as scalars."""
    return [value if is_device(value) else np.asarray(value)[()] for value in values]


class DeviceInterpreter(Interpreter):
    """An interpreter whose values live where their types say, and whose results stay there."""

    module: DeviceModule

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
        if context.probe is not None:
            self.module.wait()
        return results
