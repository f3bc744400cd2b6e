"""A call of a function, or a run of a loop in it, that is going on while it is checked."""

from __future__ import annotations

from typing import Any

from scanviz.engine.observation.events import CompiledFunction
from scanviz.engine.program.instructions import LoopInstruction, Program


class OpenCall:
    """A call of a function, or a run of a loop in it, that is going on.

    Attributes
    ----------
    event : CompiledFunction
        The function.
    program : Program
        Its program, or the loop's body.
    loop : LoopInstruction or None
        The loop.
    number : int
        Which call, or which run.
    linked : bool
        Whether the loop is an instruction of the frame around: one in a side of an ``ifelse`` is not.
    step : int
        The step that is going on.
    inputs : tuple of array
        What the step, or the call, began with.
    values : dict of int to array
        Values of its registers, as far as they are still needed.
    shapes : dict of int to tuple
        Shapes of the step before.
    steps : int
        The most steps that the run may take; 0 for a call.
    steps_done : dict of int to int
        Steps of the last run of each loop in it, by key.
    """

    __slots__ = (
        "event",
        "inputs",
        "linked",
        "loop",
        "number",
        "program",
        "shapes",
        "step",
        "steps",
        "steps_done",
        "values",
    )

    def __init__(
        self,
        event: CompiledFunction,
        program: Program,
        loop: LoopInstruction | None,
        number: int,
        linked: bool,
        steps: int = 0,
    ) -> None:
        self.event, self.program, self.loop = event, program, loop
        self.number, self.linked, self.step, self.steps = number, linked, 0, steps
        self.inputs: tuple[Any, ...] = ()
        self.values: dict[int, Any] = {}
        self.shapes: dict[int, tuple[int, ...]] = {}
        self.steps_done: dict[int, int] = {}

    def value(self, number: int) -> Any:
        """Return the value of a register."""
        constant = self.program.constants.get(number)
        return constant if constant is not None else self.values.get(number)
