"""The NumPy tier: Python source generated for each loop, straight-line calls into preallocated arrays.

The same code in three variants (plain, a stamp a step, a stamp an operation) runs whether or not someone watches, so a
profile measures what runs without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from scanviz.engine.backends.base import Availability, Executable, Watch
from scanviz.engine.backends.numpy import elementwise, index, linalg, reduce, shape  # noqa: F401  # rows of source
from scanviz.engine.backends.numpy.flat import FlatProgram
from scanviz.engine.backends.numpy.loop import LoopRunner
from scanviz.engine.backends.reference import ReferenceBackend
from scanviz.engine.backends.registry import resolve
from scanviz.engine.program.instructions import BranchInstruction, LoopInstruction, Program
from scanviz.engine.program.verify import verify_program


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


class OtherTierRunner:
    """Runs one loop by another backend, as its ``mode`` asks."""

    def __init__(self, loop: LoopInstruction) -> None:
        single = Program(
            loop.name,
            _registers(loop),
            tuple(range(len(loop.inputs))),
            tuple(range(len(loop.inputs), len(loop.inputs) + len(loop.outputs))),
            {},
            (_renumbered(loop),),
        )
        self.executable: Executable = resolve(str(loop.mode)).compile(single)

    def __call__(self, values: Sequence[Any], watch: Watch | None) -> list[Any]:
        """Return the loop's results."""
        return self.executable.run([np.asarray(each) for each in values], watch)


def _registers(loop: LoopInstruction) -> Any:
    from scanviz.engine.graph.types import TensorType
    from scanviz.engine.program.instructions import Register

    unknown = TensorType("float64", ())  # the outer types are not looked at by a program of one loop
    return tuple(Register(k, unknown) for k in range(len(loop.inputs) + len(loop.outputs)))


def _renumbered(loop: LoopInstruction) -> LoopInstruction:
    """Return the loop as the only instruction of a program whose inputs are the loop's."""
    from dataclasses import replace

    place = {number: k for k, number in enumerate((*loop.inputs, *loop.outputs))}

    def outer(slots: Any) -> Any:
        fields = [
            {
                name: place[getattr(slot, name)]
                for name in ("outer", "result")
                if getattr(slot, name, None) is not None
            }
            for slot in slots
        ]
        return tuple(replace(slot, **given) for slot, given in zip(slots, fields, strict=True))

    return replace(
        loop,
        inputs=tuple(place[number] for number in loop.inputs),
        outputs=tuple(place[number] for number in loop.outputs),
        frees=(),
        mode=None,
        n_steps=place[loop.n_steps],
        sequences=outer(loop.sequences),
        states=outer(loop.states),
        step_outputs=outer(loop.step_outputs),
        carries=outer(loop.carries),
        non_sequences=outer(loop.non_sequences),
    )


def make_runner(instruction: LoopInstruction | BranchInstruction) -> Any:
    """Return what runs a loop or a branch."""
    if isinstance(instruction, BranchInstruction):
        return BranchRunner(instruction)
    if instruction.mode not in (None, "auto", "numpy"):
        return OtherTierRunner(instruction)
    return LoopRunner(instruction, make_runner)


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

    def loop_sources(self) -> dict[str, str]:
        """Return the generated source of each loop run so far, by name; nested loops too."""
        found: dict[str, str] = {}
        _collect(self.flat.runners, found)
        return found


def _collect(runners: dict[int, Any], found: dict[str, str]) -> None:
    for runner in runners.values():
        if isinstance(runner, LoopRunner):
            for made in runner.cache.values():
                found[runner.loop.name] = made.code["plain"].text
            _collect(runner.runners, found)
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
