"""Linear algebra under NumPy's names: solving, factorising, determinants, norms; products and decompositions are here too.

Leading axes of matrices are batches, as in NumPy.  float16 has products only; ints are computed in float64.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scanviz.engine.graph.nodes import Variable
from scanviz.engine.graph.syntax import meaning
from scanviz.engine.ops.creation import diagonal
from scanviz.engine.ops.decompose import expm, svdvals
from scanviz.engine.ops.factorise import cholesky, det, inv, slogdet, solve, solve_triangular
from scanviz.engine.ops.linalg import batched_dot, dot, matmul, tensordot
from scanviz.engine.ops.reduce import sum as sum_over
from scanviz.engine.other_names import missing
from scanviz.tensor.linalg.decompositions import (
    eigh,
    eigvalsh,
    lstsq,
    matrix_power,
    pinv,
    qr,
    svd,
)
from scanviz.tensor.linalg.norms import norm
from scanviz.tensor.products import cross, inner, kron, outer

__all__ = [
    "batched_dot",
    "cholesky",
    "cross",
    "det",
    "dot",
    "eigh",
    "eigvalsh",
    "expm",
    "inner",
    "inv",
    "kron",
    "lstsq",
    "matmul",
    "matrix_power",
    "norm",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_triangular",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
]


def __dir__() -> list[str]:
    return sorted(__all__)


@meaning("method:trace")
def trace(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Variable:
    """Sum along a diagonal.

    Parameters
    ----------
    x : array_like
        Tensor of at least two dimensions.
    offset : int
        The diagonal: above the main one if positive.
    axis1, axis2 : int
        The axes of the matrices.

    Returns
    -------
    Variable
        Tensor without these axes; bools and narrow ints are summed in 64 bits.

    Raises
    ------
    ScanvizTypeError
        If it has less than two dimensions.
    ScanvizValueError
        If an axis does not exist or is named twice.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> A = T.matrix("A")
    >>> T.trace(A).eval({A: [[1.0, 2.0], [3.0, 4.0]]})
    array(5.)
    """
    return sum_over(diagonal(x, offset, axis1, axis2), -1)


if not TYPE_CHECKING:  # where it would hide names that are not there

    def __getattr__(name: str) -> Any:
        raise missing(__name__, name)
