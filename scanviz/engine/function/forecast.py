"""Forecast the peak memory of a call from the shapes of its inputs alone: nothing is run.

The Program is planned for the shapes and walked through in order of execution.  An array lives from its instruction until the last
read of it or of its views.  A running loop holds its rows, its buffers, a step's new arrays, and its inner loops one at a time.
The forecast counts the same arrays as :mod:`scanviz.engine.observation.ledger` in a call.

Limits: a loop with a stop condition counts with all its steps, a branch with its larger side.  Arrays whose shape depends on values
are named, but not counted.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from msgspec import Struct

from scanviz.engine.errors import ScanvizTypeError, some
from scanviz.engine.graph.types import TensorType
from scanviz.engine.program.instructions import (
    AnyInstruction,
    BranchInstruction,
    LoopInstruction,
    NonSequenceSlot,
    Program,
    SequenceSlot,
    StateSlot,
    all_loops,
    is_scalar,
)
from scanviz.engine.program.known_numbers import (
    Known,
    c_order,
    fresh_bytes,
    fresh_registers,
    itemsize_of,
    known_of,
    planned_call,
)
from scanviz.engine.program.plan import (
    Emits,
    Grouping,
    Plan,
    Size,
    View,
    Where,
    plan_loop,
    single,
    wraps,
)
from scanviz.engine.program.plan.location import are_worth_over, ring_size
from scanviz.engine.program.shapes import ConcreteShape, Partial, complete, step_inputs
from scanviz.engine.program.slots import passed
from scanviz.engine.program.value_names import ValueNames

if TYPE_CHECKING:
    from scanviz.engine.graph.provenance import SourceLine

Function = Any  # the class imports this file
NOTHING_KEPT = Emits(lambda instruction, program: False, lambda instruction, program: ())


class MemoryForecast(Struct, frozen=True):
    """The peak memory of a call.

    Attributes
    ----------
    peak_bytes : int
        Peak bytes of arrays allocated in the call: rows and buffers of loops, results of operations outside of loops, results of
        the call.  Excluded are arguments, shared variables, NumPy's temporaries inside one operation, and copies that machine code
        makes once per run: packed matrices of products, and sequences of strided rows.
    at : str
        The place of the peak: a loop's name, an operation as in reports, or ``copies of results``.
    where : SourceLine or None
        Its source line.
    loops : dict of str to int
        Bytes of one run of each loop, inner loops included; for loops of the same name, the largest.
    unknown : int
        Number of results whose size depends on values; they are not counted.

    Examples
    --------
    >>> MemoryForecast(2_500_000, "encoder", None, {"encoder": 2_000_000}, 0).at
    'encoder'
    """

    peak_bytes: int
    at: str
    where: SourceLine | None
    loops: dict[str, int]
    unknown: int


def asked(function: Function, inputs: Sequence[Any], named: dict[str, Any]) -> MemoryForecast:
    """Return the forecast of a call with arrays, shapes or numbers for inputs, as ``Function.memory_forecast`` takes them."""
    given = _given(function, inputs, named)
    return of_call(function, [*given, *(shared.get_value(borrow=True) for shared in function.spec.shared)])


def of_call(function: Function, given: Sequence[Any]) -> MemoryForecast:
    """Forecast a call with these inputs and values of shared variables; a tuple stands for an array of that shape."""
    program = function.program
    shapes: list[ConcreteShape] = [
        array if isinstance(array, tuple) else tuple(np.shape(array)) for array in given
    ]
    values = {
        number: np.asarray(value)
        for number, value in zip(program.inputs, given, strict=True)
        if not isinstance(value, tuple) and np.shape(value) == () and np.asarray(value).dtype.kind in "iu"
    }
    emits = getattr(function.executable, "emits", NOTHING_KEPT)
    walk = _Walk(emits, getattr(function.executable, "tiers", dict)())
    ready, planned = planned_call(program, shapes, values, emits, all_steps=True)
    held = walk.program(ready, planned, known_of(ready, shapes, values, all_steps=True), is_whole=True)
    peak = max(held.values(), default=0)
    names = {loop.key: loop.name for loop, _ in all_loops(program)}
    loops: dict[str, int] = {}
    for key, size in walk.loops.items():
        loops[names[key]] = max(size, loops.get(names[key], 0))
    at = _where(ready, [index for index, size in held.items() if size == peak]) if peak else -1
    return MemoryForecast(peak, *_named(program, at), loops, len(walk.unknown))


def _where(program: Program, found: Sequence[int]) -> int:
    """Return the instruction to name for a memory peak: the first loop, else the first of all; -1 if there is none."""
    whole = len(program.instructions)
    loops = [k for k in found if k < whole and isinstance(program.instructions[k], LoopInstruction)]
    return next(iter(loops or found), -1)


def _named(program: Program, index: int) -> tuple[str, SourceLine | None]:
    """Return the name of an instruction and its source line."""
    if index < 0:
        return "", None
    if index == len(program.instructions):
        return "copies of results", None
    instruction = program.instructions[index]
    if isinstance(instruction, LoopInstruction):
        return instruction.name, instruction.provenance.source
    return ValueNames(program).label(instruction), instruction.provenance.source


def _given(function: Function, inputs: Sequence[Any], named: dict[str, Any]) -> list[Any]:
    expected = ", ".join(wanted.label for wanted in function.inputs)
    if len(inputs) > len(function.inputs):
        raise ScanvizTypeError.here(
            f"`{function.name}` takes {some(len(function.inputs), 'input')}, {len(inputs)} were given",
            expected=expected,
        )
    left = dict(named)
    found: list[Any] = []
    for k, item in enumerate(function.inputs):
        name = item.name or ""
        value = inputs[k] if k < len(inputs) else left.pop(name, item.value)
        if value is None:
            raise ScanvizTypeError.here(
                f"the forecast of `{function.name}` needs the shape of input {item.label}"
            )
        found.append(_checked(function, item.label, item.variable.type, value))
    if left:
        raise ScanvizTypeError.here(
            f"`{function.name}` has no input named `{next(iter(left))}`", expected=expected
        )
    return found


def _checked(function: Function, label: str, kind: Any, value: Any) -> Any:
    shape = value if isinstance(value, tuple) else np.shape(value)
    ndim = kind.ndim if isinstance(kind, TensorType) else len(shape)
    sizes = all(isinstance(size, int | np.integer) and size >= 0 for size in shape)
    if len(shape) != ndim or not sizes:
        raise ScanvizTypeError.here(
            f"input {label} of `{function.name}` has the wrong shape",
            expected=f"{ndim} sizes, or an array of {ndim} dimensions",
            found=repr(value) if isinstance(value, tuple) else f"shape {shape}",
        )
    return tuple(map(int, value)) if isinstance(value, tuple) else value


class _Held(NamedTuple):
    """Memory of an instruction: bytes while it runs, bytes of its results, and results that view another array."""

    bytes: int
    made: dict[int, int]
    looks_into: dict[int, int]


class _Walk:
    """Walk through programs in order of execution, noting loops and values of unknown size."""

    def __init__(self, emits: Emits, tiers: Mapping[int, tuple[Grouping, Emits]]) -> None:
        self._emits, self._tiers = emits, tiers
        self.loops: dict[int, int] = {}
        self.unknown: list[int] = []

    def program(
        self, program: Program, planned: Plan, known: Known, is_whole: bool = False
    ) -> dict[int, int]:
        """Return the bytes held by a program's results during each instruction; with ``is_whole``, finally those of its outputs."""
        # arrays that are there, by the register that they were made for, with their bytes
        alive: dict[int, int] = {}
        bases: dict[int, int] = {}  # registers, with the array that they look into
        users: dict[int, int] = {}  # those of them that are needed
        most: dict[int, int] = {}
        in_order = _rows_in_order(program) if is_whole else frozenset()
        for index, instruction in enumerate(program.instructions):
            before = sum(alive.values())
            inside, made, shared = self._instruction(program, planned, known, index, instruction)
            for number, size in made.items():
                base = bases.get(shared.get(number, -1))
                base = _base(planned, instruction, number, bases, in_order) if base is None else base
                if base is not None:
                    bases[number] = users[number] = base
                    alive.setdefault(base, size)
            most[index] = max(before + inside, sum(alive.values()))
            for number in instruction.frees:
                users.pop(number, None)
            needed = set(users.values())
            alive = {base: size for base, size in alive.items() if base in needed}
        if is_whole:
            most[len(program.instructions)] = sum(alive.values()) + self._copies(
                program, planned, known, users
            )
        return most

    def _copies(self, program: Program, planned: Plan, known: Known, users: Mapping[int, int]) -> int:
        """Return the bytes of results that are copied because they share memory with inputs or one another."""
        seen: set[int | None] = {None}
        total = 0
        for number in program.outputs:
            base = users.get(number)
            total += self._bytes(program, planned, known, number) if base in seen else 0
            seen.add(base)
        return total

    def _instruction(
        self, program: Program, planned: Plan, known: Known, index: int, instruction: AnyInstruction
    ) -> _Held:
        """Return the additional bytes held while an instruction runs, and the bytes of its results."""
        if isinstance(instruction, LoopInstruction):
            return self._loop(known, planned.inner.get(index), instruction)
        made = {number: self._bytes(program, planned, known, number) for number in instruction.outputs}
        if isinstance(instruction, BranchInstruction):
            held = []
            for (side, reads), inner in zip(instruction.sides, planned.inner.get(index, ()), strict=False):
                pairs = dict(zip(side.inputs, reads, strict=True))
                there = known.inside(side, pairs, [known.shapes[number] for number in reads])
                held.append(max(self.program(side, inner, there).values(), default=0))
            return _Held(max(held, default=0), made, {})
        return _Held(0, made, {})

    def _bytes(self, program: Program, planned: Plan, known: Known, number: int) -> int:
        if isinstance(planned.places[number].location, Size) or is_scalar(program, number):
            return 0
        shape = known.shape(number)
        if shape is None:
            self.unknown.append(number)
            return 0
        return prod(shape) * itemsize_of(program, number)

    def _loop(self, known: Known, plans: Sequence[Plan] | None, loop: LoopInstruction) -> _Held:
        """Return the bytes held while a loop runs, and those of its results.

        The loop is planned as at run time, from shapes only.
        """
        steps, shapes = known.numbers.get(loop.n_steps), step_inputs(loop, known.shapes)
        inner = self._planned(loop, shapes) if not plans or loop.key in self._tiers else None
        inner = plans[0] if inner is None and plans else inner
        if steps is None or inner is None:
            self.unknown += loop.outputs
            return _Held(0, {}, _shared_rows(loop))
        pairs = {slot.inner: slot.outer for slot in loop.non_sequences}
        there = known.inside(loop.body, pairs, shapes)
        self.unknown += [
            number
            for number in fresh_registers(inner)
            if there.shape(number) is None and not is_scalar(loop.body, number)
        ]
        rows, made, over = _rows(loop, inner, there, max(int(steps), 0), known)
        whole = rows + inner.arena
        if steps > 0:
            whole += fresh_bytes(loop.body, inner, there)
            whole += max(self.program_in_step(loop.body, inner, there), default=0)
        self.loops[loop.key] = max(self.loops.get(loop.key, 0), whole)
        made |= {slot.result: 0 for slot in loop.carries if slot.result is not None}
        return _Held(whole, made, _shared_rows(loop) | over)

    def _planned(self, loop: LoopInstruction, given: Sequence[Partial]) -> Plan | None:
        """Return the plan of a loop for inputs of these shapes in C order; None if a shape is unknown."""
        shapes = [complete(shape) for shape in given]
        if None in shapes:
            return None
        groups, emits = self._tiers.get(loop.key, (single, self._emits))
        return plan_loop(loop, shapes, groups, emits, strides=_given_strides(loop, shapes))

    def program_in_step(self, body: Program, planned: Plan, known: Known) -> list[int]:
        """Return the bytes held by each loop and branch inside of a step while it runs."""
        return [
            self._instruction(body, planned, known, index, instruction).bytes
            for index, instruction in enumerate(body.instructions)
            if isinstance(instruction, LoopInstruction | BranchInstruction)
        ]


