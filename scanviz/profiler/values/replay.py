"""Recompute the values of any step of a run from the Program, inputs and checkpoints in a record.

The reference tier runs the Program of the record and gives the same bits as when it was recorded, on the same machine.  First
the inputs of the outermost loop are computed, instruction by instruction; then the loop continues from the checkpoint before
the step. Loops inside it run on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from scanviz.engine.backends.reference import perform
from scanviz.engine.errors import ScanvizError
from scanviz.engine.observation.probe import Probe
from scanviz.engine.ops.effects import running_loop, without_printing
from scanviz.engine.program.file import from_bytes
from scanviz.engine.program.instructions import (
    AnyInstruction,
    LoopInstruction,
    Program,
    all_loops,
    programs_in,
)
from scanviz.engine.runtime.arena import LoopArena, LoopInputs
from scanviz.engine.runtime.array_module import ArrayModule
from scanviz.engine.runtime.calling import take_steps
from scanviz.engine.runtime.interpreter import Interpreted, Interpreter
from scanviz.profiler.values.recompute import SECONDS
from scanviz.profiler.values.window import Deadline, Enough, OutOfTime, StepWindow
from scanviz.record.errors import RecomputeError
from scanviz.record.model import FunctionRecord, LoopRecord, ProfileRecord
from scanviz.record.plain_text import sanitize
from scanviz.record.traces.held_calls import Array, CheckpointRecord, HeldCallRecord
from scanviz.record.traces.model import TracedVariableRecord, TraceRecord, first_bad

MOST_STEPS = 256  # in a window


class Replayer:
    """Recompute values of a record.

    Parameters
    ----------
    record : ProfileRecord
        Holds Programs and the inputs of calls.
    seconds : float
        Time limit for a window.

    Examples
    --------
    >>> import scanviz
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> sums, _ = scanviz.scan(lambda x_t, s: s + x_t, sequences=x, outputs_info=0.0, name="sums")
    >>> traced = scanviz.trace(scanviz.function([x], sums), range(1000))
    >>> window = Replayer(traced.record).window(traced.traces[0].loop, 0, 500, 501)
    >>> [kept.values.tolist() for kept in window.variables if kept.name == "s[t]" and kept.role == "output"]
    [[[125250.0], [125751.0]]]
    """

    def __init__(self, record: ProfileRecord, seconds: float = SECONDS) -> None:
        self.record, self.seconds = record, seconds
        self._programs: dict[int, _Known] = {}
        self._call: _Call | None = None

    def window(self, loop: int, run: int, first: int, last: int) -> TraceRecord:
        """Return the values of steps ``first`` to ``last`` of a run, or to the end of the run.

        Parameters
        ----------
        loop : int
            Key of the loop.
        run : int
            The number of the run, from 0.
        first, last : int
            The steps, both included; at most 256.

        Raises
        ------
        RecomputeError
            If the record lacks data for it, there is no such step, or the time is up.
        ScanvizError
            If the program fails before these steps.
        """
        known = next((record for record in self.record.loops if record.key == loop), None)
        if known is None:
            raise RecomputeError(f"there is no loop {loop} in the record")
        if first < 0 or last < first or last - first >= MOST_STEPS:
            raise RecomputeError(
                f"steps {first} to {last} are no window", expected=f"up to {MOST_STEPS} steps, in order"
            )
        held = self._held(known, run)
        call = self._opened(held)
        begun = next(runs.first for runs in held.runs if runs.loop == loop)
        point = call.checkpoint(loop, run, first)
        if point is not None:
            begun = point.begun[[runs.loop for runs in held.runs].index(loop)]
        resumed = point is not None and point.loop == loop
        window = StepWindow(call.known.loops[loop], known, run, begun - resumed, first, last, self.seconds)
        error = call.computed(window, loop, point)
        return self._found(window, known, error)

    def _held(self, loop: LoopRecord, run: int) -> HeldCallRecord:
        """Return the held call that contains a run of a loop."""
        of = [call for call in self.record.calls if call.function == loop.function]
        found = next((call for call in of if call.has_run(loop.key, run)), None)
        if found is not None:
            return found
        kept = [
            f"{r.first} to {r.first + r.count - 1}"
            for call in of
            for r in call.runs
            if r.loop == loop.key and r.count
        ]
        raise RecomputeError(
            f"the inputs of run {run} of {sanitize(loop.name)} are not in the record",
            expected=f"a run of {', '.join(kept)}" if kept else None,
            fix=None
            if kept
            else "scanviz profile --values SCRIPT keeps the inputs of the first call, the last, and the first with a NaN,"
            " 8 MiB at most",
        )  # fmt: skip

    def _opened(self, held: HeldCallRecord) -> _Call:
        """Return the state of a call; that of the last one is kept for the next request."""
        if self._call is None or self._call.held is not held:
            function = next(function for function in self.record.functions if function.key == held.function)
            if function.key not in self._programs:
                self._programs[function.key] = _known(self.record, function)
            self._call = _Call(self._programs[function.key], held)
        return self._call

    def _found(self, window: StepWindow, loop: LoopRecord, error: ScanvizError | None) -> TraceRecord:
        name = sanitize(loop.name)
        if error is not None and window.done <= window.first:
            raise error
        if window.done <= window.first:
            raise RecomputeError(
                f"run {window.run} of {name} has no step {window.first}",
                expected=f"a step below {window.done or window.most_steps}",
            )
        kept = [trace for trace in self.record.traces if (trace.loop, trace.run) == (loop.key, window.run)]
        total = kept[0].total_steps if kept else window.most_steps
        return window.trace(loop.key, total)


class _Known(NamedTuple):
    """A decoded Program, and its loops by their keys in the record."""

    program: Program
    loops: dict[int, LoopInstruction]


def _known(record: ProfileRecord, function: FunctionRecord) -> _Known:
    name = sanitize(function.name)
    if not function.program:
        raise RecomputeError(f"the record does not hold the Program of {name}: it is larger than 1 MiB")
    program = from_bytes(function.program)
    inside = [loop for loop, _ in all_loops(program)]
    records = [loop for loop in record.loops if loop.function == function.key]
    if len(inside) != len(records):
        raise RecomputeError(
            f"the Program of {name} has {len(inside)} loops, but the record has {len(records)}"
        )
    return _Known(program, {record.key: loop for loop, record in zip(inside, records, strict=True)})


class _Call:
    """A held call with the values that were recomputed so far."""

    def __init__(self, known: _Known, held: HeldCallRecord) -> None:
        self.known, self.held = known, held
        program = known.program
        if len(program.inputs) != len(held.inputs):
            raise RecomputeError(
                f"call {held.call} was given {len(held.inputs)} values, and its Program takes {len(program.inputs)}"
            )
        self._interpreter = Interpreter(program, perform, ArrayModule())
        self._values: list[Array | None] = [None] * len(program.registers)
        for number, constant in program.constants.items():
            self._values[number] = constant
        for number, place in zip(program.inputs, held.inputs, strict=True):
            self._values[number] = held.arrays[place].array()
        for name, place in held.results.items():
            if int(name) < len(self._values):
                self._values[int(name)] = held.arrays[place].array()

    def checkpoint(self, loop: int, run: int, first: int) -> CheckpointRecord | None:
        """Return the last checkpoint before a step of a run."""
        outer = self._around(loop)
        place = [runs.loop for runs in self.held.runs].index(loop)
        found = None
        for point in self.held.checkpoints:
            if self.known.loops[point.loop] is outer:
                before = point.step <= first if point.loop == loop else point.begun[place] <= run
                found = point if before else found
        return found

    def _around(self, loop: int) -> AnyInstruction:
        """Return the instruction of the Program that is a loop or contains it."""
        wanted = self.known.loops[loop]
        return next(
            outer
            for outer in self.known.program.instructions
            if any(loop is wanted for loop in _loops_of(outer))
        )

    def computed(self, window: StepWindow, loop: int, point: CheckpointRecord | None) -> ScanvizError | None:
        """Compute until the window is full or the run has ended; return an error that ended it early."""
        instruction = self._around(loop)
        probe = Probe(self.held.function, (window,))
        try:
            with np.errstate(all="ignore"), without_printing():
                self._enter(instruction, window.seconds)
                if isinstance(instruction, LoopInstruction):
                    self._run(instruction, probe, window, point)
                else:
                    self._interpreter.run_apart(
                        self.known.program, instruction, self._given(instruction), probe
                    )
        except Enough:
            return None
        except ScanvizError as error:
            return error
        except OutOfTime:
            raise RecomputeError(
                f"step {window.first} of run {window.run} of {sanitize(self.known.loops[loop].name)} was not reached"
                f" within {window.seconds:g} s", fix="--recompute=SECONDS allows more"
            ) from None  # fmt: skip
        except MemoryError:
            raise RecomputeError("there is too little memory to compute these values again") from None
        return None

    def _run(
        self, loop: LoopInstruction, probe: Probe, window: StepWindow, point: CheckpointRecord | None
    ) -> None:
        """Run an outermost loop from a checkpoint on."""
        given = self._given(loop)
        values = [given[number] for number in loop.inputs]
        module = self._interpreter.module
        arena = LoopArena(LoopInputs(loop, module), values, probe)
        arena.open(None, [], None)
        done = 0
        if point is not None:
            done = min(point.step, arena.steps)
            arena.resume(done, self._states(loop, point))
        if loop is window.loop:
            window.begin(arena.steps)
        code = Interpreted(self._interpreter, loop)
        with running_loop(loop.name):
            while done < arena.steps:
                done = take_steps(arena, code, done, arena.chunk_end(done, arena.steps))

    def _states(self, loop: LoopInstruction, point: CheckpointRecord) -> list[Array]:
        if len(point.states) != len(loop.states) + len(loop.carries):
            raise RecomputeError(
                f"the checkpoint of {sanitize(loop.name)} at step {point.step} is of another loop"
            )
        return [self.held.arrays[place].array() for place in point.states]

    def _given(self, instruction: AnyInstruction) -> list[Array | None]:
        """Return the values of registers, with copies of those that the instruction overwrites."""
        values = list(self._values)
        if isinstance(instruction, LoopInstruction):
            for state in instruction.states:
                if state.in_place:
                    values[state.outer] = np.array(values[state.outer])
        return values

    def _enter(self, instruction: AnyInstruction, seconds: float) -> None:
        """Compute the unknown inputs of an instruction."""
        program, probe = self.known.program, Probe(self.held.function, (Deadline(seconds),))
        makers = {number: maker for maker in program.instructions for number in maker.outputs}
        waiting = [instruction]
        while waiting:
            missing = [makers[number] for number in waiting[-1].inputs if self._values[number] is None]
            if missing:
                waiting += missing
                continue
            reached = waiting.pop()
            if reached is not instruction and any(self._values[number] is None for number in reached.outputs):
                results = self._interpreter.run_apart(program, reached, self._given(reached), probe)
                for number, value in zip(reached.outputs, results, strict=True):
                    self._values[number] = np.asarray(value)


def _loops_of(instruction: AnyInstruction) -> Iterator[LoopInstruction]:
    """Iterate over the loops in an instruction, itself included."""
    if isinstance(instruction, LoopInstruction):
        yield instruction
    for program in programs_in(instruction):
        yield from (loop for loop, _ in all_loops(program))


Look = Callable[[int, int, int, int], TraceRecord]
ALL_STEPS = 400  # most steps of a run computed at once; a longer run is computed in windows
BESIDE = 64  # steps on each side of the first NaN; twice as many at the beginning and at the end
NUMBERS = 64  # of each value


def filled(record: ProfileRecord, look: Look) -> ProfileRecord:
    """Return a record with more steps of its runs: all of them, or the first, the last, and those around the first NaN.

    Raises
    ------
    ScanvizError
        From ``look``.
    """
    traces = [
        _filled(trace, look) if any(call.has_run(trace.loop, trace.run) for call in record.calls) else trace
        for trace in record.traces
    ]
    return replace(record, traces=tuple(traces))


def _filled(trace: TraceRecord, look: Look) -> TraceRecord:
    found = [
        look(trace.loop, trace.run, start, min(start + MOST_STEPS, last + 1) - 1)
        for first, last in windows(trace)
        for start in range(first, last + 1, MOST_STEPS)
    ]
    return joined([trace, *found]) if not trace.left_out else joined(found)


def windows(trace: TraceRecord) -> Iterator[tuple[int, int]]:
    """Yield the first and the last step of each window of a run.

    Examples
    --------
    >>> list(windows(TraceRecord(1, 0, 300))), list(windows(TraceRecord(1, 0, 10_000)))
    ([(0, 299)], [(0, 127), (9872, 9999)])
    """
    end = trace.total_steps
    if end <= ALL_STEPS:
        if end:
            yield 0, end - 1
        return
    yield 0, 2 * BESIDE - 1
    for what in ("nan", "inf"):
        bad = first_bad(trace, what)
        if bad is not None:
            yield max(0, bad.step - BESIDE), min(end, bad.step + BESIDE) - 1
    yield end - 2 * BESIDE, end - 1


def joined(traces: Sequence[TraceRecord]) -> TraceRecord:
    """Merge values of one run; a step in several traces is taken from the first."""
    places: dict[int, tuple[int, int]] = {}
    for k, trace in enumerate(traces):
        for row, step in enumerate(trace.steps):
            places.setdefault(step, (k, row))
    steps = sorted(places)
    rows = [places[step] for step in steps]
    columns = zip(*(trace.variables for trace in traces), strict=True)
    return replace(
        traces[0],
        steps=tuple(steps),
        reasons=tuple(traces[k].reasons[row] for k, row in rows),
        variables=tuple(_joined(column, rows) for column in columns),
    )


def _joined(column: Sequence[TracedVariableRecord], rows: Sequence[tuple[int, int]]) -> TracedVariableRecord:
    width = min(NUMBERS, max(rows.values.shape[1] for rows in column))
    values = np.full((len(rows), width), np.nan)
    for place, (k, row) in enumerate(rows):
        numbers = column[k].values[row, :width]
        values[place, : len(numbers)] = numbers
    statistics = np.array([column[k].statistics[row] for k, row in rows])
    return replace(column[0], values=values, statistics=statistics)
