"""Laws of names: however loops and functions are called, each is in every view once, with its own numbers."""

from __future__ import annotations

import pickle
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from scanviz import Mode, function, grad, scan
from scanviz import tensor as T
from scanviz.engine import observe
from scanviz.engine.graph.nodes import Variable
from scanviz.engine.program.instructions import all_loops
from scanviz.profiler.compare.comparison import compare
from scanviz.profiler.compare.figures import figures
from scanviz.profiler.export.frames import StackFrame, frames_of
from scanviz.profiler.export.tables import TABLES
from scanviz.profiler.recording.overhead import FREE
from scanviz.profiler.recording.recorder import Recorder
from scanviz.profiler.report.overview import render_report
from scanviz.profiler.report.units import counted
from scanviz.profiler.report.values import render_values
from scanviz.profiler.values.tracing import Tracer, with_traces
from scanviz.record.model import LoopRecord, ProfileRecord
from scanviz.record.names import function_titles, given_name, loop_titles, loops_called, not_one_loop
from scanviz.render.page.data import page_data
from tests.laws.law import law
from tests.support.internals import loop_sources

NAMES = (
    "rnn",
    "rnn",
    "grad_of_rnn",
    "rnn#1",
    "a/rnn",
    "f/rnn",
    "two words",
    "`q`",
    "",
    "λ",
    "rnn*",
    "nested",
)
ROWS = 4  # of the sequence that all loops run over


@dataclass(frozen=True)
class NamedLoop:
    """A loop: its name, None for the default one, its steps, and a loop in its step."""

    name: str | None
    steps: int
    inside: NamedLoop | None = None

    def build(self, x: Variable, factor: float) -> Variable:
        """Return the last value of the loop."""

        def step(h: Variable) -> Variable:
            start = h if self.inside is None else self.inside.build(h, factor + 0.25)
            return T.tanh(start * factor + x)

        rows, _ = scan(step, outputs_info=x, n_steps=self.steps, name=self.name)
        last: Variable = rows[-1]
        return last

    def counts(self, runs: int) -> Iterator[tuple[str | None, int, int]]:
        """Iterate over this loop and those in it: given name, runs, steps."""
        yield self.name, runs, runs * self.steps
        if self.inside is not None:
            yield from self.inside.counts(runs * self.steps)


@dataclass(frozen=True)
class NamedFunction:
    """A function of loops, how often it is called, and of how many of its loops it gives the gradient too."""

    name: str | None
    loops: list[NamedLoop]
    calls: int
    differentiated: int

    def build(self, mode: Mode) -> Any:
        """Return the function."""
        x = T.vector("x")
        results = [loop.build(x, 0.5 + k / 16) for k, loop in enumerate(self.loops)]
        wanted = list(results)
        if self.differentiated:
            wanted.append(grad(T.sum(sum(results[: self.differentiated])), x))
        return function([x], wanted, name=self.name, mode=mode)


@st.composite
def named_loops(draw: st.DrawFn, deepest: int = 2) -> NamedLoop:
    """Draw a loop with a name that others may have too."""
    inside = draw(named_loops(deepest - 1)) if deepest and draw(st.integers(0, 2)) == 0 else None
    return NamedLoop(draw(st.none() | st.sampled_from(NAMES)), draw(st.integers(2, 5)), inside)


@st.composite
def named_functions(draw: st.DrawFn) -> NamedFunction:
    """Draw a function of such loops."""
    loops = draw(st.lists(named_loops(), min_size=1, max_size=3))
    calls, differentiated = draw(st.integers(1, 3)), int(draw(st.integers(0, 3)) == 0)
    return NamedFunction(
        draw(st.none() | st.sampled_from(["f", "f", "g", "f#1"])), loops, calls, differentiated
    )


@st.composite
def alike_loops(draw: st.DrawFn) -> NamedFunction:
    """Draw a function of loops that no other has the name of, most of them of as many steps as others, with a gradient of some."""
    names = draw(st.lists(st.sampled_from("pqrs"), min_size=2, max_size=3, unique=True))
    inside = st.none() | st.just(NamedLoop("inner", 2))
    loops = [
        NamedLoop(name, draw(st.sampled_from([3, 3, 3, 4])), draw(inside) if k == 0 else None)
        for k, name in enumerate(names)
    ]
    return NamedFunction("f", loops, 1, draw(st.integers(1, len(loops))))


def recorded(functions: Sequence[Any], cases: Sequence[NamedFunction]) -> ProfileRecord:
    """Return the record of the calls that the cases ask for, with values."""
    recorder, tracer = Recorder(calibration=FREE), Tracer(every=8)
    with observe.observed_by(recorder), observe.observed_by(tracer):
        for f, case in zip(functions, cases, strict=True):
            for _ in range(case.calls):
                f(np.linspace(-1, 1, ROWS))
    return with_traces(recorder.record(), tracer)


