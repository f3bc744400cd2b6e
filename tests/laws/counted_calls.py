"""The law of counted calls: most of many short calls and runs are only counted, and no event is lost or out of order."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from io import StringIO
from typing import Any
from unittest import mock

import numpy as np
from hypothesis import strategies as st

import scanviz
from scanviz import Mode
from scanviz import tensor as T
from scanviz.engine import observe
from scanviz.engine.errors import ScanvizError
from scanviz.engine.function import function
from scanviz.engine.observation import sampling
from scanviz.engine.runtime import specialised
from scanviz.profiler.recording.overhead import FREE
from scanviz.profiler.recording.recorder import Recorder
from scanviz.record.model import ProfileRecord
from tests.laws.frame import TIERS
from tests.laws.law import law
from tests.laws.observers import Expected, Walk, walks


class Nesting(observe.Observer):
    """Checks that events of calls, runs and building nest."""

    samples = True

    def __init__(self, around: int) -> None:
        self.around = around  # key of the function in whose calls things are done
        self.within = False  # whether something is done in a call of it now
        self.was_within = (
            False  # whether the last call of another function, which has returned, was made in one
        )
        self.open: list[tuple[str, int]] = []
        self.calls = 0

    def _check(self, function: int) -> None:
        assert bool(self.open) == (self.within and function != self.around), self.open

    def _close(self, kind: str, key: int) -> None:
        assert self.open and self.open.pop() == (kind, key), (kind, key, self.open)

    def function_begin(self, function: int, call: int) -> None:
        """Open a call."""
        self._check(function)
        self.open.append(("call", call))

    def function_end(self, function: int, call: int, elapsed_ns: int, error: BaseException | None) -> None:
        """Close a call."""
        self._close("call", call)
        self.calls += 1

    def calls_counted(
        self,
        function: int,
        thread: int,
        elapsed_ns: Sequence[int],
        checks_ns: int,
        copies_ns: int,
        observing_ns: int,
        runs: Sequence[tuple[Any, ...]],
    ) -> None:
        """Count calls, which are reported before the call around them ends, and before any other begins."""
        assert bool(self.open) == (self.was_within and function != self.around), self.open
        self.calls += len(elapsed_ns)

    def loop_begin(self, function: int, loop: int, n_steps: int, buffer_bytes: int) -> None:
        """Open a run, in a reported call."""
        assert self.open
        self.open.append(("run", loop))

    def loop_end(
        self,
        function: int,
        loop: int,
        steps: int,
        elapsed_ns: int,
        setup_ns: int,
        error: BaseException | None,
    ) -> None:
        """Close a run."""
        self._close("run", loop)

    def build_begin(self, kind: observe.Building, where: Any) -> None:
        """Open the building of something."""
        self._check(0)
        self.open.append(("build", 0))

    def build_end(self, kind: observe.Building, where: Any, elapsed_ns: int) -> None:
        """Close it."""
        self._close("build", 0)


class _Writer(StringIO):
    """A file that calls or builds something while it is written to."""

    def __init__(self) -> None:
        super().__init__()
        self.does: Callable[[], object] = lambda: None

    def write(self, text: str) -> int:
        """Take text."""
        self.does()
        return len(text)


def _around(writer: _Writer) -> Any:
    """Return a function that prints."""
    x = T.vector("x")
    return function([x], T.Print("x", file=writer)(x) * 2, mode=Mode("numpy"))


def _build() -> object:
    x = T.vector("x")
    return scanviz.scan(lambda x_t: x_t + 1, x, None)


@law(
    sample=6,
    case=walks(),
    tier=TIERS,
    kinds=st.lists(
        st.sampled_from(["alone", "alone", "inside", "building", "long"]), min_size=1, max_size=40
    ),
    close=st.integers(1, 4),
    entered=st.sampled_from([1, 1000]),
)
def unobserved_calls_and_runs_are_counted(
    case: Walk, tier: str, kinds: list[str], close: int, entered: int
) -> None:
    """Calls and runs, nested ones too, are counted once each with their steps and errors, observed or not.

    Their times sum to the time of the calls, whatever observing costs.
    """
    writer, f = _Writer(), case.build(Mode(tier))
    around, expected = _around(writer), Expected()
    recorder = Recorder(calibration=FREE)
    nesting = Nesting(around.key)
    tables = [np.array(table, "int32") for table in case.tables]
    with ExitStack() as held:
        held.enter_context(mock.patch.object(sampling, "CLOSE_CALLS", close))
        held.enter_context(mock.patch.object(specialised, "ENTERED", entered))
        held.enter_context(observe.observed_by(recorder))
        held.enter_context(observe.observed_by(nesting))
        for k, kind in enumerate(kinds):

            def within(does: Callable[[], object]) -> None:
                nesting.within = True
                does()
                nesting.within = False

            def call(k: int = k % len(tables)) -> None:
                expected.walk(case, case.tables[k])
                with suppress(ScanvizError, IndexError):
                    f(tables[k])
                nesting.was_within = nesting.within

            does = _build if kind == "building" else call if kind == "inside" else lambda: None
            writer.does = partial(within, does)
            if kind == "alone":
                call()
            else:
                around(np.ones(3 if kind != "long" else 30_000))
        calls = expected.calls + sum(kind != "alone" for kind in kinds)
        assert sum(one.calls for one in recorder.record().functions) == calls, "a record asked for meanwhile"
    assert not nesting.open
    _check(recorder.record(), expected, sum(kind != "alone" for kind in kinds), f.key)
    assert nesting.calls == calls


def _check(record: ProfileRecord, expected: Expected, printed: int, walk: int) -> None:
    for text in record.functions:
        calls, errors = (expected.calls, expected.errors) if text.key == walk else (printed, 0)
        assert (text.calls, text.errors, text.running) == (calls, errors, 0), text.name
        assert text.call_times.count == calls
        loops = [loop for loop in record.loops if loop.function == text.key and loop.parent is None]
        assert min([text.total_ns, *(loop.total_ns for loop in loops)]) >= 0
        if not errors:  # an error that ends a call leaves its runs as they were
            assert sum(loop.total_ns for loop in loops) <= text.total_ns + calls * len(loops)
    expected.check_loops(record)
    parts = [made.call_parts for made in record.functions]
    spent = sum(made.total_ns for made in record.functions) + sum(stage.total_ns for stage in record.building)
    spent += sum(part.checks_ns + part.copies_ns - part.inside_ns for part in parts)
    recording = sum(
        part.recording_ns for part in parts
    )  # that of a call inside another is in no time of the other
    assert record.threads is not None
    assert abs(record.threads.inside_ns - record.threads.recording_ns - spent) <= recording
