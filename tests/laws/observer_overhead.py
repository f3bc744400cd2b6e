"""The law of what watching takes: by a clock that moves only while observers are notified, programs take no time at all."""

import importlib
import pkgutil
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
from hypothesis import strategies as st

from scanviz import Mode, function, scan
from scanviz import tensor as T
from scanviz.engine import function as functions
from scanviz.engine import observation, runtime
from scanviz.engine.observation import probe, sampling
from scanviz.engine.observation.events import StepSeries
from scanviz.engine.observe import Observer, observed_by
from scanviz.engine.runtime.array_module import ArrayModule
from tests.laws.law import law

NOTIFIED = 1_000_000  # nanoseconds that each notification takes
_EVENTS = (
    "function_begin", "calls_counted", "loop_begin", "loop_steps", "loop_rows", "loop_counted", "loop_end", "loop_observed",
    "measured", "specialised",
)  # fmt: skip


class Clock:
    """Stands still but when it is moved; outside of a law, code that was made with it reads the usual clock."""

    def __init__(self) -> None:
        self.ns, self.works = 0, False

    def __call__(self) -> int:
        """Return the nanoseconds."""
        return self.ns if self.works else time.perf_counter_ns()

    @contextmanager
    def instead(self) -> Iterator[None]:
        """Let the engine read this clock in the block."""
        for package in (
            runtime,
            observation,
            functions,
        ):  # modules imported in a call would read the usual clock
            for found in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
                importlib.import_module(found.name)
        modules = [module for name, module in sys.modules.items() if name.startswith("scanviz.engine.")]
        usual = time.perf_counter_ns
        clocks = SimpleNamespace(**{**vars(time), "perf_counter_ns": self})
        with ExitStack() as patched:
            for module in modules:
                if getattr(module, "perf_counter_ns", None) is usual:
                    patched.enter_context(mock.patch.object(module, "perf_counter_ns", self))
                if getattr(module, "time", None) is time:
                    patched.enter_context(mock.patch.object(module, "time", clocks))
            patched.enter_context(mock.patch.object(ArrayModule, "clock", staticmethod(self)))
            patched.enter_context(
                mock.patch.object(probe, "note_overhead_ns", lambda: 0)
            )  # which this clock does not show
            self.works = True
            try:
                yield
            finally:
                self.works = False


CLOCK = Clock()


class Slow(Observer):
    """Moves the clock at each event of a loop or a call, and keeps all reported times."""

    weighs = True

    def __init__(self, detail: Any, control: bool) -> None:
        self.detail, self.samples = detail, control
        self.times: dict[str, list[int]] = {}

    def notified(self, name: str, given: tuple[Any, ...]) -> None:
        """Take a notification."""
        found = self.times.setdefault(name, [])
        match name:
            case "loop_steps":
                series: StepSeries = given[0]
                found += [*series.interval_ns.tolist(), series.span_ns]
            case "loop_counted":
                found += [run[5] for run in given[1]]
            case "calls_counted":
                found += [*given[2], *given[3:5], *(run[5] for run in given[6])]
            case "loop_end":
                found += given[3:5]
        CLOCK.ns += NOTIFIED

    def function_end(self, function: int, call: int, elapsed_ns: int, error: BaseException | None) -> None:
        """Take the time of a call."""
        self.times.setdefault("function_end", []).append(elapsed_ns)


def _event(name: str) -> Any:
    return lambda self, *given: self.notified(name, given)


for _name in _EVENTS:
    setattr(Slow, _name, _event(_name))


@law(
    sample=6,
    depth=st.sampled_from([2, 3]),
    rows=st.integers(1, 120) | st.integers(200, 500),
    steps=st.integers(1, 4),
    detail=st.sampled_from(["steps", "steps", "ops"]),
    control=st.booleans(),
    calls=st.integers(1, 6),
    close=st.integers(1, 3),
)
def observer_overhead_is_charged_to_no_loop_step_or_call(
    depth: int, rows: int, steps: int, detail: str, control: bool, calls: int, close: int
) -> None:
    """Where only notifications take time, every loop, step and call takes none, at any depth."""
    observer = Slow(detail, control)
    with CLOCK.instead():
        f = _built(depth)
        given = np.ones((rows, steps) if depth == 2 else (rows, 2, steps))
        with observed_by(observer), mock.patch.object(sampling, "CLOSE_CALLS", close):
            for _ in range(calls):
                f(given)
    for name, times in observer.times.items():
        assert not any(times), (name, [ns for ns in times if ns][:5])
    assert CLOCK.ns and observer.times["function_end"]


def _built(depth: int) -> Any:
    def step(row: Any) -> Any:
        return scan(lambda value, total: T.tanh(total + value), row, 0.0, name="inner")[0][-1]

    def around(rows: Any) -> Any:
        return scan(step, rows, name="middle")[0].sum()

    given = T.matrix("X") if depth == 2 else T.tensor3("X")
    rows, _ = scan(step if depth == 2 else around, given, name="outer")
    return function([given], rows, mode=Mode("numpy", "none"))


class SlowAtCalls(Observer):
    """Moves the clock when it is notified of a call, by so much at its begin, at its end and when it returns."""

    def __init__(self, takes: tuple[int, int, int]) -> None:
        self.takes, self.notified = takes, [0, 0, 0]

    def function_begin(self, function: int, call: int) -> None:
        """Take the begin of a call."""
        CLOCK.ns += self.takes[0]

    def function_end(self, function: int, call: int, elapsed_ns: int, error: BaseException | None) -> None:
        """Take the end of a call."""
        assert elapsed_ns == 0
        CLOCK.ns += self.takes[1]

    def function_returned(self, function: int, checks_ns: int, copies_ns: int, observing_ns: int) -> None:
        """Take the parts of a call."""
        self.notified = [
            a + b for a, b in zip(self.notified, (checks_ns, copies_ns, observing_ns), strict=True)
        ]
        CLOCK.ns += self.takes[2]


_TAKES = st.tuples(*[st.integers(0, 10**6)] * 3)


@law(sample=6, takes=_TAKES, others=st.none() | _TAKES, before=st.integers(0, 2), calls=st.integers(1, 5))
def all_observer_overhead_of_a_call_is_reported(
    takes: tuple[int, int, int], others: tuple[int, int, int] | None, before: int, calls: int
) -> None:
    """Observer overhead of calls is reported completely, but for the last notification.

    Another observer may have been there before, and may be there beside.
    """
    observer, other = SlowAtCalls(takes), SlowAtCalls(others or (0, 0, 0))
    x = T.vector("x")
    with CLOCK.instead():
        f = function([x], T.tanh(x), mode=Mode("numpy", "none"))
        with observed_by(other):
            for _ in range(before):
                f(np.ones(3))
        with observed_by(observer), observed_by(other):
            begun = CLOCK.ns
            for _ in range(calls):
                f(np.ones(3))
            took = CLOCK.ns - begun
    assert observer.notified == [0, 0, took - takes[2] - other.takes[2]]
