"""In what an interpreter runs a program: who observes, in which step of which loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from scanviz.engine.observation.levels import ProbeLevel
from scanviz.engine.runtime.errors import Failure, in_words

if TYPE_CHECKING:
    from scanviz.engine.observation.probe import Probe
    from scanviz.engine.program.instructions import LoopInstruction, Program


class RunContext:
    """In what a program runs.

    Attributes
    ----------
    probe : Probe or None
        Who observes.
    loop, step : LoopInstruction or None, int
        The loop whose body it is, and the step.
    notify : bool
        Whether ``probe`` is notified of every instruction.
    record : callable or None
        Is given the time after each instruction.
    failed, values : int, sequence
        The instruction that raised, -1 while none has, and the values that it read.
    """

    __slots__ = ("failed", "loop", "notify", "probe", "record", "step", "values")

    def __init__(
        self,
        probe: Probe | None,
        loop: LoopInstruction | None = None,
        step: int = 0,
        notify: bool = False,
        record: Callable[[int], None] | None = None,
    ) -> None:
        self.probe, self.loop, self.step, self.notify, self.record = probe, loop, step, notify, record
        self.failed = -1
        self.values: Sequence[Any] = ()

    @property
    def key(self) -> int | None:
        """The key of the loop, as observers are told."""
        return None if self.loop is None else self.loop.key

    @property
    def has_values(self) -> bool:
        """Whether observers are notified of values too."""
        return self.notify and self.probe is not None and self.probe.level is ProbeLevel.VALUES

    def in_words(self, error: BaseException, program: Program) -> BaseException:
        """Return what to raise for an error of the program."""
        step = self.step if self.loop is not None else None
        failure = Failure(self.failed, step, tuple(self.values)) if self.failed >= 0 else None
        return in_words(error, program, failure, self.loop)
