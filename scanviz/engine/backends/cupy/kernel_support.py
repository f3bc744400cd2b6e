"""Operations with code in a kernel, by names alone: rewrites ask for nodes of a graph, kernels for instructions of a Program."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.nodes import Apply
from scanviz.engine.ops.elementwise_declaration import ElementwiseDeclaration
from scanviz.engine.ops.formulas.draw_checks import SAMPLERS
from scanviz.engine.ops.formulas.draws import Draw, draw_block


class NotFusedError(Exception):
    """The reason why a loop is no single kernel."""


class How(Enum):
    """How an operation is written: a value is moved, indexed or joined where it is read, folded along axes, or computed."""

    MOVED = "its result has the elements of its first input"
    INDEXED = "index"
    JOINED = "join"
    FOLDED = "terms are combined along axes"
    SOFTMAX = "softmax"
    PRODUCT = "product"
    CAST = "cast"


class KernelRow(NamedTuple):
    """The kernel meaning of an operation.

    Attributes
    ----------
    how : How
        How it is written.
    combine : str
        The scalar operation that combines the terms of a fold.
    """

    how: How
    combine: str = ""


KERNEL = {
    **{
        name: KernelRow(How.MOVED)
        for name in ["alloc", "dimshuffle", "reshape", "specify_shape", "state_shape"]
    },
    "index": KernelRow(How.INDEXED),
    "concatenate": KernelRow(How.JOINED),
    "sum": KernelRow(How.FOLDED, "add"),
    "sum_to_shape": KernelRow(How.FOLDED, "add"),
    "prod": KernelRow(How.FOLDED, "multiply"),
    "max": KernelRow(How.FOLDED, "max"),
    "min": KernelRow(How.FOLDED, "min"),
    "all": KernelRow(How.FOLDED, "all"),
    "any": KernelRow(How.FOLDED, "any"),
    **{name: KernelRow(How.SOFTMAX) for name in ("softmax", "log_softmax")},
    **{name: KernelRow(How.PRODUCT) for name in ("dot", "matmul", "batched_dot")},
    "cast": KernelRow(How.CAST),
}


def how_of(op: Op) -> How | None:
    """Return how an operation is written; None for an elementwise one, a draw, or one without code."""
    row = KERNEL.get(op.declaration.name)
    return None if row is None else row.how


def why_no_code(node: Apply) -> str | None:
    """Return why an operation of a graph keeps its loop from being rewritten for a kernel, or None if it does not.

    A product may be too large for a kernel; then each operation of the step is a call, as in NumPy.
    """
    if how_of(node.op) is How.PRODUCT:
        return f"`{node.op.name}` may be too large for a kernel"
    return why_not(node.op)


def why_not(op: Op) -> str | None:
    """Return why an operation has no code in a kernel, or None if it has."""
    declaration = op.declaration
    if isinstance(declaration, ElementwiseDeclaration) or declaration.name in KERNEL or op.facts.size == "is":
        return None
    return None if formula_of(op) is not None else f"`{op.name}` has no code in a kernel"


def formula_of(op: Op) -> Draw | None:
    """Return the formula of a draw; None if it has none, or its parameters cannot be checked in a kernel."""
    if op.declaration not in SAMPLERS:
        return None
    return draw_block(op.declaration.name.removeprefix("draw_"), op.parameters.dtype)
