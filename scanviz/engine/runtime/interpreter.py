"""Running a Program instruction by instruction: the reference tier, and the plain form of any array library's.

Each operation is one call of a function looked up by op; every value exists and can be told to an observer.  How a loop
runs is in :mod:`scanviz.engine.runtime.driver`; the generated tiers are tested against the two.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from scanviz.engine.graph.declaration import Op
from scanviz.engine.program.instructions import (
    AnyInstruction,
    BranchInstruction,
    Instruction,
    LoopInstruction,
    Program,
)
from scanviz.engine.runtime.driver import LoopRun, Place
from scanviz.engine.runtime.errors import translate
from scanviz.engine.runtime.events import Watch
from scanviz.engine.runtime.rows import ArrayModule

Perform = Callable[[Op, Sequence[Any]], Sequence[Any]]
RunLoop = Callable[
    [Sequence[Any], Watch | None], list[Any]
]  # from the values of a loop's inputs to its results
OtherTier = Callable[[Program, LoopInstruction], RunLoop]


class Interpreter:
    """An executable that interprets its program.

    Parameters
    ----------
    program : Program
        What to run.
    perform : callable
        ``perform(op, values)`` gives the results of an operation.
    module : ArrayModule
        Where buffers come from.
    name : str
        Of the tier.
    other_tier : callable, optional
        ``other_tier(program, loop)`` gives what runs a loop whose mode names another tier; without it all run here.
    """

    def __init__(
        self,
        program: Program,
        perform: Perform,
        module: ArrayModule,
        name: str = "reference",
        other_tier: OtherTier | None = None,
    ) -> None:
        self.program, self.perform, self.module, self.name = program, perform, module, name
        self._constants: dict[int, dict[int, Any]] = {}
        self._other_tiers: dict[int, RunLoop] = {}
        if other_tier is not None:
            self._find_other_tiers(program, other_tier)

    def run(self, inputs: Sequence[Any], watch: Watch | None) -> list[Any]:
        """Return the outputs for inputs."""
        with np.errstate(all="ignore"):
            given = [self.module.from_host(each) for each in inputs]
            results = self.run_program(self.program, given, Place(watch, tell=watch is not None))
            return [self.module.to_host(each) for each in results]

    def run_program(self, program: Program, inputs: Sequence[Any], place: Place) -> list[Any]:
        """Return the outputs of a program: the function's, one step of a loop or one side of a branch."""
        if place.tell and place.watch is not None and place.watch.detail == "values":
            key = place.loop.key if place.loop is not None else None
            place.watch.step_inputs(key, place.step, tuple(map(self.module.to_host, inputs)))
        values: list[Any] = [None] * len(program.registers)
        for number, value in self.constants(program).items():
            values[number] = value
        for number, value in zip(program.inputs, inputs, strict=True):
            values[number] = value
        for index, instruction in enumerate(program.instructions):
            begun = time.perf_counter_ns() if place.tell else 0
            results = self._run_instruction(program, instruction, values, place)
            for number, value in zip(instruction.outputs, results, strict=True):
                values[number] = value
            if place.times is not None:
                place.times.append(time.perf_counter_ns())
            if place.tell and place.watch is not None:
                shown = tuple(map(self.module.to_host, results)) if place.watch.detail == "values" else ()
                elapsed = time.perf_counter_ns() - begun
                key = place.loop.key if place.loop is not None else None
                place.watch.instruction(key, place.step, index, elapsed, shown)
            for number in instruction.frees:
                values[number] = None
        return [values[number] for number in program.outputs]

    def constants(self, program: Program) -> dict[int, Any]:
        """Return a program's constants in the library's memory, moved there once."""
        known = self._constants.get(id(program))
        if known is None:
            known = {number: self.module.from_host(value) for number, value in program.constants.items()}
            self._constants[id(program)] = known
        return known

    def run_apart(
        self, program: Program, instruction: AnyInstruction, values: Sequence[Any]
    ) -> Sequence[Any]:
        """Return the results of one instruction for the values of registers, unwatched and outside of any run."""
        return self._run_instruction(program, instruction, values, Place(None))

    def _run_instruction(
        self, program: Program, instruction: AnyInstruction, values: Sequence[Any], place: Place
    ) -> Sequence[Any]:
        given = [values[number] for number in instruction.inputs]
        try:
            match instruction:
                case Instruction():
                    return self.perform(instruction.op, given)
                case LoopInstruction():
                    return self.run_loop(instruction, values, place.watch)
                case BranchInstruction():
                    return self.run_branch(instruction, values, place)
        except Exception as error:
            step = place.step if place.loop is not None else None
            told = translate(error, program, instruction, given, place.loop, step)
            if told is None:
                raise
            raise told from error

    def run_branch(self, branch: BranchInstruction, values: Sequence[Any], place: Place) -> Sequence[Any]:
        """Run the side that the condition chooses; the branch is one instruction to those who watch."""
        if bool(self.module.to_host(values[branch.condition])):
            program, reads = branch.then_program, branch.then_inputs
        else:
            program, reads = branch.else_program, branch.else_inputs
        return self.run_program(
            program, [values[number] for number in reads], Place(place.watch, place.loop, place.step)
        )

    def run_loop(self, loop: LoopInstruction, values: Sequence[Any], watch: Watch | None) -> list[Any]:
        """Run a whole loop and return its results in the order of its outputs."""
        other = self._other_tiers.get(loop.key)
        if other is None or (watch is not None and watch.detail == "values"):
            return LoopRun(self, loop, values, watch).run()
        given = [self.module.to_host(values[number]) for number in loop.inputs]
        return [self.module.from_host(each) for each in other(given, watch)]

    def _find_other_tiers(self, program: Program, other_tier: OtherTier) -> None:
        for instruction in program.instructions:
            if isinstance(instruction, BranchInstruction):
                self._find_other_tiers(instruction.then_program, other_tier)
                self._find_other_tiers(instruction.else_program, other_tier)
            elif isinstance(instruction, LoopInstruction):
                if instruction.mode not in (None, "auto", self.name):
                    self._other_tiers[instruction.key] = other_tier(program, instruction)
                self._find_other_tiers(instruction.body, other_tier)
