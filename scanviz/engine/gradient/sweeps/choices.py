"""Draws of discrete values, such as a poisson number: results computed from one have no derivative by its parameters.

The values are whole numbers, which have no derivative.  A gradient would simply stop there, and the influence of the parameter
on the cost by way of the draw would be missing without a word.  Instead the parameter's derivative is Undefined wherever what
is differentiated depends on the *value* that was drawn, whatever dtypes lie between: through casts, arithmetic, comparisons,
loops.  Selections do not count: an index, the condition of ``where`` or ``ifelse``, a size, a stop condition.  They are
constants to a gradient wherever they come from, so ``log(p)[category]`` has the derivative that a score function needs.  Nor
does a value count that went through ``disconnected_grad`` or ``zero_grad``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import NamedTuple

from scanviz.engine.gradient.table import PLACE, Undefined, connection
from scanviz.engine.graph.meaning_table import MeaningTable
from scanviz.engine.graph.nodes import Apply, Variable
from scanviz.engine.ops import elementwise as e
from scanviz.engine.ops.control import ZERO_GRAD


class Choice(NamedTuple):
    """An output of a node that an input selects without being a smooth function of it."""

    input: int
    output: int
    why: Undefined


# choices(node) → what it chooses; an op without a row chooses nothing
CHOICES: MeaningTable[Callable[[Apply], Sequence[Choice]]] = MeaningTable("list of choices", PLACE)
# flow(node) → pattern[input][output] of values of any dtype, where it is not the connection pattern
FLOWS: MeaningTable[Callable[[Apply], Sequence[Sequence[bool]]]] = MeaningTable("flow of values", PLACE)

FLOWS.row(e.where)(lambda node: [[False], [True], [True]])
FLOWS.row(ZERO_GRAD)(lambda node: [[False]])


def flow(node: Apply) -> Sequence[Sequence[bool]]:
    """Return ``pattern[input][output]`` of a node: whether an output depends on an input's value, selections excluded."""
    row = FLOWS.get(node.op.declaration)
    return row(node) if row is not None else connection(node)


def choices_of(node: Apply) -> Sequence[Choice]:
    """Return the random choices of a node."""
    row = CHOICES.get(node.op.declaration)
    return () if row is None else row(node)


def undefined_parameters(
    nodes: Sequence[Apply],
    reached: Collection[Variable],
    outputs: Collection[Variable],
    stop: Collection[Variable],
) -> Iterator[tuple[Variable, Undefined]]:
    """Yield the variables that choose something that ``outputs`` depend on.

    Parameters
    ----------
    nodes : sequence of Apply
        The graph, in the order of computation.
    reached : collection of Variable
        Those that a derivative is asked of.
    outputs : collection of Variable
        The differentiated variables.
    stop : collection of Variable
        Taken as constants.
    """
    made = [
        (node, choice)
        for node in nodes
        for choice in choices_of(node)
        if node.inputs[choice.input] in reached
    ]
    if not made:
        return
    flowing = flowing_into(nodes, outputs, stop)
    for node, choice in made:
        if node.outputs[choice.output] in flowing:
            yield node.inputs[choice.input], choice.why


def flowing_into(
    nodes: Sequence[Apply], outputs: Collection[Variable], stop: Collection[Variable] = ()
) -> set[Variable]:
    """Return the variables on whose values ``outputs`` depend."""
    flowing = set(outputs) - set(stop)
    for node in reversed(nodes):
        mine = [k for k, output in enumerate(node.outputs) if output in flowing]
        if mine:
            pattern = flow(node)
            flowing.update(
                variable
                for k, variable in enumerate(node.inputs)
                if variable not in stop and any(pattern[k][j] for j in mine)
            )
    return flowing
