"""Programs outside of loops: one generated function of plain calls; the cost of an allocation is paid once a call."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from time import perf_counter_ns
from typing import Any

from scanviz.engine.backends.source.compiled import CompiledSource, compile_source, failure_of, raised_in
from scanviz.engine.backends.source.emitter import Emitter
from scanviz.engine.backends.source.library import Library
from scanviz.engine.program.instructions import (
    AnyInstruction,
    BranchInstruction,
    Instruction,
    LoopInstruction,
    Program,
)
from scanviz.engine.program.plan import plan, single
from scanviz.engine.runtime.call_schedule import CallSchedule
from scanviz.engine.runtime.errors import in_words
from scanviz.engine.runtime.events import Watch

MakeRunner = Callable[[Program, LoopInstruction | BranchInstruction], Any]


class FlatProgram:
    """A program as one generated function, and a second one with a time stamp after each instruction.

    Attributes
    ----------
    source : str
        The plain function's source.
    """

    def __init__(self, program: Program, library: Library, make_runner: MakeRunner) -> None:
        self.program, self.library = program, library
        self.runners = {
            index: make_runner(program, instruction)
            for index, instruction in enumerate(program.instructions)
            if not isinstance(instruction, Instruction)
        }
        self.plan = plan(program, None, single, library.tier.emits)
        self._plain = self._compile(False)
        self._timed: CompiledSource | None = None
        self._schedule = CallSchedule()

    @property
    def source(self) -> str:
        """The source of the plain function."""
        return self._plain.text

    def _compile(self, timed: bool) -> CompiledSource:
        emitter = self.library.emitter(self.program)
        entry = emitter.fresh(f"call_{self.program.name}")
        lines = [f"def {entry}(inputs, watch, record):"]
        where: dict[int, int] = {}
        given = [emitter.name(number) for number in self.program.inputs]
        if given:
            lines.append(f"    {', '.join(given)}{',' if len(given) == 1 else ''} = inputs")
        if timed:
            lines.append("    record(clock())")
        for index, instruction in enumerate(self.program.instructions):
            for text in self._statements(emitter, index, instruction):
                lines.append(f"    {text}")
                where[len(lines)] = index
            if timed:
                lines.append("    record(clock())")
            alive = {emitter.name(number) for number in instruction.outputs}
            names = [
                emitter.name(number) for number in instruction.frees if number not in self.program.constants
            ]
            gone = [
                name for name in names if name not in alive or instruction.outputs[0] in instruction.frees
            ]
            if gone:
                lines.append(f"    del {', '.join(gone)}")
        lines.append(f"    return [{', '.join(emitter.name(number) for number in self.program.outputs)}]")
        text = "\n".join(lines) + "\n"
        return compile_source(text, entry, emitter.namespace, where, emitter.names(), self.program.name)

    def _statements(self, emitter: Emitter, index: int, instruction: AnyInstruction) -> list[str]:
        if isinstance(instruction, Instruction):
            return self.library.statements(emitter, instruction, self._written_over(emitter, instruction))
        hint = "loop_" + instruction.name if isinstance(instruction, LoopInstruction) else "branch"
        return [emitter.call_statement(instruction, self.runners[index], hint)]

    def _written_over(self, emitter: Emitter, instruction: Instruction) -> str | None:
        """Return the array that an instruction changes instead of a copy of it, None for an array of its own."""
        source = self.plan.places[instruction.outputs[0]].over
        if source is None:
            return None
        emitter.call_it(instruction.outputs[0], emitter.name(source))
        return emitter.name(source)

    def run(self, inputs: Sequence[Any], watch: Watch | None, tell: bool) -> list[Any]:
        """Return the outputs; with ``tell`` the times of instructions are left with ``watch``, in the calls that are timed so."""
        code, record = self._plain, None
        stamps: array[int] | None = None
        if tell and watch is not None and (watch.detail == "ops" or self._schedule.timed()):
            code, stamps = self._timed or self._made_timed(watch), array("q")
            record = watch.own.without(stamps.append) if self.runners else stamps.append
        try:
            results: list[Any] = code.function(inputs, watch, record)
        except Exception as error:
            failure = failure_of(raised_in(error, code), code, self.program)
            raise in_words(error, self.program, failure) from error.__cause__
        if stamps is not None and watch is not None:
            watch.stamps = stamps
            self._schedule.took(stamps[-1] - stamps[0], len(stamps) - 1)
        return results

    def _made_timed(self, watch: Watch) -> CompiledSource:
        """Return the variant with a time stamp after each instruction; making it is no time of the program."""
        begun = perf_counter_ns()
        self._timed = made = self._compile(True)
        watch.own.ns += perf_counter_ns() - begun
        return made
