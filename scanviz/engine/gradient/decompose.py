"""Derivatives of eigenvalues and vectors, orthogonal factors, singular values, pseudoinverses and exponentials.

Sources:

- ``eigh``: Giles, "An extended collection of matrix derivative results for forward and reverse mode algorithmic
  differentiation" (2008), 3.1;
- ``svd``: Townsend, "Differentiating the singular value decomposition" (2016);
- ``qr``: Walter and Lehmann, "Algorithmic differentiation of linear algebra functions" (2010);
- ``qr`` of more columns than rows: Roberts and Roberts, "QR and LQ decomposition matrix backpropagation algorithms" (2020);
- ``pinv`` and ``lstsq``: Golub and Pereyra, "The differentiation of pseudo-inverses and nonlinear least squares problems" (1973);
- ``expm``, by the exponential of a block matrix: Al-Mohy and Higham, "Computing the Fréchet derivative of the matrix
  exponential" (2009), 1.

Vectors of equal eigenvalues or singular values may be turned into one another, and so may those of a singular value of 0 with
vectors that are not computed.  They have no derivative: gradients that depend on one are not finite.  Derivatives of the values
alone are.  ``eigh`` reads one triangle of a matrix that is taken to be symmetric: its derivative is that along symmetric
changes, and symmetric.  Derivatives of ``pinv`` and ``lstsq`` are those while the rank stays.
"""

from __future__ import annotations

from collections.abc import Sequence

from scanviz.engine.gradient.factorise import symmetric_part
from scanviz.engine.gradient.linalg import swapped
from scanviz.engine.gradient.sweeps.accumulate import added
from scanviz.engine.gradient.table import (
    PULLBACKS,
    PUSHFORWARDS,
    Arriving,
    Derivatives,
    Undefined,
    cotangent_of,
    tangent_of,
    tangents_of,
    zeros_like,
)
from scanviz.engine.graph.nodes import Apply, Variable, rank, tensor_type
from scanviz.engine.ops import decompose as d
from scanviz.engine.ops import elementwise as e
from scanviz.engine.ops.creation import diagonal, eye, triangle
from scanviz.engine.ops.factorise import solve_triangular
from scanviz.engine.ops.index import getitem
from scanviz.engine.ops.join import concatenate
from scanviz.engine.ops.linalg import matmul
from scanviz.engine.ops.reduce import sum as sum_over
from scanviz.engine.ops.shape import dimension, dimshuffle


def _columns(value: Variable) -> Variable:
    """Return one number a column as an array that multiplies columns."""
    return dimshuffle(value, [*range(rank(value) - 1), "x", rank(value) - 1])


def _apart(values: Variable) -> Variable:
    """Return 1 / (values[j] - values[i]) in row i and column j, 0 on the diagonal; not finite of equal ones."""
    difference = _columns(values) - dimshuffle(values, [*range(rank(values)), "x"])
    same = eye(dimension(values, rank(values) - 1), dtype="bool")
    return e.where(same, 0, 1 / e.where(same, 1, difference))


def _row_sums(first: Variable, second: Variable) -> Variable:
    """Return the diagonal of ``firstᵀ second``."""
    return sum_over(first * second, axis=rank(first) - 2)


@PULLBACKS.row(d.EIGH)
def _eigh(node: Apply, cotangents: Arriving, wanted: Sequence[bool]) -> Derivatives:
    of_values, of_vectors = cotangents
    values, vectors = node.outputs
    along = None if of_values is None else vectors * _columns(of_values)
    turned = None
    if of_vectors is not None:
        turned = matmul(vectors, _apart(values) * matmul(swapped(vectors), of_vectors))
    total = added(along, turned)
    return [None if total is None else symmetric_part(matmul(total, swapped(vectors)))]


@tangents_of(d.EIGH)
def _eigh_forward(node: Apply, t: Variable) -> Derivatives:
    values, vectors = node.outputs
    moved = matmul(swapped(vectors), matmul(symmetric_part(t), vectors))
    return [diagonal(moved), matmul(vectors, _apart(values) * moved)]


