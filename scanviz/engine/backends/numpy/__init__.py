"""The NumPy tier: Python source generated for each loop, straight-line calls into preallocated arrays.

The same code in three variants (plain, a stamp a step, a stamp an operation) runs whether or not someone watches, so a
profile measures what runs without it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from scanviz.engine.backends.base import Availability, Executable
from scanviz.engine.backends.numpy import elementwise, index, join, linalg, reduce, shape  # noqa: F401  # rows of source
from scanviz.engine.backends.numpy.compiled import CompiledSource, compile_source
from scanviz.engine.backends.numpy.emit import EMITS
from scanviz.engine.backends.numpy.flat import FlatProgram
from scanviz.engine.backends.numpy.source import LoopWriter
from scanviz.engine.backends.other_tier import OtherTierLoop
from scanviz.engine.backends.reference import ReferenceBackend, perform
from scanviz.engine.program.instructions import (
    AnyInstruction,
    BranchInstruction,
    Instruction,
    LoopInstruction,
    Program,
)
from scanviz.engine.program.plan import Plan
from scanviz.engine.program.verify import verify_program
from scanviz.engine.runtime.driver import LoopRunner
from scanviz.engine.runtime.events import Watch
from scanviz.engine.runtime.interpreter import Interpreter
from scanviz.engine.runtime.rows import ArrayModule
from scanviz.engine.runtime.schedule import Variant
from scanviz.engine.runtime.specialised import Emission, Specialised, SpecialisedLoop


class NumpyModule(ArrayModule):
    """NumPy, with single numbers as its scalars: calls with those are quicker than with arrays of no dimensions."""

    __slots__ = ()

    def number(self, value: Any) -> Any:
        """Return a single number as generated code takes it."""
        return np.asarray(value)[()]

    def copy(self, value: Any) -> Any:
        """Return a copy of an array, or a scalar."""
        return value.copy()


MODULE = NumpyModule()


def write_loop(
    loop: LoopInstruction, plan: Plan, variant: Variant, runners: Mapping[int, Any]
) -> CompiledSource:
    """Return one variant of the code of a loop for a plan."""
    source = LoopWriter(loop, plan, variant, runners).write()
    title = f"loop {loop.name}"
    return compile_source(source.text, source.entry, source.namespace, source.lines, source.names, title)


def _compute(program: Program, instruction: AnyInstruction, values: Sequence[Any]) -> Sequence[Any]:
    return Interpreter(program, perform, ArrayModule()).run_apart(program, instruction, values)


EMISSION = Emission("numpy", EMITS, write_loop, MODULE, _compute)


class BranchRunner:
    """Runs one side of an ``ifelse``."""

    def __init__(self, branch: BranchInstruction) -> None:
        place = {number: k for k, number in enumerate(branch.inputs)}
        self.condition = place[branch.condition]
        self.then_inputs = [place[number] for number in branch.then_inputs]
        self.else_inputs = [place[number] for number in branch.else_inputs]
        self.then_program = FlatProgram(branch.then_program, make_runner)
        self.else_program = FlatProgram(branch.else_program, make_runner)

    def __call__(self, values: Sequence[Any], watch: Watch | None) -> list[Any]:
        """Return the results of the side that the condition chooses."""
        if values[self.condition]:
            return self.then_program.run([values[k] for k in self.then_inputs], watch, False)
        return self.else_program.run([values[k] for k in self.else_inputs], watch, False)


def make_runner(program: Program, instruction: LoopInstruction | BranchInstruction) -> Any:
    """Return what runs a loop or a branch of a program."""
    if isinstance(instruction, BranchInstruction):
        return BranchRunner(instruction)
    if instruction.mode not in (None, "auto", "numpy"):
        return OtherTierLoop(program, instruction)
    runners = {
        k: make_runner(instruction.body, each)
        for k, each in enumerate(instruction.body.instructions)
        if not isinstance(each, Instruction)
    }
    return LoopRunner(instruction, SpecialisedLoop(instruction, runners, EMISSION), MODULE)


class NumpyExecutable:
    """A program compiled to generated NumPy code."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.flat = FlatProgram(program, make_runner)
        self._reference: Executable | None = None

    def run(self, inputs: Sequence[Any], watch: Watch | None) -> list[Any]:
        """Return the outputs for inputs."""
        if watch is not None and watch.detail == "values":
            if self._reference is None:
                self._reference = ReferenceBackend().compile(self.program)
            return self._reference.run(inputs, watch)
        with np.errstate(all="ignore"):
            return [np.asarray(each) for each in self.flat.run(inputs, watch, watch is not None)]

    def source(self) -> str:
        """Return the generated source of the program outside of its loops."""
        return self.flat.source

    def loop_sources(self) -> dict[int, str]:
        """Return the generated source of each loop run so far, by the loop's key; nested loops too."""
        return {key: made.written("plain").text for key, made in self._made().items()}

    def plans(self) -> dict[int, Plan]:
        """Return the plan of each loop run so far, for the shapes that it met last, by the loop's key."""
        return {key: made.plan for key, made in self._made().items()}

    def _made(self) -> dict[int, Specialised]:
        """Return by the key of each loop run so far what was made for the shapes it met last."""
        found: dict[int, Specialised] = {}
        _collect(self.flat.runners, found)
        return found


def _collect(runners: Mapping[int, Any], found: dict[int, Specialised]) -> None:
    for runner in runners.values():
        if isinstance(runner, LoopRunner) and isinstance(runner.tier, SpecialisedLoop):
            for made in runner.tier.all_made():
                found[runner.loop.key] = made
            _collect(runner.tier.runners, found)
        elif isinstance(runner, BranchRunner):
            _collect(runner.then_program.runners, found)
            _collect(runner.else_program.runners, found)


class NumpyBackend:
    """The NumPy tier."""

    name = "numpy"

    def availability(self) -> Availability:
        """Return that it works: it needs NumPy alone."""
        return Availability(True, "NumPy, generated code", version=np.__version__)

    def compile(self, program: Program) -> NumpyExecutable:
        """Return generated code for a program; loops get theirs when their shapes are met."""
        verify_program(program)
        return NumpyExecutable(program)
