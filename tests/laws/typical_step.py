"""Laws of the typical step: its parts sum to it exactly, and what stamps and recording cost is found and taken off.

The instrument of the second law is a loop that was never run: its times are made of what its parts take, what each kind of
stamp costs and what now and then interrupts it, so that the right record of it is known.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from hypothesis import strategies as st

import scanviz
from scanviz import Mode
from scanviz.engine.observation.events import StepSeries
from scanviz.engine.observation.stamps import CLOCKS_NS, BlockStamps, Preemption, StepStamps
from scanviz.profiler.recording.division import FEWEST, GRAIN, LARGEST_PRICE
from scanviz.profiler.recording.loop_aggregate import LoopAggregate
from scanviz.profiler.recording.operations import COLD
from scanviz.record.loops import LoopRecord, Samples
from scanviz.record.operations import OperationRecord
from scanviz.record.statistics import Histogram, HistogramTable
from scanviz.record.summary.typical import BELOW, sum_in_words
from scanviz.testing.loop_case import LoopCase
from tests.laws.frame import TIERS
from tests.laws.law import law
from tests.laws.loops import LOOPS

_LOOP: Any = SimpleNamespace(key=1)  # all that stamps read of a loop
INNER = 2  # key of the loop inside
BLOCK, TIMED, SAMPLES, PAUSE = 24, 12, 6, 60  # steps of the kinds of blocks, and how many samples


def check_division(loop: LoopRecord) -> None:
    """Refuse a loop whose typical step is not what its parts sum to, in any order and as printed."""
    operations = [operation.typical_ns for operation in loop.operations]
    parts = [*operations, loop.copy_ns, loop.overhead_ns]
    if not loop.typical_ns:
        assert not any(parts) or loop.sampled_steps < FEWEST
        return
    assert sum(parts) == sum(reversed(parts)) == math.fsum(parts) == loop.typical_ns
    assert round(loop.typical_ns) == loop.step_times.p50_ns and min(parts) >= 0
    assert loop.body_ns == sum(operations)
    check_means(loop)
    whole, texts = sum_in_words(loop.typical_ns, (loop.body_ns, loop.copy_ns, loop.overhead_ns))
    digits = [int(re.sub(r"\D", "", text)) for text in texts if text != BELOW and text[0] != "<"]
    assert sum(digits) == int(re.sub(r"\D", "", whole)), (whole, texts)


def check_means(loop: LoopRecord) -> None:
    """Refuse a loop whose mean step is not the sum of its parts' means, in any order."""
    means, of = [operation.mean_ns for operation in loop.operations], loop.measures
    if "mean_step_ns" not in of:
        assert all(mean is None for mean in means)
        return
    parts = [*(mean for mean in means if mean is not None), of["mean_copy_ns"], of["mean_overhead_ns"]]
    assert len(parts) == len(means) + 2 and min(parts) >= 0
    assert sum(parts) == sum(reversed(parts)) == of["mean_step_ns"] > 0


@law(
    sample=5,
    case=LOOPS,
    detail=st.sampled_from(["steps", "ops"]),
    tier=TIERS,
)
def parts_of_a_typical_step_sum_to_it_exactly(case: LoopCase, detail: str, tier: str) -> None:
    """Parts of the typical step sum to it exactly, as numbers and as printed, in every loop with enough timed steps."""
    with scanviz.profile("ops" if detail == "ops" else "steps") as session:
        for _ in range(3):
            case.compute(Mode(tier, "none"))
    for loop in session.record.loops:
        check_division(loop)


