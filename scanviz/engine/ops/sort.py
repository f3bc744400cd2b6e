"""Sorting along an axis.

Sorting is stable on every backend, so that ``argsort`` gives one answer for equal elements everywhere.
NaN comes last, as in NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from scanviz.engine.graph.declaration import Declaration, Op
from scanviz.engine.graph.dims import Dims
from scanviz.engine.graph.facts import Facts
from scanviz.engine.graph.nodes import Array, Variable, build_one
from scanviz.engine.graph.types import TensorType
from scanviz.engine.ops import axes, flops
from scanviz.engine.ops.reduce import single_axis
from scanviz.engine.ops.support import as_variable, infer_by


class SortParameters(NamedTuple):
    """Parameters of sorting: the axis, None for the flattened array."""

    axis: int | None


def _shapes(op: Op, dims: Dims) -> Sequence[tuple[Any, ...]]:
    given = dims.shapes[0]
    return ((dims.product(given),) if op.parameters.axis is None else given,)


def _declare(
    name: str, function: Callable[..., Array], dtypes: Callable[..., Sequence[str]], doc: str
) -> Declaration:
    def perform(op: Op, values: Sequence[Array]) -> Sequence[Array]:
        return (function(values[0], axis=op.parameters.axis, kind="stable"),)

    facts = Facts(flops.of_input, weight="heavy", axes=axes.but("axis"))
    return Declaration(
        name, "sort", doc=doc, infer=infer_by(dtypes), perform=perform, shapes=_shapes, facts=facts
    )


def _kept(op: Op, kinds: Sequence[TensorType]) -> Sequence[str]:
    return (kinds[0].dtype,)


def _places(op: Op, kinds: Sequence[TensorType]) -> Sequence[str]:
    return ("int64",)


SORT = _declare("sort", np.sort, _kept, "Elements in ascending order along an axis.")
ARGSORT = _declare(
    "argsort", np.argsort, _places, "Indices that would sort along an axis; equal elements keep their order."
)


def sort(value: Any, axis: int | None = -1) -> Variable:
    """Return the elements in ascending order along ``axis``, all in one row for None."""
    return _build(SORT, value, axis)


def argsort(value: Any, axis: int | None = -1) -> Variable:
    """Return the indices that would sort along ``axis``, the flattened array for None."""
    return _build(ARGSORT, value, axis)


def _build(declaration: Declaration, value: Any, axis: int | None) -> Variable:
    variable = as_variable(value)
    return build_one(Op(declaration, SortParameters(single_axis(axis, variable, declaration.name))), variable)