@law(
    sample=4,
    cases=st.lists(named_functions(), min_size=1, max_size=3),
    rewrites=st.sampled_from(["all,-ScanMerge", "none"]),
)
def each_loop_is_in_every_view_once_with_its_own_numbers(cases: list[NamedFunction], rewrites: str) -> None:
    """Loops of one name are distinguished in records, reports, exports, comparisons, pages and queries."""
    functions = [named_function.build(Mode("numpy", rewrites)) for named_function in cases]
    record = recorded(functions, cases)
    for f, case, text in zip(functions, cases, record.functions, strict=True):
        mine = [loop for loop in record.loops if loop.function == text.key]
        _check_counts(mine, case)
        _check_engine(f)
    _check_titles(record)
    _check_views(record)
    _check_comparison(record, recorded(functions, cases))


def _check_counts(loops: list[LoopRecord], case: NamedFunction) -> None:
    """Check that the loops that were written are there with their runs and steps."""
    written = [loop for loop in loops if not _is_of_gradient(loop, loops)]
    found = Counter((loop.runs, loop.steps) for loop in written)
    expected = Counter((runs, steps) for loop in case.loops for _, runs, steps in loop.counts(case.calls))
    missing = expected - found
    assert not missing, (missing, [(loop.name, loop.runs, loop.steps) for loop in loops])
    if not case.differentiated:
        assert found == expected
        names = Counter(_unnumbered(name) for loop in case.loops for name, _, _ in loop.counts(1) if name)
        given = Counter(_unnumbered(loop.name) for loop in loops)
        assert not names - given, (names, given)
        assert len({loop.name for loop in loops}) == len(loops), [loop.name for loop in loops]


def _unnumbered(name: str) -> str:
    """Return a name without loop numbers: ``rnn#1`` that a user gave to two is ``rnn#1#1`` and ``rnn#1#2``."""
    return re.sub(r"(#\d+)+$", "", name)


def _is_of_gradient(loop: LoopRecord, others: list[LoopRecord]) -> bool:
    around = {other.key: other for other in others}
    here: LoopRecord | None = loop
    while here is not None:
        if here.gradient_of is not None:
            return True
        here = around.get(here.parent) if here.parent is not None else None
    return False


def _check_engine(f: Any) -> None:
    """Check the engine's tables by loop: code, memory, costs, and the same names in another process."""
    program = list(all_loops(f.program))
    assert len(loop_sources(f.executable)) == len(f.memory_plans()) == len(program)
    again = pickle.loads(pickle.dumps(f))
    assert Counter(loop.name for loop, _ in all_loops(again.program)) == Counter(
        loop.name for loop, _ in program
    )


def _check_titles(record: ProfileRecord) -> None:
    functions, titles = function_titles(record), loop_titles(record)
    assert len(set(functions.values())) == len(record.functions), functions
    assert len({made.name for made in record.functions}) == len(record.functions)
    assert len(set(titles.values())) == len(record.loops), titles
    for loop in record.loops:
        assert loops_called(record, titles[loop.key]) == [loop], titles
        meant = loops_called(record, given_name(loop.name))
        problem = not_one_loop(record, given_name(loop.name))
        assert bool(problem) == (len(meant) != 1), (problem, meant)
        assert all(titles[loop.key] in problem for loop in meant[:4]) or len(meant) == 1


def _check_views(record: ProfileRecord) -> None:
    titles, keys = loop_titles(record), sorted(loop.key for loop in record.loops)
    ran = sorted(loop.key for loop in record.loops if loop.runs)
    assert [row[0] for row in TABLES["loops"].rows(record)] == [loop.key for loop in record.loops]
    assert sorted(_framed(frames_of(record))) == ran
    assert sorted(entry["key"] for entry in page_data(record)["loops"]) == keys
    assert {trace.loop for trace in record.traces} == set(ran)
    for loop in record.loops:
        text = render_report(record, width=300, scan_name=titles[loop.key])
        assert counted(loop.runs, "run") in text and counted(loop.steps, "step") in text, text
        if loop.runs:
            values = render_values(record, width=300, scan_name=titles[loop.key])
            heads = [line for line in values.splitlines() if ", values kept of " in line]
            assert len(heads) == sum(trace.loop == loop.key for trace in record.traces), values
    whole = render_report(record, width=300, top=100)
    rows = [line.split() for line in whole.splitlines()]
    assert all(any(str(loop.steps) in row for row in rows) for loop in record.loops if loop.runs), whole


def _framed(frame: StackFrame) -> Iterator[int]:
    if frame.loop is not None:
        yield frame.loop.key
    for stack_frame in frame.inside:
        yield from _framed(stack_frame)


def _check_comparison(a: ProfileRecord, b: ProfileRecord) -> None:
    """Check that each loop is compared with itself."""
    mine, theirs = figures(a), figures(b)
    assert sum(figure.kind == "loop" for figure in mine.values()) == len(a.loops)
    assert list(mine) == list(theirs)
    assert [figure.count for figure in mine.values()] == [figure.count for figure in theirs.values()]
    rows = [row for row in compare(a, b).rows if row.figure.kind == "loop"]
    assert len(rows) == len(a.loops)
