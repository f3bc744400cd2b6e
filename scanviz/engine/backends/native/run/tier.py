"""Run a loop in the native tier: machine code for the shapes met, or NumPy's code."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, NamedTuple

from scanviz.engine.backends.native.cache.jit import Machine, assembly_of
from scanviz.engine.backends.native.emit import NotWrittenError
from scanviz.engine.backends.native.emit.call_arguments import CallArguments, CodeVariant
from scanviz.engine.backends.native.emit.code import Kind, code_of, text_of
from scanviz.engine.backends.native.run.callouts import (
    Calls,
    Runners,
    perform_of,
    put_error,
    runs_ended,
)
from scanviz.engine.backends.native.run.counts import runs_counted
from scanviz.engine.backends.native.run.gathered_arguments import gathered
from scanviz.engine.backends.native.run.threads import CHUNK_NS, InParts
from scanviz.engine.backends.source.executable import SourceExecutable
from scanviz.engine.backends.source.runners import all_made
from scanviz.engine.graph.nodes import Array
from scanviz.engine.observation.levels import RUNS, ProbeLevel
from scanviz.engine.program.instructions import LoopInstruction, all_loops, has_branches
from scanviz.engine.program.plan import Emits, Plan, chains, plan_loop
from scanviz.engine.program.shapes import ConcreteShape
from scanviz.engine.runtime.address import address
from scanviz.engine.runtime.arena import LoopArena
from scanviz.engine.runtime.calling import DONE, FAILED, Entry, Outcome, WriteEntry
from scanviz.engine.runtime.specialised import Specialised, SpecialisedLoop, Tier, Write

if TYPE_CHECKING:
    from scanviz.engine.observation.observer_overhead import ObserverOverhead
    from scanviz.engine.observation.probe import Probe
    from scanviz.engine.observation.sampling import Variant
    from scanviz.engine.observation.stamps import Clock, Stamps

OBSERVED_SLOWER = "while it is recorded, loops and branches inside run one by one, and slower"
INNER_SAMPLES = 3  # one sample of operations in three times the inner loops themselves
MORE = 16  # most steps of a call, relative to the call before: the first step's time is unknown
EMITS = Emits(
    lambda instruction, program: instruction.op.declaration.views is None or instruction.op.facts.never_view,
    lambda instruction, program: range(min(instruction.op.facts.overwrites, len(instruction.inputs))),
    over_sequences=True,
)


class NativeCode:
    """Machine code of one variant of a loop.

    Attributes
    ----------
    arguments : CallArguments
        The arguments of the machine code.
    machine : Machine
        The machine code.

    Parameters
    ----------
    plan : Plan
        The plan of the step.
    runners : mapping
        The runners of inner loops and branches that are called out.
    inline : bool
        Whether inner loops and branches are part of the code where possible.
    counts : bool
        Whether the code counts runs of inner loops.
    in_parts : InParts, optional
        Decides when threads take steps; shared by all code for the same shapes.
    known : dict, optional
        The compiled code for the same shapes, by kind; one code times both steps and operations.
    """

    def __init__(
        self,
        loop: LoopInstruction,
        plan: Plan,
        variant: Variant,
        runners: Runners,
        inline: bool = True,
        counts: bool = False,
        in_parts: InParts | None = None,
        known: dict[Kind, tuple[Machine, CallArguments]] | None = None,
    ) -> None:
        self._known = {} if known is None else known
        self._kind = Kind(_of_variant(variant, counts, self._known), inline, counts)
        self._chunk = 1
        self._step_ns = 0.0  # the latest time of a step
        self._in_parts = None if variant == "ops" else in_parts
        self.loop, self.plan, self.variant, self.runners = loop, plan, variant, runners
        self._others: dict[bool, NativeCode] = {}
        self._branches = has_branches(loop.body)
        self._looks = 0  # parts that were, or could have been, observed
        if self._kind not in self._known:
            self._known[self._kind] = code_of(loop, plan, self._kind)
        self.machine, self.arguments = self._known[self._kind]
        sites = self.arguments.sites
        self._called = [(call, perform_of(sites[call.site], runners)) for call in self.arguments.callouts]

    @cached_property
    def text(self) -> str:
        """The LLVM IR with the user's lines as comments, written again on demand."""
        return text_of(self.loop, self.plan, self._kind)[0]

    @property
    def function(self) -> NativeCode:
        """The code itself; timed code for threads is compiled first.

        It would otherwise be compiled while the first steps are timed.
        """
        if self.variant == "steps" and self._in_parts is not None:
            self._in_parts.prepare_times()
        return self

    def __call__(self, arena: LoopArena, first: int, last: int) -> Outcome:
        """Take steps, in chunks between which ctrl+c is heard; see :mod:`scanviz.engine.runtime.calling`."""
        if self.arguments.holds_inside and arena.probe is not None:
            return self._observed(arena, first, last, arena.probe)
        # without a profile the times of steps are usual ones: threads are used as usual
        times = self.variant == "steps"
        is_usual = times or arena.probe is None or arena.probe.level is RUNS
        if self._in_parts is not None and is_usual and self._in_parts.run(arena, first, last, times):
            return last, DONE, -1
        return self._as_whole(arena, first, last)

    def _as_whole(self, arena: LoopArena, first: int, last: int) -> Outcome:
        """Take steps in the calling thread."""
        arrays, numbers = gathered(self.arguments, arena, arena.buffers)
        addresses, sizes = array("Q", map(address, arrays)), array("q", numbers)
        calls = None
        if self._called:
            calls = Calls(self._called, arena, dict(zip(self.arguments.addresses, arrays, strict=True)))
            addresses[self._place_of("called")] = calls.address
        where, what = addresses.buffer_info()[0], sizes.buffer_info()[0]
        begun = perf_counter_ns()
        if last - first <= self._chunk:
            found = self.machine.function(first, last, where, what)
        else:
            found = self._in_chunks(where, what, first, last)
        done, outcome = found >> 2, found & 3
        if self._in_parts is not None and done > first:
            self._in_parts.note(done - first, perf_counter_ns() - begun)
        probe = arena.probe if self.arguments.counted else None
        if probe is not None:
            for run in runs_counted(self.arguments.counted, arrays[self._place_of("counts")]):
                probe.note(run)
        if outcome == FAILED:
            left = arrays[self._place_of("report")].tolist()
            if probe is not None:
                for key, steps in runs_ended(calls, self.arguments.sites, left):
                    probe.note((key, 1, steps, steps, 1, 0, "native"))
            return done, outcome, put_error(arena, calls, self.arguments.sites, left)
        if self.loop.carries:
            self._hand_on(arena, arrays)
        return done, outcome, -1

    def _hand_on(self, arena: LoopArena, arrays: Sequence[Array]) -> None:
        """Store the carries in the arena."""
        carried = list(arena.carried)
        for (kind, k, _), value in zip(self.arguments.addresses, arrays, strict=True):
            if kind == "carry":
                carried[k] = value[()]
        arena.carried = tuple(carried)

    def _place_of(self, kind: str) -> int:
        return next(k for k, base in enumerate(self.arguments.addresses) if base[0] == kind)

    def _in_chunks(self, where: int, what: int, first: int, last: int) -> int:
        """Take steps in calls of about 0.1 s; return the result of the last call."""
        while True:
            end = min(last, first + self._chunk)
            begun = perf_counter_ns()
            found = self.machine.function(first, end, where, what)
            if found & 3 or found >> 2 >= last:
                return found
            taken, elapsed = end - first, max(1, perf_counter_ns() - begun)
            self._chunk = max(1, min(MORE * taken, taken * CHUNK_NS // elapsed))
            first = end

    def reasons(self) -> list[str]:
        """Return the reasons of callouts."""
        return list(
            dict.fromkeys(f"called out: {call.why}" for call in self.arguments.callouts if not call.seldom)
        )

    def _observed(self, arena: LoopArena, first: int, last: int, probe: Probe) -> Outcome:
        """Take observed steps: inner loops are counted, and called out in samples to be observed themselves."""
        from scanviz.engine.backends.native.run.stamps import NativeRecord, no_stamps

        inline = not self._is_look(probe)
        if self.variant == "plain":
            arena.record = no_stamps(first)
        if not inline:
            if not self._branches and probe.control and isinstance(arena.record, NativeRecord):
                arena.record.is_slower = probe.level is ProbeLevel.STEPS
        elif self._kind.counts:
            return self._as_whole(arena, first, last)
        if inline not in self._others:
            with probe.own.aside():  # not the program's own time
                self._others[inline] = NativeCode(
                    self.loop,
                    self.plan,
                    self.variant,
                    self.runners,
                    inline,
                    inline,
                    known=self._known,
                )
        return self._others[inline]._as_whole(arena, first, last)

    def _is_look(self, probe: Probe) -> bool:
        """Return whether inner loops and branches are called out in this sample."""
        if self._branches or probe.level > ProbeLevel.STEPS or not probe.control:
            return True
        if self.variant == "plain":  # a control block, or an unobserved call
            return False
        self._looks += 1
        # not in the first sample: a short loop has only one
        return self._looks % INNER_SAMPLES == 2 if self.variant == "ops" else self._looks == 1

    def stamps(self, first: int, last: int, clock: Clock, own: ObserverOverhead | None) -> Stamps:
        """Return the stamps of a chunk."""
        from scanviz.engine.backends.native.run.stamps import NativeStamps  # only needed while observed

        return NativeStamps(
            self.variant, len(self.arguments.stamped), self._shares, first, last, self._step_ns, clock, own, self._took,
            self.arguments.strip_mined,
        )  # fmt: skip

    def _took(self, steps: int, elapsed_ns: int) -> None:
        self._step_ns = elapsed_ns / steps

    @cached_property
    def _shares(self) -> list[list[tuple[int, float]]]:
        from scanviz.engine.program.work import shares_of  # only needed while observed

        groups = self.arguments.stamped[1:-1]
        return [list(shares_of(self.loop.body, self.plan, group).items()) for group in groups]


def _of_variant(
    variant: Variant, counts: bool, known: Mapping[Kind, tuple[Machine, CallArguments]]
) -> CodeVariant:
    """Return the code variant of an observation variant."""
    if variant == "plain" and not counts:
        return "plain"
    plain = known.get(Kind("plain"))
    return "strip_mined" if variant == "steps" and plain is not None and plain[1].strip_mined else "timed"


class NativeSpecialised(Specialised):
    """Native code for one set of shapes; it takes its times itself."""

    __slots__ = ()

    def made_entry(self, write: WriteEntry) -> Entry | None:
        """Return None: machine code has no entry, frequent short calls are compiled whole."""
        return None

    def written(self, name: Variant) -> NativeCode:
        """Return one variant of the code."""
        code = super().written(name)
        assert isinstance(code, NativeCode)
        return code

    @property
    def plain_times(self) -> bool:
        """True if timed steps run the plain code, as strips do."""
        return self.written("steps").arguments.strip_mined

    def stamps(self, name: Variant, first: int, last: int, own: ObserverOverhead | None) -> Stamps:
        """Return the stamps of a chunk, without observer overhead in callouts."""
        return self.written(name).stamps(first, last, self.clock, own)


def native_tier(tier: Tier) -> Tier:
    """Return the native tier with the array module of another."""
    return tier._replace(name="native", emits=EMITS, groups=chains)


def machine_code(
    loop: LoopInstruction,
    runners: Runners,
    tier: Tier,
    shapes: Sequence[ConcreteShape],
    rows: Sequence[tuple[int, ...]],
) -> Specialised:
    """Compile a loop for the shapes of its step's inputs and of its states' rows.

    Raises
    ------
    NotWrittenError
        If the loop has no native code; the message is the reason.
    """
    plan = plan_loop(loop, shapes, chains, EMITS, rows)
    in_parts = InParts(loop, plan, (chains, EMITS))
    known: dict[Kind, tuple[Machine, CallArguments]] = {}

    def write(plan: Plan, variant: Variant) -> NativeCode:
        if variant == "plain":
            return code
        return NativeCode(loop, plan, variant, runners, True, True, in_parts, known=known)

    code = NativeCode(loop, plan, "plain", runners, in_parts=in_parts, known=known)
    made = NativeSpecialised(plan, native_tier(tier), write, "machine code for the shapes met")
    if code.machine.was_kept:
        made.why += ", kept on disk from an earlier run"
    inside = [OBSERVED_SLOWER] if code.arguments.holds_inside and has_branches(loop.body) else []
    made.why = "; ".join([made.why, *inside, *code.reasons()])
    return made


class NativeRunner(SpecialisedLoop):
    """Runs one loop in native code, or on NumPy if there is none."""

    def __init__(self, loop: LoopInstruction, runners: Mapping[int, Any], tier: Tier, write: Write) -> None:
        super().__init__(loop, runners, tier._replace(name="numpy"), write)

    def _for_shapes(
        self, shapes: Sequence[ConcreteShape], rows: Sequence[tuple[int, ...]], steps: int
    ) -> Specialised:
        try:
            return machine_code(self.loop, self.runners, self.tier, shapes, rows)
        except NotWrittenError as refused:
            made = super()._for_shapes(shapes, rows, steps)
            made.why = f"no native code: {refused}"
            return made

    @property
    def expected(self) -> Tier:
        """The tier expected for new shapes."""
        return native_tier(self.tier)


class Listing(NamedTuple):
    """The code of one loop.

    Attributes
    ----------
    name : str
        The name of the loop.
    why : str
        Why it runs on this tier.
    ir : str
        The code as LLVM IR; empty where it has no native code.
    loop, plan
        The loop and the plan of the code.
    """

    name: str
    why: str
    ir: str
    loop: LoopInstruction
    plan: Plan

    def assembly(self) -> str:
        """Return the assembly, with marks where the code of a user's line begins.

        Compiled once more, as the code that runs has no marks.
        """
        if not self.ir:
            return ""
        text, _ = text_of(self.loop, self.plan, Kind("plain"), marked=True)
        return assembly_of(text)


def listings(executable: Any) -> Iterator[Listing]:
    """Iterate over the loops of an executable that have run, each for its last shapes."""
    if not isinstance(executable, SourceExecutable):
        return
    loops = {loop.key: loop for loop, _ in all_loops(executable.program)}
    for key, made in all_made(executable.flat.runners).items():
        code = made.written("plain")
        ir = code.text if isinstance(code, NativeCode) else ""
        yield Listing(loops[key].name, made.why, ir, loops[key], made.plan)
