"""The instructions outside of loops as one generated function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Literal

from scanviz.engine.backends.source.compiled import CompiledSource, compile_source, failure_of, raised_in
from scanviz.engine.program.instructions import (
    AnyInstruction,
    BranchInstruction,
    Instruction,
    LoopInstruction,
    Program,
)
from scanviz.engine.program.plan import plan, single

if TYPE_CHECKING:
    from array import array

    from scanviz.engine.backends.source.emitter import Emitter, Library
    from scanviz.engine.observation.ledger import Ledger, Weigh
    from scanviz.engine.observation.probe import Probe

_Variant = Literal["plain", "timed", "weighed"]
MakeRunner = Callable[[Program, LoopInstruction | BranchInstruction], Any]


def _no_times() -> array[int]:
    from array import array  # only needed for timed calls

    return array("q")


class FlatProgram:
    """A program as one generated function, with timed and weighed variants.

    Attributes
    ----------
    source : str
        The source of the plain function.
    plain : callable
        That function: ``plain(inputs, probe, None, None)``.  Describe an error that it raises with :meth:`in_words`.
    """

    def __init__(self, program: Program, library: Library, make_runner: MakeRunner) -> None:
        self.program, self.library = program, library
        self.runners = {
            index: make_runner(program, instruction)
            for index, instruction in enumerate(program.instructions)
            if not isinstance(instruction, Instruction)
        }
        self.plan = plan(program, None, single, library.tier.emits)
        self._plain = self._compile("plain")
        self.plain = self._plain.function
        self._others: dict[_Variant, CompiledSource] = {}

    @property
    def source(self) -> str:
        """The source of the plain function."""
        return self._plain.text

    def _compile(self, variant: _Variant) -> CompiledSource:
        emitter = self.library.emitter(self.program)
        entry = emitter.fresh(f"call_{self.program.name}")
        lines = [f"def {entry}(inputs, probe, record, weigh):"]
        held: list[int] = []  # registers that are still alive
        where: dict[int, int] = {}
        given = [emitter.name(number) for number in self.program.inputs]
        if given:
            lines.append(f"    {', '.join(given)}{',' if len(given) == 1 else ''} = inputs")
        if variant != "plain":
            lines.append("    record(clock())")
        for index, instruction in enumerate(self.program.instructions):
            for text in self._statements(emitter, index, instruction):
                lines.append(f"    {text}")
                where[len(lines)] = index
            if variant != "plain":
                lines.append("    record(clock())")
            if variant == "weighed":
                held = self._weighed(emitter, index, held, lines)
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
        return compile_source(lines, entry, emitter, where, self.program.name)

    def _weighed(self, emitter: Emitter, index: int, held: list[int], lines: list[str]) -> list[int]:
        """Add a line that counts the live memory after an instruction; return the registers that stay alive."""
        instruction = self.program.instructions[index]
        alive = list(dict.fromkeys([*held, *instruction.outputs]))
        kept = [number for number in alive if number not in instruction.frees]
        ordered = [*kept, *(number for number in alive if number in instruction.frees)]
        names = "".join(f"{emitter.name(number)}, " for number in ordered)
        lines.append(f"    weigh({index}, ({names}), {len(kept)})")
        return kept

    def _statements(self, emitter: Emitter, index: int, instruction: AnyInstruction) -> list[str]:
        if isinstance(instruction, Instruction):
            over = self._written_over(emitter, instruction)
            special = self.library.outside
            found = None if special is None else special(emitter, instruction, over)
            return self.library.statements(emitter, instruction, over) if found is None else found
        hint = "loop_" + instruction.name if isinstance(instruction, LoopInstruction) else "branch"
        return [emitter.call_statement(instruction, self.runners[index], hint)]

    def _written_over(self, emitter: Emitter, instruction: Instruction) -> str | None:
        """Return the array that an instruction writes over, None for a new one."""
        source = self.plan.places[instruction.outputs[0]].over
        if source is None:
            return None
        emitter.call_it(instruction.outputs[0], emitter.name(source))
        return emitter.name(source)

    def run(self, inputs: Sequence[Any], probe: Probe | None, sampled: bool) -> list[Any]:
        """Return the outputs; with ``sampled`` a sampled call leaves its instructions' times with ``probe``."""
        if probe is not None and probe.ledger is not None and (sampled or probe.ledger.weighs_inside()):
            return self._run_weighed(inputs, probe, probe.ledger, sampled)
        if not sampled or probe is None or not probe.times_operations:
            return self._results(self._plain, inputs, probe, None, None)
        results, probe.stamps = self.run_timed(inputs, probe)
        return results

    def run_timed(self, inputs: Sequence[Any], probe: Probe) -> tuple[list[Any], array[int]]:
        """Return the outputs and the stamps around instructions, without observer overhead."""
        code, stamps = self._others.get("timed") or self._made("timed", probe), _no_times()
        record = probe.own.without(stamps.append) if self.runners else stamps.append
        return self._results(code, inputs, probe, record, None), stamps

    def _run_weighed(self, inputs: Sequence[Any], probe: Probe, ledger: Ledger, sampled: bool) -> list[Any]:
        """Return the outputs, counting live memory in a ledger; counting is not charged to the program."""
        own, stamps = probe.own, _no_times()
        with own.aside():
            from scanviz.engine.observation.ledger import ProgramBytes  # only needed for weighed calls

            counted = ProgramBytes(ledger, [*inputs, *self.program.constants.values()], outermost=sampled)

        def weigh(instruction: int, values: Sequence[Any], kept: int) -> None:
            begun = perf_counter_ns()
            counted.weigh(instruction, values, kept)
            own.ns += perf_counter_ns() - begun

        code = self._others.get("weighed") or self._made("weighed", probe)
        try:
            results = self._results(code, inputs, probe, own.without(stamps.append), weigh)
            if sampled:
                with own.aside():
                    counted.give(results)
                probe.stamps = stamps
            return results
        finally:
            with own.aside():
                counted.end()

    def _results(
        self,
        code: CompiledSource,
        inputs: Sequence[Any],
        probe: Probe | None,
        record: Callable[[int], object] | None,
        weigh: Weigh | None,
    ) -> list[Any]:
        """Run a variant of the code, with errors in the user's words."""
        try:
            results: list[Any] = code.function(inputs, probe, record, weigh)
            return results
        except Exception as error:
            raise self.in_words(error, code) from error.__cause__

    def in_words(self, error: Exception, code: CompiledSource | None = None) -> BaseException:
        """Return an error of generated code in the user's words."""
        code = code or self._plain
        from scanviz.engine.runtime.errors import in_words

        return in_words(error, self.program, failure_of(raised_in(error, code), code, self.program))

    def _made(self, variant: _Variant, probe: Probe) -> CompiledSource:
        """Compile a variant; compiling is not charged to the program."""
        begun = perf_counter_ns()
        self._others[variant] = made = self._compile(variant)
        probe.own.ns += perf_counter_ns() - begun
        return made
