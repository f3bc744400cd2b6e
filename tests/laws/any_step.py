"""Laws of recomputed values: at every step they equal those of a fully recorded run, bit for bit."""

import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from scanviz.engine import observe
from scanviz.engine.graph.nodes import Array
from scanviz.engine.observation.events import CompiledFunction
from scanviz.engine.observe import Observer
from scanviz.engine.program.instructions import LoopInstruction, all_loops
from scanviz.profiler.recording.recorder import Recorder
from scanviz.profiler.values.replay import MOST_STEPS, Replayer
from scanviz.profiler.values.tracing import Tracer, with_traces
from scanviz.record.errors import RecomputeError
from scanviz.record.model import ProfileRecord
from scanviz.record.storage.file import load, save
from scanviz.record.traces.layout import trace_heads
from scanviz.testing.loop_case import LoopCase
from scanviz.testing.loops import random_loops
from tests.laws.frame import built, cost_of, gradients
from tests.laws.law import law

Seen = dict[tuple[int, int, int], dict[int, Array]]  # (loop, run, step) → register → value


class Everything(Observer):
    """Keeps every value of every step of every run."""

    detail = "values"

    def __init__(self) -> None:
        self.seen: Seen = {}
        self.loops: dict[int, LoopInstruction] = {}
        self._begun: Counter[int] = Counter()

    def compiled(self, event: CompiledFunction) -> None:
        """Know the loops."""
        self.loops |= {loop.key: loop for loop, _ in all_loops(event.program)}

    def loop_begin(self, function: int, loop: int, n_steps: int, buffer_bytes: int) -> None:
        """Count a run."""
        self._begun[loop] += 1

    def step_inputs(self, function: int, loop: int | None, step: int, values: tuple[Any, ...]) -> None:
        """Keep the values at the beginning of a step."""
        if loop is not None:
            registers = self.loops[loop].body.inputs
            self.seen[loop, self._begun[loop] - 1, step] = dict(
                zip(registers, map(np.array, values), strict=True)
            )

    def instruction(
        self, function: int, loop: int | None, step: int, index: int, elapsed_ns: int, values: tuple[Any, ...]
    ) -> None:
        """Keep what an operation gave."""
        if loop is not None:
            registers = self.loops[loop].body.instructions[index].outputs
            row = self.seen[loop, self._begun[loop] - 1, step]
            row.update(zip(registers, map(np.array, values), strict=True))


def recorded(call: Callable[[], object], stride: int) -> tuple[ProfileRecord, Everything]:
    """Return the record of a call, read from a file, with checkpoints every ``stride`` steps, and all that its steps had."""
    tracer, everything, recorder = Tracer(stride=stride), Everything(), Recorder()
    with observe.observed_by(tracer), observe.observed_by(everything), observe.observed_by(recorder):
        call()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "law.scanviz"
        save(with_traces(recorder.record(), tracer), path)
        return load(path), everything


def agree(record: ProfileRecord, everything: Everything, seed: int, tries: int = 6) -> None:
    """Check some steps, chosen by chance, and that there is no step after the last of a run."""
    rng, replayer = np.random.default_rng(seed), Replayer(record)
    held = {
        (runs.loop, runs.first + k) for call in record.calls for runs in call.runs for k in range(runs.count)
    }
    ends: dict[tuple[int, int], int] = {}
    for loop, run, step in everything.seen:
        ends[loop, run] = max(step, ends.get((loop, run), -1))
    known = [entry for entry in everything.seen if entry[:2] in held]
    assert known or not everything.seen
    for k in rng.permutation(len(known))[:tries]:
        loop, run, first = known[k]
        last = min(first + int(rng.integers(0, 4)), first + MOST_STEPS - 1)
        window = replayer.window(loop, run, first, last)
        end = ends[loop, run]
        assert window.steps == tuple(range(first, min(last, end) + 1)), (window.steps, first, last, end)
        records = next(found for found in record.loops if found.key == loop)
        heads = trace_heads(everything.loops[loop], records)
        for place, step in enumerate(window.steps):
            for head, variable in zip(heads, window.variables, strict=True):
                expected = everything.seen[loop, run, step][head.register].astype(np.float64).reshape(-1)
                found = variable.values[place][: expected.size]
                np.testing.assert_array_equal(
                    found, expected, f"{variable.name}, step {step} of run {run} of loop {loop}"
                )
        try:
            replayer.window(loop, run, end + 1, end + 1)
        except RecomputeError:
            continue
        raise AssertionError(f"run {run} of loop {loop} has {end + 1} steps, and another one was computed")


_CALLS = st.integers(1, 3)
_STRIDES = st.integers(1, 4)


@law(
    sample=12,
    case=random_loops(longest=9, symbolic_steps=True),
    calls=_CALLS,
    stride=_STRIDES,
    seed=st.integers(0, 999),
)
def any_step_of_a_loop_is_recomputed_exactly(case: LoopCase, calls: int, stride: int, seed: int) -> None:
    """Recomputing a step of a random loop from its Program and the arguments of the call gives the values of the run."""
    loop = built(case)
    f = loop.function(loop.results, "numpy", updates=loop.updates)
    record, everything = recorded(lambda: [f(*loop.values) for _ in range(calls)], stride)
    agree(record, everything, seed)


@law(
    sample=8,
    case=random_loops(smooth=True, dtypes=("float64", "float32"), longest=8),
    stride=_STRIDES,
    order=st.integers(1, 2),
    seed=st.integers(0, 999),
)
def any_step_of_a_gradient_is_recomputed_exactly(case: LoopCase, stride: int, order: int, seed: int) -> None:
    """Recomputing a step of a first or second gradient's loops gives the values of the run."""
    loop = built(case)
    found = gradients(loop.cost, loop.read)
    if order == 2:
        found = gradients(cost_of(found, None), loop.read)
    f = loop.function(found, "numpy")
    record, everything = recorded(lambda: f(*loop.values), stride)
    agree(record, everything, seed)
