"""A call of a function, or a run of a loop in it, that is going on while it is checked, and where a value in it came from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from scanviz.engine.observation.events import CompiledFunction
from scanviz.engine.program.instructions import (
    AnyInstruction,
    Instruction,
    LoopInstruction,
    Program,
)
from scanviz.engine.program.value_names import is_added_cast

# Where a value came in from outside: followed back through what only moves data.
#
# Rows, transposes, the slots of loops that are going on, and loops that have ended and passed a value on from step to step: in the
# end there is an input, a shared variable or a constant.

MOST = 200  # registers that are looked at
_Up = Callable[[int], list[str]]  # of an input of a program: where that comes from


def moves_only(instruction: AnyInstruction) -> bool:
    """Return whether an operation only shows what its input holds: a row, a transpose, another shape."""
    if not isinstance(instruction, Instruction):
        return False
    declaration = instruction.op.declaration
    return declaration.views is not None and declaration.family != "reduce"


def origin_of(frames: Sequence[OpenCall], register: int) -> str:
    """Return where the value of a register of the innermost frame came in; empty if it was computed.

    A state that was passed on may hold what it began with or what a step put into it: then both are named.
    """
    found = _Following().in_frame(frames, len(frames) - 1, register)
    return " or ".join(dict.fromkeys(found))


class _Following:
    """One search back, which looks at no register twice: states may pass a value round in a circle."""

    def __init__(self) -> None:
        self._seen: set[tuple[int, int]] = set()

    def in_frame(self, frames: Sequence[OpenCall], depth: int, register: int) -> list[str]:
        """Return where a register of a call or run that is going on comes from."""
        return self._in(frames[depth].program, register, lambda number: self._entered(frames, depth, number))

    def _in(self, program: Program, register: int, up: _Up) -> list[str]:
        key = (id(program), register)
        if key in self._seen or len(self._seen) > MOST:
            return []
        self._seen.add(key)
        if register in program.constants:
            return ["a constant"]
        if register in program.inputs:
            return up(register)
        maker = next(
            (instruction for instruction in program.instructions if register in instruction.outputs), None
        )
        match maker:
            case LoopInstruction():
                return self._out_of(maker, program, register, up)
            case Instruction() if is_added_cast(maker):
                return self._in(program, maker.inputs[0], up)
            case Instruction() if moves_only(maker):
                place = maker.op.declaration.views
                assert place is not None  # it moves only
                return self._in(program, maker.inputs[place], up)
            case _:
                return []

    def _entered(self, frames: Sequence[OpenCall], depth: int, register: int) -> list[str]:
        """Return where an input of a frame comes from: of a run, from the step before or from around the loop."""
        frame = frames[depth]
        loop = frame.loop
        if loop is None:
            return [_given(frame, register)]
        for inner, write, tap in _passed_on(loop):
            if inner == register and frame.step + tap >= 0:
                found = self.in_frame(frames, depth, write)
                if found:
                    return found
        outer = _outer(loop, register)
        return self.in_frame(frames, depth - 1, outer) if frame.linked and outer is not None else []

    def _out_of(self, loop: LoopInstruction, program: Program, register: int, up: _Up) -> list[str]:
        """Return where a result of a loop that has ended comes from."""

        def around(outer: int) -> list[str]:
            return self._in(program, outer, up)

        def entered(inner: int) -> list[str]:
            found = [
                text
                for read, write, _ in _passed_on(loop)
                if read == inner
                for text in self._in(loop.body, write, entered)
            ]
            outer = _outer(loop, inner)
            return [*found, *(around(outer) if outer is not None else [])]

        inside = _inner_result(loop, register)
        found = self._in(loop.body, inside, entered) if inside is not None else []
        way = f", by way of loop {loop.name}"
        return [text if text.endswith(way) else text + way for text in found]


def _given(frame: OpenCall, register: int) -> str:
    """Return what a function's program was given in a register."""
    place = frame.program.inputs.index(register)
    name = frame.program.registers[register].name or f"number {place}"
    given = len(frame.event.function.inputs) if frame.event.function is not None else place + 1
    return f"input {name}, as the caller gave it" if place < given else f"shared variable {name}"


def _passed_on(loop: LoopInstruction) -> list[tuple[int, int, int]]:
    """Return what a step reads of earlier ones: the register it reads, the one that was written, and how far back."""
    found = [(carry.read, carry.write, -1) for carry in loop.carries]
    for state in loop.states:
        written = [write for tap, write in state.writes if tap == 0]
        found += [(read, written[0], tap) for tap, read in state.reads if written]
    return found


def _inner_result(loop: LoopInstruction, register: int) -> int | None:
    """Return the register of the step that a result of a loop holds the rows of, or the last value."""
    for output in loop.step_outputs:
        if output.result == register:
            return output.inner
    for carry in loop.carries:
        if carry.result == register:
            return carry.write
    for state in loop.states:
        if register in (state.result, state.history):
            return next((write for tap, write in state.writes if tap == 0), None)
    return None


def _outer(loop: LoopInstruction, register: int) -> int | None:
    """Return the register around a loop that an input of its step starts from."""
    found: dict[int, int] = {sequence.inner: sequence.outer for sequence in loop.sequences}
    found |= {sequence.inner: sequence.outer for sequence in loop.non_sequences}
    found |= {carry.read: carry.outer for carry in loop.carries}
    found |= {read: state.outer for state in loop.states for _, read in state.reads}
    return found.get(register)


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
