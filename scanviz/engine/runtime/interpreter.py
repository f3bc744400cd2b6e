"""Run a Program instruction by instruction: the reference tier.

Each operation is one call of a function looked up by op; observers may receive every value.  The interpreter reads no plan: every
register gets a new array.  The generated tiers are tested against it.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from scanviz.engine.graph.declaration import Op
from scanviz.engine.observation.levels import RUNS, VALUES
from scanviz.engine.observation.observer_overhead import ObserverOverhead
from scanviz.engine.observation.probe import Probe
from scanviz.engine.observation.stamps import OperationStamps, Stamps
from scanviz.engine.ops.effects import at_step
from scanviz.engine.program.instructions import (
    AnyInstruction,
    BranchInstruction,
    Instruction,
    LoopInstruction,
    Program,
    has_effects,
    nested_loops,
)
from scanviz.engine.runtime.array_module import ArrayModule
from scanviz.engine.runtime.calling import DONE, FAILED, STOPPED, LoopCode, Outcome, Pool
from scanviz.engine.runtime.driver import LoopRunner
from scanviz.engine.runtime.errors import Failure, in_words

if TYPE_CHECKING:
    from scanviz.engine.observation.sampling import Variant
    from scanviz.engine.runtime.arena import LoopArena
    from scanviz.engine.runtime.row_storage import StateRows

Perform = Callable[[Op, Sequence[Any]], Sequence[Any]]
# from the values of a loop's inputs to its results
RunLoop = Callable[[Sequence[Any], Probe | None], list[Any]]
OtherTier = Callable[[Program, LoopInstruction, ArrayModule], RunLoop]


class RunContext:
    """The context of a running program.

    Attributes
    ----------
    probe : Probe or None
        The probe of the call.
    loop, step : LoopInstruction or None, int
        The loop whose body the program is, and the step.
    notify : bool
        Whether every instruction notifies ``probe``.
    record : callable or None
        Takes the time after each instruction.
    failed, values : int, sequence
        The instruction that raised, or -1, and the values that it read.
    """

    __slots__ = ("failed", "loop", "notify", "probe", "record", "step", "values")

    def __init__(
        self,
        probe: Probe | None,
        loop: LoopInstruction | None = None,
        step: int = 0,
        notify: bool = False,
        record: Callable[[int], None] | None = None,
    ) -> None:
        self.probe, self.loop, self.step, self.notify, self.record = probe, loop, step, notify, record
        self.failed = -1
        self.values: Sequence[Any] = ()

    @property
    def key(self) -> int | None:
        """The key of the loop in events."""
        return None if self.loop is None else self.loop.key

    @property
    def has_values(self) -> bool:
        """True if observers receive values."""
        return self.notify and self.probe is not None and self.probe.level is VALUES

    def in_words(self, error: BaseException, program: Program) -> BaseException:
        """Return the error to raise for an error of the program."""
        step = self.step if self.loop is not None else None
        failure = Failure(self.failed, step, tuple(self.values)) if self.failed >= 0 else None
        return in_words(error, program, failure, self.loop)


class Interpreter:
    """An executable that interprets a program.

    Parameters
    ----------
    program : Program
        The program.
    perform : callable
        ``perform(op, values)`` returns the results of an operation.
    module : ArrayModule
        The array library.
    name : str
        Name of the tier.
    other_tier : callable, optional
        ``other_tier(program, loop, module)`` returns the runner of a loop whose mode names another tier; by default all loops run
        here.
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
        self._runners: dict[int, InterpretedLoop] = {}
        self._other_tiers: dict[int, RunLoop] = {
            loop.key: other_tier(around, loop, module)
            for loop, _, around in nested_loops(program)
            if other_tier is not None and not loop.runs_on(name)
        }

    def run(self, inputs: Sequence[Any], probe: Probe | None) -> list[Any]:
        """Return the outputs for inputs."""
        with np.errstate(all="ignore"):
            given = self.module.taken(self.program, inputs)
            results = self.run_whole(self.program, given, self._context(probe))
            return self.module.given(self.program, inputs, results)

    def _context(self, probe: Probe | None) -> RunContext:
        """Return the context of the function's program: observed value by value, or with a time after each instruction."""
        if probe is None or probe.level is RUNS or probe.level is VALUES or not probe.is_outer:
            return RunContext(probe, notify=probe is not None and probe.level is not RUNS)
        probe.stamps = stamps = array("q", [time.perf_counter_ns()])
        return RunContext(probe, record=stamps.append)

    def run_whole(self, program: Program, inputs: Sequence[Any], context: RunContext) -> list[Any]:
        """Return the outputs of a program that is not the step of a loop, with errors in the user's words."""
        try:
            return self.run_program(program, inputs, context)
        except Exception as error:
            raise context.in_words(error, program) from error.__cause__

    def run_program(self, program: Program, inputs: Sequence[Any], context: RunContext) -> list[Any]:
        """Return the outputs of a program: a function, a step of a loop or a side of a branch."""
        probe = context.probe
        if probe is not None and context.has_values:
            probe.step_inputs(context.key, context.step, tuple(map(self.module.to_host, inputs)))
        values: list[Any] = [None] * len(program.registers)
        for number, value in self.constants(program).items():
            values[number] = value
        for number, value in zip(program.inputs, inputs, strict=True):
            values[number] = value
        for index, instruction in enumerate(program.instructions):
            begun = probe.now() if context.notify and probe is not None else 0
            try:
                results = self.run_instruction(program, instruction, values, context)
            except Exception:
                context.failed = index
                context.values = [values[number] for number in instruction.inputs]
                raise
            for number, value in zip(instruction.outputs, results, strict=True):
                values[number] = value
            if context.record is not None:
                context.record(time.perf_counter_ns())
            if context.notify and probe is not None:
                shown = tuple(map(self.module.to_host, results)) if context.has_values else ()
                elapsed = probe.now() - begun
                probe.instruction(context.key, context.step, index, elapsed, shown)
            for number in instruction.frees:
                values[number] = None
        return [values[number] for number in program.outputs]

    def constants(self, program: Program) -> dict[int, Any]:
        """Return a program's constants in the library's memory, moved there once."""
        known = self._constants.get(id(program))
        if known is None:
            known = {number: self.module.constant(program, number) for number in program.constants}
            self._constants[id(program)] = known
        return known

    def run_instruction(
        self, program: Program, instruction: AnyInstruction, values: Sequence[Any], context: RunContext
    ) -> Sequence[Any]:
        """Return the results of one instruction for the values of registers."""
        match instruction:
            case Instruction():
                return self.perform(instruction.op, [values[number] for number in instruction.inputs])
            case LoopInstruction():
                return self.run_loop(instruction, values, context.probe)
            case BranchInstruction():
                return self.run_branch(instruction, values, context)

    def run_apart(
        self, program: Program, instruction: AnyInstruction, values: Sequence[Any], probe: Probe | None = None
    ) -> Sequence[Any]:
        """Return the results of one instruction for the values of registers, outside of a run; its loops may be observed."""
        context = RunContext(probe)
        try:
            return self.run_instruction(program, instruction, values, context)
        except Exception as error:
            context.failed = program.instructions.index(instruction)
            context.values = [values[number] for number in instruction.inputs]
            raise context.in_words(error, program) from error.__cause__

    def run_branch(
        self, branch: BranchInstruction, values: Sequence[Any], context: RunContext
    ) -> Sequence[Any]:
        """Run the side that the condition chooses; to observers the branch is one instruction."""
        program, reads = branch.sides[0 if bool(self.module.to_host(values[branch.condition])) else 1]
        inside = RunContext(context.probe, context.loop, context.step)
        return self.run_whole(program, [values[number] for number in reads], inside)

    def run_loop(self, loop: LoopInstruction, values: Sequence[Any], probe: Probe | None) -> list[Any]:
        """Run a whole loop and return its results in the order of its outputs."""
        given = [values[number] for number in loop.inputs]
        other = self._other_tiers.get(loop.key)
        if other is not None and (probe is None or probe.level is not VALUES):
            return other(given, probe)
        runner = self._runners.get(id(loop))  # which lives as long as its runner
        if runner is None:
            runner = self._runners[id(loop)] = InterpretedLoop(self, loop)
        return runner(given, probe)


