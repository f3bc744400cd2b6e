"""Laws of threads: calls of one function in several threads agree with calls alone.

Threads run at once and change places as often as Python can (:mod:`tests.support.at_once`); what breaks a law so need not do
so again.  Or they take turns: one runs at a time, up to a line or bytecode that is drawn, and what an example breaks it breaks
again.  Such an example is run twice: first to see what the threads touch together (:mod:`tests.support.touched`), then with a
function built anew, whose threads change places where they touch one such thing, or anywhere.  Both runs are judged.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from hypothesis import strategies as st
from msgspec.structs import replace

import scanviz
from scanviz import Mode, function, shared
from scanviz import tensor as T
from scanviz.engine import observe
from scanviz.engine.errors import ScanvizError
from scanviz.engine.graph.nodes import Array
from scanviz.engine.rewrites.versions import places
from scanviz.profiler.recording.overhead import FREE
from scanviz.profiler.recording.recorder import Recorder
from scanviz.profiler.values.tracing import Tracer
from scanviz.testing.loop_case import LoopCase
from scanviz.testing.loops import random_loops
from tests.laws.frame import MODES, built, modes
from tests.laws.law import law
from tests.laws.observers import Expected, Walk, walks
from tests.support.at_once import at_once
from tests.support.by_turns import Turns, by_turns
from tests.support.drawing import assert_each_drawn_once, drawer
from tests.support.observed_calls import (
    WATCHING,
    check_call,
    check_record,
    inputs_of,
    observers_for,
    with_other_values,
)
from tests.support.own_locks import own_locks
from tests.support.touched import Touched

Runner = Callable[[Sequence[Callable[[], Any]]], list[Any]]  # does works, and returns what they gave
Example = Callable[[Runner], None]


@dataclass(frozen=True)
class Schedule:
    """Turns of two runs: the first anywhere, the second at shared data that the first saw, by its number ``at``."""

    first: tuple[int, ...]
    second: tuple[int, ...]
    finely: bool
    at: int | None

    def run(self, example: Example) -> None:
        """Run an example twice."""
        touched = Touched()
        with own_locks():
            example(lambda works: by_turns(works, Turns(self.first), touched))
            met = touched.shared()
            places = met[self.at % len(met)] if met and self.at is not None else None
            example(lambda works: by_turns(works, Turns(self.second, self.finely, places)))


def _run(example: Example, schedule: Schedule | None) -> None:
    """Run an example, at once where it has no schedule; it is given what does works, makes all anew, and judges what it gets."""
    if schedule is None:
        example(at_once)
    else:
        schedule.run(example)


def _lengths() -> st.SearchStrategy[tuple[int, ...]]:
    some = st.sampled_from([1, 2, 3, 10, 40, 100, 400, 2000])
    few = st.sampled_from([1, 1, 2, 3, 4])
    return st.lists(few, min_size=1, max_size=6).map(tuple) | st.lists(some, min_size=1, max_size=6).map(
        tuple
    )


def schedules() -> st.SearchStrategy[Schedule | None]:
    """Draw where threads that take turns change places: mostly where they touch something that they share and change without a lock."""
    at = st.sampled_from([0, 0, 0, 0, 1, 1, 2, 3, 4, 5, None])
    finely = st.sampled_from([False, False, False, True])
    return st.none() | st.builds(Schedule, _lengths(), _lengths(), finely, at)


@law(
    sample=10,
    case=random_loops(
        longest=40, dtypes=("float64", "int64")
    ),  # enough steps for several chunks of a watched run
    calls=st.lists(st.integers(1, 4), min_size=2, max_size=6),
    watching=st.sampled_from(WATCHING),
    mode=MODES,
    keeps_buffers=st.booleans(),
    counts=st.booleans(),
    also=st.sampled_from(["nothing", "asks for records", "pickles", "builds"]),
    schedule=schedules(),
)
def calls_in_threads_agree_with_calls_alone(
    case: LoopCase,
    calls: list[int],
    watching: str,
    mode: Mode,
    keeps_buffers: bool,
    counts: bool,
    also: str,
    schedule: Schedule | None,
) -> None:
    """Calls of a loop in threads agree with calls alone; with updates, with calls one after another."""
    cases = [[with_other_values(case, 100 * k + turn) for turn in range(n)] for k, n in enumerate(calls)]
    given = [[inputs_of(loop_case) for loop_case in mine] for mine in cases]
    counts = counts or case.update is not None  # updates come in some order, recorded by the counter

    def example(together: Runner) -> None:
        loop = built(case, name="law", allow_gc=not keeps_buffers)
        number, state = shared(0, "number"), loop.state
        f = loop.function(
            [*([number] if counts else []), *loop.results],
            mode,
            updates={**loop.updates, number: number + 1} if counts else loop.updates,
            profile=watching == "its own profile",
        )
        watchers = observers_for(watching)
        works = [partial(lambda mine: [f(*values) for values in mine], mine) for mine in given]
        with ExitStack() as attached:
            for watcher in watchers:
                attached.enter_context(observe.observed_by(watcher))
            found = together([*works, partial(_beside, also, f, watchers)])
        pairs = [
            (call, one) for k, mine in enumerate(cases) for call, one in zip(found[k], mine, strict=True)
        ]
        steps, last = _check_in_order(pairs, case.shared_start) if counts else _check_each(pairs)
        if state is not None and last is not None:
            np.testing.assert_allclose(state.get_value(), last, rtol=1e-9, atol=1e-9)
        records = [watcher.record() for watcher in watchers if isinstance(watcher, Recorder)]
        for record in [*records, *([f.profile] if f.profile is not None else [])]:
            check_record(record, steps, mode.rewrites == "all")

    _run(example, schedule)


def _beside(also: str, f: Any, watchers: list[observe.Observer]) -> None:
    """Do things that a user may do with a function while others call it."""
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


def _check_each(pairs: list[tuple[list[Array], LoopCase]]) -> tuple[list[int], Array | None]:
    return [check_call(found, case)[0] for found, case in pairs], None


def _check_in_order(
    pairs: list[tuple[list[Array], LoopCase]], state: Array | None
) -> tuple[list[int], Array | None]:
    """Check calls whose first result is their number: each begins with the state that the one before left."""
    pairs = sorted(pairs, key=lambda pair: int(pair[0][0]))
    assert [int(found[0]) for found, _ in pairs] == list(range(len(pairs))), "a call was counted twice"
    steps = []
    for found, case in pairs:
        taken, state = check_call(found[1:], replace(case, shared_start=state))
        steps.append(taken)
    return steps, state


@law(
    sample=5,
    lengths=st.lists(st.lists(st.integers(0, 90), min_size=1, max_size=4), min_size=2, max_size=6),
    detail=st.sampled_from(["steps", "steps", "ops"]),
    schedule=schedules(),
)
def profiled_calls_in_threads_count_each_step_once(
    lengths: list[list[int]], detail: Any, schedule: Schedule | None
) -> None:
    """Short and long profiled calls in threads have right results, and the profile counts each step once."""

    def example(together: Runner) -> None:
        x = T.vector("x")
        counts, _ = scanviz.scan(lambda x_t, count: count + x_t, x, T.constant(0.0), name="counting")
        f, recorder = function([x], counts, mode=Mode("numpy")), Recorder(detail, calibration=FREE)
        with observe.observed_by(recorder):
            f(np.ones(0))  # reporting the function itself takes longest
            found = together(
                [partial(lambda mine: [f(np.ones(rows)) for rows in mine], mine) for mine in lengths]
            )
        for mine, results in zip(lengths, found, strict=True):
            for steps, result in zip(mine, results, strict=True):
                np.testing.assert_array_equal(result, np.arange(1.0, steps + 1))
        check_record(recorder.record(), [0, *(number for mine in lengths for number in mine)], rewrites=False)

    _run(example, schedule)


@law(
    sample=3,
    case=walks(),
    threads=st.integers(2, 5),
    mode=modes("numpy", "reference"),
    detail=st.sampled_from(["steps", "ops"]),
    schedule=schedules(),
)
def calls_in_threads_fail_as_alone(
    case: Walk, threads: int, mode: Mode, detail: Any, schedule: Schedule | None
) -> None:
    """Calls in threads succeed or fail as alone, and the record holds all of them."""

    def example(together: Runner) -> None:
        f, recorder = case.build(mode), Recorder(detail, calibration=FREE)
        with observe.observed_by(recorder):
            found = together([lambda: [_walked(f, table) for table in case.tables]] * threads)
        expected = Expected()
        for mine in found:
            assert mine == [expected.walk(case, table) for table in case.tables]
        expected.check(recorder.record())

    _run(example, schedule)


def _walked(f: Any, table: list[int]) -> list[int] | None:
    try:
        rows: list[int] = f(np.array(table, "int32")).tolist()
    except (ScanvizError, IndexError):
        return None
    return rows


@law(
    sample=3,
    size=st.integers(1, 5),
    threads=st.integers(2, 5),
    calls=st.integers(1, 6),
    steps=st.integers(0, 4),
    schedule=schedules(),
)
def no_two_threads_draw_the_same_numbers(
    size: int, threads: int, calls: int, steps: int, schedule: Schedule | None
) -> None:
    """Threads together draw the numbers that one thread would draw, each once."""

    def example(together: Runner) -> None:
        f, alone = drawer(size, steps), drawer(size, steps)
        drawn = together([lambda: [f() for _ in range(calls)]] * threads)
        assert_each_drawn_once(drawn, alone)

    _run(example, schedule)


@law(sample=3, case=random_loops(dtypes=("float64",), smooth=True), threads=st.integers(2, 6))
def functions_built_in_threads_are_correct(case: LoopCase, threads: int) -> None:
    """Loops, gradients and functions built in threads, from own and shared graphs, are correct."""
    loop = built(case, name="law")

    def build() -> tuple[Any, ...]:
        f = loop.function([*loop.results, *loop.gradients()], "auto")
        own = built(case, name="own")
        g = own.function(own.results, "auto", updates=own.updates)
        return f, g, f(*loop.values), g(*loop.values)

    expected = build()[2:]
    for f, _, *found in at_once([build] * threads):
        for mine, theirs in zip([*found[0], *found[1]], [*expected[0], *expected[1]], strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-9)
        again = f.rewrites.all_graphs()[-1]
        assert list(places(again)) == list(places(f.rewrites.final)), "rewriting again gave other nodes"
