"""Partition the rows of a batch, so that each thread takes one part through all steps.

This is possible if a step never mixes some axis (:mod:`scanviz.engine.program.axes`), the first axis of all arrays that have it.  A
part is the same loop over fewer rows, in place in the whole loop's arrays, so threads wait for one another only at the end.
Parts begin at whole registers, so the bits do not depend on the number of threads.  All parts have the same number of rows and
share one code, except the last: a batch of 50 splits into 32 + 18 rows, and the remainder has its own code.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from scanviz.engine.errors import ScanvizError
from scanviz.engine.ops.shape import ALLOC
from scanviz.engine.program.axes import Axis, StepKind, step_axes
from scanviz.engine.program.instructions import AnyInstruction, Instruction, LoopInstruction, has_effects
from scanviz.engine.program.plan import Emits, Grouping, Plan, Size, plan_loop
from scanviz.engine.program.shapes import ConcreteShape

ROWS = 16  # parts begin at multiples of this: the lanes of the widest registers for float32


class Parts(Struct, frozen=True):
    """The partition of a loop.

    Attributes
    ----------
    count : int
        The number of parts.
    rows, last_rows : int
        The rows of each part, and of the last.
    plan, last_plan : Plan
        The plans of the step for a part and for the last one.
    sequences, fixed : frozenset of int
        Sequences and non-sequences that are divided; each part reads the whole of the others.
    """

    count: int
    rows: int
    last_rows: int
    plan: Plan
    last_plan: Plan
    sequences: frozenset[int]
    fixed: frozenset[int]

    @property
    def size(self) -> int:
        """Number of rows of the loop."""
        return (self.count - 1) * self.rows + self.last_rows

    @property
    def is_uneven(self) -> bool:
        """True if the last part has fewer rows, and so its own code."""
        return self.rows != self.last_rows


class _WholeError(Exception):
    """A loop cannot be partitioned."""


def parts_of(
    loop: LoopInstruction,
    shapes: Sequence[ConcreteShape],
    rows: Sequence[ConcreteShape],
    whole: Plan,
    most: int,
    how: tuple[Grouping, Emits],
) -> Parts | None:
    """Return the partition of a loop into at most ``most`` parts, None if it has none.

    Parameters
    ----------
    shapes, rows : sequence of shape
        The shapes of the step's inputs, and of the states' rows.
    whole : Plan
        The plan of the whole loop.
    how : tuple
        The grouping and what can be emitted, for plans.
    """
    if loop.until is not None or loop.carries or has_effects(loop.body) or whole.mismatch is not None:
        return None
    if not all(isinstance(part, Instruction) for part in loop.body.instructions):
        return None
    found = step_axes(loop, shapes)
    if found.kind not in (StepKind.ELEMENTWISE, StepKind.ROWS):
        return None
    for axes in found.kept:
        try:
            return _divided(loop, shapes, rows, whole, most, how, axes)
        except (_WholeError, ScanvizError):
            continue
    return None


def _written(loop: LoopInstruction) -> list[int]:
    """Return the registers of the states' and outputs' rows, which a part shares."""
    found = [number for state in loop.states for _, number in (*state.reads, *state.writes)]
    return [*found, *(slot.inner for slot in loop.step_outputs)]


def shares(size: int, most: int) -> tuple[int, int, int]:
    """Return the number of parts, the rows of each, and the rows of the last.

    The longest part is as short as possible; among such ways equal parts are preferred, then few.

    Examples
    --------
    >>> shares(64, 2), shares(50, 2), shares(100, 3), shares(31, 2)
    ((2, 32, 32), (2, 32, 18), (3, 32, 36), (1, 31, 31))
    """
    found = [(size, False, 1, size, size)]
    for count in range(2, most + 1):
        below = size // count // ROWS * ROWS
        for rows in (below, below + ROWS):
            last = size - (count - 1) * rows
            if rows and last >= ROWS:
                found.append((max(rows, last), rows != last, count, rows, last))
    return min(found)[2:]


def _divided(
    loop: LoopInstruction,
    shapes: Sequence[ConcreteShape],
    state_rows: Sequence[ConcreteShape],
    whole: Plan,
    most: int,
    how: tuple[Grouping, Emits],
    axes: Sequence[Axis],
) -> Parts:
    """Return the partition along one class of axes, or raise."""
    body = loop.body
    around = {axis.register for axis in axes}
    _must(all(axis.axis == 0 for axis in axes))
    _must(all(number in around for number in _written(loop)))
    sizes = {_shape(whole, number)[0] for number in around}
    _must(len(sizes) == 1)
    (size,) = sizes
    count, rows, last_rows = shares(size, most)
    _must(count > 1)
    _must(not any(_counts_places(line, whole, size) for line in body.instructions))
    along = _going_along(loop, whole, around, size)
    divided = along.intersection(body.inputs)

    def plan_of(wanted: int) -> Plan:
        """Return the plan of a part with ``wanted`` rows, or raise."""
        smaller = [
            _part(shape, wanted) if number in divided else shape
            for number, shape in zip(body.inputs, shapes, strict=True)
        ]
        plan = plan_loop(loop, smaller, how[0], how[1], [_part(shape, wanted) for shape in state_rows])
        # a part would write beyond its own rows
        _must(all(_shape(plan, number)[0] == wanted for number in around))
        _check_stores(loop, whole, plan, divided)
        _check_sizes(loop, whole, plan)
        _check_shapes(loop, whole, plan, along)
        return plan

    plan = plan_of(rows)
    return Parts(
        count,
        rows,
        last_rows,
        plan,
        plan if last_rows == rows else plan_of(last_rows),
        frozenset(k for k, slot in enumerate(loop.sequences) if slot.inner in divided),
        frozenset(k for k, slot in enumerate(loop.non_sequences) if slot.inner in divided),
    )


def _must(holds: bool) -> None:
    if not holds:
        raise _WholeError


def _shape(plan: Plan, number: int) -> tuple[int, ...]:
    shape = plan.places[number].shape
    if shape is None:
        raise _WholeError
    return shape


def _part(shape: ConcreteShape, rows: int) -> ConcreteShape:
    if not shape:
        raise _WholeError
    return (rows, *shape[1:])


def _going_along(loop: LoopInstruction, whole: Plan, around: set[int], size: int) -> set[int]:
    """Return the registers whose rows the parts divide among them.

    A sequence counts as well if the step reads only its sizes, as in the loop of a gradient.
    """
    body = loop.body
    read = {number for line in body.instructions if line.op.facts.size != "is" for number in line.inputs}
    sized = {slot.inner for slot in loop.sequences} - read.union(body.outputs)
    along = around.union(number for number in sized if _shape(whole, number)[:1] == (size,))
    as_whole = set[int]()
    made = {number: maker for maker in body.instructions for number in maker.outputs}
    for instruction in body.instructions:
        assert isinstance(instruction, Instruction)
        if instruction.op.facts.size == "is":
            continue
        with_rows = _operands_with_rows(instruction, whole, along)
        if any(number in along for number in instruction.inputs):
            _must(with_rows is not None)
            for number in with_rows or ():
                if number not in along:
                    _must(number not in body.constants and _is_of_one_number(made.get(number)))
                    along.add(number)
            along.update(instruction.outputs)
        as_whole.update(number for number in instruction.inputs if number not in (with_rows or ()))
    _must(along.isdisjoint(as_whole))
    return along


def _is_of_one_number(maker: object) -> bool:
    """Return whether a part can cut a loop invariant: an input, or a filled array."""
    return maker is None or (isinstance(maker, Instruction) and maker.op.declaration is ALLOC)


def _counts_places(line: AnyInstruction, whole: Plan, size: int) -> bool:
    """Return whether an instruction acts on rows by number, which changes in a part."""
    placed = line.op.facts.placed
    shapes = [_shape_or_number(whole, number)[:1] for number in line.outputs]
    return placed is not None and 0 in placed(line.op) and (size,) in shapes


def _operands_with_rows(instruction: Instruction, whole: Plan, along: set[int]) -> set[int] | None:
    """Return the inputs that share the first axis of the results, None if there are none."""
    shapes = [_shape_or_number(whole, number) for number in instruction.inputs]
    results = [_shape_or_number(whole, number) for number in instruction.outputs]
    rule = instruction.op.facts.axes
    if rule is None:
        return None
    found: set[int] = set()
    for axes in rule(instruction.op, shapes, results):
        if not axes or not any(instruction.inputs[k] in along for k in axes[0]):
            return None
        _must(all(axis == 0 for axis in axes[0].values()))
        found.update(instruction.inputs[k] for k in axes[0])
    return found


def _shape_or_number(plan: Plan, number: int) -> tuple[int, ...]:
    return plan.places[number].shape or ()


def _check_stores(loop: LoopInstruction, whole: Plan, part: Plan, divided: set[int]) -> None:
    """Check that rows are stored as in the whole loop, over rows that are the part's own."""
    _must(part.mismatch is None and part.groups == whole.groups)
    for key, store in part.stores.items():
        alike = store.kind is whole.stores[key].kind and store.over == whole.stores[key].over
        _must(alike and not store.checked and store.row is not None)
        _must(store.over is None or loop.sequences[store.over].inner in divided)


