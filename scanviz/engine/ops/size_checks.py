"""Sizes that are checked when they are met: those that broadcast together, and those that were promised."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from scanviz.engine.errors import ShapeError
from scanviz.engine.graph.declaration import Declaration, Op
from scanviz.engine.graph.facts import Facts
from scanviz.engine.graph.nodes import Array, Variable, build_one, describe, tensor_type
from scanviz.engine.ops import axes
from scanviz.engine.ops.options import listed
from scanviz.engine.ops.support import (
    as_integer,
    as_variable,
    constant,
    infer_by,
    kept_dtype,
)
from scanviz.engine.sizes.dims import Dims


class PromisedParameters(NamedTuple):
    """For messages: the variable's name, what the user called, and which argument of that the first size is of."""

    name: str
    asked_as: str = "specify_shape"
    like: str = ""


def _specify_shapes(op: Op, dims: Dims) -> Sequence[tuple[Any, ...]]:
    wanted = [dims.value(k) for k in range(1, len(dims.shapes))]
    merged = [
        given if size == -1 else dims.same(given, size)
        for given, size in zip(dims.shapes[0], wanted, strict=True)
    ]
    return (tuple(merged),)


def _specify_perform(op: Op, values: Sequence[Array]) -> Sequence[Array]:
    given = np.shape(values[0])
    wanted = tuple(int(value) for value in values[1:])
    if any(size not in (-1, found) for size, found in zip(wanted, given, strict=True)):
        if op.parameters.like:
            raise _other_rows(op.parameters, given, wanted)
        shown = ", ".join("any" if size == -1 else str(size) for size in wanted)
        raise ShapeError(
            f"`{op.parameters.name}` has the wrong shape",
            expected=f"shape ({shown}{',' * (len(wanted) == 1)})",
            found=f"shape {given}",
        )
    return (values[0],)


def _other_rows(parameters: PromisedParameters, given: Sequence[int], wanted: Sequence[int]) -> ShapeError:
    return ShapeError(
        "the arguments have different numbers of rows",
        expected=f"as many as {parameters.like}: {wanted[0]}",
        found=f"`{parameters.name}`, shape {tuple(given)}: {given[0]}",
        fix=None
        if parameters.like == "axis_size"
        else "in_axes=None for an argument that is the same for all rows",
    )


SPECIFY_SHAPE = Declaration(
    "specify_shape",
    "shape",
    arity=(1, None),
    doc="The same value, its shape checked at run time.",
    infer=infer_by(kept_dtype),
    perform=_specify_perform,
    shapes=_specify_shapes,
    views=0,
    facts=Facts(weight="free", cheap=True, foldable=True, axes=axes.elementwise),
)


def specify_shape(
    value: Any, sizes: Sequence[Any], asked_as: str = "specify_shape", name: str = "", like: str = ""
) -> Variable:
    """Return ``value`` with sizes promised: known when building, checked at run time; None promises nothing.

    Messages call it by what the user called, and by the names of the user's arguments.
    """
    variable = as_variable(value)
    sizes = listed(sizes, "specify_shape: the sizes")
    if len(sizes) != tensor_type(variable).ndim:
        raise ShapeError.here(
            f"{asked_as}: `{describe(variable)}` has another number of dimensions",
            expected=variable.type,
            found=tuple(sizes),
        )
    wanted = [
        constant(-1, "int64") if size is None else as_integer(size, "specify_shape: a size") for size in sizes
    ]
    return build_one(
        Op(SPECIFY_SHAPE, PromisedParameters(name or describe(variable), asked_as, like)), variable, *wanted
    )
