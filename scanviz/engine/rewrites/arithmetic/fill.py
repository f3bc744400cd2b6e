"""Numbers that were spread over an array only to be multiplied with one: elementwise operations do that by themselves.

The gradient of a sum is one number at every element.  An elementwise operation of that and of an array of the same
shape gives the same with the number itself, but for exponents; and a product with 1 is the other factor.
"""

from __future__ import annotations

from collections.abc import Sequence

from scanviz.engine.graph.nodes import Apply, Constant, Variable, build_one, rebuild, tensor_type
from scanviz.engine.graph.provenance import made_by
from scanviz.engine.graph.types import FLOATS
from scanviz.engine.ops import elementwise as e
from scanviz.engine.ops.elementwise_declaration import ElementwiseDeclaration
from scanviz.engine.ops.shape import ALLOC, DIMSHUFFLE
from scanviz.engine.ops.sizes import surely_equal
from scanviz.engine.ops.symbolic_shape import same_shape, shape_of
from scanviz.engine.rewrites.level import Level
from scanviz.engine.rewrites.rule import GENERAL, Rewritten, graph_rule

NAME = "unfill"


@graph_rule(name=NAME, phase=GENERAL, tags=("general",))
def unfill(level: Level) -> Rewritten | None:
    """Take filled arrays apart where an elementwise operation fills them anyway."""
    count = 0

    def unfilled(node: Apply) -> Sequence[Variable]:
        nonlocal count
        if not isinstance(node.op.declaration, ElementwiseDeclaration) or len(node.inputs) != 2:
            return node.outputs
        plain = _without_fill(node)
        count += plain is not node
        same = _of_fills(plain)
        same = _other_factor(plain) if same is None else same
        count += same is not None
        return plain.outputs if same is None else [same]

    outputs = level.node_by_node(unfilled)
    return Rewritten(outputs, f"{count} filled arrays are numbers again") if count else None


def _without_fill(node: Apply) -> Apply:
    """Return an operation of a filled array and another over the filling value, if the other has the whole shape."""
    for k, variable in enumerate(node.inputs):
        filled, other = variable.owner, node.inputs[1 - k]
        if filled is None or filled.op.declaration is not ALLOC or not same_shape(variable, other):
            continue
        if node.op.declaration is e.power and k == 1:
            continue  # of one exponent for all, NumPy takes squares and roots: (-inf) ** 0.5 is no infinity then
        if other.owner is not None and other.owner.op.declaration is ALLOC:
            continue  # two filled arrays: see _of_fills
        if node.op.declaration is e.add and not _repeats_only_what_it_says(filled.inputs[0], other):
            continue  # a gradient's summand has its row's shape, but for sizes declared to be 1: see mitmot_to_sitsot
        inputs = list(node.inputs)
        inputs[k] = filled.inputs[0]
        with made_by(NAME, node.provenance, (node.node_id,)):
            return rebuild(node, inputs)
    return node


def _repeats_only_what_it_says(value: Variable, whole: Variable) -> bool:
    """Return whether a value that fills an array is known to have one element along each size that differs from the array's."""
    sizes, wanted = shape_of(value), shape_of(whole)
    return all(
        one == 1 or surely_equal(one, other)
        for one, other in zip(sizes, wanted[len(wanted) - len(sizes) :], strict=True)
    )


def _of_fills(node: Apply) -> Variable | None:
    """Return an operation of two filled arrays of one shape, or of one and a number, as one filled array.

    An array may have no elements, and then nothing is computed for it: one element is computed only where that cannot fail.
    """
    if node.op.facts.raises and tensor_type(node.outputs[0]).dtype not in FLOATS:
        return None
    for k, variable in enumerate(node.inputs):
        other, filled = node.inputs[1 - k], variable.owner
        if filled is not None and filled.op.declaration is ALLOC and tensor_type(other).ndim == 0:
            inputs = [other, filled.inputs[0]] if k else [filled.inputs[0], other]
            with made_by(NAME, node.provenance, (node.node_id,)):
                return build_one(filled.op, build_one(node.op, *inputs), *filled.inputs[1:])
    first, second = (variable.owner for variable in node.inputs)
    if first is None or second is None or not first.op.declaration is second.op.declaration is ALLOC:
        return None
    if not same_shape(node.inputs[0], node.inputs[1]):
        return None
    with made_by(NAME, node.provenance, (node.node_id,)):
        number = build_one(node.op, first.inputs[0], second.inputs[0])
        return build_one(first.op, number, *first.inputs[1:])


def _other_factor(node: Apply) -> Variable | None:
    """Return the other factor of a product with 1, if it has the dtype and shape of the product."""
    if node.op.declaration is not e.multiply:
        return None
    for k, variable in enumerate(node.inputs):
        other = node.inputs[1 - k]
        if (
            not is_one(variable)
            or other.type != node.outputs[0].type
            or tensor_type(other).dtype not in FLOATS
        ):
            continue
        if tensor_type(variable).ndim == 0 or same_shape(node.outputs[0], other):
            return other
    return None


def is_one(variable: Variable) -> bool:
    """Return whether a variable is known to be the number 1, whatever its number of dimensions."""
    node = variable.owner
    if node is not None and node.op.declaration is DIMSHUFFLE:
        return is_one(node.inputs[0])
    return isinstance(variable, Constant) and variable.value.size == 1 and bool(variable.value.item() == 1)
