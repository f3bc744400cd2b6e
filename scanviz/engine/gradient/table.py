"""Tables of derivatives: how every operation maps a cotangent (reverse mode) and a tangent (forward mode).

For ``y = f(x)`` with Jacobian J, a *pullback* maps a cotangent of y to Jᵀ times it, a *pushforward* maps a tangent of x to
J times it.  Rows are written in the file of the op's family in this package and found by declaration.

Instead of a variable, a pullback may return for an input:

- ``None``: the derivative is zero there (``floor``, or no cotangent arrives);
- :class:`Undefined`: there is no derivative, and why (a draw that is no smooth function of its parameter);
- nothing at all, where an output, by a row in :data:`CONNECTIONS`, does not depend on the *values* of an input in a
  way that has a derivative: a shape, an index, a random state.  Without a row, every output depends on every input.

Decorators write rows of common kinds: operations with one output, of one input, linear, passing a value on.  Sweeps ask a row only
where something arrives, so such a row gets that one variable and has no case for None.  Zeros like a variable, and sums that undo
broadcasting, take sizes from shape rules and never from values, so that a gradient does not keep a value for its shape alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from msgspec import Struct

from scanviz.engine.graph.declaration import Declaration, Op
from scanviz.engine.graph.meaning_table import MeaningTable
from scanviz.engine.graph.nodes import Apply, Variable, build_one, tensor_type
from scanviz.engine.graph.provenance import SourceLine
from scanviz.engine.ops.reduce import SUM_TO_SHAPE
from scanviz.engine.ops.reduce import sum as sum_over
from scanviz.engine.ops.shape import ConstantOf, alloc, reshape
from scanviz.engine.ops.sizes import as_size, surely_equal
from scanviz.engine.ops.symbolic_shape import same_shape, shape_of


class Undefined(Struct, frozen=True):
    """A derivative that does not exist.

    Attributes
    ----------
    why : str
        The reason, in words.
    where : SourceLine or None
        The user's line of the operation.
    instead : str
        The code to write instead, where that is more than to take it as constant.
    through : Variable or None
        The variable without a derivative, where it is known.
    """

    why: str
    where: SourceLine | None = None
    instead: str = ""
    through: Variable | None = None


Derivative = Variable | Undefined | None
Derivatives = Sequence[Derivative]
Arriving = Sequence[Variable | None]  # cotangents of outputs, or tangents of inputs: None where none arrives

# pullback(node, cotangents of its outputs, which inputs are wanted) → one entry an input
Pullback = Callable[[Apply, Arriving, Sequence[bool]], Derivatives]
# pushforward(node, tangents of its inputs) → one entry an output
Pushforward = Callable[[Apply, Arriving], Derivatives]
# connection(node) → pattern[input][output]
Connection = Callable[[Apply], Sequence[Sequence[bool]]]

PLACE = "engine/gradient/{family}.py"
PULLBACKS: MeaningTable[Pullback] = MeaningTable("pullback", PLACE)
PUSHFORWARDS: MeaningTable[Pushforward] = MeaningTable(
    "pushforward", PLACE, "engine/gradient/{family}_forward.py"
)
CONNECTIONS: MeaningTable[Connection] = MeaningTable("connection pattern", PLACE)


def connection(node: Apply) -> Sequence[Sequence[bool]]:
    """Return ``pattern[input][output]`` of a node: which outputs have a derivative with respect to which inputs."""
    row = CONNECTIONS.get(node.op.declaration)
    return row(node) if row is not None else [[True] * len(node.outputs)] * len(node.inputs)


def only(*positions: int) -> Connection:
    """Return the connection pattern of an op that depends only on the inputs at these positions."""

    def pattern(node: Apply) -> Sequence[Sequence[bool]]:
        return [[k in positions] * len(node.outputs) for k in range(len(node.inputs))]

    return pattern


def nothing(node: Apply) -> Sequence[Sequence[bool]]:
    """Return the connection pattern of an op that depends on none of its inputs' values."""
    return [[False] * len(node.outputs) for _ in node.inputs]


Rule = TypeVar("Rule")
Row = TypeVar("Row")
# (node, cotangent of its output, which inputs are wanted) → one entry an input
OfOutput = Callable[[Apply, Variable, Sequence[bool]], Derivatives]
# (node, tangent of its first input) → one entry an output
OfInput = Callable[[Apply, Variable], Derivatives]
# (node, cotangent of its output) → that of its first input; (node, tangent of its first input) → that of its output
OfOne = Callable[[Apply, Variable], Derivative]


