"""The arena of :mod:`tests.support.arena` as a tier for functions: one that groups, and reports its plans."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from scanviz.engine.backends.base import Availability
from scanviz.engine.graph.nodes import Array
from scanviz.engine.observation.probe import Probe
from scanviz.engine.program.instructions import LoopInstruction, Program
from scanviz.engine.program.plan import Grouping, Plan, chains
from scanviz.engine.program.verify import verify_program
from tests.support.arena import ArenaBackend, run_once


class ArenaExecutable:
    """A program that is run in arenas."""

    def __init__(self, program: Program, groups: Grouping) -> None:
        self.program = program
        self.groups = groups
        self._plans: dict[int, Plan] = {}

    def run(self, inputs: Sequence[Any], probe: Probe | None) -> list[Array]:
        """Return the outputs for inputs; observers receive plans, and not steps."""

        def planned(loop: LoopInstruction, plan: Plan) -> None:
            self._plans[loop.key] = plan
            if probe is not None:
                probe.specialised(loop.key, 0, "arena", "planned for the shapes met")

        with np.errstate(all="ignore"):
            tier = ArenaBackend(self.groups, on_plan=planned)
            found = run_once(self.program, [np.asarray(array) for array in inputs], None, tier)
        return [np.array(array) for array in found]

    def plans(self) -> dict[int, Plan]:
        """Return the plan of each loop run so far, by the loop's key."""
        return dict(self._plans)


class ArenaTier:
    """The tier, which a test registers: ``register("arena", ArenaTier)``."""

    name = "arena"

    def __init__(self, groups: Grouping = chains) -> None:
        self.groups = groups

    def availability(self) -> Availability:
        """Return that it works: it needs NumPy alone."""
        return Availability(True, "NumPy, every register at its address in the plan")

    def compile(self, program: Program) -> ArenaExecutable:
        """Return what runs a program in arenas."""
        verify_program(program)
        return ArenaExecutable(program, self.groups)
