import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanviz import tensor as T
from scanviz.engine.errors import ScanvizValueError, ShapeError
from tests.engine.ops.checking import check, dtypes, shapes, tame

A = np.array([[4.0, 1.0], [1.0, 3.0]])
V = np.array([1.0, 2.0])
CLOSE = {"rtol": 1e-12, "atol": 1e-12}


@given(st.data())
def test_inner_outer_and_kron_are_numpys(data):
    first = data.draw(dtypes.flatmap(lambda dtype: shapes().flatmap(lambda shape: tame(dtype, shape))))
    second = data.draw(dtypes.flatmap(lambda dtype: shapes().flatmap(lambda shape: tame(dtype, shape))))
    check(T.outer, np.outer, [first, second], data)
    check(T.kron, np.kron, [first, second], data)
    fitting = np.ones((2, *first.shape[-1:]), first.dtype)
    check(T.inner, np.inner, [first, fitting], data)
    check(T.inner, np.inner, [first, np.array(3, second.dtype)], data)


@pytest.mark.parametrize("array", [V, A, np.ones((2, 3, 4))])
def test_the_norm_of_a_whole_tensor_is_the_root_of_its_sum_of_squares(array):
    check(T.norm, np.linalg.norm, [array], **CLOSE)


def test_a_norm_without_meaning_is_an_error_that_lists_those_with_one():
    with pytest.raises(
        ScanvizValueError, match=r"norm of `A`: ord='most' has no meaning over 2 axes(.|\n)*'fro'"
    ):
        T.norm(T.matrix("A"), "most")


def test_everything_of_linear_algebra_is_also_under_its_own_name():
    assert T.linalg.solve is T.solve
    assert T.linalg.dot is T.dot
    assert set(T.linalg.__all__) <= set(dir(T))


def test_an_invalid_product_is_an_error_at_the_users_line():
    with pytest.raises(ShapeError, match=r"test_linalg\.py:\d+: matmul: .*`W`.*`v`"):
        T.tensor("float64", (None, 3), name="W") @ T.tensor("float64", (4,), name="v")