@dataclass(frozen=True)
class Imagined:
    """A loop as it runs unobserved, and the costs of observing it.

    Attributes
    ----------
    operations : list of int
        Nanoseconds of its operations.
    copies, rest : int
        Of storing rows, and of the rest of a step.
    stamp, tick, entry : int
        The costs of a stamp among operations, of a step's stamp, and of entering the code.
    recording : int or None
        What recording the loop inside costs, which is the first operation; None where there is none.
    calibrated : float
        Stamp costs in multiples of the calibrated price.
    interrupted : float
        The share of steps that are interrupted.
    uneven : float
        The share of stamps among operations that cost twice as much: fewer than half, so that no part's median moves.
    seed : int
        Of where.
    """

    operations: list[int]
    copies: int
    rest: int
    stamp: int
    tick: int
    entry: int
    recording: int | None
    calibrated: float
    interrupted: float
    uneven: float
    seed: int

    @property
    def step(self) -> int:
        """Nanoseconds of a step."""
        return sum(self.operations) + self.copies + self.rest


@st.composite
def imagined(draw: st.DrawFn) -> Imagined:
    """Draw a loop, one in three with a loop inside."""
    stamp = draw(st.integers(40, 300))
    nested = draw(st.integers(0, 2)) == 0
    longest = draw(st.sampled_from([150, 20_000]))
    operations = draw(st.lists(st.integers(5, longest), min_size=1, max_size=5))
    return Imagined(
        [max(operations[0], 2000), *operations[1:]] if nested else operations,
        draw(st.sampled_from([0, 0, 40, 700])),
        draw(st.integers(20, min(longest, 3000))),
        stamp,
        draw(st.integers(10, stamp)),
        draw(st.integers(100, 3000)),
        draw(st.integers(500, 60_000)) if nested else None,
        1.0 if nested else draw(st.sampled_from([0.6, 1.0, 1.7])),
        draw(st.sampled_from([0.0, 0.002, 0.02])),
        draw(st.sampled_from([0.0, 0.2])),
        draw(st.integers(0, 10**6)),
    )


def _series(loop: Imagined) -> list[StepSeries]:
    """Return the events of the loop: repeatedly a pause, plain steps, stamped ones, timed ones."""
    random, recording = np.random.default_rng(loop.seed), loop.recording or 0
    found, first = list[StepSeries](), 0

    def interruptions(*shape: int) -> Samples:
        hit = random.random(shape) < loop.interrupted
        return np.where(hit, random.integers(50_000, 8_000_000, shape), 0)

    def add(times: Samples, **more: object) -> None:
        nonlocal first
        made = StepSeries(1, first, times, **more)  # type: ignore[arg-type]  # the keywords are this function's own
        found.append(made)
        first += made.steps

    for _ in range(SAMPLES):
        for count in (PAUSE, None, BLOCK):
            if count is None:
                covers = np.array([8, 1, BLOCK - 9])
                broken = int(random.random() < loop.interrupted) * 5_000_000
                add(covers * loop.step + loop.entry + [broken, 0, 0], covers=covers, control=True)
                if loop.recording is not None:
                    found[-1].inside_ns = {INNER: BLOCK * loop.operations[0]}
                continue
            times = np.full(count, loop.step + loop.tick + recording) + interruptions(count)
            add(times, span_ns=int(times.sum()) + loop.entry)
        parts = np.array([*loop.operations, loop.copies, loop.rest]) + loop.stamp
        parts[0] += recording
        table = parts[:, None] + loop.stamp * (random.random((len(parts), TIMED)) < loop.uneven)
        lost = interruptions(TIMED)
        table[random.integers(len(parts), size=TIMED), np.arange(TIMED)] += lost
        off_cpu = int(lost.sum()) if random.random() < 0.5 else 0
        add(table.sum(axis=0), op_ns=table[:-2], copy_ns=table[-2], off_cpu_ns=off_cpu)
    return found


def _watched(kinds: Sequence[str], stamp_ns: float) -> LoopAggregate:
    """Return what takes in the times of a loop that has begun."""
    operations = tuple(
        OperationRecord(k, "·", kind, "", None, loop=INNER if kind == "loop" else None)  # type: ignore[arg-type]
        for k, kind in enumerate(kinds)
    )
    made = LoopAggregate(LoopRecord(1, 1, None, "imagined", None, operations=operations), lambda: stamp_ns)
    made.detailed = True
    made.begin(0, 0, 0)
    return made


