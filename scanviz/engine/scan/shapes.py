"""The shape of a loop's results without running the loop.

Rows are as many as steps (unknown with ``until``).  A row's shape is the step's own symbolic shape with sizes of the
step's inputs replaced by sizes around the loop; where it depends on values of the step, it is unknown.
"""

from __future__ import annotations

from collections.abc import Sequence

from scanviz.engine.graph.nodes import Apply, Variable
from scanviz.engine.graph.replace import replace
from scanviz.engine.graph.traversal import leaves
from scanviz.engine.graph.types import TensorType
from scanviz.engine.ops.sizes import known_sizes, size_of, sizes_kept, substituted
from scanviz.engine.ops.symbolic_shape import SYMBOLIC_SHAPE_RULES, Shape, ShapeOf, shape_of
from scanviz.engine.scan.loop import SCAN, Scan, ScanView
from scanviz.engine.scan.variables import (
    Carry,
    LoopVariable,
    NonSequence,
    State,
    StepOutput,
)
from scanviz.engine.scan.variables import (
    Sequence as LoopSequence,
)
from scanviz.engine.sizes.dims import SIZES, Dim
from scanviz.engine.sizes.polynomial import Polynomial, Unknown, unknowns_in


@SYMBOLIC_SHAPE_RULES.row(SCAN)
@sizes_kept()
def result_shapes(node: Apply, shape: ShapeOf) -> Sequence[Shape | None]:
    """Return the shapes of a loop's outer outputs."""
    view = ScanView(node)
    sizes = inner_sizes(view, shape)
    results: list[Shape | None] = []
    for variable in view.op.result_variables:
        results.append(_result_shape(variable, view, shape, sizes))
    return results


def inner_sizes(view: ScanView, shape: ShapeOf) -> dict[Variable, Shape]:
    """Return the shapes of the step's inputs in sizes around the loop."""
    known: dict[Variable, Shape] = {}
    for variable in view.op.variables:
        outer = view.outer_input(variable)
        if outer is None or not isinstance(outer.type, TensorType):
            continue
        match variable:
            case LoopSequence():
                known[variable.slice] = shape(outer)[1:]
            case NonSequence():
                known[variable.variable] = shape(outer)
            case State():
                row = shape(outer) if variable.kind == "sitsot" else shape(outer)[1:]
                known.update(dict.fromkeys(variable.reads.values(), row))
            case _:
                pass
    return known


def _result_shape(
    variable: LoopVariable, view: ScanView, shape: ShapeOf, sizes: dict[Variable, Shape]
) -> Shape | None:
    steps = None if view.op.until is not None else size_of(view.n_steps)
    outer = view.outer_input(variable)
    match variable:
        case State() if outer is not None:
            given = shape(outer)
            if variable.kind == "mitmot":
                return given
            return (_rows(steps, variable.keep.last), *(given if variable.kind == "sitsot" else given[1:]))
        case StepOutput():
            return (_rows(steps, variable.keep.last), *row_shape(variable.value, view, sizes))
        case Carry():
            return None
        case _:
            return None


def row_shape(value: Variable, view: ScanView, sizes: dict[Variable, Shape]) -> Shape:
    """Return the shape of a step's variable in sizes around the loop; None for sizes that may change between steps.

    ``sizes`` are those of the step's inputs, from :func:`inner_sizes`.
    """
    return tuple(size_outside(size, view, sizes) for size in shape_of(value))


def size_outside(size: Dim, view: ScanView, sizes: dict[Variable, Shape]) -> Dim:
    """Return a size of the step in sizes around the loop, found once per size; None if it may change."""
    if not isinstance(size, Polynomial):
        return size
    if size not in view.sizes:
        view.sizes[size] = _found_outside(size, view, sizes)
    return view.sizes[size]


def _found_outside(size: Polynomial, view: ScanView, sizes: dict[Variable, Shape]) -> Dim:
    """Express a size of the step in sizes around the loop; cached across equal steps."""
    unknowns = unknowns_in(size)
    if unknowns is None:
        return substituted(size, lambda unknown: _outside(unknown, view, sizes), view.sizes)
    values = {unknown: _outside(unknown, view, sizes) for unknown in unknowns}
    known, key = known_sizes().substituted, (size, *values.items())
    if key not in known:
        known[key] = substituted(size, values.__getitem__, view.sizes)
    return known[key]


def _rows(steps: Dim, last: int | None) -> Dim:
    return steps if last is None else SIZES.minimum(steps, last)


def _outside(unknown: Unknown, view: ScanView, sizes: dict[Variable, Shape]) -> Dim:
    """Return an unknown size of the step in sizes around the loop; None if it needs a value that changes with the step."""
    source, axis, fixed = *unknown, view.fixed
    if axis is not None:
        return sizes[source][axis] if source in sizes else _computed(unknown, view, sizes)
    inputs = view.op.once(_inputs)
    if any(leaf in inputs and leaf not in fixed for leaf in leaves([source])):
        return None
    return size_of(replace([source], fixed, check=False)[0])


def _computed(unknown: Unknown, view: ScanView, sizes: dict[Variable, Shape]) -> Dim:
    """Express a computed size of the step in sizes around the loop."""
    source, axis = unknown
    if axis is None or not isinstance(source, Variable):
        return None
    size = shape_of(source)[axis]
    return None if size == Polynomial.of(unknown) else size_outside(size, view, sizes)


def _inputs(op: Scan) -> frozenset[Variable]:
    return frozenset(op.inner_inputs)
