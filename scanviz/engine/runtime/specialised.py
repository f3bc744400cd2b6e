"""Plan, write and cache a loop's code for the shapes met.

Code never depends on the number of steps.  A loop whose shapes keep changing gets code for any shapes, which checks each row as it
is stored.
"""

from __future__ import annotations

import sys
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from scanviz.engine.locks import lock
from scanviz.engine.observe import WAITED
from scanviz.engine.program.plan import BufferLayout, Emits, Grouping, Plan, buffer_layout, plan_loop, single
from scanviz.engine.program.verify import verify_plan
from scanviz.engine.runtime.calling import LoopCode, Pool
from scanviz.engine.runtime.driver import LoopRunner

if TYPE_CHECKING:
    from typing import Protocol

    from scanviz.engine.observation.observer_overhead import ObserverOverhead
    from scanviz.engine.observation.probe import Probe
    from scanviz.engine.observation.sampling import Variant
    from scanviz.engine.observation.stamps import Stamps
    from scanviz.engine.program.instructions import AnyInstruction, LoopInstruction, Program
    from scanviz.engine.program.shapes import ConcreteShape
    from scanviz.engine.runtime.array_module import ArrayModule
    from scanviz.engine.runtime.calling import Entry, FailedRun, RunSteps, WriteEntry
    from scanviz.engine.runtime.interpreter import Interpreter
    from scanviz.engine.runtime.row_storage import StateRows

    class WrittenCode(Protocol):
        """Code for a plan."""

        @property
        def function(self) -> RunSteps:
            """The callable."""
            ...

        @property
        def text(self) -> str:
            """Its source."""
            ...


# sets of shapes that have code of their own; further ones are taken to change all the time.  Twenty batch sizes in turn took 3.7 s
# where code of 8 was kept, 2.4 s where that of all was
MOST_SHAPES = 32
# Buffers of at most so many bytes are kept between runs in any case: making them takes longer than a short step.
SMALL_BYTES = 16 * 2**10
ENTERED = 16  # runs after which a loop gets code without an arena, which saves some microseconds per run
POOLED = 4  # sets of buffers kept between runs, for as many threads
_ANY = "any shapes"


Write = Callable[[Plan, "Variant"], "WrittenCode"]


class Tier(NamedTuple):
    """The parts of loops that differ between tiers.

    Attributes
    ----------
    name : str
        Name of the tier.
    emits : Emits
        Its capabilities with memory.
    module : ArrayModule
        The array library.
    interpreted : callable
        ``interpreted(program)`` returns the interpreter of a program.
    groups : callable
        Groups instructions to fuse.
    """

    name: str
    emits: Emits
    module: ArrayModule
    interpreted: Callable[[Program], Interpreter]
    groups: Grouping = single


class Specialised(LoopCode):
    """Code and buffers for one set of shapes.

    Attributes
    ----------
    plan : Plan
        The locations of registers.
    memory : BufferLayout
        The part of the plan that a run needs.
    tier : Tier
        The tier.
    why : str
        The reason for this tier.
    buffers : Pool
        Buffers left by earlier runs.
    keeps_buffers : bool
        Whether the buffers are small.
    has_buffers : bool
        Whether there are buffers.
    entry : callable or None
        Runs the loop without an arena, once that was written.
    runs : int
        Unobserved runs before the entry was written.
    """

    __slots__ = (
        "_code",
        "_lock",
        "_write",
        "buffers",
        "clock",
        "entry",
        "has_buffers",
        "keeps_buffers",
        "memory",
        "plan",
        "runs",
        "tier",
        "tier_name",
        "why",
    )
    plan: Plan
    memory: BufferLayout

    def __init__(
        self, plan: Plan, tier: Tier, write: Write, why: str = "generated for the shapes met"
    ) -> None:
        self.plan, self.memory = plan, buffer_layout(plan)
        self.tier, self.tier_name, self._write, self.why = tier, tier.name, write, why
        self.clock = tier.module.clock
        self._code: dict[Variant, WrittenCode] = {}
        self._lock = lock()
        self.buffers = Pool(self._new_buffers, POOLED if tier.module.keeps_buffers else 0)
        self.keeps_buffers = self.memory.arena <= SMALL_BYTES
        self.has_buffers = bool(self.memory.buffers)
        self.entry: Entry | None = None
        self.runs = 0

    def _new_buffers(self) -> list[Any]:
        return [self.tier.module.empty(shape, dtype) for shape, dtype in self.memory.buffers]

    def variant(self, name: Variant) -> RunSteps:
        """Return one variant of the code, written at first use."""
        return (self._code.get(name) or self.written(name)).function

    def written(self, name: Variant) -> WrittenCode:
        """Return one variant of the code with its source."""
        with self._lock:
            if name not in self._code:
                self._code[name] = self._write(self.plan, name)
            return self._code[name]

    def made_entry(self, write: WriteEntry) -> Entry | None:
        """Return a function that runs the loop without an arena, or None if it needs one."""
        return write(self.plan)

    def stamps(self, name: Variant, first: int, last: int, own: ObserverOverhead | None) -> Stamps:
        """Return the stamps for a chunk of steps; its times exclude the observer overhead of ``own`` if given."""
        from scanviz.engine.observation.stamps import OperationStamps, StepStamps  # only for observed runs

        if name == "steps":
            return StepStamps(first, last, self.clock, own)
        return OperationStamps(self.clock, own)


