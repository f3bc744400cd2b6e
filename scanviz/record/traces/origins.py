"""Origins of numbers, traced back through Programs to the caller's values or to steps of loops.

A place is the position of numbers in a value.  It is known of the row that a step of a loop reads, follows the axes that
operations go along, and is asked of operations that only show their input's numbers.  So ``x[::-1]`` at step 3 of 10 is row 6
of ``x``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from msgspec import Struct, field

from scanviz.engine.errors import ScanvizError
from scanviz.engine.graph.types import TensorType
from scanviz.engine.program.instructions import AnyInstruction, Instruction, LoopInstruction, Program
from scanviz.engine.program.value_names import is_added_cast

Place = tuple[int | None, ...]  # in a value; None along an axis where the numbers may lie anywhere
MOST = 200  # values that are looked at


class Frame(Struct, eq=False):
    """A call of a function, or a run of a loop inside it.

    Attributes
    ----------
    program : Program
        Its program, or the loop's body.
    loop : LoopInstruction or None
        The loop.
    number : int
        Number of the call or run.
    linked : bool
        Whether the loop is an instruction of the frame around: one in a side of an ``ifelse`` is not.
    steps : int
        The most steps that the run may take; 0 for a call.
    step : int or None
        The present step, None where it is not known.
    given : int
        Number of inputs from the caller; the others are shared variables.
    inputs : tuple of array
        Inputs of the step, or of the call.
    values : dict of int to array
        Values of its registers, as far as they are still needed.
    shapes : dict of int to tuple
        Shapes of its values in the step before.
    steps_done : dict of int to int
        Steps of the last run of each loop in it, by key.
    """

    program: Program
    number: int
    loop: LoopInstruction | None = None
    linked: bool = True
    steps: int = 0
    step: int | None = 0
    given: int = 0
    inputs: tuple[Any, ...] = ()
    values: dict[int, Any] = field(default_factory=dict)
    shapes: dict[int, tuple[int, ...]] = field(default_factory=dict)
    steps_done: dict[int, int] = field(default_factory=dict)

    def value(self, register: int) -> Any:
        """Return the value of a register, or None if it was freed."""
        if register in self.program.constants:
            return self.program.constants[register]
        if register not in self.values and self.inputs and register in self.program.inputs:
            return self.inputs[self.program.inputs.index(register)]
        return self.values.get(register)


class Origin(NamedTuple):
    """The origin of numbers.

    Attributes
    ----------
    kind : str
        ``"input"``, ``"shared variable"``, ``"constant"`` or ``"loop"``.
    name : str
        Its name; a constant has none.
    place : tuple of int or None
        Their places in it.
    frame : Frame
        The call or run of that value.
    loop : LoopInstruction or None
        A loop that wrote them.
    step : int
        At which of its steps.
    moved : bool
        Whether operations on the way only moved them.
    back : int
        Number of steps back.
    by : tuple of str
        Loops that have ended and passed them on.
    """

    kind: Literal["input", "shared variable", "constant", "loop"]
    name: str
    place: Place
    frame: Frame
    loop: LoopInstruction | None
    step: int
    moved: bool
    back: int
    by: tuple[str, ...]

    def __str__(self) -> str:
        kind = "your input" if self.kind == "input" else self.kind
        way = "".join(f", through loop {name}" for name in self.by)
        return f"{kind} {self.name}{way}" if self.name else f"a constant{way}"


class _Numbers(NamedTuple):
    """Traced numbers: part of a register of the innermost frame."""

    frames: tuple[Frame, ...]
    register: int
    place: Place
    moved: bool = True
    back: int = 0
    by: tuple[str, ...] = ()

    def of(self, register: int, place: Place, **changes: Any) -> _Numbers:
        return self._replace(register=register, place=place, **changes)

    def origin(self, kind: Any, name: str, loop: LoopInstruction | None = None, step: int = 0) -> Origin:
        return Origin(kind, name, self.place, self.frames[-1], loop, step, self.moved, self.back, self.by)

    def any_place(self, register: int) -> Place:
        kind = self.frames[-1].program.registers[register].type
        return (None,) * len(kind.shape) if isinstance(kind, TensorType) else ()


def origins(frames: Sequence[Frame], register: int, place: Place | None = None) -> list[Origin]:
    """Return the origins of numbers of a value, the nearest first.

    Parameters
    ----------
    frames : sequence of Frame
        The call, then the loops that are going on, outer first.
    register : int
        The value, in the innermost of them.
    place : tuple of int, optional
        Places of the numbers in it.
    """
    numbers = _Numbers(tuple(frames), register, ())
    waiting = deque([numbers._replace(place=numbers.any_place(register) if place is None else place)])
    seen: set[tuple[int, int, Place]] = set()
    found: list[Origin] = []
    while waiting and len(seen) < MOST:
        numbers = waiting.popleft()
        key = (id(numbers.frames[-1].program), numbers.register, numbers.place)
        if key in seen:
            continue
        seen.add(key)
        for one in _before(numbers, seen):
            if isinstance(one, Origin):
                found.append(one)
            else:
                waiting.append(one)
    return list(dict.fromkeys(found))


def rows_given(found: Iterable[Origin], whole: bool = False) -> list[Origin]:
    """Return the origins in values that the caller gave, the nearest in time; ``whole`` includes those without a known row."""
    given = [one for one in found if one.kind in ("input", "shared variable")]
    rows = [one for one in given if whole or one.place[:1] not in ((), (None,))]
    nearest = min((one.back for one in rows), default=0)
    return [one for one in rows if one.back == nearest]


def _before(numbers: _Numbers, seen: set[tuple[int, int, Place]]) -> Iterator[Origin | _Numbers]:
    """Iterate over the sources of numbers: values, or origins."""
    frame, register = numbers.frames[-1], numbers.register
    program = frame.program
    if register in program.constants:
        yield numbers.origin("constant", "")
    elif register in program.inputs:
        if frame.loop is None:
            yield numbers.origin(*_given(frame, register))
        else:
            yield from _into_step(numbers, frame.loop, seen)
        return
    maker = next((one for one in program.instructions if register in one.outputs), None)
    if isinstance(maker, LoopInstruction):
        yield from _out_of_loop(numbers, maker)
    elif isinstance(maker, Instruction) and moves_only(maker):
        shown = _shown_place(frame, maker, numbers.place)
        if shown is not None or numbers.moved:
            shows = maker.inputs[maker.op.declaration.views or 0]
            yield numbers.of(shows, numbers.any_place(shows) if shown is None else shown)
    elif isinstance(maker, Instruction):
        yield from _read(numbers, maker)


def moves_only(instruction: AnyInstruction) -> bool:
    """Return whether an operation only rearranges its input: a row, a transpose, another shape."""
    if not isinstance(instruction, Instruction):
        return False
    declaration = instruction.op.declaration
    return declaration.views is not None and declaration.family != "reduce"


def _given(frame: Frame, register: int) -> tuple[str, str]:
    """Describe an input of a function's program, with the caller's name for it."""
    place = frame.program.inputs.index(register)
    kind = "input" if place < frame.given else "shared variable"
    return kind, frame.program.registers[register].name or f"input{place + 1}"


def _into_step(
    numbers: _Numbers, loop: LoopInstruction, seen: set[tuple[int, int, Place]]
) -> Iterator[_Numbers]:
    """Iterate over the sources of a step's input: values around the loop, or those that an earlier step wrote."""
    frame, register, place = numbers.frames[-1], numbers.register, numbers.place
    around = numbers._replace(frames=numbers.frames[:-1])
    if frame.linked:
        for sequence in loop.sequences:
            if sequence.inner == register:
                yield around.of(sequence.outer, (frame.step, *place))
        for constant in loop.non_sequences:
            if constant.inner == register:
                yield around.of(constant.outer, place)
    for carry in loop.carries:
        if carry.read == register:
            yield from _earlier(numbers, carry.write, -1, carry.outer, place, seen)
    for state in loop.states:
        tap, write = {read: tap for tap, read in state.reads}.get(register), dict(state.writes).get(0)
        if tap is not None and write is not None:
            row = None if frame.step is None else state.offset + frame.step + tap
            has_rows = frame.linked and len(around.any_place(state.outer)) > len(place)
            initial = (row, *place) if has_rows else place
            yield from _earlier(numbers, write, tap, state.outer, initial, seen)


