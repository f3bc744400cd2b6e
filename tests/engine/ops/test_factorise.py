import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanviz.engine.errors import NumericalError, ScanvizTypeError, ScanvizValueError, ShapeError
from scanviz.engine.graph.evaluate import evaluate
from scanviz.engine.graph.nodes import Variable
from scanviz.engine.graph.types import TensorType
from scanviz.engine.ops import elementwise as e
from scanviz.engine.ops import factorise as f
from tests.engine.ops.checking import check

CLOSE = {"rtol": 1e-3, "atol": 1e-3}  # float32 too
batches = st.sampled_from([(), (2,), (2, 3), (0,)])
kinds = st.sampled_from(["float32", "float64", "int32", "int64", "bool"])


def named(name: str, *shape: int | None, dtype: str = "float64") -> Variable:
    return Variable(TensorType(dtype, shape), name)


@st.composite
def matrices(draw, positive=False):
    """Well-conditioned square matrices: random ones plus a large diagonal."""
    size, batch, dtype = draw(st.integers(0, 3)), draw(batches), draw(kinds)
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    if dtype == "bool":
        return np.broadcast_to(np.eye(size, dtype=bool), (*batch, size, size)).copy()
    noise = rng.integers(-2, 3, (*batch, size, size))
    noise = noise + np.swapaxes(noise, -1, -2) if positive else noise
    return (noise + 16 * np.eye(size)).astype(dtype)


@st.composite
def systems(draw, positive=False):
    a = draw(matrices(positive=positive))
    size = a.shape[-1]
    shape = draw(st.sampled_from([(size,), (size, 2), (*a.shape[:-2], size, 1), (1, size, 3)]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    return [a, rng.integers(-4, 5, shape).astype(draw(kinds))]


@given(matrices(), st.data())
def test_inverse_and_determinant_are_numpys(a, data):
    check(f.inv, np.linalg.inv, [a], data, **CLOSE)
    check(f.det, np.linalg.det, [a], data, **CLOSE)
    check(lambda x: f.slogdet(x)[0], lambda x: np.linalg.slogdet(x)[0], [a], data, **CLOSE)
    check(lambda x: f.slogdet(x)[1], lambda x: np.linalg.slogdet(x)[1], [a], data, **CLOSE)


@pytest.mark.parametrize("lower", [True, False])
@given(matrices(positive=True), st.data())
def test_cholesky_is_numpys_for_either_triangle(lower, a, data):
    check(
        lambda x: f.cholesky(x, lower=lower),
        lambda x: np.linalg.cholesky(x, upper=not lower),
        [a],
        data,
        **CLOSE,
    )


@given(systems(), st.data())
def test_solve_is_numpys_for_vectors_matrices_and_batches(system, data):
    check(f.solve, np.linalg.solve, system, data, **CLOSE)


@given(systems(), st.booleans(), st.sampled_from([0, 1, "N", "T"]), st.booleans(), st.data())
def test_solve_triangular_solves_with_the_triangle_alone(system, lower, trans, unit, data):
    def oracle(a, b):
        triangle = np.tril(a) if lower else np.triu(a)
        if unit:
            triangle = np.where(np.eye(a.shape[-1], dtype=bool), np.ones((), a.dtype), triangle)
        return np.linalg.solve(np.swapaxes(triangle, -1, -2) if trans in (1, "T") else triangle, b)

    def build(a, b):
        return f.solve_triangular(a, b, lower=lower, trans=trans, unit_diagonal=unit)

    check(build, oracle, system, data, **CLOSE)


SINGULAR = np.array([[1.0, 2.0], [2.0, 4.0]])
STACK = np.array([np.eye(2), SINGULAR, np.eye(2)])


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (f.inv, "the matrix is singular: it has no inverse"),
        (lambda a: f.solve(a, np.ones(2)), "the matrix is singular"),
        (lambda a: f.cholesky(e.subtract(a, 1)), "the matrix is not positive definite"),
        (
            lambda a: f.solve(e.subtract(a, 1), np.ones(2), assume_a="pos"),
            "the matrix is not positive definite",
        ),
    ],
)
def test_a_matrix_that_cannot_be_factorised_is_a_numerical_error(build, message):
    a = named("A", None, None)
    with pytest.raises(NumericalError, match=message):
        evaluate(build(a), {a: SINGULAR})


@pytest.mark.parametrize(
    "build",
    [
        f.inv,
        lambda a: f.solve(a, np.ones(2)),
        f.cholesky,
        lambda a: f.solve(a, np.ones(2), assume_a="pos"),
    ],
)
def test_the_error_of_a_batch_names_the_failing_matrix(build):
    a = named("A", None, None, None)
    with pytest.raises(NumericalError, match=r"\(matrix 1 of the batch\)"):
        evaluate(build(a), {a: STACK})


def test_a_zero_on_the_diagonal_of_a_triangle_is_an_error_with_its_row():
    a = named("L", None, None)
    with pytest.raises(NumericalError, match="it has a 0 on the diagonal, in row 1"):
        evaluate(f.solve_triangular(a, np.ones(3), lower=True), {a: np.diag([1.0, 0.0, 1.0])})


@pytest.mark.parametrize("build", [f.inv, f.det, f.cholesky, lambda a: f.solve(a, np.ones(3))])
def test_a_nonsquare_matrix_is_an_error_with_its_name_and_line(build):
    with pytest.raises(
        ShapeError, match=r"test_factorise\.py:\d+: .*the matrix must be square .*`A` float64\[3, 4\]"
    ):
        build(named("A", 3, 4))


@pytest.mark.parametrize("build", [f.inv, f.det, f.cholesky, lambda a: f.solve(a, np.ones(3))])
def test_a_vector_is_no_matrix(build):
    with pytest.raises(ScanvizTypeError, match="a matrix is needed .*`v`"):
        build(named("v", 3))


def test_a_right_side_that_does_not_fit_is_an_error_with_both_sizes():
    with pytest.raises(ShapeError) as caught:
        f.solve(named("A", 3, 3), named("b", 4))
    assert "the right-hand side must have as many rows as the matrix" in str(caught.value)
    assert "expected: size 3\n  found:    size 4" in str(caught.value)


def test_float16_is_refused_with_the_cast_to_write():
    with pytest.raises(ScanvizTypeError, match=r'float16(.|\n)*T.cast\(x, "float32"\)'):
        f.inv(named("A", 2, 2, dtype="float16"))


def test_unknown_options_are_errors_that_list_the_known_ones():
    with pytest.raises(ScanvizValueError, match="'gen'"):
        f.solve(named("A", 2, 2), named("b", 2), assume_a="sym")
    with pytest.raises(ScanvizValueError, match="0 or 'N', 1 or 'T'"):
        f.solve_triangular(named("A", 2, 2), named("b", 2), trans="C")
