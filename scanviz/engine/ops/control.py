"""Choosing one of two values as a whole, of which only the chosen branch is computed; users call it by ``ifelse.py``.

In a graph it is an operation of three inputs; lowering makes a branch of it.  So what stands in a branch may never be computed,
and must not fail or cost anything where it is not chosen: whoever moves work asks :func:`always_computed` first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from scanviz.engine.errors import ScanvizTypeError
from scanviz.engine.graph.declaration import Declaration, Op
from scanviz.engine.graph.facts import Facts
from scanviz.engine.graph.nodes import Apply, Array, Variable
from scanviz.engine.graph.types import TensorType, Type
from scanviz.engine.sizes.dims import Dims


def _infer(op: Op, inputs: Sequence[Variable]) -> Sequence[Type]:
    half, odd = divmod(len(inputs) - 1, 2)
    if odd:
        raise ScanvizTypeError(
            "ifelse takes a value of each kind for both sides", found=f"{len(inputs) - 1} values"
        )
    found: list[Type] = []
    for first, second in zip(inputs[1 : 1 + half], inputs[1 + half :], strict=True):
        a, b = first.type, second.type
        if not isinstance(a, TensorType) or not isinstance(b, TensorType):
            found.append(a)
            continue
        found.append(
            a.with_shape(tuple(x if x == y else None for x, y in zip(a.shape, b.shape, strict=True)))
        )
    return found


def _perform(op: Op, values: Sequence[Array]) -> Sequence[Array]:
    half = (len(values) - 1) // 2
    return tuple(values[1 : 1 + half] if np.asarray(values[0]).item() else values[1 + half :])


def _shapes(op: Op, dims: Dims) -> Sequence[tuple[Any, ...]]:
    half = (len(dims.shapes) - 1) // 2
    pairs = zip(dims.shapes[1 : 1 + half], dims.shapes[1 + half :], strict=True)
    test = dims.value(0)
    return [tuple(dims.choose(test, a, b) for a, b in zip(x, y, strict=True)) for x, y in pairs]


IFELSE = Declaration(
    "ifelse",
    "control",
    arity=(1, None),
    doc="One of two values, by a condition; the other is not computed.",
    infer=_infer,
    perform=_perform,
    shapes=_shapes,
    views=1,
    facts=Facts(selects=True),
)


def always_computed(outputs: Sequence[Variable]) -> set[Apply]:
    """Return the nodes that every step computes: not those that only a branch of an ``ifelse`` may need."""
    found: set[Apply] = set()
    stack = [output.owner for output in outputs if output.owner is not None]
    while stack:
        node = stack.pop()
        if node in found:
            continue
        found.add(node)
        if node.op.declaration is not IFELSE:
            stack += node.makers
        elif node.inputs[0].owner is not None:
            stack.append(node.inputs[0].owner)
    return found
