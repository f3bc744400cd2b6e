"""Shapes before there are values: the sizes of a variable in sizes of the inputs.

Every op's one shape rule is run over sizes: ints where they are known, polynomials where not.  Where an op has no rule the size of
its output is an unknown itself.  Loops, which are above this layer, have a rule in :data:`SYMBOLIC_SHAPE_RULES`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from scanviz.engine.errors import ScanvizError
from scanviz.engine.graph.meaning_table import MeaningTable
from scanviz.engine.graph.nodes import Apply, Variable
from scanviz.engine.graph.types import TensorType
from scanviz.engine.ops.sizes import is_whole, known_sizes, size_of, surely_equal
from scanviz.engine.sizes.dims import Dim, Dims
from scanviz.engine.sizes.polynomial import Polynomial, Unknown

Shape = tuple[Any, ...]  # of ints and polynomials
ShapeOf = Callable[[Variable], Shape]
SYMBOLIC_SHAPE_RULES: MeaningTable[Callable[[Apply, ShapeOf], Sequence[Shape | None]]] = MeaningTable(
    "symbolic shape rule", "engine/scan/shapes.py"
)


def shape_of(variable: Variable, known: dict[Variable, Shape] | None = None) -> Shape:
    """Return the sizes of a variable as ints and polynomials that need none of its values.

    Parameters
    ----------
    variable : Variable
        A tensor.
    known : dict, optional
        Shapes found so far, shared between calls; by default those of the block (:func:`~scanviz.engine.ops.sizes.sizes_kept`).
    """
    memory = known_sizes().shapes if known is None else known
    found = memory.get(variable)
    if found is None:  # it mostly is there
        stack = [variable]
        while stack:
            sized = stack[-1]
            if sized not in memory:
                node, kind, above = sized.owner, sized.type, len(stack)
                if node is not None and isinstance(kind, TensorType) and None in kind.shape:
                    for operand in node.inputs:
                        if operand not in memory and isinstance(operand.type, TensorType):
                            stack.append(operand)
                if len(stack) > above:
                    continue
                memory[sized] = _own_shape(sized, memory)
            stack.pop()
        found = memory[variable]
    return found


def same_shape(first: Variable, second: Variable) -> bool:
    """Return whether two variables surely have one shape."""
    a, b = shape_of(first), shape_of(second)
    return len(a) == len(b) and all(map(surely_equal, a, b))


def _own_shape(variable: Variable, memory: dict[Variable, Shape]) -> Shape:
    kind = variable.type
    if not isinstance(kind, TensorType):
        return ()
    if None not in kind.shape:
        return kind.shape
    return _completed(variable, _by_rule(variable, memory))


def _completed(variable: Variable, found: Shape | None) -> Shape:
    """Return the sizes of a variable: those of its type, then those a rule found, then questions to the variable."""
    kind = variable.type
    if not isinstance(kind, TensorType):
        return ()
    sizes: list[Dim] = []
    for axis, size in enumerate(kind.shape):
        inferred = found[axis] if found is not None and size is None else size
        sizes.append(Polynomial.of(Unknown(variable, axis)) if inferred is None else inferred)
    return tuple(sizes)


def _by_rule(variable: Variable, memory: dict[Variable, Shape]) -> Shape | None:
    node = variable.owner
    if node is None:
        return None
    rule = node.op.declaration.shapes
    special = SYMBOLIC_SHAPE_RULES.get(node.op.declaration) if rule is None else None
    if special is not None:
        every = special(node, lambda operand: shape_of(operand, memory))
        for output, found in zip(node.outputs, every, strict=True):  # all at once: a loop has many
            if output is not variable:
                memory.setdefault(output, _completed(output, found))
        return every[variable.index]
    if rule is None:
        return None
    shapes = [memory[operand] if isinstance(operand.type, TensorType) else () for operand in node.inputs]
    try:
        found = rule(node.op, Dims(shapes, lambda k: _value(node.inputs[k])))[variable.index]
    except ScanvizError:
        return None  # sizes that contradict one another are reported where the values are computed
    return found if len(found) == len(variable.type.shape) else None


def _value(variable: Variable) -> Dim:
    return size_of(variable) if is_whole(variable) else None