@cotangent_of(d.EIGVALSH)
def _eigvalsh(node: Apply, g: Variable) -> Variable:
    vectors = d.eigh(node.inputs[0], node.op.parameters.uplo)[1]
    return matmul(vectors * _columns(g), swapped(vectors))


@tangent_of(d.EIGVALSH)
def _eigvalsh_forward(node: Apply, t: Variable) -> Variable:
    vectors = d.eigh(node.inputs[0], node.op.parameters.uplo)[1]
    return _row_sums(vectors, matmul(symmetric_part(t), vectors))


def _is_wide(matrix: Variable) -> bool:
    """Return whether a matrix is known to have no more rows than columns."""
    rows, columns = tensor_type(matrix).shape[-2:]
    return rows is not None and columns is not None and rows <= columns


def _is_tall(matrix: Variable) -> bool:
    rows, columns = tensor_type(matrix).shape[-2:]
    return rows is not None and columns is not None and rows >= columns


def _smaller(matrix: Variable) -> Variable:
    """Return the smaller size of a matrix."""
    last = rank(matrix)
    return e.minimum(dimension(matrix, last - 2), dimension(matrix, last - 1))


def _extra(node: Apply, what: str, name: str) -> Undefined:
    return Undefined(
        f"{what} that the matrix does not need are any that stand at right angles to the others",
        node.provenance.source,
        f"{name}, or a matrix that is known to be square",
    )


class _Factors:
    """The factors that derivatives of ``qr`` use: Q, the square part of R, and the remaining columns or None."""

    def __init__(self, node: Apply) -> None:
        (self.given,), (q, r) = node.inputs, node.outputs
        self.count = _smaller(self.given)
        if node.op.parameters.full:
            q, r = self.columns(q), getitem(r, (..., slice(None, self.count), slice(None)))
        self.q, self.wide = q, not _is_tall(self.given)
        self.upper = self.columns(r) if self.wide else r
        self.rest = getitem(self.given, (..., slice(self.count, None))) if self.wide else None

    def columns(self, value: Variable) -> Variable:
        """Return the first columns, as many as Q has."""
        return getitem(value, (..., slice(None, self.count)))

    def over_upper(self, value: Variable) -> Variable:
        """Return ``value`` times the inverse of the square part of R."""
        return swapped(solve_triangular(self.upper, swapped(value), trans=1))

    def over_upper_turned(self, value: Variable) -> Variable:
        """Return ``value`` times the inverse of the transpose of the square part of R."""
        return swapped(solve_triangular(self.upper, swapped(value)))


@PULLBACKS.row(d.QR)
def _qr(node: Apply, cotangents: Arriving, wanted: Sequence[bool]) -> Derivatives:
    of_q, of_r = cotangents
    full = node.op.parameters.full
    if full and of_q is not None and not _is_wide(node.inputs[0]):
        return [_extra(node, "columns of Q", 'T.linalg.qr(x, mode="reduced")')]
    parts = _Factors(node)
    if full and of_r is not None:
        of_r = getitem(of_r, (..., slice(None, parts.count), slice(None)))
    of_upper, of_rest = of_r, None
    if parts.wide and of_r is not None:
        of_upper, of_rest = parts.columns(of_r), getitem(of_r, (..., slice(parts.count, None)))
        assert parts.rest is not None
        of_q = added(of_q, matmul(parts.rest, swapped(of_rest)))
    inner = added(
        None if of_upper is None else matmul(parts.upper, swapped(of_upper)),
        None if of_q is None else -matmul(swapped(of_q), parts.q),
    )
    assert inner is not None
    copied = triangle(inner, 0, True) + swapped(triangle(inner, -1, True))
    total = added(of_q, matmul(parts.q, copied))
    assert total is not None
    found = parts.over_upper_turned(total)
    if parts.rest is None:
        return [found]
    rest = zeros_like(parts.rest) if of_rest is None else matmul(parts.q, of_rest)
    return [concatenate([found, rest], rank(found) - 1)]


