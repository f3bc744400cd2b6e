"""Operations with code in a kernel, by names alone: rewrites ask for nodes of a graph, kernels for instructions of a Program."""

from __future__ import annotations

from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.nodes import Apply
from scanviz.engine.ops.elementwise_declaration import ElementwiseDeclaration

# their result has the elements of their first input
MOVES = frozenset({"alloc", "dimshuffle", "reshape", "specify_shape", "state_shape"})
FOLDS = frozenset({"sum", "prod", "max", "min", "all", "any", "sum_to_shape"})
SOFTMAXES = frozenset({"softmax", "log_softmax"})
PRODUCTS = frozenset({"dot", "matmul", "batched_dot"})
GATHERS = frozenset({"index", "concatenate"})
_WRITTEN = frozenset({"cast"}) | MOVES | FOLDS | SOFTMAXES | PRODUCTS | GATHERS


def why_no_code(node: Apply) -> str | None:
    """Return why an operation of a graph keeps its loop from being rewritten for a kernel, or None if it does not.

    A product may be too large for a kernel; then each operation of the step is a call, as in NumPy.
    """
    if node.op.declaration.name in PRODUCTS:
        return f"`{node.op.name}` may be too large for a kernel"
    return why_not(node.op)


def why_not(op: Op) -> str | None:
    """Return why an operation has no code in a kernel, or None if it has."""
    declaration = op.declaration
    if (
        isinstance(declaration, ElementwiseDeclaration)
        or declaration.name in _WRITTEN
        or op.facts.size == "is"
    ):
        return None
    if declaration.name.startswith("draw_"):
        from scanviz.engine.backends.cupy.kernel_draws import formula_of  # few loops draw

        if formula_of(op) is not None:
            return None
    return f"`{op.name}` has no code in a kernel"
