"""Laws of advice: promises are bounded by usual steps and calls, whatever slow ones there were beside them.

Graphs are those of real functions that something can be advised on; all their times are drawn.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from hypothesis import strategies as st
from msgspec.structs import replace

import scanviz
from scanviz import tensor as T
from scanviz.profiler.advice import Advice, advice_of
from scanviz.record.loops import LoopRecord
from scanviz.record.model import FunctionRecord, ProfileRecord
from scanviz.record.operations import OperationRecord
from scanviz.record.values import DurationRecord
from tests.laws.law import law

_NS = st.integers(0, 10**6).map(float) | st.just(8e6)  # 8 ms: one preemption
_STEPS = st.integers(1, 10**5)
ROUNDED = 1 + 1e-9


def _recurrent() -> Any:
    """Return a function whose step has work of a non-sequence, a product of a sequence, and draws."""
    x, W = T.matrix("x"), T.matrix("W")
    stream = T.random.RandomStreams(seed=1)

    def step(x_t: Any, h: Any, W: Any) -> Any:
        return T.tanh(T.dot(x_t, W) + T.dot(h, T.exp(W))) + stream.normal(size=(2,))

    h, updates = scanviz.scan(step, x, T.zeros(2), W, name="rnn", mode="numpy")
    f = scanviz.function([x, W], h, updates=updates, name="forward", mode=scanviz.Mode(rewrites="none"))
    return f(np.ones((3, 2)), np.eye(2))


def _nested() -> Any:
    """Return a function with a short loop in a loop, and a shared matrix that is inverted at every call."""
    W = scanviz.shared(np.eye(2), "W")
    M, h0 = T.linalg.inv(W + 1.0), T.vector("h0")

    def step(h: Any) -> Any:
        inner, _ = scanviz.scan(lambda a: T.tanh(T.dot(a, M)), None, h, n_steps=3, name="inner")
        return inner[-1]

    h, _ = scanviz.scan(step, None, h0, n_steps=3, name="outer")
    f = scanviz.function([h0], h, name="relax")
    return f(np.ones(2)), f(np.ones(2))


@cache
def _profiled(run: Callable[[], Any]) -> ProfileRecord:
    with scanviz.profile() as p:
        run()
    return p.record


def _timed(draw: st.DrawFn, operation: OperationRecord) -> OperationRecord:
    samples = draw(st.integers(0, 5) | st.just(100))
    typical_ns = draw(_NS)
    return replace(
        operation,
        samples=samples,
        typical_ns=typical_ns,
        mean_ns=draw(st.sampled_from([typical_ns, None]) | _NS),
    )


def _times(draw: st.DrawFn, count: int, typical_ns: float = 0.0) -> DurationRecord:
    """Draw durations with one or more slow ones, so that their mean is well above their median: the typical one, if known."""
    median, slow = round(typical_ns) or draw(st.integers(1, 10**6)), draw(st.integers(0, 10**9))
    return DurationRecord(count, median * count + slow, p50_ns=median)


def _loop(draw: st.DrawFn, loop: LoopRecord) -> LoopRecord:
    runs = draw(st.integers(1, 1000))
    steps = draw(_STEPS)
    operations = tuple(_timed(draw, operation) for operation in loop.operations)
    body_ns = sum(one.typical_ns for one in operations if one.samples)
    copy_ns, overhead_ns = draw(_NS), draw(_NS)
    times = _times(draw, steps, body_ns + copy_ns + overhead_ns)
    return replace(
        loop, runs=runs, steps=steps, longest_run=draw(st.integers(1, steps)), operations=operations, step_times=times,
        sampled_steps=draw(st.integers(0, 64)), body_ns=body_ns, copy_ns=copy_ns, overhead_ns=overhead_ns,
        total_ns=times.total_ns + draw(st.integers(0, 10**9)), setup_ns=draw(st.integers(0, 10**9)), cost_ns=draw(_NS),
    )  # fmt: skip


def _function(draw: st.DrawFn, function: FunctionRecord) -> FunctionRecord:
    calls = draw(st.integers(1, 1000))
    operations = tuple(_timed(draw, operation) for operation in function.operations)
    return replace(function, calls=calls, operations=operations, call_times=_times(draw, calls), build_ns={})


@st.composite
def disturbed_profiles(draw: st.DrawFn) -> ProfileRecord:
    """Draw profiles of real functions in which a few steps and calls were very slow."""
    record = _profiled(draw(st.sampled_from([_recurrent, _nested])))
    return replace(
        record,
        wall_ns=draw(st.integers(1, 10**9)),
        measures={},
        loops=tuple(_loop(draw, loop) for loop in record.loops),
        functions=tuple(_function(draw, function) for function in record.functions),
    )


def _most(record: ProfileRecord, advice: Advice) -> float:
    """Return what usual steps, or usual calls, of what advice is about took together: no change can save more."""
    if not advice.loop:
        [called] = [function for function in record.functions if function.name == advice.function]
        return called.call_times.p50_ns * called.calls
    [loop] = [loop for loop in record.loops if loop.name == advice.loop]
    if (
        advice.kind == "short_inner_loops"
    ):  # it is one operation of the step around, however often it was started
        [around] = [outer for outer in record.loops if outer.key == loop.parent]
        return around.step_times.p50_ns * loop.runs
    return loop.step_times.p50_ns * loop.steps


@law(sample=60, record=disturbed_profiles())
def advice_promises_no_more_than_usual_steps_and_calls_took(record: ProfileRecord) -> None:
    """Advice promises less than the usual steps or calls took; slow ones do not count."""
    for advice in advice_of(record):
        if advice.gain_ns is not None:
            assert math.isfinite(advice.gain_ns) and advice.gain_ns <= _most(record, advice) * ROUNDED, advice


@law(sample=30, record=disturbed_profiles())
def advice_promises_nothing_for_rarely_timed_operations(record: ProfileRecord) -> None:
    """Advice promises nothing where every operation was timed at most twice."""

    def hardly(operations: tuple[OperationRecord, ...]) -> tuple[OperationRecord, ...]:
        return tuple(replace(operation, samples=min(operation.samples, 2)) for operation in operations)

    rare = replace(
        record,
        loops=tuple(
            replace(loop, operations=hardly(loop.operations), sampled_steps=2) for loop in record.loops
        ),
        functions=tuple(
            replace(function, operations=hardly(function.operations)) for function in record.functions
        ),
    )
    assert all(advice.gain_ns is None for advice in advice_of(rare))