class InterpretedLoop(LoopRunner):
    """Run one loop by interpreting its steps."""

    def __init__(self, interpreter: Interpreter, loop: LoopInstruction) -> None:
        super().__init__(loop, interpreter.module)
        self.interpreter, self.code = interpreter, Interpreted(interpreter, loop)

    def code_for(
        self, shapes: Sequence[Any], states: Sequence[StateRows], probe: Probe | None, steps: int
    ) -> Interpreted:
        """Return the one code for all shapes."""
        return self.code

    def compute(self, program: Program, instruction: AnyInstruction, values: Sequence[Any]) -> Sequence[Any]:
        """Return the results of one instruction alone."""
        return self.interpreter.run_apart(program, instruction, values)


class Interpreted(LoopCode):
    """The interpreted steps of a loop: one code for all shapes, without a plan.

    Parameters
    ----------
    interpreter : Interpreter
        Runs the steps.
    loop : LoopInstruction
        The loop.
    """

    __slots__ = ("buffers", "effects", "interpreter", "loop")
    plan = memory = None
    tier_name = "reference"
    keeps_buffers = False
    samples = False  # every operation is a call: a stamp after it costs little
    clock = staticmethod(time.perf_counter_ns)

    def __init__(self, interpreter: Interpreter, loop: LoopInstruction) -> None:
        self.interpreter, self.loop = interpreter, loop
        self.buffers = Pool(list, 0)
        self.effects = has_effects(loop.body)

    def variant(self, name: Variant) -> Interpreted:
        """Return itself."""
        return self

    def stamps(self, name: Variant, first: int, last: int, own: ObserverOverhead | None) -> Stamps:
        """Return stamps after each operation."""
        return OperationStamps(own=own)

    def __call__(self, arena: LoopArena, first: int, last: int) -> Outcome:
        """Take steps by the convention of :mod:`scanviz.engine.runtime.calling`."""
        record, probe = arena.record, arena.probe
        notify = probe is not None and probe.level is VALUES
        for step in range(first, last):
            if self.effects:
                at_step(step)
            if notify and probe is not None:
                probe.step_begins(self.loop.key, step, arena.held)
            inputs = [array[step] for array in arena.sequences]
            inputs += [rows.row(step, tap) for rows in arena.states for tap, _ in rows.slot.reads]
            inputs += [*arena.carried, *arena.fixed]
            context = RunContext(probe, self.loop, step, notify, record)
            try:
                if record is not None:
                    record(time.perf_counter_ns())
                stop = self._store(arena, step, self.interpreter.run_program(self.loop.body, inputs, context))
                if record is not None:
                    record(time.perf_counter_ns())
            except Exception as error:
                arena.error, arena.error_values = error, context.values
                return step, FAILED, context.failed
            if stop:
                return step + 1, STOPPED, -1
        return last, DONE, -1

    def _store(self, arena: LoopArena, step: int, results: Sequence[Any]) -> bool:
        """Store a step's results; results that may be views of written rows are copied first."""
        module, given = self.interpreter.module, iter(results)
        written = [(rows, tap, next(given)) for rows in arena.states for tap, _ in rows.slot.writes]
        if len(written) > 1:
            written = [(rows, tap, module.copy(value)) for rows, tap, value in written]
        for output in arena.outputs:
            output.write(step, next(given))
        arena.carried = tuple([module.copy(next(given)) for _ in arena.carried])
        stop = self.loop.until is not None and bool(module.to_host(next(given)))
        for rows, tap, value in written:
            rows.write(step, tap, value)
        return stop