def _earlier(
    numbers: _Numbers, write: int, tap: int, outer: int, initial: Place, seen: set[tuple[int, int, Place]]
) -> Iterator[_Numbers]:
    """Iterate over the values that an earlier step wrote, or the loop's initial values."""
    frame = numbers.frames[-1]
    before = None if frame.step is None else frame.step + tap
    if before is None or before >= 0:
        earlier = Frame(frame.program, frame.number, frame.loop, frame.linked, step=before)
        frames = (*numbers.frames[:-1], earlier)
        yield numbers._replace(frames=frames, register=write, back=numbers.back - tap)
    passed_on = (id(frame.program), write, numbers.place) in seen
    if frame.linked and (before is None or before < 0 or passed_on):
        yield numbers._replace(frames=numbers.frames[:-1], register=outer, place=initial)


def _out_of_loop(numbers: _Numbers, loop: LoopInstruction) -> Iterator[Origin | _Numbers]:
    """Iterate over the step that wrote numbers of a loop's result, and over values that the loop only passed on."""
    frame, place = numbers.frames[-1], numbers.place
    inner, rows = _held(frame, loop)[numbers.register]
    row = place[0] if place and rows is not None else None
    step = rows[row] if rows is not None and row is not None and row < len(rows) else None
    if step is not None and step >= 0:
        yield numbers.origin("loop", loop.name, loop, step)
    if inner is not None and numbers.moved:
        ended = Frame(loop.body, 0, loop, step=step)
        by = numbers.by if loop.name in numbers.by else (*numbers.by, loop.name)
        rest = place if rows is None else place[1:]
        yield numbers._replace(frames=(*numbers.frames, ended), register=inner, place=rest, by=by)


