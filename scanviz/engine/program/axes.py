"""Which axes a step of a loop never mixes: row r of every result depends on row r of every state and sequence alone.

Such rows can be computed apart from one another: in strips, by threads over a batch, in one kernel on a GPU.  Axes of registers
that an operation goes along (:mod:`scanviz.engine.ops.axes`) are one *class*, as are those of a state that is read and written.  A
class is kept unless an instruction mixes one of its axes, or a register has two of them.  What is computed of non-sequences alone
is the same in every step and may be read as a whole, so it mixes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum

from msgspec import Struct

from scanviz.engine.program.axis_classes import Axis, AxisClasses, Mixing
from scanviz.engine.program.instructions import LoopInstruction, rank_of
from scanviz.engine.program.shapes import ConcreteShape, partial_shapes


class StepKind(Enum):
    """How a step mixes elements.

    ``ELEMENTWISE``: along no axis of what goes in or out.  ``ROWS``: never along some axis that every state has.  ``MATRIX``: along
    all axes of some state, by products of matrices alone.  ``OTHER``: in other ways.
    """

    ELEMENTWISE = "elementwise"
    ROWS = "row-local"
    MATRIX = "matrix recurrence"
    OTHER = "other"


class StepAxes(Struct, frozen=True):
    """Which axes of a loop's step are kept, and what mixes the others.

    Attributes
    ----------
    kind : StepKind
        How the step mixes elements.
    kept : tuple of tuple of Axis
        Axes of what goes into the step and out of it, those that belong together in one tuple: row r of all of them depends on row
        r of all of them alone.  A kept axis of every state comes first.
    mixings : tuple of Mixing
        What mixes other axes of what goes in, in the order of the step.
    """

    kind: StepKind
    kept: tuple[tuple[Axis, ...], ...]
    mixings: tuple[Mixing, ...]


def step_axes(loop: LoopInstruction, shapes: Sequence[ConcreteShape] | None = None) -> StepAxes:
    """Return which axes a loop's step never mixes.

    Parameters
    ----------
    loop : LoopInstruction
        The loop.
    shapes : sequence, optional
        Of the step's inputs; what follows from them is exact.  Without them sizes that are not known are taken for equal where they
        meet: an axis that is broadcast only when it is run would be another.

    Examples
    --------
    >>> import scanviz
    >>> from scanviz import tensor as T
    >>> from scanviz.engine.program.instructions import loops
    >>> x, w = T.tensor3("x"), T.matrix("w")
    >>> h, _ = scanviz.scan(lambda x_t, h, w: T.tanh(x_t + T.dot(h, w)), x, T.zeros((5, 3)), w)
    >>> (loop,) = loops(scanviz.function([x, w], h).program)
    >>> found = step_axes(loop)
    >>> found.kind.value, [(loop.body.registers[axis.register].name, axis.axis) for axis in found.kept[0][:2]]
    ('row-local', [('x[t]', 0), ('h[t-1]', 0)])
    """
    body = loop.body
    known = partial_shapes(body, shapes or [None] * len(body.inputs))
    classes = AxisClasses(exact=shapes is not None)
    given = [slot.inner for slot in loop.sequences] + [carry.read for carry in loop.carries]
    classes.step(loop, known, [*given, *(number for state in loop.states for _, number in state.reads)])

    def axes(number: int) -> list[Axis]:
        several = [k for k in range(rank_of(body, number)) if known[number][k] != 1]
        return [Axis(number, k) for k in several]  # of one row there is nothing to say

    around = [axis for number in _around(loop) for axis in axes(number)]
    states = [axes(state.writes[0][1]) for state in loop.states]
    kept: dict[object, list[Axis]] = {}
    for axis in around:
        if not classes.mixings(body, axis):
            kept.setdefault(classes.root(body, axis), []).append(axis)
    of_all = [group for group in kept.values() if _covers(group, states if any(states) else [around])]
    found = [*of_all, *(group for group in kept.values() if group not in of_all)]
    mixed = {mixing for axis in around for mixing in classes.mixings(body, axis)}
    of_states = [mixing for state in states for axis in state for mixing in classes.mixings(body, axis)]
    return StepAxes(
        _kind(bool(mixed), bool(of_all), of_states),
        tuple(map(tuple, found)),
        tuple(sorted(mixed, key=lambda mixing: mixing.order)),
    )


def _kind(mixed: bool, rows: bool, of_states: Sequence[Mixing]) -> StepKind:
    if not mixed:
        return StepKind.ELEMENTWISE
    if rows:
        return StepKind.ROWS
    products = of_states and all(state.instruction.op.facts.product for state in of_states)
    return StepKind.MATRIX if products else StepKind.OTHER


def _covers(axes: Sequence[Axis], states: Sequence[Sequence[Axis]]) -> bool:
    """Return whether every state that has axes has one of some axes."""
    return all(not state or not set(axes).isdisjoint(state) for state in states)


def _around(loop: LoopInstruction) -> Iterator[int]:
    """Iterate over the registers that a step reads from slots and writes to them, non-sequences apart."""
    found = [slot.inner for slot in loop.sequences]
    found += [number for state in loop.states for _, number in (*state.reads, *state.writes)]
    return iter(dict.fromkeys([*found, *(slot.inner for slot in loop.step_outputs)]))
