import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanviz import tensor as T
from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError, ShapeError
from scanviz.engine.graph.evaluate import evaluate
from scanviz.engine.graph.nodes import Variable
from scanviz.engine.graph.types import TensorType
from scanviz.engine.ops import linalg
from tests.engine.ops.checking import check, dtypes, tame

sides = st.integers(0, 3)


def named(name: str, *shape: int | None, dtype: str = "float64") -> Variable:
    return Variable(TensorType(dtype, shape), name)


@st.composite
def factors(draw, first_rank, second_rank, contract):
    """Two arrays whose axes ``contract(first_rank, second_rank)`` names have one size."""
    shapes = [[draw(sides) for _ in range(rank)] for rank in (first_rank, second_rank)]
    for one, other in contract(first_rank, second_rank):
        shapes[1][other] = shapes[0][one]
    return [draw(tame(draw(dtypes), tuple(shape))) for shape in shapes]


def last_and_second_last(first_rank, second_rank):
    return [(first_rank - 1, max(second_rank - 2, 0))] if first_rank and second_rank else []


@pytest.mark.parametrize("first_rank", range(4))
@pytest.mark.parametrize("second_rank", range(4))
@given(st.data())
def test_dot_is_numpys_dot_for_all_ranks(first_rank, second_rank, data):
    check(linalg.dot, np.dot, data.draw(factors(first_rank, second_rank, last_and_second_last)), data)


@pytest.mark.parametrize("first_rank", range(1, 4))
@pytest.mark.parametrize("second_rank", range(1, 4))
@given(st.data())
def test_matmul_is_numpys_matmul_and_its_batches_broadcast(first_rank, second_rank, data):
    first, second = data.draw(factors(first_rank, second_rank, last_and_second_last))
    if first_rank == second_rank == 3 and first.shape[0] != second.shape[0]:
        first = first[:1] if first.shape[0] else np.zeros((1, *first.shape[1:]), first.dtype)
    check(linalg.matmul, np.matmul, [first, second], data)


@pytest.mark.parametrize(
    ("first_rank", "second_rank"), [(2, 2), (2, 3), (3, 2), (3, 3), (4, 3), (3, 4), (4, 4)]
)
@given(st.data())
def test_batched_dot_is_the_stack_of_dots(first_rank, second_rank, data):
    contract = lambda a, b: [(0, 0), (a - 1, max(b - 2, 1))]  # noqa: E731
    arrays = data.draw(factors(first_rank, second_rank, contract))
    dtype = np.result_type(*arrays)
    shape = linalg.batched_dot(*(named("x", *array.shape) for array in arrays)).type.shape

    def stacked(a, b):
        return (
            np.stack([np.dot(x, y) for x, y in zip(a, b, strict=True)]) if len(a) else np.zeros(shape, dtype)
        )

    check(linalg.batched_dot, stacked, arrays, data)


@given(st.integers(0, 2), st.data())
def test_tensordot_over_a_number_of_axes_is_numpys(count, data):
    contract = lambda a, b: [(a - count + k, k) for k in range(count)]  # noqa: E731
    ranks = data.draw(st.tuples(st.integers(count, 3), st.integers(count, 3)))
    arrays = data.draw(factors(*ranks, contract))
    check(lambda a, b: linalg.tensordot(a, b, count), lambda a, b: np.tensordot(a, b, count), arrays, data)


@pytest.mark.parametrize("axes", [(0, 1), ([0, 2], [1, 0]), ((-1,), (-2,)), ([], []), [[1], [0]]])
@given(st.data())
def test_tensordot_over_pairs_of_axes_is_numpys(axes, data):
    listed = [np.atleast_1d(axis).astype(int).tolist() for axis in axes]
    contract = lambda a, b: list(zip(*listed, strict=True))  # noqa: E731
    arrays = data.draw(factors(3, 3, contract))
    check(lambda a, b: linalg.tensordot(a, b, axes), lambda a, b: np.tensordot(a, b, axes), arrays, data)


@given(st.integers(-3, 3), st.permutations(range(3)), st.data())
def test_trace_is_numpys(offset, axes, data):
    array = data.draw(dtypes.flatmap(lambda dtype: tame(dtype, (2, 3, 4))))
    build = lambda x: T.trace(x, offset, axes[0], axes[1] - 3)  # noqa: E731
    check(build, lambda x: np.trace(x, offset, axes[0], axes[1] - 3), [array], data)


@pytest.mark.parametrize("function", [linalg.dot, linalg.matmul])
def test_known_sizes_that_do_not_fit_are_an_error_that_names_both_matrices_and_the_line(function):
    with pytest.raises(ShapeError) as caught:
        function(named("W", None, 3), named("U", 4, None))
    assert "`W` float64[?, 3], `U` float64[4, ?]" in str(caught.value)
    assert "test_linalg.py:" in str(caught.value)
    assert "expected: size 3\n  found:    size 4" in str(caught.value)


def test_a_scalar_in_matmul_is_an_error_with_a_fix():
    with pytest.raises(ScanvizTypeError, match=r"a scalar is no matrix(.|\n)*x \* y"):
        linalg.matmul(named("x"), named("W", 3, 3))


def test_batches_of_different_lengths_are_an_error_and_never_broadcast():
    with pytest.raises(ShapeError, match="the batches must be equally long"):
        linalg.batched_dot(named("a", 1, 2, 3), named("b", 5, 3, 2))
    a, b = named("a", None, 2, 3), named("b", None, 3, 2)
    with pytest.raises(ShapeError, match="the batches must be equally long"):
        evaluate(linalg.batched_dot(a, b), {a: np.ones((1, 2, 3)), b: np.ones((5, 3, 2))})


@pytest.mark.parametrize(
    ("axes", "kind", "message"),
    [
        (3, ScanvizValueError, "cannot sum over 3 axes of `a` and `b`"),
        ("ab", ScanvizTypeError, "a number or a pair"),
        (([0, 1], [0]), ScanvizValueError, "axes come in pairs"),
        (([0, 0], [0, 1]), ScanvizValueError, "tensordot of `a`: an axis is named twice"),
        (([2], [0]), ScanvizValueError, "tensordot of `a`: there is no axis 2"),
    ],
)
def test_wrong_axes_of_tensordot_are_an_error_with_the_axes(axes, kind, message):
    with pytest.raises(kind, match=message):
        linalg.tensordot(named("a", 2, 2), named("b", 2, 2), axes)


def test_trace_of_a_vector_or_along_one_axis_is_an_error():
    with pytest.raises(ScanvizTypeError, match="a diagonal of `v`, which is no matrix"):
        T.trace(named("v", None))
    with pytest.raises(ScanvizValueError, match="an axis is named twice"):
        T.trace(named("A", 2, 2), 0, 1, -1)
