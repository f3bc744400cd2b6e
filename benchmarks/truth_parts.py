"""Truth of the parts of a whole run: clocks in the script, around its builds, calls and own work.

A clock around what is built holds the recording of it too.  What that takes is measured on loops that are refused as soon as they
are begun: the CPU time of very many of them, with a profile and without, in turn.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from time import perf_counter_ns
from typing import Any, NamedTuple

import numpy as np
from truth_instruments import Measured, difference, in_turn
from truth_workloads import Case

import scanviz
from scanviz.record.model import ProfileRecord
from scanviz.record.summary.run_breakdown import RunPart, parts_of
from scanviz.record.summary.totals import totals

CLOCK = "script's clock"
OWN_NS = 20_000_000  # the script's own work, between building and calling
CALLS = 12  # of functions that the other checks call once
REFUSED = 100  # loops that are refused, in a round
ROUNDS = 41
# work outside a loop, by hand, from the function's arguments
OUTSIDE: dict[str, Callable[..., Any]] = {
    "RNN, H 64": lambda x, h, W, U: np.dot(x, W),
    "width 64": lambda x, h: np.multiply(x, 0.1),
}


class Clocks:
    """Nanoseconds by the script's own clocks: total, builds, calls; and of each call the work outside its loop, by hand."""

    def __init__(self) -> None:
        self.whole = self.building = self.built = self.calls = 0
        self.outside: list[int] = []

    def outermost(self, build: Callable[..., Any]) -> Callable[..., Any]:
        """Return what builds something, with a clock around it; building inside it is part of it."""

        def timed(*arguments: Any, **named: Any) -> Any:
            before, built, begun = self.building, self.built, perf_counter_ns()
            try:
                return build(*arguments, **named)
            finally:
                self.building, self.built = before + perf_counter_ns() - begun, built + 1

        return timed


@contextmanager
def _clocks_around_building(clocks: Clocks) -> Iterator[None]:
    """Put a clock around whatever builds."""
    before = {name: getattr(scanviz, name) for name in ("scan", "grad", "function")}
    for name, build in before.items():
        setattr(scanviz, name, clocks.outermost(build))
    try:
        yield
    finally:
        for name, build in before.items():
            setattr(scanviz, name, build)


def clocked(case: Case) -> tuple[ProfileRecord, Clocks]:
    """Build and call a function as a script does, with a profile and clocks of its own."""
    arguments, clocks, by_hand = case.inputs(case.steps), Clocks(), OUTSIDE.get(case.name)
    with _clocks_around_building(clocks), scanviz.profile() as session:
        begun = perf_counter_ns()
        f = case.build()
        until = perf_counter_ns() + OWN_NS
        while perf_counter_ns() < until:
            pass
        for _ in range(max(CALLS, case.calls)):
            if by_hand is not None:
                before = perf_counter_ns()
                result = by_hand(*arguments)
                clocks.outside.append(perf_counter_ns() - before)
                del result
            before = perf_counter_ns()
            result = f(*arguments)
            clocks.calls += perf_counter_ns() - before
            del result  # the script's own time
        clocks.whole = perf_counter_ns() - begun
    return session.record, clocks


class Claim(NamedTuple):
    """A profile's statement of a run, and the script's clocks."""

    name: str
    instrument: str
    stated_ns: float
    truth: Measured


def claims(case: Case) -> tuple[list[Claim], float]:
    """Return the stated parts of a run beside the truth, and the unattributed share."""
    record, clocks = clocked(case)
    parts = parts_of(record)
    script = clocks.whole - clocks.building - clocks.calls
    watched = recording_ns()
    building = Measured(clocks.building - clocks.built * watched.ns, watched.error_ns * clocks.built)
    found = [
        Claim("wall time", CLOCK, parts[0].total_ns, Measured(clocks.whole, 0)),
        Claim("building", CLOCK, _of(parts, "building"), building),
        Claim("calls", CLOCK, _of(parts, "function"), Measured(clocks.calls, 0)),
        Claim("the script's own time", CLOCK, _of(parts, "script"), Measured(script, 0)),
    ]
    if clocks.outside:
        outside = sum(part.own_ns for part in parts if part.kind == "operation" and part.loop is None)
        found.append(Claim("operations outside of loops", "by hand", outside, _times(clocks.outside)))
    return found, totals(parts)[-1].total_ns / parts[0].total_ns


@cache
def recording_ns() -> Measured:
    """Return what recording one building takes."""

    def step(x_t: Any) -> Any:
        return x_t

    def plain() -> None:
        for _ in range(REFUSED):
            with suppress(scanviz.ScanvizError):
                scanviz.scan(step, truncate_gradient=0)

    def profiled() -> None:
        with scanviz.profile():
            plain()

    def empty() -> None:
        with scanviz.profile():
            pass

    more, less, entered = in_turn([profiled, plain, empty], ROUNDS)
    more = [whole - around for whole, around in zip(more, entered, strict=True)]
    return difference(more, less, REFUSED)


def _of(parts: tuple[RunPart, ...], *kinds: str) -> int:
    """Return the time of the outermost parts of some kinds."""
    return sum(part.total_ns for part in parts if part.kind in kinds and part.parent == 0)


def _times(times: list[int]) -> Measured:
    """Return the sum of times, and twice its error."""
    return Measured(sum(times), 2 * statistics.stdev(times) * len(times) ** 0.5)


__all__ = ["Claim", "claims"]