def _held(frame: Frame, loop: LoopInstruction) -> dict[int, tuple[int | None, range | None]]:
    """Return, by register of a loop's result, the step's value that it holds, and the steps of its rows.

    Initial rows count as steps before 0.  A last value and a buffer of gradients have no rows of steps.
    """
    done = frame.steps_done.get(loop.key)

    def last(rows: int | None) -> range | None:
        return None if done is None else range(0 if rows is None else max(0, done - rows), done)

    found: dict[int | None, tuple[int | None, range | None]] = {}
    for carry in loop.carries:
        found[carry.result] = carry.write, None
    for output in loop.step_outputs:
        found[output.result] = output.inner, last(output.keep_last)
    for state in loop.states:
        write = dict(state.writes).get(0)
        found[state.result] = write, None if state.kind == "mitmot" else last(state.keep_last)
        found[state.history] = write, None if done is None else range(-state.offset, done)
    return {register: held for register, held in found.items() if register is not None}


def _read(numbers: _Numbers, maker: Instruction) -> Iterator[_Numbers]:
    """Iterate over an operation's operands for some numbers; outside of loops, along axes as far as possible."""
    frame = numbers.frames[-1]
    moved = numbers.moved and is_added_cast(maker)
    places = _along_axes(frame, maker, numbers)
    for position, register in enumerate(maker.inputs):
        place = places.get(position)
        if place is not None or frame.loop is not None:
            yield numbers.of(register, place or numbers.any_place(register), moved=moved)


def _along_axes(frame: Frame, maker: Instruction, numbers: _Numbers) -> dict[int, Place]:
    """Return, by input, the places that an operation reads to compute some numbers."""
    axes, registers = maker.op.facts.axes, frame.program.registers
    if axes is None or all(at is None for at in numbers.place):
        return {}
    given = [registers[number].type.shape for number in maker.inputs]
    made = [registers[number].type.shape for number in maker.outputs]
    found: dict[int, list[int | None]] = {}
    results = dict(zip(maker.outputs, axes(maker.op, given, made), strict=False))
    for at, inputs in zip(numbers.place, results.get(numbers.register, ()), strict=False):
        for position, axis in inputs.items():
            found.setdefault(position, [None] * len(given[position]))[axis] = at
    return {position: tuple(read) for position, read in found.items()}


def _shown_place(frame: Frame, maker: Instruction, place: Place) -> Place | None:
    """Return the input row that an operation shows at a place, or None if that is none or several.

    The operation is applied to the numbers of rows.  Sizes that are unknown by now are tried with two values: they must not matter.
    """
    if all(at is None for at in place) and place:
        return None
    position = maker.op.declaration.views or 0
    given = [frame.value(number) for number in maker.inputs]
    shape = (
        np.shape(given[position]) if given[position] is not None else _shape(frame, maker.inputs[position])
    )
    if not shape:
        return None
    shown: set[int] = set()
    for guess in (1, 1 + max(at or 0 for at in (*place, 0))) if None in shape else (1,):
        sizes = [guess if size is None else size for size in shape]
        given[position] = np.broadcast_to(np.arange(sizes[0]).reshape(-1, *(1 for _ in sizes[1:])), sizes)
        try:
            rows = np.asarray(maker.op.perform(given)[0])
            at_place = tuple(
                slice(None) if at is None else min(at, size - 1)
                for at, size in zip(place, rows.shape, strict=True)
            )
            shown.update(np.unique(rows[at_place]).tolist())
        except (ScanvizError, ArithmeticError, LookupError, TypeError, ValueError):
            return None  # of numbers that are not known any more
    return (shown.pop(), *(None for _ in shape[1:])) if len(shown) == 1 else None


def _shape(frame: Frame, register: int) -> tuple[int | None, ...]:
    """Return the shape of a freed value, or None if a size is unknown."""
    kind = frame.program.registers[register].type
    if not isinstance(kind, TensorType):
        return ()
    for loop in frame.program.instructions:
        if isinstance(loop, LoopInstruction) and register in loop.outputs:
            rows = _held(frame, loop)[register][1]
            return (len(rows), *kind.shape[1:]) if rows else ()
    return kind.shape