def _check_sizes(loop: LoopInstruction, whole: Plan, part: Plan) -> None:
    """Check that sizes that differ in a part are used only for shapes."""
    sizes = {
        number
        for number, (one, other) in enumerate(zip(whole.places, part.places, strict=True))
        if isinstance(one.location, Size) and one.location != other.location
    }
    for index, line in enumerate(loop.body.instructions):
        if index in part.idle or sizes.issuperset(line.outputs) or sizes.isdisjoint(line.inputs):
            continue
        assert isinstance(line, Instruction)
        _must(_reads_sizes_alone(line) and line.inputs[0] not in sizes)


def _check_shapes(loop: LoopInstruction, whole: Plan, part: Plan, along: set[int]) -> None:
    """Check that only rows are shorter in a part; copies of a number may be summed, too."""
    idle = {number for index in part.idle for number in loop.body.instructions[index].outputs}
    for number, (one, other) in enumerate(zip(whole.places, part.places, strict=True)):
        _must(one.shape == other.shape or number in along or number in idle)


def _reads_sizes_alone(instruction: Instruction) -> bool:
    """Return whether all inputs but the first are sizes of the result."""
    facts, views = instruction.op.facts, instruction.op.declaration.views
    return (facts.same_elements or views is not None) and not facts.selects and facts.axes is not None
