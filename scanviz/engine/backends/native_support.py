"""Operations with native code, by names and types alone.

Rewrites query nodes of a graph, the emitter queries instructions of a Program.  An instruction that the emitter still refuses is
called out, or leaves the loop to NumPy.  The emitter is not imported: programs with short loops never need it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec

from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.nodes import Apply
from scanviz.engine.graph.types import BOOLEAN, TensorType, Type
from scanviz.engine.ops.elementwise_declaration import ElementwiseDeclaration
from scanviz.engine.ops.index_pattern import IndexParameters, is_basic, picking

# All operations of these families have native code, except those in the last table.
FAMILIES = frozenset(
    {
        "creation", "elementwise", "factorise", "index", "join", "linalg", "neural", "random", "reduce", "shape", "sort",
    }
)  # fmt: skip


@cache
def is_installed() -> bool:
    """Return whether llvmlite is installed on a supported platform, without importing it."""
    return sys.platform == "linux" and find_spec("llvmlite") is not None


def why_no_code(node: Apply) -> str | None:
    """Return why an operation of a graph has no native code, or None if it has."""
    return why_not(node.op, [one.type for one in node.inputs], [one.type for one in node.outputs])


def why_not(op: Op, inputs: Sequence[Type], outputs: Sequence[Type]) -> str | None:
    """Return why an operation on such types has no native code, or None if it has."""
    declaration = op.declaration
    if op.facts.size == "is":
        return None
    for kind in (*inputs, *outputs):
        if isinstance(kind, TensorType) and kind.dtype == "float16":
            return f"`{op.name}` works on float16"
    written = declaration.family in FAMILIES or isinstance(declaration, ElementwiseDeclaration)
    if not written:
        return None if declaration.views is not None else f"`{op.name}` has no native code"
    special = _WHY_NOT.get(declaration.name)
    return None if special is None else special(op, inputs)


def _why_no_index(op: Op, inputs: Sequence[Type]) -> str | None:
    return _why_not_picked(op.parameters, inputs[1:], False)


def _why_no_assign(op: Op, inputs: Sequence[Type]) -> str | None:
    return _why_not_picked(op.parameters.pattern, inputs[2:], True)


def _why_not_picked(pattern: IndexParameters, indices: Sequence[Type], writes: bool) -> str | None:
    if is_basic(pattern):
        return None
    found = picking(pattern)
    if found is None:
        return "an index by arrays beside slices or new axes has no native code"
    before, entries = found
    if any(isinstance(kind, TensorType) and kind.dtype == BOOLEAN for kind in indices):
        if writes and len(entries) == 1 and not before:
            return None
        return "what truth values pick has a size that depends on them"
    return None


def _why_no_repeat(op: Op, inputs: Sequence[Type]) -> str | None:
    counts = inputs[1]
    if isinstance(counts, TensorType) and counts.ndim:
        return "`repeat` with a count for each element has no native code"
    return None


def _why_no_signbit(op: Op, inputs: Sequence[Type]) -> str | None:
    kind = inputs[0]
    small = isinstance(kind, TensorType) and kind.itemsize == 1
    return "float16 in `signbit` has no native code" if small else None


def _why_not_between(op: Op, inputs: Sequence[Type]) -> str | None:
    given = inputs[1 + op.parameters.sizes :]
    if any(isinstance(kind, TensorType) and kind.dtype == "uint64" for kind in given):
        return f"`{op.name}` between unsigned numbers of 64 bits has no native code"
    return None


def _why_none(op: Op, inputs: Sequence[Type]) -> str:
    return f"`{op.name}` has no native code"


_WHY_NOT = {
    "argsort": _why_none,
    "assign": _why_no_assign,
    "bincount": _why_none,
    "draw_choice": _why_none,
    "draw_dirichlet": _why_none,
    "draw_integers_between": _why_not_between,
    "draw_multinomial": _why_none,
    "draw_permutation": _why_none,
    "index": _why_no_index,
    "polygamma": _why_none,
    "repeat": _why_no_repeat,
    "signbit": _why_no_signbit,
    "sort": _why_none,
}
