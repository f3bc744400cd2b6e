"""The tables of derivatives: what every operation does to a cotangent (reverse mode) and to a tangent (forward mode).

For ``y = f(x)`` with Jacobian J, a *pullback* maps a cotangent of y to Jᵀ times it, a *pushforward* maps a tangent of x to
J times it.  Rows are written in the file of the op's family in this package and found by declaration.

Three things can be said of an input instead of a variable:

- ``None``: the derivative is zero there (``floor``, or no cotangent arrives);
- :class:`Undefined`: there is no derivative, and why (a draw that is no smooth function of its parameter);
- nothing at all, where a row in :data:`CONNECTIONS` says that an output does not depend on the *values* of an input in a
  way that has a derivative: a shape, an index, a random state.  Without a row, every output depends on every input.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from scanviz.engine.graph.meaning_table import MeaningTable
from scanviz.engine.graph.nodes import Apply, Variable
from scanviz.engine.graph.provenance import SourceLine


class Undefined(Struct, frozen=True):
    """A derivative that does not exist.

    Attributes
    ----------
    why : str
        The reason, in words.
    where : SourceLine or None
        The user's line of the operation.
    instead : str
        What to write instead, where there is more to say than to take it as constant.
    through : Variable or None
        What has no derivative, where it is known.
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
    """Return the connection pattern of an op of which only inputs at these positions count."""

    def pattern(node: Apply) -> Sequence[Sequence[bool]]:
        return [[k in positions] * len(node.outputs) for k in range(len(node.inputs))]

    return pattern


def nothing(node: Apply) -> Sequence[Sequence[bool]]:
    """Return the connection pattern of an op that depends on none of its inputs' values."""
    return [[False] * len(node.outputs) for _ in node.inputs]