def _given_strides(loop: LoopInstruction, shapes: Sequence[ConcreteShape]) -> list[tuple[int, ...] | None]:
    """Return the strides of a step's inputs, for arrays in C order; those of rows written by the steps are unknown."""
    return [
        c_order(loop.body, read.inner, shape)
        if isinstance(read.slot, SequenceSlot | NonSequenceSlot)
        else None
        for read, shape in zip(passed(loop), shapes, strict=True)
    ]


def _shared_rows(loop: LoopInstruction) -> dict[int, int]:
    """Return the results of a loop that view an array: one it was given to work in, or an earlier result."""
    found: dict[int, int] = {}
    for slot in loop.states:
        seen = [slot.outer] if slot.in_place else []
        for number in (slot.result, slot.history):
            if number is not None:
                found |= {number: seen[0]} if seen else {}
                seen.append(number)
    return found


def _rows_in_order(program: Program) -> frozenset[int]:
    """Return the registers with rows surely in C order: reshaping them gives a view."""
    if not any(isinstance(one, LoopInstruction) for one in program.instructions):
        return frozenset()
    from scanviz.engine.program.rows_over import rows_turned

    return frozenset(number for number, turned in rows_turned(program).items() if not turned)


def _base(
    planned: Plan,
    instruction: AnyInstruction,
    number: int,
    bases: Mapping[int, int],
    in_order: Collection[int],
) -> int | None:
    """Return the register whose array a register views; None for arrays from outside the call."""
    place = planned.places[number]
    if place.over is not None:
        return bases.get(place.over, number)
    if isinstance(place.location, View):
        return bases.get(place.location.base)
    if not isinstance(instruction, LoopInstruction | BranchInstruction):
        viewed = instruction.op.declaration.views
        source = None if viewed is None else instruction.inputs[viewed]
        if source is not None and (
            instruction.op.facts.always_view
            or place.shape == planned.places[source].shape is not None
            or (instruction.op.name == "reshape" and source in in_order)
        ):
            return bases.get(source)  # a view of it, wherever its elements lie
    return None if place.location in (Where.GIVEN, Where.CONSTANT) else number


