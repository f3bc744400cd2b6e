"""CuPy one call an operation: what each is, and the interpreter for those who observe every value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from scanviz.engine.backends.cupy.module import DeviceModule, is_device
from scanviz.engine.backends.cupy.table import CUPY
from scanviz.engine.graph.declaration import Op
from scanviz.engine.program.instructions import AnyInstruction, Instruction, Program
from scanviz.engine.runtime.context import RunContext
from scanviz.engine.runtime.interpreter import Interpreter


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
        if context.watch is not None:
            self.module.wait()
        return results