@tangents_of(d.QR)
def _qr_forward(node: Apply, t: Variable) -> Derivatives:
    parts = _Factors(node)
    moved = parts.over_upper(parts.columns(t) if parts.wide else t)
    within = matmul(swapped(parts.q), moved)
    lower = triangle(within, -1, True)
    turned = lower - swapped(lower)
    of_q = matmul(parts.q, turned) + moved - matmul(parts.q, within)
    of_upper = matmul(within - turned, parts.upper)
    of_r = of_upper
    if parts.rest is not None:
        rest = getitem(t, (..., slice(parts.count, None)))
        of_rest = matmul(swapped(of_q), parts.rest) + matmul(swapped(parts.q), rest)
        of_r = concatenate([of_upper, of_rest], rank(of_upper) - 1)
    if not node.op.parameters.full or _is_wide(node.inputs[0]):
        return [of_q, of_r]
    below = zeros_like(getitem(node.outputs[1], (..., slice(parts.count, None), slice(None))))
    undefined = _extra(node, "columns of Q", 'T.linalg.qr(x, mode="reduced")')
    return [undefined, concatenate([of_r, below], rank(of_r) - 2)]


class _Vectors:
    """The vectors that derivatives of ``svd`` use: as many singular vectors, as columns, as there are values."""

    def __init__(self, node: Apply) -> None:
        left, self.values, right = node.outputs
        if node.op.parameters.full:
            count = dimension(self.values, rank(self.values) - 1)
            left = getitem(left, (..., slice(None, count)))
            right = getitem(right, (..., slice(None, count), slice(None)))
        self.left, self.right = left, swapped(right)
        self.scale = _columns(self.values)
        self.apart = _apart(self.values * self.values)

    def beyond(self, value: Variable, vectors: Variable) -> Variable:
        """Return the component of ``value`` orthogonal to vectors, divided by the singular values; 0 if there is none."""
        rows, columns = (dimension(vectors, rank(vectors) - k) for k in (2, 1))
        share = _columns(e.where(e.greater(rows, columns), 1 / self.values, 0))
        return (value - matmul(vectors, matmul(swapped(vectors), value))) * share


def _skew(first: Variable, second: Variable) -> Variable:
    product = matmul(swapped(first), second)
    return product - swapped(product)


def _has_extra(node: Apply) -> bool:
    """Return whether there are singular vectors that the matrix does not need, as far as is known."""
    given = node.inputs[0]
    return node.op.parameters.full and not (_is_wide(given) and _is_tall(given))


@PULLBACKS.row(d.SVD)
def _svd(node: Apply, cotangents: Arriving, wanted: Sequence[bool]) -> Derivatives:
    of_left, of_values, of_right = cotangents
    if _has_extra(node) and not (of_left is None and of_right is None):
        return [_extra(node, "singular vectors", "T.linalg.svd(x, full_matrices=False)")]
    v = _Vectors(node)
    total = None if of_values is None else v.left * _columns(of_values)
    if of_left is not None:
        turned = matmul(v.left, v.apart * _skew(v.left, of_left)) * v.scale
        total = added(total, turned, v.beyond(of_left, v.left))
    found = None if total is None else matmul(total, swapped(v.right))
    if of_right is not None:
        columns = swapped(of_right)
        turned = matmul(v.right, swapped(v.apart * _skew(v.right, columns))) * v.scale
        found = added(found, matmul(v.left, swapped(turned + v.beyond(columns, v.right))))
    return [found]


@tangents_of(d.SVD)
def _svd_forward(node: Apply, t: Variable) -> Derivatives:
    v = _Vectors(node)
    across = matmul(t, v.right)
    within = matmul(swapped(v.left), across)
    of_values = diagonal(within)
    if _has_extra(node):
        undefined = _extra(node, "singular vectors", "T.linalg.svd(x, full_matrices=False)")
        return [undefined, of_values, undefined]
    scaled, rows = within * v.scale, swapped(v.scale) * within
    left = matmul(v.left, v.apart * (scaled + swapped(scaled))) + v.beyond(across, v.left)
    back = matmul(swapped(t), v.left)
    right = matmul(v.right, v.apart * (rows + swapped(rows))) + v.beyond(back, v.right)
    return [left, of_values, swapped(right)]


@cotangent_of(d.SVDVALS)
def _svdvals(node: Apply, g: Variable) -> Variable:
    left, _, right = d.svd(node.inputs[0])
    return matmul(left * _columns(g), right)


