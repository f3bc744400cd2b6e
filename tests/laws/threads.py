"""Laws of threads: whatever several of them do with one function, each finds what it would have found alone.

Threads change places as often as Python can while they run, see :mod:`tests.support.at_once`.  A race may need several
tries to show itself; an example that breaks one of these laws need not do so each time it is run.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np
from hypothesis import strategies as st

import scanviz
from scanviz import Mode, function, shared
from scanviz import tensor as T
from scanviz.engine import observe
from scanviz.engine.graph.nodes import Array
from scanviz.engine.rewrites.versions import places
from scanviz.profiler.recording.overhead import FREE
from scanviz.profiler.recording.recorder import Recorder
from scanviz.profiler.values.tracing import Tracer
from scanviz.testing.loops import LoopCase, random_loops
from tests.laws.law import law
from tests.laws.tiers import TIERS
from tests.support.at_once import at_once
from tests.support.drawing import assert_each_drawn_once, drawer
from tests.support.watched_calls import (
    WATCHING,
    check_call,
    check_record,
    inputs_of,
    observers_for,
    with_other_values,
)

LONGEST = 40  # steps: enough for several chunks of a watched run
CALLS = 4  # by each thread


@law(
    sample=8,
    case=random_loops(updates=False, longest=LONGEST),
    threads=st.integers(4, 8),
    watching=st.sampled_from(WATCHING),
    tier=TIERS,
    rewrites=st.booleans(),
    keeps_buffers=st.booleans(),
    counts=st.booleans(),
    also=st.sampled_from(["nothing", "asks for records", "pickles", "builds"]),
)
def threads_find_what_they_would_find_alone(
    case: LoopCase,
    threads: int,
    watching: str,
    tier: str,
    rewrites: bool,
    keeps_buffers: bool,
    counts: bool,
    also: str,
) -> None:
    """Calls in several threads give what calls alone give; steps recorded are those taken; shared updates sum up."""
    mode = Mode(tier, "all" if rewrites else "none")
    results, updates, inputs, _ = case.build(name="law", allow_gc=not keeps_buffers)
    count = shared(0, "count")
    f = function(
        [variable for variable, _ in inputs],
        results,
        updates={**updates, count: count + results[0].shape[0]} if counts else updates,
        mode=mode,
        profile=watching == "its own profile",
        on_unused_input="ignore",
    )
    cases = [[with_other_values(case, 100 * k + turn) for turn in range(CALLS)] for k in range(threads)]
    given = [[inputs_of(loop_case) for loop_case in mine] for mine in cases]

    def calls(k: int) -> list[list[Array]]:
        return [f(*values) for values in given[k]]

    watchers = observers_for(watching)
    works: list[Callable[[], Any]] = [partial(calls, k) for k in range(threads)]
    works.append(partial(_beside, also, f, watchers))
    with ExitStack() as attached:
        for watcher in watchers:
            attached.enter_context(observe.observed_by(watcher))
        found = at_once(works)
    steps = [
        check_call(results_of_call, loop_case)[0]
        for k in range(threads)
        for results_of_call, loop_case in zip(found[k], cases[k], strict=True)
    ]
    if counts:  # calls that do wait for one another
        assert count.get_value() == sum(steps), (count.get_value(), sum(steps))
    records = [watcher.record() for watcher in watchers if isinstance(watcher, Recorder)]
    for record in [*records, *([f.profile] if f.profile is not None else [])]:
        check_record(record, steps, rewrites)


def _beside(also: str, f: Any, watchers: list[observe.Observer]) -> None:
    """Do what a user may do with a function while others call it."""
    for _ in range(3):
        match also:
            case "asks for records":
                for watcher in watchers:
                    if isinstance(watcher, Recorder):
                        watcher.record().to_json()
                    elif isinstance(watcher, Tracer):
                        watcher.records()
                repr(f.rewrites[:1])
                f.rewrites.refusals()
                f.rewrites.kept().costs()
            case "pickles":
                pickle.dumps(f)
            case "builds":
                function(f.inputs, f.outputs, on_unused_input="ignore")


@law(
    sample=3,
    size=st.integers(1, 5),
    threads=st.integers(2, 8),
    calls=st.integers(1, 6),
    steps=st.integers(0, 4),
)
def no_two_threads_draw_the_same_numbers(size: int, threads: int, calls: int, steps: int) -> None:
    """What threads draw together is what one thread would have drawn, each number once."""
    f, alone = drawer(size, steps), drawer(size, steps)
    drawn = at_once([lambda: [f() for _ in range(calls)]] * threads)
    assert_each_drawn_once(drawn, alone)


@law(sample=3, case=random_loops(dtypes=("float64",), smooth=True), threads=st.integers(2, 6))
def threads_build_what_they_would_build_alone(case: LoopCase, threads: int) -> None:
    """Loops, gradients and functions built in threads, of graphs of their own and of one they share, are right ones."""
    results, _, inputs, _ = case.build(name="law")
    variables = [variable for variable, _ in inputs]
    values = [values for _, values in inputs]

    def build() -> tuple[Any, ...]:
        cost = sum((T.sum(result) for result in results), T.constant(0.0))
        wrt = [variable for variable in variables if variable.type.dtype == "float64"]
        gradients = scanviz.grad(cost, wrt, disconnected_inputs="ignore") if wrt else []
        f = function(variables, [*results, *gradients], no_default_updates=True, on_unused_input="ignore")
        own, own_updates, own_inputs, _ = case.build(name="own")
        g = function(
            [variable for variable, _ in own_inputs], own, updates=own_updates, on_unused_input="ignore"
        )
        return f, g, f(*values), g(*values)

    expected = build()[2:]
    for f, _, *found in at_once([build] * threads):
        for mine, theirs in zip([*found[0], *found[1]], [*expected[0], *expected[1]], strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-9)
        again = f.rewrites.all_graphs()[-1]
        assert list(places(again)) == list(places(f.rewrites.final)), "rewriting again gave other nodes"


@law(
    sample=3,
    lengths=st.lists(st.lists(st.integers(0, 90), min_size=1, max_size=4), min_size=4, max_size=8),
    detail=st.sampled_from(["steps", "steps", "steps", "ops"]),
)
def profiled_calls_in_threads_take_each_step_once(lengths: list[list[int]], detail: Any) -> None:
    """Many short calls of a profiled loop in threads count their steps right, and the profile counts the same."""
    x = T.vector("x")
    counts, _ = scanviz.scan(lambda x_t, count: count + x_t, x, T.constant(0.0), name="counting")
    f, recorder = function([x], counts, mode=Mode("numpy")), Recorder(detail, calibration=FREE)
    with observe.observed_by(recorder):
        found = at_once([partial(lambda mine: [f(np.ones(rows)) for rows in mine], mine) for mine in lengths])
    for mine, results in zip(lengths, found, strict=True):
        for steps, result in zip(mine, results, strict=True):
            np.testing.assert_array_equal(result, np.arange(1.0, steps + 1))
    check_record(recorder.record(), [number for mine in lengths for number in mine], rewrites=False)
