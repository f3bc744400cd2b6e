"""Running a program on the device: generated source that calls CuPy, on arrays that the plan places.

An operation whose inputs are all on the host is done there by its NumPy meaning.  CuPy's calls return before the device is
done: while someone observes, the device is waited for before the clock is read, so that times are those of the work and not
of the launch; nobody else pays for it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from scanviz.engine.backends.cupy.interpreter import DeviceInterpreter, DevicePerform, operands
from scanviz.engine.backends.cupy.module import DeviceModule, is_device
from scanviz.engine.backends.cupy.table import CUPY
from scanviz.engine.backends.other_tier import OtherTierLoop
from scanviz.engine.backends.source.emitter import Emitter
from scanviz.engine.backends.source.executable import SourceExecutable
from scanviz.engine.backends.source.library import Library
from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.types import Type
from scanviz.engine.program.instructions import AnyInstruction, Instruction, Program, dtype_of
from scanviz.engine.program.plan import Emits


class DeviceCall:
    """One instruction as generated source calls it."""

    __slots__ = ("kinds", "op", "perform")

    def __init__(self, perform: DevicePerform, op: Op, kinds: Sequence[Type]) -> None:
        self.perform, self.op, self.kinds = perform, op, kinds

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        """Return the results, where they belong."""
        placed, found = self.perform.module.placed, self.perform(self.op, values)
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
    if not writes(instruction, program):
        return ()
    return range(min(instruction.op.facts.overwrites, len(instruction.inputs)))


class DeviceCalls:
    """How generated source calls CuPy.

    Parameters
    ----------
    module : DeviceModule
        Where values live.
    """

    def __init__(self, module: DeviceModule) -> None:
        self.module, self.perform = module, DevicePerform(module)
        self._constants: dict[
            int, tuple[Any, Any]
        ] = {}  # by id: a constant, which so stays alive, and where it lives

    def statements(self, emitter: Emitter, instruction: Instruction, out: str | None) -> list[str]:
        """Return the line of an instruction; ``out`` names the array that its result goes to."""
        kinds = [emitter.program.registers[number].type for number in instruction.outputs]
        call = DeviceCall(self.perform, instruction.op, kinds)
        values = "".join(f"{emitter.name(number)}, " for number in instruction.inputs)
        if out is not None:
            return [f"{emitter.bind(call.into, instruction.op.name)}(({values}), {out})"]
        targets = "".join(f"{emitter.name(number)}, " for number in instruction.outputs)
        return [f"{targets}= {emitter.bind(call, instruction.op.name)}(({values}))"]

    def constant(self, program: Program, number: int) -> Any:
        """Return a constant where it lives, moved there once."""
        value = program.constants[number]
        if id(value) not in self._constants:
            self._constants[id(value)] = (value, self.module.placed(value, program.registers[number].type))
        return self._constants[id(value)][1]

    def constants_on_device(self) -> list[Any]:
        """Return the constants that live on the device."""
        return [each for _, each in list(self._constants.values()) if is_device(each)]

    def compute(self, program: Program, instruction: AnyInstruction, values: Sequence[Any]) -> Sequence[Any]:
        """Return the results of one instruction alone."""
        return DeviceInterpreter(program, self.perform, self.module).run_apart(program, instruction, values)

    def clock(self) -> int:
        """Return nanoseconds, when the device has done all that was asked."""
        self.module.wait()
        return time.perf_counter_ns()


def device_executable(program: Program, xp: Any, name: str) -> SourceExecutable:
    """Return an executable of a program for an array module with CuPy's names.

    Its results are all on the device if an input was, else on the host.  On the device they may share memory with inputs and
    with one another, never with constants.
    """
    module = DeviceModule(xp)
    calls = DeviceCalls(module)
    emits = Emits(writes, overwrites)
    library = Library(name, calls.statements, emits, module, calls.compute, calls.constant, calls.clock)

    def interpreted(program: Program) -> DeviceInterpreter:
        return DeviceInterpreter(program, calls.perform, module, name, OtherTierLoop)

    def take(inputs: Sequence[Any]) -> list[Any]:
        return module.taken(program, inputs)

    def give(inputs: Sequence[Any], results: Sequence[Any]) -> list[Any]:
        if not any(is_device(each) for each in inputs):
            return [module.to_host(result) for result in results]
        constants, found = calls.constants_on_device(), []
        for number, value in zip(program.outputs, results, strict=True):
            value = module.on_device(value, program.registers[number].type)
            if is_device(value) and any(xp.may_share_memory(value, constant) for constant in constants):
                value = value.copy()
            found.append(value)
        return found

    return SourceExecutable(program, library, interpreted, take, give, takes_device_arrays=True)


__all__ = ["DeviceCalls", "device_executable"]
