"""Laws of linear systems and factors of matrices in steps: as accurate as LAPACK on every tier, refused where it refuses.

The residual of its system measures the accuracy of a solution (J. H. Wilkinson, *Rounding Errors in Algebraic Processes*,
1963): that holds of matrices in whatever condition.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

import scanviz
from scanviz import tensor as T
from scanviz.engine.errors import NumericalError
from scanviz.engine.graph.nodes import Array, Variable
from scanviz.engine.mode import Mode
from scanviz.engine.ops.factorise import cholesky_solve, lu_factor, lu_solve
from tests.laws.frame import TIERS
from tests.laws.law import law

STEPS = 2
SLACK = 64  # times the size and the last place: what rounding may leave over
Check = Callable[[Array, Array, Sequence[Array]], None]


def left_over(a: Array, x: Array, b: Array) -> None:
    """Check that a x is b but for what rounding leaves over in the dtype of x; all are stacks of matrices."""
    unit = SLACK * a.shape[-1] * float(np.finfo(x.dtype).eps)
    left = np.linalg.norm(a @ x.astype(float) - b, axis=-2)
    lengths = [np.linalg.norm(array.astype(float), axis=-2) for array in (x, b)]
    bound = np.linalg.norm(a, axis=(-2, -1))[..., None] * lengths[0] + lengths[1]
    assert np.all(left <= unit * bound), (left, unit * bound)


def _solved(a: Array, b: Array, found: Sequence[Array]) -> None:
    left_over(a, found[0], b)


def _solved_transposed(a: Array, b: Array, found: Sequence[Array]) -> None:
    left_over(a.swapaxes(-1, -2), found[0], b)


def _solved_lower(a: Array, b: Array, found: Sequence[Array]) -> None:
    left_over(np.tril(a), found[0], b)


def _solved_upper_transposed(a: Array, b: Array, found: Sequence[Array]) -> None:
    ones = np.eye(a.shape[-1])
    left_over((np.triu(a, 1) + ones).swapaxes(-1, -2), found[0], b)


def _inverse(a: Array, b: Array, found: Sequence[Array]) -> None:
    left_over(a, found[0], np.broadcast_to(np.eye(a.shape[-1]), a.shape))


def _factor(a: Array, b: Array, found: Sequence[Array]) -> None:
    factor = found[0]
    np.testing.assert_array_equal(factor, np.tril(factor))
    left = np.linalg.norm(factor.astype(float) @ factor.astype(float).swapaxes(-1, -2) - a, axis=(-2, -1))
    unit = SLACK * a.shape[-1] * float(np.finfo(factor.dtype).eps)
    assert np.all(left <= unit * np.linalg.norm(a, axis=(-2, -1))), left


def _determinant(a: Array, b: Array, found: Sequence[Array]) -> None:
    unit = SLACK * a.shape[-1] ** 2 * float(np.finfo(found[0].dtype).eps)
    largest = np.linalg.norm(a, axis=(-2, -1)) ** a.shape[-1]
    number, *logarithm = (array.astype(float) for array in found)  # float32 does not hold all determinants
    determinant = number * np.exp(logarithm[0]) if logarithm else number
    assert np.all(np.abs(determinant - np.linalg.det(a)) <= unit * largest)


@dataclass(frozen=True)
class MatrixOperation:
    """An operation on a matrix and a right side.

    Attributes
    ----------
    build : callable
        ``build(matrix, side)``: the expressions.
    check : callable
        ``check(matrices, sides, results)`` raises where results, all of them finite, are not what was asked for.
    positive : bool
        Whether it asks for positive definite matrices.
    batch : bool
        Whether it takes more than one.
    """

    build: Callable[[Variable, Variable], Sequence[Variable]]
    check: Check
    positive: bool = False
    batch: bool = True


OPERATIONS = {
    "solve": MatrixOperation(lambda a, b: [T.linalg.solve(a, b)], _solved),
    "solve positive": MatrixOperation(
        lambda a, b: [T.linalg.solve(a, b, assume_a="pos")], _solved, positive=True
    ),
    "solve lower": MatrixOperation(lambda a, b: [T.linalg.solve_triangular(a, b, lower=True)], _solved_lower),
    "solve upper, ones, transposed": MatrixOperation(
        lambda a, b: [T.linalg.solve_triangular(a, b, trans=1, unit_diagonal=True)], _solved_upper_transposed
    ),
    "inverse": MatrixOperation(lambda a, b: [T.linalg.inv(a)], _inverse),
    "cholesky": MatrixOperation(lambda a, b: [T.linalg.cholesky(a)], _factor, positive=True),
    "det": MatrixOperation(lambda a, b: [T.linalg.det(a)], _determinant),
    "slogdet": MatrixOperation(lambda a, b: T.linalg.slogdet(a), _determinant),
    "by factors": MatrixOperation(lambda a, b: [lu_solve(*lu_factor(a), b)], _solved, batch=False),
    "by factors, transposed": MatrixOperation(
        lambda a, b: [lu_solve(*lu_factor(a), b, transposed=True)], _solved_transposed, batch=False
    ),
    "by a factor": MatrixOperation(
        lambda a, b: [cholesky_solve(T.linalg.cholesky(a), b)], _solved, positive=True, batch=False
    ),
}


@dataclass(frozen=True)
class MatrixCase:
    """Matrices, one or a batch of them a step, and the operation on them.

    Attributes
    ----------
    operation : str
        A key of :data:`OPERATIONS`.
    kind : str
        ``"normal"`` numbers, small ``"integers"`` (often singular), ``"scaled"`` rows and columns, of ``"low rank"`` but
        for rounding, or ``"special"``: with a NaN, an infinity or a zero.
    size, columns : int
        Rows of a matrix, and columns of the right side.
    batch : bool
        Whether a step has two matrices.
    dtype : str
        Of all numbers.
    seed : int
        Of their values.
    """

    operation: str
    kind: str
    size: int
    columns: int
    batch: bool
    dtype: str
    seed: int

    def values(self) -> list[Array]:
        """Return matrices and right sides, a row for each step."""
        rng, how = np.random.default_rng(self.seed), OPERATIONS[self.operation]
        batch = (STEPS, 2) if self.batch and how.batch else (STEPS,)
        matrices = self._matrices(rng, (*batch, self.size, self.size))
        if how.positive:
            with np.errstate(all="ignore"):
                matrices = matrices @ matrices.swapaxes(-1, -2)
        sides = rng.normal(size=(*batch, self.size, self.columns))
        return [np.asarray(array, self.dtype) for array in (matrices, sides)]

    def _matrices(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        found = np.asarray(rng.normal(size=shape))
        match self.kind:
            case "integers":
                return np.asarray(rng.integers(-2, 3, shape), float)
            case "scaled":
                rows, columns = 10.0 ** rng.integers(-6, 7, (2, *shape[:-1]))
                return np.asarray(found * rows[..., :, None] * columns[..., None, :])
            case "low rank":
                found[..., -1] = found[..., 0] / 3
            case "special":
                found.flat[rng.integers(found.size)] = rng.choice([0.0, np.inf, np.nan, -0.0])
        return found

    def nearly_singular(self, matrices: Array) -> bool:
        """Return whether rounding decides if one of the matrices has a factor; a 0 in the diagonal of a triangle is exact."""
        if self.operation.startswith(("solve lower", "solve upper")) or not np.all(np.isfinite(matrices)):
            return False
        sizes = np.linalg.svd(matrices, compute_uv=False)
        unit = SLACK * self.size * float(np.finfo(self.dtype).eps)
        return bool(np.any(sizes[..., -1] <= unit * sizes[..., 0]))

    def in_any_order(self, matrices: Array, mine: Array, theirs: Array) -> tuple[Array, Array]:
        """Return results without those where the order of pivots and sums decides which elements are NaN or infinite."""
        known = np.isfinite(matrices).all(axis=(-2, -1))
        if self.kind == "scaled" or self.nearly_singular(matrices):
            for array in (mine, theirs):
                known &= np.isfinite(array).reshape(*known.shape, -1).all(axis=-1)
        return mine[known], theirs[known]

    def on(self, tier: str) -> tuple[list[Array], str]:
        """Return a tier's result, or its error's message."""
        given = self.values()
        inputs = [T.tensor(self.dtype, (None,) * array.ndim) for array in given]
        wanted, _ = scanviz.scan(
            lambda a, b: list(OPERATIONS[self.operation].build(a, b)), inputs, return_list=True
        )
        call = scanviz.function(inputs, wanted, mode=Mode(tier, "none"), on_unused_input="ignore")
        try:
            return call(*given), ""
        except NumericalError as error:
            return [], str(error)


CASES = st.builds(
    MatrixCase,
    operation=st.sampled_from(sorted(OPERATIONS)),
    kind=st.sampled_from(["normal", "normal", "integers", "scaled", "low rank", "special"]),
    size=st.one_of(st.integers(1, 6), st.integers(7, 36)),
    columns=st.sampled_from([1, 2, 3, 9]),
    batch=st.booleans(),
    dtype=st.sampled_from(["float64", "float32"]),
    seed=st.integers(0, 9999),
)


def _without_place(text: str) -> str:
    """Return a message without the step and the matrix of its batch."""
    return re.sub(r"at step \d+| \(matrix \d+ of the batch\)", "", text)


@law(sample=12, case=CASES, tier=TIERS)
def linear_systems_are_solved_accurately_or_refused(case: MatrixCase, tier: str) -> None:
    """Solutions leave only rounding errors; every tier refuses the matrices that LAPACK refuses, with the same message."""
    wanted, refused = case.on("reference")
    found, text = case.on(tier)
    matrices, sides = (array.astype(float) for array in case.values())
    if tier == "cupy" and text != refused and case.nearly_singular(matrices):
        if text and refused:
            assert _without_place(text) == _without_place(refused)
        return  # CUDA rounds in another order, and rounding decides whether a pivot is 0
    assert text == refused
    for mine, theirs in zip(found, wanted, strict=True):
        assert mine.dtype == theirs.dtype and mine.shape == theirs.shape
        if tier == "cupy":
            mine, theirs = case.in_any_order(matrices, mine, theirs)
        np.testing.assert_array_equal(np.isfinite(mine), np.isfinite(theirs))
        np.testing.assert_array_equal(mine[~np.isfinite(mine)], theirs[~np.isfinite(theirs)])
    if found and all(np.all(np.isfinite(array)) for array in (*found, matrices)):
        OPERATIONS[case.operation].check(matrices, sides, found)
