"""A tier for tests: the code of the NumPy tier, called and timed as the test says."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import scanviz
from scanviz.engine.runtime.driver import LoopRunner


@dataclass
class FakeTier:
    """What stands between a loop's runner and the tier that made its code; notes how the code is called."""

    tier: Any
    steps_at_once: int | None = None
    samples: bool = True
    calls: list[tuple[str, int, int]] = field(default_factory=list)
    interrupt_at: int = -1

    def code_for(self, shapes, states, watch):
        self.code = self.tier.code_for(shapes, states, watch)
        return self

    def take_plan(self, plan):
        self.tier.take_plan(plan)

    def compute(self, program, instruction, values):
        return self.tier.compute(program, instruction, values)

    plan = property(lambda self: self.code.plan)
    buffers = property(lambda self: self.code.buffers)

    def variant(self, name):
        code = self.code.variant(name)

        def called(arena, first, last):
            self.calls.append((name, first, last))
            if first <= self.interrupt_at < last:
                raise KeyboardInterrupt
            return code(arena, first, last)

        return called

    def stamps(self, name, first, last):
        return self.code.stamps(name, first, last)


def faked(inputs, outputs, updates=None, **how) -> tuple[Any, FakeTier]:
    """Return a function of the NumPy tier whose one loop is run by a fake tier, and that."""
    f = scanviz.function(inputs, outputs, updates=updates, mode="numpy")
    runners = f.executable.flat.runners
    (runner,) = [each for each in runners.values() if isinstance(each, LoopRunner)]
    tier = FakeTier(runner.tier, **how)
    runner.tier = tier
    return f, tier