def _rows(loop: LoopInstruction, planned: Plan, known: Known, steps: int, around: Known) -> _Held:
    """Return the bytes of a loop's rows, and of the arrays that its results view.

    ``known`` is known in a step, ``around`` where the loop stands.
    """
    total, made, over = 0, dict[int, int](), dict[int, int]()
    for k, slot in enumerate(loop.states):
        store, given = planned.stores["state", k], around.shape(slot.outer)
        size = _rows_of(slot, steps, given) * store.row_bytes
        total += 0 if slot.in_place else size
        made.update({number: size for number in (slot.result, slot.history) if number is not None})
    for k, output in enumerate(loop.step_outputs):
        if output.result is not None:
            count = steps if output.keep_last is None else min(steps, output.keep_last)
            row = known.shape(output.inner)
            made[output.result] = count * (
                0 if row is None else prod(row) * itemsize_of(loop.body, output.inner)
            )
            sequence = planned.stores["output", k].over
            there = None if sequence is None else around.shape(loop.sequences[sequence].outer)
            is_over = there is not None and are_worth_over(count, made[output.result], there[0])
            if sequence is not None and is_over:
                over[output.result] = loop.sequences[sequence].outer
            else:
                total += made[output.result]
    return _Held(total, made, over)


def _rows_of(slot: StateSlot, steps: int, given: ConcreteShape) -> int:
    if slot.kind == "mitmot":
        return 0 if given is None else given[0]
    return ring_size(slot, steps) if wraps(slot) else slot.offset + steps
