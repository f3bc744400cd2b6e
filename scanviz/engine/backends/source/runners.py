"""Runners of the loops and branches of a program written as source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from scanviz.engine.backends.source.flat import FlatProgram
from scanviz.engine.observation.levels import RUNS
from scanviz.engine.program.instructions import (
    BranchInstruction,
    Instruction,
    LoopInstruction,
    Program,
    has_effects,
)
from scanviz.engine.runtime.specialised import Specialised, SpecialisedLoop

if TYPE_CHECKING:
    from scanviz.engine.backends.source.compiled import CompiledSource
    from scanviz.engine.backends.source.emitter import Library
    from scanviz.engine.observation.probe import Probe
    from scanviz.engine.observation.sampling import Variant
    from scanviz.engine.program.plan import Plan
    from scanviz.engine.runtime.calling import Entry

Runner = Any  # called with the values of an instruction's inputs and the observers


def make_runner(
    library: Library, program: Program, instruction: LoopInstruction | BranchInstruction
) -> Runner:
    """Return the runner of a loop or a branch."""
    if isinstance(instruction, BranchInstruction):
        return BranchRunner(instruction, library)
    if not instruction.runs_on(library.tier.name):
        from scanviz.engine.backends.other_tier import OtherTierRunner  # seldom needed

        return OtherTierRunner(program, instruction, library.tier.module)
    runners = {
        k: make_runner(library, instruction.body, inner)
        for k, inner in enumerate(instruction.body.instructions)
        if not isinstance(inner, Instruction)
    }

    def write(plan: Plan, variant: Variant) -> CompiledSource:
        from scanviz.engine.backends.source.assembly import assembled  # no source is shown for machine code
        from scanviz.engine.backends.source.loop import SourceWriter

        return assembled(SourceWriter(instruction, plan, variant, runners, library).write())

    def write_entry(plan: Plan) -> Entry | None:
        from scanviz.engine.backends.source.entry import written_entry  # seldom needed
        from scanviz.engine.backends.source.loop import SourceWriter

        return written_entry(SourceWriter(instruction, plan, "plain", runners, library, first="0"))

    runner = library.loops(instruction, runners, library.tier, write)
    # the number of steps is known, nothing observes them, and arrays are NumPy's
    if (
        instruction.until is None
        and not has_effects(instruction.body)
        and not library.tier.module.takes_device_arrays
    ):
        runner.write_entry = write_entry
    return runner


class BranchRunner:
    """Runs one side of an ``ifelse``."""

    def __init__(self, branch: BranchInstruction, library: Library) -> None:
        self.branch, self.truth = branch, library.tier.module.truth or bool
        place = {number: k for k, number in enumerate(branch.inputs)}
        self.condition = place[branch.condition]
        self.sides = [
            (
                FlatProgram(program, library, partial(make_runner, library)),
                [place[number] for number in reads],
            )
            for program, reads in branch.sides
        ]

    def __call__(self, values: Sequence[Any], probe: Probe | None) -> list[Any]:
        """Return the results of the side that the condition chooses."""
        side = 0 if self.truth(values[self.condition]) else 1
        program, reads = self.sides[side]
        given = [values[k] for k in reads]
        taken = None if probe is None else probe.branch(self.branch).take(side)
        if taken is None or probe is None or probe.level is RUNS or probe.weighs_inside:
            return program.run(given, probe, False)
        results, stamps = program.run_timed(given, probe)
        taken.add(stamps)
        return results


def all_made(runners: Mapping[int, Runner]) -> dict[int, Specialised]:
    """Return the latest code of each loop run so far, nested ones too, by the loop's key."""
    found: dict[int, Specialised] = {}
    for runner in runners.values():
        if isinstance(runner, SpecialisedLoop):
            found.update((runner.loop.key, made) for made in runner.all_made())
            found |= all_made(runner.runners)
        elif isinstance(runner, BranchRunner):
            for program, _ in runner.sides:
                found |= all_made(program.runners)
    return found
