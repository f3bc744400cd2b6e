"""Time stamps that native code writes, and the times of steps and operations made of them.

The record of stamps is an argument of the code: :data:`HEAD` numbers that control and report, then the stamps.  When steps are
timed, every 2^n-th step has a stamp at its begin, and the end has one.  When operations are timed, all of them have one.  The same
code does both.  Strip-mined code takes its strips through the steps between two stamps, so the timed code is the plain code.

Inner loops that are called out are observed; the overhead is recorded with its time and subtracted from later stamps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter_ns
from typing import Any

import numpy as np

from scanviz.engine.backends.native.emit.ir import Code, Value
from scanviz.engine.backends.native.run.cycles import counter, is_steady, reading, write_now
from scanviz.engine.graph.nodes import Array
from scanviz.engine.observation.events import StepSeries
from scanviz.engine.observation.observer_overhead import ObserverOverhead
from scanviz.engine.observation.sampling import Variant
from scanviz.engine.observation.stamps import Clock, stamps_a_step
from scanviz.engine.program.instructions import LoopInstruction

# the first step, k - 1 where every k-th step has a stamp, the logarithm of k, the steps done, whether operations have stamps
HEAD = 5
OFTEN_NS = 200  # longer steps have one stamp each; a stamp costs about ten nanoseconds
SHARED_NS = 500  # shorter steps share a stamp for about this time
RAREST = 9  # the logarithm of the most steps that share a stamp
# The same for strips, which reload their elements after a stamp.
STRIP_MINED_STEPS = 10
Shares = Sequence[Sequence[tuple[int, float]]]  # of each stamp, the instructions and their shares of its time


class StampWriter:
    """Writes the stamps of timed code.

    Parameters
    ----------
    code : Code
        The code of the loop.
    record : Value
        The address of the record's numbers.
    width : int
        Stamps of a step whose operations are timed, 0 if only steps are.
    """

    def __init__(self, code: Code, record: Value, width: int) -> None:
        self.code, self.record, self.width = code, record, width
        if not is_steady():
            code.line("%clock = alloca [2 x i64], align 8")
        self._origin, self._mask, self._shift, every = (
            code.load(code.at(record, 8 * k), "int64") for k in (0, 1, 2, 4)
        )
        self._times_all = code.op(f"icmp ne i64 {every.text}, 0", "bool")

    def begin_step(self, step: Value) -> None:
        """Write the stamp of a step, if it has one."""
        code, taken, go_on = self.code, self.code.label(), self.code.label()
        done = self._done(step)
        rest = code.op(f"and i64 {done.text}, {self._mask.text}", "int64")
        with code.storing_nothing():  # all but the times
            code.branch(code.op(f"icmp eq i64 {rest.text}, 0", "bool"), taken, go_on)
            code.begin(taken)
            place = code.op(f"lshr i64 {done.text}, {self._shift.text}", "int64")
            if self.width:
                place = code.select(self._times_all, code.times(done, self.width), place)
            self._store(place, False)
            code.jump(go_on)
            code.begin(go_on)

    def blocks(self, first: Value, last: Value, write: Callable[[Value, Value], None]) -> None:
        """Write steps in blocks with one stamp each; ``write(first, last)`` writes a block."""
        code = self.code
        begun = code.op(f"lshr i64 {self._done(first).text}, {self._shift.text}", "int64")
        with code.counted(begun, self._stamps_before(self._done(last))) as number:
            begin = code.call("llvm.smax.i64", [first, self._step_of(number)], "int64")
            end = code.call("llvm.smin.i64", [last, self._step_of(code.add(number, 1))], "int64")
            self.begin_step(begin)
            write(begin, end)

    def operation(self, step: Value, number: int) -> None:
        """Write the stamp of an operation, if operations are timed."""
        code, taken, go_on = self.code, self.code.label(), self.code.label()
        with code.storing_nothing():
            code.branch(self._times_all, taken, go_on)
            code.begin(taken)
            self._store(code.add(code.times(self._done(step), self.width), number), True)
            code.jump(go_on)
            code.begin(go_on)

    def leave(self, done: Value) -> None:
        """Write the steps done at the end, and the time."""
        code, steps, taken, go_on = self.code, self._done(done), self.code.label(), self.code.label()
        code.store(steps, code.at(self.record, 24))
        with code.storing_nothing():
            code.branch(self._times_all, go_on, taken)
            code.begin(taken)
            self._store(self._stamps_before(steps), False)
            code.jump(go_on)
            code.begin(go_on)

    def _stamps_before(self, done: Value) -> Value:
        """Return the number of stamps before step ``done``."""
        above = self.code.op(f"add i64 {done.text}, {self._mask.text}", "int64")
        return self.code.op(f"lshr i64 {above.text}, {self._shift.text}", "int64")

    def _step_of(self, stamp: Value) -> Value:
        moved = self.code.op(f"shl i64 {stamp.text}, {self._shift.text}", "int64")
        return self.code.op(f"add i64 {moved.text}, {self._origin.text}", "int64")

    def _done(self, step: Value) -> Value:
        return self.code.op(f"sub i64 {step.text}, {self._origin.text}", "int64")

    def _store(self, place: Value, fenced: bool) -> None:
        address = self.code.at(self.code.at(self.record, 8 * HEAD), self.code.times(place, 8))
        self.code.store(write_now(self.code, fenced), address)


class NativeRecord:
    """Stamps of one chunk, and observer overhead meanwhile.

    Attributes
    ----------
    numbers : array
        The stamps, an argument of the code.
    overhead_readings : list of (int, int)
        Times, and the observer overhead of this thread until then.
    is_slower : bool
        Whether callouts replaced inner loops that are usually part of the code: such steps take longer.
    waited_ns : int
        Time that the stamping thread waited for the other threads at the end.
    """

    def __init__(self, numbers: Array, own: ObserverOverhead | None) -> None:
        self.numbers, self._own, self.is_slower, self.waited_ns = numbers, own, False, 0
        self._reading = None if own is None else reading()  # without inner samples only differences matter
        self.overhead_readings: list[tuple[int, int]] = []
        self.note()

    def note(self) -> None:
        """Record the observer overhead so far."""
        if self._own is not None:
            self.overhead_readings.append((perf_counter_ns(), self._own.ns))

    def waited(self, first: int, last: int, taken_ns: int) -> None:
        """Record the time that the stamping thread waited for other threads."""
        origin, mask, shift = (int(number) for number in self.numbers[:3])
        begin, end = (step - origin + mask >> shift for step in (first, last))
        between = last - origin - (begin << shift)  # steps; the first may lack a stamp
        if between > 0:
            ticks = float(self.numbers[HEAD + end] - self.numbers[HEAD + begin]) * ((last - first) / between)
            self.waited_ns += max(0, taken_ns - round(ticks * counter().tick_ns))

    def nanoseconds(self, count: int) -> Array:
        """Return the first ``count`` times in nanoseconds, without observer overhead."""
        ticks = self.numbers[HEAD : HEAD + count]
        first, first_ns = self._reading or (ticks[:1].sum(), 0)
        times: Array = np.rint((ticks - first) * counter().tick_ns).astype(np.int64) + first_ns
        if len(self.overhead_readings) < 2:
            return times - self.overhead_readings[0][1] if self.overhead_readings else times
        noted = np.array(self.overhead_readings)
        before = np.maximum(np.searchsorted(noted[:, 0], times, side="right") - 1, 0)
        return np.asarray(times - noted[before, 1])


class NativeStamps:
    """The times of one chunk of steps.

    Parameters
    ----------
    variant : str
        The variant of the code.
    width : int
        Stamps of a step whose operations are timed.
    shares : sequence
        Each instruction's share of the times between stamps.
    first, last : int
        The steps.
    step_ns : float
        The latest time of a step, 0 if unknown: of short steps every k-th has a stamp.
    clock : callable
        Returns nanoseconds.
    own : ObserverOverhead or None
        The observer overhead, if inner loops are observed.
    took : callable
        ``took(steps, nanoseconds)`` is called with the time of the steps.
    strip_mined : bool
        Whether the code takes strips of elements through many steps, which share a stamp.
    """

    def __init__(
        self,
        variant: Variant,
        width: int,
        shares: Shares,
        first: int,
        last: int,
        step_ns: float,
        clock: Clock,
        own: ObserverOverhead | None,
        took: Callable[[int, int], None],
        strip_mined: bool = False,
    ) -> None:
        self._variant, self._width, self._shares = variant, width, shares
        self._clock = clock if own is None else own.clock(clock)
        self._ended, self._took, self._strip_mined = 0, took, strip_mined
        self._k = 1 << STRIP_MINED_STEPS if strip_mined else 1
        if variant == "steps" and 0 < step_ns < OFTEN_NS:
            while step_ns * self._k < SHARED_NS and self._k < 1 << RAREST:
                self._k *= 2
        stamps = width * (last - first) if variant == "ops" else (last - first) // self._k + 2
        numbers = np.zeros(HEAD + stamps, np.int64)
        numbers[:HEAD] = first, self._k - 1, self._k.bit_length() - 1, 0, variant == "ops"
        self.record = NativeRecord(numbers, own)
        self._begun = self._clock()

    def end(self) -> None:
        """Take the time after the last step."""
        self._ended = self._clock()

    def series(self, loop: LoopInstruction, first: int) -> StepSeries:
        """Return the times of the steps done, with those of operations if they were timed."""
        done = int(self.record.numbers[3])
        if self.record.is_slower:
            span = max(0, self._ended - self._begun) if self._ended else 0
            return StepSeries(loop.key, first, np.zeros(0, np.int64), span_ns=span, steps=done, **_source())
        if self._variant == "ops":
            return self._of_operations(loop, first, done)
        return self._of_steps(loop, first, done)

    def _of_steps(self, loop: LoopInstruction, first: int, done: int) -> StepSeries:
        count = -(-done // self._k)
        times = self.record.nanoseconds(count + 1 if done else 0)
        intervals, covers = times[1:] - times[:-1], None
        if self._k > 1:
            covers = np.full(count, self._k, np.int64)
            covers[count - 1 :] -= count * self._k - done
        within = int(intervals.sum())
        if self.record.waited_ns and within:  # a step ends when all threads have done it
            intervals = np.rint(intervals * (1 + self.record.waited_ns / within)).astype(np.int64)
            within = int(intervals.sum())
        span = max(within, self._ended - self._begun) if self._ended else within
        if done:
            self._took(done, within)
        return StepSeries(
            loop.key, first, intervals, covers=covers, span_ns=span, plain=self._strip_mined, **_source()
        )

    def _of_operations(self, loop: LoopInstruction, first: int, done: int) -> StepSeries:
        table = self.record.nanoseconds(done * self._width).reshape(done, self._width)
        spans = np.concatenate([table[1:, 0], table[-1:, -1]]) - table[:, 0]
        between = table[:, 1:] - table[:, :-1]
        operations = np.zeros((stamps_a_step(loop) - 2, done))
        stamps = [0.0] * len(operations)
        for k, shares in enumerate(self._shares):
            for index, share in shares:
                operations[index], stamps[index] = between[:, k] * share, share
        copies = between[:, -1].copy()
        return StepSeries(loop.key, first, spans, operations, copies, op_stamps=stamps, **_source())


def no_stamps(first: int) -> NativeRecord:
    """Return a record for timed code whose times are not wanted."""
    return NativeRecord(np.array([first, (1 << 62) - 1, 62, 0, 0, 0, 0]), None)


def _source() -> dict[str, Any]:
    """Return the source, resolution and cost of the stamps."""
    found = counter()
    if not is_steady():
        return {"stamp_ns": found.stamp_ns}
    return {"source": "cycle counter", "resolution_ns": found.tick_ns, "stamp_ns": found.stamp_ns}