@law(sample=25, loop=imagined())
def stamps_and_interruptions_are_no_part_of_a_step(loop: Imagined) -> None:
    """Parts of a step exclude the cost of stamps, interruptions and the recording of inner loops."""
    kinds = [
        "loop" if k == 0 and loop.recording is not None else "operation" for k in range(len(loop.operations))
    ]
    made = _watched(kinds, loop.stamp * loop.calibrated)
    text = _series(loop)
    for series in text:
        made.take(0, series)
    record = made.snapshot(0)
    check_division(record)
    assert record.steps == sum(series.steps for series in text)
    assert record.step_times.count + record.control_steps == record.steps
    near = 0.02 * (loop.step + loop.tick) + 2  # the median of steps is read from a histogram
    if not record.in_place:  # too many blocks were interrupted
        near += 2 * loop.stamp
    assert abs(record.typical_ns - loop.step) <= near, (record.typical_ns, loop.step)
    stamped = loop.step + len(kinds) * loop.stamp + 2 * loop.stamp + (loop.recording or 0)
    expected = [*loop.operations, loop.copies, loop.rest]
    shown = [*(one.typical_ns for one in record.operations), record.copy_ns, record.overhead_ns]
    for part, time in zip(shown, expected, strict=True):
        error = near + 0.02 * (time + loop.stamp) + 0.02 * stamped / len(expected)
        if loop.recording is not None:
            error += 0.02 * stamped + loop.stamp  # time outside stamps counts as recording
        assert abs(part - time) <= error, (part, time, shown, expected)


_TIMES = st.integers(1_000, 5_000) | st.integers(1_000, 10**8)  # more than the most expensive stamps
_CHUNKS = st.integers(1, 4).flatmap(
    lambda parts: st.lists(
        st.lists(st.lists(_TIMES, min_size=parts + 2, max_size=parts + 2), min_size=1, max_size=COLD - 1),
        min_size=1,
        max_size=6,
    )
)


@law(sample=40, chunks=_CHUNKS, stamp=st.integers(0, 200))
def means_are_over_all_timed_steps(chunks: list[list[list[int]]], stamp: int) -> None:
    """Mean parts agree with NumPy over all timed steps, slow ones too, less one stamp each."""
    made, first = _watched(["operation"] * (len(chunks[0][0]) - 2), stamp), 0
    for chunk in chunks:
        parts = np.array(chunk).T
        text = StepSeries(1, first, parts.sum(axis=0), op_ns=parts[:-2], copy_ns=parts[-2])
        made.take(0, text)
        first += text.steps
    record, rows = made.snapshot(0), np.concatenate(chunks)
    assert record.sampled_steps == len(rows) and record.stamp_ns <= LARGEST_PRICE * stamp
    check_division(record)
    if len(rows) < FEWEST:
        return
    *operations, copies, rest = (rows.mean(axis=0) - record.stamp_ns).tolist()
    shown = [one.mean_ns or 0.0 for one in record.operations]
    near = len(chunks[0][0]) * GRAIN + 1e-9 * rows.sum()
    assert np.allclose(shown, operations, rtol=0, atol=near), (shown, operations)
    assert abs(record.measures["mean_copy_ns"] - copies) <= near
    assert abs(record.measures["mean_overhead_ns"] - rest) <= near


