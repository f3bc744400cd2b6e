"""Calls of one random loop with several values, and what they must give and leave in a record, whatever thread makes them."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from scanviz.engine import observe
from scanviz.engine.graph.nodes import Array
from scanviz.engine.observation.sampling import CLOSE_CALLS
from scanviz.profiler.recording.overhead import FREE
from scanviz.profiler.recording.recorder import Recorder
from scanviz.profiler.values.tracing import Tracer
from scanviz.record.model import LoopRecord, ProfileRecord
from scanviz.testing.loop_case import LoopCase
from scanviz.testing.unrolled import run_plainly

WATCHING = ("nobody", "steps", "steps in blocks", "ops", "values", "steps and values", "its own profile")


def with_other_values(case: LoopCase, seed: int) -> LoopCase:
    """Return the same loop with other values of the same shapes."""
    rng = np.random.default_rng(seed)

    def other(values: Array) -> Array:
        mixed = rng.permutation(values.reshape(-1)).reshape(values.shape)
        return np.asarray(mixed + rng.integers(0, 3, values.shape), values.dtype)

    return replace(
        case,
        sequences=[replace(sequence, values=other(sequence.values)) for sequence in case.sequences],
        outputs=[
            output
            if output.initial is None or output.from_zeros
            else replace(output, initial=other(output.initial))
            for output in case.outputs
        ],
        constants=[other(constant) for constant in case.constants],
        captured=None if case.captured is None else other(case.captured),
    )


def inputs_of(case: LoopCase) -> list[Array]:
    """Return the values that a function of the loop is called with."""
    return [values for _, values in case.build()[2]]


def check_call(found: Sequence[Array], case: LoopCase) -> tuple[int, Array | None]:
    """Compare a call with a plain Python loop; return its number of steps and the shared variable's value."""
    expected, state = run_plainly(case)
    tolerance = 1e-4 if case.dtype == "float32" else 1e-9
    for mine, theirs in zip(found, expected, strict=True):
        assert mine.dtype == theirs.dtype and mine.shape == theirs.shape, (mine.shape, theirs.shape)
        np.testing.assert_allclose(mine, theirs, rtol=tolerance, atol=tolerance)
    return len(expected[0]), state


def observers_for(watching: str) -> list[observe.Observer]:
    """Return new observers of a kind of :data:`WATCHING`."""
    found: list[observe.Observer] = []
    if "steps" in watching or "ops" in watching:
        block = 3 if "blocks" in watching else 1
        found.append(Recorder("ops" if watching == "ops" else "steps", calibration=FREE, steps_a_stamp=block))
    if "values" in watching:
        found.append(Tracer())
    return found


def check_record(record: ProfileRecord, steps: list[int], rewrites: bool) -> None:
    """Check the record of calls with so many steps each."""
    (text,) = record.functions
    assert (text.calls, text.errors, text.running) == (len(steps), 0, 0)
    for loop in record.loops:
        assert loop.running == loop.failed_runs == 0, loop.name
        known = loop.step_times.count + loop.control_steps
        some_have_none = loop.runs > CLOSE_CALLS or _calls_out_to_look(loop, record)
        assert known == loop.steps or (some_have_none and known < loop.steps), (loop.name, known, loop.steps)
        kept = Counter(map(tuple, loop.series[:, :2].tolist()))
        assert set(kept.values()) <= {1}, (loop.name, kept.most_common(3))
        if loop.parent is None:
            assert loop.runs == len(steps), (loop.name, loop.runs)
        if loop.name == "law":  # with rewrites, unread rows need no steps
            assert loop.longest_run <= max(steps, default=0)
            assert loop.steps <= sum(steps) if rewrites else loop.steps == sum(steps), (
                loop.steps,
                sum(steps),
            )


def _calls_out_to_look(loop: LoopRecord, record: ProfileRecord) -> bool:
    """Return whether machine code of a loop leaves itself now and then, to look at loops inside: such steps have no time."""
    is_native = any(made.tier == "native" for made in loop.tiers)
    return is_native and any(inner.parent == loop.key for inner in record.loops)
