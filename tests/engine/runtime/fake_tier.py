"""A tier for tests: the code of the NumPy tier, called and timed by the test."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

import scanviz
from scanviz.engine.observation.events import StepSeries
from scanviz.engine.runtime.specialised import SpecialisedLoop

STEP_NS = 10  # step k takes (k + 1) times that, on the clock of the fake tier


@dataclass
class FakeStamps:
    """Times of its own clock, of blocks of steps; ``end`` receives the number of steps done."""

    first: int
    last: int
    every: int
    record: Any = None
    ended: bool = False

    def end(self):
        self.ended = True

    def series(self, loop, first):
        steps = np.arange(self.first, self.last if self.ended else self.first)
        times = (steps + 1) * STEP_NS
        text = {"steps": len(steps), "span_ns": int(times.sum()), "resolution_ns": 10.0, "stamp_ns": 40.0}
        cuts = np.arange(0, len(steps), self.every)
        covers = np.diff(np.append(cuts, len(steps)))
        whole = np.add.reduceat(times, cuts) if len(cuts) else times
        return StepSeries(loop.key, first, whole, source="fake clock", covers=covers, **text)


@dataclass
class FakeTier:
    """What stands between a loop's runner and its code; notes how the code is called."""

    usual: Any  # gives the code of the NumPy tier
    steps_at_once: int | None = None
    keeps_buffers = False
    tier_name = "fake"
    samples: bool = True
    plain_times: bool = False
    takes_whole_runs: bool = False
    calls: list[tuple[str, int, int]] = field(default_factory=list)
    interrupt_at: int = -1
    every: int = 0  # steps of a block; 0 for the times of the NumPy tier

    def code_for(self, shapes, states, probe, steps):
        self.code = self.usual(shapes, states, probe, steps)
        return self

    plan = property(lambda self: self.code.plan)
    memory = property(lambda self: self.code.memory)
    buffers = property(lambda self: self.code.buffers)

    clock = property(lambda self: self.code.clock)

    def variant(self, name):
        code = self.code.variant("plain" if self.every else name)

        def called(arena, first, last):
            self.calls.append((name, first, last))
            if first <= self.interrupt_at < last:
                raise KeyboardInterrupt
            return code(arena, first, last)

        return called

    def stamps(self, name, first, last, own):
        if self.every:
            return FakeStamps(first, last, self.every)
        return self.code.stamps(name, first, last, own)


def faked(inputs, outputs, updates=None, **how) -> tuple[Any, FakeTier]:
    """Return a function of the NumPy tier whose one loop is run by a fake tier, and that."""
    f = scanviz.function(inputs, outputs, updates=updates, mode="numpy")
    runners = f.executable.flat.runners
    (runner,) = [each for each in runners.values() if isinstance(each, SpecialisedLoop)]
    tier = FakeTier(runner.code_for, **how)
    runner.code_for = tier.code_for
    return f, tier