class SpecialisedLoop(LoopRunner):
    """Run one loop by code for the shapes of a step's inputs.

    Parameters
    ----------
    loop : LoopInstruction
        The loop.
    runners : mapping
        Runners of the inner loops and branches, by index of the instruction.
    tier : Tier
        The tier.
    write : callable
        ``write(plan, variant)`` returns code.
    """

    def __init__(self, loop: LoopInstruction, runners: Mapping[int, Any], tier: Tier, write: Write) -> None:
        super().__init__(loop, tier.module)
        self.runners, self.tier, self._write = runners, tier, write
        self.cache: OrderedDict[object, Specialised] = OrderedDict()
        self._latest: tuple[object, Specialised | None] = (None, None)
        self._unread = [k for k, slot in enumerate(loop.states) if not slot.reads]
        self._planned: Plan | None = None
        self._lock = lock()

    def compute(self, program: Program, instruction: AnyInstruction, values: Sequence[Any]) -> Sequence[Any]:
        """Return the results of a single instruction."""
        return self.tier.interpreted(program).run_apart(program, instruction, values)

    def code_for(
        self, shapes: Sequence[Any], states: Sequence[StateRows], probe: Probe | None, steps: int
    ) -> Specialised:
        """Return the code for shapes, made if they are new.

        Parameters
        ----------
        shapes : sequence of shape
            Shapes of the body's inputs.
        states : sequence of StateRows
            Rows of each state.
        probe : Probe or None
            Notified of new code.
        steps : int
            Largest number of steps.
        """
        key = (*shapes, *[states[k].row_shape for k in self._unread]) if self._unread else tuple(shapes)
        # most runs have the shapes of the run before; one assignment, since threads share it
        latest, found = self._latest
        if found is not None and latest == key:
            return found
        known, begun = key in self.cache, time.perf_counter_ns()
        with self._lock:  # other threads wait until it is done
            found, why = self._cached_or_made(key, shapes, states, steps)
        # without the lock: an observer may hold its own and wait for this one
        if probe is not None and why is not None and not (known and why == WAITED):
            probe.specialised(self.loop.key, time.perf_counter_ns() - begun, found.tier.name, why)
        return found

    def _cached_or_made(
        self, key: tuple[Any, ...], shapes: Sequence[Any], states: Sequence[StateRows], steps: int
    ) -> tuple[Specialised, str | None]:
        """Return the code for shapes and the reason to report; None for code of any shapes.  The caller holds the lock."""
        found = self.cache.get(key)
        if found is not None:
            self.cache.move_to_end(key)
            self._latest = (key, found)
            return found, WAITED
        changing = len(self.cache) >= MOST_SHAPES
        if changing and _ANY in self.cache:
            self.cache.move_to_end(_ANY)
            return self.cache[_ANY], None
        rows = [state.row_shape for state in states]
        found = self._for_any() if changing else self._for_shapes(shapes, rows, steps)
        self.cache[_ANY if changing else key] = found
        found.variant("plain")
        if not changing:
            self._latest = (key, found)
        return found, found.why

    def enter(self, values: Sequence[Any]) -> list[Any] | FailedRun | None:
        """Run the loop without an arena if possible; return its results or failure.

        An arena, with all that observers and errors want of it, takes longer to make than a few short steps.
        """
        code = self._latest[1]
        if code is None:
            return None
        entry = code.entry
        if entry is not None:
            if not code.has_buffers:
                return entry(values, [])
            buffers = code.buffers.take()
            found = entry(values, buffers)
            if code.keeps_buffers or not self.loop.allow_gc:
                code.buffers.give_back(buffers)
            return found
        if self.write_entry is not None:
            code.runs += 1
            if code.runs >= ENTERED:  # threads may count one run each before one of them looks
                code.runs = -sys.maxsize  # where there is no entry it is not looked for again
                code.entry = self.made_entry(code, self.write_entry)
        return None

    def made_entry(self, code: Specialised, write: WriteEntry) -> Entry | None:
        """Return a function that runs code without an arena, or None if it needs one."""
        return code.made_entry(write)

    def _for_shapes(
        self, shapes: Sequence[ConcreteShape], rows: Sequence[tuple[int, ...]], steps: int
    ) -> Specialised:
        return Specialised(self.plan_met(shapes, rows), self.tier, self._write)

    def _for_any(self) -> Specialised:
        return Specialised(
            self.plan_for(None, [None] * len(self.loop.states)),
            self.tier,
            self._write,
            "the shapes change from run to run",
        )

    def plan_met(self, shapes: Sequence[ConcreteShape], rows: Sequence[tuple[int, ...]]) -> Plan:
        """Return the plan for shapes, which may have been made with that of the loop around this one."""
        known = self._planned
        if known is not None and _is_for(known, self.loop, shapes, rows):
            return known
        return self.plan_for(shapes, rows)

    def plan_for(self, shapes: Sequence[ConcreteShape] | None, rows: Sequence[ConcreteShape]) -> Plan:
        """Return the plan for shapes of a step's inputs and of states' rows; loops inside take theirs."""
        made = plan_loop(self.loop, shapes, self.tier.groups, self.tier.emits, rows)
        verify_plan(self.loop.body, made)
        for index, (inner, *_) in made.inner.items():
            runner = self.runners[index]
            if isinstance(runner, SpecialisedLoop):  # not of another tier
                runner._planned = inner
        return made

    @property
    def expected(self) -> Tier:
        """The tier for new shapes."""
        return self.tier

    def all_made(self) -> list[Specialised]:
        """Return the cached code of all shapes."""
        with self._lock:
            return list(self.cache.values())


def _is_for(made: Plan, loop: LoopInstruction, shapes: Sequence[Any], rows: Sequence[Any]) -> bool:
    """Return whether a plan is for these shapes of a step's inputs and of the states' rows."""
    planned = [made.places[number].shape for number in loop.body.inputs]
    kept = [made.stores["state", k].row for k in range(len(loop.states))]
    return planned == list(shapes) and kept == list(rows)