@tangent_of(d.SVDVALS)
def _svdvals_forward(node: Apply, t: Variable) -> Variable:
    left, _, right = d.svd(node.inputs[0])
    return _row_sums(left, matmul(t, swapped(right)))


@cotangent_of(d.PINV)
def _pinv(node: Apply, g: Variable) -> Variable:
    a, p = node.inputs[0], node.outputs[0]
    back, turned = swapped(g), swapped(p)
    left = matmul(matmul(back, p), turned)
    right = matmul(turned, matmul(p, back))
    through = matmul(matmul(turned, g), turned)
    return left - matmul(a, matmul(p, left)) + right - matmul(matmul(right, p), a) - through


def _pinv_moved(a: Variable, p: Variable, t: Variable) -> Variable:
    """Return the tangent of the pseudoinverse p of a for the tangent t of a."""
    turned, back = swapped(p), swapped(t)
    left = matmul(matmul(p, turned), back)
    right = matmul(back, matmul(turned, p))
    return left - matmul(matmul(left, a), p) + right - matmul(p, matmul(a, right)) - matmul(matmul(p, t), p)


@tangent_of(d.PINV)
def _pinv_forward(node: Apply, t: Variable) -> Variable:
    return _pinv_moved(node.inputs[0], node.outputs[0], t)


def _squares_left(node: Apply) -> Undefined:
    return Undefined(
        "whether the squares that are left are given depends on the rank",
        node.provenance.source,
        "T.sum((b - a @ x) ** 2, 0)",
    )


def _matrix(value: Variable) -> Variable:
    """Return a vector as a column."""
    return dimshuffle(value, 0, "x") if rank(value) == 1 else value


@PULLBACKS.row(d.LSTSQ)
def _lstsq(node: Apply, cotangents: Arriving, wanted: Sequence[bool]) -> Derivatives:
    g, of_squares, _, of_values = cotangents
    a, b = node.inputs
    if of_squares is not None:
        return [_squares_left(node), _squares_left(node)]
    matrix = side = None
    if of_values is not None:
        left, _, right = d.svd(a)
        matrix = matmul(left * _columns(of_values), right)
    if g is not None:
        p = d.pinv(a, node.op.parameters.rcond)
        x, given = _matrix(node.outputs[0]), _matrix(g)
        turned = matmul(swapped(p), given)
        residual = _matrix(b) - matmul(a, x)
        rest = given - matmul(swapped(a), turned)
        matrix = added(
            matrix,
            matmul(residual, swapped(matmul(p, turned))),
            matmul(matmul(swapped(p), x), swapped(rest)),
            -matmul(turned, swapped(x)),
        )
        side = turned if rank(b) > 1 else dimshuffle(turned, 0)
    return [matrix, side]


@PUSHFORWARDS.row(d.LSTSQ)
def _lstsq_forward(node: Apply, tangents: Arriving) -> Derivatives:
    matrix, side = tangents
    a, b = node.inputs
    p = d.pinv(a, node.op.parameters.rcond)
    values = None
    moved = None if side is None else matmul(p, side)
    if matrix is not None:
        left, _, right = d.svd(a)
        values = _row_sums(left, matmul(matrix, swapped(right)))
        moved = added(moved, matmul(_pinv_moved(a, p, matrix), b))
    return [moved, _squares_left(node), None, values]


def _block(first: Variable, second: Variable) -> Variable:
    """Return the upper right block of the exponential of [[first, second], [0, first]]: the derivative along ``second``."""
    last = rank(first) - 1
    size = dimension(first, last)
    upper = concatenate([first, second], last)
    lower = concatenate([zeros_like(first), first], last)
    whole = d.expm(concatenate([upper, lower], last - 1))
    return getitem(whole, (..., slice(None, size), slice(size, None)))


@cotangent_of(d.EXPM)
def _expm(node: Apply, g: Variable) -> Variable:
    return _block(swapped(node.inputs[0]), g)


@tangent_of(d.EXPM)
def _expm_forward(node: Apply, t: Variable) -> Variable:
    return _block(node.inputs[0], t)
