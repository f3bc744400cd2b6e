"""Who watches one call of a function, told by whatever runs it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from scanviz.engine.observe import Observer, StepSeries


class Watch:
    """Who watches one call of a function.

    Attributes
    ----------
    function : int
        Key of the function.
    observers : tuple of Observer
        All of them.
    detail : str
        The closest look that one of them wants: ``"steps"``, ``"ops"`` or ``"values"``.
    stamps : sequence of int
        Times of the process's clock before the first instruction of the function's program and after each of them, left by the tier
        that timed them in this call; empty where it did not.
    preparing_ns : int
        How long code was made in this call that is only run because somebody watches: no part of the call's time.
    """

    __slots__ = ("_outer", "detail", "function", "observers", "preparing_ns", "stamps")

    def __init__(self, function: int, observers: tuple[Observer, ...], outer: bool = True) -> None:
        self.function, self.observers, self._outer = function, observers, outer
        wanted = {observer.detail for observer in observers}
        self.detail = "values" if "values" in wanted else "ops" if "ops" in wanted else "steps"
        self.stamps: Sequence[int] = ()
        self.preparing_ns = 0

    @property
    def steps_a_stamp(self) -> int:
        """How many steps one time may be of where steps are very short: as many as all of them allow."""
        first, *others = self.observers
        return (
            first.steps_a_stamp if not others else min(observer.steps_a_stamp for observer in self.observers)
        )

    @property
    def is_outer(self) -> bool:
        """Whether it watches a whole call, and no part of one."""
        return self._outer

    def inside(self) -> Watch:
        """Return the same watch for a part of a function: instructions outside of its loops are not told."""
        return Watch(self.function, self.observers, outer=False)

    def step_inputs(self, loop: int | None, step: int, values: tuple[Any, ...]) -> None:
        """Tell the values that a step, or the function, begins with."""
        if loop is None and not self._outer:
            return
        for observer in self.observers:
            observer.step_inputs(self.function, loop, step, values)

    def instruction(
        self, loop: int | None, step: int, index: int, elapsed_ns: int, values: tuple[Any, ...]
    ) -> None:
        """Tell an instruction."""
        if loop is None and not self._outer:
            return
        for observer in self.observers:
            observer.instruction(self.function, loop, step, index, elapsed_ns, values)

    def specialised(self, loop: int, elapsed_ns: int, tier: str, why: str) -> None:
        """Tell that code for a loop was made."""
        for observer in self.observers:
            observer.specialised(self.function, loop, elapsed_ns, tier, why)

    def function_begin(self, call: int) -> None:
        """Tell that a call starts; where one of the observers raises, those told before it are told the end."""
        told = 0
        try:
            for observer in self.observers:
                observer.function_begin(self.function, call)
                told += 1
        except BaseException as error:
            Watch(self.function, self.observers[:told]).function_end(call, 0, error)
            raise

    def function_end(self, call: int, elapsed_ns: int, error: BaseException | None) -> None:
        """Tell that a call ended, all of the observers though one of them may raise."""
        told = 0
        try:
            for observer in self.observers:
                told += 1
                observer.function_end(self.function, call, elapsed_ns, error)
        finally:
            if told < len(self.observers):
                Watch(self.function, self.observers[told:]).function_end(call, elapsed_ns, error)

    def operations_of_call(self, call_ns: int) -> None:
        """Tell how long each instruction of the function's program took in the call that took so long, where they were timed."""
        if self.stamps:
            elapsed = [after - before for before, after in itertools.pairwise(self.stamps)]
            around = max(0, call_ns - (self.stamps[-1] - self.stamps[0]))
            for observer in self.observers:
                observer.operations(self.function, elapsed, around)

    def function_returned(self, checks_ns: int, copies_ns: int, watching_ns: int) -> None:
        """Tell that the call returned to its caller."""
        for observer in self.observers:
            observer.function_returned(self.function, checks_ns, copies_ns, watching_ns)

    def loop_begin(self, loop: int, n_steps: int, buffer_bytes: int) -> None:
        """Tell that a loop starts; where one of the observers raises, those told before it are told the end."""
        told = 0
        try:
            for observer in self.observers:
                observer.loop_begin(self.function, loop, n_steps, buffer_bytes)
                told += 1
        except BaseException as error:
            Watch(self.function, self.observers[:told]).loop_end(loop, 0, 0, 0, error)
            raise

    def loop_steps(self, series: StepSeries) -> None:
        """Tell a chunk of steps."""
        for observer in self.observers:
            observer.loop_steps(series)

    def loop_rows(self, loop: int, row_bytes: tuple[int, ...]) -> None:
        """Tell the bytes of a loop's rows."""
        for observer in self.observers:
            observer.loop_rows(self.function, loop, row_bytes)

    def measured(self, loop: int | None, name: str, value: float, index: int | None = None) -> None:
        """Notify a number of a loop, or of an instruction of its step or of the function."""
        for observer in self.observers:
            observer.measured(self.function, loop, index, name, value)

    def loop_end(
        self, loop: int, steps: int, elapsed_ns: int, setup_ns: int, error: BaseException | None
    ) -> None:
        """Tell that a loop ended, all of the observers though one of them may raise."""
        told = 0
        try:
            for observer in self.observers:
                told += 1
                observer.loop_end(self.function, loop, steps, elapsed_ns, setup_ns, error)
        finally:
            if told < len(self.observers):
                rest = Watch(self.function, self.observers[told:])
                rest.loop_end(loop, steps, elapsed_ns, setup_ns, error)


__all__ = ["Watch"]
