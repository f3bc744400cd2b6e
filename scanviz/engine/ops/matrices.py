"""What operations on matrices share: dtypes, shapes, what to say of a matrix of a batch that fails, and their declaration.

Leading axes are batches, as in NumPy.  Integers are computed as float64; float16 is refused, since LAPACK has none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from scanviz.engine.cost import flops
from scanviz.engine.errors import NumericalError, ScanvizTypeError, ShapeError
from scanviz.engine.graph.declaration import Declaration, Op
from scanviz.engine.graph.facts import Facts
from scanviz.engine.graph.nodes import Array
from scanviz.engine.graph.types import TensorType
from scanviz.engine.ops import axes
from scanviz.engine.ops.linalg import contracted
from scanviz.engine.ops.support import float_dtype, infer_by
from scanviz.engine.sizes.dims import Dim, Dims

ShapeRule = Callable[[Op, Dims], Sequence[tuple[Any, ...]]]
SINGULAR = "the matrix is singular"
NOT_POSITIVE = "the matrix is not positive definite"


def floating_dtypes(op: Op, kinds: Sequence[TensorType]) -> Sequence[str]:
    """Return the floating dtype that matrices are computed in, for each output; there is no float16."""
    if any(kind.dtype == "float16" for kind in kinds):
        raise ScanvizTypeError(
            "there is no linear algebra in float16", expected="float32 or float64", fix='T.cast(x, "float32")'
        )
    common = np.result_type(*(float_dtype(kind.dtype) for kind in kinds)).name
    return (common,) * op.declaration.outputs


def rectangular(dims: Dims) -> tuple[tuple[Dim, ...], Dim, Dim]:
    """Return the batch of the matrices that the first input holds, their rows and their columns."""
    shape = dims.shapes[0]
    if len(shape) < 2:
        raise ScanvizTypeError("a matrix is needed", expected="at least 2 dimensions", found=f"{len(shape)}")
    *batch, rows, columns = shape
    return tuple(batch), rows, columns


def square(dims: Dims) -> tuple[tuple[Dim, ...], Dim]:
    """Return the batch and the size of the square matrices that the first input holds."""
    batch, rows, columns = rectangular(dims)
    return batch, contracted(dims, rows, columns, "the matrix must be square")


def matrix_shapes(op: Op, dims: Dims) -> Sequence[tuple[Any, ...]]:
    """Return the shape of the matrices, which are square."""
    batch, size = square(dims)
    return ((*batch, size, size),)


def check_square(matrices: Array, error: np.linalg.LinAlgError) -> None:
    """Raise the error of matrices that have to be square, where that is what NumPy found wrong."""
    if "square" in str(error):
        raise ShapeError("the matrix must be square", found=f"shape {matrices.shape}") from None


def which_fails(function: Callable[[Array], Any], matrices: Array) -> str:
    """Say which matrix of a batch a function fails on."""
    for place in np.ndindex(matrices.shape[:-2]) if matrices.ndim > 2 else ():
        try:
            function(matrices[place])
        except np.linalg.LinAlgError:
            return f" (matrix {', '.join(map(str, place))} of the batch)"
    return ""


def of_matrices(
    family: str,
    function: Callable[..., Any],
    doc: str,
    shapes: ShapeRule,
    share: Fraction,
    *,
    name: str = "",
    failure: str = "",
    outputs: int = 1,
) -> Declaration:
    """Declare what is computed of each matrix of a batch.

    Parameters
    ----------
    function : callable
        ``function(matrices, *parameters)``, as NumPy has it.
    share : Fraction
        Floating-point operations, as a share of n³.
    failure : str
        What to say where NumPy finds no result; which matrix of a batch it is, is added.
    """

    def perform(op: Op, values: Sequence[Array]) -> Sequence[Array]:
        given, parameters = np.asarray(values[0]), op.parameters or ()
        try:
            found = function(given, *parameters)
        except np.linalg.LinAlgError as error:
            check_square(given, error)
            why = which_fails(lambda one: function(one, *parameters), given)
            raise NumericalError(failure + why) from None
        return tuple(found) if outputs > 1 else (found,)

    return Declaration(
        name or function.__name__,
        family,
        arity=1,
        doc=doc,
        infer=infer_by(floating_dtypes),
        perform=perform,
        shapes=shapes,
        outputs=outputs,
        facts=Facts(flops.cube(share), weight="heavy", axes=axes.stacked, calls=14),
    )
