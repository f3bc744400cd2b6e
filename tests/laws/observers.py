"""Laws of events: a run has failed if an error ended it, wherever the call was made from.

The loops follow a table from row to row, so that an entry outside of the table ends a run at a step that a plain Python loop
finds too; no rewrite can move that out of the loop.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

from scanviz import Mode, function, scan
from scanviz import tensor as T
from scanviz.engine import observe
from scanviz.engine.errors import ScanvizError
from scanviz.engine.graph.nodes import Array
from scanviz.profiler.recording.overhead import FREE
from scanviz.profiler.recording.recorder import Recorder
from scanviz.profiler.values.tracing import Tracer
from scanviz.record.model import ProfileRecord
from tests.laws.frame import MODES, TIERS
from tests.laws.law import law


@dataclass(frozen=True)
class Walk:
    """A loop that follows a table, with a loop inside that follows it too if ``inner`` is not 0; and tables to call it with."""

    outer: int
    inner: int
    tables: list[list[int]]

    def build(self, mode: Mode) -> Any:
        """Return the function: table → rows of the loop."""
        table = T.ivector("table")

        def follow(at: Any) -> Any:
            return table[at]

        def follow_on(at: Any) -> Any:
            rows, _ = scan(follow, outputs_info=at, n_steps=self.inner, name="inner")
            return table[rows[-1]]

        start = T.constant(0, dtype="int32")
        rows, _ = scan(
            follow_on if self.inner else follow, outputs_info=start, n_steps=self.outer, name="outer"
        )
        return function([table], rows, mode=mode)


@dataclass
class Tally:
    """What must be recorded of one loop."""

    runs: int = 0
    failed: int = 0
    steps: int = 0

    def run(self, steps: int, step: Callable[[], None]) -> None:
        """Take the steps of a run, counting them."""
        self.runs += 1
        try:
            for _ in range(steps):
                step()
                self.steps += 1
        except IndexError:
            self.failed += 1
            raise


@dataclass
class Expected:
    """What must be recorded of a walk, found by walking."""

    calls: int = 0
    errors: int = 0
    loops: dict[str, Tally] = field(default_factory=lambda: {"outer": Tally(), "inner": Tally()})

    def walk(self, case: Walk, table: list[int]) -> list[int] | None:
        """Walk along a table; return the rows, None where it leads out of the table."""
        at, rows = 0, list[int]()

        def follow() -> None:
            nonlocal at
            at = table[at]

        def follow_on() -> None:
            if case.inner:
                self.loops["inner"].run(case.inner, follow)
            follow()
            rows.append(at)

        self.calls += 1
        try:
            self.loops["outer"].run(case.outer, follow_on)
        except IndexError:
            self.errors += 1
            return None
        return rows

    def check(self, record: ProfileRecord) -> None:
        """Check the record of a walk, and that no run is open."""
        (text,) = record.functions
        assert (text.calls, text.errors, text.running) == (self.calls, self.errors, 0)
        self.check_loops(record)

    def check_loops(self, record: ProfileRecord) -> None:
        """Check the record of its loops."""
        for loop in record.loops:
            found = Tally(loop.runs, loop.failed_runs, loop.steps)
            assert (found, loop.running) == (self.loops[loop.name], 0), (loop.name, found)


@st.composite
def walks(draw: st.DrawFn) -> Walk:
    """Draw a loop that follows tables; some lead out of the table."""
    size = draw(st.integers(1, 6))
    entries = st.lists(st.integers(-size, size + draw(st.integers(-1, 1))), min_size=size, max_size=size)
    return Walk(
        draw(st.integers(2, 40)),
        draw(st.sampled_from([0, 0, 2, 5])),
        draw(st.lists(entries, min_size=1, max_size=5)),
    )


def _observed(observers: Sequence[observe.Observer]) -> ExitStack:
    """Attach observers, one after the other."""
    attached = ExitStack()
    for observer in observers:
        attached.enter_context(observe.observed_by(observer))
    return attached


def _in_an_except_block(call: Callable[[], Any]) -> Any:
    try:
        raise OSError("the user's own")
    except OSError:
        return call()


def _in_a_finally_block(call: Callable[[], Any]) -> Any:
    try:
        try:
            raise OSError("the user's own")
        finally:
            found = call()
    except OSError:
        return found


def _in_a_generator(call: Callable[[], Any]) -> Any:
    def calls() -> Iterator[Any]:
        try:
            raise OSError("the user's own")
        except OSError:
            yield None
            yield call()

    generator = calls()
    next(generator)
    return next(generator)


PLACES: dict[str, Callable[[Callable[[], Any]], Any]] = {
    "plain": lambda call: call(),
    "in an except block": _in_an_except_block,
    "in a finally block": _in_a_finally_block,
    "in a generator": _in_a_generator,
}


@law(
    sample=12,
    case=walks(),
    place=st.sampled_from(list(PLACES)),
    mode=MODES,
    detail=st.sampled_from(["steps", "ops"]),
    values=st.booleans(),
)
def runs_ended_by_an_error_are_recorded_as_failed(
    case: Walk, place: str, mode: Mode, detail: Any, values: bool
) -> None:
    """Exactly the failed runs are recorded as failed, in except blocks, generators and traced calls too."""
    f = case.build(mode)
    recorder, expected = Recorder(detail, calibration=FREE), Expected()
    observers: list[observe.Observer] = [recorder, *([Tracer()] if values else [])]
    with _observed(observers):
        for table in case.tables:
            _check_call(f, PLACES[place], np.array(table, "int32"), expected.walk(case, table))
    expected.check(recorder.record())


def _check_call(
    f: Any, place: Callable[[Callable[[], Any]], Any], table: Array, rows: list[int] | None
) -> None:
    try:
        found = place(lambda: f(table))
    except (ScanvizError, IndexError):
        assert rows is None, "the walk does not leave the table"
        return
    assert rows is not None, "the walk leaves the table"
    assert found.tolist() == rows


class _Breaker(observe.Observer):
    """Raises after a number of events."""

    def __init__(self, after: int, error: type[BaseException], detail: Any) -> None:
        self.left, self.error, self.detail = after, error, detail

    def _count(self, *_: object) -> None:
        self.left -= 1
        if self.left == 0:
            raise self.error("an observer's own")


for _event in (
    "function_begin",
    "function_end",
    "loop_begin",
    "loop_steps",
    "loop_rows",
    "loop_end",
    "instruction",
):
    setattr(_Breaker, _event, _Breaker._count)


@law(
    sample=8,
    case=walks(),
    tier=TIERS,
    after=st.integers(1, 30),
    error=st.sampled_from([RuntimeError, KeyboardInterrupt, SystemExit]),
    detail=st.sampled_from(["steps", "ops"]),
    first=st.booleans(),
)
def no_event_stays_open_when_an_observer_raises(
    case: Walk, tier: str, after: int, error: type[BaseException], detail: Any, first: bool
) -> None:
    """Every begin event of a call and its loops has an end event, however the call ends."""
    f, recorder = case.build(Mode(tier)), Recorder(detail, calibration=FREE)
    breaker, raised, calls = _Breaker(after, error, detail), 0, 0
    observers: list[observe.Observer] = [breaker, recorder] if first else [recorder, breaker]
    with _observed(observers):
        for table in case.tables:
            calls += 1
            try:
                f(np.array(table, "int32"))
            except error:
                raised += 1
            except (ScanvizError, IndexError):
                pass
    record = recorder.record()
    assert raised == (breaker.left <= 0)
    for text in record.functions:
        assert text.running == 0 and calls - 1 <= text.calls <= calls, (text.calls, calls)
    for loop in record.loops:
        assert loop.running == 0, loop.name
        assert loop.failed_runs <= loop.runs and loop.step_times.count == loop.steps