@law(
    sample=60,
    steps=st.lists(st.integers(0, 10**4), min_size=1, max_size=12),
    more=st.integers(0, 3),
    entry=st.integers(0, 10**4),
    leaving=st.integers(0, 10**4),
    fails=st.booleans(),
)
def entering_and_leaving_the_code_is_in_no_step(
    steps: list[int], more: int, entry: int, leaving: int, fails: bool
) -> None:
    """The one stamp of a step holds its time alone, in chunks that end, fail or stop early."""
    now = 0

    def clock() -> int:
        return now

    stamps, early = StepStamps(0, len(steps) + more, clock), more or fails
    counted, ticks = stamps.record
    now += entry
    for _, step in zip(ticks, counted):  # noqa: B905  # as generated code has it
        now += steps[step]
        if early and step + 1 == len(steps):
            break
    now += leaving
    if not fails:
        stamps.end()
    now += 50
    series = stamps.series(_LOOP, 0)
    known = steps[:-1] if fails else [*steps[:-1], steps[-1] + leaving] if early else steps
    assert series.interval_ns.tolist() == known
    assert series.entry_ns == entry
    assert series.span_ns == entry + (sum(known) if fails or early else sum(known) + leaving)


@law(
    sample=40,
    rows=st.lists(st.lists(st.integers(1, 3 * 10**9), min_size=1, max_size=40), min_size=1, max_size=4).map(
        lambda rows: [row[: min(map(len, rows))] for row in rows]
    ),
    cut=st.integers(0, 40),
    share=st.floats(0.05, 0.95),
)
def quantiles_of_parts_agree_with_numpy(rows: list[list[int]], cut: int, share: float) -> None:
    """A quantile of a bounded histogram lies between NumPy's two neighbouring times, to a bucket's width."""
    times = np.array(rows, np.int64)
    table, single = HistogramTable(len(rows)), Histogram()
    for part in (times[:, :cut], times[:, cut:]):
        table.add(part)
        single.add(part[0])
    assert table.count == single.count == times.shape[1]
    for row, values in enumerate(times):
        low, high = (
            float(np.quantile(values, share, method=method)) for method in ("inverted_cdf", "higher")
        )
        found = table.quantile(row, share)
        assert min(low, high) * (1 - 1 / 64) - 1 <= found <= max(low, high) * (1 + 1 / 64) + 1
    low, high = (float(np.quantile(times[0], 0.5, method=method)) for method in ("inverted_cdf", "higher"))
    assert low * (1 - 1 / 64) - 1 <= single.median <= high * (1 + 1 / 64) + 1


_BLOCKS = st.lists(
    st.tuples(
        st.integers(1, 50),  # steps
        st.integers(10, 10**6),  # nanoseconds of one
        st.just(0) | st.integers(CLOCKS_NS, 10**8),  # in which another thread had the processor
        st.just(0) | st.just(0) | st.integers(CLOCKS_NS, 10**8),  # in which it waited
    ),
    min_size=1,
    max_size=6,
)


@law(sample=100, blocks=_BLOCKS, reading_ns=st.integers(0, 2000))
def time_lost_to_other_threads_is_in_no_block(
    blocks: list[tuple[int, int, int, int]], reading_ns: int
) -> None:
    """Compared blocks hold the time of their steps, and their span all elapsed time.

    Where the thread waited, the lost time is unknown: then times are those of the clock.
    """
    wall, used, waits = 0, 0, 0

    def read() -> int:
        nonlocal wall, used
        wall, used = wall + reading_ns, used + reading_ns
        return used

    stamps = BlockStamps(0, lambda: wall, True, Preemption(read, lambda: waits))
    begun, done, expected, on_the_clock = wall, 0, list[int](), list[int]()
    for steps, step_ns, lost, waited in blocks:
        done += steps
        wall, used = wall + steps * step_ns + lost + waited, used + steps * step_ns
        waits += waited > 0
        expected.append(steps * step_ns)
        on_the_clock.append(steps * step_ns + lost + waited)
        ended = wall
        stamps.block(done)
    series = stamps.series(_LOOP, 0)
    assert series.span_ns == ended - begun and series.steps == done
    found = series.interval_ns.tolist()
    if waits:
        assert found == on_the_clock, "a wait is the program's own"
        return
    more = [now - then for now, then in zip(found, expected, strict=True)]
    assert all(0 <= one <= CLOCKS_NS + reading_ns for one in more), more
    assert sum(found) + series.off_cpu_ns == sum(on_the_clock)