def _kept(
    table: MeaningTable[Row], declarations: Sequence[Declaration], as_row: Callable[[Rule], Row]
) -> Callable[[Rule], Rule]:
    """Return a decorator that stores a rule as a row of a table."""

    def keep(rule: Rule) -> Rule:
        table.row(*declarations)(as_row(rule))
        return rule

    return keep


def _arrived(arriving: Arriving) -> Variable:
    assert arriving[0] is not None
    return arriving[0]


def cotangents_of(*declarations: Declaration) -> Callable[[OfOutput], OfOutput]:
    """Decorate the pullback of operations with one output."""
    return _kept(
        PULLBACKS, declarations, lambda rule: lambda node, g, wanted: rule(node, _arrived(g), wanted)
    )


def cotangent_of(*declarations: Declaration) -> Callable[[OfOne], OfOne]:
    """Decorate the pullback of operations with one output of whose inputs the first alone has a derivative."""

    def as_row(rule: OfOne) -> Pullback:
        return lambda node, g, wanted: [rule(node, _arrived(g)), *[None] * (len(node.inputs) - 1)]

    return _kept(PULLBACKS, declarations, as_row)


def tangents_of(*declarations: Declaration) -> Callable[[OfInput], OfInput]:
    """Decorate the pushforward of operations of whose inputs the first alone has a derivative."""
    return _kept(PUSHFORWARDS, declarations, lambda rule: lambda node, t: rule(node, _arrived(t)))


def tangent_of(*declarations: Declaration) -> Callable[[OfOne], OfOne]:
    """Decorate the pushforward of operations with one output of whose inputs the first alone has a derivative."""
    return _kept(PUSHFORWARDS, declarations, lambda rule: lambda node, t: [rule(node, _arrived(t))])


def linear(*declarations: Declaration, inputs: Sequence[int] | None = None) -> None:
    """Say that operations are linear, in all inputs together or in those at some positions, and connected to no others.

    The tangent of the result is then the operation itself of the tangents.
    """
    if inputs is not None:
        CONNECTIONS.row(*declarations)(only(*inputs))

    @PUSHFORWARDS.row(*declarations)
    def row(node: Apply, tangents: Arriving) -> Derivatives:
        given = list(node.inputs)
        for k in range(len(given)) if inputs is None else inputs:
            tangent = tangents[k]
            given[k] = zeros_like(given[k]) if tangent is None else tangent
        return [build_one(node.op, *given)]


def passes(*declarations: Declaration) -> None:
    """Say that the result of operations is their first input, and that they are connected to no others."""
    CONNECTIONS.row(*declarations)(only(0))
    cotangent_of(*declarations)(lambda node, cotangent: cotangent)
    tangent_of(*declarations)(lambda node, tangent: tangent)


def zeros_like(variable: Variable) -> Variable:
    """Return zeros of the shape and dtype of a variable."""
    return full_like(variable, 0)


def full_like(variable: Variable, value: float) -> Variable:
    """Return a number repeated in the shape and dtype of a variable."""
    number = ConstantOf(value, tensor_type(variable).dtype, variable)
    shape = shape_of(variable)
    return alloc(number, [as_size(size) for size in shape]) if shape else number


def reshape_like(value: Variable, like: Variable) -> Variable:
    """Return the same elements in the shape of another variable."""
    shape = shape_of(like)
    return reshape(value, [as_size(size) for size in shape], ndim=len(shape))


def sum_to_shape(value: Variable, like: Variable) -> Variable:
    """Return ``value`` summed over the axes along which ``like`` was stretched to its shape.

    Parameters
    ----------
    value : Variable
        A cotangent of something that ``like`` was broadcast into.
    like : Variable
        The broadcast variable; only its shape counts.
    """
    wanted, given = shape_of(like), shape_of(value)
    lead = len(given) - len(wanted)
    if lead:
        value = sum_over(value, axis=tuple(range(lead)))
        given = given[lead:]
    pairs = list(zip(wanted, given, strict=True))
    if any(not isinstance(a, int) and b != 1 and not surely_equal(a, b) for a, b in pairs):  # it may be 1
        return build_one(Op(SUM_TO_SHAPE), value, *[as_size(size) for size in wanted])
    stretched = tuple(k for k, (a, b) in enumerate(pairs) if a == 1 and b != 1)
    return sum_over(value, axis=stretched, keepdims=True) if stretched else value


def broadcast_like(value: Variable, like: Variable) -> Variable:
    """Return ``value`` stretched to the shape of ``like``."""
    if same_shape(value, like):
        return value
    return alloc(value, [as_size(size) for size in shape_of(like)])
